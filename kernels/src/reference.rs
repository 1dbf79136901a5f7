//! Plain references: the shortest obviously right code for each kernel, one limb at a time in double-width arithmetic.
//! Everything else is checked against these (and these against num-bigint, in the tests).
//!
//! Numbers are least significant limb first, and B is 2^bits. Counts are the lengths of slices.

pub mod aes;
pub mod mont;
pub mod table;

macro_rules! references {
    ($limb:ty, $wide:ty, $mul:ident $mul_add:ident $mul_sub:ident $mul_add_prop:ident $sqr_add_prop:ident $add:ident
     $sub:ident $mul_nxn:ident $sqr_n:ident $reciprocal:ident $div_2by1:ident $div_2by1_public:ident) => {
        /// r := a * w for numbers of equally many limbs; returns the carry limb.
        ///
        /// # Panics
        /// When the lengths differ.
        pub fn $mul(r: &mut [$limb], a: &[$limb], w: $limb) -> $limb {
            r.fill(0);
            $mul_add(r, a, w)
        }

        /// r := r + a * w for numbers of equally many limbs; returns the carry limb.
        ///
        /// # Panics
        /// When the lengths differ.
        pub fn $mul_add(r: &mut [$limb], a: &[$limb], w: $limb) -> $limb {
            assert_eq!(r.len(), a.len(), "r and a have the same length");
            let mut carry: $wide = 0;
            for (r, a) in r.iter_mut().zip(a) {
                let sum = <$wide>::from(*a) * <$wide>::from(w) + <$wide>::from(*r) + carry;
                *r = sum as $limb;
                carry = sum >> <$limb>::BITS;
            }
            carry as $limb
        }

        /// r := r - a * w for numbers of equally many limbs; returns the borrow limb.
        ///
        /// # Panics
        /// When the lengths differ.
        pub fn $mul_sub(r: &mut [$limb], a: &[$limb], w: $limb) -> $limb {
            assert_eq!(r.len(), a.len(), "r and a have the same length");
            let mut borrow: $wide = 0;
            for (r, a) in r.iter_mut().zip(a) {
                let taken = <$wide>::from(*a) * <$wide>::from(w) + borrow;
                let (limb, below) = r.overflowing_sub(taken as $limb);
                *r = limb;
                borrow = (taken >> <$limb>::BITS) + <$wide>::from(below);
            }
            borrow as $limb
        }

        /// r := r + a * w for a number r at least as long as a; returns what is carried out of r.
        ///
        /// # Panics
        /// When r is shorter.
        pub fn $mul_add_prop(r: &mut [$limb], a: &[$limb], w: $limb) -> $limb {
            let (low, high) = r.split_at_mut(a.len());
            let mut carry = $mul_add(low, a, w);
            for limb in high {
                let (sum, over) = limb.overflowing_add(carry);
                *limb = sum;
                carry = over.into();
            }
            carry
        }

        /// r := r + sum of a\[i\]^2 B^(2i) for a number r at least twice as long as a; returns what is carried out of r.
        ///
        /// # Panics
        /// When r is shorter.
        pub fn $sqr_add_prop(r: &mut [$limb], a: &[$limb]) -> $limb {
            let mut carry = 0;
            for (index, limb) in a.iter().enumerate() {
                // One limb squared: a row of one limb, and its carry into all that is above.
                carry += $mul_add_prop(&mut r[2 * index..], &[*limb], *limb);
            }
            carry
        }

        /// r := a + b for numbers of equally many limbs; returns the carry.
        ///
        /// # Panics
        /// When the lengths differ.
        pub fn $add(r: &mut [$limb], a: &[$limb], b: &[$limb]) -> $limb {
            assert!(r.len() == a.len() && a.len() == b.len(), "r, a and b have the same length");
            let mut carry = 0;
            for ((r, a), b) in r.iter_mut().zip(a).zip(b) {
                let sum = <$wide>::from(*a) + <$wide>::from(*b) + carry;
                *r = sum as $limb;
                carry = sum >> <$limb>::BITS;
            }
            carry as $limb
        }

        /// r := a - b for numbers of equally many limbs; returns the borrow.
        ///
        /// # Panics
        /// When the lengths differ.
        pub fn $sub(r: &mut [$limb], a: &[$limb], b: &[$limb]) -> $limb {
            assert!(r.len() == a.len() && a.len() == b.len(), "r, a and b have the same length");
            let mut borrow = false;
            for ((r, a), b) in r.iter_mut().zip(a).zip(b) {
                let (difference, first) = a.overflowing_sub(*b);
                let (limb, second) = difference.overflowing_sub(borrow.into());
                *r = limb;
                borrow = first || second;
            }
            borrow.into()
        }

        /// r := a * b, of 2n limbs, for numbers of n limbs. The scratch is not used.
        ///
        /// # Panics
        /// When the lengths do not fit.
        pub fn $mul_nxn(r: &mut [$limb], a: &[$limb], b: &[$limb], _scratch: &mut [$limb]) {
            assert!(r.len() == 2 * a.len() && a.len() == b.len(), "r is as long as a and b together");
            r.fill(0);
            for (index, limb) in b.iter().enumerate() {
                $mul_add_prop(&mut r[index..], a, *limb);
            }
        }

        /// r := a^2, of 2n limbs, for a number of n limbs. The scratch is not used.
        ///
        /// # Panics
        /// When r is not twice as long as a.
        pub fn $sqr_n(r: &mut [$limb], a: &[$limb], scratch: &mut [$limb]) {
            $mul_nxn(r, a, a, scratch);
        }

        /// floor((B^2 - 1) / d) - B for a limb d with its top bit set.
        ///
        /// # Panics
        /// When d is 0.
        pub fn $reciprocal(d: $limb) -> $limb {
            // The quotient is below 2 B, so cutting it to a limb takes the B away.
            (<$wide>::MAX / <$wide>::from(d)) as $limb
        }

        /// q\[0\] := (hi B + lo) div d with hi < d; returns the remainder. The reciprocal is not used.
        ///
        /// # Panics
        /// When d is 0 or q is empty.
        pub fn $div_2by1(q: &mut [$limb], hi: $limb, lo: $limb, d: $limb, _reciprocal: $limb) -> $limb {
            $div_2by1_public(q, hi, lo, d)
        }

        /// q\[0\] := (hi B + lo) div d with hi < d; returns the remainder.
        ///
        /// # Panics
        /// When d is 0 or q is empty.
        pub fn $div_2by1_public(q: &mut [$limb], hi: $limb, lo: $limb, d: $limb) -> $limb {
            let dividend = <$wide>::from(hi) << <$limb>::BITS | <$wide>::from(lo);
            q[0] = (dividend / <$wide>::from(d)) as $limb;
            (dividend % <$wide>::from(d)) as $limb
        }
    };
}
references!(u64, u128, limb64_mul limb64_mul_add limb64_mul_sub limb64_mul_add_prop limb64_sqr_add_prop limb64_add
    limb64_sub limb64_mul_nxn limb64_sqr_n limb64_reciprocal limb64_div_2by1 limb64_div_2by1_public);
references!(u32, u64, limb32_mul limb32_mul_add limb32_mul_sub limb32_mul_add_prop limb32_sqr_add_prop limb32_add
    limb32_sub limb32_mul_nxn limb32_sqr_n limb32_reciprocal limb32_div_2by1 limb32_div_2by1_public);
