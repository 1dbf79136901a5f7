//! Are all forms of all modes right for random keys and blocks at every number of blocks from 0 to 70, and at some beyond? Shipped
//! modes and made-up ones; every loop's turns less one, the turns, one more, and twice that are among these.

use kiln_kernels::catalogue::{ArgumentKind, Kernel};
use kiln_runtime::random::Random;
use kiln_tests::aes_rows::keys_for;
use kiln_tests::forms;
use kiln_tests::operands::Operands;
use kiln_tests::trial::{Case, Tally, try_all};

/// Beyond three turns of the longest loop.
const EVERY: u64 = 70;

const BEYOND: [u64; 7] = [95, 96, 97, 127, 128, 129, 513];

/// The largest in the interpreter, but for variants of one size.
const INTERPRETED: u64 = 9;

/// Those of a kernel: of longer keys each sixth, by turns, since rounds know nothing of lengths.
fn lengths(kernel: &Kernel, turn: u64) -> Vec<u64> {
    let all = (0..=EVERY).chain(BEYOND);
    let whole = kernel.cipher.is_some_and(|cipher| cipher.key_bits == 128);
    all.filter(|n| whole || *n < INTERPRETED || (n + turn).is_multiple_of(6)).collect()
}

fn case(kernel: &'static Kernel, n: u64, random: &mut Random) -> Case {
    let cipher = kernel.cipher.expect("a cipher's kernel");
    let mut noise = |length: u64| -> Vec<u8> { (0..length).map(|_| random.word() as u8).collect() };
    let key = noise(u64::from(cipher.key_bits) / 8);
    let mut operands = Operands::of(kernel).integer("n", n).bytes("keys", &keys_for(kernel, &key));
    for argument in kernel.arguments.iter().filter(|argument| ["input", "iv"].contains(&argument.name)) {
        let ArgumentKind::Limbs { length, .. } = argument.kind else { panic!("{} is memory", argument.name) };
        operands = operands.bytes(argument.name, &noise(length.limbs(|_| n)));
    }
    let in_place = random.below(2) == 1;
    let operands = if in_place { operands.same("output", "input") } else { operands.noise(random) };
    Case::new(format!("{n} blocks, in place: {in_place}"), operands)
}

#[test]
fn every_length_is_right_in_every_form() {
    let mut random = Random::new(0x6165_736c);
    let mut tally = Tally::default();
    let mut kernels = 0;
    for (turn, kernel) in (0..).zip(forms::modes()) {
        let lengths = lengths(kernel, turn);
        let mut cases: Vec<Case> = lengths.iter().map(|n| case(kernel, *n, &mut random)).collect();
        // Those that exact variants have, again and again.
        cases.extend((0..4).flat_map(|_| [2, 4, 5, 7]).map(|n| case(kernel, n, &mut random).native_only()));
        try_all(kernel.name, &cases, INTERPRETED, &mut tally);
        kernels += 1;
    }
    println!("{kernels} kernels");
    tally.report_whole();
}

#[test]
fn every_loop_has_its_turns_among_the_lengths() {
    for compiled in forms::compiled().iter().chain(forms::made_up()) {
        let blocks = forms::unroll(compiled).unwrap_or_default();
        let cipher = compiled.plan.kernel.cipher.as_ref().is_some_and(|cipher| cipher.mode.is_some());
        assert!(!cipher || 2 * blocks < EVERY, "{}: longer than the tests", compiled.plan.name);
    }
}
