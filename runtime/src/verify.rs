//! Checks a candidate against the kernel's reference before it may be timed or used: a [`Candidate`] in, a
//! [`Verified`] one or the reason out.
//!
//! Each case draws operands from a seed, computes the expected result with the reference on memory of its own, and
//! calls the candidate through a trampoline with canaries or guard pages around every buffer. Results, inputs, stray
//! writes, callee-saved registers, direction flag, MXCSR and x87 state are compared. A read past a buffer and an
//! endless loop cannot be seen in process; `isolate` turns those into findings.

mod arena;
mod known;
mod memory;
mod operands;
#[cfg(target_arch = "x86_64")]
mod trampoline;

use std::fmt;

use kiln_codegen::isa::feature::Feature;
use kiln_kernels::catalogue::{Access, ArgumentKind, Entry, Kernel};

use crate::candidate::{Candidate, Ineligible, count_range};
use crate::detect::Native;
use crate::random::Random;

pub use arena::Arena;
pub use known::{Known, known};
pub use memory::{NoMemory, Placement};
pub use operands::{Aliasing, Operand, Pattern, Prepare};

/// How much to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Each tail and each size class twice: tens of microseconds, for start-up.
    Quick,
    /// Every pattern and every aliasing at each `n`, and this many random cases more, at guard pages too.
    Full {
        /// Random cases for each `n` and aliasing.
        cases: u32,
    },
}

/// How to check.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Every operand follows from it.
    pub seed: u64,
    /// How much.
    pub depth: Depth,
    /// Whether buffers also lie flush against pages that fault. A fault ends the process, so only in a child.
    pub guard_pages: bool,
    /// Brings operands into the domain of the contract.
    pub prepare: Option<Prepare>,
    /// How many failures the report keeps.
    pub keep: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 0x4b69_6c6e, depth: Depth::Quick, guard_pages: false, prepare: None, keep: 8 }
    }
}

