//! The IR: what everything in codegen hangs on. Knows no kernel, no encoding and no TOML.
//!
//! A [`Func`] is a list of [`Node`]s: straight-line blocks, counted loops, tails that run on a public condition, and calls of
//! private subroutines. There is no other control flow. Registers are mutable: an instruction names what it reads and
//! writes, and a loop-carried value is a register that is written in the loop's body and read in its next trip.
//!
//! - [`Func<Virtual>`] has unlimited [`VReg`]s; some are *pinned* to the one physical register that a fixed operand wants.
//!   Two vregs pinned to one register share it: passes treat them as one resource.
//! - [`Func<Physical>`] has [`PReg`]s, a frame and a list of callee-saved registers; the prologue, the epilogue, loop control
//!   and jumps appear when it is laid out by [`linear`].
//! - Memory operands name the *argument* they belong to. Within a block the byte offset of an access is its displacement
//!   plus the `lea` steps that its base took since the start of the block; all pointers of one *cursor* walk in step (checked),
//!   so two offsets can be compared across arguments, and aliasing is decided instead of feared.
//! - Public constants lie in the function's *pool*, behind its code.

pub mod abi;
pub mod builder;
pub mod inputs;
pub mod interpret;
pub mod linear;
pub mod print;
pub mod site;
pub mod taint;
pub mod typed;
pub mod wellformed;

pub use builder::Builder;

use crate::isa::Op;
use crate::isa::row::{FlagSet, Kind, PReg, RegClass, Width};
use std::fmt::Debug;
use std::hash::Hash;

/// A stage of compilation: which registers a function's operands are.
pub trait Stage: Clone + Debug + PartialEq + Eq {
    /// The register type.
    type Reg: Copy + Clone + Debug + PartialEq + Eq + PartialOrd + Ord + Hash;
    /// What a function of this stage knows besides its body.
    type Frame: Clone + Debug + PartialEq + Eq + Default;
}

/// Before register allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Virtual;
/// After register allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Physical;

impl Stage for Virtual {
    type Reg = VReg;
    type Frame = ();
}
impl Stage for Physical {
    type Reg = PReg;
    type Frame = Frame;
}

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VReg {
    /// Number, unique in the function.
    pub index: u32,
    /// Register file.
    pub class: RegClass,
    /// The one physical register that this must be, if any.
    pub pin: Option<PReg>,
}

/// The frame of an allocated function.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Frame {
    /// Callee-saved registers that the body writes, in the order in which they are pushed.
    pub saved: Vec<PReg>,
    /// Spill slots of 8 bytes. Slot k is `Mem { space: Frame, base: rsp, disp: 8 k }`; wider values take several in a row,
    /// aligned to 8 bytes alone.
    pub slots: u32,
    /// Loads and stores that allocation added.
    pub spills: u32,
}

/// What memory an operand is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// The memory behind the argument with this index.
    Argument(u8),
    /// The memory behind the argument that the base points into: for private subroutines, which are called with pointers into
    /// several.
    Pointed,
    /// A spill slot of the function's own frame.
    Frame,
    /// The function's pool of public constants, which is only read.
    Pool,
    /// No memory: an address that is only computed (`lea` on a count).
    Nowhere,
}

/// A memory operand, or the address of a `lea`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Mem<R> {
    /// Whose memory.
    pub space: Space,
    /// Base register.
    pub base: R,
    /// Index register and scale (1, 2, 4 or 8).
    pub index: Option<(R, u8)>,
    /// Displacement in bytes.
    pub disp: i32,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand<R> {
    /// A register.
    Reg(R),
    /// Memory.
    Mem(Mem<R>),
    /// A constant.
    Imm(i64),
}

/// One instruction: an operation and an operand for each of its row's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inst<R> {
    /// The operation; its row says what the operands mean.
    pub op: Op,
    /// One for each operand of the row, fixed ones too.
    pub operands: Vec<Operand<R>>,
    /// The step of the algorithm, for the text.
    pub note: Option<&'static str>,
}

/// How a loop counts. The counter holds the trips left, at least 1 at entry, and is 0 at exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// `dec counter; jnz top`: writes OF and ZF, keeps CF.
    Decrement,
    /// `lea counter, [counter - 1]; jrcxz out; jmp top`: touches no flag; the counter is pinned to rcx.
    FlagFree,
}

/// A counted loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop<R> {
    /// Trips left.
    pub counter: R,
    /// How it counts.
    pub control: Control,
    /// Flags that are live across the back-edge: declared, and refused where the control would write them.
    pub live_flags: FlagSet,
    /// The body.
    pub body: Vec<Node<R>>,
}

