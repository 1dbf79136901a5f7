//! The race: which of several verified candidates is fastest, and how sure that is. A pure algorithm over [`Bench`] and
//! [`Budget`]: it reads no clock and calls no kernel, so that it is tested with invented traces.
//!
//! Every round times each candidate still in the race once, in an order rotated at random, so that drift and frequency
//! changes hit all alike. Clear losers leave early; the last two or three meet again in fresh rounds, since the winner
//! of many noisy samples is a lucky one. The statistic is the lower quartile; the paired sign test says whether a
//! difference is more than luck.
//!
//! One race decides two places. A candidate without a loop serves one `n` alone; so besides the best of all, the best
//! among those that serve any `n` is found, and a candidate leaves only when it can have neither place.

mod statistics;
#[cfg(test)]
mod tests;

use crate::random::Random;
use crate::timer::Core;

pub use statistics::{quantile, sign_test};

/// What one window measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Clock units between begin and end; `None` if the clock went backwards.
    pub time: Option<u64>,
    /// The core on which the window ran.
    pub core: Core,
}

/// Times candidates.
pub trait Bench {
    /// Calls a candidate `calls` times between two readings of the clock. The work and the buffers are the same for
    /// every candidate.
    fn window(&mut self, candidate: usize, calls: u32) -> Sample;
}

/// Says when to stop. Asked before every window.
pub trait Budget {
    /// Whether there is time for one more window.
    fn left(&mut self) -> bool;
}

/// No limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Budget for Unlimited {
    fn left(&mut self) -> bool {
        true
    }
}

/// What the race has to know of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entrant {
    /// Whether it serves every `n`, not only the one raced at.
    pub generic: bool,
    /// Size of its code; of a tie the smallest is taken.
    pub size: u32,
    /// Whether it holds the place of the best of all from an earlier decision.
    pub held: bool,
    /// Whether it holds the place of the best generic one.
    pub held_near: bool,
}

/// By how much the windows of a race with time are longer than the shortest that the clock allows.
const PATIENCE: u64 = 4;

/// The race's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Shortest window, in clock units: at least 1 microsecond and 40 steps of the clock.
    pub window: u64,
    /// Seed of the rotations.
    pub seed: u64,
    /// Windows of each candidate from which the number of calls in a window is found.
    pub calibration: u32,
    /// Rounds that do not count, before those that do.
    pub warm_up: u32,
    /// After so many rounds, whoever takes more than so many times the best is out.
    pub cuts: [(usize, f64); 3],
    /// A round is thrown away if it took more than so many times the median round.
    pub outlier: f64,
    /// Most candidates in the final, for each of the two places.
    pub finalists: usize,
    /// Fewest and most paired rounds of the final.
    pub final_rounds: (usize, usize),
    /// Rounds of the final after which a gap as large as the first cut, with every round agreeing, needs no more.
    pub clear_rounds: usize,
    /// The sign test's level.
    pub level: f64,
    /// Closer than this is a tie, however sure.
    pub tie: f64,
}

impl Rules {
    /// The constants for a race that may take its time, for a clock with `microsecond` units in a microsecond and this step.
    pub fn new(microsecond: u64, step: u64, seed: u64) -> Rules {
        let shortest = microsecond.max(step.saturating_mul(40)).max(1);
        Rules {
            window: shortest.saturating_mul(PATIENCE),
            seed,
            calibration: 3,
            warm_up: 1,
            cuts: [(3, 1.30), (6, 1.10), (24, 1.02)],
            outlier: 1.8,
            finalists: 6,
            final_rounds: (32, 128),
            clear_rounds: 8,
            level: 0.01,
            tie: 0.01,
        }
    }

    /// The same for a race with little time: shorter windows, fewer rounds, and a final of two. Thresholds and the sign
    /// test's level stay, so what it calls significant is; it finds more ties.
    #[must_use]
    pub fn brief(self) -> Rules {
        Rules {
            window: self.window / PATIENCE,
            calibration: 2,
            // The windows of the calibration have warmed up everyone.
            warm_up: 0,
            cuts: [(2, 1.30), (4, 1.10), (8, 1.03)],
            finalists: 2,
            final_rounds: (8, 20),
            ..self
        }
    }
}

