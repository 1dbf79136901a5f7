//! `kiln compare`: what changed between two sweeps, as text, as a document and as an exit status.

use serde::Serialize;

use super::report::load;
use crate::Context;
use crate::args::CompareOptions;
use crate::canvas::{Canvas, Column, Tone};
use crate::compare::{Comparison, Row, Verdict, compare};
use crate::failure::Failure;
use crate::report::load::Loader;
use crate::report::model::{Machine, Model, Source};
use crate::report::scale::{figure, percent, plural, tolerance};

/// Most rows that are printed; a document has all.
const MOST_ROWS: usize = 40;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    old: Side<'a>,
    new: Side<'a>,
    /// Whether nothing is slower and nothing wrong: exit status 0.
    good: bool,
    doubts: Vec<String>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

#[derive(Debug, Serialize)]
struct Side<'a> {
    files: &'a [Source],
    machines: &'a [Machine],
}

impl<'a> From<&'a Model> for Side<'a> {
    fn from(model: &'a Model) -> Side<'a> {
        Side { files: &model.files, machines: &model.machines }
    }
}

/// Compares.
pub fn run(context: &Context<'_>, options: &CompareOptions) -> Result<bool, Failure> {
    let read = |path: &std::path::Path| load(context, Loader::new(false).with_samples(), &[path]);
    let (old, new) = (read(&options.old)?, read(&options.new)?);
    let comparison = compare(&old, &new, options.threshold, options.level).ok_or(Failure::NothingInCommon)?;
    let document = Document {
        schema: "kiln.compare/1",
        old: (&old).into(),
        new: (&new).into(),
        good: comparison.is_good(),
        doubts: doubts(&comparison),
        comparison: &comparison,
    };
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(comparison.is_good())
}

/// What a reader should know before he believes it.
fn doubts(comparison: &Comparison) -> Vec<String> {
    let mut doubts = Vec::new();
    if comparison.other_machine {
        doubts.push("The machines are not the same.".to_owned());
    }
    if let Some(ratio) = comparison.median_ratio.filter(|ratio| ratio.ln().abs() > comparison.threshold.ln_1p() / 2.0) {
        let change = percent(ratio - 1.0);
        doubts.push(format!("The median change is {change}: another clock, load or code for all points alike?"));
    }
    if comparison.hopeless > 0 {
        doubts.push(format!(
            "{} of so few windows that no difference could be significant: measure longer, or compare less.",
            plural(comparison.hopeless as u64, "comparison")
        ));
    }
    if comparison.drifting * 20 > comparison.rows.len() {
        let text = "The windows of {} of the points drift: the test takes them to be independent, and finds too much.";
        doubts.push(text.replace("{}", &percent(comparison.drifting as f64 / comparison.rows.len() as f64)));
    }
    let untested = comparison.count(Verdict::Untested) as u64;
    if untested > 0 {
        doubts.push(format!("{} without windows: nothing is said of them.", plural(untested, "point")));
    }
    doubts
}

fn draw(document: &Document<'_>, canvas: &Canvas) -> String {
    let comparison = document.comparison;
    let mut text = String::new();
    let changed: Vec<&Row> =
        comparison.rows.iter().filter(|row| !matches!(row.verdict, Verdict::Same | Verdict::Untested)).collect();
    if !changed.is_empty() {
        text += &table(&changed[..changed.len().min(MOST_ROWS)], document.new.machines.len() > 1, canvas);
        if changed.len() > MOST_ROWS {
            text += &format!("  and {} more; --json has all\n", changed.len() - MOST_ROWS);
        }
        text.push('\n');
    }
    let count = |verdict: Verdict| comparison.count(verdict);
    let mut parts = vec![
        format!(
            "{} slower and {} faster by more than {}",
            count(Verdict::Slower),
            count(Verdict::Faster),
            tolerance(comparison.threshold)
        ),
        format!("{} the same", count(Verdict::Same)),
    ];
    for (verdict, words) in [(Verdict::Broken, "wrong now"), (Verdict::Gone, "not to be measured any more")] {
        if count(verdict) > 0 {
            parts.insert(0, format!("{} {words}", count(verdict)));
        }
    }
    let tone = if document.good { Tone::Good } else { Tone::Bad };
    text += &format!("{}\n", canvas.paint(tone, parts.join(", ")));
    let tested = plural(comparison.comparisons as u64, "comparison");
    let about = format!("{tested}, rank tests, p-values corrected by Holm's procedure, level {}", comparison.level);
    text += &canvas.wrapped("  ", about.split(' '));
    if comparison.only_old + comparison.only_new > 0 {
        text += &format!("  {} in the old sweep alone, {} in the new\n", comparison.only_old, comparison.only_new);
    }
    for doubt in &document.doubts {
        text += &canvas.wrapped("  ", doubt.split(' '));
    }
    if canvas.unicode { text } else { text.replace('–', "-") }
}

fn table(rows: &[&Row], machines: bool, canvas: &Canvas) -> String {
    let mut verdict = Column::words("");
    let mut variant = Column::words("variant");
    let mut machine = Column::words("machine").rank(4);
    let mut n = Column::numbers("n");
    let mut old = Column::numbers("old").rank(2);
    let mut new = Column::numbers("new").rank(2);
    let mut change = Column::numbers("change");
    let mut interval = Column::words("interval").rank(3);
    let mut p = Column::numbers("p").rank(1);
    for row in rows {
        let tone = match row.verdict {
            Verdict::Broken | Verdict::Slower => Tone::Bad,
            Verdict::Faster => Tone::Good,
            Verdict::Gone => Tone::Notice,
            Verdict::Same | Verdict::Untested => Tone::Plain,
        };
        verdict.push(tone, row.verdict.word());
        variant.push(Tone::Plain, format!("{}/{}", row.kernel, row.variant));
        machine.push(Tone::Plain, row.machine.as_str());
        n.push(Tone::Plain, row.n.to_string());
        old.push(Tone::Plain, figure(row.old));
        new.push(Tone::Plain, row.new.map_or("-".to_owned(), figure));
        change.push(tone, row.change.map_or("-".to_owned(), signed));
        interval.push(
            Tone::Faint,
            row.interval.map_or(String::new(), |[low, high]| format!("{} to {}", signed(low), signed(high))),
        );
        p.push(Tone::Plain, row.p_holm.map_or("-".to_owned(), probability));
    }
    let mut columns = vec![verdict, variant, n, old, new, change, interval, p];
    if machines {
        columns.insert(2, machine);
    }
    canvas.table(&columns)
}

fn signed(change: f64) -> String {
    let text = percent(change);
    if change > 0.0 { format!("+{text}") } else { text }
}

/// `0.0031`, `<1e-6`.
fn probability(p: f64) -> String {
    match p {
        _ if p < 1e-6 => "<1e-6".to_owned(),
        _ if p < 1e-3 => format!("{p:.0e}"),
        _ => format!("{p:.3}"),
    }
}
