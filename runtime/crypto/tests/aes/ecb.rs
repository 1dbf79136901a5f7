//! ECB: whole slices by the own functions and by the traits, in place and out of place.

use cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use kiln::aes::ecb;

use crate::common::{Random, block_counts, for_each_size, unwritten};

macro_rules! check {
    ($own:ty, $other:ty, $bytes:literal) => {{
        let mut random = Random($bytes);
        for blocks in block_counts() {
            let key: [u8; $bytes] = random.array();
            let (own, other) = (<$own>::from_key(&key), <$other>::new(&key.into()));
            let plain = random.bytes(16 * blocks);
            let mut expected = plain.clone();
            other.encrypt_blocks(Array::slice_as_chunks_mut(&mut expected).0);

            let mut data = plain.clone();
            ecb::encrypt(&own, &mut data).unwrap();
            assert_eq!(data, expected, "{blocks} blocks");
            ecb::decrypt(&own, &mut data).unwrap();
            assert_eq!(data, plain, "{blocks} blocks");

            let (mut to, mut back) = (unwritten(16 * blocks), unwritten(16 * blocks));
            ecb::encrypt_to(&own, &plain, &mut to).unwrap();
            ecb::decrypt_to(&own, &to, &mut back).unwrap();
            assert_eq!((to, back), (expected.clone(), plain.clone()), "{blocks} blocks");

            let (from, _) = Array::slice_as_chunks(&plain);
            let (mut to, mut back) = (vec![Array([0xa5; 16]); blocks], vec![Array([0xa5; 16]); blocks]);
            own.encrypt_blocks_b2b(from, &mut to).unwrap();
            own.decrypt_blocks_b2b(&to, &mut back).unwrap();
            assert_eq!((Array::slice_as_flattened(&to), &back[..]), (&expected[..], from), "{blocks} blocks");
            own.decrypt_blocks(&mut to);
            assert_eq!(to, from);
            for (index, (own_block, expected)) in to.iter_mut().zip(expected.chunks(16)).enumerate().take(3) {
                let plain = *own_block;
                own.encrypt_block(own_block);
                assert_eq!(own_block[..], *expected, "block {index}");
                let mut back = Array([0xa5; 16]);
                own.decrypt_block_b2b(own_block, &mut back);
                assert_eq!(back, plain);
            }
        }
    }};
}

#[test]
fn as_rustcrypto_does() {
    for_each_size!(check);
}

#[test]
fn at_any_address() {
    let key = kiln::aes::Aes128::from_key(&[3; 16]);
    let mut random = Random(1);
    let plain = random.bytes(16 * 33);
    let mut expected = plain.clone();
    ecb::encrypt(&key, &mut expected).unwrap();
    for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))) {
        let (mut source, mut target) = (unwritten(plain.len() + 32), unwritten(plain.len() + 32));
        source[from..from + plain.len()].copy_from_slice(&plain);
        ecb::encrypt_to(&key, &source[from..from + plain.len()], &mut target[to..to + plain.len()]).unwrap();
        assert_eq!(target[to..to + plain.len()], expected, "from {from} to {to}");
        let around = |byte: &u8| *byte == 0xa5;
        assert!(
            target[..to].iter().all(around) && target[to + plain.len()..].iter().all(around),
            "from {from} to {to}"
        );
    }
}
