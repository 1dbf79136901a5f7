//! Is the plain reference of each kernel right, against big integers, somebody else's rounds or a layout's words, on what verification would draw?

use kiln_kernels::catalogue::Kernel;
use kiln_runtime::verify::{Depth, Lengths, Options, known};
use kiln_tests::operands::Operands;
use kiln_tests::{answers, forms, made_up, runs};

fn check(kernel: &'static Kernel, seed: u64) -> usize {
    // A block has no operand that is rarer than another.
    let more = if kernel.cipher.is_some() { 1 } else { 30 };
    let options = Options { seed, depth: Depth::Full { cases: more }, ..Options::default() };
    let cases = known(kernel, Lengths { exact: None, unroll: Some(8) }, &options, 40);
    for case in &cases {
        let operands = Operands::known(kernel, case);
        let expected = answers::expected(&operands);
        // SAFETY: the reference keeps the contract of its kernel and needs no feature.
        let got = unsafe { runs::run(&operands, kernel.reference) };
        assert_eq!(got, expected, "seed {seed:#x}: {operands:?}");
    }
    cases.len()
}

#[test]
fn each_reference_agrees_with_big_integers() {
    let mut ran = 0;
    for name in forms::limb_kernels() {
        ran += check(forms::kernel(name), 0x7265_6665);
    }
    println!("{ran} cases");
    assert!(ran > 10_000);
}

#[test]
fn each_reference_agrees_with_the_rounds_of_others() {
    let mut ran = 0;
    for kernel in
        kiln_kernels::kernels().chain(made_up::KERNELS.iter().copied()).filter(|kernel| kernel.cipher.is_some())
    {
        ran += check(kernel, 0x7265_6665);
    }
    println!("{ran} cases");
    assert!(ran > 5_000);
}

#[test]
fn each_reference_agrees_with_the_words_of_its_layout() {
    let mut ran = 0;
    for name in forms::table_kernels() {
        ran += check(forms::kernel(name), 0x7265_6665);
    }
    println!("{ran} cases");
    assert!(ran > 5_000);
}

#[test]
fn every_kernel_is_on_limbs_of_a_cipher_or_of_a_table() {
    let of_ciphers = kiln_kernels::kernels().filter(|kernel| kernel.cipher.is_some()).count();
    let others = forms::limb_kernels().count() + forms::table_kernels().count();
    assert_eq!(others + of_ciphers, kiln_kernels::kernels().count(), "none is left out");
}

#[test]
fn each_limb_kernel_has_an_answer_for_both_limbs() {
    for name in answers::KERNELS {
        for family in ["limb32", "limb64"] {
            let name = format!("{family}.{name}");
            assert!(forms::limb_kernels().any(|kernel| kernel == name), "{name} is not shipped");
        }
    }
    for name in answers::MONTGOMERY {
        let name = format!("mont.{name}");
        assert!(forms::limb_kernels().any(|kernel| kernel == name), "{name} is not shipped");
    }
    let answers = 2 * answers::KERNELS.len() + answers::MONTGOMERY.len();
    assert_eq!(forms::limb_kernels().count(), answers, "no kernel without an answer");
}
