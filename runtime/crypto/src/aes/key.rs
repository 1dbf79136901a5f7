//! Keys: their round keys, and which kernels they go to.

use std::fmt;
use std::sync::Arc;

use cipher::array::{Array, ArraySize};
use cipher::inout::InOutBuf;

use super::Error;
use super::bundle::{self, Bundle, Choice};
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
    /// Those of bitsliced kernels, if this key works with them.
    sliced: Option<Box<S::SlicedKeys>>,
}

impl<S: Size> Aes<S> {
    /// A key of these bytes.
    pub fn from_key<const BYTES: usize>(key: &[u8; BYTES]) -> Aes<S>
    where
        S::KeySize: ArraySize<ArrayType<u8> = [u8; BYTES]>,
    {
        Aes::expand(key.into(), bundle::of_new_keys::<S>())
    }

    /// A key of these bytes, if it has as many as it needs.
    ///
    /// # Errors
    /// When it has not.
    pub fn from_slice(key: &[u8]) -> Result<Aes<S>, Error> {
        Ok(Aes::expand(array(key)?, bundle::of_new_keys::<S>()))
    }

    /// A key of these bytes that works with this bundle, whatever new keys are made for.
    ///
    /// # Errors
    /// When the key has another length.
    pub fn with_bundle(key: &[u8], bundle: Bundle) -> Result<Aes<S>, Error> {
        Ok(Aes::expand(array(key)?, bundle))
    }

    /// What this key works with: what new keys were made for when it was made.
    pub fn bundle(&self) -> Bundle {
        if self.sliced.is_some() { Bundle::Sliced } else { Bundle::Instructions }
    }

    /// What new keys of this size are made for, and why. Decides it if nobody has.
    pub fn choice() -> Choice {
        bundle::choice::<S>()
    }

    /// As FIPS 197 has them.
    pub(super) fn round_keys(&self) -> &S::RoundKeys {
        &self.forward
    }

    pub(super) fn expand(key: &Array<u8, S::KeySize>, bundle: Bundle) -> Aes<S> {
        let forward = S::expand_key().call(key);
        let backward = S::invert_keys().call(&forward);
        let sliced = match bundle {
            Bundle::Instructions => None,
            Bundle::Sliced => Some(Box::new(S::slice_keys().call(&forward))),
        };
        Aes { forward, backward, sliced }
    }

    #[inline]
    pub(super) fn ecb_encrypt(&self, blocks: InOutBuf<'_, '_, Block>) {
        match &self.sliced {
            None => S::ecb_encrypt().call(blocks, &self.forward),
            Some(keys) => S::sliced_ecb_encrypt().call(blocks, &**keys),
        }
    }

    #[inline]
    pub(super) fn ecb_decrypt(&self, blocks: InOutBuf<'_, '_, Block>) {
        match &self.sliced {
            None => S::ecb_decrypt().call(blocks, &self.backward),
            Some(keys) => S::sliced_ecb_decrypt().call(blocks, &**keys),
        }
    }

    #[inline]
    pub(super) fn cbc_encrypt(&self, blocks: InOutBuf<'_, '_, Block>, iv: &mut [u8; 16]) {
        match &self.sliced {
            None => S::cbc_encrypt().call(blocks, &self.forward, core::array::from_mut(iv)),
            Some(keys) => S::sliced_cbc_encrypt().call(blocks, &**keys, core::array::from_mut(iv)),
        }
    }

    #[inline]
    pub(super) fn cbc_decrypt(&self, blocks: InOutBuf<'_, '_, Block>, iv: &mut [u8; 16]) {
        match &self.sliced {
            None => S::cbc_decrypt().call(blocks, &self.backward, core::array::from_mut(iv)),
            Some(keys) => S::sliced_cbc_decrypt().call(blocks, &**keys, core::array::from_mut(iv)),
        }
    }

    #[inline]
    pub(super) fn ctr128(&self, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; 16]) {
        match &self.sliced {
            None => S::ctr128().call(blocks, &self.forward, core::array::from_mut(counter)),
            Some(keys) => S::sliced_ctr128().call(blocks, &**keys, core::array::from_mut(counter)),
        }
    }

    #[inline]
    pub(super) fn ctr32(&self, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; 16]) {
        match &self.sliced {
            None => S::ctr32().call(blocks, &self.forward, core::array::from_mut(counter)),
            Some(keys) => S::sliced_ctr32().call(blocks, &**keys, core::array::from_mut(counter)),
        }
    }

    /// Messages of equally many blocks, one behind the other, with an initialization vector each. Side by side they go to the
    /// same kernels in every bundle: bitsliced ones slice the keys once in a call.
    pub(super) fn cbc_encrypt_many(&self, blocks: InOutBuf<'_, '_, Block>, ivs: &mut [[u8; 16]]) {
        let Some(n) = blocks.len().checked_div(ivs.len()) else { return };
        let (blocks, ivs) = S::cbc_encrypt_x8().call_groups(blocks, n, &self.forward, ivs);
        let (blocks, ivs) = S::cbc_encrypt_x4().call_groups(blocks, n, &self.forward, ivs);
        let (blocks, ivs) = S::cbc_encrypt_x2().call_groups(blocks, n, &self.forward, ivs);
        match &self.sliced {
            None => S::cbc_encrypt().call_groups(blocks, n, &self.forward, ivs),
            Some(keys) => S::sliced_cbc_encrypt().call_groups(blocks, n, &**keys, ivs),
        };
    }
}

/// A key of a slice.
fn array<N: ArraySize>(key: &[u8]) -> Result<&Array<u8, N>, Error> {
    Array::slice_as_array(key).ok_or(Error::KeyLength { bytes: key.len(), expected: N::USIZE })
}

impl<S: Size> Clone for Aes<S> {
    fn clone(&self) -> Self {
        Aes { forward: self.forward.clone(), backward: self.backward.clone(), sliced: self.sliced.clone() }
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
