//! `kiln spec check` and `kiln spec schema`.

use std::path::{Path, PathBuf};

use kiln_codegen::compile::compile_plan;
use kiln_codegen::error::{Problem, Problems, visible};
use kiln_codegen::plan::plans;
use kiln_codegen::spec::{self, Specs};
use kiln_runtime::provide::Provider;
use serde::Serialize;

use crate::Context;
use crate::canvas::{Canvas, Tone};
use crate::failure::Failure;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    files: Vec<Checked>,
    problems: Vec<Problem>,
}

/// A file without a problem, and what is in it.
#[derive(Debug, Serialize)]
struct Checked {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    /// Variants that the kernel's spec asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    variants: Option<usize>,
}

/// Checks files and folders, and generates every variant that they ask for: a spec is good when all of it can be built.
pub fn check(context: &Context<'_>, paths: &[PathBuf]) -> Result<bool, Failure> {
    let document = match checked(paths) {
        Ok(files) => Document { schema: "kiln.spec_check/1", files, problems: Vec::new() },
        Err(problems) if context.json => {
            Document { schema: "kiln.spec_check/1", files: Vec::new(), problems: problems.into_iter().collect() }
        }
        Err(problems) => return Err(Failure::Specs(problems)),
    };
    context.print(&document, |canvas| draw(&document, canvas))?;
    if document.problems.is_empty() {
        return Ok(true);
    }
    // The document has been printed; the problems still make the exit status.
    let mut problems = Problems::new();
    problems.extend(document.problems);
    Err(Failure::Specs(problems))
}

fn checked<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Checked>, Problems> {
    let own = spec::check(paths, &kiln_codegen::vocabulary(&[]))?;
    let specs = with_shipped_cpus(own.clone());
    let mut problems = Problems::new();
    let mut variants = Vec::new();
    for plan in plans(&specs)? {
        let file = plan.kernel.file.clone();
        match compile_plan(plan, &specs) {
            Ok(_) => variants.push(file),
            Err(found) => problems.extend(found),
        }
    }
    problems.or(())?;
    let kernels = own.kernels.iter().map(|kernel| Checked {
        file: kernel.file.clone(),
        kernel: Some(kernel.kernel.value.clone()),
        cpu: None,
        variants: Some(variants.iter().filter(|file| **file == kernel.file).count()),
    });
    let cpus = own.cpus.iter().map(|cpu| Checked {
        file: cpu.file.clone(),
        kernel: None,
        cpu: Some(cpu.name.clone()),
        variants: None,
    });
    let mut files: Vec<Checked> = kernels.chain(cpus).collect();
    files.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(files)
}

/// A schedule may name a shipped CPU whose file is not among those checked.
fn with_shipped_cpus(mut specs: Specs) -> Specs {
    for cpu in &Provider::shipped().specs().cpus {
        if specs.cpu(&cpu.name).is_none() {
            specs.cpus.push(cpu.clone());
        }
    }
    specs
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let ok = canvas.paint(Tone::Good, "ok");
    let mut text = String::new();
    for file in &document.files {
        let name = visible(&file.file);
        text += &match (&file.kernel, &file.cpu) {
            (Some(kernel), _) => {
                format!("{ok}  {name}: kernel {kernel}, {} variants\n", file.variants.unwrap_or(0))
            }
            (None, Some(cpu)) => format!("{ok}  {name}: CPU {cpu}\n"),
            (None, None) => format!("{ok}  {name}\n"),
        };
    }
    text
}

/// Prints the JSON Schema; a JSON document with and without `--json`.
pub fn schema(context: &Context<'_>) -> Result<bool, Failure> {
    let schema = spec::schema(&kiln_codegen::vocabulary(&[]));
    let text = serde_json::to_string_pretty(&schema).map_err(|error| Failure::Output(error.into()))?;
    context.print(&schema, |_| format!("{text}\n"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs")
    }

    #[test]
    fn the_shipped_specs_are_good() {
        let files = checked(&[specs()]).unwrap_or_else(|problems| panic!("{problems}"));
        let row = files.iter().find(|row| row.kernel.as_deref() == Some("limb64.mul_add")).expect("its file");
        assert!(row.variants > Some(10));
        assert!(files.iter().any(|row| row.cpu.as_deref() == Some("zen3")));
        let document = Document { schema: "kiln.spec_check/1", files, problems: Vec::new() };
        let text = draw(&document, &Canvas::plain(100));
        assert!(text.lines().all(|line| line.starts_with("ok  ")), "{text}");
        let document = serde_json::to_value(document).unwrap();
        assert_eq!(document["problems"], serde_json::json!([]));
    }

    #[test]
    fn problems_of_several_paths_come_together() {
        let missing = ["nowhere/a.toml", "nowhere/b.toml"].map(PathBuf::from);
        let problems = checked(&missing).expect_err("there are no such files");
        assert_eq!(problems.len(), 2);
        let problem = serde_json::to_value(problems.iter().next()).unwrap();
        assert_eq!(problem["file"], "nowhere/a.toml");
    }
}
