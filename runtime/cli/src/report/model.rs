//! What files of sweeps hold, in little memory: every point with its time, the shape of its windows and the line that it stands
//! in; not the windows themselves. Knows no picture.

use std::sync::Arc;

use serde::Serialize;

use crate::sweep::record::{Cpu, Header, Mode, State, Static};

/// The fractions of the windows of which a summary is kept.
pub const FRACTIONS: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];

/// A text, once for all that have it.
pub type Name = Arc<str>;

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Model {
    /// The files, in the order in which they were given.
    pub files: Vec<Source>,
    /// The runs, by when they began.
    pub runs: Vec<Run>,
    /// The machines, by their first run.
    pub machines: Vec<Machine>,
    /// The variants, in the order of their first points.
    pub variants: Vec<Variant>,
    /// The points: by kernel, mode, machine, length and variant.
    pub points: Vec<Entry>,
}

/// A file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Source {
    /// As it was named.
    pub path: String,
    /// What it is called in the report: the path without its folders, if that is clear.
    pub name: String,
    /// Lines that are not blank.
    pub lines: u64,
    /// Points that were read.
    pub points: u64,
    /// Lines that could not be used.
    pub damaged: u64,
    /// Points of runs whose header has another schema.
    pub foreign: u64,
    /// Points that a later one of the same machine replaces.
    pub replaced: u64,
    /// Points whose statistic does not follow from their windows.
    pub inconsistent: u64,
    /// What is wrong with which line: the first of them.
    pub warnings: Vec<Warning>,
}

/// What is wrong with a line, or with a file if the line is 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// 1-based.
    pub line: u64,
    /// In words.
    pub what: String,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Index of the file of its header, or of its first point if it has none.
    pub file: usize,
    /// Line of its header; 0 if it has none.
    pub line: u64,
    /// Index of the machine.
    pub machine: usize,
    /// Its identity.
    pub run: String,
    /// Its header.
    pub header: Option<Header>,
    /// Points that count.
    pub points: u64,
    /// Of these, those whose windows drift.
    pub drifting: u64,
}

/// A machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// What it is called in the report: no two alike.
    pub label: String,
    /// Who it is.
    pub cpu: Cpu,
    /// The clock.
    pub timer: String,
    /// Clock units in a nanosecond; `None` if no header tells.
    pub per_nanosecond: Option<f64>,
}

/// A variant of a kernel.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The kernel.
    pub kernel: Name,
    /// Its name, without the kernel.
    pub name: Name,
    /// Its strategy.
    pub strategy: Name,
    /// Its parameters, by name.
    pub set: Box<[(Name, Setting)]>,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// A number.
    Integer(i64),
    /// A word.
    Text(Name),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Integer(number) => number.fmt(f),
            Setting::Text(text) => f.write_str(text),
        }
    }
}

impl Variant {
    /// The value of a parameter.
    pub fn setting(&self, key: &str) -> Option<&Setting> {
        self.set.iter().find(|(name, _)| **name == *key).map(|(_, value)| value)
    }

    /// The value of a parameter that is a number.
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.setting(key)? {
            Setting::Integer(number) => Some(*number),
            Setting::Text(_) => None,
        }
    }
}

/// A point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Index of the file.
    pub file: u32,
    /// Line in it.
    pub line: u32,
    /// Index of the run.
    pub run: u32,
    /// Index of the machine.
    pub machine: u32,
    /// Index of the variant.
    pub variant: u32,
    /// The length.
    pub n: u64,
    /// How calls follow each other.
    pub mode: Mode,
    /// What became of it.
    pub state: State,
    /// Windows that were measured.
    pub windows: u32,
    /// Whether their order is not random: see [`von_neumann`].
    pub drifts: bool,
    /// Why it has no time.
    pub why: Option<Name>,
    /// Of what `ticks` are.
    pub unit: Name,
    /// The statistic, for one unit of work.
    pub ticks: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// The windows at each of [`FRACTIONS`], in the unit of `ticks`; `None` without windows.
    pub shape: Option<[f32; FRACTIONS.len()]>,
    /// The least that hardware allows.
    pub limit: Option<f32>,
    /// What is known without running it.
    pub known: Known,
    /// The windows in the unit of `ticks`, if the loader keeps them.
    pub samples: Option<Box<[f32]>>,
}

impl Entry {
    /// Whether it has a time.
    pub fn is_timed(&self) -> bool {
        self.state.is_timed()
    }
}

/// [`Static`], in less memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// Instructions in the code.
    pub instructions: Option<u32>,
    /// Bytes of the code.
    pub bytes: Option<u32>,
    /// Values that are kept on the stack.
    pub spills: Option<u32>,
    /// Along the longest chain of dependencies.
    pub critical_path: Option<f32>,
    /// Along the busiest port.
    pub bound: Option<f32>,
    /// What the model of the CPU expects.
    pub predicted: Option<f32>,
}

impl From<Static> for Known {
    fn from(known: Static) -> Known {
        let count = |count: Option<u64>| count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let time = |time: Option<f64>| time.map(|time| time as f32);
        Known {
            instructions: count(known.instructions),
            bytes: count(known.bytes),
            spills: count(known.spills),
            critical_path: time(known.critical_path),
            bound: time(known.bound),
            predicted: time(known.predicted),
        }
    }
}

/// Compares names as people do: runs of digits as numbers.
pub fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let ([x, ..], [y, ..]) = (left, right) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let ((x, rest), (y, other)) = (left.split_at(digits(left)), right.split_at(digits(right)));
            let bare = |digits: &[u8]| digits.iter().position(|&digit| digit != b'0').unwrap_or(digits.len());
            let (x, y) = (&x[bare(x)..], &y[bare(y)..]);
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            if order.is_ne() {
                return order;
            }
            (left, right) = (rest, other);
        } else {
            if x != y {
                return x.cmp(y);
            }
            (left, right) = (&left[1..], &right[1..]);
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_people() {
        let mut names = ["mulx.u16", "mulx.u2", "mul.u4", "mulx.u02", "mulx", "mulx.u2.o1"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["mul.u4", "mulx", "mulx.u02", "mulx.u2", "mulx.u2.o1", "mulx.u16"]);
    }
}
