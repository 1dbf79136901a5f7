//! Is every whole product and square right at every size from 0 to 70 limbs, for the operands at which carries are lost?
//! A square is the product of equal operands, whatever the scratch holds.

use kiln_runtime::random::Random;
use kiln_tests::operands::Operands;
use kiln_tests::patterns::{numbers, row};
use kiln_tests::trial::{Case, Tally, exact_sizes, try_all};

/// The largest size in the interpreter, but for variants of one size.
const INTERPRETED: u64 = 9;

fn sizes(kernel: &str) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..=70).chain(exact_sizes(kernel)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn product(bits: u32, (what, a): &(&str, Vec<u64>), (by, b): &(&str, Vec<u64>), random: &mut Random) -> Case {
    let n = a.len();
    let operands = Operands::new(&format!("limb{bits}.mul_nxn")).integer("n", n as u64).limbs("a", a).limbs("b", b);
    Case::new(format!("{n} limbs, {what} by {by}"), operands.noise(random))
}

/// Every pattern by the next ones in the list: each meets another at every size, and all meet all over the sizes.
fn products(bits: u32) -> Vec<Case> {
    let mut random = Random::new(0x6e_786e);
    let mut cases = Vec::new();
    for n in sizes(&format!("limb{bits}.mul_nxn")) {
        let numbers = numbers(&mut random, bits, n);
        for (index, a) in numbers.iter().enumerate() {
            let b = &numbers[(index + n) % numbers.len()];
            cases.push(product(bits, a, b, &mut random));
        }
        let ones = numbers.iter().find(|(what, _)| *what == "ones").expect("ones");
        cases.push(product(bits, ones, ones, &mut random));
        // The same pointer twice.
        let (what, a) = &numbers[n % numbers.len()];
        let operands = Operands::new(&format!("limb{bits}.mul_nxn")).integer("n", n as u64).limbs("a", a);
        cases.push(Case::new(format!("{n} limbs, {what} by itself"), operands.same("b", "a").noise(&mut random)));
    }
    cases
}

fn squares(bits: u32) -> Vec<Case> {
    let mut random = Random::new(0x7371_726e);
    let mut cases = Vec::new();
    for n in sizes(&format!("limb{bits}.sqr_n")) {
        let mut numbers = numbers(&mut random, bits, n);
        numbers.extend((0..4).map(|_| ("other densities", row(&mut random, bits, n))));
        for (what, a) in &numbers {
            let operands = Operands::new(&format!("limb{bits}.sqr_n")).integer("n", n as u64).limbs("a", a);
            let case = Case::new(format!("{n} limbs, the square of {what}"), operands.noise(&mut random));
            // By way of big integers: what every square must give is what every product of equal operands must.
            let operands = Operands::new(&format!("limb{bits}.mul_nxn")).integer("n", n as u64).limbs("a", a);
            let product = Case::new("", operands.same("b", "a").noise(&mut random));
            assert_eq!(case.expected, product.expected, "{}", case.label);
            cases.push(case);
        }
    }
    cases
}

fn check(name: &str, cases: impl Fn(u32) -> Vec<Case>) {
    let mut tally = Tally::default();
    for bits in [32, 64] {
        try_all(&format!("limb{bits}.{name}"), &cases(bits), INTERPRETED, &mut tally);
    }
    tally.report_whole();
}

#[test]
fn every_product_is_right() {
    check("mul_nxn", products);
}

#[test]
fn every_square_is_right() {
    check("sqr_n", squares);
}
