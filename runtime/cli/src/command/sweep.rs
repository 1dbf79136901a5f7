//! `kiln sweep`: which points, in which order, and what came of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kiln_codegen::compile::cost_model;
use kiln_codegen::family::Extent;
use kiln_codegen::pass::CostModel;
use kiln_codegen::plan::Plan;
use kiln_kernels::catalogue::{ArgumentKind, Kernel};
use kiln_runtime::candidate::Exclusions;
use kiln_runtime::detect::Native;
use kiln_runtime::exec::Evictor;
use kiln_runtime::measure::{Goal, Mode as Timing};
use kiln_runtime::provide::Provider;
use kiln_runtime::race::Rules;
use kiln_runtime::random::Random;
use kiln_runtime::timer::{Clock, SystemClock, Unit, units_per_cycle};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::Context;
use crate::args::{Shard, SweepOptions};
use crate::canvas::{Canvas, Column, Tone};
use crate::command::specs;
use crate::failure::Failure;
use crate::names::select;
use crate::progress::Progress;
use crate::sweep::engine::{Counts, Effort, Engine, Setup};
use crate::sweep::record::{Cpu, Header, HeaderKind, Mode, QUANTILE, Record, Schema, Search, State, Timer};
use crate::sweep::search::{Cell, Neighbourhood, halve, sample};
use crate::sweep::set::Set;
use crate::sweep::space::{RefusedValue, Space, keys, settings};
use crate::sweep::store::{Recorded, Store};

/// Level of the intervals.
const LEVEL: f64 = 0.95;
/// Fewest and most windows of a point.
const WINDOWS: (usize, usize) = (24, 1024);
/// Windows of a first look, which is the fewest that has an interval, and a few for luck.
const GLANCE: usize = 16;
/// Points of a kernel and length that are measured in full at the end of a halving.
const FINALISTS: usize = 8;
/// Points of a kernel and length in a local search, if no number is given.
const LOCAL: u64 = 64;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    kind: &'static str,
    out: String,
    run: String,
    unit: &'static str,
    points: usize,
    /// Points that the file had before.
    found: usize,
    measured: usize,
    imprecise: usize,
    ineligible: usize,
    refused: usize,
    failed: usize,
    /// Points for which there was no time.
    left: usize,
    elapsed_s: f64,
    refused_values: Vec<Refused>,
    best: Vec<Best>,
}

#[derive(Debug, Serialize)]
struct Refused {
    kernel: &'static str,
    strategy: String,
    key: String,
    value: String,
    why: String,
}

/// The fastest point of a kernel and length.
#[derive(Clone, Debug, Serialize)]
struct Best {
    kernel: String,
    n: u64,
    per: String,
    variant: String,
    ticks: f64,
    low: Option<f64>,
    high: Option<f64>,
    bytes: Option<u64>,
    predicted: Option<f64>,
    /// Points of this kernel and length that have a time.
    of: usize,
}

