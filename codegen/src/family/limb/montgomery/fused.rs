//! Montgomery products of a fixed small number of limbs with everything in registers: after each row of the product a row of the
//! reduction, so that the sum never has more than two limbs over n.
//!
//! With a sum below 2 m before it, a limb w of b and its multiplier q leave (sum + a w + q m) / B < (2 m + m (B - 1) +
//! m (B - 1)) / B = 2 m: n limbs and a carry.

use super::{Arguments, block};
use crate::family::limb::Limbs;
use crate::family::{Contract, Lowering};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, Virtual};
use crate::isa::row::RDX;

/// r := a b / B^n mod m.
pub(super) fn product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let n = lowering.parameters.exact().expect("rows in registers are made for one number of limbs");
    let Arguments { r, numbers, m, t, .. } = Arguments::declare(b, contract, lowering);
    // The lowest limb first; the last one is the carry.
    let mut sum: Vec<Gpr> = Vec::new();
    for i in 0..n {
        let w = b.pinned(RDX);
        b.load(w, numbers[1].limb(b, i));
        let over = if i == 0 {
            first_row(b, &numbers[0], w, &mut sum, n);
            None
        } else {
            Some(row(b, &numbers[0], w, &mut sum))
        };
        let q = b.pinned(RDX);
        b.note("the multiple of m that makes the lowest limb 0");
        b.mov(q, sum[0]);
        b.imul(q, m.before(b, 0));
        let carry = row(b, &m, q, &mut sum);
        // The limb that is zero now becomes the highest: the carries of both rows.
        let lowest = sum.remove(0);
        b.mov(lowest, carry);
        if let Some(over) = over {
            b.add(lowest, over);
        }
        sum.push(lowest);
    }
    let over = sum.pop().expect("the carry");
    for (i, limb) in (0..).zip(&sum) {
        b.store(t.limb(b, i), *limb);
    }
    block::subtract(b, &r, &m, &t, n, &sum, over);
    builder.finish(None, Some(n.into()))
}

/// sum := a w, of n + 1 limbs.
fn first_row(b: &mut Builder, a: &Limbs, w: Gpr, sum: &mut Vec<Gpr>, n: u32) {
    let low = b.gpr();
    sum.push(b.gpr());
    for j in 0..n {
        let high = b.gpr();
        if j == 0 {
            b.mulx(high, sum[0], a.limb(b, j), w);
        } else {
            b.mulx(high, low, a.limb(b, j), w);
            if j == 1 {
                b.add(sum[j as usize], low);
            } else {
                b.adc(sum[j as usize], low);
            }
        }
        sum.push(high);
    }
    if n > 1 {
        b.adc_ri(sum[n as usize], 0);
    }
}

/// sum := sum + a w, of n + 1 limbs; returns the carry.
fn row(b: &mut Builder, a: &Limbs, w: Gpr, sum: &mut [Gpr]) -> Gpr {
    let (low, high, zero) = (b.gpr(), b.gpr(), b.gpr());
    let n = sum.len() - 1;
    b.note("both chains start with no carry");
    b.xor32(zero, zero);
    for j in 0..n {
        b.mulx(high, low, a.limb(b, j as u32), w);
        b.adcx(sum[j], low);
        b.adox(sum[j + 1], high);
    }
    let carry = b.gpr();
    b.mov_imm32(carry, 0);
    b.mov_imm32(zero, 0);
    b.adcx(sum[n], zero);
    b.adcx(carry, zero);
    b.adox(carry, zero);
    carry
}
