//! Is each document what other tools rely on: these keys and no others, of these types, with these words, alone on standard
//! output? Does the schema of specs hold for the shipped ones?

use std::collections::BTreeSet;
use std::fs;

use kiln_codegen::isa::feature::Feature;
use kiln_tests::cli::{Folder, Kiln, rows, shipped_specs, text, words};
use kiln_tests::mutants::Mutant;
use serde_json::{Map, Value};

const ORIGINS: &[&str] = &["portable", "compiled", "machine"];
const REASONS: &[&str] = &["fastest", "tie", "forced", "remembered", "budget", "static", "only"];
const STATES: &[&str] = &["won", "tied", "lost", "dropped", "unmeasured", "ineligible", "quarantined", "denied"];

/// What stands at a key.
enum Is {
    /// Any text.
    Text,
    /// Text, or nothing.
    TextOrNull,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Exactly this.
    Just(&'static str),
    /// A whole number that is not negative.
    Whole,
    /// A whole number, or nothing.
    WholeOrNull,
    /// A number that is not negative.
    Number,
    /// A number that is not negative, or nothing.
    NumberOrNull,
    /// A fraction, or nothing.
    MarginOrNull,
    /// True or false.
    Truth,
    /// A table.
    Table(Keys),
    /// A table, or nothing.
    TableOrNull(Keys),
    /// A list of tables.
    Rows(Keys),
    /// A list, each of whose items is this.
    List(&'static Is),
}

/// The keys of a table. One that ends in `?` may be absent.
type Keys = &'static [(&'static str, Is)];

/// Every way in which a value is not what it should be.
fn differences(place: &str, value: &Value, is: &Is, found: &mut Vec<String>) {
    let right = match is {
        Is::Text => value.is_string(),
        Is::TextOrNull => value.is_string() || value.is_null(),
        Is::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Is::Just(word) => value == word,
        Is::Whole => value.is_u64(),
        Is::WholeOrNull => value.is_u64() || value.is_null(),
        Is::Number => value.as_f64().is_some_and(|number| number >= 0.0),
        Is::NumberOrNull => value.is_null() || value.as_f64().is_some_and(|number| number >= 0.0),
        Is::MarginOrNull => value.is_number() || value.is_null(),
        Is::Truth => value.is_boolean(),
        Is::TableOrNull(_) if value.is_null() => true,
        Is::Table(keys) | Is::TableOrNull(keys) => match value {
            Value::Object(table) => return table_differences(place, table, keys, found),
            _ => false,
        },
        Is::Rows(keys) => match value {
            Value::Array(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    differences(&format!("{place}[{index}]"), row, &Is::Table(keys), found);
                }
                true
            }
            _ => false,
        },
        Is::List(item) => match value {
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    differences(&format!("{place}[{index}]"), value, item, found);
                }
                true
            }
            _ => false,
        },
    };
    if !right {
        found.push(format!("{place} is {value}"));
    }
}

fn table_differences(place: &str, table: &Map<String, Value>, keys: Keys, found: &mut Vec<String>) {
    let mut known = BTreeSet::new();
    for (key, is) in keys {
        let name = key.trim_end_matches('?');
        known.insert(name);
        match table.get(name) {
            Some(value) => differences(&format!("{place}.{name}"), value, is, found),
            None if name != *key => {}
            None => found.push(format!("{place} lacks {name}")),
        }
    }
    found.extend(table.keys().filter(|key| !known.contains(key.as_str())).map(|key| format!("{place} has {key} too")));
}

fn kiln() -> Kiln {
    Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test"))
}

/// Runs a command line with `--json`; the document must be as it should.
fn documented(kiln: impl Fn() -> Kiln, line: &[&str], status: i32, schema: &str, keys: Keys) -> Value {
    let line: Vec<&str> = line.iter().copied().chain(["--json"]).collect();
    let said = kiln().run(&line).exits(status);
    assert!(said.out.ends_with("}\n"), "a document ends with its line");
    let document = said.json(schema);
    let mut found = Vec::new();
    differences(schema, &document, &Is::Table(keys), &mut found);
    assert!(found.is_empty(), "{line:?}:\n{}", found.join("\n"));
    document
}