/// Sweeps.
pub fn run(context: &Context<'_>, options: &SweepOptions) -> Result<bool, Failure> {
    let begun = Instant::now();
    agree(options)?;
    let provider = specs(context)?;
    let shipped: Vec<&'static Kernel> = kiln_kernels::kernels().collect();
    let kernels = select(&shipped, |kernel| kernel.name, &options.kernels)?;
    known_keys(&provider, &kernels, &options.sets)?;
    let mut spaces = Vec::new();
    for kernel in &kernels {
        let kernel = provider.kernel(kernel).map_err(|problems| context.refused(problems))?;
        spaces.push(Space::of(&provider, kernel, &options.sets)?);
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
    let header = header(&provider, &kernels, &cpu, &clock, options, &run);
    continues(context, &recorded, &header)?;
    let goal = Goal {
        precision: options.precision,
        level: LEVEL,
        quantile: QUANTILE,
        windows: WINDOWS,
        window: Rules::new(clock.microsecond(), clock.step(), 0).window,
        seed: options.seed,
    };
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

/// Every key is one that some strategy has.
fn known_keys(provider: &Provider, kernels: &[&'static Kernel], sets: &[Set]) -> Result<(), Failure> {
    let specs = kernels.iter().filter_map(|kernel| provider.specs().kernel(kernel.name));
    let mut known: Vec<&'static str> = specs.flat_map(keys).collect();
    known.sort_unstable();
    known.dedup();
    match sets.iter().find(|set| !known.contains(&set.key.as_str())) {
        Some(set) => Err(Failure::NoSuchKey { key: set.key.clone(), keys: known }),
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

fn run_id(clock: &dyn Clock) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mixed = since.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(32) ^ clock.now();
    format!("{:016x}", Random::new(mixed).word())
}

fn header(
    provider: &Provider,
    kernels: &[&'static Kernel],
    cpu: &Native,
    clock: &SystemClock,
    options: &SweepOptions,
    run: &str,
) -> Header {
    let spec_hashes = kernels.iter().filter_map(|kernel| Some(provider.specs().kernel(kernel.name)?.hash.clone()));
    let code = kernels.iter().flat_map(|kernel| kernel.variants).map(|variant| variant.code_hash.to_owned());
    Header {
        schema: Schema,
        kind: HeaderKind,
        run: run.to_owned(),
        kiln: env!("CARGO_PKG_VERSION").to_owned(),
        cpu: Cpu {
            name: cpu.brand.clone(),
            vendor: cpu.vendor.clone(),
            family: cpu.family,
            model: cpu.model,
            stepping: cpu.stepping,
            features: cpu.features.iter().map(|feature| feature.name().to_owned()).collect(),
            cores: std::thread::available_parallelism()
                .map_or(0, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        },
        timer: Timer {
            name: if clock.unit() == Unit::Ticks { "time stamp counter" } else { "monotonic clock" }.to_owned(),
            ticks_per_microsecond: clock.microsecond() as f64,
            step: clock.step(),
        },
        load: load(),
        spec_hash: digest(spec_hashes),
        code_hash: digest(code),
        seed: options.seed,
        mode: options.mode,
        precision: Some(options.precision),
        shard: options.shard.map(|shard| format!("{}/{}", shard.index, shard.of)),
        strategy: if options.sample.is_some() && options.strategy == Search::Exhaustive {
            Search::Random
        } else {
            options.strategy
        },
        quantile: QUANTILE,
        started: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
        command: std::env::args().skip(1).collect(),
    }
}

/// 16 hex digits of the parts.
fn digest(parts: impl Iterator<Item = String>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The load averages, where Linux tells them.
fn load() -> Option<[f64; 3]> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let numbers: Vec<f64> = text.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
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
            (old.seed != header.seed || old.strategy != header.strategy, "another --seed or --strategy"),
        ];
        if let Some((_, what)) = differs.into_iter().find(|(differs, _)| *differs) {
            let why = format!("the file cannot be gone on in: its run {} was made with {what}", old.run);
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

fn summary(
    engine: &Engine<'_>,
    options: &SweepOptions,
    found: usize,
    looked_at: usize,
    counts: Counts,
    spaces: &[Space],
    unit: Unit,
) -> Document {
    let mut best: BTreeMap<(usize, u64), Best> = BTreeMap::new();
    for (cell, point) in &engine.points {
        let Some(ticks) = point.ticks else { continue };
        let this = Best {
            kernel: point.kernel.clone(),
            n: point.n,
            per: point.unit.clone(),
            variant: point.variant.clone(),
            ticks,
            low: point.low,
            high: point.high,
            bytes: point.known.bytes,
            predicted: point.known.predicted,
            of: 1,
        };
        best.entry((cell.kernel, cell.n))
            .and_modify(|best| {
                let of = best.of + 1;
                if (ticks, &this.variant) < (best.ticks, &best.variant) {
                    *best = this.clone();
                }
                best.of = of;
            })
            .or_insert(this);
    }
    let refused_values = spaces.iter().flat_map(|space| {
        space.refused.iter().map(|RefusedValue { strategy, key, value, why }| Refused {
            kernel: space.kernel.name,
            strategy: strategy.clone(),
            key: key.clone(),
            value: value.clone(),
            why: why.clone(),
        })
    });
    let done = counts.measured + counts.imprecise + counts.ineligible + counts.refused + counts.failed;
    Document {
        schema: "kiln.sweep/1",
        kind: "summary",
        out: options.out.display().to_string(),
        run: engine.run.clone(),
        unit: unit.word(),
        points: looked_at,
        found,
        measured: counts.measured,
        imprecise: counts.imprecise,
        ineligible: counts.ineligible,
        refused: counts.refused,
        failed: counts.failed,
        left: if options.strategy == Search::Local { 0 } else { looked_at.saturating_sub(found + done) },
        elapsed_s: (engine.elapsed().as_secs_f64() * 1e3).round() / 1e3,
        refused_values: refused_values.collect(),
        best: best.into_values().collect(),
    }
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = String::new();
    let mut kernels: Vec<&str> = document.best.iter().map(|best| best.kernel.as_str()).collect();
    kernels.dedup();
    for kernel in kernels {
        let rows: Vec<&Best> = document.best.iter().filter(|best| best.kernel == kernel).collect();
        let mut n = Column::numbers("n");
        let mut variant = Column::words("fastest");
        let mut ticks = Column::numbers(format!("{}/{}", document.unit, rows[0].per));
        let mut interval = Column::words("95 %").rank(1);
        let mut predicted = Column::numbers("model").rank(3);
        let mut bytes = Column::numbers("bytes").rank(2);
        let mut of = Column::numbers("of points").rank(4);
        for row in rows {
            let dash = if canvas.unicode { "–" } else { "-" };
            n.push(Tone::Plain, row.n.to_string());
            variant.push(Tone::Good, row.variant.clone());
            ticks.push(Tone::Plain, digits(row.ticks));
            let ends = row.low.zip(row.high).map(|(low, high)| format!("{} {dash} {}", digits(low), digits(high)));
            interval.push(Tone::Faint, ends.unwrap_or_default());
            predicted.push(Tone::Faint, row.predicted.map(digits).unwrap_or_default());
            bytes.push(Tone::Plain, row.bytes.map(|bytes| bytes.to_string()).unwrap_or_default());
            of.push(Tone::Faint, row.of.to_string());
        }
        text += &format!("{}\n\n", canvas.paint(Tone::Strong, kernel));
        text += &canvas.table(&[n, variant, ticks, interval, predicted, bytes, of]);
        text.push('\n');
    }
    for (key, values) in by_reason(&document.refused_values) {
        text += &canvas.wrapped("  ", format!("{key}: {values}").split(' '));
    }
    let counts = [
        (document.measured, "measured"),
        (document.imprecise, "with a wider interval than asked for"),
        (document.ineligible, "cannot run here"),
        (document.refused, "refused by the generator"),
        (document.failed, "WRONG"),
        (document.found, "in the file already"),
        (document.left, "not reached in time"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let line = format!(
        "{} points: {}; {:.1} s. Written to {}; `kiln report {} --out report.html` draws it.",
        document.points,
        counts.join(", "),
        document.elapsed_s,
        document.out,
        document.out
    );
    text += &canvas.wrapped("", line.split(' '));
    text
}

/// Refused values that have a reason in common, in one line each.
fn by_reason(refused: &[Refused]) -> BTreeMap<String, String> {
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for value in refused {
        let key = format!("{} {}: {}", value.kernel, value.strategy, value.why);
        let list = lines.entry(key).or_insert_with(|| format!("no {} =", value.key));
        *list += &format!(" {}", value.value);
    }
    lines
}

/// Four digits that count.
fn digits(value: f64) -> String {
    if value >= 1000.0 {
        format!("{value:.0}")
    } else if value >= 100.0 {
        format!("{value:.1}")
    } else if value >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}
