//! The walk in program order that decides every place.

use super::analysis::{FIRST_FREE, Mention, Part, Program, Set, Step, Var};
use super::commute::commuted;
use super::state::State;
use super::target::{Moves, RegisterFile, Target};
use super::{AllocateError, is_narrow};
use crate::ir::{Func, Inst, Mem, Node, Operand, Space, VReg, Virtual};
use crate::isa::Op;
use crate::isa::row::{Access, Kind, PReg};
use std::collections::BTreeMap;

/// A loop whose body is being walked.
pub(super) struct OpenLoop<'a> {
    pub(super) head: u32,
    pub(super) end: u32,
    pub(super) live_head: &'a Set,
    pub(super) homes: BTreeMap<Var, u8>,
}

/// The walk: what it knows beforehand, and the loops it is in.
pub(super) struct Walk<'a> {
    pub(super) name: &'a str,
    limb_bits: u32,
    func: &'a Func<Virtual>,
    pub(super) target: &'a Target,
    pub(super) program: &'a Program,
    /// The register that a variable will be copied to, if any.
    pub(super) wishes: Vec<Option<u8>>,
    pub(super) callee_saved: u64,
    pub(super) loops: Vec<OpenLoop<'a>>,
}

/// The output so far.
#[derive(Default)]
pub(super) struct Out {
    pub(super) nodes: Vec<Node<PReg>>,
    /// The note of a copy that disappeared.
    note: Option<&'static str>,
}

impl Out {
    pub(super) fn push(&mut self, mut inst: Inst<PReg>) {
        let note = self.note.take();
        inst.note = inst.note.or(note);
        match self.nodes.last_mut() {
            Some(Node::Block(insts)) => insts.push(inst),
            _ => self.nodes.push(Node::Block(vec![inst])),
        }
    }
}

pub(super) fn bit(reg: u8) -> u64 {
    1 << reg
}

impl<'a> Walk<'a> {
    pub(super) fn new(func: &'a Func<Virtual>, target: &'a Target, program: &'a Program) -> Walk<'a> {
        let number = |reg: &PReg| target.number(*reg).expect("a register of the target");
        let mut walk = Walk {
            name: &func.name,
            limb_bits: func.limb_bits,
            func,
            target,
            program,
            wishes: vec![None; program.classes.len()],
            callee_saved: target.callee_saved.iter().map(number).fold(0, |mask, reg| mask | bit(reg)),
            loops: Vec::new(),
        };
        walk.wish(&program.parts);
        if let Some(reg) = func.returns {
            walk.wishes[program.var(reg) as usize].get_or_insert(number(&target.result));
        }
        walk
    }

    fn wish(&mut self, parts: &[Part]) {
        for part in parts.iter().rev() {
            match part {
                Part::Block { steps, .. } => {
                    for step in steps.iter().rev() {
                        if let Some((to, from)) = self.copy(&step.inst) {
                            let wish = u8::try_from(to).ok().filter(|to| Var::from(*to) < FIRST_FREE);
                            let wish = wish.or(self.wishes[to as usize]);
                            self.wishes[from as usize] = self.wishes[from as usize].or(wish);
                        }
                    }
                }
                Part::Loop { body, .. } | Part::When { body, .. } => self.wish(body),
                Part::Call { .. } => {}
            }
        }
    }

    /// Destination and source of a full copy between registers.
    fn copy(&self, inst: &Inst<VReg>) -> Option<(Var, Var)> {
        let mut all = self.target.files.iter().flat_map(|file| file.moves.iter().map(move |moves| (file, moves)));
        let (file, moves) = all.find(|(_, moves)| moves.copy == inst.op)?;
        let [Operand::Reg(to), Operand::Reg(from)] = inst.operands[..] else { return None };
        let (to, from, class) = (self.program.var(to), self.program.var(from), to.class);
        // A narrower copy of a wider value cuts it.
        let whole = |var| self.program.width(var) <= moves.width();
        (class == file.class && whole(to) && whole(from)).then_some((to, from))
    }

    /// Body, number of slots and number of spills of the allocated function.
    pub(super) fn run(mut self) -> Result<(Vec<Node<PReg>>, u32, u32), AllocateError> {
        let (func, program, target) = (self.func, self.program, self.target);
        let mut state = State::new(program.classes.len());
        let mut out = Out::default();
        for (parameter, reg) in func.parameters.iter().zip(&target.arguments) {
            let var = program.var(parameter.reg);
            if var >= FIRST_FREE && program.live_entry.contains(var) {
                state.put(var, target.number(*reg).expect("a register of the target"));
            }
        }
        state.pinned = program.live_entry.pinned();
        for reg in (0..64).filter(|reg| program.live_entry.pinned() >> reg & 1 == 1) {
            self.vacate(reg, 0, 0, &mut state, &mut out)?;
        }
        self.parts(&program.parts, &mut state, &mut out)?;
        if let Some(reg) = func.returns {
            self.give_back(reg, &mut state, &mut out)?;
        }
        Ok((out.nodes, state.slot_count(), state.spills))
    }

    /// Moves the result to where the caller looks for it.
    fn give_back(&mut self, reg: VReg, state: &mut State, out: &mut Out) -> Result<(), AllocateError> {
        let result = self.target.result;
        if reg.class != result.class {
            return Err(AllocateError::Class { function: self.name.into(), class: reg.class });
        }
        let var = self.program.var(reg);
        let moves = self.moves(var);
        let narrow = self.limb_bits == 32;
        let at = if var < FIRST_FREE { u8::try_from(var).ok() } else { state.loc(var).reg };
        let here = Operand::Reg(result);
        match (at.map(|reg| self.target.register(reg)), state.loc(var).slot) {
            (Some(reg), _) => {
                if reg != result || (narrow && !is_narrow(&out.nodes, reg)) {
                    let op = if narrow { self.target.narrow.0 } else { moves.copy };
                    out.push(Inst { op, operands: vec![here, Operand::Reg(reg)], note: None });
                }
            }
            (None, Some(slot)) => {
                let op = if narrow { self.target.narrow.1 } else { moves.load };
                state.spills += 1;
                out.push(Inst { op, operands: vec![here, self.slot_operand(slot)], note: None });
            }
            // Never written: whatever is there is as good.
            (None, None) => {}
        }
        Ok(())
    }

    pub(super) fn file(&self, var: Var) -> &'a RegisterFile {
        let class = self.program.classes[var as usize];
        self.target.file(class).expect("analysis refuses other classes")
    }

