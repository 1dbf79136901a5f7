//! AES: keys, and the modes ECB, CBC and CTR over whole buffers.
//!
//! ```
//! use kiln::aes::{Aes128, cbc, ctr::Ctr128, ecb};
//!
//! // FIPS 197, appendix B.
//! let key = Aes128::from_key(&0x2b7e151628aed2a6abf7158809cf4f3c_u128.to_be_bytes());
//! let mut block = 0x3243f6a8885a308d313198a2e0370734_u128.to_be_bytes();
//! ecb::encrypt(&key, &mut block)?;
//! assert_eq!(block, 0x3925841d02dc09fbdc118597196a0b32_u128.to_be_bytes());
//!
//! // A mode owns a key or borrows one, and goes on where the last call stopped.
//! let (iv, plain) = ([7; 16], [42; 64]);
//! let mut cipher = cbc::Encryptor::with_iv(&key, &iv);
//! let mut message = plain;
//! cipher.encrypt(&mut message[..32])?;
//! cipher.encrypt(&mut message[32..])?;
//! cbc::Decryptor::with_iv(&key, &iv).decrypt(&mut message)?;
//! assert_eq!(message, plain);
//!
//! // A keystream: any number of bytes.
//! let mut text = *b"attack at dawn";
//! Ctr128::with_iv(&key, &iv).apply(&mut text)?;
//! Ctr128::with_iv(&key, &iv).apply(&mut text)?;
//! assert_eq!(&text, b"attack at dawn");
//! # Ok::<(), kiln::aes::Error>(())
//! ```
//!
//! # With the crates of RustCrypto
//! Keys have the traits of the crate [`cipher`], so that `cbc`, `ctr`, `aes-gcm` and others run on them; the modes here have
//! those traits too, and give a whole buffer to a kernel at once, which those crates cannot. Padding comes with the traits:
//!
//! ```
//! use cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::Pkcs7};
//! use kiln::aes::{Aes256, cbc};
//!
//! let (key, iv) = ([1; 32], [2; 16]);
//! let cipher = cbc::Encryptor::<Aes256>::new(&key.into(), &iv.into());
//! let mut buffer = [0; 32];
//! buffer[..20].copy_from_slice(b"this is twenty bytes");
//! let ciphertext = cipher.encrypt_padded::<Pkcs7>(&mut buffer, 20)?.to_owned();
//! let cipher = cbc::Decryptor::<Aes256>::new(&key.into(), &iv.into());
//! let mut buffer = ciphertext;
//! assert_eq!(cipher.decrypt_padded::<Pkcs7>(&mut buffer)?, b"this is twenty bytes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Two bundles
//! A key works with the CPU's AES instructions, or with bitsliced kernels, which take their round keys in another form. Which of
//! the two is decided once for each size of the key, when the first key is made, by encrypting the same blocks with both
//! ([`Aes::choice`] tells the outcome and why); a key keeps what it was made for.
//!
//! # In place, and from one buffer to another
//! Each operation is there twice: on one `&mut [u8]`, and from a `&[u8]` to a `&mut [u8]`, which cannot overlap. Whoever has data to
//! be moved within one buffer, by less than their length, moves them first (`copy_within`) and works in place.
//!
//! # Secrets
//! Keys, data and the chain of CBC are secret, lengths and counters are not: no branch, address or instruction of variable time
//! depends on a secret. What that rests on is in `SOUNDNESS.md`. Round keys, keystream and the chain are wiped on drop. **No mode
//! here authenticates**: whoever does not know why that is fine wants `aes-gcm` on top of a key.
//!
//! # Errors
//! Lengths are checked before anything is written: after an error, buffers and ciphers are as they were.

#[forbid(unsafe_code)]
mod bundle;
pub mod cbc;
#[forbid(unsafe_code)]
mod cipher_traits;
pub mod ctr;
pub mod ecb;
#[allow(unsafe_code, reason = "the one place that calls an entry")]
mod kernels;
#[forbid(unsafe_code)]
mod key;

