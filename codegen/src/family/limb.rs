//! Kernels on rows of limbs: the multiply-add row `r := r + a * w`. Knows the algorithm, the order of the carries and the
//! shape of loops and tails; knows no TOML and no physical register but those that an instruction fixes.
//!
//! A row is cut into *groups* of k limbs. With B = 2^bits, one group computes
//! `B^k * carry' + sum r'_i B^i = sum r_i B^i + w * sum a_i B^i + carry`, and `carry' < B` because
//! `(B^k - 1) + (B - 1)(B^k - 1) + (B - 1) = B^(k+1) - 1`. The carry between groups is one limb.
//! Every strategy says how it does one group; loops, tails and exact sizes are written once, in [`row`].

mod xmm;

use super::{Contract, Lowering, Parameters, Role, Shape};
use crate::ir::typed::{Gpr, Mmx, Place, Val};
use crate::ir::{Builder, Func, ParameterKind, Virtual};
use crate::isa::row::{CO, RAX, RCX, RDX};

const MUL_ADD: &[Role] = &[
    Role { name: "r", shape: Shape::Limbs { reads: true, writes: true } },
    Role { name: "a", shape: Shape::Limbs { reads: true, writes: false } },
    Role { name: "n", shape: Shape::Count },
    Role { name: "w", shape: Shape::Limb },
];
const R: u8 = 0;
const A: u8 = 1;

/// The contracts of this family.
pub const CONTRACTS: &[Contract] = &[
    contract!("limb64.mul_add", 64, MUL_ADD, true, {
        "portable": row::<Portable>,
        "mul": row::<MulAdc>,
        "mulx": row::<Mulx>,
        "mulx_adx": row::<MulxAdx>,
    }),
    contract!("limb32.mul_add", 32, MUL_ADD, true, {
        "portable": row::<Portable>,
        "mul": row::<Wide<Gpr>>,
        "sse2_mmx": row::<Wide<Mmx>>,
        "sse2_xmm": row::<xmm::Pmuludq>,
    }),
];

/// The pointers and the limb size of a row: where limb `i` of the present group is.
#[derive(Clone, Copy)]
struct Row {
    r: Gpr,
    a: Gpr,
    bytes: i32,
}

impl Row {
    fn r(&self, b: &Builder, i: u32) -> Place {
        b.at(R, self.r, self.bytes * i as i32)
    }
    fn a(&self, b: &Builder, i: u32) -> Place {
        b.at(A, self.a, self.bytes * i as i32)
    }
    fn advance(&self, b: &mut Builder, limbs: u32) {
        b.advance(R, self.r, self.bytes * limbs as i32);
        b.advance(A, self.a, self.bytes * limbs as i32);
    }
}

/// How a strategy computes one group, and what lives between groups.
trait Strategy: Sized {
    /// The multiplier as it arrives.
    type Multiplier: Multiplier;
    /// Prepares what lives through the row: the multiplier where it is wanted and a carry of 0.
    fn start(b: &mut Builder, multiplier: Self::Multiplier) -> Self;
    /// One group of `k` limbs at the row's present place.
    fn group(&self, b: &mut Builder, row: &Row, k: u32);
    /// The whole loop body again and again with carries left in the flags, for strategies that can: what is set up before
    /// the loop (`open`), a group that takes the flags as they are and leaves them (`live_group`), and what is folded in
    /// after it (`close`).
    const LIVE: Option<LiveGroup<Self>> = None;
    /// Ends the row: the register with the carry limb, zero-extended.
    fn finish(&self, b: &mut Builder) -> crate::ir::VReg;
}

struct LiveGroup<S> {
    open: fn(&S, &mut Builder),
    group: fn(&S, &mut Builder, &Row, u32),
    close: fn(&S, &mut Builder),
}

