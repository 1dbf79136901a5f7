//! Does a folder whose specs change a shipped variant's code replace that variant, and only that?
#![cfg(all(feature = "machine", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::path::PathBuf;

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::{Candidate, lineup};
use kiln_runtime::explain::Reason;
use kiln_runtime::provide::Provider;
use kiln_runtime::tune::{Options, Tuner};
use kiln_runtime::{detect, exec};

fn kernel() -> &'static Kernel {
    kiln_kernels::kernels().find(|kernel| kernel.name == "limb64.mul_add").expect("it is shipped")
}

/// A folder with the shipped file of no CPU in particular, with other costs.
fn folder(name: &str, change: impl Fn(&str) -> String) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let cpus = folder.join("cpus");
    std::fs::create_dir_all(&cpus).expect("a folder for temporary files");
    let generic = kiln_kernels::cpus().find(|file| file.path.ends_with("generic.toml")).expect("it is shipped");
    std::fs::write(cpus.join("generic.toml"), change(generic.text)).expect("a temporary file");
    folder
}

#[test]
fn other_costs_give_other_code_under_the_same_name() {
    if let Err(refused) = exec::probe() {
        return eprintln!("not run here: {refused}");
    }
    let folder = folder("slow_carries", |text| {
        let changed = text.replace("carry = [1, 1]", "carry = [9, 1]");
        assert_ne!(changed, text, "the file has this cost");
        changed
    });
    let provided = Provider::with_folder(&folder).unwrap().provide(kernel()).unwrap();
    assert!(!provided.replaced.is_empty(), "the schedule depends on the costs");
    let everyone = lineup(kernel(), provided.candidates.iter().cloned());
    let shipped = |name: &str| kernel().variants.iter().find(|variant| variant.name == name);
    for candidate in &everyone {
        let replaced = provided.replaced.iter().any(|name| name == candidate.name());
        let origin = shipped(candidate.name()).map(|variant| variant.origin);
        assert_eq!(origin != Some(candidate.origin()), replaced, "{}", candidate.name());
        assert_eq!(everyone.iter().filter(|other| other.name() == candidate.name()).count(), 1);
    }

    // The tuner runs the changed code: no other would be made at run time.
    let cpu = detect::native();
    let stand_in = |candidate: &&Candidate| {
        provided.replaced.iter().any(|name| name == candidate.name())
            && candidate.exact().is_none()
            && candidate.eligible(kernel(), &cpu).is_ok()
    };
    let Some(chosen) = everyone.iter().find(stand_in) else { return eprintln!("not run here: none is eligible") };
    let force = BTreeMap::from([(kernel().name.to_owned(), chosen.short_name().to_owned())]);
    let mut tuner = Tuner::new(detect::native(), Options { force, ..Options::default() });
    let tuned = tuner.tune(kernel(), provided.candidates.clone(), None, &mut |_| ());
    for report in &tuned.reports {
        assert_eq!((report.chosen.as_str(), report.origin, report.reason), (chosen.name(), "machine", Reason::Forced));
    }
    assert!(
        tuned.choices.iter().all(|choice| choice.exact.as_ref().is_some_and(|exact| exact.entry() == chosen.entry()))
    );
}

#[test]
fn the_same_costs_change_nothing() {
    let folder = folder("unchanged", str::to_owned);
    let provided = Provider::with_folder(&folder).unwrap().provide(kernel()).unwrap();
    assert!(provided.replaced.is_empty());
    let everyone = lineup(kernel(), provided.candidates);
    for (candidate, variant) in everyone.iter().zip(kernel().variants) {
        assert_eq!((candidate.name(), candidate.entry()), (variant.name, variant.entry));
    }
}

#[test]
fn nothing_is_made_for_another_contract() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("another_contract");
    std::fs::create_dir_all(folder.join("kernels")).expect("a folder for temporary files");
    let public = kernel().spec_text.replace("secret = true", "secret = false");
    std::fs::write(folder.join("kernels/row.toml"), public).expect("a temporary file");
    let provider = Provider::with_folder(&folder).unwrap();
    let refused = provider.provide(kernel()).expect_err("everything is public there");
    assert!(refused.to_string().contains("differ from those that this program was built with"), "{refused}");
    assert_eq!(provider.kernel(kernel()).expect_err("likewise").to_string(), refused.to_string());
}
