//! Round keys in constant time: the key schedule (FIPS 197, section 5.2), the keys of the equivalent inverse cipher (section
//! 5.3.5), and sliced round keys.

use super::{Block, and, constant, layers, load, mask, or, sbox, shl, shr, store, xor};
use crate::family::aes::ends::BLOCK;
use crate::family::{Contract, Lowering};
use crate::ir::typed::Val;
use crate::ir::{Builder, Func, Virtual};
use crate::spec::Cipher;

fn cipher<'a>(lowering: &Lowering<'a>) -> &'a Cipher {
    lowering.cipher.expect("a kernel of a cipher")
}

/// sliced := the round keys for each of four blocks, as the rounds meet them.
pub(in super::super) fn slice(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let sliced = lowering.declare(b, contract, 0, 0);
    let keys = lowering.declare(b, contract, 1, 1);
    for round in 0..=cipher(lowering).rounds {
        b.note("the next round key");
        let place = b.at(1, keys, BLOCK * round as i32);
        let key = load(b, place);
        let words = layers::slice_round_key(b, key, round % 4, round > 0);
        for (index, word) in words.into_iter().enumerate() {
            let place = b.at(0, sliced, 4 * BLOCK * round as i32 + 8 * index as i32);
            b.p_store(place, word);
        }
    }
    builder.finish(None, None)
}

/// keys := the round keys of a key.
pub(in super::super) fn expand(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let keys = lowering.declare(b, contract, 0, 0);
    let key = lowering.declare(b, contract, 1, 1);
    let cipher = cipher(lowering);
    let (own, all) = (cipher.key_bits as usize / 32, 4 * (cipher.rounds as usize + 1));
    // Words of 32 bits, in the low halves of values.
    let mut words = Vec::new();
    for pair in 0..own / 2 {
        let (place, both) = (b.at(1, key, 8 * pair as i32), b.val());
        b.p_load(both, place);
        words.extend([mask(b, both, 0xffff_ffff), shr(b, both, 32)]);
    }
    let mut round_constant = 1u8;
    for index in own..all {
        let mut last = words[index - 1];
        if index % own == 0 {
            b.note("the words after the next round constant");
            let (low, high) = (shr(b, last, 8), shl(b, last, 24));
            let turned = or(b, low, high);
            last = substitute(b, turned);
            let with = constant(b, round_constant.into());
            last = xor(b, last, with);
            round_constant = round_constant << 1 ^ if round_constant & 0x80 == 0 { 0 } else { 0x1b };
        } else if own > 6 && index % own == 4 {
            last = substitute(b, last);
        }
        let next = xor(b, words[index - own], last);
        words.push(next);
    }
    for (pair, words) in words[..all].chunks_exact(2).enumerate() {
        let high = shl(b, words[1], 32);
        let (place, both) = (b.at(0, keys, 8 * pair as i32), or(b, words[0], high));
        b.p_store(place, both);
    }
    builder.finish(None, None)
}

/// The S-box on each of the low four bytes; the others become 0.
fn substitute(b: &mut Builder, word: Val) -> Val {
    let bits = layers::planes(b, word, 0x0101_0101);
    let bits = sbox::FORWARD.apply(b, bits);
    let joined = (1..8).fold(bits[0], |joined, bit| {
        let moved = shl(b, bits[bit], bit as u32);
        or(b, joined, moved)
    });
    let rest = constant(b, 0x6363_6363);
    xor(b, joined, rest)
}

/// inverse := the keys of the equivalent inverse cipher in the order of their use.
pub(in super::super) fn invert(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let inverse = lowering.declare(b, contract, 0, 0);
    let keys = lowering.declare(b, contract, 1, 1);
    let rounds = cipher(lowering).rounds;
    for round in 0..=rounds {
        b.note("the next round key");
        let (from, to) = (b.at(1, keys, BLOCK * (rounds - round) as i32), b.at(0, inverse, BLOCK * round as i32));
        let mut key: Block = load(b, from);
        if (1..rounds).contains(&round) {
            key = key.map(|columns| inv_mix_columns(b, columns));
        }
        store(b, to, key);
    }
    builder.finish(None, None)
}

/// 2 x in each byte: the bit that leaves comes back as x^4 + x^3 + x + 1 = (x + 1) (x^3 + 1).
fn double(b: &mut Builder, x: Val) -> Val {
    let top = shr(b, x, 7);
    let top = mask(b, top, 0x0101_0101_0101_0101);
    let rest = mask(b, x, 0x7f7f_7f7f_7f7f_7f7f);
    let doubled = shl(b, rest, 1);
    let twice = shl(b, top, 1);
    let two = xor(b, top, twice);
    let eightfold = shl(b, two, 3);
    let back = xor(b, two, eightfold);
    xor(b, doubled, back)
}

/// In the place of each byte, the one so many rows below it in its column of four bytes.
fn below(b: &mut Builder, x: Val, rows: u32) -> Val {
    let near = u64::from(u32::MAX >> (8 * rows)) * 0x0000_0001_0000_0001;
    let (near, round) = (constant(b, near), constant(b, !near));
    let (down, up) = (shr(b, x, 8 * rows), shl(b, x, 32 - 8 * rows));
    let (near, round) = (and(b, down, near), and(b, up, round));
    or(b, near, round)
}

/// InvMixColumns of two columns, as `layers` has it.
fn inv_mix_columns(b: &mut Builder, x: Val) -> Val {
    let other = below(b, x, 2);
    let pair = xor(b, x, other);
    let twice = double(b, pair);
    let fourfold = double(b, twice);
    let x = xor(b, x, fourfold);
    let next = below(b, x, 1);
    let pair = xor(b, x, next);
    let twice = double(b, pair);
    let mixed = xor(b, twice, next);
    let other = below(b, pair, 2);
    xor(b, mixed, other)
}
