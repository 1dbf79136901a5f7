//! Measuring many candidates side by side until all are known as well as was asked. Not a race: nobody is chosen, and slow
//! candidates get the same care.
//!
//! Every round times each candidate once, in an order rotated at random, so that drift, frequency changes and neighbours hit all
//! alike; and all have the same rounds. The statistic is a quantile of a candidate's windows, with a confidence interval that assumes no
//! distribution ([`quantile_interval`]). It does assume that windows are independent; what makes that plausible is that
//! those of one candidate lie a whole round apart.

use crate::exec::Evictor;
use crate::race::{Bench, Budget, Sample, quantile};
use crate::random::Random;
use crate::statistics::quantile_interval;
use crate::timer::{Clock, Core, timed};
use crate::verify::{Arena, Verified};

/// How calls follow each other.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// Independent calls, back to back.
    Throughput,
    /// Each call needs the result of the one before.
    Latency,
    /// The code is in no instruction cache and unknown to the branch predictor; data stay where they are.
    Cold(Evictor),
}

/// When a candidate is known well enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Widest interval, as a fraction of the statistic.
    pub precision: f64,
    /// Level of the interval.
    pub level: f64,
    /// The fraction of the windows that lies below the statistic.
    pub quantile: f64,
    /// Fewest and most windows of a candidate.
    pub windows: (usize, usize),
    /// Shortest window, in clock units.
    pub window: u64,
    /// Seed of the rotations.
    pub seed: u64,
}

/// How a candidate's measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As precise as was asked.
    Precise,
    /// It had the most windows.
    Windows,
    /// Time ran out.
    Budget,
    /// The clock gave nothing usable.
    Clock,
}

/// What was measured of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// How it ended.
    pub end: End,
    /// Calls in a window.
    pub calls: u32,
    /// Clock units of each window, in the order of the rounds.
    pub windows: Vec<u64>,
    /// The statistic and its interval, in clock units of a window; `None` with too few windows.
    pub interval: Option<Interval>,
}

/// A statistic and the ends of its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The statistic.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Its width as a fraction of the statistic.
    pub fn width(&self) -> f64 {
        if self.value > 0.0 { (self.high - self.low) / self.value } else { f64::INFINITY }
    }
}

/// Most calls in a window: the point at which a clock that stands still is given up.
const MOST_CALLS: u32 = 1 << 22;
/// Windows in a row without a usable time, after which a candidate is given up.
const MOST_BROKEN: usize = 64;
/// Windows from which the number of calls is found.
const CALIBRATION: usize = 3;
/// How many rounds come between two looks at the intervals.
const LOOK: usize = 4;

struct Candidate {
    /// Calls in a window; `None` before its first round.
    calls: Option<u32>,
    windows: Vec<u64>,
    broken: usize,
}

/// Candidates that are measured side by side, one round at a time, so that between rounds code and buffers can be moved.
pub struct Sheet {
    goal: Goal,
    random: Random,
    candidates: Vec<Candidate>,
    live: Vec<usize>,
    rounds: usize,
}

impl Sheet {
    /// For candidates `0..entrants`.
    pub fn new(entrants: usize, goal: Goal) -> Sheet {
        let blank = || Candidate { calls: None, windows: Vec::new(), broken: 0 };
        Sheet {
            random: Random::new(goal.seed),
            goal,
            candidates: (0..entrants).map(|_| blank()).collect(),
            live: (0..entrants).collect(),
            rounds: 0,
        }
    }

    /// Those that are not finished.
    pub fn live(&self) -> &[usize] {
        &self.live
    }

