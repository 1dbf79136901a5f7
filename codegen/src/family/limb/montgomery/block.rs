//! Montgomery products of a fixed number of limbs by blocks in registers: the whole product, then the modulus in squares of
//! so many limbs.
//!
//! A step of the reduction makes as many limbs zero as a block is wide: the first block of the modulus finds the multipliers and
//! has their carry limbs in the sum, with which the next block goes on. What is left in the sum after the last block belongs n limbs
//! higher than the step began, and is added there.

use super::Arguments;
use crate::family::limb::block::{Sum, Work, leaf, pinned};
use crate::family::limb::{Limbs, block_square, from_flag, karatsuba, to_flag};
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
    reduce(b, [r, m, t], n, width, blocks.as_ref());
    builder.finish(None, Some(n.into()))
}

/// r := a b / B^n mod m, with the blocks of the reduction for the product too.
pub(super) fn product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, blocks| match blocks {
        Some(blocks) => blocks.product(b, [t, &numbers[0], &numbers[1]], n),
        None => leaf(WIDTH, 0)(b, [t, &numbers[0], &numbers[1]], n),
    })
}

/// r := a b / B^n mod m, with the product by Karatsuba's rule.
pub(super) fn split_product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, blocks| {
        let (scratch, split) = (t.at_limb(2 * n), lowering.parameters.split);
        let factors = [t, &numbers[0], &numbers[1], &scratch];
        let mut body = leaf(WIDTH, split);
        karatsuba::product(b, factors, n, split, &mut |b, limbs, n| match blocks {
            Some(blocks) if n > WIDTH && n.is_multiple_of(blocks.width()) => blocks.product(b, limbs, n),
            _ => body(b, limbs, n),
        });
    })
}

/// r := a^2 / B^n mod m.
pub(super) fn square(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    function(contract, lowering, |b, Arguments { numbers, t, .. }, n, blocks| {
        halved_square(b, [t, &numbers[0], &t.at_limb(2 * n)], n, lowering.parameters.split, blocks);
    })
}

/// r := a^2 for n limbs: halved `split` times as long as n is even; then in registers as a whole, or by blocks where that would be much
/// code.
fn halved_square(b: &mut Builder, limbs: [&Limbs; 3], n: u32, split: u32, blocks: Option<&Blocks>) {
    if split > 0 && n.is_multiple_of(2) && n >= 4 {
        return karatsuba::square(b, limbs, n, &mut |b, limbs| halved_square(b, limbs, n / 2, split - 1, blocks));
    }
    match blocks {
        Some(blocks) if n > 2 * WIDTH && n.is_multiple_of(blocks.width()) => blocks.square(b, limbs, n),
        _ => block_square::unrolled(b, limbs, n, 0),
    }
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
        self.clear(b, r, n);
        for row in (0..n).step_by(self.sum.len()) {
            self.sum().clear(b);
            for column in (0..n).step_by(self.sum.len()) {
                let (to, by) = (r.at_limb(row + column), x.at_limb(column));
                self.call(b, self.next, [Some(&to), Some(&by), Some(&y.at_limb(row))]);
            }
            self.sum().store(b, &r.at_limb(row + n));
        }
    }

    /// r := a^2 for n limbs, with as many limbs of scratch as r has: the products of different blocks, twice, and the squares of the
    /// blocks.
    fn square(&self, b: &mut Builder, [r, a, squares]: [&Limbs; 3], n: u32) {
        let width = self.width();
        self.clear(b, &r.at_limb(width), n - width);
        for row in (0..n - width).step_by(self.sum.len()) {
            self.sum().clear(b);
            for column in (row + width..n).step_by(self.sum.len()) {
                let (to, by) = (r.at_limb(row + column), a.at_limb(column));
                self.call(b, self.next, [Some(&to), Some(&by), Some(&a.at_limb(row))]);
            }
            self.sum().store(b, &r.at_limb(row + n));
        }
        for block in (0..n).step_by(self.sum.len()) {
            b.note("the square of a block");
            block_square::unrolled(b, [&squares.at_limb(2 * block), &a.at_limb(block), squares], width, 0);
        }
        let zero = b.gpr();
        b.note("CF doubles, OF adds the squares");
        b.xor32(zero, zero);
        for i in 0..2 * n {
            let limb = b.gpr();
            if (width..2 * n - width).contains(&i) {
                b.load(limb, r.limb(b, i));
                b.adcx(limb, limb);
                b.adox(limb, squares.limb(b, i));
            } else {
                b.load(limb, squares.limb(b, i));
                if i >= width {
                    b.adcx(limb, zero);
                    b.adox(limb, zero);
                }
            }
            b.store(r.limb(b, i), limb);
        }
    }

    fn clear(&self, b: &mut Builder, r: &Limbs, limbs: u32) {
        let zero = b.gpr();
        b.note("the first blocks add to zeros");
        b.mov_imm32(zero, 0);
        for i in 0..limbs {
            b.store(r.limb(b, i), zero);
        }
    }

    /// The sum, as it is between two calls.
    fn sum(&self) -> Sum {
        Sum { limbs: self.sum.clone(), work: self.work }
    }

    /// A step of the reduction: makes the limbs of a block at `step` zero; the sum belongs n limbs higher.
    fn reduce(&self, b: &mut Builder, m: &Limbs, t: &Limbs, n: u32, step: u32) {
        let here = t.at_limb(step);
        load(b, &self.sum, &here);
        self.call(b, self.first, [None, Some(m), Some(&here)]);
        for column in (self.width()..n).step_by(self.sum.len()) {
            let (to, by) = (t.at_limb(step + column), m.at_limb(column));
            self.call(b, self.next, [Some(&to), Some(&by), Some(&here)]);
        }
    }
}

/// r := t / B^n mod m, where t has 2n limbs.
fn reduce(b: &mut Builder, [r, m, t]: [&Limbs; 3], n: u32, width: u32, blocks: Option<&Blocks>) {
    let carry = b.gpr();
    for step in (0..n).step_by(width as usize) {
        let sum = match blocks {
            Some(blocks) => {
                blocks.reduce(b, m, t, n, step);
                blocks.sum.clone()
            }
            None => {
                let mut sum = Sum::new(b, width);
                load(b, &sum.limbs, t);
                for _ in 0..width {
                    sum.reducing_row(b, m, m.before(b, 0), None);
                }
                sum.limbs
            }
        };
        if step > 0 {
            to_flag(b, carry);
        }
        b.note("what is left in the sum belongs n limbs higher");
        let last = step + width == n;
        for (i, limb) in (0..).zip(&sum) {
            let place = t.limb(b, n + step + i);
            match (last, step + i) {
                (false, 0) => b.add_mr(place, *limb),
                (false, _) => b.adc_mr(place, *limb),
                (true, 0) => b.add(*limb, place),
                (true, _) => b.adc(*limb, place),
            }
            if last {
                b.store(place, *limb);
            }
        }
        from_flag(b, carry);
        if last {
            subtract(b, r, m, &t.at_limb(n), n, &sum, carry);
        }
    }
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
