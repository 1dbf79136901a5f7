//! Are the encodings right that other encoders got wrong?

use kiln_codegen::backend::machine::{MachineError, assemble_inst};
use kiln_codegen::ir::wellformed::Misfit;
use kiln_codegen::ir::{Inst, Mem, Operand, Space};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::bmi2_adx::Bmi2Adx;
use kiln_codegen::isa::mmx_sse2::MmxSse2;
use kiln_codegen::isa::portable::Portable;
use kiln_codegen::isa::row::{PReg, R8, RAX, RBP, RBX, RCX, RDX, RSI, RSP, RegClass};
use kiln_codegen::isa::sse2::Sse2;

const R12: PReg = PReg::gpr(12);
const R13: PReg = PReg::gpr(13);
const R15: PReg = PReg::gpr(15);

fn reg(reg: PReg) -> Operand<PReg> {
    Operand::Reg(reg)
}
fn at(base: PReg, disp: i32) -> Operand<PReg> {
    Operand::Mem(Mem { space: Space::Argument(0), base, index: None, disp })
}
fn indexed(base: PReg, index: PReg, scale: u8, disp: i32) -> Operand<PReg> {
    Operand::Mem(Mem { space: Space::Argument(0), base, index: Some((index, scale)), disp })
}
fn inst(op: Op, operands: &[Operand<PReg>]) -> Inst<PReg> {
    Inst { op, operands: operands.to_vec(), note: None }
}
fn vector(number: u8) -> Operand<PReg> {
    reg(PReg::xmm(number))
}
fn xmm(op: Sse2, operands: &[Operand<PReg>]) -> Inst<PReg> {
    inst(Op::Sse2(op), operands)
}
fn base(op: Base, operands: &[Operand<PReg>]) -> Inst<PReg> {
    inst(Op::Base(op), operands)
}