    /// How the values of a variable move.
    pub(super) fn moves(&self, var: Var) -> &'a Moves {
        self.file(var).moves(self.program.width(var))
    }

    pub(super) fn slot_operand(&self, slot: u32) -> Operand<PReg> {
        let disp = i32::try_from(slot * 8).expect("a frame below 2^31 bytes");
        Operand::Mem(Mem { space: Space::Frame, base: self.target.stack, index: None, disp })
    }

    pub(super) fn emit_copy(&self, var: Var, to: u8, from: u8, out: &mut Out) {
        let operands = [to, from].map(|reg| Operand::Reg(self.target.register(reg))).to_vec();
        out.push(Inst { op: self.moves(var).copy, operands, note: None });
    }

    /// Makes the slot of a variable hold its value.
    pub(super) fn store(&self, var: Var, state: &mut State, out: &mut Out) {
        let loc = state.loc(var);
        let (Some(reg), false) = (loc.reg, loc.valid) else { return };
        let slot = self.slot_operand(state.slot(var, self.moves(var).slots()));
        let operands = vec![slot, Operand::Reg(self.target.register(reg))];
        out.push(Inst { op: self.moves(var).store, operands, note: None });
        state.spills += 1;
        state.set_valid(var, true);
    }

    /// Loads a variable from its slot into the free register `reg`; one that was never written needs no load.
    pub(super) fn load(&self, var: Var, reg: u8, state: &mut State, out: &mut Out) {
        let loc = state.loc(var);
        if let (Some(slot), true) = (loc.slot, loc.valid) {
            let operands = vec![Operand::Reg(self.target.register(reg)), self.slot_operand(slot)];
            out.push(Inst { op: self.moves(var).load, operands, note: None });
            state.spills += 1;
        }
        state.put(var, reg);
    }

    /// Puts a variable into its slot alone.
    pub(super) fn evict(&self, var: Var, state: &mut State, out: &mut Out) {
        self.store(var, state, out);
        state.take_out(var);
    }

    pub(super) fn parts(&mut self, parts: &'a [Part], state: &mut State, out: &mut Out) -> Result<(), AllocateError> {
        for part in parts {
            match part {
                Part::Block { start, steps } => {
                    for (at, step) in (*start..).zip(steps) {
                        self.step(at, step, state, out)?;
                    }
                }
                Part::Loop { .. } => self.counted(part, state, out)?,
                Part::When { .. } => self.tail(part, state, out)?,
                Part::Call { at, sub, clobbers, pinned_after } => {
                    for reg in (0..64).filter(|reg| clobbers >> reg & 1 == 1) {
                        self.vacate(reg, *at, *clobbers, state, out)?;
                    }
                    state.pinned = *pinned_after;
                    state.touched |= clobbers;
                    out.nodes.push(Node::Call(*sub));
                }
            }
        }
        Ok(())
    }

    fn step(&self, at: u32, step: &Step, state: &mut State, out: &mut Out) -> Result<(), AllocateError> {
        if let Some((to, from)) = self.copy(&step.inst)
            && self.coalesce(at, step, to, from, state)
        {
            out.note = out.note.or(step.inst.note);
            return Ok(());
        }
        let is_pinned = |mention: &&Mention| mention.var < FIRST_FREE;
        let unpinned = || step.mentions.iter().filter(|mention| mention.var >= FIRST_FREE);
        let pins = step.mentions.iter().filter(is_pinned);
        let mask = |mention: &Mention| 1_u64 << mention.var;
        let pin_writes = pins.clone().filter(|mention| mention.writes).fold(0, |all, mention| all | mask(mention));
        let pin_deaths = pins.filter(|mention| mention.dies).fold(0, |all, mention| all | mask(mention));
        let locked =
            |state: &State| unpinned().filter_map(|mention| state.loc(mention.var).reg).fold(0, |m, r| m | bit(r));

        // What sits where a pinned value is written moves, unless this instruction is its last reader.
        for reg in (0..64).filter(|reg| pin_writes >> reg & 1 == 1) {
            let last_read = |var| unpinned().any(|mention| mention.var == var && mention.dies && !mention.writes);
            if state.occupant(reg).is_some_and(|var| !last_read(var)) {
                self.vacate(reg, at, locked(state) | pin_writes, state, out)?;
            }
        }

        // Reads. One that is only in its slot may stay there if the row takes memory.
        let mut places: BTreeMap<Var, PReg> = BTreeMap::new();
        let mut folded = None;
        let foldable = self.foldable(step, state);
        let strict = unpinned().filter(|mention| mention.reads && Some(mention.var) != foldable);
        let strict: Vec<_> = strict.map(|mention| (mention.var, mention.dies)).collect();
        for (var, _) in &strict {
            self.bring(*var, at, pin_writes, locked(state), state, out)?;
        }
        if let Some(var) = foldable {
            let dies = unpinned().any(|mention| mention.var == var && mention.dies);
            let stays = dies || self.target.from_memory.iter().any(|(op, _)| *op == step.inst.op);
            if stays || self.free(var, at, pin_writes, state).is_none() {
                folded = state.loc(var).slot.map(|slot| (var, slot));
                state.spills += 1;
            } else {
                self.bring(var, at, pin_writes, locked(state), state, out)?;
            }
        }
        for mention in unpinned().filter(|mention| mention.reads) {
            if let Some(reg) = state.loc(mention.var).reg {
                places.insert(mention.var, self.target.register(reg));
            }
        }

        // Writes may use the registers of values that die here. Their slots stay theirs until the instruction is complete: it
        // may read one.
        for mention in unpinned().filter(|mention| mention.dies && !mention.writes) {
            state.take_out(mention.var);
        }
        state.pinned = (state.pinned & !pin_deaths) | pin_writes;
        state.touched |= pin_writes;
        let mut kept = 0;
        for mention in unpinned().filter(|mention| mention.writes) {
            kept |= state.loc(mention.var).reg.map_or(0, bit);
        }
        for mention in unpinned().filter(|mention| mention.writes) {
            if state.loc(mention.var).reg.is_none() {
                let reg = self.take(mention.var, at, pin_writes, kept, state, out)?;
                kept |= bit(reg);
                state.put(mention.var, reg);
                places.insert(mention.var, self.target.register(reg));
            }
            state.set_valid(mention.var, false);
        }
        out.push(self.physical(&step.inst, &places, folded));
        for mention in unpinned().filter(|mention| mention.dies) {
            state.release(mention.var);
        }
        state.pinned &= !pin_deaths;
        Ok(())
    }

    /// Brings a variable into a register, if it is not in one.
    pub(super) fn bring(
        &self,
        var: Var,
        at: u32,
        avoid: u64,
        locked: u64,
        state: &mut State,
        out: &mut Out,
    ) -> Result<(), AllocateError> {
        if state.loc(var).reg.is_none() {
            let reg = self.take(var, at, avoid, locked, state, out)?;
            self.load(var, reg, state, out);
        }
        Ok(())
    }

    /// The variable that the instruction may read from its slot: a plain source that the row allows in memory, in no register.
    fn foldable(&self, step: &Step, state: &State) -> Option<Var> {
        let inst = &step.inst;
        if inst.operands.iter().any(|operand| matches!(operand, Operand::Mem(_))) && inst.memory().is_some() {
            return None;
        }
        let copies = self.target.from_memory.iter().any(|(op, _)| *op == inst.op);
        let named = |var| {
            let registers = inst.operands.iter().flat_map(Operand::registers);
            registers.filter(|reg| self.program.var(*reg) == var).count()
        };
        inst.operands.iter().zip(inst.op.row().operands).find_map(|(operand, spec)| {
            let Operand::Reg(reg) = operand else { return None };
            let var = self.program.var(*reg);
            let loc = state.loc(var);
            let takes_memory = matches!(spec.kind, Kind::RegMem(..)) || (copies && matches!(spec.kind, Kind::Reg(..)));
            let fits = takes_memory && spec.access == Access::R && spec.fixed.is_none();
            let only_in_slot = var >= FIRST_FREE && loc.reg.is_none() && loc.valid && loc.slot.is_some();
            (fits && only_in_slot && named(var) == 1).then_some(var)
        })
    }

    fn physical(&self, inst: &Inst<VReg>, places: &BTreeMap<Var, PReg>, folded: Option<(Var, u32)>) -> Inst<PReg> {
        let place = |reg: VReg| {
            let var = self.program.var(reg);
            let own = u8::try_from(var).ok().filter(|_| var < FIRST_FREE).map(|reg| self.target.register(reg));
            own.or_else(|| places.get(&var).copied())
                .unwrap_or_else(|| panic!("variable {var} has no place in {inst:?}, row {:?}", inst.op.row()))
        };
        let mut op = inst.op;
        let mut operand = |operand: &Operand<VReg>| match (operand, folded) {
            (Operand::Reg(reg), Some((var, slot))) if self.program.var(*reg) == var => {
                op = self.in_memory(op);
                self.slot_operand(slot)
            }
            (Operand::Reg(reg), _) => Operand::Reg(place(*reg)),
            (Operand::Mem(mem), _) => Operand::Mem(Mem {
                space: mem.space,
                base: place(mem.base),
                index: mem.index.map(|(reg, scale)| (place(reg), scale)),
                disp: mem.disp,
            }),
            (Operand::Imm(value), _) => Operand::Imm(*value),
        };
        let operands = inst.operands.iter().map(&mut operand).collect();
        commuted(Inst { op, operands, note: inst.note })
    }

    fn in_memory(&self, op: Op) -> Op {
        self.target.from_memory.iter().find(|(copy, _)| *copy == op).map_or(op, |(_, load)| *load)
    }

    /// Makes a copy whose source dies disappear by renaming; whether it did.
    fn coalesce(&self, at: u32, step: &Step, to: Var, from: Var, state: &mut State) -> bool {
        let dies = |var| step.mentions.iter().any(|mention| mention.var == var && mention.dies);
        let (pinned_to, pinned_from) = (to < FIRST_FREE, from < FIRST_FREE);
        if to == from {
            if dies(to) && !pinned_to {
                state.release(to);
            } else if dies(to) {
                state.pinned &= !(1 << to);
            }
            return true;
        }
        if !dies(from) || dies(to) {
            return false;
        }
        match (pinned_to, pinned_from) {
            (false, false) => {
                let loc = state.loc(from);
                if !state.rename(from, to) {
                    let Some(reg) = loc.reg else { return false };
                    state.release(from);
                    state.put(to, reg);
                    state.set_valid(to, false);
                }
                true
            }
            (false, true) => {
                let reg = from as u8;
                let allocatable = self.file(to).registers.contains(&self.target.register(reg));
                if !allocatable || self.leaves(to, reg, at).is_some() {
                    return false;
                }
                state.pinned &= !bit(reg);
                state.put(to, reg);
                state.set_valid(to, false);
                true
            }
            (true, false) => {
                if state.loc(from).reg.map(Var::from) != Some(to) {
                    return false;
                }
                state.release(from);
                state.pinned |= 1 << to;
                state.touched |= 1 << to;
                true
            }
            (true, true) => false,
        }
    }
}
