//! r := the entry with that index, or 0 where there is none.
//!
//! A pass goes over all entries with as many limbs of each as the registers hold: at each step the masks of its entries are
//! made once, for all of the rows.

use super::lanes::Lanes;
use super::{LIMB, advance, at, entries_of, walk};
use crate::family::{Contract, Extent, Lowering};
use crate::ir::typed::Gpr;
use crate::ir::{Builder, Func, Virtual};

/// Steps of a turn of the loop over entries, at most.
const STEPS: u32 = 4;

/// Reads tables in units of `UNIT` bytes.
pub(super) fn lower<L: Lanes, const UNIT: u32>(contract: &Contract, lowering: &Lowering<'_>) -> Func<Virtual> {
    let mut builder = Builder::new(lowering.name, contract.limb_bits);
    let b = &mut builder;
    let r = (0, lowering.declare(b, contract, 0, 0));
    let table = (1, lowering.declare(b, contract, 1, 1));
    let n = lowering.declare(b, contract, 2, 0);
    let lanes = L::begin(b, contract, lowering, 3, UNIT);
    let exact = matches!(lowering.parameters.extent, Extent::Exact(_));
    let read = Read { lanes: &lanes, r, table, entries: entries_of(lowering, 1), exact };
    let block = |unit: u32| match lowering.parameters.block {
        // Units are whole.
        Some(limbs) => limbs.next_multiple_of(u32::max(unit / LIMB, 1)),
        None => L::block(unit),
    };
    walk(b, lowering, UNIT, (n, lowering.arguments[2].count.1), |b, unit, limbs| {
        let most = block(unit);
        for first in (0..limbs).step_by(most as usize) {
            read.pass(b, unit, most.min(limbs - first));
        }
    });
    L::end(b);
    builder.finish(None, lowering.parameters.exact().map(u64::from))
}

struct Read<'l, L> {
    lanes: &'l L,
    r: (u8, Gpr),
    table: (u8, Gpr),
    entries: u32,
    /// Without loops.
    exact: bool,
}

impl<L: Lanes> Read<'_, L> {
    /// Reads so many limbs of the entry; the pointers move on.
    fn pass(&self, b: &mut Builder, unit: u32, limbs: u32) {
        let row = self.entries * unit;
        let step = unit.max(L::BYTES);
        let rows = (0..limbs * LIMB / unit).map(|index| index * row);
        let parts: Vec<u32> = rows.flat_map(|row| (row..row + step).step_by(L::BYTES as usize)).collect();
        let found: Vec<L::Reg> = parts.iter().map(|_| self.lanes.zero(b)).collect();
        let numbers = self.lanes.first(b, unit);
        let steps = row / step;
        let look = |b: &mut Builder, index: u32| {
            let mask = self.lanes.mask(b, unit, numbers);
            for (found, part) in found.iter().zip(&parts) {
                let place = at(b, self.table, part + index * step);
                self.lanes.gather(b, *found, mask, place);
            }
        };
        let together = (1..=STEPS).rev().find(|together| steps.is_multiple_of(*together)).expect("1 does");
        if self.exact || steps == together {
            (0..steps).for_each(|index| look(b, index));
            advance(b, self.table, limbs * LIMB * self.entries);
        } else {
            let turns = b.gpr();
            b.mov_imm32(turns, i64::from(steps / together));
            b.counted(turns, |b| {
                (0..together).for_each(|index| look(b, index));
                advance(b, self.table, together * step);
            });
            advance(b, self.table, limbs * LIMB * self.entries - row);
        }
        self.lanes.limbs(b, unit, &found, self.r);
        advance(b, self.r, limbs * LIMB);
    }
}
