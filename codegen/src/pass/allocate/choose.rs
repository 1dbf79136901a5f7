//! Which register a variable gets, and who makes room.

use super::AllocateError;
use super::analysis::Var;
use super::state::State;
use super::walk::{Out, Walk, bit};
use std::cmp::Reverse;

/// How much farther a use beyond the loop counts: the loop's other trips come first.
const BEYOND_LOOP: u64 = 1 << 20;

impl Walk<'_> {
    /// A measure of how far the next read after `at` is.
    fn distance(&self, var: Var, at: u32) -> u64 {
        let next = self.program.read_from(var, at + 1);
        let mut passed = 0;
        let mut at = at;
        for open in self.loops.iter().rev() {
            if let Some(next) = next.filter(|next| *next <= open.end) {
                return passed + u64::from(next.saturating_sub(at));
            }
            passed += u64::from(open.end - at.min(open.end));
            if open.live_head.contains(var)
                && let Some(first) = self.program.read_from(var, open.head).filter(|first| *first <= open.end)
            {
                return passed + u64::from(first - open.head);
            }
            passed += BEYOND_LOOP;
            at = open.end;
        }
        passed + next.map_or(BEYOND_LOOP, |next| u64::from(next.saturating_sub(at)))
    }

    /// When a variable that sits in `reg` from `at` on would have to leave it for something pinned.
    pub(super) fn leaves(&self, var: Var, reg: u8, at: u32) -> Option<u64> {
        let mut end = self.program.segment_end(var, at);
        for open in self.loops.iter().filter(|open| open.live_head.contains(var)) {
            end = end.max(open.end);
        }
        let wrapped = || {
            let around = self.loops.iter().filter(|open| open.live_head.contains(var));
            around
                .filter_map(|open| {
                    let write = self.program.pin_write(reg, open.head, at + 1)?;
                    Some(u64::from(open.end) + u64::from(write - open.head))
                })
                .min()
        };
        self.program.pin_write(reg, at + 1, end).map(u64::from).or_else(wrapped)
    }

    /// The best free register for a variable, if any is free and not in `avoid`.
    pub(super) fn free(&self, var: Var, at: u32, avoid: u64, state: &State) -> Option<u8> {
        let home = self.loops.iter().rev().find_map(|open| open.homes.get(&var).copied());
        let wish = home.or(self.wishes[var as usize]);
        let taken = avoid | state.pinned | state.occupied();
        let numbered = self.file(var).registers.iter().enumerate();
        let numbered = numbered.filter_map(|(order, reg)| Some((order, self.target.number(*reg)?)));
        numbered
            .filter(|(_, reg)| taken & bit(*reg) == 0)
            .min_by_key(|(order, reg)| match self.leaves(var, *reg, at) {
                // Of the registers that it may keep, take the one that it wants, or that is wanted soonest by a pin.
                None => {
                    let fresh = (self.callee_saved & !state.touched) & bit(*reg) != 0;
                    let pin = self.program.pin_write(*reg, at + 1, u32::MAX).unwrap_or(u32::MAX);
                    (false, u64::from(wish != Some(*reg)), fresh, Reverse(0), pin, *order)
                }
                Some(leaves) => (true, 0, false, Reverse(leaves), 0, *order),
            })
            .map(|(_, reg)| reg)
    }

    /// The variable of the same file that is needed last, outside the registers `locked`. A value that its slot holds too
    /// costs no store.
    fn victim(&self, var: Var, at: u32, locked: u64, state: &State) -> Option<(u64, Var)> {
        let file = self.file(var);
        let numbers = file.registers.iter().filter_map(|reg| self.target.number(*reg));
        let there = numbers.filter(|reg| locked & bit(*reg) == 0).filter_map(|reg| state.occupant(reg));
        there
            .map(|other| (self.cheapness(other, at, state), other))
            .max_by_key(|(score, other)| (*score, Reverse(*other)))
    }

    fn cheapness(&self, var: Var, at: u32, state: &State) -> u64 {
        self.distance(var, at) * if state.loc(var).valid { 3 } else { 2 }
    }

    /// A register for a variable: free, or freed by eviction. Not one in `avoid`, and nobody in `locked` is evicted.
    pub(super) fn take(
        &self,
        var: Var,
        at: u32,
        avoid: u64,
        locked: u64,
        state: &mut State,
        out: &mut Out,
    ) -> Result<u8, AllocateError> {
        if let Some(reg) = self.free(var, at, avoid, state) {
            return Ok(reg);
        }
        let victim = self.victim(var, at, avoid | locked, state);
        let (_, victim) = victim.ok_or_else(|| AllocateError::Pressure { function: self.name.into(), position: at })?;
        let reg = state.loc(victim).reg.expect("victims sit in registers");
        self.evict(victim, state, out);
        Ok(reg)
    }

    /// Frees a register for something pinned: its occupant moves, or whoever is needed last goes to a slot.
    pub(super) fn vacate(
        &self,
        reg: u8,
        at: u32,
        locked: u64,
        state: &mut State,
        out: &mut Out,
    ) -> Result<(), AllocateError> {
        let Some(var) = state.occupant(reg) else { return Ok(()) };
        let to = match self.free(var, at, locked | bit(reg), state) {
            Some(to) => to,
            None => match self.victim(var, at, locked | bit(reg), state) {
                Some((score, victim)) if score > self.cheapness(var, at.saturating_sub(1), state) => {
                    let to = state.loc(victim).reg.expect("victims sit in registers");
                    self.evict(victim, state, out);
                    to
                }
                _ => {
                    self.evict(var, state, out);
                    return Ok(());
                }
            },
        };
        self.emit_copy(var, to, reg, out);
        state.put(var, to);
        Ok(())
    }
}
