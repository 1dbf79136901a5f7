//! Montgomery products of a fixed number of limbs by blocks in registers: the whole product, then the modulus in squares of
//! so many limbs.
//!
//! A step of the reduction makes as many limbs zero as a block is wide: the first block of the modulus finds the multipliers and
//! has their carry limbs in the sum, with which the next block goes on. What is left in the sum after the last block belongs n limbs
//! higher than the step began; it waits where the zeros are.

use super::Arguments;
use crate::family::limb::Limbs;
use crate::family::limb::block::{Sum, Work, pinned};
use crate::family::limb::{block_square, karatsuba};
use crate::family::{Contract, Lowering, Parameters};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, SubId, Virtual};

/// Limbs of a block when the spec says nothing.
const WIDTH: u32 = 8;

/// The limbs of a block: the most that divide n and are not above what the spec says.
fn width(parameters: &Parameters, n: u32) -> u32 {
    let most = parameters.block.unwrap_or(WIDTH).min(WIDTH);
    (1..=most).rev().find(|width| n.is_multiple_of(*width)).unwrap_or(1)
}

/// A function for n limbs that has its number of 2n limbs in the scratch by `begin`.
fn function(
    contract: &Contract,
    lowering: &Lowering<'_>,
    begin: impl FnOnce(&mut Builder, &Arguments, u32, Option<&Blocks>),
) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let n = lowering.parameters.exact().expect("blocks are made for one number of limbs");
    let width = width(&lowering.parameters, n);
    let arguments = Arguments::declare(b, contract, lowering);
    let blocks = (width < n).then(|| Blocks::new(b, &arguments.t, width));
    begin(b, &arguments, n, blocks.as_ref());
    let Arguments { r, m, t, .. } = &arguments;
    let sum = match &blocks {
        Some(blocks) => blocks.reduce(b, m, t, n),
        None => {
            let mut sum = Sum::new(b, n);
            load(b, &sum.limbs, t);
            for _ in 0..n {
                sum.reducing_row(b, m, m.before(b, 0), None);
            }
            sum.limbs
        }
    };
    last(b, r, m, t, n, &sum);
    builder.finish(None, Some(n.into()))
}

/// r := a b / B^n mod m, with the blocks of the reduction for the product too.
pub(super) fn product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, blocks| match blocks {
        Some(blocks) => blocks.product(b, [t, &numbers[0], &numbers[1]], n),
        None => karatsuba::product(b, [t, &numbers[0], &numbers[1], t], n, WIDTH, 0),
    })
}

/// r := a b / B^n mod m, with the product by Karatsuba's rule.
pub(super) fn split_product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, _| {
        let scratch = t.at_limb(2 * n);
        karatsuba::product(b, [t, &numbers[0], &numbers[1], &scratch], n, WIDTH, lowering.parameters.split);
    })
}

/// r := a^2 / B^n mod m.
pub(super) fn square(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, _| {
        block_square::unrolled(b, [t, &numbers[0], &t.at_limb(2 * n)], n, lowering.parameters.split);
    })
}

/// r := x / B^n mod m.
pub(super) fn reduction(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, _| {
        b.note("a copy, which the blocks change");
        for i in 0..2 * n {
            let limb = b.gpr();
            b.load(limb, numbers[0].limb(b, i));
            b.store(t.limb(b, i), limb);
        }
    })
}

fn load(b: &mut Builder, limbs: &[Gpr], from: &Limbs) {
    for (i, limb) in (0..).zip(limbs) {
        b.load(*limb, from.limb(b, i));
    }
}

/// The blocks as private subroutines: so many rows on as many limbs, with the sum in registers on both sides.
struct Blocks {
    sum: Vec<Gpr>,
    work: Work,
    /// Where they take the number that changes, what is multiplied, and the multipliers.
    pointers: [Gpr; 3],
    /// Finds the multipliers.
    first: SubId,
    /// Has them.
    next: SubId,
}

impl Blocks {
    /// The subroutines; `like` is any of the arguments.
    fn new(b: &mut Builder, like: &Limbs, width: u32) -> Blocks {
        let (pointers, mut sum) = pinned(b);
        sum.truncate(width as usize);
        let work = Work::pinned(b);
        let [to, by, multipliers] = pointers.map(|at| like.pointed(at));
        let first = b.subroutine(|b| {
            let mut turning = Sum { limbs: sum.clone(), work };
            for i in 0..width {
                let q = multipliers.limb(b, i);
                turning.reducing_row(b, &by, by.before(b, 0), Some(q));
            }
        });
        let next = b.subroutine(|b| {
            let mut turning = Sum { limbs: sum.clone(), work };
            for i in 0..width {
                let (multiplier, limb) = (multipliers.limb(b, i), to.limb(b, i));
                turning.rotating_row(b, &by, multiplier, limb, true);
            }
        });
        Blocks { sum, work, pointers, first, next }
    }

