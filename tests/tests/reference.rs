//! Is the plain reference right, against big integers?

use kiln_tests::forms::MulAdd;
use proptest::prelude::*;

proptest! {
    #[test]
    fn limb64_mul_add(row in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..40), w: u64) {
        let (r, a): (Vec<u64>, Vec<u64>) = row.into_iter().unzip();
        let operands = MulAdd { bits: 64, r: r.clone(), a: a.clone(), w, in_place: false };
        let mut out = r;
        let carry = kiln_kernels::reference::limb64_mul_add(&mut out, &a, w);
        prop_assert_eq!((out, carry), operands.expected());
    }

    #[test]
    fn limb32_mul_add(row in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..40), w: u32) {
        let (mut r, a): (Vec<u32>, Vec<u32>) = row.into_iter().unzip();
        let wide = |limbs: &[u32]| limbs.iter().copied().map(u64::from).collect::<Vec<_>>();
        let operands = MulAdd { bits: 32, r: wide(&r), a: wide(&a), w: w.into(), in_place: false };
        let carry = kiln_kernels::reference::limb32_mul_add(&mut r, &a, w);
        prop_assert_eq!((wide(&r), u64::from(carry)), operands.expected());
    }
}
