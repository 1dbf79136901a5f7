//! table := the entries, which lie one after another, as rows.

use super::{LIMB, advance, entries_of, walk};
use crate::family::{Contract, Lowering};
use crate::ir::typed::{Gpr, Place};
use crate::ir::{Builder, Func, Mem, Space, Virtual};

/// The argument whose entries are stored.
const A: u8 = 1;

/// How units come to their rows.
pub(super) trait Weave {
    /// Entries whose units are made into rows together.
    fn entries(unit: u32) -> u32;
    /// Stores limbs of those entries, from `entries` on, to the rows that begin at the table's pointer.
    fn weave(b: &mut Builder, unit: u32, limbs: u32, entries: &[Gpr], rows: &Rows);
    /// What the calling convention asks for at the end.
    fn end(b: &mut Builder);
}

/// The rows of a table, from some place in them on.
pub(super) struct Rows {
    table: (u8, Gpr),
    /// Bytes of a row.
    bytes: u32,
}

impl Rows {
    /// The memory `offset` bytes on in a row.
    pub fn row(&self, b: &Builder, row: u32, offset: u32) -> Place {
        super::at(b, self.table, row * self.bytes + offset)
    }
}

/// The limb of an entry.
pub(super) fn limb(b: &Builder, entry: Gpr, index: u32) -> Place {
    super::at(b, (A, entry), index * LIMB)
}

/// Stores tables in units of `UNIT` bytes.
pub(super) fn lower<W: Weave, const UNIT: u32>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let table = (0, lowering.declare(b, contract, 0, 0));
    let a = (A, lowering.declare(b, contract, 1, 1));
    let n = lowering.declare(b, contract, 2, 0);
    let entries = entries_of(lowering, 0);
    b.note("limbs from an entry to the next");
    let stride = b.gpr();
    b.mov(stride, n);
    walk(b, lowering, UNIT, (n, lowering.arguments[2].count.1), |b, unit, limbs| {
        let together = W::entries(unit);
        let rows = Rows { table, bytes: entries * unit };
        let (entry, turns) = (b.gpr(), b.gpr());
        b.mov(entry, a.1);
        b.mov_imm32(turns, i64::from(entries / together));
        b.counted(turns, |b| {
            let mut pointers = vec![entry];
            for _ in 1..together {
                let next = b.gpr();
                step(b, next, pointers[pointers.len() - 1], stride);
                pointers.push(next);
            }
            W::weave(b, unit, limbs, &pointers, &rows);
            step(b, entry, pointers[pointers.len() - 1], stride);
            advance(b, table, together * unit);
        });
        advance(b, table, limbs * LIMB * entries - rows.bytes);
        advance(b, a, limbs * LIMB);
    });
    W::end(b);
    builder.finish(None, lowering.parameters.exact().map(u64::from))
}

/// to := the entry after that one.
fn step(b: &mut Builder, to: Gpr, from: Gpr, stride: Gpr) {
    b.lea(to, Place(Mem { space: Space::Argument(A), base: from.0, index: Some((stride.0, LIMB as u8)), disp: 0 }));
}
