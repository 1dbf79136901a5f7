//! The weave: tables whose entries are stored so that one can be read without telling which. A read goes over every byte of
//! every entry, at the same addresses whatever the index, and keeps the entry that it wants by masks. Knows the layouts.
//!
//! A layout says how many bytes of an entry lie together: a *unit*. A *row* has the units at one place of every entry, entry
//! after entry; the rows of an entry's bytes follow each other. Where a unit is a vector of four limbs, the n mod 4 first limbs
//! of the entries are rows of limbs.

mod lanes;
mod portable;
mod read;
mod store;
#[cfg(test)]
mod tests;
mod transpose;
mod vector;

use super::walk::{Carry, Cut};
use super::{Contract, Extent, Knob, Lower, Lowering, Role, Strategy, count, limb_of, limbs};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place};
use crate::spec::Access::{In, Out};
use portable::Portable;
use transpose::{Bytes, Gather};
use vector::{Avx2, Search, Sse2};

/// How the names of this family's kernels begin: the rest says what is done, the layout and the number of entries
/// (`table.read_word64_x32`).
pub const STEM: &str = "table.";

/// What such a name is.
pub const NAMES: &str = "of tables: `table.store_` or `table.read_`, then `byte`, `word32`, `word64` or `vector`, then `_x` and the number of \
    entries, of which a row of bytes, dwords or limbs is a multiple of 32 bytes (at most 96 of bytes, or 1024)";

/// Bytes of a vector.
const VECTOR: u32 = 32;
/// Bytes of a limb.
const LIMB: u32 = 8;

const STORE: &[Role] = &[limbs("table", Out, "entries n"), limbs("a", In, "entries n"), count("n")];
const READ: &[Role] =
    &[limbs("r", Out, "n"), limbs("table", In, "entries n"), count("n"), limb_of("index", "entry of entries")];

const LOOP: &[Knob] = &[Knob::Unroll];
const PASSES: &[Knob] = &[Knob::Unroll, Knob::Exact, Knob::Block];

const fn store(word: &'static str, lower: Lower) -> Strategy {
    Strategy { word, knobs: LOOP, in_flight: None, lower }
}

const fn read(word: &'static str, lower: Lower) -> Strategy {
    Strategy { word, knobs: PASSES, in_flight: None, lower }
}

const fn contract_of(kernel: &'static str, roles: &'static [Role], strategies: &'static [Strategy]) -> Contract {
    Contract { kernel, limb_bits: 64, roles, returns: false, strategies }
}

/// What reads a layout of units of so many bytes.
macro_rules! reads {
    ($unit:literal) => {
        &[
            read("portable", read::lower::<Portable, $unit>),
            read("sse2", read::lower::<Search<Sse2>, $unit>),
            read("avx2", read::lower::<Search<Avx2>, $unit>),
        ]
    };
}

static STORE_BYTE: Contract = contract_of(
    "table.store_byte",
    STORE,
    &[
        store("portable", store::lower::<Gather<Portable>, 1>),
        store("char_store", store::lower::<Bytes, 1>),
        store("word_store", store::lower::<Gather<Gpr>, 1>),
    ],
);
static STORE_WORD32: Contract = contract_of(
    "table.store_word32",
    STORE,
    &[
        store("portable", store::lower::<Gather<Portable>, 4>),
        store("word_store", store::lower::<Gather<Gpr>, 4>),
        store("sse2", store::lower::<Sse2, 4>),
    ],
);
static STORE_WORD64: Contract = contract_of(
    "table.store_word64",
    STORE,
    &[
        store("portable", store::lower::<Gather<Portable>, 8>),
        store("word_store", store::lower::<Gather<Gpr>, 8>),
        store("sse2", store::lower::<Sse2, 8>),
        store("avx2", store::lower::<Avx2, 8>),
    ],
);
static STORE_VECTOR: Contract = contract_of(
    "table.store_vector",
    STORE,
    &[
        store("portable", store::lower::<Gather<Portable>, 32>),
        store("word_store", store::lower::<Gather<Gpr>, 32>),
        store("sse2", store::lower::<Sse2, 32>),
        store("avx2", store::lower::<Avx2, 32>),
    ],
);
static READ_BYTE: Contract = contract_of("table.read_byte", READ, reads!(1));
static READ_WORD32: Contract = contract_of("table.read_word32", READ, reads!(4));
static READ_WORD64: Contract = contract_of("table.read_word64", READ, reads!(8));
static READ_VECTOR: Contract = contract_of("table.read_vector", READ, reads!(32));

