//! Big-endian counters of 32, 64 or 128 bits in vector registers. Knows no cipher.
//!
//! A block's counter is the next one plus a small number, and as long as that does not carry out of the last byte it is one
//! addition to that byte. In the one group of a few in which it does, the counters are made with their bytes turned around, as
//! numbers in lanes; and in the one of 2^64 in which a counter of 128 bits carries out of its low lane, the lanes that have
//! passed it are set right. The counter is public, so these may be branches.

use super::engine::Engine;
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place};

pub(super) struct Counter<E: Engine> {
    bits: u32,
    /// The counter of the next block, in every place of the register.
    next: E::Reg,
    /// Its last byte.
    byte: Gpr,
    /// The pool of constants.
    pool: Gpr,
}

/// What a byte holds, and one more.
const CARRY: i32 = 256;

impl<E: Engine> Counter<E> {
    /// Takes the counter from memory.
    pub fn begin(b: &mut Builder, bits: u32, iv: Place) -> Counter<E> {
        let counter = Counter { bits, next: E::reg(b), byte: b.gpr(), pool: b.gpr() };
        b.pool(counter.pool);
        E::spread_unaligned(b, counter.next, iv);
        let mut half = iv;
        half.0.disp += 8;
        b.note("the last byte of the counter");
        b.load(counter.byte, half);
        b.shr(counter.byte, 56);
        counter
    }

    /// A block for each place of a register, each with one byte that is not 0.
    fn constant(&self, b: &mut Builder, at: usize, numbers: &[u32]) -> Place {
        let block = |number: &u32| {
            let mut block = [0; 16];
            block[at] = *number as u8;
            block
        };
        let bytes: Vec<u8> = numbers.iter().cycle().take(2).flat_map(block).collect();
        let offset = b.constant(&bytes);
        b.pooled(self.pool, offset)
    }

    /// How far the counters of a register are ahead of the next one.
    fn steps(first: u32) -> Vec<u32> {
        (first..first + E::WIDTH).collect()
    }

    /// The counters of `blocks` blocks, as they are enciphered, in registers of `parts` (first block, blocks). Counts them.
    pub fn take(&self, b: &mut Builder, blocks: u32, parts: &[(u32, u32)]) -> Vec<E::Reg> {
        b.note("the counters of these blocks, and of the next");
        let mut ahead: Vec<(E::Reg, Vec<u32>, u32)> =
            parts.iter().map(|&(first, count)| (E::reg(b), Self::steps(first), count)).collect();
        ahead.push((E::reg(b), vec![blocks], E::WIDTH));
        for (reg, steps, count) in &ahead {
            if steps[0] == 0 && *count == 1 {
                E::copy(b, *reg, self.next, 1);
            } else {
                let steps = self.constant(b, 15, steps);
                E::add(b, 32, *reg, self.next, steps, *count);
            }
        }
        b.add_ri(self.byte, i64::from(blocks));
        b.when_bits(self.byte, CARRY, |b| {
            b.and_ri(self.byte, i64::from(CARRY - 1));
            self.carried(b, &ahead);
        });
        let (next, _, _) = ahead[parts.len()];
        E::copy(b, self.next, next, E::WIDTH);
        ahead[..parts.len()].iter().map(|(reg, ..)| *reg).collect()
    }

    /// The same with a carry out of the last byte.
    fn carried(&self, b: &mut Builder, ahead: &[(E::Reg, Vec<u32>, u32)]) {
        let (turned, turn) = (E::reg(b), E::reg(b));
        let order: Vec<u8> = (0..16).rev().cycle().take(32).collect();
        let order = b.constant(&order);
        let order = b.pooled(self.pool, order);
        E::spread(b, turn, order);
        E::copy(b, turned, self.next, E::WIDTH);
        E::shuffle(b, turned, turn, E::WIDTH);
        for (reg, steps, _) in ahead {
            let steps = self.constant(b, 0, steps);
            E::add(b, self.bits.min(64), *reg, turned, steps, E::WIDTH);
        }
        if self.bits == 128 {
            let most = ahead.iter().flat_map(|(_, steps, _)| steps).max().copied().unwrap_or(0);
            let (low, passed) = (b.gpr(), b.gpr());
            E::low_half(b, low, turned);
            b.mov_imm32(passed, 0);
            b.add_ri(low, i64::from(most));
            b.adc_ri(passed, 0);
            b.when_nonzero(passed, |b| {
                // Before the end of the low lanes they are negative, behind it they are not.
                let one = self.constant(b, 8, &[1]);
                for (reg, ..) in ahead {
                    let negative = E::reg(b);
                    E::sign_above(b, negative, *reg);
                    E::add(b, 64, *reg, *reg, one, E::WIDTH);
                    E::sum(b, *reg, negative);
                }
            });
        }
        for (reg, ..) in ahead {
            E::shuffle(b, *reg, turn, E::WIDTH);
        }
    }

    /// Gives the counter back to memory.
    pub fn end(&self, b: &mut Builder, iv: Place) {
        E::store(b, iv, self.next, 1);
    }
}
