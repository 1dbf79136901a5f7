//! Cost of a unit of work against bytes of code, and which variants no other beats in both.

use super::{Picture, Plot, classes, count_ticks, counts, describe, index, place_name, stem, thinned};
use crate::report::model::Entry;
use crate::report::scale::Scale;
use crate::report::section::{Place, Section};

/// The picture of a place; `None` if fewer than two sizes are known.
pub fn size(section: &Section<'_>, place: &Place) -> Option<Picture> {
    let known = |point: &'_ Entry| point.known.bytes.filter(|bytes| *bytes > 0).map(f64::from);
    let mut points: Vec<(&Entry, f64)> =
        section.timed(place).filter_map(|point| Some((point, known(point)?))).collect();
    points.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.ticks.total_cmp(&b.0.ticks)));
    if points.first()?.1 == points.last()?.1 {
        return None;
    }
    let mut least = f64::INFINITY;
    let mut frontier: Vec<(&Entry, f64)> = Vec::new();
    for &(point, bytes) in &points {
        if point.ticks < least {
            least = point.ticks;
            frontier.push((point, bytes));
        }
    }
    let points = thinned(points);
    let all = || points.iter().chain(&frontier);
    let mut plot = Plot::new(
        |from, to| counts(all().map(|(_, bytes)| *bytes), from, to),
        |from, to| Scale::fitting(all().map(|(point, _)| point.ticks).chain(place.limit), from, to),
        20.0,
    );
    let ticks = count_ticks(&plot.x);
    plot.axes(&ticks, "bytes of code", &format!("ticks/{}", section.unit));
    plot.limit(place.limit, &section.unit);
    // A step, since what is between two sizes costs what the smaller one does.
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (point, bytes) in &frontier {
        let at = plot.at(*bytes, point.ticks);
        steps.extend(steps.last().map(|(_, y)| (at.0, *y)));
        steps.push(at);
    }
    steps.extend(steps.last().map(|(_, y)| (plot.right, *y)));
    plot.svg.path("frontier", &steps, false);
    let is_frontier = |point: &Entry| frontier.iter().any(|(other, _)| std::ptr::eq(*other, point));
    let behind = points.iter().filter(|(point, _)| !is_frontier(point));
    for ((point, bytes), class, size) in
        behind.map(|point| (point, "mark dim", 2.2)).chain(frontier.iter().map(|point| (point, "mark", 3.6)))
    {
        let strategy = &section.variant(point).strategy;
        let at = plot.at(*bytes, point.ticks);
        plot.svg.open(&classes(section, strategy));
        plot.svg.mark(
            class,
            index(section, strategy),
            at,
            size,
            &format!("{bytes} bytes · {}", describe(section, point)),
        );
        plot.svg.close();
    }
    let label = format!("{}, n = {}: ticks per {} against bytes of code", section.title(), place.n, section.unit);
    let name = format!("{}{}.size", stem(section), place_name(section, place));
    Some(Picture { name, title: format!("n = {}", place.n), svg: plot.svg.finish(&label) })
}
