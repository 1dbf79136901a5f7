//! The memory behind a call's arguments, and every access of an instruction: to that, to spill slots and to the pool.

use super::super::fault::{BadArgument, Fault};
use super::super::program::Slot;
use super::super::{Access, Argument, Call};
use super::{Machine, POOL};
use crate::ir::site::{Name, Site};
use crate::ir::{Inst, Mem, Parameter, ParameterKind, Space};
use crate::isa::row::RegClass;

/// The upper half of a 32-bit value at entry.
const UPPER_GARBAGE: u64 = 0xa5c3_96f1_0000_0000;

pub(super) struct Region {
    base: u64,
    pub(super) bytes: Vec<u8>,
    /// Which bytes the function has written, where it may read no others.
    written: Option<Vec<bool>>,
}

pub(super) struct Pointer {
    pub(super) region: usize,
    reads: bool,
    writes: bool,
}

fn position(at: Site) -> usize {
    match at {
        Site::Instruction { index, .. } => index,
        Site::Control { after } => after,
        Site::Entry | Site::Exit => 0,
    }
}

impl Machine<'_> {
    /// Checks one argument against its parameter; the value that its register holds.
    pub(super) fn argument(&mut self, call: &Call, index: usize) -> Result<u64, BadArgument> {
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

    fn note(&mut self, at: Site, address: u64) {
        if let Some(trace) = &mut self.trace {
            trace.push(Access { instruction: position(at), address });
        }
    }

    /// Whether the access of an instruction is at a multiple of `align`.
    pub(super) fn aligned(&self, inst: &Inst<Slot>, align: u32, at: Site) -> Result<(), Fault> {
        let Some((mem, ..)) = inst.memory() else { return Ok(()) };
        let address = self.address(at, mem)?;
        if address.is_multiple_of(align.into()) { Ok(()) } else { Err(Fault::Misaligned { at, address, align }) }
    }

    pub(super) fn address(&self, at: Site, mem: &Mem<Slot>) -> Result<u64, Fault> {
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

    /// The bytes of a read.
    pub(super) fn load(&mut self, at: Site, mem: &Mem<Slot>, bytes: u32) -> Result<&[u8], Fault> {
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
    pub(super) fn store(&mut self, at: Site, mem: &Mem<Slot>, value: &[u8]) -> Result<(), Fault> {
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
}

fn is_portable(name: Name) -> bool {
    let class = match name {
        Name::Virtual(reg) => reg.class,
        Name::Physical(reg) => reg.class,
    };
    class == RegClass::Portable
}