/// A part that runs only when a public count says so. The test writes CF, OF and ZF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct When<R> {
    /// What is tested.
    pub reg: R,
    /// Run when any of these bits is set; `None`: when the register is not 0.
    pub mask: Option<i32>,
    /// What runs.
    pub body: Vec<Node<R>>,
}

/// Index of a private subroutine of the function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubId(pub u32);

/// A piece of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node<R> {
    /// Straight-line code.
    Block(Vec<Inst<R>>),
    /// A counted loop.
    Loop(Loop<R>),
    /// A tail.
    When(When<R>),
    /// A call of a private subroutine, whose registers are all pinned.
    Call(SubId),
}

/// A number of elements: a sum of multiples of counts, and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Length {
    /// Indices of count parameters, with how many times each is taken.
    terms: [Option<(u8, u16)>; 2],
    /// The constant.
    plus: u32,
}

impl Length {
    /// A sum of at most two terms and a constant.
    ///
    /// # Panics
    /// On a third term: no contract has one.
    pub fn new(terms: &[(u8, u16)], plus: u32) -> Length {
        assert!(terms.len() <= 2, "at most two counts in a length");
        Length { terms: [terms.first().copied(), terms.get(1).copied()], plus }
    }

    /// As many as this count says.
    pub const fn of(count: u8) -> Length {
        Length { terms: [Some((count, 1)), None], plus: 0 }
    }

    /// Always so many.
    pub const fn fixed(elements: u32) -> Length {
        Length { terms: [None, None], plus: elements }
    }

    /// The counts, with how many times each is taken.
    pub fn terms(&self) -> impl Iterator<Item = (u8, u16)> {
        self.terms.into_iter().flatten()
    }

    /// The constant.
    pub fn plus(&self) -> u32 {
        self.plus
    }

    /// The number, when the counts have these values; `None` when one has none, or the number is none of 64 bits.
    pub fn value(&self, count: impl Fn(u8) -> Option<u64>) -> Option<u64> {
        self.terms().try_fold(u64::from(self.plus), |sum, (index, times)| {
            sum.checked_add(count(index)?.checked_mul(times.into())?)
        })
    }

    /// The sum in words, with names for the counts: `2n + more`.
    pub fn text<'n>(&self, name: impl Fn(u8) -> &'n str) -> String {
        let term = |(index, times)| match times {
            1 => name(index).to_owned(),
            times => format!("{times}{}", name(index)),
        };
        let mut terms: Vec<String> = self.terms().map(term).collect();
        if self.plus > 0 || terms.is_empty() {
            terms.push(self.plus.to_string());
        }
        terms.join(" + ")
    }
}

/// What an argument of the function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// A pointer to elements of `element_bytes` bytes.
    Pointer {
        /// Bytes of an element.
        element_bytes: u32,
        /// How many.
        length: Length,
        /// Whether the function may read it; if not, it may still read back what it has written.
        reads: bool,
        /// Whether the function may write it.
        writes: bool,
        /// Pointers with the same cursor walk in step.
        cursor: u8,
    },
    /// A public count of elements, `min..=max`.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A value of this many bits.
    Value {
        /// 32 or 64. A 32-bit value's upper half is garbage at entry, as the ABI has it.
        bits: u32,
    },
}

/// One argument of the function, in the order of the ABI.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter<R> {
    /// Name in the spec.
    pub name: String,
    /// Type.
    pub kind: ParameterKind,
    /// Whether its contents are secret.
    pub secret: bool,
    /// Indices of parameters whose pointer may equal this one's.
    pub may_equal: Vec<u8>,
    /// A power of 2 that the pointer is a multiple of; 1 where the contract promises no more than the elements' own alignment.
    pub align: u32,
    /// Where it is at entry. In a virtual function: an unpinned vreg (`Gpr`, or `Portable` for a value in the portable ISA).
    pub reg: R,
}

/// Alignment of the pool, and of each constant in it.
pub const POOL_ALIGNMENT: u32 = 32;

