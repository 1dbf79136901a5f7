//! Whole products and squares, with scratch on the stack, on the heap and of the caller.

use kiln::limb;

use crate::reference::{Checked, Operands};
use crate::{lengths, while_it_tunes_and_after};

#[test]
fn products_of_64_bit_limbs() {
    while_it_tunes_and_after(products::<u64>);
}

#[test]
fn products_of_32_bit_limbs() {
    while_it_tunes_and_after(products::<u32>);
}

fn products<L: Checked>(seed: u64) {
    let mut operands = Operands(seed);
    // One room for all, too long for most and never wiped.
    let mut scratch = operands.limbs::<L>(2100);
    for n in lengths(&[96, 127, 128, 129, 200, 300, 513, 1000]) {
        for _ in 0..if n < 100 { 4 } else { 2 } {
            let (a, b) = (operands.limbs::<L>(n), operands.limbs::<L>(n));
            let start = operands.limbs::<L>(2 * n);
            let mut expected = start.clone();

            (L::REFERENCE.mul_nxn)(&mut expected, &a, &b, &mut []);
            let mut r = start.clone();
            assert_eq!(limb::product(&mut r, &a, &b), Ok(()));
            assert_eq!(r, expected, "{a:x?} times {b:x?}");
            r.clone_from(&start);
            assert_eq!(limb::product_with(&mut r, &a, &b, &mut scratch), Ok(()));
            assert_eq!(r, expected, "{a:x?} times {b:x?} with scratch");

            (L::REFERENCE.sqr_n)(&mut expected, &a, &mut []);
            r.clone_from(&start);
            assert_eq!(limb::square(&mut r, &a), Ok(()));
            assert_eq!(r, expected, "the square of {a:x?}");
            r.clone_from(&start);
            assert_eq!(limb::square_with(&mut r, &a, &mut scratch[..2 * n]), Ok(()));
            assert_eq!(r, expected, "the square of {a:x?} with scratch");
            r.clone_from(&start);
            assert_eq!(limb::product(&mut r, &a, &a), Ok(()));
            assert_eq!(r, expected, "{a:x?} times itself");
        }
        // Factors may overlap in any way.
        let both = operands.limbs::<L>(n + 1);
        let (mut r, mut expected) = (vec![L::default(); 2 * n], vec![L::default(); 2 * n]);
        assert_eq!(limb::product(&mut r, &both[..n], &both[1..]), Ok(()));
        (L::REFERENCE.mul_nxn)(&mut expected, &both[..n], &both[1..], &mut []);
        assert_eq!(r, expected, "{both:x?}: without the last times without the first");
    }
}
