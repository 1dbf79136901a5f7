//! Rows of 32-bit limbs two at a time: in memory, two of them are one of 64 bits, and w, of 32, makes a carry of 32. An odd
//! last limb goes by itself.

use super::scale::{Combine, InRegisters, Row, Scale};
use super::{Limbs, wide};
use crate::family::Parameters;
use crate::ir::typed::{Gpr, Place};
use crate::ir::{Builder, VReg};

/// A strategy of 64-bit limbs on pairs of 32-bit limbs. With a, r < 2^64 and w, carry < 2^32,
/// `a w + r + carry < 2^96`, so what is carried stays below 2^32.
pub(super) struct Paired<S>(S);

impl<S: InRegisters> Scale for Paired<S> {
    type Multiplier = Gpr;

    fn new(b: &mut Builder, parameters: &Parameters) -> Paired<S> {
        Paired(InRegisters::new(b, parameters))
    }

    fn begin(&self, b: &mut Builder, multiplier: Gpr) {
        let clean = b.gpr();
        b.note("the upper half of a narrow argument is garbage");
        b.mov32(clean, multiplier);
        self.0.begin(b, clean);
    }

    fn begin_at(&self, b: &mut Builder, multiplier: Place) {
        let limb = b.gpr();
        b.load32(limb, multiplier);
        self.0.begin(b, limb);
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        if k >= 2 {
            let pairs = Row { r: row.r.pairs(), a: row.a.pairs() };
            InRegisters::group(&self.0, b, &pairs, k / 2, combine);
        }
        if !k.is_multiple_of(2) {
            let carry = self.0.registers().carry;
            let (product, i) = (b.gpr(), k - 1);
            b.note("an odd limb: the sum is one register, and its high half the carry");
            b.load32(product, row.a(b, i));
            b.imul(product, self.0.registers().w);
            b.add(carry, product);
            if combine != Combine::Set {
                let limb = b.gpr();
                b.load32(limb, row.r(b, i));
                if combine == Combine::Sub {
                    b.not(limb);
                    b.mov32(limb, limb);
                }
                b.add(carry, limb);
            }
            if combine == Combine::Sub {
                let limb = b.gpr();
                b.mov(limb, carry);
                b.not(limb);
                b.store32(row.r(b, i), limb);
            } else {
                b.store32(row.r(b, i), carry);
            }
            b.shr(carry, 32);
        }
    }

    fn store_carry(&self, b: &mut Builder, to: Place) {
        b.store32(to, self.0.registers().carry);
    }

    fn store_zero(&self, b: &mut Builder, to: Place) {
        let zero = b.gpr();
        b.mov_imm32(zero, 0);
        b.store32(to, zero);
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        wide::absorb(b, r, more, self.0.registers().carry);
    }

    fn carry(&self, b: &mut Builder) -> VReg {
        self.0.carry(b)
    }
}
