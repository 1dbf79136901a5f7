//! Arithmetic on single limbs, as divisions need it: each strategy implements it once. No branch, no flag that outlives a
//! method.

use crate::family::{Contract, Lowering};
use crate::ir::typed::{Gpr, Place, Val};
use crate::ir::{Builder, VReg};
use crate::isa::row::{RAX, RDX};

/// The registers and instructions of a strategy. Values are below B = 2^bits.
pub(super) trait Words {
    /// A limb.
    type Word: Copy;
    /// The limb that is the argument at `index`, as it arrives: used through [`Words::arrived`] alone.
    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Self::Word;
    /// An argument as a value below B: the upper half of a narrow one is garbage at entry.
    fn arrived(_: &mut Builder, x: Self::Word) -> Self::Word {
        x
    }
    /// A constant.
    fn constant(b: &mut Builder, value: u64) -> Self::Word;
    /// x + y mod B.
    fn add(b: &mut Builder, x: Self::Word, y: Self::Word) -> Self::Word;
    /// x - y mod B.
    fn subtract(b: &mut Builder, x: Self::Word, y: Self::Word) -> Self::Word;
    /// x and y.
    fn and(b: &mut Builder, x: Self::Word, y: Self::Word) -> Self::Word;
    /// B - 1 if x < y, else 0.
    fn below(b: &mut Builder, x: Self::Word, y: Self::Word) -> Self::Word;
    /// x y mod B.
    fn low_product(b: &mut Builder, x: Self::Word, y: Self::Word) -> Self::Word;
    /// The high and the low limb of x y.
    fn product(b: &mut Builder, x: Self::Word, y: Self::Word) -> [Self::Word; 2];
    /// x + y of two limbs each, high limb first, mod B^2.
    fn add_double(b: &mut Builder, x: [Self::Word; 2], y: [Self::Word; 2]) -> [Self::Word; 2];
    /// The quotient and the remainder of hi B + lo by d > hi, all public: the time depends on them.
    fn divide(b: &mut Builder, hi: Self::Word, lo: Self::Word, d: Self::Word) -> [Self::Word; 2];
    /// x if the mask is B - 1, y if it is 0.
    fn select(b: &mut Builder, mask: Self::Word, x: Self::Word, y: Self::Word) -> Self::Word;
    /// Loads a limb.
    fn load(b: &mut Builder, from: Place) -> Self::Word;
    /// Stores a limb.
    fn store(b: &mut Builder, to: Place, x: Self::Word);
    /// What such a register holds.
    fn held(register: VReg) -> Self::Word;
    /// The register that is returned.
    fn returned(x: Self::Word) -> VReg;
}

/// Portable values.
pub(super) struct Portable;

impl Portable {
    fn binary(b: &mut Builder, operation: impl FnOnce(&mut Builder, Val)) -> Val {
        let out = b.val();
        operation(b, out);
        out
    }
}

impl Words for Portable {
    type Word = Val;

    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Val {
        lowering.declare_val(b, contract, index)
    }
    fn constant(b: &mut Builder, value: u64) -> Val {
        Self::binary(b, |b, out| b.p_constant(out, value as i64))
    }
    fn add(b: &mut Builder, x: Val, y: Val) -> Val {
        Self::binary(b, |b, out| b.p_wrap_add(out, x, y))
    }
    fn subtract(b: &mut Builder, x: Val, y: Val) -> Val {
        Self::binary(b, |b, out| b.p_wrap_sub(out, x, y))
    }
    fn and(b: &mut Builder, x: Val, y: Val) -> Val {
        Self::binary(b, |b, out| b.p_and(out, x, y))
    }
    fn below(b: &mut Builder, x: Val, y: Val) -> Val {
        let [difference, borrow] = [(); 2].map(|()| b.val());
        let zero = Self::constant(b, 0);
        b.p_sub_borrow(difference, borrow, x, y, zero);
        Self::subtract(b, zero, borrow)
    }
    fn low_product(b: &mut Builder, x: Val, y: Val) -> Val {
        Self::binary(b, |b, out| b.p_mul_low(out, x, y))
    }
    fn product(b: &mut Builder, x: Val, y: Val) -> [Val; 2] {
        let [hi, lo] = [(); 2].map(|()| b.val());
        b.p_mul_wide(hi, lo, x, y);
        [hi, lo]
    }
    fn add_double(b: &mut Builder, x: [Val; 2], y: [Val; 2]) -> [Val; 2] {
        let [lo, carry, hi, lost] = [(); 4].map(|()| b.val());
        let zero = Self::constant(b, 0);
        b.p_add_carry(lo, carry, x[1], y[1], zero);
        b.p_add_carry(hi, lost, x[0], y[0], carry);
        [hi, lo]
    }
    fn divide(b: &mut Builder, hi: Val, lo: Val, d: Val) -> [Val; 2] {
        let [quotient, remainder] = [(); 2].map(|()| b.val());
        b.p_div_wide(quotient, remainder, hi, lo, d);
        [quotient, remainder]
    }
    fn select(b: &mut Builder, mask: Val, x: Val, y: Val) -> Val {
        let different = Self::binary(b, |b, out| b.p_xor(out, x, y));
        let wanted = Self::and(b, different, mask);
        Self::binary(b, |b, out| b.p_xor(out, y, wanted))
    }
    fn load(b: &mut Builder, from: Place) -> Val {
        Self::binary(b, |b, out| b.p_load(out, from))
    }
    fn store(b: &mut Builder, to: Place, x: Val) {
        b.p_store(to, x);
    }
    fn held(register: VReg) -> Val {
        Val(register)
    }
    fn returned(x: Val) -> VReg {
        x.0
    }
}