/// Lowers a whole row: `n` in loop trips of `unroll` limbs and a tail of halving groups, or exactly `n` limbs in one go.
fn row<S: Strategy>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let bytes = contract.limb_bits / 8;
    let pointer = |role: &Role| match role.shape {
        Shape::Limbs { reads, writes } => {
            ParameterKind::Pointer { element_bytes: bytes, count: 2, reads, writes, cursor: 0 }
        }
        Shape::Count | Shape::Limb => unreachable!("roles 0 and 1 are pointers"),
    };
    let facts = lowering.arguments;
    let r = b.parameter("r", pointer(&MUL_ADD[0]), facts[0].secret, &facts[0].may_equal);
    let a = b.parameter("a", pointer(&MUL_ADD[1]), facts[1].secret, &facts[1].may_equal);
    let (min, max) = facts[2].count;
    let n = b.parameter("n", ParameterKind::Count { min, max }, false, &[]);
    let multiplier = S::Multiplier::parameter(b, contract.limb_bits, facts[3].secret);
    let row = Row { r, a, bytes: bytes as i32 };

    match lowering.parameters {
        Parameters::Exact(limbs) => {
            let state = S::start(b, multiplier);
            state.group(b, &row, limbs);
            let carry = state.finish(b);
            builder.finish(Some(carry), Some(limbs.into()))
        }
        Parameters::Unrolled { unroll, live } => {
            let live = S::LIVE.filter(|_| live);
            // The flag-free loop counts in rcx.
            let trips = if live.is_some() { b.pinned(RCX) } else { b.gpr() };
            b.note("trips of the unrolled loop, and limbs left for the tail");
            let left = split_count(b, n, trips, unroll, max);
            let state = S::start(b, multiplier);
            b.when_nonzero(trips, |b| match live {
                Some(live) => {
                    (live.open)(&state, b);
                    b.counted_flag_free(trips, CO, |b| {
                        (live.group)(&state, b, &row, unroll);
                        row.advance(b, unroll);
                    });
                    (live.close)(&state, b);
                }
                None => b.counted(trips, |b| {
                    state.group(b, &row, unroll);
                    row.advance(b, unroll);
                }),
            });
            // The tail, 0 to unroll - 1 limbs: groups of halving powers of two, by the bits of what is left.
            let mut size = (unroll.next_power_of_two() / 2).max(1);
            while unroll > 1 && size > 0 {
                b.when_bits(left, size as i32, |b| {
                    state.group(b, &row, size);
                    if size > 1 {
                        row.advance(b, size);
                    }
                });
                size /= 2;
            }
            let carry = state.finish(b);
            builder.finish(Some(carry), None)
        }
    }
}

/// `trips := n / unroll`, and returns `n mod unroll` in a register. Exact for n < 2^26: with m = floor(2^32 / u) + 1,
/// n m / 2^32 exceeds n / u by less than n / 2^32 < 1 / u.
fn split_count(b: &mut Builder, n: Gpr, trips: Gpr, unroll: u32, max: u64) -> Gpr {
    b.mov(trips, n);
    let left = b.gpr();
    if unroll.is_power_of_two() {
        if unroll > 1 {
            b.shr(trips, i64::from(unroll.ilog2()));
            b.mov(left, n);
            b.and_ri(left, i64::from(unroll - 1));
        }
    } else {
        assert!(max < 1 << 26, "the reciprocal of the unroll is exact below 2^26");
        let reciprocal = b.gpr();
        b.mov_imm(reciprocal, (1i64 << 32) / i64::from(unroll) + 1);
        b.imul(trips, reciprocal);
        b.shr(trips, 32);
        let whole = b.gpr();
        b.mov_imm32(whole, i64::from(unroll));
        b.imul(whole, trips);
        b.mov(left, n);
        b.sub(left, whole);
    }
    left
}

/// A limb that arrives by value, in the register file that a strategy works on.
trait Multiplier: Copy {
    /// Declares the parameter `w`.
    fn parameter(b: &mut Builder, bits: u32, secret: bool) -> Self;
}

impl Multiplier for Gpr {
    fn parameter(b: &mut Builder, bits: u32, secret: bool) -> Gpr {
        b.parameter("w", ParameterKind::Value { bits }, secret, &[])
    }
}

