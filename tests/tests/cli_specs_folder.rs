//! Does a folder of specs add its variants to the shipped ones, replace what it changes, and is it refused at its place when
//! it is wrong?

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use kiln_tests::cli::{Folder, Kiln, Said, rows, text, words};
use kiln_tests::forms;
use serde_json::Value;

const KERNEL: &str = "limb64.mul_add";

fn kiln() -> Kiln {
    Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test"))
}

/// Runs a command line with `--specs` of this folder.
fn with_folder(folder: &Folder, arguments: &[&str]) -> Said {
    let mut line = words(&[]);
    line.extend(arguments.iter().map(Into::into));
    line.extend(words(&[&"--specs", &folder.path()]));
    kiln().run(&line)
}

/// The variants that the folder of `with_more_variants` adds: each kind among them.
fn new_variants(folder: &Folder) -> BTreeSet<String> {
    let new = folder.new_variants();
    for part in ["/mul.u3", "/mul.u5.s_mine", "/mul.exact4.s_mine", "/mulx.exact6", "/mulx_adx.u12", ".live"] {
        assert!(new.iter().any(|name| name.contains(part)), "no {part} in {new:?}");
    }
    assert!(new.iter().all(|name| name.starts_with(KERNEL)));
    new
}

/// Variant to its row.
fn by_name<'a>(rows: &'a [Value], key: &str) -> BTreeMap<&'a str, &'a Value> {
    let map: BTreeMap<&str, &Value> = rows.iter().map(|row| (text(row, key), row)).collect();
    assert_eq!(map.len(), rows.len(), "each name once");
    map
}

fn shipped() -> BTreeSet<&'static str> {
    forms::kernel(KERNEL).variants.iter().map(|variant| variant.name).collect()
}

#[test]
fn list_shows_them_beside_the_shipped_ones() {
    let folder = Folder::with_more_variants("specs-list");
    let said = with_folder(&folder, &["list", KERNEL, "--json"]).exits(0);
    assert_eq!(said.err, "");
    let document = said.json("kiln.list/1");
    let kernel = &rows(&document, "kernels")[0];
    assert!(text(kernel, "spec").ends_with("kernels/limb64_mul_add.toml"));
    let variants = by_name(rows(kernel, "variants"), "variant");
    let machine: BTreeSet<String> =
        variants.iter().filter(|(_, row)| row["origin"] == "machine").map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(machine, new_variants(&folder));
    for name in shipped() {
        let row = variants.get(name).unwrap_or_else(|| panic!("{name} is still there"));
        assert_ne!(row["origin"], "machine", "{name}: twins never race each other");
    }
    assert_eq!(variants["limb64.mul_add/mulx.exact6"]["exact"], 6);
    assert!(kernel.get("left_out").is_none(), "{kernel}");
    // `unroll` of the portable strategy is as it was, so nothing portable is left out; a new one is.
    let portable = [("unroll = [1, 2, 4, 8]", "unroll = [1, 2, 3, 4, 8]")];
    let folder = Folder::new("specs-portable").with_shipped("kernels/limb64_mul_add.toml", &portable);
    let document = with_folder(&folder, &["list", KERNEL, "--json"]).exits(0).json("kiln.list/1");
    let left_out = rows(&rows(&document, "kernels")[0], "left_out");
    assert_eq!(left_out.len(), 1);
    assert_eq!(left_out[0]["variant"], "limb64.mul_add/portable.u3");
    assert!(text(&left_out[0], "why").contains("portable"));
}

#[test]
fn tune_races_them_with_the_shipped_ones() {
    let folder = Folder::with_more_variants("specs-tune");
    let said = with_folder(&folder, &["tune", KERNEL, "--json"]).exits(0);
    assert_eq!(said.err, "");
    let document = said.json("kiln.tune/1");
    assert!(document.get("left_out").is_none());
    let all: BTreeSet<String> = shipped().into_iter().map(str::to_owned).chain(new_variants(&folder)).collect();
    for case in rows(&document, "kernels") {
        let candidates = by_name(rows(case, "candidates"), "variant");
        assert!(candidates.keys().copied().eq(all.iter().map(String::as_str)), "{}", case["case"]);
        for (name, row) in candidates {
            match text(row, "state") {
                "ineligible" => assert!(row["why"].is_string(), "{row}"),
                "won" | "tied" | "lost" | "dropped" => assert!(row["ticks"].is_f64(), "{row}"),
                other => panic!("{name} is {other}: {row}"),
            }
        }
        let machine = new_variants(&folder).contains(text(case, "chosen"));
        assert_eq!(case["origin"] == "machine", machine, "{case}");
    }
}

