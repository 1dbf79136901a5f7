//! A target's register files and calling convention, as data.

use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{PReg, R8, R9, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, RegClass};

/// A register file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterFile {
    /// Its class.
    pub class: RegClass,
    /// The registers that may be allocated, most welcome first.
    pub registers: Vec<PReg>,
    /// Register to register.
    pub copy: Op,
    /// Slot to register.
    pub load: Op,
    /// Register to slot.
    pub store: Op,
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
    /// x86-64 under the System V convention, with the MMX registers.
    pub fn x86_64_system_v() -> Target {
        let (copy, load, store) = (Op::Base(Base::Mov), Op::Base(Base::Load), Op::Base(Base::Store));
        let (copy32, load32) = (Op::Base(Base::Mov32), Op::Base(Base::Load32));
        let (movq, movq_load) = (Op::MmxSse2(MmxSse2::MovqMm), Op::MmxSse2(MmxSse2::MovqLoad));
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
            ],
            arguments: vec![RDI, RSI, RDX, RCX, R8, R9],
            result: RAX,
            callee_saved,
            stack: RSP,
            counter: RCX,
            from_memory: vec![(copy, load), (copy32, load32), (movq, movq_load)],
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
