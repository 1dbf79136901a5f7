//! The tables of a report: of the whole, and of a section. Every row with numbers says in which line of which file they stand.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Entry, Model, Name, Run, natural};
use super::scale::{figure, percent, plural, tolerance};
use super::section::{Atlas, Loser, Section};
use super::table::{Cell, Table};
use crate::sweep::record::State;

/// A line is as good as its best from the first value on that is at most so much slower.
pub const ENOUGH: f64 = 0.01;
/// Most rows of a table of points.
const MOST_POINTS: usize = 200;
/// Most rows of a table of variants.
const MOST_VARIANTS: usize = 300;

/// Who was measured.
pub fn machines(model: &Model) -> Table {
    let mut table = Table::new(&[
        "machine",
        "identity",
        "#cores",
        "clock",
        "#ticks/ns",
        "#runs",
        "#points",
        "#measured",
        "#drifting",
        "features",
    ]);
    for (index, machine) in model.machines.iter().enumerate() {
        let runs: Vec<_> = model.runs.iter().filter(|run| run.machine == index && run.points > 0).collect();
        let cpu = &machine.cpu;
        let identity = match cpu.vendor.as_str() {
            "" if cpu.family == 0 => String::new(),
            vendor => format!("{vendor} {}/{}/{}", cpu.family, cpu.model, cpu.stepping),
        };
        table.push(vec![
            Cell::long(&*machine.label),
            Cell::name(identity),
            if cpu.cores > 0 { Cell::count(cpu.cores.into()) } else { Cell::none() },
            Cell::name(&*machine.timer),
            Cell::maybe(machine.per_nanosecond),
            Cell::count(runs.len() as u64),
            Cell::count(runs.iter().map(|run| run.points).sum()),
            Cell::count(runs.iter().map(|run| run.measured).sum()),
            drifting(&runs),
            match cpu.features.as_slice() {
                [] => Cell::none(),
                features => Cell::folded(features.len().to_string(), features.join(" ")),
            },
        ]);
    }
    table
}

/// Of the points that were measured in some runs, those whose windows drift.
fn drifting(runs: &[&Run]) -> Cell {
    let sum = |of: fn(&Run) -> u64| runs.iter().map(|run| of(run)).sum::<u64>();
    Cell::percent(sum(|run| run.drifting) as f64 / sum(|run| run.measured) as f64)
}

/// The runs, with what may make them differ.
pub fn runs(model: &Model) -> Table {
    let mut table = Table::new(&[
        "run",
        "machine",
        "command",
        "line",
        "started",
        "mode",
        "search",
        "shard",
        "#precision",
        "load",
        "#points",
        "#measured",
        "#drifting",
        "specs",
        "code",
        "kiln",
    ]);
    for run in model.runs.iter().filter(|run| run.points > 0) {
        let machine = model.machines.get(run.machine).map_or("", |machine| &machine.short);
        let counts = [Cell::count(run.points), Cell::count(run.measured), drifting(&[run])];
        let Some(header) = &run.header else {
            let mut row = vec![Cell::code(&*run.run), Cell::name(machine), Cell::bad("no header")];
            row.resize(10, Cell::none());
            row.extend(counts);
            row.resize(16, Cell::none());
            table.push(row);
            continue;
        };
        let load = header.load.map(|load| load.map(|one| format!("{one:.2}")).join(" "));
        let mut row = vec![
            Cell::code(&*run.run),
            Cell::name(machine),
            command(&header.command),
            Cell::code(format!("{}:{}", model.files[run.file].name, run.line)),
            Cell::name(&*header.started),
            Cell::text(header.mode.word()),
            Cell::text(header.strategy.word()),
            Cell::text(header.shard.as_deref().unwrap_or("–")),
            header.precision.map_or_else(Cell::none, Cell::percent),
            Cell::name(load.unwrap_or_default()),
        ];
        row.extend(counts);
        row.extend([hash(&header.spec_hash), hash(&header.code_hash), Cell::text(&*header.kiln)]);
        table.push(row);
    }
    table.truncate(MOST_VARIANTS);
    table.without_empty_columns()
}

