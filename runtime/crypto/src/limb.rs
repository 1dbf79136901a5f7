//! Rows of limbs: numbers as slices, least significant limb first, at most 65,536 limbs.

use kiln_kernels::catalogue::Word;
use kiln_kernels::limb::{LIMB32_MUL_ADD, LIMB64_MUL_ADD, limb32_mul_add, limb64_mul_add};
use kiln_runtime::dispatch::LazySlots;
use std::fmt;

/// Lengths that a kernel's contract does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthError {
    /// `r` and `a` differ.
    Differ {
        /// Limbs of `r`.
        r: usize,
        /// Limbs of `a`.
        a: usize,
    },
    /// More than 65,536 limbs.
    TooLong {
        /// How many.
        limbs: usize,
    },
}

impl fmt::Display for LengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LengthError::Differ { r, a } => write!(f, "r has {r} limbs and a has {a}: they must be equally long"),
            LengthError::TooLong { limbs } => write!(f, "{limbs} limbs; at most {MAX_LIMBS} are allowed"),
        }
    }
}

impl std::error::Error for LengthError {}

/// The most limbs that a row may have.
pub const MAX_LIMBS: usize = 65_536;

fn check(r: usize, a: usize) -> Result<u64, LengthError> {
    if r != a {
        return Err(LengthError::Differ { r, a });
    }
    if r > MAX_LIMBS {
        return Err(LengthError::TooLong { limbs: r });
    }
    Ok(r as u64)
}

macro_rules! mul_add {
    ($out:ident, $in_place:ident, $call:ident, $limb:ty, $kernel:ident, $module:ident) => {
        /// r := r + a * w; returns the carry limb.
        ///
        /// # Errors
        /// When the lengths differ or are over [`MAX_LIMBS`]; `r` is untouched then.
        pub fn $out(r: &mut [$limb], a: &[$limb], w: $limb) -> Result<$limb, LengthError> {
            let n = check(r.len(), a.len())?;
            Ok($call(r.as_mut_ptr().cast(), a.as_ptr().cast::<u8>().cast_mut(), n, w))
        }

        /// r := r + r * w; returns the carry limb.
        ///
        /// # Errors
        /// When the length is over [`MAX_LIMBS`]; `r` is untouched then.
        pub fn $in_place(r: &mut [$limb], w: $limb) -> Result<$limb, LengthError> {
            let n = check(r.len(), r.len())?;
            let pointer = r.as_mut_ptr().cast();
            Ok($call(pointer, pointer, n, w))
        }

        fn $call(r: *mut u8, a: *mut u8, n: u64, w: $limb) -> $limb {
            static SLOTS: LazySlots = LazySlots::new(&$kernel);
            let entry = SLOTS.get().entry_for(n);
            let words = [Word { pointer: r }, Word { pointer: a }, Word { integer: n }, Word { integer: w.into() }];
            // SAFETY: both callers pass pointers to `n` limbs, equal or of two slices that cannot overlap; `a` is only read.
            // The slots hold verified entries of this kernel that this CPU can run, and `entry_for(n)` one that serves n.
            (unsafe { $module::call(entry, &words) }) as $limb
        }
    };
}
mul_add!(mul_add, mul_add_in_place, call_64, u64, LIMB64_MUL_ADD, limb64_mul_add);
mul_add!(mul_add_32, mul_add_32_in_place, call_32, u32, LIMB32_MUL_ADD, limb32_mul_add);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_before_anything_is_written() {
        let mut r = [7u64; 3];
        assert_eq!(mul_add(&mut r, &[1; 2], 1), Err(LengthError::Differ { r: 3, a: 2 }));
        assert_eq!(r, [7; 3]);
        let mut long = vec![0u32; MAX_LIMBS + 1];
        assert_eq!(mul_add_32_in_place(&mut long, 1), Err(LengthError::TooLong { limbs: MAX_LIMBS + 1 }));
        assert_eq!(mul_add(&mut [], &[], 9), Ok(0));
    }

    #[test]
    fn every_length_agrees_with_the_reference_while_it_tunes_and_after() {
        for round in 0..2 {
            for n in (0..140).chain([1000, MAX_LIMBS]) {
                let a: Vec<u64> = (0..n as u64).map(|i| u64::MAX - i * i).collect();
                let mut r: Vec<u64> = a.iter().map(|limb| limb.rotate_left(17)).collect();
                let mut expected = r.clone();
                let carry = kiln_kernels::reference::limb64_mul_add(&mut expected, &a, u64::MAX - round);
                assert_eq!(mul_add(&mut r, &a, u64::MAX - round), Ok(carry), "n = {n}");
                assert_eq!(r, expected, "n = {n}");
                let same = r.clone();
                let carry = kiln_kernels::reference::limb64_mul_add(&mut expected, &same, 3);
                assert_eq!(mul_add_in_place(&mut r, 3), Ok(carry), "n = {n} in place");
                assert_eq!(r, expected, "n = {n} in place");
            }
        }
    }

    #[test]
    fn limbs_of_32_bits_too() {
        for n in 0..70 {
            let a: Vec<u32> = (0..n).map(|i| u32::MAX - i * i).collect();
            let (mut r, mut expected) = (a.clone(), a.clone());
            let carry = kiln_kernels::reference::limb32_mul_add(&mut expected, &a, u32::MAX);
            assert_eq!(mul_add_32(&mut r, &a, u32::MAX), Ok(carry));
            assert_eq!(r, expected);
        }
    }
}
