//! The state of an execution, and the loop that drives it.

mod context;
mod memory;
mod stack;

pub(super) use context::Context;

use super::fault::Fault;
use super::program::{Program, Slot, Work, physical};
use super::watch::Executed;
use super::{Access, Call, Outcome, aes, avx, avx2, base, bmi2_adx, mmx_sse2, portable, sse2, ssse3_sse41, vaes};
use crate::ir::abi::CALLEE_SAVED;
use crate::ir::linear::Jump;
use crate::ir::site::Site;
use crate::ir::{Control, Inst};
use crate::isa::Op;
use crate::isa::avx::Avx;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{CF, FlagSet, OF, RCX, RSP, ZF};
use memory::{Pointer, Region};
use stack::{RETURN, STACK_TOP, Stack};

/// What a callee-saved register holds at entry, each its own.
const SAVED_POISON: u64 = 0xca11_ee5a_0000_0000;
/// What any other register holds before it is written.
const POISON: u64 = 0xdead_0000_0bad_0000;
/// How deep the subroutines of a virtual function may call one another.
const DEPTH: usize = 64;

/// Where the pool of constants lies: at a multiple of its alignment and of no more.
pub(super) const POOL: u64 = 0x0050_0000_0020;

/// The value of a vector operand in lanes of 64 bits, the lowest first: room for 256 bits. Lanes past an operand's width
/// read as 0. When a register is written, a VEX encoding clears them and a legacy encoding keeps them.
pub(super) type Lanes = [u64; 4];

/// One of the flags that are modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flag {
    Carry,
    Overflow,
    Zero,
}

impl Flag {
    fn set(self) -> FlagSet {
        match self {
            Flag::Carry => CF,
            Flag::Overflow => OF,
            Flag::Zero => ZF,
        }
    }
}

pub(super) struct Machine<'p> {
    program: &'p Program,
    /// The low 64 bits of each register.
    values: Vec<u64>,
    /// The other lanes; empty when no register of the program is wider than 64 bits.
    upper: Vec<[u64; 3]>,
    defined: Vec<bool>,
    flags: [Option<bool>; 3],
    regions: Vec<Region>,
    pointers: Vec<Option<Pointer>>,
    stack: Option<Stack>,
    /// Whether MMX was used since the last `emms`.
    mmx: bool,
    /// Whether 256 bits of a register were written since the last `vzeroupper`.
    dirty: bool,
    /// Steps to return to.
    calls: Vec<usize>,
    trace: Option<Vec<Access>>,
}

