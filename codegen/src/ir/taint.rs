//! Whether a secret reaches what an observer can time: a branch, an address, an instruction of variable latency.
//!
//! A forward walk over may-be-secret registers and flags, to a fixed point over loops. Secret at entry: the values of secret
//! parameters, and the memory behind secret pointers (and behind pointers that may equal one). Everything computed from a
//! secret is secret, flags too; only the idioms of [`inputs`](super::inputs::forgets) forget. Takes a virtual function
//! that is well formed; knows no kernel.

use super::inputs::{forgets, inputs};
use super::site::{Name, Site, instruction_count};
use super::{Control, Func, Inst, Loop, Node, ParameterKind, Space, SubId, VReg, Virtual, When};
use crate::isa::row::{COZ, FlagSet, NONE, OZ, PReg};
use std::collections::BTreeSet;
use std::fmt;

/// A secret that an observer can time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leak {
    /// Where.
    pub at: Site,
    /// How.
    pub rule: Rule,
}

/// The ways in which a secret gets out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A loop counts it.
    Counter(Name),
    /// A tail runs by it.
    Condition(Name),
    /// It is the base of an access.
    Base(Name),
    /// It is the index of an access.
    Index(Name),
    /// It is in a register that an instruction of variable latency reads.
    LatencyRegister(Name),
    /// It is in memory that an instruction of variable latency reads.
    LatencyMemory,
    /// It is in flags that an instruction of variable latency reads.
    LatencyFlags(FlagSet),
    /// It is stored into the memory of an argument that is not secret.
    Escape(u8),
    /// It cannot be followed into a subroutine that calls itself or does not exist.
    Call(SubId),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Counter(name) => write!(f, "a loop counts the secret {name}"),
            Rule::Condition(name) => write!(f, "a tail runs by the secret {name}"),
            Rule::Base(name) => write!(f, "the secret {name} is the base of an access"),
            Rule::Index(name) => write!(f, "the secret {name} is the index of an access"),
            Rule::LatencyRegister(name) => write!(f, "the time that it takes depends on the secret {name}"),
            Rule::LatencyMemory => write!(f, "the time that it takes depends on secret memory"),
            Rule::LatencyFlags(flags) => write!(f, "the time that it takes depends on secret {flags}"),
            Rule::Escape(argument) => write!(f, "a secret is stored into argument {argument}, which is not secret"),
            Rule::Call(sub) => write!(f, "subroutine {} cannot be followed", sub.0),
        }
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.rule)
    }
}

impl std::error::Error for Leak {}

/// What a secret can be in. Vregs that are pinned to one register are one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Pinned(PReg),
    Free(u32),
}

fn place(reg: VReg) -> Place {
    reg.pin.map_or(Place::Free(reg.index), Place::Pinned)
}

#[derive(Clone, PartialEq, Eq)]
struct State {
    secret: BTreeSet<Place>,
    flags: FlagSet,
}

impl State {
    fn has(&self, reg: VReg) -> bool {
        self.secret.contains(&place(reg))
    }

    fn write(&mut self, reg: VReg, secret: bool) {
        if secret {
            self.secret.insert(place(reg));
        } else {
            self.secret.remove(&place(reg));
        }
    }

    fn write_flags(&mut self, flags: FlagSet, secret: bool) {
        self.flags = if secret { self.flags.union(flags) } else { self.flags.difference(flags) };
    }

    fn join(&self, other: &State) -> State {
        State { secret: self.secret.union(&other.secret).copied().collect(), flags: self.flags.union(other.flags) }
    }
}

struct Taint<'f> {
    func: &'f Func<Virtual>,
    /// For each argument whether its memory may be secret.
    memory: Vec<bool>,
    leaks: Vec<Leak>,
    /// Above 0 while a loop is walked to its fixed point.
    silent: u32,
    index: usize,
    starts: Vec<usize>,
    open: Vec<SubId>,
}

/// Whether no secret reaches a branch, an address or an instruction of variable latency.
///
/// # Errors
/// Every leak, in the order of the function.
pub fn check(func: &Func<Virtual>) -> Result<(), Vec<Leak>> {
    let parameters = &func.parameters;
    let may_equal = |a: usize, b: usize| parameters[a].may_equal.iter().any(|other| usize::from(*other) == b);
    let memory = (0..parameters.len())
        .map(|a| (0..parameters.len()).any(|b| parameters[b].secret && (a == b || may_equal(a, b) || may_equal(b, a))));
    let mut starts = Vec::new();
    let mut index = instruction_count(&func.body);
    for sub in &func.subs {
        starts.push(index);
        index += instruction_count(sub);
    }
    let memory = memory.collect();
    let mut taint = Taint { func, memory, leaks: Vec::new(), silent: 0, index: 0, starts, open: Vec::new() };
    let mut state = State { secret: BTreeSet::new(), flags: NONE };
    for parameter in parameters {
        let value = match parameter.kind {
            // The address is public; what it points to is not.
            ParameterKind::Pointer { .. } => false,
            ParameterKind::Count { .. } | ParameterKind::Value { .. } => parameter.secret,
        };
        state.write(parameter.reg, value);
    }
    taint.nodes(&func.body, &mut state);
    if taint.leaks.is_empty() { Ok(()) } else { Err(taint.leaks) }
}

