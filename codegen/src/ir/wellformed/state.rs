//! What is known at one point of a function, on every path that leads there.

use super::AnyReg;
use crate::isa::row::{FlagSet, PReg};
use std::collections::{BTreeMap, BTreeSet};

/// What a flag holds, from best to worst: where paths meet, the worst stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FlagState {
    /// What an instruction left.
    Defined,
    /// What loop control or a tail's test left.
    Control,
    /// Defined, but carried over a back-edge that does not declare it.
    Undeclared,
    /// Nothing.
    Undefined,
}

/// In the place of a parameter's index: the function's pool. (A function has at most six parameters.)
pub(super) const POOL: u8 = u8::MAX;

/// A register that derives from a pointer parameter, and where it stands: `ticks` from the other pointers of its group.
/// Pointers of different groups are an unknown distance apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pointer {
    /// Its index, or [`POOL`].
    pub parameter: u8,
    pub group: u32,
    pub ticks: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State<R: Ord> {
    pub defined: BTreeSet<R>,
    /// For each register that something is pinned to, what was written last; `None` when paths differ.
    pub owners: BTreeMap<PReg, Option<R>>,
    /// CF, OF and ZF.
    pub flags: [FlagState; 3],
    /// Whether MMX was used, on some path, since the last `emms`.
    pub mmx: bool,
    /// Whether 256 bits of a register were written, on some path, since the last `vzeroupper`.
    pub wide: bool,
    /// Vector registers all of whose bits were written since the last `vzeroupper`.
    pub whole: BTreeSet<R>,
    pub pointers: BTreeMap<R, Pointer>,
    /// Spill slots that hold something, and which pointer.
    pub slots: BTreeMap<i32, Option<Pointer>>,
}

impl<R: AnyReg + Ord> State<R> {
    pub fn new() -> State<R> {
        State {
            defined: BTreeSet::new(),
            owners: BTreeMap::new(),
            flags: [FlagState::Undefined; 3],
            mmx: false,
            wide: false,
            whole: BTreeSet::new(),
            pointers: BTreeMap::new(),
            slots: BTreeMap::new(),
        }
    }

    /// A write, after which the register holds no pointer.
    pub fn write(&mut self, reg: R) {
        self.defined.insert(reg);
        if let Some(physical) = reg.physical() {
            self.owners.insert(physical, Some(reg));
        }
        self.pointers.remove(&reg);
    }

    pub fn set_flags(&mut self, flags: FlagSet, state: FlagState) {
        for (flag, held) in FlagSet::EACH.iter().zip(&mut self.flags) {
            if flags.contains(*flag) {
                *held = state;
            }
        }
    }

    /// What is known where this path meets another.
    pub fn meet(&self, other: &State<R>) -> State<R> {
        let owners = self.owners.keys().chain(other.owners.keys());
        let owner = |reg: &PReg| match (self.owners.get(reg), other.owners.get(reg)) {
            (Some(a), Some(b)) if a == b => *a,
            _ => None,
        };
        let mut flags = self.flags;
        flags.iter_mut().zip(other.flags).for_each(|(flag, other)| *flag = (*flag).max(other));
        // Two pointers keep their distance when both paths agree on it: so a group is what moved alike on both.
        let mut groups: Vec<((u32, u32, i64), i64)> = Vec::new();
        let mut together = |a: &Pointer, b: &Pointer| {
            let key = (a.group, b.group, a.ticks.wrapping_sub(b.ticks));
            let known = groups.iter().position(|(group, _)| *group == key);
            let group = known.unwrap_or_else(|| {
                groups.push((key, a.ticks));
                groups.len() - 1
            });
            let ticks = a.ticks.wrapping_sub(groups[group].1);
            (a.parameter == b.parameter).then_some(Pointer { parameter: a.parameter, group: group as u32, ticks })
        };
        let mut pointers = BTreeMap::new();
        for (reg, a) in &self.pointers {
            if let Some(pointer) = other.pointers.get(reg).and_then(|b| together(a, b)) {
                pointers.insert(*reg, pointer);
            }
        }
        let mut slots = BTreeMap::new();
        for (slot, a) in &self.slots {
            if let Some(b) = other.slots.get(slot) {
                slots.insert(*slot, a.as_ref().zip(b.as_ref()).and_then(|(a, b)| together(a, b)));
            }
        }
        State {
            defined: self.defined.intersection(&other.defined).copied().collect(),
            owners: owners.map(|reg| (*reg, owner(reg))).collect(),
            flags,
            mmx: self.mmx || other.mmx,
            wide: self.wide || other.wide,
            whole: self.whole.intersection(&other.whole).copied().collect(),
            pointers,
            slots,
        }
    }
}
