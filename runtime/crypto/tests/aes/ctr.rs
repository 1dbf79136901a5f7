//! CTR: any number of bytes in any pieces, seeking, counters that wrap, and the end of the keystream.

use cipher::{IvState, KeyIvInit, SetIvState, StreamCipher, StreamCipherSeek};
use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::{Aes128, Error};

use crate::common::{Random, for_each_size, unwritten};

/// Lengths with every tail in bytes, and some with whole batches.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=140).chain([255, 256, 257, 1000, 8191, 8192, 8193])
}

macro_rules! check {
    ($own:ty, $other:ty, $bytes:literal) => {{
        check!($own, $bytes, Ctr128<&$own>, ctr::Ctr128BE<$other>, 128);
        check!($own, $bytes, Ctr32<&$own>, ctr::Ctr32BE<$other>, 32);
    }};
    ($own:ty, $bytes:literal, $mode:ty, $other:ty, $bits:literal) => {{
        let mut random = Random($bytes + $bits);
        for length in lengths() {
            let (key, mut iv): ([u8; $bytes], [u8; 16]) = (random.array(), random.array());
            // Every third counter wraps at 32 bits, every third at 64, at some block of the message.
            let back = random.below(12) as u64;
            match length % 3 {
                0 => iv[12..].copy_from_slice(&(u32::MAX - back as u32).to_be_bytes()),
                1 => iv[8..].copy_from_slice(&(u64::MAX - back).to_be_bytes()),
                _ => {}
            }
            let own = <$own>::from_key(&key);
            let plain = random.bytes(length);
            let mut expected = plain.clone();
            <$other as KeyIvInit>::new(&key.into(), &iv.into()).apply_keystream(&mut expected);

            let mut data = plain.clone();
            <$mode>::with_iv(&own, &iv).apply(&mut data).unwrap();
            assert_eq!(data, expected, "{length} bytes");

            // In pieces, in place and out of place by turns.
            let (mut data, mut to) = (plain.clone(), unwritten(length));
            let (mut one, mut two) = (<$mode>::with_iv(&own, &iv), <$mode>::with_iv(&own, &iv));
            let mut at = 0;
            for piece in random.pieces(length, 1) {
                let own = at..at + piece;
                one.apply(&mut data[own.clone()]).unwrap();
                two.apply_to(&plain[own.clone()], &mut to[own]).unwrap();
                at += piece;
                assert_eq!(one.current_pos::<u64>(), at as u64);
            }
            assert_eq!((&data, &to), (&expected, &expected), "{length} bytes");

            // Anywhere.
            for _ in 0..4 {
                let from = random.below(length + 1);
                one.seek(from);
                assert_eq!(one.current_pos::<usize>(), from);
                let mut tail = plain[from..].to_vec();
                one.apply(&mut tail).unwrap();
                assert_eq!(tail, expected[from..], "{length} bytes from {from}");
            }

            // The keystream alone, and begun anew.
            one.set_iv(&iv.into());
            one.write_keystream(&mut data);
            let keystream: Vec<u8> = plain.iter().zip(&expected).map(|(a, b)| a ^ b).collect();
            assert_eq!(data, keystream, "{length} bytes");
        }
    }};
}

#[test]
fn as_rustcrypto_does() {
    for_each_size!(check);
}

#[test]
fn counters_wrap_as_wide_as_they_are() {
    let key = Aes128::from_key(&[1; 16]);
    let block = |counter: u128| {
        let mut block = counter.to_be_bytes();
        kiln::aes::ecb::encrypt(&key, &mut block).unwrap();
        block
    };
    let ends = [0x1234_5678_9abc_def0_1122_3344_ffff_ffff, 0x1122_3344_5566_7788_ffff_ffff_ffff_ffff, u128::MAX];
    for (end, back, blocks) in ends
        .iter()
        .flat_map(|&end| (0..30).flat_map(move |back| [1, 2, 5, 8, 31, 40].map(|blocks| (end, back, blocks))))
    {
        let first: u128 = end - back;
        let mut wide = vec![0; 16 * blocks];
        let mut cipher = Ctr128::with_iv(&key, &first.to_be_bytes());
        cipher.apply(&mut wide).unwrap();
        let counters = (0..blocks as u128).map(|index| first.wrapping_add(index));
        assert_eq!(wide, counters.flat_map(block).collect::<Vec<u8>>(), "{first:x}, {blocks} blocks");
        assert_eq!(cipher.iv_state().0, first.wrapping_add(blocks as u128).to_be_bytes());

        let mut narrow = vec![0; 16 * blocks];
        let mut cipher = Ctr32::with_iv(&key, &first.to_be_bytes());
        cipher.apply(&mut narrow).unwrap();
        let low = |index: u32| (first >> 32) << 32 | u128::from((first as u32).wrapping_add(index));
        assert_eq!(
            narrow,
            (0..blocks as u32).map(low).flat_map(block).collect::<Vec<u8>>(),
            "{first:x}, {blocks} blocks"
        );
        assert_eq!(cipher.iv_state().0, low(blocks as u32).to_be_bytes());
    }
}

#[test]
fn the_keystream_ends_one_block_before_it_repeats() {
    let key = Aes128::from_key(&[1; 16]);
    let last = 16 * u64::from(u32::MAX);
    let mut cipher = Ctr32::with_iv(&key, &[7; 16]);
    let mut other = ctr::Ctr32BE::<aes::Aes128>::new(&[1; 16].into(), &[7; 16].into());
    for before in [0, 1, 15, 16, 17, 40] {
        cipher.seek(last - before);
        for length in [1, before as usize, before as usize + 1, before as usize + 16, 100] {
            let (mut cipher, mut data, mut expected) = (cipher.clone(), vec![9; length], vec![9; length]);
            other.seek(last - before);
            let outcome = cipher.apply(&mut data);
            assert_eq!(outcome.is_ok(), length as u64 <= before, "{length} bytes, {before} before the end");
            assert_eq!(outcome.is_ok(), other.try_apply_keystream(&mut expected).is_ok());
            assert_eq!(data, expected);
            if outcome.is_err() {
                assert_eq!(outcome, Err(Error::EndOfKeystream));
                assert_eq!((data, cipher.current_pos::<u64>()), (vec![9; length], last - before));
                assert!(cipher.try_apply_keystream(&mut vec![9; length]).is_err());
            }
        }
    }
    cipher.seek(5);
    assert!(cipher.try_seek(last + 1).is_err());
    assert!(cipher.try_seek(u128::MAX).is_err());
    assert_eq!(cipher.current_pos::<u32>(), 5);

    // As far as a position of 128 bits can be told, and where it cannot be.
    let mut cipher = Ctr128::with_iv(&key, &[7; 16]);
    let mut other = ctr::Ctr128BE::<aes::Aes128>::new(&[1; 16].into(), &[7; 16].into());
    let far = u128::MAX - 100;
    cipher.seek(far);
    other.seek(far);
    assert!(cipher.try_current_pos::<u64>().is_err());
    let (mut data, mut expected) = ([0; 333], [0; 333]);
    cipher.apply(&mut data).unwrap();
    other.apply_keystream(&mut expected);
    assert_eq!(data, expected);
    assert!(cipher.try_current_pos::<u128>().is_err());
}
