//! What a read asks of the registers in which it gathers: masks of lanes, and limbs out of lanes. Knows no instruction.

use crate::family::{Contract, Lowering};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place};

/// Registers that gather. A step has the units of one row that a register holds; or, where the register is shorter, a unit.
pub(super) trait Lanes: Sized {
    /// A register.
    type Reg: Copy;
    /// Its bytes.
    const BYTES: u32;

    /// Declares the index, the argument of that number, for tables in units of so many bytes.
    fn begin(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, index: usize, unit: u32) -> Self;
    /// Limbs whose bytes fit the registers, gathered in one pass.
    fn block(unit: u32) -> u32;
    /// The numbers of the entries of the first step.
    fn first(&self, b: &mut Builder, unit: u32) -> Self::Reg;
    /// Ones in the lanes of the wanted entry, and zeros; the numbers become those of the next step.
    fn mask(&self, b: &mut Builder, unit: u32, numbers: Self::Reg) -> Self::Reg;
    /// A register of zeros.
    fn zero(&self, b: &mut Builder) -> Self::Reg;
    /// found := found or (mask and memory).
    fn gather(&self, b: &mut Builder, found: Self::Reg, mask: Self::Reg, from: Place);
    /// Memory := the limbs that were found: one register for each row, or for each part of a unit.
    fn limbs(&self, b: &mut Builder, unit: u32, found: &[Self::Reg], to: (u8, Gpr));
    /// What the calling convention asks for at the end.
    fn end(b: &mut Builder);
}

/// What the entries' numbers go up by in a step of `bytes`.
pub(super) fn numbers_of_step(bytes: u32, unit: u32) -> u8 {
    u8::try_from((bytes / unit).max(1)).expect("at most a vector of bytes")
}
