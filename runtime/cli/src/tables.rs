//! Decisions as text: the tables of `kiln tune`, the paragraphs of `kiln explain`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kiln_codegen::isa::feature::FeatureSet;
use kiln_kernels::catalogue::Origin;
use kiln_runtime::detect::Cpu;
use kiln_runtime::explain::{CandidateReport, CaseReport, Reason, State};

use crate::canvas::{Canvas, Column, Tone};
use crate::command::short;
use crate::command::tune::Document;

/// What the first line says besides the CPU's name.
#[derive(Clone, Debug, Default)]
pub struct Clockwork {
    /// Whether the clock is the time stamp counter.
    pub counter: bool,
    /// Its units in a microsecond.
    pub per_microsecond: u64,
    /// Features that variants need and that are here.
    pub has: Vec<&'static str>,
}

/// The features that any shipped variant needs, as far as this CPU has them.
pub fn features_that_matter(cpu: &Cpu) -> Vec<&'static str> {
    let needed = kiln_kernels::kernels().flat_map(|kernel| kernel.variants).flat_map(|variant| variant.features);
    let needed = FeatureSet::from_names(needed).unwrap_or_default();
    needed.iter().filter(|feature| cpu.features.contains(*feature)).map(|feature| feature.name()).collect()
}

/// Everything that `kiln tune` prints for people.
pub fn tune(document: &Document, canvas: &Canvas) -> String {
    let mut text = heading(document, canvas);
    for cases in by_kernel(&document.kernels) {
        let kernel = cases[0].kernel.as_str();
        let _ = write!(text, "\n{}\n\n", canvas.paint(Tone::Strong, kernel));
        text += &winners(&cases, document.unit, canvas);
        text.push('\n');
        text += &candidates(&cases, document.unit, canvas);
        text += &outside(&cases, canvas);
    }
    if !document.left_out.is_empty() {
        text.push('\n');
        text += &together(canvas, "not made", document.left_out.iter().map(|left| (&*left.variant, &*left.why)));
    }
    text += &footer(document, canvas);
    text
}

fn heading(document: &Document, canvas: &Canvas) -> String {
    let clock = &document.clock;
    let timer = if clock.counter {
        let gigahertz = clock.per_microsecond as f64 / 1000.0;
        format!("time stamp counter, {gigahertz:.2} GHz")
    } else {
        "monotonic clock, ns".to_owned()
    };
    let name = document.cpu.name();
    let features = clock.has.join(" ");
    let dot = if canvas.unicode { " · " } else { " | " };
    let plain = [name, &features, &timer].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(dot);
    let rest = plain.get(name.len()..).unwrap_or("");
    if plain.chars().count() <= canvas.width {
        return format!("{}{rest}\n", canvas.paint(Tone::Strong, name));
    }
    let words: Vec<&str> = rest.trim_start_matches(dot).split(' ').collect();
    format!("{}\n{}", canvas.paint(Tone::Strong, name), canvas.wrapped("  ", words))
}

fn by_kernel(cases: &[CaseReport]) -> Vec<Vec<&CaseReport>> {
    let mut kernels: Vec<Vec<&CaseReport>> = Vec::new();
    for case in cases {
        match kernels.last_mut() {
            Some(last) if last[0].kernel == case.kernel => last.push(case),
            _ => kernels.push(vec![case]),
        }
    }
    kernels
}

/// `4` for `n=4`; a kernel without sizes has one case.
fn size(case: &CaseReport) -> &str {
    match case.case.strip_prefix("n=") {
        Some(n) => n,
        None if case.case.is_empty() => "any",
        None => &case.case,
    }
}

fn chosen(case: &CaseReport) -> Option<&CandidateReport> {
    case.candidates.iter().find(|candidate| candidate.variant == case.chosen)
}

