//! Does each row's machine code, decoded by somebody else's decoder, say what our text says?

use kiln_codegen::backend::machine::assemble_inst;
use kiln_codegen::ir::Inst;
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::PReg;
use kiln_tests::decode::{decode, our_text, text};
use kiln_tests::encoding_cases::{Random, every_address, instruction};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// `Err` says what differs.
fn same(inst: &Inst<PReg>) -> Result<(), String> {
    let bytes = assemble_inst(inst).map_err(|why| why.to_string())?;
    let decoded = decode(&bytes);
    let texts: Vec<_> = decoded.iter().map(text).collect();
    match &decoded[..] {
        [one] if one.len() == bytes.len() && !one.is_invalid() && texts[0] == our_text(inst) => Ok(()),
        _ => Err(format!("{inst:?}\n  text    {}\n  bytes   {bytes:02x?}\n  decoded {texts:?}", our_text(inst))),
    }
}

#[test]
fn every_row_with_random_operands() {
    let seed = 0x6b69_6c6e;
    let mut random = Random(seed);
    let mut exercised = BTreeMap::new();
    for op in Op::machine() {
        for case in 0..1000 {
            let inst = instruction(&mut random, op);
            same(&inst).unwrap_or_else(|why| panic!("seed {seed:#x}, case {case}: {why}"));
            *exercised.entry(op).or_insert(0) += 1;
        }
    }
    assert!(Op::machine().all(|op| exercised.contains_key(&op)));
    println!("{} rows, {} instructions", exercised.len(), exercised.values().sum::<u32>());
}

#[test]
fn addresses_in_every_row() {
    let mut rows = 0;
    let mut cases = 0;
    for op in Op::machine() {
        let before = cases;
        // All in the row that only computes them. 7 shares no factor with the edges, so the other rows see each edge too.
        let stride = if op == Op::Base(Base::Lea) { 1 } else { 7 };
        for inst in every_address(op).step_by(stride) {
            same(&inst).unwrap_or_else(|why| panic!("{why}"));
            cases += 1;
        }
        rows += usize::from(cases > before);
    }
    assert!(rows > 30, "rows with memory: {rows}");
    println!("{rows} rows with memory, {cases} instructions");
}

proptest! {
    #[test]
    fn another_seed_every_run(seed: u64) {
        let mut random = Random(seed);
        for op in Op::machine() {
            let outcome = same(&instruction(&mut random, op));
            prop_assert!(outcome.is_ok(), "seed {:#x}: {}", seed, outcome.unwrap_err());
        }
    }
}