#[test]
fn one_of_them_can_be_forced() {
    let folder = Folder::with_more_variants("specs-force");
    let line = words(&[&"tune", &KERNEL, &"--json", &"--specs", &folder.path()]);
    let document = kiln().with("KILN_FORCE", "limb64.mul_add=mul.u5.s_mine").run(&line).exits(0).json("kiln.tune/1");
    for case in rows(&document, "kernels") {
        assert_eq!(text(case, "chosen"), "limb64.mul_add/mul.u5.s_mine");
        assert_eq!((text(case, "origin"), text(case, "reason")), ("machine", "forced"));
    }
}

#[test]
fn verify_checks_them() {
    let folder = Folder::with_more_variants("specs-verify");
    let said = with_folder(&folder, &["verify", KERNEL, "--json", "--cases", "0", "--seed", "3"]).exits(0);
    let document = said.json("kiln.verify/1");
    let backend = |name: &str, backend: &str| {
        let found = rows(&document, "kernels").iter().find(|row| row["variant"] == name && row["backend"] == backend);
        found.is_some_and(|row| row["cases"].as_u64() >= Some(10) && row["failed"] == 0)
    };
    let not_run = by_name(rows(&document, "not_run"), "variant");
    for name in new_variants(&folder) {
        assert!(backend(&name, "machine") || not_run.contains_key(name.as_str()), "{name} natively");
        assert!(backend(&name, "interpreter") && backend(&name, "interpreter_allocated"), "{name} interpreted");
    }
    assert!(backend("limb64.mul_add/mul.u5.s_mine", "machine"), "every x86-64 can run it");
}

#[test]
fn show_shows_them() {
    let folder = Folder::with_more_variants("specs-show");
    let instructions = |name: &str| -> Vec<String> {
        let name = format!("{KERNEL}/{name}");
        let said = with_folder(&folder, &["show", &name, "--as", "bytes", "--json"]).exits(0);
        let document = said.json("kiln.show/1");
        assert_eq!(document["variant"], name.as_str());
        rows(&document, "lines").iter().map(|line| text(line, "text").to_owned()).collect()
    };
    let (generic, mine) = (instructions("mul.u12"), instructions("mul.u12.s_mine"));
    assert_ne!(generic, mine, "another CPU, another order");
    let count = |listing: &[String], word: &str| listing.iter().filter(|line| line.starts_with(word)).count();
    assert_eq!(count(&generic, "mul "), count(&mine, "mul "));
    // What the specs that are in force ask for is also shown when they are in force by the variable.
    let said = kiln().with("KILN_SPECS", folder.path()).run(&["show", "limb64.mul_add/mul.u12.s_mine"]).exits(0);
    assert!(said.out.contains("mul.u12.s_mine"));
    kiln().run(&["show", "limb64.mul_add/mul.u12.s_mine"]).refuses(&["there is no variant"]);
}

#[test]
fn the_variable_does_the_same_and_the_flag_goes_before_it() {
    let folder = Folder::with_more_variants("specs-variable");
    let has = |said: Said, name: &str| {
        let document = said.exits(0).json("kiln.list/1");
        by_name(rows(&rows(&document, "kernels")[0], "variants"), "variant").contains_key(name)
    };
    let list = ["list", KERNEL, "--json"];
    let by_flag = with_folder(&folder, &list).exits(0).out;
    assert_eq!(kiln().with("KILN_SPECS", folder.path()).run(&list).exits(0).out, by_flag);
    assert!(!has(kiln().run(&list), "limb64.mul_add/mul.u3"));

    let seven = [("unroll = [1, 2, 4, 8, 16]", "unroll = [4, 7, 8]")];
    let other = Folder::new("specs-flag").with_shipped("kernels/limb64_mul_add.toml", &seven);
    let mut line = words(&[]);
    line.extend(list.iter().map(Into::into));
    line.extend(words(&[&"--specs", &other.path()]));
    let both = || kiln().with("KILN_SPECS", folder.path()).run(&line);
    assert!(has(both(), "limb64.mul_add/mul.u7"));
    assert!(!has(both(), "limb64.mul_add/mul.u3"));
    // An empty variable is no folder.
    assert!(!has(kiln().with("KILN_SPECS", "").run(&list), "limb64.mul_add/mul.u3"));
}

