//! Each block by itself (SP 800-38A, section 6.1): equal blocks stay equal, so this is what other modes are made of.
#![forbid(unsafe_code)]

use super::size::Size;
use super::{Aes, Error, from_to, in_place};

/// Encrypts blocks where they are.
///
/// # Errors
/// When the data do not end with a block.
#[inline]
pub fn encrypt<S: Size>(key: &Aes<S>, data: &mut [u8]) -> Result<(), Error> {
    key.ecb_encrypt(in_place(data)?);
    Ok(())
}

/// Encrypts blocks from one buffer to another.
///
/// # Errors
/// When the buffers are not equally long or do not end with a block.
#[inline]
pub fn encrypt_to<S: Size>(key: &Aes<S>, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
    key.ecb_encrypt(from_to(from, to)?);
    Ok(())
}

/// Decrypts blocks where they are.
///
/// # Errors
/// When the data do not end with a block.
#[inline]
pub fn decrypt<S: Size>(key: &Aes<S>, data: &mut [u8]) -> Result<(), Error> {
    key.ecb_decrypt(in_place(data)?);
    Ok(())
}

/// Decrypts blocks from one buffer to another.
///
/// # Errors
/// When the buffers are not equally long or do not end with a block.
#[inline]
pub fn decrypt_to<S: Size>(key: &Aes<S>, from: &[u8], to: &mut [u8]) -> Result<(), Error> {
    key.ecb_decrypt(from_to(from, to)?);
    Ok(())
}