pub use bundle::{Bundle, Choice, Reason, Times};
pub use key::{Aes, Aes128, Aes192, Aes256, Cipher};

/// The sizes of a key, by which [`Aes`] is generic.
pub mod size {
    pub use super::kernels::{Bits128, Bits192, Bits256, Size};
}

use cipher::consts::U16;
use cipher::inout::InOutBuf;
use std::fmt;

use kernels::Block;

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// What cannot be done. Nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A key has another length than its cipher asks for.
    KeyLength {
        /// Its bytes.
        bytes: usize,
        /// What it should have.
        expected: usize,
    },
    /// An initialization vector, or a first counter, does not have [`BLOCK`] bytes.
    IvLength {
        /// Its bytes.
        bytes: usize,
    },
    /// The data of a block mode do not end with a block.
    PartialBlock {
        /// Their bytes.
        bytes: usize,
    },
    /// Input and output are not equally long.
    Lengths {
        /// Bytes of the input.
        from: usize,
        /// Bytes of the output.
        to: usize,
    },
    /// Messages that are worked on together are not equally long, or do not end with a block.
    Messages {
        /// Bytes of all of them.
        bytes: usize,
        /// How many there are.
        messages: usize,
    },
    /// The keystream does not reach so far.
    EndOfKeystream,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::KeyLength { bytes, expected } => write!(f, "the key has {bytes} bytes and needs {expected}"),
            Error::IvLength { bytes } => write!(f, "the initialization vector has {bytes} bytes and needs {BLOCK}"),
            Error::PartialBlock { bytes } => {
                write!(f, "{bytes} bytes are not a whole number of blocks of {BLOCK}; pad the data")
            }
            Error::Lengths { from, to } => write!(f, "the input has {from} bytes and the output {to}"),
            Error::Messages { bytes, messages } => {
                write!(f, "{bytes} bytes are not {messages} messages of equally many blocks of {BLOCK} bytes")
            }
            Error::EndOfKeystream => {
                f.write_str("the keystream ends before the data; take a new initialization vector")
            }
        }
    }
}

impl std::error::Error for Error {}

/// After kernels were tuned: decides anew what new keys are made for.
pub(crate) fn choose_bundles_again() {
    bundle::choose_again::<size::Bits128>();
    bundle::choose_again::<size::Bits192>();
    bundle::choose_again::<size::Bits256>();
}

/// Bytes that are worked on where they are, as blocks.
#[inline]
fn in_place(data: &mut [u8]) -> Result<InOutBuf<'_, '_, Block>, Error> {
    blocks(InOutBuf::from(data))
}

/// Bytes that are worked on from one buffer to another, as blocks.
#[inline]
fn from_to<'i, 'o>(from: &'i [u8], to: &'o mut [u8]) -> Result<InOutBuf<'i, 'o, Block>, Error> {
    blocks(bytes_from_to(from, to)?)
}

#[inline]
fn bytes_from_to<'i, 'o>(from: &'i [u8], to: &'o mut [u8]) -> Result<InOutBuf<'i, 'o, u8>, Error> {
    let lengths = Error::Lengths { from: from.len(), to: to.len() };
    InOutBuf::new(from, to).map_err(|_| lengths)
}

#[inline]
fn blocks<'i, 'o>(data: InOutBuf<'i, 'o, u8>) -> Result<InOutBuf<'i, 'o, Block>, Error> {
    let bytes = data.len();
    let (blocks, rest) = data.into_chunks::<U16>();
    if rest.is_empty() { Ok(blocks) } else { Err(Error::PartialBlock { bytes }) }
}

/// An initialization vector of a slice.
fn iv(slice: &[u8]) -> Result<&[u8; BLOCK], Error> {
    slice.try_into().map_err(|_| Error::IvLength { bytes: slice.len() })
}
