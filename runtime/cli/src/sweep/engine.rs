//! Makes, checks and measures cells of the space, and writes what became of each. Does not choose them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use kiln_codegen::estimate::{Estimate, estimate};
use kiln_codegen::ir::interpret::Call;
use kiln_codegen::pass::CostModel;
use kiln_codegen::plan::Plan;
use kiln_kernels::catalogue::Unit;
use kiln_runtime::candidate::{Candidate, Exclusions};
use kiln_runtime::detect::Native;
use kiln_runtime::exec::ALIGNMENT;
use kiln_runtime::measure::{Bed, End, Goal, Measurement, Mode, Sheet};
use kiln_runtime::provide::{Published, publish_again};
use kiln_runtime::race::Budget;
use kiln_runtime::random::Random;
use kiln_runtime::timer::Clock;
use kiln_runtime::verify::{Arena, Checker, Depth, Options, Rejected, Verified, random_operands};

use super::make::{Made, make};
use super::record::{self, Point, PointKind, Record, State, Static, point_id};
use super::search::Cell;
use super::set::Set;
use super::space::{Space, settings};
use super::store::Store;
use crate::Context;
use crate::check::{self, Extent};
use crate::command::short;
use crate::failure::Failure;
use crate::interpret::apart;
use crate::progress::Progress;

/// Variants that are made, checked and measured together: a batch shares one child process, and its rounds.
const BATCH: usize = 256;
/// Random cases for each length in the child.
const CASES: u32 = 2;
/// Variants that are kept for the next look at them.
const KEPT: usize = 4096;
/// Instructions that are interpreted for an estimate; longer calls have none.
const INTERPRETED: u64 = 1 << 21;
/// What is written of a cell and kept: its time for one unit of work, if it has one.
pub type Outcome = Option<f64>;

/// How hard cells are measured.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// Until they are as precise as was asked, and written down.
    Full,
    /// So many windows each, for a first look; nothing is written of those that have a time.
    Glance(usize),
}

/// What does not change while a sweep runs.
pub struct Setup<'a> {
    pub context: &'a Context<'a>,
    pub cpu: Native,
    pub clock: &'a dyn Clock,
    pub spaces: &'a [Space],
    pub plans: &'a [Vec<Plan<'a>>],
    pub sets: &'a [Set],
    pub mode: Mode,
    pub word: record::Mode,
    pub goal: Goal,
    pub seed: u64,
    /// Costs of this CPU, and clock units in a cycle.
    pub model: CostModel,
    pub per_cycle: f64,
    pub exclusions: Exclusions,
    pub begun: Instant,
    pub deadline: Option<Instant>,
}

/// A variant that was made, and whether it may be measured.
#[derive(Clone)]
enum Ready {
    Good { verified: Box<Verified>, published: Option<Box<Published>>, made: Facts },
    Out { state: State, why: String, made: Facts },
}

/// What is known of a variant without running it.
#[derive(Clone, Default)]
struct Facts {
    /// The n for which an estimate was tried.
    looked_at: BTreeSet<u64>,
    instructions: Option<u64>,
    bytes: Option<u64>,
    spills: Option<u64>,
    /// By n.
    estimates: BTreeMap<u64, Estimate>,
}

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub measured: usize,
    pub imprecise: usize,
    pub ineligible: usize,
    pub refused: usize,
    pub failed: usize,
}

/// A sweep at work.
pub struct Engine<'a> {
    pub setup: Setup<'a>,
    pub run: String,
    store: Store,
    checkers: HashMap<usize, Checker>,
    /// Variants by kernel and plan, for searches that come back to them.
    kept: HashMap<(usize, usize), Ready>,
    /// Cells that are settled, here or in the file before.
    pub outcomes: HashMap<Cell, Outcome>,
    pub points: HashMap<Cell, Point>,
    pub counts: Counts,
    pub progress: Progress,
}

/// Bytes by which buffers are moved at most.
const SPACER: u64 = 1 << 15;
/// Bytes of code that one batch may use up by being moved: code is never unmapped.
const MOVED: usize = 24 << 20;

/// Where the variants of a batch are now.
struct Moved {
    /// By their place in the batch.
    now: Vec<Option<Verified>>,
    /// Bytes of all of them, and how many more may be used.
    bytes: usize,
    left: usize,
}

