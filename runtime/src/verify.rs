//! Checks a candidate against the kernel's reference before it may be timed or used: a [`Candidate`] in, a
//! [`Verified`] one or the reason out.
//!
//! Each case draws operands from a seed, computes the expected result with the reference on memory of its own, and
//! calls the candidate through a trampoline with canaries or guard pages around every buffer. Results, inputs, stray
//! writes, callee-saved registers, direction flag, MXCSR and x87 state are compared. A read past a buffer and an
//! endless loop cannot be seen in process; `isolate` turns those into findings.

mod arena;
mod cases;
mod drawn;
mod known;
mod memory;
mod operands;
#[cfg(target_arch = "x86_64")]
mod trampoline;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use kiln_codegen::isa::feature::Feature;
use kiln_kernels::catalogue::{Entry, Kernel};

use crate::candidate::{Candidate, Ineligible};
use crate::detect::Native;
use cases::cases;
use drawn::{Drawer, Drawn};

pub use arena::Arena;
pub use cases::Lengths;
pub use known::{Known, known, operands as random_operands};
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
    /// The upper half of this ymm register was not cleared.
    UpperHalf(u8),
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
            | Kind::UpperHalf(_)
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
            trampoline::Disturbed::UpperHalf { ymm } => Kind::UpperHalf(ymm),
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
            Kind::UpperHalf(ymm) => write!(f, "left something in the upper half of ymm{ymm}"),
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

    /// A candidate that is this one at another address: the same name, code, features and lengths. What was found right of the
    /// instructions is so wherever they are.
    pub fn moved(&self, candidate: Candidate) -> Option<Verified> {
        let same = !candidate.code_hash().is_empty()
            && candidate.code_hash() == self.candidate.code_hash()
            && candidate.name() == self.candidate.name()
            && candidate.features() == self.candidate.features()
            && candidate.exact() == self.candidate.exact()
            && candidate.origin() == self.candidate.origin();
        same.then(|| Verified { candidate, ..self.clone() })
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

/// Checks a candidate. Whoever checks several of one kernel does it faster with a [`Checker`].
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
    // One case at a time: with thousands of them for each length they would not all fit in memory.
    let mut drawer = Drawer::new(kernel, options.prepare);
    let drawn = cases(kernel, Lengths::of(candidate), options).into_iter().map(|case| drawer.draw(case));
    judge(kernel, candidate, options.keep, drawn)
}

/// Checks the candidates of a kernel, with operands drawn and the reference asked once for all of them.
#[derive(Debug)]
pub struct Checker {
    kernel: &'static Kernel,
    options: Options,
    /// For candidates that serve every `n`: the largest unroll factor whose tails are in it, and the cases.
    generic: Option<(u64, Vec<Drawn>)>,
    /// For those that serve one `n` alone.
    exact: BTreeMap<u64, Vec<Drawn>>,
}

impl Checker {
    /// A checker for the kernel. Nothing is drawn yet.
    pub fn new(kernel: &'static Kernel, options: Options) -> Checker {
        Checker { kernel, options, generic: None, exact: BTreeMap::new() }
    }

    /// Checks a candidate, as [`verify`] does, with every length that it would be checked at there and perhaps more:
    /// those that `others` need too.
    ///
    /// # Errors
    /// Why it may not run here, or the report of its failures.
    pub fn verify<'a>(
        &mut self,
        candidate: &Candidate,
        others: impl Iterator<Item = &'a Candidate>,
        cpu: &Native,
    ) -> Result<Verified, Rejected> {
        candidate.eligible(self.kernel, cpu).map_err(Rejected::Ineligible)?;
        let (kernel, options) = (self.kernel, &self.options);
        let draw = |lengths| {
            let mut drawer = Drawer::new(kernel, options.prepare);
            cases(kernel, lengths, options).into_iter().map(|case| drawer.draw(case)).collect::<Vec<_>>()
        };
        let lengths = Lengths::of(candidate);
        let drawn = match lengths.exact {
            Some(exact) => &*self.exact.entry(exact).or_insert_with(|| draw(lengths)),
            None => {
                let tails = lengths.tails();
                let (covered, drawn) = self.generic.get_or_insert_default();
                if *covered < tails {
                    let generic = others.map(Lengths::of).filter(|other| other.exact.is_none());
                    *covered = generic.map(Lengths::tails).fold(tails, u64::max);
                    *drawn = draw(Lengths { exact: None, unroll: Some(*covered) });
                }
                &*drawn
            }
        };
        judge(kernel, candidate, options.keep, drawn.iter())
    }
}

/// Runs cases on a candidate that is eligible here.
fn judge<D: Borrow<Drawn>>(
    kernel: &'static Kernel,
    candidate: &Candidate,
    keep: usize,
    cases: impl Iterator<Item = D>,
) -> Result<Verified, Rejected> {
    let mmx = candidate.features().is_ok_and(|features| features.contains(Feature::Mmx));
    let mut report = Report::default();
    let mut arena = Arena::new(kernel);
    for drawn in cases {
        report.cases += 1;
        // SAFETY: both callers have checked that the entry is for this contract and that this CPU has its features.
        let failures = unsafe { drawn.borrow().check(kernel, candidate.entry(), mmx, &mut arena) };
        if failures.is_empty() {
            continue;
        }
        report.failed += 1;
        let fatal = failures.iter().any(|failure| failure.kind.is_fatal());
        let room = keep.max(1).saturating_sub(report.failures.len());
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
