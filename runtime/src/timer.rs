//! Clocks for the race: the time stamp counter where it can be trusted, else the system's monotonic clock.
//!
//! Unsafe cannot be avoided for `rdtscp`; it is confined to one function.

use std::time::Instant;

use crate::detect::Native;
use crate::sys;

/// What a clock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Ticks of the time stamp counter.
    Ticks,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// The word used in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::Ticks => "ticks",
            Unit::Nanoseconds => "ns",
        }
    }
}

/// Which core a thread was on when a clock was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// The system does not say.
    Unknown,
    /// This one.
    At(u32),
    /// Two readings that belong together came from different cores.
    Changed,
}

/// A reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The clock's value.
    pub time: u64,
    /// The core at that moment.
    pub core: Core,
}

/// A clock. Values may only be subtracted, and a later value may still be smaller (another core, a frozen machine):
/// whoever subtracts has to look.
pub trait Clock {
    /// The time now. Nothing before the call is still running, nothing after it has begun.
    fn now(&self) -> u64;
    /// What [`Clock::now`] counts.
    fn unit(&self) -> Unit;
    /// The smallest difference that two readings show, at least 1.
    fn step(&self) -> u64;
    /// How many units a microsecond has, at least 1.
    fn microsecond(&self) -> u64;
    /// The time and the core.
    fn read(&self) -> Reading {
        Reading { time: self.now(), core: Core::Unknown }
    }
}

/// The time that some work took, `None` if the clock went backwards, and the core that it ran on.
pub fn timed(clock: &dyn Clock, work: impl FnOnce()) -> (Option<u64>, Core) {
    let begin = clock.read();
    work();
    let end = clock.read();
    (end.time.checked_sub(begin.time), if begin.core == end.core { begin.core } else { Core::Changed })
}

/// The clock of this machine.
#[derive(Clone, Debug)]
pub struct SystemClock {
    origin: Instant,
    unit: Unit,
    step: u64,
    microsecond: u64,
}

impl SystemClock {
    /// The best clock that this CPU has: its counter if that ticks at one rate, exists and is not trapped.
    ///
    /// Takes about 100 microseconds, to learn the counter's rate.
    pub fn new(cpu: &Native) -> SystemClock {
        let counter = cfg!(target_arch = "x86_64") && cpu.invariant_tsc && !sys::tsc_is_trapped();
        let unit = if counter { Unit::Ticks } else { Unit::Nanoseconds };
        let mut clock = SystemClock { origin: Instant::now(), unit, step: 1, microsecond: 1000 };
        clock.step = smallest_step(&clock);
        if counter {
            let (start, ticks) = (Instant::now(), clock.now());
            while start.elapsed().as_micros() < 100 {
                std::hint::spin_loop();
            }
            let ticks = clock.now().saturating_sub(ticks);
            let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
            clock.microsecond = (ticks.saturating_mul(1000) / nanoseconds).max(1);
        }
        clock
    }

    /// The monotonic clock, whatever the CPU has.
    pub fn monotonic() -> SystemClock {
        let mut clock = SystemClock { origin: Instant::now(), unit: Unit::Nanoseconds, step: 1, microsecond: 1000 };
        clock.step = smallest_step(&clock);
        clock
    }

    fn nanoseconds(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        self.read().time
    }

    fn unit(&self) -> Unit {
        self.unit
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn microsecond(&self) -> u64 {
        self.microsecond
    }

    fn read(&self) -> Reading {
        match self.unit {
            Unit::Ticks => read_counter(),
            Unit::Nanoseconds => {
                let core = sys::current_core().map_or(Core::Unknown, Core::At);
                Reading { time: self.nanoseconds(), core }
            }
        }
    }
}

/// Units of the clock in a cycle of the core, as the core runs now: it changes with the load of its neighbours. From a chain of
/// multiplications that wait for one another, each 3 cycles on every x86-64 since 2008, and 1 more for an exclusive or.
pub fn units_per_cycle(clock: &dyn Clock) -> f64 {
    const LINKS: u32 = 4096;
    let mut fastest = u64::MAX;
    let [mut x, mask] = std::hint::black_box([0x9e37_79b9_u64, 0xa5a5_5a5a]);
    for _ in 0..64 {
        let begin = clock.now();
        for _ in 0..LINKS {
            x = x.wrapping_mul(x) ^ mask;
        }
        x = std::hint::black_box(x);
        fastest = fastest.min(clock.now().saturating_sub(begin));
    }
    fastest.saturating_sub(clock.step()) as f64 / f64::from(4 * LINKS)
}

/// The smallest difference other than 0 between neighbouring readings. It includes what a reading costs, so a window of
/// 40 steps also keeps that cost under 3 %.
fn smallest_step(clock: &impl Clock) -> u64 {
    let mut last = clock.now();
    let mut smallest = u64::MAX;
    let mut seen = 0;
    for _ in 0..20_000 {
        let now = clock.now();
        if let Some(step @ 1..) = now.checked_sub(last) {
            smallest = smallest.min(step);
            seen += 1;
            if seen == 64 {
                break;
            }
        }
        last = now;
    }
    if seen == 0 { 1000 } else { smallest }
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe, reason = "some of these intrinsics became safe after the minimum supported Rust version")]
fn read_counter() -> Reading {
    use core::arch::x86_64::{__rdtscp, _mm_lfence};
    let mut core = 0;
    // SAFETY: only called when the CPU has rdtscp (`Cpu::invariant_tsc` asks for it) and the system does not trap it;
    // lfence is part of SSE2, the baseline. rdtscp writes the core number through the pointer to a live local. The
    // first fence waits for all that came before, the second keeps what comes after from starting early.
    let time = unsafe {
        _mm_lfence();
        let time = __rdtscp(&raw mut core);
        _mm_lfence();
        time
    };
    // Linux puts the node number above bit 12.
    Reading { time, core: Core::At(core & 0xfff) }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_counter() -> Reading {
    Reading { time: 0, core: Core::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Ticks by itself: each reading is `step` later than the last.
    struct Fake {
        time: Cell<u64>,
        step: u64,
    }

    impl Clock for Fake {
        fn now(&self) -> u64 {
            let now = self.time.get();
            self.time.set(now + self.step);
            now
        }
        fn unit(&self) -> Unit {
            Unit::Ticks
        }
        fn step(&self) -> u64 {
            self.step
        }
        fn microsecond(&self) -> u64 {
            1000
        }
    }

    #[test]
    fn the_step_of_a_coarse_clock_is_found() {
        assert_eq!(smallest_step(&Fake { time: Cell::new(7), step: 36 }), 36);
    }

    #[test]
    fn a_clock_that_stands_still_does_not_hang() {
        assert_eq!(smallest_step(&Fake { time: Cell::new(7), step: 0 }), 1000);
    }

    #[test]
    fn the_clocks_of_this_machine_answer() {
        for clock in [SystemClock::new(&crate::detect::native()), SystemClock::monotonic()] {
            assert!(clock.step() >= 1 && clock.microsecond() >= 1, "{clock:?}");
            assert_eq!(clock.unit() == Unit::Nanoseconds, clock.microsecond() == 1000 && clock.unit().word() == "ns");
        }
    }
}
