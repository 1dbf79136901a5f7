//! The linear layers of four blocks, and how blocks and round keys come into the words and out of them. Knows no order of
//! rounds.
//!
//! A byte of row r and column c stands at place 16 r + 4 c' + block of each of the eight words. After k rounds, whose shift of
//! the rows is only remembered, c' = c + k r mod 4; k mod 4 is the *phase*.

use super::{Block, State, and, constant, mask, or, rotate, shl, shr, sum, xor};
use crate::ir::Builder;
use crate::ir::typed::Val;

/// Exchanges the bits `bits << by` of x with the bits `bits` of y.
fn swap(b: &mut Builder, x: &mut Val, y: &mut Val, by: u32, bits: u64) {
    let moved = shr(b, *x, by);
    let differ = xor(b, moved, *y);
    let differ = mask(b, differ, bits);
    *y = xor(b, *y, differ);
    let back = shl(b, differ, by);
    *x = xor(b, *x, back);
}

/// The low half of each group of twice as many bits.
const fn low(bits: u32) -> u64 {
    u64::MAX / ((1 << bits) + 1)
}

/// Exchanges two bits of the number of a bit, one in the word's number and one in its place: 2^by in the place.
fn exchange(b: &mut Builder, x: &mut Val, y: &mut Val, by: u32) {
    swap(b, x, y, by, low(by));
}

/// A block's words: place c0 r1 r0 b2 b1 b0 of word c1 (column, row, bit of the byte) to place r1 r0 c1 c0 b1 b0 of word b2.
fn rows_first(b: &mut Builder, [mut x, mut y]: Block) -> Block {
    for by in [8, 16, 32, 4] {
        exchange(b, &mut x, &mut y, by);
    }
    [x, y]
}

/// As [`rows_first`], to phase 2: c1 is inverted in rows 1 and 3.
fn rows_first_in_two(b: &mut Builder, [x, y]: Block) -> Block {
    let (even_x, even_y) = (mask(b, x, low(8)), mask(b, y, low(8)));
    let odd_x = xor(b, x, even_x);
    let odd_y = shr(b, y, 8);
    let odd_y = mask(b, odd_y, low(8));
    let even_y = shl(b, even_y, 8);
    let (mut x, mut y) = (or(b, even_x, even_y), or(b, odd_x, odd_y));
    for by in [16, 32, 4] {
        exchange(b, &mut x, &mut y, by);
    }
    [x, y]
}

/// Undoes [`rows_first`].
fn rows_last(b: &mut Builder, [mut x, mut y]: Block) -> Block {
    for by in [4, 32, 16, 8] {
        exchange(b, &mut x, &mut y, by);
    }
    [x, y]
}

/// Undoes [`rows_first_in_two`].
fn rows_last_in_two(b: &mut Builder, [mut x, mut y]: Block) -> Block {
    for by in [4, 32, 16] {
        exchange(b, &mut x, &mut y, by);
    }
    let (even_x, odd_y) = (mask(b, x, low(8)), mask(b, y, low(8)));
    let odd_x = xor(b, y, odd_y);
    let even_y = shr(b, x, 8);
    let even_y = mask(b, even_y, low(8));
    let odd_y = shl(b, odd_y, 8);
    [or(b, even_x, odd_x), or(b, even_y, odd_y)]
}

/// The number of a block against two bits of its bytes, and back: the words of four blocks.
fn transpose(b: &mut Builder, blocks: &mut [Block; 4]) {
    let [p, q, r, s] = blocks;
    for half in 0..2 {
        exchange(b, &mut p[half], &mut q[half], 1);
        exchange(b, &mut r[half], &mut s[half], 1);
        exchange(b, &mut p[half], &mut r[half], 2);
        exchange(b, &mut q[half], &mut s[half], 2);
    }
}

/// Four blocks as a state in that phase.
pub(super) fn pack(b: &mut Builder, blocks: [Block; 4], phase: u32) -> State {
    let mut halves = blocks.map(|block| if phase == 2 { rows_first_in_two(b, block) } else { rows_first(b, block) });
    transpose(b, &mut halves);
    let [p, q, r, s] = halves;
    let state = [p[0], q[0], r[0], s[0], p[1], q[1], r[1], s[1]];
    if phase.is_multiple_of(2) { state } else { state.map(|word| skew(b, word, phase)) }
}

/// The four blocks of a state in that phase.
pub(super) fn unpack(b: &mut Builder, state: State, phase: u32) -> [Block; 4] {
    let [p, q, r, s, t, u, v, w] =
        if phase.is_multiple_of(2) { state } else { state.map(|word| skew(b, word, 4 - phase)) };
    let mut halves = [[p, t], [q, u], [r, v], [s, w]];
    transpose(b, &mut halves);
    halves.map(|block| if phase == 2 { rows_last_in_two(b, block) } else { rows_last(b, block) })
}

