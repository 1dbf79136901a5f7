//! The state of an execution, and the loop that drives it.

use super::fault::{BadArgument, Fault};
use super::program::{Program, Slot, Work, physical};
use super::watch::Executed;
use super::{
    Access, Argument, Call, Outcome, aes, avx, avx2, base, bmi2_adx, mmx_sse2, portable, sse2, ssse3_sse41, vaes,
};
use crate::ir::abi::CALLEE_SAVED;
use crate::ir::linear::Jump;
use crate::ir::site::{Name, Site};
use crate::ir::{Control, Inst, Mem, Operand, Parameter, ParameterKind, Space};
use crate::isa::avx::Avx;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{CF, FlagSet, OF, OperandSpec, RCX, RSP, RegClass, Width, ZF};
use crate::isa::{Op, VectorEncoding};

/// What a callee-saved register holds at entry, each its own.
const SAVED_POISON: u64 = 0xca11_ee5a_0000_0000;
/// What any other register holds before it is written.
const POISON: u64 = 0xdead_0000_0bad_0000;
/// The upper half of a 32-bit value at entry.
const UPPER_GARBAGE: u64 = 0xa5c3_96f1_0000_0000;
/// The return address of the outermost call; those of subroutines are `RETURN + step`.
const RETURN: u64 = 0x0040_0000_0000;
/// rsp at entry: 8 mod 16, as a call leaves it.
const STACK_TOP: u64 = 0x7ffd_e000_0f08;
/// Stack below rsp at entry, the frame's slots not counted.
const STACK_BYTES: u64 = 1024;
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

struct Region {
    base: u64,
    bytes: Vec<u8>,
    /// Which bytes the function has written, where it may read no others.
    written: Option<Vec<bool>>,
}

struct Pointer {
    region: usize,
    reads: bool,
    writes: bool,
}

struct Stack {
    low: u64,
    bytes: Vec<u8>,
    defined: Vec<bool>,
    /// The first spill slot, between prologue and epilogue.
    frame: Option<u64>,
    frame_bytes: u32,
}