/// As much of a hash as tells it from another.
fn hash(hash: &str) -> Cell {
    Cell::code(hash.chars().take(8).collect::<String>())
}

/// A command line: a long one on request.
fn command(words: &[String]) -> Cell {
    const SHOWN: usize = 32;
    let all = words.join(" ");
    if all.chars().count() <= SHOWN + 8 {
        return Cell::code(all);
    }
    let shown: String = words.iter().skip(1).flat_map(|word| [word.as_str(), " "]).collect();
    let shown: String = shown.trim().chars().take(SHOWN).collect();
    Cell::folded(format!("{shown}…"), all)
}

/// The files, with what is wrong in them.
pub fn files(model: &Model) -> Table {
    let mut table =
        Table::new(&["file", "#lines", "#points", "#damaged", "#other schema", "#replaced", "#inconsistent"]);
    for file in &model.files {
        let counts = [file.lines, file.points, file.damaged, file.foreign, file.replaced, file.inconsistent];
        table.push([Cell::code(&*file.path)].into_iter().chain(counts.map(Cell::count)).collect());
    }
    table
}

/// The kernels: what a reader looks for first.
pub fn contents(sections: &[Section<'_>], within: f64) -> Table {
    let smallest = format!("#for {} everywhere", tolerance(within));
    let mut table = Table::new(&["kernel", "#variants", "#machines", "#lengths", &smallest, "#never win"]);
    for section in sections {
        let atlas = section.atlas(&[within]);
        table.push(vec![
            Cell::code(section.title()),
            Cell::count(section.variants() as u64),
            Cell::count(section.machines.len() as u64),
            Cell::count(section.sizes.len() as u64),
            Cell::count(atlas.first().map_or(0, |atlas| atlas.variants.len()) as u64),
            Cell::count(section.losers().len() as u64),
        ]);
    }
    table
}

/// `n = 64`, or with the machine if there are several.
fn place_cells(section: &Section<'_>, machine: u32, n: u64) -> [Cell; 2] {
    let name = &section.model.machines[machine as usize].short;
    let machine = if section.model.machines.len() > 1 { Cell::name(&**name) } else { Cell::none() };
    [machine, Cell::count(n)]
}

/// The fastest at each place.
pub fn winners(section: &Section<'_>) -> Table {
    let unit = format!("#ticks/{}", section.unit);
    let mut table = Table::new(&[
        "machine",
        "#n",
        "fastest",
        &unit,
        "#low",
        "#high",
        "#not to be told apart",
        "next strategy",
        "#is slower by",
        "#times the limit",
        "line",
    ]);
    for place in &section.places {
        let best = section.best(place);
        let own = section.variant(best);
        let near = section.timed(place).filter(|point| point.variant != best.variant && point.low <= best.high).count();
        let others = section.timed(place).filter(|point| section.variant(point).strategy != own.strategy);
        let next = others.min_by(|a, b| a.ticks.total_cmp(&b.ticks));
        let mut row = place_cells(section, place.machine, place.n).to_vec();
        row.extend([
            Cell::code(&*own.name),
            Cell::figure(best.ticks),
            Cell::figure(best.low),
            Cell::figure(best.high),
            Cell::count(near as u64),
            next.map_or_else(Cell::none, |next| Cell::code(&*section.variant(next).name)),
            next.map_or_else(Cell::none, |next| Cell::percent(next.ticks / best.ticks - 1.0)),
            place.limit.map_or_else(Cell::none, |limit| Cell::figure(best.ticks / limit)),
            Cell::code(section.source(best)),
        ]);
        table.push(row);
    }
    table.without_empty_columns()
}

/// What the parameter of the axis buys: for each line where it begins, where its best is, and from where on more of it buys
/// nothing.
pub fn gains(section: &Section<'_>) -> Table {
    let Some(axis) = &section.axis else { return Table::default() };
    let enough = format!("#enough (within {})", tolerance(ENOUGH));
    let best = format!("#best {axis}");
    let least = format!("#least {axis}");
    let unit = format!("#ticks/{} there", section.unit);
    let mut table = Table::new(&[
        "machine",
        "#n",
        "strategy",
        &least,
        &unit,
        &best,
        &unit,
        "#gain",
        &enough,
        "#bytes there",
        "#bytes at best",
        "line",
    ]);
    for place in &section.places {
        for strategy in &section.strategies {
            let line = section.line(place, strategy);
            let (Some((least, first)), true) = (line.first(), line.len() > 1) else { continue };
            let Some((x, best)) = line.iter().min_by(|a, b| a.1.ticks.total_cmp(&b.1.ticks)) else { continue };
            let enough = line.iter().find(|(_, point)| point.ticks <= best.ticks * (1.0 + ENOUGH)).unwrap_or(&line[0]);
            let mut row = place_cells(section, place.machine, place.n).to_vec();
            row.extend([
                Cell::text(&**strategy),
                Cell::value(*least),
                Cell::figure(first.ticks),
                Cell::value(*x),
                Cell::figure(best.ticks),
                Cell::percent(first.ticks / best.ticks - 1.0),
                Cell::value(enough.0),
                enough.1.known.bytes.map_or_else(Cell::none, |bytes| Cell::count(bytes.into())),
                best.known.bytes.map_or_else(Cell::none, |bytes| Cell::count(bytes.into())),
                Cell::code(section.source(best)),
            ]);
            table.push(row);
        }
    }
    table.truncate(MOST_POINTS);
    table.without_empty_columns()
}

/// The model's errors, for each machine and strategy.
pub fn model_errors(section: &Section<'_>) -> Table {
    let mut table = Table::new(&[
        "machine",
        "strategy",
        "#points",
        "#median error",
        "#median size of error",
        "#worst error",
        "worst at",
        "#rank correlation",
        "#faster than the bound",
        "line",
    ]);
    type Group<'a> = Vec<(&'a Entry, f64)>;
    let mut groups: BTreeMap<(u32, &Name), Group<'_>> = BTreeMap::new();
    let mut broken: BTreeMap<(u32, &Name), u64> = BTreeMap::new();
    for point in section.points.iter().filter(|point| point.is_timed()) {
        let key = (point.machine, &section.variant(point).strategy);
        if let Some(predicted) = point.known.predicted.filter(|predicted| *predicted > 0.0) {
            groups.entry(key).or_default().push((point, f64::from(predicted)));
        }
        if point.known.bound.is_some_and(|bound| point.high < f64::from(bound) * 0.999) {
            *broken.entry(key).or_default() += 1;
        }
    }
    for ((machine, strategy), points) in groups {
        let error = |(point, predicted): &(&Entry, f64)| point.ticks / predicted - 1.0;
        let mut errors: Vec<f64> = points.iter().map(error).collect();
        let Some(worst) = points.iter().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs())) else { continue };
        let signed = median(&mut errors);
        errors.iter_mut().for_each(|error| *error = error.abs());
        let size = median(&mut errors);
        let [machine_cell, _] = place_cells(section, machine, 0);
        table.push(vec![
            machine_cell,
            Cell::text(&**strategy),
            Cell::count(points.len() as u64),
            Cell::change(signed),
            Cell::percent(size),
            Cell::change(error(worst)),
            Cell::code(format!("{}, n = {}", section.variant(worst.0).name, worst.0.n)),
            rank_correlation(&points).map_or_else(Cell::none, Cell::figure),
            Cell::count(broken.get(&(machine, strategy)).copied().unwrap_or(0)),
            Cell::code(section.source(worst.0)),
        ]);
    }
    table.without_empty_columns()
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => f64::NAN,
        even if even.is_multiple_of(2) => (numbers[middle - 1] + numbers[middle]) / 2.0,
        _ => numbers[middle],
    }
}

