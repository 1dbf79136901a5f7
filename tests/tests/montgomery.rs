//! Is every Montgomery product, square and reduction right for moduli of awkward shape, at the operands where the last subtraction
//! and the carry above the sum decide, in place, and on results of its own? A square is the product of equal operands.

use kiln_kernels::reference::mont::negated_inverse;
use kiln_runtime::random::Random;
use kiln_tests::operands::{Operands, limbs_of};
use kiln_tests::patterns::row;
use kiln_tests::trial::{Case, Tally, exact_sizes, try_all};
use num_bigint::BigUint;

const BITS: u32 = 64;

/// The largest size in the interpreter, but for variants of one size.
const INTERPRETED: u64 = 6;

fn sizes(kernel: &str) -> Vec<usize> {
    let mut sizes: Vec<usize> = (1..=18).chain([31, 33, 65]).chain(exact_sizes(kernel)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// A modulus and its numbers.
struct Modulus {
    what: &'static str,
    m: BigUint,
    n: usize,
}

impl Modulus {
    /// With its negated inverse, as a kernel takes it.
    fn limbs(&self) -> Vec<u64> {
        let m = limbs_of(BITS, &self.m, self.n);
        std::iter::once(negated_inverse(m[0])).chain(m).collect()
    }

    /// Numbers below it: both ends, the middle, 1 as a Montgomery product has it, and some of any density.
    fn numbers(&self, random: &mut Random) -> Vec<BigUint> {
        let one = BigUint::from(1u8);
        let radix = &one << (BITS as usize * self.n);
        let mut numbers = vec![BigUint::ZERO, one.clone(), &self.m - &one, &self.m >> 1, (&self.m >> 1) + &one, radix];
        numbers.extend((0..3).map(|_| number(&row(random, BITS, self.n))));
        numbers.into_iter().map(|number| number % &self.m).collect()
    }
}

fn number(limbs: &[u64]) -> BigUint {
    limbs.iter().rev().fold(BigUint::ZERO, |number, limb| (number << BITS) + limb)
}

/// Odd moduli of at most n limbs.
fn moduli(random: &mut Random, n: usize) -> Vec<Modulus> {
    let bits = BITS as usize * n;
    let power = |bit: usize| BigUint::from(1u8) << bit;
    let drawn = |random: &mut Random| number(&row(random, BITS, n));
    let low = power(BITS as usize) - 1u8;
    let mut moduli = vec![
        ("all ones", power(bits) - 1u8),
        ("the top bit and 1", power(bits - 1) + 1u8),
        ("a power of two and 1", power(1 + random.below(bits as u64 - 1) as usize) + 1u8),
        ("one", BigUint::from(1u8)),
        ("three", BigUint::from(3u8)),
        ("a bit less than all", power(bits - 1) - 1u8),
        ("a bit more than a limb less", power(bits - BITS as usize) + 1u8),
        ("a small distance from the top", power(bits) - (1 + 2 * random.below(1 << 20))),
        ("half ones", power(bits) - power(bits / 2) + 1u8),
        ("n0 is 1", (drawn(random) >> BITS << BITS) + low),
        ("any", drawn(random)),
        ("any with its top bit set", drawn(random) | power(bits - 1)),
    ];
    moduli.retain(|(_, m)| m.bits() <= bits as u64);
    moduli.into_iter().map(|(what, m)| Modulus { what, m: m | BigUint::from(1u8), n }).collect()
}

/// Which arguments share memory.
#[derive(Clone, Copy)]
enum Place {
    Apart,
    RisA,
    RisB,
    AisB,
    All,
}

fn product(modulus: &Modulus, a: &BigUint, b: &BigUint, place: Place, random: &mut Random) -> Case {
    let n = modulus.n;
    let with = Operands::new("mont.mul").integer("n", n as u64).limbs("m", &modulus.limbs());
    let with = with.limbs("a", &limbs_of(BITS, a, n));
    let with = match place {
        Place::AisB | Place::All => with.same("b", "a"),
        Place::Apart | Place::RisA | Place::RisB => with.limbs("b", &limbs_of(BITS, b, n)),
    };
    let with = match place {
        Place::Apart | Place::AisB => with,
        Place::RisA | Place::All => with.same("r", "a"),
        Place::RisB => with.same("r", "b"),
    };
    Case::new(format!("{n} limbs, m {}, {a:x} by {b:x}", modulus.what), with.noise(random))
}

fn square(modulus: &Modulus, a: &BigUint, in_place: bool, random: &mut Random) -> Case {
    let n = modulus.n;
    let with = Operands::new("mont.square").integer("n", n as u64).limbs("m", &modulus.limbs());
    let with = with.limbs("a", &limbs_of(BITS, a, n));
    let with = if in_place { with.same("r", "a") } else { with };
    Case::new(format!("{n} limbs, m {}, the square of {a:x}", modulus.what), with.noise(random))
}

fn reduction(modulus: &Modulus, x: &BigUint, random: &mut Random) -> Case {
    let n = modulus.n;
    let with = Operands::new("mont.reduce").integer("n", n as u64).limbs("m", &modulus.limbs());
    let with = with.limbs("x", &limbs_of(BITS, x, 2 * n));
    Case::new(format!("{n} limbs, m {}, from {x:x}", modulus.what), with.noise(random))
}

/// The number that a case leaves.
fn result(case: &Case) -> BigUint {
    number(&case.expected.written[0].1)
}

fn check(kernel: &str, cases: impl Fn(&Modulus, &mut Random) -> Vec<Case>) {
    let mut random = Random::new(0x6d6f_6e74);
    let mut all = Vec::new();
    for n in sizes(kernel) {
        for modulus in moduli(&mut random, n) {
            all.extend(cases(&modulus, &mut random));
        }
    }
    let mut tally = Tally::default();
    try_all(kernel, &all, INTERPRETED, &mut tally);
    tally.report_whole();
}

/// Cases of an exact variant go through the interpreter for some moduli alone: a large product is many instructions.
fn thinned(case: Case, index: usize, n: usize) -> Case {
    if n <= 8 || index.is_multiple_of(n / 2) { case } else { case.native_only() }
}

#[test]
fn every_product_is_right() {
    const PLACES: [Place; 5] = [Place::Apart, Place::RisA, Place::RisB, Place::AisB, Place::All];
    check("mont.mul", |modulus, random| {
        let numbers = modulus.numbers(random);
        let mut cases = Vec::new();
        // Each by itself and by the next two.
        for (index, a) in numbers.iter().enumerate() {
            for step in 0..3 {
                let b = &numbers[(index + step) % numbers.len()];
                let place = PLACES[(index + 2 * step) % PLACES.len()];
                let case = product(modulus, a, b, place, random);
                cases.push(thinned(case, index + step, modulus.n));
            }
        }
        // On results: a, a b, a b^2, ...
        let (mut a, b) = (numbers[7].clone(), &numbers[8]);
        for turn in 0..6 {
            let case = product(modulus, &a, b, if turn % 2 == 0 { Place::RisA } else { Place::Apart }, random);
            a = result(&case);
            cases.push(case.native_only());
        }
        cases
    });
}

#[test]
fn every_square_is_right() {
    check("mont.square", |modulus, random| {
        let mut cases = Vec::new();
        for (index, a) in modulus.numbers(random).iter().enumerate() {
            let case = square(modulus, a, index % 2 == 1, random);
            // By way of big integers: what every square must give is what every product of equal operands must.
            let product = product(modulus, a, a, Place::AisB, random);
            assert_eq!(case.expected, product.expected, "{}", case.label);
            cases.push(thinned(case, index, modulus.n));
        }
        let mut a = result(&cases[cases.len() - 1]);
        for turn in 0..6 {
            let case = square(modulus, &a, turn % 2 == 0, random);
            a = result(&case);
            cases.push(case.native_only());
        }
        cases
    });
}

#[test]
fn every_reduction_is_right() {
    check("mont.reduce", |modulus, random| {
        let numbers = modulus.numbers(random);
        let shift = BITS as usize * modulus.n;
        let ones = (BigUint::from(1u8) << shift) - 1u8;
        let mut from = Vec::new();
        for (index, high) in numbers.iter().enumerate() {
            // As the upper half with any lower half, alone, and by another.
            let low = [BigUint::ZERO, ones.clone(), number(&row(random, BITS, modulus.n))][index % 3].clone();
            from.extend([(high << shift) + low, high.clone(), high * &numbers[(index + 1) % numbers.len()]]);
        }
        from.push((&modulus.m << shift) - 1u8);
        let cases = from.iter().enumerate();
        cases.map(|(index, x)| thinned(reduction(modulus, x, random), index, modulus.n)).collect()
    });
}
