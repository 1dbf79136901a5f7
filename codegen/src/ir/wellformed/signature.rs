//! The rules that need no flow: parameters, numbers of registers, the frame and the ABI.

use super::{Ill, Rule};
use crate::ir::abi::{ARGUMENTS, CALLEE_SAVED};
use crate::ir::site::{Name, Site};
use crate::ir::{Func, Node, Operand, Parameter, ParameterKind, Physical, Stage, VReg, Virtual};
use crate::isa::row::{PReg, RAX, RegClass};
use std::collections::{BTreeMap, BTreeSet};

fn entry(rule: Rule) -> Ill {
    Ill { at: Site::Entry, rule }
}

/// Whether a parameter can be what it says, its register apart.
fn parameter<S: Stage>(func: &Func<S>, parameter: &Parameter<S::Reg>) -> bool {
    let kind = |index: u8| func.parameters.get(usize::from(index)).map(|parameter| parameter.kind);
    let pointer = |index: &u8| matches!(kind(*index), Some(ParameterKind::Pointer { .. }));
    let pointer_like = matches!(parameter.kind, ParameterKind::Pointer { .. });
    if !parameter.align.is_power_of_two() || (parameter.align > 1 && !pointer_like) {
        return false;
    }
    match parameter.kind {
        ParameterKind::Pointer { element_bytes, length, .. } => {
            let counted = length.terms().all(|(index, _)| matches!(kind(index), Some(ParameterKind::Count { .. })));
            counted && element_bytes > 0 && parameter.may_equal.iter().all(pointer)
        }
        ParameterKind::Count { min, max } => min <= max && parameter.may_equal.is_empty(),
        ParameterKind::Value { bits } => matches!(bits, 32 | 64) && parameter.may_equal.is_empty(),
    }
}

/// Every register that nodes name, with where.
fn registers<R: Copy + PartialEq>(nodes: &[Node<R>], index: &mut usize, visit: &mut impl FnMut(Site, R)) {
    for node in nodes {
        match node {
            Node::Block(insts) => {
                for inst in insts {
                    let at = Site::Instruction { index: *index, op: inst.op };
                    inst.operands.iter().flat_map(Operand::registers).for_each(|reg| visit(at, reg));
                    *index += 1;
                }
            }
            Node::Loop(inner) => {
                visit(Site::Control { after: *index }, inner.counter);
                registers(&inner.body, index, visit);
            }
            Node::When(inner) => {
                visit(Site::Control { after: *index }, inner.reg);
                registers(&inner.body, index, visit);
            }
            Node::Call(_) => {}
        }
    }
}

pub(super) fn virtual_signature(func: &Func<Virtual>) -> Vec<Ill> {
    let mut ills = Vec::new();
    let mut seen: BTreeMap<u32, VReg> = BTreeMap::new();
    let mut arrived = BTreeSet::new();
    for (index, declared) in func.parameters.iter().enumerate() {
        let value = matches!(declared.kind, ParameterKind::Value { .. });
        let file = match declared.reg.class {
            RegClass::Gpr => true,
            RegClass::Portable => value,
            RegClass::Mmx | RegClass::Xmm => false,
        };
        let fresh = arrived.insert(declared.reg) && declared.reg.pin.is_none();
        if index >= ARGUMENTS.len() || !file || !fresh || !parameter(func, declared) {
            ills.push(entry(Rule::Parameter(index)));
        }
    }
    let mut visit = |at: Site, reg: VReg, ills: &mut Vec<Ill>| {
        if *seen.entry(reg.index).or_insert(reg) != reg || reg.index >= func.vregs {
            ills.push(Ill { at, rule: Rule::Register(Name::Virtual(reg)) });
        }
    };
    for declared in &func.parameters {
        visit(Site::Entry, declared.reg, &mut ills);
    }
    let mut index = 0;
    registers(&func.body, &mut index, &mut |at, reg| visit(at, reg, &mut ills));
    for sub in &func.subs {
        registers(sub, &mut index, &mut |at, reg| {
            visit(at, reg, &mut ills);
            if reg.pin.is_none() {
                ills.push(Ill { at, rule: Rule::SubroutineRegister(Name::Virtual(reg)) });
            }
        });
    }
    if let Some(reg) = func.returns {
        visit(Site::Exit, reg, &mut ills);
    }
    ills
}

pub(super) fn physical_signature(func: &Func<Physical>) -> Vec<Ill> {
    let mut ills = Vec::new();
    for (index, declared) in func.parameters.iter().enumerate() {
        if ARGUMENTS.get(index) != Some(&declared.reg) || !parameter(func, declared) {
            ills.push(entry(Rule::Parameter(index)));
        }
    }
    let mut saved = BTreeSet::new();
    for reg in &func.frame.saved {
        if !CALLEE_SAVED.contains(reg) || !saved.insert(*reg) {
            ills.push(entry(Rule::Saved(*reg)));
        }
    }
    let mut index = 0;
    let exists = |reg: PReg| match reg.class {
        RegClass::Gpr => reg.number < 16,
        RegClass::Mmx => reg.number < 8,
        RegClass::Xmm => reg.number < 16,
        RegClass::Portable => false,
    };
    for nodes in std::iter::once(&func.body).chain(&func.subs) {
        registers(nodes, &mut index, &mut |at, reg| {
            if !exists(reg) {
                ills.push(Ill { at, rule: Rule::Register(Name::Physical(reg)) });
            }
        });
    }
    if let Some(reg) = func.returns
        && reg != RAX
    {
        ills.push(Ill { at: Site::Exit, rule: Rule::ReturnRegister(reg) });
    }
    ills
}
