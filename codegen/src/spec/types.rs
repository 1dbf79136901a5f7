//! Specs as the later stages see them: checked, with defaults filled in, and with the places that a later problem may
//! have to point at.

use crate::error::{Hint, Problem, Reason, Source};
use crate::spec::place::At;
pub use crate::spec::raw::{Access, BackEdge, Direction, Returns, RoundKeys, Rounds, Term, Unit, XorAt};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Every kernel and CPU that was read, sorted by file.
#[derive(Clone, Debug, Default)]
pub struct Specs {
    /// The kernels.
    pub kernels: Vec<KernelSpec>,
    /// The CPUs.
    pub cpus: Vec<CpuSpec>,
}

impl Specs {
    /// The kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&KernelSpec> {
        self.kernels.iter().find(|kernel| kernel.kernel.value == name)
    }

    /// The CPU of this name.
    pub fn cpu(&self, name: &str) -> Option<&CpuSpec> {
        self.cpus.iter().find(|cpu| cpu.name == name)
    }
}

/// One kernel: its data contract and the ways to build it.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The file, as it was named when it was read.
    pub file: String,
    /// The file's text, into which the places of this spec point.
    pub text: String,
    /// 16 hexadecimal digits of the SHA-256 of the file's bytes, line ends normalised to `\n`.
    pub hash: String,
    /// The kernel's name.
    pub kernel: At<String>,
    /// What it computes, for people.
    pub math: String,
    /// What it returns.
    pub returns: Option<Returns>,
    /// Size classes: values of the first count, ascending; empty for a kernel without a count.
    pub sizes: Vec<u64>,
    /// What times are given for.
    pub unit: Unit,
    /// For the kernels of a block cipher, its key and rounds.
    pub cipher: Option<Cipher>,
    /// Arguments in call order.
    pub arguments: Vec<Argument>,
    /// The ways to build it.
    pub strategies: Vec<Strategy>,
}

impl KernelSpec {
    /// A later stage's problem at a place of this spec: `spec.problem(strategy.span.clone(), reason, None)`.
    pub fn problem(&self, span: Range<usize>, reason: Reason, hint: Option<Hint>) -> Problem {
        Problem::at(&Source::new(&self.file, &self.text), span, reason).hint(hint)
    }

    /// The argument of this name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name.value == name)
    }
}

/// What a block cipher's kernel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cipher {
    /// Bits of the key.
    pub key_bits: u32,
    /// Rounds.
    pub rounds: u32,
    /// What happens to each block; `None` for a kernel that works on keys.
    pub mode: Option<Mode>,
}

/// A block cipher's mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// What enters the cipher: the XOR of these, each once.
    pub input: Vec<Term>,
    /// Which way the rounds run.
    pub cipher: Direction,
    /// What the cipher's output is XORed with, each once.
    pub output: Vec<Term>,
    /// Low bits of the counter that count; 0 without one.
    pub counter_bits: u32,
    /// Messages that are worked on at once.
    pub streams: u32,
}

impl Mode {
    /// Every term, where it stands first.
    pub fn terms(&self) -> impl Iterator<Item = Term> {
        self.input.iter().chain(&self.output).copied()
    }

    /// Whether a block needs something of the one before it, or a counter: what the `iv` begins and ends.
    pub fn chained(&self) -> bool {
        self.terms().any(|term| term != Term::In)
    }

    /// Whether a block cannot enter the cipher before the one before it has left.
    pub fn serial(&self) -> bool {
        self.input.contains(&Term::PreviousOut)
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name, which is fit to be a name in Rust and C.
    pub name: At<String>,
    /// Type and shape.
    pub kind: ArgumentKind,
    /// Use of the memory behind it; `In` for values.
    pub access: Access,
    /// Other pointers that may be equal to this one.
    pub may_equal: Vec<At<String>>,
    /// Which values it may have.
    pub domain: Domain,
    /// Whether the contents are secret; never for a count.
    pub secret: bool,
    /// The place of its `[[argument]]`.
    pub span: Range<usize>,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A pointer to limbs.
    Limbs {
        /// How many.
        length: Length,
    },
    /// A pointer to bytes.
    Bytes {
        /// How many.
        length: Length,
        /// Their alignment.
        align: u32,
    },
    /// A number of limbs or blocks, `min..=max`.
    Count {
        /// The smallest allowed.
        min: u64,
        /// The largest allowed.
        max: u64,
    },
    /// One limb by value.
    Limb,
}

/// The values that an argument may have; the caller sees to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Any.
    Any,
    /// The top bit is set.
    Normalised,
    /// Less than the argument of this name: a limb than a limb, and limbs than a modulus of n limbs. If there are more than n, the
    /// highest n of them are less.
    Below(String),
    /// `floor((B^2 - 1) / d) - B`, where B = 2^bits and d is the normalised limb of this name.
    ReciprocalOf(String),
    /// Limbs: -m^-1 mod B, and behind it the limbs of an odd m.
    MontgomeryModulus,
    /// The number of one of so many entries, as a rule; any other is the number of none.
    EntryOf(u32),
    /// Bytes: round keys in the form that bitsliced kernels read.
    SlicedRoundKeys,
}