#[test]
fn a_broken_spec_is_refused_with_every_place() {
    let changes = [("unroll = [1, 2, 4, 8, 16]", "unroll = [1, 0, 4]"), ("startup = [4]", "startp = [4]")];
    let folder = Folder::new("specs-broken")
        .with_shipped("kernels/limb64_mul_add.toml", &changes)
        .with_file("cpus/mine.toml", "[cost]\nload = [4]\n");
    let file = folder.path().join("kernels/limb64_mul_add.toml");
    let place = |line: &str, within: &str| {
        let text = std::fs::read_to_string(&file).unwrap();
        let (number, found) = text.lines().enumerate().find(|(_, text)| text.contains(line)).expect("the line");
        format!("kernels/limb64_mul_add.toml:{}:{}: ", number + 1, found.find(within).expect("the place") + 1)
    };
    let unroll = format!("{}unroll must be between 1 and 64, got 0", place("unroll = [1, 0, 4]", "0"));
    let startup = format!("{}unknown key `startp`", place("startp = [4]", "startp"));
    for command in [&["list"][..], &["tune"], &["verify"], &["explain"], &["cpu"], &["show", "limb64.mul_add/mul.u4"]] {
        let said = with_folder(&folder, command).refuses(&[&unroll, &startup, "did you mean `startup`?"]);
        assert!(said.err.contains("cpus/mine.toml:2:8: "), "{}", said.err);
    }
    with_folder(&folder, &["tune", "--json"]).refuses(&[&unroll]);
    kiln().with("KILN_SPECS", folder.path()).run(&["tune"]).refuses(&[&unroll]);
}

#[test]
fn changed_size_classes_take_effect() {
    let sizes = [("sizes   = [4, 8, 16, 32, 64, 128]", "sizes = [6, 48]"), ("[4, 8, 16, 32]", "[4, 6, 8, 16, 32]")];
    let folder = Folder::new("specs-sizes").with_shipped("kernels/limb64_mul_add.toml", &sizes);
    let document = with_folder(&folder, &["list", KERNEL, "--json"]).exits(0).json("kiln.list/1");
    assert_eq!(rows(&document, "kernels")[0]["sizes"], serde_json::json!([6, 48]));
    let document = with_folder(&folder, &["tune", KERNEL, "--json", "--budget", "100"]).exits(0).json("kiln.tune/1");
    let cases = rows(&document, "kernels");
    assert_eq!(cases.iter().map(|case| text(case, "case")).collect::<Vec<_>>(), ["n=6", "n=48"]);
    let at_6 = by_name(rows(&cases[0], "candidates"), "variant");
    assert_ne!(at_6["limb64.mul_add/mul.exact6"]["state"], "ineligible");
    assert_eq!(at_6["limb64.mul_add/mul.exact4"]["state"], "ineligible");
    let document = with_folder(&folder, &["explain", KERNEL, "--json"]).exits(0).json("kiln.explain/1");
    let cases = rows(&document, "kernels");
    // Not in a library: its callers hold the compiled kernel.
    assert_eq!(cases.len(), 6);
    assert_eq!(text(&cases[0], "case"), "n=4");
    let ignored = text(&rows(&document, "ignored")[0], "what");
    assert!(ignored.starts_with("size classes 6, 48 of limb64.mul_add: a library keeps"), "{ignored}");
}

