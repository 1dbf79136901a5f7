//! Does every shipped spec parse, and does no damage to one make the parser panic or point outside the file?

use kiln_codegen::compile::compile;
use kiln_codegen::error::Problem;
use kiln_codegen::plan::plans;
use kiln_codegen::spec::{
    self, Access, ArgumentKind, BackEdge, Direction, Domain, RoundKeys, Rounds, SourceFile, Specs, Term, Vocabulary,
    XorAt,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The words of Kiln, with the shipped CPUs.
fn words() -> Vocabulary<'static> {
    kiln_codegen::vocabulary(&["generic", "westmere", "sandybridge", "haswell", "zen3"])
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs")
}

fn shipped() -> Vec<SourceFile> {
    spec::read_folder(&folder()).expect("specs/ can be read")
}

fn parsed() -> Specs {
    Specs::parse(&shipped(), &words()).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_shipped_spec_parses() {
    let specs = parsed();
    // A cipher's file is a kernel for each size of its key.
    let files: BTreeSet<&str> = specs.kernels.iter().map(|kernel| kernel.file.as_str()).collect();
    assert_eq!(files.len() + specs.cpus.len(), shipped().len());
    for kernel in &specs.kernels {
        let name = kernel.kernel.as_str();
        let known = match &kernel.cipher {
            None => words().kernels.contains(&name) || kiln_codegen::family::table::contract(name).is_some(),
            Some(cipher) => {
                let own = kernel.kernel.replacen(&cipher.key_bits.to_string(), "", 1);
                (words().is_keyed)(&own) && words().stems.iter().any(|stem| name.starts_with(stem))
            }
        };
        assert!(known, "{name}");
        assert_eq!(kernel.hash.len(), 16, "{}", kernel.file);
    }
    let listed =
        |kernel: &&kiln_codegen::spec::KernelSpec| kernel.cipher.is_none() && !kernel.kernel.starts_with("table.");
    let unkeyed = specs.kernels.iter().filter(listed).count();
    assert_eq!(unkeyed, words().kernels.len(), "each kernel of the vocabulary has a spec");
    let cpus: Vec<&str> = specs.cpus.iter().map(|cpu| cpu.name.as_str()).collect();
    for cpu in words().cpus {
        assert!(cpus.contains(cpu), "{cpu} has no file");
    }
}

/// The words of a list in a table that another parser read; none where there is no list.
fn words_of(table: &toml::Table, key: &str) -> Vec<String> {
    let list = table.get(key).map(|list| list.as_array().expect("a list").as_slice()).unwrap_or_default();
    list.iter().map(|item| item.as_str().expect("a word").to_owned()).collect()
}

/// The lists are tuned from time to time: what is compared is what stands there, read by another parser.
#[test]
fn every_kernel_is_read_as_written() {
    for kernel in &parsed().kernels {
        let raw: toml::Table = toml::from_str(&kernel.text).expect("TOML");
        let numbers = |table: &toml::Table, key: &str| {
            let list = table.get(key).map(|list| list.as_array().expect("a list").as_slice()).unwrap_or_default();
            list.iter()
                .map(|item| item.as_integer().expect("a number").try_into().expect("small"))
                .collect::<Vec<u64>>()
        };
        let tables =
            |key: &str| raw[key].as_array().expect("tables").iter().map(|table| table.as_table().expect("one"));
        assert_eq!(kernel.sizes, numbers(&raw, "sizes"));
        assert_eq!(kernel.returns.is_some(), raw.contains_key("returns"));
        assert_eq!(kernel.arguments.len(), tables("argument").count());
        for (argument, raw) in kernel.arguments.iter().zip(tables("argument")) {
            assert_eq!(argument.name.as_str(), raw["name"].as_str().expect("a name"));
            assert_eq!(argument.secret, raw.get("secret").is_some_and(|secret| secret.as_bool() == Some(true)));
            let equal: Vec<&str> = argument.may_equal.iter().map(|name| name.as_str()).collect();
            assert_eq!(equal, words_of(raw, "may_equal"));
            match &argument.kind {
                ArgumentKind::Limbs { length } => assert_eq!(Some(length.to_string().as_str()), raw["limbs"].as_str()),
                ArgumentKind::Bytes { align, .. } => {
                    // Lengths have the numbers of the key's size in them: other tests know those.
                    assert!(raw["bytes"].as_str().is_some());
                    let wanted = raw.get("align").and_then(|align| align.as_integer()).unwrap_or(1);
                    assert_eq!(i64::from(*align), wanted);
                }
                ArgumentKind::Count { min, max } => {
                    let count = |key: &str| raw["count"][key].as_integer().map(|number| number as u64);
                    assert_eq!((Some(*min), Some(*max)), (count("min"), count("max")));
                }
                ArgumentKind::Limb => assert_eq!(raw["limb"].as_bool(), Some(true)),
            }
        }
        assert_eq!(kernel.cipher.is_some(), raw.contains_key("key_bits"), "{}", kernel.file);
        if let Some(cipher) = &kernel.cipher {
            let own = numbers(&raw, "key_bits").iter().position(|bits| *bits == u64::from(cipher.key_bits));
            assert_eq!(numbers(&raw, "rounds")[own.expect("one of them")], u64::from(cipher.rounds), "{}", kernel.file);
            assert_eq!(cipher.mode.is_some(), raw.contains_key("mode"), "{}", kernel.file);
            if let (Some(mode), Some(raw)) = (&cipher.mode, raw.get("mode").and_then(|mode| mode.as_table())) {
                let terms = |terms: &[Term]| {
                    let word = |term: &Term| match term {
                        Term::In => "in",
                        Term::PreviousIn => "previous in",
                        Term::PreviousOut => "previous out",
                        Term::Counter => "counter",
                    };
                    terms.iter().map(|term| word(term).to_owned()).collect::<Vec<_>>()
                };
                assert_eq!(
                    (terms(&mode.input), terms(&mode.output)),
                    (words_of(raw, "input"), words_of(raw, "output"))
                );
                let direction = if mode.cipher == Direction::Encrypt { "encrypt" } else { "decrypt" };
                assert_eq!(raw["cipher"].as_str(), Some(direction));
                let number = |key: &str, absent: i64| raw.get(key).map_or(Some(absent), |number| number.as_integer());
                assert_eq!(number("counter_bits", 0), Some(mode.counter_bits.into()));
                assert_eq!(number("streams", 1), Some(mode.streams.into()));
            }
        }
        assert_eq!(kernel.strategies.len(), tables("strategy").count());
        for (strategy, raw) in kernel.strategies.iter().zip(tables("strategy")) {
            assert_eq!(strategy.name.as_str(), raw["name"].as_str().expect("a name"));
            let lists = [
                ("unroll", &strategy.unroll),
                ("exact", &strategy.exact),
                ("startup", &strategy.startup),
                ("rows", &strategy.rows),
                ("overlap", &strategy.overlap),
                ("block", &strategy.block),
                ("split", &strategy.split),
                ("blocks", &strategy.blocks),
            ];
            for (key, list) in lists {
                let read: Vec<u64> = list.iter().map(|item| item.value.into()).collect();
                assert_eq!(read, numbers(raw, key), "{key} of {} in {}", strategy.name.value, kernel.file);
                // The places point at what they name.
                list.iter().for_each(|at| assert_eq!(kernel.text[at.span.clone()], at.value.to_string()));
            }
            let edges = strategy.back_edge.iter().map(|edge| match edge.value {
                BackEdge::Folded => "folded",
                BackEdge::Live => "live",
            });
            assert_eq!(edges.collect::<Vec<_>>(), words_of(raw, "back_edge"));
            let rounds = strategy.rounds.iter().map(|rounds| match rounds.value {
                Rounds::Looped => "looped",
                Rounds::Unrolled => "unrolled",
            });
            assert_eq!(rounds.collect::<Vec<_>>(), words_of(raw, "rounds"));
            let keys = strategy.round_keys.iter().map(|keys| match keys.value {
                RoundKeys::Memory => "memory",
                RoundKeys::Registers => "registers",
            });
            assert_eq!(keys.collect::<Vec<_>>(), words_of(raw, "round_keys"));
            let xor = strategy.xor.iter().map(|xor| match xor.value {
                XorAt::Apart => "apart",
                XorAt::Folded => "folded",
            });
            assert_eq!(xor.collect::<Vec<_>>(), words_of(raw, "xor"));
            let schedule: Vec<&str> = strategy.schedule.iter().map(|word| word.as_str()).collect();
            let written = words_of(raw, "schedule");
            assert_eq!(schedule, if written.is_empty() { vec!["generic".to_owned()] } else { written });
            assert_eq!(&kernel.text[strategy.name.span.clone()], format!("{:?}", strategy.name.value));
            assert_eq!(&kernel.text[strategy.span.clone()], "[[strategy]]");
        }
    }
}

#[test]
fn access_and_domain_are_read_as_written() {
    let specs = parsed();
    let argument = |kernel: &str, name: &str| specs.kernel(kernel).expect("shipped").argument(name).cloned();
    let access = |kernel, name| argument(kernel, name).map(|argument| argument.access);
    assert_eq!(access("limb64.mul_add", "r"), Some(Access::InOut));
    assert_eq!(access("limb64.mul_add", "a"), Some(Access::In));
    assert_eq!(access("limb64.mul", "r"), Some(Access::Out));
    assert_eq!(access("limb64.mul_nxn", "t"), Some(Access::Scratch));
    let domain = |name| argument("limb64.div_2by1", name).map(|argument| argument.domain);
    assert_eq!(domain("hi"), Some(Domain::Below("d".into())));
    assert_eq!(domain("lo"), Some(Domain::Any));
    assert_eq!(domain("d"), Some(Domain::Normalised));
    assert_eq!(domain("v"), Some(Domain::ReciprocalOf("d".into())));
}

#[test]
fn a_cpu_file_is_read_as_written() {
    let specs = parsed();
    let zen3 = specs.cpu("zen3").expect("it is shipped");
    let identify = zen3.identify.as_ref().expect("it is a CPU");
    assert_eq!((identify.vendor.as_str(), identify.family.value), ("AuthenticAMD", 25));
    assert!(identify.models.contains(&33));
    assert_eq!((zen3.cost["mulx"].latency, zen3.cost["mulx"].per_cycle), (4, 1.0));
    assert!(zen3.prefer["limb64.mul_add"].value.starts_with("mulx_adx."));
    assert!(specs.cpu("generic").expect("it is shipped").identify.is_none());
}

#[test]
fn the_order_of_files_does_not_matter() {
    let mut files = shipped();
    files.reverse();
    let reversed = Specs::parse(&files, &words()).expect("they parse");
    assert_eq!(format!("{reversed:?}"), format!("{:?}", parsed()));
}

#[test]
fn line_ends_change_neither_meaning_nor_hash() {
    let mut files = shipped();
    for file in &mut files {
        let text = String::from_utf8(file.bytes.clone()).expect("UTF-8");
        file.bytes = text.replace('\n', "\r\n").into_bytes();
    }
    let windows = Specs::parse(&files, &words()).expect("they parse");
    for (a, b) in windows.kernels.iter().zip(&parsed().kernels) {
        assert_eq!(a.hash, b.hash);
    }
}

#[test]
fn the_schema_covers_both_kinds_and_every_key_is_described() {
    fn described(schema: &serde_json::Value, path: &str) {
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            assert!(value["description"].is_string(), "{path}.{key} has no description");
            described(value, &format!("{path}.{key}"));
            described(&value["items"], &format!("{path}.{key}[]"));
        }
    }
    let schema = spec::schema(&words());
    assert_eq!(schema["oneOf"].as_array().map(Vec::len), Some(2));
    for kind in schema["oneOf"].as_array().expect("two kinds") {
        assert_eq!(kind["additionalProperties"], false);
        described(kind, kind["title"].as_str().expect("a title"));
    }
    let features = &schema["oneOf"][1]["properties"]["features"]["items"]["enum"];
    assert!(features.as_array().expect("words").iter().any(|word| word == "vaes"));
    assert!(!schema.to_string().contains("null"), "TOML has no null");
}

