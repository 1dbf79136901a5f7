//! Does every form of every table kernel give the rows of `vectors/gather/gather.jsonl`, is what was stored read again, and does a
//! read touch every byte of every entry, at the same addresses whatever the index?

use kiln_codegen::ir::interpret::{Executed, Program};
use kiln_codegen::ir::taint::{Rule, check};
use kiln_codegen::ir::{Inst, Mem, Node, Operand, Space, VReg};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::RegClass;
use kiln_runtime::detect::native;
use kiln_runtime::random::Random;
use kiln_tests::operands::{self, Operands, Results, bytes, limbs};
use kiln_tests::skips::Skips;
use kiln_tests::tables::{named, woven};
use kiln_tests::trial::{Case, Tally, exact_sizes, try_all};
use kiln_tests::{forms, patterns, runs};
use num_bigint::BigUint;
use serde_json::Value;
use std::collections::BTreeMap;

fn reads() -> impl Iterator<Item = &'static str> {
    forms::table_kernels().filter(|name| named(name).0 == "read")
}

/// The woven table of these entries, with entries of zeros up to as many as the kernel has.
fn table(kernel: &str, entries: &[Vec<u64>], n: usize) -> Vec<u64> {
    let (_, layout, all) = named(kernel);
    let mut entries: Vec<Vec<u8>> = entries.iter().map(|entry| bytes(64, entry)).collect();
    entries.resize(all, vec![0; 8 * n]);
    limbs(64, &woven(layout, &entries.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// A row with its index and result, and the entries of its table.
type Row = (String, Vec<Vec<u64>>, usize, u64, Vec<u64>);

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/gather/gather.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    let mut tables: BTreeMap<String, Vec<Vec<u64>>> = BTreeMap::new();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("a row is JSON");
        let id = row["id"].as_str().expect("an id").to_owned();
        let n = usize::try_from(row["limbs"].as_u64().expect("limbs")).expect("small");
        let number = |value: &Value| {
            let number = BigUint::parse_bytes(value.as_str().expect("a number").as_bytes(), 16).expect("hex");
            operands::limbs_of(64, &number, n)
        };
        let entries = match row["table"].as_str() {
            Some(of) => tables[of.strip_prefix("same as ").expect("a reference")].clone(),
            None => row["table"].as_array().expect("entries").iter().map(number).collect(),
        };
        assert_eq!(entries.len() as u64, row["entries"].as_u64().expect("entries"), "{id}");
        tables.insert(id.clone(), entries.clone());
        (id, entries, n, row["index"].as_u64().expect("an index"), number(&row["r"]))
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn every_form_gives_every_row() {
    let (rows, mut random) = (rows(), Random::new(0x6761_7468));
    assert_eq!(rows.len(), 193);
    let mut tally = Tally::default();
    let mut given = 0;
    for kernel in reads() {
        let cases = rows.iter().filter(|row| row.1.len() <= named(kernel).2).map(|(id, entries, n, index, r)| {
            let operands = Operands::new(kernel).integer("n", *n as u64).integer("index", *index);
            let operands = operands.limbs("table", &table(kernel, entries, *n)).noise(&mut random);
            let case = Case::new(id, operands);
            let wanted = Results { written: vec![("r", r.clone())], returned: None };
            assert_eq!(case.expected, wanted, "{id}: the row itself");
            case
        });
        let cases: Vec<Case> = cases.collect();
        given += cases.len();
        try_all(kernel, &cases, 16, &mut tally);
    }
    tally.report();
    println!("{given} rows");
    assert!(given > 600);
}

/// The entries of a table that a case stores and reads.
fn entries(random: &mut Random, entries: usize, n: usize) -> Vec<Vec<u64>> {
    (0..entries).map(|_| patterns::row(random, 64, n)).collect()
}

/// Each form of a store is followed by the read of each entry, and each entry is read by each form of the read.
#[test]
fn what_is_stored_is_read_again() {
    let mut random = Random::new(0x7765_6176);
    let (cpu, mut skips) = (native(), Skips::default());
    let mut read = 0;
    for reading in reads() {
        let storing = reading.replacen("read", "store", 1);
        let (_, _, all) = named(reading);
        for n in [1, 2, 3, 4, 7, 8, 12, 16, 31] {
            let entries = entries(&mut random, all, n);
            let store = Operands::new(&storing).integer("n", n as u64).limbs("a", &entries.concat());
            let store = store.noise(&mut random);
            let natives = forms::compiled_of(&storing).flat_map(|store| forms::natives(store, &cpu, &mut skips));
            let tables: Vec<Vec<u64>> = natives
                .map(|native| {
                    // SAFETY: eligible on this CPU, and made for the kernel of the operands.
                    let left = unsafe { runs::run(&store, native.entry()) };
                    left.written[0].1.clone()
                })
                .collect();
            assert!(tables.len() > 2, "{storing}");
            assert!(tables.iter().all(|table| *table == tables[0]), "{storing}: {n} limbs");
            for compiled in forms::compiled_of(reading) {
                if compiled.func.exact.is_some_and(|exact| exact != n as u64) {
                    continue;
                }
                for native in forms::natives(compiled, &cpu, &mut skips) {
                    for (index, entry) in entries.iter().enumerate() {
                        let operands = Operands::new(reading).integer("n", n as u64).integer("index", index as u64);
                        let operands = operands.limbs("table", &tables[0]).noise(&mut random);
                        // SAFETY: as above.
                        let left = unsafe { runs::run(&operands, native.entry()) };
                        assert_eq!(left.written[0].1, *entry, "{}: entry {index} of {n} limbs", native.name());
                        read += 1;
                    }
                }
            }
        }
    }
    skips.report();
    println!("{read} entries read");
    assert!(read > 5_000);
}

/// The accesses of a read, by address and bytes; each byte of the table once at least.
fn accesses(program: &Program, operands: &Operands, variant: &str) -> Vec<(u64, u32, bool)> {
    let mut accesses = Vec::new();
    let watch = &mut |executed: &Executed| {
        accesses.extend(executed.memory.map(|memory| (memory.address, memory.bytes, memory.writes)));
    };
    program.run_watched(&operands.call(), watch).unwrap_or_else(|fault| panic!("{variant}: {fault}"));
    accesses
}

#[test]
fn a_read_touches_every_byte_of_every_entry_at_the_same_addresses() {
    let mut random = Random::new(0x6164_6472);
    let (mut programs, mut reads_seen) = (0, 0);
    for kernel in reads() {
        let (_, _, all) = named(kernel);
        let mut sizes = vec![1, 5, 8];
        sizes.extend(exact_sizes(kernel));
        for compiled in forms::compiled_of(kernel) {
            let variant = &compiled.plan.name;
            for (stage, program) in forms::programs(compiled) {
                programs += 1;
                for &n in sizes.iter().filter(|n| compiled.func.exact.is_none_or(|exact| exact == **n as u64)) {
                    let table = table(kernel, &entries(&mut random, all, n), n);
                    let mut first: Option<Vec<(u64, u32, bool)>> = None;
                    for index in (0..=all as u64).chain([255, 1 << 31, 1 << 32, u64::MAX]) {
                        let operands = Operands::new(kernel).integer("n", n as u64).integer("index", index);
                        let operands = operands.limbs("table", &table).noise(&mut random);
                        let seen = accesses(&program, &operands, variant);
                        match &first {
                            None => {
                                // Loads from one stretch of as many bytes as the table has.
                                let mut read: Vec<u64> = seen
                                    .iter()
                                    .filter(|(.., writes)| !writes)
                                    .flat_map(|(address, bytes, _)| *address..*address + u64::from(*bytes))
                                    .collect();
                                read.sort_unstable();
                                read.dedup();
                                let stretches = read.chunk_by(|a, b| a + 1 == *b).map(<[u64]>::len);
                                assert!(
                                    stretches.clone().any(|bytes| bytes == 8 * table.len()),
                                    "{variant}, {stage}: {:?} of {} bytes",
                                    stretches.collect::<Vec<_>>(),
                                    8 * table.len()
                                );
                                first = Some(seen);
                            }
                            Some(first) => assert!(*first == seen, "{variant}, {stage}: index {index} shows"),
                        }
                        reads_seen += 1;
                    }
                }
            }
        }
    }
    println!("{programs} programs, {reads_seen} reads");
    assert!(programs > 20 && reads_seen > 2_000);
}

/// A table that is read at the secret index is refused.
#[test]
fn an_index_in_an_address_is_refused() {
    let mut refused = 0;
    for kernel in reads() {
        let machine = forms::compiled_of(kernel).filter(|compiled| !compiled.plan.name.contains("/portable"));
        for compiled in machine {
            assert_eq!(check(&compiled.func), Ok(()), "{}", compiled.plan.name);
            let mut func = compiled.func.clone();
            func.vregs += 1;
            let entry = VReg { index: func.vregs - 1, class: RegClass::Gpr, pin: None };
            let [table, index] = [1, 3].map(|argument: usize| func.parameters[argument].reg);
            let place = Mem { space: Space::Argument(1), base: table, index: Some((index, 8)), disp: 0 };
            let load =
                Inst { op: Op::Base(Base::Load), operands: vec![Operand::Reg(entry), Operand::Mem(place)], note: None };
            func.body.insert(0, Node::Block(vec![load]));
            let rules: Vec<Rule> = check(&func).expect_err("it leaks").into_iter().map(|leak| leak.rule).collect();
            assert!(matches!(rules[..], [Rule::Index(_)]), "{}: {rules:?}", compiled.plan.name);
            refused += 1;
        }
    }
    assert!(refused > 10, "{refused}");
}
