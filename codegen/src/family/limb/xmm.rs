//! Rows of 32-bit limbs in xmm registers: products two at a time by `pmuludq`, sums in the general registers.
//!
//! Vectors multiply well and carry badly: a carry that ripples through lanes costs a shift, an add and a lane move for each
//! limb. So no lane ever holds a sum. With t_i = a_i w < B^2, four limbs of a row are
//!
//! ```text
//! a w = (t_0 + t_2 B^2) + B (t_1 + t_3 B^2)
//! ```
//!
//! The first part is, bit for bit, the vector of the even products. The second is the vector of the odd products moved up by
//! one limb, with the high half of the t_3 before below it. Those two numbers and r are to be added, and `adc` adds two limbs
//! at a time: two chains of one link each, where a sum that walks from limb to limb has four (an add and a shift each).
//!
//! The price is the way from the vector registers to the general ones, which cores go once or twice a cycle. The odd products
//! take it. The even ones go by way of r where r is read anyway: the first chain takes r and the odd products; the even
//! products are stored over r in one piece; the second chain reads them back in two. (Other ways were slower on Zen 3: all
//! products by `movq`; r added to the even products as a vector, which must wait when r was stored just before.)

use super::scale::{Combine, Row, Scale};
use super::{Limbs, wide};
use crate::ir::typed::{Gpr, GprOrMem, Place, Xmm};
use crate::ir::{Builder, VReg};

/// Limbs in one pass, in which both chains run: their sums wait in general registers, two limbs in each.
const PASS: u32 = 16;

/// `pshufd`: lanes 1, 1, 3, 3, which puts the odd limbs where `pmuludq` reads.
const ODD: i32 = 0b11_11_01_01;
/// `pshufd`: lanes 0, 1, 0, 1.
const LOW_TWICE: i32 = 0b01_00_01_00;

/// 32-bit limbs, four to an xmm register.
pub(super) struct Pmuludq {
    /// w in the low half of both lanes.
    w: Xmm,
    carry: Gpr,
}

/// The products of four limbs, two, or the odd last one.
struct Products {
    /// Index of the first limb.
    first: u32,
    /// How many limbs.
    size: u32,
    /// t_0 and t_2: a number in the limbs' place.
    even: Xmm,
    /// t_1 and t_3 one limb higher, and below them what the products before left: a number in the limbs' place. A single
    /// limb has only what the products before left.
    odd: Option<Xmm>,
    /// The high half of the last odd product, which belongs below the next.
    over: Option<Xmm>,
}

impl Pmuludq {
    /// The products of limbs from `first` on, at most `left`. `under` is what the products before left.
    fn products(&self, b: &mut Builder, row: &Row, first: u32, left: u32, under: Option<Xmm>) -> Products {
        let even = b.xmm();
        let (size, top) = match left {
            1 => {
                b.movd_in_x(even, row.a(b, first));
                b.pmuludq_x(even, self.w);
                return Products { first, size: 1, even, odd: under, over: None };
            }
            2 | 3 => {
                b.movq_load_x(even, row.a(b, first));
                (2, 4)
            }
            _ => {
                b.movdqu_load(even, row.a(b, first));
                (4, 12)
            }
        };
        let (odd, over) = (b.xmm(), b.xmm());
        b.pshufd(odd, even, ODD);
        b.note("even and odd products");
        b.pmuludq_x(even, self.w);
        b.pmuludq_x(odd, self.w);
        b.note("the odd ones one limb up; what leaves at the top goes below the next");
        b.movdqa_x(over, odd);
        b.pslldq(odd, 4);
        b.psrldq(over, top);
        if let Some(under) = under {
            b.por_x(odd, under);
        }
        Products { first, size, even, odd: Some(odd), over: Some(over) }
    }

    /// One pass of at most [`PASS`] limbs.
    fn pass(&self, b: &mut Builder, row: &Row, first: u32, k: u32, combine: Combine) {
        let mut chain = Chain { open: false, combine };
        let mut all = Vec::new();
        let mut sums = Vec::new();
        let (mut at, mut under) = (first, None);
        while at < first + k {
            let products = self.products(b, row, at, first + k - at, under);
            sums.extend(self.odd(b, row, first, &products, &mut chain));
            (at, under) = (at + products.size, products.over);
            all.push(products);
        }
        // The carry limb of the pass: what is left at the top, and the carries of both chains.
        let top = under.map(|over| {
            let top = b.gpr();
            b.movd_out_x(top, over);
            if combine != Combine::Set {
                b.adc_ri(top, 0);
            }
            top
        });
        let mut chain = Chain { open: false, combine };
        let mut sums = sums.into_iter();
        for products in &all {
            self.even(b, row, products, &mut sums, &mut chain);
        }
        if let Some(top) = top {
            b.adc_ri(top, 0);
            b.mov(self.carry, top);
        }
    }

