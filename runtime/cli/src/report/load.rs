//! Reads files of sweeps into a model: in little memory, each point with its machine, and of several that are the same the last.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, FileType};
use std::io::{self, BufReader, IsTerminal};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use kiln_codegen::error::{is_unseen, visible};
use kiln_runtime::statistics::von_neumann;

use super::model::{Entry, FRACTIONS, Machine, Model, Name, Run, Setting, Source, Variant, Warning, natural};
use crate::sweep::read::{Damage, Lines};
use crate::sweep::record::{Cpu, Header, Point, QUANTILE, Record, Value};

/// Most warnings of a file that are kept in words; all are counted.
pub const MOST_WARNINGS: usize = 50;
/// Windows drift if their order is as unlikely as this by chance, and the statistic of their first third differs from that of the
/// last by more than was asked of the interval, and than this fraction.
const DRIFT: f64 = 0.001;
const LEAST_DRIFT: f64 = 0.01;
/// Lines that are handed over together, and how many such parcels may wait.
const BATCH: usize = 256;
const QUEUE: usize = 8;

/// The number of a line, and what it holds.
type Line = (u64, Result<Record, Damage>);

impl Source {
    fn warn(&mut self, line: u64, what: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(Warning { line, what });
        }
    }
}

/// Reads files. What is wrong with a line is in the model; only a file that cannot be read at all is an error.
#[derive(Debug, Default)]
pub struct Loader {
    model: Model,
    names: Names,
    runs: HashMap<(u32, String), u32>,
    variants: HashMap<(Name, Name), u32>,
    foreign: Vec<(u32, String)>,
    /// Files as machines of their own.
    by_file: bool,
    /// Whether windows are kept.
    samples: bool,
}

impl Loader {
    /// With nothing read. With `by_file`, the same machine in two files is two machines.
    pub fn new(by_file: bool) -> Loader {
        Loader { by_file, ..Loader::default() }
    }

    /// The same, which keeps the windows: four bytes for each.
    #[must_use]
    pub fn with_samples(self) -> Loader {
        Loader { samples: true, ..self }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be opened, or not be read to its end, or it is a device, which may have none.
    pub fn file(&mut self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        if is_device(file.metadata()?.file_type()) && !file.is_terminal() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device, and no file"));
        }
        let input = BufReader::with_capacity(1 << 20, file);
        self.read(&path.display().to_string(), Lines::new(input))
    }

