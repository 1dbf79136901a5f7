//! `kiln report`: files of sweeps to a page, pictures, tables and a document.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

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
use crate::report::scale::{figure, plural, tolerance};
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
            context.warn(&format!("{}: {} are damaged or doubtful in all", visible(&file.path), plural(all, "line")));
        }
    }
    if model.points.is_empty() { Err(Failure::NoPoints) } else { Ok(model) }
}

/// Reports.
pub fn run(context: &Context<'_>, options: &ReportOptions) -> Result<bool, Failure> {
    let paths: Vec<&Path> = options.files.iter().map(PathBuf::as_path).collect();
    let mut outputs = Outputs::new(context, options)?;
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
    if let Some(path) = &options.out {
        outputs.write(path, |out| out.write_all(page::page(&model, &sections, &own).as_bytes()))?;
    }
    if let Some(path) = &options.markdown {
        outputs.write(path, |out| out.write_all(markdown::markdown(&model, &sections, &own).as_bytes()))?;
    }
    if let Some(folder) = &options.svg {
        fs::create_dir_all(folder).map_err(|why| Failure::Unwritable { path: folder.clone(), why })?;
        for (name, text) in pictures(&sections) {
            let path = folder.join(name);
            outputs.claim(&path)?;
            outputs.write(&path, |out| out.write_all(text.as_bytes()))?;
        }
    }
    if let Some(path) = &options.csv {
        outputs.write(path, |out| csv::csv(&model, out))?;
    }
    if outputs.standard {
        return Ok(true);
    }
    let document = describe(&model, &sections, &own, outputs.written);
    context.print(&document, |canvas| draw(&model, &sections, &own, &document, canvas))?;
    Ok(true)
}

/// The word for standard output.
const STANDARD: &str = "-";

/// Files that are written: none of them one that is read, nor two of them one.
struct Outputs {
    /// What is read, and what was claimed, by where it really is.
    taken: Vec<PathBuf>,
    /// How many of these are read.
    inputs: usize,
    /// Whether one of them is standard output.
    standard: bool,
    written: Vec<String>,
}

impl Outputs {
    /// Claims what the options name.
    fn new(context: &Context<'_>, options: &ReportOptions) -> Result<Outputs, Failure> {
        let taken: Vec<PathBuf> = options.files.iter().map(|path| place(path)).collect();
        let inputs = taken.len();
        let mut outputs = Outputs { taken, inputs, standard: false, written: Vec::new() };
        for path in [&options.out, &options.markdown, &options.csv, &options.svg].into_iter().flatten() {
            let standard = path.as_os_str() == STANDARD;
            if standard && (options.svg.as_ref() == Some(path) || context.json || outputs.standard) {
                let why = "`-` is standard output, for one text, and neither for --json nor for a folder of pictures";
                return Err(Failure::Usage(why.to_owned()));
            }
            outputs.standard |= standard;
            outputs.claim(path)?;
        }
        Ok(outputs)
    }

    fn claim(&mut self, path: &Path) -> Result<(), Failure> {
        let place = place(path);
        if let Some(taken) = self.taken.iter().position(|other| *other == place) {
            let what = if taken < self.inputs { "is read: it is not written over" } else { "would be written twice" };
            return Err(Failure::Usage(format!("{} {what}", visible(&path.display().to_string()))));
        }
        self.taken.push(place);
        Ok(())
    }

    fn write(&mut self, path: &Path, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        if path.as_os_str() == STANDARD {
            let mut out = BufWriter::new(io::stdout().lock());
            return match text(&mut out).and_then(|()| out.flush()) {
                // Whoever reads has seen enough.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
                _ => Ok(()),
            };
        }
        let write = || {
            let mut out = BufWriter::new(File::create(path)?);
            text(&mut out)?;
            out.flush()
        };
        write().map_err(|why| Failure::Unwritable { path: path.to_path_buf(), why })?;
        self.written.push(path.display().to_string());
        Ok(())
    }
}

/// Where a file is, by whatever name; where it would be, if there is none.
fn place(path: &Path) -> PathBuf {
    let parent = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(parent).unwrap_or_else(|| path.to_path_buf())
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

/// The fastest on one machine.
fn winners(best: &[Best], unit: &str) -> Vec<Column> {
    let mut n = Column::numbers("n");
    let mut fastest = Column::words("fastest");
    let mut ticks = Column::numbers(format!("ticks/{unit}"));
    let mut interval = Column::words("95 % interval").rank(2);
    let mut limit = Column::numbers("times the limit").rank(3);
    let mut line = Column::words("line").rank(1);
    for best in best {
        n.push(Tone::Plain, best.n.to_string());
        fastest.push(Tone::Good, best.variant.as_str());
        ticks.push(Tone::Plain, figure(best.ticks));
        interval.push(Tone::Faint, format!("{} to {}", figure(best.low), figure(best.high)));
        limit.push(Tone::Plain, best.limit.map_or("-".to_owned(), |limit| figure(best.ticks / limit)));
        line.push(Tone::Faint, best.line.as_str());
    }
    let mut columns = vec![n, fastest, ticks, interval, line];
    if best.iter().any(|best| best.limit.is_some()) {
        columns.insert(4, limit);
    }
    columns
}

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
        for own in kernel.best.chunk_by(|a, b| a.machine == b.machine) {
            if model.machines.len() > 1 {
                text += &format!("  {}\n", canvas.paint(Tone::Strong, &model.machines[own[0].machine as usize].label));
            }
            text += &canvas.table(&winners(own, &kernel.unit));
            if model.machines.len() > 1 {
                text.push('\n');
            }
        }
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
