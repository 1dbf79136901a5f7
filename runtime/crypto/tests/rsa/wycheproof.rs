//! The vectors of Wycheproof for RSA. Rows of hashes that no crate here has, and masks by SHAKE, are left out by name and number.

use std::collections::BTreeMap;

use kiln::rsa::signature::Verifier;
use kiln::rsa::{PrivateKey, PublicKey, pkcs1v15, pss};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use wycheproof::{HashFunction, Mgf, TestResult, rsa_oaep, rsa_pkcs1_decrypt, rsa_pkcs1_verify, rsa_pss_verify};

/// How many rows ended how.
type Count = BTreeMap<&'static str, usize>;

fn word(result: TestResult) -> &'static str {
    match result {
        TestResult::Valid => "valid",
        TestResult::Invalid => "invalid",
        TestResult::Acceptable => "acceptable",
    }
}

/// Runs a block with `D` for the hash.
macro_rules! with_hash {
    ($hash:expr, $D:ident => $body:expr) => {
        match $hash {
            HashFunction::Sha1 => Some({
                type $D = Sha1;
                $body
            }),
            HashFunction::Sha2_224 => Some({
                type $D = Sha224;
                $body
            }),
            HashFunction::Sha2_256 => Some({
                type $D = Sha256;
                $body
            }),
            HashFunction::Sha2_384 => Some({
                type $D = Sha384;
                $body
            }),
            HashFunction::Sha2_512 => Some({
                type $D = Sha512;
                $body
            }),
            HashFunction::Sha2_512_224 => Some({
                type $D = Sha512_224;
                $body
            }),
            HashFunction::Sha2_512_256 => Some({
                type $D = Sha512_256;
                $body
            }),
            HashFunction::Sha3_224 => Some({
                type $D = Sha3_224;
                $body
            }),
            HashFunction::Sha3_256 => Some({
                type $D = Sha3_256;
                $body
            }),
            HashFunction::Sha3_384 => Some({
                type $D = Sha3_384;
                $body
            }),
            HashFunction::Sha3_512 => Some({
                type $D = Sha3_512;
                $body
            }),
            _ => None,
        }
    };
}

#[test]
fn signatures_of_version_1_5() {
    let mut count = Count::new();
    for name in rsa_pkcs1_verify::TestName::all() {
        for group in rsa_pkcs1_verify::TestSet::load(name).expect("in the crate").test_groups {
            let key = PublicKey::from_public_key_der(&group.der).expect("a key");
            assert_eq!(PublicKey::from_pem(&group.pem).expect("a key"), key);
            assert_eq!(PublicKey::from_pkcs1_der(&group.asn_key).expect("a key"), key);
            for test in &group.tests {
                let verified = with_hash!(group.hash, D => {
                    let key = pkcs1v15::VerifyingKey::<D>::new(key.clone());
                    pkcs1v15::Signature::try_from(&test.sig[..]).and_then(|sig| key.verify(&test.msg, &sig)).is_ok()
                });
                let verified = verified.expect("a hash that is here");
                match test.result {
                    TestResult::Valid => assert!(verified, "{} of {name:?}: {}", test.tc_id, test.comment),
                    TestResult::Invalid => assert!(!verified, "{} of {name:?}: {}", test.tc_id, test.comment),
                    // A hash without the parameter NULL, which RFC 8017 lets a verifier refuse.
                    TestResult::Acceptable => {}
                }
                *count.entry(word(test.result)).or_default() += 1;
            }
        }
    }
    println!("{count:?}");
    assert!(count["valid"] > 100 && count["invalid"] > 5000, "{count:?}");
}

