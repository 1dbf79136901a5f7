//! Whole products by two rows in one pass: r := r + a (w0 + w1 B). A limb of r is loaded and stored once for two products, and
//! the carry chains of the two rows do not depend on each other.
//!
//! Limb i of the sum takes a_i w0 and a_(i-1) w1. The first limb has no product of the second row, and that row's last product
//! makes the two limbs above a.

use super::Limbs;
use super::mulx::MulxAdx;
use super::product::{Product, by_rows, row};
use super::scale::{Combine, Row, Scale};
use crate::family::walk::Cut;
use crate::family::{Contract, Extent, Lowering, Parameters};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, Virtual};
use crate::isa::row::RDX;

/// Limbs whose sums wait in registers for the second row.
const CHUNK: u32 = 4;

/// Two rows: their multipliers and the limbs that they carry.
struct Pair {
    w: [Gpr; 2],
    carry: [Gpr; 2],
}

/// r := a b by single or by double rows.
pub(super) fn product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    if lowering.parameters.rows == 1 {
        return by_rows::<MulxAdx>(contract, lowering);
    }
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let Product { r, a, b: other, n, max, .. } = Product::declare(b, contract, lowering, None, false);
    let parameters = &lowering.parameters;
    match parameters.extent {
        Extent::Exact(limbs) => exact(b, [&r, &a, &other], limbs, parameters),
        Extent::Unrolled(unroll) => b.when_nonzero(n, |b| counted(b, [&r, &a, &other], n, max, unroll, parameters)),
        Extent::Whole | Extent::Blocks(_) => unreachable!("a product has a count"),
    }
    builder.finish(None, parameters.exact().map(u64::from))
}

fn exact(b: &mut Builder, [r, a, other]: [&Limbs; 3], n: u32, parameters: &Parameters) {
    let single = MulxAdx::new(b, parameters);
    // An odd number of rows is left to the pairs after the first, or after the second.
    let singles = if n.is_multiple_of(2) { 2.min(n) } else { 1 };
    for i in 0..singles {
        single.begin_at(b, other.limb(b, i));
        let combine = if i == 0 { Combine::Set } else { Combine::Add };
        let r = r.at_limb(i);
        single.group(b, &Row { r, a: *a }, n, combine);
        single.store_carry(b, r.limb(b, n));
    }
    for i in (singles..n).step_by(2) {
        let (pair, r) = (Pair::begin(b, &other.at_limb(i)), r.at_limb(i));
        pair.first(b, &r, a);
        if n > 1 {
            pair.group(b, &r.at_limb(1), &a.at_limb(1), n - 1);
        }
        pair.end(b, &r.at_limb(n), &a.at_limb(n));
    }
}

fn counted(b: &mut Builder, [r, a, other]: [&Limbs; 3], n: Gpr, max: u64, unroll: u32, parameters: &Parameters) {
    let cut = Cut::kept(b, n, max, unroll);
    let single = MulxAdx::new(b, parameters);
    single.begin_at(b, other.limb(b, 0));
    row(b, &single, &cut, (r, a), Combine::Set);
    let (rows, rest) = (b.gpr(), b.gpr());
    b.mov(rows, n);
    b.sub_ri(rows, 1);
    b.mov(rest, rows);
    b.when_bits(rows, 1, |b| {
        r.advance(b, 1);
        other.advance(b, 1);
        single.begin_at(b, other.limb(b, 0));
        row(b, &single, &cut, (r, a), Combine::Add);
    });
    // All limbs of a but the first, in each pair of rows.
    let inner = Cut::kept(b, rest, max, unroll);
    let pairs = b.gpr();
    b.mov(pairs, rows);
    b.shr(pairs, 1);
    b.when_nonzero(pairs, |b| {
        b.counted(pairs, |b| {
            r.advance(b, 1);
            other.advance(b, 1);
            let pair = Pair::begin(b, other);
            let (sum, limbs) = (r.copy(b), a.copy(b));
            pair.first(b, &sum, &limbs);
            sum.advance(b, 1);
            limbs.advance(b, 1);
            let group = |b: &mut Builder, k| {
                pair.group(b, &sum, &limbs, k);
                sum.advance(b, k);
                limbs.advance(b, k);
            };
            inner.walk(b, group, |_| {}, group, |_| {});
            pair.end(b, &sum, &limbs);
            r.advance(b, 1);
            other.advance(b, 1);
        });
    });
}

impl Pair {
    /// Two rows by the two limbs there.
    fn begin(b: &mut Builder, by: &Limbs) -> Pair {
        let pair = Pair { w: [b.gpr(), b.gpr()], carry: [b.gpr(), b.gpr()] };
        for (i, w) in (0..).zip(pair.w) {
            b.load(w, by.limb(b, i));
        }
        pair
    }

    /// The lowest limb, which the first row alone reaches.
    fn first(&self, b: &mut Builder, r: &Limbs, a: &Limbs) {
        let (w, low) = (b.pinned(RDX), b.gpr());
        b.mov(w, self.w[0]);
        b.mulx(self.carry[0], low, a.limb(b, 0), w);
        b.mov_imm32(self.carry[1], 0);
        b.add(low, r.limb(b, 0));
        b.adc_ri(self.carry[0], 0);
        b.store(r.limb(b, 0), low);
    }

    /// k limbs of both rows; a begins with the limb of the first row, and the limb before it is the second row's.
    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for from in (0..k).step_by(CHUNK as usize) {
            let chunk = from..k.min(from + CHUNK);
            let sums: Vec<Gpr> = chunk.clone().map(|_| b.gpr()).collect();
            for second in [false, true] {
                let (w, zero) = (b.pinned(RDX), b.gpr());
                let carry = self.carry[usize::from(second)];
                b.mov(w, self.w[usize::from(second)]);
                b.note(if second { "the second row, one limb behind" } else { "the first row" });
                b.xor32(zero, zero);
                let mut before = carry;
                for (i, sum) in chunk.clone().zip(&sums) {
                    let high = b.gpr();
                    if second {
                        let (low, limb) = (b.gpr(), a.before(b, i));
                        b.mulx(high, low, limb, w);
                        b.adcx(*sum, low);
                    } else {
                        b.mulx(high, *sum, a.limb(b, i), w);
                        b.adcx(*sum, r.limb(b, i));
                    }
                    b.adox(*sum, before);
                    if second {
                        b.store(r.limb(b, i), *sum);
                    }
                    before = high;
                }
                b.mov_imm32(zero, 0);
                b.adcx(before, zero);
                b.adox(before, zero);
                b.mov(carry, before);
            }
        }
    }

    /// The two limbs above a: the last product of the second row, and both carries.
    fn end(&self, b: &mut Builder, r: &Limbs, a: &Limbs) {
        let (w, low, high) = (b.pinned(RDX), b.gpr(), b.gpr());
        b.mov(w, self.w[1]);
        let last = a.before(b, 0);
        b.mulx(high, low, last, w);
        for carry in self.carry {
            b.add(low, carry);
            b.adc_ri(high, 0);
        }
        b.store(r.limb(b, 0), low);
        b.store(r.limb(b, 1), high);
    }
}
