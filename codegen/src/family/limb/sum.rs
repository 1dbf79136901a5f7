//! r := a + b and r := a - b.

use super::{Limbs, from_flag, to_flag};
use crate::family::walk::{Carry, Cut};
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::{Gpr, Val};
use crate::ir::{Builder, Func, VReg, Virtual};
use crate::isa::row::CF;

/// Sum or difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Summing {
    Plus,
    Minus,
}

/// A [`Summing`] as a type.
pub(super) trait Kind {
    const SUMMING: Summing;
}
pub(super) struct Plus;
pub(super) struct Minus;
impl Kind for Plus {
    const SUMMING: Summing = Summing::Plus;
}
impl Kind for Minus {
    const SUMMING: Summing = Summing::Minus;
}

/// How a strategy computes one group, and what lives between groups: a carry or a borrow, 0 or 1.
pub(super) trait Sums: Sized {
    /// No carry yet.
    fn new(b: &mut Builder) -> Self;
    /// `k` limbs of `[r, a, b]`.
    fn group(&self, b: &mut Builder, limbs: &[Limbs; 3], k: u32, summing: Summing);
    /// A loop that keeps the carry in CF: `open` puts it there, `group` takes and leaves it, `close` takes it back.
    const LIVE: Option<LiveSum<Self>> = None;
    /// The carry, zero-extended, in a register that can be returned.
    fn carry(&self, b: &mut Builder) -> VReg;
    /// Ends the use of the register file.
    fn leave(&self, _: &mut Builder) {}
}

pub(super) struct LiveSum<S> {
    pub open: fn(&S, &mut Builder),
    pub group: fn(&S, &mut Builder, &[Limbs; 3], u32, Summing),
    pub close: fn(&S, &mut Builder),
}

/// Lowers a sum or a difference.
pub(super) fn row<S: Sums, K: Kind>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let limbs: [Limbs; 3] =
        [0, 1, 2].map(|index| Limbs::new(index, lowering.declare(b, contract, index.into(), 0), contract.limb_bits));
    let n = lowering.declare(b, contract, 3, 0);
    let parameters = lowering.parameters;
    let exact = parameters.exact().map(u64::from);
    let state = match parameters.extent {
        Extent::Exact(n) => {
            let state = S::new(b);
            state.group(b, &limbs, n, K::SUMMING);
            state
        }
        Extent::Unrolled(unroll) => {
            let live = S::LIVE.filter(|_| parameters.live);
            let control = if live.is_some() { Carry::Live(CF) } else { Carry::Folded };
            let cut = Cut::new(b, n, lowering.arguments[3].count.1, unroll, control);
            let state = S::new(b);
            let advance = |b: &mut Builder, k| limbs.iter().for_each(|limbs| limbs.advance(b, k));
            let group = |b: &mut Builder, k| {
                state.group(b, &limbs, k, K::SUMMING);
                advance(b, k);
            };
            match live {
                Some(live) => cut.walk(
                    b,
                    group,
                    |b| (live.open)(&state, b),
                    |b, k| {
                        (live.group)(&state, b, &limbs, k, K::SUMMING);
                        advance(b, k);
                    },
                    |b| (live.close)(&state, b),
                ),
                None => cut.walk(b, group, |_| {}, group, |_| {}),
            }
            state
        }
        Extent::Whole | Extent::Blocks(_) => unreachable!("a sum has a count"),
    };
    let carry = state.carry(b);
    state.leave(b);
    builder.finish(Some(carry), exact)
}

/// Portable: the carry is a value.
pub(super) struct Portable {
    carry: Val,
}

impl Sums for Portable {
    fn new(b: &mut Builder) -> Portable {
        let carry = b.val();
        b.p_constant(carry, 0);
        Portable { carry }
    }

    fn group(&self, b: &mut Builder, [r, x, y]: &[Limbs; 3], k: u32, summing: Summing) {
        for i in 0..k {
            let [left, right, sum, out] = [(); 4].map(|()| b.val());
            b.p_load(left, x.limb(b, i));
            b.p_load(right, y.limb(b, i));
            match summing {
                Summing::Plus => b.p_add_carry(sum, out, left, right, self.carry),
                Summing::Minus => b.p_sub_borrow(sum, out, left, right, self.carry),
            }
            b.p_store(r.limb(b, i), sum);
            b.p_copy(self.carry, out);
        }
    }

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}

/// One chain of `adc` or `sbb`. Two 32-bit limbs are one 64-bit word of memory and are summed as one.
pub(super) struct Chain {
    carry: Gpr,
    bits: u32,
}

impl Chain {
    /// CF := the carry.
    fn open(&self, b: &mut Builder) {
        to_flag(b, self.carry);
    }

    /// The carry := CF.
    fn close(&self, b: &mut Builder) {
        from_flag(b, self.carry);
    }

    /// The words of a group, with the carry in CF on both sides.
    fn chain(&self, b: &mut Builder, [r, x, y]: &[Limbs; 3], k: u32, summing: Summing) {
        let limbs_of_word = 64 / self.bits;
        for i in (0..k).step_by(limbs_of_word as usize) {
            let sum = b.gpr();
            if k - i >= limbs_of_word {
                b.load(sum, x.limb(b, i));
                match summing {
                    Summing::Plus => b.adc(sum, y.limb(b, i)),
                    Summing::Minus => b.sbb(sum, y.limb(b, i)),
                }
                b.store(r.limb(b, i), sum);
            } else {
                // One limb of 32 bits is left.
                let other = b.gpr();
                b.load32(sum, x.limb(b, i));
                b.load32(other, y.limb(b, i));
                match summing {
                    // The sum is below 2^33: CF goes in, and its own carry is bit 32.
                    Summing::Plus => b.adc(sum, other),
                    Summing::Minus => b.sbb(sum, other),
                }
                b.store32(r.limb(b, i), sum);
                b.note("bit 32 is the carry or borrow");
                b.shl(sum, 31);
                b.add(sum, sum);
            }
        }
    }
}

impl Sums for Chain {
    fn new(b: &mut Builder) -> Chain {
        let (carry, bits) = (b.gpr(), b.limb_bits());
        b.mov_imm32(carry, 0);
        Chain { carry, bits }
    }

    fn group(&self, b: &mut Builder, limbs: &[Limbs; 3], k: u32, summing: Summing) {
        self.open(b);
        self.chain(b, limbs, k, summing);
        self.close(b);
    }

    const LIVE: Option<LiveSum<Chain>> = Some(LiveSum { open: Chain::open, group: Chain::chain, close: Chain::close });

    fn carry(&self, _: &mut Builder) -> VReg {
        self.carry.0
    }
}
