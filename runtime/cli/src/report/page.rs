//! The page: one HTML file with everything in it, which reads well without scripts and asks nothing of any network.

use std::fmt::Write as _;

use super::chart::{self, COLOURS, Picture};
use super::model::Model;
use super::scale::{count, plural, tolerance};
use super::section::{Place, Section};
use super::svg::{Svg, escape};
use super::tables;
use super::{Options, Table};

/// The styles of pictures: also in each picture that is a file of its own.
pub const CHART_CSS: &str = include_str!("chart.css");
const PAGE_CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded, whatever a name in a file would like.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// Up to so many kernels are shown open.
const OPEN: usize = 3;
/// Longer tables are folded.
const LONG: usize = 30;
/// Most lengths that have pictures of their own; more are picked from, evenly.
pub const MOST_SIZES: usize = 8;
/// Most machines that have pictures of their own.
pub const MOST_MACHINES: usize = 8;

/// The whole page.
pub fn page(model: &Model, sections: &[Section<'_>], options: &Options) -> String {
    let mut html = String::new();
    let most = sections.iter().map(|section| section.strategies.len()).max().unwrap_or(0);
    let hide = (0..most)
        .map(|index| format!(".kernel:has(input[value=\"{index}\"]:not(:checked)) figure .t{index}{{display:none}}\n"));
    let hide: String = hide.collect();
    let _ = writeln!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Kiln: report on sweeps</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{CHART_CSS}{PAGE_CSS}{hide}</style></head>\n<body><main>"
    );
    html += &opening(model, sections, options);
    for (index, section) in sections.iter().enumerate() {
        html += &chapter(section, index, sections.len() <= OPEN, options);
    }
    html += &closing(model);
    let _ = writeln!(html, "</main>\n<script>\n{SCRIPT}</script>\n</body></html>");
    html
}

fn paragraph(class: &str, text: &str) -> String {
    format!("<p class=\"{class}\">{}</p>\n", escape(text))
}

fn heading(text: &str) -> String {
    format!("<h3>{}</h3>\n", escape(text))
}

fn table(html: &mut String, table: &Table, label: &str) {
    if !table.is_empty() {
        *html += &table.html(label);
    }
}

fn folded(summary: &str, inside: &str) -> String {
    if inside.is_empty() {
        return String::new();
    }
    format!("<details><summary>{}</summary>\n{inside}</details>\n", escape(summary))
}

