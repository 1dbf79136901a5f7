//! Private and public operations: there and back for every size and padding, from many threads, and what is refused.

use kiln::modular::Weave;
use kiln::rsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use kiln::rsa::signature::{Keypair, SignatureEncoding, Signer, Verifier};
use kiln::rsa::{Error, PrivateKey, PublicKey, pkcs1v15, pss};
use num_bigint::BigUint;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use crate::pem;

const SIZES: [usize; 5] = [1024, 2047, 2048, 3072, 4096];

fn key(bits: usize) -> PrivateKey {
    PrivateKey::from_pem(pem(bits)).expect("a key of openssl's")
}

/// A number below the modulus, of as many bytes.
fn number(public: &PublicKey, seed: u32) -> Vec<u8> {
    let n = BigUint::from_bytes_be(&public.modulus());
    let x = BigUint::from(seed).pow(1000) % n;
    let bytes = x.to_bytes_be();
    [vec![0; public.size() - bytes.len()], bytes].concat()
}

#[test]
fn private_and_public_operations_are_inverse_to_each_other() {
    for bits in SIZES {
        let mut key = key(bits);
        let public = key.public_key().clone();
        assert_eq!((public.bits(), public.size()), (bits, bits.div_ceil(8)));
        let n = BigUint::from_bytes_be(&public.modulus());
        // More than one pair of blinding lasts.
        let count = if bits > 2048 { 3 } else { 70 };
        for seed in 2..2 + count {
            if bits <= 2048 {
                key.set_weave(Weave::ALL[seed as usize % Weave::ALL.len()]);
            }
            let x = number(&public, seed);
            let y = key.apply(&x).expect("below the modulus");
            assert_eq!(public.apply(&y).expect("below the modulus"), x, "{bits} bits, {seed}");
            let power = BigUint::from_bytes_be(&y).modpow(&BigUint::from(65537_u32), &n);
            assert_eq!(power, BigUint::from_bytes_be(&x), "{bits} bits, {seed}: against big integers");
        }
        for edge in [BigUint::from(0_u32), BigUint::from(1_u32), &n - 1_u32] {
            let bytes = edge.to_bytes_be();
            let x = [vec![0; public.size() - bytes.len()], bytes].concat();
            assert_eq!(*key.apply(&x).expect("below the modulus"), x, "odd powers of 0, 1 and -1 are themselves");
        }
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    let key = key(1024);
    let public = key.public_key();
    let modulus = public.modulus();
    for x in [&modulus[..], &[0xff; 128], &[0; 127], &[0; 129], &[]] {
        assert_eq!(key.apply(x).unwrap_err(), Error::Range);
        assert_eq!(public.apply(x).unwrap_err(), Error::Range);
    }
}

#[test]
fn signatures_of_both_kinds() {
    for bits in SIZES {
        let signer = pkcs1v15::SigningKey::<Sha256>::new(key(bits));
        let verifier = signer.verifying_key();
        let signature = signer.sign(b"message");
        assert_eq!(signature, signer.sign(b"message"), "nothing random in it");
        verifier.verify(b"message", &signature).expect("its own");
        assert!(verifier.verify(b"massage", &signature).is_err());
        let again = pkcs1v15::Signature::try_from(&signature.to_bytes()[..]).expect("bytes");
        assert_eq!(again, signature);

        let signer = pss::SigningKey::<Sha256>::new(key(bits));
        let verifier = signer.verifying_key();
        let signatures = [signer.sign(b"message"), signer.sign(b"message")];
        assert_ne!(signatures[0], signatures[1], "a salt each");
        for signature in &signatures {
            verifier.verify(b"message", signature).expect("its own");
            assert!(verifier.verify(b"massage", signature).is_err());
            let any = pss::VerifyingKey::<Sha256>::with_any_salt_len(key(bits).public_key().clone());
            any.verify(b"message", signature).expect("whatever its salt");
            let other = pss::VerifyingKey::<Sha256>::with_salt_len(key(bits).public_key().clone(), 20);
            assert!(other.verify(b"message", signature).is_err());
        }
        // Every bit counts.
        let mut bytes = signatures[0].to_vec();
        for bit in [0, 1, 4 * bytes.len(), 8 * bytes.len() - 1] {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let broken = pss::Signature::try_from(&bytes[..]).expect("bytes");
            assert!(verifier.verify(b"message", &broken).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    // PSS: a hash of 64 bytes and a salt of 64 need 130 bytes.
    assert!(pss::SigningKey::<Sha512>::new(key(1024)).try_sign(b"").is_err());
    pss::SigningKey::<Sha512>::with_salt_len(key(1024), 62).try_sign(b"").expect("the longest salt");
    assert!(pss::SigningKey::<Sha512>::with_salt_len(key(1024), 63).try_sign(b"").is_err());
    assert!(pss::SigningKey::<Sha512>::with_salt_len(key(1024), usize::MAX).try_sign(b"").is_err());
    let empty = pss::SigningKey::<Sha1>::with_salt_len(key(2047), 0);
    empty.verifying_key().verify(b"", &empty.sign(b"")).expect("no salt at all");
    let signer = pkcs1v15::SigningKey::<Sha256>::new(key(1024));
    assert!(signer.sign_prehash(&[0; 31]).is_err());
    assert!(signer.verifying_key().verify_prehash(&[0; 33], &signer.sign(b"")).is_err());
    for length in [0, 1025] {
        assert!(pss::Signature::try_from(&vec![1; length][..]).is_err());
        assert!(pkcs1v15::Signature::try_from(&vec![1; length][..]).is_err());
    }
}

#[test]
fn messages_of_every_length_are_decrypted() {
    let key = key(1024);
    let public = key.public_key();
    for length in [0, 1, 61, 62, 85, 86, 87, 116, 117, 118] {
        let message = vec![7; length];
        match public.encrypt_oaep::<Sha256, Sha256>(&message, b"label") {
            Ok(sealed) => {
                assert!(length <= 128 - 66);
                assert_eq!(*key.decrypt_oaep::<Sha256, Sha256>(&sealed, b"label").expect("its own"), message);
                for wrong in [
                    key.decrypt_oaep::<Sha256, Sha256>(&sealed, b"labels"),
                    key.decrypt_oaep::<Sha256, Sha1>(&sealed, b"label"),
                    key.decrypt_oaep::<Sha1, Sha256>(&sealed, b"label"),
                    key.decrypt_oaep::<Sha512, Sha512>(&sealed, b"label"),
                ] {
                    assert_eq!(wrong.unwrap_err(), Error::Decryption);
                }
            }
            Err(why) => assert!(why == Error::TooLong && length > 128 - 66),
        }
        match public.encrypt_pkcs1v15(&message) {
            Ok(sealed) => {
                assert!(length <= 117);
                assert_eq!(*key.decrypt_pkcs1v15(&sealed).expect("its own"), message);
            }
            Err(why) => assert!(why == Error::TooLong && length > 117),
        }
    }
}

/// What is no encryption of anything gives a message, the same each time, and others for other ciphertexts.
#[test]
fn there_is_no_oracle() {
    let key = key(1024);
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 2..60 {
        let x = number(key.public_key(), seed);
        let message = key.decrypt_pkcs1v15(&x).expect("a message");
        assert_eq!(message, key.decrypt_pkcs1v15(&x).expect("a message"));
        assert!(message.len() <= 117);
        lengths.insert(message.len());
    }
    assert!(lengths.len() > 30, "{lengths:?}");
}

#[test]
fn many_threads_use_one_key() {
    let signer = pkcs1v15::SigningKey::<Sha256>::new(key(1024));
    let verifier = signer.verifying_key();
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let (signer, verifier) = (&signer, &verifier);
            scope.spawn(move || {
                for message in 0..40_u8 {
                    let message = [thread, message];
                    verifier.verify(&message, &signer.sign(&message)).expect("its own");
                }
            });
        }
    });
}

#[test]
fn nothing_of_a_key_is_printed() {
    let text = format!("{:?} {:?}", key(1024), pss::SigningKey::<Sha256>::new(key(1024)));
    assert!(!text.contains("exponent") && !text.contains("prime"), "{text}");
}
