//! What is put around messages and hashes before a key is used on them: RFC 8017, sections 7 and 9.

use digest::Digest;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};
use zeroize::{Zeroize, Zeroizing};

use super::Error;

/// MGF1: xors a mask of any length, made of a seed, into the target.
pub fn xor_mask<D: Digest>(target: &mut [u8], seed: &[u8]) {
    for (counter, chunk) in target.chunks_mut(<D as Digest>::output_size()).enumerate() {
        // A modulus has at most 1024 bytes, so that the counter never wraps.
        let mut mask = D::new().chain_update(seed).chain_update((counter as u32).to_be_bytes()).finalize();
        chunk.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
        mask.zeroize();
    }
}

/// EMSA-PKCS1-v1_5: 0 1 255… 0, the name of the hash, the hash.
pub fn pkcs1v15_signature(size: usize, name: &[u8], hash: &[u8]) -> Result<Vec<u8>, Error> {
    // SEQUENCE { SEQUENCE { OBJECT IDENTIFIER, NULL }, OCTET STRING }: all lengths are below 128.
    let mut info = Vec::new();
    if !name.is_empty() {
        info.extend([0x30, (8 + name.len() + hash.len()) as u8, 0x30, (4 + name.len()) as u8, 0x06, name.len() as u8]);
        info.extend(name);
        info.extend([0x05, 0x00, 0x04, hash.len() as u8]);
    }
    info.extend(hash);
    let filling = size.checked_sub(info.len() + 3).filter(|filling| *filling >= 8).ok_or(Error::TooLong)?;
    let mut block = vec![0xff; size];
    block[0] = 0;
    block[1] = 1;
    block[2 + filling] = 0;
    block[3 + filling..].copy_from_slice(&info);
    Ok(block)
}

/// EMSA-PSS, for a modulus of so many bits.
pub fn pss<D: Digest, M: Digest>(bits: usize, hash: &[u8], salt: &[u8]) -> Result<Vec<u8>, Error> {
    let size = (bits - 1).div_ceil(8);
    let own = hash.len();
    let filling = size.checked_sub(own + salt.len() + 2).ok_or(Error::TooLong)?;
    let outer = D::new().chain_update([0; 8]).chain_update(hash).chain_update(salt).finalize();
    let mut block = vec![0; size];
    block[filling] = 1;
    block[filling + 1..][..salt.len()].copy_from_slice(salt);
    let (masked, rest) = block.split_at_mut(size - own - 1);
    rest[..own].copy_from_slice(&outer);
    rest[own] = 0xbc;
    xor_mask::<M>(masked, &outer);
    masked[0] &= 0xff >> (8 * size - (bits - 1));
    // Bytes of the modulus: one more where it has a multiple of 8 bits, and one.
    let mut whole = vec![0; bits.div_ceil(8) - size];
    whole.extend(block);
    Ok(whole)
}

/// EMSA-PSS-VERIFY with a salt of `salt` bytes, or of any length; all of it is public.
pub fn pss_matches<D: Digest, M: Digest>(bits: usize, hash: &[u8], salt: Option<usize>, whole: &[u8]) -> bool {
    let size = (bits - 1).div_ceil(8);
    let own = hash.len();
    let (front, block) = whole.split_at(bits.div_ceil(8) - size);
    if front.iter().any(|byte| *byte != 0) || size < own + 2 + salt.unwrap_or(0) || block[size - 1] != 0xbc {
        return false;
    }
    let (masked, rest) = block.split_at(size - own - 1);
    let outer = &rest[..own];
    let unused = 0xff_u8 >> (8 * size - (bits - 1));
    if masked[0] & !unused != 0 {
        return false;
    }
    let mut open = masked.to_vec();
    xor_mask::<M>(&mut open, outer);
    open[0] &= unused;
    let Some(one) = open.iter().position(|byte| *byte != 0).filter(|one| open[*one] == 1) else { return false };
    let found = &open[one + 1..];
    if salt.is_some_and(|length| length != found.len()) {
        return false;
    }
    let again = D::new().chain_update([0; 8]).chain_update(hash).chain_update(found).finalize();
    again.as_slice() == outer
}

