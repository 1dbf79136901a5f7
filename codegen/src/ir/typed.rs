//! Typed handles of virtual registers: what the builder's methods take, so that a wrong register file does not compile.
//! The lower-case names are the words of the instruction table.
#![expect(non_camel_case_types, reason = "the words of the table")]

use super::{Mem, Operand, VReg};

/// A general register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gpr(pub VReg);
/// An MMX register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mmx(pub VReg);
/// A vector register, seen as its low 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Xmm(pub VReg);
/// A vector register, all 256 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ymm(pub VReg);
/// A value of the portable ISA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Val(pub VReg);
/// A memory operand or an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(pub Mem<VReg>);
/// A constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Imm(pub core::primitive::i64);
/// A general register or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GprOrMem(Operand<VReg>);
/// An MMX register or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MmxOrMem(Operand<VReg>);
/// The low bits of a vector register, or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XmmOrMem(Operand<VReg>);
/// All bits of a vector register, or memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct YmmOrMem(Operand<VReg>);

impl Ymm {
    /// The low 128 bits of the same register. What writes them clears the others.
    pub fn low(self) -> Xmm {
        Xmm(self.0)
    }
}

macro_rules! conversions {
    ($($from:ty => $to:ty: $value:ident, $expr:expr;)*) => {
        $(impl From<$from> for $to {
            fn from($value: $from) -> $to { $expr }
        })*
    };
}
conversions! {
    Gpr => Operand<VReg>: value, Operand::Reg(value.0);
    Mmx => Operand<VReg>: value, Operand::Reg(value.0);
    Xmm => Operand<VReg>: value, Operand::Reg(value.0);
    Ymm => Operand<VReg>: value, Operand::Reg(value.0);
    Val => Operand<VReg>: value, Operand::Reg(value.0);
    Place => Operand<VReg>: value, Operand::Mem(value.0);
    Imm => Operand<VReg>: value, Operand::Imm(value.0);
    GprOrMem => Operand<VReg>: value, value.0;
    MmxOrMem => Operand<VReg>: value, value.0;
    XmmOrMem => Operand<VReg>: value, value.0;
    YmmOrMem => Operand<VReg>: value, value.0;
    Gpr => GprOrMem: value, GprOrMem(value.into());
    Place => GprOrMem: value, GprOrMem(value.into());
    Mmx => MmxOrMem: value, MmxOrMem(value.into());
    Place => MmxOrMem: value, MmxOrMem(value.into());
    Xmm => XmmOrMem: value, XmmOrMem(value.into());
    Place => XmmOrMem: value, XmmOrMem(value.into());
    Ymm => YmmOrMem: value, YmmOrMem(value.into());
    Place => YmmOrMem: value, YmmOrMem(value.into());
    core::primitive::i64 => Imm: value, Imm(value);
    core::primitive::i32 => Imm: value, Imm(value.into());
}

/// The low byte of a general register.
pub type r8 = Gpr;
/// A 32-bit view of a general register.
pub type r32 = Gpr;
/// A general register.
pub type r64 = Gpr;
/// A 32-bit general register or memory.
pub type rm32 = GprOrMem;
/// A general register or memory.
pub type rm64 = GprOrMem;
/// A byte of memory.
pub type m8 = Place;
/// 32 bits of memory.
pub type m32 = Place;
/// 64 bits of memory.
pub type m64 = Place;
/// 128 bits of memory.
pub type m128 = Place;
/// 256 bits of memory.
pub type m256 = Place;
/// 128 bits of memory at a multiple of 16 bytes.
pub type ma128 = Place;
/// One limb of memory.
pub type mlimb = Place;
/// An address.
pub type addr = Place;
/// An MMX register.
pub type mm = Mmx;
/// An MMX register or 64 bits of memory.
pub type mmm64 = MmxOrMem;
/// The low 128 bits of a vector register.
pub type xmm = Xmm;
/// A vector register of 256 bits.
pub type ymm = Ymm;
/// The low 32 bits of a vector register, or 32 bits of memory.
pub type xm32 = XmmOrMem;
/// The low 64 bits of a vector register, or 64 bits of memory.
pub type xm64 = XmmOrMem;
/// The low 128 bits of a vector register, or 128 bits of memory.
pub type xm128 = XmmOrMem;
/// The low 128 bits of a vector register, or 128 bits of memory at a multiple of 16 bytes.
pub type xma128 = XmmOrMem;
/// A vector register of 256 bits, or 256 bits of memory.
pub type ym256 = YmmOrMem;
/// An 8-bit immediate.
pub type i8 = Imm;
/// A selector of lanes, 0 to 255.
pub type lanes = Imm;
/// A byte, 0 to 255.
pub type byte = Imm;
/// A 32-bit immediate.
pub type i32 = Imm;
/// A 64-bit immediate.
pub type i64 = Imm;
/// A portable value.
pub type val = Val;
