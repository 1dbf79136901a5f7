//! Whole products by blocks in registers: so many limbs of a against every limb of b, with a running sum of as many limbs
//! that moves up by one limb with each row.
//!
//! A row adds a w and a limb of r, which an earlier block left there, to the sum: the lowest limb of the result is a limb of
//! r for good and is stored, the others become the sum of the next row. With B^k - 1 the most that a and the sum can be,
//! a w + sum + r <= (B^k - 1)(B - 1) + (B^k - 1) + (B - 1) = B^(k+1) - 1, so one limb more is enough.

use super::Limbs;
use super::product::Product;
use super::walk::Cut;
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::{Gpr, Place};
use crate::ir::{Builder, Func, Virtual};
use crate::isa::row::RDX;

/// The running sum of a block.
struct Sum(Vec<Gpr>);

impl Sum {
    fn new(b: &mut Builder, width: u32) -> Sum {
        Sum((0..width).map(|_| b.gpr()).collect())
    }

    fn width(&self) -> u32 {
        self.0.len() as u32
    }

    /// The sum is 0.
    fn clear(&self, b: &mut Builder) {
        self.0.iter().for_each(|limb| b.mov_imm32(*limb, 0));
    }

    /// One row of a block. CF adds the sum to the low halves of the products, OF the high halves; a first row has no sum yet.
    /// `r` is the limb of r that is read, when there is one, and written.
    fn row(&self, b: &mut Builder, a: &Limbs, by: Place, r: Place, first: bool, adds: bool) {
        let w = b.pinned(RDX);
        b.load(w, by);
        let low = b.gpr();
        b.note("both chains start with no carry");
        b.xor32(low, low);
        let mut before: Option<Gpr> = None;
        for j in 0..self.width() {
            // The limb below has been used, so the new one takes its register.
            let to = if j == 0 { low } else { self.0[j as usize - 1] };
            let high = b.gpr();
            b.mulx(high, to, a.limb(b, j), w);
            if !first {
                b.adcx(to, self.0[j as usize]);
            }
            match before {
                Some(before) => b.adox(to, before),
                None if adds => b.adox(to, r),
                None => {}
            }
            if j == 0 {
                b.store(r, to);
            }
            before = Some(high);
        }
        let (top, zero) = (self.0[self.0.len() - 1], b.gpr());
        if let Some(before) = before {
            b.note("the top limb takes both carries");
            b.mov(top, before);
        }
        b.mov_imm32(zero, 0);
        if !first {
            b.adcx(top, zero);
        }
        b.adox(top, zero);
    }

    fn store(&self, b: &mut Builder, r: &Limbs) {
        for (j, limb) in (0..).zip(&self.0) {
            b.store(r.limb(b, j), *limb);
        }
    }
}

/// r := a b by blocks.
pub(super) fn product(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let width = lowering.parameters.block.unwrap_or(WIDTH);
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let product = Product::declare(b, contract, lowering, None, false);
    match lowering.parameters.extent {
        Extent::Exact(limbs) => exact(b, &product, width, limbs),
        Extent::Unrolled(unroll) => {
            let n = product.n;
            b.when_nonzero(n, |b| counted(b, &product, width, unroll));
        }
        Extent::Whole => unreachable!("a product has a count"),
    }
    builder.finish(None, lowering.parameters.exact().map(u64::from))
}

/// Limbs of a block when the spec says nothing: with them, the two high halves in flight, the multiplier, three pointers and a
/// counter, all fifteen registers are in use.
const WIDTH: u32 = 8;

/// Exactly n limbs, every row unrolled.
fn exact(b: &mut Builder, Product { r, a, b: other, .. }: &Product, width: u32, n: u32) {
    let mut from = 0;
    while from < n {
        let sum = Sum::new(b, width.min(n - from));
        let here = Limbs { first: a.first + from, ..*a };
        for i in 0..n {
            let (by, limb) = (other.limb(b, i), r.limb(b, from + i));
            sum.row(b, &here, by, limb, i == 0, from > 0);
        }
        sum.store(b, &Limbs { first: r.first + from + n, ..*r });
        from += sum.width();
    }
}

/// A run-time number of limbs: r is cleared as far as the first block reads it, so that all blocks are alike.
fn counted(b: &mut Builder, Product { r, a, b: other, n, max, .. }: &Product, width: u32, unroll: u32) {
    let (n, max) = (*n, *max);
    let (blocks, rows) = (Cut::kept(b, n, max, width), Cut::kept(b, n, max, unroll));
    let (clear, limbs, zero) = (r.copy(b), b.gpr(), b.gpr());
    b.note("the first block adds to zeros");
    b.mov_imm32(zero, 0);
    b.mov(limbs, n);
    b.counted(limbs, |b| {
        b.store(clear.limb(b, 0), zero);
        clear.advance(b, 1);
    });
    let block = |b: &mut Builder, width: u32| {
        let sum = Sum::new(b, width);
        sum.clear(b);
        let (walker, by) = (r.copy(b), other.copy(b));
        let group = |b: &mut Builder, k: u32| {
            for i in 0..k {
                let (by, limb) = (by.limb(b, i), walker.limb(b, i));
                sum.row(b, a, by, limb, false, true);
            }
            walker.advance(b, k);
            by.advance(b, k);
        };
        rows.walk(b, group, |_| {}, group, |_| {});
        sum.store(b, &walker);
        r.advance(b, width);
        a.advance(b, width);
    };
    blocks.walk(b, block, |_| {}, block, |_| {});
}
