//! Encodes MMX, and the SSE2 instructions on MMX registers.

use super::operands::{imm, mem, reg, reg_mem};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::PReg;
use dynasmrt::DynasmApi;

/// `op mm, mm/m64`.
macro_rules! binary {
    ($op:ident, $operands:expr) => {{
        let dst = reg(&$operands[0]);
        either!([$op Rm(dst),] Rm QWORD reg_mem(&$operands[1]))
    }};
}

/// `op mm, count`.
macro_rules! shift {
    ($op:ident, $operands:expr) => {{
        let (dst, count): (u8, i8) = (reg(&$operands[0]), imm(&$operands[1]));
        direct!($op Rm(dst), BYTE count)
    }};
}

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: MmxSse2, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        MmxSse2::MovdIn => {
            let dst = reg(&operands[0]);
            either!([movd Rm(dst),] Rd DWORD reg_mem(&operands[1]))
        }
        MmxSse2::MovdOut => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(movd Rd(dst), Rm(src))
        }
        MmxSse2::MovdStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([movd DWORD] place, Rm(src))
        }
        MmxSse2::MovqMm => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(movq Rm(dst), Rm(src))
        }
        MmxSse2::MovqLoad => {
            let dst = reg(&operands[0]);
            memory!([movq Rm(dst), QWORD] mem(&operands[1]))
        }
        MmxSse2::MovqStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([movq QWORD] place, Rm(src))
        }
        MmxSse2::Pmuludq => binary!(pmuludq, operands),
        MmxSse2::Paddq => binary!(paddq, operands),
        MmxSse2::Psubq => binary!(psubq, operands),
        MmxSse2::Pand => binary!(pand, operands),
        MmxSse2::Por => binary!(por, operands),
        MmxSse2::Pxor => binary!(pxor, operands),
        MmxSse2::Psrlq => shift!(psrlq, operands),
        MmxSse2::Psllq => shift!(psllq, operands),
        MmxSse2::Emms => direct!(emms),
    }
}