impl Moved {
    fn new(ready: &[Ready]) -> Moved {
        let bytes = ready.iter().map(|ready| match ready {
            Ready::Good { published: Some(published), .. } => published.bytes().next_multiple_of(ALIGNMENT),
            Ready::Good { published: None, .. } | Ready::Out { .. } => 0,
        });
        let now = ready.iter().map(|ready| match ready {
            Ready::Good { verified, .. } => Some((**verified).clone()),
            Ready::Out { .. } => None,
        });
        Moved { now: now.collect(), bytes: bytes.sum(), left: MOVED }
    }

    fn at(&self, place: usize) -> Option<&Verified> {
        self.now.get(place)?.as_ref()
    }

    /// Puts them elsewhere in another order, as long as there is memory for that.
    fn shuffle(&mut self, ready: &[Ready], random: &mut Random) {
        let mut movable: Vec<(usize, &Published, &Verified)> = ready
            .iter()
            .enumerate()
            .filter_map(|(place, ready)| match ready {
                Ready::Good { published: Some(published), verified, .. } => Some((place, &**published, &**verified)),
                Ready::Good { published: None, .. } | Ready::Out { .. } => None,
            })
            .collect();
        if movable.is_empty() || self.bytes > self.left {
            return;
        }
        for place in (1..movable.len()).rev() {
            movable.swap(place, random.below(place as u64 + 1) as usize);
        }
        let code: Vec<&Published> = movable.iter().map(|(_, published, _)| *published).collect();
        // Where there is no memory any more they stay where they are.
        let Ok(again) = publish_again(&code) else { return };
        self.left -= self.bytes;
        for ((place, _, verified), candidate) in movable.into_iter().zip(again) {
            if let Some(verified) = verified.moved(candidate) {
                self.now[place] = Some(verified);
            }
        }
    }
}

/// Time until a moment.
struct Until(Option<Instant>);

impl Budget for Until {
    fn left(&mut self) -> bool {
        self.0.is_none_or(|end| Instant::now() < end)
    }
}

