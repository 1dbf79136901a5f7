//! Whole reports of a few lines that were made up: do the tables say what the lines say, and does nothing get through that should
//! not?

use kiln_runtime::random::Random;

use super::load::Loader;
use super::model::Model;
use super::section::{Section, sections};
use super::table::Table;
use super::{Options, csv, markdown, page, pictures, tables};
use crate::sweep::read::Lines;
use crate::sweep::record::{Header, Point, Record, State, Static, Value};

/// A header on a machine of this name.
pub fn header(run: &str, machine: &str) -> Header {
    let line = r#"{"schema":"kiln.sweep/1","kind":"header","run":"","cpu":{},"timer":{"name":"counter","ticks_per_microsecond":2000}}"#;
    let mut header: Header = serde_json::from_str(line).unwrap();
    header.run = run.to_owned();
    header.cpu.name = machine.to_owned();
    header.started = format!("2026-01-0{}", run.len());
    header
}

/// A point of `k.m` whose windows are around these ticks, each a thousandth from the next.
pub fn point(run: &str, strategy: &str, unroll: i64, n: u64, ticks: f64) -> Point {
    let line = r#"{"kind":"point","run":"","id":"1","kernel":"k.m","variant":"","strategy":"","n":1,"state":"measured","unit":"limb"}"#;
    let mut point: Point = serde_json::from_str(line).unwrap();
    point.run = run.to_owned();
    point.variant = format!("{strategy}.u{unroll}");
    point.strategy = strategy.to_owned();
    point.set = [("unroll".to_owned(), Value::Integer(unroll))].into();
    point.n = n;
    point.ticks = Some(ticks);
    point.low = Some(ticks * 0.999);
    point.high = Some(ticks * 1.001);
    point.calls = 1000;
    // The lower quartile is the sixth of 21.
    point.windows =
        (0..21).map(|k| (ticks * 1e6 * (1.0 + f64::from((k * 8) % 21 - 5) / 1000.0)).round() as u64).collect();
    point.known = Static { bytes: Some(20 * unroll as u64), ..Static::default() };
    point
}

/// What files of such records hold.
pub fn load(files: &[Vec<Record>]) -> Model {
    let mut loader = Loader::new(false).with_samples();
    for (index, records) in files.iter().enumerate() {
        let text: String = records.iter().map(|record| record.line() + "\n").collect();
        loader.read(&format!("f{index}.jsonl"), Lines::new(text.as_bytes())).unwrap();
    }
    loader.finish()
}

/// Two machines, two strategies, three unrolls, two lengths. On the second machine `b` is better.
fn two_machines() -> Vec<Record> {
    let mut records: Vec<Record> = vec![header("1", "One").into(), header("22", "Two").into()];
    for (run, a, b) in [("1", 1.0, 1.3), ("22", 2.0, 1.5)] {
        for n in [4, 64] {
            for (unroll, more) in [(1, 1.5), (2, 1.2), (8, 1.0)] {
                let tail = if n == 4 && unroll == 8 { 1.6 } else { 1.0 };
                records.push(point(run, "a", unroll, n, a * more * tail).into());
                records.push(point(run, "b", unroll, n, b * more * tail).into());
            }
        }
    }
    records
}

fn options() -> Options {
    Options { within: vec![0.0, 0.05, 0.5] }
}

fn rows(table: &Table) -> Vec<String> {
    table.markdown().lines().skip(2).map(str::to_owned).collect()
}

#[test]
fn places_have_their_best_and_its_line() {
    let model = load(&[two_machines()]);
    let sections = sections(&model, None);
    let [section] = sections.as_slice() else { panic!("{sections:?}") };
    assert_eq!((section.machines.as_slice(), section.sizes.as_slice()), ([0, 1].as_slice(), [4, 64].as_slice()));
    assert_eq!(section.axis.as_deref(), Some("unroll"));
    let rows = rows(&tables::winners(section));
    let expected = [
        "| One | 4 | `a.u2` | 1.200 | 1.199 | 1.201 | 0 | `b.u2` | 30.0 % | `f0.jsonl:5` |",
        "| One | 64 | `a.u8` | 1.000 | 0.999 | 1.001 | 0 | `b.u8` | 30.0 % | `f0.jsonl:13` |",
        "| Two | 4 | `b.u2` | 1.800 | 1.798 | 1.802 | 0 | `a.u2` | 33.3 % | `f0.jsonl:18` |",
        "| Two | 64 | `b.u8` | 1.500 | 1.498 | 1.501 | 0 | `a.u8` | 33.3 % | `f0.jsonl:26` |",
    ];
    assert_eq!(rows, expected);
    assert_eq!(tables::verdicts(section), ["One: a is fastest at every length.", "Two: b is fastest at every length."]);
}