/// 64-bit limbs in general registers.
trait Wide {
    fn product(b: &mut Builder, x: Gpr, y: Gpr) -> [Gpr; 2];
}

/// `mul`.
pub(super) struct Mul;
/// `mulx`.
pub(super) struct Mulx;

impl Wide for Mul {
    fn product(b: &mut Builder, x: Gpr, y: Gpr) -> [Gpr; 2] {
        let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
        b.mov(lo, x);
        b.mul(y, lo, hi);
        let [high, low] = [copy(b, hi), copy(b, lo)];
        [high, low]
    }
}

impl Wide for Mulx {
    fn product(b: &mut Builder, x: Gpr, y: Gpr) -> [Gpr; 2] {
        let (hi, lo, by) = (b.gpr(), b.gpr(), b.pinned(RDX));
        b.mov(by, x);
        b.mulx(hi, lo, y, by);
        [hi, lo]
    }
}

fn copy(b: &mut Builder, x: Gpr) -> Gpr {
    let out = b.gpr();
    b.mov(out, x);
    out
}

/// out := x, then `operation` on it.
fn on_copy(b: &mut Builder, x: Gpr, operation: impl FnOnce(&mut Builder, Gpr)) -> Gpr {
    let out = copy(b, x);
    operation(b, out);
    out
}

/// x if the mask is all ones, y if it is 0.
fn select(b: &mut Builder, mask: Gpr, x: Gpr, y: Gpr) -> Gpr {
    on_copy(b, x, |b, out| {
        b.xor(out, y);
        b.and(out, mask);
        b.xor(out, y);
    })
}

/// -1 if CF, else 0.
fn carry_mask(b: &mut Builder) -> Gpr {
    let mask = b.gpr();
    b.mov_imm32(mask, 0);
    b.sbb_ri(mask, 0);
    mask
}

impl<W: Wide> Words for W {
    type Word = Gpr;

    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Gpr {
        lowering.declare(b, contract, index, 0)
    }
    fn constant(b: &mut Builder, value: u64) -> Gpr {
        let out = b.gpr();
        b.mov_imm(out, value as i64);
        out
    }
    fn add(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        on_copy(b, x, |b, out| b.add(out, y))
    }
    fn subtract(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        on_copy(b, x, |b, out| b.sub(out, y))
    }
    fn and(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        on_copy(b, x, |b, out| b.and(out, y))
    }
    fn below(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        b.cmp(x, y);
        carry_mask(b)
    }
    fn low_product(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        on_copy(b, x, |b, out| b.imul(out, y))
    }
    fn product(b: &mut Builder, x: Gpr, y: Gpr) -> [Gpr; 2] {
        W::product(b, x, y)
    }
    fn add_double(b: &mut Builder, x: [Gpr; 2], y: [Gpr; 2]) -> [Gpr; 2] {
        let [hi, lo] = [copy(b, x[0]), copy(b, x[1])];
        b.add(lo, y[1]);
        b.adc(hi, y[0]);
        [hi, lo]
    }
    fn divide(b: &mut Builder, hi: Gpr, lo: Gpr, d: Gpr) -> [Gpr; 2] {
        let (rax, rdx) = (b.pinned(RAX), b.pinned(RDX));
        let d = copy(b, d);
        b.mov(rax, lo);
        b.mov(rdx, hi);
        b.div(d, rax, rdx);
        [copy(b, rax), copy(b, rdx)]
    }
    fn select(b: &mut Builder, mask: Gpr, x: Gpr, y: Gpr) -> Gpr {
        select(b, mask, x, y)
    }
    fn load(b: &mut Builder, from: Place) -> Gpr {
        let out = b.gpr();
        b.load(out, from);
        out
    }
    fn store(b: &mut Builder, to: Place, x: Gpr) {
        b.store(to, x);
    }
    fn held(register: VReg) -> Gpr {
        Gpr(register)
    }
    fn returned(x: Gpr) -> VReg {
        x.0
    }
}

