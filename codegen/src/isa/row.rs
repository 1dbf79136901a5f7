//! What a row of the instruction table says. Knows no particular instruction.
//!
//! Text printer, encoder, liveness, scheduler, interpreter, manifest and fuzzer all hang off a [`Row`]. Latencies and
//! throughputs do not live here but in the CPU files, by [`Class`] or by mnemonic.

use super::feature::FeatureSet;

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RegClass {
    /// The general registers of x86-64.
    Gpr,
    /// The eight MMX registers, which lie over the x87 stack.
    Mmx,
    /// The sixteen vector registers of SSE and AVX: the width of an operand says whether it is the xmm or the ymm register.
    Xmm,
    /// The values of the portable ISA: unlimited, one limb each.
    Portable,
}

/// Width of an operand or of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// 1 byte.
    W8,
    /// 4 bytes.
    W32,
    /// 8 bytes.
    W64,
    /// 16 bytes.
    W128,
    /// 32 bytes.
    W256,
    /// One limb of the function's contract (portable ISA).
    Limb,
}

impl Width {
    /// Bytes of the access, where `limb_bits` is the width of a limb of the function.
    pub const fn bytes(self, limb_bits: u32) -> u32 {
        match self {
            Width::W8 => 1,
            Width::W32 => 4,
            Width::W64 => 8,
            Width::W128 => 16,
            Width::W256 => 32,
            Width::Limb => limb_bits / 8,
        }
    }
}

/// A physical register: its file and its number in the encoding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PReg {
    /// Register file.
    pub class: RegClass,
    /// Number in the encoding, 0-15.
    pub number: u8,
}

impl PReg {
    /// A general register by its number.
    pub const fn gpr(number: u8) -> PReg {
        PReg { class: RegClass::Gpr, number }
    }
    /// An MMX register by its number.
    pub const fn mmx(number: u8) -> PReg {
        PReg { class: RegClass::Mmx, number }
    }

    /// A vector register by its number.
    pub const fn xmm(number: u8) -> PReg {
        PReg { class: RegClass::Xmm, number }
    }

    /// The assembler's name of this register at `width`.
    pub fn name(self, width: Width) -> String {
        const NAMES64: [&str; 16] = [
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15",
        ];
        const NAMES32: [&str; 16] = [
            "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d",
            "r14d", "r15d",
        ];
        const NAMES8: [&str; 16] = [
            "al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b",
            "r15b",
        ];
        match (self.class, width) {
            (RegClass::Gpr, Width::W8) => NAMES8[usize::from(self.number)].into(),
            (RegClass::Gpr, Width::W32) => NAMES32[usize::from(self.number)].into(),
            (RegClass::Gpr, Width::W64 | Width::W128 | Width::W256 | Width::Limb) => {
                NAMES64[usize::from(self.number)].into()
            }
            (RegClass::Mmx, _) => format!("mm{}", self.number),
            (RegClass::Xmm, Width::W256) => format!("ymm{}", self.number),
            (RegClass::Xmm, Width::W8 | Width::W32 | Width::W64 | Width::W128 | Width::Limb) => {
                format!("xmm{}", self.number)
            }
            (RegClass::Portable, _) => format!("v{}", self.number),
        }
    }
}

/// `rax`.
pub const RAX: PReg = PReg::gpr(0);
/// `rcx`.
pub const RCX: PReg = PReg::gpr(1);
/// `rdx`.
pub const RDX: PReg = PReg::gpr(2);
/// `rbx`.
pub const RBX: PReg = PReg::gpr(3);
/// `rsp`.
pub const RSP: PReg = PReg::gpr(4);
/// `rbp`.
pub const RBP: PReg = PReg::gpr(5);
/// `rsi`.
pub const RSI: PReg = PReg::gpr(6);
/// `rdi`.
pub const RDI: PReg = PReg::gpr(7);
/// `r8`.
pub const R8: PReg = PReg::gpr(8);
/// `r9`.
pub const R9: PReg = PReg::gpr(9);

/// Whether an instruction reads an operand, writes it, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read.
    R,
    /// Written (the old value does not matter).
    W,
    /// Read, then written: the tied operand of two-operand instructions.
    RW,
}

