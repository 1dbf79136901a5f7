//! Does every native variant of AES leave the whole arena of `vectors/aes/overlap.jsonl` as it must be, in place and apart?
//!
//! Rows whose buffers overlap partly are outside the contracts of kernels, and cannot be passed to `kiln::aes` in safe Rust: its
//! tests move the data first.

use kiln_runtime::detect::native;
use kiln_tests::aes_rows::{Way, hex, keys_for, mode_of, rows, text};
use kiln_tests::block_cipher::blocks;
use kiln_tests::forms;
use kiln_tests::runs::run_in_arena;
use kiln_tests::skips::Skips;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn every_native_variant_leaves_the_whole_arena_as_it_must_be() {
    let cpu = native();
    let mut skips = Skips::default();
    let rows = rows("overlap");
    let at = |row: &Value, name: &str| row[name].as_u64().expect("a number") as usize;
    let allowed: Vec<&Value> = rows
        .iter()
        .filter(|row| {
            let (source, destination) = (at(row, "src_off"), at(row, "dst_off"));
            source == destination || source.abs_diff(destination) >= at(row, "len")
        })
        .collect();
    let (mut calls, mut used) = (0, BTreeSet::new());
    for compiled in forms::compiled() {
        let kernel = forms::kernel(&compiled.plan.kernel.kernel);
        let Some((name, way, _)) = mode_of(kernel) else { continue };
        let cipher = kernel.cipher.expect("a cipher's kernel");
        if cipher.mode.is_none_or(|mode| mode.streams > 1) {
            continue;
        }
        for native in forms::natives(compiled, &cpu, &mut skips) {
            for row in &allowed {
                let (key, n) = (hex(row, "key"), at(row, "len") / 16);
                assert_eq!(at(row, "len") % 16, 0, "whole blocks");
                let encrypts = (row["dir"] == "enc") == (way == Way::Encrypt);
                let ours =
                    row["mode"] == name && (name == "CTR" || encrypts) && cipher.key_bits as usize == 8 * key.len();
                if !ours || compiled.func.exact.is_some_and(|exact| exact != n as u64) {
                    continue;
                }
                let mut iv = if row["iv"].is_string() { blocks(&hex(row, "iv"))[0] } else { [0; 16] };
                let mut arena = hex(row, "arena");
                let places = (at(row, "src_off"), at(row, "dst_off"), n);
                let keys = keys_for(kernel, &key);
                // SAFETY: eligible on this CPU, and made for this kernel; the row is in place or apart.
                unsafe { run_in_arena(kernel, native.entry(), &mut arena, places, &keys, &mut iv) };
                assert_eq!(arena, hex(row, "arena_expected"), "{}, {}", native.name(), text(row, "id"));
                calls += 1;
                used.insert(text(row, "id"));
            }
        }
    }
    skips.report();
    assert_eq!(used.len(), allowed.len(), "every row in place or apart");
    println!("{calls} calls of {} rows; {} overlap partly", used.len(), rows.len() - allowed.len());
}
