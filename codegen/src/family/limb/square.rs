//! Squares of the limbs of a number, added to a number of twice as many limbs: r := r + sum a_i^2 B^(2i).

use super::scale::{absorb_gpr, absorb_val};
use super::{Limbs, from_flag, to_flag};
use crate::ir::typed::{Gpr, Place, Val};
use crate::ir::{Builder, VReg};
use crate::isa::row::{RAX, RDX};

/// How a strategy computes one group, and what lives between groups: a carry of 0 or 1.
pub(super) trait Squares: Sized {
    /// No carry yet.
    fn new(b: &mut Builder) -> Self;
    /// `k` limbs of a and 2k of r.
    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32);
    /// r := 2 r + squares over `k` limbs of a and 2k of r. A strategy uses this or [`Squares::group`] in one function.
    fn double(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32);
    /// Adds the carry to `more` limbs at r, at least one, one after the other; it is then what goes out of them.
    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr);
    /// The carry, zero-extended, in a register that can be returned.
    fn carry(&self, b: &mut Builder) -> VReg;
    /// Ends the use of the register file.
    fn leave(&self, _: &mut Builder) {}
}

/// Portable: the carry is a value. In doublings it is up to 2: twice a limb, the square's limb and the carry are below
/// 3 B.
pub(super) struct PortableSquares {
    carry: Val,
    zero: Val,
}

impl PortableSquares {
    /// limb := 2 limb + addend + carry, where the carry is at most 2.
    fn twice(&self, b: &mut Builder, limb: Place, addend: Val) {
        let [old, two, first, with, second, sum, third, carries] = [(); 8].map(|()| b.val());
        b.p_load(old, limb);
        b.p_add_carry(two, first, old, old, self.zero);
        b.p_add_carry(with, second, two, addend, self.zero);
        b.p_add_carry(sum, third, with, self.carry, self.zero);
        b.p_store(limb, sum);
        b.p_add(carries, first, second);
        b.p_add(self.carry, carries, third);
    }
}

impl Squares for PortableSquares {
    fn new(b: &mut Builder) -> PortableSquares {
        let (carry, zero) = (b.val(), b.val());
        b.p_constant(carry, 0);
        b.p_constant(zero, 0);
        PortableSquares { carry, zero }
    }

    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for i in 0..k {
            let [limb, hi, lo, low, high, out, last, sum, total] = [(); 9].map(|()| b.val());
            b.p_load(limb, a.limb(b, i));
            b.p_mul_wide(hi, lo, limb, limb);
            b.p_load(low, r.limb(b, 2 * i));
            b.p_add_carry(sum, out, lo, low, self.carry);
            b.p_store(r.limb(b, 2 * i), sum);
            b.p_load(high, r.limb(b, 2 * i + 1));
            b.p_add_carry(total, last, hi, high, out);
            b.p_store(r.limb(b, 2 * i + 1), total);
            b.p_copy(self.carry, last);
        }
    }

    fn double(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for i in 0..k {
            let [limb, hi, lo] = [(); 3].map(|()| b.val());
            b.p_load(limb, a.limb(b, i));
            b.p_mul_wide(hi, lo, limb, limb);
            self.twice(b, r.limb(b, 2 * i), lo);
            self.twice(b, r.limb(b, 2 * i + 1), hi);
        }
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb_val(b, r, more, self.carry, self.zero);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}

fn no_carry(b: &mut Builder) -> Gpr {
    let carry = b.gpr();
    b.mov_imm32(carry, 0);
    carry
}

/// `mul` writes the flags, so the carry goes through a register at each limb.
pub(super) struct MulSquares {
    carry: Gpr,
}

impl Squares for MulSquares {
    fn new(b: &mut Builder) -> MulSquares {
        MulSquares { carry: no_carry(b) }
    }

    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for i in 0..k {
            let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
            b.load(lo, a.limb(b, i));
            b.mul(lo, lo, hi);
            b.note("plus the carry: a^2 + 1 does not overflow two limbs");
            b.add(lo, self.carry);
            b.adc_ri(hi, 0);
            b.mov_imm32(self.carry, 0);
            b.add_mr(r.limb(b, 2 * i), lo);
            b.adc_mr(r.limb(b, 2 * i + 1), hi);
            b.adc_ri(self.carry, 0);
        }
    }

    fn double(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for i in 0..k {
            let (lo, hi, low, high) = (b.pinned(RAX), b.pinned(RDX), b.gpr(), b.gpr());
            b.load(lo, a.limb(b, i));
            b.mul(lo, lo, hi);
            b.note("the square plus the carry, at most 2, fits two limbs");
            b.add(lo, self.carry);
            b.adc_ri(hi, 0);
            b.load(low, r.limb(b, 2 * i));
            b.load(high, r.limb(b, 2 * i + 1));
            b.mov_imm32(self.carry, 0);
            b.note("twice r");
            b.add(low, low);
            b.adc(high, high);
            b.adc_ri(self.carry, 0);
            b.add(low, lo);
            b.store(r.limb(b, 2 * i), low);
            b.adc(high, hi);
            b.store(r.limb(b, 2 * i + 1), high);
            b.adc_ri(self.carry, 0);
        }
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb_gpr(b, r, more, self.carry);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}

