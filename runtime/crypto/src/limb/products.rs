//! Whole products and squares, and the room that they need for intermediate values.

use zeroize::Zeroize;

use super::{Error, Limb, MAX_LIMBS, at_least, at_most, exactly};

/// Scratch of so many limbs is on the stack, for numbers of up to 8 and of up to 64 limbs; more is on the heap.
const SMALL: usize = 16;
const MEDIUM: usize = 128;

/// r := a * b, where r is as long as a and b together.
///
/// Room for intermediate values is on the stack for up to 64 limbs and on the heap above, and is wiped; whoever multiplies
/// often keeps it and calls [`product_with`].
///
/// ```
/// let mut r = [0; 4];
/// kiln::limb::product(&mut r, &[u64::MAX, 1], &[2, 3])?;
/// assert_eq!(r, [u64::MAX - 1, 0, 6, 0]);
/// # Ok::<(), kiln::limb::Error>(())
/// ```
///
/// # Errors
/// When a and b differ in length or are over [`MAX_LIMBS`], or r has not twice as many limbs.
pub fn product<L: Limb>(r: &mut [L], a: &[L], b: &[L]) -> Result<(), Error> {
    exactly("b", b.len(), a.len())?;
    whole(r, a)?;
    with_scratch(r.len(), |scratch| L::mul_nxn().call(r, a, b, scratch));
    Ok(())
}

/// r := a * b, where r is as long as a and b together, with the caller's room for intermediate values.
///
/// The first 2n limbs of `scratch` are used; what they hold before does not matter, and afterwards it means nothing but is
/// as secret as the operands. Wipe it when it is no longer needed.
///
/// # Errors
/// When a and b differ in length or are over [`MAX_LIMBS`], r has not twice as many limbs, or the scratch has fewer than r.
pub fn product_with<L: Limb>(r: &mut [L], a: &[L], b: &[L], scratch: &mut [L]) -> Result<(), Error> {
    exactly("b", b.len(), a.len())?;
    whole(r, a)?;
    at_least("scratch", scratch.len(), r.len())?;
    L::mul_nxn().call(r, a, b, &mut scratch[..r.len()]);
    Ok(())
}

/// r := a^2, where r is twice as long as a.
///
/// Room for intermediate values is as in [`product`]; whoever squares often keeps it and calls [`square_with`].
///
/// ```
/// let mut r = [0; 2];
/// kiln::limb::square(&mut r, &[u32::MAX])?;
/// assert_eq!(r, [1, u32::MAX - 1]);
/// # Ok::<(), kiln::limb::Error>(())
/// ```
///
/// # Errors
/// When a is over [`MAX_LIMBS`] or r has not twice as many limbs.
pub fn square<L: Limb>(r: &mut [L], a: &[L]) -> Result<(), Error> {
    whole(r, a)?;
    with_scratch(r.len(), |scratch| L::sqr_n().call(r, a, scratch));
    Ok(())
}

/// r := a^2, where r is twice as long as a, with the caller's room for intermediate values.
///
/// The scratch is as in [`product_with`].
///
/// # Errors
/// When a is over [`MAX_LIMBS`], r has not twice as many limbs, or the scratch has fewer than r.
pub fn square_with<L: Limb>(r: &mut [L], a: &[L], scratch: &mut [L]) -> Result<(), Error> {
    whole(r, a)?;
    at_least("scratch", scratch.len(), r.len())?;
    L::sqr_n().call(r, a, &mut scratch[..r.len()]);
    Ok(())
}

/// `a` is a number and `r` twice as long.
#[inline]
fn whole<L>(r: &[L], a: &[L]) -> Result<(), Error> {
    at_most("a", a.len(), MAX_LIMBS)?;
    exactly("r", r.len(), 2 * a.len())
}

/// Does the work with so many limbs of scratch, and wipes them.
#[inline]
fn with_scratch<L: Limb>(limbs: usize, work: impl FnOnce(&mut [L])) {
    if limbs <= SMALL {
        work(Wiped(&mut [L::default(); SMALL][..limbs]).0);
    } else if limbs <= MEDIUM {
        work(Wiped(&mut [L::default(); MEDIUM][..limbs]).0);
    } else {
        work(Wiped(&mut vec![L::default(); limbs]).0);
    }
}

/// Limbs that are zero when they are let go, also when somebody panics.
struct Wiped<'a, L: Limb>(&'a mut [L]);

impl<L: Limb> Drop for Wiped<'_, L> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_wiped_also_after_a_panic() {
        let mut room = [0u64; 8];
        Wiped(&mut room[..6]).0.fill(7);
        assert_eq!(room, [0; 8]);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let wiped = Wiped(&mut room[1..]);
            wiped.0.fill(7);
            panic!("in the middle of the work");
        }));
        assert!(panicked.is_err());
        assert_eq!(room, [0; 8]);
    }

    #[test]
    fn scratch_has_the_length_that_is_asked_for() {
        for limbs in [0, 1, SMALL - 1, SMALL, SMALL + 1, MEDIUM, MEDIUM + 1, 1000] {
            with_scratch(limbs, |scratch: &mut [u32]| assert_eq!(scratch, vec![0; limbs]));
        }
    }
}
