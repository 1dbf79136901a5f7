//! Cost of a unit of work against the parameter of the axis, a line for each strategy.

use super::{Picture, Plot, classes, count_ticks, counts, describe, index, place_name, stem};
use crate::report::model::Entry;
use crate::report::scale::Scale;
use crate::report::section::{Place, Section};

/// The picture of a place; `None` where no strategy has two values on the axis.
pub fn cost(section: &Section<'_>, place: &Place) -> Option<Picture> {
    let axis = section.axis.as_ref()?;
    let lines: Vec<(&str, Vec<(i64, &Entry)>)> =
        section.strategies.iter().map(|strategy| (&**strategy, section.line(place, strategy))).collect();
    if lines.iter().all(|(_, line)| line.len() < 2) {
        return None;
    }
    let points = || lines.iter().flat_map(|(_, line)| line);
    let heights = points().flat_map(|(_, point)| [point.low, point.high]).chain(place.limit);
    let mut plot = Plot::new(
        |from, to| counts(points().map(|(x, _)| *x as f64), from, to),
        |from, to| Scale::fitting(heights, from, to),
        116.0,
    );
    let ticks = count_ticks(&plot.x);
    plot.axes(&ticks, axis, &format!("ticks/{}", section.unit));
    plot.limit(place.limit, &section.unit);
    for (strategy, line) in lines.iter().filter(|(_, line)| !line.is_empty()) {
        plot.svg.open(&classes(section, strategy));
        let up = line.iter().map(|(x, point)| plot.at(*x as f64, point.high));
        let down = line.iter().rev().map(|(x, point)| plot.at(*x as f64, point.low));
        let band: Vec<(f64, f64)> = up.chain(down).collect();
        plot.svg.path("band", &band, true);
        let centre: Vec<(f64, f64)> = line.iter().map(|(x, point)| plot.at(*x as f64, point.ticks)).collect();
        plot.svg.path("line", &centre, false);
        for ((_, point), at) in line.iter().zip(centre) {
            let best = std::ptr::eq(*point, section.best(place));
            let class = if best { "mark best" } else { "mark" };
            plot.svg.mark(class, index(section, strategy), at, if best { 4.6 } else { 2.7 }, &describe(section, point));
        }
        plot.svg.close();
    }
    let ends = lines.iter().filter_map(|(strategy, line)| Some((strategy, line.last()?.1)));
    let names =
        ends.map(|(strategy, last)| (plot.y.at(last.ticks), classes(section, strategy), (*strategy).to_owned()));
    let names = names.collect();
    plot.names(names);
    let title = format!("n = {}", place.n);
    let label =
        format!("{}, n = {}: ticks per {} against {axis}, for each strategy", section.title(), place.n, section.unit);
    let name = format!("{}{}.cost", stem(section), place_name(section, place));
    Some(Picture { name, title, svg: plot.svg.finish(&label) })
}
