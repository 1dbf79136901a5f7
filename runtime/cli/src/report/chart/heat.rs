//! Length by the parameter of the axis: how far from the best, as a colour.

use std::collections::{BTreeMap, BTreeSet};

use super::{Picture, WIDTH, cut, describe, index, stem};
use crate::report::model::Entry;
use crate::report::scale::figure;
use crate::report::section::Section;
use crate::report::svg::{Anchor, Svg};

/// More columns or rows are drawn as fewer, each with the best of its part.
const MOST_COLUMNS: usize = 64;
const MOST_ROWS: usize = 40;
/// So many times the best has the last colour.
const WORST: f64 = 2.0;

/// From the best to the worst: the same order of lightness for every kind of sight.
const COLOURS: [(u8, u8, u8); 6] =
    [(253, 231, 76), (140, 205, 95), (53, 160, 130), (42, 112, 142), (62, 68, 130), (60, 15, 80)];

/// The picture of a strategy on a machine; `None` if there is but one length or one value on the axis.
pub fn heat(section: &Section<'_>, machine: u32, strategy: &str) -> Option<Picture> {
    let axis = section.axis.as_ref()?;
    let places: Vec<_> = section.places.iter().filter(|place| place.machine == machine).collect();
    let lines: Vec<_> = places.iter().map(|place| section.line(place, strategy)).collect();
    if lines.iter().all(|line| line.len() < 2) || lines.iter().filter(|line| !line.is_empty()).count() < 2 {
        return None;
    }
    // The same columns for every strategy, so that their pictures can be laid side by side.
    let timed = || places.iter().flat_map(|place| section.timed(place));
    let columns: BTreeSet<i64> = timed().filter_map(|point| section.variant(point).number(axis)).collect();
    let columns = parts(columns.into_iter().collect(), MOST_COLUMNS);
    let rows = parts((0..places.len()).collect(), MOST_ROWS);
    let column_of: BTreeMap<i64, usize> =
        columns.iter().enumerate().flat_map(|(index, part)| part.iter().map(move |x| (*x, index))).collect();
    let (left, top, right) = (50.0, 8.0, WIDTH - 8.0);
    let (width, height) = ((right - left) / columns.len() as f64, (400.0 / rows.len() as f64).clamp(9.0, 22.0));
    let bottom = top + height * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, bottom + 74.0);
    for (row, part) in rows.iter().enumerate() {
        let y = top + height * row as f64;
        svg.text(
            "tick",
            Anchor::End,
            (left - 6.0, y + height / 2.0 + 3.5),
            &span(part.iter().map(|&row| places[row].n)),
        );
        let mut cells: BTreeMap<usize, (f64, &Entry)> = BTreeMap::new();
        for &index in part {
            let best = section.best(places[index]).ticks;
            for (x, point) in &lines[index] {
                let ratio = point.ticks / best;
                let cell = cells.entry(column_of[x]).or_insert((ratio, point));
                if ratio < cell.0 {
                    *cell = (ratio, point);
                }
            }
        }
        for (column, (ratio, point)) in cells {
            let x = left + width * column as f64;
            let (fill, dark) = colour(ratio);
            let title = format!("{} x the best · {}", figure(ratio), describe(section, point));
            svg.rect("cell", &format!("fill:{fill}"), (x, y), (width - 0.6, height - 0.6), &title);
            if width >= 22.0 && height >= 13.0 {
                let class = if dark { "inside light" } else { "inside" };
                svg.text(class, Anchor::Middle, (x + width / 2.0, y + height / 2.0 + 3.3), &format!("{ratio:.2}"));
            }
        }
    }
    // As many numbers as do not touch.
    let labels: Vec<String> = columns.iter().map(|part| span(part.iter().copied())).collect();
    let widest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(1) as f64 * 6.5 + 5.0;
    let step = (widest / width).ceil().max(1.0) as usize;
    for (index, label) in labels.iter().enumerate().step_by(step) {
        let x = left + width * (index as f64 + 0.5);
        svg.text("tick", Anchor::Middle, (x, bottom + 14.0), label);
    }
    svg.text("name", Anchor::Middle, ((left + right) / 2.0, bottom + 30.0), axis);
    svg.upright("name", (12.0, (top + bottom) / 2.0), "n");
    key(&mut svg, bottom + 46.0);
    let label = format!("{}: {strategy}, times the best by n and {axis}", section.title());
    let several = if section.model.machines.len() > 1 { format!(".m{}", machine + 1) } else { String::new() };
    let name = format!("{}{several}.heat{}", stem(section), index(section, strategy) + 1);
    Some(Picture { name, title: cut(strategy, 40), svg: svg.finish(&label) })
}

/// What the colours mean.
fn key(svg: &mut Svg, y: f64) {
    const STEPS: u32 = 24;
    let (left, width) = (150.0, 8.0);
    svg.text("tick", Anchor::End, (left - 6.0, y + 9.0), "times the best at this n");
    for step in 0..STEPS {
        let ratio = WORST.powf(f64::from(step) / f64::from(STEPS - 1));
        let (fill, _) = colour(ratio);
        svg.rect("cell", &format!("fill:{fill}"), (left + width * f64::from(step), y), (width, 10.0), "");
    }
    for (ratio, text) in [(1.0, "1"), (1.19, "1.2"), (1.41, "1.4"), (1.68, "1.7"), (2.0, "2 or more")] {
        let x = left + f64::from(STEPS) * width * f64::log2(ratio);
        svg.text("tick", Anchor::Middle, (x, y + 22.0), text);
    }
}

/// The colour of a ratio, and whether it is dark.
fn colour(ratio: f64) -> (String, bool) {
    let share = (ratio.max(1.0).ln() / WORST.ln()).min(1.0) * (COLOURS.len() - 1) as f64;
    let index = (share as usize).min(COLOURS.len() - 2);
    let (a, b, part) = (COLOURS[index], COLOURS[index + 1], share - index as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    let (r, g, b) = (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2));
    let light = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
    (format!("#{r:02x}{g:02x}{b:02x}"), light < 135.0)
}

/// Consecutive parts of a list, at most so many.
fn parts<T: Copy>(list: Vec<T>, most: usize) -> Vec<Vec<T>> {
    let size = list.len().div_ceil(most).max(1);
    list.chunks(size).map(<[T]>::to_vec).collect()
}

/// `8`, or `8–15`.
fn span<T: std::fmt::Display>(mut values: impl Iterator<Item = T>) -> String {
    let Some(first) = values.next() else { return String::new() };
    values.last().map_or(first.to_string(), |last| format!("{first}–{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_grow_darker() {
        assert_eq!(colour(1.0), ("#fde74c".to_owned(), false));
        assert_eq!(colour(2.0), colour(9.0));
        assert!(colour(2.0).1 && colour(f64::NAN).0 == colour(1.0).0);
    }

    #[test]
    fn many_columns_become_few() {
        assert_eq!(parts((0..10).collect(), 4), [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8], vec![9]]);
        assert_eq!([span([8].into_iter()), span([8, 9, 10].into_iter())], ["8", "8–10"]);
    }
}
