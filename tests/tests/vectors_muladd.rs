//! Do all forms of all variants of the row kernels give the published rows of `vectors/bignum/muladd.jsonl`?

use kiln_runtime::random::Random;
use kiln_tests::operands::{self, Operands, Results};
use kiln_tests::trial::{Case, Tally, try_all};
use num_bigint::BigUint;
use serde_json::Value;
use std::collections::BTreeMap;

/// The kernels of an operation in the rows: a prop kernel with nothing above is a plain row.
fn kernel_of(op: &str) -> &'static str {
    match op {
        "mul" => "mul",
        "muladd" => "mul_add",
        "mulsub" => "mul_sub",
        "muladd_prop" => "mul_add_prop",
        other => panic!("no kernel for {other}"),
    }
}

fn case(row: &Value, random: &mut Random) -> (String, Case) {
    let text = |name: &str| row[name].as_str().unwrap_or_else(|| panic!("{name} of {row}"));
    let integer = |name: &str| row[name].as_u64().unwrap_or_else(|| panic!("{name} of {row}"));
    let (bits, n) = (u32::try_from(integer("w")).expect("small"), integer("n"));
    let limbs = |name: &str, count: u64| {
        let number = BigUint::parse_bytes(text(name).as_bytes(), 16).expect("hex");
        operands::limbs_of(bits, &number, usize::try_from(count).expect("small"))
    };
    let kernel = format!("limb{bits}.{}", kernel_of(text("op")));
    let mut call = Operands::new(&kernel).limbs("a", &limbs("a", n)).integer("n", n).integer("w", limbs("b", 1)[0]);
    let length = if text("op") == "muladd_prop" { integer("rlen") } else { n };
    if text("op") == "muladd_prop" {
        call = call.integer("more", length - n);
    }
    if !row["r"].is_null() {
        call = call.limbs("r", &limbs("r", length));
    }
    let results = Results { written: vec![("r", limbs("out", length))], returned: Some(limbs("carry", 1)[0]) };
    let case = Case::new(text("id"), call.noise(random));
    assert_eq!(case.expected, results, "{}: the row itself", case.label);
    (kernel, case)
}

#[test]
fn every_form_gives_every_row() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/bignum/muladd.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    let mut random = Random::new(0x6d75_6c61);
    let mut kernels: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        let (kernel, case) = case(&row, &mut random);
        kernels.entry(kernel).or_default().push(case);
        rows += 1;
    }
    assert_eq!(kernels.len(), 8, "{:?}", kernels.keys());
    let mut tally = Tally::default();
    for (kernel, cases) in &kernels {
        try_all(kernel, cases, u64::MAX, &mut tally);
    }
    println!("{rows} rows");
    tally.report();
}
