//! Why a call cannot be made or cannot go on.

use crate::ir::site::{Name, Site};
use crate::ir::wellformed::Misfit;
use crate::isa::row::{FlagSet, PReg};
use std::fmt;

/// Why an argument does not suit its parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadArgument {
    /// A pointer where an integer is wanted, or the other way round.
    Sort,
    /// The bytes are not as many as the count says.
    Length {
        /// Bytes wanted.
        expected: u64,
        /// Bytes given.
        got: u64,
    },
    /// The count is outside its range, or not the one that the function is made for.
    Count {
        /// Count given.
        got: u64,
    },
    /// The pointer may not equal that of the argument with this index.
    MayNotEqual(usize),
}

/// Why a call cannot be made or cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The number of arguments is wrong, or more than registers can hold.
    Arguments {
        /// Parameters.
        expected: usize,
        /// Arguments.
        got: usize,
    },
    /// One argument is wrong.
    Argument {
        /// Its index.
        index: usize,
        /// Why.
        why: BadArgument,
    },
    /// An instruction does not fit its row.
    Misfit {
        /// The instruction.
        at: Site,
        /// Why.
        why: Misfit,
    },
    /// A subroutine is called that the function does not have.
    NoSuchSubroutine {
        /// Its number.
        sub: u32,
    },
    /// A register is read that was never written.
    Undefined {
        /// The reader.
        at: Site,
        /// The register.
        register: Name,
    },
    /// A flag is read that was never written, or was left undefined.
    UndefinedFlag {
        /// The reader.
        at: Site,
        /// The flag.
        flag: FlagSet,
    },
    /// A spill slot is read that was never written.
    UndefinedSlot {
        /// The reader.
        at: Site,
        /// Bytes from the first slot.
        offset: i64,
    },
    /// An access is not inside the argument's bytes.
    OutOfBounds {
        /// The instruction.
        at: Site,
        /// The argument.
        argument: u8,
        /// First byte of the access, from the argument's first byte.
        offset: i64,
        /// Bytes accessed.
        bytes: u32,
        /// Bytes of the argument.
        length: usize,
    },
    /// The function may not read, or may not write, this argument.
    Forbidden {
        /// The instruction.
        at: Site,
        /// The argument.
        argument: u8,
        /// First byte of the access.
        offset: i64,
        /// Whether it was a write.
        write: bool,
    },
    /// A memory operand names an argument that is no pointer, or no memory at all.
    NotMemory {
        /// The instruction.
        at: Site,
    },
    /// Stack work or a spill outside the function's own frame.
    Stack {
        /// What did it.
        at: Site,
        /// The address.
        address: u64,
    },
    /// A division by 0, or a quotient that does not fit.
    Divide {
        /// The instruction.
        at: Site,
    },
    /// A portable `add` lost its carry, which its family has to rule out.
    LostCarry {
        /// The instruction.
        at: Site,
    },
    /// A portable carry is neither 0 nor 1.
    CarryIn {
        /// The instruction.
        at: Site,
        /// The value.
        value: u64,
    },
    /// A loop is entered with a counter of 0.
    NoTrips {
        /// The loop.
        at: Site,
    },
    /// The budget is used up: an endless loop, most likely.
    Budget {
        /// Where execution stopped.
        at: Site,
        /// The budget.
        budget: u64,
    },
    /// MMX was used and no `emms` follows.
    NoEmms,
    /// 256 bits of a register were written and no `vzeroupper` follows.
    NoVzeroupper,
    /// The row wants memory at a multiple of so many bytes.
    Misaligned {
        /// The instruction.
        at: Site,
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        align: u32,
    },
    /// An access to the pool that is not inside it, or a write.
    Pool {
        /// The instruction.
        at: Site,
        /// First byte of the access, from the pool's first byte.
        offset: i64,
        /// Bytes accessed.
        bytes: u32,
        /// Whether it was a write.
        write: bool,
    },
    /// A callee-saved register is not as it was.
    Clobbered {
        /// The register.
        register: PReg,
        /// Its value at return.
        found: u64,
    },
    /// The stack pointer, or the return address under it, is not as it was.
    StackPointer {
        /// Bytes that the stack pointer is off.
        off: i64,
    },
    /// A returned 32-bit limb is not zero-extended.
    UpperHalf {
        /// The register's value.
        found: u64,
    },
}

impl fmt::Display for BadArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadArgument::Sort => write!(f, "is of the wrong sort"),
            BadArgument::Length { expected, got } => write!(f, "has {got} bytes where its count wants {expected}"),
            BadArgument::Count { got } => write!(f, "may not be {got}"),
            BadArgument::MayNotEqual(other) => write!(f, "may not equal argument {other}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Arguments { expected, got } => write!(f, "{got} arguments for {expected} parameters (at most 6)"),
            Fault::Argument { index, why } => write!(f, "argument {index} {why}"),
            Fault::Misfit { at, why } => write!(f, "{at}: {why}"),
            Fault::NoSuchSubroutine { sub } => write!(f, "there is no subroutine {sub}"),
            Fault::Undefined { at, register } => write!(f, "{at}: {register} is read and was never written"),
            Fault::UndefinedFlag { at, flag } => write!(f, "{at}: {flag} is read and is undefined"),
            Fault::UndefinedSlot { at, offset } => {
                write!(f, "{at}: the spill slot at byte {offset} is read and was never written")
            }
            Fault::OutOfBounds { at, argument, offset, bytes, length } => {
                write!(f, "{at}: {bytes} bytes at offset {offset} of argument {argument}, which has {length} bytes")
            }
            Fault::Forbidden { at, argument, offset, write } => {
                let right = if *write { "written" } else { "read" };
                write!(f, "{at}: argument {argument} may not be {right} (offset {offset})")
            }
            Fault::NotMemory { at } => write!(f, "{at}: the operand names no memory"),
            Fault::Stack { at, address } => write!(f, "{at}: {address:#x} is outside the function's own frame"),
            Fault::Divide { at } => write!(f, "{at}: division by 0, or a quotient that does not fit"),
            Fault::LostCarry { at } => write!(f, "{at}: the sum does not fit a limb"),
            Fault::CarryIn { at, value } => write!(f, "{at}: the carry in is {value:#x}"),
            Fault::NoTrips { at } => write!(f, "{at}: the loop's counter is 0 at entry"),
            Fault::Budget { at, budget } => write!(f, "{at}: not done after {budget} instructions"),
            Fault::NoEmms => write!(f, "at return: MMX was used and no emms followed"),
            Fault::NoVzeroupper => {
                write!(f, "at return: 256 bits of a register were written and no vzeroupper followed")
            }
            Fault::Misaligned { at, address, align } => write!(f, "{at}: {address:#x} is not a multiple of {align}"),
            Fault::Pool { at, offset, write: true, .. } => write!(f, "{at}: the pool is written (offset {offset})"),
            Fault::Pool { at, offset, bytes, .. } => write!(f, "{at}: {bytes} bytes at offset {offset} of the pool"),
            Fault::Clobbered { register, found } => {
                write!(f, "at return: callee-saved {} holds {found:#x}", Name::Physical(*register))
            }
            Fault::StackPointer { off } => {
                write!(f, "at return: rsp is off by {off} bytes, or the return address is gone")
            }
            Fault::UpperHalf { found } => write!(f, "at return: the 32-bit limb {found:#x} is not zero-extended"),
        }
    }
}

impl std::error::Error for Fault {}
