//! Does the carry of a row, or of squares, walk through all of a longer number, stop at its end, and come back as the limb
//! returned?

use kiln_runtime::random::Random;
use kiln_tests::operands::{Operands, mask};
use kiln_tests::patterns::{limb, numbers, row};
use kiln_tests::trial::{Case, Tally, try_all};

/// The largest size in the interpreter.
const INTERPRETED: u64 = 9;

/// Lengths of the row and of what is above it: every small pair, and each length to 70 on either side.
fn lengths() -> Vec<(usize, usize)> {
    let small = (0..=6).flat_map(|n| (0..=6).map(move |more| (n, more)));
    let long = (7..=70).flat_map(|length| [(length % 5, length), (length, length % 5), (length, 70 - length)]);
    small.chain(long).collect()
}

/// Numbers to add to: a carry out of the row runs through all that is above, to the end or to one limb before it.
fn above(random: &mut Random, bits: u32, low: usize, more: usize) -> Vec<(&'static str, Vec<u64>)> {
    let ones = vec![mask(bits); low + more];
    let mut stopped = ones.clone();
    if let Some(last) = stopped.last_mut() {
        *last -= 1;
    }
    let mut noise_and_ones = row(random, bits, low);
    noise_and_ones.extend(vec![mask(bits); more]);
    let mut long = numbers(random, bits, low + more);
    let any = long.swap_remove(random.below(long.len() as u64) as usize);
    vec![
        ("ones", ones),
        ("ones, with room in the last limb", stopped),
        ("noise and ones above", noise_and_ones),
        ("zero", vec![0; low + more]),
        any,
        ("noise", row(random, bits, low + more)),
    ]
}

fn rows(bits: u32) -> Vec<Case> {
    let mut random = Random::new(0x70_726f70);
    let mut cases = Vec::new();
    for (n, more) in lengths() {
        for (what, r) in above(&mut random, bits, n, more) {
            let a = match random.below(3) {
                0 => vec![mask(bits); n],
                1 => (0..n).map(|i| u64::from(i == 0)).collect(),
                _ => row(&mut random, bits, n),
            };
            let w = [mask(bits), 1, limb(&mut random, bits)][random.below(3) as usize];
            let operands = Operands::new(&format!("limb{bits}.mul_add_prop")).integer("n", n as u64);
            let operands = operands.integer("more", more as u64).limbs("r", &r).limbs("a", &a).integer("w", w);
            cases.push(Case::new(format!("{n} and {more} limbs, {what}"), operands));
        }
    }
    cases
}

fn squares(bits: u32) -> Vec<Case> {
    let mut random = Random::new(0x73_7170);
    let mut cases = Vec::new();
    for (n, more) in lengths() {
        for (what, r) in above(&mut random, bits, 2 * n, more) {
            let a = match random.below(3) {
                0 => vec![mask(bits); n],
                1 => (0..n).map(|i| u64::from(i == 0)).collect(),
                _ => row(&mut random, bits, n),
            };
            let operands = Operands::new(&format!("limb{bits}.sqr_add_prop")).integer("n", n as u64);
            let operands = operands.integer("more", more as u64).limbs("r", &r).limbs("a", &a);
            cases.push(Case::new(format!("{n} and {more} limbs, {what}"), operands));
        }
    }
    cases
}

#[test]
fn every_carry_walks_to_the_end() {
    let mut tally = Tally::default();
    for bits in [32, 64] {
        try_all(&format!("limb{bits}.mul_add_prop"), &rows(bits), INTERPRETED, &mut tally);
        try_all(&format!("limb{bits}.sqr_add_prop"), &squares(bits), INTERPRETED, &mut tally);
    }
    tally.report_whole();
}