fn little_endian(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

impl Program {
    /// Executes one call.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(&self, call: &Call) -> Result<Outcome, Fault> {
        let mut machine = Machine::new(self, call)?;
        let executed = machine.execute(call.budget, None)?;
        machine.finish(executed)
    }

    /// Executes one call, and shows every instruction to `watch` before it is executed.
    ///
    /// # Errors
    /// The first fault.
    pub fn run_watched(&self, call: &Call, watch: &mut dyn FnMut(&Executed)) -> Result<Outcome, Fault> {
        let mut machine = Machine::new(self, call)?;
        let executed = machine.execute(call.budget, Some(watch))?;
        machine.finish(executed)
    }
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, call: &Call) -> Result<Machine<'p>, Fault> {
        let (expected, got) = (program.parameters.len(), call.arguments.len());
        if expected != got {
            return Err(Fault::Arguments { expected, got });
        }
        let mut machine = Machine {
            program,
            values: (0..program.names.len()).map(|slot| POISON | slot as u64).collect(),
            upper: vec![[POISON; 3]; if program.wide { program.names.len() } else { 0 }],
            defined: vec![false; program.names.len()],
            flags: [None; 3],
            regions: Vec::new(),
            pointers: Vec::new(),
            stack: None,
            mmx: false,
            dirty: false,
            calls: Vec::new(),
            trace: call.trace.then(Vec::new),
        };
        for index in 0..expected {
            let value = machine.argument(call, index).map_err(|why| Fault::Argument { index, why })?;
            machine.write(program.parameters[index].reg, value);
        }
        if let Some(frame_bytes) = program.frame {
            machine.enter(frame_bytes);
        }
        Ok(machine)
    }

    fn write(&mut self, slot: Slot, value: u64) {
        self.values[slot.0 as usize] = value;
        self.defined[slot.0 as usize] = true;
    }

    fn read(&self, at: Site, slot: Slot) -> Result<u64, Fault> {
        let index = slot.0 as usize;
        if self.defined[index] {
            Ok(self.values[index])
        } else {
            Err(Fault::Undefined { at, register: self.program.names[index] })
        }
    }

    fn execute(&mut self, budget: u64, mut watch: Option<&mut dyn FnMut(&Executed)>) -> Result<u64, Fault> {
        let program = self.program;
        let (mut next, mut executed) = (0, 0);
        loop {
            let step = &program.steps[next];
            let at = step.at;
            next += 1;
            if executed == budget {
                return Err(Fault::Budget { at, budget });
            }
            executed += 1;
            if let Some(watch) = &mut watch {
                match &step.work {
                    Work::Enter(_) => {}
                    Work::Inst { inst, forgets, .. } => {
                        watch(&Executed::new(inst, *forgets, |mem| self.address(at, mem))?);
                    }
                    _ => watch(&Executed::CONTROL),
                }
            }
            match &step.work {
                Work::Inst { inst, forgets, align, widens } => {
                    if *align > 1 {
                        self.aligned(inst, *align, at)?;
                    }
                    self.dirty |= widens;
                    self.inst(inst, *forgets, at)?;
                }
                Work::Enter(counter) => {
                    executed -= 1;
                    if self.read(at, *counter)? == 0 {
                        return Err(Fault::NoTrips { at });
                    }
                }
                Work::Trip { counter, control, top } => {
                    let left = self.read(at, *counter)?.wrapping_sub(1);
                    self.write(*counter, left);
                    match control {
                        Control::Decrement => {
                            self.flags[1..].copy_from_slice(&[Some(left == i64::MAX as u64), Some(left == 0)])
                        }
                        Control::FlagFree => {}
                    }
                    if left != 0 {
                        next = *top;
                    }
                }
                Work::Skip { reg, mask, over } => {
                    let value = self.read(at, *reg)? & mask.map_or(u64::MAX, |mask| i64::from(mask) as u64);
                    self.flags = [Some(false), Some(false), Some(value == 0)];
                    if value == 0 {
                        next = *over;
                    }
                }
                Work::Jump(jump, to) => {
                    if self.taken(*jump, at)? {
                        next = *to;
                    }
                }
                Work::Call(to) => {
                    if self.stack.is_some() {
                        self.push(at, RETURN + next as u64, true)?;
                    } else if self.calls.len() == DEPTH {
                        return Err(Fault::Stack { at, address: 0 });
                    }
                    self.calls.push(next);
                    next = *to;
                }
                Work::Ret => {
                    let from = self.calls.pop();
                    if self.stack.is_some() {
                        let rsp = self.values[physical(RSP).0 as usize];
                        let (address, _) = self.pop(at)?;
                        if address != RETURN + from.unwrap_or(0) as u64 {
                            return Err(Fault::StackPointer { off: rsp.wrapping_sub(STACK_TOP) as i64 });
                        }
                    }
                    match from {
                        Some(step) => next = step,
                        None => return Ok(executed),
                    }
                }
                Work::Push(reg) => {
                    let index = reg.0 as usize;
                    self.push(at, self.values[index], self.defined[index])?;
                }
                Work::Pop(reg) => {
                    let (value, defined) = self.pop(at)?;
                    self.write(*reg, value);
                    self.defined[reg.0 as usize] = defined;
                }
                Work::Reserve(bytes) => {
                    let rsp = self.read(at, physical(RSP))?.wrapping_sub((*bytes).into());
                    self.write(physical(RSP), rsp);
                    self.frame(Some(rsp));
                }
                Work::Release(bytes) => {
                    let rsp = self.read(at, physical(RSP))?.wrapping_add((*bytes).into());
                    self.write(physical(RSP), rsp);
                    self.frame(None);
                }
            }
        }
    }

    fn taken(&self, jump: Jump, at: Site) -> Result<bool, Fault> {
        let zero = || self.flags[Flag::Zero as usize].ok_or(Fault::UndefinedFlag { at, flag: ZF });
        match jump {
            Jump::Always => Ok(true),
            Jump::Zero => zero(),
            Jump::NotZero => zero().map(|zero| !zero),
            Jump::RcxZero => self.read(at, physical(RCX)).map(|count| count == 0),
        }
    }

    fn inst(&mut self, inst: &'p Inst<Slot>, forgets: bool, at: Site) -> Result<(), Fault> {
        let mut context = Context { machine: self, inst, specs: inst.op.row().operands, forgets, at };
        match inst.op {
            Op::Base(op) => base::execute(op, &mut context),
            Op::MmxSse2(op) => {
                context.machine.mmx = op != MmxSse2::Emms;
                mmx_sse2::execute(op, &mut context)
            }
            Op::Sse2(op) => sse2::execute(op, &mut context),
            Op::Ssse3Sse41(op) => ssse3_sse41::execute(op, &mut context),
            Op::Aes(op) => aes::execute(op, &mut context),
            Op::Avx(op) => {
                context.machine.dirty &= op != Avx::Vzeroupper;
                avx::execute(op, &mut context)
            }
            Op::Avx2(op) => avx2::execute(op, &mut context),
            Op::Vaes(op) => vaes::execute(op, &mut context),
            Op::Bmi2Adx(op) => bmi2_adx::execute(op, &mut context),
            Op::Portable(op) => portable::execute(op, &mut context),
        }
    }

    /// What a caller expects at return.
    fn finish(self, executed: u64) -> Result<Outcome, Fault> {
        if self.mmx {
            return Err(Fault::NoEmms);
        }
        if self.dirty {
            return Err(Fault::NoVzeroupper);
        }
        if self.stack.is_some() {
            for register in CALLEE_SAVED {
                let found = self.values[physical(register).0 as usize];
                if found != SAVED_POISON | u64::from(register.number) {
                    return Err(Fault::Clobbered { register, found });
                }
            }
            let rsp = self.values[physical(RSP).0 as usize];
            if rsp != STACK_TOP + 8 {
                return Err(Fault::StackPointer { off: rsp.wrapping_sub(STACK_TOP + 8) as i64 });
            }
        }
        let returned = self.program.returns.map(|slot| self.read(Site::Exit, slot)).transpose()?;
        if let (Some(found), 32) = (returned, self.program.limb_bits)
            && found > u32::MAX.into()
        {
            return Err(Fault::UpperHalf { found });
        }
        let bytes =
            |pointer: &Option<Pointer>| pointer.as_ref().map(|pointer| self.regions[pointer.region].bytes.clone());
        let memories = self.pointers.iter().map(|pointer| bytes(pointer).unwrap_or_default()).collect();
        Ok(Outcome { returned, memories, executed, trace: self.trace })
    }
}
