//! Does verification find each kind of fault, and only those?
#![cfg(target_arch = "x86_64")]

mod common;

use common::*;
use kiln_kernels::catalogue::{Kernel, Variant, VariantParts};
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect;
use kiln_runtime::verify::{Depth, Kind, Options, Rejected, Report, Verified, verify};

static KERNEL: Kernel = kernel(&[PORTABLE]);

fn check(variant: Variant, options: &Options) -> Result<Verified, Rejected> {
    let variant: &'static Variant = Box::leak(Box::new(variant));
    verify(&KERNEL, &Candidate::shipped(variant), &detect::native(), options)
}

fn report(variant: Variant, options: &Options) -> Report {
    match check(variant, options) {
        Err(Rejected::Failed(report)) => report,
        other => panic!("{} is not found out: {other:?}", variant.name),
    }
}

fn depths() -> [Options; 2] {
    [Options::default(), Options { depth: Depth::Full { cases: 4 }, ..Options::default() }]
}

#[test]
fn a_right_candidate_is_verified() {
    for options in depths() {
        for variant in [PORTABLE, RIGHT, SLOW, EXACT_8, MMX_AND_EMMS] {
            let verified = check(variant, &options).unwrap_or_else(|rejected| panic!("{}: {rejected}", variant.name));
            assert!(verified.report().cases > 10);
        }
    }
}

#[test]
fn a_right_candidate_is_right_at_guard_pages() {
    let options = Options { guard_pages: true, depth: Depth::Full { cases: 1 }, ..Options::default() };
    check(RIGHT, &options).unwrap();
}

#[test]
fn one_wrong_n_is_found() {
    for options in depths() {
        let report = report(WRONG_AT_9, &options);
        assert!(report.failures.iter().all(|failure| failure.n == 9 && failure.kind == Kind::WrongResult("r")));
        let first = &report.failures[0];
        assert_eq!(first.operands.len(), 4);
        assert_ne!(first.expected, first.got);
        assert!(report.failures.len() <= options.keep && report.failed < report.cases);
    }
}

#[test]
fn every_fault_is_found_and_named() {
    for options in depths() {
        for (variant, expected) in [
            (WRONG_RETURN, Kind::WrongReturn),
            (WRONG_IN_PLACE, Kind::WrongResult("r")),
            (PAST_THE_END, Kind::WroteAfter("r")),
            (BEFORE_THE_START, Kind::WroteBefore("r")),
            (CHANGES_INPUT, Kind::InputChanged("a")),
            (SETS_DIRECTION, Kind::DirectionFlag),
            (RESETS_MXCSR, Kind::Mxcsr(0x9f80, 0x1f80)),
        ] {
            let report = report(variant, &options);
            assert!(report.failures.iter().any(|failure| failure.kind == expected), "{}: {report:?}", variant.name);
        }
    }
}

#[test]
fn lost_registers_are_named() {
    for (variant, expected) in [
        (CLOBBERS_R12, &["r12"][..]),
        // Each value comes back, in the wrong register.
        (SWAPS_R13_R14, &["r13", "r14"]),
        (CLOBBERS_RBP, &["rbp"]),
    ] {
        let names: Vec<_> = report(variant, &Options::default())
            .failures
            .iter()
            .map(|failure| match failure.kind {
                Kind::Register(name, ..) => name,
                ref other => panic!("{other}"),
            })
            .collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn x87_state_is_watched() {
    for variant in [DIRTIES_X87, NEEDLESS_EMMS, POPS_X87, MMX_WITHOUT_EMMS] {
        let report = report(variant, &Options::default());
        assert!(report.failures.iter().all(|failure| matches!(failure.kind, Kind::X87(..))), "{report:?}");
        assert_eq!(report.cases, 1, "a fault of state ends the check at once");
    }
}

#[test]
fn upper_halves_are_cleared() {
    if !detect::native().cpu().features.contains(kiln_codegen::isa::feature::Feature::Avx2) {
        return println!("skipped: no ymm registers here");
    }
    let dirty = report(DIRTIES_YMM, &Options::default());
    assert!(dirty.failures.iter().all(|failure| failure.kind == Kind::UpperHalf(11)), "{dirty:?}");
    assert_eq!(dirty.cases, 1, "a fault of state ends the check at once");
    assert!(check(CLEARS_YMM, &Options::default()).is_ok());
}

#[test]
fn an_ineligible_candidate_is_not_run() {
    let without = detect::native().without(
        ["avx512f", "avx512ifma"]
            .iter()
            .map(|name| kiln_codegen::isa::feature::Feature::from_name(name).unwrap())
            .collect(),
    );
    for variant in [NEEDS_AVX512, UNKNOWN_FEATURE, vouched(VariantParts { name: "other.kernel/right", ..RIGHT_PARTS })]
    {
        let variant: &'static Variant = Box::leak(Box::new(variant));
        let rejected = verify(&KERNEL, &Candidate::shipped(variant), &without, &Options::default()).unwrap_err();
        assert!(matches!(rejected, Rejected::Ineligible(_)), "{rejected}");
    }
}

#[test]
fn equal_seeds_give_equal_reports() {
    let run = |seed| report(WRONG_AT_9, &Options { seed, ..Options::default() });
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).failures[0].operands, run(8).failures[0].operands);
}
