//! Does the program `openssl` decrypt files that `kiln::aes` encrypted, and the reverse?

use std::path::Path;

use cipher::block_padding::Pkcs7;
use cipher::{BlockModeDecrypt, BlockModeEncrypt};
use kiln::aes::ctr::Ctr128;
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Bundle, cbc, ecb};
use kiln_runtime::random::Random;
use kiln_tests::tools::{Scratch, found, run};

/// Bytes of the files.
const LENGTHS: [usize; 12] = [0, 1, 15, 16, 17, 31, 64, 65, 1000, 4095, 4097, 65537];

/// What `openssl enc` is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Ecb,
    EcbUnpadded,
    Cbc,
    CbcUnpadded,
    Ctr,
}

impl Mode {
    const ALL: [Mode; 5] = [Mode::Ecb, Mode::EcbUnpadded, Mode::Cbc, Mode::CbcUnpadded, Mode::Ctr];

    fn word(self) -> &'static str {
        match self {
            Mode::Ecb | Mode::EcbUnpadded => "ecb",
            Mode::Cbc | Mode::CbcUnpadded => "cbc",
            Mode::Ctr => "ctr",
        }
    }

    fn unpadded(self) -> bool {
        matches!(self, Mode::EcbUnpadded | Mode::CbcUnpadded)
    }

    /// Whether a file of so many bytes can be encrypted in this mode.
    fn takes(self, bytes: usize) -> bool {
        !self.unpadded() || bytes.is_multiple_of(16)
    }

    fn encrypted<S: Size>(self, key: &Aes<S>, iv: &[u8; 16], plain: &[u8]) -> Vec<u8> {
        let mut data = plain.to_vec();
        match self {
            Mode::Ecb => {
                // PKCS #7, which comes with modes that have a chain alone.
                let more = 16 - plain.len() % 16;
                data.resize(plain.len() + more, more as u8);
                ecb::encrypt(key, &mut data).expect("whole blocks");
            }
            Mode::EcbUnpadded => ecb::encrypt(key, &mut data).expect("whole blocks"),
            Mode::Cbc => return cbc::Encryptor::with_iv(key, iv).encrypt_padded_vec::<Pkcs7>(plain),
            Mode::CbcUnpadded => cbc::Encryptor::with_iv(key, iv).encrypt(&mut data).expect("whole blocks"),
            Mode::Ctr => Ctr128::with_iv(key, iv).apply(&mut data).expect("far from the end"),
        }
        data
    }

    fn decrypted<S: Size>(self, key: &Aes<S>, iv: &[u8; 16], sealed: &[u8]) -> Vec<u8> {
        let mut data = sealed.to_vec();
        match self {
            Mode::Ecb => {
                ecb::decrypt(key, &mut data).expect("whole blocks");
                let more = usize::from(*data.last().expect("padded"));
                assert!(data.ends_with(&vec![more as u8; more]), "padded");
                data.truncate(data.len() - more);
            }
            Mode::EcbUnpadded => ecb::decrypt(key, &mut data).expect("whole blocks"),
            Mode::Cbc => return cbc::Decryptor::with_iv(key, iv).decrypt_padded_vec::<Pkcs7>(sealed).expect("padded"),
            Mode::CbcUnpadded => cbc::Decryptor::with_iv(key, iv).decrypt(&mut data).expect("whole blocks"),
            Mode::Ctr => Ctr128::with_iv(key, iv).apply(&mut data).expect("far from the end"),
        }
        data
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What `openssl enc` makes of a file.
fn by_openssl(
    way: &str,
    cipher: &str,
    key: &[u8],
    iv: &[u8; 16],
    unpadded: bool,
    (from, to): (&Path, &Path),
) -> Vec<u8> {
    let (key, iv) = (hex(key), hex(iv));
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
        vec![&"enc", &cipher, &way, &"-in", &from, &"-out", &to, &"-K", &key];
    // It warns of an initialization vector that has no use.
    if !cipher.ends_with("ecb") {
        arguments.extend([&"-iv" as &dyn AsRef<std::ffi::OsStr>, &iv]);
    }
    if unpadded {
        arguments.push(&"-nopad");
    }
    run("openssl", &arguments);
    std::fs::read(to).expect("it wrote its output")
}

fn of_size<S: Size>(scratch: &Scratch, random: &mut Random) -> usize {
    let mut files = 0;
    let (from, to) = (scratch.file("from"), scratch.file("to"));
    for (mode, length) in Mode::ALL.into_iter().flat_map(|mode| LENGTHS.map(|length| (mode, length))) {
        if !mode.takes(length) {
            continue;
        }
        let mut drawn = |length: usize| -> Vec<u8> { (0..length).map(|_| random.word() as u8).collect() };
        let (plain, bytes) = (drawn(length), drawn(S::BITS as usize / 8));
        let mut iv: [u8; 16] = drawn(16).try_into().expect("16 bytes");
        if length % 2 == 1 {
            // The counter wraps at 64 bits on its way.
            iv[8..].fill(0xff);
        }
        let cipher = format!("-aes-{}-{}", S::BITS, mode.word());
        let instructions = Aes::<S>::with_bundle(&bytes, Bundle::Instructions).expect("a length that fits");
        let sliced = Aes::<S>::with_bundle(&bytes, Bundle::Sliced).expect("a length that fits");
        let sealed = mode.encrypted(&instructions, &iv, &plain);
        assert!(mode.encrypted(&sliced, &iv, &plain) == sealed, "{cipher} of {length} bytes: bundles differ");
        std::fs::write(&from, &plain).expect("the scratch directory is writable");
        let theirs = by_openssl("-e", &cipher, &bytes, &iv, mode.unpadded(), (&from, &to));
        assert!(theirs == sealed, "{cipher} of {length} bytes, encrypted");
        for key in [&instructions, &sliced] {
            assert!(mode.decrypted(key, &iv, &theirs) == plain, "{cipher} of {length} bytes, theirs decrypted");
        }
        std::fs::write(&from, &sealed).expect("the scratch directory is writable");
        let opened = by_openssl("-d", &cipher, &bytes, &iv, mode.unpadded(), (&from, &to));
        assert!(opened == plain, "{cipher} of {length} bytes, ours decrypted");
        files += 1;
    }
    files
}

#[test]
fn reads_ours_and_writes_what_we_read() {
    // Two of the modes take whole blocks alone: 0, 16 and 64 bytes.
    let files = 3 * (3 * LENGTHS.len() + 2 * 3);
    if !found(&["openssl"], 2 * files) {
        return;
    }
    let (scratch, mut random) = (Scratch::new("aes-openssl"), Random::new(0x6f70_656e));
    let done = of_size::<Bits128>(&scratch, &mut random)
        + of_size::<Bits192>(&scratch, &mut random)
        + of_size::<Bits256>(&scratch, &mut random);
    assert_eq!(done, files);
    println!("{done} files, each way");
}