/// The fastest portable variant of a case.
fn portable_ticks(case: &CaseReport) -> Option<f64> {
    let portable = |name: &str| {
        let origin = kiln_kernels::kernels().flat_map(|kernel| kernel.variants).find(|variant| variant.name == name);
        origin.map_or_else(|| short(name).starts_with("portable"), |variant| variant.origin == Origin::Portable)
    };
    let times = case.candidates.iter().filter(|candidate| portable(&candidate.variant)).filter_map(|c| c.ticks);
    times.min_by(f64::total_cmp)
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// `ticks/limb`.
fn per(cases: &[&CaseReport], unit: &str) -> String {
    format!("{unit}/{}", cases.first().map_or("limb", |case| case.per))
}

/// One row for each size class.
fn winners(cases: &[&CaseReport], unit: &str, canvas: &Canvas) -> String {
    let mut n = Column::numbers("n");
    let mut winner = Column::words("winner");
    let mut near = Column::words("other lengths").rank(2);
    let mut ticks = Column::numbers(per(cases, unit));
    let mut gain = Column::numbers("vs portable").rank(1);
    let mut margin = Column::numbers("margin").rank(3);
    let mut reason = Column::words("why").rank(4);
    let mut rounds = Column::numbers("rounds").rank(5);
    for case in cases {
        let own = chosen(case);
        n.push(Tone::Plain, size(case));
        winner.push(Tone::Good, short(&case.chosen));
        match &case.near {
            Some(name) => near.push(Tone::Plain, short(name)),
            None => near.push(Tone::Faint, "same"),
        }
        let own_ticks = own.and_then(|own| own.ticks);
        ticks.push(Tone::Plain, own_ticks.map_or("-".to_owned(), |ticks| format!("{ticks:.2}")));
        let ratio = own_ticks.zip(portable_ticks(case)).map(|(own, portable)| portable / own);
        gain.push(Tone::Strong, ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x")));
        margin.push(Tone::Plain, case.margin.map_or("-".to_owned(), percent));
        reason.push(Tone::Plain, case.reason.word());
        rounds.push(Tone::Faint, own.map_or(0, |own| own.rounds).to_string());
    }
    let mut text = canvas.table(&[n, winner, near, ticks, gain, margin, reason, rounds]);
    if cases.iter().any(|case| case.reason == Reason::Tie) {
        let line = "tie: the fastest cannot be told apart; the smallest code of them wins";
        text += &faint(canvas, line);
    }
    text
}

/// A remark under a table.
fn faint(canvas: &Canvas, line: &str) -> String {
    canvas.wrapped("  ", line.split(' ')).lines().map(|line| canvas.paint(Tone::Faint, line) + "\n").collect()
}

/// Where a candidate stands in the table of all: variants that differ in `exactN` alone share a row.
fn row_label(name: &str) -> String {
    let fold = |part: &str| match part.strip_prefix("exact") {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => "exactN".to_owned(),
        _ => part.to_owned(),
    };
    short(name).split('.').map(fold).collect::<Vec<_>>().join(".")
}

/// One row for each candidate that was measured, one column for each size class.
fn candidates(cases: &[&CaseReport], unit: &str, canvas: &Canvas) -> String {
    let mut labels: Vec<String> = Vec::new();
    for case in cases {
        for candidate in case.candidates.iter().filter(|candidate| candidate.ticks.is_some()) {
            let label = row_label(&candidate.variant);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
    }
    if labels.is_empty() {
        return String::new();
    }
    // The rows stand in the order of the specs, whatever case saw a row first.
    let order = |label: &String| {
        cases[0].candidates.iter().position(|candidate| row_label(&candidate.variant) == **label).unwrap_or(usize::MAX)
    };
    labels.sort_by_key(order);
    let column = |case: &CaseReport| {
        let mut column = Column::numbers(format!("n = {} ", size(case)));
        for label in &labels {
            // Of the variants that share a row, at most one serves this size.
            let measured = case.candidates.iter().find(|c| c.ticks.is_some() && row_label(&c.variant) == *label);
            let Some((candidate, ticks)) = measured.and_then(|c| Some((c, c.ticks?))) else {
                column.push(Tone::Faint, "");
                continue;
            };
            let serves_others = case.near.as_ref() == Some(&candidate.variant);
            let (tone, mark) = match candidate.state {
                State::Won => (Tone::Good, '*'),
                _ if serves_others => (Tone::Strong, '+'),
                State::Tied => (Tone::Strong, '='),
                State::Lost => (Tone::Plain, '\u{a0}'),
                _ => (Tone::Faint, '\u{a0}'),
            };
            column.push(tone, format!("{ticks:.2}{mark}"));
        }
        column
    };
    let mut names = Column::words(per(cases, unit));
    for label in &labels {
        names.push(Tone::Plain, label.as_str());
    }
    let columns: Vec<Column> = cases.iter().map(|case| column(case)).collect();
    let mut text = String::new();
    // Too many sizes for the width go below each other.
    let mut rest = columns.as_slice();
    while !rest.is_empty() {
        let mut width = names.width() + 2;
        let fit = rest.iter().take_while(|column| {
            width += column.width() + 2;
            width <= canvas.width
        });
        let (now, later) = rest.split_at(fit.count().max(1));
        let mut part = vec![names.clone()];
        part.extend_from_slice(now);
        text += &canvas
            .table(&part)
            .replace('\u{a0}', " ")
            .lines()
            .fold(String::new(), |text, line| text + line.trim_end() + "\n");
        rest = later;
        if !rest.is_empty() {
            text.push('\n');
        }
    }
    let legend = "* fastest at this n   + serves the other lengths   = not to be told apart from the fastest";
    text + &faint(canvas, legend)
}

/// Whoever can take part in no race of the kernel, and why.
fn excluded<'a>(cases: &[&'a CaseReport]) -> Vec<(&'a str, State, &'a str)> {
    let mut found: BTreeMap<usize, (&str, State, &str)> = BTreeMap::new();
    // A variant for one n alone is ineligible for the other classes only.
    let never_fits = |name: &str| {
        cases.iter().flat_map(|case| &case.candidates).all(|c| c.variant != name || c.state == State::Ineligible)
    };
    for case in cases {
        for (index, candidate) in case.candidates.iter().enumerate() {
            let is_out = match candidate.state {
                State::Quarantined | State::Denied => true,
                State::Ineligible => never_fits(&candidate.variant),
                State::Won | State::Tied | State::Lost | State::Dropped | State::Unmeasured => false,
            };
            if is_out {
                let why = candidate.why.as_deref().unwrap_or("no reason is known");
                found.insert(index, (&candidate.variant, candidate.state, why));
            }
        }
    }
    found.into_values().collect()
}

fn labelled(canvas: &Canvas, tone: Tone, label: &str, variant: &str, why: &str) -> String {
    let first = format!("  {label:<11}  ");
    let words = [short(variant), "-"].into_iter().chain(why.split(' '));
    let text = canvas.wrapped(&first, words);
    text.replacen(label, &canvas.paint(tone, label), 1)
}

/// Variants with the same reason are told together once there are this many; what failed always has a line of its own.
const TOGETHER: usize = 4;

fn outside(cases: &[&CaseReport], canvas: &Canvas) -> String {
    let mut text = String::new();
    let excluded = excluded(cases);
    let mut told: Vec<(State, &str)> = Vec::new();
    for &(variant, state, why) in &excluded {
        if state == State::Quarantined {
            text += &labelled(canvas, Tone::Bad, state.word(), variant, why);
            continue;
        }
        let same = excluded.iter().filter(|other| (other.1, other.2) == (state, why));
        let names: Vec<&str> = same.map(|(variant, ..)| short(variant)).collect();
        if names.len() < TOGETHER {
            text += &labelled(canvas, Tone::Notice, state.word(), variant, why);
        } else if !told.contains(&(state, why)) {
            told.push((state, why));
            text += &labelled(canvas, Tone::Notice, state.word(), &format!("{} variants", names.len()), why);
            text += &canvas.wrapped(&" ".repeat(15), names);
        }
    }
    let mut notes: Vec<&str> = cases.iter().flat_map(|case| &case.notes).map(String::as_str).collect();
    notes.dedup();
    for note in notes {
        text += &canvas.wrapped("  note         ", note.split(' '));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Variants that take no part: each reason once, with all that it holds for.
pub fn together<'a>(canvas: &Canvas, label: &str, out: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (variant, why) in out {
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, variants)) => variants.push(variant),
            None => reasons.push((why, vec![variant])),
        }
    }
    let first = format!("  {label}  ");
    let mut text = String::new();
    for (why, variants) in reasons {
        let names: Vec<&str> = variants.iter().map(|variant| short(variant)).collect();
        let (who, names) = match names.as_slice() {
            [only] => ((*only).to_owned(), Vec::new()),
            several => (format!("{} variants", several.len()), names),
        };
        let line = canvas.wrapped(&first, format!("{who}: {why}").split(' '));
        text += &line.replacen(label, &canvas.paint(Tone::Notice, label), 1);
        if !names.is_empty() {
            text += &canvas.wrapped(&" ".repeat(first.chars().count()), names);
        }
    }
    text
}

