//! Algorithms: a plan to IR. The only place that knows an algorithm. Knows no TOML, no scheduling and no encoding.

/// The strategies of a contract, each word with its lowering.
macro_rules! contract {
    ($kernel:literal, $bits:literal, $roles:ident, $returns:literal, { $($word:literal: $lower:expr),* $(,)? }) => {
        Contract {
            kernel: $kernel,
            limb_bits: $bits,
            roles: $roles,
            returns: $returns,
            words: &[$($word),*],
            lowerings: &[$($lower),*],
        }
    };
}

pub mod limb;

use crate::ir::{Func, Virtual};

/// What an argument of a contract must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A pointer to limbs.
    Limbs {
        /// The kernel reads them.
        reads: bool,
        /// The kernel writes them.
        writes: bool,
    },
    /// A public number of limbs.
    Count,
    /// A limb by value.
    Limb,
}

/// One argument of a contract, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Role {
    /// Name that the spec must use.
    pub name: &'static str,
    /// What it must be.
    pub shape: Shape,
}

/// Lowers one plan of a strategy.
pub type Lower = fn(&Contract, &Lowering<'_>) -> Func<Virtual>;

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
    /// The words of the strategies.
    pub words: &'static [&'static str],
    /// Strategies, in the order of their words.
    pub lowerings: &'static [Lower],
}

impl Contract {
    /// The lowering of the strategy with this name.
    pub fn strategy(&self, name: &str) -> Option<Lower> {
        self.words.iter().zip(self.lowerings).find(|(word, _)| **word == name).map(|(_, lower)| *lower)
    }
}

/// The contract with this name.
pub fn contract(kernel: &str) -> Option<&'static Contract> {
    contracts().find(|contract| contract.kernel == kernel)
}

/// Every contract of every family.
pub fn contracts() -> impl Iterator<Item = &'static Contract> {
    limb::CONTRACTS.iter()
}

/// Where a strategy's parameters stand for one variant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Parameters {
    /// A counted loop of this many limbs a trip, and a tail.
    Unrolled {
        /// Limbs a trip.
        unroll: u32,
        /// Whether the carries stay in the flags across the loop's back-edge.
        live: bool,
    },
    /// Fully unrolled for one number of limbs: no loop, no tail.
    Exact(u32),
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
}
