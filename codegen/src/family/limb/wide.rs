//! 32-bit limbs in 64-bit registers: a sum of a product, a limb and a carry is one register, and its high half is the next
//! carry. No flags at all. The register may be a general one or one of MMX.

use super::Limbs;
use super::scale::{Combine, Row, Scale};
use super::square::Squares;
use super::sum::{Summing, Sums};
use crate::ir::typed::{Gpr, Mmx, Place};
use crate::ir::{Builder, VReg};

/// A 64-bit register that holds a whole sum.
pub(super) trait WideRegister: Copy {
    /// A new register.
    fn new(b: &mut Builder) -> Self;
    /// self := the low 32 bits of `from`, zero-extended.
    fn take(self, b: &mut Builder, from: Gpr);
    /// self := the 32-bit limb there, zero-extended.
    fn load(self, b: &mut Builder, limb: Place);
    /// self := self * by, both below 2^32.
    fn multiply(self, b: &mut Builder, by: Self);
    /// self := self + other.
    fn add(self, b: &mut Builder, other: Self);
    /// limb := the low 32 bits of self.
    fn store(self, b: &mut Builder, limb: Place);
    /// self := the high 32 bits of self.
    fn shift(self, b: &mut Builder);
    /// self := other.
    fn copy(self, b: &mut Builder, other: Self);
    /// self := self - other.
    fn subtract(self, b: &mut Builder, other: Self);
    /// self := self xor other.
    fn flip(self, b: &mut Builder, other: Self);
    /// self := the low 32 bits of self.
    fn low(self, b: &mut Builder);
    /// self := the top bit of self.
    fn sign(self, b: &mut Builder);
    /// The value in a general register.
    fn give(self, b: &mut Builder) -> Gpr;
    /// Ends the use of the register file.
    fn leave(b: &mut Builder);
}

impl WideRegister for Gpr {
    fn new(b: &mut Builder) -> Gpr {
        b.gpr()
    }
    fn take(self, b: &mut Builder, from: Gpr) {
        b.mov32(self, from);
    }
    fn load(self, b: &mut Builder, limb: Place) {
        b.load32(self, limb);
    }
    fn multiply(self, b: &mut Builder, by: Gpr) {
        b.imul(self, by);
    }
    fn add(self, b: &mut Builder, other: Gpr) {
        b.add(self, other);
    }
    fn store(self, b: &mut Builder, limb: Place) {
        b.store32(limb, self);
    }
    fn shift(self, b: &mut Builder) {
        b.shr(self, 32);
    }
    fn copy(self, b: &mut Builder, other: Gpr) {
        b.mov(self, other);
    }
    fn subtract(self, b: &mut Builder, other: Gpr) {
        b.sub(self, other);
    }
    fn flip(self, b: &mut Builder, other: Gpr) {
        b.xor(self, other);
    }
    fn low(self, b: &mut Builder) {
        b.mov32(self, self);
    }
    fn sign(self, b: &mut Builder) {
        b.shr(self, 63);
    }
    fn give(self, _: &mut Builder) -> Gpr {
        self
    }
    fn leave(_: &mut Builder) {}
}

impl WideRegister for Mmx {
    fn new(b: &mut Builder) -> Mmx {
        b.mmx()
    }
    fn take(self, b: &mut Builder, from: Gpr) {
        b.movd_in(self, from);
    }
    fn load(self, b: &mut Builder, limb: Place) {
        b.movd_in(self, limb);
    }
    fn multiply(self, b: &mut Builder, by: Mmx) {
        b.pmuludq_mm(self, by);
    }
    fn add(self, b: &mut Builder, other: Mmx) {
        b.paddq_mm(self, other);
    }
    fn store(self, b: &mut Builder, limb: Place) {
        b.movd_store(limb, self);
    }
    fn shift(self, b: &mut Builder) {
        b.psrlq_mm(self, 32);
    }
    fn copy(self, b: &mut Builder, other: Mmx) {
        b.movq_mm(self, other);
    }
    fn subtract(self, b: &mut Builder, other: Mmx) {
        b.psubq_mm(self, other);
    }
    fn flip(self, b: &mut Builder, other: Mmx) {
        b.pxor_mm(self, other);
    }
    fn low(self, b: &mut Builder) {
        b.psllq_mm(self, 32);
        b.psrlq_mm(self, 32);
    }
    fn sign(self, b: &mut Builder) {
        b.psrlq_mm(self, 63);
    }
    fn give(self, b: &mut Builder) -> Gpr {
        let out = b.gpr();
        b.movd_out(out, self);
        out
    }
    fn leave(b: &mut Builder) {
        b.emms();
    }
}

/// A constant below 2^31, or 2^32 - 1.
fn constant<T: WideRegister>(b: &mut Builder, value: i64) -> T {
    let (register, general) = (T::new(b), b.gpr());
    b.mov_imm32(general, value);
    register.take(b, general);
    register
}

/// Rows times a limb.
pub(super) struct Wide<T> {
    w: T,
    carry: T,
    zero: Gpr,
    /// 2^32 - 1, for differences.
    ones: T,
}

impl<T: WideRegister> Scale for Wide<T> {
    type Multiplier = Gpr;
    const BITS: Option<u32> = Some(32);

