//! A target's register files and calling convention, as data.

use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{Kind, PReg, R8, R9, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, RegClass};
use crate::isa::sse2::Sse2;

/// A register file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterFile {
    /// Its class.
    pub class: RegClass,
    /// The registers that may be allocated, most welcome first.
    pub registers: Vec<PReg>,
    /// Register to register.
    pub copy: Op,
    /// Slots to register, at any alignment.
    pub load: Op,
    /// Register to slots, at any alignment.
    pub store: Op,
}

impl RegisterFile {
    /// Slots that a value of this file takes: what its store writes.
    pub(super) fn slots(&self) -> u32 {
        match self.store.row().operands[0].kind {
            Kind::Mem(width) => width.bytes(64).div_ceil(8),
            kind => unreachable!("a store to {kind:?}"),
        }
    }
}

/// What allocation must know of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// Register files; at most four, of at most 16 registers each.
    pub files: Vec<RegisterFile>,
    /// Where the first parameters arrive.
    pub arguments: Vec<PReg>,
    /// Where the result leaves.
    pub result: PReg,
    /// Registers whose contents belong to the caller, in the order in which they are pushed.
    pub callee_saved: Vec<PReg>,
    /// The stack pointer.
    pub stack: PReg,
    /// The counter of loops that leave the flags alone.
    pub counter: PReg,
    /// Copies, with the same work from memory.
    pub from_memory: Vec<(Op, Op)>,
    /// Copies and loads of 32 bits that clear the upper half of the register.
    pub narrow: (Op, Op),
}

impl Target {
    /// x86-64 under the System V convention, with the MMX and the xmm registers, all of which are the callee's to use.
    pub fn x86_64_system_v() -> Target {
        let (copy, load, store) = (Op::Base(Base::Mov), Op::Base(Base::Load), Op::Base(Base::Store));
        let (copy32, load32) = (Op::Base(Base::Mov32), Op::Base(Base::Load32));
        let (movq, movq_load) = (Op::MmxSse2(MmxSse2::MovqMm), Op::MmxSse2(MmxSse2::MovqLoad));
        let (movdqa, movdqu_load) = (Op::Sse2(Sse2::MovdqaXmm), Op::Sse2(Sse2::MovdquLoad));
        let numbered = |numbers: std::ops::Range<u8>| numbers.map(PReg::gpr);
        let mut registers = vec![RDI, RSI, R8, R9, PReg::gpr(10), PReg::gpr(11), RAX, RCX, RDX, RBX, RBP];
        registers.extend(numbered(12..16));
        let mut callee_saved = vec![RBX, RBP];
        callee_saved.extend(numbered(12..16));
        Target {
            files: vec![
                RegisterFile { class: RegClass::Gpr, registers, copy, load, store },
                RegisterFile {
                    class: RegClass::Mmx,
                    registers: (0..8).map(PReg::mmx).collect(),
                    copy: movq,
                    load: movq_load,
                    store: Op::MmxSse2(MmxSse2::MovqStore),
                },
                RegisterFile {
                    class: RegClass::Xmm,
                    registers: (0..16).map(PReg::xmm).collect(),
                    copy: movdqa,
                    load: movdqu_load,
                    store: Op::Sse2(Sse2::MovdquStore),
                },
            ],
            arguments: vec![RDI, RSI, RDX, RCX, R8, R9],
            result: RAX,
            callee_saved,
            stack: RSP,
            counter: RCX,
            from_memory: vec![(copy, load), (copy32, load32), (movq, movq_load), (movdqa, movdqu_load)],
            narrow: (copy32, load32),
        }
    }

    /// The number of a register among all of the target's, below 64.
    pub(super) fn number(&self, reg: PReg) -> Option<u8> {
        let file = self.files.iter().position(|file| file.class == reg.class)?;
        u8::try_from(file * 16 + usize::from(reg.number)).ok().filter(|number| reg.number < 16 && *number < 64)
    }

    /// The register with that number.
    pub(super) fn register(&self, number: u8) -> PReg {
        PReg { class: self.files[usize::from(number / 16)].class, number: number % 16 }
    }

    pub(super) fn file(&self, class: RegClass) -> Option<&RegisterFile> {
        self.files.iter().find(|file| file.class == class)
    }
}
