//! The pictures of a section. Here: what they share.

mod cost;
mod heat;
mod machines;
mod model;
mod size;
mod spread;

pub use cost::cost;
pub use heat::heat;
pub use machines::machines;
pub use model::model;
pub use size::size;
pub use spread::{ROWS, spread};

use super::model::Entry;
use super::scale::{Scale, count, figure, short};
use super::section::{Place, Section};
use super::svg::{Anchor, Svg};
use crate::sweep::record::State;

/// Colours; a strategy beyond them has the colour of an earlier one, with dashes and another mark.
pub const COLOURS: usize = 8;
/// Most marks in a picture of everything.
const MOST_MARKS: usize = 240;

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 290.0;

/// A picture.
#[derive(Debug)]
pub struct Picture {
    /// What its file is called, without the ending.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// The picture.
    pub svg: String,
}

/// The classes of a strategy: its colour, dashes if the colours are used up, and a word by which it can be hidden.
pub fn classes(section: &Section<'_>, strategy: &str) -> String {
    let index = index(section, strategy);
    format!("s{}{} t{index}", index % COLOURS, if index >= COLOURS { " again" } else { "" })
}

/// Which of the strategies of a section this is: what shape its marks have.
pub fn index(section: &Section<'_>, strategy: &str) -> usize {
    section.strategies.iter().position(|other| **other == *strategy).unwrap_or(0)
}

/// A point in a line, with the line of the file that it stands in.
pub fn describe(section: &Section<'_>, point: &Entry) -> String {
    let variant = section.variant(point);
    let imprecise = if point.state == State::Imprecise { ", imprecise" } else { "" };
    format!(
        "{}, n = {}: {} ticks/{} [{}, {}], {} windows{imprecise} · {}",
        variant.name,
        point.n,
        figure(point.ticks),
        section.unit,
        figure(point.low),
        figure(point.high),
        count(point.windows.into()),
        section.source(point)
    )
}

/// The end of a file's name for a place.
fn place_name(section: &Section<'_>, place: &Place) -> String {
    let machine = if section.model.machines.len() > 1 { format!(".m{}", place.machine + 1) } else { String::new() };
    format!("{machine}.n{}", place.n)
}

/// The beginning of a file's name.
fn stem(section: &Section<'_>) -> String {
    let safe =
        |character: char| if character.is_ascii_alphanumeric() || "._-".contains(character) { character } else { '_' };
    let kernel: String = section.kernel.chars().map(safe).collect();
    format!("{kernel}.{}", section.mode.word())
}

/// A text of at most so many characters.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// A place for lines and marks, with axes.
struct Plot {
    svg: Svg,
    x: Scale,
    y: Scale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    /// With room on the right for the names of lines.
    fn new(x: impl FnOnce(f64, f64) -> Scale, y: impl FnOnce(f64, f64) -> Scale, room: f64) -> Plot {
        let (left, right, top, bottom) = (50.0, WIDTH - room, 12.0, HEIGHT - 40.0);
        Plot { svg: Svg::new(WIDTH, HEIGHT), x: x(left, right), y: y(bottom, top), left, right, top, bottom }
    }

    /// Lines across, numbers beside them, titles.
    fn axes(&mut self, x_ticks: &[f64], x_title: &str, y_title: &str) {
        for tick in self.y.ticks(6) {
            let at = self.y.at(tick);
            self.svg.line("grid", (self.left, at), (self.right, at));
            self.svg.text("tick", Anchor::End, (self.left - 6.0, at + 3.5), &short(tick));
        }
        self.svg.line("axis", (self.left, self.bottom), (self.right, self.bottom));
        for &tick in x_ticks {
            let at = self.x.at(tick);
            self.svg.line("axis", (at, self.bottom), (at, self.bottom + 4.0));
            self.svg.text("tick", Anchor::Middle, (at, self.bottom + 16.0), &short(tick));
        }
        let middle = (self.left + self.right) / 2.0;
        self.svg.text("name", Anchor::Middle, (middle, self.bottom + 33.0), x_title);
        self.svg.upright("name", (12.0, (self.top + self.bottom) / 2.0), y_title);
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    /// Names of lines at the right, each near the height of its line and none over another.
    fn names(&mut self, mut names: Vec<(f64, String, String)>) {
        const GAP: f64 = 13.0;
        names.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let wanted: Vec<f64> = names.iter().map(|(y, ..)| *y).collect();
        let mut at = wanted;
        for index in 1..at.len() {
            at[index] = at[index].max(at[index - 1] + GAP);
        }
        let mut floor = self.bottom;
        for y in at.iter_mut().rev() {
            *y = y.min(floor);
            floor = *y - GAP;
        }
        // Bold letters are about seven wide.
        let most = ((WIDTH - self.right - 8.0) / 7.1) as usize;
        for (y, (_, class, text)) in at.into_iter().zip(&names) {
            self.svg.text(&format!("label {class}"), Anchor::Start, (self.right + 8.0, y + 4.0), &cut(text, most));
        }
    }

    /// The least that hardware allows.
    fn limit(&mut self, limit: Option<f64>, unit: &str) {
        if let Some(limit) = limit {
            let at = self.y.at(limit);
            self.svg.line("limit", (self.left, at), (self.right, at));
            let text = format!("limit {} ticks/{unit}", figure(limit));
            self.svg.text("limit-name", Anchor::Start, (self.left + 4.0, at - 4.0), &text);
        }
    }
}

/// An axis for the values of a parameter or lengths: by ratios if they are far apart.
fn counts(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Scale {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    if low > 0.0 && high / low >= 8.0 {
        Scale::log(low / 1.08, high * 1.08, from, to)
    } else {
        let room = ((high - low) * 0.03).max(0.2);
        Scale::linear(low - room, high + room, from, to)
    }
}

/// Round numbers for such an axis: whole ones.
fn count_ticks(scale: &Scale) -> Vec<f64> {
    if scale.is_log() {
        return scale.powers_of_two(9);
    }
    scale.ticks(8).into_iter().filter(|tick| tick.fract().abs() < 1e-9).collect()
}

/// Of many points some, evenly, and always the first.
fn thinned<T>(points: Vec<T>) -> Vec<T> {
    let step = points.len().div_ceil(MOST_MARKS).max(1);
    points.into_iter().step_by(step).collect()
}
