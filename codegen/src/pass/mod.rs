//! Passes from `Func<Virtual>` to `Func<Physical>`: an optional scheduler, then register allocation. They know the
//! instruction table and a CPU's costs, and no kernel.

pub mod allocate;
pub mod model;
pub mod schedule;
#[cfg(test)]
mod testing;

pub use allocate::{AllocateError, allocate};
pub use model::CostModel;
pub use schedule::schedule;

use crate::ir::inputs::cancels;
use crate::ir::{Inst, Operand, VReg};
use crate::isa::row::PReg;

/// What a virtual register occupies: all vregs pinned to one physical register are one resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Resource {
    /// A physical register.
    Fixed(PReg),
    /// An unpinned vreg, by its number.
    Free(u32),
}

impl Resource {
    pub(crate) fn of(reg: VReg) -> Resource {
        reg.pin.map_or(Resource::Free(reg.index), Resource::Fixed)
    }
}

/// Whether the instruction's result does not depend on the register it names twice: `xor r, r` and its like only write.
pub(crate) fn overwrites(inst: &Inst<VReg>) -> bool {
    let same = |a, b| Resource::of(a) == Resource::of(b);
    match inst.operands[..] {
        [Operand::Reg(a), Operand::Reg(b)] => cancels(inst.op) && same(a, b),
        [Operand::Reg(dst), Operand::Reg(a), Operand::Reg(b)] => cancels(inst.op) && same(a, b) && same(a, dst),
        _ => false,
    }
}

/// The vregs that an instruction reads and those that it writes.
pub(crate) fn reads_and_writes(inst: &Inst<VReg>) -> (Vec<VReg>, Vec<VReg>) {
    let reads = if overwrites(inst) { Vec::new() } else { inst.reads() };
    (reads, inst.writes())
}
