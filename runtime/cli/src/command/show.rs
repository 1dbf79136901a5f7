//! `kiln show`: one variant in one form. Generates it on the spot, so any point of a known strategy can be shown, for any
//! CPU.

use std::fmt::Write as _;

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use kiln_codegen::backend::asm_text::{self, Style};
use kiln_codegen::backend::banner::banner;
use kiln_codegen::backend::{machine, rust_naked, rust_portable};
use kiln_codegen::compile::{Compiled, Form as Last, compile_plan};
use kiln_codegen::ir::print;
use kiln_codegen::ir::{Func, Physical};
use kiln_codegen::plan::{plans, seed};
use kiln_codegen::spec::{ArgumentKind, At, BackEdge, Specs, Strategy};
use serde::Serialize;

use crate::Context;
use crate::args::Form;
use crate::canvas::{Canvas, Tone};
use crate::command::specs;
use crate::failure::Failure;
use crate::names::nearest;

/// Largest unroll and exact size, as in specs.
const LARGEST: u32 = 64;

#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    variant: String,
    kernel: String,
    strategy: String,
    features: Vec<&'static str>,
    exact: Option<u64>,
    instructions: u32,
    code_hash: String,
    spec: String,
    spec_hash: String,
    #[serde(rename = "as")]
    form: &'static str,
    banner: String,
    text: String,
    /// Machine code in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<Line>>,
}

/// An instruction in machine code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Line {
    offset: u64,
    bytes: String,
    text: String,
}

/// Shows a variant.
pub fn run(context: &Context<'_>, name: &str, form: Option<Form>) -> Result<bool, Failure> {
    let provider = specs(context)?;
    let narrowed = match planned(provider.specs(), name)? {
        Some(specs) => specs,
        None => point(provider.specs(), name).ok_or_else(|| unknown(provider.specs(), name))?,
    };
    let plan = plans(&narrowed)?.into_iter().find(|plan| plan.name == name);
    let compiled = compile_plan(plan.ok_or_else(|| unknown(provider.specs(), name))?, &narrowed)?;
    let document = document(&compiled, form)?;
    context.print(&document, |canvas| draw(&document, canvas))?;
    Ok(true)
}

/// The specs, if one of their plans has this name.
fn planned(specs: &Specs, name: &str) -> Result<Option<Specs>, Failure> {
    Ok(plans(specs)?.iter().any(|plan| plan.name == name).then(|| specs.clone()))
}

fn unknown(specs: &Specs, name: &str) -> Failure {
    let names: Vec<String> = plans(specs).into_iter().flatten().map(|plan| plan.name).collect();
    Failure::UnknownVariant(nearest(name, names.iter().map(String::as_str)))
}

/// The specs with one strategy narrowed to the point that the name says: an unroll, an exact size, a back edge or a
/// schedule that no spec asks for.
fn point(specs: &Specs, name: &str) -> Option<Specs> {
    let (kernel, rest) = name.split_once('/')?;
    let mut parts = rest.split('.').peekable();
    let mut kernel = specs.kernel(kernel)?.clone();
    let word = parts.next()?;
    let strategy = kernel.strategies.iter().find(|strategy| strategy.name.value == word)?;
    let span = strategy.span.clone();
    let mut narrowed = Strategy { unroll: vec![], exact: vec![], startup: vec![], ..strategy.clone() };
    let parameter = parts.next()?;
    let mut back_edge = BackEdge::Folded;
    if let Some(unroll) = parameter.strip_prefix('u') {
        let unroll = number(unroll).filter(|_| !strategy.unroll.is_empty())?;
        narrowed.unroll = vec![At::new(unroll, span.clone())];
        if parts.next_if_eq(&"live").is_some() {
            back_edge = BackEdge::Live;
            strategy.back_edge.iter().find(|edge| edge.value == BackEdge::Live)?;
        }
    } else {
        let exact = number(parameter.strip_prefix("exact")?).filter(|_| !strategy.exact.is_empty())?;
        let allowed = kernel.arguments.iter().all(|argument| match argument.kind {
            ArgumentKind::Count { min, max } => (min..=max).contains(&u64::from(exact)),
            ArgumentKind::Limbs { .. } | ArgumentKind::Limb => true,
        });
        if !allowed {
            return None;
        }
        narrowed.exact = vec![At::new(exact, span.clone())];
    }
    // A parameter that the strategy does not have is refused even at its usual value.
    if !strategy.back_edge.is_empty() {
        narrowed.back_edge = vec![At::new(back_edge, span.clone())];
    }
    for (letter, theirs, ours) in [
        ('r', &strategy.rows, &mut narrowed.rows),
        ('o', &strategy.overlap, &mut narrowed.overlap),
        ('b', &strategy.block, &mut narrowed.block),
        ('k', &strategy.split, &mut narrowed.split),
    ] {
        // A part of the schedule begins with another letter.
        let named = parts.peek().and_then(|part| number(part.strip_prefix(letter)?));
        ours.clear();
        if let Some(value) = named {
            theirs.first()?;
            ours.push(At::new(value, span.clone()));
            parts.next();
        }
    }
    let schedule = match parts.next() {
        None => "generic",
        Some(part) => part
            .strip_prefix("s_")
            .filter(|word| *word == "source" || seed(word).is_some() || specs.cpu(word).is_some())?,
    };
    narrowed.schedule = vec![At::new(schedule.to_owned(), span)];
    if parts.next().is_some() {
        return None;
    }
    kernel.strategies = vec![narrowed];
    Some(Specs { kernels: vec![kernel], cpus: specs.cpus.clone() })
}

