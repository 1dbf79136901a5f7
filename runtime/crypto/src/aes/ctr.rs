//! Counter mode (SP 800-38A, section 6.5): a keystream that any number of bytes are XORed with; encryption and decryption are
//! the same.
//!
//! A cipher counts in big-endian: [`Ctr128`] in the whole block, modulo 2^128; [`Ctr32`] in the last 32 bits, modulo 2^32, while
//! the others stand still, as GCM does. The counter may begin anywhere and wraps. What is limited is the keystream, to one block
//! less than there are counters, as in the crate `ctr`: a block more, and a counter could be used twice. Going on is an error.
#![forbid(unsafe_code)]

use cipher::{
    InOutBuf, Iv, IvState, SetIvState, StreamCipher, StreamCipherCounter, StreamCipherError, StreamCipherSeek,
};
use cipher::{OverflowError, SeekNum};
use zeroize::Zeroize;

use super::cipher_traits::mode_traits;
use super::kernels::{Block, State};
use super::{BLOCK, Cipher, Error, bytes_from_to, iv};
use width::Width;

/// Counter mode with a counter of 128 bits.
pub type Ctr128<C> = Ctr<C, Bits128>;
/// Counter mode with a counter of 32 bits.
pub type Ctr32<C> = Ctr<C, Bits32>;

/// A counter of 128 bits.
#[derive(Clone, Copy, Debug)]
pub enum Bits128 {}

/// A counter of 32 bits.
#[derive(Clone, Copy, Debug)]
pub enum Bits32 {}

/// Counter mode with a counter of some width.
#[derive(Clone)]
pub struct Ctr<C: Cipher, W: Width> {
    cipher: C,
    /// The counter of the next block of the keystream.
    counter: State,
    /// How many blocks of the keystream come before that one.
    position: W::Position,
    /// The block before it, if it has bytes that were not used.
    keystream: State,
    /// Bytes of `keystream` that were used: 1 to 16.
    used: usize,
}

impl<C: Cipher, W: Width> Ctr<C, W> {
    /// Begins a keystream with a key, or a reference to one, and the first counter.
    #[inline]
    pub fn with_iv(cipher: C, iv: &[u8; BLOCK]) -> Self {
        let (counter, keystream) = (State::new(iv), State::new(&[0; BLOCK]));
        Ctr { cipher, counter, position: W::START, keystream, used: BLOCK }
    }

    /// Begins a keystream with a first counter, if it has [`BLOCK`] bytes.
    ///
    /// # Errors
    /// When it has not.
    pub fn with_iv_slice(cipher: C, slice: &[u8]) -> Result<Self, Error> {
        Ok(Self::with_iv(cipher, iv(slice)?))
    }

    /// Encrypts or decrypts the next bytes where they are.
    ///
    /// # Errors
    /// When the keystream does not reach so far.
    #[inline]
    pub fn apply(&mut self, data: &mut [u8]) -> Result<(), Error> {
        self.reaches(data.len())?;
        self.process(data.into());
        Ok(())
    }

    /// Encrypts or decrypts the next bytes from one buffer to another.
    ///
    /// # Errors
    /// When the buffers are not equally long, or the keystream does not reach so far.
    #[inline]
    pub fn apply_to(&mut self, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
        let data = bytes_from_to(from, to)?;
        self.reaches(data.len())?;
        self.process(data);
        Ok(())
    }

    /// Whether there is keystream for so many bytes.
    #[inline]
    fn reaches(&self, bytes: usize) -> Result<(), Error> {
        let fresh = bytes.saturating_sub(BLOCK - self.used);
        if fresh.div_ceil(BLOCK) <= W::left(self.position) { Ok(()) } else { Err(Error::EndOfKeystream) }
    }

    #[inline]
    fn process(&mut self, data: InOutBuf<'_, '_, u8>) {
        if self.used == BLOCK && data.len().is_multiple_of(BLOCK) {
            self.blocks(data.into_chunks().0);
        } else {
            self.bytes(data);
        }
    }

    #[inline]
    fn blocks(&mut self, blocks: InOutBuf<'_, '_, Block>) {
        self.position = W::after(self.position, blocks.len());
        W::apply(self.cipher.key(), blocks, self.counter.bytes_mut());
    }

    /// Any number of bytes: what is left of the block before, whole blocks, and the beginning of one.
    fn bytes(&mut self, data: InOutBuf<'_, '_, u8>) {
        let head = data.len().min(BLOCK - self.used);
        let (mut head, rest) = data.split_at(head);
        head.xor_in2out(&self.keystream.bytes()[self.used..self.used + head.len()]);
        self.used += head.len();
        let (blocks, mut tail) = rest.into_chunks();
        self.blocks(blocks);
        if !tail.is_empty() {
            self.next_keystream();
            self.used = tail.len();
            tail.xor_in2out(&self.keystream.bytes()[..self.used]);
        }
    }

