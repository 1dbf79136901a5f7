//! PSS: signatures with a random salt (RFC 8017, section 8.1). `D` hashes messages, `M` makes the masks:
//! the same hash unless another is named.

use std::marker::PhantomData;

use digest::Digest;
use signature::hazmat::{PrehashSigner, PrehashVerifier};
use signature::rand_core::TryCryptoRng;
use signature::{Keypair, RandomizedSigner, SignatureEncoding, Signer, Verifier};

use super::{Error, PrivateKey, PublicKey, padding};

/// A signature: as many bytes as the modulus has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature(Box<[u8]>);

super::encoding::signature!(Signature);

/// Signs hashes of type `D`, with a salt as long as a hash unless another length is set.
#[derive(Debug)]
pub struct SigningKey<D, M = D> {
    key: PrivateKey,
    salt: usize,
    hash: PhantomData<fn() -> (D, M)>,
}

impl<D: Digest, M: Digest> SigningKey<D, M> {
    /// With this key.
    pub fn new(key: PrivateKey) -> SigningKey<D, M> {
        SigningKey::with_salt_len(key, <D as Digest>::output_size())
    }

    /// With this key, and a salt of so many bytes.
    pub fn with_salt_len(key: PrivateKey, salt: usize) -> SigningKey<D, M> {
        SigningKey { key, salt, hash: PhantomData }
    }

    fn sign_salted(&self, hash: &[u8], fill: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> Result<Signature, Error> {
        let public = self.key.public_key();
        // Before the salt is drawn: it may have any length.
        if hash.len() != <D as Digest>::output_size() || self.salt > public.size() {
            return Err(Error::TooLong);
        }
        let mut salt = vec![0; self.salt];
        fill(&mut salt)?;
        let block = padding::pss::<D, M>(public.bits(), hash, &salt)?;
        Ok(Signature(self.key.apply(&block)?.as_slice().into()))
    }
}

/// Verifies signatures of hashes of type `D`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyingKey<D, M = D> {
    key: PublicKey,
    salt: Option<usize>,
    hash: PhantomData<fn() -> (D, M)>,
}

impl<D: Digest, M: Digest> VerifyingKey<D, M> {
    /// With this key, for salts as long as a hash.
    pub fn new(key: PublicKey) -> VerifyingKey<D, M> {
        VerifyingKey::with_salt_len(key, <D as Digest>::output_size())
    }

    /// With this key, for salts of so many bytes.
    pub fn with_salt_len(key: PublicKey, salt: usize) -> VerifyingKey<D, M> {
        VerifyingKey { key, salt: Some(salt), hash: PhantomData }
    }

    /// With this key, for salts of any length.
    pub fn with_any_salt_len(key: PublicKey) -> VerifyingKey<D, M> {
        VerifyingKey { key, salt: None, hash: PhantomData }
    }
}

fn system(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|_| Error::Random)
}

impl<D: Digest, M: Digest> Signer<Signature> for SigningKey<D, M> {
    /// With a salt from the system.
    fn try_sign(&self, message: &[u8]) -> Result<Signature, signature::Error> {
        self.sign_prehash(&D::digest(message))
    }
}

impl<D: Digest, M: Digest> PrehashSigner<Signature> for SigningKey<D, M> {
    fn sign_prehash(&self, hash: &[u8]) -> Result<Signature, signature::Error> {
        Ok(self.sign_salted(hash, system)?)
    }
}

impl<D: Digest, M: Digest> RandomizedSigner<Signature> for SigningKey<D, M> {
    fn try_sign_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        random: &mut R,
        message: &[u8],
    ) -> Result<Signature, signature::Error> {
        let fill = |bytes: &mut [u8]| random.try_fill_bytes(bytes).map_err(|_| Error::Random);
        Ok(self.sign_salted(&D::digest(message), fill)?)
    }
}

impl<D: Digest, M: Digest> Verifier<Signature> for VerifyingKey<D, M> {
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        self.verify_prehash(&D::digest(message), signature)
    }
}

impl<D: Digest, M: Digest> PrehashVerifier<Signature> for VerifyingKey<D, M> {
    fn verify_prehash(&self, hash: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        let block = self.key.apply(&signature.0)?;
        let length = hash.len() == <D as Digest>::output_size();
        if length && padding::pss_matches::<D, M>(self.key.bits(), hash, self.salt, &block) {
            Ok(())
        } else {
            Err(Error::Signature.into())
        }
    }
}

impl<D: Digest + Clone, M: Digest + Clone> Keypair for SigningKey<D, M> {
    type VerifyingKey = VerifyingKey<D, M>;

    fn verifying_key(&self) -> VerifyingKey<D, M> {
        VerifyingKey::with_salt_len(self.key.public_key().clone(), self.salt)
    }
}
