//! CBC: messages in one or several calls, in place and out of place, and several messages side by side.

use cipher::block_padding::Pkcs7;
use cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, IvState, KeyIvInit, SetIvState};
use kiln::aes::cbc::{Decryptor, Encryptor, encrypt_many, encrypt_many_to};

use crate::common::{Random, block_counts, for_each_size, unwritten};

macro_rules! check {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        for blocks in block_counts() {
            let (key, iv): ([u8; $bytes], [u8; 16]) = (random.array(), random.array());
            let own = <$own>::from_key(&key);
            let plain = random.bytes(16 * blocks);
            let mut expected = plain.clone();
            let mut other = <::cbc::Encryptor<$other> as KeyIvInit>::new(&key.into(), &iv.into());
            other.encrypt_blocks(Array::slice_as_chunks_mut(&mut expected).0);

            let mut data = plain.clone();
            Encryptor::with_iv(&own, &iv).encrypt(&mut data).unwrap();
            assert_eq!(data, expected, "{blocks} blocks");
            Decryptor::with_iv(&own, &iv).decrypt(&mut data).unwrap();
            assert_eq!(data, plain, "{blocks} blocks");

            // In pieces, from one buffer to another: the chain is handed on.
            let (mut to, mut back) = (unwritten(16 * blocks), unwritten(16 * blocks));
            let (mut encryptor, mut decryptor) = (Encryptor::with_iv(&own, &iv), Decryptor::with_iv(&own, &iv));
            let mut at = 0;
            for piece in random.pieces(16 * blocks, 16) {
                let own = at..at + piece;
                encryptor.encrypt_to(&plain[own.clone()], &mut to[own.clone()]).unwrap();
                decryptor.decrypt_to(&to[own.clone()], &mut back[own]).unwrap();
                at += piece;
            }
            assert_eq!((&to, &back), (&expected, &plain), "{blocks} blocks");
            let chain = expected.last_chunk().unwrap_or(&iv);
            assert_eq!((encryptor.iv_state().0, decryptor.iv_state().0), (*chain, *chain), "{blocks} blocks");

            // The traits.
            encryptor.set_iv(&iv.into());
            decryptor.set_iv(&iv.into());
            let (data, _) = Array::slice_as_chunks_mut(&mut to);
            data.copy_from_slice(Array::slice_as_chunks(&plain).0);
            let (first, rest) = data.split_at_mut(blocks.min(1));
            first.iter_mut().for_each(|block| encryptor.encrypt_block(block));
            encryptor.encrypt_blocks(rest);
            assert_eq!(Array::slice_as_flattened(data), expected, "{blocks} blocks");
            let (last, rest) = data.split_at_mut(blocks - blocks.min(1));
            decryptor.decrypt_blocks(last);
            rest.iter_mut().for_each(|block| decryptor.decrypt_block(block));
            assert_eq!(Array::slice_as_flattened(data), plain, "{blocks} blocks");
        }
    }};
}

#[test]
fn as_rustcrypto_does() {
    for_each_size!(check);
}

macro_rules! check_padding {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        for length in 0..100 {
            let (key, iv): ([u8; $bytes], [u8; 16]) = (random.array(), random.array());
            let plain = random.bytes(length);
            let own = Encryptor::<$own>::new(&key.into(), &iv.into()).encrypt_padded_vec::<Pkcs7>(&plain);
            let other = ::cbc::Encryptor::<$other>::new(&key.into(), &iv.into()).encrypt_padded_vec::<Pkcs7>(&plain);
            assert_eq!(own, other, "{length} bytes");
            let back = Decryptor::<$own>::new(&key.into(), &iv.into()).decrypt_padded_vec::<Pkcs7>(&own);
            assert_eq!(back.unwrap(), plain);
            let mut wrong = own;
            wrong.pop();
            let refused = Decryptor::<$own>::new(&key.into(), &iv.into()).decrypt_padded_vec::<Pkcs7>(&wrong);
            assert!(refused.is_err(), "{length} bytes");
        }
    }};
}

#[test]
fn padded_as_rustcrypto_does() {
    for_each_size!(check_padding);
}

macro_rules! check_many {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        let own = <$own>::from_key(&random.array());
        for (messages, blocks) in (0..20).flat_map(|messages| [0, 1, 2, 3, 4, 5, 16, 17, 65].map(|n| (messages, n))) {
            let plain = random.bytes(16 * blocks * messages);
            let ivs: Vec<[u8; 16]> = (0..messages).map(|_| random.array()).collect();
            let (mut expected, mut chains) = (plain.clone(), ivs.clone());
            for (index, iv) in chains.iter_mut().enumerate() {
                let mut one = Encryptor::with_iv(&own, iv);
                one.encrypt(&mut expected[16 * blocks * index..][..16 * blocks]).unwrap();
                *iv = one.iv_state().into();
            }
            let (mut data, mut states) = (plain.clone(), ivs.clone());
            encrypt_many(&own, &mut data, &mut states).unwrap();
            assert_eq!((&data, &states), (&expected, &chains), "{messages} messages of {blocks} blocks");
            let (mut data, mut states) = (unwritten(plain.len()), ivs);
            encrypt_many_to(&own, &plain, &mut data, &mut states).unwrap();
            assert_eq!((data, states), (expected, chains), "{messages} messages of {blocks} blocks");
        }
    }};
}

#[test]
fn side_by_side_is_one_after_the_other() {
    for_each_size!(check_many);
}
