//! One kernel in one mode: what a chapter of a report is about. Finds the places (a machine and a length), the best at each, the
//! parameter that pictures have on their axis, and which variants are worth keeping. Knows no picture.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::atlas::{Cover, Places, cover};
use super::model::{Entry, Model, Name, Variant, natural};
use crate::sweep::record::Mode;

/// Parameters that are the axis if they vary, before any other.
const FIRST: [&str; 2] = ["unroll", "blocks"];

/// One kernel in one mode.
#[derive(Debug)]
pub struct Section<'a> {
    /// What everything points into.
    pub model: &'a Model,
    /// The kernel.
    pub kernel: Name,
    /// How calls follow each other.
    pub mode: Mode,
    /// Of what `ticks` are.
    pub unit: Name,
    /// The points: by machine, length and variant.
    pub points: &'a [Entry],
    /// Indices of the machines with a time.
    pub machines: Vec<u32>,
    /// Lengths with a time.
    pub sizes: Vec<u64>,
    /// Strategies with a time.
    pub strategies: Vec<Name>,
    /// The numeric parameter of the axis, if any varies.
    pub axis: Option<Name>,
    /// Places with a time: by machine, then by length.
    pub places: Vec<Place>,
}

/// A machine and a length.
#[derive(Clone, Debug)]
pub struct Place {
    /// Index of the machine.
    pub machine: u32,
    /// The length.
    pub n: u64,
    /// Its points among those of the section, timed or not.
    pub range: Range<usize>,
    /// Index of the fastest among those of the section.
    pub best: usize,
    /// The least that hardware allows, if it is known.
    pub limit: Option<f64>,
}

/// A variant that is nowhere the fastest, and nowhere indistinguishable from the fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Loser {
    /// Index of the variant.
    pub variant: u32,
    /// How many times the best it takes where it is closest.
    pub ratio: f64,
    /// Index of its point there, among those of the section.
    pub closest: usize,
    /// Places where it has a time.
    pub places: usize,
}

/// The fewest variants for a tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct Atlas {
    /// How much slower than the best is good enough, as a fraction.
    pub within: f64,
    /// Indices of variants, with the places (indices) where each is good enough.
    pub variants: Vec<(u32, Vec<usize>)>,
    /// No fewer can do.
    pub at_least: usize,
}

impl Atlas {
    /// Whether no fewer can do.
    pub fn is_smallest(&self) -> bool {
        self.at_least == self.variants.len()
    }
}

/// The sections of a model; the axis is `axis` where that parameter varies.
pub fn sections<'a>(model: &'a Model, axis: Option<&str>) -> Vec<Section<'a>> {
    let kernel = |point: &Entry| &model.variants[point.variant as usize].kernel;
    let same = |a: &Entry, b: &Entry| kernel(a) == kernel(b) && a.mode == b.mode;
    model.points.chunk_by(same).map(|points| Section::new(model, points, axis)).collect()
}

