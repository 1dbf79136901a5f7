//! The atlas: the fewest variants that are good enough everywhere. Set cover over places, each of which is a machine and a length.
//! Exact where that is possible in reasonable time, else greedy with a bound.

/// Sets looked at by the exact search after which greedy is good enough.
const PATIENCE: usize = 4_000_000;
/// Most sets between which every pair is compared.
const MOST_COMPARED: usize = 3000;

/// A set of places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Places(Vec<u64>);

impl Places {
    /// None of so many.
    pub fn none(places: usize) -> Places {
        Places(vec![0; places.div_ceil(64)])
    }

    /// All of so many.
    fn all(places: usize) -> Places {
        let mut all = Places::none(places);
        (0..places).for_each(|place| all.insert(place));
        all
    }

    /// Adds a place.
    pub fn insert(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// Whether a place is in it.
    pub fn contains(&self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    /// How many places are in it.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn common(&self, other: &Places) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    fn is_within(&self, other: &Places) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    fn without(&self, other: &Places) -> Places {
        Places(self.0.iter().zip(&other.0).map(|(a, b)| a & !b).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len() * 64).filter(|&place| self.contains(place))
    }
}

/// Sets that together hold every place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Indices of the sets, ascending.
    pub chosen: Vec<usize>,
    /// No fewer can do.
    pub at_least: usize,
}

/// The fewest sets that hold every place that any of them holds. Of equally good ones the earlier in the list is taken, as far as the
/// search goes.
pub fn cover(sets: &[Places], places: usize) -> Cover {
    let useful = useful(sets);
    let mut wanted = Places::none(places);
    useful.iter().for_each(|&set| sets[set].iter().for_each(|place| wanted.insert(place)));
    debug_assert!(wanted.is_within(&Places::all(places)), "sets of places");
    let greedy = greedy(sets, &useful, &wanted);
    let lower = packing(sets, &useful, &wanted);
    // A place that few sets hold leaves little choice.
    let mut holders: Vec<(usize, Vec<usize>)> = wanted
        .iter()
        .map(|place| (place, useful.iter().copied().filter(|&set| sets[set].contains(place)).collect()))
        .collect();
    holders.sort_by_key(|(_, holders)| holders.len());
    let mut search = Search { sets, useful: &useful, holders: &holders, looks: 0, best: greedy };
    let done = search.best.len() <= lower || search.descend(&wanted, &mut Vec::new());
    let mut chosen = search.best;
    chosen.sort_unstable();
    let at_least = if done { chosen.len() } else { lower };
    Cover { chosen, at_least }
}

/// Sets that no other makes superfluous, in their order.
fn useful(sets: &[Places]) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    let mut kept: Vec<usize> =
        (0..sets.len()).filter(|&set| !sets[set].is_empty() && seen.insert(&sets[set])).collect();
    if kept.len() <= MOST_COMPARED {
        let all = kept.clone();
        kept.retain(|&set| !all.iter().any(|&other| other != set && sets[set].is_within(&sets[other])));
    }
    kept
}

/// The largest first: at most 1 + 1/2 + ... + 1/largest times the fewest (Chvatal, Mathematics of Operations Research 4, 1979).
fn greedy(sets: &[Places], useful: &[usize], wanted: &Places) -> Vec<usize> {
    let mut left = wanted.clone();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let most = useful.iter().copied().max_by_key(|&set| (sets[set].common(&left), std::cmp::Reverse(set)));
        let Some(most) = most else { break };
        left = left.without(&sets[most]);
        chosen.push(most);
    }
    chosen
}

/// Places of which no set holds two: so many sets are needed.
fn packing(sets: &[Places], useful: &[usize], wanted: &Places) -> usize {
    let mut left = wanted.clone();
    let mut count = 0;
    while !left.is_empty() {
        // The place whose sets take the fewest others along.
        let taken = |place: usize| {
            let mut taken = Places::none(sets[useful[0]].0.len() * 64);
            for &set in useful.iter().filter(|&&set| sets[set].contains(place)) {
                taken.0.iter_mut().zip(&sets[set].0).for_each(|(word, own)| *word |= own);
            }
            taken
        };
        // With many places each is asked only now and then.
        let asked = left.iter().take(64).map(taken);
        let Some(fewest) = asked.min_by_key(|taken| taken.common(&left)) else { break };
        left = left.without(&fewest);
        count += 1;
    }
    count
}

