//! Keys and modes of `kiln::aes`, with both bundles: the key, the data and the chain of CBC are undefined; lengths and counters
//! are not.

use std::collections::BTreeSet;
use std::hint::black_box;

use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, Bundle, Error, cbc, ecb};

use crate::memcheck::{make_public, make_secret, secret_bytes};
use crate::{Leaks, watch};

/// Numbers of blocks: every tail, and batches.
const BLOCKS: [usize; 10] = [1, 2, 3, 4, 5, 7, 8, 15, 32, 67];
/// Messages side by side: eight, four, two and one.
const MESSAGES: usize = 15;

/// Runs everything twice: with public data, which is when kernels are tuned, and with secret data.
pub fn all() -> Leaks {
    let mut leaks = Leaks::new();
    of_size::<Bits128>(&mut leaks);
    of_size::<Bits192>(&mut leaks);
    of_size::<Bits256>(&mut leaks);
    let served: BTreeSet<String> = kiln::explain()
        .into_values()
        .flatten()
        .flat_map(|case| [Some(case.chosen), case.near].into_iter().flatten())
        .filter(|variant| variant.starts_with("aes"))
        .collect();
    for variant in served {
        println!("served by {variant}");
    }
    leaks
}

fn of_size<S: Size>(leaks: &mut Leaks) {
    for bundle in [Bundle::Instructions, Bundle::Sliced] {
        let public = of_bundle::<S>(bundle, false, leaks);
        let secret = of_bundle::<S>(bundle, true, leaks);
        assert!(public == secret, "{} of {bundle} keys gives the same under watch", S::NAME);
    }
}

/// The results of all operations.
fn of_bundle<S: Size>(bundle: Bundle, secret: bool, leaks: &mut Leaks) -> Vec<Vec<u8>> {
    let mut bytes = some(S::BITS as usize / 8, secret);
    let named = |operation: &str| format!("{} with {bundle} keys: {operation}", S::NAME);
    let key = watch(&named("a new key"), leaks, || Aes::<S>::with_bundle(&bytes, bundle)).expect("a length that fits");
    // Nothing else is made for a key by the other ways to have one.
    watch(&named("any new key"), leaks, || drop(Aes::<S>::from_slice(&bytes).expect("a length that fits").clone()));
    make_public(&mut bytes);
    let mut results = Vec::new();
    for blocks in BLOCKS {
        let mut operation = |name: &str, length: usize, work: &dyn Fn(&mut [u8]) -> Result<(), Error>| {
            let mut data = some(length, secret);
            let done = watch(&named(name), leaks, || work(&mut data));
            done.expect("lengths that fit");
            assert_eq!(secret_bytes(&data), if secret { length } else { 0 }, "{name}: what depends on secrets");
            make_public(&mut data);
            results.push(data);
        };
        let length = 16 * blocks;
        let iv = || -> [u8; 16] { some(16, secret).try_into().expect("16 bytes") };
        operation("ecb::encrypt", length, &|data| ecb::encrypt(&key, data));
        operation("ecb::encrypt_to", length, &|data| apart(&|from, to| ecb::encrypt_to(&key, from, to), data));
        operation("ecb::decrypt", length, &|data| ecb::decrypt(&key, data));
        operation("ecb::decrypt_to", length, &|data| apart(&|from, to| ecb::decrypt_to(&key, from, to), data));
        operation("cbc::Encryptor", length, &|data| {
            let mut cipher = cbc::Encryptor::with_iv(&key, &iv());
            let (first, rest) = data.split_at_mut(16);
            cipher.encrypt(first)?;
            apart(&|from, to| cipher.clone().encrypt_to(from, to), rest)
        });
        operation("cbc::Decryptor", length, &|data| {
            let mut cipher = cbc::Decryptor::with_iv(&key, &iv());
            let (first, rest) = data.split_at_mut(length - 16);
            cipher.decrypt(first)?;
            apart(&|from, to| cipher.clone().decrypt_to(from, to), rest)
        });
        operation("cbc::encrypt_many", MESSAGES * length, &|data| cbc::encrypt_many(&key, data, &mut [iv(); MESSAGES]));
        // A counter that wraps at 32 and at 64 bits.
        let counter = (u128::MAX << 96 | u128::from(u64::MAX - 2)).to_be_bytes();
        operation("Ctr128", length - 5, &|data| {
            let mut cipher = Ctr128::with_iv(&key, &counter);
            let (first, rest) = data.split_at_mut(3);
            cipher.apply(first)?;
            apart(&|from, to| cipher.clone().apply_to(from, to), rest)
        });
        operation("Ctr32", length - 5, &|data| {
            let mut cipher = Ctr32::with_iv(&key, &counter);
            let (first, rest) = data.split_at_mut(3);
            cipher.apply(first)?;
            apart(&|from, to| cipher.clone().apply_to(from, to), rest)
        });
    }
    results
}

/// Work from one buffer to another.
type Apart<'a> = &'a dyn Fn(&[u8], &mut [u8]) -> Result<(), Error>;

/// Works from a copy of the data.
fn apart(work: Apart<'_>, data: &mut [u8]) -> Result<(), Error> {
    let from = data.to_vec();
    work(&from, data)
}

/// Bytes that the compiler does not know.
fn some(length: usize, secret: bool) -> Vec<u8> {
    let mut bytes: Vec<u8> = black_box((0..length).map(|index| (113 * index + 29) as u8).collect());
    if secret {
        make_secret(&mut bytes);
    }
    bytes
}
