//! A row times a limb: r := a w, r := r + a w, r := r - a w.
//!
//! A row is cut into *groups* of k limbs. One group of the sum computes
//! `B^k * carry' + sum r'_i B^i = sum r_i B^i + w * sum a_i B^i + carry`, and `carry' < B` because
//! `(B^k - 1) + (B - 1)(B^k - 1) + (B - 1) = B^(k+1) - 1`. The carry between groups is one limb.
//!
//! The difference can be had from the sum: with ~x = B^k - 1 - x, `r - a w = ~(~r + a w)`, and the carry out of that sum is
//! the borrow out of the difference. Strategies whose second chain could only be a borrow use this.
//! Every strategy says how it does one group; loops, tails and exact sizes are written once, in [`row`].

use super::{Limbs, from_flag, to_flag};
use crate::family::walk::{Carry, Cut};
use crate::family::{Contract, Extent, Lowering, Parameters};
use crate::ir::typed::{Gpr, Place, Val};
use crate::ir::{Builder, Func, VReg, Virtual};
use crate::isa::row::{CF, FlagSet, RAX, RDX};

/// What becomes of the product.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    /// r := a w.
    Set,
    /// r := r + a w.
    Add,
    /// r := r - a w.
    Sub,
}

/// A [`Combine`] as a type.
pub(super) trait Combining {
    const COMBINE: Combine;
}
pub(super) struct Set;
pub(super) struct Add;
pub(super) struct Sub;
impl Combining for Set {
    const COMBINE: Combine = Combine::Set;
}
impl Combining for Add {
    const COMBINE: Combine = Combine::Add;
}
impl Combining for Sub {
    const COMBINE: Combine = Combine::Sub;
}

/// The two pointers of a row at its present place.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub r: Limbs,
    pub a: Limbs,
}

impl Row {
    pub fn r(&self, b: &Builder, i: u32) -> Place {
        self.r.limb(b, i)
    }
    pub fn a(&self, b: &Builder, i: u32) -> Place {
        self.a.limb(b, i)
    }
    pub fn advance(&self, b: &mut Builder, limbs: u32) {
        self.r.advance(b, limbs);
        self.a.advance(b, limbs);
    }
}

/// How a strategy computes one group, and what lives between groups.
pub(super) trait Scale: Sized {
    /// The multiplier as it arrives.
    type Multiplier: Multiplier;
    /// Bits of the limbs that it works on, when they are not the contract's: in memory, a limb of 64 bits is two of 32.
    const BITS: Option<u32> = None;
    /// Prepares what lives through all rows. The multiplier and the carry come with each row.
    fn new(b: &mut Builder, parameters: &Parameters) -> Self;
    /// Begins a row: the multiplier where it is wanted, and a carry of 0.
    fn begin(&self, b: &mut Builder, multiplier: Self::Multiplier);
    /// Begins a row whose multiplier is in memory.
    fn begin_at(&self, b: &mut Builder, multiplier: Place);
    /// One group of `k` limbs at the row's present place.
    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine);
    /// The whole loop body again and again with carries left in the flags, for strategies that can.
    const LIVE: Option<LiveGroup<Self>> = None;
    /// Stores the carry limb.
    fn store_carry(&self, b: &mut Builder, to: Place);
    /// Stores a limb of 0.
    fn store_zero(&self, b: &mut Builder, to: Place);
    /// Adds the carry limb to `more` limbs at r, at least one, one after the other; the carry is then what goes out of them.
    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr);
    /// Gives the carry limb, zero-extended, in a register that can be returned.
    fn carry(&self, b: &mut Builder) -> VReg;
    /// Ends the use of the register file, after the last row.
    fn leave(&self, _: &mut Builder) {}
}

/// Where a strategy keeps what lives between groups.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    /// The multiplier.
    pub w: Gpr,
    /// The carry limb.
    pub carry: Gpr,
}

/// A strategy whose multiplier and carry limb are in general registers between groups: all of [`Scale`] but the groups is then
/// the same.
pub(super) trait InRegisters: Sized {
    /// As [`Scale::new`].
    fn new(b: &mut Builder, parameters: &Parameters) -> Self;
    /// The registers.
    fn registers(&self) -> Registers;
    /// As [`Scale::group`].
    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine);
    /// As [`Scale::LIVE`].
    const LIVE: Option<LiveGroup<Self>> = None;
}

impl<S: InRegisters> Scale for S {
    type Multiplier = Gpr;
    const LIVE: Option<LiveGroup<S>> = <S as InRegisters>::LIVE;

    fn new(b: &mut Builder, parameters: &Parameters) -> S {
        InRegisters::new(b, parameters)
    }

