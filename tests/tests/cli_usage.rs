//! Does every wrong word and every wrong variable end with status 2 and say what is wrong, does every right override do what
//! it says, and does nothing around the program make it panic?

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use kiln_tests::cli::{Kiln, rows, text};
use kiln_tests::forms;
use serde_json::Value;

fn kiln() -> Kiln {
    Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test"))
}

/// Command lines that do little and reach everything.
const LINES: [&[&str]; 9] = [
    &["cpu"],
    &["list"],
    &["list", "--json"],
    &["explain", "limb64.mul_add"],
    &["show", "limb64.mul_add/mulx_adx.u8"],
    &["spec", "schema"],
    &["tune", "limb32.mul_add", "--budget", "5"],
    &["verify", "limb32.mul_add", "--cases", "0"],
    &["--help"],
];

#[test]
fn status_0_is_done() {
    for line in LINES {
        let said = kiln().run(line).exits(0);
        assert!(!said.out.is_empty(), "{line:?}");
        assert_eq!(said.err, "", "{line:?}");
    }
    assert!(kiln().run(&["--version"]).exits(0).out.starts_with("kiln "));
}

#[test]
fn an_unknown_kernel_is_named_with_its_neighbour() {
    for command in ["tune", "list", "verify", "explain"] {
        let line = [command, "limb64.mul_ad"];
        kiln().run(&line).refuses(&["no kernel matches `limb64.mul_ad`", "did you mean `limb64.mul_add`"]);
        // One wrong word among right ones is no less wrong.
        kiln().run(&[command, "limb64.mul_add", "des*"]).refuses(&["no kernel matches `des*`"]);
        kiln().run(&[command, "--json", "nothing"]).refuses(&["no kernel matches `nothing`"]);
    }
    let said = kiln().run(&["tune", "limb64.mul_add/mul.u4"]).refuses(&["no kernel matches", "`kiln show`"]);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
}

#[test]
fn an_unknown_variant_is_named_with_its_neighbour() {
    kiln()
        .run(&["show", "limb64.mul_add/mulx_adx.q8"])
        .refuses(&["there is no variant `limb64.mul_add/mulx_adx.q8`", "did you mean `limb64.mul_add/mulx_adx.u8`"]);
    for name in ["", "/", "limb64.mul_add", "mul.u4", "limb64.mul_add/mul.u0", "limb64.mul_add/mul.u65"] {
        kiln().run(&["show", name]).refuses(&[&format!("there is no variant `{name}`")]);
    }
    kiln().run(&["show", "limb64.mul_add/portable.u4", "--as", "asm"]).refuses(&["cannot be shown as asm"]);
}

#[test]
fn wrong_words_are_usage() {
    let lines: [(&[&str], &str); 14] = [
        (&[], "Usage"),
        (&["tun"], "tune"),
        (&["tune", "--budgt", "5"], "--budget"),
        (&["tune", "--budget", "0"], "--budget"),
        (&["tune", "--budget", "soon"], "--budget"),
        (&["tune", "--budget"], "--budget"),
        (&["verify", "--seed", "0xx"], "--seed"),
        (&["verify", "--seed", "-1"], "-1"),
        (&["verify", "--cases", "1.5"], "--cases"),
        (&["show"], "VARIANT"),
        (&["show", "limb64.mul_add/mul.u4", "--as", "c"], "bytes"),
        (&["cpu", "extra"], "extra"),
        (&["spec"], "schema"),
        (&["spec", "check"], "FILE"),
    ];
    for (line, part) in lines {
        kiln().run(line).refuses(&[part]);
    }
    kiln().run(&["spec", "check", "nowhere.toml"]).refuses(&["nowhere.toml"]);
}

