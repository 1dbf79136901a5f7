//! Rows of limbs: numbers as slices, least significant limb first, at most 65,536 limbs. B is 2^32 or 2^64, the base of the
//! limbs: every function takes both.
//!
//! ```
//! use kiln::limb;
//!
//! // (2^128 - 1)^2, once by rows and once as a whole; then the top limb divided by another one.
//! let a = [u64::MAX, u64::MAX];
//! let mut rows = [0; 4];
//! rows[2] = limb::mul(&mut rows[..2], &a, a[0])?;
//! limb::mul_add_prop(&mut rows[1..], &a, a[1])?;
//! let mut whole = [0; 4];
//! limb::square(&mut whole, &a)?;
//! assert_eq!((rows, whole), ([1, 0, u64::MAX - 1, u64::MAX], rows));
//!
//! let divisor = limb::Divisor::new(1u64 << 63)?;
//! assert_eq!(divisor.divide(1, 5)?, (2, 5));
//! # Ok::<(), limb::Error>(())
//! ```
//!
//! # Secrets
//! Limbs may be secret, lengths never are: no branch, address or instruction of variable time depends on a limb, save where a
//! function says so ([`divide_public`]) and in an error, which tells what it tells. What that rests on is in `SOUNDNESS.md`.
//!
//! # Errors
//! Whatever the contract of a function asks of its arguments is checked before anything is written: after an error, the
//! arguments are as they were.

#[forbid(unsafe_code)]
mod division;
#[allow(unsafe_code, reason = "the one place that calls an entry")]
mod kernels;
#[forbid(unsafe_code)]
mod products;
#[forbid(unsafe_code)]
mod rows;

pub use division::{Divisor, divide_public};
pub use products::{product, product_with, square, square_with};
pub use rows::{
    add, add_assign, double, mul, mul_add, mul_add_in_place, mul_add_prop, mul_in_place, mul_sub, mul_sub_in_place,
    sqr_add_prop, sub, sub_assign, sub_from,
};

use std::fmt;

/// The most limbs that a number may have; for the functions that carry on above a row, the most in the row and the most
/// above it.
pub const MAX_LIMBS: usize = 65_536;

/// A digit of a number: `u32` or `u64`, and no other type.
///
/// Which of the two is faster depends on the CPU and on the work; kernels of the one never race those of the other.
pub trait Limb: kernels::Kernels + Copy + Default + Ord + fmt::Debug + Send + Sync + 'static {
    /// Bits of a limb.
    const BITS: u32;
}

impl Limb for u32 {
    const BITS: u32 = u32::BITS;
}

impl Limb for u64 {
    const BITS: u32 = u64::BITS;
}

/// What a contract does not allow. The arguments are untouched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument has another length than the others ask for.
    Length {
        /// The argument.
        argument: &'static str,
        /// Its limbs.
        limbs: usize,
        /// What it should have.
        expected: usize,
    },
    /// An argument is shorter than the others ask for.
    TooShort {
        /// The argument.
        argument: &'static str,
        /// Its limbs.
        limbs: usize,
        /// What it should have at least.
        least: usize,
    },
    /// An argument is longer than is allowed.
    TooLong {
        /// The argument.
        argument: &'static str,
        /// Its limbs.
        limbs: usize,
        /// What it may have.
        most: usize,
    },
    /// The top bit of a divisor is not set.
    NotNormalised,
    /// The high limb of a dividend is not below the divisor, so that the quotient has more than one limb.
    QuotientTooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Length { argument, limbs, expected } => {
                write!(f, "{argument} has a length of {limbs} limbs and needs one of {expected}")
            }
            Error::TooShort { argument, limbs, least } => {
                write!(f, "{argument} has a length of {limbs} limbs and needs at least {least}")
            }
            Error::TooLong { argument, limbs, most } => {
                write!(f, "{argument} has a length of {limbs} limbs; at most {most} are allowed")
            }
            Error::NotNormalised => {
                f.write_str("the top bit of the divisor is not set; shift it and the dividend to the left")
            }
            Error::QuotientTooLong => {
                f.write_str("the high limb is not below the divisor, so that the quotient has more than one limb")
            }
        }
    }
}

impl std::error::Error for Error {}

/// An argument has to be as long as the others say.
#[inline]
fn exactly(argument: &'static str, limbs: usize, expected: usize) -> Result<(), Error> {
    if limbs == expected { Ok(()) } else { Err(Error::Length { argument, limbs, expected }) }
}

/// An argument has to be so long or longer.
#[inline]
fn at_least(argument: &'static str, limbs: usize, least: usize) -> Result<(), Error> {
    if limbs >= least { Ok(()) } else { Err(Error::TooShort { argument, limbs, least }) }
}

/// An argument has to be so long or shorter.
#[inline]
fn at_most(argument: &'static str, limbs: usize, most: usize) -> Result<(), Error> {
    if limbs <= most { Ok(()) } else { Err(Error::TooLong { argument, limbs, most }) }
}
