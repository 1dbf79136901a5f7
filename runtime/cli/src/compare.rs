//! Two sweeps, point by point: what changed by more than luck and more than a threshold. Pure functions of what was read.

use std::collections::{BTreeMap, HashMap};

use kiln_runtime::statistics::{benjamini_hochberg, holm, mann_whitney};
use serde::Serialize;

use crate::report::model::{Entry, Model};
use crate::sweep::record::{Cpu, Mode, State};

/// What became of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It was measured before and is wrong now.
    Broken,
    /// Significantly slower, by more than the threshold.
    Slower,
    /// Significantly faster, by more than the threshold.
    Faster,
    /// It cannot be measured any more, though it is not wrong.
    Gone,
    /// Not significant, or within the threshold.
    Same,
    /// Without windows nothing can be tested.
    Untested,
}

impl Verdict {
    /// The word in documents and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Broken => "broken",
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Gone => "gone",
            Verdict::Same => "same",
            Verdict::Untested => "untested",
        }
    }
}

/// A point in both sweeps.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The kernel.
    pub kernel: String,
    /// The variant, without the kernel.
    pub variant: String,
    /// The length.
    pub n: u64,
    /// How calls follow each other.
    pub mode: Mode,
    /// The machine, as the new sweep calls it.
    pub machine: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it has no time any more.
    pub why: Option<String>,
    /// The statistic before, in clock units for one unit of work.
    pub old: f64,
    /// The statistic after.
    pub new: Option<f64>,
    /// After over before, less one.
    pub change: Option<f64>,
    /// Ends of an interval for the change, from those of both statistics: if these have 95 %, it has at least 90 %.
    pub interval: Option<[f64; 2]>,
    /// Of the rank test alone.
    pub p_value: Option<f64>,
    /// Corrected for the number of comparisons by Holm's procedure: what the level is asked of.
    pub p_holm: Option<f64>,
    /// Corrected by the procedure of Benjamini and Hochberg, for those who look for what may have changed.
    pub p_fdr: Option<f64>,
    /// Where it stood: `file:line`.
    pub old_line: String,
    /// Where it stands.
    pub new_line: String,
}

/// What changed.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Changes up to this fraction are none.
    pub threshold: f64,
    /// How likely a wrong alarm may be, over all comparisons together.
    pub level: f64,
    /// Rank tests that were made.
    pub comparisons: usize,
    /// Median of all ratios of after to before: what changed for all alike.
    pub median_ratio: Option<f64>,
    /// Comparisons whose windows are so few that no difference could be significant.
    pub hopeless: usize,
    /// Points whose windows drift, in either sweep.
    pub drifting: usize,
    /// Points of the old sweep alone.
    pub only_old: usize,
    /// Points of the new sweep alone.
    pub only_new: usize,
    /// Whether the machines are not the same.
    pub other_machine: bool,
    /// The points in both: what is wrong first, then the largest change first.
    pub rows: Vec<Row>,
}

impl Comparison {
    /// How many have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// Whether nothing is slower, and nothing wrong.
    pub fn is_good(&self) -> bool {
        self.count(Verdict::Slower) == 0 && self.count(Verdict::Broken) == 0
    }
}

type Key<'a> = (&'a str, &'a str, u64, Mode, u32);

