//! Encodes AVX2.

use super::compact::with_256_bits;
use super::operands::{imm, mem, reg, reg_mem};
use super::vex::{like_vpclmulqdq, on_both_widths, shift, three, three_and_byte};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::avx2::Avx2;
use crate::isa::row::PReg;
use dynasmrt::DynasmApi;

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Avx2, operands: &[Operand<PReg>]) -> Vec<u8> {
    on_both_widths!(Avx2 Ry YWORD, op, operands, {
        // dynasm 5.1 forgets the length bit.
        Avx2::Vpsrlq => with_256_bits(shift!(Rx vpsrlq, operands)),
        Avx2::Vpalignr => with_256_bits(like_vpclmulqdq!(0x0f, operands)),
        Avx2::VpblenddX => like_vpclmulqdq!(0x02, operands),
        Avx2::VpblenddY => with_256_bits(like_vpclmulqdq!(0x02, operands)),
        Avx2::VpbroadcastdX => {
            let dst = reg(&operands[0]);
            either!([vpbroadcastd Rx(dst),] Rx DWORD reg_mem(&operands[1]))
        }
        Avx2::VpbroadcastqX => {
            let dst = reg(&operands[0]);
            either!([vpbroadcastq Rx(dst),] Rx QWORD reg_mem(&operands[1]))
        }
        Avx2::VpbroadcastdY => {
            let dst = reg(&operands[0]);
            either!([vpbroadcastd Ry(dst),] Rx DWORD reg_mem(&operands[1]))
        }
        Avx2::VpbroadcastqY => {
            let dst = reg(&operands[0]);
            either!([vpbroadcastq Ry(dst),] Rx QWORD reg_mem(&operands[1]))
        }
        Avx2::Vbroadcasti128 => {
            let dst = reg(&operands[0]);
            memory!([vbroadcasti128 Ry(dst), OWORD] mem(&operands[1]))
        }
        Avx2::Vinserti128 => {
            let (dst, a) = (reg(&operands[0]), reg(&operands[1]));
            let half = imm::<u8>(&operands[3]).cast_signed();
            either!([vinserti128 Ry(dst), Ry(a),] Rx OWORD reg_mem(&operands[2]), BYTE half)
        }
        Avx2::Vextracti128 => {
            let (src, half) = (reg(&operands[1]), imm::<u8>(&operands[2]).cast_signed());
            either!([vextracti128] Rx OWORD reg_mem(&operands[0]), Ry(src), BYTE half)
        }
        Avx2::Vperm2i128 => three_and_byte!(Ry YWORD vperm2i128, operands),
        Avx2::Vpermq => {
            let (dst, from) = (reg(&operands[0]), imm::<u8>(&operands[2]).cast_signed());
            either!([vpermq Ry(dst),] Ry YWORD reg_mem(&operands[1]), BYTE from)
        }
    })
}
