//! Do sums and differences carry and borrow through every limb, with every aliasing that the contract allows?

use kiln_runtime::random::Random;
use kiln_tests::operands::{Operands, mask};
use kiln_tests::patterns::{numbers, row};
use kiln_tests::trial::{Case, Tally, exact_sizes, try_all};

/// The largest size in the interpreter, but for variants of one size.
const INTERPRETED: u64 = 20;

/// Pairs of numbers of `n` limbs: carries and borrows that run through all, that start and stop in the middle, and noise.
fn pairs(random: &mut Random, bits: u32, n: usize) -> Vec<(String, Vec<u64>, Vec<u64>)> {
    let ones = vec![mask(bits); n];
    let unit = |at: usize| (0..n).map(|i| u64::from(i == at)).collect::<Vec<u64>>();
    let (zero, start) = (vec![0; n], random.below(n.max(1) as u64) as usize);
    let mut pairs = vec![
        ("a carry through all".to_owned(), ones.clone(), unit(0)),
        ("the same, exchanged".to_owned(), unit(0), ones.clone()),
        ("a carry from the middle".to_owned(), ones.clone(), unit(start)),
        ("ones and ones".to_owned(), ones.clone(), ones),
        ("a borrow through all".to_owned(), zero.clone(), unit(0)),
        ("a borrow from the middle".to_owned(), zero.clone(), unit(start)),
        ("nothing".to_owned(), zero.clone(), zero),
    ];
    // A sum of ones in every limb: a carry in, wherever from, runs on, and none starts by itself.
    let a = row(random, bits, n);
    let complement: Vec<u64> = a.iter().map(|limb| !limb & mask(bits)).collect();
    pairs.push(("complements".to_owned(), a.clone(), complement));
    pairs.push(("equals".to_owned(), a.clone(), a));
    let numbers = numbers(random, bits, n);
    for (index, (what, a)) in numbers.iter().enumerate() {
        let (by, b) = &numbers[(index + n + 1) % numbers.len()];
        pairs.push((format!("{what} and {by}"), a.clone(), b.clone()));
    }
    pairs
}

fn cases(kernel: &str, bits: u32) -> Vec<Case> {
    let mut random = Random::new(0x73_756d);
    let mut cases = Vec::new();
    let mut sizes: Vec<usize> = (0..=34).chain([47, 48, 49]).chain(62..=70).chain(exact_sizes(kernel)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for n in sizes {
        for (index, (what, a, b)) in pairs(&mut random, bits, n).into_iter().enumerate() {
            let new = || Operands::new(kernel).integer("n", n as u64);
            let label = |aliasing: &str| format!("{n} limbs, {what}, {aliasing}");
            // Each pair meets each aliasing over the sizes.
            cases.push(match (index + n) % 5 {
                0 => Case::new(label("apart"), new().limbs("a", &a).limbs("b", &b).noise(&mut random)),
                1 => Case::new(label("r = a"), new().limbs("r", &a).same("a", "r").limbs("b", &b)),
                2 => Case::new(label("r = b"), new().limbs("r", &b).same("b", "r").limbs("a", &a)),
                3 => Case::new(label("a = b"), new().limbs("a", &a).same("b", "a").noise(&mut random)),
                _ => Case::new(label("r = a = b"), new().limbs("r", &a).same("a", "r").same("b", "r")),
            });
        }
    }
    cases
}

#[test]
fn every_sum_and_difference_is_right() {
    let mut tally = Tally::default();
    for bits in [32, 64] {
        for name in ["add", "sub"] {
            let kernel = format!("limb{bits}.{name}");
            try_all(&kernel, &cases(&kernel, bits), INTERPRETED, &mut tally);
        }
    }
    tally.report_whole();
}