/// A number as names write it: no sign, no leading zero.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|number| plain && (1..=LARGEST).contains(number))
}

fn document(compiled: &Compiled<'_>, form: Option<Form>) -> Result<Document, Failure> {
    let plan = &compiled.plan;
    let machine = match &compiled.form {
        Last::Machine(func) => Some(func),
        Last::Portable => None,
    };
    let form = form.unwrap_or(if machine.is_some() { Form::Asm } else { Form::Rust });
    let refused = |why: String| Failure::NoSuchForm { variant: plan.name.clone(), form, why };
    let physical = || machine.ok_or_else(|| refused("it is portable Rust; try `--as rust` or `--as ir`".to_owned()));
    let banner = banner(compiled);
    let mut lines = None;
    let mut bytes = None;
    let text = match form {
        Form::Asm => assembly(physical()?),
        Form::Ir => print::text(&compiled.func, print::Show::default()),
        Form::Rust => rust(compiled, &banner).map_err(|error| refused(error.to_string()))?,
        Form::Bytes => {
            let (code, length) = machine::assemble_parts(physical()?).map_err(|error| refused(error.to_string()))?;
            let mut decoded = disassembled(&code[..length]);
            // The pool of constants.
            let data = |(index, line): (usize, &[u8])| Line {
                offset: (length + 16 * index) as u64,
                bytes: hex(line, " "),
                text: "(data)".to_owned(),
            };
            decoded.extend(code[length..].chunks(16).enumerate().map(data));
            bytes = Some(hex(&code, ""));
            let text = table(&decoded);
            lines = Some(decoded);
            text
        }
    };
    Ok(Document {
        schema: "kiln.show/1",
        variant: plan.name.clone(),
        kernel: plan.kernel.kernel.value.clone(),
        strategy: plan.strategy.name.value.clone(),
        features: compiled.features.names(),
        exact: compiled.func.exact,
        instructions: compiled.instructions,
        code_hash: compiled.code_hash.clone(),
        spec: plan.kernel.file.clone(),
        spec_hash: plan.kernel.hash.clone(),
        form: form.word(),
        banner,
        text,
        bytes,
        lines,
    })
}

/// Instructions indented, labels at the margin.
fn assembly(func: &Func<Physical>) -> String {
    let mut text = String::new();
    for line in asm_text::lines(func, Style::READER) {
        let (code, note) = line.split_once(" # ").unwrap_or((&line, ""));
        let indent = if code.ends_with(':') { "" } else { "    " };
        let code = format!("{indent}{code}");
        let _ = if note.is_empty() { writeln!(text, "{code}") } else { writeln!(text, "{code:<44}# {note}") };
    }
    text
}

fn rust(compiled: &Compiled<'_>, banner: &str) -> Result<String, syn::Error> {
    let ident = compiled.plan.symbol();
    let file: syn::File = match &compiled.form {
        Last::Machine(func) => syn::parse2(rust_naked::item(func, &ident, banner))?,
        Last::Portable => {
            let items = rust_portable::items(&compiled.func, &ident, banner);
            let mut file: syn::File = syn::parse2(items.distinct)?;
            for in_place in items.in_place {
                file.items.extend(syn::parse2::<syn::File>(in_place.item)?.items);
            }
            file
        }
    };
    Ok(prettyplease::unparse(&file))
}

fn disassembled(code: &[u8]) -> Vec<Line> {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_uppercase_hex(false);
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    let mut lines = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let start = instruction.ip();
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let bytes = usize::try_from(start).ok().and_then(|start| code.get(start..start + instruction.len()));
        lines.push(Line { offset: start, bytes: hex(bytes.unwrap_or(&[]), " "), text });
    }
    lines
}

fn hex(bytes: &[u8], between: &str) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between)
}

