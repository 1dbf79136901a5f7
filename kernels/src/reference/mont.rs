//! Montgomery products: the sum of the number and multiples of m that end in zeros, one limb after the other.
//!
//! A modulus is the limb -m^-1 mod B, and behind it the limbs of an odd m. Numbers are least significant limb first.

use super::{limb64_mul_add_prop, limb64_mul_nxn, limb64_sub};

/// r := a * b / B^n mod m, for numbers of n limbs below m. The scratch is not used.
///
/// # Panics
/// When the lengths do not fit.
pub fn mul(r: &mut [u64], a: &[u64], b: &[u64], modulus: &[u64], scratch: &mut [u64]) {
    let mut product = vec![0; 2 * a.len()];
    limb64_mul_nxn(&mut product, a, b, &mut []);
    reduce(r, &product, modulus, scratch);
}

/// r := a^2 / B^n mod m, for a number of n limbs below m. The scratch is not used.
///
/// # Panics
/// When the lengths do not fit.
pub fn square(r: &mut [u64], a: &[u64], modulus: &[u64], scratch: &mut [u64]) {
    mul(r, a, a, modulus, scratch);
}

/// r := x / B^n mod m, for a number of 2n limbs below m B^n. The scratch is not used.
///
/// # Panics
/// When the lengths do not fit.
pub fn reduce(r: &mut [u64], x: &[u64], modulus: &[u64], _scratch: &mut [u64]) {
    let (n0, m) = (modulus[0], &modulus[1..]);
    assert!(r.len() == m.len() && x.len() == 2 * m.len(), "r is as long as m, and x twice as long");
    let mut sum = [x, &[0]].concat();
    for i in 0..m.len() {
        let q = sum[i].wrapping_mul(n0);
        limb64_mul_add_prop(&mut sum[i..], m, q);
    }
    // Below 2 m: n limbs and a carry.
    let (limbs, carry) = sum[m.len()..].split_at(m.len());
    let borrow = limb64_sub(r, limbs, m);
    if borrow > carry[0] {
        r.copy_from_slice(limbs);
    }
}

/// -x^-1 mod 2^64, for an odd x.
pub fn negated_inverse(x: u64) -> u64 {
    // x is its own inverse mod 8; each step doubles the bits that are right.
    let step = |inverse: u64, _| inverse.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(inverse)));
    (0..5).fold(x, step).wrapping_neg()
}