#[test]
fn the_largest_count_can_be_built() {
    let mut files = shipped();
    files.retain(|file| file.path.contains("cpus/") || file.path.ends_with("limb64_mul_add.toml"));
    for file in &mut files {
        let text = String::from_utf8(file.bytes.clone()).expect("UTF-8");
        let text = text.replace("max = 65536", "max = 67108863").replace("unroll = [1,", "unroll = [1, 3, 63,");
        file.bytes = text.into_bytes();
    }
    let specs = Specs::parse(&files, &words()).unwrap_or_else(|problems| panic!("{problems}"));
    let built = compile(&specs).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(built.iter().any(|variant| variant.plan.name.ends_with("mulx.u63")));
    let ArgumentKind::Count { max, .. } = specs.kernels[0].arguments[2].kind else { panic!("n is a count") };
    assert_eq!(max, 67_108_863);
}

#[test]
fn twenty_thousand_variants_are_too_many() {
    let mut files = shipped();
    files.retain(|file| file.path.ends_with("limb64_mul_add.toml"));
    let text = String::from_utf8(files[0].bytes.clone()).expect("UTF-8");
    let head = &text[..text.find("[[strategy]]").expect("a strategy")];
    let list = (1..=64).map(|unroll| unroll.to_string()).collect::<Vec<_>>().join(", ");
    let cpus: Vec<String> = (0..200).map(|cpu| format!("cpu{cpu}")).collect();
    let strategy = |many: usize| {
        let schedule = format!("schedule = [\"{}\"]", cpus[..many].join("\", \""));
        format!("{head}[[strategy]]\nname = \"mul\"\nunroll = [{list}]\nexact = [{list}]\n{schedule}\n")
    };
    for cpu in &cpus {
        files.push(SourceFile { path: format!("cpus/{cpu}.toml"), bytes: b"features = []\n".to_vec() });
    }
    for (many, expected) in [(156, None), (157, Some("ask for 20096 variants, at most 20000"))] {
        files[0].bytes = strategy(many).into_bytes();
        let specs = Specs::parse(&files, &words()).unwrap_or_else(|problems| panic!("{problems}"));
        match (plans(&specs), expected) {
            (Ok(plans), None) => assert_eq!(plans.len(), many * 128),
            (Err(problems), Some(expected)) => assert!(problems.to_string().contains(expected), "{problems}"),
            (plans, _) => panic!("{many}: {:?}", plans.map(|plans| plans.len())),
        }
    }
}

