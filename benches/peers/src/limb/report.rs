//! What was measured, as one document: JSON for tools, tables for people.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::ring::{Absent, LibraryReport, RESTLESS};

/// Everything.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `kiln.peers/1`.
    pub schema: &'static str,
    /// The CPU's name.
    pub cpu: String,
    /// What ticks are: `ticks` of the time stamp counter, or `ns`.
    pub unit: &'static str,
    /// Billions of them in a second.
    pub gigahertz: f64,
    /// Microseconds in a window, at least.
    pub window_us: u64,
    /// How often Kiln's finalists were placed.
    pub placements: u32,
    /// How often everything was raced; the calmest time counts.
    pub passes: u32,
    /// Library and version, with what it was built for where that matters.
    pub libraries: Vec<LibraryReport>,
    /// What the limits are valid for; `None` where they are not known.
    pub limits_for: Option<&'static str>,
    /// One for each kernel of the table.
    pub kernels: Vec<KernelReport>,
    /// Kernels of this build that nobody else has.
    pub without_peers: Vec<&'static str>,
}

/// A kernel.
#[derive(Debug, Serialize)]
pub struct KernelReport {
    /// Its name.
    pub kernel: &'static str,
    /// What it computes; `None` if it is not in this build.
    pub math: Option<&'static str>,
    /// What ticks are divided by: `limb` or `call`.
    pub per: &'static str,
    /// One for each n.
    pub cases: Vec<Case>,
    /// Who failed the check or may not run here, and why.
    pub left_out: Vec<Absent>,
}

/// A kernel at one n.
#[derive(Debug, Serialize)]
pub struct Case {
    /// In limbs.
    pub n: u64,
    /// Calls in a window.
    pub calls: u32,
    /// Rounds that count.
    pub rounds: u32,
    /// Rounds that were thrown away.
    pub thrown: u32,
    /// Kiln's finalists, those that serve every n first, fastest first.
    pub kiln: Vec<KilnTime>,
    /// The others, in the table's order.
    pub peers: Vec<PeerTime>,
    /// The multiplier's limit for the schoolbook method.
    pub limit: Option<f64>,
    /// Time of the fastest of Kiln's over that of the fastest peer.
    pub ratio: Option<f64>,
}

/// One of Kiln's variants.
#[derive(Debug, Serialize)]
pub struct KilnTime {
    /// Its name without the kernel's.
    pub variant: String,
    /// Whether it serves this n alone.
    pub exact: bool,
    /// The median over its places.
    pub ticks: f64,
    /// The median of the distances of the quartiles, as a fraction.
    pub spread: f64,
    /// Offset in a page and ticks there; empty if it was raced as it was linked.
    pub placed: Vec<(usize, f64)>,
}

/// A peer.
#[derive(Debug, Serialize)]
pub struct PeerTime {
    /// Its library.
    pub library: &'static str,
    /// Its name there.
    pub function: &'static str,
    /// Library and name, with a note.
    #[serde(skip)]
    pub title: String,
    /// Whether an adapter stands between.
    pub adapter: bool,
    /// Whether it is there to show something about the measurement.
    pub control: bool,
    /// The lower quartile.
    pub ticks: f64,
    /// The distance of the quartiles, as a fraction.
    pub spread: f64,
}

impl Case {
    /// The fastest of Kiln's variants: of those that serve every n, or of those that serve this one alone.
    pub fn best(&self, exact: bool) -> Option<&KilnTime> {
        self.kiln.iter().filter(|time| time.exact == exact).min_by(|a, b| a.ticks.total_cmp(&b.ticks))
    }

    /// The fastest of all of Kiln's.
    pub fn best_of_all(&self) -> Option<&KilnTime> {
        self.kiln.iter().min_by(|a, b| a.ticks.total_cmp(&b.ticks))
    }

    /// Whether times scatter so much that absolute numbers mean little.
    fn is_restless(&self) -> bool {
        let spreads = [self.best_of_all().map(|time| time.spread), self.best_peer().map(|peer| peer.spread)];
        spreads.into_iter().flatten().any(|spread| spread > RESTLESS)
    }

    /// The fastest peer.
    pub fn best_peer(&self) -> Option<&PeerTime> {
        self.peers.iter().filter(|peer| !peer.control).min_by(|a, b| a.ticks.total_cmp(&b.ticks))
    }
}