/// Spearman's: whether the model puts points in the right order, whatever its numbers are.
fn rank_correlation(points: &[(&Entry, f64)]) -> Option<f64> {
    let ranks = |value: &dyn Fn(&(&Entry, f64)) -> f64| {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|&a, &b| value(&points[a]).total_cmp(&value(&points[b])));
        let mut ranks = vec![0.0; points.len()];
        let mut before = 0;
        for equal in order.chunk_by(|&a, &b| value(&points[a]) == value(&points[b])) {
            let rank = before as f64 + (equal.len() as f64 - 1.0) / 2.0;
            equal.iter().for_each(|&index| ranks[index] = rank);
            before += equal.len();
        }
        ranks
    };
    let (measured, predicted) = (ranks(&|(point, _)| point.ticks), ranks(&|(_, predicted)| *predicted));
    let mean = (points.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let spread = (product(&measured, &measured) * product(&predicted, &predicted)).sqrt();
    (points.len() > 2 && spread > 0.0).then(|| product(&measured, &predicted) / spread)
}

/// What each machine's choice costs on the others: at each length the fastest of one machine, timed on another.
pub fn borrowed(section: &Section<'_>) -> Table {
    let model = section.model;
    let labels: Vec<String> =
        section.machines.iter().map(|&machine| format!("#on {}", model.machines[machine as usize].short)).collect();
    let heads: Vec<&str> = ["choice of"].into_iter().chain(labels.iter().map(String::as_str)).collect();
    let mut table = Table::new(&heads);
    for &owner in &section.machines {
        let mut row = vec![Cell::name(&*model.machines[owner as usize].short)];
        let own = section.sizes.iter().filter(|&&n| section.place(owner, n).is_some()).count();
        for &user in &section.machines {
            let logs = section.sizes.iter().filter_map(|&n| {
                let choice = section.best(section.place(owner, n)?).variant;
                let there = section.place(user, n)?;
                let point = section.timed(there).find(|point| point.variant == choice)?;
                Some((point.ticks / section.best(there).ticks).ln())
            });
            let logs: Vec<f64> = logs.collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            let cell = Cell::change(mean.exp() - 1.0);
            // A choice may never have been timed there.
            row.push(match logs.len() {
                0 => cell,
                some if some < own => cell.but(&format!("({some} of {})", plural(own as u64, "length"))),
                _ => cell,
            });
        }
        table.push(row);
    }
    table
}