impl Taint<'_> {
    fn leak(&mut self, at: Site, rule: Rule) {
        let leak = Leak { at, rule };
        if self.silent == 0 && !self.leaks.contains(&leak) {
            self.leaks.push(leak);
        }
    }

    fn nodes(&mut self, nodes: &[Node<VReg>], state: &mut State) {
        for node in nodes {
            match node {
                Node::Block(insts) => {
                    for inst in insts {
                        self.inst(inst, state);
                        self.index += 1;
                    }
                }
                Node::Loop(inner) => self.counted(inner, state),
                Node::When(inner) => self.when(inner, state),
                Node::Call(sub) => self.call(*sub, state),
            }
        }
    }

    fn call(&mut self, sub: SubId, state: &mut State) {
        let func = self.func;
        let at = Site::Control { after: self.index };
        let body = func.subs.get(sub.0 as usize).filter(|_| !self.open.contains(&sub));
        let Some(body) = body else { return self.leak(at, Rule::Call(sub)) };
        let back = std::mem::replace(&mut self.index, self.starts[sub.0 as usize]);
        self.open.push(sub);
        self.nodes(body, state);
        self.open.pop();
        self.index = back;
    }

    fn when(&mut self, inner: &When<VReg>, state: &mut State) {
        let secret = state.has(inner.reg);
        if secret {
            self.leak(Site::Control { after: self.index }, Rule::Condition(inner.reg.into()));
        }
        state.write_flags(COZ, secret);
        let mut ran = state.clone();
        self.nodes(&inner.body, &mut ran);
        *state = state.join(&ran);
    }

    fn counted(&mut self, inner: &Loop<VReg>, state: &mut State) {
        let start = self.index;
        self.silent += 1;
        loop {
            let mut end = state.clone();
            self.index = start;
            self.trip(inner, &mut end);
            let next = state.join(&end);
            if next == *state {
                break;
            }
            *state = next;
        }
        self.silent -= 1;
        self.index = start;
        self.trip(inner, state);
    }

    fn trip(&mut self, inner: &Loop<VReg>, state: &mut State) {
        self.nodes(&inner.body, state);
        let secret = state.has(inner.counter);
        if secret {
            self.leak(Site::Control { after: self.index }, Rule::Counter(inner.counter.into()));
        }
        match inner.control {
            Control::Decrement => state.write_flags(OZ, secret),
            Control::FlagFree => {}
        }
    }

    /// The first pointer whose memory is, or is not, secret.
    fn pointed(&self, secret: bool) -> Option<usize> {
        let pointer = |index: &usize| matches!(self.func.parameters[*index].kind, ParameterKind::Pointer { .. });
        (0..self.memory.len()).filter(pointer).find(|index| self.memory[*index] == secret)
    }

    fn inst(&mut self, inst: &Inst<VReg>, state: &mut State) {
        let at = Site::Instruction { index: self.index, op: inst.op };
        let row = inst.op.row();
        let variable = row.class.variable_latency();
        let flags = row.flags.reads.intersection(state.flags);
        let mut secret = !flags.is_empty();
        if variable && secret {
            self.leak(at, Rule::LatencyFlags(flags));
        }
        for reg in inputs(inst) {
            if state.has(reg) {
                secret = true;
                if variable {
                    self.leak(at, Rule::LatencyRegister(reg.into()));
                }
            }
        }
        debug_assert!(!forgets(inst) || inst.memory().is_none(), "an idiom with memory: {row:?}");
        if let Some((mem, reads, writes)) = inst.memory() {
            if state.has(mem.base) {
                self.leak(at, Rule::Base(mem.base.into()));
            }
            if let Some((index, _)) = mem.index.filter(|(index, _)| state.has(*index)) {
                self.leak(at, Rule::Index(index.into()));
            }
            let (argument, kept) = match mem.space {
                Space::Argument(argument) => (argument, self.memory.get(usize::from(argument)).copied()),
                // It may be any argument's: read as the most secret of them, and written as the least.
                Space::Pointed => {
                    let least = self.pointed(false).map_or(u8::MAX, |index| index as u8);
                    if reads && self.pointed(true).is_some() {
                        secret = true;
                        if variable {
                            self.leak(at, Rule::LatencyMemory);
                        }
                    }
                    (least, Some(least == u8::MAX))
                }
                // Constants are public; `wellformed` refuses a store to them.
                Space::Pool => (u8::MAX, Some(false)),
                // No virtual function has a frame: `wellformed` refuses it. Here it counts as secret.
                Space::Frame | Space::Nowhere => (u8::MAX, Some(true)),
            };
            let kept = kept.unwrap_or(true);
            if reads && kept {
                secret = true;
                if variable {
                    self.leak(at, Rule::LatencyMemory);
                }
            }
            if writes && secret && !kept {
                self.leak(at, Rule::Escape(argument));
            }
        }
        for reg in inst.writes() {
            state.write(reg, secret);
        }
        state.write_flags(row.flags.writes, secret);
    }
}
