//! One kernel at one size class.

use kiln_kernels::catalogue::{Kernel, Origin, Unit};

use super::{Choice, Contest, CpuBudget, Event, Field, Remembered, STARTUP_CANDIDATES, Tuner, portable};
use crate::explain::{CandidateReport, CaseReport, Reason, State};
use crate::race::{Bench, Budget, Entrant, Ground, Measured, Outcome, Place, Rules, Sample, Standing, race};
use crate::settings::TuneMode;
use crate::timer::{Clock, Core, timed};
use crate::verify::{Arena, Verified};

pub(super) struct Case<'a, 'p> {
    pub tuner: &'a mut Tuner,
    pub contest: &'a mut Contest,
    pub n: u64,
    /// Time for this class and those that come after it.
    pub budget: &'a mut CpuBudget,
    /// Of what checking leaves of it, the race may take one of so many equal parts.
    pub parts: u32,
    pub progress: &'a mut (dyn FnMut(Event<'_>) + 'p),
}

/// A decision on its way to a report: indices of contestants.
struct Pick {
    exact: usize,
    near: Option<usize>,
    reason: Reason,
    place: Option<Place>,
}

/// What is known of the race: for each contestant its measurement, or why it did not take part.
enum Part {
    Raced(Measured),
    Absent(String),
}

impl Case<'_, '_> {
    pub fn decide(mut self) -> (CaseReport, Choice) {
        let mut notes = Vec::new();
        let contestants = self.contest.contestants.len();
        let absent = |why: &str| (0..contestants).map(|_| Part::Absent(why.to_owned())).collect();
        let (pick, parts): (Option<Pick>, Vec<Part>) = if let Some(pick) = self.forced(&mut notes) {
            (Some(pick), absent("another variant is forced"))
        } else {
            match self.tuner.options.mode {
                TuneMode::Off => (self.fallback(false, Reason::Static), absent("tuning is off")),
                TuneMode::Static => (self.fallback(true, Reason::Static), absent("nothing is measured in static mode")),
                TuneMode::Race => match self.remembered(&mut notes) {
                    Some(pick) => (Some(pick), absent("an earlier decision is used")),
                    None => self.raced(),
                },
            }
        };
        self.report(pick, parts, notes)
    }

    fn serves(&self, index: usize) -> bool {
        self.contest.contestants[index].candidate.exact().is_none_or(|exact| exact == self.n)
    }

    fn is_generic(&self, index: usize) -> bool {
        self.contest.contestants[index].candidate.exact().is_none()
    }

    fn find(&self, short_name: &str) -> Option<usize> {
        self.contest.contestants.iter().position(|contestant| contestant.candidate.short_name() == short_name)
    }

    fn verified(&mut self, index: usize) -> Option<Verified> {
        self.tuner.verified(self.contest, index, self.progress)
    }

    /// The first of these that passes its check.
    fn first_good(&mut self, order: impl IntoIterator<Item = Option<usize>>) -> Option<usize> {
        order.into_iter().flatten().find(|&index| self.verified(index).is_some())
    }

    /// The first of the CPU file's alternatives that is there and fits.
    fn preferred(&self, fits: &dyn Fn(usize) -> bool) -> Option<usize> {
        let names = self.tuner.options.prefer.get(self.contest.kernel.name)?;
        let own = format!("exact{}", self.n);
        names.split('|').find_map(|name| self.find(&name.trim().replace("exact*", &own)).filter(|&index| fits(index)))
    }

    /// Without a measurement: the CPU file's preference if it may be asked, else portable, else whatever passes.
    fn fallback(&mut self, prefer: bool, reason: Reason) -> Option<Pick> {
        let order = |case: &Self, fits: &dyn Fn(usize) -> bool| -> Vec<Option<usize>> {
            let preferred = if prefer { case.preferred(fits) } else { None };
            let rest = (0..case.contest.contestants.len()).map(Some);
            let first = [preferred, portable(&case.contest.contestants)];
            first.into_iter().chain(rest).map(|index| index.filter(|&index| fits(index))).collect()
        };
        let exact = order(self, &|index| self.serves(index));
        let near = order(self, &|index| self.is_generic(index));
        let exact = self.first_good(exact)?;
        let near = self.first_good(near);
        Some(Pick { exact, near, reason, place: None })
    }

    fn forced(&mut self, notes: &mut Vec<String>) -> Option<Pick> {
        let name = self.tuner.options.force.get(self.contest.kernel.name)?.clone();
        let mut refuse = |why: &str| {
            notes.push(format!("forced variant {name:?} is not used: {why}"));
            None
        };
        let Some(index) = self.find(&name) else { return refuse("there is no such variant") };
        if !self.serves(index) {
            return refuse("it serves another size alone");
        }
        if self.verified(index).is_none() {
            let why = self.contest.contestants[index].out.as_ref().map_or("it failed", |(_, why)| why);
            return refuse(why);
        }
        let near = if self.is_generic(index) { Some(index) } else { self.fallback(true, Reason::Forced)?.near };
        Some(Pick { exact: index, near, reason: Reason::Forced, place: None })
    }

