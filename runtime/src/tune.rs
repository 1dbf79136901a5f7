//! From a kernel's variants to a decision for each size class: eligible, verified, raced. Runs no code that is not
//! [`Verified`], installs nothing (`dispatch` does) and stores nothing.

mod budget;
mod case;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use kiln_kernels::catalogue::{Kernel, Origin};

use crate::candidate::{Candidate, Exclusions, count_range, lineup};
use crate::detect::Native;
use crate::explain::{CaseReport, Reason, State};
use crate::settings::{Settings, TuneMode};
use crate::timer::{Clock, SystemClock};
use crate::verify::{Checker, Depth, Options as VerifyOptions, Prepare, Rejected, Verified};

pub use budget::CpuBudget;
use case::Case;

/// Most candidates in a start-up race.
pub const STARTUP_CANDIDATES: usize = 6;
/// CPU time that start-up races may take in a process.
pub const PROCESS_BUDGET: Duration = Duration::from_millis(20);
/// The part of it that one kernel may take at one use, 2 of 20 milliseconds; and twice that at all its uses together.
pub const KERNEL_SHARE: u32 = 10;

/// Who races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The spec's start-up variants, the CPU file's preference and a portable one, at most [`STARTUP_CANDIDATES`].
    Startup,
    /// Everyone.
    Everyone,
}

/// An earlier decision for a size class: variant names without `KERNEL/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// For `n` equal to the class.
    pub exact: String,
    /// For the other `n` of its range.
    pub near: String,
}

/// What a tuner goes by, as plain data.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to choose.
    pub mode: TuneMode,
    /// Who races.
    pub field: Field,
    /// How much to check before racing.
    pub depth: Depth,
    /// Seed of operands and rotations.
    pub seed: u64,
    /// Kernel to variant that must be used (without `KERNEL/`).
    pub force: BTreeMap<String, String>,
    /// Who is kept out.
    pub exclusions: Exclusions,
    /// The CPU file: kernel to preferred variant (without `KERNEL/`).
    pub prefer: BTreeMap<String, String>,
    /// Stored decisions to be used instead of a race: kernel, then size class.
    pub remembered: BTreeMap<String, BTreeMap<u64, Remembered>>,
    /// Decisions that a tie goes to: kernel, then size class.
    pub previous: BTreeMap<String, BTreeMap<u64, Remembered>>,
    /// Kernel to the function that brings random operands into its domain.
    pub prepare: BTreeMap<String, Prepare>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: TuneMode::Race,
            field: Field::Startup,
            depth: Depth::Quick,
            seed: 0x4b69_6c6e,
            force: BTreeMap::new(),
            exclusions: Exclusions::default(),
            prefer: BTreeMap::new(),
            remembered: BTreeMap::new(),
            previous: BTreeMap::new(),
            prepare: BTreeMap::new(),
        }
    }
}

impl Options {
    /// The defaults with the operator's overrides.
    pub fn from_settings(settings: &Settings) -> Options {
        Options {
            mode: settings.tune,
            force: settings.force.clone(),
            exclusions: Exclusions { deny: settings.deny.clone(), quarantined: BTreeMap::new() },
            ..Options::default()
        }
    }
}

/// What happens while a kernel is tuned.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A kernel's turn begins.
    Started {
        /// The kernel.
        kernel: &'static str,
        /// Number of its candidates.
        candidates: usize,
    },
    /// A candidate passed its check.
    Verified {
        /// The variant.
        variant: &'a str,
        /// Cases that ran.
        cases: u64,
    },
    /// A candidate failed its check.
    Quarantined {
        /// The variant.
        variant: &'a str,
        /// How.
        why: &'a str,
    },
    /// A race begins.
    Racing {
        /// The size class.
        case: &'a str,
        /// Number of candidates in it.
        entrants: usize,
    },
    /// A case is decided.
    Decided(&'a CaseReport),
}

/// Who serves a size class. Both are verified, so both may be installed; the reference serves where there is nobody.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The size class.
    pub n: u64,
    /// Serves `n` equal to the class; `None` if nothing passed.
    pub exact: Option<Verified>,
    /// Serves every `n`; `None` if nothing generic passed.
    pub near: Option<Verified>,
}

/// The outcome for a kernel.
#[derive(Clone, Debug, Default)]
pub struct Tuned {
    /// One for each size class: what was decided, and why.
    pub reports: Vec<CaseReport>,
    /// One for each size class: who serves it.
    pub choices: Vec<Choice>,
}

/// A kernel's candidates with what is known of them, and the size classes that are still open. Whoever keeps it can go on
/// where time ran out.
#[derive(Debug)]
pub struct Contest {
    kernel: &'static Kernel,
    contestants: Vec<Contestant>,
    checker: Checker,
    /// Classes that no race has decided and no override has settled.
    open: BTreeSet<u64>,
    /// Whether each class has had its turn.
    tried: bool,
}

impl Contest {
    /// The size classes for which time ran out before they were decided.
    pub fn open(&self) -> &BTreeSet<u64> {
        &self.open
    }

    /// Lets a class be as it is.
    pub fn close(&mut self, n: u64) {
        self.open.remove(&n);
    }
}

/// A candidate and what is known of it in this process.
#[derive(Debug)]
struct Contestant {
    candidate: Candidate,
    out: Option<(State, String)>,
    verified: Option<Verified>,
}

/// Tunes kernels, one at a time.
pub struct Tuner {
    cpu: Native,
    clock: Box<dyn Clock + Send>,
    options: Options,
}

impl Tuner {
    /// A tuner for this CPU with its best clock.
    pub fn new(cpu: Native, options: Options) -> Tuner {
        let clock = Box::new(SystemClock::new(&cpu));
        Tuner::with_clock(cpu, clock, options)
    }

