//! Flattens a function of either stage into the steps that the interpreter executes. Nodes and lines each have their own way
//! here, so that what a virtual function means does not hang on how it is laid out.

use super::fault::Fault;
use crate::ir::abi::ARGUMENTS;
use crate::ir::linear::{Jump, Label, Line};
use crate::ir::site::{Name, Site};
use crate::ir::wellformed::{AnyReg, fits};
use crate::ir::{Control, Func, Inst, Mem, Node, Operand, Parameter, Physical, Stage, VReg, Virtual, inputs};
use crate::isa::row::{OperandSpec, PReg, RAX, RegClass, Width};
use std::collections::BTreeMap;

/// Where a register lives in the interpreter. Vregs that are pinned to one register share a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Slot(pub u32);

const MMX: u32 = 16;
const XMM: u32 = 24;
const PORTABLE: u32 = 40;
/// The first slot of an unpinned vreg.
const UNPINNED: u32 = PORTABLE + 256;

/// The slot of a physical register.
pub(super) fn physical(reg: PReg) -> Slot {
    Slot(u32::from(reg.number) + [0, MMX, XMM, PORTABLE][file(reg.class)])
}

fn file(class: RegClass) -> usize {
    match class {
        RegClass::Gpr => 0,
        RegClass::Mmx => 1,
        RegClass::Xmm => 2,
        RegClass::Portable => 3,
    }
}

