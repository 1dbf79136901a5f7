//! The windows of each candidate at a place, the fastest first.

use super::{Picture, WIDTH, classes, describe, place_name, squeezed, stem};
use crate::report::model::Entry;
use crate::report::scale::{Scale, short};
use crate::report::section::{Place, Section};
use crate::report::svg::{Anchor, Svg};

/// Rows of the first picture.
pub const ROWS: usize = 12;
/// Rows of the second.
const MORE: usize = 60;

/// The picture of the fastest [`ROWS`] of a place, that of those behind them, and how many are in neither.
pub fn spread(section: &Section<'_>, place: &Place) -> (Option<Picture>, Option<Picture>, usize) {
    let mut points: Vec<&Entry> = section.timed(place).filter(|point| point.shape.is_some()).collect();
    points.sort_by(|a, b| a.ticks.total_cmp(&b.ticks));
    let (first, rest) = points.split_at(points.len().min(ROWS));
    let (more, left) = rest.split_at(rest.len().min(MORE));
    (picture(section, place, first, ""), picture(section, place, more, "-more"), left.len())
}

fn picture(section: &Section<'_>, place: &Place, points: &[&Entry], ending: &str) -> Option<Picture> {
    if points.is_empty() {
        return None;
    }
    const ROW: f64 = 17.0;
    /// Width of a letter, and the most room for names.
    const LETTER: f64 = 6.3;
    const MOST: f64 = 236.0;
    let name = |point: &Entry| section.variant(point).name.chars().count();
    let longest = points.iter().map(|point| name(point)).max().unwrap_or(0) as f64;
    let left = (longest * LETTER + 14.0).clamp(60.0, MOST);
    let (right, top) = (WIDTH - 10.0, 6.0);
    let bottom = top + ROW * points.len() as f64;
    let shapes = || points.iter().filter_map(|point| Some((*point, point.shape?)));
    // The slowest twentieth would squeeze all the others.
    let shown = shapes().flat_map(|(point, shape)| [f64::from(shape[1]), f64::from(shape[4]), point.low, point.high]);
    let most = shapes().map(|(_, shape)| f64::from(shape[4])).fold(0.0, f64::max);
    let tails = shapes().map(|(_, shape)| f64::from(shape[5])).filter(|tail| *tail <= most * 1.1);
    let scale = Scale::fitting(shown.chain(tails), left, right);
    let mut svg = Svg::new(WIDTH, bottom + 40.0);
    for tick in scale.ticks(if left > 190.0 { 4 } else { 5 }) {
        let x = scale.at(tick);
        svg.line("grid", (x, top), (x, bottom));
        svg.text("tick", Anchor::Middle, (x, bottom + 14.0), &short(tick));
    }
    for (row, (point, shape)) in shapes().enumerate() {
        let variant = section.variant(point);
        let y = top + ROW * (row as f64 + 0.5);
        let [_, low, first, middle, third, high, _] = shape.map(f64::from);
        svg.open(&classes(section, &variant.strategy));
        svg.text(
            "row",
            Anchor::End,
            (left - 6.0, y + 3.5),
            &squeezed(&variant.name, ((left - 14.0) / LETTER) as usize),
        );
        svg.line("whisker", (scale.at(low), y), (scale.at(high), y));
        let size = (scale.at(third) - scale.at(first), ROW - 7.0);
        svg.rect("box", "", (scale.at(first), y - size.1 / 2.0), size, &describe(section, point));
        svg.line("median", (scale.at(middle), y - 5.0), (scale.at(middle), y + 5.0));
        svg.line("interval", (scale.at(point.low), y), (scale.at(point.high).max(scale.at(point.low) + 1.0), y));
        svg.close();
    }
    svg.line("axis", (left, bottom), (right, bottom));
    svg.text("name", Anchor::Middle, ((left + right) / 2.0, bottom + 31.0), &format!("ticks/{}", section.unit));
    let label = format!("{}, n = {}: windows of each candidate, the fastest first", section.title(), place.n);
    let name = format!("{}{}.windows{ending}", stem(section), place_name(section, place));
    Some(Picture { name, title: format!("n = {}", place.n), svg: svg.finish(&label) })
}