    /// A tuner with a clock of the caller's.
    pub fn with_clock(cpu: Native, clock: Box<dyn Clock + Send>, options: Options) -> Tuner {
        Tuner { cpu, clock, options }
    }

    /// The CPU.
    pub fn cpu(&self) -> &Native {
        &self.cpu
    }

    /// The clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// What it goes by. Candidates that failed here are in `exclusions.quarantined`.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What it goes by, to change.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Decides every size class of a kernel, within a CPU time of `budget` if there is one. Nothing is installed.
    ///
    /// `extra` are candidates made at run time; [`lineup`] says who of them takes part.
    pub fn tune(
        &mut self,
        kernel: &'static Kernel,
        extra: Vec<Candidate>,
        budget: Option<Duration>,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Tuned {
        let mut contest = self.enter(kernel, extra);
        self.decide(&mut contest, None, budget, progress)
    }

    /// Gets a kernel ready to be tuned. Nothing is run yet.
    pub fn enter(&self, kernel: &'static Kernel, extra: Vec<Candidate>) -> Contest {
        let classes = if kernel.sizes.is_empty() { vec![*count_range(kernel).start()] } else { kernel.sizes.to_vec() };
        let options = VerifyOptions {
            seed: self.options.seed,
            depth: self.options.depth,
            prepare: self.options.prepare.get(kernel.name).copied(),
            ..VerifyOptions::default()
        };
        Contest {
            kernel,
            contestants: self.contestants(kernel, extra),
            checker: Checker::new(kernel, options),
            open: classes.into_iter().collect(),
            tried: false,
        }
    }

    /// Decides the size classes that are open, within a CPU time of `budget` if there is one: `first` before the others,
    /// which share what it leaves. Those for which time runs out stay open; they are in the outcome the first time, with
    /// the best that is known, and later only if they are decided.
    pub fn decide(
        &mut self,
        contest: &mut Contest,
        first: Option<u64>,
        budget: Option<Duration>,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Tuned {
        progress(Event::Started { kernel: contest.kernel.name, candidates: contest.contestants.len() });
        let mut budget = CpuBudget::new(budget);
        let mut order: Vec<u64> = contest.open.iter().copied().collect();
        order.sort_by_key(|&n| first != Some(n));
        let mut decided = BTreeMap::new();
        for (index, &n) in order.iter().enumerate() {
            let parts = if first == Some(n) { 1 } else { (order.len() - index) as u32 };
            let case = Case { tuner: self, contest, n, budget: &mut budget, parts, progress };
            let (report, choice) = case.decide();
            progress(Event::Decided(&report));
            let out_of_time = report.reason == Reason::Budget;
            if !out_of_time {
                contest.close(n);
            }
            if !(out_of_time && contest.tried) {
                decided.insert(n, (report, choice));
            }
        }
        contest.tried = true;
        let (reports, choices): (Vec<_>, Vec<_>) = decided.into_values().unzip();
        Tuned { reports, choices }
    }

    fn contestants(&self, kernel: &'static Kernel, extra: Vec<Candidate>) -> Vec<Contestant> {
        let exclusions = &self.options.exclusions;
        lineup(kernel, extra)
            .into_iter()
            .map(|candidate| {
                let name = candidate.name();
                let out = if let Err(why) = candidate.eligible(kernel, &self.cpu) {
                    Some((State::Ineligible, why.to_string()))
                } else if let Some(pattern) = exclusions.denies(name) {
                    Some((State::Denied, format!("denied by {:?}", pattern.to_string())))
                } else {
                    exclusions.quarantined.get(name).map(|why| (State::Quarantined, why.clone()))
                };
                Contestant { candidate, out, verified: None }
            })
            .collect()
    }

    /// The verified form of a contestant; checks it if it has not been. A failure is a quarantine for good.
    fn verified(
        &mut self,
        contest: &mut Contest,
        index: usize,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Option<Verified> {
        let contestant = &contest.contestants[index];
        if contestant.out.is_some() || contestant.verified.is_some() {
            return contestant.verified.clone();
        }
        let everyone = self.options.field == Field::Everyone;
        let racers = contest.contestants.iter().filter(|other| other.out.is_none());
        let racers = racers.map(|other| &other.candidate).filter(|other| everyone || other.startup());
        let outcome = contest.checker.verify(&contestant.candidate, racers, &self.cpu);
        let contestant = &mut contest.contestants[index];
        let name = contestant.candidate.name();
        match outcome {
            Ok(verified) => {
                progress(Event::Verified { variant: name, cases: verified.report().cases });
                contestant.verified = Some(verified);
            }
            Err(Rejected::Ineligible(why)) => contestant.out = Some((State::Ineligible, why.to_string())),
            Err(rejected @ Rejected::Failed(_)) => {
                let why = rejected.to_string();
                progress(Event::Quarantined { variant: name, why: &why });
                self.options.exclusions.quarantined.insert(name.to_owned(), why.clone());
                contestant.out = Some((State::Quarantined, why));
            }
        }
        contestant.verified.clone()
    }
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner").field("cpu", &self.cpu).field("options", &self.options).finish_non_exhaustive()
    }
}

/// The portable variant's place in the catalogue: that of the start-up race, if there is one.
fn portable(contestants: &[Contestant]) -> Option<usize> {
    let find = |startup: bool| {
        contestants.iter().position(|contestant| {
            let candidate = &contestant.candidate;
            candidate.origin() == Origin::Portable && (candidate.startup() || !startup)
        })
    };
    find(true).or_else(|| find(false))
}
