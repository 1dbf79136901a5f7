//! Rows whose carry walks on to the end of a longer number, however far it has to go: what a caller needs who may not
//! look at whether there is a carry left.

use super::Limbs;
use super::scale::{self, Combine, Multiplier, Row, Scale};
use super::square::Squares;
use crate::family::walk::{Carry, Cut};
use crate::family::{Contract, Extent, Lowering};
use crate::ir::{Builder, Func, Virtual};

fn unroll(lowering: &Lowering<'_>) -> u32 {
    match lowering.parameters.extent {
        Extent::Unrolled(unroll) => unroll,
        Extent::Whole | Extent::Blocks(_) | Extent::Exact(_) => unreachable!("a row of two counts is a loop"),
    }
}

/// r := r + a w, where r has `more` limbs beyond those of a.
pub(super) fn row<S: Scale>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let r = Limbs::new(0, lowering.declare(b, contract, 0, 0), contract.limb_bits);
    let a = Limbs::new(1, lowering.declare(b, contract, 1, 1), contract.limb_bits);
    let n = lowering.declare(b, contract, 2, 0);
    let more = lowering.declare(b, contract, 3, 0);
    let multiplier = S::Multiplier::declare(b, contract, lowering, 4);
    let cut = Cut::new(b, n, lowering.arguments[2].count.1, unroll(lowering), Carry::Folded);
    let state = S::new(b, &lowering.parameters);
    state.begin(b, multiplier);
    scale::walk(b, &cut, &state, &Row { r, a }, Combine::Add, None);
    b.when_nonzero(more, |b| state.absorb(b, &r, more));
    let carry = state.carry(b);
    state.leave(b);
    builder.finish(Some(carry), None)
}

/// r := r + sum a_i^2 B^(2i), where r has `more` limbs beyond twice those of a.
pub(super) fn squares<S: Squares>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let r = Limbs::new(0, lowering.declare(b, contract, 0, 0), contract.limb_bits);
    let a = Limbs::new(1, lowering.declare(b, contract, 1, 1), contract.limb_bits);
    let n = lowering.declare(b, contract, 2, 0);
    let more = lowering.declare(b, contract, 3, 0);
    let cut = Cut::new(b, n, lowering.arguments[2].count.1, unroll(lowering), Carry::Folded);
    let state = S::new(b);
    let group = |b: &mut Builder, k| {
        state.group(b, &r, &a, k);
        r.advance(b, 2 * k);
        a.advance(b, k);
    };
    cut.walk(b, group, |_| {}, group, |_| {});
    b.when_nonzero(more, |b| state.absorb(b, &r, more));
    let carry = state.carry(b);
    state.leave(b);
    builder.finish(Some(carry), None)
}
