//! A function to machine code, at run time, through dynasm. Knows no kernel. The code is position independent.
//!
//! dynasm encodes prefixes, opcode and registers; a register that is known only at run time costs it bytes that an assembler
//! would not spend (an empty REX, a SIB, a displacement of 0), and `compact` takes those away again, so that the run-time
//! twin of a compiled variant is no larger in the op cache.
#![expect(clippy::useless_conversion, reason = "dynasm converts every register number to u8")]

mod aes;
mod avx;
mod avx2;
mod base;
mod bmi2_adx;
mod compact;
mod layout;
mod mmx_sse2;
mod operands;
mod sse2;
mod ssse3_sse41;
mod vaes;
mod vex;

use crate::ir::wellformed::{Misfit, fits};
use crate::ir::{Func, Inst, Operand, Physical};
use crate::isa::Op;
use crate::isa::portable::Portable;
use crate::isa::row::{PReg, RDI, RSP, RegClass, Width};
use std::fmt;

/// Why a function has no machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MachineError {
    /// An operation of the portable ISA, which no CPU executes.
    Portable(Portable),
    /// An instruction that does not fit its row.
    Misfit(Inst<PReg>, Misfit),
    /// A register whose number its file does not have.
    NoSuchRegister(PReg),
    /// A target out of reach: `jrcxz` reaches 127 bytes forward and 128 back, everything else 2 GiB.
    TooFar(&'static str),
    /// dynasm refused a jump: a label is missing.
    Label,
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineError::Portable(op) => write!(f, "portable operation {op:?} has no machine code"),
            MachineError::Misfit(inst, why) => write!(f, "{why} in {inst:?}, row {:?}", inst.op.row()),
            MachineError::NoSuchRegister(reg) => write!(f, "there is no register {reg:?}"),
            MachineError::TooFar(mnemonic) => write!(f, "target of {mnemonic} is out of reach"),
            MachineError::Label => write!(f, "a jump's label is missing"),
        }
    }
}

impl std::error::Error for MachineError {}

/// The function's machine code: entry at offset 0, subroutines behind the body, then the pool, if there is one, at a multiple of
/// its alignment. The entry goes to a multiple of that, at least.
///
/// # Errors
/// A portable operation, an operand that does not fit its row, a target out of reach.
pub fn assemble(func: &Func<Physical>) -> Result<Vec<u8>, MachineError> {
    Ok(assemble_parts(func)?.0)
}

/// What [`assemble`] gives, and how many of its bytes are instructions.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_parts(func: &Func<Physical>) -> Result<(Vec<u8>, usize), MachineError> {
    layout::assemble(&func.lines())
}

/// The machine code of one instruction.
///
/// # Errors
/// A portable operation, or an operand that does not fit its row.
pub fn assemble_inst(inst: &Inst<PReg>) -> Result<Vec<u8>, MachineError> {
    fits(inst).map_err(|why| MachineError::Misfit(inst.clone(), why))?;
    for reg in inst.operands.iter().flat_map(Operand::registers) {
        let registers = match reg.class {
            RegClass::Gpr | RegClass::Xmm => 16,
            RegClass::Mmx => 8,
            RegClass::Portable => 0,
        };
        if reg.number >= registers {
            return Err(MachineError::NoSuchRegister(reg));
        }
    }
    let bytes = match inst.op {
        Op::Base(op) => base::encode(op, &inst.operands),
        Op::MmxSse2(op) => mmx_sse2::encode(op, &inst.operands),
        Op::Sse2(op) => sse2::encode(op, &inst.operands),
        Op::Ssse3Sse41(op) => ssse3_sse41::encode(op, &inst.operands),
        Op::Aes(op) => aes::encode(op, &inst.operands),
        Op::Avx(op) => avx::encode(op, &inst.operands),
        Op::Avx2(op) => avx2::encode(op, &inst.operands),
        Op::Vaes(op) => vaes::encode(op, &inst.operands),
        Op::Bmi2Adx(op) => bmi2_adx::encode(op, &inst.operands),
        Op::Portable(op) => return Err(MachineError::Portable(op)),
    };
    let bytes = if names_low_byte(inst) { bytes } else { compact::without_empty_rex(bytes) };
    Ok(compact::with_two_byte_vex(bytes))
}

/// Whether an instruction is on the low byte of a register that has none without a REX prefix.
fn names_low_byte(inst: &Inst<PReg>) -> bool {
    inst.operands.iter().zip(inst.op.row().operands).any(|(operand, spec)| match operand {
        Operand::Reg(reg) => spec.kind.width() == Some(Width::W8) && (RSP.number..=RDI.number).contains(&reg.number),
        Operand::Mem(_) | Operand::Imm(_) => false,
    })
}

/// Whether an instruction's immediate has the short form.
fn is_byte(value: i32) -> bool {
    i8::try_from(value).is_ok()
}

/// The bytes of one instruction without memory: `direct!(add Rq(dst), Rq(src))`.
macro_rules! direct {
    ($($text:tt)*) => {{
        let mut code = dynasmrt::VecAssembler::<dynasmrt::x64::X64Relocation>::new(0);
        dynasm::dynasm!(code ; .arch x64 ; $($text)*);
        code.finalize().expect("an instruction without a label")
    }};
}

/// The bytes of one instruction with memory: what stands before the brackets, the operand, what stands behind it. Only
/// `BYTE`, an immediate, is in the bytes behind the address.
macro_rules! memory {
    (@immediate) => { 0 };
    (@immediate BYTE $value:expr) => { 1 };
    (@immediate $file:ident ( $number:expr )) => { 0 };
    (@immediate $file:ident ( $number:expr ), BYTE $value:expr) => { 1 };
    ([$($before:tt)*] $mem:expr $(, $($after:tt)*)?) => {{
        let mem: &$crate::ir::Mem<$crate::isa::row::PReg> = $mem;
        let base = mem.base.number;
        let bytes = match mem.index {
            None => direct!($($before)* [Rq(base)] $(, $($after)*)?),
            Some((index, _)) => {
                let index = index.number;
                direct!($($before)* [Rq(base) + Rq(index) * 8] $(, $($after)*)?)
            }
        };
        $crate::backend::machine::compact::with_address(bytes, mem, memory!(@immediate $($($after)*)?))
    }};
}

/// The bytes of one instruction that takes a register of the file `$file` or memory of `$size`.
macro_rules! either {
    ([$($before:tt)*] $file:ident $size:ident $operand:expr $(, $($after:tt)*)?) => {
        match $operand {
            $crate::backend::machine::operands::RegMem::Reg(number) => {
                direct!($($before)* $file(number) $(, $($after)*)?)
            }
            $crate::backend::machine::operands::RegMem::Mem(mem) => memory!([$($before)* $size] mem $(, $($after)*)?),
        }
    };
}

use {direct, either, memory};