impl<'a> Section<'a> {
    fn new(model: &'a Model, points: &'a [Entry], axis: Option<&str>) -> Section<'a> {
        let first = &points[0];
        let mut places = Vec::new();
        let mut start = 0;
        for chunk in points.chunk_by(|a, b| (a.machine, a.n) == (b.machine, b.n)) {
            let range = start..start + chunk.len();
            start = range.end;
            let timed = range.clone().filter(|&index| points[index].is_timed());
            let best = timed.min_by(|&a, &b| points[a].ticks.total_cmp(&points[b].ticks));
            let least = |of: &dyn Fn(&Entry) -> Option<f32>| {
                chunk.iter().filter_map(of).map(f64::from).filter(|limit| *limit > 0.0).min_by(f64::total_cmp)
            };
            // If nobody says it: the variant whose busiest unit has the least to do.
            let limit = least(&|point| point.limit).or_else(|| least(&|point| point.known.bound));
            if let Some(best) = best {
                places.push(Place { machine: chunk[0].machine, n: chunk[0].n, range, best, limit });
            }
        }
        let machines: BTreeSet<u32> = places.iter().map(|place| place.machine).collect();
        let sizes: BTreeSet<u64> = places.iter().map(|place| place.n).collect();
        let timed = || points.iter().filter(|point| point.is_timed());
        let variant = |point: &Entry| &model.variants[point.variant as usize];
        let strategies: BTreeSet<&Name> = timed().map(|point| &variant(point).strategy).collect();
        let mut strategies: Vec<Name> = strategies.into_iter().cloned().collect();
        strategies.sort_by(|a, b| natural(a, b));
        Section {
            model,
            kernel: variant(first).kernel.clone(),
            mode: first.mode,
            unit: timed().next().unwrap_or(first).unit.clone(),
            points,
            machines: machines.into_iter().collect(),
            sizes: sizes.into_iter().collect(),
            strategies,
            axis: find_axis(timed().map(variant), axis),
            places,
        }
    }

    /// Its name: the kernel, and the mode if that is not throughput.
    pub fn title(&self) -> String {
        match self.mode {
            Mode::Throughput => self.kernel.to_string(),
            mode => format!("{} ({})", self.kernel, mode.word()),
        }
    }

    /// The variant of a point.
    pub fn variant(&self, point: &Entry) -> &'a Variant {
        &self.model.variants[point.variant as usize]
    }

    /// Where a point stands: `file:line`.
    pub fn source(&self, point: &Entry) -> String {
        format!("{}:{}", self.model.files[point.file as usize].name, point.line)
    }

    /// The points of a place that have a time.
    pub fn timed(&self, place: &Place) -> impl Iterator<Item = &'a Entry> {
        self.points[place.range.clone()].iter().filter(|point| point.is_timed())
    }

    /// The fastest of a place.
    pub fn best(&self, place: &Place) -> &'a Entry {
        &self.points[place.best]
    }

    /// The place of a machine and a length.
    pub fn place(&self, machine: u32, n: u64) -> Option<&Place> {
        self.places.iter().find(|place| (place.machine, place.n) == (machine, n))
    }

    /// For a strategy at a place, and each value on the axis, the fastest over all other parameters.
    pub fn line(&self, place: &Place, strategy: &str) -> Vec<(i64, &'a Entry)> {
        let Some(axis) = &self.axis else { return Vec::new() };
        let mut best: BTreeMap<i64, &'a Entry> = BTreeMap::new();
        for point in self.timed(place).filter(|point| *self.variant(point).strategy == *strategy) {
            let Some(x) = self.variant(point).number(axis) else { continue };
            let entry = best.entry(x).or_insert(point);
            if point.ticks < entry.ticks {
                *entry = point;
            }
        }
        best.into_iter().collect()
    }

    /// The other parameters that vary, over which a line has the fastest.
    pub fn others(&self) -> Vec<Name> {
        let mut values: BTreeMap<&Name, BTreeSet<String>> = BTreeMap::new();
        let variants: BTreeSet<u32> = self.points.iter().filter(|p| p.is_timed()).map(|point| point.variant).collect();
        for variant in &variants {
            for (key, value) in &self.model.variants[*variant as usize].set {
                let values = values.entry(key).or_default();
                if values.len() < 2 {
                    values.insert(value.to_string());
                }
            }
        }
        let varies = values.into_iter().filter(|(key, values)| values.len() > 1 && Some(*key) != self.axis.as_ref());
        varies.map(|(key, _)| key.clone()).collect()
    }

    /// For each tolerance the fewest variants that are good enough at every place.
    pub fn atlas(&self, within: &[f64]) -> Vec<Atlas> {
        within.iter().map(|&within| self.atlas_of(within)).collect()
    }

    fn atlas_of(&self, within: f64) -> Atlas {
        let mut sets: BTreeMap<u32, (Places, f64)> = BTreeMap::new();
        for (index, place) in self.places.iter().enumerate() {
            let best = self.best(place).ticks;
            for point in self.timed(place).filter(|point| point.ticks <= best * (1.0 + within)) {
                let none = || (Places::none(self.places.len()), 0.0);
                let (set, gain) = sets.entry(point.variant).or_insert_with(none);
                set.insert(index);
                *gain += best / point.ticks;
            }
        }
        // Of variants that are as good as each other, the one that is faster on the whole, then the one with the earlier name.
        let mut sets: Vec<(u32, Places, f64)> =
            sets.into_iter().map(|(variant, (set, gain))| (variant, set, gain)).collect();
        let name = |variant: u32| &self.model.variants[variant as usize].name;
        sets.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| natural(name(a.0), name(b.0))));
        let places: Vec<Places> = sets.iter().map(|(_, set, _)| set.clone()).collect();
        let Cover { chosen, at_least } = cover(&places, self.places.len());
        let held = |set: &Places| (0..self.places.len()).filter(|&place| set.contains(place)).collect();
        let mut variants: Vec<(u32, Vec<usize>)> =
            chosen.iter().map(|&set| (sets[set].0, held(&sets[set].1))).collect();
        variants.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| natural(name(a.0), name(b.0))));
        Atlas { within, variants, at_least }
    }

    /// Variants that are nowhere the fastest and whose interval nowhere reaches down to that of the fastest; those that come
    /// closest first.
    pub fn losers(&self) -> Vec<Loser> {
        let mut known: BTreeMap<u32, (Loser, bool)> = BTreeMap::new();
        for place in &self.places {
            let best = self.best(place);
            for index in place.range.clone().filter(|&index| self.points[index].is_timed()) {
                let point = &self.points[index];
                let ratio = point.ticks / best.ticks;
                let wins = index == place.best || point.low <= best.high;
                let new = || (Loser { variant: point.variant, ratio, closest: index, places: 0 }, false);
                let (loser, has_won) = known.entry(point.variant).or_insert_with(new);
                loser.places += 1;
                *has_won |= wins;
                if ratio < loser.ratio {
                    (loser.ratio, loser.closest) = (ratio, index);
                }
            }
        }
        let mut losers: Vec<Loser> =
            known.into_values().filter(|(_, has_won)| !has_won).map(|(loser, _)| loser).collect();
        let name = |loser: &Loser| &self.model.variants[loser.variant as usize].name;
        losers.sort_by(|a, b| a.ratio.total_cmp(&b.ratio).then_with(|| natural(name(a), name(b))));
        losers
    }

    /// How many variants have a time anywhere.
    pub fn variants(&self) -> usize {
        self.points.iter().filter(|point| point.is_timed()).map(|point| point.variant).collect::<BTreeSet<_>>().len()
    }
}

/// The parameter of the axis: the one that is asked for, else one of [`FIRST`], else the number with most values.
fn find_axis<'a>(variants: impl Iterator<Item = &'a Variant>, asked: Option<&str>) -> Option<Name> {
    let mut values: BTreeMap<Name, BTreeSet<i64>> = BTreeMap::new();
    for variant in variants {
        for (key, _) in &variant.set {
            if let Some(number) = variant.number(key) {
                values.entry(key.clone()).or_default().insert(number);
            }
        }
    }
    values.retain(|key, values| values.len() > 1 || asked == Some(&**key));
    let first = asked.into_iter().chain(FIRST).find_map(|key| values.get_key_value(key));
    let most = || values.iter().rev().max_by_key(|(_, values)| values.len());
    first.or_else(most).map(|(key, _)| key.clone())
}
