//! Are reciprocals and divisions of two limbs by one right at both ends of every range, and where the steps of the
//! iteration change?

use kiln_runtime::random::Random;
use kiln_tests::operands::{Operands, mask};
use kiln_tests::patterns::limb;
use kiln_tests::trial::{Case, Tally, try_all};

/// Normalised divisors: both ends, single bits, half limbs, and the neighbourhoods of simple fractions of B, where an estimate
/// of the reciprocal is off by most; each with those `near` it.
fn divisors(bits: u32, random: &mut Random, drawn: usize, near: i64) -> Vec<u64> {
    let (ones, top) = (mask(bits), 1u64 << (bits - 1));
    let mut centres = vec![top, ones, top | 1 << (bits / 2), ones << (bits / 2) & ones, top | ones >> (bits / 2)];
    for (numerator, denominator) in
        [(2u128, 3u128), (3, 4), (8, 9), (5, 8), (7, 8), (4, 5), (9, 16), (15, 16), (255, 256)]
    {
        centres.push(((numerator << bits) / denominator) as u64);
    }
    // A table of 2^8 or 2^11 entries would change here.
    centres.extend((0..32).map(|step| top + (step << (bits - 6))));
    centres.extend((0..bits - 1).map(|bit| top | 1 << bit));
    centres.extend((0..bits - 1).map(|bit| ones ^ 1 << bit));
    let mut divisors = Vec::new();
    for centre in centres {
        divisors.extend((-near..=near).map(|off| centre.wrapping_add_signed(off) & ones).filter(|d| *d >= top));
    }
    divisors.extend((0..drawn).map(|_| limb(random, bits) | top));
    // Evenly over the whole range.
    divisors
        .extend((0..drawn as u64).map(|step| top + (step * (top / drawn as u64) + random.below(top / drawn as u64))));
    divisors.sort_unstable();
    divisors.dedup();
    divisors
}

/// What the contract calls the reciprocal: computed by the expected results of that kernel.
fn reciprocal(bits: u32, d: u64) -> u64 {
    let case = Case::new("", Operands::new(&format!("limb{bits}.reciprocal")).integer("d", d));
    case.expected.returned.expect("a limb")
}

#[test]
fn every_reciprocal_is_right() {
    let mut tally = Tally::default();
    for bits in [32, 64] {
        let kernel = format!("limb{bits}.reciprocal");
        let divisors = divisors(bits, &mut Random::new(0x7265_6370), 8_000, 2);
        let case = |d: u64| Case::new(format!("{d:#x}"), Operands::new(&kernel).integer("d", d));
        let cases: Vec<Case> = divisors.into_iter().map(case).collect();
        try_all(&kernel, &cases, u64::MAX, &mut tally);
    }
    tally.report_whole();
}

/// Dividends below `d B`: both ends of both limbs, quotients of ones and of nothing, remainders of 0 and of d - 1.
fn dividends(bits: u32, d: u64, random: &mut Random) -> Vec<(u64, u64)> {
    let ones = mask(bits);
    let mut dividends = Vec::new();
    for hi in [0, 1, d / 2, d - 2, d - 1, limb(random, bits) % d] {
        dividends.extend([0, 1, ones - 1, ones, d - 1, d, limb(random, bits)].map(|lo| (hi, lo & ones)));
    }
    // Exact products and their neighbours below: the remainder wraps from 0 to d - 1.
    for quotient in [1, 2, ones - 1, ones, limb(random, bits)] {
        let product = u128::from(quotient) * u128::from(d);
        for dividend in [product, product.saturating_sub(1), product + u128::from(d) - 1] {
            dividends.push(((dividend >> bits) as u64, dividend as u64 & ones));
        }
    }
    dividends
}

#[test]
fn every_division_is_right() {
    let mut tally = Tally::default();
    for bits in [32, 64] {
        let mut random = Random::new(0x6469_7621);
        let (mut secret, mut public) = (Vec::new(), Vec::new());
        for d in divisors(bits, &mut random, 60, 1) {
            let v = reciprocal(bits, d);
            for (hi, lo) in dividends(bits, d, &mut random) {
                let label = format!("{hi:#x} {lo:#x} by {d:#x}");
                let operands = |kernel: &str| {
                    let new = Operands::new(&format!("limb{bits}.{kernel}")).integer("d", d);
                    new.integer("hi", hi).integer("lo", lo)
                };
                secret.push(Case::new(label.clone(), operands("div_2by1").integer("v", v).noise(&mut random)));
                public.push(Case::new(label, operands("div_2by1_public").noise(&mut random)));
            }
        }
        try_all(&format!("limb{bits}.div_2by1"), &secret, u64::MAX, &mut tally);
        try_all(&format!("limb{bits}.div_2by1_public"), &public, u64::MAX, &mut tally);
    }
    tally.report_whole();
}
