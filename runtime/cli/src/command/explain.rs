//! `kiln explain`: what a program that uses the library would do here, and why.

use std::time::Duration;

use kiln::aes::{Aes128, Aes192, Aes256, Bundle, Choice};
use kiln_kernels::catalogue::Kernel;
use kiln_runtime::dispatch::Runtime;
use kiln_runtime::explain::CaseReport;
use kiln_runtime::settings::{Settings, TuneMode};
use kiln_runtime::timer::{Clock, SystemClock};
use kiln_runtime::tune::{KERNEL_SHARE, PROCESS_BUDGET};
use serde::Serialize;

use crate::Context;
use crate::canvas::{Canvas, Tone};
use crate::command::{Identity, Lineup, MachineCode, lineups, specs};
use crate::failure::Failure;
use crate::tables;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    cpu: Identity,
    cpu_file: Option<String>,
    unit: &'static str,
    budget_ms: f64,
    machine_code: MachineCode,
    overrides: Vec<Override>,
    ignored: Vec<Override>,
    kernels: Vec<CaseReport>,
    /// What new keys are made for, for the primitives whose kernels were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bundles: Vec<BundleReport>,
}

/// A choice between bundles of kernels: made on the whole primitive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct BundleReport {
    primitive: &'static str,
    chosen: String,
    reason: String,
    /// What each bundle took for the same work, if that was measured.
    times: Vec<BundleTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct BundleTime {
    bundle: String,
    ns: u64,
}

impl BundleReport {
    /// Those of the primitives that some of these kernels belong to.
    fn of(kernels: &[Lineup]) -> Vec<BundleReport> {
        let asked = |primitive: &str| {
            kernels.iter().any(|lineup| lineup.kernel.name.split(['.', '_']).next() == Some(primitive))
        };
        let mut found = Vec::new();
        for (primitive, choice) in
            [("aes128", Aes128::choice as fn() -> Choice), ("aes192", Aes192::choice), ("aes256", Aes256::choice)]
        {
            if asked(primitive) {
                found.push(report(primitive, choice()));
            }
        }
        found
    }
}

fn report(primitive: &'static str, choice: Choice) -> BundleReport {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let times = choice.times.iter().flat_map(|times| {
        [(Bundle::Instructions, times.instructions), (Bundle::Sliced, times.sliced)]
            .map(|(bundle, time)| BundleTime { bundle: bundle.to_string(), ns: nanoseconds(time) })
    });
    BundleReport {
        primitive,
        chosen: choice.bundle.to_string(),
        reason: choice.reason.to_string(),
        times: times.collect(),
    }
}

/// A variable and what it says, or what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Override {
    variable: String,
    what: String,
}

impl Override {
    fn new(variable: &str, what: impl Into<String>) -> Override {
        Override { variable: variable.into(), what: what.into() }
    }
}

/// Runs the start-up race in this process, as a program would at its first use of each kernel, and explains it. A
/// malformed override is shown as the library treats it, and still makes the exit status.
pub fn run(context: &Context<'_>, words: &[String]) -> Result<bool, Failure> {
    let provider = specs(context)?;
    let cpu = context.cpu();
    let lineups = lineups(context, &provider, words)?;
    let runtime = Runtime::global();
    let prefer = provider.preferences(&cpu);
    runtime.configure(|options| options.prefer = prefer);
    let budget = context.settings.budget.unwrap_or(PROCESS_BUDGET);
    let mut ignored = ignored(&context.settings, &lineups);
    for lineup in &lineups {
        // Callers hold the compiled kernel, with its classes.
        let Some(kernel) = kiln_kernels::kernels().find(|kernel| kernel.name == lineup.kernel.name) else { continue };
        ignored.extend(other_sizes(lineup.kernel, kernel));
        if context.folder.is_none() && lineup.made.is_empty() {
            runtime.slots(kernel).entry_for(kernel.sizes.first().copied().unwrap_or(1));
        } else {
            // Candidates made at run time are handed over, with the share that a first use has.
            runtime.tune(kernel, lineup.made.clone(), Some(budget / KERNEL_SHARE), &mut |_| ());
        }
    }
    let bundles = BundleReport::of(&lineups);
    let mut decided = runtime.explain();
    let document = Document {
        schema: "kiln.explain/1",
        cpu_file: provider.cpu_file(&cpu).map(|file| file.name.clone()),
        unit: SystemClock::new(&cpu).unit().word(),
        budget_ms: budget.as_secs_f64() * 1000.0,
        machine_code: MachineCode::probed(),
        overrides: in_force(&context.settings),
        ignored,
        kernels: lineups.iter().flat_map(|lineup| decided.remove(lineup.kernel.name).unwrap_or_default()).collect(),
        bundles,
        cpu: Identity::of(&cpu),
    };
    context.print(&document, |canvas| draw(&document, canvas))?;
    match context.settings.malformed.as_slice() {
        [] => Ok(true),
        malformed => Err(Failure::Settings(malformed.to_vec())),
    }
}

