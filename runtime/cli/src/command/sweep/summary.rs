//! What a sweep prints at its end.

use std::collections::BTreeMap;

use kiln_runtime::timer::Unit;
use serde::Serialize;

use crate::args::SweepOptions;
use crate::canvas::{Canvas, Column, Tone};
use crate::sweep::engine::{Counts, Engine};
use crate::sweep::record::Search;
use crate::sweep::space::{RefusedValue, Space};

/// What is printed.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: &'static str,
    kind: &'static str,
    out: String,
    run: String,
    unit: &'static str,
    points: usize,
    /// Points that the file had before.
    found: usize,
    measured: usize,
    imprecise: usize,
    ineligible: usize,
    refused: usize,
    pub failed: usize,
    /// Points for which there was no time.
    left: usize,
    elapsed_s: f64,
    refused_values: Vec<Refused>,
    best: Vec<Best>,
}

/// A value that a strategy does not take.
#[derive(Debug, Serialize)]
pub struct Refused {
    kernel: &'static str,
    strategy: String,
    key: String,
    value: String,
    why: String,
}

/// The fastest point of a kernel and length.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    kernel: String,
    n: u64,
    per: String,
    variant: String,
    ticks: f64,
    low: Option<f64>,
    high: Option<f64>,
    bytes: Option<u64>,
    predicted: Option<f64>,
    /// Points of this kernel and length that have a time.
    of: usize,
}

/// What came of a sweep.
pub fn summary(
    engine: &Engine<'_>,
    options: &SweepOptions,
    found: usize,
    looked_at: usize,
    counts: Counts,
    spaces: &[Space],
    unit: Unit,
) -> Document {
    let mut best: BTreeMap<(usize, u64), Best> = BTreeMap::new();
    for (cell, point) in &engine.points {
        let Some(ticks) = point.ticks else { continue };
        let this = Best {
            kernel: point.kernel.clone(),
            n: point.n,
            per: point.unit.clone(),
            variant: point.variant.clone(),
            ticks,
            low: point.low,
            high: point.high,
            bytes: point.known.bytes,
            predicted: point.known.predicted,
            of: 1,
        };
        best.entry((cell.kernel, cell.n))
            .and_modify(|best| {
                let of = best.of + 1;
                if (ticks, &this.variant) < (best.ticks, &best.variant) {
                    *best = this.clone();
                }
                best.of = of;
            })
            .or_insert(this);
    }
    let refused_values = spaces.iter().flat_map(|space| {
        space.refused.iter().map(|RefusedValue { strategy, key, value, why }| Refused {
            kernel: space.kernel.name,
            strategy: strategy.clone(),
            key: key.clone(),
            value: value.clone(),
            why: why.clone(),
        })
    });
    let done = counts.measured + counts.imprecise + counts.ineligible + counts.refused + counts.failed;
    Document {
        schema: "kiln.sweep/1",
        kind: "summary",
        out: options.out.display().to_string(),
        run: engine.run.clone(),
        unit: unit.word(),
        points: looked_at,
        found,
        measured: counts.measured,
        imprecise: counts.imprecise,
        ineligible: counts.ineligible,
        refused: counts.refused,
        failed: counts.failed,
        left: if options.strategy == Search::Local { 0 } else { looked_at.saturating_sub(found + done) },
        elapsed_s: (engine.elapsed().as_secs_f64() * 1e3).round() / 1e3,
        refused_values: refused_values.collect(),
        best: best.into_values().collect(),
    }
}

/// For people: the fastest of each kernel and length, and how many points ended how.
pub fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = String::new();
    let mut kernels: Vec<&str> = document.best.iter().map(|best| best.kernel.as_str()).collect();
    kernels.dedup();
    for kernel in kernels {
        let rows: Vec<&Best> = document.best.iter().filter(|best| best.kernel == kernel).collect();
        let mut n = Column::numbers("n");
        let mut variant = Column::words("fastest");
        let mut ticks = Column::numbers(format!("{}/{}", document.unit, rows[0].per));
        let mut interval = Column::words("95 %").rank(1);
        let mut predicted = Column::numbers("model").rank(3);
        let mut bytes = Column::numbers("bytes").rank(2);
        let mut of = Column::numbers("of points").rank(4);
        for row in rows {
            let dash = if canvas.unicode { "–" } else { "-" };
            n.push(Tone::Plain, row.n.to_string());
            variant.push(Tone::Good, row.variant.clone());
            ticks.push(Tone::Plain, digits(row.ticks));
            let ends = row.low.zip(row.high).map(|(low, high)| format!("{} {dash} {}", digits(low), digits(high)));
            interval.push(Tone::Faint, ends.unwrap_or_default());
            predicted.push(Tone::Faint, row.predicted.map(digits).unwrap_or_default());
            bytes.push(Tone::Plain, row.bytes.map(|bytes| bytes.to_string()).unwrap_or_default());
            of.push(Tone::Faint, row.of.to_string());
        }
        text += &format!("{}\n\n", canvas.paint(Tone::Strong, kernel));
        text += &canvas.table(&[n, variant, ticks, interval, predicted, bytes, of]);
        text.push('\n');
    }
    for (key, values) in by_reason(&document.refused_values) {
        text += &canvas.wrapped("  ", format!("{key}: {values}").split(' '));
    }
    let counts = [
        (document.measured, "measured"),
        (document.imprecise, "with a wider interval than asked for"),
        (document.ineligible, "cannot run here"),
        (document.refused, "refused by the generator"),
        (document.failed, "WRONG"),
        (document.found, "in the file already"),
        (document.left, "not reached in time"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let line = format!(
        "{} points: {}; {:.1} s. Written to {}; `kiln report {} --out report.html` draws it.",
        document.points,
        counts.join(", "),
        document.elapsed_s,
        document.out,
        document.out
    );
    text += &canvas.wrapped("", line.split(' '));
    text
}

/// Refused values that have a reason in common, in one line each.
fn by_reason(refused: &[Refused]) -> BTreeMap<String, String> {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for value in refused {
        let key = format!("{} {}: {}", value.kernel, value.strategy, value.why);
        let list = lines.entry(key).or_insert_with(|| format!("no {} =", value.key));
        *list += &format!(" {}", value.value);
    }
    lines
}

/// Four digits that count.
fn digits(value: f64) -> String {
    if value >= 1000.0 {
        format!("{value:.0}")
    } else if value >= 100.0 {
        format!("{value:.1}")
    } else if value >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}
