//! Encodes the baseline of x86-64.

use super::operands::{imm, mem, reg, reg_mem};
use super::{direct, either, is_byte, memory};
use crate::ir::Operand;
use crate::isa::base::Base;
use crate::isa::row::{PReg, RAX};
use dynasmrt::DynasmApi;

/// `op r64, imm32`: rax has a form of its own, a byte shorter.
macro_rules! wide {
    ($op:ident, $dst:expr, $value:expr) => {{
        let (dst, value): (u8, i32) = ($dst, $value);
        if dst == RAX.number { direct!($op rax, DWORD value) } else { direct!($op Rq(dst), DWORD value) }
    }};
}

/// `op r64, imm`: with the sign-extended byte where it fits.
macro_rules! immediate {
    ($op:ident, $operands:expr) => {{
        let (dst, value): (u8, i32) = (reg(&$operands[0]), imm(&$operands[1]));
        if is_byte(value) { direct!($op Rq(dst), BYTE value as i8) } else { wide!($op, dst, value) }
    }};
}

/// `op r64, r/m64`.
macro_rules! binary {
    ($op:ident, $operands:expr) => {{
        let dst = reg(&$operands[0]);
        either!([$op Rq(dst),] Rq QWORD reg_mem(&$operands[1]))
    }};
}

/// `op mem, reg`.
macro_rules! to_memory {
    ($op:ident $size:ident $file:ident, $operands:expr) => {{
        let (place, src) = (mem(&$operands[0]), reg(&$operands[1]));
        memory!([$op $size] place, $file(src))
    }};
}

/// `op r64, count`: C1 and the count, or D1 for a count of 1, which dynasm does not have.
macro_rules! shift {
    ($op:ident, $operands:expr) => {{
        let (dst, count): (u8, i8) = (reg(&$operands[0]), imm(&$operands[1]));
        let mut bytes = direct!($op Rq(dst), BYTE count);
        if count == 1 {
            assert!(bytes.len() == 4 && bytes[1] == 0xc1, "dynasm's shift is {bytes:02x?}");
            bytes[1] = 0xd1;
            bytes.pop();
        }
        bytes
    }};
}

/// The bytes of one instruction, as dynasm makes them but for its address.
pub(super) fn encode(op: Base, operands: &[Operand<PReg>]) -> Vec<u8> {
    match op {
        Base::Mov => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(mov Rq(dst), Rq(src))
        }
        Base::Load => {
            let dst = reg(&operands[0]);
            memory!([mov Rq(dst), QWORD] mem(&operands[1]))
        }
        Base::Store => to_memory!(mov QWORD Rq, operands),
        Base::MovImm => {
            let (dst, value): (u8, i64) = (reg(&operands[0]), imm(&operands[1]));
            direct!(mov Rq(dst), QWORD value)
        }
        Base::Mov32 => {
            let (dst, src) = (reg(&operands[0]), reg(&operands[1]));
            direct!(mov Rd(dst), Rd(src))
        }
        Base::Load32 => {
            let dst = reg(&operands[0]);
            memory!([mov Rd(dst), DWORD] mem(&operands[1]))
        }
        Base::Store8 => to_memory!(mov BYTE Rb, operands),
        Base::Store32 => to_memory!(mov DWORD Rd, operands),
        Base::MovImm32 => {
            let (dst, value): (u8, i32) = (reg(&operands[0]), imm(&operands[1]));
            direct!(mov Rd(dst), DWORD value)
        }
        Base::Pool => pool_address(reg(&operands[0])),
        Base::Cmovb => binary!(cmovb, operands),
        Base::Bswap => {
            let dst = reg(&operands[0]);
            direct!(bswap Rq(dst))
        }
        Base::Bswap32 => {
            let dst = reg(&operands[0]);
            direct!(bswap Rd(dst))
        }
        Base::Rol => shift!(rol, operands),
        Base::Ror => shift!(ror, operands),
        Base::Lea => {
            let dst = reg(&operands[0]);
            memory!([lea Rq(dst),] mem(&operands[1]))
        }
        Base::Add => binary!(add, operands),
        Base::AddMr => to_memory!(add QWORD Rq, operands),
        Base::AddRi => immediate!(add, operands),
        Base::Adc => binary!(adc, operands),
        Base::AdcMr => to_memory!(adc QWORD Rq, operands),
        Base::AdcRi => immediate!(adc, operands),
        Base::Sub => binary!(sub, operands),
        Base::SubMr => to_memory!(sub QWORD Rq, operands),
        Base::SubRi => immediate!(sub, operands),
        Base::Sbb => binary!(sbb, operands),
        Base::SbbMr => to_memory!(sbb QWORD Rq, operands),
        Base::SbbRi => immediate!(sbb, operands),
        Base::And => binary!(and, operands),
        Base::AndRi => immediate!(and, operands),
        Base::Or => binary!(or, operands),
        Base::Xor => binary!(xor, operands),
        Base::Xor32 => {
            let dst = reg(&operands[0]);
            either!([xor Rd(dst),] Rd DWORD reg_mem(&operands[1]))
        }
        Base::Test => {
            let (a, b) = (reg(&operands[0]), reg(&operands[1]));
            direct!(test Rq(a), Rq(b))
        }
        Base::TestRi => {
            let (a, mask): (u8, i32) = (reg(&operands[0]), imm(&operands[1]));
            wide!(test, a, mask)
        }
        Base::Cmp => binary!(cmp, operands),
        Base::CmpRi => {
            let (a, value): (u8, i32) = (reg(&operands[0]), imm(&operands[1]));
            if is_byte(value) { cmp_byte(a, value as i8) } else { wide!(cmp, a, value) }
        }
        Base::Inc => {
            let dst = reg(&operands[0]);
            direct!(inc Rq(dst))
        }
        Base::Dec => {
            let dst = reg(&operands[0]);
            direct!(dec Rq(dst))
        }
        Base::Neg => {
            let dst = reg(&operands[0]);
            direct!(neg Rq(dst))
        }
        Base::Not => {
            let dst = reg(&operands[0]);
            direct!(not Rq(dst))
        }
        Base::Shl => shift!(shl, operands),
        Base::Shr => shift!(shr, operands),
        Base::Sar => shift!(sar, operands),
        Base::Mul => either!([mul] Rq QWORD reg_mem(&operands[0])),
        Base::Imul => binary!(imul, operands),
        Base::Div => either!([div] Rq QWORD reg_mem(&operands[0])),
    }
}

/// `lea r64, [rip + displacement]`, the displacement 0 for now: ModRM says that there is no base and no SIB.
fn pool_address(dst: u8) -> Vec<u8> {
    vec![0x48 | dst >> 3 << 2, 0x8d, (dst & 7) << 3 | 0b101, 0, 0, 0, 0]
}

/// `cmp r64, imm8`, which dynasm 5.1 never chooses. It is 83 /7, where `sub` is 83 /5.
fn cmp_byte(a: u8, value: i8) -> Vec<u8> {
    let mut bytes = direct!(sub Rq(a), BYTE value);
    assert!(bytes[1] == 0x83 && bytes[2] & 0b0011_1000 == 5 << 3, "dynasm's sub is {bytes:02x?}");
    bytes[2] |= 7 << 3;
    bytes
}