/// Compares what two sweeps measured of the same variants, lengths and machines. If each has one machine, they are compared
/// even if these differ. `None` if nothing was measured in both.
pub fn compare(old: &Model, new: &Model, threshold: f64, level: f64) -> Option<Comparison> {
    let same_machine = machines(old, new);
    let other_machine = same_machine.iter().any(|(&a, &b)| {
        let who = |model: &'_ Model, index: u32| -> Cpu { model.machines[index as usize].cpu.clone() };
        who(old, a) != who(new, b)
    });
    let mut before: HashMap<Key<'_>, &Entry> = HashMap::new();
    for point in &old.points {
        if let Some(&machine) = same_machine.get(&point.machine) {
            before.insert(key(old, point, machine), point);
        }
    }
    let (mut pairs, mut only_new) = (Vec::new(), 0);
    for point in &new.points {
        match before.remove(&key(new, point, point.machine)) {
            Some(old_point) if old_point.is_timed() => pairs.push((old_point, point)),
            _ => only_new += usize::from(point.is_timed()),
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let paired: usize = pairs.len();
    let only_old = old.points.iter().filter(|point| point.is_timed()).count() - paired;
    let mut rows: Vec<Row> = pairs.iter().map(|(a, b)| row(old, new, a, b)).collect();
    let tested: Vec<usize> = (0..paired).filter(|&index| rows[index].p_value.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|&index| rows[index].p_value).collect();
    let fdr = benjamini_hochberg(&p_values);
    for ((&index, p_holm), p_fdr) in tested.iter().zip(holm(&p_values)).zip(fdr) {
        let row = &mut rows[index];
        (row.p_holm, row.p_fdr) = (Some(p_holm), Some(p_fdr));
        let change = row.change.unwrap_or(0.0);
        row.verdict = match () {
            () if p_holm > level => Verdict::Same,
            () if change > threshold => Verdict::Slower,
            // As many times faster as slower is allowed.
            () if change < 1.0 / (1.0 + threshold) - 1.0 => Verdict::Faster,
            () => Verdict::Same,
        };
    }
    // There are few pairs of counts, and many of points.
    let mut least: HashMap<(u32, u32), f64> = HashMap::new();
    let hopeless = tested.iter().filter(|&&index| {
        let counts = (pairs[index].0.windows, pairs[index].1.windows);
        *least.entry(counts).or_insert_with(|| least_p(counts.0, counts.1)) * p_values.len() as f64 > level
    });
    let hopeless = hopeless.count();
    let mut ratios: Vec<f64> = rows.iter().filter_map(|row| row.change).map(|change| change + 1.0).collect();
    ratios.sort_by(f64::total_cmp);
    let size = |row: &Row| row.change.map_or(f64::INFINITY, |change| change.ln_1p().abs());
    rows.sort_by(|a, b| a.verdict.cmp(&b.verdict).then_with(|| size(b).total_cmp(&size(a))));
    Some(Comparison {
        threshold,
        level,
        comparisons: p_values.len(),
        median_ratio: ratios.get(ratios.len() / 2).copied(),
        hopeless,
        drifting: pairs.iter().filter(|(a, b)| a.drifts || b.drifts).count(),
        only_old,
        only_new,
        other_machine,
        rows,
    })
}

fn key<'a>(model: &'a Model, point: &Entry, machine: u32) -> Key<'a> {
    let variant = &model.variants[point.variant as usize];
    (&variant.kernel, &variant.name, point.n, point.mode, machine)
}

/// Which machine of the new sweep each of the old one is.
fn machines(old: &Model, new: &Model) -> BTreeMap<u32, u32> {
    if let ([_], [_]) = (old.machines.as_slice(), new.machines.as_slice()) {
        return BTreeMap::from([(0, 0)]);
    }
    let same = |a: usize| {
        let is_same =
            |b: &usize| old.machines[a].cpu == new.machines[*b].cpu && old.machines[a].timer == new.machines[*b].timer;
        Some((a as u32, (0..new.machines.len()).find(is_same)? as u32))
    };
    (0..old.machines.len()).filter_map(same).collect()
}

