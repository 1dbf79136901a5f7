//! The race over invented traces: no clock is read and no time is asserted.

use super::*;

/// Candidates with a constant time a call, and a disturbance of each window.
struct Trace<F> {
    times: Vec<f64>,
    windows: u32,
    random: Random,
    disturb: F,
    timed: Vec<u32>,
}

impl<F: FnMut(u32, &mut Random, f64) -> Sample> Bench for Trace<F> {
    fn window(&mut self, candidate: usize, calls: u32) -> Sample {
        self.windows += 1;
        self.timed[candidate] += 1;
        (self.disturb)(self.windows, &mut self.random, self.times[candidate] * f64::from(calls))
    }
}

fn trace<F: FnMut(u32, &mut Random, f64) -> Sample>(times: &[f64], seed: u64, disturb: F) -> Trace<F> {
    Trace { times: times.to_vec(), windows: 0, random: Random::new(seed), disturb, timed: vec![0; times.len()] }
}

fn at_core_0(time: f64) -> Sample {
    Sample { time: Some(time as u64), core: Core::At(0) }
}

/// Noise of up to 0.4 %.
fn quiet(_: u32, random: &mut Random, time: f64) -> Sample {
    at_core_0(time * (1.0 + random.below(1000) as f64 * 4e-6))
}

fn generic(sizes: &[u32]) -> Vec<Entrant> {
    sizes.iter().map(|&size| Entrant { generic: true, size, ..Entrant::default() }).collect()
}

fn rules(seed: u64) -> Rules {
    Rules::new(2000, 36, seed)
}

/// Time for so many windows.
struct Windows(u32);

