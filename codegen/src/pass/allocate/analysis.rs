//! Liveness and use positions. The walk asks this module what is read when, and never looks ahead itself.
//!
//! A *variable* is what allocation gives a place: number 0-63 is the physical register itself, for everything pinned to it;
//! higher numbers are the unpinned vregs.

use super::AllocateError;
use super::commute::commuted;
use super::target::Target;
use crate::ir::{Control, Func, Inst, Loop, Mem, Node, Operand, SubId, VReg, Virtual, When};
use crate::isa::row::{FlagSet, PReg, RegClass, Width};
use crate::pass::{overwrites, reads_and_writes};

/// A variable's number.
pub(super) type Var = u32;

/// The first number that is not a physical register.
pub(super) const FIRST_FREE: Var = 64;

/// A set of variables.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Set(Vec<u64>);

impl Set {
    fn new(count: usize) -> Set {
        Set(vec![0; count.div_ceil(64)])
    }
    pub(super) fn contains(&self, var: Var) -> bool {
        self.0[var as usize / 64] >> (var % 64) & 1 == 1
    }
    fn insert(&mut self, var: Var) {
        self.0[var as usize / 64] |= 1 << (var % 64);
    }
    fn remove(&mut self, var: Var) {
        self.0[var as usize / 64] &= !(1 << (var % 64));
    }
    pub(super) fn union(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
    /// The physical registers in the set, as a mask.
    pub(super) fn pinned(&self) -> u64 {
        self.0[0]
    }
    /// The unpinned variables in the set, ascending.
    pub(super) fn unpinned(&self) -> impl Iterator<Item = Var> {
        let words = (0..).step_by(64).zip(&self.0).skip(1);
        words.flat_map(|(base, word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base + bit))
    }
}

/// What an instruction does with one variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mention {
    pub(super) var: Var,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// The variable is not live afterwards.
    pub(super) dies: bool,
}

/// One instruction with its variables.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) inst: Inst<VReg>,
    pub(super) mentions: Vec<Mention>,
}

/// A node with liveness and positions.
#[derive(Debug)]
pub(super) enum Part {
    Block {
        start: u32,
        steps: Vec<Step>,
    },
    Loop {
        head: u32,
        end: u32,
        counter: VReg,
        control: Control,
        live_flags: FlagSet,
        body: Vec<Part>,
        /// Live where a trip starts.
        live_head: Set,
        /// Live after the control of the last trip.
        live_exit: Set,
    },
    When {
        at: u32,
        end: u32,
        reg: VReg,
        mask: Option<i32>,
        body: Vec<Part>,
        live_body: Set,
        live_join: Set,
    },
    Call {
        at: u32,
        sub: SubId,
        clobbers: u64,
        /// Physical registers that are live afterwards.
        pinned_after: u64,
    },
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: u32,
    reads: bool,
    writes: bool,
    /// Position of the last read before the variable is next overwritten.
    segment_end: u32,
}

/// What a call of a subroutine does with the physical registers.
#[derive(Clone, Copy, Default, Debug)]
struct Effect {
    needs: u64,
    replaces: u64,
    writes: u64,
}

/// A function, analysed.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) parts: Vec<Part>,
    pub(super) live_entry: Set,
    pub(super) end: u32,
    /// Class of each variable.
    pub(super) classes: Vec<RegClass>,
    /// The widest use of each variable.
    widths: Vec<Width>,
    vars: Vec<Option<Var>>,
    pins: Vec<PReg>,
    events: Vec<Vec<Event>>,
    /// For each physical register the positions at which something pinned, or a call, writes it.
    pin_writes: Vec<Vec<u32>>,
    effects: Vec<Effect>,
}

impl Program {
    /// The variable of a vreg that occurs in the function.
    pub(super) fn var(&self, reg: VReg) -> Var {
        self.vars[reg.index as usize].expect("every vreg of the function has a variable")
    }

    /// The width of a variable's widest use.
    pub(super) fn width(&self, var: Var) -> Width {
        self.widths[var as usize]
    }

