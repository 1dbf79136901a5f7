//! From a kernel's variants to a decision for each size class: eligible, verified, raced. Runs no code that is not
//! [`Verified`], installs nothing (`dispatch` does) and stores nothing.

mod budget;
mod case;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use kiln_kernels::catalogue::{Kernel, Origin};

use crate::candidate::{Candidate, Exclusions, count_range};
use crate::detect::Native;
use crate::explain::{CaseReport, State};
use crate::settings::{Settings, TuneMode};
use crate::timer::{Clock, SystemClock};
use crate::verify::{Depth, Options as VerifyOptions, Prepare, Rejected, Verified, verify};

pub use budget::CpuBudget;
use case::Case;

/// Most candidates in a start-up race.
pub const STARTUP_CANDIDATES: usize = 6;
/// CPU time that start-up races may take in a process.
pub const PROCESS_BUDGET: Duration = Duration::from_millis(20);
/// The part of it that one kernel may take: 2 of 20 milliseconds.
pub const KERNEL_SHARE: u32 = 10;

/// Who races.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The spec's start-up variants, the CPU file's preference and portable, at most [`STARTUP_CANDIDATES`].
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

/// Who serves a size class. Both are verified, so both may be installed.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The size class.
    pub n: u64,
    /// Serves `n` equal to the class.
    pub exact: Verified,
    /// Serves every `n`; `None` if nothing generic passed.
    pub near: Option<Verified>,
}

/// The outcome for a kernel.
#[derive(Clone, Debug, Default)]
pub struct Tuned {
    /// One for each size class: what was decided, and why.
    pub reports: Vec<CaseReport>,
    /// One for each size class for which anything passed.
    pub choices: Vec<Choice>,
}

/// A candidate and what is known of it in this process.
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
    /// `extra` are candidates made at run time. One that is the twin of another (same name, or same instructions for the
    /// same sizes) does not take part.
    pub fn tune(
        &mut self,
        kernel: &'static Kernel,
        extra: Vec<Candidate>,
        budget: Option<Duration>,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Tuned {
        let mut contestants = self.contestants(kernel, extra);
        progress(Event::Started { kernel: kernel.name, candidates: contestants.len() });
        let budget = CpuBudget::new(budget);
        let classes: Vec<u64> =
            if kernel.sizes.is_empty() { vec![*count_range(kernel).start()] } else { kernel.sizes.to_vec() };
        let mut tuned = Tuned::default();
        for (index, &n) in classes.iter().enumerate() {
            let mut share = budget.share((classes.len() - index) as u32);
            let case = Case { tuner: self, kernel, n, contestants: &mut contestants, budget: &mut share, progress };
            let (report, choice) = case.decide();
            progress(Event::Decided(&report));
            tuned.reports.push(report);
            tuned.choices.extend(choice);
        }
        tuned
    }

    fn contestants(&self, kernel: &'static Kernel, extra: Vec<Candidate>) -> Vec<Contestant> {
        let mut all: Vec<Candidate> = kernel.variants.iter().map(Candidate::shipped).collect();
        let mut names: BTreeSet<String> = all.iter().map(|candidate| candidate.name().to_owned()).collect();
        let code = |candidate: &Candidate| (candidate.code_hash().to_owned(), candidate.exact());
        let mut codes: BTreeSet<_> = all.iter().map(code).collect();
        for candidate in extra {
            // Twins never race each other.
            let unknown_code = candidate.code_hash().is_empty();
            if names.insert(candidate.name().to_owned()) && (codes.insert(code(&candidate)) || unknown_code) {
                all.push(candidate);
            }
        }
        let exclusions = &self.options.exclusions;
        all.into_iter()
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
        kernel: &'static Kernel,
        contestant: &mut Contestant,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Option<Verified> {
        if contestant.out.is_some() {
            return None;
        }
        if contestant.verified.is_none() {
            let name = contestant.candidate.name();
            let options = VerifyOptions {
                seed: self.options.seed,
                depth: self.options.depth,
                prepare: self.options.prepare.get(kernel.name).copied(),
                ..VerifyOptions::default()
            };
            match verify(kernel, &contestant.candidate, &self.cpu, &options) {
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
        }
        contestant.verified.clone()
    }
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner").field("cpu", &self.cpu).field("options", &self.options).finish_non_exhaustive()
    }
}

/// The portable variant's place in the catalogue.
fn portable(contestants: &[Contestant]) -> Option<usize> {
    contestants.iter().position(|contestant| contestant.candidate.origin() == Origin::Portable)
}
