//! Where in a function something is: what faults, ills and leaks point at.

use super::{Node, VReg};
use crate::isa::Op;
use crate::isa::row::{PReg, RegClass, Width};
use std::fmt;

/// A place in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Site {
    /// Before the first instruction.
    Entry,
    /// An instruction.
    Instruction {
        /// Its position in [`Func::instructions`](super::Func::instructions); when a physical function is interpreted, its
        /// position in [`Func::lines`](super::Func::lines).
        index: usize,
        /// What it is.
        op: Op,
    },
    /// What nodes and lines do that are not instructions: loop control, tests of tails, calls, stack work.
    Control {
        /// How many instructions (or lines) are laid out before it.
        after: usize,
    },
    /// The return.
    Exit,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Entry => write!(f, "at entry"),
            Site::Instruction { index, op } => write!(f, "instruction {index} ({})", op.row().mnemonic),
            Site::Control { after } => write!(f, "control after {after} instructions"),
            Site::Exit => write!(f, "at return"),
        }
    }
}

/// Instructions in these nodes, in the bodies of loops and tails too, but not in subroutines.
pub fn instruction_count<R>(nodes: &[Node<R>]) -> usize {
    let inside = |node: &Node<R>| match node {
        Node::Block(insts) => insts.len(),
        Node::Loop(inner) => instruction_count(&inner.body),
        Node::When(inner) => instruction_count(&inner.body),
        Node::Call(_) => 0,
    };
    nodes.iter().map(inside).sum()
}

/// The name of a register of either stage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Name {
    /// Before allocation.
    Virtual(VReg),
    /// After allocation.
    Physical(PReg),
}

impl Name {
    /// The text at an operand's width: `v12:gpr`, `v12:gpr32`, pinned `v3:rdx`, physical `edx`.
    pub fn text(self, width: Width) -> String {
        match self {
            Name::Physical(reg) => reg.name(width),
            Name::Virtual(VReg { index, pin: Some(reg), .. }) => format!("v{index}:{}", reg.name(width)),
            Name::Virtual(VReg { index, class, pin: None }) => match (class, width) {
                (RegClass::Gpr, Width::W8) => format!("v{index}:gpr8"),
                (RegClass::Gpr, Width::W32) => format!("v{index}:gpr32"),
                (RegClass::Gpr, Width::W64 | Width::W128 | Width::W256 | Width::Limb) => format!("v{index}:gpr"),
                (RegClass::Mmx, _) => format!("v{index}:mmx"),
                (RegClass::Xmm, Width::W256) => format!("v{index}:ymm"),
                (RegClass::Xmm, Width::W8 | Width::W32 | Width::W64 | Width::W128 | Width::Limb) => {
                    format!("v{index}:xmm")
                }
                (RegClass::Portable, _) => format!("v{index}:val"),
            },
        }
    }
}

impl From<VReg> for Name {
    fn from(reg: VReg) -> Name {
        Name::Virtual(reg)
    }
}
impl From<PReg> for Name {
    fn from(reg: PReg) -> Name {
        Name::Physical(reg)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Width::W64))
    }
}
