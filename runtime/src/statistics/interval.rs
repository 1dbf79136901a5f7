//! Confidence intervals of quantiles that hold for every distribution.
//!
//! The number of samples below the true quantile is binomial, whatever the distribution; so two order statistics enclose the
//! quantile with a probability that the binomial distribution gives (David and Nagaraja, Order Statistics, 3rd edition, section
//! 7.1). With equal samples, or a distribution with steps, that probability is at least as large.

/// Two places in sorted samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Index of the lower end.
    pub low: usize,
    /// Index of the upper end.
    pub high: usize,
    /// How likely the true quantile is between them: at least what was asked for.
    pub level: f64,
}

/// Two samples that enclose a quantile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: u64,
    /// The upper end.
    pub high: u64,
    /// How likely the true quantile is between them: at least what was asked for.
    pub level: f64,
}

/// Which of so many sorted samples enclose the quantile at `fraction` with probability `level`; both tails have at most half of
/// what is left. `None` with too few samples (13 is the fewest for a quarter at 0.95), or if `fraction` or `level` is not between
/// 0 and 1.
///
/// ```
/// use kiln_runtime::statistics::ranks;
/// let ranks = ranks(13, 0.25, 0.95).unwrap();
/// assert_eq!((ranks.low, ranks.high), (0, 6));
/// assert!(kiln_runtime::statistics::ranks(12, 0.25, 0.95).is_none());
/// ```
pub fn ranks(samples: usize, fraction: f64, level: f64) -> Option<Ranks> {
    let inside = |value: f64| value > 0.0 && value < 1.0;
    if samples == 0 || !inside(fraction) || !inside(level) {
        return None;
    }
    let masses = binomial(samples, fraction);
    let tail = (1.0 - level) / 2.0;
    // The sample of index i is above the quantile if at most i samples are below it.
    let mut low = None;
    let mut below = 0.0;
    for (index, mass) in masses.iter().enumerate() {
        if below + mass > tail {
            break;
        }
        below += mass;
        low = Some(index);
    }
    // It is under the quantile if more than i samples are.
    let mut high = None;
    let mut beyond = 0.0;
    for (index, mass) in masses.iter().enumerate().skip(1).rev() {
        if beyond + mass > tail {
            break;
        }
        beyond += mass;
        high = Some(index - 1);
    }
    Some(Ranks { low: low?, high: high?, level: 1.0 - below - beyond })
}

/// The interval of the quantile at `fraction` in sorted samples; see [`ranks`].
pub fn quantile_interval(sorted: &[u64], fraction: f64, level: f64) -> Option<Interval> {
    let ranks = ranks(sorted.len(), fraction, level)?;
    Some(Interval { low: *sorted.get(ranks.low)?, high: *sorted.get(ranks.high)?, level: ranks.level })
}

/// Blocks of neighbouring samples by which [`serial_interval`] judges how much neighbours have in common.
const BLOCKS: usize = 16;

/// The interval of the quantile at `fraction` of samples in the order in which they were taken, which may depend on their
/// neighbours: as wide as that of fewer independent ones would be. How many fewer follows from the method of batch means (Law,
/// Simulation Modeling and Analysis, 5th edition, section 9.5.3) for the share of samples below the quantile. Never narrower
/// than [`quantile_interval`], and of all samples if they are not worth the fewest that have an interval.
pub fn serial_interval(samples: &[u64], fraction: f64, level: f64) -> Option<Interval> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let plain = quantile_interval(&sorted, fraction, level)?;
    let size = samples.len() / BLOCKS;
    let inside = (samples.len() as f64 * fraction) as usize;
    let (Some(&pivot), 2..) = (sorted.get(inside), size) else { return Some(plain) };
    // Equal samples count by halves, so that a coarse clock does not look like dependence.
    let below = |sample: &u64| match sample.cmp(&pivot) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    };
    let shares: Vec<f64> = samples.iter().map(below).collect();
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let variance = |shares: &[f64]| {
        let center = mean(shares);
        shares.iter().map(|share| (share - center).powi(2)).sum::<f64>() / (shares.len() - 1) as f64
    };
    let means: Vec<f64> = shares.chunks_exact(size).map(mean).collect();
    let inflation = variance(&means) * size as f64 / variance(&shares);
    // Where all samples are equal there is no variance.
    if inflation.is_nan() || inflation <= 1.0 {
        return Some(plain);
    }
    let count = samples.len() as f64;
    let effective = (count / inflation) as usize;
    let Some(ranks) = ranks(effective, fraction, level) else {
        // They agree so much that they are as good as a few.
        return Some(Interval { low: sorted[0], high: sorted[sorted.len() - 1], level: plain.level });
    };
    let place = |rank: f64| (rank / effective as f64 * count) as usize;
    let (low, high) = (place(ranks.low as f64), place((ranks.high + 1) as f64).min(samples.len()) - 1);
    Some(Interval { low: sorted[low].min(plain.low), high: sorted[high].max(plain.high), level: ranks.level })
}

