//! The best of each machine, side by side.

use super::{COLOURS, Picture, Plot, count_ticks, counts, describe, stem};
use crate::report::model::Entry;
use crate::report::scale::{Scale, figure};
use crate::report::section::Section;

/// The best of each machine against the length: in nanoseconds where every clock is known, since ticks of two machines are
/// not the same. `None` with one machine.
pub fn machines(section: &Section<'_>) -> Option<Picture> {
    if section.machines.len() < 2 {
        return None;
    }
    let model = section.model;
    let rates: Option<Vec<f64>> = model.machines.iter().map(|machine| machine.per_nanosecond).collect();
    let time = |point: &Entry| match &rates {
        Some(rates) => point.ticks / rates[point.machine as usize],
        None => point.ticks,
    };
    let unit = if rates.is_some() { "ns" } else { "ticks" };
    let points: Vec<&Entry> = section.places.iter().map(|place| section.best(place)).collect();
    let mut plot = Plot::new(
        |from, to| counts(section.sizes.iter().map(|n| *n as f64), from, to),
        |from, to| Scale::fitting(points.iter().map(|point| time(point)), from, to),
        160.0,
    );
    let ticks = count_ticks(&plot.x);
    plot.axes(&ticks, "n", &format!("best, {unit}/{}", section.unit));
    let mut names = Vec::new();
    for (index, &machine) in section.machines.iter().enumerate() {
        let own: Vec<&&Entry> = points.iter().filter(|point| point.machine == machine).collect();
        let centre: Vec<(f64, f64)> = own.iter().map(|point| plot.at(point.n as f64, time(point))).collect();
        let class = format!("m{}", index % COLOURS);
        plot.svg.open(&class);
        plot.svg.path("line", &centre, false);
        for (point, at) in own.iter().zip(&centre) {
            let title = format!("{} {unit}/{} · {}", figure(time(point)), section.unit, describe(section, point));
            plot.svg.mark("mark", index, *at, 3.2, &title);
        }
        plot.svg.close();
        if let Some((_, y)) = centre.last() {
            names.push((*y, class, model.machines[machine as usize].label.clone()));
        }
    }
    plot.names(names);
    let label =
        format!("{}: {unit} per {} of the best variant of each machine, against n", section.title(), section.unit);
    let name = format!("{}.machines", stem(section));
    Some(Picture {
        name,
        title: format!("the best of each machine, {unit}/{}", section.unit),
        svg: plot.svg.finish(&label),
    })
}
