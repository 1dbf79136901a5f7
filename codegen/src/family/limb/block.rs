//! Whole products by blocks in registers: so many limbs of a against every limb of b, with a running sum of as many limbs
//! that moves up by one limb with each row.
//!
//! A row adds a w and a limb of r, which an earlier block left there, to the sum: the lowest limb of the result is a limb of
//! r for good and is stored, the others become the sum of the next row. With B^k - 1 the most that a and the sum can be,
//! a w + sum + r <= (B^k - 1)(B - 1) + (B^k - 1) + (B - 1) = B^(k+1) - 1, so one limb more is enough.

use super::product::Product;
use super::{Limbs, karatsuba};
use crate::family::walk::Cut;
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::{Gpr, Place};
use crate::ir::{Builder, Func, SubId, Virtual};
use crate::isa::row::{PReg, RAX, RBP, RBX, RCX, RDI, RDX, RSI};

/// The running sum of a block, lowest limb first, and the registers that its rows work with.
pub(super) struct Sum {
    pub limbs: Vec<Gpr>,
    pub work: Work,
}

/// The registers of a row: the multiplier, the halves of a product and 0.
#[derive(Clone, Copy)]
pub(super) struct Work {
    w: Gpr,
    high: Gpr,
    low: Gpr,
    zero: Gpr,
}

impl Work {
    pub fn new(b: &mut Builder) -> Work {
        Work { w: b.pinned(RDX), high: b.gpr(), low: b.gpr(), zero: b.gpr() }
    }

    /// All of them pinned, for private subroutines; the sum then has r8 to r15, and rdi, rsi and rcx point.
    pub fn pinned(b: &mut Builder) -> Work {
        Work { w: b.pinned(RDX), high: b.pinned(RBX), low: b.pinned(RBP), zero: b.pinned(RAX) }
    }
}

/// A product of a fixed number of limbs as a private subroutine, for a function that needs it more than once: one copy stays in
/// the cache of decoded instructions where three would not.
pub(super) struct Body {
    sub: SubId,
    /// Where it takes r, a and b.
    pointers: [Gpr; 3],
}

/// The pointers of a private subroutine, and the limbs of its sum.
pub(super) fn pinned(b: &mut Builder) -> ([Gpr; 3], Vec<Gpr>) {
    let pointers = [RDI, RSI, RCX].map(|reg| b.pinned(reg));
    (pointers, (8..16).map(|number| b.pinned(PReg::gpr(number))).collect())
}

impl Body {
    /// The subroutine for n limbs; `like` is any of the arguments.
    pub fn new(b: &mut Builder, like: &Limbs, n: u32) -> Body {
        let (pointers, limbs) = pinned(b);
        let work = Work::pinned(b);
        let sub = b.subroutine(|b| {
            let [r, x, y] = pointers.map(|at| like.pointed(at));
            unrolled_with(b, [&r, &x, &y], n, n, &limbs, work);
        });
        Body { sub, pointers }
    }

    /// r := a b.
    pub fn call(&self, b: &mut Builder, limbs: [&Limbs; 3]) {
        for (limbs, pointer) in limbs.iter().zip(self.pointers) {
            limbs.address(b, pointer);
        }
        b.call(self.sub);
    }
}

impl Sum {
    pub fn new(b: &mut Builder, width: u32) -> Sum {
        Sum { limbs: (0..width).map(|_| b.gpr()).collect(), work: Work::new(b) }
    }

    fn width(&self) -> u32 {
        self.limbs.len() as u32
    }

    /// The sum is 0.
    pub fn clear(&self, b: &mut Builder) {
        self.limbs.iter().for_each(|limb| b.mov_imm32(*limb, 0));
    }

    /// The first row of all: the sum was 0 before it, and there is nothing in r.
    fn first_row(&self, b: &mut Builder, a: &Limbs, by: Place, r: Place) {
        let Work { w, low, zero, .. } = self.work;
        b.load(w, by);
        b.note("no carry yet");
        b.xor32(zero, zero);
        for j in 0..self.width() {
            let high = self.limbs[j as usize];
            b.mulx(high, low, a.limb(b, j), w);
            if j == 0 {
                b.store(r, low);
            } else {
                b.adcx(self.limbs[j as usize - 1], low);
            }
        }
        b.adcx(self.limbs[self.limbs.len() - 1], zero);
    }

    /// One row: CF adds the low halves of the products, OF the high halves and, if `adds`, the limb of r. The lowest limb of
    /// the sum goes to r, and the register that it was in becomes the highest: the sum is renamed, not moved.
    pub fn rotating_row(&mut self, b: &mut Builder, a: &Limbs, by: Place, r: Place, adds: bool) {
        b.load(self.work.w, by);
        self.turn(b, a, Some((r, adds)));
    }

    /// One row of a reduction by the modulus at m, whose lowest limb has the negated inverse n0: the multiple of m that makes the
    /// lowest limb 0 is added, and that limb dropped. The multiplier goes to q, if a later row needs it.
    pub fn reducing_row(&mut self, b: &mut Builder, m: &Limbs, n0: Place, q: Option<Place>) {
        let w = self.work.w;
        b.note("the multiple of m that makes the lowest limb 0");
        b.mov(w, self.limbs[0]);
        b.imul(w, n0);
        if let Some(q) = q {
            b.store(q, w);
        }
        self.turn(b, m, None);
    }