const IDENTITY: Keys = &[
    ("vendor", Is::Text),
    ("brand", Is::Text),
    ("family", Is::Whole),
    ("model", Is::Whole),
    ("stepping", Is::Whole),
    ("microcode", Is::TextOrNull),
    ("hypervisor", Is::Truth),
    ("fingerprint", Is::Text),
];

const LEFT_OUT: Keys = &[("variant", Is::Text), ("why", Is::Text)];

const CASES: Keys = &[
    ("kernel", Is::Text),
    ("case", Is::Text),
    ("chosen", Is::Text),
    ("per", Is::Word(&["limb", "block", "call"])),
    ("origin", Is::Word(ORIGINS)),
    ("reason", Is::Word(REASONS)),
    ("margin", Is::MarginOrNull),
    ("p_value", Is::NumberOrNull),
    ("near?", Is::Text),
    ("notes?", Is::List(&Is::Text)),
    (
        "candidates",
        Is::Rows(&[
            ("variant", Is::Text),
            ("state", Is::Word(STATES)),
            ("why", Is::TextOrNull),
            ("ticks", Is::NumberOrNull),
            ("spread", Is::NumberOrNull),
            ("rounds", Is::Whole),
        ]),
    ),
];

const TUNE: Keys = &[
    ("schema", Is::Just("kiln.tune/1")),
    ("cpu", Is::Table(IDENTITY)),
    ("unit", Is::Word(&["ticks", "ns"])),
    ("elapsed_ms", Is::Number),
    ("cpu_ms", Is::Number),
    ("kernels", Is::Rows(CASES)),
    ("left_out?", Is::Rows(LEFT_OUT)),
];

/// What holds of every decision, whatever it is.
fn decided(document: &Value) {
    let cases = rows(document, "kernels");
    let classes: BTreeSet<(&str, &str)> = cases.iter().map(|case| (text(case, "kernel"), text(case, "case"))).collect();
    assert_eq!(classes.len(), cases.len(), "each class once");
    for case in cases {
        let candidates = rows(case, "candidates");
        let names: BTreeSet<&str> = candidates.iter().map(|row| text(row, "variant")).collect();
        assert_eq!(names.len(), candidates.len(), "each candidate once: {case}");
        let won: Vec<&str> =
            candidates.iter().filter(|row| row["state"] == "won").map(|row| text(row, "variant")).collect();
        assert_eq!(won, [text(case, "chosen")], "{case}");
        for name in &names {
            assert_eq!(name.split_once('/').map(|(kernel, _)| kernel), case["kernel"].as_str());
        }
        for row in candidates {
            let timed = ["won", "tied", "lost", "dropped"].contains(&text(row, "state"));
            assert!(timed || (row["ticks"].is_null() && row["rounds"] == 0), "{row}");
            assert!(timed || row["why"].is_string(), "who was not timed has a reason: {row}");
        }
        // The smaller code that a tie goes to may have been the slower.
        if let Some(margin) = case["margin"].as_f64() {
            assert!(margin >= 0.0 || case["reason"] == "tie", "{case}");
        }
        if let Some(p) = case["p_value"].as_f64() {
            assert!(p <= 1.0, "{case}");
        }
    }
}

/// Tunes kernels with size classes and one without; all of them would take minutes.
const LINE: &[&str] = &["tune", "limb64.mul_add", "limb32.mul_add", "limb64.reciprocal"];

#[test]
fn tune() {
    let document = documented(kiln, LINE, 0, "kiln.tune/1", TUNE);
    decided(&document);
    let cases = rows(&document, "kernels");
    // A kernel without a count has one class.
    let classes = |kernel: &&str| kiln_tests::forms::kernel(kernel).sizes.len().max(1);
    assert_eq!(cases.len(), LINE[1..].iter().map(classes).sum::<usize>());
    for case in cases {
        assert!(["fastest", "tie"].contains(&text(case, "reason")), "everyone raced: {case}");
        let chosen = rows(case, "candidates").iter().find(|row| row["state"] == "won").expect("a winner");
        assert!(chosen["ticks"].is_f64() && chosen["rounds"].as_u64() > Some(5), "{chosen}");
    }
    assert!(document["elapsed_ms"].as_f64() > Some(0.0) && document["cpu_ms"].as_f64() > Some(0.0));
}

