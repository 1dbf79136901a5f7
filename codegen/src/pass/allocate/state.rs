//! Where each variable is at one point of the walk.

use super::analysis::{FIRST_FREE, Set, Var};

/// Where an unpinned variable is. In neither place: it was never written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Loc {
    /// Number of its register.
    pub(super) reg: Option<u8>,
    /// The first of its slots, kept from the first spill until the variable dies.
    pub(super) slot: Option<u32>,
    /// Whether the slot holds the value.
    pub(super) valid: bool,
}

impl Loc {
    /// Whether the variable has a value somewhere.
    pub(super) fn is_somewhere(&self) -> bool {
        self.reg.is_some() || self.valid
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    owner: Option<Var>,
    /// How many open loops and tails rely on the owner keeping it.
    protected: u32,
}

/// The places of all variables at one point.
#[derive(Clone, Debug)]
pub(super) struct State {
    locs: Vec<Loc>,
    occupants: [Option<Var>; FIRST_FREE as usize],
    /// Physical registers with a live pinned value.
    pub(super) pinned: u64,
    slots: Vec<Slot>,
    /// Loads and stores added so far.
    pub(super) spills: u32,
    /// Registers that something was put into.
    pub(super) touched: u64,
}

impl State {
    pub(super) fn new(vars: usize) -> State {
        State {
            locs: vec![Loc::default(); vars],
            occupants: [None; FIRST_FREE as usize],
            pinned: 0,
            slots: Vec::new(),
            spills: 0,
            touched: 0,
        }
    }

    pub(super) fn loc(&self, var: Var) -> Loc {
        self.locs[var as usize]
    }

    pub(super) fn occupant(&self, reg: u8) -> Option<Var> {
        self.occupants[usize::from(reg)]
    }

    /// Registers with an unpinned variable in them.
    pub(super) fn occupied(&self) -> u64 {
        (0..64).filter(|reg| self.occupants[*reg].is_some()).fold(0, |mask, reg| mask | 1 << reg)
    }

    pub(super) fn slot_count(&self) -> u32 {
        u32::try_from(self.slots.len()).expect("fewer than 2^32 slots")
    }

    /// Puts a variable into a free register, out of the one it is in.
    pub(super) fn put(&mut self, var: Var, reg: u8) {
        debug_assert!(self.occupant(reg).is_none(), "the register is free");
        self.take_out(var);
        self.locs[var as usize].reg = Some(reg);
        self.occupants[usize::from(reg)] = Some(var);
        self.touched |= 1 << reg;
    }

    /// Takes a variable out of its register.
    pub(super) fn take_out(&mut self, var: Var) {
        if let Some(reg) = self.locs[var as usize].reg.take() {
            self.occupants[usize::from(reg)] = None;
        }
    }

    /// The first of the variable's slots, of which it gets `count` in a row if it has none.
    pub(super) fn slot(&mut self, var: Var, count: u32) -> u32 {
        if let Some(slot) = self.locs[var as usize].slot {
            return slot;
        }
        let free = |slot: &Slot| slot.owner.is_none();
        let index = (0..=self.slots.len()).find(|start| self.slots[*start..].iter().take(count as usize).all(free));
        let index = index.expect("nothing stands behind the last slot");
        let end = index + count as usize;
        self.slots.resize(self.slots.len().max(end), Slot::default());
        self.slots[index..end].iter_mut().for_each(|slot| slot.owner = Some(var));
        let slot = u32::try_from(index).expect("fewer than 2^32 slots");
        self.locs[var as usize].slot = Some(slot);
        slot
    }

    /// Gives the slots of an owner, of which this is the first, to another or to nobody.
    fn give(&mut self, slot: u32, owner: Option<Var>) {
        let before = self.slots[slot as usize].owner;
        self.slots[slot as usize..]
            .iter_mut()
            .take_while(|slot| slot.owner == before)
            .for_each(|slot| slot.owner = owner);
    }

    /// Notes whether the variable's slot holds its value.
    pub(super) fn set_valid(&mut self, var: Var, valid: bool) {
        debug_assert!(!valid || self.locs[var as usize].slot.is_some(), "a value is valid in a slot");
        self.locs[var as usize].valid = valid;
    }

    /// The variable is dead: its register and, unless a loop or a tail relies on it, its slot are free.
    pub(super) fn release(&mut self, var: Var) {
        self.take_out(var);
        self.locs[var as usize].valid = false;
        if let Some(slot) = self.locs[var as usize].slot
            && self.slots[slot as usize].protected == 0
        {
            self.give(slot, None);
            self.locs[var as usize].slot = None;
        }
    }

    /// Gives the register and the slot of `from`, which is dead, to `to`, which has neither. `false`: a loop or a tail relies
    /// on a slot.
    pub(super) fn rename(&mut self, from: Var, to: Var) -> bool {
        let (old, new) = (self.loc(from), self.loc(to));
        let protected = |slot: u32| self.slots[slot as usize].protected > 0;
        if new.slot.is_some() || old.slot.is_some_and(protected) {
            return false;
        }
        self.locs[to as usize] = old;
        self.locs[from as usize] = Loc::default();
        if let Some(reg) = old.reg {
            self.occupants[usize::from(reg)] = Some(to);
        }
        if let Some(slot) = old.slot {
            self.give(slot, Some(to));
        }
        true
    }

    /// Releases whatever is not live.
    pub(super) fn retain(&mut self, live: &Set) {
        self.pinned = live.pinned();
        let in_slots = self.slots.iter().filter_map(|slot| slot.owner);
        let dead: Vec<Var> =
            self.occupants.iter().flatten().copied().chain(in_slots).filter(|var| !live.contains(*var)).collect();
        dead.into_iter().for_each(|var| self.release(var));
    }

    /// The unpinned variables that are somewhere or own a slot, ascending, with their places.
    pub(super) fn places(&self) -> Vec<(Var, Loc)> {
        let owners = self.slots.iter().filter_map(|slot| slot.owner);
        let mut vars: Vec<Var> = self.occupants.iter().flatten().copied().chain(owners).collect();
        vars.sort_unstable();
        vars.dedup();
        vars.into_iter().map(|var| (var, self.loc(var))).collect()
    }

    /// Keeps the slots of these places from being given to others, until [`State::unprotect`].
    pub(super) fn protect(&mut self, places: &[(Var, Loc)]) {
        places.iter().filter_map(|(_, loc)| loc.slot).for_each(|slot| self.slots[slot as usize].protected += 1);
    }

    /// Ends [`State::protect`].
    pub(super) fn unprotect(&mut self, places: &[(Var, Loc)]) {
        places.iter().filter_map(|(_, loc)| loc.slot).for_each(|slot| self.slots[slot as usize].protected -= 1);
    }
}
