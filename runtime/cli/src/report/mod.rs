//! Reports on sweeps: files in; pages, pictures and tables out. The same files give the same bytes.
//!
//! ```text
//! sweep::read -> load -> model (machines, variants, points) -> section (one kernel) -+-> chart  -> page, files of pictures
//!                                                                                    +-> tables -> page, markdown
//!                                                                                    `-> atlas
//! ```

pub mod atlas;
pub mod chart;
pub mod csv;
pub mod load;
pub mod markdown;
pub mod model;
pub mod page;
pub mod scale;
pub mod section;
pub mod svg;
pub mod table;
pub mod tables;
#[cfg(test)]
pub mod tests;

use std::iter;

use model::Model;
use scale::plural;
use section::Section;
use table::Table;

/// What may be asked of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Tolerances of the atlas, as fractions; at least one.
    pub within: Vec<f64>,
}

/// What there is, in a sentence.
pub fn summary(model: &Model, sections: &[Section<'_>]) -> String {
    let timed = model.points.iter().filter(|point| point.is_timed()).count() as u64;
    let kernels: std::collections::BTreeSet<&str> = sections.iter().map(|section| &*section.kernel).collect();
    format!(
        "{} of {} measured on {}, from {}.",
        plural(timed, "point"),
        plural(kernels.len() as u64, "kernel"),
        plural(model.machines.len() as u64, "machine"),
        plural(model.files.len() as u64, "file")
    )
}

/// Every picture of a page as a file of its own: the name, and a text that needs no other file.
pub fn pictures(sections: &[Section<'_>]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut add = |about: &str, picture: chart::Picture| {
        // Names of kernels may differ in what no file's name can hold.
        let taken = |name: &str| files.iter().any(|(other, _): &(String, String)| other == name);
        let numbered = (2..).map(|number| format!("{}-{number}.svg", picture.name));
        let name = iter::once(format!("{}.svg", picture.name)).chain(numbered).find(|name| !taken(name));
        files.push((name.unwrap_or_default(), standalone(about, &picture)));
    };
    for section in sections {
        let title = section.title();
        for &machine in section.machines.iter().take(page::MOST_MACHINES) {
            let about = format!("{title} on {}", section.model.machines[machine as usize].label);
            for place in page::chosen(section, machine) {
                let (first, _, _) = chart::spread(section, place);
                let all = [chart::cost(section, place), chart::size(section, place), first];
                all.into_iter().flatten().for_each(|picture| add(&about, picture));
            }
            let heat = section.strategies.iter().filter_map(|strategy| chart::heat(section, machine, strategy));
            heat.for_each(|picture| add(&about, picture));
            chart::model(section, machine).into_iter().for_each(|picture| add(&title, picture));
        }
        chart::machines(section).into_iter().for_each(|picture| add(&title, picture));
    }
    files
}

/// A picture with its styles, on paper, under a line that says what it is about.
fn standalone(about: &str, picture: &chart::Picture) -> String {
    const LINE: u32 = 26;
    let style = format!("<style>{}</style>", page::CHART_CSS);
    // After the opening tag, in which an escaped text has no end of a tag.
    let (open, rest) = picture.svg.split_at(picture.svg.find('>').map_or(0, |end| end + 1));
    let paper = format!("<rect y=\"-{LINE}\" width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>");
    let title = svg::escape(&format!("{about}: {}", picture.title));
    let title = format!("<text x=\"10\" y=\"-8\" style=\"font-weight:600\">{title}</text>");
    let higher = |open: &str| {
        let (before, size) = open.split_once("viewBox=\"0 0 ")?;
        let (size, after) = size.split_once('"')?;
        let (width, height) = size.split_once(' ')?;
        let height: f64 = height.parse().ok()?;
        Some(format!("{before}viewBox=\"0 -{LINE} {width} {}\"{after}", height + f64::from(LINE)))
    };
    format!("{}{style}{paper}{title}{rest}\n", higher(open).unwrap_or_else(|| open.to_owned()))
}