    /// The first chain: r with the odd products and the carry limb, in one or two words of 64 bits. Without r there is nothing
    /// to add to them.
    fn odd(&self, b: &mut Builder, row: &Row, start: u32, products: &Products, chain: &mut Chain) -> Vec<Gpr> {
        let Products { first, size, odd, .. } = *products;
        if size == 1 {
            let below = match odd {
                Some(under) => {
                    let limb = b.gpr();
                    b.movd_out_x(limb, under);
                    limb
                }
                None => self.carry,
            };
            let sum = b.gpr();
            if chain.combine == Combine::Set {
                b.mov(sum, below);
            } else {
                b.load32(sum, row.r(b, first));
                chain.add(b, sum, below);
            }
            return vec![sum];
        }
        let odd = odd.expect("two limbs have an odd product");
        let words = (0..size / 2).map(|word| {
            let (product, place) = (b.gpr(), row.r(b, first + 2 * word));
            if word == 1 {
                b.psrldq(odd, 8);
            }
            b.movq_out_x(product, odd);
            if first + word == start {
                b.note("nothing is below the first odd product yet: the carry limb fits");
                b.add(product, self.carry);
            }
            match chain.combine {
                Combine::Set => product,
                Combine::Add => {
                    chain.add(b, product, place);
                    product
                }
                Combine::Sub => {
                    let sum = b.gpr();
                    b.load(sum, place);
                    chain.add(b, sum, product);
                    sum
                }
            }
        });
        words.collect()
    }

    /// The second chain: the sums with the even products, and these to r.
    fn even(
        &self,
        b: &mut Builder,
        row: &Row,
        products: &Products,
        sums: &mut impl Iterator<Item = Gpr>,
        chain: &mut Chain,
    ) {
        let Products { first, size, even, .. } = *products;
        match size {
            1 => {
                let (sum, product) = (sums.next().expect("a sum for a limb"), b.gpr());
                b.movq_out_x(product, even);
                chain.add(b, sum, product);
                b.store32(row.r(b, first), sum);
                b.note("the carry limb stands above the last limb");
                b.shr(sum, 32);
                if chain.combine == Combine::Sub {
                    // Above a difference that is -x stands B minus the borrow limb, or 0.
                    b.neg(sum);
                }
                b.mov32(self.carry, sum);
                return;
            }
            _ if chain.combine == Combine::Set => {}
            2 => b.movq_store_x(row.r(b, first), even),
            _ => b.movdqu_store(row.r(b, first), even),
        }
        for (word, sum) in (0..size / 2).zip(sums) {
            let place = row.r(b, first + 2 * word);
            if chain.combine == Combine::Set {
                // r is not to be read.
                let product = b.gpr();
                if word == 1 {
                    b.psrldq(even, 8);
                }
                b.movq_out_x(product, even);
                chain.add(b, sum, product);
            } else {
                chain.add(b, sum, place);
            }
            b.store(place, sum);
        }
    }
}

/// A carry chain of a sum or a difference: `add` or `sub` opens it, `adc` or `sbb` goes on.
struct Chain {
    open: bool,
    combine: Combine,
}

impl Chain {
    fn add(&mut self, b: &mut Builder, sum: Gpr, addend: impl Into<GprOrMem>) {
        match (self.combine, self.open) {
            (Combine::Set | Combine::Add, false) => b.add(sum, addend),
            (Combine::Set | Combine::Add, true) => b.adc(sum, addend),
            (Combine::Sub, false) => b.sub(sum, addend),
            (Combine::Sub, true) => b.sbb(sum, addend),
        }
        self.open = true;
    }
}

impl Scale for Pmuludq {
    type Multiplier = Gpr;
    const BITS: Option<u32> = Some(32);

    fn new(b: &mut Builder) -> Pmuludq {
        Pmuludq { w: b.xmm(), carry: b.gpr() }
    }

    fn begin(&self, b: &mut Builder, multiplier: Gpr) {
        b.movd_in_x(self.w, multiplier);
        b.pshufd(self.w, self.w, LOW_TWICE);
        b.mov_imm32(self.carry, 0);
    }

    fn begin_at(&self, b: &mut Builder, multiplier: Place) {
        b.movd_in_x(self.w, multiplier);
        b.pshufd(self.w, self.w, LOW_TWICE);
        b.mov_imm32(self.carry, 0);
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        for first in (0..k).step_by(PASS as usize) {
            self.pass(b, row, first, PASS.min(k - first), combine);
        }
    }

    fn store_carry(&self, b: &mut Builder, to: Place) {
        b.store32(to, self.carry);
    }

    fn store_zero(&self, b: &mut Builder, to: Place) {
        let zero = b.gpr();
        b.mov_imm32(zero, 0);
        b.store32(to, zero);
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        wide::absorb(b, r, more, self.carry);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}
