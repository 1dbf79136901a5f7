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
    let mut add = |picture: chart::Picture| {
        let style = format!("<style>{}</style>", page::CHART_CSS);
        // After the opening tag, which has attributes alone.
        let at = picture.svg.find('>').map_or(0, |end| end + 1);
        let (open, rest) = picture.svg.split_at(at);
        let paper = "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>";
        // Names of kernels may differ in what no file's name can hold.
        let taken = |name: &str| files.iter().any(|(other, _): &(String, String)| other == name);
        let numbered = (2..).map(|number| format!("{}-{number}.svg", picture.name));
        let name = iter::once(format!("{}.svg", picture.name)).chain(numbered).find(|name| !taken(name));
        files.push((name.unwrap_or_default(), format!("{open}{style}{paper}{rest}\n")));
    };
    for section in sections {
        for &machine in section.machines.iter().take(page::MOST_MACHINES) {
            for place in page::chosen(section, machine) {
                chart::cost(section, place).map(&mut add);
                chart::size(section, place).map(&mut add);
                chart::spread(section, place).0.map(&mut add);
            }
            section.strategies.iter().filter_map(|strategy| chart::heat(section, machine, strategy)).for_each(&mut add);
            chart::model(section, machine).map(&mut add);
        }
        chart::machines(section).map(&mut add);
    }
    files
}
