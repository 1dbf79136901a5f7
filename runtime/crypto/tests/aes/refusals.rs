//! What is refused leaves every buffer and cipher as it was.

use cipher::{Array, BlockModeEncrypt, InnerIvInit, IvState, KeyIvInit, StreamCipher};
use kiln::aes::ctr::{Ctr32, Ctr128};
use kiln::aes::{Aes128, Error, cbc, ecb};

use crate::common::unwritten;

#[test]
fn lengths_that_are_not_whole_blocks() {
    let key = Aes128::from_key(&[1; 16]);
    let iv = [2; 16];
    for bytes in (0..300).filter(|bytes: &usize| !bytes.is_multiple_of(16)) {
        let refused = Err(Error::PartialBlock { bytes });
        let (from, mut data) = (vec![3; bytes], unwritten(bytes));
        assert_eq!(ecb::encrypt(&key, &mut data), refused);
        assert_eq!(ecb::decrypt(&key, &mut data), refused);
        assert_eq!(ecb::encrypt_to(&key, &from, &mut data), refused);
        assert_eq!(ecb::decrypt_to(&key, &from, &mut data), refused);
        let mut encryptor = cbc::Encryptor::with_iv(&key, &iv);
        let mut decryptor = cbc::Decryptor::with_iv(&key, &iv);
        assert_eq!(encryptor.encrypt(&mut data), refused);
        assert_eq!(encryptor.encrypt_to(&from, &mut data), refused);
        assert_eq!(decryptor.decrypt(&mut data), refused);
        assert_eq!(decryptor.decrypt_to(&from, &mut data), refused);
        assert_eq!((encryptor.iv_state().0, decryptor.iv_state().0), (iv, iv));
        assert_eq!(data, unwritten(bytes));
    }
}

#[test]
fn buffers_of_two_lengths() {
    let key = Aes128::from_key(&[1; 16]);
    for (from, to) in [(0, 16), (16, 0), (32, 48), (48, 32), (16, 17), (17, 16)] {
        let refused = Err(Error::Lengths { from, to });
        let (input, mut output) = (vec![3; from], unwritten(to));
        assert_eq!(ecb::encrypt_to(&key, &input, &mut output), refused);
        assert_eq!(ecb::decrypt_to(&key, &input, &mut output), refused);
        assert_eq!(cbc::Encryptor::with_iv(&key, &[2; 16]).encrypt_to(&input, &mut output), refused);
        assert_eq!(cbc::Decryptor::with_iv(&key, &[2; 16]).decrypt_to(&input, &mut output), refused);
        assert_eq!(Ctr128::with_iv(&key, &[2; 16]).apply_to(&input, &mut output), refused);
        let mut ctr = Ctr32::with_iv(&key, &[2; 16]);
        assert_eq!(ctr.apply_to(&input, &mut output), refused);
        assert!(ctr.try_apply_keystream_b2b(&input, &mut output).is_err());
        assert_eq!((ctr.iv_state().0, output), ([2; 16], unwritten(to)));
    }
    let (input, mut output) = ([Array([3; 16]); 2], [Array([4; 16]); 3]);
    assert!(cbc::Encryptor::with_iv(&key, &[2; 16]).encrypt_blocks_b2b(&input, &mut output).is_err());
    assert_eq!(output, [Array([4; 16]); 3]);
}

#[test]
fn initialization_vectors_of_another_length() {
    let key = Aes128::from_key(&[1; 16]);
    for bytes in (0..40).filter(|bytes| *bytes != 16) {
        let (iv, refused) = (vec![0; bytes], Some(Error::IvLength { bytes }));
        assert_eq!(cbc::Encryptor::with_iv_slice(&key, &iv).err(), refused);
        assert_eq!(cbc::Decryptor::with_iv_slice(&key, &iv).err(), refused);
        assert_eq!(Ctr128::with_iv_slice(&key, &iv).err(), refused);
        assert_eq!(Ctr32::with_iv_slice(&key, &iv).err(), refused);
        assert!(cbc::Encryptor::inner_iv_slice_init(&key, &iv).is_err());
        assert!(Ctr128::<Aes128>::new_from_slices(&[1; 16], &iv).is_err());
    }
    assert!(cbc::Decryptor::<Aes128>::new_from_slices(&[1; 17], &[0; 16]).is_err());
}

#[test]
fn messages_that_are_not_equally_long() {
    let key = Aes128::from_key(&[1; 16]);
    for (bytes, messages) in [(16, 0), (16, 2), (48, 2), (33, 1), (40, 5), (16 * 9, 8), (16 * 8 + 8, 8)] {
        let refused = Err(Error::Messages { bytes, messages });
        let (mut data, mut ivs) = (unwritten(bytes), vec![[2; 16]; messages]);
        assert_eq!(cbc::encrypt_many(&key, &mut data, &mut ivs), refused);
        assert_eq!(cbc::encrypt_many_to(&key, &vec![0; bytes], &mut data, &mut ivs), refused);
        assert_eq!((data, ivs), (unwritten(bytes), vec![[2; 16]; messages]));
    }
    let (mut data, mut ivs) = (unwritten(48), [[2; 16]; 2]);
    assert_eq!(cbc::encrypt_many_to(&key, &[0; 32], &mut data, &mut ivs), Err(Error::Lengths { from: 32, to: 48 }));
    assert_eq!((data, ivs), (unwritten(48), [[2; 16]; 2]));
}