/// Every contract, with the bytes of its layout's unit.
static CONTRACTS: [(&Contract, u32); 8] = [
    (&STORE_BYTE, 1),
    (&STORE_WORD32, 4),
    (&STORE_WORD64, LIMB),
    (&STORE_VECTOR, VECTOR),
    (&READ_BYTE, 1),
    (&READ_WORD32, 4),
    (&READ_WORD64, LIMB),
    (&READ_VECTOR, VECTOR),
];

/// The most entries: their numbers fit a lane of the masks without its sign, and a row of bytes is whole vectors.
const fn most(unit: u32) -> u32 {
    if unit == 1 { 96 } else { 1024 }
}

/// What a kernel's name says, if it is of this family: whose contract it has, and how many entries.
fn named(kernel: &str) -> Option<(&'static Contract, u32)> {
    let (of, entries) = kernel.rsplit_once("_x")?;
    let (contract, unit) = CONTRACTS.iter().find(|(contract, _)| contract.kernel == of)?;
    let plain = entries.bytes().all(|byte| byte.is_ascii_digit()) && !entries.starts_with('0');
    let entries: u32 = entries.parse().ok().filter(|_| plain)?;
    // A row of bytes, dwords or limbs has whole vectors.
    let whole = (1..=most(*unit)).contains(&entries) && (entries * unit.min(&LIMB)).is_multiple_of(VECTOR);
    whole.then_some((*contract, entries))
}

/// The contract of the kernel of this name.
pub fn contract(kernel: &str) -> Option<&'static Contract> {
    named(kernel).map(|(contract, _)| contract)
}

/// The entries of the tables of the kernel of this name.
pub fn entries(kernel: &str) -> Option<u32> {
    named(kernel).map(|(_, entries)| entries)
}

/// The ways to compute the kernel of this name; of one whose name says no layout, all there are.
pub fn strategies(kernel: &str) -> &'static [Strategy] {
    const ALL: &[Strategy] = &[
        store("portable", store::lower::<Gather<Portable>, 1>),
        store("char_store", store::lower::<Bytes, 1>),
        store("word_store", store::lower::<Gather<Gpr>, 1>),
        store("sse2", store::lower::<Sse2, 8>),
        store("avx2", store::lower::<Avx2, 8>),
    ];
    match contract(kernel) {
        Some(contract) => contract.strategies,
        None if kernel.starts_with(STEM) => ALL,
        None => &[],
    }
}

/// The entries of a plan's table, which is the argument at this index: its length is so many times n.
fn entries_of(lowering: &Lowering<'_>, table: usize) -> u32 {
    let (_, times) = lowering.arguments[table].length.terms().next().expect("a table has entries of n limbs");
    times.into()
}

/// Goes over n limbs: `group` does so many limbs, in rows of units of so many bytes, and moves the pointers on.
fn walk(
    b: &mut Builder,
    lowering: &Lowering<'_>,
    unit: u32,
    (n, max): (Gpr, u64),
    group: impl Fn(&mut Builder, u32, u32) + Copy,
) {
    let unroll = match lowering.parameters.extent {
        Extent::Exact(limbs) => {
            let single = if unit == VECTOR { limbs % 4 } else { limbs };
            if single > 0 {
                group(b, unit.min(LIMB), single);
            }
            if limbs > single {
                group(b, unit, limbs - single);
            }
            return;
        }
        Extent::Unrolled(unroll) => unroll,
        Extent::Whole | Extent::Blocks(_) => unreachable!("a table has a count"),
    };
    let (unroll, limbs) = if unit == VECTOR {
        for single in [1, 2] {
            b.when_bits(n, single as i32, |b| group(b, LIMB, single));
        }
        b.note("vectors");
        b.shr(n, 2);
        (unroll.div_ceil(4), 4)
    } else {
        (unroll, 1)
    };
    let group = |b: &mut Builder, units: u32| group(b, unit, units * limbs);
    let cut = Cut::new(b, n, max, unroll, Carry::Folded);
    cut.walk(b, group, |_| {}, group, |_| {});
}

/// Memory `bytes` behind a pointer into the argument.
fn at(b: &Builder, (argument, pointer): (u8, Gpr), bytes: u32) -> Place {
    b.at(argument, pointer, i32::try_from(bytes).expect("a table of less than 2^31 bytes"))
}

/// Moves a pointer into the argument on.
fn advance(b: &mut Builder, (argument, pointer): (u8, Gpr), bytes: u32) {
    if bytes > 0 {
        b.advance(argument, pointer, i32::try_from(bytes).expect("a table of less than 2^31 bytes"));
    }
}