fn in_force(settings: &Settings) -> Vec<Override> {
    let mut found = Vec::new();
    for (kernel, variant) in &settings.force {
        found.push(Override::new("KILN_FORCE", format!("{kernel} is {variant}")));
    }
    for glob in &settings.deny {
        found.push(Override::new("KILN_DENY", format!("no variant that matches {glob}")));
    }
    if !settings.removed_features.is_empty() {
        found.push(Override::new("KILN_FEATURES", format!("without {}", settings.removed_features)));
    }
    if !settings.machine_code {
        found.push(Override::new("KILN_MACHINE_CODE", "no code is made at run time"));
    }
    match settings.tune {
        TuneMode::Off => found.push(Override::new("KILN_TUNE", "off: the portable functions")),
        TuneMode::Static => found.push(Override::new("KILN_TUNE", "static: what the CPU file prefers, unmeasured")),
        TuneMode::Race => {}
    }
    if let Some(budget) = settings.budget {
        found.push(Override::new("KILN_BUDGET_MS", format!("{} ms for all races of the process", budget.as_millis())));
    }
    if let Some(folder) = &settings.specs {
        found.push(Override::new("KILN_SPECS", format!("specs of {}", folder.display())));
    }
    found
}

/// Size classes of a folder that do not take effect in a library.
fn other_sizes(asked: &Kernel, compiled: &Kernel) -> Option<Override> {
    let list = |kernel: &Kernel| kernel.sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let what = format!(
        "size classes {} of {}: a library keeps those that it was compiled with, {}",
        list(asked),
        asked.name,
        list(compiled)
    );
    (asked.sizes != compiled.sizes).then(|| Override::new("KILN_SPECS", what))
}

/// What cannot be followed: malformed values, and names of nothing.
fn ignored(settings: &Settings, lineups: &[Lineup]) -> Vec<Override> {
    let mut found: Vec<Override> = settings
        .malformed
        .iter()
        .map(|malformed| Override::new(malformed.variable, malformed.fault.to_string()))
        .collect();
    for (kernel, variant) in &settings.force {
        let name = format!("{kernel}/{variant}");
        if !kiln_kernels::kernels().any(|known| known.name == kernel) {
            found.push(Override::new("KILN_FORCE", format!("there is no kernel {kernel}")));
        } else if lineups.iter().any(|lineup| lineup.kernel.name == kernel && lineup.find(&name).is_none()) {
            found.push(Override::new("KILN_FORCE", format!("there is no variant {name}")));
        }
    }
    found
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let line = |label: &str, words: &str| canvas.wrapped(&format!("  {label:<14}"), words.split(' '));
    let mut text = format!("{}\n\n", canvas.paint(Tone::Strong, document.cpu.name()));
    text += &line("CPU file", document.cpu_file.as_deref().unwrap_or("none recognises it; the generic one is used"));
    text += &line("start-up race", &format!("within {} ms of CPU for the whole process", document.budget_ms));
    text += &line("machine code", document.machine_code.words());
    if document.overrides.is_empty() {
        text += &line("overrides", "none");
    }
    for one in &document.overrides {
        text += &line("override", &format!("{}: {}", one.variable, one.what));
    }
    for one in &document.ignored {
        let ignored = line("ignored", &format!("{}: {}", one.variable, one.what));
        text += &ignored.replacen("ignored", &canvas.paint(Tone::Bad, "ignored"), 1);
    }
    for bundle in &document.bundles {
        let times = bundle.times.iter().map(|one| format!("{} {:.2} us", one.bundle, one.ns as f64 / 1000.0));
        let times: Vec<String> = times.collect();
        let times = if times.is_empty() { String::new() } else { format!(" ({})", times.join(", ")) };
        let words = format!("{} uses {}, because {}{times}", bundle.primitive, bundle.chosen, bundle.reason);
        text += &line("bundle", &words);
    }
    text + &tables::explain(&document.kernels, document.unit, canvas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln::aes::{Reason, Times};
    use std::ffi::OsString;

    fn settings(variables: &'static [(&str, &str)]) -> Settings {
        Settings::from_variables(false, &|name| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn a_bundle_is_reported_with_its_times() {
        let times = Times { instructions: Duration::from_nanos(120), sliced: Duration::from_nanos(4000) };
        let choice = Choice { bundle: Bundle::Instructions, reason: Reason::Fastest, times: Some(times) };
        let found = report("aes128", choice);
        assert_eq!((found.chosen.as_str(), found.reason.as_str()), ("instructions", "fastest"));
        let times: Vec<(&str, u64)> = found.times.iter().map(|one| (one.bundle.as_str(), one.ns)).collect();
        assert_eq!(times, [("instructions", 120), ("sliced", 4000)]);
        assert_eq!(report("aes128", Choice { times: None, ..choice }).times, []);
    }

    #[test]
    fn overrides_are_told_apart() {
        let settings = settings(&[
            ("KILN_FORCE", "limb64.mul_add=mulx.u8,nothing.here=x"),
            ("KILN_FEATURES", "-adx"),
            ("KILN_TUNE", "fast"),
            ("KILN_BUDGET_MS", "7"),
        ]);
        let words = |found: Vec<Override>| {
            found.into_iter().map(|one| format!("{}: {}", one.variable, one.what)).collect::<Vec<_>>()
        };
        assert_eq!(
            words(in_force(&settings)),
            [
                "KILN_FORCE: limb64.mul_add is mulx.u8",
                "KILN_FORCE: nothing.here is x",
                "KILN_FEATURES: without adx",
                "KILN_BUDGET_MS: 7 ms for all races of the process",
            ]
        );
        assert_eq!(
            words(ignored(&settings, &[])),
            ["KILN_TUNE: \"fast\" is not one of off, static, race", "KILN_FORCE: there is no kernel nothing.here"]
        );
    }
}