impl Budget for Windows {
    fn left(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

fn standings(outcome: &Outcome) -> Vec<Standing> {
    outcome.measured.iter().map(|measured| measured.standing).collect()
}

#[test]
fn a_window_is_a_microsecond_and_40_steps() {
    let brief = |microsecond, step| Rules::new(microsecond, step, 0).brief().window;
    assert_eq!(brief(2000, 36), 2000);
    assert_eq!(brief(2000, 100), 4000);
    assert_eq!(brief(0, 0), 1);
    assert_eq!(Rules::new(1, u64::MAX, 0).window, u64::MAX);
    assert_eq!(Rules::new(2000, 36, 0).window, 4 * 2000, "with time, four times that");
}

#[test]
fn the_fastest_wins_whatever_the_seed() {
    for seed in 0..50 {
        let mut bench = trace(&[300.0, 100.0, 104.0, 180.0, 115.0, 250.0], seed, quiet);
        let outcome = race(&mut bench, &generic(&[1; 6]), &rules(seed), &mut Unlimited);
        let place = outcome.best.unwrap();
        assert_eq!((place.winner, place.ground), (1, Ground::Fastest), "{outcome:?}");
        assert!(place.p_value.unwrap() < 0.01);
        assert!((place.margin.unwrap() - 0.04).abs() < 0.01);
        assert_eq!(outcome.near.unwrap().winner, 1);
        let s = standings(&outcome);
        assert_eq!((s[0], s[1], s[2]), (Standing::Dropped, Standing::Won, Standing::Lost));
        // Whoever is far behind is timed least.
        assert!(bench.timed[3] < bench.timed[4] && bench.timed[4] < bench.timed[1], "{:?}", bench.timed);
        // The window is long enough even for the fastest, and no longer than twice that.
        assert!((8000..=16_800).contains(&(100 * outcome.calls)), "{outcome:?}");
        assert!((outcome.measured[1].time.unwrap() - 100.0).abs() < 1.0);
        assert!(outcome.measured[1].spread.unwrap() < 0.01);
    }
}

#[test]
fn a_brief_race_finds_the_same_winner_in_fewer_windows() {
    for seed in 0..50 {
        let run = |rules: Rules| {
            let mut bench = trace(&[300.0, 100.0, 104.0, 180.0, 115.0, 250.0], seed, quiet);
            let outcome = race(&mut bench, &generic(&[1; 6]), &rules, &mut Unlimited);
            let place = outcome.best.unwrap();
            assert_eq!((place.winner, place.ground), (1, Ground::Fastest), "{outcome:?}");
            assert!(place.p_value.unwrap() < 0.01);
            bench.windows
        };
        let (long, brief) = (run(rules(seed)), run(rules(seed).brief()));
        assert!(brief < long && brief < 100, "{brief} of {long}");
    }
}

#[test]
fn under_one_percent_is_a_tie_for_the_smaller_code_or_the_earlier_decision() {
    for seed in 0..50 {
        let exact = |_: u32, _: &mut Random, time: f64| at_core_0(time);
        let mut entrants = generic(&[70, 50, 60]);
        let times = [1000.0, 1008.0, 1500.0];
        let outcome = race(&mut trace(&times, seed, exact), &entrants, &rules(seed), &mut Unlimited);
        let place = outcome.best.unwrap();
        assert_eq!((place.winner, place.ground), (1, Ground::Tie));
        assert_eq!(place.p_value, Some(sign_test(0, 32)), "the sign test is sure, and 0.8 % is a tie all the same");
        assert!(place.margin.unwrap() < 0.0);
        assert_eq!(standings(&outcome)[..2], [Standing::Tied, Standing::Won]);

        entrants[0].held = true;
        let outcome = race(&mut trace(&times, seed, exact), &entrants, &rules(seed), &mut Unlimited);
        assert_eq!(outcome.best.unwrap().winner, 0);
        assert_eq!(outcome.near.unwrap().winner, 1);

        // An earlier decision that has become clearly slower is given up.
        entrants[0].held = false;
        entrants[2].held = true;
        let outcome = race(&mut trace(&times, seed, exact), &entrants, &rules(seed), &mut Unlimited);
        assert_eq!(outcome.best.unwrap().winner, 1);
    }
}

#[test]
fn noise_larger_than_the_gap_is_a_tie() {
    // 2 % apart under noise of 30 %: a tie in nearly every run, and never a sure mistake.
    let mut wrong = 0;
    for seed in 0..200 {
        let noisy = |_: u32, random: &mut Random, time: f64| at_core_0(time * (1.0 + random.below(1000) as f64 * 3e-4));
        let outcome = race(&mut trace(&[102.0, 100.0], seed, noisy), &generic(&[1, 2]), &rules(seed), &mut Unlimited);
        let place = outcome.best.unwrap();
        wrong += u32::from(place.ground == Ground::Fastest && place.winner == 0);
    }
    assert!(wrong <= 4, "{wrong} of 200");
}

#[test]
fn spikes_are_thrown_away() {
    for seed in 0..50 {
        // One window in ten takes five times as long.
        let spiky = |_: u32, random: &mut Random, time: f64| {
            at_core_0(if random.below(10) == 0 { 5.0 * time } else { time * (1.0 + random.below(1000) as f64 * 4e-6) })
        };
        let mut bench = trace(&[110.0, 100.0, 150.0], seed, spiky);
        let outcome = race(&mut bench, &generic(&[1; 3]), &rules(seed), &mut Unlimited);
        assert_eq!(outcome.best.unwrap().winner, 1, "{outcome:?}");
        assert!((outcome.measured[1].time.unwrap() - 100.0).abs() < 1.0);
    }
}

#[test]
fn drift_hits_all_alike() {
    for seed in 0..50 {
        // The clock ramps: each window takes 1 % longer than the one before.
        let drift = |window: u32, _: &mut Random, time: f64| at_core_0(time * (1.0 + f64::from(window) * 0.01));
        let mut bench = trace(&[100.0, 110.0, 105.0], seed, drift);
        let outcome = race(&mut bench, &generic(&[1; 3]), &rules(seed), &mut Unlimited);
        assert_eq!(outcome.best.unwrap().winner, 0, "{outcome:?}");
    }
}

#[test]
fn two_modes_do_not_hide_a_difference() {
    for seed in 0..50 {
        // A neighbour takes half of the core for stretches of 40 windows.
        let modes = |window: u32, random: &mut Random, time: f64| {
            let slow = if window / 40 % 2 == 1 { 2.0 } else { 1.0 };
            at_core_0(slow * time * (1.0 + random.below(1000) as f64 * 4e-6))
        };
        let mut bench = trace(&[106.0, 100.0], seed, modes);
        let outcome = race(&mut bench, &generic(&[1; 2]), &rules(seed), &mut Unlimited);
        assert_eq!(outcome.best.unwrap().winner, 1, "{outcome:?}");
    }
}

#[test]
fn a_clock_that_jumps_back_and_cores_that_change_cost_rounds_only() {
    for seed in 0..50 {
        let jumpy = |window: u32, random: &mut Random, time: f64| match random.below(12) {
            0 => Sample { time: None, core: Core::At(0) },
            1 => Sample { time: Some(time as u64 / 3), core: Core::Changed },
            2 => Sample { time: Some(time as u64 / 3), core: Core::At(1 + window) },
            _ => at_core_0(time),
        };
        let mut bench = trace(&[120.0, 100.0], seed, jumpy);
        let outcome = race(&mut bench, &generic(&[1; 2]), &rules(seed), &mut Unlimited);
        assert_eq!(outcome.best.unwrap().winner, 1, "{outcome:?}");
        assert!(outcome.thrown > 0);
        assert_eq!(outcome.measured[1].time, Some(100.0));
    }
}

#[test]
fn a_broken_clock_ends_the_race_without_a_winner() {
    for sample in [Some(0), None, Some(u64::MAX)] {
        for core in [Core::Unknown, Core::Changed] {
            let mut bench = trace(&[1.0, 1.0, 1.0], 1, |_, _: &mut Random, _| Sample { time: sample, core });
            let outcome = race(&mut bench, &generic(&[1; 3]), &rules(1), &mut Unlimited);
            if sample == Some(u64::MAX) && core == Core::Unknown {
                assert_eq!(outcome.best.unwrap().ground, Ground::Tie);
            } else {
                assert_eq!(outcome.best, None);
                assert_eq!(standings(&outcome), [Standing::Unmeasured; 3]);
            }
            assert!(bench.windows < 2000);
        }
    }
}

#[test]
fn out_of_time_is_the_best_so_far() {
    let mut previous_rounds = 0;
    for windows in 0..400 {
        let mut bench = trace(&[300.0, 100.0, 104.0, 180.0], 3, quiet);
        let outcome = race(&mut bench, &generic(&[1; 4]), &rules(3), &mut Windows(windows));
        match outcome.best {
            None => assert!(outcome.measured.iter().all(|m| m.rounds == 0)),
            Some(place) => {
                assert_eq!(place.winner, 1, "after {windows} windows: {outcome:?}");
                previous_rounds = outcome.measured[1].rounds.max(previous_rounds);
            }
        }
        // Anytime: never more windows than the budget allows, but for the three of one calibration.
        assert!(bench.windows <= windows * 3 + 3);
    }
    assert!(previous_rounds >= 24);
    let budgeted = race(&mut trace(&[104.0, 100.0], 3, quiet), &generic(&[1; 2]), &rules(3), &mut Windows(40));
    assert_eq!(budgeted.best.unwrap().ground, Ground::Budget);
}

#[test]
fn a_single_candidate_is_measured_and_chosen() {
    let outcome = race(&mut trace(&[100.0], 1, quiet), &generic(&[1]), &rules(1), &mut Unlimited);
    let place = outcome.best.unwrap();
    assert_eq!((place.winner, place.ground, place.margin, place.p_value), (0, Ground::Only, None, None));
    assert_eq!(outcome.measured[0].rounds, 3);
    assert_eq!(race(&mut trace(&[], 1, quiet), &[], &rules(1), &mut Unlimited).best, None);
}

#[test]
fn one_race_gives_both_places() {
    for seed in 0..50 {
        // The two that serve one n alone are far ahead; the generic ones are 6 % apart, and that still counts.
        let mut entrants = generic(&[1; 5]);
        entrants[1].generic = false;
        entrants[3].generic = false;
        let mut bench = trace(&[212.0, 100.0, 200.0, 105.0, 400.0], seed, quiet);
        let outcome = race(&mut bench, &entrants, &rules(seed), &mut Unlimited);
        let (best, near) = (outcome.best.unwrap(), outcome.near.unwrap());
        assert_eq!((best.winner, best.ground), (1, Ground::Fastest));
        assert_eq!((near.winner, near.ground), (2, Ground::Fastest), "{outcome:?}");
        assert!((near.margin.unwrap() - 0.06).abs() < 0.01);
    }
}

#[test]
fn many_candidates() {
    let times: Vec<f64> = (0..700).map(|i| 100.0 + f64::from((i * 37) % 700)).collect();
    let mut bench = trace(&times, 1, quiet);
    let outcome = race(&mut bench, &generic(&[1; 700]), &rules(1), &mut Unlimited);
    assert_eq!(outcome.best.unwrap().winner, 0);
    assert_eq!(outcome.measured.len(), 700);
}

#[test]
fn equal_traces_give_equal_outcomes() {
    let run = || race(&mut trace(&[103.0, 100.0, 101.0], 9, quiet), &generic(&[3, 2, 1]), &rules(9), &mut Unlimited);
    assert_eq!(run(), run());
}
