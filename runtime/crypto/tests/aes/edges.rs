//! Where lengths, positions, addresses and counters are at their ends.

use std::sync::Arc;

use cipher::{IvState, StreamCipher, StreamCipherSeek};
use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Bundle, Error, cbc, ecb};

use crate::common::{Random, unwritten};

const BUNDLES: [Bundle; 2] = [Bundle::Instructions, Bundle::Sliced];

/// The keystream of some counters, block by block.
fn keystream<S: Size>(key: &Aes<S>, counters: impl Iterator<Item = u128>) -> Vec<u8> {
    let mut blocks: Vec<u8> = counters.flat_map(u128::to_be_bytes).collect();
    blocks.chunks_mut(16).for_each(|block| ecb::encrypt(key, block).unwrap());
    blocks
}

/// A counter with its low 32 bits so much further on.
fn low(counter: u128, more: u32) -> u128 {
    counter >> 32 << 32 | u128::from((counter as u32).wrapping_add(more))
}

fn check_seeks<S: Size>() {
    let mut random = Random(u64::from(S::BITS) + 5);
    let bytes = random.bytes(S::BITS as usize / 8);
    for key in BUNDLES.map(|bundle| Aes::<S>::with_bundle(&bytes, bundle).unwrap()) {
        // Blocks around which a counter that begins at 0, or at one of these from its end, carries or wraps.
        for first in [0, u128::MAX, u128::MAX - 20, u128::from(u64::MAX), 1 << 127, 0xffff_fff0] {
            for around in [1u128 << 8, 1 << 16, 1 << 32, 1 << 64, 1 << 96, (1 << 124) - 2] {
                for back in [0u128, 1, 3, 9, 30] {
                    let (block, skip) = (around - back, random.below(16));
                    let length = 16 * random.below(40) + random.below(16);
                    let mut cipher = Ctr128::with_iv(&key, &first.to_be_bytes());
                    // From somewhere in another block, and not from the start.
                    cipher.apply(&mut vec![0; random.below(100)]).unwrap();
                    let position = 16 * block + skip as u128;
                    cipher.seek(position);
                    assert_eq!(cipher.current_pos::<u128>(), position);
                    let mut data = vec![0; length];
                    cipher.apply(&mut data).unwrap();
                    let counters = (0..=(length as u128 + 16) / 16).map(|n| first.wrapping_add(block + n));
                    let expected = keystream(&key, counters);
                    assert_eq!(data, expected[skip..skip + length], "{first:x} from {block:x}, {length} bytes");

                    let Ok(narrow) = u32::try_from(block) else { continue };
                    let mut cipher = Ctr32::with_iv(&key, &first.to_be_bytes());
                    cipher.apply(&mut vec![0; random.below(100)]).unwrap();
                    let sought = cipher.try_seek(position);
                    let Some(left) = ((u128::from(u32::MAX) - block) * 16).checked_sub(skip as u128) else {
                        assert!(sought.is_err(), "the keystream ends before {position:x}");
                        continue;
                    };
                    assert!(sought.is_ok());
                    let mut data = vec![0; length];
                    let done = cipher.apply(&mut data);
                    if length as u128 > left {
                        assert_eq!((done, data), (Err(Error::EndOfKeystream), vec![0; length]), "{block:x}");
                        assert_eq!(cipher.current_pos::<u128>(), position);
                        continue;
                    }
                    let counters = (0..=(length as u32 + 16) / 16).map(|n| low(first, narrow.wrapping_add(n)));
                    let expected = keystream(&key, counters);
                    assert_eq!(data, expected[skip..skip + length], "{first:x} from {block:x}, {length} bytes");
                }
            }
        }
    }
}

#[test]
fn a_keystream_from_anywhere() {
    check_seeks::<Bits128>();
    check_seeks::<Bits192>();
    check_seeks::<Bits256>();
}

#[test]
fn a_position_that_cannot_be() {
    let key = Aes::<Bits128>::from_key(&[1; 16]);
    let mut cipher = Ctr128::with_iv(&key, &[2; 16]);
    cipher.apply(&mut [0; 21]).unwrap();
    // Every position of 128 bits can be gone to; one in the last block cannot be told, for the crate `cipher` counts past it.
    cipher.seek(u128::MAX - 16);
    assert_eq!(cipher.current_pos::<u128>(), u128::MAX - 16);
    // (Of numbers below 0 it takes whole blocks alone: others it answers with a panic of its own.)
    assert!(cipher.try_seek(-16).is_err());
    assert_eq!(cipher.current_pos::<u128>(), u128::MAX - 16, "as it was");
    cipher.seek(u128::MAX);
    assert!(cipher.try_current_pos::<u128>().is_err());
    let mut two = [0; 2];
    cipher.apply(&mut two).unwrap();
    let counter = u128::from_be_bytes([2; 16]).wrapping_add(u128::MAX / 16);
    let expected = keystream(&key, (0..2).map(|n| counter.wrapping_add(n)));
    assert_eq!(two, expected[15..17], "the last byte that has a position, and the next");
    let mut cipher = Ctr32::with_iv(&key, &[2; 16]);
    cipher.apply(&mut [0; 21]).unwrap();
    let mut next = [0; 40];
    cipher.clone().apply(&mut next).unwrap();
    for position in [16 * u128::from(u32::MAX) + 1, 16 << 32, 1 << 64, u128::MAX] {
        assert!(cipher.try_seek(position).is_err());
        let mut data = [0; 40];
        cipher.clone().apply(&mut data).unwrap();
        assert_eq!((cipher.current_pos::<u64>(), data), (21, next), "as it was");
    }
    assert!(cipher.try_seek(-16).is_err());
    // No bytes are there at the end as elsewhere.
    cipher.seek(16 * u64::from(u32::MAX));
    assert_eq!(cipher.apply(&mut []), Ok(()));
    assert_eq!(cipher.apply(&mut [7]), Err(Error::EndOfKeystream));
}