#[test]
fn gains_say_where_unrolling_stops_to_pay() {
    let mut records: Vec<Record> = vec![header("1", "One").into()];
    for (unroll, ticks) in [(1, 2.0), (2, 1.5), (4, 1.005), (8, 1.0), (16, 1.1)] {
        records.push(point("1", "a", unroll, 64, ticks).into());
    }
    records.push(point("1", "lonely", 4, 64, 3.0).into());
    let model = load(&[records]);
    let gains = tables::gains(&sections(&model, None)[0]);
    assert_eq!(rows(&gains), ["| 64 | a | 1 | 2.000 | 8 | 1.000 | 100 % | 4 | 80 | 160 | `f0.jsonl:5` |"]);
}

#[test]
fn a_line_has_the_fastest_over_the_other_parameters() {
    let mut records: Vec<Record> = vec![header("1", "One").into()];
    for (schedule, more) in [("source", 1.0), ("seed1", 0.9), ("seed2", 1.1)] {
        for unroll in [1, 2] {
            let mut point = point("1", "a", unroll, 64, more * 2.0 / unroll as f64);
            point.variant = format!("a.u{unroll}.s_{schedule}");
            point.set.insert("schedule".to_owned(), schedule.into());
            records.push(point.into());
        }
    }
    let mut exact = point("1", "a", 64, 64, 0.5);
    exact.variant = "a.exact64".to_owned();
    exact.set = [("exact".to_owned(), Value::Integer(64))].into();
    records.push(exact.into());
    let model = load(&[records]);
    let section = &sections(&model, None)[0];
    let line: Vec<(i64, f64)> =
        section.line(&section.places[0], "a").iter().map(|(x, point)| (*x, point.ticks)).collect();
    assert_eq!(line, [(1, 1.8), (2, 0.9)]);
    assert_eq!(section.others().iter().map(|name| &**name).collect::<Vec<_>>(), ["schedule"]);
    assert_eq!(&*section.variant(section.best(&section.places[0])).name, "a.exact64");
    // A parameter that does not vary is an axis only if it is asked for.
    assert_eq!(sections(&model, Some("exact"))[0].axis.as_deref(), Some("exact"));
    assert_eq!(sections(&model, Some("nothing"))[0].axis.as_deref(), Some("unroll"));
}

#[test]
fn the_atlas_is_small_and_good_enough_everywhere() {
    let model = load(&[two_machines()]);
    let section = &sections(&model, None)[0];
    let found = section.atlas(&[0.0, 0.25, 0.6]);
    let names = |index: usize| -> Vec<&str> {
        found[index].variants.iter().map(|(variant, _)| &*model.variants[*variant as usize].name).collect()
    };
    assert_eq!(names(0), ["a.u2", "a.u8", "b.u2", "b.u8"]);
    assert_eq!(names(1), ["a.u2", "b.u2"], "20 % above a.u8 and b.u8");
    assert_eq!(names(2), ["b.u2"], "1.3 x 1.2 times the best on One at 64");
    assert!(found.iter().all(super::section::Atlas::is_smallest));
    // Every choice is checked against the times.
    for atlas in &found {
        for (index, place) in section.places.iter().enumerate() {
            let good =
                section.timed(place).filter(|point| point.ticks <= section.best(place).ticks * (1.0 + atlas.within));
            let good: Vec<u32> = good.map(|point| point.variant).collect();
            let held: Vec<u32> =
                atlas.variants.iter().filter(|(_, places)| places.contains(&index)).map(|(v, _)| *v).collect();
            assert!(!held.is_empty() && held.iter().all(|variant| good.contains(variant)), "{atlas:?} {place:?}");
        }
    }
}

#[test]
fn those_that_never_win_are_named_with_their_closest() {
    let mut records = two_machines();
    // Its interval reaches down to that of the fastest.
    let mut near = point("1", "c", 8, 64, 1.002);
    near.low = Some(0.9995);
    records.push(near.into());
    let model = load(&[records]);
    let section = &sections(&model, None)[0];
    let losers = section.losers();
    let named: Vec<(&str, f64)> = losers
        .iter()
        .map(|loser| (&*model.variants[loser.variant as usize].name, (loser.ratio * 1e3).round() / 1e3))
        .collect();
    assert_eq!(named, [("a.u1", 1.25), ("b.u1", 1.25)]);
    assert!(rows(&tables::losers(section, &losers))[0].contains("+25.0 % | One | 4 | 4 |"), "{losers:?}");
}