    /// Makes the block of the keystream that comes next.
    fn next_keystream(&mut self) {
        let mut block = State::new(&[0; BLOCK]);
        self.blocks(InOutBuf::from_mut(Block::cast_from_core_mut(block.bytes_mut())));
        self.keystream = block;
    }
}

mode_traits! { Ctr<C, W: Width>, W::NAME, wipes keystream counter }

/// The counter of the next block of the keystream.
impl<C: Cipher, W: Width> IvState for Ctr<C, W> {
    fn iv_state(&self) -> Iv<Self> {
        self.counter.bytes().into()
    }
}

/// Begins a keystream with this counter.
impl<C: Cipher, W: Width> SetIvState for Ctr<C, W> {
    fn set_iv(&mut self, iv: &Iv<Self>) {
        self.keystream.zeroize();
        (self.counter, self.position, self.used) = (State::new(&iv.0), W::START, BLOCK);
    }
}

impl<C: Cipher, W: Width> StreamCipher for Ctr<C, W> {
    #[inline]
    fn check_remaining(&self, bytes: usize) -> Result<(), StreamCipherError> {
        self.reaches(bytes).map_err(|_| StreamCipherError)
    }

    #[inline]
    fn unchecked_apply_keystream_inout(&mut self, data: InOutBuf<'_, '_, u8>) {
        self.process(data);
    }

    fn unchecked_write_keystream(&mut self, data: &mut [u8]) {
        data.fill(0);
        self.process(data.into());
    }
}

/// Positions are bytes of the keystream.
impl<C: Cipher, W: Width> StreamCipherSeek for Ctr<C, W> {
    fn try_current_pos<T: SeekNum>(&self) -> Result<T, OverflowError> {
        T::from_block_byte(self.position, self.used as u8, BLOCK as u8)
    }

    fn try_seek<T: SeekNum>(&mut self, position: T) -> Result<(), StreamCipherError> {
        let (block, byte) = position.into_block_byte::<W::Position>(BLOCK as u8)?;
        if byte != 0 && block.is_max() {
            return Err(StreamCipherError);
        }
        W::seek(self.counter.bytes_mut(), self.position, block);
        self.position = block;
        self.keystream.zeroize();
        self.used = BLOCK;
        if byte != 0 {
            self.next_keystream();
            self.used = usize::from(byte);
        }
        Ok(())
    }
}

mod width {
    //! What depends on how wide a counter is.

    use cipher::{InOutBuf, StreamCipherCounter};

    use super::{BLOCK, Bits32, Bits128};
    use crate::aes::Aes;
    use crate::aes::kernels::{Block, Size};

    /// The width of a counter. It is in no public module, so that it is sealed.
    pub trait Width {
        /// Name of the mode.
        const NAME: &'static str;
        /// A number of blocks of the keystream.
        type Position: StreamCipherCounter;
        /// None.
        const START: Self::Position;
        /// How many blocks are left, or the largest number.
        fn left(position: Self::Position) -> usize;
        /// The position so many blocks further on.
        fn after(position: Self::Position, blocks: usize) -> Self::Position;
        /// Moves a counter from one position to another.
        fn seek(counter: &mut [u8; BLOCK], from: Self::Position, to: Self::Position);
        /// XORs the keystream to blocks, and counts.
        fn apply<S: Size>(key: &Aes<S>, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; BLOCK]);
    }

    impl Width for Bits128 {
        const NAME: &'static str = "ctr::Ctr128";
        type Position = u128;
        const START: u128 = 0;

        #[inline]
        fn left(position: u128) -> usize {
            // One comparison for whoever is not near the end.
            if (position >> 64) as u64 != u64::MAX {
                usize::MAX
            } else {
                usize::try_from(!position).unwrap_or(usize::MAX)
            }
        }

        #[inline]
        fn after(position: u128, blocks: usize) -> u128 {
            position.wrapping_add(blocks as u128)
        }

        fn seek(counter: &mut [u8; BLOCK], from: u128, to: u128) {
            *counter = u128::from_be_bytes(*counter).wrapping_sub(from).wrapping_add(to).to_be_bytes();
        }

        #[inline]
        fn apply<S: Size>(key: &Aes<S>, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; BLOCK]) {
            key.ctr128(blocks, counter);
        }
    }

    impl Width for Bits32 {
        const NAME: &'static str = "ctr::Ctr32";
        type Position = u32;
        const START: u32 = 0;

        #[inline]
        fn left(position: u32) -> usize {
            (u32::MAX - position) as usize
        }

        #[inline]
        fn after(position: u32, blocks: usize) -> u32 {
            position.wrapping_add(blocks as u32)
        }

        fn seek(counter: &mut [u8; BLOCK], from: u32, to: u32) {
            let (_, low) = counter.split_last_chunk_mut().expect("a block is longer");
            *low = u32::from_be_bytes(*low).wrapping_sub(from).wrapping_add(to).to_be_bytes();
        }

        #[inline]
        fn apply<S: Size>(key: &Aes<S>, blocks: InOutBuf<'_, '_, Block>, counter: &mut [u8; BLOCK]) {
            key.ctr32(blocks, counter);
        }
    }
}