#[test]
fn lengths_that_no_memory_has() {
    let key = Aes::<Bits192>::from_key(&[1; 24]);
    for bytes in [usize::MAX, usize::MAX - 1, usize::MAX - 14, usize::MAX - 15, usize::MAX - 16, isize::MAX as usize] {
        for used in [0, 1, 15, 16] {
            let mut wide = Ctr128::with_iv(&key, &[0xff; 16]);
            wide.apply(&mut vec![0; used]).unwrap();
            assert!(wide.check_remaining(bytes).is_ok(), "{bytes} bytes after {used}");
            let mut narrow = Ctr32::with_iv(&key, &[0xff; 16]);
            narrow.apply(&mut vec![0; used]).unwrap();
            assert!(narrow.check_remaining(bytes).is_err(), "{bytes} bytes after {used}");
            let left = 16 * u32::MAX as usize - used;
            assert!(narrow.check_remaining(left).is_ok() && narrow.check_remaining(left + 1).is_err());
        }
    }
}

fn check_nothing<S: Size>() {
    let bytes = Random(1).bytes(S::BITS as usize / 8);
    for key in BUNDLES.map(|bundle| Aes::<S>::with_bundle(&bytes, bundle).unwrap()) {
        ecb::encrypt(&key, &mut []).unwrap();
        ecb::decrypt_to(&key, &[], &mut []).unwrap();
        let mut encryptor = cbc::Encryptor::with_iv(&key, &[3; 16]);
        encryptor.encrypt(&mut []).unwrap();
        encryptor.encrypt_to(&[], &mut []).unwrap();
        let mut decryptor = cbc::Decryptor::with_iv(&key, &[3; 16]);
        decryptor.decrypt(&mut []).unwrap();
        assert_eq!([encryptor.iv_state().0, decryptor.iv_state().0], [[3; 16]; 2]);
        cbc::encrypt_many(&key, &mut [], &mut []).unwrap();
        let mut ivs = [[3; 16]; 9];
        cbc::encrypt_many_to(&key, &[], &mut [], &mut ivs).unwrap();
        assert_eq!(ivs, [[3; 16]; 9]);
        let (mut one, mut two) = (Ctr128::with_iv(&key, &[3; 16]), Ctr32::with_iv(&key, &[3; 16]));
        for used in [0, 1, 15, 16, 17] {
            one.seek(used);
            two.seek(used);
            one.apply(&mut []).unwrap();
            two.apply_to(&[], &mut []).unwrap();
            assert_eq!([one.current_pos::<u64>(), two.current_pos::<u64>()], [used; 2]);
        }
    }
}

#[test]
fn no_data_at_all() {
    check_nothing::<Bits128>();
    check_nothing::<Bits192>();
    check_nothing::<Bits256>();
}

type Work<'a, S> = &'a dyn Fn(&Aes<S>, &[u8], &mut [u8]) -> Result<(), Error>;