/// How a candidate came out, with respect to the best of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has the place.
    Won,
    /// Not to be told apart from the fastest.
    Tied,
    /// Slower than the winner in the final.
    Lost,
    /// Clearly slower before the final.
    Dropped,
    /// Never measured.
    Unmeasured,
}

/// Why a place was given as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Significantly faster than every other.
    Fastest,
    /// Not to be told apart: the earlier decision, or the smaller code.
    Tie,
    /// Time ran out: the best so far.
    Budget,
    /// There was no other.
    Only,
}

/// Who has a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Index of the candidate.
    pub winner: usize,
    /// Why.
    pub ground: Ground,
    /// How much longer the next best takes, as a fraction; negative if a tie went to one that looks slower.
    pub margin: Option<f64>,
    /// Of the sign test against the next best.
    pub p_value: Option<f64>,
}

/// What was measured of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// How it came out.
    pub standing: Standing,
    /// Clock units of one call: the lower quartile of its rounds.
    pub time: Option<f64>,
    /// Distance of the quartiles as a fraction of the lower one.
    pub spread: Option<f64>,
    /// Rounds that count.
    pub rounds: u32,
}

/// The outcome of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The best of all; `None` if time ran out before three rounds, or no clock value was usable.
    pub best: Option<Place>,
    /// The best that serves every `n`.
    pub near: Option<Place>,
    /// One for each candidate.
    pub measured: Vec<Measured>,
    /// Calls in a window.
    pub calls: u32,
    /// Rounds that were thrown away.
    pub thrown: u32,
}

/// Runs a race. It ends within a fixed number of rounds even if no budget does and the clock is broken.
pub fn race(bench: &mut dyn Bench, entrants: &[Entrant], rules: &Rules, budget: &mut dyn Budget) -> Outcome {
    let mut race = Race {
        entrants,
        rules,
        random: Random::new(rules.seed),
        live: (0..entrants.len()).collect(),
        rounds: Vec::new(),
        last: vec![None; entrants.len()],
        broken: 0,
        calls: 1,
    };
    let finished = race.run(bench, budget);
    race.outcome(finished)
}

/// Times of one round; `None` for a candidate that had left.
type Round = Vec<Option<u64>>;

/// Most calls in a window: the point at which a clock that stands still is given up.
const MOST_CALLS: u32 = 1 << 22;
/// Fewest rounds from which anything is concluded.
const FEWEST_ROUNDS: usize = 3;
/// The best and the next, for each place, are never cut, so that every decision rests on a comparison.
const NEVER_CUT: usize = 2;

struct Race<'a> {
    entrants: &'a [Entrant],
    rules: &'a Rules,
    random: Random,
    live: Vec<usize>,
    /// Rounds of the present phase with a usable clock on one core.
    rounds: Vec<Round>,
    /// What was known of a candidate when it left, or at the end.
    last: Vec<Option<Known>>,
    broken: u32,
    calls: u32,
}

#[derive(Clone, Copy)]
struct Known {
    quartile: u64,
    spread: f64,
    rounds: u32,
    dropped: bool,
}

/// Time ran out, or the clock gave nothing usable.
struct Stopped;

