//! Native checks in a child process: this program is parent and child. A crash, an endless loop or a read past a buffer
//! is then a finding about one candidate.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln_codegen::error::{Problem, Reason};
use kiln_kernels::catalogue::Kernel;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::Native;
use kiln_runtime::isolate::{self, CannotStart, Cause, Program, Verdict};
use kiln_runtime::provide::Provider;
use kiln_runtime::verify::{self, Depth, Options, Rejected};
use serde::{Deserialize, Serialize};

use crate::Context;
use crate::command::{lineups, specs};
use crate::failure::Failure;
use crate::sweep::make::by_name;
use crate::sweep::set::Set;
use crate::sweep::space::Space;

/// The hidden command of the child.
pub const COMMAND: &str = "check-in-child";
/// Failures that an answer keeps: with the largest operands, two fit the line that the parent reads.
const KEEP: usize = 2;

/// How much to check.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Random cases for each length and way of sharing memory.
    pub cases: u32,
    /// Seed of all operands.
    pub seed: u64,
}

impl Extent {
    /// The options of the runtime; guard pages only where a fault costs no more than a child.
    pub fn options(self, guard_pages: bool) -> Options {
        let depth = Depth::Full { cases: self.cases };
        Options { seed: self.seed, depth, guard_pages, keep: KEEP, ..Options::default() }
    }
}

/// A case that failed, in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// What is wrong.
    pub what: String,
    /// The case's own seed, in hex; empty if the process died before it could say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seed: String,
    /// The first count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Which arguments shared a pointer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub aliasing: String,
    /// Where the buffers lay.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub placement: String,
    /// Each argument before the call, in hex, most significant limb first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<(String, String)>,
    /// What the reference computes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What came out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub got: String,
}

impl Failed {
    /// A failure of which no more is known.
    pub fn bare(what: String) -> Failed {
        Failed {
            what,
            seed: String::new(),
            n: None,
            aliasing: String::new(),
            placement: String::new(),
            operands: Vec::new(),
            expected: String::new(),
            got: String::new(),
        }
    }
}

impl From<&verify::Failure> for Failed {
    fn from(failure: &verify::Failure) -> Failed {
        Failed {
            what: failure.kind.to_string(),
            seed: format!("{:#x}", failure.seed),
            n: Some(failure.n),
            aliasing: failure.aliasing.clone(),
            placement: failure.placement.word().to_owned(),
            operands: failure.operands.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            expected: failure.expected.clone(),
            got: failure.got.clone(),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Cases that ran.
    pub cases: u64,
    /// Cases that failed.
    pub failed: u64,
    /// The first of them.
    pub failures: Vec<Failed>,
    /// Whether the child has no such candidate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
}

impl Findings {
    /// The first failure in one line.
    pub fn summary(&self) -> Option<String> {
        let first = self.failures.first()?;
        let place = first.n.map(|n| format!(" at n = {n}")).unwrap_or_default();
        let share =
            if self.cases > 0 { format!(" ({} of {} cases failed)", self.failed, self.cases) } else { String::new() };
        Some(format!("{}{place}{share}", first.what))
    }
}

/// Has candidates checked in a child: `names` are of the lineups of the same command line, or of the space of a sweep with these
/// settings. `progress` hears of each.
pub fn in_child(
    context: &Context<'_>,
    names: &[String],
    extent: Extent,
    sweep: Option<&[Set]>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Findings>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut arguments: Vec<OsString> = Vec::new();
    if let Some(folder) = &context.folder {
        arguments.extend(["--specs".into(), folder.into()]);
    }
    arguments.push(COMMAND.into());
    arguments.extend(["--cases".into(), extent.cases.to_string().into()]);
    arguments.extend(["--seed".into(), extent.seed.to_string().into()]);
    if let Some(sets) = sweep {
        arguments.push("--sweep".into());
        arguments.extend(sets.iter().flat_map(|set| ["--set".into(), set.to_string().into()]));
    }
    let limit = context.hooks.time_limit + Duration::from_millis(2) * extent.cases;
    let program = Program::this(arguments, limit).map_err(Failure::Child)?;
    let verdicts = match isolate::run(&program, names, &mut |name, _| progress(name)) {
        // The status of specs that are wrong, and the parent has read them.
        Err(CannotStart::NotReady(Cause::Exited(Some(2)))) if context.folder.is_some() => return Err(changed(context)),
        outcome => outcome.map_err(Failure::Child)?,
    };
    let findings: Vec<Findings> = verdicts.into_iter().map(findings).collect();
    if findings.iter().any(|findings| findings.unknown) { Err(changed(context)) } else { Ok(findings) }
}

/// The child does not have the candidates that its parent has.
#[derive(Debug)]
struct Changed;

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the specs changed while this ran; run it again")
    }
}