fn opening(model: &Model, sections: &[Section<'_>], options: &Options) -> String {
    let mut html = String::from("<h1>Kiln: report on sweeps</h1>\n");
    html += &paragraph("lead", &super::summary(model, sections));
    let mut doubts = tables::doubts(model);
    let damaged: u64 = model.files.iter().map(|file| file.damaged + file.foreign).sum();
    if damaged > 0 {
        doubts.insert(0, format!("{} could not be used: see below which, and why.", plural(damaged, "line")));
    }
    if !doubts.is_empty() {
        let items: String = doubts.iter().map(|doubt| format!("<li>{}</li>\n", escape(doubt))).collect();
        let _ = writeln!(html, "<ul class=\"doubts\">\n{items}</ul>");
    }
    table(&mut html, &tables::machines(model), "machines");
    if sections.len() > 1 {
        html += &heading("Kernels");
        let links = sections
            .iter()
            .enumerate()
            .map(|(index, section)| format!("<a href=\"#k{}\">{}</a>", index + 1, escape(&section.title())));
        let _ = writeln!(html, "<p>{}</p>", links.collect::<Vec<_>>().join(" · "));
        table(&mut html, &tables::contents(sections, options.within[0]), "kernels");
    }
    html
}

fn closing(model: &Model) -> String {
    let mut html = String::from("<section class=\"kernel\"><h2>Files and runs</h2>\n");
    table(&mut html, &tables::files(model), "files");
    let mut warnings = Table::new(&["line", "what is wrong"]);
    for file in &model.files {
        for warning in &file.warnings {
            let place = if warning.line == 0 { file.name.clone() } else { format!("{}:{}", file.name, warning.line) };
            warnings.push(vec![super::table::Cell::code(place), super::table::Cell::text(&*warning.what)]);
        }
    }
    if !warnings.is_empty() {
        html += &heading("Warnings");
        html += &paragraph("note", "The first of each file; the counts above are of all.");
        table(&mut html, &warnings, "warnings");
    }
    html += &heading("Runs");
    table(&mut html, &tables::runs(model), "runs");
    html += "</section>\n<footer>\n";
    html += &paragraph(
        "note",
        "Of several points with one variant, length, mode and machine, that of the run which began last counts, and within a run the \
         last line. Drifting: points whose statistic over the first third of the windows and over the last differ by more than 1 %, and than was asked of the \
         interval, in an order that is not random (rank version of von Neumann's ratio, p < 0.001). Every mark says on request in which line of which file its numbers stand.",
    );
    html + "</footer>\n"
}

/// Some of the places of a machine, evenly.
pub fn chosen<'a>(section: &'a Section<'_>, machine: u32) -> Vec<&'a Place> {
    let all: Vec<&Place> = section.places.iter().filter(|place| place.machine == machine).collect();
    if all.len() <= MOST_SIZES {
        return all;
    }
    (0..MOST_SIZES).map(|index| all[index * (all.len() - 1) / (MOST_SIZES - 1)]).collect()
}

/// Pictures side by side; nothing if there are none.
fn grid(pictures: impl IntoIterator<Item = Picture>) -> String {
    let figure = |picture: Picture| {
        format!("<figure><figcaption>{}</figcaption>{}</figure>\n", escape(&picture.title), picture.svg)
    };
    let figures: String = pictures.into_iter().map(figure).collect();
    if figures.is_empty() { figures } else { format!("<div class=\"grid\">\n{figures}</div>\n") }
}

/// For each machine, with its name if there are several.
fn by_machine(section: &Section<'_>, mut part: impl FnMut(u32) -> String) -> String {
    let mut html = String::new();
    for &machine in section.machines.iter().take(MOST_MACHINES) {
        let inside = part(machine);
        if !inside.is_empty() && section.model.machines.len() > 1 {
            let _ = writeln!(html, "<h4>{}</h4>", escape(&section.model.machines[machine as usize].short));
        }
        html += &inside;
    }
    if section.machines.len() > MOST_MACHINES && !html.is_empty() {
        let rest = (section.machines.len() - MOST_MACHINES) as u64;
        let are = if rest == 1 { "is" } else { "are" };
        html += &paragraph("note", &format!("{} {are} in the tables alone.", plural(rest, "more machine")));
    }
    html
}

/// The part of a chapter about one question, if there is anything to show.
fn part(html: &mut String, title: &str, note: &str, inside: &str) {
    if !inside.is_empty() {
        *html += &heading(title);
        if !note.is_empty() {
            *html += &paragraph("note", note);
        }
        *html += inside;
    }
}

fn chapter(section: &Section<'_>, index: usize, open: bool, options: &Options) -> String {
    let title = escape(&section.title());
    let mut html = format!("<section class=\"kernel\" id=\"k{}\"><h2>{title}</h2>\n", index + 1);
    for verdict in tables::verdicts(section) {
        html += &paragraph("verdict", &verdict);
    }
    let inside = parts(section, options);
    if open {
        html += &inside;
    } else {
        let short = tables::in_short(section);
        let what = if short.is_empty() { "show".to_owned() } else { format!("show all: {short}") };
        html += &format!("<details class=\"whole\"><summary>{}</summary>\n{inside}</details>\n", escape(&what));
    }
    html + "</section>\n"
}

fn parts(section: &Section<'_>, options: &Options) -> String {
    let mut html = String::new();
    if !section.places.is_empty() {
        html += &legend(section);
        let mut inside = String::new();
        table(&mut inside, &tables::winners(section), "the fastest at each length");
        let note = "Fastest by its statistic; not to be told apart are those whose interval reaches down to that of the fastest.";
        part(&mut html, "The fastest at each length", note, &inside);
        costs(&mut html, section);
        let inside = by_machine(section, |machine| {
            grid(section.strategies.iter().filter_map(|strategy| chart::heat(section, machine, strategy)))
        });
        part(
            &mut html,
            "Every length",
            "Times the best variant of any strategy at this length and on this machine.",
            &inside,
        );
        let inside = by_machine(section, |machine| {
            grid(chosen(section, machine).into_iter().filter_map(|place| chart::size(section, place)))
        });
        let note = "The dotted line joins the variants that no other beats in both; faint marks are beaten.";
        part(&mut html, "Cost against size of code", note, &inside);
        spreads(&mut html, section);
        predictions(&mut html, section);
        machines(&mut html, section);
        atlas(&mut html, section, options);
        let mut inside = String::new();
        table(&mut inside, &tables::points(section), "points");
        html += &heading("Points");
        html += &folded("Every number of the points nearest to the best", &inside);
    }
    let mut inside = String::new();
    table(&mut inside, &tables::missing(section), "points without a time");
    part(&mut html, "Not measured", "", &inside);
    html
}

/// The strategies, each of which can be hidden.
fn legend(section: &Section<'_>) -> String {
    let entry = |(index, strategy): (usize, &super::model::Name)| {
        let mut svg = Svg::new(16.0, 16.0);
        svg.open(&chart::classes(section, strategy));
        svg.mark("mark", index, (8.0, 8.0), 5.0, "");
        svg.close();
        format!(
            "<label class=\"s{}\"><input type=\"checkbox\" value=\"{index}\" checked autocomplete=\"off\">{}{}</label>\n",
            index % COLOURS,
            svg.finish(strategy),
            escape(strategy)
        )
    };
    let entries: String = section.strategies.iter().enumerate().map(entry).collect();
    format!("<div class=\"legend\" role=\"group\" aria-label=\"strategies\">\n{entries}</div>\n")
}

fn costs(html: &mut String, section: &Section<'_>) {
    let Some(axis) = &section.axis else { return };
    let inside = by_machine(section, |machine| {
        grid(chosen(section, machine).into_iter().filter_map(|place| chart::cost(section, place)))
    });
    let others = section.others();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!(" Each mark is the fastest over {}.", others.iter().map(|name| &**name).collect::<Vec<_>>().join(", "))
    };
    let of = section.sizes.len();
    let some = if of > MOST_SIZES { format!(" {MOST_SIZES} of {of} lengths are drawn.") } else { String::new() };
    let note = format!(
        "Bands are 95 % confidence intervals; the ringed mark is the fastest of all. \
         Dashed: the limit, which is what the busiest unit takes at least by the CPU file.{others}{some}"
    );
    part(html, &format!("Cost against {axis}"), &note, &inside);
    let gains = tables::gains(section);
    let mut inside = String::new();
    table(&mut inside, &gains, "what the parameter buys");
    if gains.len() > LONG {
        inside = folded(&plural(gains.len() as u64, "line"), &inside);
    }
    let note = format!(
        "Gain: how much more time the least {axis} takes than the best. Enough: the least {axis} that is within {} of the best.",
        tolerance(tables::ENOUGH)
    );
    part(html, &format!("What {axis} buys"), &note, &inside);
}