impl Race<'_> {
    fn run(&mut self, bench: &mut dyn Bench, budget: &mut dyn Budget) -> Result<(), Stopped> {
        self.calibrate(bench, budget)?;
        // Caches, predictors, wide units that power up.
        for _ in 0..self.rules.warm_up {
            self.round(bench, budget)?;
        }
        self.rounds.clear();
        for (rounds, limit) in self.rules.cuts {
            if self.live.len() <= NEVER_CUT {
                break;
            }
            self.collect(bench, budget, rounds)?;
            self.cut(limit);
        }
        self.keep_finalists();
        if self.live.len() < 2 {
            return self.collect(bench, budget, FEWEST_ROUNDS);
        }
        // Fresh rounds: those of the elimination were used to choose who is here.
        self.rounds.clear();
        self.collect(bench, budget, self.rules.clear_rounds)?;
        if self.is_clear() {
            return Ok(());
        }
        let (fewest, most) = self.rules.final_rounds;
        for rounds in (fewest..=most).step_by(4) {
            self.collect(bench, budget, rounds)?;
            if self.is_settled() {
                break;
            }
        }
        Ok(())
    }

    /// Finds the number of calls with which even the fastest candidate fills a window.
    fn calibrate(&mut self, bench: &mut dyn Bench, budget: &mut dyn Budget) -> Result<(), Stopped> {
        // One candidate tells the size of it, then all of them are asked.
        for candidates in [0..self.entrants.len().min(1), 0..self.entrants.len()] {
            loop {
                let mut fastest = u64::MAX;
                for candidate in candidates.clone() {
                    // The shortest of several: a first call is cold and may fill any window by itself.
                    for _ in 0..self.rules.calibration {
                        if !budget.left() {
                            return Err(Stopped);
                        }
                        fastest = fastest.min(bench.window(candidate, self.calls).time.unwrap_or(0));
                    }
                }
                if fastest >= self.rules.window {
                    break;
                }
                if self.calls >= MOST_CALLS {
                    return Err(Stopped);
                }
                // As many as this window says, and a little more for its noise; a short window is mostly clock.
                let wanted = u64::from(self.calls).saturating_mul(self.rules.window / 16 * 17) / fastest.max(1);
                let wanted = u32::try_from(wanted).unwrap_or(MOST_CALLS);
                self.calls = wanted.clamp(self.calls + 1, self.calls * 8).min(MOST_CALLS);
            }
        }
        Ok(())
    }

    /// Times every live candidate once. A round on several cores, or with a clock that went backwards or stood still,
    /// is not recorded.
    fn round(&mut self, bench: &mut dyn Bench, budget: &mut dyn Budget) -> Result<(), Stopped> {
        let mut round = vec![None; self.entrants.len()];
        let mut core = None;
        let mut usable = true;
        let turn = self.random.below(self.live.len() as u64) as usize;
        for step in 0..self.live.len() {
            if !budget.left() {
                return Err(Stopped);
            }
            let candidate = self.live[(turn + step) % self.live.len()];
            let sample = bench.window(candidate, self.calls);
            round[candidate] = sample.time.filter(|&time| time > 0);
            usable &= round[candidate].is_some()
                && sample.core != Core::Changed
                && *core.get_or_insert(sample.core) == sample.core;
        }
        if usable {
            self.rounds.push(round);
        } else {
            self.broken += 1;
        }
        Ok(())
    }

    /// Runs rounds until so many count.
    fn collect(&mut self, bench: &mut dyn Bench, budget: &mut dyn Budget, rounds: usize) -> Result<(), Stopped> {
        // Rounds may be thrown away, but not for ever.
        for _ in 0..4 * rounds + 8 {
            if self.counted(&self.live).len() >= rounds {
                return Ok(());
            }
            self.round(bench, budget)?;
        }
        if self.counted(&self.live).len() >= FEWEST_ROUNDS { Ok(()) } else { Err(Stopped) }
    }

    /// The rounds that count for a comparison of these candidates: not longer than 1.8 times the median.
    fn counted(&self, of: &[usize]) -> Vec<&Round> {
        let total = |round: &Round| of.iter().try_fold(0u64, |sum, &c| Some(sum.saturating_add(round[c]?)));
        let complete: Vec<(u64, &Round)> =
            self.rounds.iter().filter_map(|round| Some((total(round)?, round))).collect();
        let totals: Vec<u64> = complete.iter().map(|(total, _)| *total).collect();
        let Some(median) = quantile(&totals, 0.5) else { return Vec::new() };
        let limit = median as f64 * self.rules.outlier;
        complete.into_iter().filter(|(total, _)| *total as f64 <= limit).map(|(_, round)| round).collect()
    }

    /// Updates what is known of the live candidates and returns their quartiles, fastest first.
    fn standings(&mut self) -> Vec<(u64, usize)> {
        let mut known = Vec::new();
        {
            let counted = self.counted(&self.live);
            for &candidate in &self.live {
                let times: Vec<u64> = counted.iter().filter_map(|round| round[candidate]).collect();
                if let (Some(low), Some(high)) = (quantile(&times, 0.25), quantile(&times, 0.75)) {
                    let spread = (high - low) as f64 / low as f64;
                    known
                        .push((candidate, Known { quartile: low, spread, rounds: times.len() as u32, dropped: false }));
                }
            }
        }
        let mut order: Vec<(u64, usize)> =
            known.iter().map(|(candidate, known)| (known.quartile, *candidate)).collect();
        for (candidate, known) in known {
            self.last[candidate] = Some(known);
        }
        order.sort_unstable();
        order
    }

    /// Takes out whoever is over `limit` times the best of the place that it could have.
    fn cut(&mut self, limit: f64) {
        let order = self.standings();
        let best = order.first().map_or(0, |(quartile, _)| *quartile);
        let best_generic =
            order.iter().find(|(_, c)| self.entrants[*c].generic).map_or(best, |(quartile, _)| *quartile);
        let mut places = Places::default();
        for (quartile, candidate) in order {
            let generic = self.entrants[candidate].generic;
            let reference = if generic { best_generic } else { best };
            let safe = places.take(generic, NEVER_CUT);
            if !safe && quartile as f64 > limit * reference as f64 {
                self.drop_out(candidate);
            }
        }
    }

    /// Leaves only those in the race who may come to the final.
    fn keep_finalists(&mut self) {
        let mut places = Places::default();
        for (_, candidate) in self.standings() {
            if !places.take(self.entrants[candidate].generic, self.rules.finalists) {
                self.drop_out(candidate);
            }
        }
        // In the final a runner-up beyond the last cut is only there for the comparison with the first.
        let order = self.standings();
        let limit = self.rules.cuts.last().map_or(f64::INFINITY, |(_, limit)| *limit);
        let mut places = Places::default();
        let (mut best, mut best_generic) = (None, None);
        for (quartile, candidate) in order {
            let generic = self.entrants[candidate].generic;
            let reference = *best.get_or_insert(quartile);
            let reference = if generic { *best_generic.get_or_insert(quartile) } else { reference };
            if !places.take(generic, NEVER_CUT) && quartile as f64 > limit * reference as f64 {
                self.drop_out(candidate);
            }
        }
    }

    fn drop_out(&mut self, candidate: usize) {
        self.live.retain(|&live| live != candidate);
        if let Some(known) = &mut self.last[candidate] {
            known.dropped = true;
        }
    }

    /// Rounds in which `a` was faster, and in which `b` was.
    fn duel(&self, a: usize, b: usize) -> (u32, u32) {
        self.counted(&self.live).iter().fold((0, 0), |(wins, losses), round| match round[a].cmp(&round[b]) {
            std::cmp::Ordering::Less => (wins + 1, losses),
            std::cmp::Ordering::Equal => (wins, losses),
            std::cmp::Ordering::Greater => (wins, losses + 1),
        })
    }

    /// Whether every comparison is as clear as the first cut asks, in every single round.
    fn is_clear(&mut self) -> bool {
        let limit = self.rules.cuts.first().map_or(f64::INFINITY, |(_, limit)| *limit);
        self.all_comparisons(|race, (best, winner), (other, loser)| {
            let (_, losses) = race.duel(winner, loser);
            losses == 0 && other as f64 > limit * best as f64
        })
    }

    /// Whether more rounds cannot change much: every comparison is significant, or is of two that are close and nothing like
    /// significant.
    fn is_settled(&mut self) -> bool {
        self.all_comparisons(|race, (best, winner), (time, loser)| {
            let (wins, losses) = race.duel(winner, loser);
            let p_value = sign_test(wins, losses);
            p_value < race.rules.level || (race.is_close(time, best) && p_value > 20.0 * race.rules.level)
        })
    }

    /// Whether a time is so near the best one that it does not matter.
    fn is_close(&self, time: u64, best: u64) -> bool {
        (time as f64) < best as f64 * (1.0 + self.rules.tie)
    }

    fn all_comparisons(&mut self, is: impl Fn(&Race<'_>, (u64, usize), (u64, usize)) -> bool) -> bool {
        let order = self.standings();
        [false, true].into_iter().all(|generic_only| {
            let order: Vec<_> =
                order.iter().copied().filter(|(_, c)| !generic_only || self.entrants[*c].generic).collect();
            order.split_first().is_none_or(|(first, others)| others.iter().all(|other| is(self, *first, *other)))
        })
    }

    /// Gives a place to one of the live candidates.
    fn place(&self, order: &[(u64, usize)], near: bool, finished: bool) -> Option<(Place, Vec<usize>)> {
        let order: Vec<(u64, usize)> =
            order.iter().copied().filter(|(_, c)| !near || self.entrants[*c].generic).collect();
        let &(best, fastest) = order.first()?;
        let tied: Vec<(u64, usize)> = order
            .iter()
            .copied()
            .filter(|&(time, candidate)| {
                let (wins, losses) = self.duel(fastest, candidate);
                candidate == fastest || self.is_close(time, best) || sign_test(wins, losses) >= self.rules.level
            })
            .collect();
        let held = |c: usize| if near { self.entrants[c].held_near } else { self.entrants[c].held };
        let &(time, winner) = if finished {
            // The earlier decision, else the smaller code of those that are close, else the faster one. Who looks slower and
            // may only be unlucky does not get the place for being small.
            tied.iter().min_by_key(|&&(time, c)| {
                let close = self.is_close(time, best);
                (!held(c), !close, if close { self.entrants[c].size } else { 0 }, time)
            })?
        } else {
            &order[0]
        };
        let rival = order.iter().find(|&&(_, candidate)| candidate != winner);
        let raced = self.entrants.iter().filter(|entrant| !near || entrant.generic).count();
        let ground = match (raced, finished, tied.len()) {
            (0 | 1, _, _) => Ground::Only,
            (_, false, _) => Ground::Budget,
            (_, true, 0 | 1) => Ground::Fastest,
            (_, true, _) => Ground::Tie,
        };
        let place = Place {
            winner,
            ground,
            margin: rival.map(|&(rival, _)| rival as f64 / time as f64 - 1.0),
            p_value: rival.map(|&(_, rival)| {
                let (wins, losses) = self.duel(winner, rival);
                sign_test(wins, losses)
            }),
        };
        Some((place, tied.into_iter().map(|(_, candidate)| candidate).collect()))
    }

    fn outcome(mut self, finished: Result<(), Stopped>) -> Outcome {
        let finished = finished.is_ok();
        // The final that time cut short before it said anything: the elimination's order still stands.
        let enough = self.counted(&self.live).len() >= FEWEST_ROUNDS;
        let order = if enough { self.standings() } else { self.remembered() };
        let best = self.place(&order, false, finished);
        let near = self.place(&order, true, finished);
        let (winner, tied) = best.as_ref().map_or((None, &[][..]), |(place, tied)| (Some(place.winner), tied));
        let measured = (0..self.entrants.len())
            .map(|candidate| {
                let known = self.last[candidate];
                let standing = match known {
                    None => Standing::Unmeasured,
                    Some(_) if winner == Some(candidate) => Standing::Won,
                    Some(known) if known.dropped => Standing::Dropped,
                    Some(_) if tied.contains(&candidate) => Standing::Tied,
                    Some(_) => Standing::Lost,
                };
                Measured {
                    standing,
                    time: known.map(|known| known.quartile as f64 / f64::from(self.calls)),
                    spread: known.map(|known| known.spread),
                    rounds: known.map_or(0, |known| known.rounds),
                }
            })
            .collect();
        let counted = self.counted(&self.live).len();
        let thrown = self.broken + (self.rounds.len() - counted) as u32;
        Outcome {
            best: best.map(|(place, _)| place),
            near: near.map(|(place, _)| place),
            measured,
            calls: self.calls,
            thrown,
        }
    }

    /// The live candidates in the order of the last phase that measured them all.
    fn remembered(&self) -> Vec<(u64, usize)> {
        let known: Option<Vec<(u64, usize)>> =
            self.live.iter().map(|&candidate| Some((self.last[candidate]?.quartile, candidate))).collect();
        let mut order = known.unwrap_or_default();
        order.sort_unstable();
        order
    }
}

/// Counts, fastest first, who stands among the first for one of the two places.
#[derive(Default)]
struct Places {
    all: usize,
    generic: usize,
}

impl Places {
    fn take(&mut self, generic: bool, room: usize) -> bool {
        let safe = self.all < room || (generic && self.generic < room);
        self.all += 1;
        self.generic += usize::from(generic);
        safe
    }
}
