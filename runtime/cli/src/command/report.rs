//! `kiln report`: files of sweeps to a page, pictures, tables and a document.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use kiln_codegen::error::visible;
use serde::Serialize;

use crate::Context;
use crate::args::ReportOptions;
use crate::canvas::{Canvas, Column, Tone};
use crate::failure::Failure;
use crate::names::nearest;
use crate::progress::Progress;
use crate::report::load::Loader;
use crate::report::model::{Machine, Model, Run, Source};
use crate::report::scale::{figure, tolerance};
use crate::report::section::{Section, sections};
use crate::report::{Options, csv, markdown, page, pictures, summary, tables};

/// Warnings of a file that are printed.
const PRINTED: usize = 5;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: &'a [Source],
    machines: &'a [Machine],
    runs: &'a [Run],
    doubts: Vec<String>,
    kernels: Vec<Kernel>,
    written: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Kernel {
    kernel: String,
    mode: &'static str,
    unit: String,
    /// The parameter on the axis.
    axis: Option<String>,
    variants: usize,
    best: Vec<Best>,
    atlas: Vec<Atlas>,
    /// Variants that are nowhere the fastest, nor indistinguishable from it.
    never_win: Vec<NeverWins>,
}

#[derive(Debug, Serialize)]
struct Best {
    /// Index in `machines`.
    machine: u32,
    n: u64,
    variant: String,
    ticks: f64,
    low: f64,
    high: f64,
    limit: Option<f64>,
    line: String,
}

#[derive(Debug, Serialize)]
struct Atlas {
    within: f64,
    at_least: usize,
    variants: Vec<Member>,
}

#[derive(Debug, Serialize)]
struct Member {
    variant: String,
    /// Where it is good enough: indices in `best`.
    places: Vec<usize>,
}

#[derive(Debug, Serialize)]
struct NeverWins {
    variant: String,
    /// How much longer than the best it takes where it is closest.
    closest: f64,
    machine: u32,
    n: u64,
    line: String,
}

/// Reads files of sweeps.
pub fn load(context: &Context<'_>, mut loader: Loader, paths: &[&Path]) -> Result<Model, Failure> {
    let progress = Progress::new(paths.len());
    for path in paths {
        progress.doing(format!("reading {}", visible(&path.display().to_string())));
        loader.file(path).map_err(|why| Failure::Unreadable { path: path.to_path_buf(), why })?;
        progress.step();
    }
    drop(progress);
    let model = loader.finish();
    for file in &model.files {
        for warning in file.warnings.iter().take(PRINTED) {
            let place = if warning.line == 0 { String::new() } else { format!(":{}", warning.line) };
            context.warn(&format!("{}{place}: {}", visible(&file.path), warning.what));
        }
        let all = file.damaged + file.inconsistent;
        if all > PRINTED as u64 {
            context.warn(&format!("{}: {} lines are damaged or doubtful in all", visible(&file.path), all));
        }
    }
    if model.points.is_empty() { Err(Failure::NoPoints) } else { Ok(model) }
}

/// Reports.
pub fn run(context: &Context<'_>, options: &ReportOptions) -> Result<bool, Failure> {
    let paths: Vec<&Path> = options.files.iter().map(std::path::PathBuf::as_path).collect();
    let model = load(context, Loader::new(options.by_file), &paths)?;
    if let Some(key) = &options.x {
        let numbers =
            || model.variants.iter().flat_map(|variant| variant.set.iter().map(move |(key, _)| (variant, key)));
        let numbers: std::collections::BTreeSet<&str> =
            numbers().filter(|(variant, key)| variant.number(key).is_some()).map(|(_, key)| &**key).collect();
        if !numbers.contains(key.as_str()) {
            return Err(Failure::UnknownParameter(nearest(key, numbers)));
        }
    }
    let sections = sections(&model, options.x.as_deref());
    let own = Options { within: options.within.clone() };
    let mut written = Vec::new();
    let mut write = |path: &Path, text: &dyn Fn() -> String| {
        written.push(path.display().to_string());
        fs::write(path, text()).map_err(|why| Failure::Unwritable { path: path.to_path_buf(), why })
    };
    if let Some(path) = &options.out {
        write(path, &|| page::page(&model, &sections, &own))?;
    }
    if let Some(path) = &options.markdown {
        write(path, &|| markdown::markdown(&model, &sections, &own))?;
    }
    if let Some(folder) = &options.svg {
        fs::create_dir_all(folder).map_err(|why| Failure::Unwritable { path: folder.clone(), why })?;
        for (name, text) in pictures(&sections) {
            write(&folder.join(name), &|| text.clone())?;
        }
    }
    if let Some(path) = &options.csv {
        let all = || -> io::Result<()> { csv::csv(&model, &mut BufWriter::new(File::create(path)?)) };
        all().map_err(|why| Failure::Unwritable { path: path.clone(), why })?;
        written.push(path.display().to_string());
    }
    let document = describe(&model, &sections, &own, written);
    context.print(&document, |canvas| draw(&model, &sections, &own, &document, canvas))?;
    Ok(true)
}