impl Domain {
    /// The argument that it speaks of.
    pub fn of(&self) -> Option<&str> {
        match self {
            Domain::Any
            | Domain::Normalised
            | Domain::MontgomeryModulus
            | Domain::EntryOf(_)
            | Domain::SlicedRoundKeys => None,
            Domain::Below(other) | Domain::ReciprocalOf(other) => Some(other),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Any => f.write_str("any"),
            Domain::Normalised => f.write_str("normalised"),
            Domain::Below(other) => write!(f, "below {other}"),
            Domain::ReciprocalOf(other) => write!(f, "reciprocal of {other}"),
            Domain::MontgomeryModulus => f.write_str("montgomery modulus"),
            Domain::EntryOf(entries) => write!(f, "entry of {entries}"),
            Domain::SlicedRoundKeys => f.write_str("sliced round keys"),
        }
    }
}

/// A number of limbs or bytes: a sum of multiples of counts and a constant, such as `2n + more`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Length {
    /// Each count once, by name, and how many times it is taken; in the order in which they were written.
    pub terms: Vec<(String, u32)>,
    /// The constant.
    pub plus: u32,
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (count, times) in &self.terms {
            f.write_str(if first { "" } else { " + " })?;
            first = false;
            if *times != 1 {
                write!(f, "{times}")?;
            }
            f.write_str(count)?;
        }
        match (first, self.plus) {
            (true, plus) => write!(f, "{plus}"),
            (false, 0) => Ok(()),
            (false, plus) => write!(f, " + {plus}"),
        }
    }
}

/// One way to build a kernel; each combination of parameters is a variant.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// The strategy's word, one of the kernel's.
    pub name: At<String>,
    /// Limbs for each turn of the loop, each 1 to 64; empty when there are only `exact` variants.
    pub unroll: Vec<At<u32>>,
    /// Blocks for each turn of the loop; empty when the spec says nothing.
    pub blocks: Vec<At<u32>>,
    /// Numbers of limbs to unroll fully, each 1 to 64 and allowed by the count; may be empty.
    pub exact: Vec<At<u32>>,
    /// Which of `unroll` race at start-up; may be empty.
    pub startup: Vec<At<u32>>,
    /// Whether carry flags stay live across the loop's back-edge; empty when the spec says nothing.
    pub back_edge: Vec<At<BackEdge>>,
    /// Rows of a product in one pass; empty when the spec says nothing.
    pub rows: Vec<At<u32>>,
    /// Products started early; empty when the spec says nothing.
    pub overlap: Vec<At<u32>>,
    /// Limbs of a block in registers; empty when the spec says nothing.
    pub block: Vec<At<u32>>,
    /// Times that an exact product is split in halves; empty when the spec says nothing.
    pub split: Vec<At<u32>>,
    /// Whether a cipher's rounds are a loop; empty when the spec says nothing.
    pub rounds: Vec<At<Rounds>>,
    /// Where the round keys are; empty when the spec says nothing.
    pub round_keys: Vec<At<RoundKeys>>,
    /// Where a mode's last XOR goes; empty when the spec says nothing.
    pub xor: Vec<At<XorAt>>,
    /// `generic`, `source`, or CPU names; never empty.
    pub schedule: Vec<At<String>>,
    /// The features that the spec says are needed, when it says so.
    pub requires: Option<At<Vec<String>>>,
    /// The place of its `[[strategy]]`.
    pub span: Range<usize>,
}

/// One CPU: what the scheduler assumes and what to prefer.
#[derive(Clone, Debug)]
pub struct CpuSpec {
    /// The file, as it was named when it was read.
    pub file: String,
    /// The file's text, into which the places of this spec point.
    pub text: String,
    /// The name: the file's stem.
    pub name: String,
    /// The features that it has.
    pub features: Vec<At<String>>,
    /// How to recognise it; `None` for one that stands for no CPU in particular.
    pub identify: Option<Identify>,
    /// The size of the machine.
    pub machine: Machine,
    /// Costs by class or mnemonic.
    pub cost: BTreeMap<String, Cost>,
    /// By kernel, the variant to use when nothing can be measured, without the kernel's name: `mulx_adx.u8`.
    pub prefer: BTreeMap<String, At<String>>,
}

impl CpuSpec {
    /// A later stage's problem at a place of this file.
    pub fn problem(&self, span: Range<usize>, reason: Reason, hint: Option<Hint>) -> Problem {
        Problem::at(&Source::new(&self.file, &self.text), span, reason).hint(hint)
    }
}

/// How CPUID names a CPU, extended family and model added in.
#[derive(Clone, Debug)]
pub struct Identify {
    /// The vendor's twelve letters.
    pub vendor: At<String>,
    /// The family.
    pub family: At<u32>,
    /// The models.
    pub models: Vec<u32>,
}

/// The size of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Instructions that can start in one cycle.
    pub issue_width: u32,
    /// Instructions that can wait to start.
    pub window: u32,
}

/// A middling machine, for a CPU file that says nothing.
impl Default for Machine {
    fn default() -> Machine {
        Machine { issue_width: 4, window: 60 }
    }
}

/// What an instruction costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cycles from start to result.
    pub latency: u32,
    /// Independent ones that can start in one cycle, over 0.
    pub per_cycle: f64,
}
