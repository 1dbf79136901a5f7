//! A target's register files and calling convention, as data.

use crate::isa::avx::Avx;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{Kind, PReg, R8, R9, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, RegClass, Width};
use crate::isa::sse2::Sse2;
use crate::isa::{Op, VectorEncoding};

/// How values of one width move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moves {
    /// Register to register.
    pub copy: Op,
    /// Slots to register, at any alignment.
    pub load: Op,
    /// Register to slots, at any alignment.
    pub store: Op,
}

impl Moves {
    /// The widest value that moves whole.
    pub(super) fn width(&self) -> Width {
        match self.store.row().operands[0].kind {
            Kind::Mem(width) => width,
            kind => unreachable!("a store to {kind:?}"),
        }
    }

    /// Slots that such a value takes.
    pub(super) fn slots(&self) -> u32 {
        self.width().bytes(64).div_ceil(8)
    }
}

/// A register file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterFile {
    /// Its class.
    pub class: RegClass,
    /// The registers that may be allocated, most welcome first.
    pub registers: Vec<PReg>,
    /// How its values move, the narrowest first.
    pub moves: Vec<Moves>,
}

impl RegisterFile {
    /// The narrowest moves that keep a value of this width.
    pub(super) fn moves(&self, width: Width) -> &Moves {
        let fits = |moves: &&Moves| moves.width() >= width;
        self.moves.iter().find(fits).or(self.moves.last()).expect("a file's values move")
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
    /// x86-64 under the System V convention, with the MMX and the vector registers, all of which are the callee's to use.
    /// Vectors move in the encoding of the function's other vector instructions.
    pub fn x86_64_system_v(vectors: VectorEncoding) -> Target {
        let (copy, load, store) = (Op::Base(Base::Mov), Op::Base(Base::Load), Op::Base(Base::Store));
        let (copy32, load32) = (Op::Base(Base::Mov32), Op::Base(Base::Load32));
        let (movq, movq_load) = (Op::MmxSse2(MmxSse2::MovqMm), Op::MmxSse2(MmxSse2::MovqLoad));
        let vector_moves = match vectors {
            VectorEncoding::Legacy => vec![Moves {
                copy: Op::Sse2(Sse2::MovdqaXmm),
                load: Op::Sse2(Sse2::MovdquLoad),
                store: Op::Sse2(Sse2::MovdquStore),
            }],
            VectorEncoding::Vex => vec![
                Moves {
                    copy: Op::Avx(Avx::VmovdqaX),
                    load: Op::Avx(Avx::VmovdquLoadX),
                    store: Op::Avx(Avx::VmovdquStoreX),
                },
                Moves {
                    copy: Op::Avx(Avx::VmovdqaY),
                    load: Op::Avx(Avx::VmovdquLoadY),
                    store: Op::Avx(Avx::VmovdquStoreY),
                },
            ],
        };
        let mut from_memory = vec![(copy, load), (copy32, load32), (movq, movq_load)];
        from_memory.extend(vector_moves.iter().map(|moves| (moves.copy, moves.load)));
        let numbered = |numbers: std::ops::Range<u8>| numbers.map(PReg::gpr);
        let mut registers = vec![RDI, RSI, R8, R9, PReg::gpr(10), PReg::gpr(11), RAX, RCX, RDX, RBX, RBP];
        registers.extend(numbered(12..16));
        let mut callee_saved = vec![RBX, RBP];
        callee_saved.extend(numbered(12..16));
        Target {
            files: vec![
                RegisterFile { class: RegClass::Gpr, registers, moves: vec![Moves { copy, load, store }] },
                RegisterFile {
                    class: RegClass::Mmx,
                    registers: (0..8).map(PReg::mmx).collect(),
                    moves: vec![Moves { copy: movq, load: movq_load, store: Op::MmxSse2(MmxSse2::MovqStore) }],
                },
                RegisterFile { class: RegClass::Xmm, registers: (0..16).map(PReg::xmm).collect(), moves: vector_moves },
            ],
            arguments: vec![RDI, RSI, RDX, RCX, R8, R9],
            result: RAX,
            callee_saved,
            stack: RSP,
            counter: RCX,
            from_memory,
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
