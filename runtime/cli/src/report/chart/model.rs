//! What was measured against what the model of the CPU expects.

use super::{Picture, Plot, classes, describe, index, stem, thinned};
use crate::report::model::Entry;
use crate::report::scale::Scale;
use crate::report::section::Section;
use crate::report::svg::Anchor;

/// The picture of a machine; `None` if nothing was predicted.
pub fn model(section: &Section<'_>, machine: u32) -> Option<Picture> {
    let places = section.places.iter().filter(|place| place.machine == machine);
    let points = places.flat_map(|place| section.timed(place));
    let points: Vec<(&Entry, f64)> =
        points.filter_map(|point| Some((point, f64::from(point.known.predicted?)))).collect();
    let points = thinned(points.into_iter().filter(|(_, predicted)| *predicted > 0.0).collect());
    if points.is_empty() {
        return None;
    }
    let all = || points.iter().flat_map(|(point, predicted)| [point.ticks, *predicted]);
    let low = all().fold(f64::INFINITY, f64::min) / 1.1;
    let high = all().fold(0.0, f64::max) * 1.1;
    let mut plot =
        Plot::new(|from, to| Scale::log(low, high, from, to), |from, to| Scale::log(low, high, from, to), 20.0);
    let ticks = plot.x.ticks(6);
    let unit = &section.unit;
    plot.axes(&ticks, &format!("predicted, ticks/{unit}"), &format!("measured, ticks/{unit}"));
    for (factor, class) in [(1.0, "equal"), (1.1, "near"), (1.0 / 1.1, "near")] {
        let from = if factor < 1.0 { low / factor } else { low };
        let to = if factor > 1.0 { high / factor } else { high };
        let (from, to) = (plot.at(from, from * factor), plot.at(to, to * factor));
        plot.svg.line(class, from, to);
    }
    let corner = (plot.left + 6.0, plot.top + 12.0);
    plot.svg.text("tick", Anchor::Start, corner, "slower than predicted");
    let corner = (plot.right - 6.0, plot.bottom - 8.0);
    plot.svg.text("tick", Anchor::End, corner, "faster than predicted");
    for (point, predicted) in &points {
        let strategy = &section.variant(point).strategy;
        let at = plot.at(*predicted, point.ticks);
        let title = format!("{:+.1} % · {}", (point.ticks / predicted - 1.0) * 100.0, describe(section, point));
        plot.svg.open(&classes(section, strategy));
        plot.svg.mark("mark", index(section, strategy), at, 2.5, &title);
        plot.svg.close();
    }
    let machine_name = &section.model.machines[machine as usize].short;
    let label = format!("{} on {machine_name}: measured against predicted ticks per {unit}", section.title());
    let several = if section.model.machines.len() > 1 { format!(".m{}", machine + 1) } else { String::new() };
    Some(Picture {
        name: format!("{}{several}.model", stem(section)),
        title: machine_name.clone(),
        svg: plot.svg.finish(&label),
    })
}