/// The fewest variants that are good enough everywhere.
pub fn atlas(section: &Section<'_>, atlas: &Atlas) -> Table {
    let mut table = Table::new(&["variant", "#places", "where", "#worst there", "#bytes", "line"]);
    for (variant, places) in &atlas.variants {
        let mut worst: Option<(&Entry, f64)> = None;
        for &place in places {
            let place = &section.places[place];
            if let Some(point) = section.timed(place).find(|point| point.variant == *variant) {
                let ratio = point.ticks / section.best(place).ticks - 1.0;
                if worst.is_none_or(|(_, most)| ratio > most) {
                    worst = Some((point, ratio));
                }
            }
        }
        table.push(vec![
            Cell::code(&*section.model.variants[*variant as usize].name),
            Cell::count(places.len() as u64),
            Cell::long(whereabouts(section, places)),
            worst.map_or_else(Cell::none, |(_, ratio)| Cell::percent(ratio)),
            worst.and_then(|(point, _)| point.known.bytes).map_or_else(Cell::none, |bytes| Cell::count(bytes.into())),
            worst.map_or_else(Cell::none, |(point, _)| Cell::code(section.source(point))),
        ]);
    }
    table.without_empty_columns()
}

/// Places in words: the lengths, by machine if there are several.
fn whereabouts(section: &Section<'_>, places: &[usize]) -> String {
    if places.len() == section.places.len() {
        return "everywhere".to_owned();
    }
    let mut by_machine: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for &place in places {
        let place = &section.places[place];
        by_machine.entry(place.machine).or_default().push(place.n.to_string());
    }
    // Machines with the same lengths together.
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (machine, lengths) in by_machine {
        let lengths = format!("n = {}", lengths.join(", "));
        let name = section.model.machines[machine as usize].short.as_str();
        match groups.iter_mut().find(|(known, _)| *known == lengths) {
            Some((_, machines)) => machines.push(name),
            None => groups.push((lengths, vec![name])),
        }
    }
    let parts = groups.into_iter().map(|(lengths, machines)| match machines.len() {
        _ if section.machines.len() == 1 => lengths,
        all if all == section.machines.len() => format!("all machines: {lengths}"),
        _ => format!("{}: {lengths}", machines.join(", ")),
    });
    parts.collect::<Vec<_>>().join("; ")
}