/// What went wrong in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An output differs; its argument.
    WrongResult(&'static str),
    /// The returned limb differs.
    WrongReturn,
    /// An input was changed; its argument.
    InputChanged(&'static str),
    /// Bytes before a buffer were changed; its argument.
    WroteBefore(&'static str),
    /// Bytes after a buffer were changed; its argument.
    WroteAfter(&'static str),
    /// A callee-saved register was lost.
    Register(&'static str, u64, u64),
    /// The direction flag was left set.
    DirectionFlag,
    /// The control bits of MXCSR were changed.
    Mxcsr(u32, u32),
    /// The x87 state was changed; which part.
    X87(&'static str, u16, u16),
    /// There is no memory for the operands, so nothing was checked.
    NoMemory,
}

impl Kind {
    /// Whether the process may not go on with the candidate: it may already be damaged.
    fn is_fatal(&self) -> bool {
        match self {
            Kind::WrongResult(_) | Kind::WrongReturn => false,
            Kind::InputChanged(_)
            | Kind::WroteBefore(_)
            | Kind::WroteAfter(_)
            | Kind::Register(..)
            | Kind::DirectionFlag
            | Kind::Mxcsr(..)
            | Kind::X87(..)
            | Kind::NoMemory => true,
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl From<trampoline::Disturbed> for Kind {
    fn from(disturbed: trampoline::Disturbed) -> Kind {
        match disturbed {
            trampoline::Disturbed::Register { name, expected, got } => Kind::Register(name, expected, got),
            trampoline::Disturbed::DirectionFlag => Kind::DirectionFlag,
            trampoline::Disturbed::Mxcsr { expected, got } => Kind::Mxcsr(expected, got),
            trampoline::Disturbed::X87 { what, expected, got } => Kind::X87(what, expected, got),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::WrongResult(argument) => write!(f, "wrong result in {argument}"),
            Kind::WrongReturn => f.write_str("wrong limb returned"),
            Kind::InputChanged(argument) => write!(f, "changed its input {argument}"),
            Kind::WroteBefore(argument) => write!(f, "wrote before the start of {argument}"),
            Kind::WroteAfter(argument) => write!(f, "wrote past the end of {argument}"),
            Kind::Register(name, expected, got) => write!(f, "lost {name}: 0x{expected:x} became 0x{got:x}"),
            Kind::DirectionFlag => f.write_str("left the direction flag set"),
            Kind::Mxcsr(expected, got) => write!(f, "changed MXCSR: 0x{expected:x} became 0x{got:x}"),
            Kind::X87(what, expected, got) => write!(f, "changed the x87 {what}: 0x{expected:x} became 0x{got:x}"),
            Kind::NoMemory => f.write_str("no memory for the operands"),
        }
    }
}

/// A case that failed, with all it takes to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The case's own seed.
    pub seed: u64,
    /// The first count.
    pub n: u64,
    /// Which arguments shared a pointer.
    pub aliasing: String,
    /// Where the buffers lay.
    pub placement: Placement,
    /// Argument and value before the call.
    pub operands: Vec<(&'static str, String)>,
    /// What the reference computes there; empty if the kind is not about a value.
    pub expected: String,
    /// What the candidate computed.
    pub got: String,
    /// What is wrong.
    pub kind: Kind,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at n = {} (aliasing {}, {}, seed {:#x})",
            self.kind,
            self.n,
            self.aliasing,
            self.placement.word(),
            self.seed
        )?;
        for (name, value) in &self.operands {
            write!(f, "\n  {name} = {value}")?;
        }
        if !self.expected.is_empty() {
            write!(f, "\n  expected {}\n  got      {}", self.expected, self.got)?;
        }
        Ok(())
    }
}

/// The outcome of checking one candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Cases that ran.
    pub cases: u64,
    /// Cases that failed.
    pub failed: u64,
    /// The first of the failures, at most as many as asked for.
    pub failures: Vec<Failure>,
}

impl Report {
    /// The first failure in one line.
    pub fn summary(&self) -> Option<String> {
        let first = self.failures.first()?;
        Some(format!("{} at n = {} ({} of {} cases failed)", first.kind, first.n, self.failed, self.cases))
    }
}

/// A candidate that may be timed and used: it is eligible here and passed every case. Only [`verify`] makes one.
#[derive(Clone, Debug)]
pub struct Verified {
    kernel: &'static Kernel,
    candidate: Candidate,
    report: Report,
}

impl Verified {
    /// The kernel whose contract it keeps.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The candidate.
    pub fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// What was checked.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The function.
    pub fn entry(&self) -> Entry {
        self.candidate.entry()
    }

    /// Whether it may be called with this `n`.
    pub fn serves(&self, n: u64) -> bool {
        self.candidate.exact().is_none_or(|exact| exact == n)
    }
}

/// Why a candidate is not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It may not run here, and did not.
    Ineligible(Ineligible),
    /// It ran and failed.
    Failed(Report),
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejected::Ineligible(why) => why.fmt(f),
            Rejected::Failed(report) => f.write_str(report.summary().as_deref().unwrap_or("failed")),
        }
    }
}

impl std::error::Error for Rejected {}

/// Checks a candidate.
///
/// # Errors
/// Why it may not run here, or the report of its failures.
pub fn verify(
    kernel: &'static Kernel,
    candidate: &Candidate,
    cpu: &Native,
    options: &Options,
) -> Result<Verified, Rejected> {
    candidate.eligible(kernel, cpu).map_err(Rejected::Ineligible)?;
    let mmx = candidate.features().is_ok_and(|features| features.contains(Feature::Mmx));
    let mut report = Report::default();
    for case in cases(kernel, Lengths::of(candidate), options) {
        report.cases += 1;
        // `eligible` has checked that the entry is for this contract and that this CPU has its features.
        let failures = case.run(kernel, candidate.entry(), mmx, options.prepare);
        if failures.is_empty() {
            continue;
        }
        report.failed += 1;
        let fatal = failures.iter().any(|failure| failure.kind.is_fatal());
        let room = options.keep.max(1).saturating_sub(report.failures.len());
        report.failures.extend(failures.into_iter().take(room));
        if fatal {
            break;
        }
    }
    if report.failed == 0 {
        Ok(Verified { kernel, candidate: candidate.clone(), report })
    } else {
        Err(Rejected::Failed(report))
    }
}

/// What the lengths to check depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// The only `n` that the variant serves, if there is only one.
    pub exact: Option<u64>,
    /// Its unroll factor, if it has one.
    pub unroll: Option<u64>,
}

impl Lengths {
    /// Those of a candidate.
    pub fn of(candidate: &Candidate) -> Lengths {
        Lengths { exact: candidate.exact(), unroll: candidate.unroll() }
    }
}

struct Case {
    seed: u64,
    n: u64,
    pattern: Option<Pattern>,
    aliasing: Aliasing,
    placement: Placement,
}

/// Most limbs in a checked operand: the contract may allow more than there is memory for.
const LARGEST: u64 = 4096;

/// Every `n` to check: each tail of the unrolled body, each size class with its neighbours, and some beyond.
fn counts(kernel: &Kernel, lengths: Lengths, depth: Depth) -> Vec<u64> {
    let range = count_range(kernel);
    if let Some(exact) = lengths.exact {
        return vec![exact];
    }
    let unroll = lengths.unroll.unwrap_or(4).clamp(1, 64);
    let mut counts: Vec<u64> = (0..=3 * unroll + 2).collect();
    for &size in kernel.sizes {
        counts.extend([size.saturating_sub(1), size, size.saturating_add(1)]);
    }
    counts.push(*range.start());
    if depth != Depth::Quick {
        counts.extend([100, 127, 129, 255, 257, 1000, (*range.end()).min(LARGEST)]);
    }
    counts.retain(|n| range.contains(n) && *n <= LARGEST.max(*range.start()));
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn cases(kernel: &Kernel, lengths: Lengths, options: &Options) -> Vec<Case> {
    let aliasings = Aliasing::all(kernel);
    let mut seeds = Random::new(options.seed);
    let mut cases = Vec::new();
    let mut add = |n, pattern, aliasing: &Aliasing, placement| {
        cases.push(Case { seed: seeds.word(), n, pattern, aliasing: aliasing.clone(), placement });
    };
    for (index, n) in counts(kernel, lengths, options.depth).into_iter().enumerate() {
        match options.depth {
            Depth::Quick => {
                let turn = |by: usize| &aliasings[(index + by) % aliasings.len()];
                add(n, None, turn(0), Placement::Canaries);
                add(n, Some(Pattern::Ones), turn(1), Placement::Canaries);
                if lengths.exact.is_some() {
                    // One n alone: as many operands as the others get in all their tails.
                    for by in 0..16 {
                        add(n, Some(Pattern::ALL[by % Pattern::ALL.len()]), turn(by), Placement::Canaries);
                    }
                }
            }
            Depth::Full { cases: more } => {
                for aliasing in &aliasings {
                    for pattern in Pattern::ALL {
                        add(n, Some(pattern), aliasing, Placement::Canaries);
                    }
                    for _ in 0..more {
                        add(n, None, aliasing, Placement::Canaries);
                    }
                }
            }
        }
        if options.guard_pages {
            for aliasing in &aliasings {
                add(n, None, aliasing, Placement::GuardAfter);
                add(n, None, aliasing, Placement::GuardBefore);
            }
        }
    }
    cases
}

impl Case {
    fn run(&self, kernel: &'static Kernel, entry: Entry, mmx: bool, prepare: Option<Prepare>) -> Vec<Failure> {
        let mut random = Random::new(self.seed);
        let mut operands = operands::draw_prepared(kernel, self.n, self.pattern, prepare, &mut random);
        self.aliasing.share(&mut operands);
        let apart = Aliasing((0..operands.len()).collect());
        let arenas = Arena::new(kernel, self.n, operands.clone(), &apart, Placement::Canaries, &mut random).and_then(
            |expected| {
                let actual = Arena::new(kernel, self.n, operands.clone(), &self.aliasing, self.placement, &mut random)?;
                Ok((expected, actual))
            },
        );
        let failure = |kind, expected: String, got: String| Failure {
            seed: self.seed,
            n: self.n,
            aliasing: self.aliasing.words(kernel),
            placement: self.placement,
            operands: kernel.arguments.iter().map(|a| a.name).zip(operands.iter().map(Operand::hex)).collect(),
            expected,
            got,
            kind,
        };
        let Ok((mut expected, mut actual)) = arenas else {
            return vec![failure(Kind::NoMemory, String::new(), String::new())];
        };
        let expected_return = expected.call_reference();
        // SAFETY: `verify`, the only caller, has checked that the entry belongs to a candidate for this contract whose
        // features this CPU has.
        let (mut returned, state) = unsafe { actual.call_checked(entry, mmx) };

        let mut failures: Vec<Failure> =
            state.into_iter().map(|kind| failure(kind, String::new(), String::new())).collect();
        if let Some(kind) = actual.stray_write() {
            failures.push(failure(kind, String::new(), String::new()));
        }
        let mut limb_bits = 64;
        for (index, argument) in kernel.arguments.iter().enumerate().rev() {
            match argument.kind {
                ArgumentKind::Limbs { bits, .. } | ArgumentKind::Limb { bits } => limb_bits = bits,
                ArgumentKind::Count { .. } => {}
            }
            let (Some(want), Some(got)) = (expected.limbs(index), actual.limbs(index)) else { continue };
            let bits = limb_bits;
            let kind = match argument.access {
                Access::Out | Access::InOut if want != got => Kind::WrongResult(argument.name),
                Access::In if actual.is_read_only(index) && want != got => Kind::InputChanged(argument.name),
                Access::In | Access::Out | Access::InOut => continue,
            };
            failures.push(failure(kind, operands::hex(bits, &want), operands::hex(bits, &got)));
        }
        if kernel.returns {
            if limb_bits < 64 {
                returned &= (1 << limb_bits) - 1;
            }
            if returned != expected_return {
                let hex = |limb: u64| format!("0x{limb:x}");
                failures.push(failure(Kind::WrongReturn, hex(expected_return), hex(returned)));
            }
        }
        failures
    }
}