impl<'a> Engine<'a> {
    pub fn new(setup: Setup<'a>, run: String, store: Store, progress: Progress) -> Engine<'a> {
        Engine {
            setup,
            run,
            store,
            checkers: HashMap::new(),
            kept: HashMap::new(),
            outcomes: HashMap::new(),
            points: HashMap::new(),
            counts: Counts::default(),
            progress,
        }
    }

    /// The cell's identity in files.
    pub fn id(&self, cell: Cell) -> String {
        let space = &self.setup.spaces[cell.kernel];
        point_id(space.kernel.name, short(&self.setup.plans[cell.kernel][cell.plan].name), cell.n, self.setup.word)
    }

    /// Whether time is left.
    pub fn in_time(&self) -> bool {
        Until(self.setup.deadline).left()
    }

    /// Measures the cells that are not settled. Gives, for a glance, what was seen of each.
    pub fn run(&mut self, cells: &[Cell], effort: Effort) -> Result<HashMap<Cell, Point>, Failure> {
        let mut open: Vec<Cell> = cells.iter().copied().filter(|cell| !self.outcomes.contains_key(cell)).collect();
        open.sort_unstable();
        open.dedup();
        let mut left = open.len();
        let mut glances = HashMap::new();
        let mut kernels: BTreeMap<usize, BTreeMap<usize, Vec<u64>>> = BTreeMap::new();
        for cell in &open {
            kernels.entry(cell.kernel).or_default().entry(cell.plan).or_default().push(cell.n);
        }
        for (kernel, plans) in kernels {
            let plans: Vec<(usize, Vec<u64>)> = plans.into_iter().collect();
            for batch in plans.chunks(BATCH) {
                if !self.in_time() {
                    return Ok(glances);
                }
                let ready = self.ready(kernel, batch)?;
                self.measure(kernel, batch, &ready, effort, &mut left, &mut glances)?;
                self.store.sync()?;
            }
        }
        Ok(glances)
    }

    /// The variants of a batch: those that are kept, and the others made now.
    fn ready(&mut self, kernel: usize, batch: &[(usize, Vec<u64>)]) -> Result<Vec<Ready>, Failure> {
        let known = |ready: &Ready, sizes: &[u64]| match ready {
            Ready::Good { made, .. } | Ready::Out { made, .. } => sizes.iter().all(|n| made.looked_at.contains(n)),
        };
        let missing: Vec<(usize, Vec<u64>)> = batch
            .iter()
            .filter(|(plan, sizes)| !self.kept.get(&(kernel, *plan)).is_some_and(|ready| known(ready, sizes)))
            .cloned()
            .collect();
        if self.kept.len() + missing.len() > KEPT {
            let here: BTreeSet<usize> = batch.iter().map(|(plan, _)| *plan).collect();
            self.kept.retain(|(of, plan), _| *of == kernel && here.contains(plan));
        }
        if !missing.is_empty() {
            let made = self.prepare(kernel, &missing)?;
            self.kept.extend(missing.into_iter().map(|(plan, _)| (kernel, plan)).zip(made));
        }
        Ok(batch.iter().filter_map(|(plan, _)| self.kept.get(&(kernel, *plan)).cloned()).collect())
    }

    /// Makes and checks variants.
    fn prepare(&mut self, kernel: usize, batch: &[(usize, Vec<u64>)]) -> Result<Vec<Ready>, Failure> {
        let space = &self.setup.spaces[kernel];
        let plans: Vec<&Plan<'_>> = batch.iter().map(|(plan, _)| &self.setup.plans[kernel][*plan]).collect();
        self.progress.doing(format!("making and checking {} variants of {}", plans.len(), space.kernel.name));
        let made = make(space.kernel, &space.specs, &plans);
        let may_run = |made: &Made| {
            made.candidate.eligible(space.kernel, &self.setup.cpu).is_ok()
                && self.setup.exclusions.denies(made.candidate.name()).is_none()
        };
        let names: Vec<String> =
            made.iter().flatten().filter(|made| may_run(made)).map(|made| made.candidate.name().to_owned()).collect();
        let extent = Extent { cases: CASES, seed: self.setup.seed };
        let findings = check::in_child(self.setup.context, &names, extent, Some(self.setup.sets), &mut |_| {})?;
        let mut wrong: HashMap<String, String> =
            names.into_iter().zip(findings).filter_map(|(name, findings)| Some((name, findings.summary()?))).collect();
        let candidates: Vec<Candidate> = made.iter().flatten().map(|made| made.candidate.clone()).collect();
        let mut ready = Vec::with_capacity(batch.len());
        for ((_, sizes), outcome) in batch.iter().zip(made) {
            let made = match outcome {
                Ok(made) => made,
                Err(why) => {
                    let made = Facts { looked_at: sizes.iter().copied().collect(), ..Facts::default() };
                    ready.push(Ready::Out { state: State::Refused, why, made });
                    continue;
                }
            };
            let facts = self.facts(kernel, &made, sizes);
            let name = made.candidate.name();
            if let Some(why) = wrong.remove(name) {
                ready.push(Ready::Out { state: State::Failed, why, made: facts });
                continue;
            }
            if let Some(pattern) = self.setup.exclusions.denies(name) {
                let why = format!("denied by {:?}", pattern.to_string());
                ready.push(Ready::Out { state: State::Ineligible, why, made: facts });
                continue;
            }
            let options = Options { seed: self.setup.seed, depth: Depth::Quick, ..Options::default() };
            let checker = self.checkers.entry(kernel).or_insert_with(|| Checker::new(space.kernel, options));
            ready.push(match checker.verify(&made.candidate, candidates.iter(), &self.setup.cpu) {
                Ok(verified) => Ready::Good {
                    verified: Box::new(verified),
                    published: made.published.clone().map(Box::new),
                    made: facts,
                },
                Err(why @ Rejected::Ineligible(_)) => {
                    Ready::Out { state: State::Ineligible, why: why.to_string(), made: facts }
                }
                Err(why @ Rejected::Failed(_)) => {
                    Ready::Out { state: State::Failed, why: why.to_string(), made: facts }
                }
            });
        }
        Ok(ready)
    }

    fn facts(&self, kernel: usize, made: &Made, sizes: &[u64]) -> Facts {
        let kernel = self.setup.spaces[kernel].kernel;
        let estimates = made.program.iter().flat_map(|program| {
            sizes.iter().filter_map(move |&n| {
                let operands = random_operands(kernel, n, self.setup.seed, None);
                let call = Call { budget: INTERPRETED, ..Call::new(apart(&operands)) };
                Some((n, estimate(program, &call, &self.setup.model).ok()?))
            })
        });
        Facts {
            looked_at: sizes.iter().copied().collect(),
            instructions: Some(made.instructions),
            bytes: made.published.as_ref().and_then(|published| u64::try_from(published.bytes()).ok()),
            spills: made.spills,
            estimates: estimates.collect(),
        }
    }

    /// Measures the variants of a batch: those of one length side by side, and round after round at another place.
    fn measure(
        &mut self,
        kernel: usize,
        batch: &[(usize, Vec<u64>)],
        ready: &[Ready],
        effort: Effort,
        left: &mut usize,
        glances: &mut HashMap<Cell, Point>,
    ) -> Result<(), Failure> {
        let mut lanes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let count: usize = batch.iter().map(|(_, sizes)| sizes.len()).sum();
        for (place, ((plan, sizes), ready)) in batch.iter().zip(ready).enumerate() {
            for &n in sizes {
                let cell = Cell { kernel, plan: *plan, n };
                match ready {
                    Ready::Good { verified, .. } if verified.serves(n) => lanes.entry(n).or_default().push(place),
                    Ready::Good { made, .. } => {
                        let why = "it serves another length alone".to_owned();
                        self.settle(self.point(cell, made, State::Ineligible, Some(why)), cell)?;
                    }
                    Ready::Out { state, why, made } => {
                        self.settle(self.point(cell, made, *state, Some(why.clone())), cell)?;
                    }
                }
            }
        }
        // Of the time that is left, what falls to these of all cells.
        let end = self.setup.deadline.map(|deadline| {
            let now = Instant::now();
            let share = count as f64 / (*left).max(1) as f64;
            now + deadline.saturating_duration_since(now).mul_f64(share.min(1.0))
        });
        *left = left.saturating_sub(count);
        let goal = |n: u64| match effort {
            Effort::Full => Goal { seed: self.setup.goal.seed ^ n, ..self.setup.goal },
            Effort::Glance(windows) => {
                Goal { seed: self.setup.goal.seed ^ n, precision: 0.0, windows: (windows, windows), ..self.setup.goal }
            }
        };
        let mut sheets: Vec<(u64, Vec<usize>, Sheet)> = lanes
            .into_iter()
            .map(|(n, places)| {
                let sheet = Sheet::new(places.len(), goal(n));
                (n, places, sheet)
            })
            .collect();
        let mut random = Random::new(self.setup.goal.seed);
        let mut moved = Moved::new(ready);
        let name = self.setup.spaces[kernel].kernel.name;
        for round in 0.. {
            let open: usize = sheets.iter().map(|(_, _, sheet)| sheet.live().len()).sum();
            if open == 0 {
                break;
            }
            self.progress.doing(format!("{name}: {open} points, round {}", round + 1));
            moved.shuffle(ready, &mut random);
            for (n, places, sheet) in &mut sheets {
                self.round(kernel, *n, batch, ready, places, sheet, &moved, &mut random, end, effort, glances)?;
            }
        }
        Ok(())
    }

    /// One round of one length.
    #[allow(clippy::too_many_arguments, reason = "what `measure` has, less its loops")]
    fn round(
        &mut self,
        kernel: usize,
        n: u64,
        batch: &[(usize, Vec<u64>)],
        ready: &[Ready],
        places: &[usize],
        sheet: &mut Sheet,
        moved: &Moved,
        random: &mut Random,
        end: Option<Instant>,
        effort: Effort,
        glances: &mut HashMap<Cell, Point>,
    ) -> Result<(), Failure> {
        if sheet.live().is_empty() {
            return Ok(());
        }
        let contract = self.setup.spaces[kernel].kernel;
        // Moves the buffers against pages, which a seed alone does not.
        let spacer = vec![0_u8; random.below(SPACER) as usize];
        let arena = Arena::for_timing(contract, n, random.word(), None);
        drop(spacer);
        let Ok(arena) = arena else {
            let why = format!("{} cannot be timed at n = {n}: its operands are too long", contract.name);
            return Err(Failure::Usage(why));
        };
        let entrants: Vec<Verified> = places.iter().filter_map(|place| moved.at(*place).cloned()).collect();
        let mut bed = Bed { arena, entrants: &entrants, clock: self.setup.clock, mode: self.setup.mode };
        let mut failure = None;
        sheet.round(&mut bed, &mut Until(end), &mut |index, measurement| {
            let place = places[index];
            let Ready::Good { made, .. } = &ready[place] else { return };
            let cell = Cell { kernel, plan: batch[place].0, n };
            let point = self.timed(cell, made, measurement);
            if matches!(effort, Effort::Glance(_)) && point.ticks.is_some() {
                glances.insert(cell, point);
            } else if let Err(why) = self.settle(point, cell) {
                failure.get_or_insert(why);
            }
        });
        failure.map_or(Ok(()), Err)
    }

    fn units(&self, cell: Cell) -> u64 {
        match self.setup.spaces[cell.kernel].kernel.unit {
            Unit::Limb | Unit::Block => cell.n.max(1),
            Unit::Call => 1,
        }
    }

    fn point(&self, cell: Cell, facts: &Facts, state: State, why: Option<String>) -> Point {
        let space = &self.setup.spaces[cell.kernel];
        let plan = &self.setup.plans[cell.kernel][cell.plan];
        let units = self.units(cell) as f64;
        let estimate = facts.estimates.get(&cell.n);
        let ticks = |cycles: f64| cycles * self.setup.per_cycle / units;
        let predicted = |estimate: &Estimate| match self.setup.word {
            record::Mode::Throughput => estimate.throughput(),
            record::Mode::Latency | record::Mode::Cold => estimate.latency(),
        };
        Point {
            kind: PointKind,
            run: self.run.clone(),
            id: self.id(cell),
            kernel: space.kernel.name.to_owned(),
            variant: short(&plan.name).to_owned(),
            strategy: plan.strategy.name.value.clone(),
            set: settings(plan),
            n: cell.n,
            unit: space.kernel.unit.word().to_owned(),
            units: Some(self.units(cell)),
            mode: self.setup.word,
            state,
            why,
            known: Static {
                instructions: facts.instructions,
                bytes: facts.bytes,
                spills: facts.spills,
                critical_path: estimate.map(|estimate| ticks(estimate.path)),
                bound: estimate.map(|estimate| ticks(estimate.bound)),
                predicted: estimate.map(|estimate| ticks(predicted(estimate))),
            },
            ticks: None,
            low: None,
            high: None,
            level: self.setup.goal.level,
            limit: None,
            calls: 0,
            windows: Vec::new(),
            at: (self.setup.begun.elapsed().as_secs_f64() * 1e3).round() / 1e3,
        }
    }

    fn timed(&self, cell: Cell, facts: &Facts, measurement: Measurement) -> Point {
        let width = measurement.interval.map(|interval| format!("{:.1} %", interval.width() * 100.0));
        let width = width.map_or_else(|| "unknown".to_owned(), |width| format!("{width} wide"));
        let count = measurement.windows.len();
        let (state, why) = match measurement.end {
            End::Precise => (State::Measured, None),
            End::Windows => (State::Imprecise, Some(format!("the interval is {width} after {count} windows"))),
            End::Budget => {
                (State::Imprecise, Some(format!("time ran out: the interval is {width} after {count} windows")))
            }
            End::Clock => (State::Imprecise, Some("the clock gave nothing usable".to_owned())),
        };
        let per = |time: f64| time / f64::from(measurement.calls) / self.units(cell) as f64;
        Point {
            ticks: measurement.interval.map(|interval| per(interval.value)),
            low: measurement.interval.map(|interval| per(interval.low)),
            high: measurement.interval.map(|interval| per(interval.high)),
            calls: measurement.calls.into(),
            windows: measurement.windows,
            ..self.point(cell, facts, state, why)
        }
    }

    /// Writes a cell's line; it is settled then.
    pub fn settle(&mut self, mut point: Point, cell: Cell) -> Result<(), Failure> {
        // Without a single interval it is as good as never measured: a run that goes on may try again.
        let untried = point.state == State::Imprecise && point.ticks.is_none();
        if !untried {
            match point.state {
                State::Measured => self.counts.measured += 1,
                State::Imprecise => self.counts.imprecise += 1,
                State::Ineligible => self.counts.ineligible += 1,
                State::Refused => self.counts.refused += 1,
                State::Failed => self.counts.failed += 1,
            }
            self.store.append(&Record::from(point.clone()))?;
            self.progress.step();
        }
        self.outcomes.insert(cell, point.ticks);
        point.windows = Vec::new();
        self.points.insert(cell, point);
        Ok(())
    }

    /// Time since the sweep began.
    pub fn elapsed(&self) -> Duration {
        self.setup.begun.elapsed()
    }

    /// Appends a line that is no cell.
    pub fn append(&mut self, record: &Record) -> Result<(), Failure> {
        self.store.append(record)
    }
}
