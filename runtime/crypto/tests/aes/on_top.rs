//! The modes of RustCrypto on Kiln's keys give what they give on RustCrypto's.

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{AesGcm, KeyInit};
use cipher::consts::U12;
use cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, StreamCipher};

use crate::common::{Random, block_counts, for_each_size};

macro_rules! check_cbc {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        for blocks in block_counts() {
            let (key, iv): ([u8; $bytes], [u8; 16]) = (random.array(), random.array());
            let plain = random.bytes(16 * blocks);
            let (mut own, mut other) = (plain.clone(), plain.clone());
            ::cbc::Encryptor::<$own>::new(&key.into(), &iv.into())
                .encrypt_blocks(Array::slice_as_chunks_mut(&mut own).0);
            ::cbc::Encryptor::<$other>::new(&key.into(), &iv.into())
                .encrypt_blocks(Array::slice_as_chunks_mut(&mut other).0);
            assert_eq!(own, other, "{blocks} blocks");
            ::cbc::Decryptor::<$own>::new(&key.into(), &iv.into())
                .decrypt_blocks(Array::slice_as_chunks_mut(&mut own).0);
            assert_eq!(own, plain, "{blocks} blocks");
        }
    }};
}

#[test]
fn cbc() {
    for_each_size!(check_cbc);
}

macro_rules! check_ctr {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        for length in (0..600).step_by(7) {
            let (key, iv): ([u8; $bytes], [u8; 16]) = (random.array(), random.array());
            let (mut own, mut other) = (vec![0; length], vec![0; length]);
            ::ctr::Ctr128BE::<$own>::new(&key.into(), &iv.into()).apply_keystream(&mut own);
            ::ctr::Ctr128BE::<$other>::new(&key.into(), &iv.into()).apply_keystream(&mut other);
            assert_eq!(own, other, "{length} bytes");
        }
    }};
}

#[test]
fn ctr() {
    for_each_size!(check_ctr);
}

macro_rules! check_gcm {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        for length in (0..700).step_by(13) {
            let (key, nonce): ([u8; $bytes], [u8; 12]) = (random.array(), random.array());
            let (message, data) = (random.bytes(length), random.bytes(length % 40));
            let payload = || Payload { msg: &message, aad: &data };
            let own = AesGcm::<$own, U12>::new(&key.into());
            let other = AesGcm::<$other, U12>::new(&key.into());
            let sealed = own.encrypt(&nonce.into(), payload()).unwrap();
            assert_eq!(sealed, other.encrypt(&nonce.into(), payload()).unwrap(), "{length} bytes");
            let opened = own.decrypt(&nonce.into(), Payload { msg: &sealed, aad: &data });
            assert_eq!(opened.unwrap(), message, "{length} bytes");
            let mut forged = sealed;
            *forged.last_mut().unwrap() ^= 1;
            assert!(own.decrypt(&nonce.into(), Payload { msg: &forged, aad: &data }).is_err());
        }
    }};
}

#[test]
fn gcm() {
    for_each_size!(check_gcm);
}