/// How sure it is that there are no fewer.
pub fn atlas_words(atlas: &Atlas) -> String {
    let count = atlas.variants.len();
    if atlas.is_smallest() {
        format!("{count}, and no fewer can do")
    } else {
        format!("{count}; at least {} are needed (greedy: the search for fewer was given up)", atlas.at_least)
    }
}

/// Variants that never win.
pub fn losers(section: &Section<'_>, losers: &[Loser]) -> Table {
    let mut table = Table::new(&[
        "variant",
        "strategy",
        "#closest to the best",
        "machine",
        "#n",
        "#places measured",
        "#bytes",
        "line",
    ]);
    for loser in losers {
        let variant = &section.model.variants[loser.variant as usize];
        let point = &section.points[loser.closest];
        let [machine, n] = place_cells(section, point.machine, point.n);
        table.push(vec![
            Cell::code(&*variant.name),
            Cell::text(&*variant.strategy),
            Cell::change(loser.ratio - 1.0),
            machine,
            n,
            Cell::count(loser.places as u64),
            point.known.bytes.map_or_else(Cell::none, |bytes| Cell::count(bytes.into())),
            Cell::code(section.source(point)),
        ]);
    }
    table.truncate(MOST_VARIANTS);
    table.without_empty_columns()
}

/// The points, those nearest to the best of their place first.
pub fn points(section: &Section<'_>) -> Table {
    let unit = format!("#ticks/{}", section.unit);
    let mut table = Table::new(&[
        "machine",
        "#n",
        "variant",
        &unit,
        "#low",
        "#high",
        "#above the best",
        "#instructions",
        "#bytes",
        "#spills",
        "#critical path",
        "#bound",
        "#predicted",
        "#windows",
        "state",
        "line",
    ]);
    let mut ranked: Vec<(f64, &Entry)> = Vec::new();
    for place in &section.places {
        let best = section.best(place).ticks;
        ranked.extend(section.timed(place).map(|point| (point.ticks / best, point)));
    }
    // The sort is stable: equally near ones stay in the order of machines, lengths and names.
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    table.left_out = ranked.len().saturating_sub(MOST_POINTS);
    for (ratio, point) in ranked.into_iter().take(MOST_POINTS) {
        let known = &point.known;
        let whole = |number: Option<u32>| number.map_or_else(Cell::none, |number| Cell::count(number.into()));
        let mut row = place_cells(section, point.machine, point.n).to_vec();
        row.extend([
            Cell::code(&*section.variant(point).name),
            Cell::figure(point.ticks),
            Cell::figure(point.low),
            Cell::figure(point.high),
            Cell::change(ratio - 1.0),
            whole(known.instructions),
            whole(known.bytes),
            whole(known.spills),
            Cell::maybe(known.critical_path),
            Cell::maybe(known.bound),
            Cell::maybe(known.predicted),
            Cell::count(point.windows.into()),
            if point.state == State::Imprecise { Cell::bad("imprecise") } else { Cell::text(point.state.word()) },
            Cell::code(section.source(point)),
        ]);
        table.push(row);
    }
    table.without_empty_columns()
}