/// EME-OAEP.
pub fn oaep<D: Digest, M: Digest>(
    size: usize,
    message: &[u8],
    label: &[u8],
    seed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let own = <D as Digest>::output_size();
    let filling = size.checked_sub(2 * own + 2 + message.len()).ok_or(Error::TooLong)?;
    let mut block = Zeroizing::new(vec![0; size]);
    let (masked_seed, data) = block[1..].split_at_mut(own);
    data[..own].copy_from_slice(&D::digest(label));
    data[own + filling] = 1;
    data[own + filling + 1..].copy_from_slice(message);
    xor_mask::<M>(data, seed);
    masked_seed.copy_from_slice(seed);
    xor_mask::<M>(masked_seed, data);
    Ok(block)
}

/// The message in an opened block. Takes as long whatever is wrong with it, and says nothing of what (Manger, CRYPTO 2001).
pub fn oaep_open<D: Digest, M: Digest>(block: &[u8], label: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let own = <D as Digest>::output_size();
    if block.len() < 2 * own + 2 {
        return Err(Error::Decryption);
    }
    let mut open = Zeroizing::new(block.to_vec());
    let (seed, data) = open[1..].split_at_mut(own);
    xor_mask::<M>(seed, data);
    xor_mask::<M>(data, seed);
    let mut good = block[0].ct_eq(&0) & data[..own].ct_eq(&D::digest(label));
    // The first byte other than 0 behind the hash is 1, and the message begins behind it.
    let (mut found, mut start) = (Choice::from(0), 0_u32);
    for (index, byte) in data.iter().enumerate().skip(own) {
        let first = !byte.ct_eq(&0) & !found;
        good &= !first | byte.ct_eq(&1);
        start = u32::conditional_select(&start, &(index as u32 + 1), first);
        found |= first;
    }
    // The one place where success and failure part: both have done the same until here.
    if bool::from(good & found) { Ok(Zeroizing::new(data[start as usize..].to_vec())) } else { Err(Error::Decryption) }
}

/// EME-PKCS1-v1_5: 0 2, bytes other than 0, 0, the message.
pub fn pkcs1v15_encryption(
    size: usize,
    message: &[u8],
    mut random: impl FnMut(&mut [u8]) -> Result<(), Error>,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let filling = size.checked_sub(message.len() + 3).filter(|filling| *filling >= 8).ok_or(Error::TooLong)?;
    let mut block = Zeroizing::new(vec![0; size]);
    block[1] = 2;
    for byte in &mut block[2..2 + filling] {
        while *byte == 0 {
            random(std::slice::from_mut(byte))?;
        }
    }
    block[3 + filling..].copy_from_slice(message);
    Ok(block)
}

/// The message in an opened block, or the end of `instead` of so many bytes where the block is none: both are found in the same
/// time, and the caller never learns which it was. `length` is the length of the false message, below size - 10.
pub fn pkcs1v15_open(block: &[u8], instead: &[u8], length: u32) -> Zeroizing<Vec<u8>> {
    let size = block.len() as u32;
    let mut good = block[0].ct_eq(&0) & block[1].ct_eq(&2);
    let (mut found, mut start) = (Choice::from(0), 0_u32);
    for (index, byte) in block.iter().enumerate().skip(2) {
        let first = byte.ct_eq(&0) & !found;
        start = u32::conditional_select(&start, &(index as u32 + 1), first);
        found |= first;
    }
    // At least 8 bytes of filling.
    good &= found & !start.ct_lt(&11);
    let start = u32::conditional_select(&(size - length), &start, good);
    let mut chosen = Zeroizing::new(vec![0; block.len()]);
    for ((chosen, a), b) in chosen.iter_mut().zip(instead).zip(block) {
        *chosen = u8::conditional_select(a, b, good);
    }
    // The length of the message is what the caller asked for; true and false ones are alike.
    Zeroizing::new(chosen[start as usize..].to_vec())
}