struct Search<'a> {
    sets: &'a [Places],
    useful: &'a [usize],
    /// The places, those that the fewest sets hold first, with these sets.
    holders: &'a [(usize, Vec<usize>)],
    looks: usize,
    best: Vec<usize>,
}

impl Search<'_> {
    /// Tries every set that holds the place which the fewest sets hold. Whether it came to an end.
    fn descend(&mut self, left: &Places, chosen: &mut Vec<usize>) -> bool {
        self.looks += self.useful.len();
        if self.looks > PATIENCE {
            return false;
        }
        if left.is_empty() {
            if chosen.len() < self.best.len() {
                self.best.clone_from(chosen);
            }
            return true;
        }
        let largest = self.useful.iter().map(|&set| self.sets[set].common(left)).max().unwrap_or(0);
        if largest == 0 || chosen.len() + left.count().div_ceil(largest) >= self.best.len() {
            return true;
        }
        let sets = self.sets;
        let rarest = self.holders.iter().find(|(place, _)| left.contains(*place));
        let Some(mut candidates) = rarest.map(|(_, holders)| holders.clone()) else { return true };
        candidates.sort_by_key(|&set| (std::cmp::Reverse(sets[set].common(left)), set));
        for set in candidates {
            chosen.push(set);
            let rest = left.without(&sets[set]);
            let done = self.descend(&rest, chosen);
            chosen.pop();
            if !done {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_runtime::random::Random;

    fn sets(places: usize, lists: &[&[usize]]) -> Vec<Places> {
        let set = |list: &&[usize]| {
            let mut set = Places::none(places);
            list.iter().for_each(|&place| set.insert(place));
            set
        };
        lists.iter().map(set).collect()
    }

    #[test]
    fn the_fewest_are_found_where_greed_fails() {
        let sets = sets(6, &[&[0, 1, 2, 3], &[0, 2, 4], &[1, 3, 5], &[5], &[4]]);
        assert_eq!(greedy(&sets, &[0, 1, 2, 3, 4], &Places::all(6)).len(), 3);
        assert_eq!(cover(&sets, 6), Cover { chosen: vec![1, 2], at_least: 2 });
    }

    #[test]
    fn of_equals_the_earlier_is_taken() {
        let sets = sets(3, &[&[0], &[0, 1, 2], &[0, 1, 2], &[2]]);
        assert_eq!(cover(&sets, 3).chosen, [1]);
    }

    #[test]
    fn nothing_needs_nothing() {
        assert_eq!(cover(&[], 0), Cover { chosen: vec![], at_least: 0 });
        assert_eq!(cover(&sets(5, &[&[], &[]]), 5), Cover { chosen: vec![], at_least: 0 });
    }

    /// Against every subset.
    #[test]
    fn small_covers_are_the_smallest() {
        let mut random = Random::new(9);
        for _ in 0..300 {
            let places = 1 + random.below(8) as usize;
            let count = 1 + random.below(9) as usize;
            let masks: Vec<u64> = (0..count).map(|_| random.word() & random.word() & ((1 << places) - 1)).collect();
            let all = masks.iter().fold(0, |all, mask| all | mask);
            let covers = |subset: u32| {
                (0..count).filter(|set| subset >> set & 1 == 1).fold(0, |union, set| union | masks[set]) == all
            };
            let fewest = (0..1u32 << count).filter(|&subset| covers(subset)).map(u32::count_ones).min().unwrap();
            let sets: Vec<Places> = masks.iter().map(|&mask| Places(vec![mask])).collect();
            let found = cover(&sets, places);
            assert_eq!((found.chosen.len() as u32, found.at_least as u32), (fewest, fewest), "{masks:?}");
            assert!(covers(found.chosen.iter().fold(0, |subset, set| subset | 1 << set)), "{masks:?}");
        }
    }

    #[test]
    fn large_covers_are_bounded() {
        let mut random = Random::new(10);
        let places = 400;
        let mut sets: Vec<Places> = (0..600).map(|_| Places::none(places)).collect();
        for set in &mut sets {
            (0..12).for_each(|_| set.insert(random.below(places as u64) as usize));
        }
        (0..places).for_each(|place| sets[place].insert(place));
        let found = cover(&sets, places);
        let mut union = Places::none(places);
        found.chosen.iter().for_each(|&set| sets[set].iter().for_each(|place| union.insert(place)));
        assert_eq!(union.count(), places);
        assert!(
            found.at_least > 10 && found.at_least <= found.chosen.len(),
            "{} {}",
            found.at_least,
            found.chosen.len()
        );
    }
}