#[test]
fn tune_under_every_override() {
    for (variable, value) in [
        ("KILN_FORCE", "limb64.mul_add=mul.u4,limb32.mul_add=no.such"),
        ("KILN_DENY", "*/mul*"),
        ("KILN_FEATURES", "-mmx,-adx"),
        ("KILN_MACHINE_CODE", "off"),
        ("KILN_TUNE", "off"),
        ("KILN_TUNE", "static"),
        ("KILN_BUDGET_MS", "0"),
        ("KILN_BUDGET_MS", "3"),
        ("KILN_TEST_MUTANTS", "lost_carry,crash"),
    ] {
        decided(&documented(|| kiln().with(variable, value), LINE, 0, "kiln.tune/1", TUNE));
    }
}

#[test]
fn list() {
    const LIST: Keys = &[
        ("schema", Is::Just("kiln.list/1")),
        (
            "kernels",
            Is::Rows(&[
                ("kernel", Is::Text),
                ("math", Is::Text),
                ("spec", Is::Text),
                ("sizes", Is::List(&Is::Whole)),
                (
                    "variants",
                    Is::Rows(&[
                        ("variant", Is::Text),
                        ("strategy", Is::Text),
                        ("origin", Is::Word(ORIGINS)),
                        ("features", Is::List(&Is::Text)),
                        ("instructions", Is::Whole),
                        ("exact", Is::WholeOrNull),
                        ("startup", Is::Truth),
                        ("eligible", Is::Truth),
                        ("why", Is::TextOrNull),
                    ]),
                ),
                ("left_out?", Is::Rows(LEFT_OUT)),
            ]),
        ),
    ];
    for (variable, value) in [("KILN_TUNE", "race"), ("KILN_FEATURES", "-bmi2"), ("KILN_DENY", "*")] {
        let document = documented(|| kiln().with(variable, value), &["list"], 0, "kiln.list/1", LIST);
        let kernels = rows(&document, "kernels");
        assert_eq!(kernels.len(), kiln_kernels::kernels().count());
        for row in kernels.iter().flat_map(|kernel| rows(kernel, "variants")) {
            assert_eq!(row["eligible"] == true, row["why"].is_null(), "{row}");
            for feature in rows(row, "features") {
                assert!(feature.as_str().and_then(Feature::from_name).is_some(), "{row}");
            }
        }
    }
}

const FAILED: Keys = &[
    ("what", Is::Text),
    ("seed?", Is::Text),
    ("n?", Is::Whole),
    ("aliasing?", Is::Text),
    ("placement?", Is::Text),
    ("operands?", Is::List(&Is::List(&Is::Text))),
    ("expected?", Is::Text),
    ("got?", Is::Text),
];

const VERIFY: Keys = &[
    ("schema", Is::Just("kiln.verify/1")),
    ("seed", Is::Whole),
    (
        "kernels",
        Is::Rows(&[
            ("kernel", Is::Text),
            ("variant", Is::Text),
            ("backend", Is::Word(&["portable", "compiled", "machine", "interpreter", "interpreter_allocated"])),
            ("cases", Is::Whole),
            ("failed", Is::Whole),
            ("failures", Is::Rows(FAILED)),
        ]),
    ),
    ("not_run", Is::Rows(LEFT_OUT)),
];

#[test]
fn verify() {
    let line = ["verify", "limb64.mul_add", "--cases", "0", "--seed", "0x10"];
    let document = documented(kiln, &line, 0, "kiln.verify/1", VERIFY);
    assert_eq!(document["seed"], 16);
    for row in rows(&document, "kernels") {
        assert!(row["cases"].as_u64() > Some(0), "{row}");
        assert_eq!((&row["failed"], rows(row, "failures").len()), (&0.into(), 0));
    }
    // The same seed, the same checks.
    assert_eq!(kiln().run(&[&line[..], &["--json"]].concat()).json("kiln.verify/1"), document);
}

