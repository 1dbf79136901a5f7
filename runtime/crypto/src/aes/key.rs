//! Keys: their round keys, and which kernels they go to.

use std::fmt;
use std::sync::Arc;

use cipher::array::{Array, ArraySize};
use cipher::inout::InOutBuf;
use cipher::typenum::Unsigned;

use super::Error;
use super::kernels::{Bits128, Bits192, Bits256, Block, Size};

/// AES with a key of 128 bits.
pub type Aes128 = Aes<Bits128>;
/// AES with a key of 192 bits.
pub type Aes192 = Aes<Bits192>;
/// AES with a key of 256 bits.
pub type Aes256 = Aes<Bits256>;

/// A key, with its round keys for both directions.
///
/// It can be shared between threads. Round keys are wiped when it is dropped.
pub struct Aes<S: Size> {
    /// Those of the cipher, as FIPS 197 has them.
    forward: S::RoundKeys,
    /// Those of the equivalent inverse cipher.
    backward: S::RoundKeys,
}

impl<S: Size> Aes<S> {
    /// A key of these bytes.
    pub fn from_key<const BYTES: usize>(key: &[u8; BYTES]) -> Aes<S>
    where
        S::KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>,
    {
        Aes::expand(key.into())
    }

    /// A key of these bytes, if it has as many as it needs.
    ///
    /// # Errors
    /// When it has not.
    pub fn from_slice(key: &[u8]) -> Result<Aes<S>, Error> {
        let expected = S::KeySize::USIZE;
        let key = Array::slice_as_array(key).ok_or(Error::KeyLength { bytes: key.len(), expected })?;
        Ok(Aes::expand(key))
    }

    pub(super) fn expand(key: &Array<u8, S::KeySize>) -> Aes<S> {
        let forward = S::expand_key().call(key);
        let backward = S::invert_keys().call(&forward);
        Aes { forward, backward }
    }

    #[inline]
    pub(super) fn ecb_encrypt(&self, blocks: InOutBuf<'_, '_, Block>) {
        S::ecb_encrypt().call(blocks, &self.forward);
    }

    #[inline]
    pub(super) fn ecb_decrypt(&self, blocks: InOutBuf<'_, '_, Block>) {
        S::ecb_decrypt().call(blocks, &self.backward);
    }

    #[inline]
    pub(super) fn cbc_encrypt(&self, blocks: InOutBuf<'_, '_, Block>, iv: &mut [u8; 16]) {
        S::cbc_encrypt().call(blocks, &self.forward, core::array::from_mut(iv));
    }

    #[inline]
    pub(super) fn cbc_decrypt(&self, blocks: InOutBuf<'_, '_, Block>, iv: &mut [u8; 16]) {
        S::cbc_decrypt().call(blocks, &self.backward, core::array::from_mut(iv));
    }

    #[inline]
    pub(super) fn ctr128(&self, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; 16]) {
        S::ctr128().call(blocks, &self.forward, core::array::from_mut(counter));
    }

    #[inline]
    pub(super) fn ctr32(&self, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; 16]) {
        S::ctr32().call(blocks, &self.forward, core::array::from_mut(counter));
    }

    /// Messages of equally many blocks, one behind the other, with an initialization vector each.
    pub(super) fn cbc_encrypt_many(&self, blocks: InOutBuf<'_, '_, Block>, ivs: &mut [[u8; 16]]) {
        let Some(n) = blocks.len().checked_div(ivs.len()) else { return };
        let (blocks, ivs) = S::cbc_encrypt_x8().call_groups(blocks, n, &self.forward, ivs);
        let (blocks, ivs) = S::cbc_encrypt_x4().call_groups(blocks, n, &self.forward, ivs);
        let (blocks, ivs) = S::cbc_encrypt_x2().call_groups(blocks, n, &self.forward, ivs);
        S::cbc_encrypt().call_groups(blocks, n, &self.forward, ivs);
    }
}

impl<S: Size> Clone for Aes<S> {
    fn clone(&self) -> Self {
        Aes { forward: self.forward.clone(), backward: self.backward.clone() }
    }
}

impl<S: Size> fmt::Debug for Aes<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(S::NAME).finish_non_exhaustive()
    }
}

/// A key that a mode works with: an [`Aes`] of its own, a reference to one, or a shared one. No other type has it.
pub trait Cipher: sealed::Sealed {
    /// The size of its key.
    type Size: Size;

    /// The key.
    fn key(&self) -> &Aes<Self::Size>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! ciphers {
    ($($cipher:ty),*) => {$(
        impl<S: Size> sealed::Sealed for $cipher {}

        impl<S: Size> Cipher for $cipher {
            type Size = S;

            #[inline]
            fn key(&self) -> &Aes<S> {
                self
            }
        }
    )*};
}

ciphers! { Aes<S>, &Aes<S>, Arc<Aes<S>> }