#[test]
fn another_contract_is_refused_at_its_place() {
    let other = "the arguments of limb64.mul_add differ from those that this program was built with";
    let changes: [(&str, &str, &str, &str); 4] = [
        ("max = 65536", "max = 1024", other, "n"),
        ("may_equal = [\"r\"]", "#", other, "a"),
        ("limb = true                            # one limb by value\nsecret = true", "limb = true", other, "w"),
        ("name = \"w\"", "name = \"b\"", "the arguments of limb64.mul_add are, in this order: ", "b"),
    ];
    for (index, (from, to, message, argument)) in changes.into_iter().enumerate() {
        let test = format!("specs-contract-{index}");
        let folder = Folder::new(&test).with_shipped("kernels/limb64_mul_add.toml", &[(from, to)]);
        let text = std::fs::read_to_string(folder.path().join("kernels/limb64_mul_add.toml")).expect("written");
        let wrong = format!("name = \"{argument}\"");
        let line = text.lines().position(|line| line == wrong).expect("the argument") + 1;
        for command in [&["list"][..], &["tune"], &["verify"], &["explain"]] {
            let said = with_folder(&folder, command).refuses(&[message]);
            let first = said.err.lines().next().expect("a line");
            let place = format!("kernels/limb64_mul_add.toml:{line}:8: ");
            assert!(first.contains(&place), "no {place} in {first}");
            assert_eq!(said.err.lines().count(), 1, "said once: {}", said.err);
        }
    }
}

#[test]
fn an_empty_or_missing_folder_is_refused() {
    let folder = Folder::new("specs-empty");
    for command in [&["list"][..], &["tune"], &["verify"], &["explain"], &["cpu"], &["show", "limb64.mul_add/mul.u4"]] {
        with_folder(&folder, command).refuses(&["holds no specs"]);
        let nowhere = folder.path().join("nowhere");
        let mut line = words(&[]);
        line.extend(command.iter().map(Into::into));
        line.extend(words(&[&"--specs", &nowhere]));
        let said = kiln().run(&line).refuses(&["nowhere: cannot be read"]);
        assert!(!said.err.contains("KILN_SPECS"), "{}", said.err);
        kiln().with("KILN_SPECS", &nowhere).run(command).refuses(&["nowhere: cannot be read", "KILN_SPECS"]);
    }
}

#[test]
fn a_file_in_place_of_a_folder_is_refused() {
    let folder = Folder::with_more_variants("specs-file");
    let file = folder.path().join("kernels/limb64_mul_add.toml");
    for command in [&["list"][..], &["tune"], &["verify"], &["explain"], &["cpu"]] {
        kiln().with("KILN_SPECS", &file).run(command).refuses(&["limb64_mul_add.toml", "is not a folder"]);
    }
}

/// Runs this test again in a child, with these variables.
fn again(test: &str, variables: &[(&str, &OsStr)]) {
    let output = std::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied())
        .output()
        .expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
}

#[test]
fn a_library_under_the_variable_goes_by_the_folders_preference() {
    const CHILD: &str = "KILN_TEST_PREFERENCE_CHILD";
    const PREFERRED: &str = "limb64.mul_add/mul.u2";
    if std::env::var_os(CHILD).is_some() {
        let runtime = kiln_runtime::dispatch::Runtime::global();
        runtime.slots(forms::kernel(KERNEL)).entry_for(8);
        let cases = &runtime.explain()[KERNEL];
        assert!(cases.iter().all(|case| case.chosen == PREFERRED), "{cases:?}");
        return;
    }
    // In the file that recognises this CPU, else in the generic one.
    let shipped = kiln_runtime::provide::Provider::shipped();
    let cpu = kiln_runtime::detect::native();
    let file = shipped.cpu_file(&cpu).or(shipped.specs().cpu("generic")).expect("a generic file");
    let line = |variant: &str| format!("\"{KERNEL}\" = \"{variant}\"");
    let (old, new) = (line(&file.prefer[KERNEL].value), line("mul.u2"));
    let folder = Folder::new("specs-prefer").with_shipped(&format!("cpus/{}.toml", file.name), &[(&old, &new)]);
    let path = folder.path();
    let document =
        kiln().with("KILN_SPECS", &path).with("KILN_TUNE", "static").run(&["explain", KERNEL, "--json"]).exits(0);
    let document = document.json("kiln.explain/1");
    let cases = rows(&document, "kernels");
    assert!(cases.iter().all(|case| text(case, "chosen") == PREFERRED), "{cases:?}");
    let test = "a_library_under_the_variable_goes_by_the_folders_preference";
    again(test, &[(CHILD, "1".as_ref()), ("KILN_SPECS", path.as_ref()), ("KILN_TUNE", "static".as_ref())]);
}

