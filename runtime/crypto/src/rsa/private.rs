//! The private half of a key, and the private operation.

use std::fmt;

use subtle::ConstantTimeEq;

use super::blinding::Blinding;
use super::{Error, PublicKey};
use crate::limb;
use crate::modular::{self, Limbs, Modulus, PublicExponent, SecretExponent, Weave, limbs};

/// One of the two primes, and what belongs to it.
struct Half {
    prime: Modulus,
    /// d mod p - 1.
    exponent: SecretExponent,
    /// p - 2, for inverses.
    inverting: SecretExponent,
}

/// A private key with two primes. Many threads may use one at a time. Its secrets are wiped when it is dropped.
pub struct PrivateKey {
    public: PublicKey,
    p: Half,
    q: Half,
    /// q^-1 R^2 mod p.
    coefficient: Limbs,
    blinding: Blinding,
    /// d, of which nothing but the seed of implicit rejection is made.
    d: Limbs,
    weave: Weave,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey").field("bits", &self.public.bits()).finish_non_exhaustive()
    }
}

/// The numbers of a key as they stand in a file, each most significant byte first. What is `None` is computed.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    pub modulus: &'a [u8],
    pub public_exponent: &'a [u8],
    pub private_exponent: &'a [u8],
    pub primes: [&'a [u8]; 2],
    pub exponents: Option<[&'a [u8]; 2]>,
    pub coefficient: Option<&'a [u8]>,
}

impl PrivateKey {
    /// Of n, e, d and the two primes, each most significant byte first.
    ///
    /// # Errors
    /// [`Error::Key`] says which of them do not belong together.
    pub fn from_components(n: &[u8], e: &[u8], d: &[u8], p: &[u8], q: &[u8]) -> Result<PrivateKey, Error> {
        PrivateKey::of(Numbers {
            modulus: n,
            public_exponent: e,
            private_exponent: d,
            primes: [p, q],
            exponents: None,
            coefficient: None,
        })
    }

    /// Checks all of it: n = p q, the exponents, the coefficient, and a power in each prime.
    pub(super) fn of(numbers: Numbers<'_>) -> Result<PrivateKey, Error> {
        let public = PublicKey::new(numbers.modulus, numbers.public_exponent)?;
        let n = public.ring().limbs();
        let half = significant(numbers.primes[0]).len().max(significant(numbers.primes[1]).len()).div_ceil(8);
        if half > n || 2 * half < n {
            return Err(Error::Key("its modulus is not the product of its primes"));
        }
        let read = |bytes: &[u8], count: usize| -> Option<Limbs> {
            let bytes = significant(bytes);
            (bytes.len() <= 8 * count).then(|| {
                let mut x = limbs(count);
                modular::from_be_bytes(&mut x, bytes);
                x
            })
        };
        let no_prime = Error::Key("one of its primes is none");
        let prime = |bytes: &[u8]| -> Result<(Limbs, Modulus), Error> {
            let x = read(bytes, half).ok_or(no_prime.clone())?;
            let ring = Modulus::new(&x).map_err(|_| no_prime.clone())?;
            if ring.bits() < 2 { Err(no_prime.clone()) } else { Ok((x, ring)) }
        };
        let [(p, p_ring), (q, q_ring)] = [prime(numbers.primes[0])?, prime(numbers.primes[1])?];
        let mut product = limbs(2 * half);
        limb::product(&mut product, &p, &q).map_err(|_| Error::Key("its primes are too long"))?;
        let matches = product[..n].ct_eq(public.ring().value()) & product[n..].ct_eq(&limbs(2 * half - n));
        if !bool::from(matches) {
            return Err(Error::Key("its modulus is not the product of its primes"));
        }
        let d =
            read(numbers.private_exponent, n).ok_or(Error::Key("its private exponent is longer than its modulus"))?;
        let given = numbers.exponents;
        let make = |prime: &[u64], ring: Modulus, given: Option<&[u8]>| -> Result<Half, Error> {
            let mut less_one = Limbs::new(prime.to_vec());
            less_one[0] -= 1;
            let exponent = modular::remainder(&d, &less_one);
            if let Some(given) = given {
                let given = read(given, half).filter(|given| bool::from(given.ct_eq(&exponent)));
                given.ok_or(Error::Key("an exponent for one of its primes is not that of the whole"))?;
            }
            if !is_inverse(public.exponent(), &exponent, &less_one) {
                return Err(Error::Key("its exponents are not inverse to each other"));
            }
            let mut less_two = less_one;
            // A prime is odd.
            less_two[0] -= 1;
            let bits = ring.bits();
            Ok(Half {
                exponent: SecretExponent::with_bits(&exponent, bits),
                inverting: SecretExponent::with_bits(&less_two, bits),
                prime: ring,
            })
        };
        let p_half = make(&p, p_ring, given.map(|given| given[0]))?;
        let q_half = make(&q, q_ring, given.map(|given| given[1]))?;

        let mut t = p_half.prime.scratch();
        let (mut wide, mut inverse) = (limbs(2 * half), limbs(half));
        wide[..half].copy_from_slice(&q);
        p_half.prime.enter(&mut inverse, &wide, &mut t);
        let in_form = inverse.clone();
        p_half.prime.montgomery_power(&mut inverse, &p_half.inverting, Weave::for_bits(p_half.prime.bits()), &mut t);
        // q^-1 q is 1 where p is a prime that does not divide q, and the test of Fermat for p beside.
        let mut one = limbs(half);
        p_half.prime.montgomery_mul(&mut one, &inverse, &in_form, &mut t);
        if !bool::from(one.ct_eq(p_half.prime.one())) {
            return Err(no_prime);
        }
        if let Some(given) = numbers.coefficient {
            let mut plain = limbs(half);
            wide.fill(0);
            wide[..half].copy_from_slice(&inverse);
            p_half.prime.reduce(&mut plain, &wide, &mut t);
            let given = read(given, half).filter(|given| bool::from(given.ct_eq(&plain)));
            given.ok_or(Error::Key("its coefficient is not the inverse of one prime modulo the other"))?;
        }
        let mut coefficient = limbs(half);
        p_half.prime.enter_below(&mut coefficient, &inverse, &mut t);
        let weave = Weave::for_bits(p_half.prime.bits());
        let key = PrivateKey { public, p: p_half, q: q_half, coefficient, blinding: Blinding::new(), d, weave };
        key.try_out()?;
        Ok(key)
    }

    /// A power in each prime, there and back: wrong where a "prime" is a product, but for rare ones.
    fn try_out(&self) -> Result<(), Error> {
        for base in [2, 3] {
            let mut x = limbs(self.public.ring().limbs());
            x[0] = base;
            let mut power = limbs(x.len());
            self.public.apply_to(&mut power, &x);
            if !bool::from(self.unchecked(&power).ct_eq(&x)) {
                return Err(Error::Key("one of its primes is none"));
            }
        }
        Ok(())
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// How the powers of a window lie in memory from now on.
    pub fn set_weave(&mut self, weave: Weave) {
        self.weave = weave;
    }

    /// How they lie now.
    pub fn weave(&self) -> Weave {
        self.weave
    }

    pub(super) fn d(&self) -> &[u64] {
        &self.d
    }

    /// x^d mod n, without any padding, for a number of [`PublicKey::size`] bytes below the modulus.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::Fault`], [`Error::Random`].
    pub fn apply(&self, x: &[u8]) -> Result<zeroize::Zeroizing<Vec<u8>>, Error> {
        let x = self.public.number(x)?;
        Ok(zeroize::Zeroizing::new(self.public.bytes(&self.apply_to(&x)?)))
    }

    /// x^d mod n for x below n: blinded, by both primes, checked.
    fn apply_to(&self, x: &[u64]) -> Result<Limbs, Error> {
        let ring = self.public.ring();
        let mut t = ring.scratch();
        let (factor, inverse) = self.blinding.next(self)?;
        let mut blinded = limbs(x.len());
        ring.montgomery_mul(&mut blinded, x, &factor, &mut t);
        let mut r = self.unchecked(&blinded);
        let mut again = limbs(x.len());
        self.public.apply_to(&mut again, &r);
        if !bool::from(again.ct_eq(&blinded)) {
            return Err(Error::Fault);
        }
        ring.montgomery_mul_in_place(&mut r, &inverse, &mut t);
        Ok(r)
    }

    /// x^d mod n for x below n, by both primes. Nothing is blinded and nothing checked.
    fn unchecked(&self, x: &[u64]) -> Limbs {
        let powers = [&self.p, &self.q].map(|half| half.power(x, &half.exponent, self.weave));
        self.join(&powers[0], &powers[1])
    }

    /// x^-1 mod n for x below n, by both primes; of no use where x has none.
    pub(super) fn invert(&self, x: &[u64]) -> Limbs {
        let powers = [&self.p, &self.q].map(|half| half.power(x, &half.inverting, self.weave));
        self.join(&powers[0], &powers[1])
    }

    /// The number below n that is a modulo p and b modulo q: b + q ((a - b) q^-1 mod p) (Garner 1959).
    fn join(&self, a: &[u64], b: &[u64]) -> Limbs {
        let ring = &self.p.prime;
        let half = ring.limbs();
        let (mut t, mut wide) = (ring.scratch(), limbs(2 * half));
        let (mut difference, mut other, mut factor) = (limbs(half), limbs(half), limbs(half));
        // Both over R, since b may be above p.
        wide[..half].copy_from_slice(a);
        ring.reduce(&mut difference, &wide, &mut t);
        wide[..half].copy_from_slice(b);
        ring.reduce(&mut other, &wide, &mut t);
        ring.sub_assign(&mut difference, &other);
        // The coefficient has R^2, of which the product takes one and the quotient another.
        ring.montgomery_mul(&mut factor, &difference, &self.coefficient, &mut t);
        limb::product_with(&mut wide, &factor, self.q.prime.value(), &mut t).expect("lengths that fit");
        // n is above it, so that no carry leaves the limbs of n, which may be one less than those of both primes.
        let mut r = Limbs::new(wide[..self.public.ring().limbs()].to_vec());
        let mut padded = limbs(r.len());
        padded[..half].copy_from_slice(b);
        limb::add_assign(&mut r, &padded).expect("lengths that fit");
        r
    }
}

impl Half {
    /// x^exponent modulo this prime, for x below n.
    fn power(&self, x: &[u64], exponent: &SecretExponent, weave: Weave) -> Limbs {
        let n = self.prime.limbs();
        let (mut t, mut wide, mut r) = (self.prime.scratch(), limbs(2 * n), limbs(n));
        // Its upper half is below this prime, since x is below the product of both and the other is below R.
        wide[..x.len()].copy_from_slice(x);
        self.prime.enter(&mut r, &wide, &mut t);
        self.prime.montgomery_power(&mut r, exponent, weave, &mut t);
        wide.fill(0);
        wide[..n].copy_from_slice(&r);
        self.prime.reduce(&mut r, &wide, &mut t);
        r
    }
}

/// Whether e x is 1 modulo m.
fn is_inverse(e: &PublicExponent, x: &[u64], m: &[u64]) -> bool {
    let count = x.len().max(e.limbs().len());
    let (mut a, mut b, mut product) = (limbs(count), limbs(count), limbs(2 * count));
    a[..x.len()].copy_from_slice(x);
    b[..e.limbs().len()].copy_from_slice(e.limbs());
    if limb::product(&mut product, &a, &b).is_err() {
        return false;
    }
    let mut one = limbs(m.len());
    one[0] = 1;
    modular::remainder(&product, m).ct_eq(&one).into()
}

fn significant(bytes: &[u8]) -> &[u8] {
    bytes.iter().position(|byte| *byte != 0).map_or(&[], |first| &bytes[first..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bit of anything that a private operation reads, and nothing comes out: from a wrong result modulo one prime the other
    /// could be computed.
    #[test]
    fn a_fault_gives_an_error_and_no_result() {
        let pem = include_str!("../../tests/rsa/key_1024.pem");
        let x = [&[0; 1][..], &[0x5a; 127]].concat();
        let good = PrivateKey::from_pem(pem).expect("a key");
        let expected = good.apply(&x).expect("no fault");
        type Fault = (&'static str, fn(&mut PrivateKey));
        let faults: [Fault; 5] = [
            ("coefficient", |key| key.coefficient[3] ^= 1 << 17),
            ("exponent of p", |key| {
                key.p.exponent = SecretExponent::with_bits(&[5; 8], key.p.exponent.bits());
            }),
            ("exponent of q", |key| {
                key.q.exponent = SecretExponent::with_bits(&[5; 8], key.q.exponent.bits());
            }),
            ("p", |key| {
                let mut other = key.p.prime.value().to_vec();
                other[2] ^= 4;
                key.p.prime = Modulus::new(&other).expect("odd");
            }),
            ("q", |key| {
                let mut other = key.q.prime.value().to_vec();
                other[7] ^= 1;
                key.q.prime = Modulus::new(&other).expect("odd");
            }),
        ];
        for (what, fault) in faults {
            let mut key = PrivateKey::from_pem(pem).expect("a key");
            // The pair of blinding is made without the fault.
            assert_eq!(key.apply(&x).expect("no fault"), expected);
            fault(&mut key);
            let number = good.public.number(&x).expect("below the modulus");
            assert_ne!(key.unchecked(&number), good.unchecked(&number), "{what}");
            assert_eq!(key.apply(&x).unwrap_err(), Error::Fault, "{what}");
        }
    }
}
