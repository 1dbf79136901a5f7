//! Does `kiln` do its whole work with the compiled kernels, and say once and quietly why, where nothing can be made
//! executable?

use kiln_tests::cli::{CANNOT_REFUSE, Folder, Kiln, Said, rows, text, words};
use kiln_tests::skips::Skips;

/// A way to be without executable memory, and what is said of it.
struct Refusal {
    variable: &'static str,
    value: &'static str,
    why: &'static str,
}

const REFUSALS: [Refusal; 3] = [
    Refusal {
        variable: "KILN_TEST_NO_EXEC",
        value: "EACCES",
        why: "the system refuses to make memory executable (Permission denied (os error 13)); compiled kernels are used",
    },
    Refusal {
        variable: "KILN_TEST_NO_EXEC",
        value: "EPERM",
        why: "the system refuses to make memory executable (Operation not permitted (os error 1)); compiled kernels are \
              used",
    },
    Refusal {
        variable: "KILN_MACHINE_CODE",
        value: "off",
        why: "machine code is switched off by KILN_MACHINE_CODE=off",
    },
];

/// Runs a command line under each refusal that can be had here.
fn under_each_refusal(arguments: &[&str], folder: Option<&Folder>, check: impl Fn(&Refusal, Said)) {
    under(&REFUSALS, arguments, folder, check);
}

fn under(refusals: &[Refusal], arguments: &[&str], folder: Option<&Folder>, check: impl Fn(&Refusal, Said)) {
    let mut skips = Skips::default();
    for refusal in refusals {
        let mut line = words(&[]);
        line.extend(arguments.iter().map(Into::into));
        if let Some(folder) = folder {
            line.extend(words(&[&"--specs", &folder.path()]));
        }
        let kiln = Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test")).with(refusal.variable, refusal.value);
        let said = kiln.with("COLUMNS", "300").run(&line);
        if said.status == i32::from(CANNOT_REFUSE) {
            skips.skip(vec!["seccomp"], &format!("{} {}: {}", refusal.variable, refusal.value, said.err.trim()));
            continue;
        }
        check(refusal, said.exits(0));
    }
    skips.report();
}

/// The text with its lines joined: tables wrap.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn tune_decides_with_compiled_kernels() {
    let folder = Folder::with_more_variants("no-exec-tune");
    let kernels = ["limb64.mul_add", "limb64.div_2by1"];
    let line = ["tune", kernels[0], kernels[1], "--json", "--budget", "100"];
    under_each_refusal(&line, Some(&folder), |refusal, said| {
        assert_eq!(said.err, "", "a refusal is quiet");
        let document = said.json("kiln.tune/1");
        let cases = rows(&document, "kernels");
        let classes: usize = kernels.map(|kernel| kiln_tests::forms::kernel(kernel).sizes.len().max(1)).iter().sum();
        assert_eq!(cases.len(), classes, "every kernel in every size class");
        for case in cases {
            let (chosen, origin) = (text(case, "chosen"), text(case, "origin"));
            let kernel = kiln_tests::forms::kernel(text(case, "kernel"));
            let variant = kernel.variants.iter().find(|variant| variant.name == chosen);
            let variant = variant.unwrap_or_else(|| panic!("{chosen} is not shipped"));
            assert_eq!(variant.origin.word(), origin);
            assert_ne!(origin, "machine");
            for candidate in rows(case, "candidates") {
                assert_ne!(candidate["state"], "quarantined", "{candidate}");
            }
        }
        let left_out = rows(&document, "left_out");
        let why = |name: &str| {
            let row = left_out.iter().find(|row| row["variant"] == name).unwrap_or_else(|| panic!("no {name}"));
            text(row, "why")
        };
        let new = folder.new_variants();
        assert!(new.len() > 10, "{new:?}");
        for name in &new {
            assert_eq!(why(name), refusal.why);
        }
    });
}

#[test]
fn the_table_says_why_once() {
    let folder = Folder::with_more_variants("no-exec-table");
    let arguments = ["tune", "limb64.mul_add", "--budget", "20"];
    under_each_refusal(&arguments, Some(&folder), |refusal, said| {
        assert_eq!(said.err, "", "a refusal is quiet");
        assert_eq!(joined(&said.out).matches(&joined(refusal.why)).count(), 1, "{}", said.out);
        for name in folder.new_variants() {
            let short = name.split_once('/').map_or("", |(_, short)| short);
            assert!(joined(&said.out).contains(short), "each is named: {short} in {}", said.out);
        }
    });
}

#[test]
fn without_new_variants_there_is_nothing_to_say() {
    under_each_refusal(&["tune", "limb64.mul_add", "--budget", "20"], None, |refusal, said| {
        assert_eq!(said.err, "");
        assert!(!joined(&said.out).contains(&joined(refusal.why)), "{}", said.out);
    });
}

#[test]
fn list_and_verify_name_what_was_not_made() {
    let folder = Folder::with_more_variants("no-exec-list");
    under_each_refusal(&["list", "limb64.mul_add", "--json"], Some(&folder), |refusal, said| {
        assert_eq!(said.err, "");
        let document = said.json("kiln.list/1");
        let kernel = &rows(&document, "kernels")[0];
        assert!(rows(kernel, "variants").iter().all(|row| row["origin"] != "machine"), "{kernel}");
        let left_out = rows(kernel, "left_out");
        assert!(left_out.iter().any(|row| row["variant"] == "limb64.mul_add/mul.u3" && row["why"] == refusal.why));
    });
    under_each_refusal(&["list", "limb64.mul_add"], Some(&folder), |refusal, said| {
        assert_eq!(joined(&said.out).matches(&joined(refusal.why)).count(), 1, "{}", said.out);
    });
    let arguments = ["verify", "limb64.mul_add", "--json", "--cases", "0", "--seed", "1"];
    // The interpreter takes its time, and one refusal is like another.
    under(&REFUSALS[..1], &arguments, Some(&folder), |refusal, said| {
        let document = said.json("kiln.verify/1");
        let not_run = rows(&document, "not_run");
        assert!(not_run.iter().any(|row| row["variant"] == "limb64.mul_add/mul.u3" && row["why"] == refusal.why));
        let checked = rows(&document, "kernels");
        // What cannot run is still checked, in the interpreter.
        let new = |row: &&serde_json::Value| row["variant"] == "limb64.mul_add/mul.u3";
        let backends: Vec<&str> = checked.iter().filter(new).map(|row| text(row, "backend")).collect();
        assert_eq!(backends, ["interpreter", "interpreter_allocated"]);
    });
}

#[test]
fn cpu_and_explain_say_so() {
    for command in ["cpu", "explain"] {
        under_each_refusal(&[command, "--json"], None, |refusal, said| {
            assert_eq!(said.err, "", "{command}");
            let document = said.json(&format!("kiln.{command}/1"));
            let machine_code = &document["machine_code"];
            assert_eq!((&machine_code["available"], text(machine_code, "why")), (&false.into(), refusal.why));
        });
        under_each_refusal(&[command], None, |refusal, said| {
            let line = format!("machine code {}", refusal.why);
            assert!(joined(&said.out).contains(&joined(&line)), "{command}: {}", said.out);
        });
    }
    // And where there is no refusal, nothing of the kind.
    let said = Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test")).run(&["cpu", "--json"]).exits(0);
    let document = said.json("kiln.cpu/1");
    assert_eq!(document["machine_code"]["available"], document["machine_code"]["why"].is_null(), "{document}");
}
