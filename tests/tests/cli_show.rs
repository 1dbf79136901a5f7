//! Is what `kiln show` prints of each shipped variant the variant: does the assembly assemble to its machine code, does the
//! Rust parse, does the IR stay the same, does the banner say what it must?

use iced_x86::Instruction;
use kiln_kernels::catalogue::{Argument, ArgumentKind, Kernel, Origin, Variant};
use kiln_tests::cli::{Kiln, rows, text};
use kiln_tests::decode::{decode, disassemble_first};
use kiln_tests::forms;
use kiln_tests::tools::{Scratch, found, gnu_assemble};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

fn kiln() -> Kiln {
    Kiln::new(env!("CARGO_BIN_EXE_kiln-under-test"))
}

/// Of each strategy of each kernel the first variant with a loop, the first for one size, and so on: a process for each form
/// of each variant would take minutes, and all of them have been through the same printers elsewhere. A cipher's kernels for the
/// sizes of its key are one here, and where their round keys and XOR are is no kind of its own.
fn variants() -> impl Iterator<Item = &'static Variant> {
    let mut seen = BTreeSet::new();
    let all = kiln_kernels::kernels().flat_map(|kernel| kernel.variants.iter().map(move |variant| (kernel, variant)));
    let first = all.filter(move |(kernel, variant)| {
        let (_, parameters) = variant.name.split_once('/').expect("a kernel and the rest");
        let count = if kernel.cipher.is_some() { 2 } else { usize::MAX };
        let kind: Vec<&str> = parameters.split('.').take(count).collect();
        let kind: String = kind.join(".").chars().filter(|c| !c.is_ascii_digit()).collect();
        seen.insert((kernel.spec_file, kind))
    });
    first.map(|(_, variant)| variant)
}

/// Whether a variant is one of those.
fn is_shown(name: &str) -> bool {
    static SHOWN: OnceLock<BTreeSet<&'static str>> = OnceLock::new();
    SHOWN.get_or_init(|| variants().map(|variant| variant.name).collect()).contains(name)
}

fn machine_variants() -> Vec<&'static str> {
    let machine: Vec<_> =
        variants().filter(|variant| variant.origin == Origin::Compiled).map(|variant| variant.name).collect();
    assert!(machine.len() >= 40, "only {} variants", machine.len());
    machine
}

fn document(name: &str, form: &str) -> Value {
    let document = kiln().run(&["show", name, "--as", form, "--json"]).exits(0).json("kiln.show/1");
    assert_eq!((text(&document, "variant"), text(&document, "as")), (name, form));
    document
}

/// The bytes that a document has in hex.
fn bytes(document: &Value) -> Vec<u8> {
    let hex = text(document, "bytes").as_bytes();
    let (pairs, rest) = hex.as_chunks::<2>();
    assert!(rest.is_empty());
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
    pairs.iter().map(byte).collect()
}

/// The lines of a document that are instructions: a pool of constants may come behind them.
fn code_lines(document: &Value) -> Vec<&Value> {
    rows(document, "lines").iter().take_while(|line| text(line, "text") != "(data)").collect()
}

#[test]
fn assembly_assembles_to_the_machine_code() {
    let names = machine_variants();
    if !found(&["as", "objcopy"], names.len()) {
        return;
    }
    let scratch = Scratch::new("cli-show");
    for name in names {
        // All that a person sees, banner included: it can be given to the assembler as it is.
        let said = kiln().run(&["show", name]).exits(0);
        let lines: Vec<String> = said.out.lines().map(str::to_owned).collect();
        let theirs = gnu_assemble(&scratch, &lines, &scratch.file("shown.o"));
        let shown = document(name, "bytes");
        let (ours, instructions) = (bytes(&shown), code_lines(&shown).len());
        assert_eq!(disassemble_first(&theirs, instructions), disassemble_first(&ours, instructions), "{name}");
    }
}