/// The first columns of each row.
const fn columns(count: u32) -> u64 {
    ((1 << (4 * count)) - 1) * (u64::MAX / 0xffff)
}

/// Moves each row r by `phase` r columns, round.
fn skew(b: &mut Builder, x: Val, phase: u32) -> Val {
    let mut parts = Vec::new();
    for by in 0..4 {
        let rows: u64 = (0..4).filter(|row| row * phase % 4 == by).map(|row| 0xffff << (16 * row)).sum();
        if rows == 0 {
            continue;
        }
        let near = shl(b, x, 4 * by);
        parts.push(mask(b, near, rows & !columns(by)));
        if by > 0 {
            let round = shr(b, x, 16 - 4 * by);
            parts.push(mask(b, round, rows & columns(by)));
        }
    }
    parts.into_iter().reduce(|sum, part| or(b, sum, part)).expect("rows")
}

/// In the place of each byte, the one so many rows below it in its column.
fn below(b: &mut Builder, x: Val, rows: u32, phase: u32) -> Val {
    let x = rotate(b, x, 16 * rows);
    let by = rows * phase % 4;
    if by == 0 {
        return x;
    }
    // Within each row: the columns further on, and those that come round.
    let (near, round) = (shr(b, x, 4 * by), shl(b, x, 16 - 4 * by));
    let (near, round) = (mask(b, near, columns(4 - by)), mask(b, round, !columns(4 - by)));
    or(b, near, round)
}

/// 2 x in GF(2^8), where x^8 = x^4 + x^3 + x + 1.
fn double(b: &mut Builder, [x0, x1, x2, x3, x4, x5, x6, x7]: State) -> State {
    [x7, xor(b, x0, x7), x1, xor(b, x2, x7), xor(b, x3, x7), x4, x5, x6]
}

/// MixColumns: 2 t + a' + t'', where t = a + a' and a prime is one row below.
pub(super) fn mix_columns(b: &mut Builder, state: State, phase: u32) -> State {
    let next = state.map(|word| below(b, word, 1, phase));
    let pair = sum(b, state, next);
    let twice = double(b, pair);
    let mixed = sum(b, twice, next);
    let other = pair.map(|word| below(b, word, 2, phase));
    sum(b, mixed, other)
}

/// InvMixColumns: MixColumns of a + 4 (a + a''), since its matrix is circ(2, 3, 1, 1) circ(5, 0, 4, 0) (Daemen and Rijmen, The
/// Design of Rijndael, section 4.1.3).
pub(super) fn inv_mix_columns(b: &mut Builder, state: State, phase: u32) -> State {
    let other = state.map(|word| below(b, word, 2, phase));
    let u = sum(b, state, other);
    let top = xor(b, u[6], u[7]);
    let fourfold =
        [u[6], top, xor(b, u[0], u[7]), xor(b, u[1], u[6]), xor(b, u[2], top), xor(b, u[3], u[7]), u[4], u[5]];
    let state = sum(b, state, fourfold);
    mix_columns(b, state, phase)
}

/// A round key for every block of a state in that phase, with the S-box's constant 0x63 if that is still due.
pub(super) fn slice_round_key(b: &mut Builder, key: Block, phase: u32, constant_due: bool) -> State {
    // Bits 0 to 3 of each byte, and bits 4 to 7.
    let halves = rows_first(b, key).map(|half| if phase == 0 { half } else { skew(b, half, phase) });
    let word = |b: &mut Builder, bit: u32| {
        let bits = shr(b, halves[bit as usize / 4], bit % 4);
        let bits = mask(b, bits, 0x1111_1111_1111_1111);
        // One bit of each four into all four.
        let twice = shl(b, bits, 1);
        let bits = or(b, bits, twice);
        let twice = shl(b, bits, 2);
        or(b, bits, twice)
    };
    let mut key: State = std::array::from_fn(|bit| word(b, bit as u32));
    if constant_due {
        let ones = constant(b, u64::MAX);
        for bit in (0..8).filter(|bit| 0x63 >> bit & 1 == 1) {
            key[bit] = xor(b, key[bit], ones);
        }
    }
    key
}

/// What the words of keys need of these layers beside: x where `bits` has a bit, else nothing.
pub(super) fn planes(b: &mut Builder, x: Val, bits: u64) -> State {
    let bits = constant(b, bits);
    std::array::from_fn(|bit| {
        let moved = shr(b, x, bit as u32);
        and(b, moved, bits)
    })
}
