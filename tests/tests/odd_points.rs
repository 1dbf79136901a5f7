//! Are points right that no spec asks for: odd unrolls, sizes and blocks, every strategy of every limb kernel, in orders drawn
//! from a seed? Whoever sweeps, or puts a spec in a folder, gets such variants.

use kiln_codegen::compile::compile;
use kiln_codegen::family::{Knob, strategies};
use kiln_codegen::spec::{SourceFile, Specs};
use kiln_runtime::detect::native;
use kiln_runtime::verify::{Depth, Lengths, Options, Rejected, known, verify};
use kiln_tests::operands::Operands;
use kiln_tests::spec_cases::words;
use kiln_tests::{answers, forms, runs};

/// The list of a parameter: its ends, and what no power of two is.
fn list(knob: Knob) -> &'static str {
    match knob {
        Knob::Unroll => "unroll = [1, 3, 7]",
        Knob::Exact => "exact = [1, 2, 3, 5, 9, 11]",
        Knob::BackEdge => "back_edge = [\"folded\", \"live\"]",
        Knob::Rows => "rows = [1, 2]",
        Knob::Overlap => "overlap = [0, 3]",
        Knob::Block => "block = [1, 3, 16]",
        Knob::Split => "split = [0, 1, 2]",
        Knob::Blocks => "blocks = [1, 3, 7, 14]",
        Knob::Rounds => "rounds = [\"looped\", \"unrolled\"]",
        Knob::RoundKeys => "round_keys = [\"memory\", \"registers\"]",
        Knob::Xor => "xor = [\"apart\", \"folded\"]",
    }
}

/// A shipped kernel's spec with other lists, in the order of the source or of a seed.
fn odd(name: &str, schedule: &str) -> SourceFile {
    let kernel = forms::kernel(name);
    let (head, _) = kernel.spec_text.split_once("[[strategy]]").expect("strategies");
    let strategy = |strategy: &kiln_codegen::family::Strategy| {
        let lists: Vec<&str> = strategy.knobs.iter().map(|knob| list(*knob)).collect();
        format!("[[strategy]]\nname = \"{}\"\n{}\nschedule = [\"{schedule}\"]\n", strategy.word, lists.join("\n"))
    };
    let strategies: Vec<String> = strategies(name).iter().map(strategy).collect();
    SourceFile { path: format!("{name}.toml"), bytes: format!("{head}{}", strategies.join("\n")).into_bytes() }
}

fn check(schedule: &str) {
    let cpu = &native();
    let (mut variants, mut interpreted, mut natives) = (0, 0, 0);
    for name in forms::limb_kernels().chain(forms::table_kernels()) {
        let kernel = forms::kernel(name);
        let specs = Specs::parse(&[odd(name, schedule)], &words()).unwrap_or_else(|problems| panic!("{problems}"));
        for compiled in compile(&specs).unwrap_or_else(|problems| panic!("{problems}")) {
            variants += 1;
            let variant = &compiled.plan.name;
            let programs = forms::programs(&compiled);
            let unroll = forms::unroll(&compiled);
            let options = Options { depth: Depth::Full { cases: 0 }, ..Options::default() };
            let lengths = Lengths { exact: compiled.func.exact, unroll };
            for case in known(kernel, lengths, &options, unroll.unwrap_or(0) + 3) {
                let operands = Operands::known(kernel, &case);
                let expected = answers::expected(&operands);
                for (stage, program) in &programs {
                    let got = runs::interpret(&operands, program);
                    assert_eq!(got.as_ref(), Ok(&expected), "{variant}, {stage}, {:#x}: {operands:?}", case.seed);
                    interpreted += 1;
                }
            }
            let Some(candidate) = forms::generated(&compiled) else { continue };
            match verify(kernel, &candidate, cpu, &Options { guard_pages: true, ..Options::default() }) {
                Ok(verified) => natives += verified.report().cases,
                Err(Rejected::Ineligible(why)) => println!("skipped {variant}: {why}"),
                Err(Rejected::Failed(report)) => panic!("{variant}: {report:?}"),
            }
        }
    }
    println!("{schedule}: {variants} variants, {natives} native runs, {interpreted} interpreted");
    assert!(variants > 300 && interpreted > 10_000, "{variants} {interpreted}");
}

#[test]
fn as_the_algorithm_wrote_them() {
    check("source");
}

#[test]
fn in_the_order_of_a_seed() {
    check("seed7");
}
