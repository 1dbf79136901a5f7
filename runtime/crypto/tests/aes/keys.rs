//! Keys: how they are made, shared and told.

use std::sync::Arc;

use cipher::KeyInit;
use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::{Aes128, Aes192, Aes256, Error, cbc, ecb};
use zeroize::ZeroizeOnDrop;

#[test]
fn from_arrays_slices_and_the_trait() {
    let encrypted = |key: &Aes192| {
        let mut block = [1; 16];
        ecb::encrypt(key, &mut block).unwrap();
        block
    };
    let bytes = [5; 24];
    let key = Aes192::from_key(&bytes);
    let expected = encrypted(&key);
    assert_eq!(encrypted(&Aes192::from_slice(&bytes).unwrap()), expected);
    assert_eq!(encrypted(&Aes192::new(&bytes.into())), expected);
    assert_eq!(encrypted(&Aes192::new_from_slice(&bytes).unwrap()), expected);
    assert_eq!(encrypted(&key.clone()), expected);
}

#[test]
fn of_another_length_are_refused() {
    for bytes in (0..70).filter(|bytes| *bytes != 16) {
        let refused = Error::KeyLength { bytes, expected: 16 };
        assert_eq!(Aes128::from_slice(&vec![0; bytes]).err(), Some(refused));
        assert!(Aes128::new_from_slice(&vec![0; bytes]).is_err());
        assert_eq!(refused.to_string(), format!("the key has {bytes} bytes and needs 16"));
    }
    assert!(Aes192::from_slice(&[0; 16]).is_err() && Aes256::from_slice(&[0; 24]).is_err());
}

#[test]
fn tell_no_secrets() {
    let key = Aes128::from_key(&[0x77; 16]);
    assert_eq!(format!("{key:?}"), "Aes128 { .. }");
    assert_eq!(format!("{:?}", cbc::Encryptor::with_iv(&key, &[0x77; 16])), "cbc::Encryptor<Aes128> { .. }");
    assert_eq!(format!("{:?}", Ctr128::with_iv(&key, &[0x77; 16])), "ctr::Ctr128<Aes128> { .. }");
    assert_eq!(format!("{:?}", Ctr32::with_iv(&key, &[0x77; 16])), "ctr::Ctr32<Aes128> { .. }");
}

#[test]
fn are_sent_shared_and_wiped() {
    fn is<T: Send + Sync + Clone + ZeroizeOnDrop>() {}
    is::<Aes128>();
    is::<Aes192>();
    is::<Aes256>();
    is::<cbc::Encryptor<Aes128>>();
    is::<cbc::Decryptor<Aes192>>();
    is::<Ctr128<Aes256>>();
    is::<Ctr32<Arc<Aes256>>>();
}

#[test]
fn one_key_in_many_threads() {
    let key = Arc::new(Aes256::from_key(&[9; 32]));
    let plain: Vec<u8> = (0..16 * 100u32).map(|index| index as u8).collect();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let (key, plain) = (Arc::clone(&key), &plain);
            scope.spawn(move || {
                // From the first use on, while others tune.
                for length in (0..=plain.len()).step_by(16) {
                    let (plain, iv) = (&plain[..length], [thread; 16]);
                    let mut data = plain.to_vec();
                    cbc::Encryptor::with_iv(Arc::clone(&key), &iv).encrypt(&mut data).unwrap();
                    Ctr128::with_iv(&*key, &iv).apply(&mut data).unwrap();
                    ecb::encrypt(&key, &mut data).unwrap();
                    ecb::decrypt(&key, &mut data).unwrap();
                    Ctr128::with_iv(&*key, &iv).apply(&mut data).unwrap();
                    cbc::Decryptor::with_iv(Arc::clone(&key), &iv).decrypt(&mut data).unwrap();
                    assert_eq!(data, plain);
                }
            });
        }
    });
}