impl Multiplier for Val {
    fn parameter(b: &mut Builder, bits: u32, secret: bool) -> Val {
        b.parameter_val("w", ParameterKind::Value { bits }, secret)
    }
}

/// Portable: carries are values.
struct Portable {
    w: Val,
    carry: Val,
    zero: Val,
}

impl Strategy for Portable {
    type Multiplier = Val;

    fn start(b: &mut Builder, w: Val) -> Portable {
        let (carry, zero) = (b.val(), b.val());
        b.p_constant(zero, 0);
        b.p_constant(carry, 0);
        Portable { w, carry, zero }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32) {
        for i in 0..k {
            let [a, r, hi, lo, sum, out, with_r, total, last] = [(); 9].map(|()| b.val());
            b.p_load(a, row.a(b, i));
            b.p_load(r, row.r(b, i));
            // a w + r + carry <= (B - 1)^2 + 2 (B - 1) = B^2 - 1: the high limb takes both carries.
            b.p_mul_wide(hi, lo, a, self.w);
            b.p_add_carry(sum, out, lo, r, self.zero);
            b.p_add(with_r, hi, out);
            b.p_add_carry(total, last, sum, self.carry, self.zero);
            b.p_add(self.carry, with_r, last);
            b.p_store(row.r(b, i), total);
        }
    }

    fn finish(&self, _: &mut Builder) -> crate::ir::VReg {
        self.carry.0
    }
}

/// Baseline: `mul` writes the flags and its fixed registers, so the carries of a limb are absorbed before the next product.
struct MulAdc {
    w: Gpr,
    carry: Gpr,
}

impl Strategy for MulAdc {
    type Multiplier = Gpr;

    fn start(b: &mut Builder, w: Gpr) -> MulAdc {
        let carry = b.gpr();
        b.mov_imm32(carry, 0);
        MulAdc { w, carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32) {
        for i in 0..k {
            let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
            b.note("product of one limb");
            b.load(lo, row.a(b, i));
            b.mul(self.w, lo, hi);
            b.note("plus r");
            b.add(lo, row.r(b, i));
            b.adc_ri(hi, 0);
            b.note("plus the carry limb");
            b.add(lo, self.carry);
            b.adc_ri(hi, 0);
            b.store(row.r(b, i), lo);
            b.mov(self.carry, hi);
        }
    }

    fn finish(&self, _: &mut Builder) -> crate::ir::VReg {
        self.carry.0
    }
}

/// How many products wait in registers between the two passes of the single carry chain.
const MULX_PASS: u32 = 8;

/// `mulx` leaves CF alone, so one carry chain runs over a whole pass of products, and a second one adds r.
struct Mulx {
    w: Gpr,
    carry: Gpr,
}

fn multiplier_in_rdx(b: &mut Builder, w: Gpr) -> (Gpr, Gpr) {
    let (rdx, carry) = (b.pinned(RDX), b.gpr());
    b.mov(rdx, w);
    b.mov_imm32(carry, 0);
    (rdx, carry)
}

impl Strategy for Mulx {
    type Multiplier = Gpr;

    fn start(b: &mut Builder, w: Gpr) -> Mulx {
        let (w, carry) = multiplier_in_rdx(b, w);
        Mulx { w, carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32) {
        for first in (0..k).step_by(MULX_PASS as usize) {
            let pass = first..k.min(first + MULX_PASS);
            b.note("products, each low half plus the high half before it");
            let mut high = self.carry;
            let mut lows = Vec::new();
            for i in pass.clone() {
                let (lo, hi) = (b.gpr(), b.gpr());
                b.mulx(hi, lo, row.a(b, i), self.w);
                if i == first {
                    b.add(lo, high)
                } else {
                    b.adc(lo, high)
                }
                lows.push(lo);
                high = hi;
            }
            b.adc_ri(high, 0);
            b.note("plus r");
            for (i, lo) in pass.zip(lows) {
                if i == first {
                    b.add(lo, row.r(b, i))
                } else {
                    b.adc(lo, row.r(b, i))
                }
                b.store(row.r(b, i), lo);
            }
            b.note("the carry limb of this pass");
            b.adc_ri(high, 0);
            b.mov(self.carry, high);
        }
    }

    fn finish(&self, _: &mut Builder) -> crate::ir::VReg {
        self.carry.0
    }
}

/// Two carry chains side by side: CF adds r, OF adds the high half of the product before.
struct MulxAdx {
    w: Gpr,
    carry: Gpr,
    zero: Gpr,
}

impl MulxAdx {
    /// Clears CF and OF.
    fn clear(&self, b: &mut Builder) {
        b.note("both chains start with no carry");
        b.test(self.zero, self.zero);
    }

