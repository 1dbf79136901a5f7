//! RustCrypto's crates `aes`, `cbc` and `ctr`, of today and of the generation before.
//!
//! Unsafe is needed to give both generations the buffers as they are.

use crate::call::{Contender, Span, each};
use crate::setup::{Mode, Setup};

macro_rules! rust_crypto {
    (
        $(#[$note:meta])* $generation:ident: $aes:ident $cbc:ident $ctr:ident, block $block:ty,
        traits { $($trait:ident),* }, blocks $($bound:ident)+, cbc $cbc_encrypt:ident $cbc_decrypt:ident
    ) => {
        $(#[$note])*
        pub mod $generation {
            use super::*;
            use $aes::cipher::inout::InOutBuf;
            use $aes::cipher::{BlockSizeUser, KeyInit, KeyIvInit, StreamCipher, consts::U16};
            #[allow(unused_imports, reason = "the older generation has the same trait for blocks and for modes in place")]
            use $aes::cipher::{$($trait),*};

            /// Sets it up.
            pub fn make(setup: &Setup<'_>) -> Option<Box<dyn Contender>> {
                match setup.key.len() {
                    16 => of::<$aes::Aes128>(setup),
                    24 => of::<$aes::Aes192>(setup),
                    32 => of::<$aes::Aes256>(setup),
                    _ => None,
                }
            }

            fn of<C>(setup: &Setup<'_>) -> Option<Box<dyn Contender>>
            where
                C: $($bound +)+ KeyInit + BlockSizeUser<BlockSize = U16> + Clone + 'static,
            {
                let (key, iv) = (setup.key, &setup.iv);
                Some(match setup.mode {
                    Mode::EcbEncrypt => {
                        each(C::new_from_slice(key).ok()?, |cipher, span| cipher.encrypt_blocks_inout(blocks(&span)))
                    }
                    Mode::EcbDecrypt => {
                        each(C::new_from_slice(key).ok()?, |cipher, span| cipher.decrypt_blocks_inout(blocks(&span)))
                    }
                    Mode::CbcEncrypt => each(
                        $cbc::Encryptor::<C>::new_from_slices(key, iv).ok()?,
                        |mode, span| mode.$cbc_encrypt(blocks(&span)),
                    ),
                    Mode::CbcDecrypt => each(
                        $cbc::Decryptor::<C>::new_from_slices(key, iv).ok()?,
                        |mode, span| mode.$cbc_decrypt(blocks(&span)),
                    ),
                    Mode::Ctr => each(
                        $ctr::Ctr128BE::<C>::new_from_slices(key, iv).ok()?,
                        |mode, span| mode.try_apply_keystream_inout(bytes(&span)).expect("a counter of 128 bits"),
                    ),
                    // It counts to 2^32 blocks and refuses more, so the race begins it anew: as GCM does for each message.
                    Mode::GcmCtr => each(
                        $ctr::Ctr32BE::<C>::new_from_slices(key, iv).ok()?,
                        |mode, span| mode.try_apply_keystream_inout(bytes(&span)).expect("less than 2^32 blocks"),
                    ),
                })
            }

            fn bytes<'a>(span: &'a Span<'_>) -> InOutBuf<'a, 'a, u8> {
                // SAFETY: a span is so many bytes to read and to write, nobody else's, at one address or apart.
                unsafe { InOutBuf::from_raw(span.input(), span.output(), span.length()) }
            }

            fn blocks<'a>(span: &'a Span<'_>) -> InOutBuf<'a, 'a, $block> {
                // SAFETY: as in `bytes`; a block is 16 bytes of any alignment.
                unsafe { InOutBuf::from_raw(span.input().cast(), span.output().cast(), span.length() / 16) }
            }
        }
    };
}

rust_crypto! {
    /// With VAES where the program is built for it or the CPU has AVX-512 too: what chooses at run time (cpufeatures 0.3.1) takes
    /// 256-bit VAES for something that needs the registers of AVX-512.
    today: aes cbc ctr, block aes::Block,
    traits { BlockCipherEncrypt, BlockCipherDecrypt, BlockModeEncrypt, BlockModeDecrypt },
    blocks BlockCipherEncrypt BlockCipherDecrypt, cbc encrypt_blocks_inout decrypt_blocks_inout
}
rust_crypto! {
    /// With AES-NI where the CPU has it, chosen at run time.
    before: aes_0_8 cbc_0_1 ctr_0_9, block aes_0_8::Block,
    traits { BlockCipher, BlockEncrypt, BlockDecrypt, BlockEncryptMut, BlockDecryptMut },
    blocks BlockCipher BlockEncrypt BlockDecrypt, cbc encrypt_blocks_inout_mut decrypt_blocks_inout_mut
}
