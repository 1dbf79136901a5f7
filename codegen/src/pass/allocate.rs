//! Gives every virtual register a place: `Func<Virtual>` to `Func<Physical>`.
//!
//! One walk in program order. A value keeps its register until it dies or the register is wanted for something nearer; the
//! value whose next use is farthest goes to a slot (Belady). Pinned vregs are their register: whoever sits there when a
//! pinned value is written moves away first. Loops are walked a few times, each time starting from the places in which the
//! last walk ended, and the cheapest walk is kept. Everything that allocation adds is `mov`, `movq`, `movdqa` or `movdqu`
//! (or their VEX forms), which leave the flags alone. A vector's slots are as many as its widest use needs.
//!
//! - [`target`]: registers and calling convention, as data.
//! - [`analysis`]: liveness and the positions of uses.
//! - [`state`]: where each value is.
//! - [`commute`]: operands in the order that encodes shortest.
//! - [`walk`]: the walk through straight lines; [`choose`] picks registers; [`nodes`] does loops and tails, for which
//!   [`moves`] makes two states meet.

mod analysis;
#[cfg(test)]
mod cases;
mod choose;
mod commute;
mod moves;
mod nodes;
mod state;
pub mod target;
#[cfg(test)]
mod tests;
mod walk;

use crate::ir::wellformed::Misfit;
use crate::ir::{Frame, Func, Inst, Node, Operand, Parameter, Physical, VReg, Virtual};
use crate::isa::VectorEncoding;
use crate::isa::row::{Kind, PReg, RegClass, Width};
use std::fmt;
use target::Target;

/// Why a function cannot be allocated. Each is a fault of a family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AllocateError {
    /// A register of a file that the target does not have, such as a portable value.
    Class {
        /// The function.
        function: String,
        /// The file.
        class: RegClass,
    },
    /// More parameters than the calling convention passes in registers.
    Parameters {
        /// The function.
        function: String,
        /// How many it has.
        count: usize,
    },
    /// A parameter that is pinned away from the register it arrives in, or that a subroutine wants in a register that is
    /// pinned for something else.
    Pinned {
        /// The function.
        function: String,
        /// The parameter.
        parameter: String,
    },
    /// A subroutine with a register that is neither pinned nor a parameter's.
    Subroutine {
        /// The function.
        function: String,
        /// The register.
        reg: VReg,
    },
    /// Subroutines that call each other in a circle, or a call of one that does not exist.
    Calls {
        /// The function.
        function: String,
    },
    /// A loop that counts without flags in a register other than the target's counter.
    Counter {
        /// The function.
        function: String,
        /// The register.
        reg: VReg,
    },
    /// An instruction needs more registers than are free of pinned values.
    Pressure {
        /// The function.
        function: String,
        /// Position of the instruction in program order.
        position: u32,
    },
    /// An instruction of the result does not fit its row: a fault of the pass.
    Misfit {
        /// The function.
        function: String,
        /// What does not fit.
        misfit: Misfit,
        /// The instruction.
        inst: Box<Inst<PReg>>,
    },
}

impl fmt::Display for AllocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocateError::Class { function, class } => write!(f, "{function}: the target has no {class:?} registers"),
            AllocateError::Parameters { function, count } => {
                write!(f, "{function}: {count} parameters are more than the calling convention has registers")
            }
            AllocateError::Pinned { function, parameter } => {
                write!(f, "{function}: parameter `{parameter}` cannot stay in the register it arrives in")
            }
            AllocateError::Subroutine { function, reg } => {
                write!(f, "{function}: register {} of a subroutine must be pinned or a parameter's", reg.index)
            }
            AllocateError::Calls { function } => {
                write!(f, "{function}: subroutines call each other in a circle, or one that does not exist")
            }
            AllocateError::Counter { function, reg } => {
                write!(f, "{function}: the counter {} of a flag-free loop must be pinned to rcx", reg.index)
            }
            AllocateError::Pressure { function, position } => {
                write!(f, "{function}: no register is left for instruction {position}; pin fewer values across it")
            }
            AllocateError::Misfit { function, misfit, inst } => write!(f, "{function}: {misfit} in {inst:?}"),
        }
    }
}

impl std::error::Error for AllocateError {}

/// Allocates the registers of a function for x86-64 under System V.
///
/// # Errors
/// When the function asks for what the target does not have; see [`AllocateError`].
pub fn allocate(func: Func<Virtual>) -> Result<Func<Physical>, AllocateError> {
    let vectors = func.instructions().iter().find_map(|inst| inst.op.vector_encoding());
    let target = Target::x86_64_system_v(vectors.unwrap_or(VectorEncoding::Legacy));
    allocate_for(func, &target)
}

/// Allocates the registers of a function for a target.
///
/// # Errors
/// When the function asks for what the target does not have; see [`AllocateError`].
pub fn allocate_for(func: Func<Virtual>, target: &Target) -> Result<Func<Physical>, AllocateError> {
    let program = analysis::analyse(&func, target)?;
    let walk = walk::Walk::new(&func, target, &program);
    let (body, slots, spills) = walk.run()?;
    let subs: Vec<_> = func.subs.iter().map(|sub| program.fixed_nodes(sub)).collect();
    let written = written(&body, &subs);
    let saved = target.callee_saved.iter().copied().filter(|reg| written.contains(reg)).collect();
    let at_entry = |(parameter, reg): (&Parameter<VReg>, &PReg)| Parameter {
        name: parameter.name.clone(),
        kind: parameter.kind,
        secret: parameter.secret,
        may_equal: parameter.may_equal.clone(),
        align: parameter.align,
        reg: *reg,
    };
    let out = Func {
        parameters: func.parameters.iter().zip(&target.arguments).map(at_entry).collect(),
        returns: func.returns.map(|_| target.result),
        name: func.name,
        limb_bits: func.limb_bits,
        body,
        subs,
        pool: func.pool,
        frame: Frame { saved, slots, spills },
        exact: func.exact,
        vregs: func.vregs,
    };
    for inst in out.instructions() {
        if let Err(misfit) = crate::ir::wellformed::fits(inst) {
            return Err(AllocateError::Misfit { function: out.name.clone(), misfit, inst: Box::new(inst.clone()) });
        }
    }
    Ok(out)
}

/// Every register that the nodes write.
fn written(body: &[Node<PReg>], subs: &[Vec<Node<PReg>>]) -> std::collections::BTreeSet<PReg> {
    fn visit(nodes: &[Node<PReg>], out: &mut std::collections::BTreeSet<PReg>) {
        for node in nodes {
            match node {
                Node::Block(insts) => out.extend(insts.iter().flat_map(Inst::writes)),
                Node::Loop(inner) => {
                    out.insert(inner.counter);
                    visit(&inner.body, out);
                }
                Node::When(inner) => visit(&inner.body, out),
                Node::Call(_) => {}
            }
        }
    }
    let mut out = std::collections::BTreeSet::new();
    visit(body, &mut out);
    subs.iter().for_each(|sub| visit(sub, &mut out));
    out
}

/// Whether the last write of `reg` in the final block was of 32 bits, which clears the upper half.
fn is_narrow(nodes: &[Node<PReg>], reg: PReg) -> bool {
    let Some(Node::Block(insts)) = nodes.last() else { return false };
    let Some(inst) = insts.iter().rev().find(|inst| inst.writes().contains(&reg)) else { return false };
    inst.operands.iter().zip(inst.op.row().operands).any(|(operand, spec)| {
        *operand == Operand::Reg(reg) && spec.access.writes() && matches!(spec.kind, Kind::Reg(_, Width::W32))
    })
}