#[test]
fn a_malformed_variable_is_named_by_every_command() {
    let malformed = [
        ("KILN_FORCE", "mul.u4", "\"mul.u4\" is not KERNEL=VARIANT"),
        ("KILN_FORCE", "limb64.mul_add=", "is not KERNEL=VARIANT"),
        ("KILN_FORCE", "limb64.mul_add=mul.u4,limb64.mul_add=mul.u8", "is forced twice"),
        ("KILN_DENY", "", "an item is empty"),
        ("KILN_DENY", "*/mul.u4,,", "an item is empty"),
        ("KILN_FEATURES", "adx", "does not start with '-'"),
        ("KILN_FEATURES", "-abx", "did you mean \"adx\"?"),
        ("KILN_FEATURES", "~0", "does not start with '-'"),
        ("KILN_BUDGET_MS", "2ms", "is not a whole number of milliseconds"),
        ("KILN_BUDGET_MS", "-1", "is not a whole number of milliseconds"),
        ("KILN_BUDGET_MS", "99999999999999999999", "is not a whole number of milliseconds"),
        ("KILN_TUNE", "fast", "\"fast\" is not one of off, static, race"),
        ("KILN_MACHINE_CODE", "0", "\"0\" is not one of on, off"),
    ];
    for (variable, value, what) in malformed {
        let said = kiln().with(variable, value).run(&["list"]).refuses(&[&format!("error: {variable}: "), what]);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    }
    for line in LINES.into_iter().filter(|line| !line.contains(&"--help") && line[0] != "explain") {
        let kiln = kiln().with("KILN_TUNE", "fast").with("KILN_BUDGET_MS", "soon");
        // Both at once.
        kiln.run(line).refuses(&["KILN_TUNE: ", "KILN_BUDGET_MS: "]);
    }
    let not_text = OsStr::from_bytes(b"\xff\xfe");
    for variable in ["KILN_FORCE", "KILN_DENY", "KILN_FEATURES", "KILN_TUNE", "KILN_BUDGET_MS", "KILN_MACHINE_CODE"] {
        kiln().with(variable, not_text).run(&["cpu"]).refuses(&[&format!("{variable}: the value is not UTF-8")]);
        let long = "-adx,".repeat(1000);
        kiln().with(variable, long).run(&["cpu"]).refuses(&[&format!("{variable}: the value is longer")]);
    }
}

/// `explain` is how an operator finds out what a library makes of a wrong value: it shows that, and still fails.
#[test]
fn explain_shows_what_is_ignored() {
    let said = kiln().with("KILN_TUNE", "fast").run(&["explain", "limb64.mul_add", "--json"]).exits(2);
    let document = said.json("kiln.explain/1");
    let ignored = rows(&document, "ignored");
    assert_eq!((ignored.len(), text(&ignored[0], "variable")), (1, "KILN_TUNE"));
    assert!(said.err.contains("KILN_TUNE: "), "{}", said.err);
    // A name of nothing is well formed, so it is shown and no failure.
    let unknown = "limb64.mul_add=mul.u99,aes.nothing=x";
    let said = kiln().with("KILN_FORCE", unknown).run(&["explain", "limb64.mul_add", "--json"]).exits(0);
    let document = said.json("kiln.explain/1");
    let whats: Vec<&str> = rows(&document, "ignored").iter().map(|row| text(row, "what")).collect();
    assert_eq!(whats, ["there is no kernel aes.nothing", "there is no variant limb64.mul_add/mul.u99"]);
}

/// The states and reasons of the variants of a strategy in a document of `list`.
fn listed(document: &Value, strategies: &[&str]) -> Vec<(bool, Option<String>)> {
    let variants = rows(document, "kernels").iter().flat_map(|kernel| rows(kernel, "variants"));
    variants
        .filter(|row| strategies.contains(&text(row, "strategy")))
        .map(|row| (row["eligible"] == true, row["why"].as_str().map(str::to_owned)))
        .collect()
}

