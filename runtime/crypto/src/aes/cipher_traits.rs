//! The traits of the crate `cipher` for keys, and what its traits for modes have in common.

use std::fmt;

use cipher::consts::U16;
use cipher::inout::NotEqualError;
use cipher::{AlgorithmName, BlockSizeUser, InOut, InOutBuf, Key, KeyInit, KeySizeUser, ParBlocksSizeUser};
use cipher::{BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt};
use cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt};
use zeroize::ZeroizeOnDrop;

use super::kernels::{Block, Size};
use super::{Aes, bundle};

/// How many blocks those get at once who want them some at a time: enough for the widest kernels. What is left of a
/// buffer many of them do one by one, so it is not more.
pub(super) type ParBlocks = U16;

/// A block is a buffer of one.
#[inline]
pub(super) fn one<'i, 'o>(block: InOut<'i, 'o, Block>) -> InOutBuf<'i, 'o, Block> {
    block.into_buf().into_chunks().0
}

/// The methods of a trait that work on one or several blocks: all in one call of a kernel.
macro_rules! whole_slices {
    ($this:ident: $receiver:ty, $blocks:ident => $work:expr;
        $block_inout:ident $block:ident $block_b2b:ident $blocks_inout:ident $blocks_in_place:ident $blocks_b2b:ident) => {
        #[inline]
        fn $block_inout($this: $receiver, block: InOut<'_, '_, Block>) {
            let $blocks = one(block);
            $work;
        }

        #[inline]
        fn $block($this: $receiver, block: &mut Block) {
            let $blocks = InOutBuf::from_mut(block);
            $work;
        }

        #[inline]
        fn $block_b2b($this: $receiver, from: &Block, to: &mut Block) {
            let $blocks = InOutBuf::from_ref_mut(from, to);
            $work;
        }

        #[inline]
        fn $blocks_inout($this: $receiver, $blocks: InOutBuf<'_, '_, Block>) {
            $work;
        }

        #[inline]
        fn $blocks_in_place($this: $receiver, blocks: &mut [Block]) {
            let $blocks = InOutBuf::from(blocks);
            $work;
        }

        #[inline]
        fn $blocks_b2b($this: $receiver, from: &[Block], to: &mut [Block]) -> Result<(), NotEqualError> {
            let $blocks = InOutBuf::new(from, to)?;
            $work;
            Ok(())
        }
    };
}
pub(super) use whole_slices;

/// What every mode with an initialization vector is, beside its work.
macro_rules! mode_traits {
    ($mode:ident<C $(, $more:ident: $bound:path)?>, $name:expr, wipes $($secret:ident)+) => {
        impl<C: Cipher $(, $more: $bound)?> cipher::BlockSizeUser for $mode<C $(, $more)?> {
            type BlockSize = cipher::consts::U16;
        }

        impl<C: Cipher $(, $more: $bound)?> cipher::common::InnerUser for $mode<C $(, $more)?> {
            type Inner = C;
        }

        impl<C: Cipher $(, $more: $bound)?> cipher::IvSizeUser for $mode<C $(, $more)?> {
            type IvSize = cipher::consts::U16;
        }

        impl<C: Cipher $(, $more: $bound)?> cipher::InnerIvInit for $mode<C $(, $more)?> {
            #[inline]
            fn inner_iv_init(cipher: C, iv: &cipher::Iv<Self>) -> Self {
                Self::with_iv(cipher, &iv.0)
            }
        }

        impl<C: Cipher $(, $more: $bound)?> Drop for $mode<C $(, $more)?> {
            fn drop(&mut self) {
                $(zeroize::Zeroize::zeroize(&mut self.$secret);)+
            }
        }

        impl<C: Cipher $(, $more: $bound)?> zeroize::ZeroizeOnDrop for $mode<C $(, $more)?> {}

        impl<C: Cipher $(, $more: $bound)?> cipher::AlgorithmName for $mode<C $(, $more)?> {
            fn write_alg_name(f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}<{}>", $name, <C::Size as super::size::Size>::NAME)
            }
        }

        impl<C: Cipher $(, $more: $bound)?> std::fmt::Debug for $mode<C $(, $more)?> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}<{}> {{ .. }}", $name, <C::Size as super::size::Size>::NAME)
            }
        }
    };
}
pub(super) use mode_traits;

impl<S: Size> KeySizeUser for Aes<S> {
    type KeySize = S::KeySize;
}

impl<S: Size> KeyInit for Aes<S> {
    fn new(key: &Key<Self>) -> Self {
        Aes::expand(key, bundle::of_new_keys::<S>())
    }
}

impl<S: Size> BlockSizeUser for Aes<S> {
    type BlockSize = U16;
}

impl<S: Size> AlgorithmName for Aes<S> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(S::NAME)
    }
}

/// Both kinds of round keys are.
impl<S: Size> ZeroizeOnDrop for Aes<S> {}

impl<S: Size> BlockCipherEncrypt for Aes<S> {
    #[inline]
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U16>) {
        f.call(&Backend(self));
    }

    whole_slices! {
        self: &Self, blocks => self.ecb_encrypt(blocks);
        encrypt_block_inout encrypt_block encrypt_block_b2b encrypt_blocks_inout encrypt_blocks encrypt_blocks_b2b
    }
}

impl<S: Size> BlockCipherDecrypt for Aes<S> {
    #[inline]
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U16>) {
        f.call(&Backend(self));
    }

    whole_slices! {
        self: &Self, blocks => self.ecb_decrypt(blocks);
        decrypt_block_inout decrypt_block decrypt_block_b2b decrypt_blocks_inout decrypt_blocks decrypt_blocks_b2b
    }
}

/// What works on blocks for somebody who wants them some at a time.
struct Backend<'a, S: Size>(&'a Aes<S>);

impl<S: Size> BlockSizeUser for Backend<'_, S> {
    type BlockSize = U16;
}

impl<S: Size> ParBlocksSizeUser for Backend<'_, S> {
    type ParBlocksSize = ParBlocks;
}

impl<S: Size> BlockCipherEncBackend for Backend<'_, S> {
    #[inline]
    fn encrypt_block(&self, block: InOut<'_, '_, Block>) {
        self.0.ecb_encrypt(one(block));
    }

    #[inline]
    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, cipher::ParBlocks<Self>>) {
        self.0.ecb_encrypt(blocks.into_buf());
    }

    #[inline]
    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block>) {
        self.0.ecb_encrypt(blocks);
    }
}

impl<S: Size> BlockCipherDecBackend for Backend<'_, S> {
    #[inline]
    fn decrypt_block(&self, block: InOut<'_, '_, Block>) {
        self.0.ecb_decrypt(one(block));
    }

    #[inline]
    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, cipher::ParBlocks<Self>>) {
        self.0.ecb_decrypt(blocks.into_buf());
    }

    #[inline]
    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block>) {
        self.0.ecb_decrypt(blocks);
    }
}