#[test]
fn choices_of_other_machines_cost_what_the_times_say() {
    let model = load(&[two_machines()]);
    let rows = rows(&tables::borrowed(&sections(&model, None)[0]));
    assert_eq!(rows, ["| One | 0.0 % | +33.3 % |", "| Two | +30.0 % | 0.0 % |"]);
}

#[test]
fn the_models_errors_are_measured_over_predicted() {
    let mut records: Vec<Record> = vec![header("1", "One").into()];
    for (unroll, ticks, predicted) in [(1, 2.0, 2.0), (2, 1.5, 1.25), (4, 1.1, 1.0), (8, 0.9, 1.0)] {
        let mut point = point("1", "a", unroll, 64, ticks);
        point.known.predicted = Some(predicted);
        point.known.bound = Some(0.95);
        records.push(point.into());
    }
    let model = load(&[records]);
    let section = &sections(&model, None)[0];
    let rows = rows(&tables::model_errors(section));
    assert_eq!(rows, ["| a | 4 | +5.0 % | 10.0 % | +20.0 % | `a.u2, n = 64` | 0.949 | 1 | `f0.jsonl:3` |"]);
    assert!(super::chart::model(section, 0).is_some());
}

#[test]
fn what_was_not_measured_is_told_once_for_each_reason() {
    let mut records = two_machines();
    for (unroll, state, why) in
        [(3, State::Refused, "too many"), (5, State::Refused, "too many"), (7, State::Failed, "wrong")]
    {
        let mut point = point("1", "a", unroll, 64, 1.0);
        (point.state, point.why, point.ticks, point.low, point.high) = (state, Some(why.to_owned()), None, None, None);
        point.windows.clear();
        records.push(point.into());
    }
    let model = load(&[records]);
    let section = &sections(&model, None)[0];
    let rows = rows(&tables::missing(section));
    assert_eq!(
        rows,
        [
            "| refused | too many | 2 | `a.u3, n = 64` | `f0.jsonl:27` |",
            "| failed | wrong | 1 | `a.u7, n = 64` | `f0.jsonl:29` |"
        ]
    );
    assert!(section.places.iter().all(|place| section.timed(place).all(|point| point.is_timed())));
    assert_eq!(section.variants(), 6);
}

/// Opening and closing tags, in their order.
fn check_tags(html: &str) {
    const VOID: [&str; 4] = ["meta", "link", "input", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    let script = html.find("<script>").map_or(html.len(), |at| at);
    let mut rest = &html[..script];
    while let Some(at) = rest.find('<') {
        let tag = &rest[at + 1..];
        let end = tag.find('>').expect("a tag ends");
        let (inside, after) = tag.split_at(end);
        let name = inside.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or("");
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "...{}", &rest[..at.min(200)]);
        } else if !inside.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        rest = after;
    }
    let left = if script == html.len() { vec![] } else { vec!["html", "body"] };
    assert_eq!(open, left);
}

#[test]
fn a_page_is_well_formed_and_asks_nothing_of_the_network() {
    let model = load(&[two_machines()]);
    let sections = sections(&model, None);
    let html = page::page(&model, &sections, &options());
    check_tags(&html);
    for part in [
        "Cost against unroll",
        "Every length",
        "Atlas",
        "Never win",
        "Machines side by side",
        "Windows of each candidate",
    ] {
        assert!(html.contains(&format!(">{part}")), "{part}");
    }
    let without_names = html.replace("http://www.w3.org/2000/svg", "");
    for part in ["http:", "https:", "src=", "url(", "@import", "NaN", "inf"] {
        assert!(!without_names.contains(part), "{part}");
    }
    assert_eq!(html, page::page(&model, &sections, &options()));
    let pictures = pictures(&sections);
    assert!(
        pictures.len() > 10
            && pictures.iter().all(|(_, svg)| svg.starts_with("<svg xmlns=") && svg.contains("<style>"))
    );
    pictures.iter().for_each(|(_, svg)| check_tags(svg));
    let mut names: Vec<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), pictures.len());
}