/// 32-bit limbs, zero-extended in general registers: a double limb is one register.
pub(super) struct Narrow;

/// The low 32 bits.
fn cut(b: &mut Builder, x: Gpr) -> Gpr {
    let out = b.gpr();
    b.mov32(out, x);
    out
}

fn join(b: &mut Builder, [hi, lo]: [Gpr; 2]) -> Gpr {
    on_copy(b, hi, |b, out| {
        b.shl(out, 32);
        b.or(out, lo);
    })
}

fn split(b: &mut Builder, double: Gpr) -> [Gpr; 2] {
    let lo = cut(b, double);
    let hi = on_copy(b, double, |b, out| b.shr(out, 32));
    [hi, lo]
}

impl Words for Narrow {
    type Word = Gpr;

    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Gpr {
        lowering.declare(b, contract, index, 0)
    }
    fn arrived(b: &mut Builder, x: Gpr) -> Gpr {
        cut(b, x)
    }
    fn constant(b: &mut Builder, value: u64) -> Gpr {
        let out = b.gpr();
        b.mov_imm(out, value as i64);
        out
    }
    fn add(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        let sum = on_copy(b, x, |b, out| b.add(out, y));
        cut(b, sum)
    }
    fn subtract(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        let difference = on_copy(b, x, |b, out| b.sub(out, y));
        cut(b, difference)
    }
    fn and(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        on_copy(b, x, |b, out| b.and(out, y))
    }
    fn below(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        b.cmp(x, y);
        let mask = carry_mask(b);
        cut(b, mask)
    }
    fn low_product(b: &mut Builder, x: Gpr, y: Gpr) -> Gpr {
        let product = on_copy(b, x, |b, out| b.imul(out, y));
        cut(b, product)
    }
    fn product(b: &mut Builder, x: Gpr, y: Gpr) -> [Gpr; 2] {
        let product = on_copy(b, x, |b, out| b.imul(out, y));
        split(b, product)
    }
    fn add_double(b: &mut Builder, x: [Gpr; 2], y: [Gpr; 2]) -> [Gpr; 2] {
        let (x, y) = (join(b, x), join(b, y));
        let sum = on_copy(b, x, |b, out| b.add(out, y));
        split(b, sum)
    }
    fn divide(b: &mut Builder, hi: Gpr, lo: Gpr, d: Gpr) -> [Gpr; 2] {
        let (rax, rdx) = (b.pinned(RAX), b.pinned(RDX));
        let (double, d) = (join(b, [hi, lo]), copy(b, d));
        b.mov(rax, double);
        b.mov_imm32(rdx, 0);
        b.div(d, rax, rdx);
        [copy(b, rax), copy(b, rdx)]
    }
    fn select(b: &mut Builder, mask: Gpr, x: Gpr, y: Gpr) -> Gpr {
        select(b, mask, x, y)
    }
    fn load(b: &mut Builder, from: Place) -> Gpr {
        let out = b.gpr();
        b.load32(out, from);
        out
    }
    fn store(b: &mut Builder, to: Place, x: Gpr) {
        b.store32(to, x);
    }
    fn held(register: VReg) -> Gpr {
        Gpr(register)
    }
    fn returned(x: Gpr) -> VReg {
        x.0
    }
}
