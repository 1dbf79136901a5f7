//! Which registers of a function are shared between the bodies of the Rust that is printed. Knows nodes, and no Rust.

use crate::ir::{Inst, Node, Operand, VReg};
use std::collections::{BTreeMap, BTreeSet};

/// Finds the registers that need a declaration before everything: written more than once, or used outside the body in which
/// they are first written and the bodies inside it.
#[derive(Default)]
pub(super) struct Scopes {
    /// The body around each body but the outermost.
    parents: Vec<u32>,
    /// The body in which each register is first written.
    pub(super) home: BTreeMap<VReg, u32>,
    pub(super) shared: BTreeSet<VReg>,
}

impl Scopes {
    pub(super) fn nodes(&mut self, nodes: &[Node<VReg>], scope: u32) {
        for node in nodes {
            match node {
                Node::Block(insts) => insts.iter().for_each(|inst| self.inst(inst, scope)),
                Node::Loop(inner) => {
                    self.used(inner.counter, scope);
                    self.inside(&inner.body, scope);
                }
                Node::When(inner) => {
                    self.used(inner.reg, scope);
                    self.inside(&inner.body, scope);
                }
                Node::Call(_) => {}
            }
        }
    }

    fn inside(&mut self, nodes: &[Node<VReg>], scope: u32) {
        self.parents.push(scope);
        let own = u32::try_from(self.parents.len()).expect("few bodies");
        self.nodes(nodes, own);
    }

    fn inst(&mut self, inst: &Inst<VReg>, scope: u32) {
        for (operand, spec) in inst.operands.iter().zip(inst.op.row().operands) {
            if !matches!(operand, Operand::Reg(_)) || spec.access.reads() {
                operand.registers().for_each(|reg| self.used(reg, scope));
            }
            let Operand::Reg(reg) = operand else { continue };
            if spec.access.writes() {
                match self.home.get(reg) {
                    None => {
                        self.home.insert(*reg, scope);
                    }
                    Some(_) if spec.access.reads() => {}
                    Some(_) => {
                        self.shared.insert(*reg);
                    }
                }
            }
        }
    }

    /// A register is used: outside its home it must be declared outside.
    fn used(&mut self, reg: VReg, scope: u32) {
        let Some(home) = self.home.get(&reg) else { return };
        let mut around = scope;
        while around > *home {
            around = self.parents[around as usize - 1];
        }
        if around != *home {
            self.shared.insert(reg);
        }
    }
}