    fn begin(&self, b: &mut Builder, multiplier: Gpr) {
        b.mov(self.registers().w, multiplier);
        b.mov_imm32(self.registers().carry, 0);
    }

    fn begin_at(&self, b: &mut Builder, multiplier: Place) {
        b.load(self.registers().w, multiplier);
        b.mov_imm32(self.registers().carry, 0);
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        InRegisters::group(self, b, row, k, combine);
    }

    fn store_carry(&self, b: &mut Builder, to: Place) {
        b.store(to, self.registers().carry);
    }

    fn store_zero(&self, b: &mut Builder, to: Place) {
        let zero = b.gpr();
        b.mov_imm32(zero, 0);
        b.store(to, zero);
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb_gpr(b, r, more, self.registers().carry);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.registers().carry.0
    }
}

/// What is set up before a loop that keeps its carries in the flags (`open`), a group that takes the flags as they are and
/// leaves them (`group`), and what is folded in after the loop (`close`).
pub(super) struct LiveGroup<S> {
    /// The flags that hold carries.
    pub flags: FlagSet,
    pub open: fn(&S, &mut Builder),
    pub group: fn(&S, &mut Builder, &Row, u32, Combine),
    pub close: fn(&S, &mut Builder),
}

/// Lowers a row: `n` limbs in loop trips of `unroll` limbs and a tail of halving groups, or exactly `n` limbs in one go.
pub(super) fn row<S: Scale, C: Combining>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let r = Limbs::new(0, lowering.declare(b, contract, 0, 0), contract.limb_bits);
    let a = Limbs::new(1, lowering.declare(b, contract, 1, 0), contract.limb_bits);
    let n = lowering.declare(b, contract, 2, 0);
    let multiplier = S::Multiplier::declare(b, contract, lowering, 3);
    let row = Row { r, a };
    let parameters = lowering.parameters;
    match parameters.extent {
        Extent::Exact(limbs) => {
            let state = S::new(b, &parameters);
            state.begin(b, multiplier);
            state.group(b, &row, limbs, C::COMBINE);
            let carry = state.carry(b);
            state.leave(b);
            builder.finish(Some(carry), Some(limbs.into()))
        }
        Extent::Unrolled(unroll) => {
            let live = S::LIVE.filter(|_| parameters.live);
            let control = live.as_ref().map_or(Carry::Folded, |live| Carry::Live(live.flags));
            let cut = Cut::new(b, n, lowering.arguments[2].count.1, unroll, control);
            let state = S::new(b, &parameters);
            state.begin(b, multiplier);
            walk(b, &cut, &state, &row, C::COMBINE, live);
            let carry = state.carry(b);
            state.leave(b);
            builder.finish(Some(carry), None)
        }
        Extent::Whole | Extent::Blocks(_) => unreachable!("a row has a count"),
    }
}

/// The groups of one row over `n` limbs; the pointers end one past the last.
pub(super) fn walk<S: Scale>(
    b: &mut Builder,
    cut: &Cut,
    state: &S,
    row: &Row,
    combine: Combine,
    live: Option<LiveGroup<S>>,
) {
    let group = |b: &mut Builder, k| {
        state.group(b, row, k, combine);
        row.advance(b, k);
    };
    match live {
        Some(live) => cut.walk(
            b,
            group,
            |b| (live.open)(state, b),
            |b, k| {
                (live.group)(state, b, row, k, combine);
                row.advance(b, k);
            },
            |b| (live.close)(state, b),
        ),
        None => cut.walk(b, group, |_| {}, group, |_| {}),
    }
}

/// A limb that arrives by value, in the register file that a strategy works on.
pub(super) trait Multiplier: Copy {
    /// Declares the limb at `index` of the contract.
    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Self;
}

impl Multiplier for Gpr {
    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Gpr {
        lowering.declare(b, contract, index, 0)
    }
}

impl Multiplier for Val {
    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize) -> Val {
        lowering.declare_val(b, contract, index)
    }
}

/// Portable: carries are values.
pub(super) struct Portable {
    w: Val,
    carry: Val,
    zero: Val,
}

impl Scale for Portable {
    type Multiplier = Val;

    fn new(b: &mut Builder, _: &Parameters) -> Portable {
        let [w, carry, zero] = [(); 3].map(|()| b.val());
        b.p_constant(zero, 0);
        Portable { w, carry, zero }
    }

    fn begin(&self, b: &mut Builder, multiplier: Val) {
        b.p_copy(self.w, multiplier);
        b.p_constant(self.carry, 0);
    }

