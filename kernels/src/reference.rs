//! Plain references: the shortest obviously right code for each kernel, one limb at a time in double-width arithmetic.
//! Everything else is checked against these (and these against num-bigint, in the tests).

macro_rules! mul_add {
    ($name:ident, $limb:ty, $wide:ty) => {
        /// r := r + a * w for numbers of equally many limbs, least significant first; returns the carry limb.
        ///
        /// # Panics
        /// When the lengths differ.
        pub fn $name(r: &mut [$limb], a: &[$limb], w: $limb) -> $limb {
            assert_eq!(r.len(), a.len(), "r and a have the same length");
            let mut carry: $wide = 0;
            for (r, a) in r.iter_mut().zip(a) {
                let sum = <$wide>::from(*a) * <$wide>::from(w) + <$wide>::from(*r) + carry;
                *r = sum as $limb;
                carry = sum >> <$limb>::BITS;
            }
            carry as $limb
        }
    };
}
mul_add!(limb64_mul_add, u64, u128);
mul_add!(limb32_mul_add, u32, u64);
