//! Stores from general registers: single bytes, and words that are gathered in a register first.

use super::store::{Rows, Weave, limb};
use super::{LIMB, VECTOR};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place};
use std::marker::PhantomData;

/// Registers of 64 bits.
pub(super) trait Word {
    /// A register.
    type Reg: Copy;
    /// The word in memory.
    fn load(b: &mut Builder, from: Place) -> Self::Reg;
    /// Memory := the word.
    fn store(b: &mut Builder, to: Place, from: Self::Reg);
    /// A public number.
    fn constant(b: &mut Builder, value: u64) -> Self::Reg;
    /// Another register with the same word.
    fn copy(b: &mut Builder, from: Self::Reg) -> Self::Reg;
    /// to := to 2^-by.
    fn shift_down(b: &mut Builder, to: Self::Reg, by: u32);
    /// to := to 2^by.
    fn shift_up(b: &mut Builder, to: Self::Reg, by: u32);
    /// to := to xor other.
    fn xor(b: &mut Builder, to: Self::Reg, other: Self::Reg);
    /// to := to and other.
    fn and(b: &mut Builder, to: Self::Reg, other: Self::Reg);
}

impl Word for Gpr {
    type Reg = Gpr;

    fn load(b: &mut Builder, from: Place) -> Gpr {
        let to = b.gpr();
        b.load(to, from);
        to
    }
    fn store(b: &mut Builder, to: Place, from: Gpr) {
        b.store(to, from);
    }
    fn constant(b: &mut Builder, value: u64) -> Gpr {
        let to = b.gpr();
        b.mov_imm(to, value.cast_signed());
        to
    }
    fn copy(b: &mut Builder, from: Gpr) -> Gpr {
        let to = b.gpr();
        b.mov(to, from);
        to
    }
    fn shift_down(b: &mut Builder, to: Gpr, by: u32) {
        b.shr(to, i64::from(by));
    }
    fn shift_up(b: &mut Builder, to: Gpr, by: u32) {
        b.shl(to, i64::from(by));
    }
    fn xor(b: &mut Builder, to: Gpr, other: Gpr) {
        b.xor(to, other);
    }
    fn and(b: &mut Builder, to: Gpr, other: Gpr) {
        b.and(to, other);
    }
}

/// Single bytes.
pub(super) struct Bytes;

impl Weave for Bytes {
    fn entries(_: u32) -> u32 {
        1
    }

    fn weave(b: &mut Builder, unit: u32, limbs: u32, entries: &[Gpr], rows: &Rows) {
        assert_eq!(unit, 1, "rows of bytes");
        for index in 0..limbs {
            let from = limb(b, entries[0], index);
            let word = <Gpr as Word>::load(b, from);
            for byte in 0..LIMB {
                if byte > 0 {
                    b.shr(word, 8);
                }
                let to = rows.row(b, index * LIMB + byte, 0);
                b.store8(to, word);
            }
        }
    }

    fn end(_: &mut Builder) {}
}

/// Words in which the units of several entries are gathered.
pub(super) struct Gather<W>(PhantomData<W>);

impl<W: Word> Weave for Gather<W> {
    fn entries(unit: u32) -> u32 {
        (LIMB / unit).max(1)
    }

    fn weave(b: &mut Builder, unit: u32, limbs: u32, entries: &[Gpr], rows: &Rows) {
        for index in 0..limbs {
            let mut words = Vec::new();
            for entry in entries {
                let from = limb(b, *entry, index);
                words.push(W::load(b, from));
            }
            transpose::<W>(b, &words);
            for (word, part) in words.iter().zip(0..) {
                let to = if unit == VECTOR {
                    rows.row(b, index / 4, index % 4 * LIMB)
                } else {
                    rows.row(b, index * entries.len() as u32 + part, 0)
                };
                W::store(b, to, *word);
            }
        }
    }

    fn end(_: &mut Builder) {}
}

/// Part i of word j changes places with part j of word i: square blocks of halving size across the diagonal.
fn transpose<W: Word>(b: &mut Builder, words: &[W::Reg]) {
    let mut apart = words.len() / 2;
    while apart > 0 {
        let bits = 64 * apart as u32 / words.len() as u32;
        // The low half of every 2 * bits.
        let mask = W::constant(b, u64::MAX / ((1 << bits) + 1));
        for low in (0..words.len()).filter(|index| index & apart == 0) {
            let (low, high) = (words[low], words[low + apart]);
            let change = W::copy(b, low);
            W::shift_down(b, change, bits);
            W::xor(b, change, high);
            W::and(b, change, mask);
            W::xor(b, high, change);
            W::shift_up(b, change, bits);
            W::xor(b, low, change);
        }
        apart /= 2;
    }
}