fn describe<'a>(model: &'a Model, sections: &[Section<'_>], options: &Options, written: Vec<String>) -> Document<'a> {
    let name = |variant: u32| model.variants[variant as usize].name.to_string();
    let kernel = |section: &Section<'_>| {
        let best = section.places.iter().map(|place| {
            let best = section.best(place);
            Best {
                machine: place.machine,
                n: place.n,
                variant: name(best.variant),
                ticks: best.ticks,
                low: best.low,
                high: best.high,
                limit: place.limit,
                line: section.source(best),
            }
        });
        let atlas = section.atlas(&options.within).into_iter().map(|atlas| Atlas {
            within: atlas.within,
            at_least: atlas.at_least,
            variants: atlas
                .variants
                .into_iter()
                .map(|(variant, places)| Member { variant: name(variant), places })
                .collect(),
        });
        let never = section.losers().into_iter().map(|loser| {
            let point = &section.points[loser.closest];
            NeverWins {
                variant: name(loser.variant),
                closest: loser.ratio - 1.0,
                machine: point.machine,
                n: point.n,
                line: section.source(point),
            }
        });
        Kernel {
            kernel: section.kernel.to_string(),
            mode: section.mode.word(),
            unit: section.unit.to_string(),
            axis: section.axis.as_deref().map(str::to_owned),
            variants: section.variants(),
            best: best.collect(),
            atlas: atlas.collect(),
            never_win: never.collect(),
        }
    };
    Document {
        schema: "kiln.report/1",
        files: &model.files,
        machines: &model.machines,
        runs: &model.runs,
        doubts: tables::doubts(model),
        kernels: sections.iter().map(kernel).collect(),
        written,
    }
}

/// Most pictures and tables that are named one by one.
const NAMED: usize = 6;

fn draw(
    model: &Model,
    sections: &[Section<'_>],
    options: &Options,
    document: &Document<'_>,
    canvas: &Canvas,
) -> String {
    let mut text = format!("{}\n", canvas.paint(Tone::Strong, summary(model, sections)));
    for doubt in &document.doubts {
        text += &canvas.wrapped("  ", doubt.split(' '));
    }
    for (section, kernel) in sections.iter().zip(&document.kernels) {
        text += &format!("\n{}\n\n", canvas.paint(Tone::Strong, section.title()));
        let mut machine = Column::words("machine").rank(4);
        let mut n = Column::numbers("n");
        let mut fastest = Column::words("fastest");
        let mut ticks = Column::numbers(format!("ticks/{}", section.unit));
        let mut interval = Column::words("95 % interval").rank(2);
        let mut limit = Column::numbers("times the limit").rank(3);
        let mut line = Column::words("line").rank(1);
        for best in &kernel.best {
            machine.push(Tone::Plain, model.machines[best.machine as usize].label.as_str());
            n.push(Tone::Plain, best.n.to_string());
            fastest.push(Tone::Good, best.variant.as_str());
            ticks.push(Tone::Plain, figure(best.ticks));
            interval.push(Tone::Faint, format!("{} to {}", figure(best.low), figure(best.high)));
            limit.push(Tone::Plain, best.limit.map_or("-".to_owned(), |limit| figure(best.ticks / limit)));
            line.push(Tone::Faint, best.line.as_str());
        }
        let mut columns = vec![n, fastest, ticks, interval, line];
        if kernel.best.iter().any(|best| best.limit.is_some()) {
            columns.insert(4, limit);
        }
        if model.machines.len() > 1 {
            columns.insert(0, machine);
        }
        text += &canvas.table(&columns);
        for (atlas, within) in kernel.atlas.iter().zip(&options.within) {
            let names: Vec<&str> = atlas.variants.iter().map(|member| member.variant.as_str()).collect();
            let least =
                if atlas.at_least < names.len() { format!(" (at least {})", atlas.at_least) } else { String::new() };
            let first = format!("  within {}: {} of {}{least}: ", tolerance(*within), names.len(), kernel.variants);
            text += &canvas.wrapped(&first, names);
        }
        text += &format!("  never win: {} of {}\n", kernel.never_win.len(), kernel.variants);
    }
    match document.written.as_slice() {
        [] => text += "\nwith --out report.html it is a page, with every number\n",
        few if few.len() <= NAMED => text += &format!("\nwritten: {}\n", few.join(" ")),
        many => text += &format!("\nwritten: {} files, such as {}\n", many.len(), many[..NAMED].join(" ")),
    }
    if canvas.unicode { text } else { text.replace('–', "-") }
}
