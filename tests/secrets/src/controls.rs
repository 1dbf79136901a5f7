//! Code that leaks on purpose, so that it is seen that a leak is found; and code that looks as if it did, and does not.

use std::hint::black_box;

use crate::memcheck::{make_public, make_secret};
use crate::{Leaks, watch};

/// A branch on a bit of the key.
#[inline(never)]
fn branches(key: &[u8; 16]) -> u64 {
    let mut sum = 0;
    for byte in key {
        if byte & 1 == 1 {
            // What the compiler cannot turn into a move on condition.
            sum ^= black_box(3);
        }
    }
    sum
}

/// A table that is read where the key says.
#[inline(never)]
fn looks_up(key: &[u8; 16], table: &[u8; 256]) -> u64 {
    key.iter().map(|byte| u64::from(table[usize::from(*byte)])).fold(0, |all, entry| all ^ entry)
}

/// Every entry of a table, and a mask.
#[inline(never)]
fn scans(key: &[u8; 16], table: &[u8; 256]) -> u64 {
    let mut sum = 0;
    for wanted in key {
        for (index, entry) in table.iter().enumerate() {
            let differs = u64::from(*wanted) ^ index as u64;
            let mask = black_box(differs.wrapping_sub(1) >> 8 & 0xff);
            sum ^= mask & u64::from(*entry);
        }
    }
    sum
}

/// Rounds of AES by tables: the plain reference.
fn by_tables(key: &[u8; 16]) -> u64 {
    let mut round_keys = [0; 176];
    kiln_kernels::reference::aes::expand_key(&mut round_keys, key);
    u64::from(round_keys[175])
}

/// Runs the control of this name.
pub fn run(name: &str) -> Leaks {
    let mut leaks = Leaks::new();
    let mut key: [u8; 16] = black_box(std::array::from_fn(|index| 17 * index as u8));
    let table: [u8; 256] = black_box(std::array::from_fn(|index| 255 - index as u8));
    make_secret(&mut key);
    let mut result = [watch(name, &mut leaks, || match name {
        "branch" => branches(&key),
        "table" => looks_up(&key, &table),
        "reference" => by_tables(&key),
        "scan" => scans(&key, &table),
        _ => panic!("no control {name:?}"),
    })];
    make_public(&mut result);
    black_box(result);
    leaks
}
