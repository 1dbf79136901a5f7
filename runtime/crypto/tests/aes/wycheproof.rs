//! The vectors of Wycheproof, with keys of both bundles: CBC with the padding of PKCS #7, and GCM by the crate `aes-gcm`.

use std::collections::BTreeMap;

use aes_gcm::AesGcm;
use aes_gcm::aead::{Aead, Payload};
use cipher::array::ArraySize;
use cipher::block_padding::Pkcs7;
use cipher::consts::{U1, U2, U4, U6, U8, U10, U12, U15, U16, U20, U32, U64, U128, U257};
use cipher::{BlockModeDecrypt, BlockModeEncrypt};
use kiln::aes::cbc::{Decryptor, Encryptor};
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Bundle};
use wycheproof::{TestResult, aead, cipher as ind_cpa};

const BUNDLES: [Bundle; 2] = [Bundle::Instructions, Bundle::Sliced];

/// How many rows there are of each kind.
type Count = BTreeMap<(usize, &'static str), usize>;

fn cbc<S: Size>(test: &ind_cpa::Test, bundle: Bundle) -> &'static str {
    let (id, iv) = (format!("{} {bundle}", test.tc_id), test.nonce[..].try_into().expect("16 bytes"));
    let key = Aes::<S>::with_bundle(&test.key, bundle).expect("a key of this size");
    let opened = Decryptor::with_iv(&key, iv).decrypt_padded_vec::<Pkcs7>(&test.ct);
    match test.result {
        TestResult::Valid => {
            assert_eq!(opened.expect("padded"), test.pt[..], "{id}");
            let sealed = Encryptor::with_iv(&key, iv).encrypt_padded_vec::<Pkcs7>(&test.pt);
            assert_eq!(sealed, test.ct[..], "{id}");
            "valid"
        }
        TestResult::Invalid => {
            assert!(opened.is_err(), "{id}: {}", test.comment);
            "invalid"
        }
        TestResult::Acceptable => panic!("{id}: no row of this mode is a matter of opinion"),
    }
}

#[test]
fn cbc_with_padding() {
    for bundle in BUNDLES {
        let mut count = Count::new();
        for group in ind_cpa::TestSet::load(ind_cpa::TestName::AesCbcPkcs5).expect("in the crate").test_groups {
            assert_eq!(group.nonce_size, 128);
            let check = match group.key_size {
                128 => cbc::<Bits128>,
                192 => cbc::<Bits192>,
                256 => cbc::<Bits256>,
                bits => panic!("AES with a key of {bits} bits"),
            };
            for test in &group.tests {
                *count.entry((group.key_size, check(test, bundle))).or_default() += 1;
            }
        }
        let expected = [128, 192, 256].map(|bits| [((bits, "invalid"), 48), ((bits, "valid"), 24)]);
        assert_eq!(count, expected.into_iter().flatten().collect(), "every row is checked");
    }
}

/// With a nonce of one size.
fn sealed_and_opened<S: Size, N: ArraySize>(key: Aes<S>, test: &aead::Test, id: &str) {
    let cipher = AesGcm::<Aes<S>, N>::from(key);
    let nonce = test.nonce[..].try_into().expect("a nonce of this size");
    let sealed = [&test.ct[..], &test.tag[..]].concat();
    let opened = cipher.decrypt(nonce, Payload { msg: &sealed, aad: &test.aad });
    let mine = cipher.encrypt(nonce, Payload { msg: &test.pt, aad: &test.aad }).expect("not too long");
    match test.result {
        TestResult::Valid => {
            assert_eq!(opened.expect("authentic"), test.pt[..], "{id}");
            assert_eq!(mine, sealed, "{id}");
        }
        TestResult::Invalid => {
            assert!(opened.is_err(), "{id}: {}", test.comment);
            assert_ne!(mine, sealed, "{id}: {}", test.comment);
        }
        TestResult::Acceptable => panic!("{id}: no row of this mode is a matter of opinion"),
    }
}

/// What became of a row.
fn gcm<S: Size>(test: &aead::Test, bundle: Bundle) -> &'static str {
    let id = format!("{} {bundle}", test.tc_id);
    let key = Aes::<S>::with_bundle(&test.key, bundle).expect("a key of this size");
    let check = match test.nonce.len() {
        // It must be refused, and a type of that size has nothing to refuse at run time.
        0 => return "nonce of 0 bytes: out of the crate's reach",
        1 => sealed_and_opened::<S, U1>,
        2 => sealed_and_opened::<S, U2>,
        4 => sealed_and_opened::<S, U4>,
        6 => sealed_and_opened::<S, U6>,
        8 => sealed_and_opened::<S, U8>,
        10 => sealed_and_opened::<S, U10>,
        12 => sealed_and_opened::<S, U12>,
        15 => sealed_and_opened::<S, U15>,
        16 => sealed_and_opened::<S, U16>,
        20 => sealed_and_opened::<S, U20>,
        32 => sealed_and_opened::<S, U32>,
        64 => sealed_and_opened::<S, U64>,
        128 => sealed_and_opened::<S, U128>,
        257 => sealed_and_opened::<S, U257>,
        bytes => panic!("{id}: a nonce of {bytes} bytes"),
    };
    check(key, test, &id);
    if test.result == TestResult::Valid { "valid" } else { "invalid" }
}

#[test]
fn gcm_on_keys_of_kiln() {
    for bundle in BUNDLES {
        let mut count = Count::new();
        for group in aead::TestSet::load(aead::TestName::AesGcm).expect("in the crate").test_groups {
            assert_eq!(group.tag_size, 128, "the tags that the crate has by default");
            let check = match group.key_size {
                128 => gcm::<Bits128>,
                192 => gcm::<Bits192>,
                256 => gcm::<Bits256>,
                bits => panic!("AES with a key of {bits} bits"),
            };
            for test in &group.tests {
                *count.entry((group.key_size, check(test, bundle))).or_default() += 1;
            }
        }
        for ((bits, outcome), rows) in &count {
            println!("{bundle}, {bits}-bit keys: {rows} rows, {outcome}");
        }
        let expected = [(128, 79), (192, 74), (256, 76)].map(|(bits, valid)| {
            [
                ((bits, "valid"), valid),
                ((bits, "invalid"), 27),
                ((bits, "nonce of 0 bytes: out of the crate's reach"), 2),
            ]
        });
        assert_eq!(count, expected.into_iter().flatten().collect(), "every row is checked, or named");
    }
}
