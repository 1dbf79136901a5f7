//! Are points of AES right that no shipped spec asks for: odd numbers of blocks, with rounds, round keys and XOR in all
//! combinations, in the order of the source and of a seed, in shipped modes and in made-up ones?
//!
//! In the order of the source a key of 128 bits has all points; in that of a seed a key of 256 bits, which has more of the same
//! rounds, a few.

use kiln_codegen::compile::compile;
use kiln_codegen::family::{Knob, Strategy, strategies};
use kiln_codegen::spec::{SourceFile, Specs};
use kiln_kernels::catalogue::{Kernel, Mode, Term};
use kiln_runtime::detect::native;
use kiln_runtime::verify::{Lengths, Options, Rejected, known, verify};
use kiln_tests::operands::Operands;
use kiln_tests::spec_cases::words;
use kiln_tests::{answers, forms, runs};
use std::collections::BTreeMap;

/// Which points of the lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    All,
    Few,
}

/// The list of a parameter.
fn list(knob: Knob, strategy: &Strategy, mode: &Mode, lists: Lists) -> String {
    let serial = mode.input.contains(&Term::PreviousOut);
    match (knob, strategy.in_flight, lists) {
        (Knob::Blocks, Some(lanes), _) => format!("blocks = [{}]", if serial { 1 } else { lanes }),
        (Knob::Blocks, None, Lists::All) => "blocks = [1, 3, 5, 7, 11, 14, 20]".into(),
        (Knob::Blocks, None, Lists::Few) => "blocks = [3, 14]".into(),
        (Knob::Exact, _, Lists::All) => "exact = [1, 2, 3, 5, 9]".into(),
        (Knob::Exact, _, Lists::Few) => "exact = [3]".into(),
        (Knob::Rounds, ..) => "rounds = [\"looped\", \"unrolled\"]".into(),
        (Knob::RoundKeys, ..) => "round_keys = [\"memory\", \"registers\"]".into(),
        (Knob::Xor, ..) => "xor = [\"apart\", \"folded\"]".into(),
        (Knob::Unroll | Knob::BackEdge | Knob::Rows | Knob::Overlap | Knob::Block | Knob::Split, ..) => {
            panic!("no list of a mode: {knob:?}")
        }
    }
}

/// A kernel's spec with other lists, for the sizes of the key that have these, in the order of the source or of a seed.
fn odd(kernel: &Kernel, schedule: &str, lists: Lists, key_bits: &str, rounds: &str) -> SourceFile {
    let (head, _) = kernel.spec_text.split_once("[[strategy]]").expect("strategies");
    let head = head.replacen("[128, 192, 256]", key_bits, 1).replacen("[10, 12, 14]", rounds, 1);
    let mode = kernel.cipher.and_then(|cipher| cipher.mode).expect("a mode");
    let strategy = |strategy: &Strategy| {
        let lists: Vec<String> = strategy.knobs.iter().map(|knob| list(*knob, strategy, &mode, lists)).collect();
        // A schedule is for what is made of machine instructions.
        let schedule =
            if strategy.word == "portable" { String::new() } else { format!("schedule = [\"{schedule}\"]\n") };
        format!("[[strategy]]\nname = \"{}\"\n{}\n{schedule}", strategy.word, lists.join("\n"))
    };
    let strategies: Vec<String> = strategies(kernel.name).iter().map(strategy).collect();
    SourceFile { path: kernel.spec_file.into(), bytes: format!("{head}{}", strategies.join("\n")).into_bytes() }
}

#[derive(Default)]
struct Counts {
    variants: usize,
    natives: u64,
    interpreted: usize,
    combinations: BTreeMap<String, usize>,
}

fn check(file: SourceFile, counts: &mut Counts) {
    let cpu = &native();
    let specs = Specs::parse(&[file], &words()).unwrap_or_else(|problems| panic!("{problems}"));
    for compiled in compile(&specs).unwrap_or_else(|problems| panic!("{problems}")) {
        counts.variants += 1;
        let parameters = compiled.plan.parameters;
        let combination = format!("{:?} {:?} {:?}", parameters.rounds, parameters.keys, parameters.xor);
        *counts.combinations.entry(combination).or_default() += 1;
        let (variant, kernel) = (&compiled.plan.name, forms::kernel(&compiled.plan.kernel.kernel));
        let programs = forms::programs(&compiled);
        let unroll = forms::unroll(&compiled);
        let blocks = unroll.unwrap_or_default();
        // In the interpreter the ends of the loop and a tail; natively every length that a start-up check has, and guard pages.
        let telling = [0, 1, blocks.saturating_sub(1), blocks, blocks + 3];
        let lengths = Lengths { exact: compiled.func.exact, unroll };
        let cases = known(kernel, lengths, &Options::default(), blocks + 3);
        let exact = compiled.func.exact.is_some();
        for case in cases.iter().filter(|case| exact || telling.contains(&case.n)).take(4) {
            let operands = Operands::known(kernel, case);
            let expected = answers::expected(&operands);
            for (stage, program) in &programs {
                let got = runs::interpret(&operands, program);
                assert_eq!(got.as_ref(), Ok(&expected), "{variant}, {stage}, {:#x}: {operands:?}", case.seed);
                counts.interpreted += 1;
            }
        }
        let Some(candidate) = forms::generated(&compiled) else { continue };
        match verify(kernel, &candidate, cpu, &Options { guard_pages: true, ..Options::default() }) {
            Ok(verified) => counts.natives += verified.report().cases,
            Err(Rejected::Ineligible(why)) => println!("skipped {variant}: {why}"),
            Err(Rejected::Failed(report)) => panic!("{variant}: {report:?}"),
        }
    }
}

/// One kernel of each spec file: the first size of its key.
fn files() -> impl Iterator<Item = &'static Kernel> {
    forms::modes().filter(|kernel| kernel.cipher.is_some_and(|cipher| cipher.key_bits == 128))
}

fn check_all(schedule: &str, lists: Lists) {
    let mut counts = Counts::default();
    let mut modes = 0;
    for kernel in files() {
        let (key_bits, rounds) = if lists == Lists::All { ("[128]", "[10]") } else { ("[256]", "[14]") };
        check(odd(kernel, schedule, lists, key_bits, rounds), &mut counts);
        modes += 1;
    }
    let Counts { variants, natives, interpreted, combinations } = counts;
    println!("{schedule}: {modes} modes, {variants} variants, {natives} native runs, {interpreted} interpreted");
    println!("{combinations:?}");
    assert!(modes >= 17 && variants > 300 && interpreted > 3000, "{modes} {variants} {interpreted}");
    // Looped: keys in memory. Unrolled: in memory and in registers. Each with both places of the XOR.
    assert!(combinations.len() >= 6, "{combinations:?}");
}

#[test]
fn as_the_algorithm_wrote_them() {
    check_all("source", Lists::All);
}

#[test]
fn in_the_order_of_a_seed() {
    check_all("seed7", Lists::Few);
}
