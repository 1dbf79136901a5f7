//! Does code branch on a secret, or read an address that depends on one? The program `kiln-secrets` runs under valgrind with its
//! secrets marked undefined; built as this test is, so that `cargo test --release -p kiln-secrets` asks it of release code.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::{Command, Output};

#[path = "../../src/tools.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod tools;

/// What a case said, and whether nothing leaked; `None` if valgrind is not there. Kernels are those that the CPU file prefers: a
/// simulator is slow, so that they are verified as long as it takes, and not raced.
fn run(case: &str) -> Option<(String, bool)> {
    run_with(case, &[("KILN_TUNE", "static")])
}

/// The same, with settings.
fn run_with(case: &str, settings: &[(&str, &str)]) -> Option<(String, bool)> {
    if !tools::found(&["valgrind"], 1) {
        return None;
    }
    let mut command = Command::new("valgrind");
    // Every error counts, however often it was seen.
    command.args(["--quiet", "--error-exitcode=99", "--error-limit=no", env!("CARGO_BIN_EXE_kiln-secrets"), case]);
    for variable in ["KILN_TUNE", "KILN_FORCE", "KILN_DENY", "KILN_SPECS", "KILN_MACHINE_CODE"] {
        command.env_remove(variable);
    }
    command.env("KILN_BUDGET_MS", "3600000").env("KILN_FEATURES", "-vaes").envs(settings.iter().copied());
    let Output { status, stdout, stderr } = command.output().expect("valgrind runs");
    let (said, errors) = (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr));
    println!("{case}:\n{said}");
    let clean = match status.code() {
        Some(0) => true,
        // Its own count, and then valgrind's.
        Some(1 | 99) => false,
        _ => panic!("{case}: {status}\n{said}\n{errors}"),
    };
    assert_eq!(clean, said.contains("\n0 leaks, 0 errors\n"), "{case}: {status}\n{said}\n{errors}");
    if !clean {
        println!("{}", errors.lines().take(60).collect::<Vec<_>>().join("\n"));
    }
    Some((said, clean))
}

/// The number of lines that begin so.
fn lines(said: &str, start: &str) -> usize {
    said.lines().filter(|line| line.starts_with(start)).count()
}

/// Whether the CPU has a feature, whatever valgrind makes of it.
fn cpu_has(feature: &str) -> bool {
    kiln_runtime::detect::native().cpu().features.to_string().split(',').any(|own| own == feature)
}

/// What the CPU or valgrind has no instructions for is left out, and said; of valgrind it is known what that is.
fn left_out(said: &str, unknown_to_valgrind: &[&str]) {
    for line in said.lines().filter_map(|line| line.strip_prefix("left out: ")) {
        let (_, feature) = line.rsplit_once(": no ").expect("a reason");
        assert!(unknown_to_valgrind.contains(&feature) || !cpu_has(feature), "left out: {line}");
        println!("skipped {line} under valgrind");
    }
}

#[test]
fn no_variant_of_aes_leaks() {
    let Some((said, clean)) = run("variants:aes") else { return };
    assert!(clean, "{said}");
    left_out(&said, &["vaes"]);
    assert!(said.contains(" of portable\n") && said.contains(" of aesni\n") == cpu_has("aes"), "{said}");
}

#[test]
fn no_variant_of_limbs_leaks() {
    let Some((said, clean)) = run("variants:limb") else { return };
    assert!(clean, "{said}");
    left_out(&said, &["adx"]);
    assert!(
        ["portable", "mul", "mulx", "sse2_mmx"].iter().all(|word| said.contains(&format!("of {word}\n"))),
        "{said}"
    );
}

#[test]
fn no_variant_of_montgomery_products_leaks() {
    let Some((said, clean)) = run("variants:mont") else { return };
    assert!(clean, "{said}");
    left_out(&said, &["adx"]);
    assert!(["portable", "mul", "mulx"].iter().all(|word| said.contains(&format!("of {word}\n"))), "{said}");
}

#[test]
fn no_variant_of_tables_leaks() {
    let Some((said, clean)) = run("variants:table") else { return };
    assert!(clean, "{said}");
    left_out(&said, &[]);
    assert!(["portable", "char_store", "sse2"].iter().all(|word| said.contains(&format!("of {word}\n"))), "{said}");
}

#[test]
fn no_mode_leaks() {
    let Some((said, clean)) = run("modes") else { return };
    assert!(clean, "{said}");
    // Both bundles were at work, and the reference, which reads tables, was not.
    let served = |word: &str| said.lines().any(|line| line.starts_with("served by ") && line.contains(word));
    assert!(served("/aesni.") == cpu_has("aes") && served("_sliced.") && !served("/reference"), "{said}");
}

#[test]
fn no_mode_leaks_in_portable_code() {
    let Some((said, clean)) = run_with("modes", &[("KILN_TUNE", "off")]) else { return };
    assert!(clean, "{said}");
    let all = lines(&said, "served by ");
    let portable = said.lines().filter(|line| line.starts_with("served by ") && line.contains("/portable")).count();
    assert!(all == portable && all > 0, "{said}");
}

#[test]
fn what_leaks_is_found() {
    for control in ["branch", "table", "reference"] {
        let Some((said, clean)) = run(&format!("control:{control}")) else { return };
        assert!(!clean && said.contains(&format!("leak: {control} (")), "{control} leaks, unseen: {said}");
    }
    // The reference, which serves where nothing else may, through every mode.
    let Some((said, clean)) = run_with("modes", &[("KILN_DENY", "aes*")]) else { return };
    for operation in
        ["a new key", "ecb::decrypt", "cbc::Encryptor", "cbc::Decryptor", "cbc::encrypt_many", "Ctr128", "Ctr32"]
    {
        let leaks = said.lines().filter(|line| line.starts_with("leak: ") && line.contains(operation)).count();
        assert!(!clean && leaks >= 6, "{operation} leaks for three sizes and two bundles, unseen");
    }
    // And what only looks so is not.
    let Some((said, clean)) = run("control:scan") else { return };
    assert!(clean, "{said}");
}
