//! Are decisions the ones that the rules give? Costs are stated by the toys, so no real time matters.
#![cfg(target_arch = "x86_64")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::*;
use kiln_codegen::isa::feature::FeatureSet;
use kiln_kernels::catalogue::{Kernel, Variant, VariantParts};
use kiln_runtime::candidate::{Candidate, Made};
use kiln_runtime::detect;
use kiln_runtime::explain::{CandidateReport, CaseReport, Reason, State};
use kiln_runtime::settings::{Glob, TuneMode};
use kiln_runtime::tune::{Event, Field, Options, Remembered, Tuned, Tuner};

static VARIANTS: [Variant; 7] = [PORTABLE, SLOW, RIGHT, EXACT_8, WRONG_AT_9, UNKNOWN_FEATURE, NOT_AT_STARTUP];
static KERNEL: Kernel = kernel(&VARIANTS);
const NOT_AT_STARTUP: Variant = vouched(VariantParts { name: "toy.mul_add/late.u4", startup: false, ..RIGHT_PARTS });

fn tuner(options: Options) -> Tuner {
    Tuner::with_clock(detect::native(), Box::new(WorkClock), options)
}

fn tune(options: Options) -> Tuned {
    tuner(options).tune(&KERNEL, Vec::new(), None, &mut |_| ())
}

fn case<'a>(tuned: &'a Tuned, name: &str) -> &'a CaseReport {
    tuned.reports.iter().find(|report| report.case == name).unwrap()
}

fn candidate<'a>(case: &'a CaseReport, short: &str) -> &'a CandidateReport {
    case.candidates.iter().find(|candidate| candidate.variant == format!("toy.mul_add/{short}")).unwrap()
}

fn named(kernel: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(kernel.to_owned(), value.to_owned())])
}

#[test]
fn each_size_class_has_its_own_winner() {
    let tuned = tune(Options::default());
    assert_eq!(tuned.reports.len(), 3);
    for report in &tuned.reports {
        assert_eq!(report.candidates.len(), VARIANTS.len());
        assert_eq!((report.reason, report.origin), (Reason::Fastest, "compiled"), "{report:?}");
        assert!(report.p_value.unwrap() < 0.01 && report.margin.unwrap() > 0.0);
        assert_eq!(candidate(report, "wrong_at_9.u4").state, State::Quarantined);
        assert_eq!(candidate(report, "warp.u8").state, State::Ineligible);
        assert_eq!(candidate(report, "late.u4").state, State::Unmeasured);
        assert_eq!(candidate(report, "late.u4").why.as_deref(), Some("not in the start-up race"));
    }
    let (four, eight) = (case(&tuned, "n=4"), case(&tuned, "n=8"));
    assert_eq!((four.chosen.as_str(), &four.near), ("toy.mul_add/right.u4", &None));
    assert_eq!(candidate(four, "exact.n8").why.as_deref(), Some("serves n = 8 alone"));
    // The one for n = 8 alone takes 12, the generic one 26: of its range, n = 8 alone goes to the former.
    assert_eq!((eight.chosen.as_str(), eight.near.as_deref()), ("toy.mul_add/exact.n8", Some("toy.mul_add/right.u4")));
    assert_eq!(candidate(eight, "exact.n8").ticks, Some(12.0 / 8.0));
    assert_eq!(candidate(eight, "right.u4").ticks, Some(26.0 / 8.0));
    assert_eq!(candidate(eight, "slow.u2").state, State::Dropped);
    let choice = tuned.choices.iter().find(|choice| choice.n == 8).unwrap();
    assert_eq!(choice.exact.as_ref().unwrap().candidate().short_name(), "exact.n8");
    assert_eq!(choice.near.as_ref().unwrap().candidate().short_name(), "right.u4");
}

#[test]
fn everyone_races_when_asked_and_twins_in_speed_tie_for_the_held() {
    let mut options = Options { field: Field::Everyone, ..Options::default() };
    let report = |options: &Options| case(&tune(options.clone()), "n=32").clone();
    let tie = report(&options);
    assert_eq!((tie.chosen.as_str(), tie.reason), ("toy.mul_add/right.u4", Reason::Tie));
    assert_eq!(candidate(&tie, "late.u4").state, State::Tied);
    let held = Remembered { exact: "late.u4".into(), near: "late.u4".into() };
    options.previous.insert("toy.mul_add".into(), BTreeMap::from([(32, held)]));
    assert_eq!(report(&options).chosen, "toy.mul_add/late.u4");
}

