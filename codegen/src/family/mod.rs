//! Algorithms: a plan to IR. The only place that knows an algorithm. Knows no TOML, no scheduling and no encoding.

pub mod aes;
pub mod limb;
pub mod table;
mod walk;

use crate::ir::{Builder, Func, Length, ParameterKind, Virtual};
use crate::spec::{Access, Cipher, KernelSpec, RoundKeys, Rounds, XorAt};
use std::borrow::Cow;
use std::sync::OnceLock;

/// What an argument of a contract must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A pointer to limbs.
    Limbs {
        /// What the kernel does with them.
        access: Access,
        /// How many, as a spec writes it.
        length: &'static str,
        /// Which values they may have, as a spec writes it; `any`.
        domain: &'static str,
    },
    /// A pointer to bytes.
    Bytes {
        /// What the kernel does with them.
        access: Access,
        /// How many.
        length: Bytes,
        /// Their alignment.
        align: u32,
        /// Which values they may have, as a spec writes it; `any`.
        domain: &'static str,
    },
    /// A public number of limbs or blocks.
    Count,
    /// A limb by value.
    Limb {
        /// Which values it may have, as a spec writes it; `any`.
        domain: &'static str,
    },
}

/// How many bytes an argument of a cipher's kernel has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bytes {
    /// n blocks of 16 bytes, for each stream.
    Blocks,
    /// One block for each stream.
    Ivs,
    /// A round key of 16 bytes for each round, and one more.
    RoundKeys,
    /// The same with a lane for each of four blocks.
    SlicedRoundKeys,
    /// The cipher's key.
    Key,
}

impl Bytes {
    /// The number, as a spec writes it for a cipher's key of one size.
    pub fn text(self, cipher: &Cipher) -> String {
        let streams = cipher.mode.as_ref().map_or(1, |mode| mode.streams);
        match self {
            Bytes::Blocks => format!("{}n", 16 * streams),
            Bytes::Ivs => (16 * streams).to_string(),
            Bytes::RoundKeys => (16 * (cipher.rounds + 1)).to_string(),
            Bytes::SlicedRoundKeys => (64 * (cipher.rounds + 1)).to_string(),
            Bytes::Key => (cipher.key_bits / 8).to_string(),
        }
    }
}

/// One argument of a contract, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Role {
    /// Name that the spec must use.
    pub name: &'static str,
    /// What it must be.
    pub shape: Shape,
}

/// Limbs behind a pointer.
const fn limbs(name: &'static str, access: Access, length: &'static str) -> Role {
    limbs_of(name, access, length, "any")
}

/// Limbs behind a pointer with one of the values of a domain.
const fn limbs_of(name: &'static str, access: Access, length: &'static str, domain: &'static str) -> Role {
    Role { name, shape: Shape::Limbs { access, length, domain } }
}

/// A public count.
const fn count(name: &'static str) -> Role {
    Role { name, shape: Shape::Count }
}

/// Any limb by value.
const fn limb(name: &'static str) -> Role {
    limb_of(name, "any")
}

/// A limb by value with one of the values of a domain.
const fn limb_of(name: &'static str, domain: &'static str) -> Role {
    Role { name, shape: Shape::Limb { domain } }
}

/// Lowers one plan of a strategy.
pub type Lower = fn(&Contract, &Lowering<'_>) -> Func<Virtual>;

/// A parameter that a strategy may have, with the key of its list in a spec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knob {
    /// Limbs of a trip of the loop.
    Unroll,
    /// Blocks of a trip of the loop.
    Blocks,
    /// One number of limbs alone.
    Exact,
    /// Whether carries stay in the flags across the loop's back-edge.
    BackEdge,
    /// Rows of a product in one pass.
    Rows,
    /// Products started early.
    Overlap,
    /// Limbs of a block in registers.
    Block,
    /// Times that an exact product is split in halves.
    Split,
    /// Whether the rounds of a cipher are a loop.
    Rounds,
    /// Where the round keys are.
    RoundKeys,
    /// Where a mode's last XOR goes.
    Xor,
}

impl Knob {
    /// The key in a spec.
    pub const fn key(self) -> &'static str {
        match self {
            Knob::Unroll => "unroll",
            Knob::Exact => "exact",
            Knob::BackEdge => "back_edge",
            Knob::Rows => "rows",
            Knob::Overlap => "overlap",
            Knob::Block => "block",
            Knob::Split => "split",
            Knob::Blocks => "blocks",
            Knob::Rounds => "rounds",
            Knob::RoundKeys => "round_keys",
            Knob::Xor => "xor",
        }
    }
}

/// One way to compute a contract.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// Its word in specs.
    pub word: &'static str,
    /// The parameters that it has.
    pub knobs: &'static [Knob],
    /// The only number of blocks in flight that it has, if there is only one; where a block waits for the one before it, 1.
    pub in_flight: Option<u32>,
    /// Its lowering.
    pub lower: Lower,
}

/// A data contract that a family knows how to compute.
#[derive(Clone, Copy, Debug)]
pub struct Contract {
    /// The kernel's name in specs.
    pub kernel: &'static str,
    /// Bits of a limb.
    pub limb_bits: u32,
    /// Arguments.
    pub roles: &'static [Role],
    /// Whether a limb is returned.
    pub returns: bool,
    /// The ways to compute it.
    pub strategies: &'static [Strategy],
}

impl Contract {
    /// The strategy with this name.
    pub fn strategy(&self, name: &str) -> Option<&'static Strategy> {
        self.strategies.iter().find(|strategy| strategy.word == name)
    }
}

