//! Do all forms of all variants of Montgomery products and squares give the rows of `vectors/bignum/montgomery.jsonl`, and those of
//! `published_cases.jsonl` that are one square?

use kiln_runtime::random::Random;
use kiln_tests::operands::{Operands, Results, limbs_of};
use kiln_tests::trial::{Case, Tally, try_all};
use num_bigint::BigUint;
use serde_json::Value;
use std::collections::BTreeMap;

/// The rows of a file, but for its header.
fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/vectors/bignum/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn text<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_else(|| panic!("{name} of {row}"))
}

fn number(row: &Value, name: &str) -> BigUint {
    BigUint::parse_bytes(text(row, name).as_bytes(), 16).expect("hex")
}

/// A product or a square of numbers whose names in the row end so.
fn montgomery(row: &Value, kernel: &str, end: &str, random: &mut Random) -> Case {
    let n = row["k"].as_u64().unwrap_or_else(|| panic!("k of {row}"));
    let limbs = |name: &str| limbs_of(64, &number(row, name), usize::try_from(n).expect("small"));
    let modulus = [limbs_of(64, &number(row, "n0inv"), 1), limbs("m")].concat();
    let mut call = Operands::new(kernel).integer("n", n).limbs("m", &modulus).limbs("a", &limbs(&format!("a{end}")));
    if kernel == "mont.mul" {
        call = call.limbs("b", &limbs(&format!("b{end}")));
    }
    let results = Results { written: vec![("r", limbs(&format!("r{end}")))], returned: None };
    let case = Case::new(text(row, "id"), call.noise(random));
    assert_eq!(case.expected, results, "{}: the row itself", case.label);
    case
}

#[test]
fn every_form_gives_every_row() {
    let mut random = Random::new(0x6d6f_6e74);
    let mut kernels: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    let (mut in_range, mut above) = (0, 0);
    for row in rows("montgomery.jsonl") {
        // The contract wants reduced operands.
        if row["unreduced_input"] == true {
            above += 1;
            continue;
        }
        in_range += 1;
        let square = text(&row, "op") == "montsqr";
        assert!(square || text(&row, "op") == "montmul", "{row}");
        // A square is a product too.
        kernels.entry("mont.mul").or_default().push(montgomery(&row, "mont.mul", "", &mut random));
        if square {
            kernels.entry("mont.square").or_default().push(montgomery(&row, "mont.square", "", &mut random));
        }
    }
    let mut tally = Tally::default();
    for (kernel, cases) in &kernels {
        try_all(kernel, cases, 24, &mut tally);
    }
    println!("{in_range} rows; {above} with operands that are not below the modulus are outside the contract");
    assert!(in_range > 800 && above < 40);
    tally.report();
}

#[test]
fn every_form_gives_the_published_squares() {
    let mut random = Random::new(0x7075_626c);
    let mut kernels: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    let mut powers = 0;
    for row in rows("published_cases.jsonl") {
        match text(&row, "op") {
            "modexp" => powers += 1,
            "modsqr" => {
                for kernel in ["mont.mul", "mont.square"] {
                    kernels.entry(kernel).or_default().push(montgomery(&row, kernel, "_mont", &mut random));
                }
            }
            "square" => {
                let a = number(&row, "a");
                let n = usize::try_from(a.bits().div_ceil(64)).expect("small");
                let call = Operands::new("limb64.sqr_n").integer("n", n as u64).limbs("a", &limbs_of(64, &a, n));
                let results = Results { written: vec![("r", limbs_of(64, &number(&row, "r"), 2 * n))], returned: None };
                let case = Case::new(text(&row, "id"), call.noise(&mut random));
                assert_eq!(case.expected, results, "{}: the row itself", case.label);
                kernels.entry("limb64.sqr_n").or_default().push(case);
            }
            other => panic!("no kernel for {other}"),
        }
    }
    let mut tally = Tally::default();
    for (kernel, cases) in &kernels {
        try_all(kernel, cases, u64::MAX, &mut tally);
    }
    println!("{powers} rows are powers, which no kernel makes");
    assert_eq!(kernels.len(), 3, "{:?}", kernels.keys());
    tally.report();
}
