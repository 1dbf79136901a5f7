//! The state of an execution, and the loop that drives it.

use super::fault::{BadArgument, Fault};
use super::program::{Program, Slot, Work, physical};
use super::{Access, Argument, Call, Outcome, base, bmi2_adx, mmx_sse2, portable, sse2};
use crate::ir::abi::CALLEE_SAVED;
use crate::ir::linear::Jump;
use crate::ir::site::{Name, Site};
use crate::ir::{Control, Inst, Mem, Operand, Parameter, ParameterKind, Space};
use crate::isa::Op;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{CF, FlagSet, Kind, OF, OperandSpec, RCX, RSP, RegClass, Width, ZF};

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

/// The value of a vector operand in lanes of 64 bits, the lowest first: room for 256 bits. Lanes past an operand's width
/// read as 0 and are written as 0. (A legacy encoding would keep bits 128 to 255; no row sees those.)
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
        let executed = machine.execute(call.budget)?;
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
            upper: vec![[0; 3]; if program.wide { program.names.len() } else { 0 }],
            defined: vec![false; program.names.len()],
            flags: [None; 3],
            regions: Vec::new(),
            pointers: Vec::new(),
            stack: None,
            mmx: false,
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

    fn execute(&mut self, budget: u64) -> Result<u64, Fault> {
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
            match &step.work {
                Work::Inst { inst, forgets } => self.inst(inst, *forgets, at)?,
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

    fn inst(&mut self, inst: &'p Inst<Slot>, forgets: bool, at: Site) -> Result<(), Fault> {
        let mut context = Context { machine: self, inst, specs: inst.op.row().operands, forgets, at };
        match inst.op {
            Op::Base(op) => base::execute(op, &mut context),
            Op::MmxSse2(op) => {
                context.machine.mmx = op != MmxSse2::Emms;
                mmx_sse2::execute(op, &mut context)
            }
            Op::Sse2(op) => sse2::execute(op, &mut context),
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
            Space::Nowhere => Err(Fault::NotMemory { at }),
        }
    }

    /// What a caller expects at return.
    fn finish(self, executed: u64) -> Result<Outcome, Fault> {
        if self.mmx {
            return Err(Fault::NoEmms);
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
        match self.specs[operand].kind {
            Kind::Reg(_, width) | Kind::RegMem(_, width) | Kind::Mem(width) => width.bytes(self.limb_bits()) * 8,
            Kind::Address | Kind::Imm8 | Kind::Selector | Kind::Imm32 | Kind::Imm64 => {
                Width::W64.bytes(self.limb_bits()) * 8
            }
        }
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
                let upper = [1, 2, 3].map(|lane| if lane < words { lanes[lane] } else { 0 });
                self.machine.write(*slot, lanes[0]);
                self.machine.upper[slot.0 as usize] = upper;
                Ok(())
            }
            Operand::Mem(mem) => {
                let bytes = lanes.map(u64::to_le_bytes);
                self.machine.store(self.at, mem, bytes[..words].as_flattened())
            }
            Operand::Imm(_) => unreachable!("a written constant in {:?}", self.inst.op.row()),
        }
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
                    self.machine.upper[slot.0 as usize] = [0; 3];
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
