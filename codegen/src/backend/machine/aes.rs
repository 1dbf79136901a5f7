//! Encodes the AES instructions.

use super::operands::{imm, reg, reg_mem};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::aes::Aes;
use crate::isa::row::PReg;
use dynasmrt::DynasmApi;

/// `op xmm, xmm/m128`.
macro_rules! binary {
    ($op:ident, $operands:expr) => {{
        let dst = reg(&$operands[0]);
        either!([$op Rx(dst),] Rx OWORD reg_mem(&$operands[1]))
    }};
}

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Aes, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        Aes::Aesenc => binary!(aesenc, operands),
        Aes::Aesenclast => binary!(aesenclast, operands),
        Aes::Aesdec => binary!(aesdec, operands),
        Aes::Aesdeclast => binary!(aesdeclast, operands),
        Aes::Aesimc => binary!(aesimc, operands),
        Aes::Aeskeygenassist => {
            let (dst, constant) = (reg(&operands[0]), imm::<u8>(&operands[2]).cast_signed());
            either!([aeskeygenassist Rx(dst),] Rx OWORD reg_mem(&operands[1]), BYTE constant)
        }
    }
}