#[test]
fn verify_with_failures() {
    let faulty = || kiln().with("KILN_TEST_MUTANTS", "past_the_end,lost_carry,crash");
    let line = ["verify", "limb64.mul_add", "--cases", "1", "--seed", "7"];
    let document = documented(faulty, &line, 1, "kiln.verify/1", VERIFY);
    let row = |mutant: Mutant| {
        let name = mutant.name();
        rows(&document, "kernels").iter().find(|row| row["variant"] == name.as_str()).expect("a row")
    };
    let failure = &rows(row(Mutant::LostCarry), "failures")[0];
    for key in ["seed", "n", "aliasing", "placement", "operands", "expected", "got"] {
        assert!(failure.get(key).is_some(), "what it takes to see it again: {key} in {failure}");
    }
    let names: Vec<&str> = rows(failure, "operands").iter().map(|pair| pair[0].as_str().expect("a name")).collect();
    assert_eq!(names, ["r", "a", "n", "w"]);
    let failures = rows(row(Mutant::Crash), "failures");
    assert_eq!(failures, [serde_json::json!({"what": "crashed with SIGSEGV"})]);
}

const OVERRIDES: Keys = &[("variable", Is::Text), ("what", Is::Text)];
const BUNDLES: Keys = &[
    ("primitive", Is::Word(&["aes128", "aes192", "aes256"])),
    ("chosen", Is::Word(&["instructions", "sliced"])),
    ("reason", Is::Text),
    ("times", Is::Rows(&[("bundle", Is::Text), ("ns", Is::Whole)])),
];
const MACHINE_CODE: Keys = &[("available", Is::Truth), ("why", Is::TextOrNull)];

#[test]
fn explain() {
    const EXPLAIN: Keys = &[
        ("schema", Is::Just("kiln.explain/1")),
        ("cpu", Is::Table(IDENTITY)),
        ("cpu_file", Is::TextOrNull),
        ("unit", Is::Word(&["ticks", "ns"])),
        ("budget_ms", Is::Number),
        ("machine_code", Is::Table(MACHINE_CODE)),
        ("overrides", Is::Rows(OVERRIDES)),
        ("ignored", Is::Rows(OVERRIDES)),
        ("kernels", Is::Rows(CASES)),
        ("bundles?", Is::Rows(BUNDLES)),
    ];
    decided(&documented(kiln, &["explain"], 0, "kiln.explain/1", EXPLAIN));
    let overridden = || kiln().with("KILN_FORCE", "limb64.mul_add=mul.u4,no=thing").with("KILN_BUDGET_MS", "7");
    let document = documented(overridden, &["explain"], 0, "kiln.explain/1", EXPLAIN);
    decided(&document);
    assert_eq!(rows(&document, "bundles").len(), 3, "one for each size of the key");
    assert_eq!(document["budget_ms"], 7.0);
    let of = |key| rows(&document, key).iter().map(|row| text(row, "variable")).collect::<Vec<_>>();
    assert_eq!(of("overrides"), ["KILN_FORCE", "KILN_FORCE", "KILN_BUDGET_MS"]);
    assert_eq!(of("ignored"), ["KILN_FORCE"]);
    let broken = || kiln().with("KILN_TUNE", "fast");
    decided(&documented(broken, &["explain"], 2, "kiln.explain/1", EXPLAIN));
}

#[test]
fn cpu() {
    const CPU: Keys = &[
        ("schema", Is::Just("kiln.cpu/1")),
        ("cpu", Is::Table(IDENTITY)),
        ("features", Is::List(&Is::Text)),
        ("hidden", Is::Rows(&[("feature", Is::Text), ("why", Is::Text)])),
        ("errata", Is::Rows(&[("name", Is::Text), ("what", Is::Text), ("features", Is::List(&Is::Text))])),
        ("absent", Is::List(&Is::Text)),
        ("cpu_file", Is::TableOrNull(&[("name", Is::Text), ("file", Is::Text)])),
        (
            "timer",
            Is::Table(&[
                ("kind", Is::Text),
                ("unit", Is::Word(&["ticks", "ns"])),
                ("step", Is::Whole),
                ("per_microsecond", Is::Whole),
            ]),
        ),
        ("machine_code", Is::Table(MACHINE_CODE)),
    ];
    for value in ["-avx512f", "-sse2", "-adx,-bmi2,-avx2"] {
        let document = documented(|| kiln().with("KILN_FEATURES", value), &["cpu"], 0, "kiln.cpu/1", CPU);
        // Each feature of the table is in exactly one place.
        let mut all: Vec<&str> = rows(&document, "hidden").iter().map(|row| text(row, "feature")).collect();
        for list in ["features", "absent"] {
            all.extend(rows(&document, list).iter().filter_map(Value::as_str));
        }
        all.sort_unstable();
        let mut known: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
        known.sort_unstable();
        assert_eq!(all, known);
    }
}