    /// Reads lines, under the name of a file.
    ///
    /// # Errors
    /// They cannot be read to their end.
    pub fn read<R: io::BufRead + Send>(&mut self, path: &str, mut lines: Lines<R>) -> io::Result<()> {
        let file = u32::try_from(self.model.files.len()).unwrap_or(u32::MAX);
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        let taken = self.model.files.iter().any(|other| other.name == name);
        let name = visible(if taken { path } else { &name });
        self.model.files.push(Source { path: path.to_owned(), name, ..Source::default() });
        // One thread understands lines while this one takes in what they hold.
        let threaded = thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(QUEUE);
            let reader = thread::Builder::new().spawn_scoped(scope, || send(&mut lines, sender)).ok()?;
            receiver.into_iter().flatten().for_each(|line| self.line(file, line));
            Some(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        // The system may refuse a thread.
        threaded.unwrap_or_else(|| {
            while let Some(line) = lines.next_line()? {
                self.line(file, line);
            }
            Ok(())
        })
    }

    fn line(&mut self, file: u32, (line, record): Line) {
        self.source(file).lines += 1;
        match record {
            Ok(Record::Point(point)) => self.point(file, line, *point),
            Ok(Record::Header(header)) => self.header(file, line, *header),
            Err(damage) => {
                let source = self.source(file);
                source.damaged += 1;
                source.warn(line, damage.to_string());
                if let Damage::Schema { run: Some(run), .. } = damage {
                    self.foreign.push((self.scope(file), run));
                }
            }
        }
    }

    fn source(&mut self, file: u32) -> &mut Source {
        &mut self.model.files[file as usize]
    }

    /// Runs of different files with one identity are one run, unless files are machines.
    fn scope(&self, file: u32) -> u32 {
        if self.by_file { file } else { 0 }
    }

    fn run(&mut self, file: u32, run: &str) -> u32 {
        let key = (self.scope(file), run.to_owned());
        if let Some(&known) = self.runs.get(&key) {
            return known;
        }
        let index = self.model.runs.len() as u32;
        self.model.runs.push(Run {
            file: file as usize,
            line: 0,
            machine: 0,
            run: run.to_owned(),
            header: None,
            points: 0,
            measured: 0,
            drifting: 0,
        });
        self.runs.insert(key, index);
        index
    }

    fn header(&mut self, file: u32, line: u64, header: Header) {
        let run = self.run(file, &header.run) as usize;
        match &self.model.runs[run].header {
            Some(old) if *old != header => {
                let what = format!("another header of run {}: the first counts", header.run);
                self.source(file).warn(line, what);
            }
            Some(_) => {}
            None => {
                let run = &mut self.model.runs[run];
                (run.file, run.line, run.header) = (file as usize, line, Some(header));
            }
        }
    }

    fn point(&mut self, file: u32, line: u64, point: Point) {
        let run = match self.model.points.last() {
            // Nearly always.
            Some(last) if self.model.runs[last.run as usize].run == point.run && last.file == file => last.run,
            _ => self.run(file, &point.run),
        };
        self.source(file).points += 1;
        // A header may follow its points; what the statistic is, is not known then.
        let header = self.model.runs[run as usize].header.as_ref();
        let known = header.map(|header| header.quantile);
        let precision = header.and_then(|header| header.precision).unwrap_or(0.0);
        let fraction = known.unwrap_or(QUANTILE);
        let windows = Windows::of(&point, fraction);
        if known.is_some() && windows.as_ref().is_some_and(|windows| !windows.consistent) {
            let source = self.source(file);
            source.inconsistent += 1;
            source.warn(line, "`ticks` is not the statistic of `windows`: they are shown as they stand".to_owned());
        }
        let variant = self.variant(&point);
        let timed = point.state.is_timed();
        let windows = windows.filter(|_| timed);
        let samples = windows.as_ref().filter(|_| self.samples).map(Windows::samples);
        let ticks = point.ticks.filter(|_| timed).unwrap_or(f64::NAN);
        self.model.points.push(Entry {
            file,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            run,
            machine: 0,
            variant,
            n: point.n,
            mode: point.mode,
            state: point.state,
            windows: u32::try_from(point.windows.len()).unwrap_or(u32::MAX),
            drifts: timed && drifts(&point.windows, fraction, precision.max(LEAST_DRIFT)),
            why: point.why.map(|why| self.names.get(&why)),
            unit: self.names.get(&point.unit),
            ticks,
            low: point.low.filter(|_| timed).unwrap_or(ticks),
            high: point.high.filter(|_| timed).unwrap_or(ticks),
            cycle: point.cycle.filter(|cycle| cycle.is_finite() && *cycle > 0.0).map(|cycle| cycle as f32),
            shape: windows.as_ref().map(Windows::shape),
            limit: point.limit.map(|limit| limit as f32),
            known: point.known.into(),
            samples,
        });
    }

    fn variant(&mut self, point: &Point) -> u32 {
        let kernel = self.names.get(&point.kernel);
        let name = self.names.get(&point.variant);
        if let Some(&known) = self.variants.get(&(kernel.clone(), name.clone())) {
            return known;
        }
        let set = point.set.iter().map(|(key, value)| {
            let value = match value {
                Value::Integer(number) => Setting::Integer(*number),
                Value::Text(text) => Setting::Text(self.names.get(text)),
            };
            (self.names.get(key), value)
        });
        let set = set.collect();
        let strategy = self.names.get(&point.strategy);
        let index = self.model.variants.len() as u32;
        self.model.variants.push(Variant { kernel: kernel.clone(), name: name.clone(), strategy, set });
        self.variants.insert((kernel, name), index);
        index
    }

    /// Everything, once all files are read: each point with its machine, and of several points of one machine that agree in
    /// variant, length and mode that of the run which began last; within a run the last.
    pub fn finish(self) -> Model {
        let mut model = self.model;
        let foreign = self.foreign.into_iter().filter_map(|key| self.runs.get(&key).copied());
        drop_foreign(&mut model, foreign.collect());
        let order = by_start(&model.runs);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
        model.points.iter_mut().for_each(|point| point.run = place[point.run as usize]);
        let mut runs: Vec<Option<Run>> = model.runs.into_iter().map(Some).collect();
        model.runs = order.into_iter().filter_map(|old| runs[old].take()).collect();
        machines(&mut model, self.by_file);
        dedup(&mut model);
        for point in &model.points {
            let run = &mut model.runs[point.run as usize];
            run.points += 1;
            run.measured += u64::from(point.is_timed());
            run.drifting += u64::from(point.drifts);
        }
        // A run that was dropped with its schema has nothing to say.
        for run in model.runs.iter().filter(|run| run.header.is_none() && run.points > 0) {
            let what = format!("no header of run {} was read: its machine is not known", visible(&run.run));
            model.files[run.file].warn(0, what);
        }
        model
    }
}

#[cfg(unix)]
fn is_device(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

#[cfg(not(unix))]
fn is_device(_: FileType) -> bool {
    false
}

/// Sends lines, some at a time, until there are no more or nobody wants them.
fn send<R: io::BufRead>(lines: &mut Lines<R>, sender: mpsc::SyncSender<Vec<Line>>) -> io::Result<()> {
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            match lines.next_line() {
                Ok(Some(line)) => batch.push(line),
                end => {
                    // Whoever took them has gone, and with them the reason to go on.
                    let _ = sender.send(batch);
                    return end.map(drop);
                }
            }
        }
        if sender.send(batch).is_err() {
            return Ok(());
        }
    }
}

