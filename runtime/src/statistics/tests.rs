//! Synthetic traces with known answers: how often intervals hold the true quantile, how often tests are wrong, what they find.
//! Seeded, so that each number is the same in every run; the limits leave room for the luck of the seed.

use super::*;
use crate::random::Random;

/// A distribution of windows, in millionths of a tick so that whole numbers lose nothing.
#[derive(Clone, Copy, Debug)]
enum Trace {
    Normal,
    Lognormal,
    /// Two modes and a tenth that is anything: a frequency that changes, and interrupts.
    Bimodal,
}

/// Normal, by Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let unit = |random: &mut Random| (random.word() >> 11) as f64 / (1u64 << 53) as f64;
    let (a, b) = (1.0 - unit(random), unit(random));
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

const SCALE: f64 = 1e9;
/// Standard deviation as a fraction of the mean.
const NOISE: f64 = 0.01;

impl Trace {
    const ALL: [Trace; 3] = [Trace::Normal, Trace::Lognormal, Trace::Bimodal];

    fn sample(self, random: &mut Random) -> f64 {
        let z = normal(random);
        match self {
            Trace::Normal => SCALE * (1.0 + NOISE * z),
            Trace::Lognormal => SCALE * z.exp(),
            Trace::Bimodal => match random.below(10) {
                0 => SCALE * (1.5 + random.below(1000) as f64 / 100.0),
                1 | 2 => SCALE * (1.2 + NOISE * z),
                _ => SCALE * (1.0 + NOISE * z),
            },
        }
    }

    /// The true lower quartile: that of a normal value is -0.67449; seven tenths of the two modes are the lower one, so it is
    /// the quantile at 0.35714 there, -0.36611.
    fn quartile(self) -> f64 {
        match self {
            Trace::Normal => SCALE * (1.0 - NOISE * 0.674_489_75),
            Trace::Lognormal => SCALE * (-0.674_489_75f64).exp(),
            Trace::Bimodal => SCALE * (1.0 - NOISE * 0.366_106_36),
        }
    }

    fn samples(self, count: usize, random: &mut Random) -> Vec<f64> {
        (0..count).map(|_| self.sample(random)).collect()
    }
}

/// How many of `trials` intervals hold the true value.
fn coverage(trials: u32, truth: f64, mut trace: impl FnMut() -> Vec<f64>) -> f64 {
    let holds = (0..trials).filter(|_| {
        let mut windows: Vec<u64> = trace().into_iter().map(|sample| sample.round() as u64).collect();
        windows.sort_unstable();
        let interval = quantile_interval(&windows, 0.25, 0.95).expect("enough samples");
        interval.low as f64 <= truth + 0.5 && truth - 0.5 <= interval.high as f64
    });
    holds.count() as f64 / f64::from(trials)
}

#[test]
fn intervals_hold_the_quantile_whatever_the_distribution() {
    let mut random = Random::new(1);
    for trace in Trace::ALL {
        for count in [13, 30, 100, 400] {
            let exact = ranks(count, 0.25, 0.95).expect("enough samples").level;
            let found = coverage(4000, trace.quartile(), || trace.samples(count, &mut random));
            // 4,000 trials at 0.95 have a standard deviation of 0.0034: four of them.
            assert!((found - exact).abs() < 0.014, "{trace:?} {count}: {found}, not {exact}");
            assert!((0.95..0.99).contains(&exact), "{count}: {exact}");
        }
    }
}

/// Windows that hang together, as with a clock that drifts more slowly than a round.
fn drifting(count: usize, memory: f64, random: &mut Random) -> Vec<f64> {
    let innovation = (1.0 - memory * memory).sqrt();
    let mut state = normal(random);
    let next = |_| {
        state = memory * state + innovation * normal(random);
        SCALE * (1.0 + NOISE * state)
    };
    (0..count).map(next).collect()
}

/// The counter-example: what the module's first paragraphs warn of. Each window has the same distribution as before, and the
/// intervals are far too narrow.
#[test]
fn intervals_do_not_hold_under_drift_and_the_ratio_test_says_so() {
    let mut random = Random::new(2);
    let truth = Trace::Normal.quartile();
    let found = coverage(2000, truth, || drifting(60, 0.9, &mut random));
    assert!(found < 0.75, "{found}");
    let noticed = |memory: f64, random: &mut Random| {
        let trials = (0..1000).map(|_| drifting(60, memory, random).into_iter().map(|sample| sample as u64).collect());
        trials.filter(|windows: &Vec<u64>| von_neumann(windows) < 0.01).count()
    };
    let (independent, weak, strong) = (noticed(0.0, &mut random), noticed(0.5, &mut random), noticed(0.9, &mut random));
    assert!((2..=22).contains(&independent), "a hundredth of a thousand: {independent}");
    assert!(weak > 800 && strong > 990, "{weak} {strong}");
}

/// A whole comparison of two sweeps in which nothing has changed: how often anything at all is called different.
#[test]
fn the_family_wise_error_rate_is_near_its_level() {
    let mut random = Random::new(3);
    const POINTS: usize = 25;
    const TRIALS: u32 = 1200;
    for trace in Trace::ALL {
        let mut wrong = 0;
        for _ in 0..TRIALS {
            let p_values: Vec<f64> = (0..POINTS)
                .map(|_| mann_whitney(&trace.samples(20, &mut random), &trace.samples(24, &mut random)).p_value)
                .collect();
            wrong += u32::from(holm(&p_values).iter().any(|&p| p <= 0.05));
        }
        let rate = f64::from(wrong) / f64::from(TRIALS);
        // Standard deviation 0.0063. Ranks have steps, and the approximation is safe in its tails, so a little less than 0.05.
        assert!((0.015..0.069).contains(&rate), "{trace:?}: {rate}");
    }
}