    fn begin_at(&self, b: &mut Builder, multiplier: Place) {
        b.p_load(self.w, multiplier);
        b.p_constant(self.carry, 0);
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        for i in 0..k {
            let [a, r, hi, lo, sum, out, with_r, total, last] = [(); 9].map(|()| b.val());
            b.p_load(a, row.a(b, i));
            // a w + r + carry <= (B - 1)^2 + 2 (B - 1) = B^2 - 1: the high limb takes both carries.
            b.p_mul_wide(hi, lo, a, self.w);
            match combine {
                Combine::Set => {
                    b.p_add_carry(total, last, lo, self.carry, self.zero);
                    b.p_add(self.carry, hi, last);
                }
                Combine::Add => {
                    b.p_load(r, row.r(b, i));
                    b.p_add_carry(sum, out, lo, r, self.zero);
                    b.p_add(with_r, hi, out);
                    b.p_add_carry(total, last, sum, self.carry, self.zero);
                    b.p_add(self.carry, with_r, last);
                }
                Combine::Sub => {
                    b.p_load(r, row.r(b, i));
                    b.p_add_carry(sum, out, lo, self.carry, self.zero);
                    b.p_add(with_r, hi, out);
                    b.p_sub_borrow(total, last, r, sum, self.zero);
                    b.p_add(self.carry, with_r, last);
                }
            }
            b.p_store(row.r(b, i), total);
        }
    }

    fn store_carry(&self, b: &mut Builder, to: Place) {
        b.p_store(to, self.carry);
    }

    fn store_zero(&self, b: &mut Builder, to: Place) {
        b.p_store(to, self.zero);
    }

    fn absorb(&self, b: &mut Builder, r: &Limbs, more: Gpr) {
        absorb_val(b, r, more, self.carry, self.zero);
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}

/// The carry through limbs, as values.
pub(super) fn absorb_val(b: &mut Builder, r: &Limbs, more: Gpr, carry: Val, zero: Val) {
    b.counted(more, |b| {
        let [limb, sum, out] = [(); 3].map(|()| b.val());
        b.p_load(limb, r.limb(b, 0));
        b.p_add_carry(sum, out, limb, carry, zero);
        b.p_store(r.limb(b, 0), sum);
        b.p_copy(carry, out);
        r.advance(b, 1);
    });
}

/// The carry through limbs: the carry limb goes into the first, and what goes out of it, 0 or 1, from one to the next in CF.
pub(super) fn absorb_gpr(b: &mut Builder, r: &Limbs, more: Gpr, carry: Gpr) {
    b.add_mr(r.limb(b, 0), carry);
    b.mov_imm32(carry, 0);
    b.adc_ri(carry, 0);
    r.advance(b, 1);
    b.sub_ri(more, 1);
    let zero = b.gpr();
    b.mov_imm32(zero, 0);
    let chain = |b: &mut Builder, k| {
        for i in 0..k {
            b.adc_mr(r.limb(b, i), zero);
        }
        r.advance(b, k);
    };
    let open = |b: &mut Builder| to_flag(b, carry);
    let close = |b: &mut Builder| from_flag(b, carry);
    let group = |b: &mut Builder, k| {
        open(b);
        chain(b, k);
        close(b);
    };
    // A power of two needs no bound.
    Cut::new(b, more, 0, ONWARD, Carry::Live(CF)).walk(b, group, open, chain, close);
}

/// Limbs of a trip through which a carry walks.
const ONWARD: u32 = 8;

/// Baseline: `mul` writes the flags and its fixed registers, so the carries of a limb are absorbed before the next product.
pub(super) struct MulAdc {
    w: Gpr,
    carry: Gpr,
}

impl InRegisters for MulAdc {
    fn new(b: &mut Builder, _: &Parameters) -> MulAdc {
        MulAdc { w: b.gpr(), carry: b.gpr() }
    }

    fn registers(&self) -> Registers {
        Registers { w: self.w, carry: self.carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32, combine: Combine) {
        for i in 0..k {
            let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
            b.note("product of one limb");
            b.load(lo, row.a(b, i));
            b.mul(self.w, lo, hi);
            if combine == Combine::Add {
                b.note("plus r");
                b.add(lo, row.r(b, i));
                b.adc_ri(hi, 0);
            }
            b.note("plus the carry limb");
            b.add(lo, self.carry);
            b.adc_ri(hi, 0);
            if combine == Combine::Sub {
                b.note("from r");
                b.sub_mr(row.r(b, i), lo);
                b.adc_ri(hi, 0);
            } else {
                b.store(row.r(b, i), lo);
            }
            b.mov(self.carry, hi);
        }
    }
}