    fn remembered(&mut self, notes: &mut Vec<String>) -> Option<Pick> {
        let Remembered { exact, near } =
            self.tuner.options.remembered.get(self.contest.kernel.name)?.get(&self.n)?.clone();
        let mut usable = |name: &str, generic: bool| {
            let why = match self.find(name) {
                None => "there is no such variant".to_owned(),
                Some(index) if !self.serves(index) || (generic && !self.is_generic(index)) => {
                    "it does not serve this size".to_owned()
                }
                Some(index) if self.verified(index).is_some() => return Some(index),
                Some(index) => {
                    self.contest.contestants[index].out.as_ref().map_or_else(String::new, |(_, why)| why.clone())
                }
            };
            notes.push(format!("remembered variant {name:?} is not used: {why}"));
            None
        };
        let exact = usable(&exact, false)?;
        let near = usable(&near, true)?;
        Some(Pick { exact, near: Some(near), reason: Reason::Remembered, place: None })
    }

    /// Who races.
    fn field(&self) -> Vec<usize> {
        let ready = |&index: &usize| self.contest.contestants[index].out.is_none() && self.serves(index);
        let everyone = (0..self.contest.contestants.len()).filter(ready);
        if self.tuner.options.field == Field::Everyone {
            return everyone.collect();
        }
        let mut field: Vec<usize> = self.preferred(&|index| ready(&index)).into_iter().collect();
        for index in everyone.filter(|&index| self.contest.contestants[index].candidate.startup()) {
            if field.len() < STARTUP_CANDIDATES && !field.contains(&index) {
                field.push(index);
            }
        }
        if let Some(portable) = portable(&self.contest.contestants).filter(ready)
            && !field.iter().any(|&index| self.contest.contestants[index].candidate.origin() == Origin::Portable)
            && field.len() < STARTUP_CANDIDATES
        {
            field.push(portable);
        }
        field
    }

    fn raced(&mut self) -> (Option<Pick>, Vec<Part>) {
        let field = self.field();
        let mut parts: Vec<Part> = (0..self.contest.contestants.len())
            .map(|index| {
                let why = if field.contains(&index) { "time ran out" } else { "not in the start-up race" };
                Part::Absent(why.to_owned())
            })
            .collect();
        let mut entrants: Vec<(usize, Verified)> = Vec::new();
        let mut all = true;
        for index in field {
            all = self.budget.left();
            if !all {
                break;
            }
            if let Some(verified) = self.verified(index) {
                entrants.push((index, verified));
            }
        }
        let Some(outcome) = self.race(&entrants) else {
            return (self.fallback(true, Reason::Budget), parts);
        };
        for ((index, _), measured) in entrants.iter().zip(&outcome.measured) {
            if measured.standing != Standing::Unmeasured {
                parts[*index] = Part::Raced(*measured);
            }
        }
        let pick = match outcome.best {
            Some(place) => {
                let near = match outcome.near {
                    Some(near) => Some(entrants[near.winner].0),
                    None => self.fallback(true, Reason::Budget).and_then(|pick| pick.near),
                };
                let reason = match place.ground {
                    // The best of those that there was time to check.
                    Ground::Fastest | Ground::Tie | Ground::Only if !all => Reason::Budget,
                    Ground::Fastest => Reason::Fastest,
                    Ground::Tie => Reason::Tie,
                    Ground::Budget => Reason::Budget,
                    Ground::Only => Reason::Only,
                };
                Some(Pick { exact: entrants[place.winner].0, near, reason, place: Some(place) })
            }
            None => self.fallback(true, Reason::Budget),
        };
        (pick, parts)
    }

    fn race(&mut self, entrants: &[(usize, Verified)]) -> Option<Outcome> {
        if entrants.is_empty() {
            return None;
        }
        let case = case_name(self.contest.kernel, self.n);
        (self.progress)(Event::Racing { case: &case, entrants: entrants.len() });
        let options = &self.tuner.options;
        let previous = options.previous.get(self.contest.kernel.name).and_then(|classes| classes.get(&self.n));
        let facts: Vec<Entrant> = entrants
            .iter()
            .map(|(index, verified)| {
                let name = verified.candidate().short_name();
                Entrant {
                    generic: self.is_generic(*index),
                    size: verified.candidate().instructions(),
                    held: previous.is_some_and(|previous| previous.exact == name),
                    held_near: previous.is_some_and(|previous| previous.near == name),
                }
            })
            .collect();
        let clock = &*self.tuner.clock;
        let mut rules = Rules::new(clock.microsecond(), clock.step(), options.seed ^ self.n);
        if options.field == Field::Startup && self.budget.is_limited() {
            rules = rules.brief();
        }
        let prepare = options.prepare.get(self.contest.kernel.name).copied();
        let arena = Arena::for_timing(self.contest.kernel, self.n, options.seed, prepare).ok()?;
        let mut timed = Timed { arena, entrants, clock };
        Some(race(&mut timed, &facts, &rules, &mut self.budget.share(self.parts)))
    }

