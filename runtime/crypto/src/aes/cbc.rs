//! Cipher block chaining (SP 800-38A, section 6.2).
//!
//! A block waits for the one before it when it is encrypted, and not when it is decrypted: encryption of one message is several
//! times slower. Whoever has several of one length encrypts them side by side ([`encrypt_many`]).
#![forbid(unsafe_code)]

use cipher::{BlockModeDecBackend, BlockModeDecClosure, BlockModeDecrypt};
use cipher::{BlockModeEncBackend, BlockModeEncClosure, BlockModeEncrypt};
use cipher::{BlockSizeUser, InOut, InOutBuf, Iv, IvState, ParBlocksSizeUser, SetIvState};
use cipher::{consts::U16, inout::NotEqualError};

use super::cipher_traits::{ParBlocks, mode_traits, one, whole_slices};
use super::kernels::{Block, State};
use super::size::Size;
use super::{Aes, BLOCK, Cipher, Error, from_to, in_place, iv};

/// Encrypts a message, in one or several calls.
#[derive(Clone)]
pub struct Encryptor<C: Cipher> {
    cipher: C,
    /// The last block of the ciphertext; at first the initialization vector.
    chain: State,
}

impl<C: Cipher> Encryptor<C> {
    /// Begins a message with a key, or a reference to one, and an initialization vector.
    #[inline]
    pub fn with_iv(cipher: C, iv: &[u8; BLOCK]) -> Self {
        Encryptor { cipher, chain: State::new(iv) }
    }

    /// Begins a message with an initialization vector, if it has [`BLOCK`] bytes.
    ///
    /// # Errors
    /// When it has not.
    pub fn with_iv_slice(cipher: C, slice: &[u8]) -> Result<Self, Error> {
        Ok(Self::with_iv(cipher, iv(slice)?))
    }

    /// Encrypts the next blocks where they are.
    ///
    /// # Errors
    /// When the data do not end with a block.
    #[inline]
    pub fn encrypt(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.process(in_place(data)?);
        Ok(())
    }

    /// Encrypts the next blocks from one buffer to another.
    ///
    /// # Errors
    /// When the buffers are not equally long or do not end with a block.
    #[inline]
    pub fn encrypt_to(&mut self, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
        self.process(from_to(from, to)?);
        Ok(())
    }

    #[inline]
    fn process(&mut self, blocks: InOutBuf<'_, '_, Block>) {
        self.cipher.key().cbc_encrypt(blocks, self.chain.bytes_mut());
    }
}

/// Decrypts a message, in one or several calls.
#[derive(Clone)]
pub struct Decryptor<C: Cipher> {
    cipher: C,
    /// The last block of the ciphertext; at first the initialization vector.
    chain: State,
}

impl<C: Cipher> Decryptor<C> {
    /// Begins a message with a key, or a reference to one, and an initialization vector.
    #[inline]
    pub fn with_iv(cipher: C, iv: &[u8; BLOCK]) -> Self {
        Decryptor { cipher, chain: State::new(iv) }
    }

    /// Begins a message with an initialization vector, if it has [`BLOCK`] bytes.
    ///
    /// # Errors
    /// When it has not.
    pub fn with_iv_slice(cipher: C, slice: &[u8]) -> Result<Self, Error> {
        Ok(Self::with_iv(cipher, iv(slice)?))
    }

    /// Decrypts the next blocks where they are.
    ///
    /// # Errors
    /// When the data do not end with a block.
    #[inline]
    pub fn decrypt(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.process(in_place(data)?);
        Ok(())
    }

    /// Decrypts the next blocks from one buffer to another.
    ///
    /// # Errors
    /// When the buffers are not equally long or do not end with a block.
    #[inline]
    pub fn decrypt_to(&mut self, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
        self.process(from_to(from, to)?);
        Ok(())
    }

    #[inline]
    fn process(&mut self, blocks: InOutBuf<'_, '_, Block>) {
        self.cipher.key().cbc_decrypt(blocks, self.chain.bytes_mut());
    }
}

/// Encrypts messages of one length, one behind the other, where they are: as many as there are initialization vectors, which
/// become the last blocks of the ciphertexts. Up to eight go side by side.
///
/// One length, since a block of each is worked on at the same time: sectors of a disk, records of full size.
///
/// ```
/// use kiln::aes::{Aes128, cbc};
///
/// let key = Aes128::from_key(&[1; 16]);
/// let mut messages = [[9; 64], [8; 64], [7; 64]];
/// let alone = messages.map(|mut message| {
///     cbc::Encryptor::with_iv(&key, &[5; 16]).encrypt(&mut message).unwrap();
///     message
/// });
/// cbc::encrypt_many(&key, messages.as_flattened_mut(), &mut [[5; 16]; 3])?;
/// assert_eq!(messages, alone);
/// # Ok::<(), kiln::aes::Error>(())
/// ```
///
/// # Errors
/// When the messages cannot be equally long, or do not end with a block.
pub fn encrypt_many<S: Size>(key: &Aes<S>, messages: &mut [u8], ivs: &mut [[u8; BLOCK]]) -> Result<(), Error> {
    same_length(messages.len(), ivs.len())?;
    key.cbc_encrypt_many(in_place(messages)?, ivs);
    Ok(())
}