/// The probabilities of 0 to `trials` successes. By the ratios of neighbours from the likeliest outwards, so that nothing
/// overflows and what underflows is nothing.
fn binomial(trials: usize, chance: f64) -> Vec<f64> {
    let odds = chance / (1.0 - chance);
    let mode = (((trials + 1) as f64 * chance) as usize).min(trials);
    let mut masses = vec![0.0; trials + 1];
    masses[mode] = 1.0;
    for k in mode..trials {
        masses[k + 1] = masses[k] * odds * (trials - k) as f64 / (k + 1) as f64;
    }
    for k in (0..mode).rev() {
        masses[k] = masses[k + 1] / odds * (k + 1) as f64 / (trials - k) as f64;
    }
    let sum: f64 = masses.iter().sum();
    masses.iter_mut().for_each(|mass| *mass /= sum);
    masses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_are_binomial() {
        let masses = binomial(4, 0.25);
        let expected = [81.0, 108.0, 54.0, 12.0, 1.0].map(|count| count / 256.0);
        assert!(masses.iter().zip(expected).all(|(mass, expected)| (mass - expected).abs() < 1e-15), "{masses:?}");
        let masses = binomial(1_000_000, 0.25);
        assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        // Stirling: at the mean, 1 / sqrt(2 pi n p q).
        assert!((masses[250_000] * (std::f64::consts::TAU * 187_500.0).sqrt() - 1.0).abs() < 1e-4);
    }

    /// By adding up binomial coefficients: 62/64 between the first and the last of 6, 1002/1024 between the second and the
    /// ninth of 10.
    #[test]
    fn known_ranks_of_the_median() {
        for (samples, low, high, level) in [(6, 1, 6, 0.96875), (10, 2, 9, 0.978_515_625), (30, 10, 21, 0.957_226)] {
            let found = ranks(samples, 0.5, 0.95).unwrap();
            assert_eq!((found.low + 1, found.high + 1), (low, high), "{samples}");
            assert!((found.level - level).abs() < 1e-5, "{samples}: {}", found.level);
        }
        assert_eq!(ranks(5, 0.5, 0.95), None);
    }

    #[test]
    fn quantiles_near_the_ends_take_more_samples() {
        assert_eq!(ranks(12, 0.25, 0.95), None);
        assert_eq!(ranks(12, 0.75, 0.95), None);
        let (quarter, three) = (ranks(40, 0.25, 0.95).unwrap(), ranks(40, 0.75, 0.95).unwrap());
        assert_eq!((three.low, three.high), (39 - quarter.high, 39 - quarter.low), "mirrored");
        assert!(quarter.low < 9 && quarter.high > 9 && quarter.level >= 0.95);
        for (fraction, level) in [(0.0, 0.95), (1.0, 0.95), (0.5, 0.0), (0.5, 1.0), (f64::NAN, 0.95), (0.5, f64::NAN)] {
            assert_eq!(ranks(100, fraction, level), None);
        }
        assert_eq!(ranks(0, 0.5, 0.95), None);
    }

    /// Independent samples get the interval that they always had, for the most part; neighbours that go along with each other a
    /// wider one, which holds the true quantile as often as it says.
    #[test]
    fn neighbours_that_have_something_in_common_make_it_wider() {
        let mut random = crate::random::Random::new(11);
        let mut trial = |keep: u64| {
            // Uniform on 0..1000; each the same as the one before in `keep` of 8 cases.
            let mut last = random.below(1000);
            let samples: Vec<u64> = (0..512)
                .map(|_| {
                    if random.below(8) >= keep {
                        last = random.below(1000);
                    }
                    last
                })
                .collect();
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            (quantile_interval(&sorted, 0.25, 0.95).unwrap(), serial_interval(&samples, 0.25, 0.95).unwrap())
        };
        let holds = |interval: &Interval| interval.low <= 250 && 250 <= interval.high;
        for (keep, most_plain) in [(0, 1.0), (6, 0.8)] {
            let found: Vec<_> = (0..1000).map(|_| trial(keep)).collect();
            let plain = found.iter().filter(|(plain, _)| holds(plain)).count() as f64 / 1e3;
            let serial = found.iter().filter(|(_, serial)| holds(serial)).count() as f64 / 1e3;
            let width = |interval: &Interval| (interval.high - interval.low) as f64;
            let wider = found.iter().map(|(plain, serial)| width(serial) / width(plain)).sum::<f64>() / 1e3;
            assert!(serial >= 0.92 && plain <= most_plain, "keep {keep}: {plain} {serial}");
            assert!(if keep == 0 { wider < 1.25 } else { wider > 2.0 && wider < 3.5 }, "keep {keep}: {wider}");
        }
        let same = serial_interval(&[7; 50], 0.25, 0.95).unwrap();
        assert_eq!((same.low, same.high), (7, 7));
        assert_eq!(serial_interval(&[7; 5], 0.25, 0.95), None);
        let slope: Vec<u64> = (0..512).collect();
        let all = serial_interval(&slope, 0.25, 0.95).unwrap();
        assert!(all.low == 0 && all.high > 250, "one slope is worth a few samples: {all:?}");
        assert_eq!(serial_interval(&[7; 20], 0.25, 0.95).map(|all| (all.low, all.high)), Some((7, 7)));
    }

    #[test]
    fn an_interval_is_of_samples() {
        let sorted: Vec<u64> = (100..140).collect();
        let interval = quantile_interval(&sorted, 0.25, 0.95).unwrap();
        let ranks = ranks(40, 0.25, 0.95).unwrap();
        assert_eq!((interval.low, interval.high), (100 + ranks.low as u64, 100 + ranks.high as u64));
        assert_eq!(quantile_interval(&[7; 5], 0.25, 0.95), None);
        let equal = quantile_interval(&[7; 50], 0.25, 0.95).unwrap();
        assert_eq!((equal.low, equal.high), (7, 7));
    }
}
