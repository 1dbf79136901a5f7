//! Loops over a run-time number of limbs: a tail of halving groups, then whole trips. Knows no arithmetic on limbs.

use crate::ir::Builder;
use crate::ir::typed::Gpr;
use crate::isa::row::{FlagSet, OF, RCX};

/// What the carries do at the end of a trip.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carry {
    /// No flag lives from one trip to the next.
    Folded,
    /// These flags do: the loop is entered with them set, and they are still there after it.
    Live(FlagSet),
}

impl Carry {
    /// `dec` keeps CF and writes OF, so a loop that keeps OF must count without flags, in rcx.
    fn flag_free(self) -> bool {
        match self {
            Carry::Folded => false,
            Carry::Live(flags) => flags.contains(OF),
        }
    }
}

/// A run-time number of limbs, cut into what is left over and trips of a loop.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    unroll: u32,
    carry: Carry,
    /// The bits of the tail: of `n` itself when the unroll is a power of two.
    left: Gpr,
    /// Where the trips are: in a register of their own, or to be made of `n`, which is then used up.
    trips: Trips,
}

#[derive(Clone, Copy)]
enum Trips {
    Counted(Gpr),
    /// As `Counted`, and kept for further walks.
    Kept(Gpr),
    OfCount,
}

impl Cut {
    /// Cuts `n`, which is at most `max`, for one walk.
    pub fn new(b: &mut Builder, n: Gpr, max: u64, unroll: u32, carry: Carry) -> Cut {
        if unroll.is_power_of_two() {
            // With loops that count in rcx, n goes there at once: fewer registers than a copy beside it.
            let left = if carry.flag_free() { b.pinned(RCX) } else { n };
            if carry.flag_free() {
                b.mov(left, n);
            }
            return Cut { unroll, carry, left, trips: Trips::OfCount };
        }
        let trips = if carry.flag_free() { b.pinned(RCX) } else { b.gpr() };
        let left = divide(b, n, trips, unroll, max);
        Cut { unroll, carry, left, trips: Trips::Counted(trips) }
    }

    /// Cuts `n` for any number of walks, whose carries are folded.
    pub fn kept(b: &mut Builder, n: Gpr, max: u64, unroll: u32) -> Cut {
        let trips = b.gpr();
        let left = if unroll.is_power_of_two() {
            b.mov(trips, n);
            if unroll > 1 {
                b.shr(trips, i64::from(unroll.ilog2()));
            }
            n
        } else {
            divide(b, n, trips, unroll, max)
        };
        Cut { unroll, carry: Carry::Folded, left, trips: Trips::Kept(trips) }
    }

    /// The tail, by the bits of what is left: `group` of halving powers of two. Then the loop: `open`, trips of `whole`,
    /// `close`, when there is at least one trip. `group` and `whole` move the pointers on.
    pub fn walk(
        &self,
        b: &mut Builder,
        mut group: impl FnMut(&mut Builder, u32),
        open: impl FnOnce(&mut Builder),
        whole: impl FnOnce(&mut Builder, u32),
        close: impl FnOnce(&mut Builder),
    ) {
        let unroll = self.unroll;
        let largest = unroll.next_power_of_two() / 2;
        let sizes: Vec<u32> = (0..8).map(|shift| largest >> shift).take_while(|size| *size > 0).collect();
        self.tail(b, &sizes, &mut group);
        let trips = match self.trips {
            Trips::Counted(trips) | Trips::Kept(trips) => trips,
            Trips::OfCount => {
                if unroll > 1 {
                    b.shr(self.left, i64::from(unroll.ilog2()));
                }
                self.left
            }
        };
        b.when_nonzero(trips, |b| {
            let counter = match self.trips {
                Trips::Counted(_) | Trips::OfCount => trips,
                Trips::Kept(_) => {
                    let counter = b.gpr();
                    b.mov(counter, trips);
                    counter
                }
            };
            open(b);
            match self.carry {
                Carry::Folded => b.counted(counter, |b| whole(b, unroll)),
                Carry::Live(flags) if self.carry.flag_free() => {
                    b.counted_flag_free(counter, flags, |b| whole(b, unroll));
                }
                Carry::Live(flags) => b.counted_keeping(counter, flags, |b| whole(b, unroll)),
            }
            close(b);
        });
    }

    /// Groups of these sizes, largest first. The small ones are jumped over in one when n is a multiple of 8.
    fn tail(&self, b: &mut Builder, sizes: &[u32], group: &mut impl FnMut(&mut Builder, u32)) {
        let (large, small) = sizes.split_at(sizes.iter().filter(|size| **size >= SMALL).count());
        for part in [large, small] {
            let mask = part.iter().sum::<u32>() as i32;
            let each = |cut: &Cut, b: &mut Builder, group: &mut dyn FnMut(&mut Builder, u32)| {
                for &size in part {
                    b.when_bits(cut.left, size as i32, |b| group(b, size));
                }
            };
            if part.len() > 1 {
                b.when_bits(self.left, mask, |b| each(self, b, group));
            } else {
                each(self, b, group);
            }
        }
    }
}

/// Sizes below this one are tested for together.
const SMALL: u32 = 8;

/// `trips := n / unroll`, and returns `n mod unroll` in a register. Exact for n < 2^26: with m = floor(2^32 / u) + 1,
/// n m / 2^32 exceeds n / u by less than n / 2^32 < 1 / u.
fn divide(b: &mut Builder, n: Gpr, trips: Gpr, unroll: u32, max: u64) -> Gpr {
    assert!(max < 1 << 26, "the reciprocal of the unroll is exact below 2^26");
    b.note("trips of the unrolled loop, and limbs left for the tail");
    b.mov(trips, n);
    let (left, reciprocal, whole) = (b.gpr(), b.gpr(), b.gpr());
    b.mov_imm(reciprocal, (1i64 << 32) / i64::from(unroll) + 1);
    b.imul(trips, reciprocal);
    b.shr(trips, 32);
    b.mov_imm32(whole, i64::from(unroll));
    b.imul(whole, trips);
    b.mov(left, n);
    b.sub(left, whole);
    left
}
