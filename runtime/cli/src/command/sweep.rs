//! `kiln sweep`: which points, in which order, and what came of it.

mod header;
mod summary;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kiln_codegen::compile::cost_model;
use kiln_codegen::family::Extent;
use kiln_codegen::pass::CostModel;
use kiln_codegen::plan::Plan;
use kiln_kernels::catalogue::{ArgumentKind, Kernel};
use kiln_runtime::candidate::Exclusions;
use kiln_runtime::exec::Evictor;
use kiln_runtime::measure::{Goal, Mode as Timing};
use kiln_runtime::provide::Provider;
use kiln_runtime::race::Rules;
use kiln_runtime::random::Random;
use kiln_runtime::timer::{Clock, SystemClock, units_per_cycle};

use crate::Context;
use crate::args::{Shard, SweepOptions};
use crate::command::specs;
use crate::failure::Failure;
use crate::names::{nearest, select};
use crate::progress::Progress;
use crate::sweep::engine::{Effort, Engine, Setup};
use crate::sweep::record::{Header, Mode, QUANTILE, Record, Search, State};
use crate::sweep::search::{Cell, Neighbourhood, halve, sample};
use crate::sweep::set::{STRATEGY, Set};
use crate::sweep::space::{Space, idle_everywhere, keys, settings};
use crate::sweep::store::{Recorded, Store};
use header::{header, run_id};
use summary::{draw, summary};

/// Level of the intervals.
const LEVEL: f64 = 0.95;
/// Fewest and most windows of a point.
const WINDOWS: (usize, usize) = (32, 512);
/// What is different when calls are cold, since emptying the caches takes hundreds of times as long as a call: windows are so
/// many times shorter, and there are fewer.
const COLD: (u64, (usize, usize)) = (16, (24, 256));
/// Windows of a first look, which is the fewest that has an interval, and a few for luck.
const GLANCE: usize = 16;
/// Points of a kernel and length that are measured in full at the end of a halving.
const FINALISTS: usize = 8;
/// Points of a kernel and length in a local search, if no number is given.
const LOCAL: u64 = 64;

/// Sweeps.
pub fn run(context: &Context<'_>, options: &SweepOptions) -> Result<bool, Failure> {
    let begun = Instant::now();
    agree(options)?;
    let provider = specs(context)?;
    let shipped: Vec<&'static Kernel> = kiln_kernels::kernels().collect();
    let kernels = select(&shipped, |kernel| kernel.name, &options.kernels)?;
    known_words(&provider, &kernels, &options.sets)?;
    let mut spaces = Vec::new();
    let mut without = None;
    for kernel in &kernels {
        let kernel = provider.kernel(kernel).map_err(|problems| context.refused(problems))?;
        match Space::of(&provider, kernel, &options.sets) {
            Ok(space) => spaces.push(space),
            // Another of the kernels may have the strategy.
            Err(failure @ Failure::UnknownStrategy { .. }) => drop(without.get_or_insert(failure)),
            Err(failure) => return Err(failure),
        }
    }
    if let (true, Some(failure)) = (spaces.is_empty(), without) {
        return Err(failure);
    }
    if let Some(why) = idle_everywhere(&spaces) {
        return Err(Failure::Usage(why));
    }
    let plans: Vec<Vec<Plan<'_>>> = spaces.iter().map(Space::plans).collect::<Result<_, _>>()?;
    let cells = cells(&spaces, &plans, options)?;

    let cpu = context.cpu();
    let clock = SystemClock::new(&cpu);
    let mode = match options.mode {
        Mode::Throughput => Timing::Throughput,
        Mode::Latency => Timing::Latency,
        Mode::Cold => Timing::Cold(Evictor::new().map_err(|why| Failure::Usage(format!("no cold calls: {why}")))?),
    };
    let (store, recorded) = Store::open(&options.out, options.resume)?;
    let run = run_id(&clock);
    let header = header(&provider, &cpu, &clock, options, &run);
    continues(context, &recorded, &header)?;
    let window = Rules::new(clock.microsecond(), clock.step(), 0).window;
    let (window, windows) = if options.mode == Mode::Cold { (window / COLD.0, COLD.1) } else { (window, WINDOWS) };
    let goal =
        Goal { precision: options.precision, level: LEVEL, quantile: QUANTILE, windows, window, seed: options.seed };
    let setup = Setup {
        context,
        model: provider.cpu_file(&cpu).or(provider.specs().cpu("generic")).map_or(CostModel::generic(), cost_model),
        per_cycle: units_per_cycle(&clock),
        cpu,
        clock: &clock,
        spaces: &spaces,
        plans: &plans,
        sets: &options.sets,
        mode,
        word: options.mode,
        goal,
        seed: options.seed,
        exclusions: Exclusions { deny: context.settings.deny.clone(), quarantined: BTreeMap::new() },
        begun,
        deadline: options.time.map(|seconds| begun + Duration::from_secs_f64(seconds)),
    };
    let mut engine = Engine::new(setup, run.clone(), store, Progress::timed(cells.len()));
    engine.append(&Record::from(header))?;
    let cells = mine(&engine, cells, options.shard);
    let found = recall(&mut engine, &cells, recorded);
    engine.progress.expect(cells.len() - found);

    let looked_at = match options.strategy {
        Search::Exhaustive | Search::Random => {
            engine.run(&cells, Effort::Full)?;
            cells.len()
        }
        Search::Halving => halving(&mut engine, &cells)?,
        Search::Local => local(&mut engine, &cells, options)?,
    };
    let settled = engine.counts;
    let document = summary(&engine, options, found, looked_at, settled, &spaces, clock.unit());
    drop(engine);
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(document.failed == 0)
}

