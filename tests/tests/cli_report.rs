//! Do `kiln report` and `kiln compare` say what the files of sweeps say, whatever is wrong in them, with the exit status that scripts
//! rely on?

use std::fs;
use std::path::{Path, PathBuf};

use kiln_tests::cli::{Kiln, rows, text, words};
use kiln_tests::sweeps::{MACHINES, Sweep};
use kiln_tests::tools::Scratch;

fn kiln() -> Kiln {
    Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test"))
}

fn file(scratch: &Scratch, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = scratch.file(name);
    fs::write(&path, text).expect("the scratch directory is writable");
    path
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn the_winners_are_those_of_the_file() {
    let scratch = Scratch::new("report-winners");
    let sweep = Sweep::usual(1);
    let path = file(&scratch, "a.jsonl", sweep.text());
    let said = kiln().run(&words(&[&"report", &path, &"--json"])).exits(0);
    assert_eq!(said.err, "");
    let document = said.json("kiln.report/1");
    let kernel = &rows(&document, "kernels")[0];
    assert_eq!(
        (text(kernel, "kernel"), text(kernel, "axis"), text(kernel, "unit")),
        ("limb64.mul_add", "unroll", "limb")
    );
    let lines = sweep.lines();
    for best in rows(kernel, "best") {
        let mut points: Vec<serde_json::Value> = lines[1..]
            .iter()
            .map(|line| serde_json::from_str(line).expect("a line"))
            .filter(|point: &serde_json::Value| point["n"] == best["n"] && point["state"] == "measured")
            .collect();
        points.sort_by(|a, b| a["ticks"].as_f64().expect("ticks").total_cmp(&b["ticks"].as_f64().expect("ticks")));
        assert_eq!((&points[0]["variant"], &points[0]["ticks"]), (&best["variant"], &best["ticks"]));
        // The line that is named holds the number.
        let (_, line) = text(best, "line").rsplit_once(':').expect("file:line");
        let line: usize = line.parse().expect("a line");
        assert!(lines[line - 1].contains(&format!("\"variant\":{}", best["variant"])), "{best}");
    }
    assert_eq!(rows(kernel, "best").len(), 6);
    let said = kiln().run(&words(&[&"report", &path])).exits(0);
    assert!(
        said.out.contains("limb64.mul_add") && said.out.contains("within 2 %: ") && said.out.contains("never win: ")
    );
    assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{}", said.out);
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let scratch = Scratch::new("report-bytes");
    let a = file(&scratch, "a.jsonl", Sweep::usual(1).text());
    let b = file(&scratch, "b.jsonl", Sweep { machine: MACHINES[1], ..Sweep::usual(2) }.text());
    let mut first: Vec<Vec<u8>> = Vec::new();
    for _ in 0..2 {
        let (out, csv) = (scratch.file("out.html"), scratch.file("out.csv"));
        let (markdown, svg) = (scratch.file("out.md"), scratch.file("svg"));
        let line: [&dyn AsRef<std::ffi::OsStr>; 11] =
            [&"report", &a, &b, &"--out", &out, &"--csv", &csv, &"--markdown", &markdown, &"--svg", &svg];
        let said = kiln().run(&words(&line)).exits(0);
        assert!(said.out.contains("written: "), "{}", said.out);
        let mut pictures: Vec<PathBuf> =
            fs::read_dir(&svg).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        pictures.sort();
        assert!(pictures.len() > 40, "{}", pictures.len());
        let all = [out, csv, markdown].into_iter().chain(pictures);
        let bytes: Vec<Vec<u8>> = all.map(|path| fs::read(path).expect("a file")).collect();
        if first.is_empty() {
            first = bytes;
        } else {
            assert!(first == bytes, "another report of the same files");
        }
    }
}

#[test]
fn damaged_lines_are_named_and_the_rest_is_kept() {
    let scratch = Scratch::new("report-damage");
    let mut lines = Sweep::usual(3).lines();
    let good = lines.len() - 1;
    let half = lines[9].len() / 2;
    lines[9].truncate(half);
    lines[19] = "garbage".to_owned();
    lines[29] = lines[29].replace("\"ticks\":", "\"ticks\":-");
    lines[39] = lines[0].replace("kiln.sweep/1", "kiln.sweep/7").replace("\"run\":\"", "\"run\":\"f");
    let mut bytes = (lines.join("\n") + "\n").into_bytes();
    bytes.extend_from_slice(b"\xff\xfe\n{\"kind\":\"point\",\"run\"");
    let path = file(&scratch, "bad.jsonl", bytes);
    let said = kiln().run(&words(&[&"report", &path, &"--json"])).exits(0);
    let named = name(&path);
    for part in [
        format!("{named}:10: "),
        format!("{named}:20: expected value"),
        format!("{named}:30: `ticks` is negative"),
        format!("{named}:40: the schema is `kiln.sweep/7`"),
        format!("{named}:{}: the line is not UTF-8 from byte 1 on", good + 2),
        format!("{named}: 6 lines are damaged"),
    ] {
        assert!(said.err.contains(&part), "{part} in {}", said.err);
    }
    let document = said.json("kiln.report/1");
    let file = &rows(&document, "files")[0];
    assert_eq!((file["damaged"].as_u64(), file["points"].as_u64()), (Some(6), Some(good as u64 - 4)));
    let last = rows(file, "warnings").last().expect("warnings");
    assert!(text(last, "what").contains("cut off"), "{last}");
    // The page counts them too.
    let out = scratch.file("bad.html");
    kiln().run(&words(&[&"report", &path, &"--out", &out])).exits(0);
    let html = fs::read_to_string(out).expect("a page");
    assert!(html.contains("6 lines could not be used") && html.contains("bad.jsonl:20"));
}

/// Wherever a writer was killed.
#[test]
fn every_beginning_of_a_file_can_be_read() {
    let scratch = Scratch::new("report-killed");
    let text = Sweep { sizes: vec![8], unrolls: vec![1, 2], ..Sweep::usual(4) }.text();
    let header = text.find('\n').expect("lines") + 1;
    let step = (text.len() - header) / 40;
    for end in (header + 1..text.len()).step_by(step) {
        let path = file(&scratch, "killed.jsonl", &text[..end]);
        let said = kiln().run(&words(&[&"report", &path, &"--json"]));
        let whole = text[header..end].matches('\n').count();
        if whole == 0 {
            said.refuses(&["no point of a sweep was found"]);
            continue;
        }
        let said = said.exits(0);
        let cut_off = !text[..end].ends_with('\n') && !text[end..].starts_with('\n');
        assert_eq!(said.err.contains("cut off"), cut_off, "{end}: {}", said.err);
        let document = said.json("kiln.report/1");
        assert!(rows(&document, "files")[0]["points"].as_u64() >= Some(whole as u64), "{end}");
    }
}

#[test]
fn wrong_words_and_files_are_status_2() {
    let scratch = Scratch::new("report-usage");
    let good = file(&scratch, "a.jsonl", Sweep { sizes: vec![8], ..Sweep::usual(5) }.text());
    let empty = file(&scratch, "empty.jsonl", "");
    let other = file(&scratch, "other.jsonl", Sweep { sizes: vec![9], ..Sweep::usual(5) }.text());
    let nowhere = scratch.file("nowhere.jsonl");
    kiln().run(&["report"]).refuses(&["FILE"]);
    kiln().run(&words(&[&"report", &nowhere])).refuses(&["nowhere.jsonl cannot be read"]);
    kiln().run(&words(&[&"report", &good, &nowhere])).refuses(&["nowhere.jsonl cannot be read"]);
    kiln().run(&words(&[&"report", &scratch.file("")])).refuses(&["cannot be read"]);
    kiln().run(&words(&[&"report", &empty])).refuses(&["no point of a sweep was found"]);
    kiln()
        .run(&words(&[&"report", &good, &"--x", &"unrol"]))
        .refuses(&["no variant has a number for `unrol`", "did you mean `unroll`?"]);
    kiln().run(&words(&[&"report", &good, &"--x", &"schedule"])).refuses(&["no variant has a number for `schedule`"]);
    kiln().run(&words(&[&"report", &good, &"--within", &"5"])).refuses(&["--within", "such as 2%"]);
    let out = scratch.file("nowhere/out.html");
    kiln().run(&words(&[&"report", &good, &"--out", &out])).refuses(&["out.html cannot be written"]);
    kiln().run(&words(&[&"compare", &good])).refuses(&["NEW"]);
    kiln().run(&words(&[&"compare", &good, &nowhere])).refuses(&["nowhere.jsonl cannot be read"]);
    kiln().run(&words(&[&"compare", &good, &empty])).refuses(&["no point of a sweep was found"]);
    kiln().run(&words(&[&"compare", &good, &other])).refuses(&["no point was measured in both sweeps"]);
    kiln().run(&words(&[&"compare", &good, &good, &"--threshold", &"2"])).refuses(&["--threshold", "such as 2%"]);
}

#[test]
fn compare_is_quiet_when_nothing_changed() {
    let scratch = Scratch::new("compare-same");
    let old = file(&scratch, "old.jsonl", Sweep::usual(6).text());
    let mut alarms = 0;
    for seed in 7..27 {
        // Another run of the same machine: other noise, nothing else.
        let new = file(&scratch, "new.jsonl", Sweep::usual(seed).text());
        let said = kiln().run(&words(&[&"compare", &old, &new, &"--json", &"--threshold", &"0%", &"--level", &"0.05"]));
        let document = said.json("kiln.compare/1");
        assert_eq!(document["good"] == true, said.status == 0, "{}", said.status);
        alarms += i32::from(said.status != 0);
        assert_eq!(document["comparisons"], 378);
    }
    // At 0.05, one of twenty with no threshold at all; five would be one in four hundred.
    assert!(alarms < 5, "{alarms}");
    let new = file(&scratch, "new.jsonl", Sweep::usual(7).text());
    let said = kiln().run(&words(&[&"compare", &old, &new])).exits(0);
    assert!(said.out.contains("0 slower and 0 faster by more than 2 %, 378 the same"), "{}", said.out);
}

#[test]
fn compare_finds_what_changed_and_nothing_else() {
    let scratch = Scratch::new("compare-changed");
    let old = file(&scratch, "old.jsonl", Sweep::usual(8).text());
    let changed = vec![("mulx_adx.u8".to_owned(), 1.03), ("mul.u16".to_owned(), 0.9), ("mulx.u3".to_owned(), 1.01)];
    let new = file(&scratch, "new.jsonl", Sweep { changed, ..Sweep::usual(9) }.text());
    let said = kiln().run(&words(&[&"compare", &old, &new, &"--json"])).exits(1);
    let document = said.json("kiln.compare/1");
    let of = |verdict: &str| -> Vec<(String, u64)> {
        let own = rows(&document, "rows").iter().filter(|row| text(row, "verdict") == verdict);
        let mut own: Vec<_> = own.map(|row| (text(row, "variant").to_owned(), row["n"].as_u64().expect("n"))).collect();
        own.sort();
        own
    };
    let all = |variant: &str| [4, 8, 16, 32, 64, 128].map(|n| (variant.to_owned(), n)).to_vec();
    assert_eq!(of("slower"), all("mulx_adx.u8"));
    assert_eq!(of("faster"), all("mul.u16"));
    assert_eq!(of("same").len(), 378 - 12);
    let said = kiln().run(&words(&[&"compare", &old, &new])).exits(1);
    assert!(said.out.contains("6 slower and 6 faster by more than 2 %, 366 the same"), "{}", said.out);
    // The other way round, and with a larger threshold.
    let said = kiln().run(&words(&[&"compare", &new, &old])).exits(1);
    assert!(said.out.contains("6 slower and 6 faster"), "{}", said.out);
    kiln().run(&words(&[&"compare", &old, &new, &"--threshold", &"4%"])).exits(0);
}

#[test]
fn a_machine_that_is_slower_as_a_whole_is_told() {
    let scratch = Scratch::new("compare-whole");
    let old = file(&scratch, "old.jsonl", Sweep::usual(10).text());
    let new = file(&scratch, "new.jsonl", Sweep { factor: 1.05, ..Sweep::usual(11) }.text());
    let said = kiln().run(&words(&[&"compare", &old, &new])).exits(1);
    assert!(said.out.contains("378 slower") && said.out.contains("The median change is 5.0 %"), "{}", said.out);
    let other = file(&scratch, "other.jsonl", Sweep { machine: MACHINES[1], ..Sweep::usual(12) }.text());
    let said = kiln().run(&words(&[&"compare", &old, &other])).exits(1);
    assert!(said.out.contains("The machines are not the same."), "{}", said.out);
}
