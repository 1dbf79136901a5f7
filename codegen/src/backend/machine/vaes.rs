//! Encodes the AES instructions with VEX prefixes. dynasm has them for xmm registers; those for ymm registers differ in one bit.

use super::compact::with_256_bits;
use super::operands::{imm, reg, reg_mem};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::row::PReg;
use crate::isa::vaes::Vaes;
use dynasmrt::DynasmApi;

/// `op xmm, xmm, xmm/m128`.
macro_rules! round {
    ($op:ident, $operands:expr) => {{
        let (dst, src) = (reg(&$operands[0]), reg(&$operands[1]));
        either!([$op Rx(dst), Rx(src),] Rx OWORD reg_mem(&$operands[2]))
    }};
}

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Vaes, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        Vaes::VaesencX => round!(vaesenc, operands),
        Vaes::VaesenclastX => round!(vaesenclast, operands),
        Vaes::VaesdecX => round!(vaesdec, operands),
        Vaes::VaesdeclastX => round!(vaesdeclast, operands),
        Vaes::Vaesimc => {
            let dst = reg(&operands[0]);
            either!([vaesimc Rx(dst),] Rx OWORD reg_mem(&operands[1]))
        }
        Vaes::Vaeskeygenassist => {
            let (dst, constant) = (reg(&operands[0]), imm::<u8>(&operands[2]).cast_signed());
            either!([vaeskeygenassist Rx(dst),] Rx OWORD reg_mem(&operands[1]), BYTE constant)
        }
        Vaes::VaesencY => with_256_bits(round!(vaesenc, operands)),
        Vaes::VaesenclastY => with_256_bits(round!(vaesenclast, operands)),
        Vaes::VaesdecY => with_256_bits(round!(vaesdec, operands)),
        Vaes::VaesdeclastY => with_256_bits(round!(vaesdeclast, operands)),
    }
}
