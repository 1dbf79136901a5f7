//! Whether another thread shares the core's execution units: two hardware threads of one core slow each other down by a third
//! and change which code is fastest, and no system call tells of a neighbour in another virtual machine.
//!
//! What tells is work that fills every issue slot for integers, beside a chain of dependent instructions, which leaves most of
//! them empty: the chain takes as long with a neighbour as without, the full work does not. Their ratio does not depend on
//! the clock's frequency.

use std::time::{Duration, Instant};

use super::{Look, Watch};
use crate::timer::Clock;

/// Steps of both pieces of work: about half a microsecond each.
const STEPS: u32 = 768;
/// Readings of which the lowest counts: an interrupt in one of them is no neighbour.
const READINGS: usize = 3;
/// Work may be measured for so many times the duration of a look until the next look.
const STRETCH: u64 = 16;
/// So much above the quietest look, someone else is there.
const BUSY: f64 = 1.08;
/// Between two looks while waiting.
const NAP: Duration = Duration::from_millis(2);
/// Waiting takes at most this, and at most so large a part of the time since the beginning.
const PATIENCE: (Duration, f64) = (Duration::from_secs(2), 0.5);

/// Looks at the core between windows.
pub struct Neighbour<'a> {
    clock: &'a dyn Clock,
    begun: Instant,
    quietest: f64,
    /// Clock units that a look takes.
    cost: u64,
    last: u64,
    waited: Duration,
}

impl<'a> Neighbour<'a> {
    /// Begins to look.
    pub fn new(clock: &'a dyn Clock) -> Neighbour<'a> {
        let begin = clock.now();
        let mut neighbour = Neighbour {
            clock,
            begun: Instant::now(),
            quietest: f64::INFINITY,
            cost: 0,
            last: begin,
            waited: Duration::ZERO,
        };
        let looks = 64;
        for _ in 0..looks {
            neighbour.look();
        }
        neighbour.cost = clock.now().saturating_sub(begin) / looks;
        neighbour
    }

    /// How long it waited for a quiet core, in all.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    fn is_busy(&self, crowd: f64) -> bool {
        crowd > self.quietest * BUSY
    }

    fn read(&self) -> (f64, f64) {
        let (mut full, mut chain) = (u64::MAX, u64::MAX);
        for _ in 0..READINGS {
            let times = [self.clock.now(), full_width(), self.clock.now(), dependent(), self.clock.now()];
            full = full.min(times[2].saturating_sub(times[0]));
            chain = chain.min(times[4].saturating_sub(times[2]));
        }
        (full as f64, chain.max(1) as f64)
    }
}

impl Watch for Neighbour<'_> {
    fn due(&self) -> bool {
        self.clock.now().saturating_sub(self.last) >= self.cost.saturating_mul(STRETCH)
    }

    fn look(&mut self) -> Look {
        let (full, chain) = self.read();
        let crowd = full / chain;
        self.quietest = self.quietest.min(crowd);
        self.last = self.clock.now();
        Look { busy: self.is_busy(crowd), per_cycle: chain / f64::from(STEPS * CHAIN) }
    }

    fn again(&mut self) -> bool {
        let begin = Instant::now();
        let limit = (self.begun.elapsed().mul_f64(PATIENCE.1) + PATIENCE.0).saturating_sub(self.waited);
        let mut quiet = false;
        while !quiet && begin.elapsed() < limit {
            std::thread::sleep(NAP);
            quiet = !self.look().busy;
        }
        self.waited += begin.elapsed();
        quiet
    }
}

/// Cycles of a step of [`dependent`].
const CHAIN: u32 = 4;

/// A chain of multiplications that wait for one another, each 3 cycles on every x86-64 since 2008, and 1 more for an exclusive or.
fn dependent() -> u64 {
    let [mut x, mask] = std::hint::black_box([0x9e37_79b9_u64, 0xa5a5_5a5a]);
    for _ in 0..STEPS {
        x = x.wrapping_mul(x) ^ mask;
    }
    std::hint::black_box(x)
}

/// Eight chains of single-cycle instructions side by side: more than there are units.
fn full_width() -> u64 {
    let [mut a, mut b, mut c, mut d, k] = std::hint::black_box([1_u64, 2, 3, 4, 0x9e37_79b9]);
    for _ in 0..STEPS {
        a = a.rotate_left(5) ^ k;
        b = b.rotate_left(7) ^ k;
        c = c.rotate_left(11) ^ k;
        d = d.rotate_left(13) ^ k;
        a = a.rotate_left(5).wrapping_add(b);
        b = b.rotate_left(7).wrapping_add(c);
        c = c.rotate_left(11).wrapping_add(d);
        d = d.rotate_left(13).wrapping_add(k);
    }
    std::hint::black_box(a ^ b ^ c ^ d)
}