impl Stack {
    /// The bytes at an address, which must lie between `rsp` and the return address of the function, that included.
    fn range(&self, at: Site, address: u64, bytes: u32) -> Result<std::ops::Range<usize>, Fault> {
        let offset = address.wrapping_sub(self.low);
        match usize::try_from(offset) {
            Ok(start) if start < self.bytes.len() && start + bytes as usize <= self.bytes.len() => {
                Ok(start..start + bytes as usize)
            }
            _ => Err(Fault::Stack { at, address }),
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

fn position(at: Site) -> usize {
    match at {
        Site::Instruction { index, .. } => index,
        Site::Control { after } => after,
        Site::Entry | Site::Exit => 0,
    }
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

    /// Checks one argument against its parameter; the value that its register holds.
    fn argument(&mut self, call: &Call, index: usize) -> Result<u64, BadArgument> {
        let parameters = &self.program.parameters;
        let kind = parameters[index].kind;
        match (kind, &call.arguments[index]) {
            (ParameterKind::Pointer { element_bytes, length, reads, writes, .. }, argument) => {
                let region = match argument {
                    Argument::Pointer { bytes } => {
                        // Odd, and 2^40 or more apart from every other.
                        let number = index as u64 + 1;
                        let base = number * 0x01d4_0000_3100 + 7;
                        // Where the contract promises an alignment: that, and no more.
                        let same = |other: &usize| {
                            let may = |a: usize, b: usize| parameters[a].may_equal.iter().any(|e| usize::from(*e) == b);
                            *other == index || may(index, *other) || may(*other, index)
                        };
                        let promised = (0..parameters.len()).filter(same).map(|other| parameters[other].align);
                        let base = match u64::from(promised.max().unwrap_or(1)) {
                            1 => base,
                            align => base.next_multiple_of(2 * align) + align,
                        };
                        let written = (!reads).then(|| vec![false; bytes.len()]);
                        self.regions.push(Region { base, bytes: bytes.clone(), written });
                        self.regions.len() - 1
                    }
                    Argument::Same(other) => {
                        let may =
                            |a: usize, b: usize| parameters[a].may_equal.iter().any(|equal| usize::from(*equal) == b);
                        match self.pointers.get(*other) {
                            Some(Some(pointer)) if may(index, *other) || may(*other, index) => pointer.region,
                            Some(Some(_)) => return Err(BadArgument::MayNotEqual(*other)),
                            Some(None) | None => return Err(BadArgument::Sort),
                        }
                    }
                    Argument::Integer(_) => return Err(BadArgument::Sort),
                };
                let count = |index: u8| match call.arguments.get(usize::from(index)) {
                    Some(Argument::Integer(count)) => Some(*count),
                    Some(Argument::Pointer { .. } | Argument::Same(_)) | None => None,
                };
                let elements = length.value(count).ok_or(BadArgument::Sort)?;
                let expected = elements.saturating_mul(element_bytes.into());
                let got = self.regions[region].bytes.len() as u64;
                if expected != got {
                    return Err(BadArgument::Length { expected, got });
                }
                if reads {
                    self.regions[region].written = None;
                }
                self.pointers.push(Some(Pointer { region, reads, writes }));
                Ok(self.regions[region].base)
            }
            (ParameterKind::Count { min, max }, Argument::Integer(count)) => {
                self.pointers.push(None);
                let is_count = |parameter: &Parameter<Slot>| matches!(parameter.kind, ParameterKind::Count { .. });
                let first = !parameters[..index].iter().any(is_count);
                let exact = self.program.exact.filter(|_| first);
                let right = (min..=max).contains(count) && exact.is_none_or(|exact| exact == *count);
                if right { Ok(*count) } else { Err(BadArgument::Count { got: *count }) }
            }
            (ParameterKind::Value { bits }, Argument::Integer(value)) => {
                self.pointers.push(None);
                let portable = is_portable(self.program.names[parameters[index].reg.0 as usize]);
                Ok(match (bits, portable) {
                    (32, true) => value & u64::from(u32::MAX),
                    (32, false) => value & u64::from(u32::MAX) | UPPER_GARBAGE,
                    _ => *value,
                })
            }
            (ParameterKind::Count { .. } | ParameterKind::Value { .. }, _) => Err(BadArgument::Sort),
        }
    }

    /// The state in which a caller leaves the machine: poisoned registers, and a stack with the return address.
    fn enter(&mut self, frame_bytes: u32) {
        for reg in CALLEE_SAVED {
            self.values[physical(reg).0 as usize] = SAVED_POISON | u64::from(reg.number);
        }
        self.write(physical(RSP), STACK_TOP);
        let bytes = STACK_BYTES + u64::from(frame_bytes) + 8;
        let mut stack = Stack {
            low: STACK_TOP + 8 - bytes,
            bytes: vec![0; bytes as usize],
            defined: vec![false; bytes as usize],
            frame: None,
            frame_bytes,
        };
        let top = stack.bytes.len() - 8;
        stack.bytes[top..].copy_from_slice(&RETURN.to_le_bytes());
        self.stack = Some(stack);
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

    fn note(&mut self, at: Site, address: u64) {
        if let Some(trace) = &mut self.trace {
            trace.push(Access { instruction: position(at), address });
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

    fn frame(&mut self, frame: Option<u64>) {
        // `sub` and `add` of rsp: no flag outlives them.
        self.flags = [None; 3];
        if let Some(stack) = &mut self.stack {
            stack.frame = frame;
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

    fn push(&mut self, at: Site, value: u64, defined: bool) -> Result<(), Fault> {
        let rsp = self.read(at, physical(RSP))?.wrapping_sub(8);
        self.write(physical(RSP), rsp);
        let stack = self.stack.as_mut().ok_or(Fault::Stack { at, address: rsp })?;
        let range = stack.range(at, rsp, 8)?;
        stack.bytes[range.clone()].copy_from_slice(&value.to_le_bytes());
        stack.defined[range].fill(defined);
        Ok(())
    }

    fn pop(&mut self, at: Site) -> Result<(u64, bool), Fault> {
        let rsp = self.read(at, physical(RSP))?;
        let stack = self.stack.as_mut().ok_or(Fault::Stack { at, address: rsp })?;
        let range = stack.range(at, rsp, 8)?;
        let value = little_endian(&stack.bytes[range.clone()]);
        let defined = stack.defined[range].iter().all(|defined| *defined);
        self.write(physical(RSP), rsp.wrapping_add(8));
        Ok((value, defined))
    }

    /// Whether the access of an instruction is at a multiple of `align`.
    fn aligned(&self, inst: &Inst<Slot>, align: u32, at: Site) -> Result<(), Fault> {
        let Some((mem, ..)) = inst.memory() else { return Ok(()) };
        let address = self.address(at, mem)?;
        if address.is_multiple_of(align.into()) { Ok(()) } else { Err(Fault::Misaligned { at, address, align }) }
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

    fn address(&self, at: Site, mem: &Mem<Slot>) -> Result<u64, Fault> {
        let mut address = self.read(at, mem.base)?.wrapping_add(i64::from(mem.disp) as u64);
        if let Some((reg, scale)) = mem.index {
            address = address.wrapping_add(self.read(at, reg)?.wrapping_mul(scale.into()));
        }
        Ok(address)
    }

    /// The region and the place in it of an access to an argument.
    fn place(&self, at: Site, argument: u8, address: u64, bytes: u32, write: bool) -> Result<(usize, usize), Fault> {
        let Some(Some(pointer)) = self.pointers.get(usize::from(argument)) else { return Err(Fault::NotMemory { at }) };
        let region = &self.regions[pointer.region];
        let offset = address.wrapping_sub(region.base) as i64;
        let length = region.bytes.len();
        match usize::try_from(offset) {
            Ok(start) if start.saturating_add(bytes as usize) <= length => {
                // What it may not read it may still read back.
                let own = || match &region.written {
                    Some(written) => written[start..start + bytes as usize].iter().all(|written| *written),
                    None => pointer.writes,
                };
                let right = if write { pointer.writes } else { pointer.reads || own() };
                if right { Ok((pointer.region, start)) } else { Err(Fault::Forbidden { at, argument, offset, write }) }
            }
            _ => Err(Fault::OutOfBounds { at, argument, offset, bytes, length }),
        }
    }

    /// As [`Machine::place`], in the argument that the address is in when the access does not name it.
    fn placed(&self, at: Site, space: Space, address: u64, bytes: u32, write: bool) -> Result<(usize, usize), Fault> {
        if let Space::Argument(argument) = space {
            return self.place(at, argument, address, bytes, write);
        }
        let mut first = Err(Fault::NotMemory { at });
        for argument in
            (0..self.pointers.len() as u8).filter(|argument| self.pointers[usize::from(*argument)].is_some())
        {
            match self.place(at, argument, address, bytes, write) {
                Ok(place) => return Ok(place),
                // What lies in an argument and may not be done there says more than what lies elsewhere.
                Err(fault) if first.is_err() && !matches!(fault, Fault::OutOfBounds { .. }) => first = Err(fault),
                Err(fault) => first = first.or(Err(fault)),
            }
        }
        first
    }

    /// The stack's bytes of an access to a spill slot, which is only for the function itself: subroutines have no slots.
    fn spill(&self, at: Site, address: u64, bytes: u32) -> Result<std::ops::Range<usize>, Fault> {
        let fault = Fault::Stack { at, address };
        let stack = self.stack.as_ref().ok_or(fault)?;
        let frame = stack.frame.ok_or(fault)?;
        let offset = address.wrapping_sub(frame);
        if !self.calls.is_empty() || offset.saturating_add(bytes.into()) > stack.frame_bytes.into() {
            return Err(fault);
        }
        stack.range(at, address, bytes)
    }

    /// The bytes of a read.
    fn load(&mut self, at: Site, mem: &Mem<Slot>, bytes: u32) -> Result<&[u8], Fault> {
        let address = self.address(at, mem)?;
        self.note(at, address);
        match mem.space {
            Space::Argument(_) | Space::Pointed => {
                let (region, start) = self.placed(at, mem.space, address, bytes, false)?;
                Ok(&self.regions[region].bytes[start..start + bytes as usize])
            }
            Space::Frame => {
                let range = self.spill(at, address, bytes)?;
                let stack = self.stack.as_ref().ok_or(Fault::Stack { at, address })?;
                if !stack.defined[range.clone()].iter().all(|defined| *defined) {
                    let offset = address.wrapping_sub(stack.frame.unwrap_or(0)) as i64;
                    return Err(Fault::UndefinedSlot { at, offset });
                }
                Ok(&stack.bytes[range])
            }
            Space::Pool => {
                let offset = address.wrapping_sub(POOL) as i64;
                let inside = usize::try_from(offset).ok().map(|start| start..start.saturating_add(bytes as usize));
                let found = inside.and_then(|range| self.program.pool.get(range));
                found.ok_or(Fault::Pool { at, offset, bytes, write: false })
            }
            Space::Nowhere => Err(Fault::NotMemory { at }),
        }
    }

    /// Writes bytes.
    fn store(&mut self, at: Site, mem: &Mem<Slot>, value: &[u8]) -> Result<(), Fault> {
        let address = self.address(at, mem)?;
        self.note(at, address);
        let bytes = u32::try_from(value.len()).expect("an access is a few bytes");
        match mem.space {
            Space::Argument(_) | Space::Pointed => {
                let (region, start) = self.placed(at, mem.space, address, bytes, true)?;
                let region = &mut self.regions[region];
                region.bytes[start..start + bytes as usize].copy_from_slice(value);
                if let Some(written) = &mut region.written {
                    written[start..start + bytes as usize].fill(true);
                }
                Ok(())
            }
            Space::Frame => {
                let range = self.spill(at, address, bytes)?;
                let stack = self.stack.as_mut().ok_or(Fault::Stack { at, address })?;
                stack.bytes[range.clone()].copy_from_slice(value);
                stack.defined[range].fill(true);
                Ok(())
            }
            Space::Pool => Err(Fault::Pool { at, offset: address.wrapping_sub(POOL) as i64, bytes, write: true }),
            Space::Nowhere => Err(Fault::NotMemory { at }),
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

fn is_portable(name: Name) -> bool {
    let class = match name {
        Name::Virtual(reg) => reg.class,
        Name::Physical(reg) => reg.class,
    };
    class == RegClass::Portable
}

/// One instruction's view of the machine: its operands by their number in the row, and the flags.
pub(super) struct Context<'m, 'p> {
    machine: &'m mut Machine<'p>,
    inst: &'p Inst<Slot>,
    specs: &'static [OperandSpec],
    forgets: bool,
    at: Site,
}

impl Context<'_, '_> {
    /// Bits of an operand.
    fn bits(&self, operand: usize) -> u32 {
        self.specs[operand].kind.width().unwrap_or(Width::W64).bytes(self.limb_bits()) * 8
    }

    /// Bits of a limb of the function.
    pub fn limb_bits(&self) -> u32 {
        self.machine.program.limb_bits
    }

    /// The instruction, for faults.
    pub fn at(&self) -> Site {
        self.at
    }

    /// The value of an operand, cut to its width; of a vector register, the low 64 bits.
    pub fn get(&mut self, operand: usize) -> Result<u64, Fault> {
        let bits = self.bits(operand).min(64);
        let value = match &self.inst.operands[operand] {
            Operand::Reg(slot) if self.forgets => self.machine.values[slot.0 as usize],
            Operand::Reg(slot) => self.machine.read(self.at, *slot)?,
            Operand::Imm(value) => *value as u64,
            Operand::Mem(mem) => little_endian(self.machine.load(self.at, mem, bits / 8)?),
        };
        Ok(value & u64::MAX >> (64 - bits))
    }

    /// The value of a vector register or of vector memory.
    pub fn lanes(&mut self, operand: usize) -> Result<Lanes, Fault> {
        let bytes = self.bits(operand) / 8;
        let mut lanes = [0; 4];
        match &self.inst.operands[operand] {
            Operand::Reg(slot) => {
                if !self.forgets {
                    self.machine.read(self.at, *slot)?;
                }
                lanes[0] = self.machine.values[slot.0 as usize];
                lanes[1..].copy_from_slice(&self.machine.upper[slot.0 as usize]);
            }
            Operand::Mem(mem) => {
                let (words, _) = self.machine.load(self.at, mem, bytes)?.as_chunks();
                lanes.iter_mut().zip(words).for_each(|(lane, word)| *lane = u64::from_le_bytes(*word));
            }
            Operand::Imm(_) => unreachable!("a constant for a vector in {:?}", self.inst.op.row()),
        }
        lanes[bytes as usize / 8..].fill(0);
        Ok(lanes)
    }

    /// Writes a vector register or vector memory.
    pub fn set_lanes(&mut self, operand: usize, lanes: Lanes) -> Result<(), Fault> {
        let words = self.bits(operand) as usize / 64;
        match &self.inst.operands[operand] {
            Operand::Reg(slot) => {
                self.machine.write(*slot, lanes[0]);
                self.set_upper(*slot, words, lanes);
                Ok(())
            }
            Operand::Mem(mem) => {
                let bytes = lanes.map(u64::to_le_bytes);
                self.machine.store(self.at, mem, bytes[..words].as_flattened())
            }
            Operand::Imm(_) => unreachable!("a written constant in {:?}", self.inst.op.row()),
        }
    }

    /// Writes the lanes of a register past the first, of which `words` are the operand's.
    fn set_upper(&mut self, slot: Slot, words: usize, lanes: Lanes) {
        let legacy = self.inst.op.vector_encoding() == Some(VectorEncoding::Legacy);
        let upper = &mut self.machine.upper[slot.0 as usize];
        for (lane, held) in (1..).zip(upper) {
            if lane < words {
                *held = lanes[lane];
            } else if !legacy {
                *held = 0;
            }
        }
    }

    /// Clears bits 128 to 255 of every vector register.
    pub fn clear_upper_halves(&mut self) {
        self.machine.upper.iter_mut().for_each(|upper| upper[1..].fill(0));
    }

    /// Writes an operand, cut to its width and zero-extended.
    pub fn set(&mut self, operand: usize, value: u64) -> Result<(), Fault> {
        let bits = self.bits(operand);
        let wide = bits > 64;
        let value = value & u64::MAX >> (64 - bits.min(64));
        match &self.inst.operands[operand] {
            Operand::Reg(slot) => {
                self.machine.write(*slot, value);
                if wide {
                    self.set_upper(*slot, 2, [value, 0, 0, 0]);
                }
                Ok(())
            }
            Operand::Mem(mem) => self.machine.store(self.at, mem, &value.to_le_bytes()[..bits as usize / 8]),
            Operand::Imm(_) => unreachable!("a written constant in {:?}", self.inst.op.row()),
        }
    }

    /// The address that an operand names.
    pub fn address(&self, operand: usize) -> Result<u64, Fault> {
        match &self.inst.operands[operand] {
            Operand::Mem(mem) => self.machine.address(self.at, mem),
            Operand::Reg(_) | Operand::Imm(_) => unreachable!("no address in {:?}", self.inst.op.row()),
        }
    }

    /// A flag's value.
    pub fn flag(&self, flag: Flag) -> Result<bool, Fault> {
        debug_assert!(self.inst.op.row().flags.reads.contains(flag.set()), "{:?}", self.inst.op.row());
        self.machine.flags[flag as usize].ok_or(Fault::UndefinedFlag { at: self.at, flag: flag.set() })
    }

    /// Writes a flag; `None` leaves it undefined.
    pub fn set_flag(&mut self, flag: Flag, value: Option<bool>) {
        debug_assert!(self.inst.op.row().flags.writes.contains(flag.set()), "{:?}", self.inst.op.row());
        self.machine.flags[flag as usize] = value;
    }

    /// Writes CF, OF and ZF.
    pub fn set_flags(&mut self, carry: Option<bool>, overflow: Option<bool>, zero: Option<bool>) {
        self.set_flag(Flag::Carry, carry);
        self.set_flag(Flag::Overflow, overflow);
        self.set_flag(Flag::Zero, zero);
    }
}
