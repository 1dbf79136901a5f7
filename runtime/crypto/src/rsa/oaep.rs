//! OAEP: encryption (RFC 8017, section 7.1). `D` hashes the label, `M` makes the masks: most often the same.

use digest::Digest;
use zeroize::Zeroizing;

use super::{Error, PrivateKey, PublicKey, padding};

impl PublicKey {
    /// Encrypts by OAEP, with a seed from the system.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than `size() - 2 - 2 * hash` bytes; [`Error::Random`].
    pub fn encrypt_oaep<D: Digest, M: Digest>(&self, message: &[u8], label: &[u8]) -> Result<Vec<u8>, Error> {
        let mut seed = Zeroizing::new(vec![0; <D as Digest>::output_size()]);
        getrandom::fill(&mut seed).map_err(|_| Error::Random)?;
        self.apply(&padding::oaep::<D, M>(self.size(), message, label, &seed)?)
    }
}

impl PrivateKey {
    /// Decrypts by OAEP. Whatever is wrong with the padding, it takes as long and the error is the same.
    ///
    /// # Errors
    /// [`Error::Decryption`], [`Error::Range`], [`Error::Fault`], [`Error::Random`].
    pub fn decrypt_oaep<D: Digest, M: Digest>(
        &self,
        ciphertext: &[u8],
        label: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        padding::oaep_open::<D, M>(&self.apply(ciphertext)?, label)
    }
}
