//! Words of 64 bits in the portable ISA, with lanes of 8, 32 or 64 bits.

use super::lanes::{Lanes, numbers_of_step};
use super::transpose::Word;
use super::{LIMB, at};
use crate::family::{Contract, Lowering};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place, Val};

/// The wanted number in every lane.
pub(super) struct Portable {
    wanted: Val,
    zero: Val,
    one: Val,
}

/// Bits of a lane.
fn bits(unit: u32) -> u32 {
    8 * unit.min(LIMB)
}

/// 1 in every lane.
fn ones(unit: u32) -> u64 {
    (0..64).step_by(bits(unit) as usize).map(|lane| 1 << lane).sum()
}

fn constant(b: &mut Builder, value: u64) -> Val {
    let to = b.val();
    b.p_constant(to, value.cast_signed());
    to
}

/// A new value made of others.
macro_rules! new {
    ($b:expr, $op:ident, $($from:expr),*) => {{
        let to = $b.val();
        $b.$op(to, $($from),*);
        to
    }};
}

impl Lanes for Portable {
    type Reg = Val;
    const BYTES: u32 = 8;

    fn begin(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize, unit: u32) -> Portable {
        let index = lowering.declare_val(b, contract, index);
        let (zero, one) = (constant(b, 0), constant(b, 1));
        let lane = bits(unit);
        if lane == 64 {
            return Portable { wanted: index, zero, one };
        }
        b.note("an index that is wider than a lane without its sign is the largest that fits: no entry has it");
        let above = new!(b, p_shr, index, i64::from(lane - 1));
        let (difference, wide) = (b.val(), b.val());
        b.p_sub_borrow(difference, wide, zero, above, zero);
        let all = new!(b, p_wrap_sub, zero, wide);
        let most = constant(b, (1 << (lane - 1)) - 1);
        let number = new!(b, p_or, index, all);
        let number = new!(b, p_and, number, most);
        let spread = constant(b, ones(unit));
        Portable { wanted: new!(b, p_mul_low, number, spread), zero, one }
    }

    fn block(unit: u32) -> u32 {
        match unit {
            1 => 1,
            4 => 2,
            _ => 8,
        }
    }

    fn first(&self, b: &mut Builder, unit: u32) -> Val {
        let lanes = (0..64).step_by(bits(unit) as usize);
        constant(b, lanes.zip(0u64..).map(|(lane, number)| number << lane).sum())
    }

    fn mask(&self, b: &mut Builder, unit: u32, numbers: Val) -> Val {
        let lane = bits(unit);
        let differ = new!(b, p_xor, numbers, self.wanted);
        let mask = if lane == 64 {
            let (below, equal) = (b.val(), b.val());
            b.p_sub_borrow(below, equal, differ, self.one, self.zero);
            new!(b, p_wrap_sub, self.zero, equal)
        } else {
            b.note("the sign of each lane that differs, which has no sign yet");
            let most = constant(b, ones(unit) * ((1 << (lane - 1)) - 1));
            let signs = constant(b, ones(unit) << (lane - 1));
            let signed = new!(b, p_wrap_add, differ, most);
            let signed = new!(b, p_and, signed, signs);
            let equal = new!(b, p_xor, signed, signs);
            let equal = new!(b, p_shr, equal, i64::from(lane - 1));
            let above = new!(b, p_shl, equal, i64::from(lane));
            new!(b, p_wrap_sub, above, equal)
        };
        let step = constant(b, ones(unit) * u64::from(numbers_of_step(Self::BYTES, unit)));
        b.p_wrap_add(numbers, numbers, step);
        mask
    }

    fn zero(&self, b: &mut Builder) -> Val {
        constant(b, 0)
    }

    fn gather(&self, b: &mut Builder, found: Val, mask: Val, from: Place) {
        let held = new!(b, p_load, from);
        let kept = new!(b, p_and, held, mask);
        b.p_or(found, found, kept);
    }

    fn limbs(&self, b: &mut Builder, unit: u32, found: &[Val], to: (u8, Gpr)) {
        let lane = bits(unit);
        let rows = (64 / lane) as usize;
        for (place, rows) in (0..).step_by(LIMB as usize).zip(found.chunks(rows)) {
            let limb = if let [limb] = rows {
                *limb
            } else {
                // One lane of each row is not 0: the sum of all of them is in the highest lane of this product.
                let sums = constant(b, ones(unit));
                let mut limb = None;
                for (low, row) in (0..64).step_by(lane as usize).zip(rows) {
                    let product = new!(b, p_mul_low, *row, sums);
                    let mut part = new!(b, p_shr, product, i64::from(64 - lane));
                    if low > 0 {
                        part = new!(b, p_shl, part, low);
                    }
                    limb = Some(match limb {
                        None => part,
                        Some(limb) => new!(b, p_or, limb, part),
                    });
                }
                limb.expect("a limb has rows")
            };
            let to = at(b, to, place);
            b.p_store(to, limb);
        }
    }

    fn end(_: &mut Builder) {}
}

impl Word for Portable {
    type Reg = Val;

    fn load(b: &mut Builder, from: Place) -> Val {
        new!(b, p_load, from)
    }
    fn store(b: &mut Builder, to: Place, from: Val) {
        b.p_store(to, from);
    }
    fn constant(b: &mut Builder, value: u64) -> Val {
        constant(b, value)
    }
    fn copy(b: &mut Builder, from: Val) -> Val {
        new!(b, p_copy, from)
    }
    fn shift_down(b: &mut Builder, to: Val, by: u32) {
        b.p_shr(to, to, i64::from(by));
    }
    fn shift_up(b: &mut Builder, to: Val, by: u32) {
        b.p_shl(to, to, i64::from(by));
    }
    fn xor(b: &mut Builder, to: Val, other: Val) {
        b.p_xor(to, to, other);
    }
    fn and(b: &mut Builder, to: Val, other: Val) {
        b.p_and(to, to, other);
    }
}
