//! Montgomery products by rows, of any number of limbs: the whole product first, then a row of the modulus for each limb.
//!
//! A row leaves its carry limb, which belongs n limbs higher, in the limb that it has made zero: no row looks there again, and all
//! carry limbs are added together at the end.

use super::Arguments;
use crate::family::limb::Limbs;
use crate::family::limb::product::{self, Product};
use crate::family::limb::scale::{Combine, Row, Scale, walk};
use crate::family::limb::square::Squares;
use crate::family::limb::sum::{Summing, Sums};
use crate::family::limb::words::Words;
use crate::family::walk::Cut;
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, Virtual};

/// r := a b / B^n mod m.
pub(super) fn product<S, W, D>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual>
where
    S: Scale<Multiplier = W::Word>,
    W: Words,
    D: Sums,
{
    function::<S, W, D>(contract, lowering, |b, arguments| {
        let whole = whole(b, arguments);
        product::rows::<S>(b, &lowering.parameters, whole);
    })
}

/// r := a^2 / B^n mod m.
pub(super) fn square<S, Q, W, D>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual>
where
    S: Scale<Multiplier = W::Word>,
    Q: Squares,
    W: Words,
    D: Sums,
{
    function::<S, W, D>(contract, lowering, |b, arguments| {
        let whole = whole(b, arguments);
        product::square_rows::<S, Q>(b, &lowering.parameters, whole);
    })
}

/// r := x / B^n mod m.
pub(super) fn reduction<S, W, D>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual>
where
    S: Scale<Multiplier = W::Word>,
    W: Words,
    D: Sums,
{
    function::<S, W, D>(contract, lowering, |b, Arguments { numbers, n, t, .. }| {
        b.note("a copy, which the rows change");
        match lowering.parameters.extent {
            Extent::Exact(limbs) => {
                for i in 0..2 * limbs {
                    let limb = W::load(b, numbers[0].limb(b, i));
                    W::store(b, t.limb(b, i), limb);
                }
            }
            Extent::Unrolled(_) | Extent::Whole | Extent::Blocks(_) => {
                let (from, to, count) = (numbers[0].copy(b), t.copy(b), copy(b, *n));
                b.counted(count, |b| {
                    for i in 0..2 {
                        let limb = W::load(b, from.limb(b, i));
                        W::store(b, to.limb(b, i), limb);
                    }
                    from.advance(b, 2);
                    to.advance(b, 2);
                });
            }
        }
    })
}

fn copy(b: &mut Builder, n: Gpr) -> Gpr {
    let copy = b.gpr();
    b.mov(copy, n);
    copy
}

/// The product of 2n limbs in the scratch, as its own functions see it.
fn whole(b: &mut Builder, arguments: &Arguments) -> Product {
    let Arguments { numbers, n, t, max, .. } = arguments;
    let (a, other) = (numbers[0], numbers[numbers.len() - 1]);
    Product { r: t.copy(b), a: a.copy(b), b: other.copy(b), n: copy(b, *n), t: *t, max: *max, parts: 1 }
}

/// A function that has its number of 2n limbs in the scratch by `begin`.
fn function<S, W, D>(
    contract: &Contract,
    lowering: &Lowering<'_>,
    begin: impl FnOnce(&mut Builder, &Arguments),
) -> Func<Virtual>
where
    S: Scale<Multiplier = W::Word>,
    W: Words,
    D: Sums,
{
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let arguments = Arguments::declare(b, contract, lowering);
    begin(b, &arguments);
    let exact = lowering.parameters.exact();
    let state = S::new(b, &lowering.parameters);
    match (exact, lowering.parameters.extent) {
        (Some(n), _) => {
            let Arguments { m, t, .. } = &arguments;
            for i in 0..n {
                let q = multiplier::<W>(b, m, &t.at_limb(i));
                state.begin(b, q);
                state.group(b, &Row { r: t.at_limb(i), a: *m }, n, Combine::Add);
                state.store_carry(b, t.limb(b, i));
            }
            state.leave(b);
            last::<W, D>(b, &arguments, &t.at_limb(n), &Walk::Exact(n));
        }
        (None, Extent::Unrolled(unroll)) => {
            let Arguments { m, t, n, max, .. } = &arguments;
            let (rows, low) = (copy(b, *n), t.copy(b));
            let cut = Cut::kept(b, *n, *max, unroll);
            b.counted(rows, |b| {
                let q = multiplier::<W>(b, m, &low);
                state.begin(b, q);
                let row = Row { r: low.copy(b), a: m.copy(b) };
                walk(b, &cut, &state, &row, Combine::Add, None);
                state.store_carry(b, low.limb(b, 0));
                low.advance(b, 1);
            });
            state.leave(b);
            b.note("the pointer has walked to the upper half");
            last::<W, D>(b, &arguments, &low, &Walk::Cut(cut));
        }
        (None, Extent::Whole | Extent::Blocks(_) | Extent::Exact(_)) => unreachable!("a reduction has a count"),
    }
    builder.finish(None, exact.map(u64::from))
}

/// What m is taken by to make the limb at t zero.
fn multiplier<W: Words>(b: &mut Builder, m: &Limbs, t: &Limbs) -> W::Word {
    b.note("the multiple of m that makes the lowest limb 0");
    let n0 = W::load(b, m.before(b, 0));
    let limb = W::load(b, t.limb(b, 0));
    W::low_product(b, limb, n0)
}

/// How a pass goes over all limbs.
enum Walk {
    Exact(u32),
    Cut(Cut),
}

impl Walk {
    /// One group after the other, at pointers that walk.
    fn over<const K: usize>(
        &self,
        b: &mut Builder,
        limbs: &[Limbs; K],
        mut group: impl FnMut(&mut Builder, &[Limbs; K], u32),
    ) {
        match self {
            Walk::Exact(n) => group(b, limbs, *n),
            Walk::Cut(cut) => {
                let walking = limbs.map(|limbs| limbs.copy(b));
                // The group of a tail and that of the loop are the same.
                let group = std::cell::RefCell::new(group);
                let turn = |b: &mut Builder, k: u32| {
                    (*group.borrow_mut())(b, &walking, k);
                    walking.iter().for_each(|limbs| limbs.advance(b, k));
                };
                cut.walk(b, turn, |_| {}, turn, |_| {});
            }
        }
    }
}

/// r := the sum of both halves of t, less m unless it is below m.
fn last<W: Words, D: Sums>(b: &mut Builder, Arguments { r, m, t, .. }: &Arguments, high: &Limbs, walk: &Walk) {
    b.note("the carry limbs");
    let sum = D::new(b);
    walk.over(b, &[*high, *t, *high], |b, limbs, k| sum.group(b, limbs, k, Summing::Plus));
    let over = W::held(sum.carry(b));
    b.note("less m");
    let difference = D::new(b);
    walk.over(b, &[*r, *high, *m], |b, limbs, k| difference.group(b, limbs, k, Summing::Minus));
    let borrow = W::held(difference.carry(b));
    b.note("all ones when m was too much: a borrow that no carry pays for");
    let keep = W::subtract(b, over, borrow);
    walk.over(b, &[*r, *high], |b, [r, high], k| {
        for i in 0..k {
            let (sum, less) = (W::load(b, high.limb(b, i)), W::load(b, r.limb(b, i)));
            let chosen = W::select(b, keep, sum, less);
            W::store(b, r.limb(b, i), chosen);
        }
    });
}
