//! The tables of a report as Markdown, for notes and pull requests.

use std::fmt::Write as _;

use super::model::Model;
use super::scale::{plural, tolerance};
use super::section::Section;
use super::table::prose;
use super::{Options, Table, tables};

/// Variants that never win, most of which a note does not name.
const MOST_LOSERS: usize = 20;

/// The whole text.
pub fn markdown(model: &Model, sections: &[Section<'_>], options: &Options) -> String {
    let mut text = format!("# Kiln: report on sweeps\n\n{}\n", super::summary(model, sections));
    for doubt in tables::doubts(model) {
        let _ = write!(text, "\n> {doubt}\n");
    }
    table(&mut text, &tables::machines(model));
    for section in sections {
        let _ = write!(text, "\n## {}\n", prose(&section.title()));
        for verdict in tables::verdicts(section) {
            let _ = write!(text, "\n{}\n", prose(&verdict));
        }
        table(&mut text, &tables::winners(section));
        if let Some(axis) = &section.axis {
            let gains = tables::gains(section);
            if !gains.is_empty() {
                let _ = write!(text, "\nWhat {} buys:\n", prose(axis));
                table(&mut text, &gains);
            }
        }
        table(&mut text, &tables::model_errors(section));
        if section.machines.len() > 1 {
            text += "\nWhat one machine's choice costs on another:\n";
            table(&mut text, &tables::borrowed(section));
        }
        let atlas = if section.places.is_empty() { Vec::new() } else { section.atlas(&options.within) };
        for atlas in atlas {
            let _ =
                write!(text, "\nWithin {} of the best: {}.\n", tolerance(atlas.within), tables::atlas_words(&atlas));
            table(&mut text, &tables::atlas(section, &atlas));
        }
        let losers = section.losers();
        if !losers.is_empty() {
            let of = plural(section.variants() as u64, "variant");
            let _ = write!(text, "\nNever win: {} of {of}.\n", losers.len());
            let mut own = tables::losers(section, &losers);
            own.truncate(MOST_LOSERS);
            table(&mut text, &own);
        }
        table(&mut text, &tables::missing(section));
    }
    text += "\n## Files\n";
    table(&mut text, &tables::files(model));
    text
}

fn table(text: &mut String, table: &Table) {
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.markdown());
    }
}
