//! `kiln tune`: every candidate checked in a child process, the survivors raced, a winner for each size class.

use std::time::{Duration, Instant};

use kiln_runtime::explain::CaseReport;
use kiln_runtime::timer::Unit;
use kiln_runtime::tune::{CpuBudget, Event, Field, Options, Tuner};
use serde::Serialize;

use crate::Context;
use crate::check::{self, Extent};
use crate::command::{Identity, LeftOut, Lineup, lineups, specs};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::tables::{self, Clockwork};

/// Random cases for each length in the child; the fixed patterns are checked besides.
const CASES: u32 = 2;

/// What is printed.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: &'static str,
    /// The CPU.
    pub cpu: Identity,
    /// What ticks are: `ticks` of the time stamp counter, or `ns`.
    pub unit: &'static str,
    /// Wall time.
    pub elapsed_ms: f64,
    /// CPU time of the races.
    pub cpu_ms: f64,
    /// One for each kernel and size class.
    pub kernels: Vec<CaseReport>,
    /// Variants of the folder's specs that were not made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    #[serde(skip)]
    pub clock: Clockwork,
}

/// Tunes the kernels that the words select.
pub fn run(context: &Context<'_>, words: &[String], budget: Option<u64>) -> Result<bool, Failure> {
    let start = Instant::now();
    let provider = specs(context)?;
    let lineups = lineups(context, &provider, words)?;
    let cpu = context.cpu();
    let options = Options {
        field: Field::Everyone,
        prefer: provider.preferences(&cpu),
        ..Options::from_settings(&context.settings)
    };
    let mut tuner = Tuner::new(cpu, options);
    check_all(context, &lineups, &mut tuner)?;

    let budget = budget.map(Duration::from_millis).or(context.settings.budget);
    let spent = CpuBudget::new(None);
    let mut kernels = Vec::new();
    let progress = Progress::new(lineups.iter().map(|lineup| lineup.kernel.sizes.len().max(1)).sum());
    for (index, lineup) in lineups.iter().enumerate() {
        let left = (lineups.len() - index) as u32;
        let share = budget.map(|budget| budget.saturating_sub(spent.spent()) / left);
        let tuned = tuner.tune(lineup.kernel, lineup.made.clone(), share, &mut |event| match event {
            Event::Racing { case, entrants } => {
                progress.doing(format!("racing {entrants} variants of {} at {case}", lineup.kernel.name));
            }
            Event::Decided(_) => progress.step(),
            Event::Started { .. } | Event::Verified { .. } | Event::Quarantined { .. } => {}
        });
        kernels.extend(tuned.reports);
    }
    drop(progress);
    let clock = tuner.clock();
    let document = Document {
        schema: "kiln.tune/1",
        cpu: Identity::of(tuner.cpu()),
        unit: clock.unit().word(),
        elapsed_ms: milliseconds(start.elapsed()),
        cpu_ms: milliseconds(spent.spent()),
        kernels,
        left_out: lineups.into_iter().flat_map(|lineup| lineup.left_out).collect(),
        clock: Clockwork {
            counter: clock.unit() == Unit::Ticks,
            per_microsecond: clock.microsecond(),
            has: tables::features_that_matter(tuner.cpu()),
        },
    };
    if context.json {
        for line in tables::quarantine_warnings(&document.kernels) {
            context.warn(&line);
        }
    }
    context.print(&document, |canvas| tables::tune(&document, canvas))?;
    Ok(true)
}

/// Checks in a child whatever may run here. What fails is quarantined before it is raced.
fn check_all(context: &Context<'_>, lineups: &[Lineup], tuner: &mut Tuner) -> Result<(), Failure> {
    let mut names: Vec<String> = Vec::new();
    for lineup in lineups {
        let may_run = |candidate: &kiln_runtime::candidate::Candidate| {
            candidate.eligible(lineup.kernel, tuner.cpu()).is_ok()
                && tuner.options().exclusions.denies(candidate.name()).is_none()
        };
        names.extend(lineup.candidates().iter().filter(|c| may_run(c)).map(|c| c.name().to_owned()));
    }
    names.dedup();
    let extent = Extent { cases: CASES, seed: tuner.options().seed };
    let progress = Progress::new(names.len());
    let findings = check::in_child(context, &names, extent, None, &mut |name| {
        progress.doing(format!("checked {name}"));
        progress.step();
    })?;
    for (name, findings) in names.into_iter().zip(findings) {
        if let Some(why) = findings.summary() {
            tuner.options_mut().exclusions.quarantined.insert(name, why);
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// A document as a test wants it.
#[cfg(test)]
pub fn fixed(cpu: Identity, kernels: Vec<CaseReport>, clock: Clockwork) -> Document {
    Document {
        schema: "kiln.tune/1",
        cpu,
        unit: "ticks",
        elapsed_ms: 1234.5,
        cpu_ms: 1000.0,
        kernels,
        left_out: Vec::new(),
        clock,
    }
}
