//! Two limbs by one, with the reciprocal and by the CPU's instruction.

use kiln::limb::{Divisor, Error, divide_public};

use crate::reference::{Checked, Operands};
use crate::while_it_tunes_and_after;

#[test]
fn divisions_of_64_bit_limbs() {
    while_it_tunes_and_after(divisions::<u64>);
}

#[test]
fn divisions_of_32_bit_limbs() {
    while_it_tunes_and_after(divisions::<u32>);
}

fn divisions<L: Checked>(seed: u64) {
    let mut operands = Operands(seed);
    let (zero, ones) = (L::cut(0), L::cut(u64::MAX));
    let smallest = zero.normalised();
    let edges = [zero, L::cut(1 << 32), ones.below(smallest), smallest, ones];
    let drawn: Vec<[L; 3]> = (0..5000).map(|_| [operands.limb(), operands.limb(), operands.limb()]).collect();
    let at_edges = edges.iter().flat_map(|&d| edges.iter().flat_map(move |&hi| edges.map(|lo| [hi, lo, d])));
    for [hi, lo, d] in drawn.into_iter().chain(at_edges) {
        let d = d.normalised();
        let divisor = Divisor::new(d).expect("normalised");
        if hi >= d {
            assert_eq!(divisor.divide(hi, lo), Err(Error::QuotientTooLong), "{hi:x?} {lo:x?} by {d:x?}");
            assert_eq!(divide_public(hi, lo, d), Err(Error::QuotientTooLong), "{hi:x?} {lo:x?} by {d:x?}");
        }
        let hi = hi.below(d);
        let mut quotient = [ones];
        let remainder = (L::REFERENCE.division)(&mut quotient, hi, lo, d);
        let expected = Ok((quotient[0], remainder));
        assert_eq!(divisor.divide(hi, lo), expected, "{hi:x?} {lo:x?} by {d:x?}");
        assert_eq!(divisor.clone().divide(hi, lo), expected, "{hi:x?} {lo:x?} by {d:x?}");
        assert_eq!(divide_public(hi, lo, d), expected, "{hi:x?} {lo:x?} by {d:x?}, public");
    }
}

#[test]
fn a_divisor_has_its_top_bit_set() {
    for d in [0, 1, u64::MAX >> 1] {
        assert_eq!(Divisor::new(d).err(), Some(Error::NotNormalised));
        assert_eq!(Divisor::new((d >> 32) as u32).err(), Some(Error::NotNormalised));
        assert_eq!(divide_public(0, 1, d), Err(Error::NotNormalised));
        assert_eq!(divide_public(0, 1, (d >> 32) as u32), Err(Error::NotNormalised));
    }
}

#[test]
fn a_divisor_shows_nothing_of_itself() {
    assert_eq!(format!("{:?}", Divisor::new(u32::MAX)), "Ok(Divisor { .. })");
}
