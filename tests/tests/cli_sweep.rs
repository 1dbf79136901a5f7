//! Does a sweep measure every point of its space once, however often it is ended and gone on with, and do shards and searches
//! see the same space?

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kiln_tests::cli::{Kiln, Said};
use kiln_tests::tools::Scratch;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kiln-under-test");
/// 2 strategies, 3 unrolls, 2 lengths.
const SPACE: [&str; 12] = [
    "sweep",
    "limb64.mul_add",
    "--set",
    "strategy=mul,portable",
    "--set",
    "unroll=2..4",
    "--set",
    "exact=none",
    "--set",
    "schedule=source",
    "--sizes",
    "3,8",
];

fn sweep(out: &Path, more: &[&str]) -> Said {
    let mut words: Vec<String> = SPACE.iter().map(ToString::to_string).collect();
    words.extend(["--out".to_owned(), out.display().to_string()]);
    words.extend(more.iter().map(ToString::to_string));
    Kiln::new(PROGRAM).run(&words)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "the last line is finished");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
}

/// Points by identity; each is there once.
fn points(path: &Path) -> BTreeMap<String, Value> {
    let mut points = BTreeMap::new();
    for line in lines(path).into_iter().filter(|line| line["kind"] == "point") {
        let id = line["id"].as_str().unwrap().to_owned();
        assert!(points.insert(id, line).is_none(), "a point is repeated");
    }
    points
}

fn names(points: &BTreeMap<String, Value>) -> BTreeSet<(String, u64)> {
    let name = |point: &Value| (point["variant"].as_str().unwrap().to_owned(), point["n"].as_u64().unwrap());
    points.values().map(name).collect()
}

fn file(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.file(name)
}

#[test]
fn every_point_is_written_once_with_what_is_known_of_it() {
    let scratch = Scratch::new("sweep");
    let out = file(&scratch, "a.jsonl");
    let said = sweep(&out, &[]).exits(0);
    assert!(said.out.contains("limb64.mul_add") && said.out.contains("points:"), "{}", said.out);
    let all = lines(&out);
    assert_eq!((&all[0]["kind"], &all[0]["schema"]), (&"header".into(), &"kiln.sweep/1".into()));
    for key in ["run", "cpu", "timer", "spec_hash", "code_hash", "seed", "mode", "precision", "started", "command"] {
        assert!(!all[0][key].is_null(), "{key}");
    }
    let points = points(&out);
    let expected: BTreeSet<(String, u64)> =
        ["portable.u2", "portable.u3", "portable.u4", "mul.u2.s_source", "mul.u3.s_source", "mul.u4.s_source"]
            .iter()
            .flat_map(|variant| [3, 8].map(|n| ((*variant).to_owned(), n)))
            .collect();
    assert_eq!(names(&points), expected);
    for point in points.values() {
        let variant = point["variant"].as_str().unwrap();
        assert_eq!(point["run"], all[0]["run"]);
        if variant == "portable.u3" {
            assert_eq!(point["state"], "refused", "nobody compiles Rust at run time");
            continue;
        }
        assert!(point["state"] == "measured" || point["state"] == "imprecise", "{point}");
        let [low, ticks, high] = ["low", "ticks", "high"].map(|key| point[key].as_f64().unwrap());
        assert!(0.0 < low && low <= ticks && ticks <= high, "{point}");
        let windows = point["windows"].as_array().unwrap();
        assert!(windows.len() >= 32 && point["calls"].as_u64().unwrap() >= 1, "{point}");
        // The statistic is the lower quartile of the windows that are there.
        let mut sorted: Vec<u64> = windows.iter().map(|window| window.as_u64().unwrap()).collect();
        sorted.sort_unstable();
        let quartile = sorted[(sorted.len() - 1) / 4] as f64;
        let per = quartile / point["calls"].as_f64().unwrap() / point["units"].as_f64().unwrap();
        assert!((per / ticks - 1.0).abs() < 1e-9, "{point}");
        if variant.starts_with("mul") {
            assert_eq!(point["set"]["schedule"], "source");
            for key in ["instructions", "bytes", "spills", "critical_path", "bound", "predicted"] {
                assert!(point["static"][key].is_number(), "{key} of {point}");
            }
        }
    }
}