impl Access {
    /// Whether the old value matters.
    pub const fn reads(self) -> bool {
        matches!(self, Access::R | Access::RW)
    }
    /// Whether a new value is left.
    pub const fn writes(self) -> bool {
        matches!(self, Access::W | Access::RW)
    }
}

/// What may stand in an operand's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A register.
    Reg(RegClass, Width),
    /// A register, or memory of that width, any alignment.
    RegMem(RegClass, Width),
    /// A register, or memory of that width at a multiple of it: what the legacy encodings of vector instructions want.
    RegMemAligned(RegClass, Width),
    /// Memory of that width, any alignment.
    Mem(Width),
    /// Memory of that width at a multiple of it.
    MemAligned(Width),
    /// An address that is computed and not accessed (`lea`).
    Address,
    /// A sign-extended 8-bit immediate; for shifts, the count.
    Imm8,
    /// An 8-bit immediate without a sign: which lanes go where, or a round constant.
    Selector,
    /// A sign-extended 32-bit immediate.
    Imm32,
    /// A full 64-bit immediate.
    Imm64,
}

impl Kind {
    /// Width of the register or of the access; `None` for addresses and constants.
    pub const fn width(self) -> Option<Width> {
        match self {
            Kind::Reg(_, width)
            | Kind::RegMem(_, width)
            | Kind::RegMemAligned(_, width)
            | Kind::Mem(width)
            | Kind::MemAligned(width) => Some(width),
            Kind::Address | Kind::Imm8 | Kind::Selector | Kind::Imm32 | Kind::Imm64 => None,
        }
    }

    /// The register file of a register that may stand here.
    pub const fn register(self) -> Option<RegClass> {
        match self {
            Kind::Reg(class, _) | Kind::RegMem(class, _) | Kind::RegMemAligned(class, _) => Some(class),
            Kind::Mem(_)
            | Kind::MemAligned(_)
            | Kind::Address
            | Kind::Imm8
            | Kind::Selector
            | Kind::Imm32
            | Kind::Imm64 => None,
        }
    }

    /// Width of the memory that may stand here.
    pub const fn memory(self) -> Option<Width> {
        match self {
            Kind::RegMem(_, width) | Kind::RegMemAligned(_, width) | Kind::Mem(width) | Kind::MemAligned(width) => {
                Some(width)
            }
            Kind::Reg(..) | Kind::Address | Kind::Imm8 | Kind::Selector | Kind::Imm32 | Kind::Imm64 => None,
        }
    }

    /// Whether memory that stands here lies at a multiple of its width.
    pub const fn is_aligned(self) -> bool {
        matches!(self, Kind::RegMemAligned(..) | Kind::MemAligned(_))
    }
}

/// One operand of a row, in the order of the manual; operands that are not in the text come last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandSpec {
    /// Name in the row, for messages.
    pub name: &'static str,
    /// Read, written, or both.
    pub access: Access,
    /// What may stand here.
    pub kind: Kind,
    /// The only register that may stand here (`rdx` of `mulx`). Fixed operands are not printed.
    pub fixed: Option<PReg>,
}

/// A set of flags. CF and OF are resources of their own, so that two carry chains may run side by side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlagSet(u8);

/// No flag.
pub const NONE: FlagSet = FlagSet(0);
/// The carry flag.
pub const CF: FlagSet = FlagSet(1);
/// The overflow flag.
pub const OF: FlagSet = FlagSet(2);
/// The zero flag.
pub const ZF: FlagSet = FlagSet(4);
/// Carry and overflow.
pub const CO: FlagSet = FlagSet(3);
/// Overflow and zero.
pub const OZ: FlagSet = FlagSet(6);
/// Carry, overflow and zero.
pub const COZ: FlagSet = FlagSet(7);

