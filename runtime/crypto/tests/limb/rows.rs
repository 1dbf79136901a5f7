//! Rows, in place and out of place, and rows that are added to a longer number.

use std::fmt::Debug;

use kiln::limb::{self, Error, MAX_LIMBS};

use crate::reference::{Checked, Operands};
use crate::{lengths, while_it_tunes_and_after};

#[test]
fn rows_of_64_bit_limbs() {
    while_it_tunes_and_after(rows::<u64>);
}

#[test]
fn rows_of_32_bit_limbs() {
    while_it_tunes_and_after(rows::<u32>);
}

#[test]
fn rows_added_to_longer_numbers() {
    while_it_tunes_and_after(long::<u64>);
    while_it_tunes_and_after(long::<u32>);
}

/// What a function does to a row, beside what the reference does to the same one.
#[track_caller]
fn same<L: Checked>(
    what: impl Debug,
    start: &[L],
    function: impl FnOnce(&mut [L]) -> Result<L, Error>,
    reference: impl FnOnce(&mut [L]) -> L,
) {
    let (mut got, mut expected) = (start.to_vec(), start.to_vec());
    let returned = function(&mut got);
    assert_eq!((returned, got), (Ok(reference(&mut expected)), expected), "{what:?} on {start:x?}");
}

fn rows<L: Checked>(seed: u64) {
    let reference = &L::REFERENCE;
    let mut operands = Operands(seed);
    for n in lengths(&[100, 127, 128, 129, 1000, MAX_LIMBS]) {
        for _ in 0..if n < 1000 { 8 } else { 1 } {
            let (r, a, b) = (operands.limbs::<L>(n), operands.limbs::<L>(n), operands.limbs::<L>(n));
            let w = operands.limb::<L>();
            let (r, a, b) = (&r[..], &a[..], &b[..]);
            same(("mul", n), r, |r| limb::mul(r, a, w), |r| (reference.mul)(r, a, w));
            same(("mul_in_place", n), a, |r| limb::mul_in_place(r, w), |r| (reference.mul)(r, a, w));
            same(("mul_add", n), r, |r| limb::mul_add(r, a, w), |r| (reference.mul_add)(r, a, w));
            same(("mul_add_in_place", n), a, |r| limb::mul_add_in_place(r, w), |r| (reference.mul_add)(r, a, w));
            same(("mul_sub", n), r, |r| limb::mul_sub(r, a, w), |r| (reference.mul_sub)(r, a, w));
            same(("mul_sub_in_place", n), a, |r| limb::mul_sub_in_place(r, w), |r| (reference.mul_sub)(r, a, w));
            same(("add", n), r, |r| limb::add(r, a, b), |r| (reference.add)(r, a, b));
            same(("add twice", n), r, |r| limb::add(r, a, a), |r| (reference.add)(r, a, a));
            same(("add_assign", n), a, |r| limb::add_assign(r, b), |r| (reference.add)(r, a, b));
            same(("double", n), a, |r| limb::double(r), |r| (reference.add)(r, a, a));
            same(("sub", n), r, |r| limb::sub(r, a, b), |r| (reference.sub)(r, a, b));
            same(("sub itself", n), r, |r| limb::sub(r, a, a), |r| (reference.sub)(r, a, a));
            same(("sub_assign", n), a, |r| limb::sub_assign(r, b), |r| (reference.sub)(r, a, b));
            same(("sub_from", n), b, |r| limb::sub_from(r, a), |r| (reference.sub)(r, a, b));
        }
        // Inputs may overlap in any way.
        let twice = operands.limbs::<L>(n + 1);
        let (low, high) = (&twice[..n], &twice[1..]);
        let r = operands.limbs::<L>(n);
        same(("add that overlaps", n), &r, |r| limb::add(r, low, high), |r| (reference.add)(r, low, high));
        same(("sub that overlaps", n), &r, |r| limb::sub(r, high, low), |r| (reference.sub)(r, high, low));
    }
}

fn long<L: Checked>(seed: u64) {
    let reference = &L::REFERENCE;
    let mut operands = Operands(seed);
    for n in lengths(&[100, 129, 1000]) {
        for more in [0, 1, 2, 3, 5, 8, 17, n, 70] {
            let (a, w) = (operands.limbs::<L>(n), operands.limb::<L>());
            let r = operands.limbs::<L>(n + more);
            let what = |name| (name, n, more);
            same(what("mul_add_prop"), &r, |r| limb::mul_add_prop(r, &a, w), |r| (reference.mul_add_prop)(r, &a, w));
            let r = operands.limbs::<L>(2 * n + more);
            same(what("sqr_add_prop"), &r, |r| limb::sqr_add_prop(r, &a), |r| (reference.sqr_add_prop)(r, &a));
        }
    }
    // The longest of all, and a carry through it.
    let (a, ones) = (vec![L::cut(u64::MAX); MAX_LIMBS], vec![L::cut(u64::MAX); 3 * MAX_LIMBS]);
    for n in [1, MAX_LIMBS] {
        let (a, w) = (&a[..n], L::cut(u64::MAX));
        let r = &ones[..n + MAX_LIMBS];
        same("longest", r, |r| limb::mul_add_prop(r, a, w), |r| (reference.mul_add_prop)(r, a, w));
    }
    let r = &ones[..2 + MAX_LIMBS];
    same("longest", r, |r| limb::sqr_add_prop(r, &a[..1]), |r| (reference.sqr_add_prop)(r, &a[..1]));
}
