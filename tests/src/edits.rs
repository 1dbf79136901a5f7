//! Small changes of allocated functions, to take a guard away: one instruction replaced, dropped or put in. Knows no kernel.

use kiln_codegen::ir::{Func, Inst, Loop, Mem, Node, Operand, Physical, Space};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::PReg;

/// A register as an operand.
pub fn reg(reg: PReg) -> Operand<PReg> {
    Operand::Reg(reg)
}

/// A baseline instruction.
pub fn inst(op: Base, operands: Vec<Operand<PReg>>) -> Inst<PReg> {
    Inst { op: Op::Base(op), operands, note: None }
}

/// The same instruction with another baseline operation of the same operands.
pub fn with(op: Base, old: &Inst<PReg>) -> Inst<PReg> {
    inst(op, old.operands.clone())
}

/// An instruction that changes nothing: its first operand, a register, moved to itself.
pub fn kept(old: &Inst<PReg>) -> Inst<PReg> {
    inst(Base::Mov, vec![old.operands[0], old.operands[0]])
}

/// Whether an instruction is one of these baseline operations.
pub fn is(inst: &Inst<PReg>, ops: &[Base]) -> bool {
    ops.iter().any(|op| inst.op == Op::Base(*op))
}

/// Puts a block before the body.
pub fn prepend(func: &mut Func<Physical>, insts: Vec<Inst<PReg>>) {
    func.body.insert(0, Node::Block(insts));
}

/// Puts a block behind the body.
pub fn append(func: &mut Func<Physical>, insts: Vec<Inst<PReg>>) {
    func.body.push(Node::Block(insts));
}

/// Whether a block is in a loop, and in a tail.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Place {
    /// In a loop's body.
    pub in_loop: bool,
    /// In a tail that runs for one limb or block.
    pub in_tail_of_one: bool,
    /// The mask of the innermost part that runs when some bits are set; `None` outside of any, and in one that runs when a
    /// register is not 0.
    pub tail: Option<i32>,
    /// The masks of all of those around it, together.
    around: i32,
}

impl Place {
    /// Whether it is in a part that runs when these bits are set, however deep.
    pub fn in_tail_of(self, mask: i32) -> bool {
        self.around & mask != 0
    }
}

/// Edits each block with its place, in order.
pub fn blocks(func: &mut Func<Physical>, edit: &mut dyn FnMut(Place, &mut Vec<Inst<PReg>>)) {
    fn walk(nodes: &mut [Node<PReg>], place: Place, edit: &mut dyn FnMut(Place, &mut Vec<Inst<PReg>>)) {
        for node in nodes {
            match node {
                Node::Block(insts) => edit(place, insts),
                Node::Loop(inner) => walk(&mut inner.body, Place { in_loop: true, ..place }, edit),
                Node::When(inner) => {
                    let in_tail_of_one = place.in_tail_of_one || inner.mask == Some(1);
                    let around = place.around | inner.mask.unwrap_or(0);
                    walk(&mut inner.body, Place { in_tail_of_one, tail: inner.mask, around, ..place }, edit);
                }
                Node::Call(_) => {}
            }
        }
    }
    walk(&mut func.body, Place::default(), edit);
}

/// Edits each loop with the nodes around it, innermost first; tells whether one edit did something.
pub fn loops(func: &mut Func<Physical>, edit: &mut dyn FnMut(&mut Vec<Node<PReg>>, usize) -> bool) -> bool {
    fn walk(nodes: &mut Vec<Node<PReg>>, edit: &mut dyn FnMut(&mut Vec<Node<PReg>>, usize) -> bool) -> bool {
        (0..nodes.len()).rev().any(|index| {
            let inside = match &mut nodes[index] {
                Node::Loop(inner) => walk(&mut inner.body, edit),
                Node::When(inner) => walk(&mut inner.body, edit),
                Node::Block(_) | Node::Call(_) => false,
            };
            inside || (matches!(nodes[index], Node::Loop(_)) && edit(nodes, index))
        })
    }
    walk(&mut func.body, edit)
}

/// Edits the control of the last loop; tells whether there is one.
pub fn last_loop(func: &mut Func<Physical>, edit: impl Fn(&mut Loop<PReg>)) -> bool {
    loops(func, &mut |nodes, index| {
        let Node::Loop(inner) = &mut nodes[index] else { return false };
        edit(inner);
        true
    })
}

/// Which of the instructions that fit is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first.
    First,
    /// The second.
    Second,
    /// The last.
    Last,
    /// Every one.
    Each,
}

/// Replaces an instruction that fits by others; tells whether there is one.
pub fn replace(
    func: &mut Func<Physical>,
    which: Which,
    fits: impl Fn(Place, &Inst<PReg>) -> bool,
    by: impl Fn(&Inst<PReg>) -> Vec<Inst<PReg>>,
) -> bool {
    let mut found = 0;
    blocks(func, &mut |place, insts| found += insts.iter().filter(|inst| fits(place, inst)).count());
    let meant = match which {
        Which::First => 0..1,
        Which::Second => 1..2,
        Which::Last => found.saturating_sub(1)..found,
        Which::Each => 0..found,
    };
    let mut seen = 0;
    let mut changed = false;
    blocks(func, &mut |place, insts| {
        let old = std::mem::take(insts);
        for inst in old {
            let hit = fits(place, &inst);
            if hit && meant.contains(&seen) {
                insts.extend(by(&inst));
                changed = true;
            } else {
                insts.push(inst.clone());
            }
            seen += usize::from(hit);
        }
    });
    changed
}

/// The base of the last access to the memory of an argument: where its pointer has walked to.
pub fn walked(func: &Func<Physical>, argument: u8) -> Option<Mem<PReg>> {
    let accesses = func.instructions();
    let place =
        accesses.iter().rev().find_map(|inst| inst.memory().filter(|(mem, ..)| mem.space == Space::Argument(argument)));
    place.map(|(mem, ..)| Mem { disp: 0, index: None, ..*mem })
}

/// Takes away the test before the first loop, which is then entered for n = 0; whether there was one.
pub fn unguarded(func: &mut Func<Physical>) -> bool {
    let guarded = |node: &Node<PReg>| match node {
        Node::When(inner) => inner.mask.is_none() && inner.body.iter().any(|node| matches!(node, Node::Loop(_))),
        Node::Block(_) | Node::Loop(_) | Node::Call(_) => false,
    };
    let Some(index) = func.body.iter().position(guarded) else { return false };
    let Node::When(inner) = func.body.remove(index) else { return false };
    func.body.splice(index..index, inner.body);
    true
}
