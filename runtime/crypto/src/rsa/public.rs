//! The public half of a key, and the public operation.

use subtle::ConstantTimeEq;

use super::{Error, MODULUS_BITS};
use crate::modular::{self, Limbs, Modulus, PublicExponent, limbs};

/// Most bits of a public exponent: longer ones cost time and are worth nothing (FIPS 186-5, section 5.4).
const EXPONENT_BITS: usize = 256;

/// A modulus and a public exponent.
#[derive(Clone, Debug)]
pub struct PublicKey {
    modulus: Modulus,
    exponent: PublicExponent,
}

impl PublicKey {
    /// Of a modulus and an exponent, both most significant byte first.
    ///
    /// # Errors
    /// [`Error::Key`] when the modulus is even or its length not in [`MODULUS_BITS`], or the exponent even, below 3 or above
    /// 2^256.
    pub fn new(modulus: &[u8], exponent: &[u8]) -> Result<PublicKey, Error> {
        let modulus = Modulus::from_be_bytes(modulus).map_err(|why| match why {
            modular::Error::Even => Error::Key("the modulus is even"),
            _ => Error::Key("the modulus has not 512 to 8192 bits"),
        })?;
        let significant = exponent.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &exponent[first..]);
        if significant.len() > EXPONENT_BITS / 8 {
            return Err(Error::Key("the public exponent has more than 256 bits"));
        }
        let mut words = [0; EXPONENT_BITS / 64];
        modular::from_be_bytes(&mut words, significant);
        PublicKey::of(modulus, PublicExponent::new(&words))
    }

    pub(super) fn of(modulus: Modulus, exponent: PublicExponent) -> Result<PublicKey, Error> {
        if !MODULUS_BITS.contains(&modulus.bits()) {
            return Err(Error::Key("the modulus has not 512 to 8192 bits"));
        }
        if exponent.bits() < 2 || !exponent.bit(0) {
            return Err(Error::Key("the public exponent is even or below 3"));
        }
        if exponent.bits() >= modulus.bits() {
            return Err(Error::Key("the public exponent is not below the modulus"));
        }
        Ok(PublicKey { modulus, exponent })
    }

    /// Bytes of the modulus, and so of a signature and a ciphertext.
    pub fn size(&self) -> usize {
        self.modulus.bits().div_ceil(8)
    }

    /// Bits of the modulus.
    pub fn bits(&self) -> usize {
        self.modulus.bits()
    }

    /// The modulus, most significant byte first.
    pub fn modulus(&self) -> Vec<u8> {
        self.bytes(self.modulus.value())
    }

    pub(super) fn ring(&self) -> &Modulus {
        &self.modulus
    }

    pub(super) fn exponent(&self) -> &PublicExponent {
        &self.exponent
    }

    /// x^e mod n, without any padding, for a number of [`size`](PublicKey::size) bytes below the modulus. Takes a time that
    /// depends on the exponent alone.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn apply(&self, x: &[u8]) -> Result<Vec<u8>, Error> {
        let x = self.number(x)?;
        let mut r = limbs(x.len());
        self.apply_to(&mut r, &x);
        Ok(self.bytes(&r))
    }

    /// r := x^e mod n, for x below n.
    pub(super) fn apply_to(&self, r: &mut [u64], x: &[u64]) {
        let ring = &self.modulus;
        let (mut t, mut base) = (ring.scratch(), limbs(ring.limbs()));
        ring.enter_below(&mut base, x, &mut t);
        r.copy_from_slice(&base);
        for index in (1..self.exponent.bits() - 1).rev() {
            ring.montgomery_square_in_place(r, &mut t);
            if self.exponent.bit(index) {
                ring.montgomery_mul_in_place(r, &base, &mut t);
            }
        }
        // The exponent is odd: its last factor is x itself, and the product leaves Montgomery's form with it.
        ring.montgomery_square_in_place(r, &mut t);
        ring.montgomery_mul_in_place(r, x, &mut t);
    }

    /// A number below the modulus, of so many bytes.
    pub(super) fn number(&self, bytes: &[u8]) -> Result<Limbs, Error> {
        if bytes.len() != self.size() {
            return Err(Error::Range);
        }
        let mut x = limbs(self.modulus.limbs());
        modular::from_be_bytes(&mut x, bytes);
        // What comes from outside is public.
        let below = x.iter().rev().lt(self.modulus.value().iter().rev());
        if below { Ok(x) } else { Err(Error::Range) }
    }

    pub(super) fn bytes(&self, limbs: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; self.size()];
        modular::to_be_bytes(&mut bytes, limbs);
        bytes
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &PublicKey) -> bool {
        bool::from(self.modulus.value().ct_eq(other.modulus.value())) && self.exponent == other.exponent
    }
}

impl Eq for PublicKey {}
