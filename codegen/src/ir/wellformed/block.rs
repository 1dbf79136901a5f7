//! The cursors in one block: whether the pointers that it uses stand at one element and walk in step.

use super::state::Pointer;
use std::collections::{BTreeMap, BTreeSet};

/// The steps that a pointer took in the block: ticks, and the registers that were added to it (with the number of times that
/// each had been written in the block, and the scale in ticks).
type Steps<R> = (i64, BTreeMap<(R, u32, i64), i64>);

pub(super) struct Block<R> {
    start: BTreeMap<R, Pointer>,
    /// Live-in pointers through which memory was accessed.
    bases: BTreeSet<R>,
    steps: BTreeMap<R, Steps<R>>,
    /// Pointers that were given another value than a step.
    replaced: BTreeSet<R>,
    writes: BTreeMap<R, u32>,
    /// The groups into which steps by a register took pointers of a group.
    moved: BTreeMap<(u32, R, u32, i64), u32>,
}

impl<R: Copy + Ord> Block<R> {
    pub fn new(start: &BTreeMap<R, Pointer>) -> Block<R> {
        Block {
            start: start.clone(),
            bases: BTreeSet::new(),
            steps: BTreeMap::new(),
            replaced: BTreeSet::new(),
            writes: BTreeMap::new(),
            moved: BTreeMap::new(),
        }
    }

    pub fn access(&mut self, base: R) {
        if self.start.contains_key(&base) && !self.replaced.contains(&base) {
            self.bases.insert(base);
        }
    }

    /// `reg` was written otherwise than by a step of its own.
    pub fn replace(&mut self, reg: R) {
        self.replaced.insert(reg);
        *self.writes.entry(reg).or_default() += 1;
    }

    /// `reg` moved by `ticks` and by `index`, if any, times `scale` ticks.
    pub fn step(&mut self, reg: R, ticks: i64, index: Option<(R, i64)>) {
        if self.start.contains_key(&reg) && !self.replaced.contains(&reg) {
            let steps = self.steps.entry(reg).or_default();
            steps.0 = steps.0.wrapping_add(ticks);
            if let Some((index, scale)) = index {
                let version = self.writes.get(&index).copied().unwrap_or(0);
                *steps.1.entry((index, version, scale)).or_default() += 1;
            }
        }
        *self.writes.entry(reg).or_default() += 1;
    }

    /// The group of what stands `index` times `scale` ticks from `group`; `fresh` if nothing else does yet.
    pub fn group(&mut self, group: u32, (index, scale): (R, i64), fresh: u32) -> u32 {
        let version = self.writes.get(&index).copied().unwrap_or(0);
        *self.moved.entry((group, index, version, scale)).or_insert(fresh)
    }

    /// Two pointers of each cursor that are out of step, at the block's start or at its end.
    pub fn out_of_step(&self, cursor: impl Fn(u8) -> Option<u8>) -> Vec<(u8, R, R)> {
        let place = |reg: &R| (self.start[reg].group, self.start[reg].ticks);
        let steps = |reg: &R| self.steps.get(reg).cloned().unwrap_or_default();
        let walkers = self.bases.iter().chain(self.steps.keys()).filter(|reg| !self.replaced.contains(reg));
        let mut first: BTreeMap<u8, &R> = BTreeMap::new();
        let mut found: BTreeMap<u8, (R, R)> = BTreeMap::new();
        for reg in &self.bases {
            let Some(cursor) = cursor(self.start[reg].parameter) else { continue };
            let other = *first.entry(cursor).or_insert(reg);
            if place(other) != place(reg) {
                found.entry(cursor).or_insert((*other, *reg));
            }
        }
        first.clear();
        for reg in walkers {
            let Some(cursor) = cursor(self.start[reg].parameter) else { continue };
            let other = *first.entry(cursor).or_insert(reg);
            if steps(other) != steps(reg) {
                found.entry(cursor).or_insert((*other, *reg));
            }
        }
        found.into_iter().map(|(cursor, (a, b))| (cursor, a, b)).collect()
    }
}
