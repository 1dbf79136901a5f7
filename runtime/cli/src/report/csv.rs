//! Every point as a line of comma-separated values (RFC 4180), for spreadsheets.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::model::Model;

/// Writes every point, with a column for each parameter that any of them has.
///
/// # Errors
/// What the writer says.
pub fn csv(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    let keys: BTreeSet<&str> =
        model.variants.iter().flat_map(|variant| variant.set.iter().map(|(key, _)| &**key)).collect();
    let first = ["machine", "kernel", "variant", "strategy"].map(str::to_owned);
    let settings = keys.iter().map(|key| format!("set.{key}"));
    let last = [
        "n",
        "unit",
        "mode",
        "state",
        "why",
        "ticks",
        "low",
        "high",
        "ns",
        "limit",
        "windows",
        "drifts",
        "instructions",
        "bytes",
        "spills",
        "critical_path",
        "bound",
        "predicted",
        "file",
        "line",
    ];
    let heads: Vec<String> = first.into_iter().chain(settings).chain(last.map(str::to_owned)).collect();
    row(out, heads.iter().map(String::as_str))?;
    let number = |number: Option<f64>| number.filter(|number| number.is_finite()).map(|number| number.to_string());
    let small = |number: Option<f32>| number.map(|number| number.to_string());
    let whole = |number: Option<u32>| number.map(|number| number.to_string());
    for point in &model.points {
        let variant = &model.variants[point.variant as usize];
        let machine = &model.machines[point.machine as usize];
        let known = &point.known;
        let mut cells: Vec<String> = vec![
            machine.label.clone(),
            variant.kernel.to_string(),
            variant.name.to_string(),
            variant.strategy.to_string(),
        ];
        cells.extend(keys.iter().map(|key| variant.setting(key).map(ToString::to_string).unwrap_or_default()));
        cells.extend([
            point.n.to_string(),
            point.unit.to_string(),
            point.mode.word().into(),
            point.state.word().into(),
        ]);
        cells.push(point.why.as_deref().unwrap_or_default().to_owned());
        let ns = machine.per_nanosecond.map(|rate| point.ticks / rate);
        let times = [Some(point.ticks), Some(point.low), Some(point.high), ns];
        cells.extend(times.map(|time| number(time).unwrap_or_default()));
        cells.push(small(point.limit).unwrap_or_default());
        cells.extend([point.windows.to_string(), u8::from(point.drifts).to_string()]);
        cells.extend([known.instructions, known.bytes, known.spills].map(|count| whole(count).unwrap_or_default()));
        cells.extend([known.critical_path, known.bound, known.predicted].map(|time| small(time).unwrap_or_default()));
        cells.extend([model.files[point.file as usize].path.clone(), point.line.to_string()]);
        row(out, cells.iter().map(String::as_str))?;
    }
    out.flush()
}

fn row<'a>(out: &mut dyn Write, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        if cell.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            out.write_all(cell.as_bytes())?;
        }
    }
    out.write_all(b"\r\n")
}