#[test]
fn what_cannot_be_read_is_a_problem() {
    let missing = spec::read_folder(Path::new("no/such/folder")).expect_err("it is not there");
    assert_eq!(missing.to_string(), "no/such/folder: cannot be read: entity not found");
    let empty = spec::read_folder(&folder().join("../tests/src")).expect_err("it holds no specs");
    assert!(empty.to_string().ends_with("holds no specs: no .toml file in it, in kernels/ or in cpus/"), "{empty}");
    // A file that is missing does not hide what is wrong in another.
    let bad = folder().join("../tests/fail/unroll_0.toml");
    let both = spec::check(&[bad, PathBuf::from("none.toml")], &words()).expect_err("both are bad");
    assert_eq!(both.len(), 2, "{both}");
}

#[test]
fn a_hostile_file_is_refused_in_time() {
    let deep = format!("kernel = {}", "[".repeat(100_000));
    let dotted = format!("{} = 1", vec!["a"; 60_000].join("."));
    let nested = format!("{}=\n", vec!["a"; 70].join(".")) + &format!("{}={{\n", vec!["a"; 70].join(".")).repeat(1000);
    let long = format!("kernel = \"{}\"", "x".repeat(200_000));
    let list = format!("sizes = [{}]", "0,".repeat(100_000));
    let huge = "#".repeat(1 << 20);
    for text in [deep, dotted, nested, long, list, huge] {
        let problems = parse("cpus/x.toml", text.as_bytes()).expect_err("it is no spec");
        check_places(problems.iter(), text.as_bytes());
    }
}

