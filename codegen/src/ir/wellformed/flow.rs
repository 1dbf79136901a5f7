//! The rules that need flow: a forward walk that knows, at each point, what holds on every path there. Loops are walked to a
//! fixed point, silently, and then once more to report; subroutines are walked at each call.

use super::block::Block;
use super::state::{FlagState, POOL, Pointer, State};
use super::{AnyReg, Ill, Rule, fits};
use crate::ir::abi::CALLEE_SAVED;
use crate::ir::inputs::{forgets, inputs};
use crate::ir::site::{Name, Site, instruction_count};
use crate::ir::{
    Control, Frame, Func, Inst, Loop, Mem, Node, Operand, POOL_ALIGNMENT, Parameter, ParameterKind, Space, Stage, When,
};
use crate::isa::Op;
use crate::isa::VectorEncoding;
use crate::isa::avx::Avx;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::portable::Portable;
use crate::isa::row::{COZ, FlagSet, OZ, RCX, RSP, RegClass, Width};

/// The first group that a block may make: `State::meet` numbers groups from 0.
const FRESH_GROUPS: u32 = 1 << 16;
/// The group of the pool, which does not move.
const POOL_GROUP: u32 = FRESH_GROUPS - 1;

struct Flow<'f, R: Ord> {
    parameters: &'f [Parameter<R>],
    subs: &'f [Vec<Node<R>>],
    limb_bits: u32,
    exact: bool,
    /// The frame of an allocated function.
    frame: Option<&'f Frame>,
    ills: &'f mut Vec<Ill>,
    /// Above 0 while a loop is walked to its fixed point.
    silent: u32,
    /// Instructions before this one, in order of layout.
    index: usize,
    /// The index of each subroutine's first instruction.
    starts: Vec<usize>,
    /// Subroutines that are open.
    open: Vec<u32>,
    /// Counters of loops that are open.
    counters: Vec<R>,
    /// Whether some instruction uses MMX.
    any_mmx: bool,
    /// Whether some instruction writes 256 bits of a register.
    any_wide: bool,
    /// Bytes of the pool.
    pool: usize,
    /// Ticks of a byte, for each parameter: pointers of one cursor move in ticks alike.
    tick: Vec<i64>,
    group: u32,
}

/// Walks `func` and adds what breaks a rule.
pub(super) fn check<S: Stage>(func: &Func<S>, frame: Option<&Frame>, ills: &mut Vec<Ill>)
where
    S::Reg: AnyReg + Into<Name>,
{
    let element = |parameter: &Parameter<S::Reg>| match parameter.kind {
        ParameterKind::Pointer { element_bytes, .. } => i64::from(element_bytes.max(1)),
        ParameterKind::Count { .. } | ParameterKind::Value { .. } => 1,
    };
    let common = func.parameters.iter().map(element).fold(1, lcm);
    let mut starts = Vec::new();
    let mut index = instruction_count(&func.body);
    for sub in &func.subs {
        starts.push(index);
        index += instruction_count(sub);
    }
    let mmx = |op: Op| matches!(op, Op::MmxSse2(op) if op != MmxSse2::Emms);
    let mut flow = Flow {
        parameters: &func.parameters,
        subs: &func.subs,
        limb_bits: func.limb_bits,
        exact: func.exact.is_some(),
        frame,
        ills,
        silent: 0,
        index: 0,
        starts,
        open: Vec::new(),
        counters: Vec::new(),
        any_mmx: func.instructions().iter().any(|inst| mmx(inst.op)),
        any_wide: func.instructions().iter().any(|inst| writes_wide(inst)),
        pool: func.pool.len(),
        tick: func.parameters.iter().map(|parameter| common / element(parameter)).collect(),
        group: FRESH_GROUPS,
    };
    let mut state = State::new();
    for (index, parameter) in func.parameters.iter().enumerate() {
        state.write(parameter.reg);
        if let ParameterKind::Pointer { cursor, .. } = parameter.kind {
            let pointer = Pointer { parameter: index as u8, group: cursor.into(), ticks: 0 };
            state.pointers.insert(parameter.reg, pointer);
        }
    }
    flow.encodings(&func.instructions());
    flow.nodes(&func.body, &mut state);
    if let Some(reg) = func.returns {
        flow.read(Site::Exit, reg, &state);
    }
    if state.mmx {
        flow.ill(Site::Exit, Rule::NoEmms);
    }
    if state.wide {
        flow.ill(Site::Exit, Rule::NoVzeroupper);
    }
}

