//! RSA: signatures (PKCS#1 v1.5 and PSS), decryption and encryption (OAEP, and PKCS#1 v1.5 without an oracle), on
//! Montgomery kernels that are measured on this machine. RFC 8017 says what is computed.
//!
//! A private operation works modulo the two primes, on a number that is blinded afresh each time; its result is raised to the
//! public exponent and compared before it leaves, so that a fault of the hardware gives an error and no signature from which
//! the key could be computed (Boneh, DeMillo and Lipton, EUROCRYPT 1997).
//!
//! ```
//! use kiln::rsa::{PrivateKey, pkcs1v15};
//! use kiln::rsa::signature::{Keypair, SignatureEncoding, Signer, Verifier};
//!
//! # let pem = include_str!("../../tests/rsa/key_2048.pem");
//! let key = pkcs1v15::SigningKey::<sha2::Sha256>::new(PrivateKey::from_pem(pem)?);
//! let signature = key.sign(b"a message");
//! key.verifying_key().verify(b"a message", &signature)?;
//! assert_eq!(signature.to_bytes().len(), 256);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod blinding;
mod encoding;
pub mod oaep;
mod padding;
pub mod pkcs1v15;
mod private;
pub mod pss;
mod public;

use std::fmt;

pub use private::PrivateKey;
pub use public::PublicKey;
pub use signature;

/// Fewest and most bits of a modulus.
pub const MODULUS_BITS: std::ops::RangeInclusive<usize> = 512..=8192;

/// Why there is no key, or no result.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The key cannot be one: what is wrong with it.
    Key(&'static str),
    /// The key cannot be read.
    Encoding(String),
    /// A message or a hash is too long for the key.
    TooLong,
    /// A ciphertext or a signature is not a number below the modulus, as long as that.
    Range,
    /// The signature is not one of this message.
    Signature,
    /// It cannot be decrypted. No more is said, and this takes as long as success.
    Decryption,
    /// The result was wrong: the processor or the memory has a fault. Nothing of it was given away.
    Fault,
    /// The system gave no random bytes.
    Random,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Key(why) => write!(f, "this is no RSA key: {why}"),
            Error::Encoding(why) => write!(f, "the key cannot be read: {why}"),
            Error::TooLong => f.write_str("the message or the hash is too long for this key"),
            Error::Range => f.write_str("the number is not as long as the modulus, or not below it"),
            Error::Signature => f.write_str("the signature is not one of this message"),
            Error::Decryption => f.write_str("it cannot be decrypted"),
            Error::Fault => f.write_str("a private operation came out wrong, and its result was thrown away"),
            Error::Random => f.write_str("the system gave no random bytes"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for signature::Error {
    fn from(why: Error) -> signature::Error {
        signature::Error::from_source(why)
    }
}
