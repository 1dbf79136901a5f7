//! Does the generator refuse what a spec alone does not show to be wrong: a stated manifest that is not the computed one, a
//! secret that gets out, arguments of another contract? Each case is in `fail-compile/`, with exactly its problems.

use kiln_codegen::compile::compile;
use kiln_codegen::error::Problems;
use kiln_codegen::spec::{SourceFile, Specs};
use kiln_tests::cli::Kiln;
use kiln_tests::forms;
use kiln_tests::spec_cases::{cases, check, words};

/// The specs of the files, with the shipped CPUs to schedule for.
fn parsed(files: &[SourceFile]) -> Result<Specs, Problems> {
    let mut specs = Specs::parse(files, &words())?;
    specs.cpus.extend(forms::specs().cpus.iter().cloned());
    Ok(specs)
}

#[test]
fn each_bad_spec_is_refused_by_compile_with_exactly_its_problems() {
    let cases = cases("fail-compile");
    assert!(cases.len() >= 10, "only {} cases were found", cases.len());
    for case in &cases {
        assert!(parsed(&case.files).is_ok(), "{}: the spec alone is good", case.name);
    }
    check(&cases, |files| compile(&parsed(files)?).map(drop));
}

#[test]
fn the_command_line_says_the_same() {
    for case in cases("fail-compile") {
        let path = format!("{}/fail-compile/{}.toml", env!("CARGO_MANIFEST_DIR"), case.name);
        let said = Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test")).run(&["spec", "check", &path]).refuses(&[]);
        let mut found: Vec<&str> =
            said.err.lines().map(|line| line.rsplit_once("fail-compile/").map_or(line, |(_, rest)| rest)).collect();
        found.sort_unstable();
        assert_eq!(found, case.expected, "{}", case.name);
    }
}

/// The shipped kernel with a line put into a strategy's table.
fn with_line(strategy: &str, line: &str) -> SourceFile {
    let (path, text) = ("limb64_mul_add.toml", &forms::specs().kernel("limb64.mul_add").expect("shipped").text);
    let name = format!("\n[[strategy]]\nname = \"{strategy}\"");
    assert!(text.contains(&name), "{strategy}");
    let text = text.replacen(&name, &format!("\n[[strategy]]\n{line}\nname = \"{strategy}\""), 1);
    SourceFile { path: path.into(), bytes: text.into_bytes() }
}

#[test]
fn a_manifest_that_agrees_is_accepted_in_any_order() {
    for (strategy, line) in [
        ("portable", "requires = []"),
        ("mul", "requires = []"),
        ("mulx", "requires = [\"bmi2\"]"),
        ("mulx_adx", "requires = [\"bmi2\", \"adx\"]"),
        ("mulx_adx", "requires = [\"adx\", \"bmi2\"]"),
    ] {
        let specs = parsed(&[with_line(strategy, line)]).unwrap_or_else(|problems| panic!("{strategy}: {problems}"));
        let compiled = compile(&specs).unwrap_or_else(|problems| panic!("{strategy}: {problems}"));
        // And it changes nothing but the spec's hash.
        for compiled in compiled {
            assert_eq!(forms::shipped(&compiled).code_hash(), compiled.code_hash, "{}", compiled.plan.name);
        }
    }
}

#[test]
fn one_that_disagrees_is_refused_where_it_stands() {
    for (strategy, line) in [
        ("portable", "requires = [\"bmi2\"]"),
        ("mul", "requires = [\"adx\"]"),
        ("mulx", "requires = []"),
        ("mulx_adx", "requires = [\"bmi2\"]"),
    ] {
        let file = with_line(strategy, line);
        let text = String::from_utf8(file.bytes.clone()).expect("text");
        let number = text.lines().position(|other| other == line).expect("the line") + 1;
        let specs = parsed(&[file]).unwrap_or_else(|problems| panic!("{strategy}: {problems}"));
        let problems = compile(&specs).err().unwrap_or_else(|| panic!("{strategy} accepts {line}"));
        // Every variant of the strategy has the same problem, which is said once.
        assert_eq!(problems.len(), 1, "{problems}");
        let place = format!("limb64_mul_add.toml:{number}:12: requires says ");
        assert!(problems.to_string().starts_with(&place), "{problems}");
    }
}
