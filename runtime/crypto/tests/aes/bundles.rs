//! Keys of both bundles do the same, and a key keeps the bundle that it was made with.

use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Bundle, Error, Reason, cbc, ecb};

use crate::common::{Random, block_counts, unwritten};

type Work<'a> = Box<dyn FnMut(&mut [u8]) -> Result<(), Error> + 'a>;

/// Everything that a key can do with these data.
fn all_modes<S: Size>(key: &Aes<S>, plain: &[u8]) -> Vec<Vec<u8>> {
    let iv = [0xff; 16];
    let out = |mut work: Work<'_>| {
        let mut data = plain.to_vec();
        work(&mut data).unwrap();
        data
    };
    let mut to = unwritten(plain.len());
    ecb::decrypt_to(key, plain, &mut to).unwrap();
    vec![
        to,
        out(Box::new(|data| ecb::encrypt(key, data))),
        out(Box::new(|data| ecb::decrypt(key, data))),
        out(Box::new(|data| cbc::Encryptor::with_iv(key, &iv).encrypt(data))),
        out(Box::new(|data| cbc::Decryptor::with_iv(key, &iv).decrypt(data))),
        out(Box::new(|data| Ctr128::with_iv(key, &iv).apply(data))),
        out(Box::new(|data| Ctr32::with_iv(key, &iv).apply(data))),
        out(Box::new(|data| {
            let mut messages = data.repeat(15);
            cbc::encrypt_many(key, &mut messages, &mut [iv; 15])?;
            data.copy_from_slice(&messages[14 * data.len()..]);
            Ok(())
        })),
    ]
}

fn check<S: Size>() {
    let mut random = Random(u64::from(S::BITS));
    for blocks in block_counts() {
        let (key, plain) = (random.bytes(S::BITS as usize / 8), random.bytes(16 * blocks));
        let [instructions, sliced] =
            [Bundle::Instructions, Bundle::Sliced].map(|bundle| Aes::<S>::with_bundle(&key, bundle).unwrap());
        assert_eq!((instructions.bundle(), sliced.clone().bundle()), (Bundle::Instructions, Bundle::Sliced));
        assert_eq!(all_modes(&instructions, &plain), all_modes(&sliced, &plain), "{} of {blocks} blocks", S::NAME);
        assert_eq!(all_modes(&Aes::<S>::from_slice(&key).unwrap(), &plain), all_modes(&sliced.clone(), &plain));
    }
}

#[test]
fn give_the_same() {
    check::<Bits128>();
    check::<Bits192>();
    check::<Bits256>();
}

#[test]
fn are_chosen_once_and_kept() {
    let choice = loop {
        // Another thread may be deciding.
        let choice = Aes::<Bits256>::choice();
        if choice.reason != Reason::Undecided {
            break choice;
        }
        std::thread::yield_now();
    };
    let key = Aes::<Bits256>::from_key(&[1; 32]);
    assert_eq!(Aes::<Bits256>::choice(), choice);
    assert_eq!(key.bundle(), choice.bundle);
    match choice.reason {
        Reason::Fastest => {
            let times = choice.times.unwrap();
            assert_eq!(choice.bundle == Bundle::Sliced, times.sliced < times.instructions);
        }
        _ => assert_eq!(choice.times, None),
    }
    assert!(Aes::<Bits256>::with_bundle(&[1; 16], Bundle::Sliced).is_err());
}
