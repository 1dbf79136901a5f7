//! Which registers' values an instruction's results depend on: the row's reads, less the idioms that forget them.

use super::{Inst, Operand};
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::bmi2_adx::Bmi2Adx;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::portable::Portable;
use crate::isa::sse2::Sse2;

/// Whether the results are the same whatever the registers held: `xor r, r`, `sub r, r`, `sbb r, r` (which still reads CF),
/// `pxor`, `psubq` and `pandn` of a vector register by itself. Such an instruction may name a register that was never written.
pub fn forgets<R: PartialEq>(inst: &Inst<R>) -> bool {
    let same = matches!(inst.operands.as_slice(), [Operand::Reg(a), Operand::Reg(b)] if a == b);
    same && cancels(inst.op)
}

/// Whether the operation's result with two equal sources does not depend on them.
#[rustfmt::skip]
pub fn cancels(op: Op) -> bool {
    match op {
        Op::Base(op) => match op {
            Base::Sub | Base::Sbb | Base::Xor | Base::Xor32 => true,
            Base::Mov | Base::Load | Base::Store | Base::MovImm | Base::Mov32 | Base::Load32 | Base::Store32
            | Base::MovImm32 | Base::Lea | Base::Add | Base::AddMr | Base::AddRi | Base::Adc | Base::AdcMr | Base::AdcRi
            | Base::SubMr | Base::SubRi | Base::SbbMr | Base::SbbRi | Base::And | Base::AndRi | Base::Or | Base::Test | Base::TestRi | Base::Cmp
            | Base::CmpRi | Base::Inc | Base::Dec | Base::Neg | Base::Not | Base::Shl | Base::Shr | Base::Sar | Base::Mul
            | Base::Imul | Base::Div => false,
        },
        Op::MmxSse2(op) => match op {
            MmxSse2::Psubq | MmxSse2::Pxor => true,
            MmxSse2::MovdIn | MmxSse2::MovdOut | MmxSse2::MovdStore | MmxSse2::MovqMm | MmxSse2::MovqLoad
            | MmxSse2::MovqStore | MmxSse2::Pmuludq | MmxSse2::Paddq | MmxSse2::Pand | MmxSse2::Por | MmxSse2::Psrlq
            | MmxSse2::Psllq | MmxSse2::Emms => false,
        },
        Op::Sse2(op) => match op {
            Sse2::Psubq | Sse2::Pandn | Sse2::Pxor => true,
            Sse2::MovdIn | Sse2::MovdOut | Sse2::MovdStore | Sse2::MovqIn | Sse2::MovqOut | Sse2::MovqLoad
            | Sse2::MovqStore | Sse2::MovdqaXmm | Sse2::MovdquLoad | Sse2::MovdquStore | Sse2::Pmuludq | Sse2::Paddq
            | Sse2::Paddd | Sse2::Pand | Sse2::Por | Sse2::Psrlq | Sse2::Psllq | Sse2::Psrldq | Sse2::Pslldq
            | Sse2::Pshufd | Sse2::Punpckldq | Sse2::Punpcklqdq | Sse2::Punpckhqdq => false,
        },
        Op::Bmi2Adx(op) => match op {
            Bmi2Adx::Mulx | Bmi2Adx::Rorx | Bmi2Adx::Shlx | Bmi2Adx::Shrx | Bmi2Adx::Adcx | Bmi2Adx::Adox => false,
        },
        Op::Portable(op) => match op {
            Portable::Load | Portable::Store | Portable::Copy | Portable::Constant | Portable::MulWide
            | Portable::AddCarry | Portable::SubBorrow | Portable::DivWide | Portable::Add | Portable::WrapAdd
            | Portable::MulLow | Portable::And | Portable::Or | Portable::Shl | Portable::Shr => false,
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
