//! `kiln verify`: every variant that can run here in a child process, and every variant in the interpreter, against the
//! reference.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use kiln_codegen::compile::{Form, compile_plan};
use kiln_codegen::error::Problems;
use kiln_codegen::plan::{Plan, plans};
use kiln_codegen::spec::Specs;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::provide::Provider;
use kiln_runtime::verify::{Depth, Lengths, Options, known};
use serde::Serialize;

use crate::Context;
use crate::canvas::{Canvas, Column, Tone};
use crate::check::{self, Extent, Failed, Findings};
use crate::command::{Lineup, lineups, short, specs};
use crate::failure::Failure;
use crate::interpret;
use crate::progress::Progress;
use crate::tables::together;

/// Most limbs in an interpreted case: what longer ones would show, the native run shows.
const LARGEST: u64 = 130;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    seed: u64,
    kernels: Vec<Row>,
    /// Variants that did not run natively.
    not_run: Vec<NotRun>,
}

#[derive(Debug, Serialize)]
struct Row {
    kernel: &'static str,
    variant: String,
    /// `portable`, `compiled` or `machine` for a native run; `interpreter` for the IR before register allocation,
    /// `interpreter_allocated` for the IR after it.
    backend: &'static str,
    cases: u64,
    failed: u64,
    failures: Vec<Failed>,
}

#[derive(Debug, Serialize)]
struct NotRun {
    variant: String,
    why: String,
}

/// Verifies the kernels that the words select. `false` when anything failed.
pub fn run(context: &Context<'_>, words: &[String], cases: u32, seed: Option<u64>) -> Result<bool, Failure> {
    let provider = specs(context)?;
    let lineups = lineups(context, &provider, words)?;
    let extent = Extent { cases, seed: seed.unwrap_or_else(any_seed) };
    let (mut kernels, not_run) = native(context, &lineups, extent)?;
    kernels.extend(interpreted(&provider, &lineups, extent)?);
    let order = |name: &str| lineups.iter().position(|lineup| lineup.kernel.name == name);
    kernels.sort_by_key(|row| order(row.kernel));
    let document = Document { schema: "kiln.verify/1", seed: extent.seed, kernels, not_run };
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(document.kernels.iter().all(|row| row.failed == 0))
}

fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Short enough to be typed again.
    u64::from(now.subsec_nanos()) ^ (now.as_secs() & 0xffff_ffff)
}

