//! `kiln list`: kernels, variants, and which of them can run here.

use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::Cpu;
use serde::Serialize;

use crate::Context;
use crate::canvas::{Canvas, Column, Tone};
use crate::command::{LeftOut, Lineup, lineups, short, specs};
use crate::failure::Failure;
use crate::tables::together;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    kernels: Vec<KernelRow>,
}

#[derive(Debug, Serialize)]
struct KernelRow {
    kernel: &'static str,
    math: &'static str,
    spec: &'static str,
    sizes: &'static [u64],
    variants: Vec<VariantRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
struct VariantRow {
    variant: String,
    strategy: String,
    origin: &'static str,
    features: Vec<&'static str>,
    instructions: u32,
    exact: Option<u64>,
    startup: bool,
    eligible: bool,
    why: Option<String>,
}

/// Lists the kernels that the words select.
pub fn run(context: &Context<'_>, words: &[String]) -> Result<bool, Failure> {
    let provider = specs(context)?;
    let cpu = context.cpu();
    let lineups = lineups(context, &provider, words)?;
    let kernels = lineups.iter().map(|lineup| kernel_row(context, lineup, &cpu)).collect();
    let document = Document { schema: "kiln.list/1", kernels };
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(true)
}

fn kernel_row(context: &Context<'_>, lineup: &Lineup, cpu: &Cpu) -> KernelRow {
    let variant = |candidate: &Candidate| {
        let denied = context.settings.deny.iter().find(|glob| glob.matches(candidate.name()));
        let why = match (candidate.eligible(lineup.kernel, cpu), denied) {
            (Err(why), _) => Some(why.to_string()),
            (Ok(()), Some(glob)) => Some(format!("denied by KILN_DENY ({glob})")),
            (Ok(()), None) => None,
        };
        VariantRow {
            variant: candidate.name().to_owned(),
            strategy: candidate.short_name().split('.').next().unwrap_or_default().to_owned(),
            origin: candidate.origin().word(),
            features: candidate.features().map(|features| features.names()).unwrap_or_default(),
            instructions: candidate.instructions(),
            exact: candidate.exact(),
            startup: candidate.startup(),
            eligible: why.is_none(),
            why,
        }
    };
    KernelRow {
        kernel: lineup.kernel.name,
        math: lineup.kernel.math,
        spec: lineup.kernel.spec_file,
        sizes: lineup.kernel.sizes,
        variants: lineup.candidates().iter().map(variant).collect(),
        left_out: lineup.left_out.clone(),
    }
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    let mut text = String::new();
    for (index, kernel) in document.kernels.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text += &format!("{}\n", canvas.paint(Tone::Strong, kernel.kernel));
        text += &canvas.wrapped("  ", kernel.math.split(' '));
        let here = kernel.variants.iter().filter(|variant| variant.eligible).count();
        let sizes: Vec<String> = kernel.sizes.iter().map(ToString::to_string).collect();
        let facts = format!(
            "{} variants, {here} can run here; size classes {}",
            kernel.variants.len(),
            if sizes.is_empty() { "none".to_owned() } else { sizes.join(" ") },
        );
        text += &canvas.wrapped("  ", facts.split(' '));
        text += &canvas.wrapped("  from ", [kernel.spec]);
        text.push('\n');
        let mut name = Column::words("variant");
        let mut origin = Column::words("origin").rank(2);
        let mut instructions = Column::numbers("instructions").rank(1);
        let mut needs = Column::words("needs");
        let mut startup = Column::words("start-up").rank(3);
        let mut runs = Column::words("here");
        for variant in &kernel.variants {
            name.push(if variant.eligible { Tone::Plain } else { Tone::Faint }, short(&variant.variant));
            origin.push(Tone::Faint, variant.origin);
            instructions.push(Tone::Plain, variant.instructions.to_string());
            needs.push(
                Tone::Plain,
                if variant.features.is_empty() { "-".to_owned() } else { variant.features.join(" ") },
            );
            startup.push(Tone::Faint, if variant.startup { "races" } else { "" });
            match &variant.why {
                None => runs.push(Tone::Good, "yes"),
                Some(why) => runs.push(Tone::Notice, format!("no: {why}")),
            }
        }
        text += &canvas.table(&[name, origin, instructions, needs, startup, runs]);
        text += &together(canvas, "not made", kernel.left_out.iter().map(|left| (&*left.variant, &*left.why)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed() -> Document {
        let row = |variant: &str, features: Vec<&'static str>, why: Option<&str>| VariantRow {
            variant: variant.into(),
            strategy: "mulx".into(),
            origin: "compiled",
            features,
            instructions: 42,
            exact: None,
            startup: why.is_none(),
            eligible: why.is_none(),
            why: why.map(Into::into),
        };
        Document {
            schema: "kiln.list/1",
            kernels: vec![KernelRow {
                kernel: "limb64.mul_add",
                math: "r := r + a * w",
                spec: "specs/kernels/limb64_mul_add.toml",
                sizes: &[4, 8],
                variants: vec![
                    row("limb64.mul_add/mul.u4", vec![], None),
                    row(
                        "limb64.mul_add/mulx_adx.u8",
                        vec!["bmi2", "adx"],
                        Some("needs adx, which this CPU does not have"),
                    ),
                ],
                left_out: vec![],
            }],
        }
    }

    #[test]
    fn the_text_says_what_runs_here() {
        let text = draw(&fixed(), &Canvas::plain(100));
        let expected = "\
limb64.mul_add
  r := r + a * w
  2 variants, 1 can run here; size classes 4 8
  from specs/kernels/limb64_mul_add.toml

  variant      origin    instructions  needs     here
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.contains("mul.u4") && text.contains("bmi2 adx"), "{text}");
    }

    #[test]
    fn the_document_has_its_shape() {
        let document = serde_json::to_value(fixed()).unwrap();
        let variant = &document["kernels"][0]["variants"][1];
        assert_eq!(document["schema"], "kiln.list/1");
        assert_eq!(variant["variant"], "limb64.mul_add/mulx_adx.u8");
        assert_eq!(variant["features"], serde_json::json!(["bmi2", "adx"]));
        assert_eq!(variant["eligible"], false);
        assert_eq!(variant["why"], "needs adx, which this CPU does not have");
        assert!(document["kernels"][0]["variants"][0]["why"].is_null());
    }
}
