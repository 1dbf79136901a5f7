//! Does `kiln` find out each faulty kernel, say what is wrong with it, never choose it, and do the rest of its work all the
//! same? Does a library never dispatch one?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::native;
use kiln_runtime::dispatch::Runtime;
use kiln_runtime::explain::{Reason, State};
use kiln_runtime::settings::TuneMode;
use kiln_runtime::tune::{Field, Options, Remembered, Tuner};
use kiln_tests::cli::{Kiln, Said, rows, text};
use kiln_tests::forms;
use kiln_tests::mutants::Mutant;
use serde_json::Value;

const KERNEL: &str = "limb64.mul_add";

/// `kiln` with these faulty kernels among the candidates.
fn kiln(mutants: &[Mutant]) -> Kiln {
    let words: Vec<&str> = mutants.iter().map(|mutant| mutant.word()).collect();
    let kiln = Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test")).with("KILN_TEST_TIME_LIMIT_MS", "2000");
    if words.is_empty() { kiln } else { kiln.with("KILN_TEST_MUTANTS", words.join(",")) }
}

/// How a report of this mutant may begin.
fn faults(mutant: Mutant) -> &'static [&'static str] {
    match mutant {
        Mutant::LostCarry | Mutant::UnrollPlusOne => &["wrong result in r at n = ", "wrong limb returned at n = "],
        Mutant::PastTheEnd => &["wrote past the end of r at n = 4"],
        Mutant::Clobber => &["lost rbx: ", "lost rbp: "],
        Mutant::Endless => &["did not finish within 200"],
        Mutant::Crash => &["crashed with SIGSEGV"],
    }
}

fn names_the_fault(mutant: Mutant, why: &str) {
    assert!(faults(mutant).iter().any(|fault| why.starts_with(fault)), "{mutant:?}: {why}");
}

/// For each size class: variant to its row.
type Classes<'a> = BTreeMap<&'a str, BTreeMap<&'a str, &'a Value>>;

fn classes(document: &Value) -> Classes<'_> {
    let candidates = |case| rows(case, "candidates").iter().map(|row| (text(row, "variant"), row)).collect();
    rows(document, "kernels").iter().map(|case| (text(case, "case"), candidates(case))).collect()
}

/// A tune without mutants: what must not change.
fn honest() -> &'static Value {
    static HONEST: OnceLock<Value> = OnceLock::new();
    HONEST.get_or_init(|| kiln(&[]).run(&["tune", KERNEL, "--json"]).exits(0).json("kiln.tune/1"))
}

/// What `tune --json` must say when these mutants take part.
fn tuned_without(mutants: &[Mutant], said: &Said) {
    let document = said.json("kiln.tune/1");
    let names: BTreeSet<String> = mutants.iter().map(|mutant| mutant.name()).collect();
    for case in rows(&document, "kernels") {
        assert!(!names.contains(text(case, "chosen")), "{case}");
        assert!(!names.contains(case["near"].as_str().unwrap_or_default()), "{case}");
        assert!(!text(case, "chosen").ends_with("/reference"), "{case}");
    }
    let (found, expected) = (classes(&document), classes(honest()));
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (class, found) in found {
        for mutant in mutants {
            let row = found.get(mutant.name().as_str()).unwrap_or_else(|| panic!("{} at {class}", mutant.name()));
            assert_eq!(row["state"], "quarantined", "{row}");
            assert!(row["ticks"].is_null() && row["rounds"] == 0, "a faulty kernel was timed: {row}");
            names_the_fault(*mutant, text(row, "why"));
        }
        // The rest is as without them: the same variants, out for the same reasons, and everyone else measured.
        let rest: Vec<_> = found.iter().filter(|(name, _)| !names.contains(**name)).collect();
        let before = &expected[class];
        assert!(rest.iter().map(|(name, _)| **name).eq(before.keys().copied()), "{class}");
        for (name, row) in rest {
            let out = ["ineligible", "quarantined", "denied"];
            let was = text(before[*name], "state");
            if out.contains(&was) || out.contains(&text(row, "state")) {
                assert_eq!((&row["state"], &row["why"]), (&before[*name]["state"], &before[*name]["why"]), "{name}");
            } else {
                assert!(row["ticks"].as_f64().is_some_and(|ticks| ticks > 0.0), "{class}: {row}");
            }
        }
        assert_eq!(found.values().filter(|row| row["state"] == "won").count(), 1, "{class}");
    }
    // Whoever reads the text of a terminal beside the document hears of it too.
    for mutant in mutants {
        let line = format!("warning: {} is quarantined: ", mutant.name());
        assert_eq!(said.err.matches(&line).count(), 1, "{}", said.err);
    }
}

#[test]
fn each_mutant_alone_is_quarantined_by_tune() {
    for mutant in Mutant::ALL {
        let said = kiln(&[mutant]).run(&["tune", KERNEL, "--json"]).exits(0);
        tuned_without(&[mutant], &said);
    }
}

#[test]
fn all_mutants_together_are_quarantined_by_tune() {
    let said = kiln(&Mutant::ALL).run(&["tune", KERNEL, "--json"]).exits(0);
    tuned_without(&Mutant::ALL, &said);
}

#[test]
fn an_honest_tune_quarantines_nobody() {
    for (class, candidates) in classes(honest()) {
        for row in candidates.values() {
            assert_ne!(row["state"], "quarantined", "{class}: {row}");
        }
    }
}