/// Whether all 256 bits of a register are written.
fn writes_wide<R>(inst: &Inst<R>) -> bool {
    inst.operands.iter().zip(inst.op.row().operands).any(|(operand, spec)| {
        matches!(operand, Operand::Reg(_)) && spec.access.writes() && spec.kind.width() == Some(Width::W256)
    })
}

fn lcm(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}

impl<R: AnyReg + Ord + Into<Name>> Flow<'_, R> {
    fn ill(&mut self, at: Site, rule: Rule) {
        let ill = Ill { at, rule };
        if self.silent == 0 && !self.ills.contains(&ill) {
            self.ills.push(ill);
        }
    }

    /// All vector instructions are encoded as the first is.
    fn encodings(&mut self, insts: &[&Inst<R>]) {
        let first = insts.iter().find_map(|inst| inst.op.vector_encoding());
        let other = |inst: &&Inst<R>| inst.op.vector_encoding().is_some_and(|encoding| Some(encoding) != first);
        if let Some(index) = insts.iter().position(other) {
            self.ill(Site::Instruction { index, op: insts[index].op }, Rule::MixedEncodings);
        }
    }

    fn control(&self) -> Site {
        Site::Control { after: self.index }
    }

    fn nodes(&mut self, nodes: &[Node<R>], state: &mut State<R>) {
        for node in nodes {
            match node {
                Node::Block(insts) => self.block(insts, state),
                Node::Loop(inner) => self.counted(inner, state),
                Node::When(inner) => self.when(inner, state),
                Node::Call(sub) => self.call(sub.0, state),
            }
        }
    }

    fn call(&mut self, sub: u32, state: &mut State<R>) {
        let at = self.control();
        let subs = self.subs;
        let Some(body) = subs.get(sub as usize) else { return self.ill(at, Rule::NoSuchSubroutine(sub)) };
        if self.open.contains(&sub) {
            return self.ill(at, Rule::Recursion(sub));
        }
        let back = std::mem::replace(&mut self.index, self.starts[sub as usize]);
        self.open.push(sub);
        self.nodes(body, state);
        self.open.pop();
        self.index = back;
    }

    fn when(&mut self, inner: &When<R>, state: &mut State<R>) {
        self.read(self.control(), inner.reg, state);
        state.set_flags(COZ, FlagState::Control);
        let mut ran = state.clone();
        self.nodes(&inner.body, &mut ran);
        *state = state.meet(&ran);
    }

    fn counted(&mut self, inner: &Loop<R>, state: &mut State<R>) {
        let at = self.control();
        let kept = match inner.control {
            Control::Decrement => inner.live_flags.intersection(OZ),
            Control::FlagFree => {
                if inner.counter.physical() != Some(RCX) {
                    self.ill(at, Rule::CounterPin(inner.counter.into()));
                }
                FlagSet::default()
            }
        };
        if !kept.is_empty() {
            self.ill(at, Rule::ControlWritesFlag(kept));
        }
        if self.exact {
            self.ill(at, Rule::ExactLoop);
        }
        let start = self.index;
        // Meeting a state with itself numbers its groups afresh, so that heads can be compared.
        let mut head = self.head(state.meet(state), inner.live_flags);
        self.silent += 1;
        loop {
            let mut end = head.clone();
            self.index = start;
            self.trip(inner, &mut end);
            let next = self.head(head.meet(&end), inner.live_flags);
            if next == head {
                break;
            }
            head = next;
        }
        self.silent -= 1;
        self.index = start;
        self.trip(inner, &mut head);
        *state = head;
    }

    /// What a trip starts with: a flag that the loop does not declare is lost.
    fn head(&self, mut state: State<R>, live: FlagSet) -> State<R> {
        for (flag, held) in FlagSet::EACH.iter().zip(&mut state.flags) {
            if !live.contains(*flag) {
                *held = (*held).max(FlagState::Undeclared);
            }
        }
        state
    }

    fn trip(&mut self, inner: &Loop<R>, state: &mut State<R>) {
        self.counters.push(inner.counter);
        self.nodes(&inner.body, state);
        self.counters.pop();
        let at = self.control();
        self.read(at, inner.counter, state);
        self.write(at, inner.counter, state);
        match inner.control {
            Control::Decrement => state.set_flags(OZ, FlagState::Control),
            Control::FlagFree => {}
        }
    }

    fn block(&mut self, insts: &[Inst<R>], state: &mut State<R>) {
        let mut block = Block::new(&state.pointers);
        let mut at = self.control();
        for inst in insts {
            at = Site::Instruction { index: self.index, op: inst.op };
            self.inst(at, inst, state, &mut block);
            self.index += 1;
        }
        // Spills and reloads break up what an allocated function's pointers do; its cursors were checked before.
        if self.frame.is_none() {
            let parameters = self.parameters;
            for (cursor, first, second) in block.out_of_step(|index| cursor_of(parameters, index)) {
                self.ill(at, Rule::OutOfStep { cursor, first: first.into(), second: second.into() });
            }
        }
    }

    fn read(&mut self, at: Site, reg: R, state: &State<R>) {
        if !state.defined.contains(&reg) {
            return self.ill(at, Rule::Undefined(reg.into()));
        }
        let owner = reg.physical().and_then(|physical| state.owners.get(&physical));
        if let Some(holds) = owner.filter(|owner| **owner != Some(reg)) {
            self.ill(at, Rule::Pin { read: reg.into(), holds: holds.map(Into::into) });
        }
    }

    fn write(&mut self, at: Site, reg: R, state: &mut State<R>) {
        // An allocated counter may be spilled, and its register used for something else meanwhile.
        if self.frame.is_none() && self.counters.contains(&reg) {
            self.ill(at, Rule::CounterWritten(reg.into()));
        }
        if let (Some(frame), Some(physical)) = (self.frame, reg.physical()) {
            if physical == RSP {
                self.ill(at, Rule::StackPointer);
            }
            if CALLEE_SAVED.contains(&physical) && !frame.saved.contains(&physical) {
                self.ill(at, Rule::NotSaved(physical));
            }
        }
        state.write(reg);
    }

    fn inst(&mut self, at: Site, inst: &Inst<R>, state: &mut State<R>, block: &mut Block<R>) {
        let row = inst.op.row();
        match fits(inst) {
            Ok(()) => {
                self.shift(at, inst);
                for reg in inputs(inst) {
                    if reg.physical() != Some(RSP) {
                        self.read(at, reg, state);
                    }
                }
                self.stack_pointer(at, inst);
                self.flags(at, row.flags.reads, state);
                if let (Some((mem, reads, writes)), Some(width)) = (inst.memory(), inst.access()) {
                    self.memory(at, mem, width.bytes(self.limb_bits), (reads, writes), state, block);
                    self.alignment(at, mem, inst.alignment(), state);
                }
                self.upper_halves(at, inst, state);
            }
            Err(why) => self.ill(at, Rule::Misfit(why)),
        }
        if let Op::MmxSse2(op) = inst.op {
            state.mmx = op != MmxSse2::Emms;
            if op == MmxSse2::Emms && !self.any_mmx {
                self.ill(at, Rule::NeedlessEmms);
            }
        }
        if inst.op == Op::Avx(Avx::Vzeroupper) {
            state.wide = false;
            state.whole.clear();
            if !self.any_wide {
                self.ill(at, Rule::NeedlessVzeroupper);
            }
        }
        state.wide |= writes_wide(inst);
        let pointer = self.pointer(at, inst, state, block);
        for reg in inst.writes() {
            self.write(at, reg, state);
            if reg.class() == RegClass::Xmm && inst.op.vector_encoding() == Some(VectorEncoding::Vex) {
                state.whole.insert(reg);
            }
            match pointer {
                Some((_, Some(step))) => block.step(reg, step.0, step.1),
                Some((_, None)) | None => block.replace(reg),
            }
            if let Some((pointer, _)) = pointer {
                state.pointers.insert(reg, pointer);
            }
        }
        state.set_flags(row.flags.writes, FlagState::Defined);
        state.set_flags(row.flags.undefined, FlagState::Undefined);
    }

    /// What is read as 256 bits holds as many. After allocation a reload may have filled them with what nobody reads.
    fn upper_halves(&mut self, at: Site, inst: &Inst<R>, state: &State<R>) {
        if self.frame.is_some() || forgets(inst) {
            return;
        }
        for (operand, spec) in inst.operands.iter().zip(inst.op.row().operands) {
            if let Operand::Reg(reg) = operand
                && spec.access.reads()
                && spec.kind.width() == Some(Width::W256)
                && state.defined.contains(reg)
                && !state.whole.contains(reg)
            {
                self.ill(at, Rule::UpperHalf((*reg).into()));
            }
        }
    }

    /// Memory that the row wants aligned is known to be.
    fn alignment(&mut self, at: Site, mem: &Mem<R>, wanted: u32, state: &State<R>) {
        let promised = |argument: u8| self.parameters.get(usize::from(argument)).map_or(1, |parameter| parameter.align);
        let known = match mem.space {
            Space::Pool => POOL_ALIGNMENT.min(1 << mem.disp.trailing_zeros().min(31)),
            Space::Argument(argument) => promised(argument),
            Space::Pointed => state.pointers.get(&mem.base).map_or(1, |pointer| promised(pointer.parameter)),
            Space::Frame | Space::Nowhere => 1,
        };
        if known < wanted {
            self.ill(at, Rule::Misaligned(wanted));
        }
    }

    fn shift(&mut self, at: Site, inst: &Inst<R>) {
        let (count, bits) = match inst.op {
            Op::Base(Base::Shl | Base::Shr | Base::Sar | Base::Rol | Base::Ror) => (inst.operands.get(1), 64),
            Op::Portable(Portable::Shl | Portable::Shr | Portable::Rotate) => {
                (inst.operands.get(2), self.limb_bits.into())
            }
            _ => return,
        };
        if let Some(Operand::Imm(count)) = count
            && !(1..bits).contains(count)
        {
            self.ill(at, Rule::ShiftCount);
        }
    }

    fn flags(&mut self, at: Site, reads: FlagSet, state: &State<R>) {
        for (flag, held) in FlagSet::EACH.iter().zip(state.flags) {
            if reads.contains(*flag) {
                match held {
                    FlagState::Defined => {}
                    FlagState::Control => self.ill(at, Rule::FlagOfControl(*flag)),
                    FlagState::Undeclared => self.ill(at, Rule::UndeclaredFlag(*flag)),
                    FlagState::Undefined => self.ill(at, Rule::UndefinedFlag(*flag)),
                }
            }
        }
    }

    /// rsp stands only at the base of a spill slot.
    fn stack_pointer(&mut self, at: Site, inst: &Inst<R>) {
        let stack = |reg: R| reg.physical() == Some(RSP);
        let misused = inst.operands.iter().any(|operand| match operand {
            Operand::Reg(reg) => stack(*reg),
            Operand::Mem(mem) => stack(mem.base) && mem.space != Space::Frame,
            Operand::Imm(_) => false,
        });
        if misused {
            self.ill(at, Rule::StackPointer);
        }
    }

    fn memory(
        &mut self,
        at: Site,
        mem: &Mem<R>,
        bytes: u32,
        (reads, writes): (bool, bool),
        state: &mut State<R>,
        block: &mut Block<R>,
    ) {
        match mem.space {
            Space::Nowhere => self.ill(at, Rule::Space),
            Space::Pool => {
                if writes {
                    self.ill(at, Rule::PoolWritten);
                }
                if state.pointers.get(&mem.base).is_none_or(|pointer| pointer.parameter != POOL) {
                    return self.ill(at, Rule::Space);
                }
                let end = usize::try_from(mem.disp).ok().map(|start| start + bytes as usize);
                if mem.index.is_some() || end.is_none_or(|end| end > self.pool) {
                    self.ill(at, Rule::PoolBounds(mem.disp));
                }
            }
            Space::Frame => {
                let Some(frame) = self.frame else { return self.ill(at, Rule::Space) };
                let end = i64::from(mem.disp) + i64::from(bytes);
                let slot = mem.disp % 8 == 0 && mem.disp >= 0 && end <= 8 * i64::from(frame.slots);
                let plain = mem.base.physical() == Some(RSP) && mem.index.is_none();
                if !slot || !plain || !self.open.is_empty() {
                    return self.ill(at, Rule::Slot(mem.disp));
                }
                for word in (mem.disp..).step_by(8).take(bytes.div_ceil(8) as usize) {
                    if reads && !state.slots.contains_key(&word) {
                        self.ill(at, Rule::UndefinedSlot(word));
                    }
                    if writes {
                        state.slots.insert(word, None);
                    }
                }
            }
            Space::Argument(_) | Space::Pointed => {
                let pointed = state.pointers.get(&mem.base).map(|pointer| pointer.parameter);
                let argument = match (mem.space, pointed) {
                    (Space::Argument(argument), _) | (_, Some(argument)) => argument,
                    _ => return self.ill(at, Rule::Space),
                };
                if mem.space == Space::Pointed && self.open.is_empty() {
                    return self.ill(at, Rule::Space);
                }
                let kind = self.parameters.get(usize::from(argument)).map(|parameter| parameter.kind);
                let Some(ParameterKind::Pointer { reads: may_read, writes: may_write, .. }) = kind else {
                    return self.ill(at, Rule::Space);
                };
                // What it may not read it may still read back: the interpreter sees whether it wrote it.
                for (done, may, write) in [(reads, may_read || may_write, false), (writes, may_write, true)] {
                    if done && !may {
                        self.ill(at, Rule::Right { argument, write });
                    }
                }
                if pointed != Some(argument) {
                    self.ill(at, Rule::Base { argument, base: mem.base.into() });
                }
                block.access(mem.base);
            }
        }
    }

    /// The pointer that the instruction leaves in its destination, and the step if it moved its own register. Also notes the
    /// pointers that go to spill slots.
    fn pointer(&mut self, at: Site, inst: &Inst<R>, state: &mut State<R>, block: &mut Block<R>) -> Option<Moved<R>> {
        let operands = inst.operands.as_slice();
        if inst.op == Op::Base(Base::Pool) {
            return Some((Pointer { parameter: POOL, group: POOL_GROUP, ticks: 0 }, None));
        }
        if let (Op::Base(Base::Mov), [_, Operand::Reg(source)]) = (inst.op, operands) {
            return Some((*state.pointers.get(source)?, None));
        }
        if let (Op::Base(Base::Lea), [Operand::Reg(to), Operand::Mem(mem)]) = (inst.op, operands) {
            return self.lea(at, *to, mem, state, block);
        }
        let slot = |mem: &Mem<R>| (mem.space == Space::Frame).then_some(mem.disp);
        if let (Op::Base(Base::Store), [Operand::Mem(mem), Operand::Reg(source)]) = (inst.op, operands) {
            let pointer = state.pointers.get(source).copied();
            state.slots.insert(slot(mem)?, pointer);
        }
        if let (Op::Base(Base::Load), [_, Operand::Mem(mem)]) = (inst.op, operands) {
            return Some(((*state.slots.get(&slot(mem)?)?)?, None));
        }
        None
    }

    fn lea(&mut self, at: Site, to: R, mem: &Mem<R>, state: &State<R>, block: &mut Block<R>) -> Option<Moved<R>> {
        let argument = match mem.space {
            Space::Nowhere => return None,
            Space::Frame | Space::Pointed | Space::Pool => {
                self.ill(at, Rule::Space);
                return None;
            }
            Space::Argument(argument) => argument,
        };
        let Some(base) = state.pointers.get(&mem.base).filter(|base| base.parameter == argument) else {
            self.ill(at, Rule::Base { argument, base: mem.base.into() });
            return None;
        };
        let tick = self.tick[usize::from(argument)];
        let ticks = tick.wrapping_mul(mem.disp.into());
        let index = mem.index.map(|(reg, scale)| (reg, tick.wrapping_mul(scale.into())));
        let group = match index {
            None => base.group,
            Some(index) => {
                self.group += 1;
                block.group(base.group, index, self.group)
            }
        };
        let moved = Pointer { parameter: argument, group, ticks: base.ticks.wrapping_add(ticks) };
        Some((moved, (to == mem.base).then_some((ticks, index))))
    }
}

/// A pointer, and the ticks and the register by which its own register moved.
type Moved<R> = (Pointer, Option<(i64, Option<(R, i64)>)>);

/// The cursor of a parameter, if it shares it with another: the pointers of one parameter alone are never compared but with
/// themselves.
fn cursor_of<R>(parameters: &[Parameter<R>], index: u8) -> Option<u8> {
    let cursor = |parameter: &Parameter<R>| match parameter.kind {
        ParameterKind::Pointer { cursor, .. } => Some(cursor),
        ParameterKind::Count { .. } | ParameterKind::Value { .. } => None,
    };
    let own = cursor(parameters.get(usize::from(index))?)?;
    let sharers = parameters.iter().filter(|parameter| cursor(parameter) == Some(own)).count();
    (sharers > 1).then_some(own)
}
