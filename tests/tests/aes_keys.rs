//! Are round keys right in every form, for keys of random bits, of few bits and of many: expanded, inverted and sliced?

use kiln_kernels::catalogue::{Access, ArgumentKind, Kernel};
use kiln_runtime::random::Random;
use kiln_tests::operands::Operands;
use kiln_tests::patterns::limb;
use kiln_tests::trial::{Case, Tally, try_all};

fn case(kernel: &'static Kernel, turn: usize, random: &mut Random) -> Case {
    let argument = kernel.arguments.iter().find(|argument| argument.access == Access::In).expect("an input");
    let ArgumentKind::Limbs { length, .. } = argument.kind else { panic!("{}: memory", argument.name) };
    let length = length.limbs(|_| 0) as usize;
    let bytes: Vec<u8> = match turn {
        0 => vec![0; length],
        1 => vec![0xff; length],
        _ => std::iter::repeat_with(|| limb(random, 64).to_le_bytes()).flatten().take(length).collect(),
    };
    Case::new(format!("key {turn}"), Operands::of(kernel).bytes(argument.name, &bytes).noise(random))
}

#[test]
fn every_key_in_every_form() {
    let mut random = Random::new(0x726b_6579);
    let mut tally = Tally::default();
    let mut kernels = 0;
    for kernel in kiln_kernels::kernels().filter(|kernel| kernel.cipher.is_some_and(|cipher| cipher.mode.is_none())) {
        let cases: Vec<Case> = (0..130).map(|turn| case(kernel, turn, &mut random)).collect();
        try_all(kernel.name, &cases, u64::MAX, &mut tally);
        kernels += 1;
    }
    println!("{kernels} kernels");
    assert!(kernels >= 6, "{kernels}: two for each size of the key");
    tally.report_whole();
}