#[test]
fn machine_code_is_that_of_the_catalogue() {
    for compiled in forms::compiled().iter().filter(|compiled| is_shown(&compiled.plan.name)) {
        let kiln_codegen::compile::Form::Machine(func) = &compiled.form else { continue };
        let name = &compiled.plan.name;
        let shown = document(name, "bytes");
        let code = bytes(&shown);
        assert_eq!(code, kiln_codegen::backend::machine::assemble(func).expect("encodes"), "{name}");
        let shipped = forms::shipped(compiled);
        assert_eq!(text(&shown, "code_hash"), shipped.code_hash(), "{name}");
        assert_eq!(shown["instructions"], shipped.instructions(), "{name}");
        // A line for each instruction, with its place and bytes.
        let (lines, all) = (code_lines(&shown), rows(&shown, "lines"));
        let end = all.get(lines.len()).map_or(code.len(), |data| data["offset"].as_u64().expect("a place") as usize);
        let decoded = decode(&code[..end]);
        assert_eq!(lines.len(), decoded.len(), "{name}");
        for (line, instruction) in lines.iter().zip(&decoded) {
            let own = &code[instruction.ip() as usize..Instruction::next_ip(instruction) as usize];
            let hex: Vec<String> = own.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!((&line["offset"], text(line, "bytes")), (&instruction.ip().into(), hex.join(" ").as_str()));
        }
    }
}

#[test]
fn rust_parses_and_carries_the_banner() {
    for variant in variants() {
        let said = kiln().run(&["show", variant.name, "--as", "rust"]).exits(0);
        let file = syn::parse_file(&said.out).unwrap_or_else(|why| panic!("{}: {why}\n{}", variant.name, said.out));
        let symbol = variant.name.replace(['.', '/'], "_");
        let functions = file.items.iter().filter_map(|item| match item {
            syn::Item::Fn(function) => Some(function.sig.ident.to_string()),
            _ => None,
        });
        assert!(functions.into_iter().any(|name| name == symbol), "{symbol} in\n{}", said.out);
        let banner = document(variant.name, "rust");
        for line in text(&banner, "banner").lines().filter(|line| !line.is_empty()) {
            assert!(said.out.contains(line), "{line:?} in\n{}", said.out);
        }
        // Rust is what a portable variant is, and assembly what a machine variant is.
        let form = if variant.origin == Origin::Portable { "rust" } else { "asm" };
        let usual = kiln().run(&["show", variant.name, "--json"]).exits(0).json("kiln.show/1");
        assert_eq!(text(&usual, "as"), form, "{}", variant.name);
    }
}

#[test]
fn every_form_is_the_same_everywhere() {
    for name in ["limb64.mul_add/mulx_adx.u8", "limb32.mul_add/sse2_mmx.u4", "limb64.mul_add/portable.u4"] {
        let forms = if name.contains("portable") { &["ir", "rust"][..] } else { &["asm", "bytes", "ir", "rust"] };
        for form in forms {
            let line = ["show", name, "--as", form];
            let first = kiln().run(&line).exits(0);
            assert_eq!(first.err, "");
            let elsewhere = kiln()
                .without("HOME")
                .with("LANG", "de_DE.UTF-8")
                .with("COLUMNS", "40")
                .with("KILN_FEATURES", "-bmi2,-adx,-mmx")
                .with("KILN_DENY", "*")
                .with("KILN_MACHINE_CODE", "off")
                .run(&line)
                .exits(0);
            assert_eq!(first.out, elsewhere.out, "{name} as {form}");
        }
    }
}

#[test]
fn ir_is_what_the_interpreter_runs() {
    for compiled in forms::compiled().iter().filter(|compiled| is_shown(&compiled.plan.name)) {
        let shown = document(&compiled.plan.name, "ir");
        let expected = kiln_codegen::ir::print::text(&compiled.func, kiln_codegen::ir::print::Show::default());
        assert_eq!(text(&shown, "text"), expected, "{}", compiled.plan.name);
    }
}

/// What so many bits are called.
fn elements(bits: u32) -> String {
    if bits == 8 { "bytes".to_owned() } else { format!("limbs of {bits} bits") }
}

