//! A bout: a race among Kiln's variants for who comes to the final, then one interleaved race of the finalists and the peers,
//! on the same buffers, in which nobody leaves.

use std::time::{Duration, Instant};

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::race::{Bench, Budget, Entrant, Measured, Rules, Sample, Unlimited, race};
use kiln_runtime::timer::{Clock, Core, SystemClock};
use kiln_runtime::verify::{Arena, NoMemory, Verified};

use crate::args::Measuring;

/// Seed of operands and rotations.
const SEED: u64 = 0x4b69_6c6e;

/// How long a final lasts.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Rounds that count.
    rounds: usize,
    /// No longer than this.
    time: Option<Duration>,
    /// Microseconds in a window.
    window: u64,
    /// Windows that are run however long they take.
    owed: u32,
}

impl Length {
    /// That of one pass.
    pub fn new(asked: &Measuring) -> Length {
        let time = asked.seconds.map(|seconds| Duration::from_secs_f64(seconds / f64::from(asked.passes)));
        let rounds = if time.is_some() { 100_000 } else { asked.rounds as usize };
        Length { rounds, time, window: asked.window, owed: 0 }
    }

    /// So many seconds for one pass of so many contenders, and as much longer as it takes that three rounds count.
    pub fn timed(seconds: f64, window: u64, contenders: usize) -> Length {
        // Calibration is three windows of the first and of each, if one call fills a window; then a round that warms up, one
        // before the final, and those.
        let owed = 3 + (3 + 1 + 1 + 3) * u32::try_from(contenders).unwrap_or(0);
        Length { rounds: 100_000, time: Some(Duration::from_secs_f64(seconds)), window, owed }
    }
}

/// What a race was like.
#[derive(Clone, Debug)]
pub struct Bout {
    /// One for each contender, in ticks a call.
    pub measured: Vec<Measured>,
    /// Calls in a window.
    pub calls: u32,
    /// Rounds that were thrown away.
    pub thrown: u32,
}

impl Bout {
    /// Time of everyone together: the less, the calmer the machine was.
    pub fn total(&self) -> f64 {
        self.measured.iter().map(|measured| measured.time.unwrap_or(f64::INFINITY)).sum()
    }
}

/// The variants that come to the final: the `most` fastest of those that serve every n, and of those that serve this one
/// alone.
pub fn finalists<'a>(
    kernel: &'static Kernel,
    n: u64,
    mut variants: Vec<&'a Verified>,
    most: usize,
    clock: &SystemClock,
) -> Result<Vec<&'a Verified>, NoMemory> {
    variants.retain(|variant| variant.serves(n));
    let rules = Rules { finalists: most, ..Rules::new(clock.microsecond(), clock.step(), SEED ^ n) };
    // Each sort has a race of its own: in one, whoever loses to the other sort leaves before the order is known.
    let mut chosen = Vec::new();
    for generic in [true, false] {
        let field: Vec<&Verified> =
            variants.iter().copied().filter(|variant| variant.candidate().exact().is_none() == generic).collect();
        if field.len() <= most {
            chosen.extend(field);
            continue;
        }
        let entrants = entrants(&field);
        let arena = Arena::for_timing(kernel, n, SEED ^ n, None)?;
        let outcome = race(&mut Timed { arena, contenders: &field, clock }, &entrants, &rules, &mut Unlimited);
        let mut order: Vec<(f64, &Verified)> =
            outcome.measured.iter().zip(field).filter_map(|(measured, who)| Some((measured.time?, who))).collect();
        order.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        chosen.extend(order.into_iter().take(most).map(|(_, who)| who));
    }
    Ok(chosen)
}

/// The final of a kernel: everyone to the end. `seed` is for the order in the rounds.
pub fn last(
    kernel: &'static Kernel,
    n: u64,
    contenders: &[&Verified],
    clock: &SystemClock,
    length: Length,
    seed: u64,
) -> Result<Bout, NoMemory> {
    let arena = Arena::for_timing(kernel, n, SEED ^ n, None)?;
    Ok(to_the_end(&mut Timed { arena, contenders, clock }, &entrants(contenders), clock, length, n ^ seed << 16))
}

/// A race in which nobody leaves.
pub fn to_the_end(bench: &mut dyn Bench, entrants: &[Entrant], clock: &SystemClock, length: Length, seed: u64) -> Bout {
    let rules = Rules {
        window: clock.microsecond().saturating_mul(length.window).max(clock.step().saturating_mul(40)),
        cuts: [(1, f64::INFINITY); 3],
        finalists: usize::MAX,
        final_rounds: (length.rounds, length.rounds),
        clear_rounds: length.rounds,
        ..Rules::new(clock.microsecond(), clock.step(), SEED.rotate_left(32) ^ seed)
    };
    let outcome = match length.time {
        None => race(bench, entrants, &rules, &mut Unlimited),
        Some(time) => race(bench, entrants, &rules, &mut Until { end: Instant::now() + time, owed: length.owed }),
    };
    Bout { measured: outcome.measured, calls: outcome.calls, thrown: outcome.thrown }
}

/// One window of a contender: some calls that are not timed, then those that are. With dozens of contenders nobody's code and
/// branches are still at hand from the round before: they are fetched before the clock is read, for all alike.
pub fn window(clock: &SystemClock, calls: u32, mut repeat: impl FnMut(u32)) -> Sample {
    repeat(calls / 8 + 1);
    let begin = clock.read();
    repeat(calls);
    let end = clock.read();
    Sample {
        time: end.time.checked_sub(begin.time),
        core: if begin.core == end.core { begin.core } else { Core::Changed },
    }
}

fn entrants(contenders: &[&Verified]) -> Vec<Entrant> {
    let entrant = |who: &&Verified| Entrant { generic: who.candidate().exact().is_none(), ..Entrant::default() };
    contenders.iter().map(entrant).collect()
}

struct Until {
    end: Instant,
    /// Windows for which there is time in any case.
    owed: u32,
}

impl Budget for Until {
    fn left(&mut self) -> bool {
        let owed = self.owed > 0;
        self.owed = self.owed.saturating_sub(1);
        owed || Instant::now() < self.end
    }
}

/// Everyone on one set of buffers.
struct Timed<'a> {
    arena: Arena,
    contenders: &'a [&'a Verified],
    clock: &'a SystemClock,
}

impl Bench for Timed<'_> {
    fn window(&mut self, candidate: usize, calls: u32) -> Sample {
        let Some(verified) = self.contenders.get(candidate) else {
            return Sample { time: None, core: Core::Unknown };
        };
        window(self.clock, calls, |calls| self.arena.repeat(verified, calls))
    }
}
