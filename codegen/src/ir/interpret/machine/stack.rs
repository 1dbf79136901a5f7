//! The stack of a function: the return address, what is pushed, and the spill slots.

use super::super::fault::Fault;
use super::super::program::physical;
use super::{Machine, SAVED_POISON, little_endian};
use crate::ir::abi::CALLEE_SAVED;
use crate::ir::site::Site;
use crate::isa::row::RSP;

/// The return address of the outermost call; those of subroutines are `RETURN + step`.
pub(super) const RETURN: u64 = 0x0040_0000_0000;
/// rsp at entry: 8 mod 16, as a call leaves it.
pub(super) const STACK_TOP: u64 = 0x7ffd_e000_0f08;
/// Stack below rsp at entry, the frame's slots not counted.
const STACK_BYTES: u64 = 1024;

pub(super) struct Stack {
    low: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) defined: Vec<bool>,
    /// The first spill slot, between prologue and epilogue.
    pub(super) frame: Option<u64>,
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

impl Machine<'_> {
    /// The state in which a caller leaves the machine: poisoned registers, and a stack with the return address.
    pub(super) fn enter(&mut self, frame_bytes: u32) {
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

    pub(super) fn frame(&mut self, frame: Option<u64>) {
        // `sub` and `add` of rsp: no flag outlives them.
        self.flags = [None; 3];
        if let Some(stack) = &mut self.stack {
            stack.frame = frame;
        }
    }

    pub(super) fn push(&mut self, at: Site, value: u64, defined: bool) -> Result<(), Fault> {
        let rsp = self.read(at, physical(RSP))?.wrapping_sub(8);
        self.write(physical(RSP), rsp);
        let stack = self.stack.as_mut().ok_or(Fault::Stack { at, address: rsp })?;
        let range = stack.range(at, rsp, 8)?;
        stack.bytes[range.clone()].copy_from_slice(&value.to_le_bytes());
        stack.defined[range].fill(defined);
        Ok(())
    }

    pub(super) fn pop(&mut self, at: Site) -> Result<(u64, bool), Fault> {
        let rsp = self.read(at, physical(RSP))?;
        let stack = self.stack.as_mut().ok_or(Fault::Stack { at, address: rsp })?;
        let range = stack.range(at, rsp, 8)?;
        let value = little_endian(&stack.bytes[range.clone()]);
        let defined = stack.defined[range].iter().all(|defined| *defined);
        self.write(physical(RSP), rsp.wrapping_add(8));
        Ok((value, defined))
    }

    /// The stack's bytes of an access to a spill slot, which is only for the function itself: subroutines have no slots.
    pub(super) fn spill(&self, at: Site, address: u64, bytes: u32) -> Result<std::ops::Range<usize>, Fault> {
        let fault = Fault::Stack { at, address };
        let stack = self.stack.as_ref().ok_or(fault)?;
        let frame = stack.frame.ok_or(fault)?;
        let offset = address.wrapping_sub(frame);
        if !self.calls.is_empty() || offset.saturating_add(bytes.into()) > stack.frame_bytes.into() {
            return Err(fault);
        }
        stack.range(at, address, bytes)
    }
}