    /// Adds the carries of both chains to the carry limb.
    fn fold(&self, b: &mut Builder) {
        b.note("both carries into the carry limb");
        b.adcx(self.carry, self.zero);
        b.adox(self.carry, self.zero);
    }

    /// The limbs of a group, with the carries in the flags on both sides.
    fn chains(&self, b: &mut Builder, row: &Row, k: u32) {
        let mut before = self.carry;
        for i in 0..k {
            let (lo, hi) = (b.gpr(), if i + 1 == k && k > 1 { self.carry } else { b.gpr() });
            b.mulx(hi, lo, row.a(b, i), self.w);
            b.adcx(lo, row.r(b, i));
            b.adox(lo, before);
            b.store(row.r(b, i), lo);
            before = hi;
        }
        if k == 1 {
            b.mov(self.carry, before);
        }
    }
}

impl Strategy for MulxAdx {
    type Multiplier = Gpr;

    fn start(b: &mut Builder, w: Gpr) -> MulxAdx {
        let (w, carry) = multiplier_in_rdx(b, w);
        let zero = b.gpr();
        b.mov_imm32(zero, 0);
        MulxAdx { w, carry, zero }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32) {
        self.clear(b);
        self.chains(b, row, k);
        self.fold(b);
    }

    const LIVE: Option<LiveGroup<MulxAdx>> =
        Some(LiveGroup { open: MulxAdx::clear, group: MulxAdx::chains, close: MulxAdx::fold });

    fn finish(&self, _: &mut Builder) -> crate::ir::VReg {
        self.carry.0
    }
}

/// 32-bit limbs in 64-bit registers: a sum of a product, a limb and a carry is one register, and its high half is the next
/// carry. No flags at all.
struct Wide<T> {
    w: T,
    carry: T,
}

/// A 64-bit register that holds a whole sum of a [`Wide`] row.
trait WideRegister: Copy {
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
    /// The value as the returned limb; ends the use of the register file.
    fn give(self, b: &mut Builder) -> Gpr;
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
    fn give(self, _: &mut Builder) -> Gpr {
        self
    }
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
    fn give(self, b: &mut Builder) -> Gpr {
        let out = b.gpr();
        b.movd_out(out, self);
        b.emms();
        out
    }
}

impl<T: WideRegister> Strategy for Wide<T> {
    type Multiplier = Gpr;

    fn start(b: &mut Builder, multiplier: Gpr) -> Wide<T> {
        let (w, carry, zero) = (T::new(b), T::new(b), b.gpr());
        w.take(b, multiplier);
        b.mov_imm32(zero, 0);
        carry.take(b, zero);
        Wide { w, carry }
    }

    fn group(&self, b: &mut Builder, row: &Row, k: u32) {
        for i in 0..k {
            let (product, limb) = (T::new(b), T::new(b));
            product.load(b, row.a(b, i));
            product.multiply(b, self.w);
            limb.load(b, row.r(b, i));
            b.note("a w + r <= B^2 - B, so the carry still fits");
            product.add(b, limb);
            self.carry.add(b, product);
            self.carry.store(b, row.r(b, i));
            self.carry.shift(b);
        }
    }

    fn finish(&self, b: &mut Builder) -> crate::ir::VReg {
        self.carry.give(b).0
    }
}
