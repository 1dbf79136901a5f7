//! Two limbs divided by one.

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Error, Limb};

/// A limb to divide by, with its reciprocal; it may be secret.
///
/// The reciprocal is computed once, and a division is then two multiplications and some additions, always in the same time
/// (Möller and Granlund, "Improved division by invariant integers", 2011). Both limbs are wiped when it is dropped.
///
/// ```
/// use kiln::limb::{Divisor, Error};
///
/// let ten = Divisor::new(10u64 << 60)?;
/// // 7 B + 5, and both shifted as the divisor is.
/// assert_eq!(ten.divide(7 << 60, 5 << 60)?, (0xb333_3333_3333_3333, 7 << 60));
/// assert_eq!(ten.divide(10 << 60, 0), Err(Error::QuotientTooLong));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Divisor<L: Limb> {
    d: L,
    reciprocal: L,
}

impl<L: Limb> Divisor<L> {
    /// A divisor whose top bit is set. Shift another one to the left until it is, and the dividend as far: the quotient
    /// stays, and the remainder is shifted.
    ///
    /// Whether the top bit is set is not kept secret.
    ///
    /// # Errors
    /// When it is not.
    pub fn new(d: L) -> Result<Divisor<L>, Error> {
        if !d.top_bit() {
            return Err(Error::NotNormalised);
        }
        Ok(Divisor { d, reciprocal: L::reciprocal().call(d) })
    }

    /// The quotient and the remainder of hi B + lo, where hi is below the divisor.
    ///
    /// That hi is below the divisor is for the caller to see to: in a long division hi is the remainder of the step before,
    /// and always is. Whether it is is found by a comparison in constant time, and the one thing that depends on the answer
    /// is the error: nothing but the error's being there tells anything about hi or the divisor.
    ///
    /// # Errors
    /// When hi is not below the divisor.
    pub fn divide(&self, hi: L, lo: L) -> Result<(L, L), Error> {
        if !bool::from(hi.ct_lt(&self.d)) {
            return Err(Error::QuotientTooLong);
        }
        Ok(L::div_2by1().call(hi, lo, self.d, self.reciprocal))
    }
}

impl<L: Limb> fmt::Debug for Divisor<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Divisor").finish_non_exhaustive()
    }
}

impl<L: Limb> Drop for Divisor<L> {
    fn drop(&mut self) {
        self.d.zeroize();
        self.reciprocal.zeroize();
    }
}

impl<L: Limb> ZeroizeOnDrop for Divisor<L> {}

/// The quotient and the remainder of hi B + lo by d, whose top bit is set and which hi is below. **For public limbs alone**:
/// the CPU's division may take a time that depends on them.
///
/// ```
/// let d = 3 << 62;
/// assert_eq!(kiln::limb::divide_public(1u64, 1, d), Ok((1, (1 << 62) + 1)));
/// ```
///
/// # Errors
/// When the top bit of d is not set, or hi is not below d.
pub fn divide_public<L: Limb>(hi: L, lo: L, d: L) -> Result<(L, L), Error> {
    if !d.top_bit() {
        return Err(Error::NotNormalised);
    }
    if hi >= d {
        return Err(Error::QuotientTooLong);
    }
    Ok(L::div_2by1_public().call(hi, lo, d))
}
