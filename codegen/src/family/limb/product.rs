//! Whole products and squares of n limbs: r := a b and r := a^2, of 2n limbs.
//!
//! By rows: the first row sets n limbs of r, each further one is added one limb higher, and each leaves its carry limb in a
//! limb that no row has reached. A square needs only the products of different limbs, once: they are doubled afterwards,
//! and the squares of the limbs added.

use super::Limbs;
use super::scale::{Combine, Row, Scale, walk};
use super::square::Squares;
use crate::family::walk::{Carry, Cut};
use crate::family::{Contract, Extent, Lowering, Parameters};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, Virtual};

/// The arguments of a product on the limbs of a strategy.
pub(super) struct Product {
    pub r: Limbs,
    pub a: Limbs,
    pub b: Limbs,
    pub n: Gpr,
    /// The scratch, of 2n limbs.
    pub t: Limbs,
    /// The largest n.
    pub max: u64,
    /// Limbs of the strategy in one of the contract.
    pub parts: u32,
}

impl Product {
    /// Declares the arguments of a product, or of a square when `square`: then `b` is `a`.
    pub fn declare(
        b: &mut Builder,
        contract: &Contract,
        lowering: &Lowering<'_>,
        bits: Option<u32>,
        square: bool,
    ) -> Product {
        let bits = bits.unwrap_or(contract.limb_bits);
        let parts = contract.limb_bits / bits;
        let mut limbs = |index: u8| Limbs::new(index, lowering.declare(b, contract, index.into(), index), bits);
        let (r, a) = (limbs(0), limbs(1));
        let other = if square { a } else { limbs(2) };
        let count = if square { 2 } else { 3 };
        let n = lowering.declare(b, contract, count, 0);
        let scratch = count as u8 + 1;
        let t = Limbs::new(scratch, lowering.declare(b, contract, scratch.into(), scratch), bits);
        if parts == 2 && lowering.parameters.exact().is_none() {
            b.note("limbs of half the size, twice as many");
            b.add(n, n);
        }
        Product { r, a, b: other, n, t, max: lowering.arguments[count].count.1 * u64::from(parts), parts }
    }
}

/// One row of a run-time number of limbs, at `r` and `a`, which stay; its carry limb follows it.
pub(super) fn row<S: Scale>(b: &mut Builder, state: &S, cut: &Cut, (r, a): (&Limbs, &Limbs), combine: Combine) {
    let row = Row { r: r.copy(b), a: a.copy(b) };
    walk(b, cut, state, &row, combine, None);
    state.store_carry(b, row.r.limb(b, 0));
}

/// r := a b by rows.
pub(super) fn by_rows<S: Scale>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let product = Product::declare(b, contract, lowering, S::BITS, false);
    rows::<S>(b, &lowering.parameters, product);
    builder.finish(None, lowering.parameters.exact().map(u64::from))
}

/// As [`by_rows`], inside a function: the pointers r and b walk, and n stays.
pub(super) fn rows<S: Scale>(b: &mut Builder, parameters: &Parameters, product: Product) {
    let Product { r, a, b: other, n, max, parts, .. } = product;
    match parameters.extent {
        Extent::Exact(limbs) => {
            let limbs = limbs * parts;
            let state = S::new(b, parameters);
            for i in 0..limbs {
                state.begin_at(b, other.limb(b, i));
                let combine = if i == 0 { Combine::Set } else { Combine::Add };
                let r = r.at_limb(i);
                state.group(b, &Row { r, a }, limbs, combine);
                state.store_carry(b, r.limb(b, limbs));
            }
            state.leave(b);
        }
        Extent::Unrolled(unroll) => {
            b.when_nonzero(n, |b| {
                let cut = Cut::kept(b, n, max, unroll);
                let state = S::new(b, parameters);
                state.begin_at(b, other.limb(b, 0));
                row(b, &state, &cut, (&r, &a), Combine::Set);
                let rows = b.gpr();
                b.mov(rows, n);
                b.sub_ri(rows, 1);
                b.when_nonzero(rows, |b| {
                    b.counted(rows, |b| {
                        r.advance(b, 1);
                        other.advance(b, 1);
                        state.begin_at(b, other.limb(b, 0));
                        row(b, &state, &cut, (&r, &a), Combine::Add);
                    });
                });
                state.leave(b);
            });
        }
        Extent::Whole | Extent::Blocks(_) => unreachable!("a product has a count"),
    }
}

