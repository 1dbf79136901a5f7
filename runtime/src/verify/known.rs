//! Cases with their expected results: what another executor of a contract, such as the interpreter of the IR, is checked
//! against. Calls the reference and nothing else.

use kiln_kernels::catalogue::{Access, Kernel};

use super::memory::Placement;
use super::operands::{Aliasing, Operand, draw_prepared};
use super::{Arena, Lengths, Options, cases};
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
/// `n` up to `largest`, or all if the variant serves one `n` alone. Cases for which the system has no memory are left
/// out.
pub fn known(kernel: &'static Kernel, lengths: Lengths, options: &Options, largest: u64) -> Vec<Known> {
    let wanted = |n: u64| n <= largest || lengths.exact == Some(n);
    cases(kernel, lengths, options)
        .into_iter()
        .filter(|case| wanted(case.n))
        .filter_map(|case| {
            let mut random = Random::new(case.seed);
            let mut operands = draw_prepared(kernel, case.n, case.pattern, options.prepare, &mut random);
            case.aliasing.share(&mut operands);
            let apart = Aliasing((0..operands.len()).collect());
            let mut arena =
                Arena::new(kernel, case.n, operands.clone(), &apart, Placement::Canaries, &mut random).ok()?;
            let returned = arena.call_reference();
            let results = kernel.arguments.iter().enumerate().map(|(index, argument)| match argument.access {
                Access::In => None,
                Access::Out | Access::InOut => arena.limbs(index),
            });
            Some(Known {
                seed: case.seed,
                n: case.n,
                aliasing: case.aliasing.words(kernel),
                owner: case.aliasing.0.clone(),
                results: results.collect(),
                operands,
                returned: kernel.returns.then_some(returned),
            })
        })
        .collect()
}