#[test]
fn signatures_by_pss() {
    let (mut count, mut left_out) = (Count::new(), BTreeMap::new());
    for name in rsa_pss_verify::TestName::all() {
        for group in rsa_pss_verify::TestSet::load(name).expect("in the crate").test_groups {
            let key = PublicKey::from_pkcs1_der(&group.asn_key).expect("a key");
            for test in &group.tests {
                let mask = group.mgf_hash.filter(|_| group.mgf == Mgf::Mgf1);
                let verified = mask.and_then(|mask| {
                    with_hash!(group.hash, D => with_hash!(mask, M => {
                        let key = pss::VerifyingKey::<D, M>::with_salt_len(key.clone(), group.salt_size);
                        pss::Signature::try_from(&test.sig[..]).and_then(|sig| key.verify(&test.msg, &sig)).is_ok()
                    }))
                });
                let Some(Some(verified)) = verified else {
                    *left_out.entry(format!("{:?}", group.mgf)).or_insert(0) += 1;
                    continue;
                };
                match test.result {
                    TestResult::Valid => assert!(verified, "{} of {name:?}: {}", test.tc_id, test.comment),
                    TestResult::Invalid => assert!(!verified, "{} of {name:?}: {}", test.tc_id, test.comment),
                    TestResult::Acceptable => {}
                }
                *count.entry(word(test.result)).or_default() += 1;
            }
        }
    }
    println!("{count:?}; left out: {left_out:?}");
    assert!(count["valid"] > 300 && count["invalid"] > 300, "{count:?}");
    assert!(left_out.keys().all(|mgf| mgf.starts_with("Shake")), "{left_out:?}");
}

#[test]
fn decryption_by_oaep() {
    let mut count = Count::new();
    for name in rsa_oaep::TestName::all() {
        for group in rsa_oaep::TestSet::load(name).expect("in the crate").test_groups {
            let key = PrivateKey::from_pkcs8_der(&group.pkcs8).expect("a key");
            PrivateKey::from_pem(&group.pem).expect("a key");
            for test in &group.tests {
                let opened = with_hash!(group.hash, D => with_hash!(group.mgf_hash, M => {
                    key.decrypt_oaep::<D, M>(&test.ct, &test.label)
                }));
                let opened = opened.flatten().expect("hashes that are here");
                match test.result {
                    TestResult::Valid => {
                        assert_eq!(
                            opened.as_deref().map(Vec::as_slice),
                            Ok(&test.pt[..]),
                            "{} of {name:?}: {}",
                            test.tc_id,
                            test.comment
                        );
                    }
                    TestResult::Invalid => assert!(opened.is_err(), "{} of {name:?}: {}", test.tc_id, test.comment),
                    TestResult::Acceptable => {}
                }
                *count.entry(word(test.result)).or_default() += 1;
            }
        }
    }
    println!("{count:?}");
    assert!(count["valid"] > 300 && count["invalid"] > 200, "{count:?}");
}

/// What is invalid gives a false message: never the one that an oracle would be asked for, and the same again.
#[test]
fn decryption_by_version_1_5() {
    let (mut count, mut refused) = (Count::new(), 0);
    for name in rsa_pkcs1_decrypt::TestName::all() {
        for group in rsa_pkcs1_decrypt::TestSet::load(name).expect("in the crate").test_groups {
            let key = PrivateKey::from_pkcs8_der(&group.pkcs8).expect("a key");
            for test in &group.tests {
                let opened = key.decrypt_pkcs1v15(&test.ct);
                match (test.result, opened) {
                    (TestResult::Valid, opened) => {
                        assert_eq!(
                            opened.as_deref().map(Vec::as_slice),
                            Ok(&test.pt[..]),
                            "{} of {name:?}: {}",
                            test.tc_id,
                            test.comment
                        );
                    }
                    (TestResult::Invalid, Ok(message)) => {
                        assert_eq!(key.decrypt_pkcs1v15(&test.ct).expect("again"), message);
                        assert!(
                            message.is_empty() || message[..] != test.pt[..],
                            "{} of {name:?}: {}",
                            test.tc_id,
                            test.comment
                        );
                    }
                    // Too long or too short, which everybody can see.
                    (TestResult::Invalid, Err(_)) => refused += 1,
                    (TestResult::Acceptable, _) => {}
                }
                *count.entry(word(test.result)).or_default() += 1;
            }
        }
    }
    println!("{count:?}, {refused} of them refused");
    assert!(count["valid"] > 50 && count["invalid"] > 30, "{count:?}");
}