/// Takes away the points of these runs, unless a header that is known vouches for them.
fn drop_foreign(model: &mut Model, runs: HashSet<u32>) {
    let (is_foreign, files) =
        (|run: u32| runs.contains(&run) && model.runs[run as usize].header.is_none(), &mut model.files);
    model.points.retain(|point| {
        let foreign = is_foreign(point.run);
        files[point.file as usize].foreign += u64::from(foreign);
        !foreign
    });
}

/// The indices of runs by when they began; those without a header, and those that began together, as they were read.
fn by_start(runs: &[Run]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&index| runs[index].header.as_ref().map(|header| header.started.as_str()));
    order
}

/// Finds the machines.
fn machines(model: &mut Model, by_file: bool) {
    type Identity = (Option<(Cpu, String)>, usize);
    let mut known: BTreeMap<Identity, usize> = BTreeMap::new();
    let mut used = vec![false; model.runs.len()];
    model.points.iter().for_each(|point| used[point.run as usize] = true);
    for (index, used) in used.into_iter().enumerate() {
        let run = &model.runs[index];
        if run.header.is_none() && !used {
            continue;
        }
        let who = run.header.as_ref().map(|header| (header.cpu.clone(), header.timer.name.clone()));
        let identity = (who, if by_file { run.file } else { 0 });
        let next = model.machines.len();
        let machine = *known.entry(identity).or_insert(next);
        if machine == next {
            let header = run.header.as_ref();
            let rate = header.map(|header| header.timer.ticks_per_microsecond / 1000.0);
            let file = by_file.then(|| model.files[run.file].path.as_str());
            let label = label(header.map(|header| &header.cpu), file, &model.machines);
            let brief = brief(&label);
            let taken = |short: &String| model.machines.iter().any(|machine| machine.short == *short);
            let numbered = (2..).map(|number| format!("{brief} #{number}"));
            let short = std::iter::once(brief.clone()).chain(numbered).find(|short| !taken(short));
            model.machines.push(Machine {
                label,
                short: short.unwrap_or_default(),
                cpu: header.map(|header| header.cpu.clone()).unwrap_or_default(),
                timer: header.map(|header| header.timer.name.clone()).unwrap_or_default(),
                per_nanosecond: rate.filter(|rate| *rate > 0.0),
            });
        }
        model.runs[index].machine = machine;
    }
    for point in &mut model.points {
        point.machine = model.runs[point.run as usize].machine as u32;
    }
}

/// A name that no other machine has.
fn label(cpu: Option<&Cpu>, file: Option<&str>, others: &[Machine]) -> String {
    let name = match cpu {
        None => "unknown machine".to_owned(),
        Some(cpu) if cpu.name.trim().is_empty() => {
            format!("{} family {} model {}", cpu.vendor, cpu.family, cpu.model).trim().to_owned()
        }
        Some(cpu) => cpu.name.trim().to_owned(),
    };
    let name = visible(&file.map_or(name.clone(), |file| format!("{name}, {file}")));
    let taken = |label: &str| others.iter().any(|machine| machine.label == label);
    if !taken(&name) {
        return name;
    }
    let with_model = cpu.map(|cpu| format!("{name} (family {} model {})", cpu.family, cpu.model));
    let numbered = (2..).map(|number| format!("{name} #{number}"));
    with_model.into_iter().chain(numbered).find(|label| !taken(label)).unwrap_or(name)
}