fn spreads(html: &mut String, section: &Section<'_>) {
    let inside = by_machine(section, |machine| {
        let (mut first, mut more, mut left) = (Vec::new(), Vec::new(), 0);
        for place in chosen(section, machine) {
            let (top, rest, out) = chart::spread(section, place);
            first.extend(top);
            more.extend(rest);
            left += out;
        }
        let mut html = grid(first);
        let mut inside = grid(more);
        if left > 0 {
            inside += &paragraph("note", &format!("{} in no picture.", plural(left as u64, "more variant")));
        }
        html += &folded("The slower candidates", &inside);
        html
    });
    let note = format!(
        "The {} fastest. Box: the middle half of the windows, with their median; whiskers: 5 % to 95 %; black: the interval of the statistic.",
        chart::ROWS
    );
    part(html, "Windows of each candidate", &note, &inside);
}

fn predictions(html: &mut String, section: &Section<'_>) {
    let pictures = section.machines.iter().take(MOST_MACHINES).filter_map(|&machine| chart::model(section, machine));
    let mut inside = grid(pictures);
    table(&mut inside, &tables::model_errors(section), "errors of the model");
    let note = "Error: measured over predicted, less one; positive when the chip is slower than its file says. Dotted: 10 % off.";
    part(html, "Measured against predicted", note, &inside);
}

fn machines(html: &mut String, section: &Section<'_>) {
    let Some(picture) = chart::machines(section) else { return };
    let mut choices = paragraph(
        "note",
        "What one machine's choice costs on another: its fastest variant at each length, timed there, above the best there (geometric mean).",
    );
    table(&mut choices, &tables::borrowed(section), "choices of other machines");
    let inside = format!("<div class=\"beside\">\n{}<div>\n{choices}</div>\n</div>\n", grid([picture]));
    part(html, "Machines side by side", "", &inside);
}

fn atlas(html: &mut String, section: &Section<'_>, options: &Options) {
    *html += &heading("Atlas");
    let places = match (section.machines.len(), section.sizes.len()) {
        (1, sizes) => plural(sizes as u64, "length"),
        (machines, _) => format!("{} on {machines} machines", plural(section.places.len() as u64, "place")),
    };
    *html += &paragraph("note", &format!("The fewest variants of which one is good enough at each of {places}."));
    for atlas in section.atlas(&options.within) {
        let _ = writeln!(
            html,
            "<h4>Within {} of the best: {}</h4>",
            tolerance(atlas.within),
            escape(&tables::atlas_words(&atlas))
        );
        table(html, &tables::atlas(section, &atlas), "the fewest variants");
    }
    let losers = section.losers();
    let variants = section.variants() as u64;
    if losers.is_empty() {
        *html += &paragraph("note", "Every variant wins somewhere, or cannot be told apart from the one that does.");
        return;
    }
    let mut inside = String::new();
    table(&mut inside, &tables::losers(section, &losers), "variants that never win");
    let _ = writeln!(html, "<h4>Never win: {} of {}</h4>", count(losers.len() as u64), plural(variants, "variant"));
    *html +=
        &paragraph("note", "Nowhere the fastest, and nowhere does their interval reach down to that of the fastest.");
    *html += &folded("Which, and how close they come", &inside);
}
