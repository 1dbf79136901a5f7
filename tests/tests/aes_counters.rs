//! Are counters of 32, 64 and 128 bits right in every form when they carry out of any byte, or wrap, at any place in the batch,
//! and is what is left in the `iv` the counter of the next block?

use kiln_kernels::catalogue::{Kernel, Term};
use kiln_runtime::random::Random;
use kiln_tests::aes_rows::keys_for;
use kiln_tests::forms;
use kiln_tests::operands::Operands;
use kiln_tests::trial::{Case, Tally, try_all};
use std::collections::BTreeSet;

/// Blocks of a case: a turn of the longest loop, and tails on both sides of it.
const BLOCKS: u64 = 24 + 7;

/// A counter whose lowest `carried` bytes wrap after `before` blocks. The byte above them is not all ones, unless it is there none.
fn counter(random: &mut Random, carried: u32, before: u64) -> [u8; 16] {
    let low = u128::MAX >> (128 - 8 * carried);
    let high = u128::from(random.word()) << 64 | u128::from(random.word());
    let above = if carried == 16 { 0 } else { 1u128 << (8 * carried) };
    (high & !low & !above | (low - u128::from(before.wrapping_sub(1)))).to_be_bytes()
}

fn case(kernel: &'static Kernel, n: u64, iv: &[u8; 16], label: String, random: &mut Random) -> Case {
    let cipher = kernel.cipher.expect("a cipher's kernel");
    let mut noise = |length: u64| -> Vec<u8> { (0..length).map(|_| random.word() as u8).collect() };
    let key = noise(u64::from(cipher.key_bits) / 8);
    let operands = Operands::of(kernel).integer("n", n).bytes("keys", &keys_for(kernel, &key)).bytes("iv", iv);
    let operands = operands.bytes("input", &noise(16 * n));
    let in_place = random.below(2) == 1;
    Case::new(label, if in_place { operands.same("output", "input") } else { operands.noise(random) })
}

/// Of each number of bytes that carry, each place in the batch; for longer keys and modes that decipher, which count no
/// differently, each fifth.
fn cases(kernel: &'static Kernel) -> Vec<Case> {
    let mut random = Random::new(0x6374_7277);
    let cipher = kernel.cipher.expect("a cipher's kernel");
    let whole = cipher.key_bits == 128 && cipher.mode.is_some_and(|mode| !mode.decrypts);
    let mut cases = Vec::new();
    for carried in 1..=16 {
        for before in 1..=BLOCKS {
            if !whole && !(before + u64::from(carried)).is_multiple_of(5) {
                continue;
            }
            let iv = counter(&mut random, carried, before);
            let label = format!("{carried} bytes carry after {before} blocks of {BLOCKS}");
            let case = case(kernel, BLOCKS, &iv, label, &mut random);
            cases.push(if before % 8 == 0 { case } else { case.native_only() });
            // The same in a batch of its own, for variants of one size too.
            if before <= 4 {
                let label = format!("{carried} bytes carry after {before} blocks of few");
                let iv = counter(&mut random, carried, before);
                cases.extend([4, 5, 7].map(|n| self::case(kernel, n, &iv, label.clone(), &mut random).native_only()));
            }
        }
    }
    cases
}

#[test]
fn carries_and_wraps_at_every_byte_and_place() {
    let mut tally = Tally::default();
    let mut widths = BTreeSet::new();
    for kernel in forms::modes() {
        let mode = kernel.cipher.and_then(|cipher| cipher.mode).expect("a mode");
        if mode.input.contains(&Term::Counter) {
            widths.insert(mode.counter_bits);
            try_all(kernel.name, &cases(kernel), u64::MAX, &mut tally);
        }
    }
    assert_eq!(widths, BTreeSet::from([32, 64, 128]), "every width that a spec may have");
    tally.report_whole();
}
