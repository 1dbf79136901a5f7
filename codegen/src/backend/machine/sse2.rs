//! Encodes the integer instructions of SSE2 on xmm registers.

use super::operands::{imm, mem, reg, reg_mem};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::row::PReg;
use crate::isa::sse2::Sse2;
use dynasmrt::DynasmApi;

/// `op xmm, xmm`.
macro_rules! binary {
    ($op:ident, $operands:expr) => {{
        let (dst, src) = (reg(&$operands[0]), reg(&$operands[1]));
        direct!($op Rx(dst), Rx(src))
    }};
}

/// `op xmm, xmm/m128`.
macro_rules! from_memory {
    ($op:ident, $operands:expr) => {{
        let dst = reg(&$operands[0]);
        either!([$op Rx(dst),] Rx OWORD reg_mem(&$operands[1]))
    }};
}

/// `op xmm, count`.
macro_rules! shift {
    ($op:ident, $operands:expr) => {{
        let (dst, count): (u8, i8) = (reg(&$operands[0]), imm(&$operands[1]));
        direct!($op Rx(dst), BYTE count)
    }};
}

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Sse2, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        Sse2::MovdIn => {
            let dst = reg(&operands[0]);
            either!([movd Rx(dst),] Rd DWORD reg_mem(&operands[1]))
        }
        Sse2::MovdOut => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(movd Rd(dst), Rx(src))
        }
        Sse2::MovdStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([movd DWORD] place, Rx(src))
        }
        Sse2::MovqIn => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(movq Rx(dst), Rq(src))
        }
        Sse2::MovqOut => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(movq Rq(dst), Rx(src))
        }
        Sse2::MovqLoad => {
            let dst = reg(&operands[0]);
            memory!([movq Rx(dst), QWORD] mem(&operands[1]))
        }
        Sse2::MovqStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([movq QWORD] place, Rx(src))
        }
        Sse2::MovdqaXmm => binary!(movdqa, operands),
        Sse2::MovdqaLoad => {
            let dst = reg(&operands[0]);
            memory!([movdqa Rx(dst), OWORD] mem(&operands[1]))
        }
        Sse2::MovdqaStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([movdqa OWORD] place, Rx(src))
        }
        Sse2::MovdquLoad => {
            let dst = reg(&operands[0]);
            memory!([movdqu Rx(dst), OWORD] mem(&operands[1]))
        }
        Sse2::MovdquStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([movdqu OWORD] place, Rx(src))
        }
        Sse2::Pmuludq => binary!(pmuludq, operands),
        Sse2::Paddq => from_memory!(paddq, operands),
        Sse2::Paddd => from_memory!(paddd, operands),
        Sse2::Paddb => from_memory!(paddb, operands),
        Sse2::Pcmpeqd => from_memory!(pcmpeqd, operands),
        Sse2::Pcmpgtd => from_memory!(pcmpgtd, operands),
        Sse2::Psubq => binary!(psubq, operands),
        Sse2::Pand => from_memory!(pand, operands),
        Sse2::Pandn => binary!(pandn, operands),
        Sse2::Por => binary!(por, operands),
        Sse2::Pxor => from_memory!(pxor, operands),
        Sse2::Psrlq => shift!(psrlq, operands),
        Sse2::Psllq => shift!(psllq, operands),
        Sse2::Psrad => shift!(psrad, operands),
        Sse2::Psrldq => shift!(psrldq, operands),
        Sse2::Pslldq => shift!(pslldq, operands),
        Sse2::Pshufd => {
            let (dst, from) = (reg(&operands[0]), imm::<u8>(&operands[2]).cast_signed());
            either!([pshufd Rx(dst),] Rx OWORD reg_mem(&operands[1]), BYTE from)
        }
        Sse2::Punpckldq => binary!(punpckldq, operands),
        Sse2::Punpckhdq => binary!(punpckhdq, operands),
        Sse2::Punpcklqdq => binary!(punpcklqdq, operands),
        Sse2::Punpckhqdq => binary!(punpckhqdq, operands),
    }
}