const CHECKED: Keys = &[
    ("schema", Is::Just("kiln.spec_check/1")),
    ("files", Is::Rows(&[("file", Is::Text), ("kernel?", Is::Text), ("cpu?", Is::Text), ("variants?", Is::Whole)])),
    ("problems", Is::Rows(&[("file", Is::Text), ("line", Is::Whole), ("column", Is::Whole), ("message", Is::Text)])),
];

#[test]
fn spec_check() {
    let folder = shipped_specs();
    let path = folder.to_str().expect("text");
    let document = documented(kiln, &["spec", "check", path], 0, "kiln.spec_check/1", CHECKED);
    let files = rows(&document, "files");
    // A cipher's file has a row for each size of its key.
    assert_eq!(files.len(), kiln_kernels::kernels().count() + kiln_kernels::cpus().count());
    for file in files {
        assert_ne!(file.get("kernel").is_some(), file.get("cpu").is_some(), "{file}");
        assert_eq!(file.get("kernel").is_some(), file["variants"].as_u64() > Some(0), "{file}");
    }
    assert!(rows(&document, "problems").is_empty());
}

#[test]
fn spec_check_of_a_bad_spec() {
    let folder =
        Folder::new("json-bad").with_shipped("kernels/limb64_mul_add.toml", &[("startup = [4]", "startp = [4]")]);
    let path = folder.path();
    let path = path.to_str().expect("text");
    let document = documented(kiln, &["spec", "check", path], 2, "kiln.spec_check/1", CHECKED);
    assert!(rows(&document, "files").is_empty());
    let problems = rows(&document, "problems");
    assert_eq!(problems.len(), 2, "{document}");
    for problem in problems {
        assert!(problem["line"].is_u64() && problem["column"] == 1, "{problem}");
        assert!(text(problem, "file").ends_with("kernels/limb64_mul_add.toml"));
    }
    // As text the document's place stays empty, and the problems are the lines that people read.
    let said = kiln().run(&words(&[&"spec", &"check", &path])).refuses(&["unknown key `startp`"]);
    assert_eq!(said.err.lines().count(), 2, "{}", said.err);
}

#[test]
fn the_flag_stands_anywhere() {
    let after = kiln().run(&["list", "limb64.mul_add", "--json"]).exits(0);
    after.json("kiln.list/1");
    for line in [["--json", "list", "limb64.mul_add"], ["list", "--json", "limb64.mul_add"]] {
        assert_eq!(kiln().run(&line).exits(0).out, after.out);
    }
}

#[test]
fn wrong_usage_prints_no_document() {
    for line in [&["tune", "--json", "nothing"][..], &["--json", "show", "x"], &["--json"], &["list", "--json", "--x"]]
    {
        kiln().run(line).refuses(&[]);
    }
}

