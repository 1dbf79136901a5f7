//! Does an allocated function do what the virtual one did, and give the caller its registers back?

use crate::ir::{Func, Physical, Virtual};
use crate::pass::testing::{arguments, pieces, program, run_physical, run_virtual, straight, work};
use crate::pass::{CostModel, allocate, schedule};
use proptest::prelude::*;

pub(super) fn same(func: &Func<Virtual>, seed: u64) -> Func<Physical> {
    let physical = allocate(func.clone()).expect("the function can be allocated");
    for equal in [false, true] {
        let arguments = arguments(seed, equal);
        assert_eq!(run_virtual(func, &arguments), run_physical(&physical, &arguments), "r = a: {equal}\n{physical:?}");
    }
    physical
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn straight_lines_do_what_they_did(live in 1..60_usize, body in straight(), seed in 0..1000_u64) {
        let func = program(live, live % 14, 64, &body);
        let physical = same(&func, seed);
        prop_assert_eq!(work(&func), work(&physical), "only moves come and go");
        prop_assert_eq!(&physical, &allocate(func).unwrap(), "twice the same");
    }

    #[test]
    fn loops_and_tails_do_what_they_did(live in 1..60_usize, body in pieces(), narrow in any::<bool>(), seed in 0..1000_u64) {
        let func = program(live, live % 14, if narrow { 32 } else { 64 }, &body);
        same(&func, seed);
    }

    #[test]
    fn scheduled_functions_too(live in 1..40_usize, body in pieces(), seed in 0..1000_u64) {
        let func = schedule(program(live, live % 10, 64, &body), &CostModel::generic());
        same(&func, seed);
    }
}