#[test]
fn removed_features_make_their_variants_ineligible() {
    let document = kiln().with("KILN_FEATURES", "-adx, -bmi2").run(&["list", "--json"]).exits(0).json("kiln.list/1");
    let out = listed(&document, &["mulx", "mulx_adx"]);
    assert!(out.len() >= 20);
    for (eligible, why) in out {
        let why = why.expect("a reason");
        assert!(!eligible && why.starts_with("needs bmi2"), "{why}");
    }
    assert!(listed(&document, &["mul", "portable"]).iter().all(|(eligible, why)| *eligible && why.is_none()));
    let words = ["tune", "limb64.mul_add", "--json", "--budget", "50"];
    let document = kiln().with("KILN_FEATURES", "-adx,-bmi2").run(&words).exits(0).json("kiln.tune/1");
    for case in rows(&document, "kernels") {
        assert!(!text(case, "chosen").contains("/mulx"), "{case}");
        let mulx = rows(case, "candidates").iter().filter(|row| text(row, "variant").contains("/mulx"));
        for row in mulx {
            assert_eq!(row["state"], "ineligible", "{row}");
            assert!(text(row, "why").contains("bmi2") || text(row, "why").starts_with("serves n = "), "{row}");
        }
    }
    let said = kiln().with("KILN_FEATURES", "-adx,-bmi2").run(&["cpu", "--json"]).exits(0);
    let document = said.json("kiln.cpu/1");
    let features = rows(&document, "features");
    assert!(!features.contains(&"adx".into()) && !features.contains(&"bmi2".into()), "{document}");
}

#[test]
fn a_forced_variant_wins() {
    for (short, origin) in [("mul.u1", "compiled"), ("portable.u2", "portable")] {
        for command in ["tune", "explain"] {
            let force = format!("limb64.mul_add={short}");
            let said = kiln().with("KILN_FORCE", force).run(&[command, "limb*.mul_add", "--json"]).exits(0);
            let document = said.json(&format!("kiln.{command}/1"));
            let mut seen = 0;
            for case in rows(&document, "kernels") {
                if case["kernel"] != "limb64.mul_add" {
                    assert_ne!(case["reason"], "forced", "only the kernel that is named: {case}");
                    continue;
                }
                seen += 1;
                assert_eq!(text(case, "chosen"), format!("limb64.mul_add/{short}"), "{command}");
                assert_eq!((text(case, "reason"), text(case, "origin")), ("forced", origin), "{command}");
            }
            assert_eq!(seen, forms::kernel("limb64.mul_add").sizes.len());
        }
    }
}

#[test]
fn denying_everything_leaves_the_reference() {
    for pattern in ["*", "limb64.*,limb32.*"] {
        let words = ["tune", "limb64.mul_add", "--json"];
        let document = kiln().with("KILN_DENY", pattern).run(&words).exits(0).json("kiln.tune/1");
        for case in rows(&document, "kernels") {
            let chosen = text(case, "chosen");
            assert!(chosen.ends_with("/reference") || chosen.contains("/portable"), "{case}");
            for row in rows(case, "candidates").iter().filter(|row| row["state"] != "won") {
                assert!(row["ticks"].is_null(), "a denied variant was timed: {row}");
            }
        }
    }
    let words = ["tune", "limb64.mul_add", "--json", "--budget", "50"];
    let document = kiln().with("KILN_DENY", "*/mul*").run(&words).exits(0).json("kiln.tune/1");
    for case in rows(&document, "kernels") {
        assert!(text(case, "chosen").contains("/portable"), "{case}");
        let denied = rows(case, "candidates").iter().filter(|row| row["state"] == "denied");
        for row in denied {
            assert!(text(row, "why").contains("*/mul*"), "{row}");
        }
    }
}

#[test]
fn other_ways_of_tuning_do_as_they_say() {
    let tuned = |mode: &str| {
        let said =
            kiln().with("KILN_TUNE", mode).run(&["tune", "limb32.mul_add", "limb32.reciprocal", "--json"]).exits(0);
        said.json("kiln.tune/1")
    };
    for case in rows(&tuned("off"), "kernels") {
        assert_eq!((text(case, "origin"), text(case, "reason")), ("portable", "static"), "{case}");
    }
    for case in rows(&tuned("static"), "kernels") {
        assert_eq!(text(case, "reason"), "static", "{case}");
        assert!(rows(case, "candidates").iter().all(|row| row["ticks"].is_null()), "{case}");
    }
    let words = ["tune", "limb32.mul_add", "limb32.reciprocal", "--json"];
    let none = kiln().with("KILN_BUDGET_MS", "0").run(&words).exits(0).json("kiln.tune/1");
    assert!(rows(&none, "kernels").iter().all(|case| case["reason"] == "budget"), "{none}");
}

