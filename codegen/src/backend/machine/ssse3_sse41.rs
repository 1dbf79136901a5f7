//! Encodes SSSE3 and SSE4.1.

use super::operands::{imm, reg, reg_mem};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::row::PReg;
use crate::isa::ssse3_sse41::Ssse3Sse41;
use dynasmrt::DynasmApi;

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Ssse3Sse41, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        // dynasm wants 64 bits here, of an instruction that reads 128.
        Ssse3Sse41::Pshufb => {
            let dst = reg(&operands[0]);
            either!([pshufb Rx(dst),] Rx QWORD reg_mem(&operands[1]))
        }
        Ssse3Sse41::Pinsrq => {
            let (dst, lane) = (reg(&operands[0]), imm::<u8>(&operands[2]).cast_signed());
            either!([pinsrq Rx(dst),] Rq QWORD reg_mem(&operands[1]), BYTE lane)
        }
        Ssse3Sse41::Pextrq => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            let lane = imm::<u8>(&operands[2]).cast_signed();
            direct!(pextrq Rq(dst), Rx(src), BYTE lane)
        }
    }
}
