//! Do all forms of all variants of AES give the rows of `vectors/aes`: FIPS 197 and SP 800-38A, every number of blocks, counters
//! that wrap at every bit and place, messages in pieces, and cases from reports?
//!
//! Out of place and in place, at misalignments up to 15 bytes, in output that was noise, between canaries. Each row goes through
//! every native variant; of up to 20 blocks one of each class, and of each kernel, through the interpreter.

use kiln_runtime::random::Random;
use kiln_tests::aes_rows::{FILES, hex, messages, mode_of, rounds, rows, text};
use kiln_tests::block_cipher::{Block, blocks, invert, slice};
use kiln_tests::operands::Operands;
use kiln_tests::trial::{Case, Tally, try_all};
use kiln_tests::{forms, made_up};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most blocks in the interpreter: a turn of most loops, and tails.
const INTERPRETED: u64 = 20;

#[test]
fn every_form_of_every_mode_gives_every_row() {
    let mut random = Random::new(0x6165_7376);
    let mut tally = Tally::default();
    let (mut kernels, mut cases_run, mut used) = (0, 0, BTreeSet::new());
    for kernel in forms::modes() {
        let Some(mode) = mode_of(kernel) else {
            assert!(made_up::KERNELS.iter().any(|own| own.name == kernel.name), "{}: no rows of its mode", kernel.name);
            continue;
        };
        let messages = messages(kernel, mode);
        used.extend(messages.iter().map(|message| message.label.split(' ').next().unwrap_or_default().to_owned()));
        let cases: Vec<Case> = messages.iter().flat_map(|message| message.cases(kernel, &mut random)).collect();
        // Keys of 192 bits have SP 800-38A's rows alone for some modes.
        assert!(cases.len() >= 4, "{}: {} cases", kernel.name, cases.len());
        try_all(kernel.name, &cases, INTERPRETED, &mut tally);
        kernels += 1;
        cases_run += cases.len();
    }
    let wanted: BTreeSet<String> =
        FILES.iter().flat_map(|file| rows(file)).map(|row| text(&row, "id").to_owned()).collect();
    let schedules = rows("nist").iter().filter(|row| row["mode"] == "KEYEXP").count();
    assert_eq!(used.len() + schedules, wanted.len(), "every row but the key schedules");
    println!("{} rows, {kernels} kernels, {cases_run} cases", used.len());
    // Made-up variants for one number of blocks alone have no rows; `aes_lengths` has them.
    tally.report();
}

/// The round keys of a row.
fn schedule(row: &Value) -> Vec<Block> {
    let keys = row["round_keys"].as_array().expect("round keys");
    keys.iter().flat_map(|key| blocks(&hex(&serde_json::json!({ "key": key }), "key"))).collect()
}

#[test]
fn every_form_expands_keys_as_the_standard_does() {
    let mut tally = Tally::default();
    let mut random = Random::new(0x6b65_7973);
    let rows: Vec<Value> = rows("nist").into_iter().filter(|row| row["mode"] == "KEYEXP").collect();
    // FIPS 197's of 128 and of 256 bits; those of 192 are among the random ones of `aes_keys`.
    assert_eq!(rows.len(), 2);
    for row in rows {
        let (key, keys) = (hex(&row, "key"), schedule(&row));
        assert_eq!(keys.len(), rounds(&key) + 1);
        let name = |operation: &str| format!("aes{}{operation}", 8 * key.len());
        let mut check = |kernel: &str, argument: &'static str, given: &[u8], made: &'static str, wanted: &[u8]| {
            let operands = Operands::new(kernel).bytes(argument, given).noise(&mut random);
            let case = Case::new(text(&row, "id"), operands);
            let expected: Vec<u64> = wanted.iter().map(|byte| (*byte).into()).collect();
            assert_eq!(case.expected.written, [(made, expected)], "{kernel}: the row itself");
            try_all(kernel, &vec![case; 16], u64::MAX, &mut tally);
        };
        check(&name(".expand_key"), "key", &key, "keys", &keys.concat());
        check(&name(".invert_keys"), "keys", &keys.concat(), "inverse", &invert(&keys).concat());
        let sliced = name("_sliced.slice_keys");
        if kiln_kernels::kernels().any(|kernel| kernel.name == sliced) {
            check(&sliced, "keys", &keys.concat(), "sliced", &slice(&keys));
        }
    }
    tally.report_whole();
}