impl std::error::Error for Changed {}

fn changed(context: &Context<'_>) -> Failure {
    let folder = context.folder.as_deref().unwrap_or(Path::new("specs"));
    let reason = Reason::Stage(Arc::new(Changed));
    Failure::Specs(Problem::whole(&folder.display().to_string(), reason).into())
}

fn findings(verdict: Verdict) -> Findings {
    match verdict {
        Verdict::Finished(answer) => serde_json::from_str(&answer)
            .unwrap_or_else(|error| lost(format!("the child's answer cannot be read: {error}"))),
        Verdict::Quarantined(cause) => lost(cause.to_string()),
    }
}

/// The child's side.
pub fn serve(context: &Context<'_>, extent: Extent, sweep: Option<&[Set]>) -> Result<bool, Failure> {
    let provider = specs(context)?;
    let cpu = context.cpu();
    // Generated before the child is ready, so that no candidate is accused of the time that it takes.
    let answered = isolate::serve(|names| {
        let known = match sweep {
            None => candidates(context, &provider, names),
            Some(sets) => points(&provider, names, sets),
        };
        move |name| {
            let findings = match known.get(name) {
                Some((kernel, candidate)) => checked(kernel, candidate, &cpu, &extent.options(true)),
                None => Findings { unknown: true, ..lost("there is no such candidate in the child".to_owned()) },
            };
            serde_json::to_string(&findings).unwrap_or_default()
        }
    });
    // A parent that is gone needs no answer.
    Ok(answered.is_ok())
}

fn checked(kernel: &'static Kernel, candidate: &Candidate, cpu: &Native, options: &Options) -> Findings {
    match verify::verify(kernel, candidate, cpu, options) {
        Ok(verified) => Findings { cases: verified.report().cases, ..Findings::default() },
        Err(Rejected::Failed(report)) => Findings {
            cases: report.cases,
            failed: report.failed,
            failures: report.failures.iter().map(Failed::from).collect(),
            unknown: false,
        },
        Err(Rejected::Ineligible(why)) => lost(why.to_string()),
    }
}

/// Every candidate of the kernels of these variants, by name. A kernel that is not to be had has none.
fn candidates(
    context: &Context<'_>,
    provider: &Provider,
    names: &[&str],
) -> BTreeMap<String, (&'static Kernel, Candidate)> {
    let kernel_of = |name: &&str| name.split_once('/').map_or(*name, |(kernel, _)| kernel).to_owned();
    let kernels: BTreeSet<String> = names.iter().map(kernel_of).collect();
    let lineups = kernels.into_iter().filter_map(|kernel| lineups(context, provider, &[kernel]).ok()).flatten();
    let mut known = BTreeMap::new();
    for lineup in lineups {
        let all = lineup.candidates().into_iter();
        known.extend(all.map(|candidate| (candidate.name().to_owned(), (lineup.kernel, candidate))));
    }
    known
}

/// The points of sweeps with these names.
fn points(provider: &Provider, names: &[&str], sets: &[Set]) -> BTreeMap<String, (&'static Kernel, Candidate)> {
    let mut known = BTreeMap::new();
    for kernel in kiln_kernels::kernels() {
        let own: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| name.split_once('/').is_some_and(|(of, _)| of == kernel.name))
            .collect();
        if own.is_empty() {
            continue;
        }
        let Ok(space) = Space::of(provider, kernel, sets) else { continue };
        let Ok(plans) = space.plans() else { continue };
        let made = by_name(kernel, &space.specs, &plans, &own);
        known.extend(made.into_iter().map(|(name, candidate)| (name, (kernel, candidate))));
    }
    known
}

fn lost(what: String) -> Findings {
    Findings { failed: 1, failures: vec![Failed::bare(what)], ..Findings::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives_the_pipe() {
        let failed = Failed {
            seed: "0x12".into(),
            n: Some(9),
            operands: vec![("r".into(), "0x1_2".into())],
            ..Failed::bare("wrong result in r".into())
        };
        let findings = Findings { cases: 40, failed: 2, failures: vec![failed], unknown: false };
        let text = serde_json::to_string(&findings).unwrap();
        assert_eq!(super::findings(Verdict::Finished(text)), findings);
        assert_eq!(findings.summary().unwrap(), "wrong result in r at n = 9 (2 of 40 cases failed)");
    }

    #[test]
    fn a_dead_child_is_a_failure() {
        let crashed = findings(Verdict::Quarantined(Cause::Signal(11)));
        assert_eq!((crashed.failed, crashed.summary().unwrap().as_str()), (1, "crashed with SIGSEGV"));
        assert_eq!(findings(Verdict::Finished("nonsense".into())).failed, 1);
    }
}