/// A folder whose generic CPU has other costs, so that shipped variants get other code.
fn other_costs(test: &str) -> Folder {
    let costs =
        [("load = [4, 2]", "load = [40, 0.5]"), ("carry = [1, 1]", "carry = [9, 0.5]"), ("width = 4", "width = 1")];
    Folder::new(test).with_shipped("cpus/generic.toml", &costs)
}

/// Names of the shipped variants whose code is another under these specs.
fn rescheduled(folder: &Folder) -> BTreeSet<String> {
    let changed = |name: &&&str| {
        let hash = |said: Said| said.exits(0).json("kiln.show/1")["code_hash"].clone();
        hash(with_folder(folder, &["show", name, "--json"])) != hash(kiln().run(&["show", name, "--json"]))
    };
    let names = ["mul.u4", "mul.u8", "mul.u16", "mul.exact8", "mulx.u8"].map(|name| format!("{KERNEL}/{name}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.iter().filter(changed).map(|name| (*name).to_owned()).collect()
}

#[test]
fn other_costs_replace_the_shipped_variants_that_they_change() {
    let folder = other_costs("specs-costs");
    let changed = rescheduled(&folder);
    assert!(changed.contains("limb64.mul_add/mul.u8"), "the costs change something: {changed:?}");
    let document = with_folder(&folder, &["list", KERNEL, "--json"]).exits(0).json("kiln.list/1");
    let variants = by_name(rows(&rows(&document, "kernels")[0], "variants"), "variant");
    assert!(variants.keys().copied().eq(shipped()), "the same names, each once");
    for name in &changed {
        assert_eq!(variants[name.as_str()]["origin"], "machine", "{name}");
    }
    assert_eq!(variants["limb64.mul_add/portable.u4"]["origin"], "portable");
    let line = words(&[&"tune", &KERNEL, &"--json", &"--budget", &"50", &"--specs", &folder.path()]);
    let document = kiln().with("KILN_FORCE", "limb64.mul_add=mul.u8").run(&line).exits(0).json("kiln.tune/1");
    for case in rows(&document, "kernels") {
        by_name(rows(case, "candidates"), "variant");
        assert_eq!((text(case, "chosen"), text(case, "origin")), ("limb64.mul_add/mul.u8", "machine"), "{case}");
    }
    let line = words(&[&"verify", &KERNEL, &"--json", &"--cases", &"0", &"--specs", &folder.path()]);
    let document = kiln().run(&line).exits(0).json("kiln.verify/1");
    let native: Vec<&str> = rows(&document, "kernels")
        .iter()
        .filter(|row| row["variant"] == "limb64.mul_add/mul.u8")
        .map(|row| text(row, "backend"))
        .collect();
    assert_eq!(native, ["machine", "interpreter", "interpreter_allocated"]);
}

/// What a library does under `KILN_SPECS` is what `explain` shows.
#[test]
fn a_library_under_the_variable_uses_the_replacement() {
    const CHILD: &str = "KILN_TEST_LIBRARY_CHILD";
    const TEST: &str = "a_library_under_the_variable_uses_the_replacement";
    if std::env::var_os(CHILD).is_some() {
        let kernel = forms::kernel(KERNEL);
        let runtime = kiln_runtime::dispatch::Runtime::global();
        let entry = runtime.slots(kernel).entry_for(8);
        let compiled = kernel.variants.iter().find(|variant| variant.name == "limb64.mul_add/mul.u8");
        assert_ne!(entry, compiled.expect("shipped").entry, "the compiled twin is stale");
        let cases = &runtime.explain()[KERNEL];
        assert!(
            cases.iter().all(|case| case.chosen == "limb64.mul_add/mul.u8" && case.origin == "machine"),
            "{cases:?}"
        );
        return;
    }
    let folder = other_costs("specs-library");
    again(
        TEST,
        &[
            (CHILD, "1".as_ref()),
            ("KILN_SPECS", folder.path().as_ref()),
            ("KILN_FORCE", "limb64.mul_add=mul.u8".as_ref()),
            ("KILN_BUDGET_MS", "10000".as_ref()),
        ],
    );
}