/// Options that do not go together.
fn agree(options: &SweepOptions) -> Result<(), Failure> {
    let refuse = |why: &str| Err(Failure::Usage(why.to_owned()));
    match (options.strategy, options.sample, options.shard) {
        (Search::Random, None, _) => refuse("--strategy random needs --sample N: how many points"),
        (Search::Halving, Some(_), _) => refuse("--strategy halving looks at every point: it takes no --sample"),
        (Search::Local, _, Some(_)) => refuse("--strategy local goes from point to point: it cannot be sharded"),
        _ => Ok(()),
    }
}

/// Every key is one that some strategy has, and every strategy that is named is one of some kernel.
fn known_words(provider: &Provider, kernels: &[&'static Kernel], sets: &[Set]) -> Result<(), Failure> {
    let specs = kernels.iter().filter_map(|kernel| provider.specs().kernel(kernel.name));
    let mut known: Vec<&'static str> = specs.flat_map(keys).collect();
    known.sort_unstable();
    known.dedup();
    if let Some(set) = sets.iter().find(|set| !known.contains(&set.key.as_str())) {
        let kernels = kernels.iter().map(|kernel| kernel.name).collect();
        return Err(Failure::NoSuchKey { key: set.key.clone(), kernels, keys: known });
    }
    let specs = kernels.iter().filter_map(|kernel| provider.specs().kernel(kernel.name));
    let strategies: Vec<&str> = specs.flat_map(|spec| &spec.strategies).map(|one| one.name.value.as_str()).collect();
    let named = sets.iter().filter(|set| set.key == STRATEGY).flat_map(|set| &set.values);
    match named.into_iter().find(|name| !strategies.contains(&name.as_str())) {
        Some(unknown) => {
            let kernel = kernels.iter().map(|kernel| kernel.name).collect::<Vec<_>>().join(", ");
            Err(Failure::UnknownStrategy { kernel, near: nearest(unknown, strategies) })
        }
        None => Ok(()),
    }
}

/// The lengths of a kernel: those that were asked for, its size classes, or the one that it has.
fn sizes_of(kernel: &Kernel, options: &SweepOptions) -> Result<Vec<u64>, Failure> {
    let count = kernel.arguments.iter().find_map(|argument| match argument.kind {
        ArgumentKind::Count { min, max } => Some((min, max)),
        ArgumentKind::Limbs { .. } | ArgumentKind::Limb { .. } => None,
    });
    let (Some((min, max)), Some(sizes)) = (count, &options.sizes) else {
        return Ok(if kernel.sizes.is_empty() { vec![count.map_or(0, |(min, _)| min)] } else { kernel.sizes.to_vec() });
    };
    match sizes.0.iter().find(|n| !(min..=max).contains(n)) {
        Some(n) => Err(Failure::Usage(format!("n = {n} is no length of {}: {min} to {max} are", kernel.name))),
        None => Ok(sizes.0.clone()),
    }
}

fn cells(spaces: &[Space], plans: &[Vec<Plan<'_>>], options: &SweepOptions) -> Result<Vec<Cell>, Failure> {
    let mut cells = Vec::new();
    for (kernel, (space, plans)) in spaces.iter().zip(plans).enumerate() {
        let sizes = sizes_of(space.kernel, options)?;
        for (plan, planned) in plans.iter().enumerate() {
            let serves = |n: &u64| match planned.parameters.extent {
                Extent::Exact(exact) => u64::from(exact) == *n,
                Extent::Whole | Extent::Unrolled(_) | Extent::Blocks(_) => true,
            };
            cells.extend(sizes.iter().copied().filter(serves).map(|n| Cell { kernel, plan, n }));
        }
    }
    if cells.is_empty() {
        return Err(Failure::Usage("there is no point: no variant serves one of these lengths".to_owned()));
    }
    match (options.strategy, options.sample) {
        (Search::Exhaustive | Search::Random, Some(size)) => {
            Ok(sample(cells, usize::try_from(size).unwrap_or(usize::MAX), options.seed))
        }
        _ => Ok(cells),
    }
}

/// The cells of a shard.
fn mine(engine: &Engine<'_>, cells: Vec<Cell>, shard: Option<Shard>) -> Vec<Cell> {
    let Some(shard) = shard else { return cells };
    let number = |cell: Cell| u64::from_str_radix(&engine.id(cell), 16).unwrap_or(0);
    cells.into_iter().filter(|cell| number(*cell) % shard.of == shard.index - 1).collect()
}

/// Settles the cells that the file has.
fn recall(engine: &mut Engine<'_>, cells: &[Cell], mut recorded: Recorded) -> usize {
    let mut found = 0;
    for cell in cells {
        if let Some(point) = recorded.points.remove(&engine.id(*cell)) {
            engine.outcomes.insert(*cell, point.ticks);
            engine.points.insert(*cell, point);
            found += 1;
        }
    }
    found
}

/// Groups of one kernel and length.
fn groups(cells: &[Cell]) -> BTreeMap<(usize, u64), Vec<Cell>> {
    let mut groups: BTreeMap<(usize, u64), Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        groups.entry((cell.kernel, cell.n)).or_default().push(*cell);
    }
    groups
}

/// Every cell gets a few windows, the faster half twice as many, and so on; the last ones are measured in full.
fn halving(engine: &mut Engine<'_>, cells: &[Cell]) -> Result<usize, Failure> {
    let mut live = groups(cells);
    let mut windows = GLANCE;
    loop {
        let contested: Vec<Cell> = live
            .values()
            .map(|group| group.iter().copied().filter(|cell| !engine.outcomes.contains_key(cell)).collect::<Vec<_>>())
            .filter(|open| open.len() > FINALISTS)
            .flatten()
            .collect();
        if contested.is_empty() || !engine.in_time() {
            break;
        }
        let mut seen = engine.run(&contested, Effort::Glance(windows))?;
        for group in live.values_mut() {
            let timed: Vec<_> = group.iter().filter_map(|cell| Some((seen.get(cell)?.ticks?, *cell))).collect();
            if timed.is_empty() {
                continue;
            }
            let (fast, slow) = halve(timed, FINALISTS);
            for cell in slow {
                if let Some(mut point) = seen.remove(&cell) {
                    point.state = State::Imprecise;
                    point.why = Some(format!("in the slower half after {windows} windows"));
                    engine.settle(point, cell)?;
                    engine.counts.dropped += 1;
                }
            }
            *group = fast;
        }
        windows *= 2;
    }
    let finalists: Vec<Cell> = live.into_values().flatten().collect();
    engine.run(&finalists, Effort::Full)?;
    Ok(cells.len())
}

/// From a random point to the best of its neighbours, as long as that is better; then from another.
fn local(engine: &mut Engine<'_>, cells: &[Cell], options: &SweepOptions) -> Result<usize, Failure> {
    let most = usize::try_from(options.sample.unwrap_or(LOCAL)).unwrap_or(usize::MAX);
    let mut looked_at = 0;
    for ((kernel, n), group) in groups(cells) {
        let plans: Vec<usize> = group.iter().map(|cell| cell.plan).collect();
        let all = &engine.setup.plans[kernel];
        let described = plans.iter().map(|plan| (all[*plan].strategy.name.value.clone(), settings(&all[*plan])));
        let hood = Neighbourhood::new(described.collect());
        let mut random = Random::new(options.seed ^ n.rotate_left(32) ^ kernel as u64);
        let mut seen: Vec<usize> = Vec::new();
        let cell = |place: usize| Cell { kernel, plan: plans[place], n };
        'starts: while seen.len() < most.min(plans.len()) && engine.in_time() {
            let mut here = random.below(plans.len() as u64) as usize;
            loop {
                let mut round = vec![here];
                round.extend(hood.of(here, &mut random));
                round.retain(|place| {
                    let new = !seen.contains(place);
                    if new && seen.len() < most {
                        seen.push(*place);
                    }
                    seen.contains(place)
                });
                engine.run(&round.iter().map(|place| cell(*place)).collect::<Vec<_>>(), Effort::Full)?;
                let time = |place: usize| engine.outcomes.get(&cell(place)).copied().flatten().unwrap_or(f64::INFINITY);
                let best = round.iter().copied().min_by(|a, b| time(*a).total_cmp(&time(*b)).then(a.cmp(b)));
                let Some(best) = best else { break 'starts };
                // Nearer than what is asked of an interval is the same.
                if time(best) >= time(here) * (1.0 - options.precision) || !engine.in_time() {
                    break;
                }
                here = best;
            }
        }
        looked_at += seen.len();
    }
    Ok(looked_at)
}

/// Whether a file may be gone on in: it must be of this machine, these specs and this way of measuring.
fn continues(context: &Context<'_>, recorded: &Recorded, header: &Header) -> Result<(), Failure> {
    for old in &recorded.headers {
        let differs = [
            (old.cpu != header.cpu, "another machine"),
            (old.mode != header.mode, "another --mode"),
            (old.spec_hash != header.spec_hash, "other specs or kernels"),
            (old.code_hash != header.code_hash, "another build of the kernels"),
            (old.shard != header.shard, "another --shard"),
            (old.seed != header.seed, "another --seed"),
            (old.strategy != header.strategy, "another --strategy"),
            (old.precision != header.precision, "another --precision"),
        ];
        let others: Vec<&str> = differs.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect();
        if !others.is_empty() {
            let run = &old.run;
            let why = format!("the file cannot be gone on in: its run {run} was made with {}", others.join(", "));
            return Err(Failure::Usage(why));
        }
    }
    if recorded.headers.is_empty() && !recorded.points.is_empty() {
        return Err(Failure::Usage("the file cannot be gone on in: it has points and no header".to_owned()));
    }
    if recorded.torn > 0 {
        context.warn(&format!("the last line of the file was not finished; its {} bytes are cut off", recorded.torn));
    }
    if let Some(first) = recorded.damaged.first() {
        let count = recorded.damaged.len();
        context.warn(&format!(
            "{count} lines of the file cannot be read (line {first} is the first); they stay as they are"
        ));
    }
    Ok(())
}