/// The contract of a spec's kernel.
pub fn contract(kernel: &KernelSpec) -> Option<&'static Contract> {
    match &kernel.cipher {
        None => contracts()
            .find(|contract| contract.kernel == kernel.kernel.value)
            .or_else(|| table::contract(&kernel.kernel)),
        Some(cipher) => aes::contract(&kernel.kernel, cipher),
    }
}

/// The ways to compute the kernel with this name, as a file writes it.
pub fn strategies(kernel: &str) -> &'static [Strategy] {
    let known = contracts().find(|contract| contract.kernel == kernel).map(|contract| contract.strategies);
    if kernel.starts_with(table::STEM) {
        return table::strategies(kernel);
    }
    known.unwrap_or_else(|| aes::strategies(kernel))
}

/// Every contract whose kernel a spec can only name. Modes of block ciphers and sizes of tables are made up by their specs.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    limb::CONTRACTS.iter().chain(limb::montgomery::CONTRACTS)
}

/// How the names of kernels begin that specs make up.
pub fn stems() -> &'static [&'static str] {
    static STEMS: OnceLock<Vec<&'static str>> = OnceLock::new();
    STEMS.get_or_init(|| aes::STEMS.iter().copied().chain([table::STEM]).collect())
}

/// What is in the name of a kernel of this kind that specs make up, where not any will do.
pub fn made_up_of(kernel: &str) -> &'static str {
    if kernel.starts_with(table::STEM) { table::NAMES } else { "" }
}

/// A length or a domain as the spec of this kernel writes it: with the number of a table's entries, which is in its name.
pub fn written<'t>(kernel: &str, text: &'t str) -> Cow<'t, str> {
    match table::entries(kernel) {
        Some(entries) => Cow::Owned(
            text.replace("entries n", &format!("{entries}n")).replace("of entries", &format!("of {entries}")),
        ),
        None => Cow::Borrowed(text),
    }
}

/// For which numbers of limbs a variant is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Extent {
    /// The contract has no count.
    Whole,
    /// A counted loop of this many limbs a trip, and a tail.
    Unrolled(u32),
    /// A counted loop of this many blocks a trip, and a tail.
    Blocks(u32),
    /// Fully unrolled for one number of limbs or blocks: no loop, no tail.
    Exact(u32),
}

/// Where a strategy's parameters stand for one variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Parameters {
    /// For which numbers of limbs.
    pub extent: Extent,
    /// Whether the carries stay in the flags across the loop's back-edge.
    pub live: bool,
    /// Rows of a product in one pass.
    pub rows: u32,
    /// Products started early.
    pub overlap: u32,
    /// Limbs of a block in registers; `None`: the strategy's own.
    pub block: Option<u32>,
    /// Times that an exact product is split in halves.
    pub split: u32,
    /// How the rounds of a cipher are laid out, for a strategy that can choose.
    pub rounds: Option<Rounds>,
    /// Where the round keys are.
    pub keys: RoundKeys,
    /// Where a mode's last XOR goes.
    pub xor: XorAt,
}

impl Parameters {
    /// The only value of the first count that the variant serves, if there is only one.
    pub fn exact(&self) -> Option<u32> {
        match self.extent {
            Extent::Exact(limbs) => Some(limbs),
            Extent::Whole | Extent::Unrolled(_) | Extent::Blocks(_) => None,
        }
    }
}

/// What a spec says of an argument, as far as lowering needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// Contents are secret.
    pub secret: bool,
    /// Indices of the arguments that may be the same memory.
    pub may_equal: Vec<u8>,
    /// Range, for a count.
    pub count: (u64, u64),
    /// Number of limbs or bytes, for a pointer.
    pub length: Length,
}

/// One variant to lower.
#[derive(Clone, Copy, Debug)]
pub struct Lowering<'a> {
    /// The variant's name.
    pub name: &'a str,
    /// A fact for each role of the contract.
    pub arguments: &'a [Fact],
    /// The strategy's parameters.
    pub parameters: Parameters,
    /// The cipher, for a kernel of one.
    pub cipher: Option<&'a Cipher>,
}

impl Lowering<'_> {
    /// What the argument at `index` of the contract is to the IR. Pointers with the same `cursor` walk in step.
    fn kind(&self, contract: &Contract, index: usize, cursor: u8) -> ParameterKind {
        let fact = &self.arguments[index];
        match contract.roles[index].shape {
            Shape::Limbs { access, .. } => ParameterKind::Pointer {
                element_bytes: contract.limb_bits / 8,
                length: fact.length,
                reads: matches!(access, Access::In | Access::InOut),
                writes: access != Access::In,
                cursor,
            },
            Shape::Bytes { access, .. } => ParameterKind::Pointer {
                element_bytes: 1,
                length: fact.length,
                reads: matches!(access, Access::In | Access::InOut),
                writes: access != Access::In,
                cursor,
            },
            Shape::Count => ParameterKind::Count { min: fact.count.0, max: fact.count.1 },
            Shape::Limb { .. } => ParameterKind::Value { bits: contract.limb_bits },
        }
    }

    /// Declares the argument at `index`, which arrives in a general register.
    fn declare(&self, b: &mut Builder, contract: &Contract, index: usize, cursor: u8) -> crate::ir::typed::Gpr {
        let fact = &self.arguments[index];
        let role = &contract.roles[index];
        let reg = b.parameter(role.name, self.kind(contract, index, cursor), fact.secret, &fact.may_equal);
        if let Shape::Bytes { align, .. } = role.shape {
            b.aligned(index as u8, align);
        }
        reg
    }

    /// Declares the limb at `index`, which arrives as a value of the portable ISA.
    fn declare_val(&self, b: &mut Builder, contract: &Contract, index: usize) -> crate::ir::typed::Val {
        b.parameter_val(contract.roles[index].name, self.kind(contract, index, 0), self.arguments[index].secret)
    }
}