#[test]
fn a_bare_environment_is_enough() {
    for line in LINES {
        let bare = ["HOME", "TERM", "LANG", "LC_ALL", "USER", "PATH", "TMPDIR", "COLUMNS", "XDG_CACHE_HOME"];
        let said = bare.into_iter().fold(kiln(), |kiln, variable| kiln.without(variable)).run(line).exits(0);
        assert!(!said.out.contains('\u{1b}'), "no colour in a pipe: {}", said.out);
        if ["show", "spec", "--help"].contains(&line[0]) {
            assert_eq!(said.out, kiln().run(line).exits(0).out, "{line:?}");
        }
        let said = kiln().with("LANG", "C").with("LC_ALL", "C").with("HOME", "/nonexistent").run(line).exits(0);
        assert!(said.out.is_ascii() || line.contains(&"schema"), "{line:?}: {}", said.out);
    }
}

#[test]
fn odd_terminals_do_no_harm() {
    for (variable, value) in
        [("COLUMNS", "1"), ("COLUMNS", "0"), ("COLUMNS", "x"), ("COLUMNS", "99999999999"), ("TERM", "dumb")]
    {
        // Tables of numbers are drawn by the same hand as lists.
        let quick = |line: &&&[&str]| value == "1" || !["tune", "verify"].contains(&line[0]);
        for line in LINES.iter().filter(quick) {
            kiln().with(variable, value).run(line).exits(0);
        }
    }
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    for line in LINES {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let said = kiln().stdout(writer).run(line).exits(0);
        assert_eq!(said.err, "", "{line:?}");
        // Nobody hears of an error either; the status is still right.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        kiln().stderr(writer).run(&["show", "nothing"]).exits(2);
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped 1: there is no /dev/full");
        return;
    };
    let said = kiln().stdout(full).run(&["list"]).exits(1);
    assert!(said.err.contains("standard output cannot be written"), "{}", said.err);
}

#[test]
fn arguments_need_not_be_text() {
    let odd = OsStr::from_bytes(b"limb64\xff\xfe.mul_add");
    for command in ["tune", "list", "verify", "explain", "show"] {
        let said = kiln().run(&[OsStr::new(command), odd]).exits(2);
        assert_eq!(said.out, "");
        assert!(!said.err.is_empty(), "{command}");
    }
    kiln().run(&[odd]).refuses(&[]);
    // Paths may be anything.
    for flag in [&["list", "--specs"][..], &["spec", "check"]] {
        let mut line: Vec<&OsStr> = flag.iter().map(OsStr::new).collect();
        line.push(odd);
        kiln().run(&line).refuses(&["limb64\\xff\\xfe.mul_add"]);
    }
    kiln().with("KILN_SPECS", odd).run(&["list"]).refuses(&["limb64\\xff\\xfe.mul_add"]);
    for word in ["", "\n", "limb64.mul_add\n", "\u{1b}[31m", &"*".repeat(5000), "é", "[", "\\", "%n%s"] {
        for command in ["list", "show"] {
            let said = kiln().run(&[command, word]);
            assert!(said.status == 2 || (command == "list" && word.starts_with('*')), "{command} {word:?}");
        }
    }
}

/// The hidden command is a child of `tune`: by hand it must not do harm either.
#[test]
fn the_childs_command_alone_asks_and_ends() {
    let said = kiln().run(&["check-in-child", "--cases", "1", "--seed", "1"]).exits(0);
    assert_eq!(said.out.trim(), "kiln-ready");
    assert!(forms::kernel("limb64.mul_add").variants.len() > 10);
}
