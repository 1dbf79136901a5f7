//! Which calls to check: a contract, what a variant's name says of its loop, and a depth in; lengths, patterns, aliasings
//! and seeds out. Draws no operand and calls nothing.

use kiln_kernels::catalogue::{Kernel, Unit};

use super::memory::Placement;
use super::operands::{Aliasing, Pattern};
use super::{Depth, Options};
use crate::candidate::{Candidate, count_range};
use crate::random::Random;

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

    /// The unroll factor whose tails are checked.
    pub(super) fn tails(self) -> u64 {
        self.unroll.unwrap_or(4).clamp(1, 64)
    }
}

/// One call to check.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub seed: u64,
    pub n: u64,
    pub pattern: Option<Pattern>,
    pub aliasing: Aliasing,
    pub placement: Placement,
}

/// Most limbs in a checked operand: the contract may allow more than there is memory for, or time when the work does not
/// grow with n alone.
fn largest(kernel: &Kernel, depth: Depth) -> u64 {
    match (kernel.unit, depth) {
        (Unit::Limb, _) => 4096,
        // A program that starts has no time for the reference to make thousands of blocks, of which none is a new case.
        (Unit::Block, Depth::Quick) => LONGEST_QUICK,
        (Unit::Block, Depth::Full { .. }) => 1030,
        (Unit::Call, _) => 130,
    }
}

/// Most blocks that are checked at start-up, but for the tails of a long loop.
const LONGEST_QUICK: u64 = 66;

/// Lengths up to this one are checked twice at start-up, in two ways; the longer ones once, by turns in the one way and the
/// other: there are many of them when a loop is unrolled far, and none has a part that no other has.
const TWICE: u64 = 26;

/// The last length among the tails: each tail after no turn of the loop and one and, unless a program is starting and the loop
/// is long, two.
fn last_tail(lengths: Lengths, depth: Depth) -> u64 {
    let unroll = lengths.tails();
    match depth {
        Depth::Quick => (3 * unroll + 2).min(TWICE.max(2 * unroll + 1)),
        Depth::Full { .. } => 3 * unroll + 2,
    }
}

/// Every `n` to check: each tail of the unrolled body; each size class with its neighbours; and some beyond. The list for an
/// unroll factor contains that for every smaller one.
fn counts(kernel: &Kernel, lengths: Lengths, depth: Depth) -> Vec<u64> {
    let range = count_range(kernel);
    if let Some(exact) = lengths.exact {
        return vec![exact];
    }
    let turns = last_tail(lengths, depth);
    // Tails come first: a product with a large unroll has some above the largest other length.
    let largest = largest(kernel, depth).max(turns).max(*range.start());
    let mut counts: Vec<u64> = (0..=turns).collect();
    for &size in kernel.sizes {
        counts.extend([size.saturating_sub(1), size, size.saturating_add(1)]);
    }
    counts.push(*range.start());
    if depth != Depth::Quick {
        counts.extend([100, 127, 129, 255, 257, 1000, (*range.end()).min(largest)]);
    }
    counts.retain(|n| range.contains(n) && *n <= largest);
    counts.sort_unstable();
    counts.dedup();
    counts
}