/// Every mode from one address to another, and where it is; nothing beside the data is touched.
fn check_addresses<S: Size>() {
    let mut random = Random(u64::from(S::BITS) + 6);
    let (bytes, iv): (Vec<u8>, [u8; 16]) = (random.bytes(S::BITS as usize / 8), random.array());
    let (apart, in_place): ([Work<'_, S>; 6], [Work<'_, S>; 6]) = (
        [
            &|key, from, to| ecb::encrypt_to(key, from, to),
            &|key, from, to| ecb::decrypt_to(key, from, to),
            &|key, from, to| cbc::Encryptor::with_iv(key, &iv).encrypt_to(from, to),
            &|key, from, to| cbc::Decryptor::with_iv(key, &iv).decrypt_to(from, to),
            &|key, from, to| Ctr128::with_iv(key, &iv).apply_to(from, to),
            &|key, from, to| Ctr32::with_iv(key, &iv).apply_to(from, to),
        ],
        [
            &|key, _, data| ecb::encrypt(key, data),
            &|key, _, data| ecb::decrypt(key, data),
            &|key, _, data| cbc::Encryptor::with_iv(key, &iv).encrypt(data),
            &|key, _, data| cbc::Decryptor::with_iv(key, &iv).decrypt(data),
            &|key, _, data| Ctr128::with_iv(key, &iv).apply(data),
            &|key, _, data| Ctr32::with_iv(key, &iv).apply(data),
        ],
    );
    let untouched = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0xa5);
    for key in BUNDLES.map(|bundle| Aes::<S>::with_bundle(&bytes, bundle).unwrap()) {
        for (length, mode) in
            [16, 48, 112, 272, 560].into_iter().flat_map(|length| (0..6).map(move |mode| (length, mode)))
        {
            // Counter modes leave some bytes of the last block.
            let length = if mode < 4 { length } else { length - 16 + 1 + random.below(15) };
            let plain = random.bytes(length);
            let mut expected = unwritten(length);
            apart[mode](&key, &plain, &mut expected).unwrap();
            for skew in 0..16 {
                let other = (7 * skew + mode) % 16;
                let (mut source, mut target) = (unwritten(length + 48), unwritten(length + 48));
                source[skew..skew + length].copy_from_slice(&plain);
                apart[mode](&key, &source[skew..skew + length], &mut target[other..other + length]).unwrap();
                in_place[mode](&key, &[], &mut source[skew..skew + length]).unwrap();
                for (buffer, at) in [(&source, skew), (&target, other)] {
                    assert_eq!(buffer[at..at + length], expected, "mode {mode}, {length} bytes at {at}");
                    assert!(untouched(&buffer[..at]) && untouched(&buffer[at + length..]), "mode {mode} at {at}");
                }
            }
        }
    }
}

#[test]
fn at_any_address_in_every_mode() {
    check_addresses::<Bits128>();
    check_addresses::<Bits192>();
    check_addresses::<Bits256>();
}

#[test]
fn keys_of_both_bundles_in_many_threads() {
    for bundle in BUNDLES {
        let key = Arc::new(Aes::<Bits192>::with_bundle(&[9; 24], bundle).unwrap());
        let alone = |thread: u8| {
            let mut data: Vec<u8> = (0..3000).map(|index| (index * usize::from(thread)) as u8).collect();
            Ctr128::with_iv(Arc::clone(&key), &[thread; 16]).apply(&mut data).unwrap();
            cbc::Encryptor::with_iv(&*key, &[thread; 16]).encrypt(&mut data[..2992]).unwrap();
            data
        };
        let expected: Vec<Vec<u8>> = (0..6).map(alone).collect();
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..6).map(|thread| scope.spawn(move || (0..50).map(|_| alone(thread)).collect::<Vec<_>>())).collect();
            for (thread, expected) in threads.into_iter().zip(&expected) {
                assert!(thread.join().unwrap().iter().all(|result| result == expected), "{bundle}");
            }
        });
    }
}

/// Whether data are one block, again and again.
fn repeats(data: &[u8], block: &[u8]) -> bool {
    let many = block.repeat(4096);
    data.chunks(many.len()).all(|chunk| chunk == &many[..chunk.len()])
}

/// Longer than a kernel takes in one call: in pieces, with the chain handed on.
#[test]
#[ignore = "needs 1 GiB of memory"]
fn longer_than_one_call_of_a_kernel() {
    const BLOCKS: usize = (1 << 26) + 2;
    let mut data = vec![0; 16 * BLOCKS];
    for (bundle, iv) in BUNDLES.map(|bundle| (bundle, [0xfe; 16])) {
        let key = Aes::<Bits128>::with_bundle(&[4; 16], bundle).unwrap();
        let counter = u128::from_be_bytes(iv);
        Ctr128::with_iv(&key, &iv).apply(&mut data).unwrap();
        let last = (BLOCKS - 6..BLOCKS).map(|n| counter.wrapping_add(n as u128));
        assert!(data[16 * (BLOCKS - 6)..] == keystream(&key, last), "{bundle}");
        Ctr32::with_iv(&key, &iv).apply(&mut data).unwrap();
        // The two differ where the low 32 bits wrapped: at this block and behind it.
        let wraps = (1usize << 32) - 0xfefe_fefe;
        assert!(repeats(&data[..16 * wraps], &[0; 16]), "{bundle}");
        assert_ne!(data[16 * wraps..][..16], [0; 16], "{bundle}");
        data.fill(0);

        let mut cipher = cbc::Encryptor::with_iv(&key, &iv);
        cipher.encrypt(&mut data).unwrap();
        assert_eq!(cipher.iv_state().0, data[16 * (BLOCKS - 1)..]);
        let mut cipher = cbc::Decryptor::with_iv(&key, &iv);
        cipher.decrypt(&mut data).unwrap();
        assert!(repeats(&data, &[0; 16]), "{bundle}");

        ecb::encrypt(&key, &mut data).unwrap();
        let first = data[..16].to_vec();
        assert!(first != [0; 16] && repeats(&data, &first), "{bundle}");
        ecb::decrypt(&key, &mut data).unwrap();
        assert!(repeats(&data, &[0; 16]), "{bundle}");
    }
}
