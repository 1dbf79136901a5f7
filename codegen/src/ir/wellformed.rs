//! What every function must satisfy before a pass touches it. A failure is a fault of a family or of a pass, not of a user.

mod block;
mod flow;
mod rule;
mod signature;
mod state;

pub use rule::{Ill, Rule};

use super::{Func, Inst, Mem, Operand, Physical, VReg, Virtual};
use crate::isa::row::{Kind, PReg, RegClass};
use std::fmt;

/// Whether a virtual function keeps every rule of the IR: see [`Rule`].
///
/// # Errors
/// Every ill, in the order of the function.
pub fn check(func: &Func<Virtual>) -> Result<(), Vec<Ill>> {
    let mut ills = signature::virtual_signature(func);
    flow::check(func, None, &mut ills);
    if ills.is_empty() { Ok(()) } else { Err(ills) }
}

/// Whether an allocated function keeps the rules too, and those of its frame and of the ABI.
///
/// # Errors
/// Every ill, in the order of the function.
pub fn check_physical(func: &Func<Physical>) -> Result<(), Vec<Ill>> {
    let mut ills = signature::physical_signature(func);
    flow::check(func, Some(&func.frame), &mut ills);
    if ills.is_empty() { Ok(()) } else { Err(ills) }
}

/// A register of any stage, as far as the checks need to know it.
pub trait AnyReg: Copy {
    /// Register file.
    fn class(self) -> RegClass;
    /// The physical register that it is or must be, if any.
    fn physical(self) -> Option<PReg>;
}
impl AnyReg for VReg {
    fn class(self) -> RegClass {
        self.class
    }
    fn physical(self) -> Option<PReg> {
        self.pin
    }
}
impl AnyReg for PReg {
    fn class(self) -> RegClass {
        self.class
    }
    fn physical(self) -> Option<PReg> {
        Some(self)
    }
}

/// Why an instruction does not fit its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// Too few or too many operands.
    Count,
    /// The operand with this name is of the wrong sort or register file.
    Sort(&'static str),
    /// The operand with this name must be another register.
    Fixed(&'static str),
    /// The immediate with this name is out of range.
    Range(&'static str),
    /// More than one memory operand.
    TwoMemories,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Count => write!(f, "wrong number of operands"),
            Misfit::Sort(name) => write!(f, "operand `{name}` is of the wrong sort"),
            Misfit::Fixed(name) => write!(f, "operand `{name}` must be the row's fixed register"),
            Misfit::Range(name) => write!(f, "immediate `{name}` is out of range"),
            Misfit::TwoMemories => write!(f, "two memory operands"),
        }
    }
}

fn addressable<R: AnyReg>(mem: &Mem<R>) -> bool {
    let rsp = |reg: R| reg.physical() == Some(crate::isa::row::RSP);
    mem.base.class() == RegClass::Gpr
        && mem
            .index
            .is_none_or(|(reg, scale)| reg.class() == RegClass::Gpr && !rsp(reg) && [1, 2, 4, 8].contains(&scale))
}

/// Whether an instruction fits its row: operand sorts, fixed registers, ranges of immediates.
///
/// # Errors
/// What does not fit.
pub fn fits<R: AnyReg>(inst: &Inst<R>) -> Result<(), Misfit> {
    let row = inst.op.row();
    if inst.operands.len() != row.operands.len() {
        return Err(Misfit::Count);
    }
    let mut memories = 0;
    for (operand, spec) in inst.operands.iter().zip(row.operands) {
        match (operand, spec.kind) {
            (Operand::Reg(reg), kind) if kind.register() == Some(reg.class()) => {
                if spec.fixed.is_some() && reg.physical() != spec.fixed {
                    return Err(Misfit::Fixed(spec.name));
                }
            }
            (Operand::Mem(mem), kind) if (kind.memory().is_some() || kind == Kind::Address) && addressable(mem) => {
                memories += u32::from(kind != Kind::Address);
            }
            (Operand::Imm(value), Kind::Imm8) => {
                if !(0..=127).contains(value) {
                    return Err(Misfit::Range(spec.name));
                }
            }
            (Operand::Imm(value), Kind::Selector) => {
                if u8::try_from(*value).is_err() {
                    return Err(Misfit::Range(spec.name));
                }
            }
            (Operand::Imm(value), Kind::Imm32) => {
                if i32::try_from(*value).is_err() {
                    return Err(Misfit::Range(spec.name));
                }
            }
            (Operand::Imm(_), Kind::Imm64) => {}
            _ => return Err(Misfit::Sort(spec.name)),
        }
    }
    if memories > 1 { Err(Misfit::TwoMemories) } else { Ok(()) }
}
