//! Do the start-up candidates pass, and is the class that is asked for decided first? What it costs is printed
//! (`--nocapture`), never asserted: real times prove nothing.
#![cfg(target_arch = "x86_64")]

use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect;
use kiln_runtime::prefer::preferences;
use kiln_runtime::tune::{CpuBudget, Event, KERNEL_SHARE, Options, PROCESS_BUDGET, Tuner};
use kiln_runtime::verify::{self, Checker};

fn microseconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let spent = CpuBudget::new(None);
    let result = work();
    (spent.spent().as_secs_f64() * 1e6, result)
}

#[test]
fn checking_the_start_up_candidates() {
    let cpu = detect::native();
    for kernel in kiln_kernels::kernels() {
        let startup = kernel.variants.iter().filter(|variant| variant.startup);
        let candidates: Vec<Candidate> = startup.map(Candidate::shipped).collect();
        let mut checker = Checker::new(kernel, verify::Options::default());
        for candidate in &candidates {
            // The first of a kind bears the drawing of the cases; alone shows what one costs without sharing them.
            let (time, verified) = microseconds(|| checker.verify(candidate, candidates.iter(), &cpu));
            let (again, _) = microseconds(|| checker.verify(candidate, candidates.iter(), &cpu));
            let (alone, _) = microseconds(|| verify::verify(kernel, candidate, &cpu, &verify::Options::default()));
            let cases = match verified {
                Ok(verified) => verified.report().cases,
                Err(verify::Rejected::Ineligible(_)) => 0,
                Err(rejected) => panic!("{}: {rejected}", candidate.name()),
            };
            let name = candidate.name();
            println!("{name:<34} {time:7.1} us, {again:6.1} once drawn, {alone:6.1} alone; {cases} cases");
        }
    }
}

#[test]
fn first_uses() {
    let cpu = detect::native();
    let prefer = preferences(&cpu);
    let mut tuner = Tuner::new(cpu, Options { prefer, ..Options::default() });
    for kernel in kiln_kernels::kernels() {
        let mut contest = tuner.enter(kernel, Vec::new());
        let share = PROCESS_BUDGET / KERNEL_SHARE;
        let spent = CpuBudget::new(None);
        let (mut begun, mut checked) = (0.0, 0.0);
        let (mut rows, mut decided) = (Vec::new(), Vec::new());
        tuner.decide(&mut contest, kernel.sizes.last().copied(), Some(share), &mut |event| {
            let now = spent.spent().as_secs_f64() * 1e6;
            match event {
                Event::Racing { .. } => checked = now,
                Event::Decided(report) => {
                    decided.push((report.case.clone(), report.chosen.clone()));
                    let (check, race) = (checked - begun, now - checked);
                    rows.push(format!(
                        "{:<6} {:<9}{check:6.0} {race:6.0}  {}",
                        report.case, report.reason, report.chosen
                    ));
                    begun = now;
                }
                Event::Started { .. } | Event::Verified { .. } | Event::Quarantined { .. } => {}
            }
        });
        // A kernel without a count has one class, without a name.
        let asked = kernel.sizes.last().map_or(String::new(), |n| format!("n={n}"));
        let first = decided.first().map(|(case, _)| case);
        assert_eq!(first, Some(&asked), "{}: the class asked for is first", kernel.name);
        for (case, chosen) in &decided {
            let known = kernel.variants.iter().any(|variant| variant.name == chosen);
            assert!(known, "{} {case}: chose {chosen:?}", kernel.name);
        }
        let time = spent.spent().as_micros();
        println!("{}: {time} us of {}; for each class, checking and racing:", kernel.name, share.as_micros());
        println!("  {}", rows.join("\n  "));
    }
}
