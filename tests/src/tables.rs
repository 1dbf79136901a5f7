//! What table kernels must leave, by the words of their layouts. Shares nothing with the references of `kiln-kernels`.

use crate::operands::{Operands, Results, bytes, limbs};

/// What a table kernel's name says: what is done, the layout, and the number of entries.
///
/// # Panics
/// When it is of no table kernel.
pub fn named(kernel: &str) -> (&str, &str, usize) {
    let parts = kernel.strip_prefix("table.").and_then(|own| own.split_once('_'));
    let parts = parts.and_then(|(operation, own)| Some((operation, own.rsplit_once("_x")?)));
    let (operation, (layout, entries)) = parts.unwrap_or_else(|| panic!("{kernel} is of no table"));
    (operation, layout, entries.parse().expect("a number of entries"))
}

/// Entries as a table: first units of that many bytes of all entries, then the next units.
fn rows(unit: usize, entries: &[&[u8]]) -> Vec<u8> {
    let units = entries.first().map_or(0, |entry| entry.len() / unit);
    let row = |index: usize| entries.iter().flat_map(move |entry| entry[index * unit..][..unit].to_vec());
    (0..units).flat_map(row).collect()
}

/// The table of these entries in a layout.
///
/// # Panics
/// When nobody has said what the layout is.
pub fn woven(layout: &str, entries: &[&[u8]]) -> Vec<u8> {
    match layout {
        "byte" => rows(1, entries),
        "word32" => rows(4, entries),
        "word64" => rows(8, entries),
        "vector" => {
            let single = entries.first().map_or(0, |entry| entry.len() % 32);
            let split: Vec<(&[u8], &[u8])> = entries.iter().map(|entry| entry.split_at(single)).collect();
            let (first, rest): (Vec<&[u8]>, Vec<&[u8]>) = split.into_iter().unzip();
            [rows(8, &first), rows(32, &rest)].concat()
        }
        other => panic!("nobody has said what the layout {other} is"),
    }
}

/// What a call must leave.
pub fn expected(operands: &Operands) -> Results {
    let (operation, layout, entries) = named(operands.kernel().name);
    let n = usize::try_from(operands.n()).expect("small");
    let written = if operation == "store" {
        let a = bytes(64, operands.limbs_of("a"));
        let entries: Vec<&[u8]> = (0..entries).map(|entry| &a[8 * n * entry..][..8 * n]).collect();
        ("table", limbs(64, &woven(layout, &entries)))
    } else {
        let table = bytes(64, operands.limbs_of("table"));
        // Where a byte of the entry is, if there is such an entry.
        let place = |byte: usize| {
            let index = usize::try_from(operands.integer_of("index")).ok().filter(|index| *index < entries)?;
            let (unit, before, byte) = match (layout, 8 * n % 32) {
                ("vector", single) if byte < single => (8, 0, byte),
                ("vector", single) => (32, single * entries, byte - single),
                ("byte", _) => (1, 0, byte),
                ("word32", _) => (4, 0, byte),
                _ => (8, 0, byte),
            };
            Some(before + byte / unit * unit * entries + index * unit + byte % unit)
        };
        let entry: Vec<u8> = (0..8 * n).map(|byte| place(byte).map_or(0, |place| table[place])).collect();
        ("r", limbs(64, &entry))
    };
    Results { written: vec![written], returned: None }
}
