//! AES on words of the portable ISA, in constant time: bitsliced, four blocks in eight words.
//!
//! Nothing here looks a secret up in a table. The shift of the rows is not done but remembered: Adomnicai and Peyrin,
//! "Fixslicing AES-like ciphers" (TCHES 2021).

mod keys;
mod layers;
mod modes;
mod rounds;
mod sbox;

pub(super) use keys::{expand, invert, slice};
pub(super) use modes::{canonical, sliced};

use crate::ir::Builder;
use crate::ir::typed::{Place, Val};

/// Four blocks, or the like: word i has bit i of each byte.
type State = [Val; 8];
/// A block, or a round key as FIPS 197 has it: two little-endian words.
type Block = [Val; 2];

/// Blocks in a state.
pub(super) const LANES: u32 = 4;

fn constant(b: &mut Builder, value: u64) -> Val {
    let to = b.val();
    b.p_constant(to, value as i64);
    to
}

fn copy(b: &mut Builder, x: Val) -> Val {
    let to = b.val();
    b.p_copy(to, x);
    to
}

fn xor(b: &mut Builder, x: Val, y: Val) -> Val {
    let to = b.val();
    b.p_xor(to, x, y);
    to
}

fn and(b: &mut Builder, x: Val, y: Val) -> Val {
    let to = b.val();
    b.p_and(to, x, y);
    to
}

fn or(b: &mut Builder, x: Val, y: Val) -> Val {
    let to = b.val();
    b.p_or(to, x, y);
    to
}

fn mask(b: &mut Builder, x: Val, bits: u64) -> Val {
    let bits = constant(b, bits);
    and(b, x, bits)
}

/// x shifted by a constant, which may be 0.
fn shl(b: &mut Builder, x: Val, by: u32) -> Val {
    if by == 0 {
        return x;
    }
    let to = b.val();
    b.p_shl(to, x, i64::from(by));
    to
}

fn shr(b: &mut Builder, x: Val, by: u32) -> Val {
    if by == 0 {
        return x;
    }
    let to = b.val();
    b.p_shr(to, x, i64::from(by));
    to
}

/// x rotated right.
fn rotate(b: &mut Builder, x: Val, by: u32) -> Val {
    let to = b.val();
    b.p_rotate(to, x, i64::from(by));
    to
}

/// The block at a place.
fn load(b: &mut Builder, from: Place) -> Block {
    [0, 8].map(|offset| {
        let (mut from, to) = (from, b.val());
        from.0.disp += offset;
        b.p_load(to, from);
        to
    })
}

fn store(b: &mut Builder, to: Place, block: Block) {
    for (word, offset) in block.into_iter().zip([0, 8]) {
        let mut to = to;
        to.0.disp += offset;
        b.p_store(to, word);
    }
}

/// The XOR of two lists of words.
fn sum<const N: usize>(b: &mut Builder, x: [Val; N], y: [Val; N]) -> [Val; N] {
    std::array::from_fn(|index| xor(b, x[index], y[index]))
}