/// A CPU's name without what all of them have in theirs: `AMD EPYC 9154`, `Intel Core i7-3770K`.
fn brief(label: &str) -> String {
    let label = label.replace("(R)", "").replace("(TM)", "").replace("(r)", "").replace("(tm)", "");
    let mut kept: Vec<&str> = Vec::new();
    let mut words = label.split_whitespace().peekable();
    while let Some(word) = words.next() {
        // What follows a comma is the name of a file.
        let (bare, comma) = word.strip_suffix(',').map_or((word, ""), |bare| (bare, ","));
        let is_count = bare.strip_suffix("-Core").is_some_and(|count| !count.is_empty());
        if is_count || matches!(bare, "CPU" | "Processor" | "processor") {
        } else if bare == "@" && words.peek().is_some_and(|rate| rate.trim_end_matches(',').ends_with("Hz")) {
            words.next();
        } else {
            kept.push(word);
            continue;
        }
        if comma == "," {
            kept.push(comma);
        }
    }
    let brief = kept.join(" ").replace(" ,", ",");
    if brief.is_empty() { label } else { brief }
}

/// Sorts the points, and keeps the last of those that are the same.
fn dedup(model: &mut Model) {
    let rank = ranks(&model.variants);
    let key = |point: &Entry| {
        (rank[point.variant as usize].0, point.mode, point.machine, point.n, rank[point.variant as usize].1)
    };
    model.points.sort_unstable_by_key(|point| (key(point), point.run, point.file, point.line));
    let mut kept = 0;
    for index in 0..model.points.len() {
        let replaced = model.points.get(index + 1).is_some_and(|next| key(next) == key(&model.points[index]));
        if replaced {
            model.files[model.points[index].file as usize].replaced += 1;
        } else {
            model.points.swap(kept, index);
            kept += 1;
        }
    }
    model.points.truncate(kept);
}

/// For each variant the rank of its kernel among kernels, and its own rank among names in the order of people: `u2` before `u16`.
fn ranks(variants: &[Variant]) -> Vec<(u32, u32)> {
    let mut order: Vec<usize> = (0..variants.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&variants[a], &variants[b]);
        natural(&a.kernel, &b.kernel).then_with(|| natural(&a.name, &b.name))
    });
    let mut ranks = vec![(0, 0); variants.len()];
    let mut kernel = 0;
    for (own, pair) in order.iter().enumerate() {
        if own > 0 && variants[order[own - 1]].kernel != variants[*pair].kernel {
            kernel += 1;
        }
        ranks[*pair] = (kernel, own as u32);
    }
    ranks
}

/// Whether the statistic of windows went up or down by more than `least`, and in no order of chance.
fn drifts(windows: &[u64], fraction: f64, least: f64) -> bool {
    let third = windows.len() / 3;
    if third == 0 {
        return false;
    }
    let statistic = |part: &[u64]| {
        let mut part = part.to_vec();
        let at = ((part.len() - 1) as f64 * fraction) as usize;
        *part.select_nth_unstable(at).1 as f64
    };
    let (first, last) = (statistic(&windows[..third]), statistic(&windows[windows.len() - third..]));
    // The dearer question last.
    (first - last).abs() > least * first.min(last) && von_neumann(windows) < DRIFT
}

/// What a point's windows say.
struct Windows {
    /// Sorted.
    sorted: Vec<u64>,
    /// Units of `ticks` for one of a window.
    scale: f64,
    /// Whether the statistic follows from them.
    consistent: bool,
}

