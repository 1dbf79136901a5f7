//! Encodes AVX.

use super::operands::{imm, mem, reg, reg_mem};
use super::vex::{like_vpclmulqdq, on_both_widths, shift, three, three_and_byte};
use super::{direct, either, memory};
use crate::ir::Operand;
use crate::isa::avx::Avx;
use crate::isa::row::PReg;
use dynasmrt::DynasmApi;

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Avx, operands: &[Operand<PReg>]) -> Vec<u8> {
    on_both_widths!(Avx Rx OWORD, op, operands, {
        Avx::Vpsrlq => shift!(Rx vpsrlq, operands),
        Avx::Vpalignr => like_vpclmulqdq!(0x0f, operands),
        Avx::VmovdIn => {
            let dst = reg(&operands[0]);
            either!([vmovd Rx(dst),] Rd DWORD reg_mem(&operands[1]))
        }
        Avx::VmovdOut => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(vmovd Rd(dst), Rx(src))
        }
        Avx::VmovdStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([vmovd DWORD] place, Rx(src))
        }
        Avx::VmovqIn => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(vmovq Rx(dst), Rq(src))
        }
        Avx::VmovqOut => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(vmovq Rq(dst), Rx(src))
        }
        Avx::VmovqLoad => {
            let dst = reg(&operands[0]);
            memory!([vmovq Rx(dst), QWORD] mem(&operands[1]))
        }
        Avx::VmovqStore => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([vmovq QWORD] place, Rx(src))
        }
        Avx::Vpinsrq => {
            let (dst, a) = (reg(&operands[0]), reg(&operands[1]));
            let lane = imm::<u8>(&operands[3]).cast_signed();
            either!([vpinsrq Rx(dst), Rx(a),] Rq QWORD reg_mem(&operands[2]), BYTE lane)
        }
        Avx::Vpextrq => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            let lane = imm::<u8>(&operands[2]).cast_signed();
            direct!(vpextrq Rq(dst), Rx(src), BYTE lane)
        }
        Avx::VmovdqaX => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            turned(dst, src, |dst, src| direct!(vmovdqa Rx(dst), Rx(src)))
        }
        Avx::VmovdquLoadX => {
            let dst = reg(&operands[0]);
            memory!([vmovdqu Rx(dst), OWORD] mem(&operands[1]))
        }
        Avx::VmovdquStoreX => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([vmovdqu OWORD] place, Rx(src))
        }
        Avx::VmovdqaY => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            turned(dst, src, |dst, src| direct!(vmovdqa Ry(dst), Ry(src)))
        }
        Avx::VmovdquLoadY => {
            let dst = reg(&operands[0]);
            memory!([vmovdqu Ry(dst), YWORD] mem(&operands[1]))
        }
        Avx::VmovdquStoreY => {
            let (place, src) = (mem(&operands[0]), reg(&operands[1]));
            memory!([vmovdqu YWORD] place, Ry(src))
        }
        Avx::Vzeroupper => direct!(vzeroupper),
    })
}

/// `vmovdqa` between registers has a form from ModRM.rm (6F) and one to it (7F). A high register in ModRM.rm costs a byte of
/// prefix; where only the source is high, the second form is the shorter one.
fn turned(dst: u8, src: u8, from_rm: impl Fn(u8, u8) -> Vec<u8>) -> Vec<u8> {
    if dst >= 8 || src < 8 {
        return from_rm(dst, src);
    }
    let mut bytes = from_rm(src, dst);
    let at = bytes.len() - 2;
    assert_eq!(bytes[at], 0x6f, "dynasm's vmovdqa is {bytes:02x?}");
    bytes[at] = 0x7f;
    bytes
}