#[test]
fn overrides_are_followed_or_explained() {
    let forced = tune(Options { force: named("toy.mul_add", "slow.u2"), ..Options::default() });
    for report in &forced.reports {
        assert_eq!((report.chosen.as_str(), report.reason), ("toy.mul_add/slow.u2", Reason::Forced));
    }
    let exact = tune(Options { force: named("toy.mul_add", "exact.n8"), ..Options::default() });
    assert_eq!(case(&exact, "n=8").chosen, "toy.mul_add/exact.n8");
    assert_eq!(case(&exact, "n=8").near.as_deref(), Some("toy.mul_add/portable"));
    assert_eq!(case(&exact, "n=4").reason, Reason::Fastest);
    assert_eq!(case(&exact, "n=4").notes, ["forced variant \"exact.n8\" is not used: it serves another size alone"]);
    for (variant, why) in [("mulx.u8", "no such variant"), ("warp.u8", "\"warp\""), ("wrong_at_9.u4", "wrong result")] {
        let tuned = tune(Options { force: named("toy.mul_add", variant), ..Options::default() });
        let report = case(&tuned, "n=4");
        assert_eq!(report.chosen, "toy.mul_add/right.u4");
        assert!(report.notes[0].contains(why), "{:?}", report.notes);
    }

    let mut options = Options::default();
    options.exclusions.deny = vec![Glob::new("*/right.*"), Glob::new("*/exact.*")];
    let denied = tune(options);
    assert_eq!(case(&denied, "n=8").chosen, "toy.mul_add/portable");
    assert_eq!(candidate(case(&denied, "n=8"), "right.u4").state, State::Denied);
}

#[test]
fn without_a_race_the_preference_or_portable() {
    let prefer = named("toy.mul_add", "right.u4");
    let with = |mode, prefer: &BTreeMap<String, String>| {
        let tuned = tune(Options { mode, prefer: prefer.clone(), ..Options::default() });
        let report = case(&tuned, "n=8");
        assert_eq!(report.reason, Reason::Static);
        report.chosen.clone()
    };
    assert_eq!(with(TuneMode::Static, &prefer), "toy.mul_add/right.u4");
    assert_eq!(with(TuneMode::Static, &BTreeMap::new()), "toy.mul_add/portable");
    assert_eq!(with(TuneMode::Static, &named("toy.mul_add", "wrong_at_9.u4")), "toy.mul_add/portable");
    assert_eq!(with(TuneMode::Static, &named("toy.mul_add", "gone")), "toy.mul_add/portable");
    assert_eq!(with(TuneMode::Off, &prefer), "toy.mul_add/portable");
}

#[test]
fn out_of_time_is_the_preference_too() {
    let options = Options { prefer: named("toy.mul_add", "slow.u2"), ..Options::default() };
    let tuned = tuner(options).tune(&KERNEL, Vec::new(), Some(Duration::ZERO), &mut |_| ());
    for report in &tuned.reports {
        assert_eq!((report.chosen.as_str(), report.reason), ("toy.mul_add/slow.u2", Reason::Budget));
        assert_eq!(candidate(report, "right.u4").why.as_deref(), Some("time ran out"));
    }
}

#[test]
fn a_remembered_decision_is_used_if_it_still_holds() {
    let with = |exact: &str, near: &str| {
        let class = Remembered { exact: exact.into(), near: near.into() };
        let remembered = BTreeMap::from([("toy.mul_add".to_owned(), BTreeMap::from([(8, class)]))]);
        case(&tune(Options { remembered, ..Options::default() }), "n=8").clone()
    };
    let good = with("exact.n8", "slow.u2");
    assert_eq!((good.reason, good.near.as_deref()), (Reason::Remembered, Some("toy.mul_add/slow.u2")));
    for (exact, near) in [("gone", "slow.u2"), ("slow.u2", "exact.n8"), ("wrong_at_9.u4", "slow.u2"), ("", "")] {
        let bad = with(exact, near);
        assert_eq!((bad.reason, bad.chosen.as_str()), (Reason::Fastest, "toy.mul_add/exact.n8"));
        assert!(bad.notes[0].starts_with("remembered variant"), "{:?}", bad.notes);
    }
}

#[test]
fn what_failed_once_is_never_run_again() {
    let mut tuner = tuner(Options::default());
    let quarantines = |tuner: &mut Tuner| {
        let mut seen = Vec::new();
        tuner.tune(&KERNEL, Vec::new(), None, &mut |event| {
            if let Event::Quarantined { variant, why } = event {
                seen.push(format!("{variant}: {why}"));
            }
        });
        seen
    };
    let first = quarantines(&mut tuner);
    assert_eq!(first.len(), 1);
    assert!(first[0].starts_with("toy.mul_add/wrong_at_9.u4: wrong result in r at n = 9"), "{first:?}");
    assert!(tuner.options().exclusions.quarantined.contains_key("toy.mul_add/wrong_at_9.u4"));
    assert!(quarantines(&mut tuner).is_empty());
}

/// A right candidate, as fast as [`RIGHT`].
fn made(name: &str, code_hash: &str) -> Candidate {
    let made = Made {
        name: name.to_owned(),
        features: FeatureSet::EMPTY,
        exact: None,
        startup: true,
        code_hash: code_hash.to_owned(),
        instructions: 5,
    };
    // SAFETY: the entry is a toy of this contract, compiled into this program, which needs no feature.
    unsafe { Candidate::made(made, RIGHT.entry) }
}