/// `mulx` leaves CF alone: one chain over the whole group.
pub(super) struct MulxSquares {
    carry: Gpr,
}

impl Squares for MulxSquares {
    fn new(b: &mut Builder) -> MulxSquares {
        MulxSquares { carry: no_carry(b) }
    }

    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        to_flag(b, self.carry);
        for i in 0..k {
            let (limb, lo, hi) = (b.pinned(RDX), b.gpr(), b.gpr());
            b.load(limb, a.limb(b, i));
            b.mulx(hi, lo, limb, limb);
            b.adc(lo, r.limb(b, 2 * i));
            b.store(r.limb(b, 2 * i), lo);
            b.adc(hi, r.limb(b, 2 * i + 1));
            b.store(r.limb(b, 2 * i + 1), hi);
        }
        from_flag(b, self.carry);
    }

    fn double(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        // One chain for the doubling and one for the squares, each with a carry limb of its own between passes.
        for first in (0..k).step_by(PASS as usize) {
            let pass = first..k.min(first + PASS);
            let mut squares = Vec::new();
            for i in pass.clone() {
                let (limb, lo, hi) = (b.pinned(RDX), b.gpr(), b.gpr());
                b.load(limb, a.limb(b, i));
                b.mulx(hi, lo, limb, limb);
                squares.push((i, lo, hi));
            }
            b.note("the squares plus the carry, at most 2");
            for (at, (_, lo, hi)) in squares.iter().enumerate() {
                if at == 0 {
                    b.add(*lo, self.carry);
                } else {
                    b.adc_ri(*lo, 0);
                }
                b.adc_ri(*hi, 0);
            }
            b.mov_imm32(self.carry, 0);
            b.note("plus r, once and again");
            for _ in 0..2 {
                for (at, (i, lo, hi)) in squares.iter().enumerate() {
                    if at == 0 {
                        b.add(*lo, r.limb(b, 2 * i));
                    } else {
                        b.adc(*lo, r.limb(b, 2 * i));
                    }
                    b.adc(*hi, r.limb(b, 2 * i + 1));
                }
                b.adc_ri(self.carry, 0);
            }
            for (i, lo, hi) in squares {
                b.store(r.limb(b, 2 * i), lo);
                b.store(r.limb(b, 2 * i + 1), hi);
            }
        }
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb_gpr(b, r, more, self.carry);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}

/// Squares that wait in registers between the passes of the single carry chain.
const PASS: u32 = 4;

/// Two carry chains side by side: CF doubles r, OF adds the squares. Only doublings use it.
pub(super) struct MulxAdxSquares {
    carry: Gpr,
}

impl Squares for MulxAdxSquares {
    fn new(b: &mut Builder) -> MulxAdxSquares {
        MulxAdxSquares { carry: no_carry(b) }
    }

    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        MulxSquares { carry: self.carry }.group(b, r, a, k);
    }

    fn double(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        let zero = b.gpr();
        b.note("both chains start with no carry");
        b.xor32(zero, zero);
        for i in 0..k {
            let (limb, lo, hi, low, high) = (b.pinned(RDX), b.gpr(), b.gpr(), b.gpr(), b.gpr());
            b.load(limb, a.limb(b, i));
            b.mulx(hi, lo, limb, limb);
            b.load(low, r.limb(b, 2 * i));
            b.adcx(low, low);
            if i == 0 {
                b.note("the carry of the limbs before, at most 2, and the square fit two limbs");
                b.adox(lo, self.carry);
                b.mov_imm32(self.carry, 0);
                b.adox(hi, self.carry);
            }
            b.adox(low, lo);
            b.store(r.limb(b, 2 * i), low);
            b.load(high, r.limb(b, 2 * i + 1));
            b.adcx(high, high);
            b.adox(high, hi);
            b.store(r.limb(b, 2 * i + 1), high);
        }
        b.note("both carries into the carry limb");
        let zero = b.gpr();
        b.mov_imm32(zero, 0);
        b.adcx(self.carry, zero);
        b.adox(self.carry, zero);
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb_gpr(b, r, more, self.carry);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}
