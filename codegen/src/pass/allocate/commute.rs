//! Sources of VEX instructions in the order that encodes shortest, where their order does not matter to the result.

use crate::ir::{Inst, Operand};
use crate::isa::Op;
use crate::isa::avx::Avx;
use crate::isa::avx2::Avx2;
use crate::isa::row::PReg;

/// Swaps the sources if the second alone is one of the registers 8 to 15: in that place it takes a byte of prefix more. (LLVM's
/// assembler does the same, so that a naked function stays the twin of its run-time form.)
pub(super) fn commuted(mut inst: Inst<PReg>) -> Inst<PReg> {
    if let [Operand::Reg(_), Operand::Reg(a), Operand::Reg(b)] = inst.operands[..]
        && commutes(inst.op)
        && a.number < 8
        && b.number >= 8
    {
        inst.operands.swap(1, 2);
    }
    inst
}

/// Whether the sources may be swapped, and the short prefix exists (it does in opcode map 0F alone).
fn commutes(op: Op) -> bool {
    matches!(
        op,
        Op::Avx(
            Avx::Vpxor
                | Avx::Vpand
                | Avx::Vpor
                | Avx::Vpaddb
                | Avx::Vpaddd
                | Avx::Vpaddq
                | Avx::Vpmuludq
                | Avx::Vpcmpeqd
        ) | Op::Avx2(
            Avx2::Vpxor
                | Avx2::Vpand
                | Avx2::Vpor
                | Avx2::Vpaddb
                | Avx2::Vpaddd
                | Avx2::Vpaddq
                | Avx2::Vpmuludq
                | Avx2::Vpcmpeqd
        )
    )
}
