//! Rows of 32-bit limbs in xmm registers: products two at a time by `pmuludq`, carries in the general registers.
//!
//! Vectors multiply well and carry badly: a carry that ripples through 64-bit lanes costs a shift, an add and a lane move a
//! limb. So no lane ever holds a sum. With t_i = a_i w < B^2, four limbs of a row are
//!
//! ```text
//! a w = (t_0 + t_2 B^2) + B (t_1 + t_3 B^2)
//! ```
//!
//! The first part is, bit for bit, the vector of the even products. The second is the vector of the odd products moved up by
//! one limb, with the high half of the group's predecessor moved in below. Two numbers of 128 bits that only have to be
//! added: `adc` does that 64 bits, two limbs, at a time, and its chain is as long as half the row.
//!
//! What it costs is the way from one register file to the other, four moves for four limbs; cores start one of them a cycle.

use super::{Row, Strategy};
use crate::ir::typed::{Gpr, Xmm};
use crate::ir::{Builder, VReg};

/// Limbs whose products wait in general registers, two in each, between the chain that sums them and the one that adds r.
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

/// One pass of `a w` with the carry limb in it, not yet added to r.
struct Products {
    /// 64 bits each, the lowest first. The last of an odd number of limbs has the carry limb in its high half.
    words: Vec<Gpr>,
    /// The carry limb, when the number of limbs is even.
    carry: Option<Gpr>,
}

impl Pmuludq {
    /// The two numbers whose sum is `w` times `k` limbs from limb `first` on, in words of 64 bits (the second one also has
    /// what is moved in below, `under`, and gives what is moved out above).
    fn vectors(&self, b: &mut Builder, row: &Row, first: u32, k: u32, under: Option<Xmm>) -> Group {
        let even = b.xmm();
        match k {
            1 => b.movd_in_x(even, row.a(b, first)),
            2 => b.movq_load_x(even, row.a(b, first)),
            _ => b.movdqu_load(even, row.a(b, first)),
        }
        if k == 1 {
            b.pmuludq_x(even, self.w);
            return Group { even, odd: under, over: None };
        }
        let odd = b.xmm();
        b.pshufd(odd, even, ODD);
        b.pmuludq_x(even, self.w);
        b.pmuludq_x(odd, self.w);
        let over = b.xmm();
        b.note("the odd products, one limb up; what leaves the top goes under the next");
        b.movdqa_x(over, odd);
        b.pslldq(odd, 4);
        b.psrldq(over, if k == 2 { 4 } else { 12 });
        if let Some(under) = under {
            b.por_x(odd, under);
        }
        Group { even, odd: Some(odd), over: Some(over) }
    }

    /// Sums the products of one pass: x := a w + carry.
    fn products(&self, b: &mut Builder, row: &Row, first: u32, k: u32) -> Products {
        let mut words = Vec::new();
        let mut under = None;
        let mut at = 0;
        while at < k {
            let size = match k - at {
                1 => 1,
                2 | 3 => 2,
                _ => 4,
            };
            let group = self.vectors(b, row, first + at, size, under);
            for word in 0..size.div_ceil(2) {
                let sum = b.gpr();
                let odd = group.odd.map(|odd| (odd, b.gpr()));
                if word == 1 {
                    b.note("the upper words");
                    b.psrldq(group.even, 8);
                    if let Some((odd, _)) = odd {
                        b.psrldq(odd, 8);
                    }
                }
                b.movq_out_x(sum, group.even);
                if words.is_empty() {
                    b.note("a w <= (B - 1)^2: the carry limb still fits");
                    b.add(sum, self.carry);
                }
                if let Some((odd, other)) = odd {
                    b.movq_out_x(other, odd);
                    if words.is_empty() { b.add(sum, other) } else { b.adc(sum, other) }
                }
                words.push(sum);
            }
            (under, at) = (group.over, at + size);
        }
        let carry = under.map(|over| {
            let carry = b.gpr();
            b.movd_out_x(carry, over);
            b.adc_ri(carry, 0);
            carry
        });
        Products { words, carry }
    }
}

/// The vectors of a few limbs.
struct Group {
    even: Xmm,
    odd: Option<Xmm>,
    over: Option<Xmm>,
}

impl Strategy for Pmuludq {
    type Multiplier = Gpr;

    fn start(b: &mut Builder, multiplier: Gpr) -> Pmuludq {
        let (w, carry) = (b.xmm(), b.gpr());
        b.movd_in_x(w, multiplier);
        b.pshufd(w, w, LOW_TWICE);
        b.mov_imm32(carry, 0);
        Pmuludq { w, carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32) {
        for first in (0..k).step_by(PASS as usize) {
            let size = PASS.min(k - first);
            let Products { words, carry } = self.products(b, row, first, size);
            let last = words.len() as u32 - 1;
            b.note("plus r");
            for (word, sum) in (0..).zip(words) {
                let place = row.r(b, first + 2 * word);
                if word == last && size % 2 == 1 {
                    // One limb of r, and the carry limb above it.
                    let limb = b.gpr();
                    b.load32(limb, place);
                    if word == 0 {
                        b.add(sum, limb)
                    } else {
                        b.adc(sum, limb)
                    }
                    b.store32(place, sum);
                    b.mov(self.carry, sum);
                    b.shr(self.carry, 32);
                } else {
                    if word == 0 {
                        b.add(sum, place)
                    } else {
                        b.adc(sum, place)
                    }
                    b.store(place, sum);
                }
            }
            if let Some(carry) = carry {
                b.adc_ri(carry, 0);
                b.mov(self.carry, carry);
            }
        }
    }

    fn finish(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}