fn slot_of(name: Name) -> Slot {
    match name {
        Name::Physical(reg) | Name::Virtual(VReg { pin: Some(reg), .. }) => physical(reg),
        Name::Virtual(VReg { index, pin: None, .. }) => Slot(UNPINNED + index),
    }
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Work {
    /// An instruction.
    Inst {
        inst: Inst<Slot>,
        /// Whether it forgets what its registers held.
        forgets: bool,
        /// What the address of its access must be a multiple of.
        align: u32,
        /// Whether it writes 256 bits of a register.
        widens: bool,
    },
    /// Entry of a loop: the counter must not be 0.
    Enter(Slot),
    /// Control of a loop: count, and go to `top` while trips are left.
    Trip {
        counter: Slot,
        control: Control,
        top: usize,
    },
    /// Test of a tail: go on at `over` when it does not run.
    Skip {
        reg: Slot,
        mask: Option<i32>,
        over: usize,
    },
    /// A jump.
    Jump(Jump, usize),
    /// A call of a subroutine.
    Call(usize),
    /// The return of the function or of a subroutine.
    Ret,
    /// Stack work.
    Push(Slot),
    Pop(Slot),
    Reserve(u32),
    Release(u32),
}

/// A step and where it comes from.
#[derive(Debug)]
pub(super) struct Step {
    pub work: Work,
    pub at: Site,
}

/// A function made ready for many calls.
#[derive(Debug)]
pub struct Program {
    pub(super) steps: Vec<Step>,
    /// The parameters, with the registers in which they arrive.
    pub(super) parameters: Vec<Parameter<Slot>>,
    pub(super) returns: Option<Slot>,
    pub(super) limb_bits: u32,
    pub(super) pool: Vec<u8>,
    /// Whether some register is wider than 64 bits.
    pub(super) wide: bool,
    pub(super) exact: Option<u64>,
    /// Bytes of spill slots; `None` for a virtual function, which has no stack.
    pub(super) frame: Option<u32>,
    /// The register that each slot is, for messages.
    pub(super) names: Vec<Name>,
}

/// A stage that the interpreter can execute.
pub trait Executable: Stage {
    /// Flattens a function.
    ///
    /// # Errors
    /// An instruction that does not fit its row, or a subroutine that does not exist.
    fn flatten(func: &Func<Self>) -> Result<Program, Fault>;
}

impl Program {
    /// Makes `func` ready.
    ///
    /// # Errors
    /// An instruction that does not fit its row, or a subroutine that does not exist.
    pub fn new<S: Executable>(func: &Func<S>) -> Result<Program, Fault> {
        S::flatten(func)
    }

    fn empty<S: Stage>(func: &Func<S>, frame: Option<u32>) -> Program {
        let names = (0..UNPINNED).map(|slot| Name::Physical(unslot(slot))).collect();
        Program {
            steps: Vec::new(),
            parameters: Vec::new(),
            returns: None,
            limb_bits: func.limb_bits,
            pool: func.pool.clone(),
            wide: false,
            exact: func.exact,
            frame,
            names,
        }
    }

    fn slot(&mut self, name: Name) -> Slot {
        let slot = slot_of(name);
        let index = slot.0 as usize;
        while self.names.len() <= index {
            let index = self.names.len() as u32 - UNPINNED;
            self.names.push(Name::Virtual(VReg { index, class: RegClass::Gpr, pin: None }));
        }
        self.names[index] = name;
        slot
    }

    fn push(&mut self, work: Work, at: Site) {
        self.steps.push(Step { work, at });
    }

    fn inst<R: AnyReg + PartialEq + Into<Name>>(&mut self, inst: &Inst<R>, index: usize) -> Result<(), Fault> {
        let at = Site::Instruction { index, op: inst.op };
        fits(inst).map_err(|why| Fault::Misfit { at, why })?;
        let forgets = inputs::forgets(inst);
        let operands = inst.operands.iter().map(|operand| match operand {
            Operand::Reg(reg) => Operand::Reg(self.slot((*reg).into())),
            Operand::Imm(value) => Operand::Imm(*value),
            Operand::Mem(mem) => Operand::Mem(Mem {
                space: mem.space,
                base: self.slot(mem.base.into()),
                index: mem.index.map(|(reg, scale)| (self.slot(reg.into()), scale)),
                disp: mem.disp,
            }),
        });
        let inst = Inst { op: inst.op, operands: operands.collect(), note: inst.note };
        let specs = inst.op.row().operands;
        self.wide |= specs.iter().any(|spec| spec.kind.register() == Some(RegClass::Xmm));
        let wide = |spec: &OperandSpec| {
            spec.access.writes() && spec.kind.register().is_some() && spec.kind.width() == Some(Width::W256)
        };
        let (align, widens) = (inst.alignment(), specs.iter().any(wide));
        self.push(Work::Inst { inst, forgets, align, widens }, at);
        Ok(())
    }

    fn parameters<R: Copy>(&mut self, parameters: &[Parameter<R>], name: impl Fn(usize, R) -> Option<Name>) {
        for (index, parameter) in parameters.iter().enumerate() {
            if let Some(name) = name(index, parameter.reg) {
                let Parameter { name: text, kind, secret, may_equal, align, .. } = parameter;
                let reg = self.slot(name);
                let (name, may_equal) = (text.clone(), may_equal.clone());
                self.parameters.push(Parameter { name, kind: *kind, secret: *secret, may_equal, align: *align, reg });
            }
        }
    }
}

fn unslot(slot: u32) -> PReg {
    let (class, first) = match slot {
        ..MMX => (RegClass::Gpr, 0),
        MMX..XMM => (RegClass::Mmx, MMX),
        XMM..PORTABLE => (RegClass::Xmm, XMM),
        PORTABLE.. => (RegClass::Portable, PORTABLE),
    };
    PReg { class, number: u8::try_from(slot - first).unwrap_or(u8::MAX) }
}

/// Nodes to steps.
struct Nodes {
    program: Program,
    /// Instructions so far.
    index: usize,
    /// First step of each subroutine.
    subs: Vec<usize>,
}

impl Nodes {
    fn walk(&mut self, nodes: &[Node<VReg>]) -> Result<(), Fault> {
        for node in nodes {
            let at = Site::Control { after: self.index };
            match node {
                Node::Block(insts) => {
                    for inst in insts {
                        self.program.inst(inst, self.index)?;
                        self.index += 1;
                    }
                }
                Node::Loop(inner) => {
                    let counter = self.program.slot(inner.counter.into());
                    self.program.push(Work::Enter(counter), at);
                    let top = self.program.steps.len();
                    self.walk(&inner.body)?;
                    let at = Site::Control { after: self.index };
                    self.program.push(Work::Trip { counter, control: inner.control, top }, at);
                }
                Node::When(inner) => {
                    let reg = self.program.slot(inner.reg.into());
                    let test = self.program.steps.len();
                    self.program.push(Work::Skip { reg, mask: inner.mask, over: 0 }, at);
                    self.walk(&inner.body)?;
                    let over = self.program.steps.len();
                    self.program.steps[test].work = Work::Skip { reg, mask: inner.mask, over };
                }
                Node::Call(sub) => self.program.push(Work::Call(sub.0 as usize), at),
            }
        }
        Ok(())
    }
}

impl Executable for Virtual {
    fn flatten(func: &Func<Virtual>) -> Result<Program, Fault> {
        let mut nodes = Nodes { program: Program::empty(func, None), index: 0, subs: Vec::new() };
        nodes.program.parameters(&func.parameters, |_, reg| Some(reg.into()));
        nodes.program.returns = func.returns.map(|reg| nodes.program.slot(reg.into()));
        nodes.walk(&func.body)?;
        nodes.program.push(Work::Ret, Site::Exit);
        for sub in &func.subs {
            nodes.subs.push(nodes.program.steps.len());
            nodes.walk(sub)?;
            nodes.program.push(Work::Ret, Site::Control { after: nodes.index });
        }
        for step in &mut nodes.program.steps {
            if let Work::Call(sub) = &mut step.work {
                *sub = *nodes.subs.get(*sub).ok_or(Fault::NoSuchSubroutine { sub: *sub as u32 })?;
            }
        }
        Ok(nodes.program)
    }
}

impl Executable for Physical {
    fn flatten(func: &Func<Physical>) -> Result<Program, Fault> {
        let mut program = Program::empty(func, Some(func.reserved_bytes()));
        // What a caller does hangs on the order of the arguments, whatever the function says of its registers.
        program.parameters(&func.parameters, |index, _| ARGUMENTS.get(index).map(|reg| Name::Physical(*reg)));
        if func.parameters.len() > ARGUMENTS.len() {
            return Err(Fault::Arguments { expected: func.parameters.len(), got: ARGUMENTS.len() });
        }
        program.returns = func.returns.map(|_| physical(RAX));
        let lines = func.lines();
        let mut labels = BTreeMap::new();
        for (index, line) in lines.iter().enumerate() {
            let at = Site::Control { after: index };
            let label = |label: &Label| label.0 as usize;
            match line {
                Line::Inst(inst) => program.inst(inst, index)?,
                Line::Label(name) => {
                    labels.insert(label(name), program.steps.len());
                }
                Line::Jump(jump, to) => program.push(Work::Jump(*jump, label(to)), at),
                Line::Call(to) => program.push(Work::Call(label(to)), at),
                Line::Push(reg) => program.push(Work::Push(physical(*reg)), at),
                Line::Pop(reg) => program.push(Work::Pop(physical(*reg)), at),
                Line::Reserve(bytes) => program.push(Work::Reserve(*bytes), at),
                Line::Release(bytes) => program.push(Work::Release(*bytes), at),
                Line::Ret => program.push(Work::Ret, at),
                Line::Pool(_) => {}
            }
        }
        for step in &mut program.steps {
            if let Work::Jump(_, to) | Work::Call(to) = &mut step.work {
                *to = labels[to];
            }
        }
        Ok(program)
    }
}
