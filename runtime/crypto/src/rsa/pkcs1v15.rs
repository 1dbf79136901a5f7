//! PKCS#1 v1.5: signatures, and encryption for those who must (RFC 8017, sections 7.2 and 8.2).

use std::marker::PhantomData;

use digest::Digest;
use digest::const_oid::AssociatedOid;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use signature::hazmat::{PrehashSigner, PrehashVerifier};
use signature::{Keypair, SignatureEncoding, Signer, Verifier};
use zeroize::Zeroizing;

use super::{Error, PrivateKey, PublicKey, padding};

/// A signature: as many bytes as the modulus has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature(Box<[u8]>);

super::encoding::signature!(Signature);

/// Signs hashes of type `D`.
#[derive(Debug)]
pub struct SigningKey<D> {
    key: PrivateKey,
    hash: PhantomData<fn() -> D>,
}

impl<D> SigningKey<D> {
    /// With this key.
    pub fn new(key: PrivateKey) -> SigningKey<D> {
        SigningKey { key, hash: PhantomData }
    }
}

/// Verifies signatures of hashes of type `D`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyingKey<D> {
    key: PublicKey,
    hash: PhantomData<fn() -> D>,
}

impl<D> VerifyingKey<D> {
    /// With this key.
    pub fn new(key: PublicKey) -> VerifyingKey<D> {
        VerifyingKey { key, hash: PhantomData }
    }
}

impl<D: Digest + AssociatedOid> Signer<Signature> for SigningKey<D> {
    fn try_sign(&self, message: &[u8]) -> Result<Signature, signature::Error> {
        self.sign_prehash(&D::digest(message))
    }
}

impl<D: Digest + AssociatedOid> PrehashSigner<Signature> for SigningKey<D> {
    fn sign_prehash(&self, hash: &[u8]) -> Result<Signature, signature::Error> {
        if hash.len() != <D as Digest>::output_size() {
            return Err(signature::Error::new());
        }
        let block = padding::pkcs1v15_signature(self.key.public_key().size(), D::OID.as_bytes(), hash)?;
        Ok(Signature(self.key.apply(&block)?.as_slice().into()))
    }
}

impl<D: Digest + AssociatedOid> Verifier<Signature> for VerifyingKey<D> {
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        self.verify_prehash(&D::digest(message), signature)
    }
}

impl<D: Digest + AssociatedOid> PrehashVerifier<Signature> for VerifyingKey<D> {
    /// The block is made again and compared as a whole: nothing in it is parsed.
    fn verify_prehash(&self, hash: &[u8], signature: &Signature) -> Result<(), signature::Error> {
        if hash.len() != <D as Digest>::output_size() {
            return Err(signature::Error::new());
        }
        let expected = padding::pkcs1v15_signature(self.key.size(), D::OID.as_bytes(), hash)?;
        let found = self.key.apply(&signature.0)?;
        if found == expected { Ok(()) } else { Err(Error::Signature.into()) }
    }
}

impl<D: Clone> Keypair for SigningKey<D> {
    type VerifyingKey = VerifyingKey<D>;

    fn verifying_key(&self) -> VerifyingKey<D> {
        VerifyingKey::new(self.key.public_key().clone())
    }
}

impl PublicKey {
    /// Encrypts by PKCS#1 v1.5. New protocols take [OAEP](super::oaep).
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `size() - 11` bytes; [`Error::Random`].
    pub fn encrypt_pkcs1v15(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let random = |bytes: &mut [u8]| getrandom::fill(bytes).map_err(|_| Error::Random);
        self.apply(&padding::pkcs1v15_encryption(self.size(), message, random)?)
    }
}

impl PrivateKey {
    /// Decrypts by PKCS#1 v1.5. What is no encryption of anything gives a message all the same, always the same one for the same
    /// ciphertext, which nobody can tell from a true one: there is no oracle (Bleichenbacher, CRYPTO 1998). It is made as
    /// draft-irtf-cfrg-rsa-guidance-08 says, section 7, and as OpenSSL 3.2 does.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::Fault`], [`Error::Random`].
    pub fn decrypt_pkcs1v15(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let block = self.apply(ciphertext)?;
        let (instead, length) = self.false_message(ciphertext);
        Ok(padding::pkcs1v15_open(&block, &instead, length))
    }

    /// As many bytes as a block has, and the length of a message at their end.
    fn false_message(&self, ciphertext: &[u8]) -> (Zeroizing<Vec<u8>>, u32) {
        let size = self.public_key().size();
        let mut d = Zeroizing::new(vec![0; size]);
        crate::modular::to_be_bytes(&mut d, self.d());
        let seed = hmac(&Sha256::digest(&*d), &[ciphertext]);
        let lengths = expand(&seed[..], b"length", 256);
        // The last of 128 candidates that is short enough.
        let limit = size as u32 - 10;
        let mask = u32::MAX >> limit.leading_zeros();
        let mut length = 0_u32;
        for pair in lengths.chunks_exact(2) {
            let candidate = u32::from(u16::from_be_bytes([pair[0], pair[1]])) & mask;
            let fits = subtle::ConstantTimeLess::ct_lt(&candidate, &limit);
            length = subtle::ConditionallySelectable::conditional_select(&length, &candidate, fits);
        }
        (expand(&seed[..], b"message", size), length)
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    parts.iter().for_each(|part| mac.update(part));
    Zeroizing::new(mac.finalize().into_bytes().into())
}

/// The pseudorandom function of the draft: HMACs of a counter, a label and the length in bits.
fn expand(seed: &[u8], label: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 32));
    for counter in 0_u16.. {
        if bytes.len() >= length {
            break;
        }
        let bits = ((8 * length) as u16).to_be_bytes();
        bytes.extend(hmac(seed, &[&counter.to_be_bytes(), label, &bits]).iter());
    }
    bytes.truncate(length);
    bytes
}
