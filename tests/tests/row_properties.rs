//! Are all forms of all kernels right at every tail, for operands of random density, with every aliasing that the contract
//! allows? Natives run between guard pages, with registers and state checked; the interpreter knows each argument's bounds.
//!
//! Those of ciphers meet the interpreter in `aes_lengths`; here, natively, a key of 128 bits has every length and pattern, longer
//! keys those of a check at start-up.

use kiln_runtime::detect::native;
use kiln_runtime::verify::{Depth, Lengths, Options, known, verify};
use kiln_tests::operands::Operands;
use kiln_tests::skips::Skips;
use kiln_tests::{answers, forms, runs};

/// The largest `n` in the interpreter where the variant does not ask for one: beyond three turns of an unroll of 4.
const INTERPRETED: u64 = 14;

#[test]
fn the_interpreter_agrees_with_big_integers() {
    let mut ran = 0;
    for name in forms::limb_kernels().chain(forms::table_kernels()) {
        let kernel = forms::kernel(name);
        for compiled in forms::compiled().iter().filter(|compiled| compiled.plan.kernel.kernel.value == name) {
            let variant = &compiled.plan.name;
            let unroll = forms::unroll(compiled);
            let programs = forms::programs(compiled);
            let options = Options { depth: Depth::Full { cases: 0 }, ..Options::default() };
            let largest = unroll.map_or(INTERPRETED, |unroll| INTERPRETED.max(unroll + 2));
            let lengths = Lengths { exact: compiled.func.exact, unroll };
            for case in known(kernel, lengths, &options, largest) {
                let operands = Operands::known(kernel, &case);
                let expected = answers::expected(&operands);
                for (stage, program) in &programs {
                    let got = runs::interpret(&operands, program);
                    assert_eq!(got.as_ref(), Ok(&expected), "{variant}, {stage}, {:#x}: {operands:?}", case.seed);
                    ran += 1;
                }
            }
        }
    }
    println!("{ran} interpreted cases");
    assert!(ran > 10_000);
}

#[test]
fn natives_agree_between_guard_pages() {
    let cpu = &native();
    let mut skips = Skips::default();
    let mut cases = 0;
    for compiled in forms::compiled() {
        let kernel = forms::kernel(&compiled.plan.kernel.kernel);
        for native in forms::natives(compiled, cpu, &mut skips) {
            let longer = kernel.cipher.is_some_and(|cipher| cipher.key_bits > 128);
            let depth = if longer { Depth::Quick } else { Depth::Full { cases: 1 } };
            let options = Options { depth, guard_pages: true, ..Options::default() };
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
