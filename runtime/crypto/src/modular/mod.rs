//! Products and powers modulo an odd number of up to 8192 bits, whose time and addresses depend on lengths alone, unless a
//! function says otherwise. Numbers are slices of 64-bit limbs, least significant first.
//!
//! ```
//! use kiln::modular::{Modulus, PublicExponent, SecretExponent};
//!
//! // 5^117 mod 2^127 - 1, both ways.
//! let m = Modulus::new(&[u64::MAX, u64::MAX >> 1])?;
//! let (mut secret, mut public) = ([0; 2], [0; 2]);
//! m.power(&mut secret, &[5, 0], &SecretExponent::new(&[117]))?;
//! m.power_public(&mut public, &[5, 0], &PublicExponent::new(&[117]))?;
//! assert_eq!(secret, public);
//! # Ok::<(), kiln::modular::Error>(())
//! ```

#[allow(unsafe_code, reason = "the one place that calls an entry")]
mod kernels;
#[forbid(unsafe_code)]
mod power;

use std::fmt;

use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

pub use kernels::{MAX_LIMBS, Weave};
pub use power::{PublicExponent, SecretExponent};

use kernels::Parts;

/// Why there is no result. Nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A modulus is even.
    Even,
    /// A modulus has no limbs, or more than [`MAX_LIMBS`].
    ModulusLength(usize),
    /// A number has another length than the modulus asks for.
    Length {
        /// The argument.
        argument: &'static str,
        /// Its limbs.
        limbs: usize,
        /// What it should have.
        expected: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Even => f.write_str("the modulus is even: Montgomery products need an odd one"),
            Error::ModulusLength(limbs) => write!(f, "the modulus has {limbs} limbs: 1 to {MAX_LIMBS} are possible"),
            Error::Length { argument, limbs, expected } => {
                write!(f, "{argument} has a length of {limbs} limbs and needs one of {expected}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Limbs that are wiped when they are let go.
pub(crate) type Limbs = Zeroizing<Vec<u64>>;

pub(crate) fn limbs(count: usize) -> Limbs {
    Zeroizing::new(vec![0; count])
}

/// An odd modulus, and what Montgomery's method needs of it. R is 2^(64 n) for a modulus of n limbs. All of it is taken to be
/// secret but the number of limbs and of bits; it is wiped when it is dropped.
///
/// P. L. Montgomery, Modular multiplication without trial division, Mathematics of Computation 44 (1985).
#[derive(Clone)]
pub struct Modulus {
    /// -m^-1 mod 2^64, then m.
    parts: Limbs,
    /// R mod m, R^2 mod m and R^3 mod m.
    powers_of_r: [Limbs; 3],
    bits: usize,
}

impl fmt::Debug for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modulus").field("bits", &self.bits).finish_non_exhaustive()
    }
}

impl Modulus {
    /// Of these limbs; zeros at the top count as limbs, so that moduli of one size are treated alike.
    ///
    /// # Errors
    /// When it is even, has no limbs or too many.
    pub fn new(m: &[u64]) -> Result<Modulus, Error> {
        let n = m.len();
        if n == 0 || n > MAX_LIMBS {
            return Err(Error::ModulusLength(n));
        }
        if m[0] & 1 == 0 {
            return Err(Error::Even);
        }
        let bits = bits(m);
        let mut parts = limbs(n + 1);
        parts[0] = minus_inverse(m[0]);
        parts[1..].copy_from_slice(m);
        // 2^(bits - 1), doubled until it is 2^n R mod m: then six squarings make 2^(64 n) R of it.
        let mut x = limbs(n);
        x[(bits - 1) / 64] = 1 << ((bits - 1) % 64);
        // It is below m but where m is 1.
        subtract_once(&mut x, m, 0);
        let mut t = limbs(4 * n);
        let mut one = limbs(n);
        for exponent in bits - 1..64 * n + n {
            if exponent == 64 * n {
                one.copy_from_slice(&x);
            }
            let carry = double(&mut x);
            subtract_once(&mut x, m, carry);
        }
        let (mut square, mut cube) = (x, limbs(n));
        for _ in 0..6 {
            kernels::square_in_place(&mut square, Parts::new(&parts), &mut t);
        }
        kernels::square(&mut cube, &square, Parts::new(&parts), &mut t);
        Ok(Modulus { parts, powers_of_r: [one, square, cube], bits })
    }

    /// Of bytes, most significant first; zeros in front do not count.
    ///
    /// # Errors
    /// When it is even, 0, or longer than [`MAX_LIMBS`].
    pub fn from_be_bytes(bytes: &[u8]) -> Result<Modulus, Error> {
        let significant = bytes.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &bytes[first..]);
        let n = significant.len().div_ceil(8);
        if n > MAX_LIMBS {
            return Err(Error::ModulusLength(n));
        }
        let mut limbs = limbs(n);
        from_be_bytes(&mut limbs, significant);
        Modulus::new(&limbs)
    }

    /// Limbs of it, and of every number below it.
    pub fn limbs(&self) -> usize {
        self.parts.len() - 1
    }

    /// Bits of it.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Its limbs.
    pub(crate) fn value(&self) -> &[u64] {
        &self.parts[1..]
    }

    fn parts(&self) -> Parts<'_> {
        Parts::new(&self.parts)
    }

    /// R mod m: one, in Montgomery's form.
    pub(crate) fn one(&self) -> &[u64] {
        &self.powers_of_r[0]
    }

    /// r := x mod m in Montgomery's form, x R mod m. The upper half of the 2n limbs of x is below m.
    pub(crate) fn enter(&self, r: &mut [u64], x: &[u64], t: &mut [u64]) {
        kernels::reduce(r, x, self.parts(), t);
        kernels::mul_in_place(r, &self.powers_of_r[2], self.parts(), t);
    }

    /// r := x in Montgomery's form, for x below m.
    pub(crate) fn enter_below(&self, r: &mut [u64], x: &[u64], t: &mut [u64]) {
        kernels::mul(r, x, &self.powers_of_r[1], self.parts(), t);
    }

    /// r := x / R mod m. The upper half of the 2n limbs of x is below m.
    pub(crate) fn reduce(&self, r: &mut [u64], x: &[u64], t: &mut [u64]) {
        kernels::reduce(r, x, self.parts(), t);
    }

    /// r := a b / R mod m, for a and b below m.
    pub(crate) fn montgomery_mul(&self, r: &mut [u64], a: &[u64], b: &[u64], t: &mut [u64]) {
        kernels::mul(r, a, b, self.parts(), t);
    }

    /// r := r b / R mod m, for both below m.
    pub(crate) fn montgomery_mul_in_place(&self, r: &mut [u64], b: &[u64], t: &mut [u64]) {
        kernels::mul_in_place(r, b, self.parts(), t);
    }

    /// r := r^2 / R mod m, for r below m.
    pub(crate) fn montgomery_square_in_place(&self, r: &mut [u64], t: &mut [u64]) {
        kernels::square_in_place(r, self.parts(), t);
    }

    /// Limbs of scratch that the functions above need.
    pub(crate) fn scratch(&self) -> Limbs {
        limbs(4 * self.limbs())
    }

    /// r := r - a mod m, for both below m.
    pub(crate) fn sub_assign(&self, r: &mut [u64], a: &[u64]) {
        let mut borrow = 0;
        for (r, a) in r.iter_mut().zip(a) {
            (*r, borrow) = subtract_with_borrow(*r, *a, borrow);
        }
        let mut carry = 0;
        for (r, m) in r.iter_mut().zip(self.value()) {
            let m = u64::conditional_select(&0, m, Choice::from(borrow as u8));
            (*r, carry) = add_with_carry(*r, m, carry);
        }
    }

    fn check(&self, argument: &'static str, limbs: usize) -> Result<(), Error> {
        let expected = self.limbs();
        if limbs == expected { Ok(()) } else { Err(Error::Length { argument, limbs, expected }) }
    }

    /// r := a b mod m. Any a and b of as many limbs as m.
    ///
    /// # Errors
    /// When a length is another than that of the modulus.
    pub fn mul(&self, r: &mut [u64], a: &[u64], b: &[u64]) -> Result<(), Error> {
        self.check("r", r.len())?;
        self.check("a", a.len())?;
        self.check("b", b.len())?;
        let n = self.limbs();
        let (mut t, mut wide, mut other) = (self.scratch(), limbs(2 * n), limbs(n));
        wide[..n].copy_from_slice(b);
        self.enter(&mut other, &wide, &mut t);
        wide[..n].copy_from_slice(a);
        self.reduce(r, &wide, &mut t);
        self.montgomery_mul_in_place(r, &other, &mut t);
        // a / R times b R, over R: what is missing is R.
        self.montgomery_mul_in_place(r, &self.powers_of_r[1], &mut t);
        Ok(())
    }

    /// r := base^exponent mod m; 0^0 is 1. Any base of as many limbs as m. Takes a time that depends on the number of limbs of
    /// m and on the bits that the exponent is said to have.
    ///
    /// # Errors
    /// When a length is another than that of the modulus.
    pub fn power(&self, r: &mut [u64], base: &[u64], exponent: &SecretExponent) -> Result<(), Error> {
        self.power_woven(r, base, exponent, Weave::for_bits(exponent.bits()))
    }

    /// [`power`](Modulus::power), with a layout of the table that the caller chose.
    ///
    /// # Errors
    /// When a length is another than that of the modulus.
    pub fn power_woven(
        &self,
        r: &mut [u64],
        base: &[u64],
        exponent: &SecretExponent,
        weave: Weave,
    ) -> Result<(), Error> {
        self.raised(r, base, |r, t| self.montgomery_power(r, exponent, weave, t))
    }

    /// r := base^exponent mod m, in a time that depends on the exponent. Any base of as many limbs as m, which may be secret.
    ///
    /// # Errors
    /// When a length is another than that of the modulus.
    pub fn power_public(&self, r: &mut [u64], base: &[u64], exponent: &PublicExponent) -> Result<(), Error> {
        self.raised(r, base, |r, t| self.montgomery_power_public(r, exponent, t))
    }

    /// r := base raised by `raise`, which works in Montgomery's form with the scratch that it is given.
    fn raised(&self, r: &mut [u64], base: &[u64], raise: impl FnOnce(&mut [u64], &mut [u64])) -> Result<(), Error> {
        self.check("r", r.len())?;
        self.check("base", base.len())?;
        let n = self.limbs();
        let (mut t, mut wide) = (self.scratch(), limbs(2 * n));
        wide[..n].copy_from_slice(base);
        self.enter(r, &wide, &mut t);
        raise(r, &mut t);
        wide[..n].copy_from_slice(r);
        self.reduce(r, &wide, &mut t);
        Ok(())
    }
}

