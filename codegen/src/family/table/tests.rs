//! Tables of any number of entries, from the shipped specs with another number in them.

use crate::compile::{Compiled, Form, compile};
use crate::ir::interpret::{Argument, Call, Outcome, run};
use crate::spec::{SourceFile, Specs, read_folder};
use std::path::Path;

/// Where byte `byte` of an entry of n limbs is in a table of that layout.
fn place(layout: &str, entries: usize, n: usize, entry: usize, byte: usize) -> usize {
    let rows = |unit: usize, byte: usize| (byte / unit * entries + entry) * unit + byte % unit;
    match layout {
        "byte" => rows(1, byte),
        "word32" => rows(4, byte),
        "word64" => rows(8, byte),
        _ => {
            let single = n % 4 * 8;
            if byte < single { rows(8, byte) } else { single * entries + rows(32, byte - single) }
        }
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u64).map(|index| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

/// The call in the interpreter, before and after allocation.
fn call(compiled: &Compiled<'_>, arguments: &[Argument]) -> Vec<Outcome> {
    let call = Call::new(arguments.to_vec()).traced();
    let name = &compiled.plan.name;
    let mut outcomes = vec![run(&compiled.func, &call).unwrap_or_else(|fault| panic!("{name}: {fault}"))];
    if let Form::Machine(func) = &compiled.form {
        outcomes.push(run(func, &call).unwrap_or_else(|fault| panic!("{name}: {fault}")));
    }
    outcomes
}

fn check(compiled: &Compiled<'_>, layout: &str, entries: usize, n: usize) {
    let name = &compiled.plan.name;
    let contents = bytes(8 * n * entries);
    let entry = |entry: usize| &contents[8 * n * entry..8 * n * (entry + 1)];
    let mut table = vec![0; contents.len()];
    for (index, byte) in contents.iter().enumerate() {
        table[place(layout, entries, n, index / (8 * n), index % (8 * n))] = *byte;
    }
    let noise = |bytes: usize| Argument::Pointer { bytes: vec![0xa5; bytes] };
    if name.contains("store") {
        let arguments =
            [noise(contents.len()), Argument::Pointer { bytes: contents.clone() }, Argument::Integer(n as u64)];
        for outcome in call(compiled, &arguments) {
            assert!(outcome.memories[0] == table, "{name}: {n} limbs");
        }
        return;
    }
    let mut traces = Vec::new();
    let far = [1 << 7, 1 << 8, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 63, u64::MAX];
    for index in (0..entries as u64 + 3).chain(far) {
        let arguments = [
            noise(8 * n),
            Argument::Pointer { bytes: table.clone() },
            Argument::Integer(n as u64),
            Argument::Integer(index),
        ];
        let wanted = if index < entries as u64 { entry(index as usize).to_vec() } else { vec![0; 8 * n] };
        for (form, outcome) in call(compiled, &arguments).into_iter().enumerate() {
            assert!(outcome.memories[0] == wanted, "{name}: entry {index} of {n} limbs");
            let trace = outcome.trace.expect("asked for");
            assert!(trace.len() >= n, "{name} looks at all of the table");
            match traces.get(form) {
                None => traces.push(trace),
                Some(first) => assert!(*first == trace, "{name}: addresses depend on index {index}"),
            }
        }
    }
}

/// The specs of one layout for another number of entries.
fn specs(files: &[SourceFile], of: &str, layout: &str, entries: u32) -> Specs {
    let texts = files.iter().filter(|file| {
        let stem = Path::new(&file.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        stem == format!("table_{of}_{layout}_x32") || file.path.contains("cpus")
    });
    let files: Vec<SourceFile> = texts
        .map(|file| {
            let text = String::from_utf8(file.bytes.clone()).expect("text");
            let text = if file.path.contains("cpus") {
                text
            } else {
                text.replace("_x32", &format!("_x{entries}"))
                    .replace("32n", &format!("{entries}n"))
                    .replace("entry of 32", &format!("entry of {entries}"))
            };
            SourceFile { path: file.path.clone(), bytes: text.into_bytes() }
        })
        .collect();
    Specs::parse(&files, &crate::vocabulary(&[])).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_number_of_entries_is_woven_and_read_at_the_same_addresses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs");
    let files = read_folder(&folder).expect("specs/ can be read");
    let layouts: [(&str, &[u32]); 4] =
        [("byte", &[32, 64, 96]), ("word32", &[8, 24, 32]), ("word64", &[4, 12, 32]), ("vector", &[4, 12, 16, 32])];
    let mut variants = 0;
    for (layout, numbers) in layouts {
        for &entries in numbers {
            for of in ["store", "read"] {
                let specs = specs(&files, of, layout, entries);
                for compiled in compile(&specs).unwrap_or_else(|problems| panic!("{problems}")) {
                    let sizes: Vec<usize> = match compiled.func.exact {
                        Some(n) => vec![n as usize],
                        None => vec![1, 2, 3, 4, 7, 8, 13, 17],
                    };
                    for n in sizes {
                        check(&compiled, layout, entries as usize, n);
                    }
                    variants += 1;
                }
            }
        }
    }
    assert!(variants > 50, "{variants} variants");
}

#[test]
fn a_row_that_is_no_whole_vectors_has_no_kernel() {
    for kernel in ["table.read_byte_x16", "table.read_byte_x128", "table.read_word32_x4", "table.read_word64_x3"] {
        assert!(super::contract(kernel).is_none(), "{kernel}");
    }
    for kernel in ["table.read_vector_x2", "table.read_vector_x032", "table.read_vector_x2000", "table.read_vector"] {
        assert!(super::contract(kernel).is_none(), "{kernel}");
    }
    assert!(super::contract("table.read_vector_x4").is_some());
}