/// One line for each quarantined variant.
pub fn quarantine_warnings(cases: &[CaseReport]) -> Vec<String> {
    let mut lines = Vec::new();
    for cases in by_kernel(cases) {
        for (variant, state, why) in excluded(&cases) {
            if state == State::Quarantined {
                lines.push(format!("{variant} is quarantined: {why}"));
            }
        }
    }
    lines
}

fn footer(document: &Document, canvas: &Canvas) -> String {
    let kernels = by_kernel(&document.kernels);
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let classes = document.kernels.len();
    let classes = if classes == 1 { "1 size class".to_owned() } else { format!("{classes} size classes") };
    let seconds = document.elapsed_ms / 1000.0;
    let line = format!("{} in {classes} tuned in {seconds:.2} s", plural(kernels.len(), "kernel"));
    let mut text = format!("\n{}", canvas.wrapped("", line.split(' ')));
    let quarantined = quarantine_warnings(&document.kernels).len();
    if quarantined > 0 {
        let line = format!("{} failed verification and will not be used", plural(quarantined, "variant"));
        let lines = canvas.wrapped("", line.split(' '));
        text.extend(lines.lines().map(|line| canvas.paint(Tone::Bad, line) + "\n"));
    }
    if let Some(case) = document.kernels.first() {
        let _ = writeln!(text, "next: kiln explain {}", case.kernel);
        let _ = writeln!(text, "      kiln show {}", case.chosen);
    }
    text
}