#[test]
fn a_file_is_not_written_over_and_what_is_in_it_is_not_measured_again() {
    let scratch = Scratch::new("sweep-resume");
    let out = file(&scratch, "a.jsonl");
    sweep(&out, &[]).exits(0);
    let whole = fs::read_to_string(&out).unwrap();
    sweep(&out, &[]).refuses(&["exists already", "--resume"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), whole);

    // The process ended in the middle of a line.
    let keep: usize = whole.lines().take(6).map(|line| line.len() + 1).sum();
    fs::write(&out, &whole[..keep + 70]).unwrap();
    let said = sweep(&out, &["--resume"]).exits(0);
    assert!(said.err.contains("was not finished"), "{}", said.err);
    assert!(
        said.out.split_whitespace().collect::<Vec<_>>().join(" ").contains("5 in the file already"),
        "{}",
        said.out
    );
    let after = fs::read_to_string(&out).unwrap();
    assert!(after.starts_with(&whole[..keep]), "what was finished stays as it is");
    assert_eq!(points(&out).len(), 12);
    assert_eq!(lines(&out).iter().filter(|line| line["kind"] == "header").count(), 2, "each run has its header");

    // Nothing is left to do.
    sweep(&out, &["--resume"]).exits(0);
    assert_eq!(points(&out).len(), 12);
    // Another way of measuring does not go into the same file.
    for other in [["--mode", "latency"], ["--seed", "7"], ["--shard", "1/2"]] {
        sweep(&out, &["--resume", other[0], other[1]]).refuses(&["cannot be gone on in", other[0]]);
    }
}

#[test]
fn a_killed_sweep_loses_and_repeats_nothing() {
    let scratch = Scratch::new("sweep-kill");
    let out = file(&scratch, "a.jsonl");
    let words = |resume: bool| {
        let mut words = vec!["sweep", "limb64.mul_add", "--set", "unroll=1..32", "--out", out.to_str().unwrap()];
        words.extend(["--set", "strategy=mul,mulx", "--set", "exact=none", "--sizes", "8,16,64"]);
        words.extend(resume.then_some("--resume"));
        words
    };
    let mut written = 0;
    for round in 0..3 {
        let mut child =
            Command::new(PROGRAM).args(words(round > 0)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        // Until some more points are there.
        while fs::read(&out).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count()) < written + 20
            && child.try_wait().unwrap().is_none()
            && begun.elapsed() < Duration::from_secs(120)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        written = fs::read(&out).unwrap().iter().filter(|byte| **byte == b'\n').count();
    }
    assert!(written >= 20, "the first round wrote something");
    Kiln::new(PROGRAM).run(&words(true)).exits(0);
    assert_eq!(points(&out).len(), 2 * 32 * 3);
}

#[test]
fn shards_are_the_whole() {
    let scratch = Scratch::new("sweep-shards");
    let whole = file(&scratch, "whole.jsonl");
    sweep(&whole, &[]).exits(0);
    let mut together = String::new();
    for index in 1..=3 {
        let out = file(&scratch, &format!("{index}.jsonl"));
        sweep(&out, &["--shard", &format!("{index}/3")]).exits(0);
        together += &fs::read_to_string(&out).unwrap();
    }
    let joined = file(&scratch, "joined.jsonl");
    fs::write(&joined, together).unwrap();
    let (whole, joined) = (points(&whole), points(&joined));
    assert!(whole.keys().eq(joined.keys()), "the same identities");
    for (id, point) in &whole {
        for key in ["kernel", "variant", "set", "n", "units", "mode"] {
            assert_eq!(point[key], joined[id][key], "{key}");
        }
        assert_eq!(point["static"]["bytes"], joined[id]["static"]["bytes"]);
    }
}

#[test]
fn searches_look_at_the_same_space() {
    let scratch = Scratch::new("sweep-search");
    let whole = file(&scratch, "whole.jsonl");
    sweep(&whole, &[]).exits(0);
    let all = names(&points(&whole));
    let searched = |name: &str, more: &[&str]| {
        let out = file(&scratch, &format!("{name}.jsonl"));
        sweep(&out, more).exits(0);
        names(&points(&out))
    };
    let drawn = searched("random", &["--strategy", "random", "--sample", "5", "--seed", "9"]);
    assert!(drawn.len() == 5 && drawn.is_subset(&all));
    assert_eq!(searched("again", &["--sample", "5", "--seed", "9"]), drawn, "the same seed, the same sample");
    assert_eq!(searched("halving", &["--strategy", "halving"]), all, "every point is at least looked at");
    let walked = searched("local", &["--strategy", "local", "--sample", "4", "--seed", "3"]);
    assert!(walked.is_subset(&all) && (4..=8).contains(&walked.len()), "{walked:?}");
}

#[test]
fn a_local_search_is_replayed_from_its_file() {
    let scratch = Scratch::new("sweep-replay");
    let out = file(&scratch, "a.jsonl");
    let more = ["--strategy", "local", "--sample", "5", "--seed", "3"];
    sweep(&out, &more).exits(0);
    let before = points(&out);
    let said = sweep(&out, &[&more[..], &["--resume", "--json"]].concat()).exits(0);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(points(&out), before, "the same way again, and nothing new on it");
    assert_eq!((&document["measured"], &document["imprecise"]), (&0.into(), &0.into()), "{document}");
}