#[test]
fn names_are_no_markup() {
    let evil = "<script>alert(1)</script>\"'&\u{1b}|\n\u{202e}";
    let mut header = header("1", evil);
    header.command = vec![evil.to_owned()];
    header.spec_hash = evil.to_owned();
    let mut records: Vec<Record> = vec![header.into()];
    for (unroll, n) in [(1, 4), (2, 4), (1, 8), (2, 8)] {
        let mut point = point("1", evil, unroll, n, 1.0 + unroll as f64);
        (point.kernel, point.unit) = (evil.to_owned(), evil.to_owned());
        point.set.insert(evil.to_owned(), Value::from(evil));
        records.push(point.into());
    }
    let mut refused = point("1", "b", 1, 4, 1.0);
    (refused.state, refused.why) = (State::Refused, Some(evil.to_owned()));
    records.push(refused.into());
    let model = load(&[records]);
    let sections = sections(&model, None);
    let html = page::page(&model, &sections, &options());
    check_tags(&html);
    assert_eq!(html.matches("<script>").count(), 1, "our own");
    assert!(!html.contains(['\u{1b}', '\u{202e}']));
    pictures(&sections).iter().for_each(|(name, svg)| {
        check_tags(svg);
        assert!(!name.contains(['/', '<', '\n', '\u{1b}']), "{name:?}");
    });
    let text = markdown::markdown(&model, &sections, &options());
    // In code nothing is markup.
    let mut outside = text.lines().flat_map(|line| line.split('`').step_by(2));
    assert!(outside.all(|part| !part.contains('<')), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    let mut bytes = Vec::new();
    csv::csv(&model, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    // Quotes are doubled; what would move a terminal's cursor is spelt out.
    // Quotes are doubled; what would move a terminal's cursor is spelt out.
    assert!(text.contains("\"<script>alert(1)</script>\"\"'&\\u{1b}|\\n\\u{202e}\""), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
}

#[test]
fn every_point_is_a_row_of_the_csv() {
    let model = load(&[two_machines()]);
    let mut bytes = Vec::new();
    csv::csv(&model, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 24 + 1);
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    assert!(lines[..25].iter().all(|line| cells(line).len() == cells(lines[0]).len()));
    let head = cells(lines[0]);
    let value =
        |line: &str, name: &str| cells(line)[head.iter().position(|own| own == name).expect("a column")].clone();
    assert_eq!(
        (value(lines[1], "ticks"), value(lines[1], "ns"), value(lines[1], "line")),
        ("1.5".into(), "0.75".into(), "3".into())
    );
    assert_eq!(value(lines[1], "set.unroll"), "1");
}

/// Bytes of good files changed at random: whatever comes of it is a report, and never a panic.
#[test]
fn damaged_files_are_reports_all_the_same() {
    let text: String = two_machines().iter().map(|record| record.line() + "\n").collect();
    let mut random = Random::new(11);
    let (mut damaged, mut kept) = (0, 0);
    for round in 0..400 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=random.below(12) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(5) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = random.word() as u8,
                2 => drop(bytes.drain(at..(at + 30).min(bytes.len()))),
                3 => bytes.insert(at, b'\n'),
                // Digits to digits, so that lines stay lines.
                _ if bytes[at].is_ascii_digit() => bytes[at] = b'0' + random.below(10) as u8,
                _ => {}
            }
            if bytes.is_empty() {
                bytes.push(b'\n');
            }
        }
        let mut loader = Loader::new(round % 2 == 0);
        loader.read("bad.jsonl", Lines::new(bytes.as_slice())).unwrap();
        let model = loader.finish();
        damaged += model.files[0].damaged;
        kept += model.points.len();
        if round % 8 == 0 {
            let sections = sections(&model, None);
            check_tags(&page::page(&model, &sections, &options()));
        }
    }
    assert!(damaged > 300 && kept > 3000, "{damaged} {kept}");
}

/// Parts of a file in any order and in several files give the same numbers as the whole.
#[test]
fn shards_are_as_the_whole() {
    let whole = two_machines();
    let (header, points): (Vec<Record>, Vec<Record>) =
        whole.iter().cloned().partition(|record| matches!(record, Record::Header(_)));
    let mut sorted: Vec<Record> = header.iter().chain(points.iter().rev()).cloned().collect();
    sorted.sort_by_key(Record::line);
    let part = |odd: usize| -> Vec<Record> {
        let own = points.iter().enumerate().filter(|(index, _)| index % 2 == odd).map(|(_, point)| point.clone());
        header.iter().cloned().chain(own).collect()
    };
    let numbers = |model: &Model| -> Vec<String> {
        let point = |section: &Section<'_>, index: usize| {
            let point = &section.points[index];
            format!("{} {} {} {} {:?}", point.machine, point.n, section.variant(point).name, point.ticks, point.shape)
        };
        let sections = sections(model, None);
        sections
            .iter()
            .flat_map(|section| (0..section.points.len()).map(|index| point(section, index)).collect::<Vec<_>>())
            .collect()
    };
    let expected = numbers(&load(std::slice::from_ref(&whole)));
    assert_eq!(expected.len(), 24);
    assert_eq!(numbers(&load(&[sorted])), expected);
    assert_eq!(numbers(&load(&[part(0), part(1)])), expected);
    // A whole file twice is no other either.
    let twice = load(&[whole.clone(), whole]);
    assert_eq!((numbers(&twice), twice.files[0].replaced), (expected, 24));
}