#[test]
fn a_mutant_is_not_chosen_by_force() {
    let mutants = [Mutant::LostCarry, Mutant::Crash];
    for mutant in mutants {
        let force = format!("{KERNEL}={}", mutant.name().trim_start_matches("limb64.mul_add/"));
        let words = ["tune", KERNEL, "--json", "--budget", "50"];
        let document = kiln(&mutants).with("KILN_FORCE", force).run(&words).exits(0).json("kiln.tune/1");
        for case in rows(&document, "kernels") {
            assert!(!text(case, "chosen").contains("mutant"), "{case}");
            assert_ne!(case["reason"], "forced", "{case}");
            let note = rows(case, "notes").iter().filter_map(Value::as_str).find(|note| note.contains("is not used: "));
            let (_, why) = note.unwrap_or_else(|| panic!("no note in {case}")).split_once("is not used: ").unwrap();
            names_the_fault(mutant, why);
        }
    }
}

#[test]
fn verify_exits_1_and_names_the_mutants_alone() {
    let said = kiln(&Mutant::ALL).run(&["verify", KERNEL, "--json", "--cases", "0", "--seed", "1"]).exits(1);
    let document = said.json("kiln.verify/1");
    let failed: Vec<&Value> = rows(&document, "kernels").iter().filter(|row| row["failed"] != 0).collect();
    let names: BTreeSet<&str> = failed.iter().map(|row| text(row, "variant")).collect();
    let expected: BTreeSet<String> = Mutant::ALL.iter().map(|mutant| mutant.name()).collect();
    assert_eq!(names, expected.iter().map(String::as_str).collect());
    for mutant in Mutant::ALL {
        let row = failed.iter().find(|row| row["variant"] == mutant.name().as_str()).expect("it failed");
        assert_eq!(row["backend"], "machine");
        let first = &rows(row, "failures")[0];
        let place = first["n"].as_u64().map(|n| format!(" at n = {n}")).unwrap_or_default();
        names_the_fault(mutant, &format!("{}{place}", text(first, "what")));
    }
}

#[test]
fn verify_says_in_words_what_is_wrong() {
    let said = kiln(&[Mutant::UnrollPlusOne]).run(&["verify", KERNEL, "--cases", "0", "--seed", "1"]).exits(1);
    let name = Mutant::UnrollPlusOne.name();
    for part in [&format!("FAILED {name} (machine)\n  wrong "), "1 check failed", "expected  0x", "got       0x"] {
        assert!(said.out.contains(part), "no {part:?} in\n{}", said.out);
    }
    // The tail of one limb is wrong, and nothing else is.
    let n = said.out.split("n = ").nth(1).and_then(|rest| rest.split(',').next()).expect("a length");
    assert_eq!(n.parse::<u64>().expect("a number") % 2, 1, "{}", said.out);
}

/// The mutants that a library can find out in its own process.
fn in_process() -> &'static [(Mutant, Candidate)] {
    static MUTANTS: OnceLock<Vec<(Mutant, Candidate)>> = OnceLock::new();
    MUTANTS.get_or_init(|| {
        let survivable = Mutant::ALL.into_iter().filter(|mutant| !mutant.kills());
        survivable.map(|mutant| (mutant, mutant.candidate().expect("executable memory"))).collect()
    })
}

fn source(kernel: &'static Kernel) -> Vec<Candidate> {
    let own = in_process().iter().filter(|(_, candidate)| candidate.kernel() == kernel.name);
    own.map(|(_, candidate)| candidate.clone()).collect()
}

/// A runtime that is offered every mutant, used once for each length.
fn used(options: Options) -> &'static Runtime {
    let tuner = Tuner::new(native(), options);
    let runtime: &'static Runtime =
        Box::leak(Box::new(Runtime::new(tuner, Duration::from_secs(600)).with_source(source)));
    let slots = runtime.slots(forms::kernel(KERNEL));
    for n in (0..40).chain([63, 64, 65, 127, 128, 129, 4096]) {
        let entry = slots.entry_for(n);
        for (mutant, candidate) in in_process() {
            assert_ne!(entry, candidate.entry(), "{mutant:?} serves n = {n}");
        }
    }
    runtime
}

#[test]
fn a_library_never_dispatches_a_mutant() {
    let runtime = used(Options { field: Field::Everyone, ..Options::default() });
    let cases = &runtime.explain()[KERNEL];
    assert_eq!(cases.len(), 6);
    for case in cases {
        assert!(!case.chosen.contains("mutant"), "{case:?}");
        for (mutant, candidate) in in_process() {
            let row = case.candidates.iter().find(|row| row.variant == candidate.name()).expect("a row");
            // The exact mutant is quarantined where it would serve, and known to be from then on.
            assert_eq!(row.state, State::Quarantined, "{}: {row:?}", case.case);
            names_the_fault(*mutant, row.why.as_deref().expect("a reason"));
        }
    }
}

#[test]
fn a_mutant_that_is_asked_for_by_name_is_not_dispatched_either() {
    for (mutant, candidate) in in_process() {
        let name = candidate.short_name().to_owned();
        let by_name = || BTreeMap::from([(KERNEL.to_owned(), name.clone())]);
        let forced = used(Options { force: by_name(), ..Options::default() });
        let preferred = used(Options { prefer: by_name(), mode: TuneMode::Static, ..Options::default() });
        let decision = Remembered { exact: name.clone(), near: name.clone() };
        let classes = forms::kernel(KERNEL).sizes.iter().map(|n| (*n, decision.clone())).collect();
        let remembered = BTreeMap::from([(KERNEL.to_owned(), classes)]);
        let remembered = used(Options { remembered, ..Options::default() });
        for (runtime, reason) in
            [(forced, Some(Reason::Forced)), (preferred, None), (remembered, Some(Reason::Remembered))]
        {
            for case in &runtime.explain()[KERNEL] {
                assert!(!case.chosen.contains("mutant"), "{case:?}");
                assert_ne!(Some(case.reason), reason, "{mutant:?}: {case:?}");
            }
        }
    }
}
