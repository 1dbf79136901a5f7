//! Powers of numbers in Montgomery's form.

use std::fmt;

use zeroize::Zeroizing;

use super::{Modulus, Weave, kernels, limbs};

/// An exponent that nobody may learn but for its length. Wiped when it is dropped.
#[derive(Clone)]
pub struct SecretExponent {
    limbs: Zeroizing<Vec<u64>>,
    bits: usize,
}

impl fmt::Debug for SecretExponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretExponent").field("bits", &self.bits).finish_non_exhaustive()
    }
}

impl SecretExponent {
    /// All bits of these limbs count, zeros at the top too.
    pub fn new(limbs: &[u64]) -> SecretExponent {
        SecretExponent { limbs: Zeroizing::new(limbs.to_vec()), bits: 64 * limbs.len() }
    }

    /// The lowest so many bits of these limbs. What is above is ignored.
    pub fn with_bits(limbs: &[u64], bits: usize) -> SecretExponent {
        SecretExponent { limbs: Zeroizing::new(limbs.to_vec()), bits: bits.min(64 * limbs.len()) }
    }

    /// Bits that are looked at.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The bits from `low` on, as many as the window has and the exponent has left.
    fn window(&self, low: usize, width: usize) -> u64 {
        let width = width.min(self.bits - low);
        let (limb, shift) = (low / 64, low % 64);
        let above = self.limbs.get(limb + 1).copied().unwrap_or(0);
        // Twice, since a shift by 64 is none.
        let bits = self.limbs[limb] >> shift | above << 1 << (63 - shift);
        bits & ((1 << width) - 1)
    }
}

/// An exponent that everybody may learn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicExponent {
    limbs: Vec<u64>,
    bits: usize,
}

impl PublicExponent {
    /// Of these limbs.
    pub fn new(limbs: &[u64]) -> PublicExponent {
        let top = limbs.iter().rposition(|limb| *limb != 0);
        let bits = top.map_or(0, |top| 64 * top + 64 - limbs[top].leading_zeros() as usize);
        PublicExponent { limbs: limbs.to_vec(), bits }
    }

    /// Bits without zeros at the top; 0 for the exponent 0.
    pub fn bits(&self) -> usize {
        self.bits
    }

    pub(crate) fn limbs(&self) -> &[u64] {
        &self.limbs
    }

    pub(crate) fn bit(&self, index: usize) -> bool {
        self.limbs[index / 64] >> (index % 64) & 1 == 1
    }
}

impl Weave {
    /// What is usual for an exponent of so many bits.
    pub(crate) const fn for_bits(bits: usize) -> Weave {
        if bits < 256 { Weave::Word64X16 } else { Weave::Word64X32 }
    }
}

impl Modulus {
    /// r := r^exponent, both in Montgomery's form: fixed windows from the top, each a read of the whole table and a product.
    pub(crate) fn montgomery_power(&self, r: &mut [u64], exponent: &SecretExponent, weave: Weave, t: &mut [u64]) {
        let (n, entries, width) = (self.limbs(), weave.entries(), weave.window());
        let mut room = limbs(2 * entries * n + n);
        let (powers, rest) = room.split_at_mut(entries * n);
        let (table, entry) = rest.split_at_mut(entries * n);
        powers[..n].copy_from_slice(self.one());
        powers[n..2 * n].copy_from_slice(r);
        for index in 2..entries {
            let (known, new) = powers.split_at_mut(index * n);
            let half = &known[index / 2 * n..][..n];
            if index % 2 == 0 {
                kernels::square(&mut new[..n], half, self.parts(), t);
            } else {
                kernels::mul(&mut new[..n], &known[(index - 1) * n..], &known[n..2 * n], self.parts(), t);
            }
        }
        weave.store(table, powers, n);
        let windows = exponent.bits().div_ceil(width);
        let Some(top) = windows.checked_sub(1) else {
            r.copy_from_slice(self.one());
            return;
        };
        weave.read(r, table, exponent.window(top * width, width));
        for window in (0..top).rev() {
            for _ in 0..width {
                self.montgomery_square_in_place(r, t);
            }
            weave.read(entry, table, exponent.window(window * width, width));
            self.montgomery_mul_in_place(r, entry, t);
        }
    }

    /// r := r^exponent, both in Montgomery's form, bit by bit from the top.
    pub(crate) fn montgomery_power_public(&self, r: &mut [u64], exponent: &PublicExponent, t: &mut [u64]) {
        let Some(top) = exponent.bits().checked_sub(1) else {
            r.copy_from_slice(self.one());
            return;
        };
        let base = Zeroizing::new(r.to_vec());
        for index in (0..top).rev() {
            self.montgomery_square_in_place(r, t);
            if exponent.bit(index) {
                self.montgomery_mul_in_place(r, &base, t);
            }
        }
    }
}