    /// A row by the multiplier in w; what leaves the sum goes to a limb of r, added to it or over it, or nowhere.
    fn turn(&mut self, b: &mut Builder, a: &Limbs, r: Option<(Place, bool)>) {
        let Work { w, high, low, zero } = self.work;
        b.note("both chains start with no carry");
        b.xor32(zero, zero);
        let lowest = self.limbs[0];
        for j in 0..self.width() {
            let last = j + 1 == self.width();
            // A sum of one limb is still needed when its product comes.
            let high = if last && j > 0 { lowest } else { high };
            b.mulx(high, low, a.limb(b, j), w);
            b.adcx(self.limbs[j as usize], low);
            if let (0, Some((r, adds))) = (j, r) {
                if adds {
                    b.adox(lowest, r);
                }
                b.store(r, lowest);
            }
            if last {
                b.note("the top limb takes both carries");
                b.adox(high, zero);
                b.adcx(high, zero);
                if j == 0 {
                    b.mov(lowest, high);
                }
            } else {
                b.adox(self.limbs[j as usize + 1], high);
            }
        }
        self.limbs.rotate_left(1);
    }

    /// As [`Sum::rotating_row`], with every limb of the sum in its place afterwards: for loops of any number of rows. The
    /// limb below has been used when a product is added, so the new one takes its register.
    fn shifting_row(&self, b: &mut Builder, a: &Limbs, by: Place, r: Place) {
        let (w, low) = (b.pinned(RDX), b.gpr());
        b.load(w, by);
        b.note("both chains start with no carry");
        b.xor32(low, low);
        let mut before: Option<Gpr> = None;
        for j in 0..self.width() {
            let to = if j == 0 { low } else { self.limbs[j as usize - 1] };
            let high = b.gpr();
            b.mulx(high, to, a.limb(b, j), w);
            b.adcx(to, self.limbs[j as usize]);
            match before {
                Some(before) => b.adox(to, before),
                None => {
                    b.adox(to, r);
                    b.store(r, to);
                }
            }
            before = Some(high);
        }
        let (top, zero) = (self.limbs[self.limbs.len() - 1], b.gpr());
        if let Some(before) = before {
            b.note("the top limb takes both carries");
            b.mov(top, before);
        }
        b.mov_imm32(zero, 0);
        b.adcx(top, zero);
        b.adox(top, zero);
    }

    pub fn store(&self, b: &mut Builder, r: &Limbs) {
        for (j, limb) in (0..).zip(&self.limbs) {
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
        Extent::Exact(limbs) => {
            let Product { r, a, b: other, t, .. } = &product;
            let split = lowering.parameters.split;
            karatsuba::product(b, [r, a, other, t], limbs, split, &mut leaf(width, split));
        }
        Extent::Unrolled(unroll) => {
            let n = product.n;
            b.when_nonzero(n, |b| counted(b, &product, width, unroll));
        }
        Extent::Whole | Extent::Blocks(_) => unreachable!("a product has a count"),
    }
    builder.finish(None, lowering.parameters.exact().map(u64::from))
}

/// Limbs of a block when the spec says nothing: with them, the two high halves in flight, the multiplier, three pointers and a
/// counter, all fifteen registers are in use.
const WIDTH: u32 = 8;

/// How products of a fixed number of limbs are made: a single one in its place, more than one by a subroutine if the blocks have the
/// registers of one.
pub(super) fn leaf(width: u32, split: u32) -> impl FnMut(&mut Builder, [&Limbs; 3], u32) {
    let mut body: Option<(u32, Body)> = None;
    move |b, limbs, n| {
        if split == 0 || width != WIDTH {
            return unrolled(b, limbs, n, n, width);
        }
        let (size, body) = body.get_or_insert_with(|| (n, Body::new(b, limbs[0], n)));
        assert_eq!(*size, n, "all are halved equally often");
        body.call(b, limbs);
    }
}

/// r := a b for `columns` limbs of a and `rows` limbs of b, every row unrolled.
pub(super) fn unrolled(b: &mut Builder, arguments: [&Limbs; 3], columns: u32, rows: u32, width: u32) {
    let sum = Sum::new(b, width);
    unrolled_with(b, arguments, columns, rows, &sum.limbs, sum.work);
}

/// As [`unrolled`], in these registers: as many columns in a block as there are of them.
fn unrolled_with(b: &mut Builder, [r, a, other]: [&Limbs; 3], columns: u32, rows: u32, registers: &[Gpr], work: Work) {
    let mut from = 0;
    while from < columns {
        let width = registers.len().min((columns - from) as usize);
        let mut sum = Sum { limbs: registers[..width].to_vec(), work };
        let here = a.at_limb(from);
        for i in 0..rows {
            let (by, limb) = (other.limb(b, i), r.limb(b, from + i));
            if from == 0 && i == 0 {
                sum.first_row(b, &here, by, limb);
                continue;
            }
            if i == 0 {
                sum.clear(b);
            }
            sum.rotating_row(b, &here, by, limb, from > 0);
        }
        sum.store(b, &r.at_limb(from + rows));
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
            // As many rows as the sum has limbs, or twice as many, bring every limb back to its place.
            let mut turning = Sum { limbs: sum.limbs.clone(), work: sum.work };
            for i in 0..k {
                let (by, limb) = (by.limb(b, i), walker.limb(b, i));
                if k.is_multiple_of(width) && width > 1 {
                    turning.rotating_row(b, a, by, limb, true);
                } else {
                    sum.shifting_row(b, a, by, limb);
                }
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
