//! Operands as the rows' encoders want them. `fits` has already checked them, so a wrong sort is a fault of ours.

use crate::ir::{Mem, Operand};
use crate::isa::row::PReg;

/// A register's number, or memory.
pub(super) enum RegMem<'a> {
    Reg(u8),
    Mem(&'a Mem<PReg>),
}

/// The number of a register operand.
pub(super) fn reg(operand: &Operand<PReg>) -> u8 {
    match operand {
        Operand::Reg(reg) => reg.number,
        Operand::Mem(_) | Operand::Imm(_) => panic!("the row's operand is a register, not {operand:?}"),
    }
}

/// A memory operand.
pub(super) fn mem(operand: &Operand<PReg>) -> &Mem<PReg> {
    match operand {
        Operand::Mem(mem) => mem,
        Operand::Reg(_) | Operand::Imm(_) => panic!("the row's operand is memory, not {operand:?}"),
    }
}

/// A register or memory operand.
pub(super) fn reg_mem(operand: &Operand<PReg>) -> RegMem<'_> {
    match operand {
        Operand::Reg(reg) => RegMem::Reg(reg.number),
        Operand::Mem(mem) => RegMem::Mem(mem),
        Operand::Imm(_) => panic!("the row's operand is a register or memory, not {operand:?}"),
    }
}

/// An immediate of the row's width.
pub(super) fn imm<T: TryFrom<i64>>(operand: &Operand<PReg>) -> T {
    match operand {
        Operand::Imm(value) => T::try_from(*value).unwrap_or_else(|_| panic!("immediate {value} is out of range")),
        Operand::Reg(_) | Operand::Mem(_) => panic!("the row's operand is an immediate, not {operand:?}"),
    }
}