#[test]
fn addresses() {
    let cases: [(Inst<PReg>, &[u8]); 30] = [
        // 0x80 as one byte would mean -128 (dynasm-rs, bugreport_6).
        (base(Base::Lea, &[reg(RAX), at(RBX, 0x80)]), &[0x48, 0x8d, 0x83, 0x80, 0, 0, 0]),
        (base(Base::Lea, &[reg(RAX), at(RBX, -1)]), &[0x48, 0x8d, 0x43, 0xff]),
        (base(Base::Lea, &[reg(RAX), at(RBX, -0x81)]), &[0x48, 0x8d, 0x83, 0x7f, 0xff, 0xff, 0xff]),
        (base(Base::Lea, &[reg(RAX), at(RBX, 0x7f)]), &[0x48, 0x8d, 0x43, 0x7f]),
        (base(Base::Lea, &[reg(RAX), at(RBX, -0x80)]), &[0x48, 0x8d, 0x43, 0x80]),
        // rsp and r12 as a base need a SIB, rbp and r13 a displacement (dynasm-rs, bugreport_2; iced 129; ubpf 77).
        (base(Base::Load, &[reg(RAX), at(RSP, 0)]), &[0x48, 0x8b, 0x04, 0x24]),
        (base(Base::Load, &[reg(RAX), at(RSP, 8)]), &[0x48, 0x8b, 0x44, 0x24, 8]),
        (base(Base::Load, &[reg(RAX), at(RBP, 0)]), &[0x48, 0x8b, 0x45, 0]),
        (base(Base::Load, &[reg(RAX), at(R12, 0)]), &[0x49, 0x8b, 0x04, 0x24]),
        (base(Base::Load, &[reg(RAX), at(R13, 0)]), &[0x49, 0x8b, 0x45, 0]),
        (base(Base::Load32, &[reg(R15), at(R12, 0)]), &[0x45, 0x8b, 0x3c, 0x24]),
        (base(Base::Load32, &[reg(RAX), at(RSI, 0)]), &[0x8b, 0x06]),
        (base(Base::Add, &[reg(RAX), indexed(RBP, RAX, 1, 0)]), &[0x48, 0x03, 0x44, 0x05, 0]),
        (base(Base::Add, &[reg(RAX), indexed(R13, RAX, 1, 0)]), &[0x49, 0x03, 0x44, 0x05, 0]),
        (base(Base::Add, &[reg(RAX), indexed(RAX, RBP, 2, 0)]), &[0x48, 0x03, 0x04, 0x68]),
        (base(Base::Add, &[reg(RAX), indexed(RSP, R12, 8, 0)]), &[0x4a, 0x03, 0x04, 0xe4]),
        // The extension bits of an index and of a base under VEX, and an immediate behind the address.
        (
            inst(Op::Bmi2Adx(Bmi2Adx::Mulx), &[reg(R8), reg(RAX), indexed(R13, R12, 4, 0), reg(RDX)]),
            &[0xc4, 0x02, 0xfb, 0xf6, 0x44, 0xa5, 0],
        ),
        (
            inst(Op::Bmi2Adx(Bmi2Adx::Rorx), &[reg(RAX), at(RSI, 0), Operand::Imm(29)]),
            &[0xc4, 0xe3, 0xfb, 0xf0, 0x06, 29],
        ),
        (inst(Op::Bmi2Adx(Bmi2Adx::Adcx), &[reg(RAX), at(RSI, 8)]), &[0x66, 0x48, 0x0f, 0x38, 0xf6, 0x46, 8]),
        (inst(Op::Bmi2Adx(Bmi2Adx::Adox), &[reg(R8), at(RSI, 8)]), &[0xf3, 0x4c, 0x0f, 0x38, 0xf6, 0x46, 8]),
        (inst(Op::MmxSse2(MmxSse2::MovdIn), &[reg(PReg::mmx(0)), at(RSI, 0)]), &[0x0f, 0x6e, 0x06]),
        (inst(Op::MmxSse2(MmxSse2::Pmuludq), &[reg(PReg::mmx(1)), at(R12, 0)]), &[0x41, 0x0f, 0xf4, 0x0c, 0x24]),
        // A mandatory prefix stands before the REX prefix, which is there only if it has a bit to give.
        (xmm(Sse2::MovdquLoad, &[vector(0), at(RSI, 0)]), &[0xf3, 0x0f, 0x6f, 0x06]),
        (xmm(Sse2::MovdquStore, &[at(R12, 0), vector(8)]), &[0xf3, 0x45, 0x0f, 0x7f, 0x04, 0x24]),
        (xmm(Sse2::MovdIn, &[vector(0), at(RSI, 0)]), &[0x66, 0x0f, 0x6e, 0x06]),
        // 64 bits of memory have an opcode of their own, without REX.W.
        (xmm(Sse2::MovqIn, &[vector(0), reg(RAX)]), &[0x66, 0x48, 0x0f, 0x6e, 0xc0]),
        (xmm(Sse2::MovqLoad, &[vector(0), at(RSI, 0)]), &[0xf3, 0x0f, 0x7e, 0x06]),
        (xmm(Sse2::MovqStore, &[at(RSI, 0), vector(0)]), &[0x66, 0x0f, 0xd6, 0x06]),
        (xmm(Sse2::Pmuludq, &[vector(1), vector(9)]), &[0x66, 0x41, 0x0f, 0xf4, 0xc9]),
        (xmm(Sse2::Pshufd, &[vector(1), vector(2), Operand::Imm(0xf5)]), &[0x66, 0x0f, 0x70, 0xca, 0xf5]),
    ];
    for (inst, bytes) in cases {
        assert_eq!(assemble_inst(&inst).expect("a fitting instruction"), bytes, "{inst:02x?}");
    }
}