#[test]
fn each_way_of_measuring_gives_a_time() {
    let scratch = Scratch::new("sweep-modes");
    for mode in ["throughput", "latency", "cold"] {
        let out = file(&scratch, &format!("{mode}.jsonl"));
        let said = sweep(&out, &["--mode", mode, "--precision", "20%", "--json"]).exits(0);
        let document: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(document["schema"], "kiln.sweep/1");
        let best = document["best"].as_array().unwrap();
        assert!(best.len() == 2 && best.iter().all(|best| best["ticks"].as_f64().unwrap() > 0.0), "{document}");
        assert!(points(&out).values().all(|point| point["mode"] == mode));
    }
}

#[test]
fn time_that_is_up_leaves_the_rest_for_later() {
    let scratch = Scratch::new("sweep-time");
    let out = file(&scratch, "a.jsonl");
    let said = sweep(&out, &["--time", "0.001"]).exits(0);
    assert!(said.out.contains("not reached in time"), "{}", said.out);
    let said = sweep(&out, &["--resume"]).exits(0);
    assert!(!said.out.contains("not reached in time"), "{}", said.out);
    assert_eq!(points(&out).len(), 12);
}

#[test]
fn wrong_words_say_what_is_wrong() {
    let scratch = Scratch::new("sweep-words");
    let out = file(&scratch, "a.jsonl");
    let refused = |words: &[&str], parts: &[&str]| {
        let mut line = vec!["sweep"];
        line.extend(words);
        line.extend(["--out", out.to_str().unwrap()]);
        Kiln::new(PROGRAM).run(&line).refuses(parts);
        assert!(!out.exists(), "{words:?} writes nothing");
    };
    refused(&["limb64.mul_ad"], &["no kernel matches `limb64.mul_ad`", "did you mean"]);
    refused(
        &["limb64.mul_add", "--set", "unrol=1..4"],
        &["no strategy of limb64.mul_add has a parameter `unrol`", "unroll"],
    );
    refused(&["limb64.mul_add", "--set", "unroll=65,99"], &["unroll"]);
    refused(
        &["limb64.mul_add", "--set", "strategy=mulks"],
        &["there is no strategy `mulks` of limb64.mul_add", "did you mean `mul"],
    );
    refused(&["limb64.mul_add", "--set", "schedule=zen9"], &["zen9"]);
    refused(&["limb64.mul_add", "--sizes", "99999999"], &["n = 99999999 is no length of limb64.mul_add"]);
    refused(&["limb64.mul_add", "--strategy", "random"], &["--sample"]);
    refused(&["limb64.mul_add", "--strategy", "local", "--shard", "1/2"], &["cannot be sharded"]);
    refused(
        &["limb64.mul_add", "--set", "strategy=mul", "--set", "unroll=none", "--set", "exact=7", "--sizes", "8"],
        &["no point"],
    );
    let nowhere = ["sweep", "limb64.mul_add", "--out", "/nonexistent/a.jsonl"];
    Kiln::new(PROGRAM).run(&nowhere).refuses(&["/nonexistent/a.jsonl cannot be written"]);
}

#[test]
fn a_strategy_need_not_be_one_of_every_kernel() {
    let scratch = Scratch::new("sweep-strategies");
    let out = file(&scratch, "a.jsonl");
    let words = ["sweep", "limb64.mul_add", "limb64.add", "--set", "strategy=adc,mul", "--sizes", "8", "--out"];
    Kiln::new(PROGRAM).run(&[&words[..], &[out.to_str().unwrap()]].concat()).exits(0);
    let strategies: BTreeSet<String> =
        points(&out).values().map(|point| format!("{} {}", point["kernel"], point["strategy"])).collect();
    assert_eq!(strategies.into_iter().collect::<Vec<_>>(), ["\"limb64.add\" \"adc\"", "\"limb64.mul_add\" \"mul\""]);
}

#[test]
fn values_that_one_strategy_does_not_take_are_told() {
    let scratch = Scratch::new("sweep-values");
    let out = file(&scratch, "a.jsonl");
    let words =
        ["sweep", "limb64.mul_add", "--set", "unroll=4,99", "--set", "strategy=mul", "--sizes", "8", "--json", "--out"];
    let said = Kiln::new(PROGRAM).run(&[&words[..], &[out.to_str().unwrap()]].concat()).exits(0);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    let refused = document["refused_values"].as_array().unwrap();
    assert_eq!((refused.len(), &refused[0]["value"], &refused[0]["key"]), (1, &"99".into(), &"unroll".into()));
    assert!(refused[0]["why"].as_str().unwrap().contains("64"), "{document}");
}
