//! Blinding: the private operation never works on a number that somebody chose (Kocher, CRYPTO 1996).

use std::sync::{Mutex, PoisonError};

use super::{Error, PrivateKey};
use crate::modular::{Limbs, limbs};

/// A pair is squared for the next use so many times, then replaced: a new one costs as much as a private operation.
const USES: u32 = 32;

/// r^e R and r^-1 R modulo n, for a random r.
#[derive(Clone)]
struct Pair {
    factor: Limbs,
    inverse: Limbs,
    uses: u32,
}

/// The present pair of a key.
pub(super) struct Blinding(Mutex<Option<Pair>>);

impl Blinding {
    pub(super) fn new() -> Blinding {
        Blinding(Mutex::new(None))
    }

    /// A pair that nobody else has: what to multiply by before the operation, and after it.
    pub(super) fn next(&self, key: &PrivateKey) -> Result<(Limbs, Limbs), Error> {
        let mut present = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pair) = present.as_mut().filter(|pair| pair.uses < USES) {
            let ring = key.public_key().ring();
            let mut t = ring.scratch();
            ring.montgomery_square_in_place(&mut pair.factor, &mut t);
            ring.montgomery_square_in_place(&mut pair.inverse, &mut t);
            pair.uses += 1;
            return Ok((pair.factor.clone(), pair.inverse.clone()));
        }
        // Others go on meanwhile, each with a pair of its own.
        drop(present);
        let pair = Pair::random(key)?;
        let own = (pair.factor.clone(), pair.inverse.clone());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(pair);
        Ok(own)
    }
}

impl Pair {
    fn random(key: &PrivateKey) -> Result<Pair, Error> {
        let public = key.public_key();
        let ring = public.ring();
        let mut t = ring.scratch();
        // A number below n, as even as one that is drawn again when it is not: 128 bits more, and the remainder.
        let mut bytes = zeroize::Zeroizing::new(vec![0; 8 * ring.limbs() + 16]);
        getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
        let mut wide = limbs(2 * ring.limbs());
        crate::modular::from_be_bytes(&mut wide[..ring.limbs() + 2], &bytes);
        let mut r = limbs(ring.limbs());
        ring.enter(&mut r, &wide, &mut t);
        let mut raised = limbs(r.len());
        public.apply_to(&mut raised, &r);
        let inverted = key.invert(&r);
        let (mut factor, mut inverse, mut check) = (limbs(r.len()), limbs(r.len()), limbs(r.len()));
        ring.enter_below(&mut factor, &raised, &mut t);
        ring.enter_below(&mut inverse, &inverted, &mut t);
        // A number that has no inverse would give a factor away, and a wrong inverse a wrong result.
        ring.montgomery_mul(&mut check, &inverse, &r, &mut t);
        let mut one = limbs(r.len());
        one[0] = 1;
        if !bool::from(subtle::ConstantTimeEq::ct_eq(&check[..], &one[..])) {
            return Err(Error::Fault);
        }
        Ok(Pair { factor, inverse, uses: 0 })
    }
}