fn row(old: &Model, new: &Model, a: &Entry, b: &Entry) -> Row {
    let variant = &new.variants[b.variant as usize];
    let source = |model: &Model, point: &Entry| format!("{}:{}", model.files[point.file as usize].path, point.line);
    let timed = b.is_timed();
    let samples = |point: &Entry| -> Vec<f64> {
        point.samples.iter().flat_map(|samples| samples.iter().map(|&sample| f64::from(sample))).collect()
    };
    let (before, after) = (samples(a), samples(b));
    let p_value = (timed && !before.is_empty() && !after.is_empty()).then(|| mann_whitney(&before, &after).p_value);
    Row {
        kernel: variant.kernel.to_string(),
        variant: variant.name.to_string(),
        n: b.n,
        mode: b.mode,
        machine: new.machines[b.machine as usize].label.clone(),
        verdict: match b.state {
            State::Failed => Verdict::Broken,
            State::Ineligible | State::Refused => Verdict::Gone,
            State::Measured | State::Imprecise => Verdict::Untested,
        },
        why: b.why.as_deref().filter(|_| !timed).map(str::to_owned),
        old: a.ticks,
        new: timed.then_some(b.ticks),
        change: timed.then(|| b.ticks / a.ticks - 1.0),
        interval: timed.then(|| [b.low / a.high - 1.0, b.high / a.low - 1.0]).filter(|ends| ends[1].is_finite()),
        p_value,
        p_holm: None,
        p_fdr: None,
        old_line: source(old, a),
        new_line: source(new, b),
    }
}