#[test]
fn one_comparison_is_wrong_as_often_as_it_says() {
    let mut random = Random::new(4);
    for level in [0.01, 0.05, 0.2] {
        let trials = (0..5000).map(|_| {
            mann_whitney(&Trace::Normal.samples(15, &mut random), &Trace::Normal.samples(40, &mut random)).p_value
        });
        let rate = trials.filter(|&p| p <= level).count() as f64 / 5000.0;
        let deviation = (level * (1.0 - level) / 5000.0f64).sqrt();
        assert!((rate - level).abs() < 4.0 * deviation + 0.004, "{level}: {rate}");
    }
}

/// Two percent, in noise of one percent, found among a hundred comparisons that find nothing else.
#[test]
fn a_shift_of_two_percent_is_found() {
    let mut random = Random::new(5);
    let (mut found, mut others) = (0, 0);
    const TRIALS: usize = 100;
    for _ in 0..TRIALS {
        let p_values: Vec<f64> = (0..100)
            .map(|point| {
                let old = Trace::Normal.samples(30, &mut random);
                let factor = if point == 0 { 1.02 } else { 1.0 };
                let new: Vec<f64> =
                    Trace::Normal.samples(30, &mut random).into_iter().map(|sample| sample * factor).collect();
                mann_whitney(&old, &new).p_value
            })
            .collect();
        let adjusted = holm(&p_values);
        found += usize::from(adjusted[0] <= 0.01);
        others += usize::from(adjusted[1..].iter().any(|&p| p <= 0.01));
    }
    assert!(found >= 97 && others <= 5, "{found} {others}");
}

/// With half of the comparisons different, those called different are wrong at most as often as the procedure says.
#[test]
fn the_false_discovery_rate_is_below_its_level() {
    let mut random = Random::new(6);
    let (mut wrong, mut trials, mut found) = (0.0, 0.0, 0);
    for _ in 0..300 {
        let p_values: Vec<f64> = (0..40)
            .map(|point| {
                let old = Trace::Normal.samples(20, &mut random);
                let factor = if point < 20 { 1.01 } else { 1.0 };
                let new: Vec<f64> =
                    Trace::Normal.samples(20, &mut random).into_iter().map(|sample| sample * factor).collect();
                mann_whitney(&old, &new).p_value
            })
            .collect();
        let called: Vec<usize> = (0..40).filter(|&point| benjamini_hochberg(&p_values)[point] <= 0.1).collect();
        wrong += called.iter().filter(|&&point| point >= 20).count() as f64 / called.len().max(1) as f64;
        found += called.iter().filter(|&&point| point < 20).count();
        trials += 1.0;
    }
    assert!((0.02..0.08).contains(&(wrong / trials)), "half of 0.1: {}", wrong / trials);
    assert!(found > 300 * 20 / 2, "{found}");
}

/// The expected numbers are those of scipy.stats.mannwhitneyu, method asymptotic, with continuity.
#[test]
fn known_rank_tests() {
    let close = |found: Shift, p_value: f64, larger: f64| {
        assert!((found.p_value / p_value - 1.0).abs() < 1e-9 && (found.larger - larger).abs() < 1e-12, "{found:?}");
    };
    let (males, females) = ([19.0, 22.0, 16.0, 29.0, 24.0], [20.0, 11.0, 17.0, 12.0]);
    close(mann_whitney(&females, &males), 0.111_346_886_533_140_41, 17.0 / 20.0);
    let a = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let b = [2.0, 3.0, 5.0, 5.0, 6.0, 8.0, 9.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0];
    close(mann_whitney(&a, &b), 0.013_930_400_902_991_502, 123.5 / 156.0);
    close(mann_whitney(&b, &a), 0.013_930_400_902_991_502, 1.0 - 123.5 / 156.0);
    let low: Vec<f64> = (0..30).map(f64::from).collect();
    let high: Vec<f64> = low.iter().map(|sample| sample + 100.5).collect();
    close(mann_whitney(&low, &high), 3.019_859_359_162_157e-11, 1.0);
}

#[test]
fn nothing_is_concluded_from_nothing() {
    let nothing = Shift { p_value: 1.0, larger: 0.5 };
    assert_eq!(mann_whitney(&[], &[1.0]), nothing);
    assert_eq!(mann_whitney(&[1.0], &[]), nothing);
    assert_eq!(mann_whitney(&[3.0; 20], &[3.0; 30]), nothing);
    assert_eq!(mann_whitney(&[1.0], &[2.0]).p_value, 1.0);
    assert_eq!(von_neumann(&[]), 1.0);
    assert_eq!(von_neumann(&[5; 50]), 1.0);
    assert_eq!(von_neumann(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), 1.0, "too few");
}

/// Ten that rise: 9 / 82.5 as ratio, 0.33832 as variance, 3.2509 standard deviations from 2.
#[test]
fn a_known_ratio_of_neighbours() {
    let rising: Vec<u64> = (0..10).collect();
    assert!((von_neumann(&rising) - 5.752e-4).abs() < 2e-6, "{}", von_neumann(&rising));
    let zigzag: Vec<u64> = (0..10).map(|k| if k % 2 == 0 { k } else { 100 - k }).collect();
    assert!(von_neumann(&zigzag) > 0.99);
}
