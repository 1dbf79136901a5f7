//! In which order a space is looked at, and how hard. Decides by what is recorded and by a seed alone, so that a search that
//! goes on in an older file takes the same way again.

use kiln_runtime::random::Random;

use super::record::Value;
use std::collections::BTreeMap;

/// A variant at one length: indices of the space, and n.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    /// Which kernel.
    pub kernel: usize,
    /// Which of its plans.
    pub plan: usize,
    /// The length.
    pub n: u64,
}

/// A random sample of so many cells, in the order of the space.
pub fn sample(mut cells: Vec<Cell>, size: usize, seed: u64) -> Vec<Cell> {
    let mut random = Random::new(seed);
    let size = size.min(cells.len());
    // Fisher and Yates, the first places alone.
    for place in 0..size {
        let other = place + random.below((cells.len() - place) as u64) as usize;
        cells.swap(place, other);
    }
    cells.truncate(size);
    cells.sort_unstable();
    cells
}

/// The faster half of cells by their times, at least `keep` of them; and the rest. Equal times stay in the order of the space.
pub fn halve(mut timed: Vec<(f64, Cell)>, keep: usize) -> (Vec<Cell>, Vec<Cell>) {
    timed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let cells: Vec<Cell> = timed.into_iter().map(|(_, cell)| cell).collect();
    let (fast, slow) = cells.split_at(keep.max(cells.len().div_ceil(2)).min(cells.len()));
    (fast.to_vec(), slow.to_vec())
}

/// Schedules are not ordered: so many of them are neighbours of each.
const OTHERS: usize = 4;

/// The plans of one kernel by their parameters, so that neighbours are found.
pub struct Neighbourhood {
    settings: Vec<(String, BTreeMap<String, Value>)>,
    places: BTreeMap<(String, BTreeMap<String, Value>), usize>,
    /// By strategy and key, the values that occur, ascending.
    values: BTreeMap<(String, String), Vec<Value>>,
}

impl Neighbourhood {
    /// Of plans, each with its strategy and its parameters.
    pub fn new(settings: Vec<(String, BTreeMap<String, Value>)>) -> Neighbourhood {
        let places = settings.iter().cloned().enumerate().map(|(place, setting)| (setting, place)).collect();
        let mut values: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
        for (strategy, set) in &settings {
            for (key, value) in set {
                values.entry((strategy.clone(), key.clone())).or_default().push(value.clone());
            }
        }
        for list in values.values_mut() {
            list.sort_unstable();
            list.dedup();
        }
        Neighbourhood { settings, places, values }
    }

    /// Plans that differ from a plan in one parameter: in the next smaller or larger number, in another word, or in one of a
    /// few schedules, which the random numbers choose.
    pub fn of(&self, plan: usize, random: &mut Random) -> Vec<usize> {
        let (strategy, set) = &self.settings[plan];
        let mut found = Vec::new();
        for (key, value) in set {
            let Some(list) = self.values.get(&(strategy.clone(), key.clone())) else { continue };
            let at = list.binary_search(value).unwrap_or(0);
            let others: Vec<&Value> = match value {
                Value::Integer(_) => {
                    [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| list.get(at)).collect()
                }
                Value::Text(_) if list.len() <= OTHERS + 1 => list.iter().filter(|other| *other != value).collect(),
                Value::Text(_) => (0..OTHERS).map(|_| &list[random.below(list.len() as u64) as usize]).collect(),
            };
            for other in others {
                let mut changed = set.clone();
                changed.insert(key.clone(), other.clone());
                if let Some(&place) = self.places.get(&(strategy.clone(), changed))
                    && place != plan
                    && !found.contains(&place)
                {
                    found.push(place);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(plan: usize) -> Cell {
        Cell { kernel: 0, plan, n: 8 }
    }

    #[test]
    fn a_sample_is_of_the_space_and_of_its_seed() {
        let cells: Vec<Cell> = (0..100).map(cell).collect();
        let drawn = sample(cells.clone(), 10, 7);
        assert_eq!((drawn.len(), &drawn), (10, &sample(cells.clone(), 10, 7)));
        assert!(drawn.is_sorted() && drawn.iter().all(|cell| cells.contains(cell)));
        assert_ne!(drawn, sample(cells.clone(), 10, 8));
        assert_eq!(sample(cells.clone(), 1000, 1), cells);
        let mut seen = [0; 10];
        for seed in 0..1000 {
            sample((0..10).map(cell).collect(), 3, seed).iter().for_each(|cell| seen[cell.plan] += 1);
        }
        assert!(seen.iter().all(|&times| (250..350).contains(&times)), "each as likely: {seen:?}");
    }

    #[test]
    fn the_faster_half_stays() {
        let timed = |times: &[f64]| times.iter().enumerate().map(|(plan, time)| (*time, cell(plan))).collect();
        let plans = |cells: Vec<Cell>| cells.into_iter().map(|cell| cell.plan).collect::<Vec<_>>();
        let (fast, slow) = halve(timed(&[3.0, 1.0, 2.0, f64::INFINITY, 1.0]), 1);
        assert_eq!((plans(fast), plans(slow)), (vec![1, 4, 2], vec![0, 3]));
        let (fast, slow) = halve(timed(&[3.0, 1.0, 2.0]), 8);
        assert_eq!((fast.len(), slow.len()), (3, 0));
    }

    #[test]
    fn neighbours_differ_in_one_parameter() {
        let mut settings = Vec::new();
        for unroll in [1, 2, 4, 8] {
            for edge in ["folded", "live"] {
                let set = [("unroll".to_owned(), Value::from(unroll)), ("back_edge".to_owned(), edge.into())];
                settings.push(("mulx".to_owned(), set.into_iter().collect::<BTreeMap<_, _>>()));
            }
        }
        let hood = Neighbourhood::new(settings);
        let mut random = Random::new(1);
        let of = |plan, random: &mut Random| {
            let mut found = hood.of(plan, random);
            found.sort_unstable();
            found
        };
        assert_eq!(of(0, &mut random), [1, 2]);
        assert_eq!(of(3, &mut random), [1, 2, 5]);
        assert_eq!(of(7, &mut random), [5, 6]);
    }
}