    fn width(&self) -> u32 {
        self.sum.len() as u32
    }

    fn call(&self, b: &mut Builder, sub: SubId, limbs: [Option<&Limbs>; 3]) {
        for (limbs, pointer) in limbs.iter().zip(self.pointers) {
            if let Some(limbs) = limbs {
                limbs.address(b, pointer);
            }
        }
        b.call(sub);
    }

    /// r := a b for n limbs.
    fn product(&self, b: &mut Builder, [r, x, y]: [&Limbs; 3], n: u32) {
        let zero = b.gpr();
        b.note("the first blocks add to zeros");
        b.mov_imm32(zero, 0);
        for i in 0..n {
            b.store(r.limb(b, i), zero);
        }
        for row in (0..n).step_by(self.sum.len()) {
            Sum { limbs: self.sum.clone(), work: self.work }.clear(b);
            for column in (0..n).step_by(self.sum.len()) {
                let (to, by) = (r.at_limb(row + column), x.at_limb(column));
                self.call(b, self.next, [Some(&to), Some(&by), Some(&y.at_limb(row))]);
            }
            self.store(b, &r.at_limb(row + n));
        }
    }

    /// Makes the n lower limbs of t zero and leaves in them what belongs n limbs higher; the last of it is in the registers that
    /// it returns.
    fn reduce(&self, b: &mut Builder, m: &Limbs, t: &Limbs, n: u32) -> Vec<Gpr> {
        for step in (0..n).step_by(self.sum.len()) {
            let here = t.at_limb(step);
            load(b, &self.sum, &here);
            self.call(b, self.first, [None, Some(m), Some(&here)]);
            for column in (self.width()..n).step_by(self.sum.len()) {
                let (to, by) = (t.at_limb(step + column), m.at_limb(column));
                self.call(b, self.next, [Some(&to), Some(&by), Some(&here)]);
            }
            if step + self.width() < n {
                self.store(b, &here);
            }
        }
        self.sum.clone()
    }

    fn store(&self, b: &mut Builder, to: &Limbs) {
        Sum { limbs: self.sum.clone(), work: self.work }.store(b, to);
    }
}

/// r := the sum of both halves of t, where the last limbs of the lower half are in `sum`, less m unless it is below m.
pub(super) fn last(b: &mut Builder, r: &Limbs, m: &Limbs, t: &Limbs, n: u32, sum: &[Gpr]) {
    let kept = n - sum.len() as u32;
    b.note("both halves");
    for i in 0..n {
        let limb = if i < kept { b.gpr() } else { sum[(i - kept) as usize] };
        if i < kept {
            b.load(limb, t.limb(b, i));
        }
        if i == 0 {
            b.add(limb, t.limb(b, n + i));
        } else {
            b.adc(limb, t.limb(b, n + i));
        }
        b.store(t.limb(b, i), limb);
    }
    let over = b.gpr();
    b.mov_imm32(over, 0);
    b.adc_ri(over, 0);
    subtract(b, r, m, t, n, sum, over);
}

/// r := what is in t and, its last limbs, in `sum`, with `over` above it, less m unless it is below m.
pub(super) fn subtract(b: &mut Builder, r: &Limbs, m: &Limbs, t: &Limbs, n: u32, sum: &[Gpr], over: Gpr) {
    let kept = n - sum.len() as u32;
    b.note("less m");
    for i in 0..n {
        let limb = if i < kept { b.gpr() } else { sum[(i - kept) as usize] };
        if i < kept {
            b.load(limb, t.limb(b, i));
        }
        if i == 0 {
            b.sub(limb, m.limb(b, i));
        } else {
            b.sbb(limb, m.limb(b, i));
        }
        if i < kept {
            b.store(r.limb(b, i), limb);
        }
    }
    b.note("CF: m was too much");
    b.sbb_ri(over, 0);
    for i in (kept..n).chain(0..kept) {
        let limb = if i < kept { b.gpr() } else { sum[(i - kept) as usize] };
        if i < kept {
            b.load(limb, r.limb(b, i));
        }
        b.cmovb(limb, t.limb(b, i));
        b.store(r.limb(b, i), limb);
    }
}