impl Windows {
    /// `None` without windows, or without a time.
    fn of(point: &Point, fraction: f64) -> Option<Windows> {
        let mut sorted = point.windows.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        // The nearest rank below, as in races.
        let (ticks, statistic) = (point.ticks?, sorted[(last as f64 * fraction) as usize]);
        let own = point.units.filter(|_| point.calls > 0).map(|units| 1.0 / (units as f64 * point.calls as f64));
        if statistic == 0 {
            return own.map(|scale| Windows { sorted, scale, consistent: false });
        }
        let fitted = ticks / statistic as f64;
        // The last digits of a number in text may be rounded.
        let consistent = own.is_none_or(|own| (own / fitted - 1.0).abs() < 1e-3);
        Some(Windows { sorted, scale: own.unwrap_or(fitted), consistent })
    }

    /// At each of [`FRACTIONS`], in the unit of `ticks`.
    fn shape(&self) -> [f32; FRACTIONS.len()] {
        let last = self.sorted.len() - 1;
        FRACTIONS.map(|fraction| (self.sorted[(last as f64 * fraction) as usize] as f64 * self.scale) as f32)
    }

    /// All of them in the unit of `ticks`, in no order.
    fn samples(&self) -> Box<[f32]> {
        self.sorted.iter().map(|&window| (window as f64 * self.scale) as f32).collect()
    }
}

/// Texts that occur again and again.
#[derive(Debug, Default)]
struct Names(HashSet<Name>);

