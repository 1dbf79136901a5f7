//! Kiln's public API: the crate `kiln` as a program uses it, whole buffers at a time.
#![forbid(unsafe_code)]

use kiln::aes::size::{Bits128, Bits192, Bits256, Size};
use kiln::aes::{Aes, cbc, ctr, ecb};
use kiln_peers_rust_crypto::call::{Contender, Memory, each};
use kiln_peers_rust_crypto::setup::{Mode, Setup};

/// Sets it up. The first calls tune: the check makes them.
pub fn make(setup: &Setup<'_>) -> Option<Box<dyn Contender>> {
    match setup.key.len() {
        16 => of::<Bits128>(setup),
        24 => of::<Bits192>(setup),
        32 => of::<Bits256>(setup),
        _ => None,
    }
}

fn of<S: Size + 'static>(setup: &Setup<'_>) -> Option<Box<dyn Contender>> {
    let key = Aes::<S>::from_slice(setup.key).ok()?;
    let iv = &setup.iv;
    // A program handles what is refused; here nothing is.
    const WHOLE: &str = "whole blocks";
    Some(match setup.mode {
        Mode::EcbEncrypt => each(key, |key, mut span| {
            match span.memory() {
                Memory::Apart(from, to) => ecb::encrypt_to(key, from, to),
                Memory::InPlace(data) => ecb::encrypt(key, data),
            }
            .expect(WHOLE);
        }),
        Mode::EcbDecrypt => each(key, |key, mut span| {
            match span.memory() {
                Memory::Apart(from, to) => ecb::decrypt_to(key, from, to),
                Memory::InPlace(data) => ecb::decrypt(key, data),
            }
            .expect(WHOLE);
        }),
        Mode::CbcEncrypt => each(cbc::Encryptor::with_iv(key, iv), |mode, mut span| {
            match span.memory() {
                Memory::Apart(from, to) => mode.encrypt_to(from, to),
                Memory::InPlace(data) => mode.encrypt(data),
            }
            .expect(WHOLE);
        }),
        Mode::CbcDecrypt => each(cbc::Decryptor::with_iv(key, iv), |mode, mut span| {
            match span.memory() {
                Memory::Apart(from, to) => mode.decrypt_to(from, to),
                Memory::InPlace(data) => mode.decrypt(data),
            }
            .expect(WHOLE);
        }),
        Mode::Ctr => each(ctr::Ctr128::with_iv(key, iv), |mode, mut span| {
            match span.memory() {
                Memory::Apart(from, to) => mode.apply_to(from, to),
                Memory::InPlace(data) => mode.apply(data),
            }
            .expect("the keystream goes on");
        }),
        Mode::GcmCtr => each(ctr::Ctr32::with_iv(key, iv), |mode, mut span| {
            match span.memory() {
                Memory::Apart(from, to) => mode.apply_to(from, to),
                Memory::InPlace(data) => mode.apply(data),
            }
            .expect("the keystream goes on");
        }),
    })
}