impl FlagSet {
    /// Each flag alone.
    pub const EACH: [FlagSet; 3] = [CF, OF, ZF];
    /// Union.
    pub const fn union(self, other: FlagSet) -> FlagSet {
        FlagSet(self.0 | other.0)
    }
    /// Intersection.
    pub const fn intersection(self, other: FlagSet) -> FlagSet {
        FlagSet(self.0 & other.0)
    }
    /// What is here and not in `other`.
    pub const fn difference(self, other: FlagSet) -> FlagSet {
        FlagSet(self.0 & !other.0)
    }
    /// Whether no flag is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Whether all of `other` is here.
    pub const fn contains(self, other: FlagSet) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::fmt::Display for FlagSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names = [(CF, "CF"), (OF, "OF"), (ZF, "ZF")];
        let list: Vec<_> = names.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        f.write_str(if list.is_empty() { "no flag".into() } else { list.join("+") }.as_str())
    }
}

/// What an instruction does to the flags. A flag that is left undefined counts as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlagUse {
    /// Flags read.
    pub reads: FlagSet,
    /// Flags written, defined or not.
    pub writes: FlagSet,
    /// Of those written, the ones whose value is undefined.
    pub undefined: FlagSet,
}

/// The kind of work a row is: the key of the CPU files' costs when the mnemonic has no entry, and what the taint check asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Register to register, or a constant.
    Move,
    /// A pure load.
    Load,
    /// A pure store.
    Store,
    /// Address arithmetic.
    Lea,
    /// One-cycle integer work.
    Alu,
    /// Integer work that reads a carry.
    Carry,
    /// Shifts by a constant.
    Shift,
    /// Widening multiplication through fixed registers.
    Mul,
    /// Widening multiplication that leaves the flags alone.
    Mulx,
    /// Division: its time depends on the operands, so it never sees a secret.
    Div,
    /// Moves between and into vector registers.
    SimdMove,
    /// Vector multiplication.
    SimdMul,
    /// Vector integer work.
    SimdAlu,
    /// Lanes and bytes of vectors rearranged.
    SimdShuffle,
    /// A pure load of a vector.
    SimdLoad,
    /// A pure store of a vector.
    SimdStore,
    /// A round of AES.
    Aes,
    /// Stack work of the prologue and the epilogue.
    Stack,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 18] = [
        Class::Move,
        Class::Load,
        Class::Store,
        Class::Lea,
        Class::Alu,
        Class::Carry,
        Class::Shift,
        Class::Mul,
        Class::Mulx,
        Class::Div,
        Class::SimdMove,
        Class::SimdMul,
        Class::SimdAlu,
        Class::SimdShuffle,
        Class::SimdLoad,
        Class::SimdStore,
        Class::Aes,
        Class::Stack,
    ];

    /// The word used in CPU files.
    pub const fn word(self) -> &'static str {
        match self {
            Class::Move => "move",
            Class::Load => "load",
            Class::Store => "store",
            Class::Lea => "lea",
            Class::Alu => "alu",
            Class::Carry => "carry",
            Class::Shift => "shift",
            Class::Mul => "mul",
            Class::Mulx => "mulx",
            Class::Div => "div",
            Class::SimdMove => "simd_move",
            Class::SimdMul => "simd_mul",
            Class::SimdAlu => "simd_alu",
            Class::SimdShuffle => "simd_shuffle",
            Class::SimdLoad => "simd_load",
            Class::SimdStore => "simd_store",
            Class::Aes => "aes",
            Class::Stack => "stack",
        }
    }

    /// Whether the time that the instruction takes depends on its operands.
    pub const fn variable_latency(self) -> bool {
        matches!(self, Class::Div)
    }
}

/// One row of the instruction table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The assembler's mnemonic; in the portable ISA, the name of the operation.
    pub mnemonic: &'static str,
    /// Operands in the order of the manual.
    pub operands: &'static [OperandSpec],
    /// Flags.
    pub flags: FlagUse,
    /// The features that the instruction needs; none for the baseline of x86-64's integer unit and for the portable ISA.
    pub features: FeatureSet,
    /// Kind of work.
    pub class: Class,
}

impl Row {
    /// The operands that are in the text.
    pub fn printed(&self) -> impl Iterator<Item = (usize, &'static OperandSpec)> {
        self.operands.iter().enumerate().filter(|(_, operand)| operand.fixed.is_none())
    }
}
