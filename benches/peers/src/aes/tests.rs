//! Everybody in the race against vectors of the standards and against Kiln's plain reference, and the check against somebody
//! who is wrong.

use super::task::Wrong;
use super::*;
use kiln_peers_rust_crypto::call::each;
use kiln_runtime::detect::native;

/// SP 800-38A, appendix F: keys, the message, and what CBC and CTR make of it at each size of the key. And ECB, F.1.
const KEYS: [&str; 3] = [
    "2b7e151628aed2a6abf7158809cf4f3c",
    "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
];
const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                     30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const CBC_IV: &str = "000102030405060708090a0b0c0d0e0f";
const COUNTER: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
const ECB: [&str; 3] = [
    "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf\
     43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
    "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef\
     ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
    "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870\
     b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
];
const CBC: [&str; 3] = [
    "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2\
     73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
    "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a\
     571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
    "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d\
     39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
];
const CTR: [&str; 3] = [
    "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff\
     5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94\
     1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5\
     2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
];

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Everybody who is no kernel, and the kernels that may run here.
fn everybody(task: &Task) -> Vec<(String, Make, Option<u64>)> {
    let mut everybody: Vec<(String, Make, Option<u64>)> = Vec::new();
    for &(who, make) in PEERS {
        everybody.push((who.title().to_owned(), Box::new(make), None));
    }
    let ring = Ring::new();
    let mut left_out = Vec::new();
    for variant in ring.shipped(task.kernel, &mut left_out) {
        let candidate = variant.candidate();
        everybody.push((candidate.name().to_owned(), kiln::kernel(&variant), candidate.exact()));
    }
    assert!(left_out.iter().all(|absent| !absent.failed), "{left_out:?}");
    everybody
}

fn tasks() -> impl Iterator<Item = Task> {
    let of = |mode| [128, 192, 256].map(|bits| Task::new(mode, bits).expect("a kernel"));
    Mode::ALL.into_iter().flat_map(of)
}

#[test]
fn everybody_has_the_vectors_of_the_standard() {
    let mut told = 0;
    for task in tasks() {
        let size = task.bits as usize / 64 - 2;
        let (from, to, iv) = match task.mode {
            Mode::EcbEncrypt => (PLAIN, ECB[size], CBC_IV),
            Mode::EcbDecrypt => (ECB[size], PLAIN, CBC_IV),
            Mode::CbcEncrypt => (PLAIN, CBC[size], CBC_IV),
            Mode::CbcDecrypt => (CBC[size], PLAIN, CBC_IV),
            // Four blocks from there carry into the low byte but one alone.
            Mode::Ctr | Mode::GcmCtr => (PLAIN, CTR[size], COUNTER),
        };
        let (from, to) = (bytes(from), bytes(to));
        let setup = Setup { mode: task.mode, key: &bytes(KEYS[size]), iv: bytes(iv).try_into().expect("a block") };
        for (name, make, only) in everybody(&task) {
            if only.is_some_and(|only| only != 4) {
                continue;
            }
            let Some(mut contender) = make(&setup) else { continue };
            for in_place in [false, true] {
                let mut again = make(&setup).expect("as before");
                let contender = if in_place { &mut again } else { &mut contender };
                let mut buffers = Buffers::new(64, in_place, 0);
                buffers.input_mut().copy_from_slice(&from);
                contender.repeat(buffers.span(), 1);
                assert_eq!(buffers.output(), to, "{name}, {} {}", task.mode.word(), task.bits);
                told += 1;
            }
        }
    }
    assert!(told > 18 * 4 * 2, "{told}");
}

#[test]
fn everybody_is_what_the_reference_is() {
    for task in tasks() {
        let cases = Cases::new(&task, &[64, 8192]);
        for (name, make, only) in everybody(&task) {
            match cases.check(&make, only) {
                Some(Ok(())) => {}
                Some(Err(wrong)) => panic!("{name}, {} {}: {wrong}", task.mode.word(), task.bits),
                None => println!("does not have {} {}: {name}", task.mode.word(), task.bits),
            }
        }
    }
}

#[test]
fn every_usual_mode_has_every_library() {
    assert!(native().features.iter().any(|feature| feature.name() == "aes"), "this machine has AES-NI");
    for mode in Mode::USUAL {
        for bits in [128, 192, 256] {
            let key = vec![1; bits / 8];
            let setup = Setup { mode, key: &key, iv: [2; 16] };
            for &(who, make) in PEERS {
                let lacks = who == Who::OpenSslAssembly && mode == Mode::Ctr;
                assert_eq!(make(&setup).is_none(), lacks, "{}, {} {bits}", who.title(), mode.word());
            }
        }
    }
}

/// What somebody does after the right thing, with the addresses of input and output and their length.
type Slip = unsafe fn(*mut u8, *mut u8, usize);

/// OpenSSL, and then something else.
fn wrong(slip: Slip) -> Make {
    Box::new(move |setup| {
        let mut right = evp::openssl::make(setup)?;
        Some(each((), move |(), span| {
            let (input, output, length) = (span.input().cast_mut(), span.output(), span.length());
            right.repeat(span, 1);
            // SAFETY: one byte in the buffers or in the margin behind the output, which nobody else uses meanwhile.
            unsafe { slip(input, output, length) };
        }))
    })
}

#[test]
fn who_is_wrong_is_found_out() {
    let task = Task::new(Mode::CbcEncrypt, 128).expect("a kernel");
    let cases = Cases::new(&task, &[]);
    assert_eq!(cases.check(&wrong(|_, _, _| ()), None), Some(Ok(())));
    // SAFETY: as `wrong` says, here and below.
    let output = cases.check(&wrong(|_, output, _| unsafe { *output ^= 1 }), None);
    assert!(matches!(output, Some(Err(Wrong::Output(_)))), "{output:?}");
    // SAFETY: as above.
    let input = cases.check(&wrong(|input, _, _| unsafe { *input ^= 1 }), None);
    assert!(matches!(input, Some(Err(Wrong::Input(_)))), "{input:?}");
    // SAFETY: as above.
    let stray = cases.check(&wrong(|_, output, length| unsafe { *output.add(length) ^= 1 }), None);
    assert!(matches!(stray, Some(Err(Wrong::Stray(_)))), "{stray:?}");
}

#[test]
fn who_does_not_go_on_with_the_chain_is_found_out() {
    for mode in [Mode::CbcEncrypt, Mode::CbcDecrypt, Mode::Ctr] {
        let cases = Cases::new(&Task::new(mode, 256).expect("a kernel"), &[]);
        let forgets: Make = Box::new(|setup| {
            let (mode, key, iv) = (setup.mode, setup.key.to_vec(), setup.iv);
            Some(each((), move |(), span| {
                let mut anew = evp::openssl::make(&Setup { mode, key: &key, iv }).expect("OpenSSL has it");
                anew.repeat(span, 1);
            }))
        });
        let Some(Err(wrong @ Wrong::Output(_))) = cases.check(&forgets, None) else { panic!("not found out") };
        assert!(wrong.to_string().starts_with("wrong output in call 2 of 1 blocks, out of place"), "{wrong}");
    }
}