fn native(context: &Context<'_>, lineups: &[Lineup], extent: Extent) -> Result<(Vec<Row>, Vec<NotRun>), Failure> {
    let cpu = context.cpu();
    let mut names: Vec<String> = Vec::new();
    let mut ready: Vec<(&'static str, Candidate)> = Vec::new();
    let mut not_run = Vec::new();
    for lineup in lineups {
        for candidate in lineup.candidates() {
            match candidate.eligible(lineup.kernel, &cpu) {
                Ok(()) => {
                    names.push(candidate.name().to_owned());
                    ready.push((lineup.kernel.name, candidate));
                }
                Err(why) => not_run.push(NotRun { variant: candidate.name().to_owned(), why: why.to_string() }),
            }
        }
        let left = lineup.left_out.iter();
        not_run.extend(left.map(|left| NotRun { variant: left.variant.clone(), why: left.why.clone() }));
    }
    let progress = Progress::new(names.len());
    let findings = check::in_child(context, &names, extent, None, &mut |name| {
        progress.doing(format!("checked {name} natively"));
        progress.step();
    })?;
    let rows = ready.into_iter().zip(findings).map(|((kernel, candidate), findings)| {
        row(kernel, candidate.name().to_owned(), candidate.origin().word(), findings)
    });
    Ok((rows.collect(), not_run))
}

fn row(kernel: &'static str, variant: String, backend: &'static str, findings: Findings) -> Row {
    Row { kernel, variant, backend, cases: findings.cases, failed: findings.failed, failures: findings.failures }
}

/// The variants of the specs in force, and the shipped ones that those no longer ask for.
fn interpreted(provider: &Provider, lineups: &[Lineup], extent: Extent) -> Result<Vec<Row>, Failure> {
    let shipped = Provider::shipped();
    let mut all: Vec<(Plan<'_>, &Specs)> = Vec::new();
    for specs in [provider.specs(), shipped.specs()] {
        for plan in plans(specs)? {
            if !all.iter().any(|(known, _)| known.name == plan.name) {
                all.push((plan, specs));
            }
        }
    }
    let mut rows = Vec::new();
    let mut problems = Problems::new();
    let progress = Progress::new(all.len());
    for (plan, specs) in all {
        progress.step();
        let Some(lineup) = lineups.iter().find(|lineup| lineup.kernel.name == plan.kernel.kernel.value) else {
            continue;
        };
        progress.doing(format!("interpreting {}", plan.name));
        let compiled = match compile_plan(plan, specs) {
            Ok(compiled) => compiled,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        let name = compiled.plan.name.clone();
        let unroll = short(&name).split('.').find_map(|part| part.strip_prefix('u')?.parse().ok());
        let lengths = Lengths { exact: compiled.func.exact, unroll };
        let depth = Depth::Full { cases: extent.cases };
        let options = Options { seed: extent.seed, depth, ..Options::default() };
        let cases = known(lineup.kernel, lengths, &options, LARGEST);
        rows.push(row(lineup.kernel.name, name.clone(), "interpreter", interpret::check(&compiled.func, &cases)));
        if let Form::Machine(func) = &compiled.form {
            rows.push(row(lineup.kernel.name, name, "interpreter_allocated", interpret::check(func, &cases)));
        }
    }
    problems.or(())?;
    Ok(rows)
}

/// What a variant's cells say: cases, or failures.
fn cell(rows: &[&Row], is: impl Fn(&str) -> bool) -> (Tone, String) {
    match rows.iter().find(|row| is(row.backend)) {
        None => (Tone::Faint, "-".to_owned()),
        Some(row) if row.failed > 0 && row.cases > 0 => (Tone::Bad, format!("{} of {} failed", row.failed, row.cases)),
        Some(row) if row.failed > 0 => (Tone::Bad, "failed".to_owned()),
        Some(row) => (Tone::Good, format!("{} ok", row.cases)),
    }
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = String::new();
    let mut kernels: Vec<&str> = document.kernels.iter().map(|row| row.kernel).collect();
    kernels.dedup();
    for kernel in kernels {
        let mut variants: Vec<&str> = Vec::new();
        for row in document.kernels.iter().filter(|row| row.kernel == kernel) {
            if !variants.contains(&row.variant.as_str()) {
                variants.push(&row.variant);
            }
        }
        let mut name = Column::words("variant");
        let mut native = Column::numbers("native");
        let mut interpreter = Column::numbers("interpreted");
        let mut allocated = Column::numbers("after allocation").rank(1);
        for variant in variants {
            let rows: Vec<&Row> = document.kernels.iter().filter(|row| row.variant == variant).collect();
            name.push(Tone::Plain, short(variant));
            for (column, (tone, cell)) in [
                (&mut native, cell(&rows, |backend| !backend.starts_with("interpreter"))),
                (&mut interpreter, cell(&rows, |backend| backend == "interpreter")),
                (&mut allocated, cell(&rows, |backend| backend == "interpreter_allocated")),
            ] {
                column.push(tone, cell);
            }
        }
        let _ = write!(text, "{}\n\n", canvas.paint(Tone::Strong, kernel));
        text += &canvas.table(&[name, native, interpreter, allocated]);
        text.push('\n');
    }
    let not_run = document.not_run.iter().map(|not_run| (&*not_run.variant, &*not_run.why));
    text += &together(canvas, "not run natively", not_run);
    if !document.not_run.is_empty() {
        text.push('\n');
    }
    for row in document.kernels.iter().filter(|row| row.failed > 0) {
        let _ = writeln!(text, "{} {} ({})", canvas.paint(Tone::Bad, "FAILED"), row.variant, row.backend);
        for failed in &row.failures {
            text += &failure(failed);
        }
        text.push('\n');
    }
    let cases: u64 = document.kernels.iter().map(|row| row.cases).sum();
    let failed = document.kernels.iter().filter(|row| row.failed > 0).count();
    let verdict = match failed {
        0 => canvas.paint(Tone::Good, "everything agrees with the reference"),
        1 => canvas.paint(Tone::Bad, "1 check failed"),
        _ => canvas.paint(Tone::Bad, format!("{failed} checks failed")),
    };
    let _ = writeln!(text, "{cases} cases, seed {}: {verdict}", document.seed);
    text
}

/// Everything that it takes to see the failure again. Not wrapped: it is to be copied.
fn failure(failed: &Failed) -> String {
    let mut text = format!("  {}\n", failed.what);
    let Some(n) = failed.n else { return text };
    let _ = writeln!(
        text,
        "  n = {n}, shared memory: {}, {}, case seed {}",
        failed.aliasing, failed.placement, failed.seed
    );
    let width = failed.operands.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(8);
    let named = failed.operands.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in named.chain([("expected", failed.expected.as_str()), ("got", failed.got.as_str())]) {
        if !value.is_empty() {
            let _ = writeln!(text, "    {name:<width$}  {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed() -> Document {
        let failed = Failed {
            seed: "0x7".into(),
            n: Some(9),
            aliasing: "a = r".into(),
            placement: "canaries".into(),
            operands: vec![("r".into(), "0x1".into()), ("w".into(), "0x2".into())],
            expected: "0x3".into(),
            got: "0x4".into(),
            ..Failed::bare("wrong result in r".into())
        };
        let findings =
            |cases, failures: Vec<Failed>| Findings { cases, failed: failures.len() as u64, failures, unknown: false };
        let kernel = "limb64.mul_add";
        Document {
            schema: "kiln.verify/1",
            seed: 5,
            kernels: vec![
                row(kernel, "limb64.mul_add/mul.u4".into(), "compiled", findings(10, vec![failed])),
                row(kernel, "limb64.mul_add/mul.u4".into(), "interpreter", findings(12, vec![])),
            ],
            not_run: vec![NotRun { variant: "limb64.mul_add/mulx.u4".into(), why: "needs bmi2".into() }],
        }
    }

    #[test]
    fn a_failure_says_how_to_see_it_again() {
        let text = draw(&fixed(), &Canvas::plain(100));
        let expected = "\
FAILED limb64.mul_add/mul.u4 (compiled)
  wrong result in r
  n = 9, shared memory: a = r, canaries, case seed 0x7
    r         0x1
    w         0x2
    expected  0x3
    got       0x4

22 cases, seed 5: 1 check failed
";
        assert!(text.ends_with(expected), "{text}");
        assert!(text.contains("1 of 10 failed") && text.contains("12 ok"), "{text}");
        assert!(text.contains("not run natively  mulx.u4: needs bmi2\n"), "{text}");
    }

    #[test]
    fn the_document_has_its_shape() {
        let document = serde_json::to_value(fixed()).unwrap();
        assert_eq!((&document["schema"], &document["seed"]), (&"kiln.verify/1".into(), &5.into()));
        let row = &document["kernels"][0];
        assert_eq!((&row["backend"], &row["cases"]), (&"compiled".into(), &10.into()));
        assert_eq!(row["failures"][0]["operands"][0], serde_json::json!(["r", "0x1"]));
        assert_eq!(document["kernels"][1]["failures"], serde_json::json!([]));
    }
}
