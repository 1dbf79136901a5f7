//! The examples of FIPS 197 (2023) and of NIST SP 800-38A (2001), appendix F.

use cipher::{BlockCipherDecrypt, BlockCipherEncrypt};
use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Aes128, Aes256, cbc, ecb};

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let value = |digit: u8| (digit as char).to_digit(16).expect("a digit") as u8;
    digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}

fn key<S: Size>(digits: &str) -> Aes<S> {
    Aes::from_slice(&hex(digits)).expect("a key of the right length")
}

/// FIPS 197, appendices B and C.
#[test]
fn fips_197() {
    fn check<S: Size>(digits: &str, plain: &str, cipher: &str) {
        let (key, plain, cipher) = (key::<S>(digits), hex(plain), hex(cipher));
        let mut block = cipher::Array::try_from(&plain[..]).expect("a block");
        key.encrypt_block(&mut block);
        assert_eq!(block[..], cipher);
        key.decrypt_block(&mut block);
        assert_eq!(block[..], plain);
    }
    check::<Bits128>(
        "2b7e151628aed2a6abf7158809cf4f3c",
        "3243f6a8885a308d313198a2e0370734",
        "3925841d02dc09fbdc118597196a0b32",
    );
    let plain = "00112233445566778899aabbccddeeff";
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    check::<Bits128>(&key[..32], plain, "69c4e0d86a7b0430d8cdb78070b4c55a");
    check::<Bits192>(&key[..48], plain, "dda97ca4864cdfe06eaf70a0ec0d7191");
    check::<Bits256>(key, plain, "8ea2b7ca516745bfeafc49904b496089");
}

const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const KEY_192: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
const KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";

/// SP 800-38A, F.1.
#[test]
fn ecb_of_sp_800_38a() {
    fn check<S: Size>(key: Aes<S>, cipher: &str) {
        let mut data = hex(PLAIN);
        ecb::encrypt(&key, &mut data).expect("whole blocks");
        assert_eq!(data, hex(cipher));
        ecb::decrypt(&key, &mut data).expect("whole blocks");
        assert_eq!(data, hex(PLAIN));
    }
    check::<Bits128>(
        key(KEY_128),
        "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
         43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
    );
    check::<Bits192>(
        key(KEY_192),
        "bd334f1d6e45f25ff712a214571fa5cc 974104846d0ad3ad7734ecb3ecee4eef
         ef7afd2270e2e60adce0ba2face6444e 9a4b41ba738d6c72fb16691603c18e0e",
    );
    check::<Bits256>(
        key(KEY_256),
        "f3eed1bdb5d2a03c064b5a7e3db181f8 591ccb10d410ed26dc5ba74a31362870
         b6ed21b99ca6f4f9f153e7b1beafed1d 23304b7a39f9f3ff067d8d8f9e24ecc7",
    );
}

/// SP 800-38A, F.2.
#[test]
fn cbc_of_sp_800_38a() {
    fn check<S: Size>(key: Aes<S>, cipher: &str) {
        let iv: [u8; 16] = std::array::from_fn(|index| index as u8);
        let mut data = hex(PLAIN);
        cbc::Encryptor::with_iv(&key, &iv).encrypt(&mut data).expect("whole blocks");
        assert_eq!(data, hex(cipher));
        cbc::Decryptor::with_iv(&key, &iv).decrypt(&mut data).expect("whole blocks");
        assert_eq!(data, hex(PLAIN));
    }
    check::<Bits128>(
        key(KEY_128),
        "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
    );
    check::<Bits192>(
        key(KEY_192),
        "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
         571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
    );
    check::<Bits256>(
        key(KEY_256),
        "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
         39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
    );
}

/// SP 800-38A, F.5. The last 32 bits of the counter do not wrap, so that it does not matter how wide it is.
#[test]
fn ctr_of_sp_800_38a() {
    fn check<S: Size>(key: Aes<S>, cipher: &str) {
        let first: [u8; 16] = std::array::from_fn(|index| 0xf0 + index as u8);
        let mut data = hex(PLAIN);
        Ctr128::with_iv(&key, &first).apply(&mut data).expect("far from the end");
        assert_eq!(data, hex(cipher));
        Ctr32::with_iv(&key, &first).apply(&mut data).expect("far from the end");
        assert_eq!(data, hex(PLAIN));
    }
    check::<Bits128>(
        key(KEY_128),
        "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
    );
    check::<Bits192>(
        key(KEY_192),
        "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050",
    );
    check::<Bits256>(
        key(KEY_256),
        "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
    );
}

/// Published cases of faults of others.
#[test]
fn what_others_got_wrong() {
    // RustCrypto/block-ciphers issue 51: rounds miscompiled for newer CPUs.
    let mut block = hex("7f000001ae0100000000000000000000");
    ecb::encrypt(&Aes128::from_key(&[0; 16]), &mut block).expect("a block");
    assert_eq!(block, hex("de9da847c3ed4dedb6c211ebb6d6cc50"));
    // pycryptodome issue 582: the chain was read where it had been written over.
    let key: Aes256 = key("cdc9b7d04d649dad5ad5030944ed0485d6d583d9191d54032b2d313ddd1c9d86");
    let mut data = hex("3d31b7479eab5c15f3d96395b14058113980d56cfab141b73e95b6e7f9eeb7b2");
    let iv = hex("89fddec061532f8a28bf2e44de8b6cbd");
    cbc::Decryptor::with_iv_slice(&key, &iv).expect("16 bytes").decrypt(&mut data).expect("whole blocks");
    assert_eq!(data, hex("ffd8ac06851b20e559a219f19c1c9ab9a6f2c43c485a21f2f2becfef179c361f"));
}