    /// The first read of a variable at or after a position.
    pub(super) fn read_from(&self, var: Var, at: u32) -> Option<u32> {
        let events = &self.events[var as usize];
        events[events.partition_point(|event| event.at < at)..].iter().find(|event| event.reads).map(|event| event.at)
    }

    /// The last read of the value that the variable holds at or after a position, were there no loops.
    pub(super) fn segment_end(&self, var: Var, at: u32) -> u32 {
        let events = &self.events[var as usize];
        events.get(events.partition_point(|event| event.at < at)).map_or(at, |event| event.segment_end)
    }

    /// Whether the variable is written in `from..=to`.
    pub(super) fn written_in(&self, var: Var, from: u32, to: u32) -> bool {
        let events = &self.events[var as usize];
        events[events.partition_point(|event| event.at < from)..]
            .iter()
            .take_while(|event| event.at <= to)
            .any(|event| event.writes)
    }

    /// The first position in `from..to` at which something pinned writes the register.
    pub(super) fn pin_write(&self, reg: u8, from: u32, to: u32) -> Option<u32> {
        let writes = &self.pin_writes[usize::from(reg)];
        writes.get(writes.partition_point(|at| *at < from)).copied().filter(|at| *at < to)
    }

    /// Nodes whose registers are all physical already: a subroutine's.
    pub(super) fn fixed_nodes(&self, nodes: &[Node<VReg>]) -> Vec<Node<PReg>> {
        nodes.iter().map(|node| self.fixed_node(node)).collect()
    }

    fn fixed_node(&self, node: &Node<VReg>) -> Node<PReg> {
        match node {
            Node::Block(insts) => Node::Block(insts.iter().map(|inst| self.fixed_inst(inst)).collect()),
            Node::Loop(inner) => Node::Loop(Loop {
                counter: self.fixed(inner.counter),
                control: inner.control,
                live_flags: inner.live_flags,
                body: self.fixed_nodes(&inner.body),
            }),
            Node::When(inner) => {
                Node::When(When { reg: self.fixed(inner.reg), mask: inner.mask, body: self.fixed_nodes(&inner.body) })
            }
            Node::Call(sub) => Node::Call(*sub),
        }
    }

    fn fixed(&self, reg: VReg) -> PReg {
        self.pins[self.var(reg) as usize]
    }

    fn fixed_inst(&self, inst: &Inst<VReg>) -> Inst<PReg> {
        let operand = |operand: &Operand<VReg>| match operand {
            Operand::Reg(reg) => Operand::Reg(self.fixed(*reg)),
            Operand::Mem(mem) => Operand::Mem(Mem {
                space: mem.space,
                base: self.fixed(mem.base),
                index: mem.index.map(|(reg, scale)| (self.fixed(reg), scale)),
                disp: mem.disp,
            }),
            Operand::Imm(value) => Operand::Imm(*value),
        };
        commuted(Inst { op: inst.op, operands: inst.operands.iter().map(operand).collect(), note: inst.note })
    }
}

/// Analyses a function for a target.
pub(super) fn analyse(func: &Func<Virtual>, target: &Target) -> Result<Program, AllocateError> {
    let function = || func.name.clone();
    if func.parameters.len() > target.arguments.len() {
        return Err(AllocateError::Parameters { function: function(), count: func.parameters.len() });
    }
    let program = Program {
        parts: Vec::new(),
        live_entry: Set::default(),
        end: 0,
        classes: Vec::new(),
        widths: Vec::new(),
        vars: vec![None; func.vregs as usize],
        pins: (0..u8::try_from(target.files.len() * 16).expect("at most four files"))
            .map(|number| target.register(number))
            .collect(),
        events: Vec::new(),
        pin_writes: vec![Vec::new(); FIRST_FREE as usize],
        effects: Vec::new(),
    };
    let mut analyser = Analyser { func, target, program, at: 1 };
    analyser.number_vars()?;
    analyser.effects()?;
    let mut parts = analyser.parts(&func.body)?;
    let mut program = analyser.program;
    program.end = analyser.at;
    let mut live = Set::new(program.classes.len());
    if let Some(reg) = func.returns {
        let (var, end) = (program.var(reg), program.end);
        live.insert(var);
        program.events[var as usize].push(Event { at: end, reads: true, writes: false, segment_end: end });
    }
    flow(&mut parts, &mut live, &program.effects, true, &program.vars);
    for events in &mut program.events {
        for index in (0..events.len().saturating_sub(1)).rev() {
            let next = events[index + 1];
            events[index].segment_end = if next.reads { next.segment_end } else { events[index].at };
        }
    }
    program.parts = parts;
    program.live_entry = live;
    Ok(program)
}

