//! Does the text's call-frame information tell, at each instruction, where the caller's frame and registers are?

use iced_x86::{Mnemonic, OpKind, Register};
use kiln_codegen::backend::asm_text::{Style, lines};
use kiln_tests::decode::decode;
use kiln_tests::sample_functions::{carry_chain, every_node, load_in_subroutine, long_jumps};
use kiln_tests::tools::{Scratch, found, gnu_assemble, run};
use std::collections::BTreeMap;

/// Where the caller's frame is above rsp, and each saved register below that frame.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Rules {
    frame: u64,
    saved: BTreeMap<String, u64>,
}

impl Rules {
    fn at_entry() -> Rules {
        Rules { frame: 8, saved: BTreeMap::new() }
    }
}

/// The rules that the instructions themselves imply, at the offset of each.
fn implied(bytes: &[u8]) -> Vec<(u64, Rules)> {
    let entry = Rules::at_entry();
    let mut now = entry.clone();
    let mut out = Vec::new();
    for inst in decode(bytes) {
        out.push((inst.ip(), now.clone()));
        let name = || format!("{:?}", inst.op0_register()).to_lowercase();
        match inst.mnemonic() {
            Mnemonic::Push => {
                now.frame += 8;
                now.saved.insert(name(), now.frame);
            }
            Mnemonic::Pop => {
                now.frame -= 8;
                now.saved.remove(&name());
            }
            Mnemonic::Sub if inst.op0_register() == Register::RSP => now.frame += inst.immediate(1),
            Mnemonic::Add if inst.op0_register() == Register::RSP => now.frame -= inst.immediate(1),
            Mnemonic::Ret => {
                assert_eq!(now, entry, "the epilogue undoes the prologue");
            }
            _ => assert!(inst.op0_kind() != OpKind::Register || inst.op0_register() != Register::RSP, "{inst:?}"),
        }
    }
    out
}

/// The rows of the only FDE that readelf shows: an offset, and the rules from there on.
fn stated(interpreted: &str) -> BTreeMap<u64, Rules> {
    let fde = interpreted.split(" FDE ").nth(1).expect("readelf shows an FDE");
    let mut rows = fde.lines().skip(1).filter(|line| !line.trim().is_empty()).map(|line| line.split_whitespace());
    // Nothing is shown of a function that keeps to the rules of its entry.
    let names: Vec<_> = rows.next().into_iter().flatten().skip(2).collect();
    let row = |mut fields: std::str::SplitWhitespace<'_>| {
        let offset = u64::from_str_radix(fields.next().expect("an offset"), 16).expect("hexadecimal");
        let frame = fields.next().and_then(|cfa| cfa.strip_prefix("rsp+")).expect("a frame that rsp gives");
        let rules = names.iter().zip(fields).filter(|(name, rule)| **name != "ra" && *rule != "u");
        let below = |rule: &str| rule.strip_prefix("c-").and_then(|n| n.parse().ok()).expect("below the frame");
        let saved = rules.map(|(name, rule)| (name.to_string(), below(rule))).collect();
        (offset, Rules { frame: frame.parse().expect("a number"), saved })
    };
    rows.map(row).collect()
}

#[test]
fn the_stated_rules_are_the_implied_ones() {
    let funcs = [every_node(), load_in_subroutine(), carry_chain(0), carry_chain(4096), long_jumps(500)];
    if !found(&["as", "objcopy", "readelf"], funcs.len()) {
        return;
    }
    let scratch = Scratch::new("cfi");
    let mut checked = 0;
    for func in &funcs {
        let object = scratch.file("text.o");
        let bytes = gnu_assemble(&scratch, &lines(func, Style::ASSEMBLER), &object);
        // readelf shows a register that is lost as it shows one that is as it was.
        assert!(!run("readelf", &[&"--debug-dump=frames", &object]).contains("DW_CFA_undefined"));
        let stated = stated(&run("readelf", &[&"--debug-dump=frames-interp", &object]));
        for (offset, rules) in implied(&bytes) {
            let there = stated.range(..=offset).next_back().map_or_else(Rules::at_entry, |(_, there)| there.clone());
            assert_eq!(there, rules, "{} at {offset:#x}", func.name);
            checked += 1;
        }
    }
    println!("{} functions, {checked} instructions", funcs.len());
}
