//! Cases with their expected results: what another executor of a contract, such as the interpreter of the IR, is checked
//! against. Calls the reference and nothing else.

use kiln_kernels::catalogue::Kernel;

use super::Options;
use super::cases::{Lengths, cases};
use super::drawn::Drawer;
use super::operands::{Operand, Pattern, Prepare, draw_prepared};
use crate::random::Random;

/// One call of a contract and what must come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The case's own seed.
    pub seed: u64,
    /// The first count.
    pub n: u64,
    /// Which arguments share a pointer, in words.
    pub aliasing: String,
    /// For each argument the index of the one whose memory it uses: itself if its own.
    pub owner: Vec<usize>,
    /// One value for each argument; equal for those that share memory.
    pub operands: Vec<Operand>,
    /// For each argument that is written, its limbs after the call.
    pub results: Vec<Option<Vec<u64>>>,
    /// The limb returned, zero-extended, if the contract returns one.
    pub returned: Option<u64>,
}

/// The cases that `verify` would run on a variant with these lengths, with what the reference computes; those with an
/// `n` up to `largest`, or all if the variant serves one `n` alone.
pub fn known(kernel: &'static Kernel, lengths: Lengths, options: &Options, largest: u64) -> Vec<Known> {
    let wanted = |n: u64| n <= largest || lengths.exact == Some(n);
    let mut drawer = Drawer::new(kernel, options.prepare);
    cases(kernel, lengths, options)
        .into_iter()
        .filter(|case| wanted(case.n))
        .map(|case| drawer.draw(case))
        .map(|drawn| Known {
            seed: drawn.case.seed,
            n: drawn.case.n,
            aliasing: drawn.case.aliasing.words(kernel),
            owner: drawn.case.aliasing.0,
            operands: drawn.operands,
            results: drawn.results,
            returned: kernel.returns.then_some(drawn.returned),
        })
        .collect()
}

/// Random operands of a contract at an `n`, each with memory of its own: what a variant is timed with, or looked at.
pub fn operands(kernel: &'static Kernel, n: u64, seed: u64, prepare: Option<Prepare>) -> Vec<Operand> {
    draw_prepared(kernel, n, Some(Pattern::Random), prepare, &mut Random::new(seed))
}