    fn report(mut self, pick: Option<Pick>, parts: Vec<Part>, mut notes: Vec<String>) -> (CaseReport, Choice) {
        let unit = self.contest.kernel.unit;
        let work = match unit {
            Unit::Limb | Unit::Block => self.n.max(1) as f64,
            Unit::Call => 1.0,
        };
        let winner = pick.as_ref().map(|pick| pick.exact);
        let candidates = parts
            .into_iter()
            .enumerate()
            .map(|(index, part)| {
                let contestant = &self.contest.contestants[index];
                let (measured, absent) = match part {
                    Part::Raced(measured) => (Some(measured), None),
                    Part::Absent(why) => (None, Some(why)),
                };
                let (state, why) = if winner == Some(index) {
                    (State::Won, None)
                } else if let Some((state, why)) = &contestant.out {
                    (*state, Some(why.clone()))
                } else if !self.serves(index) {
                    (State::Ineligible, contestant.candidate.exact().map(|exact| format!("serves n = {exact} alone")))
                } else {
                    let state = match measured.map_or(Standing::Unmeasured, |measured| measured.standing) {
                        // The race's winner is the pick, which is handled above.
                        Standing::Won | Standing::Tied => State::Tied,
                        Standing::Lost => State::Lost,
                        Standing::Dropped => State::Dropped,
                        Standing::Unmeasured => State::Unmeasured,
                    };
                    (state, absent)
                };
                CandidateReport {
                    variant: contestant.candidate.name().to_owned(),
                    state,
                    why,
                    ticks: measured.and_then(|measured| measured.time).map(|time| time / work),
                    spread: measured.and_then(|measured| measured.spread),
                    rounds: measured.map_or(0, |measured| measured.rounds),
                }
            })
            .collect();
        let (chosen, origin, reason) = match &pick {
            Some(pick) => {
                let candidate = &self.contest.contestants[pick.exact].candidate;
                (candidate.name().to_owned(), candidate.origin().word(), pick.reason)
            }
            None => {
                notes.push(format!("{}; the reference is used", self.why_nobody(false)));
                (reference(self.contest.kernel), "portable", Reason::Only)
            }
        };
        let near = match &pick {
            Some(Pick { near: Some(near), .. }) => {
                (Some(*near) != winner).then(|| self.contest.contestants[*near].candidate.name().to_owned())
            }
            Some(Pick { near: None, .. }) => {
                notes.push(format!("{}; the reference serves the other sizes", self.why_nobody(true)));
                Some(reference(self.contest.kernel))
            }
            None => None,
        };
        let report = CaseReport {
            kernel: self.contest.kernel.name.to_owned(),
            case: case_name(self.contest.kernel, self.n),
            chosen,
            per: unit.word(),
            origin,
            reason,
            margin: pick.as_ref().and_then(|pick| pick.place?.margin),
            p_value: pick.as_ref().and_then(|pick| pick.place?.p_value),
            near,
            notes,
            candidates,
        };
        let exact = pick.as_ref().and_then(|pick| self.verified(pick.exact));
        let near = pick.and_then(|pick| self.verified(pick.near?));
        (report, Choice { n: self.n, exact, near })
    }

    /// Why no variant serves this class, or, with `generic`, every `n`.
    fn why_nobody(&self, generic: bool) -> String {
        let who = if generic { "variant that serves every size" } else { "variant" };
        let fits = |index: &usize| if generic { self.is_generic(*index) } else { self.serves(*index) };
        let states: Vec<Option<State>> = (0..self.contest.contestants.len())
            .filter(fits)
            .map(|index| self.contest.contestants[index].out.as_ref().map(|(state, _)| *state))
            .collect();
        let count = |state: State| states.iter().filter(|other| **other == Some(state)).count();
        match (count(State::Quarantined), count(State::Denied)) {
            (0, 0) => format!("no {who} can run here"),
            (0, denied) if denied == states.len() => format!("every {who} is denied"),
            (0, _) => format!("every {who} that can run here is denied"),
            (_, 0) => format!("no {who} passed its check"),
            (_, _) => format!("no {who} that is allowed passed its check"),
        }
    }
}

/// What reports call the reference.
fn reference(kernel: &Kernel) -> String {
    format!("{}/reference", kernel.name)
}

fn case_name(kernel: &Kernel, n: u64) -> String {
    if kernel.sizes.is_empty() { String::new() } else { format!("n={n}") }
}

/// Verified candidates on one set of buffers, timed with a clock.
struct Timed<'a> {
    arena: Arena,
    entrants: &'a [(usize, Verified)],
    clock: &'a dyn Clock,
}

impl Bench for Timed<'_> {
    fn window(&mut self, candidate: usize, calls: u32) -> Sample {
        let Some((_, verified)) = self.entrants.get(candidate) else {
            return Sample { time: None, core: Core::Unknown };
        };
        let (time, core) = timed(self.clock, || self.arena.repeat(verified, calls));
        Sample { time, core }
    }
}