    /// Times each candidate once, and tells of all when the last of them is known well enough, has the most windows, or time
    /// is up. A quarter of a window comes before each window and does not count: after a move everything about a candidate is
    /// cold.
    pub fn round(&mut self, bench: &mut dyn Bench, budget: &mut dyn Budget, done: &mut dyn FnMut(usize, Measurement)) {
        let first = self.random.below(self.live.len() as u64) as usize;
        self.live.rotate_left(first);
        for &index in &self.live {
            if !budget.left() {
                break;
            }
            let candidate = &mut self.candidates[index];
            let calls = match candidate.calls {
                Some(calls) => {
                    bench.window(index, calls.div_ceil(4));
                    calls
                }
                None => calibrate(bench, index, self.goal.window, budget),
            };
            candidate.calls = Some(calls);
            let sample = bench.window(index, calls);
            candidate.take(sample);
        }
        self.rounds += 1;
        let in_time = budget.left();
        let look = self.rounds.is_multiple_of(LOOK);
        let (goal, candidates) = (&self.goal, &mut self.candidates);
        // Who stops early is compared with who went on in other times: all stop together, but for those that cannot be measured.
        let over = self.live.iter().all(|&index| candidates[index].end(goal, in_time, look).is_some());
        self.live.retain(|&index| {
            let candidate = &mut candidates[index];
            match candidate.end(goal, in_time, look) {
                Some(end) if over || end == End::Clock => {
                    done(index, candidate.finish(end, goal));
                    false
                }
                _ => true,
            }
        });
    }
}

/// The number of calls that fill a window.
fn calibrate(bench: &mut dyn Bench, candidate: usize, window: u64, budget: &mut dyn Budget) -> u32 {
    let mut calls = 1_u32;
    loop {
        let mut fastest = u64::MAX;
        // The shortest of several: a first call is cold and may fill any window by itself.
        for _ in 0..CALIBRATION {
            if !budget.left() {
                return calls;
            }
            fastest = fastest.min(bench.window(candidate, calls).time.unwrap_or(0));
        }
        if fastest >= window || calls >= MOST_CALLS {
            return calls;
        }
        // As many more as are missing, and never more than 8 times as many on the word of a short window.
        let wanted = u128::from(calls) * u128::from(window) / u128::from(fastest.max(1)) + 1;
        calls = u32::try_from(wanted).unwrap_or(MOST_CALLS).clamp(calls + 1, calls.saturating_mul(8)).min(MOST_CALLS);
    }
}

impl Candidate {
    fn take(&mut self, sample: Sample) {
        match sample {
            Sample { time: Some(time @ 1..), core } if core != Core::Changed => {
                self.windows.push(time);
                self.broken = 0;
            }
            _ => self.broken += 1,
        }
    }

    fn interval(&self, goal: &Goal) -> Option<Interval> {
        let mut sorted = self.windows.clone();
        sorted.sort_unstable();
        let ends = quantile_interval(&sorted, goal.quantile, goal.level)?;
        let value = quantile(&sorted, goal.quantile)?;
        Some(Interval { value: value as f64, low: ends.low as f64, high: ends.high as f64 })
    }

    fn end(&self, goal: &Goal, in_time: bool, look: bool) -> Option<End> {
        let (fewest, most) = goal.windows;
        let count = self.windows.len();
        if self.broken >= MOST_BROKEN {
            return Some(End::Clock);
        }
        let due = count >= fewest && (look || count >= most || !in_time);
        if due && self.interval(goal).is_some_and(|interval| interval.width() <= goal.precision) {
            return Some(End::Precise);
        }
        if count >= most {
            return Some(End::Windows);
        }
        (!in_time).then_some(End::Budget)
    }

    fn finish(&mut self, end: End, goal: &Goal) -> Measurement {
        let interval = self.interval(goal);
        Measurement { end, calls: self.calls.unwrap_or(1), windows: std::mem::take(&mut self.windows), interval }
    }
}

/// Verified candidates on one set of buffers.
pub struct Bed<'a> {
    /// The buffers.
    pub arena: Arena,
    /// The candidates.
    pub entrants: &'a [Verified],
    /// The clock.
    pub clock: &'a dyn Clock,
    /// How calls follow each other.
    pub mode: Mode,
}