#[test]
fn candidates_made_at_run_time_race_and_twins_do_not() {
    let extra = vec![
        made("toy.mul_add/made.u16", "1111111111111111"),
        made("toy.mul_add/made.u16", "2222222222222222"),
        made("toy.mul_add/twin.u16", "0000000000000000"),
        made("other.kernel/made.u16", "3333333333333333"),
    ];
    let tuned = tuner(Options::default()).tune(&KERNEL, extra, None, &mut |_| ());
    let report = case(&tuned, "n=32");
    assert_eq!((report.chosen.as_str(), report.origin), ("toy.mul_add/made.u16", "machine"));
    assert_eq!(report.reason, Reason::Tie, "the same function with smaller code");
    let others = |name: &str| report.candidates.iter().filter(|candidate| candidate.variant == name).count();
    assert_eq!((others("toy.mul_add/made.u16"), others("toy.mul_add/twin.u16")), (1, 0));
    let foreign = report.candidates.iter().find(|candidate| candidate.variant == "other.kernel/made.u16").unwrap();
    assert_eq!(foreign.state, State::Ineligible);
}

#[test]
fn other_code_under_a_shipped_name_stands_in_for_it() {
    let tune = |extra| tuner(Options::default()).tune(&KERNEL, extra, None, &mut |_| ());
    let states = |tuned: &Tuned| {
        let case = case(tuned, "n=8");
        assert_eq!(case.candidates.len(), VARIANTS.len(), "nobody is there twice");
        (candidate(case, "slow.u2").ticks, candidate(case, "wrong_at_9.u4").state)
    };
    let shipped = (Some(420.0 / 8.0), State::Quarantined);
    assert_eq!(states(&tune(Vec::new())), shipped);
    // The same code twice is one, and code without a hash is not known to be other code.
    for hash in ["0000000000000000", ""] {
        let twins = vec![made("toy.mul_add/slow.u2", hash), made("toy.mul_add/wrong_at_9.u4", hash)];
        assert_eq!(states(&tune(twins)), shipped);
    }
    // The first with other code is it, even if someone else has that code.
    let replaced = tune(vec![
        made("toy.mul_add/slow.u2", "1111111111111111"),
        made("toy.mul_add/slow.u2", "2222222222222222"),
        made("toy.mul_add/wrong_at_9.u4", "1111111111111111"),
        made("toy.mul_add/portable", "3333333333333333"),
    ]);
    let (ticks, state) = states(&replaced);
    assert_eq!(ticks, Some(26.0 / 8.0));
    assert!(matches!(state, State::Tied | State::Lost), "it is as fast and right: {state:?}");
    assert_eq!(candidate(case(&replaced, "n=8"), "portable").ticks, Some(52.0 / 8.0), "portable stays");
}

#[test]
fn the_class_asked_for_is_first_and_what_is_open_can_be_gone_on_with() {
    let mut tuner = tuner(Options::default());
    let mut contest = tuner.enter(&KERNEL, Vec::new());
    let none = tuner.decide(&mut contest, Some(8), Some(Duration::ZERO), &mut |_| ());
    assert!(none.reports.len() == 3 && none.reports.iter().all(|report| report.reason == Reason::Budget));
    assert_eq!(contest.open().len(), 3);
    let again = tuner.decide(&mut contest, Some(8), Some(Duration::ZERO), &mut |_| ());
    assert!(again.reports.is_empty(), "nothing new is known");

    contest.close(4);
    let mut order = Vec::new();
    let tuned = tuner.decide(&mut contest, Some(32), None, &mut |event| {
        if let Event::Decided(report) = event {
            order.push(report.case.clone());
        }
    });
    assert_eq!(order, ["n=32", "n=8"]);
    assert_eq!(tuned.reports.iter().map(|report| report.case.as_str()).collect::<Vec<_>>(), ["n=8", "n=32"]);
    assert!(tuned.reports.iter().all(|report| report.reason == Reason::Fastest) && contest.open().is_empty());
}

#[test]
fn if_nothing_passes_the_reference_serves() {
    static BAD: [Variant; 2] = [WRONG_AT_9, PAST_THE_END];
    static BAD_KERNEL: Kernel = kernel(&BAD);
    let tuned = tuner(Options::default()).tune(&BAD_KERNEL, Vec::new(), None, &mut |_| ());
    assert!(tuned.choices.iter().all(|choice| choice.exact.is_none() && choice.near.is_none()));
    assert_eq!(tuned.choices.len(), 3);
    assert_eq!(tuned.reports[0].chosen, "toy.mul_add/reference");
}

#[test]
fn the_real_clock_decides_something() {
    let mut tuner = Tuner::new(detect::native(), Options::default());
    let tuned = tuner.tune(&KERNEL, Vec::new(), Some(Duration::from_millis(50)), &mut |_| ());
    assert_eq!(tuned.choices.len(), 3);
}