fn table(lines: &[Line]) -> String {
    let widest = lines.iter().map(|line| line.bytes.len()).max().unwrap_or(0);
    lines.iter().map(|line| format!("{:>5x}  {:<widest$}  {}\n", line.offset, line.bytes, line.text)).collect()
}

fn draw(document: &Document, canvas: &Canvas) -> String {
    // The Rust item carries the banner as its documentation.
    let comment = match document.form {
        "rust" => None,
        "ir" => Some(";"),
        _ => Some("#"),
    };
    let mut text = String::new();
    if let Some(comment) = comment {
        for line in document.banner.lines() {
            let line = format!("{comment} {line}");
            let _ = writeln!(text, "{}", canvas.paint(Tone::Faint, line.trim_end()));
        }
        text.push('\n');
    }
    if document.form != "asm" {
        return text + &document.text;
    }
    for line in document.text.lines() {
        let _ = match line.split_once("# ") {
            Some((code, note)) => writeln!(text, "{code}{}", canvas.paint(Tone::Faint, format!("# {note}"))),
            None => writeln!(text, "{line}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_runtime::provide::Provider;

    fn shown(name: &str, form: Option<Form>) -> Result<Document, Failure> {
        let provider = Provider::shipped();
        let narrowed = match planned(provider.specs(), name)? {
            Some(specs) => specs,
            None => point(provider.specs(), name).ok_or_else(|| unknown(provider.specs(), name))?,
        };
        let plan = plans(&narrowed)?.into_iter().find(|plan| plan.name == name).expect("its plan");
        document(&compile_plan(plan, &narrowed)?, form)
    }

    #[test]
    fn every_form_of_a_machine_variant() {
        let name = "limb64.mul_add/mulx_adx.u8";
        let asm = shown(name, None).unwrap();
        assert!(asm.form == "asm" && asm.text.contains("adcx") && asm.text.ends_with("    ret\n"), "{}", asm.text);
        assert!(shown(name, Some(Form::Ir)).unwrap().text.contains("mulx"));
        let rust = shown(name, Some(Form::Rust)).unwrap().text;
        assert!(rust.contains("pub unsafe extern \"sysv64\" fn limb64_mul_add_mulx_adx_u8("), "{rust}");
        let bytes = shown(name, Some(Form::Bytes)).unwrap();
        let lines = bytes.lines.unwrap();
        assert_eq!((lines[0].offset, lines.last().unwrap().text.as_str()), (0, "ret"));
        assert_eq!(lines.iter().map(|line| line.bytes.replace(' ', "")).collect::<String>(), bytes.bytes.unwrap());
    }

    #[test]
    fn a_portable_variant_is_rust() {
        let name = "limb64.mul_add/portable.u4";
        assert!(shown(name, None).unwrap().text.contains("fn limb64_mul_add_portable_u4("));
        assert!(matches!(shown(name, Some(Form::Asm)), Err(Failure::NoSuchForm { .. })));
    }

    #[test]
    fn points_that_no_spec_asks_for() {
        for name in [
            "limb64.mul_add/mulx.u3",
            "limb64.mul_add/mulx.u64",
            "limb64.mul_add/mulx_adx.u5.live",
            "limb64.mul_add/mulx_adx.u8.s_zen3",
            "limb64.mul_add/mul.u2.s_source",
            "limb64.mul_add/mul.exact7",
            "limb32.mul_add/sse2_mmx.u3",
        ] {
            assert_eq!(shown(name, None).unwrap_or_else(|error| panic!("{name}: {error:?}")).variant, name);
        }
    }

    #[test]
    fn names_of_nothing_have_neighbours() {
        for name in [
            "",
            "/",
            "x",
            "limb64.mul_add",
            "limb64.mul_add/",
            "limb64.mul_add/mulx",
            "limb64.mul_add/mulx.u0",
            "limb64.mul_add/mulx.u08",
            "limb64.mul_add/mulx.u65",
            "limb64.mul_add/mulx.u+8",
            "limb64.mul_add/mulx.u4.live",
            "limb64.mul_add/mulx.u4.s_",
            "limb64.mul_add/mulx.u4.s_z80",
            "limb64.mul_add/mulx.u4.s_zen3.x",
            "limb64.mul_add/mulx.exact0",
            "limb64.mul_add/portable.exact4",
            "limb64.mul_add/mulx.u99999999999",
        ] {
            assert!(matches!(shown(name, None), Err(Failure::UnknownVariant(_))), "{name}");
        }
        let Err(Failure::UnknownVariant(near)) = shown("limb64.mul_add/mulx.q8", None) else { panic!("unknown") };
        assert_eq!(near.names[0], "limb64.mul_add/mulx.u8");
    }
}
