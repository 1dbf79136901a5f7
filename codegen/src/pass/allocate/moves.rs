//! Makes the state at the end of a body agree with the state in which it must end: parallel moves that leave the flags alone.

use super::analysis::Var;
use super::state::{Loc, State};
use super::walk::{Out, Walk};
use std::collections::BTreeMap;

impl Walk<'_> {
    /// Brings the variables of `places` to those places. Others stay where they are, unless their register is wanted. A slot
    /// in `places` is the variable's own if it has one.
    pub(super) fn reconcile(&self, places: &[(Var, Loc)], at: u32, state: &mut State, out: &mut Out) {
        for (var, place) in places {
            if place.valid && state.loc(*var).reg.is_some() {
                self.store(*var, state, out);
            }
            if place.reg.is_none() && place.valid {
                state.take_out(*var);
                if !state.loc(*var).valid {
                    // Never written: the slot's contents are as good.
                    state.slot(*var, self.moves(*var).slots());
                    state.set_valid(*var, true);
                }
            }
        }
        let wanted: BTreeMap<u8, Var> = places.iter().filter_map(|(var, place)| Some((place.reg?, *var))).collect();
        let wanted_mask = wanted.keys().fold(0, |mask, reg| mask | 1_u64 << reg);
        for reg in wanted.keys() {
            let Some(other) = state.occupant(*reg) else { continue };
            if wanted.values().any(|var| *var == other) {
                continue;
            }
            match self.free(other, at, wanted_mask, state) {
                Some(to) => {
                    self.emit_copy(other, to, *reg, out);
                    state.put(other, to);
                }
                None => self.evict(other, state, out),
            }
        }
        self.permute(&wanted, wanted_mask, at, state, out);
        for (reg, var) in &wanted {
            if state.loc(*var).reg != Some(*reg) {
                self.load(*var, *reg, state, out);
            }
        }
    }

    /// Moves variables that are in registers, but not in theirs. A cycle goes through a free register, else through a slot.
    fn permute(&self, wanted: &BTreeMap<u8, Var>, wanted_mask: u64, at: u32, state: &mut State, out: &mut Out) {
        loop {
            let displaced: Vec<(u8, u8, Var)> = wanted
                .iter()
                .filter_map(|(to, var)| Some((*to, state.loc(*var).reg?, *var)))
                .filter(|(to, from, _)| to != from)
                .collect();
            let Some(first) = displaced.first().copied() else { return };
            if let Some((to, from, var)) = displaced.iter().copied().find(|(to, ..)| state.occupant(*to).is_none()) {
                self.emit_copy(var, to, from, out);
                state.put(var, to);
                continue;
            }
            let (_, from, var) = first;
            match self.free(var, at, wanted_mask, state) {
                Some(to) => {
                    self.emit_copy(var, to, from, out);
                    state.put(var, to);
                }
                None => self.evict(var, state, out),
            }
        }
    }
}
