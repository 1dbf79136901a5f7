//! The rules, and what breaks them.

use super::Misfit;
use crate::ir::site::{Name, Site};
use crate::isa::row::{FlagSet, PReg};
use std::fmt;

/// A rule that is broken at some place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ill {
    /// Where.
    pub at: Site,
    /// The rule.
    pub rule: Rule,
}

/// A rule of the IR, with what breaks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The instruction fits its row.
    Misfit(Misfit),
    /// A shift's count is 1 to 63: a count of 0 would leave the flags that the row says it writes.
    ShiftCount,
    /// The parameter with this index has a register, a count, partners or a width that cannot be.
    Parameter(usize),
    /// Every number is one register, below the function's count of them, of a file that its stage has.
    Register(Name),
    /// A register is written, on every path, before it is read.
    Undefined(Name),
    /// Of the vregs pinned to one register, the one that is read was written last.
    Pin {
        /// What is read.
        read: Name,
        /// What the register holds instead, if that is the same on every path.
        holds: Option<Name>,
    },
    /// A flag is defined, on every path, before it is read.
    UndefinedFlag(FlagSet),
    /// Flags that loop control and tests of tails leave are not for instructions.
    FlagOfControl(FlagSet),
    /// A flag that is live across a back-edge is declared in the loop's `live_flags`.
    UndeclaredFlag(FlagSet),
    /// Loop control does not write a flag that is declared live.
    ControlWritesFlag(FlagSet),
    /// The counter of a flag-free loop is pinned to rcx.
    CounterPin(Name),
    /// A loop's counter is not written in its body.
    CounterWritten(Name),
    /// A memory operand names the memory of a pointer (or a slot, once allocated).
    Space,
    /// An access is one that the parameter allows.
    Right {
        /// The argument.
        argument: u8,
        /// Whether it is written.
        write: bool,
    },
    /// The base derives from the parameter that the operand names: it is its register, or a copy or `lea` of it.
    Base {
        /// The argument.
        argument: u8,
        /// The base.
        base: Name,
    },
    /// All pointers of one cursor that a block uses stand at one element at its start, and take the same steps in it.
    OutOfStep {
        /// The cursor.
        cursor: u8,
        /// One pointer.
        first: Name,
        /// Another.
        second: Name,
    },
    /// `emms` follows the last MMX instruction on every path.
    NoEmms,
    /// There is no `emms` in a function without MMX.
    NeedlessEmms,
    /// `vzeroupper` follows the last write of 256 bits of a register on every path.
    NoVzeroupper,
    /// There is no `vzeroupper` in a function that writes no 256 bits of a register.
    NeedlessVzeroupper,
    /// What is read as 256 bits was written, on every path, since the last `vzeroupper`.
    UpperHalf(Name),
    /// A function's vector instructions are all legacy or all VEX encodings.
    MixedEncodings,
    /// What the row wants aligned is in the pool, or behind a pointer that is as much aligned.
    Misaligned(u32),
    /// The pool is read only.
    PoolWritten,
    /// An access to the pool is `[pool + k]` inside its bytes.
    PoolBounds(i32),
    /// The registers of a subroutine are pinned.
    SubroutineRegister(Name),
    /// A call's subroutine exists.
    NoSuchSubroutine(u32),
    /// No subroutine calls itself, through others neither.
    Recursion(u32),
    /// A function for one exact size has no loop.
    ExactLoop,
    /// A spill slot is `[rsp + 8 k]` with k below the frame's count, and not in a subroutine.
    Slot(i32),
    /// A spill slot is written, on every path, before it is read.
    UndefinedSlot(i32),
    /// rsp is the base of spill slots and nothing else.
    StackPointer,
    /// A callee-saved register that is written is in the frame's list of saved ones.
    NotSaved(PReg),
    /// The frame saves callee-saved registers, each once.
    Saved(PReg),
    /// The value is returned in rax.
    ReturnRegister(PReg),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::Misfit(why) => write!(f, "{why}"),
            Rule::ShiftCount => write!(f, "the count of a shift must be 1 to 63"),
            Rule::Parameter(index) => {
                write!(f, "parameter {index} has a register, count, partner or width that cannot be")
            }
            Rule::Register(name) => write!(f, "{name} is out of range, or two registers with one number"),
            Rule::Undefined(name) => write!(f, "{name} is read and not written on every path before"),
            Rule::Pin { read, holds: Some(holds) } => write!(f, "{read} is read where its register holds {holds}"),
            Rule::Pin { read, holds: None } => {
                write!(f, "{read} is read where its register holds different vregs on different paths")
            }
            Rule::UndefinedFlag(flag) => write!(f, "{flag} is read and not defined on every path before"),
            Rule::FlagOfControl(flag) => write!(f, "{flag} is read as loop control or a tail's test left it"),
            Rule::UndeclaredFlag(flag) => write!(f, "{flag} is live across a back-edge that does not declare it"),
            Rule::ControlWritesFlag(flag) => write!(f, "{flag} is declared live, but the loop's control writes it"),
            Rule::CounterPin(name) => write!(f, "{name} counts a flag-free loop and is not pinned to rcx"),
            Rule::CounterWritten(name) => write!(f, "{name} counts a loop that is open here and is written"),
            Rule::Space => write!(f, "the operand names no memory that a function of this stage has"),
            Rule::Right { argument, write } => {
                write!(f, "argument {argument} may not be {}", if *write { "written" } else { "read" })
            }
            Rule::Base { argument, base } => write!(f, "base {base} does not derive from argument {argument}"),
            Rule::OutOfStep { cursor, first, second } => {
                write!(f, "{first} and {second} of cursor {cursor} are out of step in this block")
            }
            Rule::NoEmms => write!(f, "MMX is used and no emms follows on some path"),
            Rule::NeedlessEmms => write!(f, "emms in a function without MMX"),
            Rule::NoVzeroupper => {
                write!(f, "256 bits of a register are written and no vzeroupper follows on some path")
            }
            Rule::NeedlessVzeroupper => write!(f, "vzeroupper in a function that writes no 256 bits of a register"),
            Rule::UpperHalf(name) => write!(f, "{name} is read as 256 bits, of which vzeroupper cleared half"),
            Rule::MixedEncodings => write!(f, "legacy and VEX vector instructions in one function"),
            Rule::Misaligned(bytes) => write!(f, "the memory is not known to be at a multiple of {bytes}"),
            Rule::PoolWritten => write!(f, "the pool is written"),
            Rule::PoolBounds(disp) => write!(f, "{disp} is not an offset of such an access to the pool"),
            Rule::SubroutineRegister(name) => write!(f, "{name} is used in a subroutine and is not pinned"),
            Rule::NoSuchSubroutine(sub) => write!(f, "there is no subroutine {sub}"),
            Rule::Recursion(sub) => write!(f, "subroutine {sub} calls itself"),
            Rule::ExactLoop => write!(f, "a loop in a function for one exact size"),
            Rule::Slot(disp) => write!(f, "{disp} is not a spill slot of this frame"),
            Rule::UndefinedSlot(disp) => write!(f, "spill slot {disp} is read and not written on every path before"),
            Rule::StackPointer => write!(f, "rsp may only be the base of a spill slot"),
            Rule::NotSaved(reg) => write!(f, "callee-saved {} is written and not saved", Name::Physical(*reg)),
            Rule::Saved(reg) => write!(f, "{} is saved twice, or is not callee-saved", Name::Physical(*reg)),
            Rule::ReturnRegister(reg) => write!(f, "the value is returned in {}, not in rax", Name::Physical(*reg)),
        }
    }
}

impl fmt::Display for Ill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.rule)
    }
}

impl std::error::Error for Ill {}