impl Bench for Bed<'_> {
    fn window(&mut self, candidate: usize, calls: u32) -> Sample {
        let Some(verified) = self.entrants.get(candidate) else {
            return Sample { time: None, core: Core::Unknown };
        };
        let (time, core) = match self.mode {
            Mode::Throughput => timed(self.clock, || self.arena.repeat(verified, calls)),
            Mode::Latency => timed(self.clock, || self.arena.chain(verified, calls)),
            Mode::Cold(evictor) => {
                let mut sum = (Some(0_u64), Core::Unknown);
                for _ in 0..calls {
                    evictor.run();
                    let (time, core) = timed(self.clock, || self.arena.repeat(verified, 1));
                    // What a reading of the clock takes is part of each call's time, and as large as the smallest step.
                    let net = time.map(|time| time.saturating_sub(self.clock.step()));
                    let moved = sum.1 != Core::Unknown && sum.1 != core;
                    sum = (
                        sum.0.zip(net).and_then(|(sum, net)| sum.checked_add(net)),
                        if moved { Core::Changed } else { core },
                    );
                }
                sum
            }
        };
        Sample { time, core }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::Unlimited;

    /// Each candidate takes so long a call, with noise from above now and then.
    struct Fake {
        times: Vec<u64>,
        random: Random,
        asked: u64,
    }

    impl Bench for Fake {
        fn window(&mut self, candidate: usize, calls: u32) -> Sample {
            self.asked += 1;
            let base = self.times[candidate] * u64::from(calls);
            let noise = self.random.below(base / 200 + 1) + if self.random.below(10) == 0 { base } else { 0 };
            Sample { time: Some(base + noise), core: Core::At(1) }
        }
    }

    /// Rounds until all are finished, with everything where it is.
    fn measure(
        bench: &mut dyn Bench,
        entrants: usize,
        goal: &Goal,
        budget: &mut dyn Budget,
        done: &mut dyn FnMut(usize, Measurement),
    ) {
        let mut sheet = Sheet::new(entrants, *goal);
        while !sheet.live().is_empty() {
            sheet.round(bench, budget, done);
        }
    }

    fn goal() -> Goal {
        Goal { precision: 0.01, level: 0.95, quantile: 0.25, windows: (16, 400), window: 1000, seed: 1 }
    }

    fn run(bench: &mut Fake, goal: &Goal, budget: &mut dyn Budget) -> Vec<Option<Measurement>> {
        let mut out: Vec<Option<Measurement>> = vec![None; bench.times.len()];
        let entrants = bench.times.len();
        measure(bench, entrants, goal, budget, &mut |index, measurement| {
            assert!(out[index].replace(measurement).is_none(), "each is finished once");
        });
        out
    }

    #[test]
    fn everyone_is_known_as_well_as_was_asked() {
        let mut bench = Fake { times: vec![100, 7, 2000, 100], random: Random::new(3), asked: 0 };
        let out = run(&mut bench, &goal(), &mut Unlimited);
        for (index, time) in [100.0, 7.0, 2000.0, 100.0].into_iter().enumerate() {
            let found = out[index].as_ref().unwrap();
            let interval = found.interval.unwrap();
            assert_eq!(found.end, End::Precise, "{found:?}");
            assert!(interval.width() <= 0.01 && found.windows.len() >= 16);
            let call = interval.value / f64::from(found.calls);
            assert!((time..time * 1.01).contains(&call), "{call} for {time}");
            assert!(u64::from(found.calls) * bench.times[index] >= 1000, "a window is long enough");
        }
        assert_eq!(out, run(&mut Fake { random: Random::new(3), ..bench }, &goal(), &mut Unlimited), "the same again");
    }

    #[test]
    fn a_clock_that_stands_still_or_a_budget_of_nothing_ends() {
        struct Dead;
        impl Bench for Dead {
            fn window(&mut self, _: usize, _: u32) -> Sample {
                Sample { time: Some(0), core: Core::Unknown }
            }
        }
        let mut ends = Vec::new();
        measure(&mut Dead, 3, &goal(), &mut Unlimited, &mut |_, found| ends.push((found.end, found.interval)));
        assert_eq!(ends, [(End::Clock, None); 3]);

        struct Nothing;
        impl Budget for Nothing {
            fn left(&mut self) -> bool {
                false
            }
        }
        let mut bench = Fake { times: vec![5, 6], random: Random::new(1), asked: 0 };
        let out = run(&mut bench, &goal(), &mut Nothing);
        assert!(out.iter().all(|found| found.as_ref().is_some_and(|found| found.end == End::Budget)));
        assert_eq!(bench.asked, 0);
    }
}