/// How the line of an argument begins.
fn precondition(kernel: &Kernel, index: usize, argument: &Argument, variant: &Variant) -> String {
    let first_count = kernel.arguments.iter().position(|argument| matches!(argument.kind, ArgumentKind::Count { .. }));
    let what = match (argument.kind, variant.exact) {
        (ArgumentKind::Limbs { bits, length }, _) => {
            let name = |&(count, times): &(usize, u64)| match times {
                1 => kernel.arguments[count].name.to_owned(),
                times => format!("{times}{}", kernel.arguments[count].name),
            };
            let mut terms: Vec<String> = length.terms.iter().map(name).collect();
            if length.plus > 0 || terms.is_empty() {
                terms.push(length.plus.to_string());
            }
            format!("{} {}", terms.join(" + "), elements(bits))
        }
        (ArgumentKind::Count { .. }, Some(exact)) if Some(index) == first_count => format!("exactly {exact}"),
        (ArgumentKind::Count { min, max }, _) => format!("{min} to {max}"),
        (ArgumentKind::Limb { bits }, _) => format!("{bits} bits by value"),
    };
    format!("- {}: {what}", argument.name)
}

/// Contract 7: what it computes, its preconditions, its registers, its spec file, its strategy, a hash of its spec, and how
/// to make it again.
#[test]
fn the_banner_says_what_it_must() {
    for kernel in kiln_kernels::kernels() {
        for variant in kernel.variants.iter().filter(|variant| is_shown(variant.name)) {
            let usual = kiln().run(&["show", variant.name, "--json"]).exits(0).json("kiln.show/1");
            let banner = text(&usual, "banner");
            let file = kernel.spec_file.rsplit('/').next().expect("a name");
            let mut parts = vec![
                format!("`{}`: {}", variant.name, kernel.math),
                "do not edit".to_owned(),
                format!("Spec: {file} (hash {})", kernel.spec_hash),
                format!("strategy `{}`", text(&usual, "strategy")),
                format!("Again: `kiln show {}`", variant.name),
                "Preconditions:\n- ".to_owned(),
            ];
            parts.extend(
                kernel
                    .arguments
                    .iter()
                    .enumerate()
                    .map(|(index, argument)| precondition(kernel, index, argument, variant)),
            );
            parts.push(match variant.features {
                [] => "CPU: no feature beyond the baseline.".to_owned(),
                features => format!("CPU: {}.", features.join(", ")),
            });
            if variant.origin == Origin::Compiled {
                parts.push("Registers: System V; saves ".to_owned());
                parts.push(format!("{} instructions, code hash {}", variant.instructions, variant.code_hash));
            }
            for part in parts {
                assert!(banner.contains(&part), "{}: no {part:?} in\n{banner}", variant.name);
            }
            // No date, path or host.
            assert!(!banner.contains("specs/") && !banner.contains(env!("CARGO_MANIFEST_DIR")), "{banner}");
        }
    }
}

/// What "Again" says works.
#[test]
fn again_makes_it_again() {
    let shown = kiln().run(&["show", "limb64.mul_add/mulx.u8"]).exits(0).out;
    let again = shown.split("Again: `kiln ").nth(1).and_then(|rest| rest.split('`').next()).expect("a command");
    assert_eq!(kiln().run(&again.split(' ').collect::<Vec<_>>()).exits(0).out, shown);
}

#[test]
fn points_that_no_spec_asks_for_are_shown_too() {
    for name in [
        "limb64.mul_add/mulx.u7",
        "limb64.mul_add/mulx_adx.u8.s_zen3",
        "limb64.mul_add/mul.exact5",
        "limb64.mul_nxn/mulx_adx_block.u3.b5.s_source",
        "limb64.mul_add_prop/mulx.u7",
    ] {
        let shown = document(name, "bytes");
        assert!(shown["instructions"].as_u64() > Some(10), "{name}");
        assert!(text(&shown, "banner").contains(&format!("Again: `kiln show {name}`")));
    }
}