struct Analyser<'a> {
    func: &'a Func<Virtual>,
    target: &'a Target,
    program: Program,
    at: u32,
}

impl Analyser<'_> {
    fn name(&self) -> String {
        self.func.name.clone()
    }

    /// Gives every vreg its variable: parameters of subroutines stay in the register they arrive in.
    fn number_vars(&mut self) -> Result<(), AllocateError> {
        let (func, target) = (self.func, self.target);
        self.program.classes = (0..FIRST_FREE)
            .map(|number| target.files.get(number as usize / 16).map_or(RegClass::Gpr, |file| file.class))
            .collect();
        let mut in_subs = Vec::new();
        func.subs.iter().for_each(|sub| registers(sub, &mut in_subs));
        let mut all = Vec::new();
        registers(&func.body, &mut all);
        all.extend(&in_subs);
        all.extend(func.returns);
        for (parameter, reg) in func.parameters.iter().zip(&target.arguments) {
            let wrong_pin = parameter.reg.pin.is_some_and(|pin| pin != *reg);
            let stays = in_subs.iter().any(|other| other.index == parameter.reg.index);
            let taken = stays && all.iter().any(|other| other.pin == Some(*reg) && other.index != parameter.reg.index);
            if wrong_pin || taken {
                return Err(AllocateError::Pinned { function: self.name(), parameter: parameter.name.clone() });
            }
            self.check(parameter.reg)?;
            if stays {
                self.program.vars[parameter.reg.index as usize] = target.number(*reg).map(Var::from);
            }
        }
        all.extend(func.parameters.iter().map(|parameter| parameter.reg));
        for reg in all {
            self.check(reg)?;
            if self.program.vars[reg.index as usize].is_none() {
                let pinned = reg.pin.map(|pin| target.number(pin).map(Var::from));
                self.program.vars[reg.index as usize] = match pinned {
                    Some(number) => number,
                    None => {
                        self.program.classes.push(reg.class);
                        Some(self.program.classes.len() as Var - 1)
                    }
                };
            }
        }
        self.program.widths = vec![Width::W32; self.program.classes.len()];
        for inst in func.instructions() {
            for (operand, spec) in inst.operands.iter().zip(inst.op.row().operands) {
                if let (Operand::Reg(reg), Some(width)) = (operand, spec.kind.width()) {
                    let widest = &mut self.program.widths
                        [self.program.vars[reg.index as usize].expect("numbered above") as usize];
                    *widest = width.max(*widest);
                }
            }
        }
        self.program.events = vec![Vec::new(); self.program.classes.len()];
        match in_subs.iter().find(|reg| self.program.var(**reg) >= FIRST_FREE) {
            Some(reg) => Err(AllocateError::Subroutine { function: self.name(), reg: *reg }),
            None => Ok(()),
        }
    }

    fn check(&self, reg: VReg) -> Result<(), AllocateError> {
        let known = |pin: PReg| pin.class == reg.class && self.target.number(pin).is_some();
        if self.target.file(reg.class).is_none() || !reg.pin.is_none_or(known) {
            return Err(AllocateError::Class { function: self.name(), class: reg.class });
        }
        Ok(())
    }

    fn effects(&mut self) -> Result<(), AllocateError> {
        let count = self.func.subs.len();
        let mut effects: Vec<Option<Effect>> = vec![None; count];
        // Each round settles at least one subroutine, unless they call each other in a circle.
        for _ in 0..count {
            for (index, sub) in self.func.subs.iter().enumerate() {
                if effects[index].is_none() {
                    effects[index] = self.effect(sub, &effects);
                }
            }
        }
        self.program.effects = effects
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| AllocateError::Calls { function: self.name() })?;
        Ok(())
    }

    /// The effect of nodes all of whose registers are physical, or `None` while a subroutine that they call has none.
    fn effect(&self, nodes: &[Node<VReg>], known: &[Option<Effect>]) -> Option<Effect> {
        let bit = |reg: VReg| 1_u64 << self.program.var(reg);
        let mut out = Effect::default();
        // The effect of `first; out`.
        let before = |out: Effect, first: Effect| Effect {
            needs: first.needs | (out.needs & !first.replaces),
            replaces: first.replaces | out.replaces,
            writes: first.writes | out.writes,
        };
        for node in nodes.iter().rev() {
            match node {
                Node::Block(insts) => {
                    for inst in insts.iter().rev() {
                        let (reads, writes) = reads_and_writes(inst);
                        let writes = writes.into_iter().fold(0, |mask, reg| mask | bit(reg));
                        let needs = reads.into_iter().fold(0, |mask, reg| mask | bit(reg));
                        out = before(out, Effect { needs, replaces: writes, writes });
                    }
                }
                Node::Loop(inner) => {
                    let body = self.effect(&inner.body, known)?;
                    let counter = bit(inner.counter);
                    let control = Effect { needs: counter, replaces: counter, writes: counter };
                    let mut trip = before(control, body);
                    trip.needs |= counter;
                    out = before(out, trip);
                }
                Node::When(inner) => {
                    let body = self.effect(&inner.body, known)?;
                    let needs = body.needs | bit(inner.reg);
                    out = before(out, Effect { needs, replaces: 0, writes: body.writes });
                }
                Node::Call(sub) => out = before(out, *known.get(sub.0 as usize)?.as_ref()?),
            }
        }
        Some(out)
    }

    fn next(&mut self) -> u32 {
        self.at += 1;
        self.at - 1
    }

    fn event(&mut self, var: Var, at: u32, reads: bool, writes: bool) {
        self.program.events[var as usize].push(Event { at, reads, writes, segment_end: at });
        if writes && var < FIRST_FREE {
            self.program.pin_writes[var as usize].push(at);
        }
    }

    fn parts(&mut self, nodes: &[Node<VReg>]) -> Result<Vec<Part>, AllocateError> {
        nodes.iter().map(|node| self.part(node)).collect()
    }

    fn part(&mut self, node: &Node<VReg>) -> Result<Part, AllocateError> {
        Ok(match node {
            Node::Block(insts) => {
                let start = self.at;
                Part::Block { start, steps: insts.iter().map(|inst| self.step(inst)).collect() }
            }
            Node::Loop(inner) => {
                let counter = self.program.var(inner.counter);
                if inner.control == Control::FlagFree
                    && Some(counter) != self.target.number(self.target.counter).map(Var::from)
                {
                    return Err(AllocateError::Counter { function: self.name(), reg: inner.counter });
                }
                let head = self.next();
                let body = self.parts(&inner.body)?;
                let end = self.next();
                self.event(counter, end, true, true);
                let (live_head, live_exit) = (Set::default(), Set::default());
                let (counter, control, live_flags) = (inner.counter, inner.control, inner.live_flags);
                Part::Loop { head, end, counter, control, live_flags, body, live_head, live_exit }
            }
            Node::When(inner) => {
                let at = self.next();
                self.event(self.program.var(inner.reg), at, true, false);
                let body = self.parts(&inner.body)?;
                let (live_body, live_join) = (Set::default(), Set::default());
                Part::When { at, end: self.next(), reg: inner.reg, mask: inner.mask, body, live_body, live_join }
            }
            Node::Call(sub) => {
                let at = self.next();
                let effect = self.program.effects.get(sub.0 as usize).copied();
                let effect = effect.ok_or_else(|| AllocateError::Calls { function: self.name() })?;
                for number in (0..FIRST_FREE).filter(|number| (effect.needs | effect.writes) >> number & 1 == 1) {
                    self.event(number, at, effect.needs >> number & 1 == 1, effect.writes >> number & 1 == 1);
                }
                Part::Call { at, sub: *sub, clobbers: effect.writes, pinned_after: 0 }
            }
        })
    }

    fn step(&mut self, inst: &Inst<VReg>) -> Step {
        let at = self.next();
        let (reads, writes) = reads_and_writes(inst);
        let mut mentions: Vec<Mention> = Vec::new();
        let accesses = reads.into_iter().map(|reg| (reg, true)).chain(writes.into_iter().map(|reg| (reg, false)));
        for (reg, read) in accesses {
            let var = self.program.var(reg);
            let index = mentions.iter().position(|mention| mention.var == var).unwrap_or_else(|| {
                mentions.push(Mention { var, reads: false, writes: false, dies: false });
                mentions.len() - 1
            });
            mentions[index].reads |= read;
            mentions[index].writes |= !read;
        }
        for mention in &mentions {
            self.event(mention.var, at, mention.reads, mention.writes);
        }
        debug_assert!(!overwrites(inst) || mentions.len() == 1, "an overwriting idiom names one register");
        Step { inst: inst.clone(), mentions }
    }
}