/// The document for people.
pub fn text(document: &Document) -> String {
    let mut text = String::new();
    let clock = if document.unit == "ticks" {
        format!("time stamp counter, {:.3} GHz", document.gigahertz)
    } else {
        "monotonic clock, ns".to_owned()
    };
    let _ = writeln!(text, "{}, {clock}", document.cpu);
    for library in &document.libraries {
        let _ = writeln!(text, "{library}");
    }
    let places = match document.placements {
        0 => "Kiln's variants as they were linked".to_owned(),
        1 => "Kiln's finalists at one place".to_owned(),
        places => format!("Kiln's finalists at {places} places each, the median shown"),
    };
    let _ = writeln!(
        text,
        "windows of {} us or more; the calmest of {} passes; {places}",
        document.window_us, document.passes
    );
    for kernel in &document.kernels {
        text.push('\n');
        kernel_text(&mut text, kernel, document);
    }
    if !document.without_peers.is_empty() {
        let _ = writeln!(text, "\nwithout peers: {}", document.without_peers.join(", "));
    }
    text
}

fn kernel_text(text: &mut String, kernel: &KernelReport, document: &Document) {
    let Some(math) = kernel.math else {
        let _ = writeln!(text, "{}: not in this build", kernel.kernel);
        return;
    };
    let _ = writeln!(text, "{}: {math}\n{} a {}, lower is faster", kernel.kernel, document.unit, kernel.per);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let cases = &kernel.cases;
    let row = |name: String, cell: &dyn Fn(&Case) -> String| {
        let mut row = vec![name];
        row.extend(cases.iter().map(cell));
        row
    };
    let time = |ticks: f64| if kernel.per == "call" { format!("{ticks:.1}") } else { format!("{ticks:.3}") };
    table.set_header(row(String::new(), &|case| format!("n = {}", case.n)));
    for (name, exact) in [("Kiln, for any n", false), ("Kiln, for this n alone", true)] {
        let best = |case: &Case, show: &dyn Fn(&KilnTime) -> String| case.best(exact).map_or("-".to_owned(), show);
        table.add_row(row(name.to_owned(), &|case| best(case, &|time_| time(time_.ticks))));
        table.add_row(row(String::new(), &|case| best(case, &|time| time.variant.clone())));
    }
    let mut titles: Vec<&str> = Vec::new();
    for peer in cases.iter().flat_map(|case| &case.peers) {
        if !titles.contains(&peer.title.as_str()) {
            titles.push(&peer.title);
        }
    }
    for title in titles {
        table.add_row(row(title.to_owned(), &|case| {
            let peer = case.peers.iter().find(|peer| peer.title == title);
            peer.map_or("-".to_owned(), |peer| time(peer.ticks))
        }));
    }
    if let Some(valid_for) = document.limits_for
        && cases.iter().any(|case| case.limit.is_some())
    {
        let name = format!("limit of the multiplier ({valid_for})");
        table.add_row(row(name, &|case| case.limit.map_or("-".to_owned(), time)));
    }
    table.add_row(row("best of Kiln / best peer".to_owned(), &|case| {
        case.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"))
    }));
    table.add_row(row("spread: Kiln, peer".to_owned(), &|case| {
        let percent = |spread: Option<f64>| spread.map_or("-".to_owned(), |spread| format!("{:.1}", 100.0 * spread));
        let kiln = case.best_of_all().map(|time| time.spread);
        format!("{}, {} %", percent(kiln), percent(case.best_peer().map(|peer| peer.spread)))
    }));
    if cases.iter().flat_map(|case| &case.kiln).any(|time| time.placed.len() > 1) {
        table.add_row(row("best of Kiln, over its places".to_owned(), &|case| {
            let places = case.best_of_all().map_or(&[][..], |time| &time.placed);
            let ticks = || places.iter().map(|(_, ticks)| *ticks);
            match (ticks().min_by(f64::total_cmp), ticks().max_by(f64::total_cmp)) {
                (Some(least), Some(most)) => format!("{}-{}", time(least), time(most)),
                _ => "-".to_owned(),
            }
        }));
    }
    table.add_row(row("rounds: counted, thrown away".to_owned(), &|case| format!("{}, {}", case.rounds, case.thrown)));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    if cases.iter().any(Case::is_restless) {
        let _ = writeln!(text, "something else was running: over {:.0} % between the quartiles", 100.0 * RESTLESS);
    }
    for absent in &kernel.left_out {
        let _ = writeln!(text, "{absent}");
    }
}