/// Points without a time: each reason once.
pub fn missing(section: &Section<'_>) -> Table {
    let mut reasons: BTreeMap<(State, &str), (u64, &Entry)> = BTreeMap::new();
    for point in section.points.iter().filter(|point| !point.is_timed()) {
        let why = point.why.as_deref().unwrap_or("no reason is given");
        reasons.entry((point.state, why)).or_insert((0, point)).0 += 1;
    }
    let mut table = Table::new(&["state", "why", "#points", "such as", "line"]);
    for ((state, why), (count, first)) in reasons {
        table.push(vec![
            if state == State::Failed { Cell::bad(state.word()) } else { Cell::text(state.word()) },
            Cell::long(why),
            Cell::count(count),
            Cell::code(format!("{}, n = {}", section.variant(first).name, first.n)),
            Cell::code(section.source(first)),
        ]);
    }
    table.truncate(MOST_VARIANTS);
    table
}

/// Most machines that are named in a sentence.
const MOST_NAMED: usize = 6;

/// What the winners say, in one sentence for all machines on which it is the same.
pub fn verdicts(section: &Section<'_>) -> Vec<String> {
    let mut verdicts: Vec<(String, Vec<&str>)> = Vec::new();
    for &machine in &section.machines {
        let mut wins: BTreeMap<&Name, Vec<u64>> = BTreeMap::new();
        for place in section.places.iter().filter(|place| place.machine == machine) {
            wins.entry(&section.variant(section.best(place)).strategy).or_default().push(place.n);
        }
        let mut wins: Vec<(&Name, Vec<u64>)> = wins.into_iter().collect();
        wins.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| natural(a.0, b.0)));
        let all = section.places.iter().filter(|place| place.machine == machine).count();
        let part = |(strategy, lengths): &(&Name, Vec<u64>)| {
            if lengths.len() == all {
                return format!("{strategy} is fastest at every length");
            }
            let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
            format!("{strategy} at n = {}", lengths.join(", "))
        };
        let text = wins.iter().map(part).collect::<Vec<_>>().join("; ");
        let text = if wins.len() > 1 { format!("fastest: {text}") } else { text };
        let name = section.model.machines[machine as usize].short.as_str();
        match verdicts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, machines)) => machines.push(name),
            None => verdicts.push((text, vec![name])),
        }
    }
    let several = section.model.machines.len() > 1;
    let sentence = |(text, machines): (String, Vec<&str>)| match machines.len() {
        _ if !several => format!("{text}."),
        all if all == section.machines.len() && all > 1 => format!("All {all} machines: {text}."),
        1..=MOST_NAMED => format!("{}: {text}.", machines.join(", ")),
        many => format!("{} and {} more: {text}.", machines[..MOST_NAMED].join(", "), many - MOST_NAMED),
    };
    verdicts.into_iter().map(sentence).collect()
}

/// What the fastest costs at the greatest length of each machine, in a line.
pub fn in_short(section: &Section<'_>) -> String {
    const MOST: usize = 3;
    let several = section.model.machines.len() > 1;
    let last = |&machine: &u32| section.places.iter().rfind(|place| place.machine == machine);
    let parts = section.machines.iter().take(MOST).filter_map(last).map(|place| {
        let best = section.best(place);
        let cost = format!("{} {} ticks/{}", section.variant(best).name, figure(best.ticks), section.unit);
        let name = &section.model.machines[place.machine as usize].short;
        if several { format!("{name}, n = {}: {cost}", place.n) } else { format!("n = {}: {cost}", place.n) }
    });
    let mut text = parts.collect::<Vec<_>>().join("; ");
    if section.machines.len() > MOST {
        text += &format!("; and {} more", plural((section.machines.len() - MOST) as u64, "machine"));
    }
    text
}

/// Part of the points, as one of so many, whose drift is worth a word: some always do on a machine that is shared.
const MANY: u64 = 5;