/// The decisions of `kiln explain`.
pub fn explain(cases: &[CaseReport], unit: &str, canvas: &Canvas) -> String {
    let mut text = String::new();
    for cases in by_kernel(cases) {
        let _ = write!(text, "\n{}\n", canvas.paint(Tone::Strong, &cases[0].kernel));
        for case in &cases {
            text.push('\n');
            text += &decision(case, unit, canvas);
        }
        text += &outside(&cases, canvas);
    }
    text
}

/// What the word does not say.
fn because(reason: Reason, measured: bool) -> &'static str {
    match (reason, measured) {
        (Reason::Tie, _) => ": not to be told apart from the fastest; the earlier decision or the smaller code wins",
        (Reason::Budget, true) => ": time ran out; the best so far",
        (Reason::Budget, false) => ": time ran out before anything was measured; the preferred one, or portable",
        (Reason::Static, _) => ": not measured; the preferred one, or portable",
        (Reason::Forced, _) => ": an override says so",
        (Reason::Only, _) => ": there is no other",
        (Reason::Fastest | Reason::Remembered, _) => "",
    }
}

fn decision(case: &CaseReport, unit: &str, canvas: &Canvas) -> String {
    let label = format!("  {:<8}", if case.case.is_empty() { "any n" } else { &case.case });
    let near = match &case.near {
        Some(near) => format!("; {} for other lengths", short(near)),
        None => String::new(),
    };
    let name = short(&case.chosen);
    let line = format!("{name} ({}){near}", case.origin);
    let mut text = canvas.wrapped(&label, line.split(' ')).replacen(name, &canvas.paint(Tone::Good, name), 1);
    let indent = " ".repeat(label.len());
    let measured = chosen(case).is_some_and(|own| own.ticks.is_some());
    let mut why = format!("{}{}", case.reason, because(case.reason, measured));
    if let Some(margin) = case.margin.filter(|margin| *margin > 0.0) {
        let _ = write!(why, ", the next best takes {} longer", percent(margin));
    }
    if let Some(p_value) = case.p_value {
        let _ = write!(
            why,
            ", p = {}",
            if p_value < 0.0001 { "0.0001 or less".to_owned() } else { format!("{p_value:.4}") }
        );
    }
    text += &canvas.wrapped(&format!("{indent}why    "), why.split(' '));
    let mut raced: Vec<&CandidateReport> = case.candidates.iter().filter(|c| c.ticks.is_some()).collect();
    raced.sort_by(|a, b| a.ticks.unwrap_or(0.0).total_cmp(&b.ticks.unwrap_or(0.0)));
    if !raced.is_empty() {
        let parts: Vec<String> = raced
            .iter()
            .map(|c| {
                let state = if c.state == State::Won { String::new() } else { format!(" ({})", c.state) };
                format!("{} {:.2}{state}", short(&c.variant), c.ticks.unwrap_or(0.0))
            })
            .collect();
        let line = format!("{} {unit}/{}", parts.join(", "), case.per);
        text += &canvas.wrapped(&format!("{indent}raced  "), line.split(' '));
    }
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for candidate in case.candidates.iter().filter(|c| c.ticks.is_none() && c.state == State::Unmeasured) {
        *others.entry(candidate.why.as_deref().unwrap_or("not measured")).or_default() += 1;
    }
    if !others.is_empty() {
        let parts: Vec<String> = others.into_iter().map(|(why, count)| format!("{count} {why}")).collect();
        text += &canvas.wrapped(&format!("{indent}others "), parts.join(", ").split(' '));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once() {
        let out = [("k.a/x.u1", "it is late"), ("k.a/y", "it is small"), ("k.a/x.u2", "it is late")];
        let text = together(&Canvas::plain(100), "not made", out.into_iter());
        assert_eq!(text, "  not made  2 variants: it is late\n            x.u1 x.u2\n  not made  y: it is small\n");
    }
    use crate::command::{Identity, tune};

    fn candidate(variant: &str, state: State, ticks: Option<f64>, why: Option<&str>) -> CandidateReport {
        let variant = format!("limb64.mul_add/{variant}");
        CandidateReport { variant, state, why: why.map(Into::into), ticks, spread: ticks.map(|_| 0.02), rounds: 28 }
    }

    fn case(n: u64, chosen: &str, near: Option<&str>, candidates: Vec<CandidateReport>) -> CaseReport {
        CaseReport {
            kernel: "limb64.mul_add".into(),
            case: format!("n={n}"),
            chosen: format!("limb64.mul_add/{chosen}"),
            per: "limb",
            origin: "compiled",
            reason: Reason::Fastest,
            margin: Some(0.0812),
            p_value: Some(0.00021),
            near: near.map(|near| format!("limb64.mul_add/{near}")),
            notes: vec![],
            candidates,
        }
    }

    fn cases() -> Vec<CaseReport> {
        let alone = Some("serves n = 4 alone");
        let adx = Some("needs adx, which this CPU does not have");
        let wrong = Some("wrong result in r at n = 9 (3 of 412 cases failed)");
        vec![
            case(
                4,
                "mulx.exact4",
                Some("mulx.u8"),
                vec![
                    candidate("portable.u4", State::Dropped, Some(3.0), None),
                    candidate("mulx.u8", State::Lost, Some(1.62), None),
                    candidate("mulx.exact4", State::Won, Some(1.5), None),
                    candidate("mulx_adx.u8", State::Ineligible, None, adx),
                    candidate("mulx.broken", State::Quarantined, None, wrong),
                ],
            ),
            case(
                128,
                "mulx.u8",
                None,
                vec![
                    candidate("portable.u4", State::Dropped, Some(2.5), None),
                    candidate("mulx.u8", State::Won, Some(1.25), None),
                    candidate("mulx.exact4", State::Ineligible, None, alone),
                    candidate("mulx_adx.u8", State::Ineligible, None, adx),
                    candidate("mulx.broken", State::Quarantined, None, wrong),
                ],
            ),
        ]
    }

    fn document() -> Document {
        let cpu = Identity {
            vendor: "AuthenticAMD".into(),
            brand: "AMD EPYC 7R13".into(),
            family: 25,
            model: 1,
            stepping: 1,
            microcode: None,
            hypervisor: true,
            fingerprint: String::new(),
        };
        let clock = Clockwork { counter: true, per_microsecond: 2450, has: vec!["bmi2", "sse2"] };
        tune::fixed(cpu, cases(), clock)
    }

    #[test]
    fn the_report_of_tune() {
        let expected = "\
AMD EPYC 7R13 | bmi2 sse2 | time stamp counter, 2.45 GHz

limb64.mul_add

    n  winner       other lengths  ticks/limb  vs portable  margin  why      rounds
  ---------------------------------------------------------------------------------
    4  mulx.exact4  mulx.u8              1.50        2.00x   8.1 %  fastest      28
  128  mulx.u8      same                 1.25        2.00x   8.1 %  fastest      28

  ticks/limb   n = 4   n = 128
  -----------------------------
  portable.u4   3.00      2.50
  mulx.u8       1.62+     1.25*
  mulx.exactN   1.50*
  * fastest at this n   + serves the other lengths   = not to be told apart from the fastest

  ineligible   mulx_adx.u8 - needs adx, which this CPU does not have
  quarantined  mulx.broken - wrong result in r at n = 9 (3 of 412 cases failed)

1 kernel in 2 size classes tuned in 1.23 s
1 variant failed verification and will not be used
next: kiln explain limb64.mul_add
      kiln show limb64.mul_add/mulx.exact4
";
        let text = tune(&document(), &Canvas::plain(100));
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn every_width_is_kept() {
        for width in [40, 50, 60, 80, 100] {
            let text = tune(&document(), &Canvas::plain(width));
            let longest =
                text.lines().filter(|line| !line.contains("kiln show")).map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}: {longest:?}\n{text}");
            let text = explain(&cases(), "ticks", &Canvas::plain(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        }
    }

    #[test]
    fn the_paragraphs_of_explain() {
        let expected = "
limb64.mul_add

  n=4     mulx.exact4 (compiled); mulx.u8 for other lengths
          why    fastest, the next best takes 8.1 % longer, p = 0.0002
          raced  mulx.exact4 1.50, mulx.u8 1.62 (lost), portable.u4 3.00 (dropped) ticks/limb
";
        let text = explain(&cases(), "ticks", &Canvas::plain(100));
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn the_document_of_tune_has_its_shape() {
        let document = serde_json::to_value(document()).unwrap();
        assert_eq!(document["schema"], "kiln.tune/1");
        assert_eq!(document["elapsed_ms"], 1234.5);
        let case = &document["kernels"][0];
        assert_eq!(
            (&case["case"], &case["reason"], &case["origin"]),
            (&"n=4".into(), &"fastest".into(), &"compiled".into())
        );
        assert_eq!(case["candidates"][2]["state"], "won");
        assert!(document.get("clock").is_none());
    }

    #[test]
    fn many_with_one_reason_are_told_together() {
        let why = Some("needs adx, which this CPU does not have");
        let names = ["a.u1", "a.u2", "a.u4", "a.u8"];
        let out = names.map(|name| candidate(name, State::Ineligible, None, why)).to_vec();
        let text = outside(&[&case(4, "b.u1", None, out)], &Canvas::plain(100));
        let expected = "
  ineligible   4 variants - needs adx, which this CPU does not have
               a.u1 a.u2 a.u4 a.u8
";
        assert_eq!(text, expected);
    }

    #[test]
    fn quarantine_is_said_aloud() {
        assert_eq!(
            quarantine_warnings(&cases()),
            ["limb64.mul_add/mulx.broken is quarantined: wrong result in r at n = 9 (3 of 412 cases failed)"]
        );
    }
}