/// Bits of a number; 1 for 0, whose lowest bit is as good as any.
fn bits(limbs: &[u64]) -> usize {
    let top = limbs.iter().rposition(|limb| *limb != 0).unwrap_or(0);
    (64 * top + 64 - limbs[top].leading_zeros() as usize).max(1)
}

/// -m^-1 mod 2^64 for an odd m, by Newton's iteration: each step doubles the bits that are right, and m itself has three.
fn minus_inverse(m: u64) -> u64 {
    let mut inverse = m;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(m.wrapping_mul(inverse)));
    }
    inverse.wrapping_neg()
}

fn add_with_carry(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

fn subtract_with_borrow(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = u128::from(a).wrapping_sub(u128::from(b) + u128::from(borrow));
    (difference as u64, (difference >> 64) as u64 & 1)
}

/// x := 2 x; gives the bit that is lost.
fn double(x: &mut [u64]) -> u64 {
    let mut carry = 0;
    for limb in x {
        (*limb, carry) = (*limb << 1 | carry, *limb >> 63);
    }
    carry
}

/// x := x - m if x, with a carry above it, is not below m.
fn subtract_once(x: &mut [u64], m: &[u64], carry: u64) {
    let mut borrow = 0;
    for (x, m) in x.iter().zip(m) {
        (_, borrow) = subtract_with_borrow(*x, *m, borrow);
    }
    let subtract = Choice::from((carry | (borrow ^ 1)) as u8);
    let mut borrow = 0;
    for (x, m) in x.iter_mut().zip(m) {
        let m = u64::conditional_select(&0, m, subtract);
        (*x, borrow) = subtract_with_borrow(*x, m, borrow);
    }
}

/// Reads a number, most significant byte first, into limbs that have room for it.
///
/// # Panics
/// When they have not.
pub(crate) fn from_be_bytes(limbs: &mut [u64], bytes: &[u8]) {
    assert!(bytes.len() <= 8 * limbs.len());
    limbs.fill(0);
    for (index, byte) in bytes.iter().rev().enumerate() {
        limbs[index / 8] |= u64::from(*byte) << (8 * (index % 8));
    }
}

/// Writes the lowest bytes of a number, most significant first.
///
/// # Panics
/// When there are more bytes than limbs have.
pub(crate) fn to_be_bytes(bytes: &mut [u8], limbs: &[u64]) {
    assert!(bytes.len() <= 8 * limbs.len());
    for (index, byte) in bytes.iter_mut().rev().enumerate() {
        *byte = (limbs[index / 8] >> (8 * (index % 8))) as u8;
    }
}

/// x mod m, bit by bit: for any m but 0, and in a time that depends on lengths alone. Slow.
pub(crate) fn remainder(x: &[u64], m: &[u64]) -> Limbs {
    let mut r = limbs(m.len());
    for limb in x.iter().rev() {
        for bit in (0..64).rev() {
            let carry = double(&mut r);
            r[0] |= limb >> bit & 1;
            subtract_once(&mut r, m, carry);
        }
    }
    r
}