pub(super) fn cases(kernel: &Kernel, lengths: Lengths, options: &Options) -> Vec<Case> {
    let aliasings = Aliasing::all(kernel);
    let mut seeds = Random::new(options.seed);
    let mut cases = Vec::new();
    let mut add = |n, pattern, aliasing: &Aliasing, placement| {
        cases.push(Case { seed: seeds.word(), n, pattern, aliasing: aliasing.clone(), placement });
    };
    let counts = counts(kernel, lengths, options.depth);
    for (index, &n) in counts.iter().enumerate() {
        match options.depth {
            Depth::Quick => {
                let turn = |by: usize| &aliasings[by % aliasings.len()];
                let once = lengths.exact.is_none() && n > TWICE;
                if !once || index % 2 == 0 {
                    add(n, None, turn(if once { index / 2 } else { index }), Placement::Canaries);
                }
                if !once || index % 2 == 1 {
                    add(n, Some(Pattern::Ones), turn(if once { index / 2 } else { index + 1 }), Placement::Canaries);
                }
                if lengths.exact.is_some() || counts.len() == 1 {
                    // One n alone, or no count at all: every pattern in every aliasing, and as many operands as the
                    // others get in all their tails.
                    let patterns = Pattern::ALL.len();
                    for by in 0..16.max(patterns * aliasings.len()) {
                        let (pattern, round) = (by % patterns, by / patterns);
                        add(n, Some(Pattern::ALL[pattern]), turn(index + pattern + round), Placement::Canaries);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(kernel: &Kernel, lengths: Lengths) -> Vec<Case> {
        cases(kernel, lengths, &Options::default())
    }

    #[test]
    fn the_quick_cases_have_every_tail_in_place_and_out_of_place() {
        for kernel in kiln_kernels::kernels().filter(|kernel| count_range(kernel) != (0..=0)) {
            let aliasings = Aliasing::all(kernel).len();
            let range = count_range(kernel);
            assert!(range.contains(&1), "{}: what follows leaves nothing out but n = 0", kernel.name);
            for unroll in 1..=64 {
                let cases = quick(kernel, Lengths { exact: None, unroll: Some(unroll) });
                let at = |wanted: &dyn Fn(u64) -> bool| cases.iter().filter(|case| wanted(case.n)).collect::<Vec<_>>();
                // Across lengths that are checked once, both ways and every aliasing come up all the same.
                let long = at(&|n| n > TWICE);
                if unroll > 16 {
                    assert!(Aliasing::all(kernel).iter().all(|way| long.iter().any(|case| case.aliasing == *way)));
                    assert!(long.iter().any(|case| case.pattern.is_none()));
                    assert!(long.iter().any(|case| case.pattern == Some(Pattern::Ones)));
                }
                for residue in 0..unroll {
                    for turns in 0..=if unroll > 8 { 1 } else { 2 } {
                        let n = turns * unroll + residue;
                        if !range.contains(&n) {
                            continue;
                        }
                        let found = at(&|other| other == n);
                        assert!(!found.is_empty(), "{} u{unroll}: {residue} {turns}", kernel.name);
                        if n > TWICE {
                            continue;
                        }
                        let mut seen: Vec<&Aliasing> = Vec::new();
                        for case in &found {
                            if !seen.contains(&&case.aliasing) {
                                seen.push(&case.aliasing);
                            }
                        }
                        assert!(seen.len() >= aliasings.min(2), "{} u{unroll}: {residue} {turns}", kernel.name);
                        assert!(found.iter().any(|case| case.pattern == Some(Pattern::Ones)));
                        assert!(found.iter().any(|case| case.pattern.is_none()));
                    }
                }
                let sizes = kernel.sizes.iter().filter(|size| kernel.unit != Unit::Block || **size <= LONGEST_QUICK);
                for special in [0, 1, unroll + 1].iter().chain(sizes).filter(|n| range.contains(n)) {
                    assert!(!at(&|n| n == *special).is_empty(), "{} u{unroll}: n = {special}", kernel.name);
                }
            }
        }
    }

    #[test]
    fn the_lengths_for_an_unroll_factor_are_among_those_for_a_larger_one() {
        for kernel in kiln_kernels::kernels() {
            for depth in [Depth::Quick, Depth::Full { cases: 1 }] {
                let counts = |unroll| counts(kernel, Lengths { exact: None, unroll }, depth);
                assert_eq!(counts(None), counts(Some(4)));
                for unroll in 1..64 {
                    let larger = counts(Some(unroll + 1));
                    assert!(counts(Some(unroll)).iter().all(|n| larger.contains(n)));
                }
            }
        }
    }

    #[test]
    fn one_n_alone_gets_every_pattern_and_aliasing() {
        for kernel in kiln_kernels::kernels() {
            // A contract without a count has no n but 0.
            let exact = (count_range(kernel) != (0..=0)).then_some(8);
            let cases = quick(kernel, Lengths { exact, unroll: None });
            assert!(cases.iter().all(|case| case.n == exact.unwrap_or(0)));
            for aliasing in Aliasing::all(kernel) {
                let patterns: Vec<_> =
                    cases.iter().filter(|case| case.aliasing == aliasing).map(|case| case.pattern).collect();
                assert!(Pattern::ALL.iter().all(|pattern| patterns.contains(&Some(*pattern))), "{patterns:?}");
            }
        }
    }
}