fn parse(path: &str, bytes: &[u8]) -> Result<Specs, kiln_codegen::error::Problems> {
    Specs::parse(&[SourceFile { path: path.to_owned(), bytes: bytes.to_vec() }], &words())
}

fn check_places<'p>(problems: impl Iterator<Item = &'p Problem>, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in problems {
        assert!(!problem.file.is_empty() && !problem.message().is_empty());
        assert!((1..=lines.len()).contains(&problem.line), "{problem}");
        assert!((1..=lines[problem.line - 1].chars().count() + 1).contains(&problem.column), "{problem}");
        if let Some(span) = &problem.span {
            assert!(text.get(span.clone()).is_some(), "{problem}: {span:?}");
        }
        assert!(!problem.to_string().contains('\n'), "one problem, one line: {problem}");
        assert!(!problem.message().starts_with("could not be read whole"), "a problem was lost: {problem}");
    }
}

/// One blow to a file.
#[derive(Clone, Debug)]
enum Blow {
    Flip(usize, u8),
    Truncate(usize),
    Delete(usize, usize),
    Copy(usize, usize, usize),
    Insert(usize, String),
}

fn blows() -> impl Strategy<Value = Vec<Blow>> {
    let at = || 0usize..4096;
    let text = prop::sample::select(vec![
        "[",
        "]",
        "{",
        "}",
        "=",
        "\"",
        "\n",
        ".",
        ",",
        "#",
        "'''",
        "\"\"\"",
        "[[",
        "0",
        "-1",
        "1e9",
        "nan",
        "true",
        "18446744073709551616",
        "\u{e9}",
        "\u{0}",
        "[cost]\n",
        "[[strategy]]\n",
        "[identify]\n",
        "unroll = []\n",
        "name = 1\n",
        "1979-05-27",
    ]);
    let blow = prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, bits)| Blow::Flip(at, bits)),
        at().prop_map(Blow::Truncate),
        (at(), 1usize..200).prop_map(|(at, length)| Blow::Delete(at, length)),
        (at(), 1usize..200, at()).prop_map(|(from, length, to)| Blow::Copy(from, length, to)),
        (at(), text).prop_map(|(at, text)| Blow::Insert(at, text.to_owned())),
    ];
    prop::collection::vec(blow, 1..5)
}

fn strike(bytes: &mut Vec<u8>, blow: &Blow) {
    let within = |at: usize| at % (bytes.len() + 1);
    match blow {
        Blow::Flip(at, bits) => {
            let at = within(*at);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= bits;
            }
        }
        Blow::Truncate(at) => bytes.truncate(within(*at)),
        Blow::Delete(at, length) => {
            let at = within(*at);
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        Blow::Copy(from, length, to) => {
            let (from, to) = (within(*from), within(*to));
            let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
            bytes.splice(to..to, piece);
        }
        Blow::Insert(at, text) => {
            let at = within(*at);
            bytes.splice(at..at, text.bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_specs_never_panic(which in any::<prop::sample::Index>(), blows in blows()) {
        let files = shipped();
        let file = &files[which.index(files.len())];
        let mut bytes = file.bytes.clone();
        blows.iter().for_each(|blow| strike(&mut bytes, blow));
        if let Err(problems) = parse(&file.path, &bytes) {
            prop_assert!(!problems.is_empty());
            check_places(problems.iter(), &bytes);
        }
    }
}
