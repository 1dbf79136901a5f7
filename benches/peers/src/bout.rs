//! One kernel at one n: a race among Kiln's variants for who comes to the final, then one interleaved race of the finalists
//! and the peers, on the same buffers, in which nobody leaves.

use std::time::{Duration, Instant};

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::race::{Bench, Budget, Entrant, Measured, Rules, Sample, Unlimited, race};
use kiln_runtime::timer::{Clock, Core, SystemClock};
use kiln_runtime::verify::{Arena, NoMemory, Verified};

/// Kiln's variants of each sort (any n, this n alone) that come to the final.
const FINALISTS: usize = 4;
/// Seed of operands and rotations.
const SEED: u64 = 0x4b69_6c6e;

/// How long a final lasts.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// Rounds that count.
    Rounds(u32),
    /// Time.
    Time(Duration),
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

/// The variants that come to the final: the fastest that serve every n, and the fastest that serve this one alone.
pub fn finalists<'a>(
    kernel: &'static Kernel,
    n: u64,
    variants: &'a [Verified],
    clock: &SystemClock,
) -> Result<Vec<&'a Verified>, NoMemory> {
    let variants: Vec<&Verified> = variants.iter().filter(|variant| variant.serves(n)).collect();
    let rules = Rules { finalists: FINALISTS, ..Rules::new(clock.microsecond(), clock.step(), SEED ^ n) };
    // Each sort has a race of its own: in one, whoever loses to the other sort leaves before the order is known.
    let mut chosen = Vec::new();
    for generic in [true, false] {
        let field: Vec<&Verified> =
            variants.iter().copied().filter(|variant| variant.candidate().exact().is_none() == generic).collect();
        if field.len() <= FINALISTS {
            chosen.extend(field);
            continue;
        }
        let bout = run(kernel, n, &field, clock, &rules, &mut Unlimited)?;
        let mut order: Vec<(f64, &Verified)> =
            bout.measured.iter().zip(field).filter_map(|(measured, who)| Some((measured.time?, who))).collect();
        order.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        chosen.extend(order.into_iter().take(FINALISTS).map(|(_, who)| who));
    }
    Ok(chosen)
}

/// The final: everyone to the end. `seed` is for the order in the rounds.
pub fn last(
    kernel: &'static Kernel,
    n: u64,
    contenders: &[&Verified],
    clock: &SystemClock,
    window: u64,
    length: Length,
    seed: u64,
) -> Result<Bout, NoMemory> {
    let rounds = match length {
        Length::Rounds(rounds) => rounds as usize,
        Length::Time(_) => 100_000,
    };
    let rules = Rules {
        window: clock.microsecond().saturating_mul(window).max(clock.step().saturating_mul(40)),
        cuts: [(1, f64::INFINITY); 3],
        finalists: usize::MAX,
        final_rounds: (rounds, rounds),
        clear_rounds: rounds,
        ..Rules::new(clock.microsecond(), clock.step(), SEED.rotate_left(32) ^ n ^ seed.rotate_left(16))
    };
    match length {
        Length::Rounds(_) => run(kernel, n, contenders, clock, &rules, &mut Unlimited),
        Length::Time(time) => run(kernel, n, contenders, clock, &rules, &mut Until(Instant::now() + time)),
    }
}

fn run(
    kernel: &'static Kernel,
    n: u64,
    contenders: &[&Verified],
    clock: &SystemClock,
    rules: &Rules,
    budget: &mut dyn Budget,
) -> Result<Bout, NoMemory> {
    let arena = Arena::for_timing(kernel, n, SEED ^ n, None)?;
    let entrants: Vec<Entrant> = contenders
        .iter()
        .map(|who| Entrant { generic: who.candidate().exact().is_none(), ..Entrant::default() })
        .collect();
    let outcome = race(&mut Timed { arena, contenders, clock }, &entrants, rules, budget);
    Ok(Bout { measured: outcome.measured, calls: outcome.calls, thrown: outcome.thrown })
}

struct Until(Instant);

impl Budget for Until {
    fn left(&mut self) -> bool {
        Instant::now() < self.0
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
        // With dozens of contenders nobody's code and branches are still at hand from the round before: they are fetched
        // before the clock is read, for all alike.
        self.arena.repeat(verified, calls / 8 + 1);
        let begin = self.clock.read();
        self.arena.repeat(verified, calls);
        let end = self.clock.read();
        Sample {
            time: end.time.checked_sub(begin.time),
            core: if begin.core == end.core { begin.core } else { Core::Changed },
        }
    }
}
