//! Lengths that a contract does not allow: the error says which argument, and nothing is written.

use std::collections::BTreeSet;

use kiln::limb::{self, Error, MAX_LIMBS};

use crate::reference::Checked;

/// Calls a function that has to refuse its arguments, and looks at its output afterwards.
#[track_caller]
fn refused<L: Checked, T: std::fmt::Debug>(limbs: usize, function: impl FnOnce(&mut [L]) -> Result<T, Error>) -> Error {
    let mut r = vec![L::cut(u64::MAX / 3); limbs];
    let error = function(&mut r).expect_err("lengths that do not fit");
    assert!(r.iter().all(|limb| *limb == L::cut(u64::MAX / 3)), "{error}, and it was written");
    error
}

fn length(argument: &'static str, limbs: usize, expected: usize) -> Error {
    Error::Length { argument, limbs, expected }
}

fn too_long(argument: &'static str, limbs: usize, most: usize) -> Error {
    Error::TooLong { argument, limbs, most }
}

fn too_short(argument: &'static str, limbs: usize, least: usize) -> Error {
    Error::TooShort { argument, limbs, least }
}

#[test]
fn lengths_that_do_not_fit() {
    do_not_fit::<u64>();
    do_not_fit::<u32>();
}

fn do_not_fit<L: Checked>() {
    let w = L::cut(u64::MAX);
    let some = &vec![w; MAX_LIMBS + 1][..];
    let (three, four) = (&some[..3], &some[..4]);
    for other in [0, 2, 4, MAX_LIMBS + 1] {
        let a = &some[..other];
        let differ = length("a", other, 3);
        assert_eq!(refused(3, |r| limb::mul(r, a, w)), differ);
        assert_eq!(refused(3, |r| limb::mul_add(r, a, w)), differ);
        assert_eq!(refused(3, |r| limb::mul_sub(r, a, w)), differ);
        assert_eq!(refused(3, |r| limb::add(r, a, three)), differ);
        assert_eq!(refused(3, |r| limb::add(r, three, a)), length("b", other, 3));
        assert_eq!(refused(3, |r| limb::add_assign(r, a)), differ);
        assert_eq!(refused(3, |r| limb::sub(r, a, three)), differ);
        assert_eq!(refused(3, |r| limb::sub(r, three, a)), length("b", other, 3));
        assert_eq!(refused(3, |r| limb::sub_assign(r, a)), differ);
        assert_eq!(refused(3, |r| limb::sub_from(r, a)), differ);
        assert_eq!(refused(6, |r| limb::product(r, three, a)), length("b", other, 3));
    }
    assert_eq!(refused(3, |r| limb::mul_add_prop(r, four, w)), too_short("r", 3, 4));
    assert_eq!(refused(7, |r| limb::sqr_add_prop(r, four)), too_short("r", 7, 8));
    for other in [0, 3, 7, 9] {
        let differ = length("r", other, 8);
        let mut scratch = [w; 8];
        assert_eq!(refused(other, |r| limb::product(r, four, four)), differ);
        assert_eq!(refused(other, |r| limb::square(r, four)), differ);
        assert_eq!(refused(other, |r| limb::product_with(r, four, four, &mut scratch)), differ);
        assert_eq!(refused(other, |r| limb::square_with(r, four, &mut scratch)), differ);
        assert_eq!(scratch, [w; 8]);
    }
    let mut scratch = [w; 7];
    assert_eq!(refused(8, |r| limb::product_with(r, four, four, &mut scratch)), too_short("scratch", 7, 8));
    assert_eq!(refused(8, |r| limb::square_with(r, four, &mut scratch)), too_short("scratch", 7, 8));
    assert_eq!(scratch, [w; 7]);
}

#[test]
fn numbers_that_are_too_long() {
    are_too_long::<u64>();
    are_too_long::<u32>();
}

fn are_too_long<L: Checked>() {
    const N: usize = MAX_LIMBS + 1;
    let w = L::cut(u64::MAX);
    let a = &vec![w; N][..];
    let r = too_long("r", N, MAX_LIMBS);
    assert_eq!(refused(N, |r| limb::mul(r, a, w)), r);
    assert_eq!(refused(N, |r| limb::mul_in_place(r, w)), r);
    assert_eq!(refused(N, |r| limb::mul_add(r, a, w)), r);
    assert_eq!(refused(N, |r| limb::mul_add_in_place(r, w)), r);
    assert_eq!(refused(N, |r| limb::mul_sub(r, a, w)), r);
    assert_eq!(refused(N, |r| limb::mul_sub_in_place(r, w)), r);
    assert_eq!(refused(N, |r| limb::add(r, a, a)), r);
    assert_eq!(refused(N, |r| limb::add_assign(r, a)), r);
    assert_eq!(refused(N, |r| limb::double::<L>(r)), r);
    assert_eq!(refused(N, |r| limb::sub(r, a, a)), r);
    assert_eq!(refused(N, |r| limb::sub_assign(r, a)), r);
    assert_eq!(refused(N, |r| limb::sub_from(r, a)), r);

    let row = too_long("a", N, MAX_LIMBS);
    assert_eq!(refused(N, |r| limb::mul_add_prop(r, a, w)), row);
    assert_eq!(refused(2 * N, |r| limb::sqr_add_prop(r, a)), row);
    assert_eq!(refused(2 * N, |r| limb::product(r, a, a)), row);
    assert_eq!(refused(2 * N, |r| limb::square(r, a)), row);
    // The row is short enough, and what is above it is not.
    assert_eq!(refused(N + 4, |r| limb::mul_add_prop(r, &a[..4], w)), too_long("r", N + 4, MAX_LIMBS + 4));
    assert_eq!(refused(N + 8, |r| limb::sqr_add_prop(r, &a[..4])), too_long("r", N + 8, MAX_LIMBS + 8));
}

#[test]
fn every_error_has_a_text_of_its_own() {
    let errors = [
        length("a", 2, 3),
        too_short("r", 2, 3),
        too_long("r", MAX_LIMBS + 1, MAX_LIMBS),
        Error::NotNormalised,
        Error::QuotientTooLong,
    ];
    let texts: BTreeSet<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), errors.len());
    assert!(texts.contains("a has a length of 2 limbs and needs one of 3"), "{texts:?}");
    assert!(texts.contains("r has a length of 65537 limbs; at most 65536 are allowed"), "{texts:?}");
}