/// r := a^2 by rows: the products of each limb with those above it; then doubled, with the squares.
pub(super) fn square_by_rows<S: Scale, Q: Squares>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let product = Product::declare(b, contract, lowering, S::BITS, true);
    square_rows::<S, Q>(b, &lowering.parameters, product);
    builder.finish(None, lowering.parameters.exact().map(u64::from))
}

/// As [`square_by_rows`], inside a function: the pointers r and a walk, and n is used up.
pub(super) fn square_rows<S: Scale, Q: Squares>(b: &mut Builder, parameters: &Parameters, product: Product) {
    let Product { r, a, n, max, parts, .. } = product;
    match parameters.extent {
        Extent::Exact(limbs) => {
            let limbs = limbs * parts;
            let state = S::new(b, parameters);
            // Row i starts at r[2i + 1]; its carry goes to r[i + limbs], which no row before it has reached.
            for i in 0..limbs - 1 {
                state.begin_at(b, a.limb(b, i));
                let combine = if i == 0 { Combine::Set } else { Combine::Add };
                let row = Row { r: r.at_limb(2 * i + 1), a: a.at_limb(i + 1) };
                state.group(b, &row, limbs - 1 - i, combine);
                state.store_carry(b, r.limb(b, limbs + i));
            }
            state.store_zero(b, r.limb(b, 0));
            state.store_zero(b, r.limb(b, 2 * limbs - 1));
            let squares = Q::new(b);
            squares.double(b, &r, &a, limbs);
            squares.leave(b);
        }
        Extent::Unrolled(unroll) => {
            b.when_nonzero(n, |b| {
                let state = S::new(b, parameters);
                state.store_zero(b, r.limb(b, 0));
                let (low, factor) = (r.copy(b), a.copy(b));
                b.note("rows: n - 1, n - 2, ... limbs");
                let rows = b.gpr();
                b.mov(rows, n);
                b.sub_ri(rows, 1);
                low.advance(b, 1);
                // The limb above row 0's carry limb ends the number; without a row it is the only one.
                let mut first = true;
                b.when_nonzero(rows, |b| {
                    for combine in [Combine::Set, Combine::Add] {
                        let body = |b: &mut Builder| {
                            state.begin_at(b, factor.limb(b, 0));
                            factor.advance(b, 1);
                            let cut = Cut::kept(b, rows, max, unroll);
                            row(b, &state, &cut, (&low, &factor), combine);
                            low.advance(b, 2);
                        };
                        if first {
                            body(b);
                            b.sub_ri(rows, 1);
                            first = false;
                        } else {
                            b.when_nonzero(rows, |b| b.counted(rows, body));
                        }
                    }
                });
                b.note("low has walked to the last limb");
                state.store_zero(b, low.limb(b, 0));
                let cut = Cut::new(b, n, max, unroll.min(DOUBLE_UNROLL), Carry::Folded);
                let squares = Q::new(b);
                let group = |b: &mut Builder, k| {
                    squares.double(b, &r, &a, k);
                    r.advance(b, 2 * k);
                    a.advance(b, k);
                };
                cut.walk(b, group, |_| {}, group, |_| {});
                squares.leave(b);
            });
        }
        Extent::Whole | Extent::Blocks(_) => unreachable!("a square has a count"),
    }
}

/// Limbs of a trip of the doubling, at most.
const DOUBLE_UNROLL: u32 = 4;
