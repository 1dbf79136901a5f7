//! Do the rows of AES make the standard's ciphertext, in both encodings: before allocation, after it (with vectors of 256 bits in
//! spill slots and constants in the pool), and on the CPU?

use kiln_codegen::backend::machine::assemble;
use kiln_codegen::ir::interpret::{Argument, Call, run};
use kiln_codegen::ir::typed::{Xmm, Ymm};
use kiln_codegen::ir::wellformed::{check, check_physical};
use kiln_codegen::ir::{Builder, Func, Length, ParameterKind, Virtual};
use kiln_codegen::pass::allocate;
use kiln_runtime::detect::native;
use kiln_runtime::exec::Code;
use kiln_tests::runs::{Memory, run_on};
use kiln_tests::skips::Skips;

/// FIPS 197, appendix C.1.
const KEY: u128 = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f;
const PLAIN: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;
const CIPHER: u128 = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a;

/// The constants of the key schedule (FIPS 197, section 5.2).
const ROUNDS: [i64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Where the ciphertexts go: behind the key and the plaintext.
const OUT: i32 = 32;

fn start() -> (Builder, kiln_codegen::ir::typed::Gpr) {
    let mut b = Builder::new("test/aes128", 64);
    let kind =
        ParameterKind::Pointer { element_bytes: 1, length: Length::fixed(1024), reads: true, writes: true, cursor: 0 };
    let p = b.parameter("p", kind, true, &[]);
    (b, p)
}

/// The next round key in place of the last: each word is xored into those above it, and then the assisted one into all.
fn next_key(b: &mut Builder, key: Xmm, constant: i64) {
    let (assisted, shifted) = (b.xmm(), b.xmm());
    b.aeskeygenassist(assisted, key, constant);
    b.pshufd(assisted, assisted, 0xff);
    b.movdqa_x(shifted, key);
    for _ in 0..3 {
        b.pslldq(shifted, 4);
        b.pxor_x(key, shifted);
    }
    b.pxor_x(key, assisted);
}

/// One block, legacy encodings.
fn one_block() -> Func<Virtual> {
    let (mut b, p) = start();
    let (key, state) = (b.xmm(), b.xmm());
    let [from_key, from_plain, to] = [0, 16, OUT].map(|disp| b.at(0, p, disp));
    b.movdqu_load(key, from_key);
    b.movdqu_load(state, from_plain);
    b.pxor_x(state, key);
    for (round, constant) in ROUNDS.into_iter().enumerate() {
        next_key(&mut b, key, constant);
        if round < 9 { b.aesenc(state, key) } else { b.aesenclast(state, key) }
    }
    b.movdqu_store(to, state);
    b.finish(None, None)
}

/// Twenty pairs of blocks at once, more than there are registers: the first is the plaintext twice, the others differ.
fn forty_blocks() -> Func<Virtual> {
    let (mut b, p) = start();
    let (key, both, pool) = (b.ymm(), b.ymm(), b.gpr());
    let [from_key, from_plain] = [0, 16].map(|disp| b.at(0, p, disp));
    b.vmovdqu_load_x(key.low(), from_key);
    b.pool(pool);
    let states: Vec<Ymm> = (0..20).map(|_| b.ymm()).collect();
    for (index, state) in (0..).zip(&states) {
        b.vbroadcasti128(*state, from_plain);
        let offset = b.constant(&[index; 32]);
        let place = b.pooled(pool, offset);
        b.vpxor_y(*state, *state, place);
    }
    b.vinserti128(both, key, key.low(), 1);
    for state in &states {
        b.vpxor_y(*state, *state, both);
    }
    for (round, constant) in ROUNDS.into_iter().enumerate() {
        let (assisted, shifted) = (b.xmm(), b.xmm());
        b.vaeskeygenassist_x(assisted, key.low(), constant);
        b.vpshufd_x(assisted, assisted, 0xff);
        b.vmovdqa_x(shifted, key.low());
        for _ in 0..3 {
            b.vpslldq_x(shifted, shifted, 4);
            b.vpxor_x(key.low(), key.low(), shifted);
        }
        b.vpxor_x(key.low(), key.low(), assisted);
        b.vinserti128(both, key, key.low(), 1);
        for state in &states {
            if round < 9 { b.vaesenc_y(*state, *state, both) } else { b.vaesenclast_y(*state, *state, both) }
        }
    }
    for (index, state) in (0..).zip(&states) {
        let to = b.at(0, p, OUT + 32 * index);
        b.vmovdqu_store_y(to, *state);
    }
    b.vzeroupper();
    b.finish(None, None)
}

#[test]
fn the_standards_ciphertext_in_every_form() {
    let mut skips = Skips::default();
    let mut memory = Memory([0; 1024]);
    memory.0[..16].copy_from_slice(&KEY.to_be_bytes());
    memory.0[16..32].copy_from_slice(&PLAIN.to_be_bytes());
    for (func, blocks, spills) in [(one_block(), 1, false), (forty_blocks(), 2, true)] {
        assert_eq!(check(&func), Ok(()));
        let physical = allocate(func.clone()).expect("the function can be allocated");
        assert_eq!(check_physical(&physical), Ok(()));
        assert_eq!(physical.frame.slots > 0, spills, "{:?}", physical.frame);
        let call = Call::new(vec![Argument::Pointer { bytes: memory.0.to_vec() }]);
        let expected = run(&func, &call).expect("no fault").memories;
        for block in 0..blocks {
            let at = OUT as usize + 16 * block;
            assert_eq!(expected[0][at..at + 16], CIPHER.to_be_bytes(), "block {block} of {blocks}");
        }
        assert_eq!(run(&physical, &call).expect("no fault").memories, expected, "allocated");

        let needs = func.features();
        if !native().cpu().features.contains_all(needs.with_required()) {
            skips.skip(needs.names(), &format!("AES with {needs}, which this CPU lacks"));
            continue;
        }
        let bytes = assemble(&physical).expect("encodes");
        let code = match Code::publish(&[&bytes]) {
            Ok(code) => code,
            Err(refused) => return println!("skipped: {refused}"),
        };
        let mut after = memory.clone();
        // SAFETY: made just now for one pointer to as much memory; the features were asked for.
        unsafe { run_on(code.entries()[0], &mut after) };
        assert_eq!(after.0[..], expected[0][..], "native");
    }
    skips.report();
}