    fn new(b: &mut Builder) -> Wide<T> {
        let (w, carry, zero) = (T::new(b), T::new(b), b.gpr());
        b.mov_imm32(zero, 0);
        let ones = constant(b, -1);
        Wide { w, carry, zero, ones }
    }

    fn begin(&self, b: &mut Builder, multiplier: Gpr) {
        self.w.take(b, multiplier);
        self.carry.take(b, self.zero);
    }

    fn begin_at(&self, b: &mut Builder, multiplier: Place) {
        self.w.load(b, multiplier);
        self.carry.take(b, self.zero);
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        for i in 0..k {
            let product = T::new(b);
            product.load(b, row.a(b, i));
            product.multiply(b, self.w);
            if combine != Combine::Set {
                let limb = T::new(b);
                limb.load(b, row.r(b, i));
                if combine == Combine::Sub {
                    limb.flip(b, self.ones);
                }
                b.note("a w + r <= B^2 - B, so the carry still fits");
                product.add(b, limb);
            }
            self.carry.add(b, product);
            if combine == Combine::Sub {
                let limb = T::new(b);
                limb.copy(b, self.carry);
                limb.flip(b, self.ones);
                limb.store(b, row.r(b, i));
            } else {
                self.carry.store(b, row.r(b, i));
            }
            self.carry.shift(b);
        }
    }

    fn store_carry(&self, b: &mut Builder, to: Place) {
        self.carry.store(b, to);
    }

    fn store_zero(&self, b: &mut Builder, to: Place) {
        b.store32(to, self.zero);
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb(b, r, more, self.carry);
    }

    fn carry(&self, b: &mut Builder) -> VReg {
        self.carry.give(b).0
    }

    fn leave(&self, b: &mut Builder) {
        T::leave(b);
    }
}

/// The carry through limbs: the high half of each sum.
pub(super) fn absorb<T: WideRegister>(b: &mut Builder, r: &Limbs, more: Gpr, carry: T) {
    b.counted(more, |b| {
        let limb = T::new(b);
        limb.load(b, r.limb(b, 0));
        carry.add(b, limb);
        carry.store(b, r.limb(b, 0));
        carry.shift(b);
        r.advance(b, 1);
    });
}

/// Squares of limbs, added to a number of twice as many limbs.
pub(super) struct WideSquares<T> {
    carry: T,
}

impl<T: WideRegister> Squares for WideSquares<T> {
    fn new(b: &mut Builder) -> WideSquares<T> {
        WideSquares { carry: constant(b, 0) }
    }

    fn group(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for i in 0..k {
            let (square, low, high) = (T::new(b), T::new(b), T::new(b));
            square.load(b, a.limb(b, i));
            square.multiply(b, square);
            low.load(b, r.limb(b, 2 * i));
            b.note("a^2 + r + carry <= (B - 1)^2 + 2 (B - 1) = B^2 - 1");
            square.add(b, low);
            self.carry.add(b, square);
            self.carry.store(b, r.limb(b, 2 * i));
            self.carry.shift(b);
            high.load(b, r.limb(b, 2 * i + 1));
            self.carry.add(b, high);
            self.carry.store(b, r.limb(b, 2 * i + 1));
            self.carry.shift(b);
        }
    }

    fn double(&self, b: &mut Builder, r: &Limbs, a: &Limbs, k: u32) {
        for i in 0..k {
            let square = T::new(b);
            square.load(b, a.limb(b, i));
            square.multiply(b, square);
            for half in [0, 1] {
                let (limb, addend) = (T::new(b), T::new(b));
                limb.load(b, r.limb(b, 2 * i + half));
                limb.add(b, limb);
                addend.copy(b, square);
                if half == 0 {
                    addend.low(b);
                } else {
                    addend.shift(b);
                }
                limb.add(b, addend);
                self.carry.add(b, limb);
                self.carry.store(b, r.limb(b, 2 * i + half));
                self.carry.shift(b);
            }
        }
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb(b, r, more, self.carry);
    }

    fn carry(&self, b: &mut Builder) -> VReg {
        self.carry.give(b).0
    }

    fn leave(&self, b: &mut Builder) {
        T::leave(b);
    }
}

/// Sums and differences: the carry is the high half of a sum, the borrow the sign of a difference.
pub(super) struct WideSum<T> {
    carry: T,
}

impl<T: WideRegister> Sums for WideSum<T> {
    fn new(b: &mut Builder) -> WideSum<T> {
        WideSum { carry: constant(b, 0) }
    }

    fn group(&self, b: &mut Builder, [r, x, y]: &[Limbs; 3], k: u32, summing: Summing) {
        for i in 0..k {
            let (left, right) = (T::new(b), T::new(b));
            left.load(b, x.limb(b, i));
            right.load(b, y.limb(b, i));
            match summing {
                Summing::Plus => {
                    left.add(b, right);
                    left.add(b, self.carry);
                    left.store(b, r.limb(b, i));
                    self.carry.copy(b, left);
                    self.carry.shift(b);
                }
                Summing::Minus => {
                    left.subtract(b, right);
                    left.subtract(b, self.carry);
                    left.store(b, r.limb(b, i));
                    self.carry.copy(b, left);
                    self.carry.sign(b);
                }
            }
        }
    }

    fn carry(&self, b: &mut Builder) -> VReg {
        self.carry.give(b).0
    }

    fn leave(&self, b: &mut Builder) {
        T::leave(b);
    }
}
