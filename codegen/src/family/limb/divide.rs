//! Two limbs by one. Source: N. Moeller and T. Granlund, "Improved division by invariant integers", IEEE Transactions on
//! Computers 60 (2011), algorithm 4; its reciprocal, `v = floor((B^2 - 1) / d) - B` for d with its top bit set, is
//! computed without the paper's table, whose address would tell of d.

use super::Limbs;
use super::words::Words;
use crate::family::{Contract, Lowering};
use crate::ir::{Builder, Func, Virtual};

/// q and r of hi B + lo by d, with hi < d and the reciprocal v of d.
pub(super) fn by_reciprocal<W: Words>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let q = Limbs::new(0, lowering.declare(b, contract, 0, 0), contract.limb_bits);
    let arguments = [1, 2, 3, 4].map(|index| W::declare(b, contract, lowering, index));
    let [hi, lo, d, v] = arguments.map(|argument| W::arrived(b, argument));
    let one = W::constant(b, 1);
    b.note("an estimate of the quotient, with a fraction: v hi + (hi, lo)");
    let product = W::product(b, v, hi);
    let [estimate, fraction] = W::add_double(b, product, [hi, lo]);
    let estimate = W::add(b, estimate, one);
    b.note("the remainder that it leaves, mod B");
    let back = W::low_product(b, estimate, d);
    let remainder = W::subtract(b, lo, back);
    b.note("one too many: the remainder went below 0");
    let many = W::below(b, fraction, remainder);
    let estimate = W::add(b, estimate, many);
    let added = W::and(b, many, d);
    let remainder = W::add(b, remainder, added);
    b.note("one too few, which is rare");
    let few = W::below(b, remainder, d);
    let step = W::add(b, few, one);
    let quotient = W::add(b, estimate, step);
    let without = W::subtract(b, remainder, d);
    let again = W::and(b, few, d);
    let remainder = W::add(b, without, again);
    let to = q.limb(b, 0);
    W::store(b, to, quotient);
    builder.finish(Some(W::returned(remainder)), None)
}

/// q and r of hi B + lo by d, with hi < d, all public.
pub(super) fn public<W: Words>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let q = Limbs::new(0, lowering.declare(b, contract, 0, 0), contract.limb_bits);
    let arguments = [1, 2, 3].map(|index| W::declare(b, contract, lowering, index));
    let [hi, lo, d] = arguments.map(|argument| W::arrived(b, argument));
    let [quotient, remainder] = W::divide(b, hi, lo, d);
    let to = q.limb(b, 0);
    W::store(b, to, quotient);
    builder.finish(Some(W::returned(remainder)), None)
}

/// v for d with its top bit set.
///
/// With d' = d / B in [1/2, 1), x approaches 1 / d' from below by Newton's x := x + x (1 - d' x), where 1 - d' x is squared
/// by each step. It starts under the tangent of 1 / d' at 3/4, x = 8/3 - 16/9 d', where 1 - d' x < 1/8, and is held as
/// X = B x / 2. Five steps reach 8^-32 = 2^-96, four 2^-48. Rounding is always down: a step's 1 - d' x, as a limb, is too
/// small by at most 2, so X is too small by less than 3 after the last step, and 2 X - B is too small by at most 5.
/// What is left of the numerator then says how often d still goes into it.
pub(super) fn reciprocal<W: Words>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let bits = contract.limb_bits;
    let limb = u64::MAX >> (64 - bits);
    let argument = W::declare(b, contract, lowering, 0);
    let d = W::arrived(b, argument);
    // Over B 8/9; and under B 4/3, mod B.
    let slope = W::constant(b, (8 * (1u128 << bits) / 9) as u64 + 1);
    let start = W::constant(b, limb / 3 - 4);
    let half = W::constant(b, (1 << (bits - 1)) - 1);
    b.note("B x / 2, at first by the tangent");
    let [high, _] = W::product(b, d, slope);
    let mut x = W::subtract(b, start, high);
    for _ in 0..if bits == 64 { 5 } else { 4 } {
        b.note("B (1 - d x) / 2, then twice that");
        let [high, _] = W::product(b, d, x);
        let error = W::subtract(b, half, high);
        let error = W::add(b, error, error);
        let [more, _] = W::product(b, x, error);
        x = W::add(b, x, more);
    }
    b.note("B x = B + v, when its carry is there; v may still be below 0");
    let mut v = W::add(b, x, x);
    let carried = W::below(b, v, x);
    let zero = W::constant(b, 0);
    let one = W::constant(b, 1);
    let minus_one = W::constant(b, limb);
    b.note("B^2 - 1 - (B + v) d");
    let product = W::product(b, v, d);
    let upper = W::and(b, carried, d);
    let [high, low] = W::add_double(b, product, [upper, zero]);
    // -1 - x is the complement of x.
    let mut left = [W::subtract(b, minus_one, high), W::subtract(b, minus_one, low)];
    for _ in 0..CORRECTIONS {
        b.note("one more d, if what is left has it");
        let small = W::below(b, left[1], d);
        let high = W::below(b, zero, left[0]);
        let enough = W::subtract(b, minus_one, small);
        // All ones if the low limb is at least d, or the high one is not 0.
        let by_high = W::and(b, high, small);
        let take = W::add(b, enough, by_high);
        let step = W::and(b, take, one);
        v = W::add(b, v, step);
        let taken = W::and(b, take, d);
        let borrow = W::below(b, left[1], taken);
        left = [W::add(b, left[0], borrow), W::subtract(b, left[1], taken)];
    }
    builder.finish(Some(W::returned(v)), None)
}

/// How much too small v may be before the corrections.
const CORRECTIONS: u32 = 5;
