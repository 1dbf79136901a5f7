//! Keys in files: PKCS#1 and PKCS#8, DER and PEM. Signatures as bytes.

use pkcs1::der::{Decode, SecretDocument, pem::PemLabel};
use pkcs1::{ObjectIdentifier, RsaPrivateKeyRef, RsaPublicKeyRef};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::spki::SubjectPublicKeyInfoRef;

use super::private::Numbers;
use super::{Error, PrivateKey, PublicKey};

/// rsaEncryption, RFC 8017, appendix A.1.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");

fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::Encoding(why.to_string())
}

impl PublicKey {
    /// A key as PKCS#1 has it: `RSAPublicKey`.
    ///
    /// # Errors
    /// [`Error::Encoding`], or what [`PublicKey::new`] says.
    pub fn from_pkcs1_der(der: &[u8]) -> Result<PublicKey, Error> {
        let key = RsaPublicKeyRef::from_der(der).map_err(unreadable)?;
        PublicKey::new(key.modulus.as_bytes(), key.public_exponent.as_bytes())
    }

    /// A key as X.509 has it: `SubjectPublicKeyInfo`.
    ///
    /// # Errors
    /// [`Error::Encoding`], or what [`PublicKey::new`] says.
    pub fn from_public_key_der(der: &[u8]) -> Result<PublicKey, Error> {
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(unreadable)?;
        if info.algorithm.oid != RSA {
            return Err(Error::Encoding(format!("its algorithm is {}, which is not RSA", info.algorithm.oid)));
        }
        let bits = info.subject_public_key.as_bytes().ok_or_else(|| unreadable("a bit string of odd length"))?;
        PublicKey::from_pkcs1_der(bits)
    }

    /// `BEGIN PUBLIC KEY` or `BEGIN RSA PUBLIC KEY`.
    ///
    /// # Errors
    /// [`Error::Encoding`], or what [`PublicKey::new`] says.
    pub fn from_pem(pem: &str) -> Result<PublicKey, Error> {
        let (label, der) = SecretDocument::from_pem(pem).map_err(unreadable)?;
        match label {
            "PUBLIC KEY" => PublicKey::from_public_key_der(der.as_bytes()),
            label if label == RsaPublicKeyRef::PEM_LABEL => PublicKey::from_pkcs1_der(der.as_bytes()),
            other => Err(Error::Encoding(format!("it is a {other:?}, not a public key"))),
        }
    }
}

impl PrivateKey {
    /// A key as PKCS#1 has it: `RSAPrivateKey`, with two primes. All its numbers are checked against each other.
    ///
    /// # Errors
    /// [`Error::Encoding`], or [`Error::Key`] with what does not belong together.
    pub fn from_pkcs1_der(der: &[u8]) -> Result<PrivateKey, Error> {
        let key = RsaPrivateKeyRef::from_der(der).map_err(unreadable)?;
        if key.other_prime_infos.is_some() {
            return Err(Error::Key("it has more than two primes"));
        }
        PrivateKey::of(Numbers {
            modulus: key.modulus.as_bytes(),
            public_exponent: key.public_exponent.as_bytes(),
            private_exponent: key.private_exponent.as_bytes(),
            primes: [key.prime1.as_bytes(), key.prime2.as_bytes()],
            exponents: Some([key.exponent1.as_bytes(), key.exponent2.as_bytes()]),
            coefficient: Some(key.coefficient.as_bytes()),
        })
    }

    /// A key as PKCS#8 has it: `PrivateKeyInfo`, not encrypted.
    ///
    /// # Errors
    /// [`Error::Encoding`], or [`Error::Key`] with what does not belong together.
    pub fn from_pkcs8_der(der: &[u8]) -> Result<PrivateKey, Error> {
        let info = PrivateKeyInfoRef::from_der(der).map_err(unreadable)?;
        if info.algorithm.oid != RSA {
            return Err(Error::Encoding(format!("its algorithm is {}, which is not RSA", info.algorithm.oid)));
        }
        PrivateKey::from_pkcs1_der(info.private_key.as_bytes())
    }

    /// `BEGIN PRIVATE KEY` or `BEGIN RSA PRIVATE KEY`.
    ///
    /// # Errors
    /// [`Error::Encoding`], or [`Error::Key`] with what does not belong together.
    pub fn from_pem(pem: &str) -> Result<PrivateKey, Error> {
        let (label, der) = SecretDocument::from_pem(pem).map_err(unreadable)?;
        match label {
            "PRIVATE KEY" => PrivateKey::from_pkcs8_der(der.as_bytes()),
            label if label == RsaPrivateKeyRef::PEM_LABEL => PrivateKey::from_pkcs1_der(der.as_bytes()),
            other => Err(Error::Encoding(format!(
                "it is a {other:?}, not a private key that can be read without a password"
            ))),
        }
    }
}

/// Conversions that every kind of signature has.
macro_rules! signature {
    ($type:ident) => {
        impl TryFrom<&[u8]> for $type {
            type Error = signature::Error;

            /// Whether it has the length of a key is found when it is verified.
            fn try_from(bytes: &[u8]) -> Result<$type, signature::Error> {
                if bytes.is_empty() || bytes.len() > super::MODULUS_BITS.end() / 8 {
                    return Err(signature::Error::new());
                }
                Ok($type(bytes.into()))
            }
        }

        impl From<$type> for Box<[u8]> {
            fn from(signature: $type) -> Box<[u8]> {
                signature.0
            }
        }

        impl SignatureEncoding for $type {
            type Repr = Box<[u8]>;
        }
    };
}
pub(super) use signature;