/// As [`encrypt_many`], from one buffer to another.
///
/// # Errors
/// When the buffers are not equally long, the messages cannot be, or they do not end with a block.
pub fn encrypt_many_to<S: Size>(
    key: &Aes<S>,
    from: &[u8],
    to: &mut [u8],
    ivs: &mut [[u8; BLOCK]],
) -> Result<(), Error> {
    same_length(from.len(), ivs.len())?;
    key.cbc_encrypt_many(from_to(from, to)?, ivs);
    Ok(())
}

/// So many bytes are so many messages of equally many blocks.
fn same_length(bytes: usize, messages: usize) -> Result<(), Error> {
    let whole = match messages.checked_mul(BLOCK) {
        Some(0) => bytes == 0,
        Some(one_block_each) => bytes.is_multiple_of(one_block_each),
        None => false,
    };
    if whole { Ok(()) } else { Err(Error::Messages { bytes, messages }) }
}

/// The chain is what the next call begins with.
macro_rules! iv_state {
    ($mode:ident) => {
        impl<C: Cipher> IvState for $mode<C> {
            fn iv_state(&self) -> Iv<Self> {
                self.chain.bytes().into()
            }
        }

        impl<C: Cipher> SetIvState for $mode<C> {
            fn set_iv(&mut self, iv: &Iv<Self>) {
                self.chain = State::new(&iv.0);
            }
        }
    };
}

mode_traits! { Encryptor<C>, "cbc::Encryptor", wipes chain }
mode_traits! { Decryptor<C>, "cbc::Decryptor", wipes chain }
iv_state! { Encryptor }
iv_state! { Decryptor }

impl<C: Cipher> BlockModeEncrypt for Encryptor<C> {
    #[inline]
    fn encrypt_with_backend(&mut self, f: impl BlockModeEncClosure<BlockSize = U16>) {
        f.call(&mut Backend(self));
    }

    whole_slices! {
        self: &mut Self, blocks => self.process(blocks);
        encrypt_block_inout encrypt_block encrypt_block_b2b encrypt_blocks_inout encrypt_blocks encrypt_blocks_b2b
    }
}

impl<C: Cipher> BlockModeDecrypt for Decryptor<C> {
    #[inline]
    fn decrypt_with_backend(&mut self, f: impl BlockModeDecClosure<BlockSize = U16>) {
        f.call(&mut Backend(self));
    }

    whole_slices! {
        self: &mut Self, blocks => self.process(blocks);
        decrypt_block_inout decrypt_block decrypt_block_b2b decrypt_blocks_inout decrypt_blocks decrypt_blocks_b2b
    }
}

/// What works on blocks for somebody who wants them some at a time.
struct Backend<'a, M>(&'a mut M);

impl<M> BlockSizeUser for Backend<'_, M> {
    type BlockSize = U16;
}

impl<M> ParBlocksSizeUser for Backend<'_, M> {
    type ParBlocksSize = ParBlocks;
}

impl<C: Cipher> BlockModeEncBackend for Backend<'_, Encryptor<C>> {
    #[inline]
    fn encrypt_block(&mut self, block: InOut<'_, '_, Block>) {
        self.0.process(one(block));
    }

    #[inline]
    fn encrypt_par_blocks(&mut self, blocks: InOut<'_, '_, cipher::ParBlocks<Self>>) {
        self.0.process(blocks.into_buf());
    }

    #[inline]
    fn encrypt_tail_blocks(&mut self, blocks: InOutBuf<'_, '_, Block>) {
        self.0.process(blocks);
    }
}

impl<C: Cipher> BlockModeDecBackend for Backend<'_, Decryptor<C>> {
    #[inline]
    fn decrypt_block(&mut self, block: InOut<'_, '_, Block>) {
        self.0.process(one(block));
    }

    #[inline]
    fn decrypt_par_blocks(&mut self, blocks: InOut<'_, '_, cipher::ParBlocks<Self>>) {
        self.0.process(blocks.into_buf());
    }

    #[inline]
    fn decrypt_tail_blocks(&mut self, blocks: InOutBuf<'_, '_, Block>) {
        self.0.process(blocks);
    }
}
