//! Which registers' values an instruction's results depend on: the row's reads, less the idioms that forget them.

use super::{Inst, Operand};
use crate::isa::Op;
use crate::isa::aes::Aes;
use crate::isa::avx::Avx;
use crate::isa::avx2::Avx2;
use crate::isa::base::Base;
use crate::isa::bmi2_adx::Bmi2Adx;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::portable::Portable;
use crate::isa::sse2::Sse2;
use crate::isa::ssse3_sse41::Ssse3Sse41;
use crate::isa::vaes::Vaes;

/// Whether the results are the same whatever the registers held: `xor r, r`, `sub r, r`, `sbb r, r` (which still reads CF),
/// the same and comparisons of a vector register by itself, into itself. Such an instruction may name a register that was never written.
pub fn forgets<R: PartialEq>(inst: &Inst<R>) -> bool {
    let same = match inst.operands.as_slice() {
        [Operand::Reg(a), Operand::Reg(b)] => a == b,
        [Operand::Reg(dst), Operand::Reg(a), Operand::Reg(b)] => a == b && a == dst,
        _ => false,
    };
    same && cancels(inst.op)
}

/// Whether the operation's result with two equal sources does not depend on them.
#[rustfmt::skip]
pub fn cancels(op: Op) -> bool {
    match op {
        Op::Base(op) => match op {
            Base::Sub | Base::Sbb | Base::Xor | Base::Xor32 => true,
            Base::Mov | Base::Load | Base::Store | Base::MovImm | Base::Mov32 | Base::Load32 | Base::Store32 | Base::Store8
            | Base::MovImm32 | Base::Lea | Base::Add | Base::AddMr | Base::AddRi | Base::Adc | Base::AdcMr | Base::AdcRi
            | Base::SubMr | Base::SubRi | Base::SbbMr | Base::SbbRi | Base::And | Base::AndRi | Base::Or | Base::Test | Base::TestRi | Base::Cmp
            | Base::Pool | Base::Cmovb | Base::Bswap | Base::Bswap32 | Base::Rol | Base::Ror | Base::CmpRi | Base::Inc | Base::Dec | Base::Neg | Base::Not | Base::Shl | Base::Shr | Base::Sar | Base::Mul
            | Base::Imul | Base::Div => false,
        },
        Op::MmxSse2(op) => match op {
            MmxSse2::Psubq | MmxSse2::Pxor => true,
            MmxSse2::MovdIn | MmxSse2::MovdOut | MmxSse2::MovdStore | MmxSse2::MovqMm | MmxSse2::MovqLoad
            | MmxSse2::MovqStore | MmxSse2::Pmuludq | MmxSse2::Paddq | MmxSse2::Pand | MmxSse2::Por | MmxSse2::Psrlq
            | MmxSse2::Psllq | MmxSse2::Emms => false,
        },
        Op::Sse2(op) => match op {
            Sse2::Psubq | Sse2::Pandn | Sse2::Pxor | Sse2::Pcmpeqd | Sse2::Pcmpgtd => true,
            Sse2::MovdIn | Sse2::MovdOut | Sse2::MovdStore | Sse2::MovqIn | Sse2::MovqOut | Sse2::MovqLoad
            | Sse2::MovqStore | Sse2::MovdqaXmm | Sse2::MovdquLoad | Sse2::MovdquStore | Sse2::Pmuludq | Sse2::Paddq
            | Sse2::MovdqaLoad | Sse2::MovdqaStore | Sse2::Paddb | Sse2::Psrad | Sse2::Punpckhdq | Sse2::Paddd | Sse2::Pand | Sse2::Por | Sse2::Psrlq | Sse2::Psllq | Sse2::Psrldq | Sse2::Pslldq
            | Sse2::Pshufd | Sse2::Punpckldq | Sse2::Punpcklqdq | Sse2::Punpckhqdq => false,
        },
        Op::Ssse3Sse41(op) => match op {
            Ssse3Sse41::Pshufb | Ssse3Sse41::Pinsrq | Ssse3Sse41::Pextrq => false,
        },
        Op::Aes(op) => match op {
            Aes::Aesenc | Aes::Aesenclast | Aes::Aesdec | Aes::Aesdeclast | Aes::Aesimc | Aes::Aeskeygenassist => false,
        },
        Op::Avx(op) => match op {
            Avx::Vpxor | Avx::Vpandn | Avx::Vpsubd | Avx::Vpsubq | Avx::Vpcmpeqd | Avx::Vpcmpeqq |
            Avx::Vpcmpgtd | Avx::Vpcmpgtq => true,
            Avx::VmovdIn | Avx::VmovdOut | Avx::VmovdStore | Avx::VmovqIn | Avx::VmovqOut |
            Avx::VmovqLoad | Avx::VmovqStore | Avx::Vpinsrq | Avx::Vpextrq | Avx::VmovdqaX |
            Avx::VmovdquLoadX | Avx::VmovdquStoreX | Avx::VmovdqaY | Avx::VmovdquLoadY |
            Avx::VmovdquStoreY | Avx::Vzeroupper | Avx::Vpand | Avx::Vpor | Avx::Vpaddb |
            Avx::Vpaddd | Avx::Vpaddq | Avx::Vpmuludq | Avx::Vpunpckldq | Avx::Vpunpckhdq |
            Avx::Vpunpcklqdq | Avx::Vpunpckhqdq | Avx::Vpshufb | Avx::Vpalignr | Avx::Vpshufd |
            Avx::Vpsllq | Avx::Vpsrlq | Avx::Vpsrad | Avx::Vpslldq | Avx::Vpsrldq => false,
        },
        Op::Avx2(op) => match op {
            Avx2::Vpxor | Avx2::Vpandn | Avx2::Vpsubd | Avx2::Vpsubq | Avx2::Vpcmpeqd |
            Avx2::Vpcmpeqq | Avx2::Vpcmpgtd | Avx2::Vpcmpgtq => true,
            Avx2::VpblenddX | Avx2::VpblenddY | Avx2::VpbroadcastdX | Avx2::VpbroadcastqX |
            Avx2::VpbroadcastdY | Avx2::VpbroadcastqY | Avx2::Vbroadcasti128 | Avx2::Vinserti128 |
            Avx2::Vextracti128 | Avx2::Vperm2i128 | Avx2::Vpermq | Avx2::Vpand | Avx2::Vpor |
            Avx2::Vpaddb | Avx2::Vpaddd | Avx2::Vpaddq | Avx2::Vpmuludq | Avx2::Vpunpckldq |
            Avx2::Vpunpckhdq | Avx2::Vpunpcklqdq | Avx2::Vpunpckhqdq | Avx2::Vpshufb |
            Avx2::Vpalignr | Avx2::Vpshufd | Avx2::Vpsllq | Avx2::Vpsrlq | Avx2::Vpsrad |
            Avx2::Vpslldq | Avx2::Vpsrldq => false,
        },
        Op::Vaes(op) => match op {
            Vaes::VaesencX | Vaes::VaesenclastX | Vaes::VaesdecX | Vaes::VaesdeclastX | Vaes::Vaesimc
            | Vaes::Vaeskeygenassist | Vaes::VaesencY | Vaes::VaesenclastY | Vaes::VaesdecY | Vaes::VaesdeclastY => false,
        },
        Op::Bmi2Adx(op) => match op {
            Bmi2Adx::Mulx | Bmi2Adx::Rorx | Bmi2Adx::Shlx | Bmi2Adx::Shrx | Bmi2Adx::Adcx | Bmi2Adx::Adox => false,
        },
        Op::Portable(op) => match op {
            Portable::Load | Portable::Store | Portable::Copy | Portable::Constant | Portable::MulWide
            | Portable::AddCarry | Portable::SubBorrow | Portable::DivWide | Portable::Add | Portable::WrapAdd
            | Portable::MulLow | Portable::And | Portable::Or | Portable::Shl | Portable::Shr | Portable::Rotate
            | Portable::SwapBytes => false,
            Portable::WrapSub | Portable::Xor => true,
        },
    }
}

/// The registers whose values the results depend on, those of addresses included.
pub fn inputs<R: Copy + PartialEq>(inst: &Inst<R>) -> Vec<R> {
    if forgets(inst) { Vec::new() } else { inst.reads() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::row::{PReg, RAX, RDX};

    #[test]
    fn only_equal_registers_are_forgotten() {
        let inst = |op, a, b| Inst { op: Op::Base(op), operands: vec![Operand::Reg(a), Operand::Reg(b)], note: None };
        assert!(inputs(&inst(Base::Xor, RAX, RAX)).is_empty());
        assert_eq!(inputs(&inst(Base::Xor, RAX, RDX)), [RAX, RDX]);
        assert_eq!(inputs(&inst(Base::Add, RAX, RAX)), [RAX, RAX]);
    }

    #[test]
    fn the_high_half_of_a_dividend_is_an_input() {
        let operands = vec![Operand::Reg(PReg::gpr(3)), Operand::Reg(RAX), Operand::Reg(RDX)];
        assert!(inputs(&Inst { op: Op::Base(Base::Div), operands, note: None }).contains(&RDX));
    }
}