/// The smallest p-value that so many windows can give: when every one of the new sweep is longer than every one of the old.
fn least_p(old: u32, new: u32) -> f64 {
    let most = |count: u32| count.min(1000);
    let low: Vec<f64> = (0..most(old)).map(f64::from).collect();
    let high: Vec<f64> = (0..most(new)).map(|sample| 1e6 + f64::from(sample)).collect();
    mann_whitney(&low, &high).p_value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{header, load, point};
    use crate::sweep::record::{Point, Record};

    fn sweep(run: &str, machine: &str, points: impl IntoIterator<Item = Point>) -> Model {
        let points = points.into_iter().map(Record::from);
        load(&[std::iter::once(Record::from(header(run, machine))).chain(points).collect()])
    }

    fn verdicts(comparison: &Comparison) -> Vec<(&str, Verdict)> {
        comparison.rows.iter().map(|row| (row.variant.as_str(), row.verdict)).collect()
    }

    #[test]
    fn changes_are_told_from_what_is_the_same() {
        let ticks = |unroll: i64, factor: f64| point("1", "a", unroll, 64, 2.0 / unroll as f64 * factor);
        let old = sweep("1", "M", (1..=8).map(|unroll| ticks(unroll, 1.0)));
        // Slower by 3 %, faster by 5 %, slower by less than the threshold, and nothing.
        let factors = [1.0, 1.03, 0.95, 1.015, 1.0, 1.0, 1.0, 1.0];
        let new = sweep("1", "M", (1..=8).zip(factors).map(|(unroll, factor)| ticks(unroll, factor)));
        let found = compare(&old, &new, 0.02, 0.01).unwrap();
        assert_eq!(
            verdicts(&found)[..3],
            [("a.u2", Verdict::Slower), ("a.u3", Verdict::Faster), ("a.u4", Verdict::Same)]
        );
        assert_eq!((found.count(Verdict::Same), found.comparisons, found.is_good()), (6, 8, false));
        let slower = &found.rows[0];
        assert!((slower.change.unwrap() - 0.03).abs() < 1e-9 && slower.p_holm.unwrap() < 1e-5, "{slower:?}");
        assert_eq!((slower.old_line.as_str(), slower.new_line.as_str()), ("f0.jsonl:3", "f0.jsonl:3"));
        let [low, high] = slower.interval.unwrap();
        assert!(low > 0.027 && low < 0.03 && high > 0.03 && high < 0.033, "{low} {high}");
        // With a threshold above it, it is no regression.
        assert!(compare(&old, &new, 0.05, 0.01).unwrap().is_good());
        assert!(compare(&old, &old, 0.0, 0.5).unwrap().is_good());
        assert!((found.median_ratio.unwrap() - 1.0).abs() < 1e-9 && found.hopeless == 0 && !found.other_machine);
    }

    #[test]
    fn what_is_wrong_now_is_worse_than_what_is_slow() {
        let old = sweep("1", "M", [1, 2, 3, 4].map(|unroll| point("1", "a", unroll, 64, 1.0)));
        let without_time = |unroll: i64, state: State| {
            let mut point = point("1", "a", unroll, 64, 1.0);
            (point.state, point.ticks, point.low, point.high, point.why) =
                (state, None, None, None, Some("because".into()));
            point.windows.clear();
            point
        };
        let new = [without_time(1, State::Failed), without_time(2, State::Refused), point("1", "a", 3, 64, 1.2)];
        let new = sweep("1", "M", new.into_iter().chain([point("1", "b", 1, 64, 1.0)]));
        let found = compare(&old, &new, 0.02, 0.01).unwrap();
        let expected = [("a.u1", Verdict::Broken), ("a.u3", Verdict::Slower), ("a.u2", Verdict::Gone)];
        assert_eq!(verdicts(&found), expected);
        assert_eq!((found.rows[0].why.as_deref(), found.rows[0].new), (Some("because"), None));
        assert_eq!((found.only_old, found.only_new, found.is_good()), (1, 1, false));
        // Wrong alone is enough for an alarm; gone alone is not.
        let alone =
            |state: State| compare(&old, &sweep("1", "M", [without_time(1, state)]), 0.02, 0.01).unwrap().is_good();
        assert!(!alone(State::Failed) && alone(State::Ineligible));
        // What was wrong before was not measured before.
        assert!(compare(&new, &old, 0.02, 0.01).unwrap().is_good());
    }

    #[test]
    fn doubtful_comparisons_say_so() {
        let short = |ticks: f64| {
            let mut point = point("1", "a", 1, 64, ticks);
            point.windows.truncate(4);
            point
        };
        let found = compare(&sweep("1", "M", [short(1.0)]), &sweep("1", "M", [short(2.0)]), 0.02, 0.01).unwrap();
        assert_eq!((found.hopeless, verdicts(&found)), (1, vec![("a.u1", Verdict::Same)]));
        let mut bare = point("1", "a", 1, 64, 2.0);
        bare.windows.clear();
        let found = compare(&sweep("1", "M", [short(1.0)]), &sweep("1", "M", [bare]), 0.02, 0.01).unwrap();
        assert_eq!((found.comparisons, verdicts(&found)), (0, vec![("a.u1", Verdict::Untested)]));
        let other = sweep("1", "Other", [point("1", "a", 1, 64, 1.0)]);
        assert!(compare(&sweep("1", "M", [short(1.0)]), &other, 0.02, 0.01).unwrap().other_machine);
        let elsewhere = sweep("1", "M", [point("1", "a", 1, 65, 1.0)]);
        assert!(compare(&sweep("1", "M", [short(1.0)]), &elsewhere, 0.02, 0.01).is_none());
    }

    #[test]
    fn several_machines_are_compared_each_with_itself() {
        let both = |one: f64, two: f64, order: [usize; 2]| {
            let headers = [header("1", "One"), header("22", "Two")].map(Record::from);
            let points = [point("1", "a", 1, 64, one), point("22", "a", 1, 64, two)].map(Record::from);
            load(&[order.iter().flat_map(|&index| [headers[index].clone(), points[index].clone()]).collect()])
        };
        let found = compare(&both(1.0, 5.0, [0, 1]), &both(1.0, 6.0, [1, 0]), 0.02, 0.01).unwrap();
        assert_eq!(found.rows.len(), 2);
        assert_eq!((found.rows[0].machine.as_str(), found.rows[0].verdict), ("Two", Verdict::Slower));
        assert_eq!(found.rows[1].verdict, Verdict::Same);
        let one = sweep("22", "Two", [point("22", "a", 1, 64, 5.0)]);
        let found = compare(&both(1.0, 5.0, [0, 1]), &one, 0.02, 0.01).unwrap();
        assert_eq!((found.rows.len(), found.only_old), (1, 1));
    }
}
