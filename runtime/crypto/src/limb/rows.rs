//! A row and a limb, two rows, and a row that is added to a longer number.

use super::kernels::Input::{Apart, Output};
use super::{Error, Limb, MAX_LIMBS, at_least, at_most, exactly};

/// `r` and `a` are rows of one length.
#[inline]
fn rows<L>(r: &[L], a: &[L]) -> Result<(), Error> {
    exactly("a", a.len(), r.len())?;
    at_most("r", r.len(), MAX_LIMBS)
}

/// r := a * w; returns the carry limb.
///
/// ```
/// let mut r = [0; 2];
/// assert_eq!(kiln::limb::mul(&mut r, &[u64::MAX, 1], 3), Ok(0));
/// assert_eq!(r, [u64::MAX - 2, 5]);
/// ```
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn mul<L: Limb>(r: &mut [L], a: &[L], w: L) -> Result<L, Error> {
    rows(r, a)?;
    Ok(L::mul().call(r, Apart(a), w))
}

/// r := r * w; returns the carry limb.
///
/// # Errors
/// When the length is over [`MAX_LIMBS`].
pub fn mul_in_place<L: Limb>(r: &mut [L], w: L) -> Result<L, Error> {
    at_most("r", r.len(), MAX_LIMBS)?;
    Ok(L::mul().call(r, Output, w))
}

/// r := r + a * w; returns the carry limb.
///
/// ```
/// let mut r = [u32::MAX, 0];
/// assert_eq!(kiln::limb::mul_add(&mut r, &[1, u32::MAX], 2), Ok(1));
/// assert_eq!(r, [1, u32::MAX]);
/// ```
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn mul_add<L: Limb>(r: &mut [L], a: &[L], w: L) -> Result<L, Error> {
    rows(r, a)?;
    Ok(L::mul_add().call(r, Apart(a), w))
}

/// r := r + r * w; returns the carry limb.
///
/// # Errors
/// When the length is over [`MAX_LIMBS`].
pub fn mul_add_in_place<L: Limb>(r: &mut [L], w: L) -> Result<L, Error> {
    at_most("r", r.len(), MAX_LIMBS)?;
    Ok(L::mul_add().call(r, Output, w))
}

/// r := r - a * w; returns the borrow limb.
///
/// ```
/// let mut r = [5u64, 7];
/// assert_eq!(kiln::limb::mul_sub(&mut r, &[3, 1], 2), Ok(0));
/// assert_eq!(r, [u64::MAX, 4]);
/// ```
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn mul_sub<L: Limb>(r: &mut [L], a: &[L], w: L) -> Result<L, Error> {
    rows(r, a)?;
    Ok(L::mul_sub().call(r, Apart(a), w))
}

/// r := r - r * w; returns the borrow limb.
///
/// # Errors
/// When the length is over [`MAX_LIMBS`].
pub fn mul_sub_in_place<L: Limb>(r: &mut [L], w: L) -> Result<L, Error> {
    at_most("r", r.len(), MAX_LIMBS)?;
    Ok(L::mul_sub().call(r, Output, w))
}

/// r := a + b; returns the carry, 0 or 1.
///
/// ```
/// let mut r = [0; 2];
/// assert_eq!(kiln::limb::add(&mut r, &[u64::MAX, u64::MAX], &[2, 0]), Ok(1));
/// assert_eq!(r, [1, 0]);
/// ```
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn add<L: Limb>(r: &mut [L], a: &[L], b: &[L]) -> Result<L, Error> {
    rows(r, a)?;
    exactly("b", b.len(), r.len())?;
    Ok(L::add().call(r, Apart(a), Apart(b)))
}

/// r := r + a; returns the carry, 0 or 1.
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn add_assign<L: Limb>(r: &mut [L], a: &[L]) -> Result<L, Error> {
    rows(r, a)?;
    Ok(L::add().call(r, Output, Apart(a)))
}

/// r := 2 r; returns the carry, 0 or 1.
///
/// # Errors
/// When the length is over [`MAX_LIMBS`].
pub fn double<L: Limb>(r: &mut [L]) -> Result<L, Error> {
    at_most("r", r.len(), MAX_LIMBS)?;
    Ok(L::add().call(r, Output, Output))
}

/// r := a - b; returns the borrow, 0 or 1.
///
/// ```
/// let mut r = [0; 2];
/// assert_eq!(kiln::limb::sub(&mut r, &[1u32, 0], &[2, 0]), Ok(1));
/// assert_eq!(r, [u32::MAX, u32::MAX]);
/// ```
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn sub<L: Limb>(r: &mut [L], a: &[L], b: &[L]) -> Result<L, Error> {
    rows(r, a)?;
    exactly("b", b.len(), r.len())?;
    Ok(L::sub().call(r, Apart(a), Apart(b)))
}

/// r := r - a; returns the borrow, 0 or 1.
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn sub_assign<L: Limb>(r: &mut [L], a: &[L]) -> Result<L, Error> {
    rows(r, a)?;
    Ok(L::sub().call(r, Output, Apart(a)))
}

/// r := a - r; returns the borrow, 0 or 1.
///
/// # Errors
/// When the lengths differ or are over [`MAX_LIMBS`].
pub fn sub_from<L: Limb>(r: &mut [L], a: &[L]) -> Result<L, Error> {
    rows(r, a)?;
    Ok(L::sub().call(r, Apart(a), Output))
}

/// r := r + a * w for a number r that may be longer than a, with the carry through all of r; returns what is carried out of
/// r.
///
/// The carry walks to the end of r whatever the limbs are, so that the time does not tell where it stopped.
///
/// ```
/// let mut r = [1, u64::MAX, u64::MAX, 4];
/// assert_eq!(kiln::limb::mul_add_prop(&mut r, &[u64::MAX], 1), Ok(0));
/// assert_eq!(r, [0, 0, 0, 5]);
/// ```
///
/// # Errors
/// When r is shorter than a, or a or what r has more is over [`MAX_LIMBS`].
pub fn mul_add_prop<L: Limb>(r: &mut [L], a: &[L], w: L) -> Result<L, Error> {
    long(r, a, 1)?;
    Ok(L::mul_add_prop().call(r, a, w))
}

/// r := r + the sum of a\[i\]^2 B^(2i) for a number r of twice as many limbs as a or more, with the carry through all of r;
/// returns what is carried out of r.
///
/// With the products of different limbs in r already, twice each, this makes it a square.
///
/// ```
/// let mut r = [1, 0, 0, 0, 9];
/// assert_eq!(kiln::limb::sqr_add_prop(&mut r, &[3u64, 1 << 63]), Ok(0));
/// assert_eq!(r, [10, 0, 0, 1 << 62, 9]);
/// ```
///
/// # Errors
/// When r is shorter than 2 a, or a or what r has more is over [`MAX_LIMBS`].
pub fn sqr_add_prop<L: Limb>(r: &mut [L], a: &[L]) -> Result<L, Error> {
    long(r, a, 2)?;
    Ok(L::sqr_add_prop().call(r, a))
}

/// `a` is a row, and `r` has so many limbs for each of its limbs and perhaps more.
#[inline]
fn long<L>(r: &[L], a: &[L], times: usize) -> Result<(), Error> {
    at_most("a", a.len(), MAX_LIMBS)?;
    at_least("r", r.len(), times * a.len())?;
    at_most("r", r.len(), times * a.len() + MAX_LIMBS)
}