/// What is doubtful about the whole, in sentences.
pub fn doubts(model: &Model) -> Vec<String> {
    let mut doubts = Vec::new();
    let headers = || model.runs.iter().filter(|run| run.points > 0).filter_map(|run| run.header.as_ref());
    let several =
        |value: fn(&crate::sweep::record::Header) -> &str| headers().map(value).collect::<BTreeSet<_>>().len() > 1;
    if several(|header| &header.spec_hash) || several(|header| &header.code_hash) {
        doubts.push(
            "The runs were made with different specs or different code: a variant of one name may be another one."
                .to_owned(),
        );
    }
    let busy = headers().filter(|header| header.load.is_some_and(|load| load[0] > 0.5)).count();
    if busy > 0 {
        doubts.push(format!("The load was above 0.5 when {} began.", plural(busy as u64, "run")));
    }
    doubts.extend(missing_shards(model));
    let (measured, drifting) = model.runs.iter().fold((0, 0), |sum, run| (sum.0 + run.measured, sum.1 + run.drifting));
    if drifting * MANY > measured {
        let share = percent(drifting as f64 / measured as f64);
        doubts.push(format!(
            "The windows of {share} of the measured points drift, by more than was asked of their intervals: another run may differ by \
             more than these say."
        ));
    }
    doubts
}

/// Shards of sweeps of which others are here.
fn missing_shards(model: &Model) -> Vec<String> {
    // Shards of one sweep agree in all that is asked for but the shard and the file.
    type Asked<'a> = (usize, u64, Vec<&'a str>);
    let mut sweeps: BTreeMap<Asked<'_>, BTreeSet<u64>> = BTreeMap::new();
    for run in model.runs.iter().filter(|run| run.points > 0) {
        let Some(header) = &run.header else { continue };
        let Some((index, of)) = header.shard.as_deref().and_then(|shard| shard.split_once('/')) else { continue };
        let (Ok(index), Ok(of)) = (index.parse(), of.parse()) else { continue };
        sweeps.entry((run.machine, of, asked(&header.command))).or_default().insert(index);
    }
    let sentence = |((machine, of, _), here): (Asked<'_>, BTreeSet<u64>)| {
        let missing: Vec<String> = gaps(&here, of);
        let on =
            if model.machines.len() > 1 { format!(" of {}", model.machines[machine].short) } else { String::new() };
        let (shards, are) = match missing.as_slice() {
            [] => return None,
            [one] if !one.contains('–') => ("Shard", "is"),
            _ => ("Shards", "are"),
        };
        let missing = missing.join(", ");
        Some(format!("{shards} {missing} of {of}{on} {are} not here: what is fastest may be among their points."))
    };
    sweeps.into_iter().filter_map(sentence).collect()
}

/// The words of a command that are the same for each of its shards.
fn asked(command: &[String]) -> Vec<&str> {
    let mut words = command.iter().skip(1).map(String::as_str);
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "--shard" | "--out" | "--time" => drop(words.next()),
            "--resume" | "--json" => {}
            _ if ["--shard=", "--out=", "--time="].iter().any(|option| word.starts_with(option)) => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// The numbers from 1 that are not here, ranges as ranges; the first few.
fn gaps(here: &BTreeSet<u64>, of: u64) -> Vec<String> {
    const MOST: usize = 8;
    let mut gaps = Vec::new();
    let mut from = 1;
    // A shard beyond the last is a number that somebody made up.
    for next in here.iter().copied().filter(|next| (1..=of).contains(next)).chain([of.saturating_add(1)]) {
        match next.saturating_sub(from) {
            0 => {}
            1 => gaps.push(from.to_string()),
            _ => gaps.push(format!("{from}–{}", next - 1)),
        }
        from = next.saturating_add(1);
    }
    if gaps.len() > MOST {
        gaps.truncate(MOST);
        gaps.push("…".to_owned());
    }
    gaps
}