/// Every vreg that occurs in the nodes.
fn registers(nodes: &[Node<VReg>], out: &mut Vec<VReg>) {
    for node in nodes {
        match node {
            Node::Block(insts) => {
                out.extend(insts.iter().flat_map(|inst| &inst.operands).flat_map(Operand::registers));
            }
            Node::Loop(inner) => {
                out.push(inner.counter);
                registers(&inner.body, out);
            }
            Node::When(inner) => {
                out.push(inner.reg);
                registers(&inner.body, out);
            }
            Node::Call(_) => {}
        }
    }
}

/// Backward liveness; `record` says whether this is the round whose results are kept.
fn flow(parts: &mut [Part], live: &mut Set, effects: &[Effect], record: bool, vars: &[Option<Var>]) {
    let var_of = |reg: VReg| vars[reg.index as usize].expect("every vreg of the function has a variable");
    for part in parts.iter_mut().rev() {
        match part {
            Part::Block { steps, .. } => {
                for step in steps.iter_mut().rev() {
                    for mention in &mut step.mentions {
                        mention.dies = !live.contains(mention.var);
                    }
                    step.mentions.iter().filter(|mention| mention.writes).for_each(|mention| live.remove(mention.var));
                    step.mentions.iter().filter(|mention| mention.reads).for_each(|mention| live.insert(mention.var));
                }
            }
            Part::Loop { counter, body, live_head, live_exit, .. } => {
                let exit = live.clone();
                live.insert(var_of(*counter));
                flow(body, live, effects, false, vars);
                live.insert(var_of(*counter));
                // "gen or (live and not kill)": the second round is the fixed point.
                live.union(&exit);
                flow(body, live, effects, record, vars);
                live.insert(var_of(*counter));
                if record {
                    (*live_head, *live_exit) = (live.clone(), exit);
                }
            }
            Part::When { reg, body, live_body, live_join, .. } => {
                let join = live.clone();
                flow(body, live, effects, record, vars);
                if record {
                    (*live_body, *live_join) = (live.clone(), join.clone());
                }
                live.union(&join);
                live.insert(var_of(*reg));
            }
            Part::Call { sub, pinned_after, .. } => {
                *pinned_after = live.pinned();
                let effect = effects[sub.0 as usize];
                live.0[0] = effect.needs | (live.0[0] & !effect.replaces);
            }
        }
    }
}