/// What a value of a spec breaks in a schema: what it takes of JSON Schema, and no keyword that it does not know.
fn violations(schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let keys = schema.as_object().unwrap_or_else(|| panic!("{place}: a schema is a table: {schema}"));
    for (key, rule) in keys {
        let holds = match key.as_str() {
            "title" | "description" | "$schema" | "examples" | "default" | "format" => true,
            name if name.starts_with("x-") => true,
            "type" => match rule.as_str() {
                Some("object") => value.is_object(),
                Some("array") => value.is_array(),
                Some("string") => value.is_string(),
                Some("integer") => value.is_i64() || value.is_u64(),
                Some("number") => value.is_number(),
                Some("boolean") => value.is_boolean(),
                other => panic!("{place}: type {other:?}"),
            },
            "enum" => rule.as_array().expect("words").contains(value),
            "const" => rule == value,
            "minimum" => value.as_f64() >= rule.as_f64(),
            "maximum" => value.as_f64() <= rule.as_f64(),
            "exclusiveMinimum" => value.as_f64() > rule.as_f64(),
            "minLength" => value.as_str().is_some_and(|text| text.chars().count() as u64 >= rule.as_u64().unwrap()),
            "minItems" => value.as_array().is_some_and(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_some_and(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "uniqueItems" => value
                .as_array()
                .is_some_and(|items| (0..items.len()).all(|index| !items[..index].contains(&items[index]))),
            "required" => {
                rule.as_array().expect("names").iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "properties" => {
                for (name, schema) in rule.as_object().expect("a table") {
                    if let Some(value) = value.get(name) {
                        violations(schema, value, &format!("{place}.{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = keys.get("properties").and_then(Value::as_object);
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    match rule {
                        Value::Bool(false) => found.push(format!("{place} may not have {name}")),
                        Value::Bool(true) => {}
                        schema => violations(schema, value, &format!("{place}.{name}"), found),
                    }
                }
                true
            }
            "propertyNames" => {
                for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                    violations(rule, &name.as_str().into(), &format!("{place}: the key {name}"), found);
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    if rule != &Value::Bool(false) {
                        violations(rule, item, &format!("{place}[{index}]"), found);
                    }
                }
                true
            }
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten().zip(rule.as_array().expect("schemas"));
                for (index, (item, schema)) in items.enumerate() {
                    violations(schema, item, &format!("{place}[{index}]"), found);
                }
                true
            }
            "oneOf" | "anyOf" => {
                let fits = |schema: &&Value| {
                    let mut found = Vec::new();
                    violations(schema, value, place, &mut found);
                    found.is_empty()
                };
                let fitting = rule.as_array().expect("schemas").iter().filter(fits).count();
                fitting == 1 || (fitting > 1 && key == "anyOf")
            }
            "pattern" => {
                // A name, behind one of some stems where there are any: `^(aes\.|aes128\.)[a-z][a-z0-9_]*$`.
                let rule = rule.as_str().expect("a pattern");
                let stems = rule.strip_prefix('^').and_then(|rule| rule.strip_suffix("[a-z][a-z0-9_]*$"));
                let stems = stems.expect("this test knows patterns of names").replace("\\.", ".");
                let stems = stems.trim_start_matches('(').trim_end_matches(')');
                let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                let name = |text: &str| text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(rest);
                let behind = |text: &str| stems.split('|').any(|stem| text.strip_prefix(stem).is_some_and(name));
                value.as_str().is_some_and(behind)
            }
            other => panic!("{place}: this test does not know the keyword {other}"),
        };
        if !holds {
            found.push(format!("{place}: {key} {rule} does not hold for {value}"));
        }
    }
}

#[test]
fn spec_schema_is_a_json_schema_of_the_shipped_specs() {
    let printed = kiln().run(&["spec", "schema"]).exits(0);
    let with_flag = kiln().run(&["spec", "schema", "--json"]).exits(0);
    assert_eq!(printed.out, with_flag.out);
    let schema: Value = serde_json::from_str(&printed.out).expect("one document");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let [kernel, cpu] = rows(&schema, "oneOf") else { panic!("two kinds of files") };
    let broken = |schema: &Value, value: &Value| {
        let mut found = Vec::new();
        violations(schema, value, "", &mut found);
        found
    };
    let mut checked = 0;
    for (folder, schema, other) in [("kernels", kernel, cpu), ("cpus", cpu, kernel)] {
        for entry in fs::read_dir(shipped_specs().join(folder)).expect("the shipped specs") {
            let path = entry.expect("an entry").path();
            let value: Value = toml::from_str(&fs::read_to_string(&path).expect("text")).expect("TOML");
            assert_eq!(broken(schema, &value), Vec::<String>::new(), "{}", path.display());
            assert_ne!(broken(other, &value), Vec::<String>::new(), "{} is of one kind", path.display());
            let mut wrong = value.clone();
            wrong["unrol"] = 4.into();
            assert_eq!(broken(schema, &wrong), [" may not have unrol"], "{}", path.display());
            checked += 1;
        }
    }
    assert_eq!(checked, kiln_kernels::specs().count() + kiln_kernels::cpus().count());
}
