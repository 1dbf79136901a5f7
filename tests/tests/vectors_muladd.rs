//! Do all forms of all `mul_add` variants give the published rows of `vectors/bignum/muladd.jsonl`?

use kiln_runtime::detect::native;
use kiln_tests::forms::{self, MulAdd, Skips};
use num_bigint::BigUint;
use serde_json::Value;

struct Row {
    id: String,
    operands: MulAdd,
    out: Vec<u64>,
    carry: u64,
}

fn limbs(hex: &str, bits: u32, n: usize) -> Vec<u64> {
    let number = BigUint::parse_bytes(hex.as_bytes(), 16).expect("hex");
    let digits = number.to_u32_digits();
    let at = |index: usize| u64::from(digits.get(index).copied().unwrap_or(0));
    (0..n).map(|i| if bits == 64 { at(2 * i) | at(2 * i + 1) << 32 } else { at(i) }).collect()
}

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/bignum/muladd.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    let mut rows = Vec::new();
    for line in text.lines().skip(1) {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        if row["op"] != "muladd" {
            continue;
        }
        let bits = u32::try_from(row["w"].as_u64().expect("w")).expect("small");
        let n = usize::try_from(row["n"].as_u64().expect("n")).expect("small");
        let field = |name: &str, n: usize| limbs(row[name].as_str().expect("a number in hex"), bits, n);
        let operands = MulAdd { bits, r: field("r", n), a: field("a", n), w: field("b", 1)[0], in_place: false };
        rows.push(Row {
            id: row["id"].as_str().expect("id").into(),
            operands,
            out: field("out", n),
            carry: field("carry", 1)[0],
        });
    }
    rows
}

#[test]
fn every_form_gives_every_row() {
    let rows = rows();
    assert!(rows.iter().filter(|row| row.operands.bits == 64).count() > 100, "rows of 64-bit limbs");
    assert!(rows.iter().filter(|row| row.operands.bits == 32).count() > 100, "rows of 32-bit limbs");
    let cpu = &native();
    let mut skips = Skips::default();
    let (mut native_runs, mut interpreted_runs) = (0u64, 0u64);
    for compiled in forms::compiled() {
        let name = &compiled.plan.name;
        let programs = forms::programs(compiled);
        let natives = forms::natives(compiled, cpu, &mut skips);
        for row in &rows {
            let n = row.operands.r.len() as u64;
            if row.operands.bits != compiled.func.limb_bits || compiled.func.exact.is_some_and(|exact| exact != n) {
                continue;
            }
            let expected = (row.out.clone(), row.carry);
            assert_eq!(row.operands.expected(), expected, "{}: the row itself", row.id);
            for (stage, program) in &programs {
                assert_eq!(row.operands.interpret(program), expected, "{name}, {stage}, {}", row.id);
                interpreted_runs += 1;
            }
            for native in &natives {
                assert_eq!(row.operands.run(native), expected, "{name}, {}, {}", native.origin().word(), row.id);
                native_runs += 1;
            }
        }
    }
    skips.report();
    println!("{native_runs} native runs, {interpreted_runs} interpreted");
    assert!(native_runs > 0 && interpreted_runs > 0);
}