#[test]
fn immediates() {
    let cases: [(Inst<PReg>, &[u8]); 11] = [
        // rax has a form of its own for 32 bits, and shifts have one for a count of 1.
        (base(Base::CmpRi, &[reg(RAX), Operand::Imm(1000)]), &[0x48, 0x3d, 0xe8, 3, 0, 0]),
        (base(Base::Sar, &[reg(RCX), Operand::Imm(1)]), &[0x48, 0xd1, 0xf9]),
        (base(Base::Sar, &[reg(RCX), Operand::Imm(2)]), &[0x48, 0xc1, 0xf9, 2]),
        (base(Base::CmpRi, &[reg(RAX), Operand::Imm(5)]), &[0x48, 0x83, 0xf8, 5]),
        (base(Base::CmpRi, &[reg(RCX), Operand::Imm(1000)]), &[0x48, 0x81, 0xf9, 0xe8, 3, 0, 0]),
        (base(Base::AddRi, &[reg(RCX), Operand::Imm(127)]), &[0x48, 0x83, 0xc1, 127]),
        (base(Base::AddRi, &[reg(RCX), Operand::Imm(128)]), &[0x48, 0x81, 0xc1, 128, 0, 0, 0]),
        (base(Base::SubRi, &[reg(RCX), Operand::Imm(-128)]), &[0x48, 0x83, 0xe9, 0x80]),
        (base(Base::MovImm32, &[reg(RAX), Operand::Imm(-1)]), &[0xb8, 0xff, 0xff, 0xff, 0xff]),
        (base(Base::Dec, &[reg(RAX)]), &[0x48, 0xff, 0xc8]),
        (base(Base::Inc, &[reg(R12)]), &[0x49, 0xff, 0xc4]),
    ];
    for (inst, bytes) in cases {
        assert_eq!(assemble_inst(&inst).expect("a fitting instruction"), bytes, "{inst:02x?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_never_wraps() {
    let misfit = |inst: Inst<PReg>, why| assert_eq!(assemble_inst(&inst), Err(MachineError::Misfit(inst.clone(), why)));
    misfit(base(Base::AddRi, &[reg(RAX), Operand::Imm(1 << 31)]), Misfit::Range("value"));
    misfit(base(Base::AddRi, &[reg(RAX), Operand::Imm(-(1 << 31) - 1)]), Misfit::Range("value"));
    misfit(base(Base::MovImm32, &[reg(RAX), Operand::Imm(0xffff_ffff)]), Misfit::Range("value"));
    misfit(base(Base::Shl, &[reg(RAX), Operand::Imm(128)]), Misfit::Range("count"));
    misfit(base(Base::Load, &[reg(RAX), indexed(RAX, RSP, 1, 0)]), Misfit::Sort("src"));
    misfit(base(Base::Load, &[reg(RAX), indexed(RAX, RCX, 3, 0)]), Misfit::Sort("src"));
    misfit(base(Base::Mul, &[reg(RCX), reg(RAX), reg(RBX)]), Misfit::Fixed("hi"));
    misfit(base(Base::Not, &[]), Misfit::Count);
    misfit(xmm(Sse2::Pshufd, &[vector(0), vector(0), Operand::Imm(256)]), Misfit::Range("from"));
    misfit(xmm(Sse2::Pshufd, &[vector(0), vector(0), Operand::Imm(-1)]), Misfit::Range("from"));
    // Memory that is not aligned to 16 bytes would fault.
    misfit(xmm(Sse2::Psubq, &[vector(0), at(RSI, 0)]), Misfit::Sort("src"));
    misfit(xmm(Sse2::MovdqaXmm, &[vector(0), at(RSI, 0)]), Misfit::Sort("src"));
    misfit(xmm(Sse2::Paddq, &[vector(0), reg(PReg::mmx(0))]), Misfit::Sort("src"));
    let beyond = PReg::xmm(16);
    let inst_beyond = xmm(Sse2::Pxor, &[reg(beyond), vector(0)]);
    assert_eq!(assemble_inst(&inst_beyond), Err(MachineError::NoSuchRegister(beyond)));
    let beyond = PReg::mmx(8);
    let inst_beyond = inst(Op::MmxSse2(MmxSse2::Pxor), &[reg(beyond), reg(PReg::mmx(0))]);
    assert_eq!(assemble_inst(&inst_beyond), Err(MachineError::NoSuchRegister(beyond)));
    let value = reg(PReg { class: RegClass::Portable, number: 0 });
    let portable = inst(Op::Portable(Portable::Copy), &[value, value]);
    assert!(assemble_inst(&portable).is_err());
}