impl Names {
    /// Names go to terminals and pages: nothing in them may be obeyed there.
    fn get(&mut self, text: &str) -> Name {
        let harmless;
        let text = if text.chars().any(is_unseen) {
            harmless = visible(text);
            &harmless
        } else {
            text
        };
        match self.0.get(text) {
            Some(known) => known.clone(),
            None => {
                let name: Name = text.into();
                self.0.insert(name.clone());
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(run: &str, cpu: &str, started: &str) -> String {
        format!(
            r#"{{"schema":"kiln.sweep/1","kind":"header","run":"{run}","cpu":{{"name":"{cpu}"}},"timer":{{"name":"t","ticks_per_microsecond":2000}},"started":"{started}"}}"#
        )
    }

    fn point(run: &str, variant: &str, n: u64, ticks: f64) -> String {
        format!(
            r#"{{"kind":"point","run":"{run}","id":"x","kernel":"k.m","variant":"{variant}","strategy":"s","set":{{"unroll":2}},"n":{n},"unit":"limb","state":"measured","ticks":{ticks},"low":{ticks},"high":{ticks},"calls":10,"windows":[100,100,100,200]}}"#
        )
    }

    fn load(files: &[&[String]], by_file: bool) -> Model {
        let mut loader = Loader::new(by_file);
        for (index, lines) in files.iter().enumerate() {
            let text = lines.join("\n");
            loader.read(&format!("f{index}"), Lines::new(text.as_bytes())).unwrap();
        }
        loader.finish()
    }

    fn ticks(model: &Model) -> Vec<f64> {
        model.points.iter().map(|point| point.ticks).collect()
    }

    #[test]
    fn points_find_their_header_wherever_it_stands() {
        let lines =
            [point("a", "s.u2", 4, 1.0), point("b", "s.u2", 4, 2.0), header("b", "B", "2"), header("a", "A", "1")];
        let model = load(&[&lines], false);
        let labels: Vec<&str> = model.machines.iter().map(|machine| machine.label.as_str()).collect();
        assert_eq!(labels, ["A", "B"]);
        assert_eq!(ticks(&model), [1.0, 2.0]);
        assert_eq!((model.points[1].line, model.points[1].machine), (2, 1));
        assert!(model.files[0].warnings.is_empty(), "{:?}", model.files);
        assert_eq!(
            model.points[0].shape,
            Some([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]),
            "scaled so that the quartile is `ticks`"
        );
    }

    #[test]
    fn the_later_run_wins_and_in_a_run_the_later_line() {
        let old = [header("a", "A", "2026-01-01"), point("a", "s.u2", 4, 1.0), point("a", "s.u4", 4, 9.0)];
        let new = [header("b", "A", "2026-01-02"), point("b", "s.u2", 4, 2.0), point("b", "s.u2", 4, 3.0)];
        for files in [[&old, &new], [&new, &old]] {
            let model = load(&[files[0], files[1]], false);
            assert_eq!(ticks(&model), [3.0, 9.0]);
            assert_eq!(model.files.iter().map(|file| file.replaced).sum::<u64>(), 2);
            assert_eq!(model.machines.len(), 1);
        }
        let model = load(&[&old, &new], true);
        assert_eq!((ticks(&model), model.machines.len()), (vec![1.0, 9.0, 3.0], 2));
        assert_eq!(model.machines[1].label, "A, f1");
    }

    #[test]
    fn what_cannot_be_used_is_counted_and_told() {
        let foreign = header("c", "C", "3").replace("sweep/1", "sweep/9");
        let lines = [
            header("a", "A", "1"),
            point("a", "s.u2", 4, 1.0),
            "garbage".to_owned(),
            foreign,
            point("c", "s.u2", 4, 5.0),
            point("lost", "s.u2", 4, 7.0),
            point("a", "s.u4", 4, 1.0).replace("\"calls\":10", "\"calls\":10,\"units\":10"),
            point("a", "s.u8", 4, 1.0).replace("\"calls\":10", "\"calls\":10,\"units\":99"),
        ];
        let model = load(&[&lines], false);
        let file = &model.files[0];
        assert_eq!((file.lines, file.points, file.damaged, file.foreign, file.inconsistent), (8, 5, 2, 1, 1));
        let said: Vec<(u64, &str)> =
            file.warnings.iter().map(|warning| (warning.line, warning.what.as_str())).collect();
        assert_eq!((said[0].0, said[1].0, said[2].0, said[3].0), (3, 4, 8, 0), "{said:?}");
        assert!(said[3].1.contains("no header of run lost"), "{said:?}");
        let labels: Vec<&str> = model.machines.iter().map(|machine| machine.label.as_str()).collect();
        assert_eq!(labels, ["unknown machine", "A"]);
        assert_eq!(ticks(&model), [7.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn many_warnings_are_counted_and_few_are_kept() {
        let lines = vec!["x".to_owned(); 1000];
        let model = load(&[&lines], false);
        assert_eq!((model.files[0].damaged, model.files[0].warnings.len()), (1000, MOST_WARNINGS));
        assert!(model.points.is_empty() && model.machines.is_empty());
    }

    #[test]
    fn names_of_cpus_have_a_short_form() {
        for (label, short) in [
            ("AMD EPYC 9154 96-Core Processor", "AMD EPYC 9154"),
            ("Intel(R) Core(TM) i7-3770K CPU @ 3.50GHz", "Intel Core i7-3770K"),
            ("Intel(R) Xeon(R) Platinum 8488C", "Intel Xeon Platinum 8488C"),
            ("AMD Ryzen 9 7950X 16-Core Processor, a b.jsonl", "AMD Ryzen 9 7950X, a b.jsonl"),
            ("Intel(R) Xeon(R) CPU @ 2.20GHz (family 6 model 79)", "Intel Xeon (family 6 model 79)"),
            ("CPU", "CPU"),
            ("unknown machine", "unknown machine"),
        ] {
            assert_eq!(brief(label), short);
        }
    }

    #[test]
    fn a_drift_is_more_than_noise_and_not_small() {
        let noise = |k: u64| (k * 7919) % 20;
        let with = |drift: u64| (0..60).map(|k| 10_000 + noise(k) + drift * k / 60).collect::<Vec<u64>>();
        assert!(drifts(&with(600), 0.25, 0.01) && !drifts(&with(600), 0.25, 0.1));
        assert!(!drifts(&with(100), 0.25, 0.01), "significant, and too small to matter");
        // A step of 3 % that is up as often as down.
        let jumps: Vec<u64> = (0..60).map(|k| 10_000 + noise(k) + 300 * (k % 2)).collect();
        assert!(!drifts(&jumps, 0.25, 0.01) && !drifts(&[1, 2], 0.25, 0.0) && !drifts(&[], 0.25, 0.0));
    }

    #[test]
    fn machines_with_one_name_are_told_apart() {
        let with = |run: &str, model: u32| {
            header(run, "Same", run)
                .replace("\"name\":\"Same\"", &format!("\"name\":\"Same\",\"family\":6,\"model\":{model}"))
        };
        let lines =
            [with("1", 1), with("2", 2), with("3", 2).replace("\"family\"", "\"stepping\":9,\"family\""), with("4", 1)];
        let model = load(&[&lines], false);
        let labels: Vec<&str> = model.machines.iter().map(|machine| machine.label.as_str()).collect();
        assert_eq!(labels, ["Same", "Same (family 6 model 2)", "Same #2"]);
    }
}