/// A function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Func<S: Stage> {
    /// The variant's name, `KERNEL/STRATEGY.PARAMETERS`.
    pub name: String,
    /// Bits of a limb in this function's contract.
    pub limb_bits: u32,
    /// Arguments in order; the first six integer registers of System V.
    pub parameters: Vec<Parameter<S::Reg>>,
    /// The register that is returned, if any (rax once allocated; 32-bit limbs are zero-extended).
    pub returns: Option<S::Reg>,
    /// Body, in order. Returns at its end.
    pub body: Vec<Node<S::Reg>>,
    /// Private subroutines.
    pub subs: Vec<Vec<Node<S::Reg>>>,
    /// Public constants, which lie behind the code at a multiple of [`POOL_ALIGNMENT`].
    pub pool: Vec<u8>,
    /// Frame, once allocated.
    pub frame: S::Frame,
    /// The only value of the first count this function may be called with, if it has no loop.
    pub exact: Option<u64>,
    /// How many vregs there are.
    pub vregs: u32,
}

impl<R: Copy> Operand<R> {
    /// The registers that the operand names, addresses included.
    pub fn registers(&self) -> impl Iterator<Item = R> {
        let (a, b) = match self {
            Operand::Reg(reg) => (Some(*reg), None),
            Operand::Mem(mem) => (Some(mem.base), mem.index.map(|(index, _)| index)),
            Operand::Imm(_) => (None, None),
        };
        a.into_iter().chain(b)
    }
}

impl<R: Copy + PartialEq> Inst<R> {
    /// Registers read: read operands, and the registers of addresses.
    pub fn reads(&self) -> Vec<R> {
        let mut out = Vec::new();
        for (operand, spec) in self.operands.iter().zip(self.op.row().operands) {
            match operand {
                Operand::Reg(reg) if spec.access.reads() => out.push(*reg),
                Operand::Reg(_) | Operand::Imm(_) => {}
                Operand::Mem(_) => out.extend(operand.registers()),
            }
        }
        out
    }

    /// Registers written.
    pub fn writes(&self) -> Vec<R> {
        let mut out = Vec::new();
        for (operand, spec) in self.operands.iter().zip(self.op.row().operands) {
            if let (Operand::Reg(reg), true) = (operand, spec.access.writes()) {
                out.push(*reg);
            }
        }
        out
    }

    /// The memory operand, with whether it is read and written. `lea`'s address is not one.
    pub fn memory(&self) -> Option<(&Mem<R>, bool, bool)> {
        self.operands.iter().zip(self.op.row().operands).find_map(|(operand, spec)| match operand {
            Operand::Mem(mem) if spec.kind != Kind::Address => Some((mem, spec.access.reads(), spec.access.writes())),
            _ => None,
        })
    }
}

impl<R> Inst<R> {
    /// The width of the access to memory, if there is one.
    pub fn access(&self) -> Option<Width> {
        self.operands.iter().zip(self.op.row().operands).find_map(|(operand, spec)| match (operand, spec.kind) {
            (Operand::Mem(_), kind) => kind.memory(),
            (Operand::Reg(_) | Operand::Imm(_), _) => None,
        })
    }

    /// What the address of the access must be a multiple of.
    pub fn alignment(&self) -> u32 {
        let aligned = self
            .operands
            .iter()
            .zip(self.op.row().operands)
            .any(|(operand, spec)| matches!(operand, Operand::Mem(_)) && spec.kind.is_aligned());
        if aligned { self.access().map_or(1, |width| width.bytes(64)) } else { 1 }
    }

    /// Whether the instruction reads or writes all 256 bits of a vector register.
    pub fn is_wide(&self) -> bool {
        self.op
            .row()
            .operands
            .iter()
            .any(|spec| spec.kind.register().is_some() && spec.kind.width() == Some(Width::W256))
    }
}

impl<S: Stage> Func<S> {
    /// Every instruction of the body and the subroutines, in order of layout (loop control and prologue not included).
    pub fn instructions(&self) -> Vec<&Inst<S::Reg>> {
        fn walk<'a, R>(nodes: &'a [Node<R>], out: &mut Vec<&'a Inst<R>>) {
            for node in nodes {
                match node {
                    Node::Block(insts) => out.extend(insts),
                    Node::Loop(inner) => walk(&inner.body, out),
                    Node::When(inner) => walk(&inner.body, out),
                    Node::Call(_) => {}
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.body, &mut out);
        for sub in &self.subs {
            walk(sub, &mut out);
        }
        out
    }

    /// The index of the first count among the parameters.
    pub fn first_count(&self) -> Option<usize> {
        self.parameters.iter().position(|parameter| matches!(parameter.kind, ParameterKind::Count { .. }))
    }

    /// The computed manifest: the features that the instructions need.
    pub fn features(&self) -> crate::isa::feature::FeatureSet {
        let sets = self.instructions().into_iter().map(|inst| inst.op.row().features);
        sets.fold(crate::isa::feature::FeatureSet::EMPTY, |all, set| all.union(set))
    }
}
