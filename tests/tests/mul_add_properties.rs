//! Are all forms right for every n from 0 to 3 x unroll + 2, for operands of random density, in place and out of place?
//! Natives run between guard pages, with registers and state checked; the interpreter knows each argument's bounds.

use kiln_codegen::family::Parameters;
use kiln_runtime::detect::native;
use kiln_runtime::random::Random;
use kiln_runtime::verify::{Depth, Options, verify};
use kiln_tests::forms::{self, MulAdd, Skips};

/// A limb of random bit density: all zeros and all ones among them.
fn limb(random: &mut Random, bits: u32) -> u64 {
    let raw = match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.below(64),
        3 => u64::MAX << random.below(64),
        _ => {
            let density = random.below(64) as u32;
            random.word_of_density(density)
        }
    };
    if bits == 64 { raw } else { raw & 0xffff_ffff }
}

fn lengths(parameters: Parameters) -> Vec<usize> {
    match parameters {
        Parameters::Unrolled { unroll, .. } => (0..=3 * unroll as usize + 2).collect(),
        Parameters::Exact(limbs) => vec![limbs as usize],
    }
}

#[test]
fn the_interpreter_agrees_with_big_integers() {
    for compiled in forms::compiled() {
        let (name, bits) = (&compiled.plan.name, compiled.func.limb_bits);
        let programs = forms::programs(compiled);
        let seed = 0x6b69_6c6e;
        let mut random = Random::new(seed);
        for n in lengths(compiled.plan.parameters) {
            for case in 0..12 {
                let mut row = || (0..n).map(|_| limb(&mut random, bits)).collect::<Vec<_>>();
                let (r, a) = (row(), row());
                let in_place = case % 3 == 2;
                let a = if in_place { r.clone() } else { a };
                let operands = MulAdd { bits, r, a, w: limb(&mut random, bits), in_place };
                for (stage, program) in &programs {
                    let got = operands.interpret(program);
                    assert_eq!(got, operands.expected(), "{name}, {stage}, seed {seed:#x}: {}", operands.hex());
                }
            }
        }
    }
}

#[test]
fn natives_agree_between_guard_pages() {
    let cpu = &native();
    let mut skips = Skips::default();
    let mut cases = 0;
    for compiled in forms::compiled() {
        let kernel = forms::kernel(&compiled.plan.kernel.kernel);
        for native in forms::natives(compiled, cpu, &mut skips) {
            let options = Options { depth: Depth::Full { cases: 8 }, guard_pages: true, ..Options::default() };
            let origin = native.origin().word();
            match verify(kernel, &native, cpu, &options) {
                Ok(verified) => cases += verified.report().cases,
                Err(rejected) => panic!("{} ({origin}): {rejected:?}", compiled.plan.name),
            }
        }
    }
    skips.report();
    println!("{cases} native cases");
    assert!(cases > 10_000);
}
