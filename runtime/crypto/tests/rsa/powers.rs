//! Powers and products against big integers: the rows of `tests/vectors/bignum/modexp.jsonl`, and random ones of many lengths.

use kiln::modular::{Error, MAX_LIMBS, Modulus, PublicExponent, SecretExponent, Weave};
use num_bigint::BigUint;

fn limbs(number: &BigUint, count: usize) -> Vec<u64> {
    let mut limbs = number.to_u64_digits();
    limbs.resize(count, 0);
    limbs
}

fn big(limbs: &[u64]) -> BigUint {
    limbs.iter().rev().fold(BigUint::from(0_u32), |sum, limb| (sum << 64) + limb)
}

/// All ways to raise, each layout of the table too.
fn check(m: &BigUint, a: &BigUint, e: &BigUint, expected: &BigUint, id: &str) {
    let n = m.bits().div_ceil(64).max(1) as usize;
    let modulus = Modulus::new(&limbs(m, n)).expect(id);
    let base = limbs(a, n);
    let digits = e.to_u64_digits();
    let (public, secret) = (PublicExponent::new(&digits), SecretExponent::new(&digits));
    let mut r = vec![0; n];
    modulus.power_public(&mut r, &base, &public).expect(id);
    assert_eq!(&big(&r), expected, "{id}, public");
    r.fill(u64::MAX);
    modulus.power(&mut r, &base, &secret).expect(id);
    assert_eq!(&big(&r), expected, "{id}, secret");
    let exact = SecretExponent::with_bits(&digits, e.bits() as usize);
    for weave in Weave::ALL {
        r.fill(u64::MAX);
        modulus.power_woven(&mut r, &base, &exact, weave).expect(id);
        assert_eq!(&big(&r), expected, "{id}, {weave:?}");
    }
}

#[test]
fn the_rows_that_are_shared() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/bignum/modexp.jsonl");
    let text = std::fs::read_to_string(path).expect("it is in the repository");
    let (mut raised, mut refused, mut longer) = (0, 0, 0);
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let Some(id) = row["id"].as_str() else { continue };
        let number = |key: &str| {
            let text = row[key].as_str().expect(id);
            BigUint::parse_bytes(text.as_bytes(), 16).expect(id)
        };
        let m = number("m");
        if !m.bit(0) {
            // 0 and even moduli: an error is right.
            let n = m.bits().div_ceil(64).max(1) as usize;
            assert_eq!(Modulus::new(&limbs(&m, n)).unwrap_err(), Error::Even, "{id}");
            refused += 1;
            continue;
        }
        let (a, e, expected) = (number("a"), number("e"), number("r"));
        // A base of more limbs than the modulus has cannot be said; its remainder can.
        let n = m.bits().div_ceil(64).max(1);
        let a = if a.bits() > 64 * n {
            longer += 1;
            &a % &m
        } else {
            a
        };
        check(&m, &a, &e, &expected, id);
        raised += 1;
    }
    println!("{raised} rows raised, {refused} even moduli refused, {longer} bases reduced before");
    assert!(raised > 300 && raised + refused == text.lines().count() - 1);
}

/// Numbers that are drawn: xorshift, so that a failure comes again.
struct Drawn(u64);

impl Drawn {
    fn limb(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // Limbs of zeros and ones are where carries go wrong.
        match self.0 % 7 {
            0 => 0,
            1 => u64::MAX,
            _ => self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    fn limbs(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.limb()).collect()
    }
}

#[test]
fn every_number_of_limbs() {
    let mut drawn = Drawn(1);
    for n in (1..=33).chain([47, 48, 49, 63, 64, 65, 127, 128]) {
        let mut m = drawn.limbs(n);
        m[0] |= 1;
        let (a, b, e) = (drawn.limbs(n), drawn.limbs(n), drawn.limbs(2));
        let modulus = Modulus::new(&m).expect("odd");
        let mut r = vec![0; n];
        modulus.mul(&mut r, &a, &b).expect("lengths that fit");
        let (m, a, b, e) = (big(&m), big(&a), big(&b), big(&e));
        assert_eq!(big(&r), &a * &b % &m, "{n} limbs");
        if m.bits().div_ceil(64) == n as u64 {
            check(&m, &a, &e, &a.modpow(&e, &m), &format!("{n} limbs"));
        }
    }
}

/// Zeros at the top are limbs like others.
#[test]
fn a_modulus_may_have_zeros_at_the_top() {
    let modulus = Modulus::new(&[1_000_003, 0, 0]).expect("odd");
    assert_eq!((modulus.limbs(), modulus.bits()), (3, 20));
    let mut r = [0; 3];
    modulus.power(&mut r, &[7, 9, u64::MAX], &SecretExponent::new(&[65537])).expect("lengths that fit");
    let expected = big(&[7, 9, u64::MAX]).modpow(&BigUint::from(65537_u32), &BigUint::from(1_000_003_u32));
    assert_eq!(big(&r), expected);
}

#[test]
fn what_cannot_be_is_refused_and_nothing_written() {
    assert_eq!(Modulus::new(&[]).unwrap_err(), Error::ModulusLength(0));
    assert_eq!(Modulus::new(&vec![1; MAX_LIMBS + 1]).unwrap_err(), Error::ModulusLength(MAX_LIMBS + 1));
    assert_eq!(Modulus::new(&[2, 1]).unwrap_err(), Error::Even);
    assert_eq!(Modulus::from_be_bytes(&[0, 0]).unwrap_err(), Error::ModulusLength(0));
    assert_eq!(Modulus::from_be_bytes(&[0; 2000]).unwrap_err(), Error::ModulusLength(0));
    let modulus = Modulus::new(&[5, 1]).expect("odd");
    let (mut r, exponent) = ([9; 2], SecretExponent::new(&[3]));
    let error = modulus.power(&mut r, &[1], &exponent).unwrap_err();
    assert_eq!(error.to_string(), "base has a length of 1 limbs and needs one of 2");
    assert!(modulus.power(&mut r[..1], &[1, 2], &exponent).is_err());
    assert!(modulus.power_public(&mut r, &[1, 2, 3], &PublicExponent::new(&[3])).is_err());
    assert!(modulus.mul(&mut r, &[1, 2], &[1]).is_err());
    assert_eq!(r, [9; 2]);
    // Nothing of a secret is printed.
    assert_eq!(format!("{modulus:?} {exponent:?}"), "Modulus { bits: 65, .. } SecretExponent { bits: 64, .. }");
}

#[test]
fn exponents_without_bits_give_one() {
    for m in [&[1_u64][..], &[3], &[u64::MAX, 7]] {
        let modulus = Modulus::new(m).expect("odd");
        let mut r = vec![7; m.len()];
        let one = if m == [1] { 0 } else { 1 };
        modulus.power(&mut r, &vec![0; m.len()], &SecretExponent::new(&[])).expect("0^0");
        assert_eq!(r[0], one);
        modulus.power(&mut r, &vec![0; m.len()], &SecretExponent::new(&[0, 0])).expect("0^0");
        assert_eq!(r[0], one);
        modulus.power_public(&mut r, &vec![0; m.len()], &PublicExponent::new(&[0])).expect("0^0");
        assert_eq!(r[0], one);
    }
}
