//! The libraries that are crates: ring, graviola and RustCrypto.
#![forbid(unsafe_code)]

use super::task::{MESSAGE, Sides, Sign, Task, Verify};

/// ring: signs messages, so it hashes in each call, and reads the public key in each call.
pub mod ring {
    use ::ring::rand::SystemRandom;
    use ::ring::signature::{
        RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair,
        UnparsedPublicKey,
    };

    use super::{MESSAGE, Sides, Sign, Task, Verify};

    /// Sets it up.
    pub fn make(task: &Task) -> Sides {
        let key = RsaKeyPair::from_der(&task.private).map_err(|why| format!("refuses the key: {why}"));
        let rules = if task.bits < 2048 {
            &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY
        } else {
            &RSA_PKCS1_2048_8192_SHA256
        };
        let public = UnparsedPublicKey::new(rules, task.public.clone());
        let verify: Verify = Box::new(move |signature| public.verify(MESSAGE, signature).is_ok());
        Sides {
            sign: key.map(|key| -> Sign {
                let random = SystemRandom::new();
                Box::new(move |to| key.sign(&RSA_PKCS1_SHA256, &random, MESSAGE, to).is_ok())
            }),
            verify: Ok(verify),
        }
    }
}

/// graviola: signs messages, so it hashes in each call.
pub mod graviola {
    use ::graviola::signing::rsa::{SigningKey, VerifyingKey};

    use super::{MESSAGE, Sides, Sign, Task, Verify};

    /// Sets it up.
    pub fn make(task: &Task) -> Sides {
        let refuses = |why| format!("refuses the key: {why:?}");
        let key = SigningKey::from_pkcs1_der(&task.private).map_err(refuses);
        let public = VerifyingKey::from_pkcs1_der(&task.public).map_err(refuses);
        Sides {
            sign: key.map(|key| -> Sign {
                Box::new(move |to| {
                    let length = to.len();
                    key.sign_pkcs1_sha256(to, MESSAGE).is_ok_and(|signature| signature.len() == length)
                })
            }),
            verify: public.map(|public| -> Verify {
                Box::new(move |signature| public.verify_pkcs1_sha256(signature, MESSAGE).is_ok())
            }),
        }
    }
}

/// RustCrypto's crate `rsa`.
pub mod rust_crypto {
    use ::rsa::PrivateKey;
    use ::rsa::pkcs1::DecodeRsaPrivateKey;
    use ::rsa::pkcs1v15::{Signature, SigningKey};
    use ::rsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
    use ::rsa::signature::{Keypair, SignatureEncoding};
    use sha2::Sha256;

    use super::{Sides, Sign, Task, Verify};

    /// Sets it up.
    pub fn make(task: &Task) -> Sides {
        let hash = task.hash;
        let key = || match PrivateKey::from_pkcs1_der(&task.private) {
            Ok(key) => Ok(SigningKey::<Sha256>::new(key)),
            Err(why) => Err(format!("refuses the key: {why}")),
        };
        Sides {
            sign: key().map(|key| -> Sign {
                Box::new(move |to| match key.sign_prehash(&hash) {
                    Ok(signature) => super::super::copy(to, &signature.to_bytes()),
                    Err(_) => false,
                })
            }),
            verify: key().map(|key| -> Verify {
                let key = key.verifying_key();
                Box::new(move |signature| {
                    Signature::try_from(signature).is_ok_and(|signature| key.verify_prehash(&hash, &signature).is_ok())
                })
            }),
        }
    }
}
