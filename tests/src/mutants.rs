//! Faulty kernels, each a shipped variant with one thing changed after allocation: what verification must catch.

use crate::edits::{inst, reg};
use crate::forms;
use kiln_codegen::compile::{Compiled, Form};
use kiln_codegen::ir::{Control, Func, Inst, Loop, Mem, Node, Operand, Physical, Space};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::{NONE, PReg, R9, RAX, RBP, RBX};
use kiln_runtime::candidate::{Candidate, Made};
use kiln_runtime::exec::{Code, Refused};
use kiln_runtime::provide::facts;

/// The faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// The carry out of the loop's body is dropped: wrong only when one runs over an unroll boundary.
    LostCarry,
    /// The tail of one limb adds nothing of r: wrong at n = unroll + 1, right at every multiple of the unroll.
    UnrollPlusOne,
    /// The last store lies one byte too far.
    PastTheEnd,
    /// A callee-saved register is written and not restored.
    Clobber,
    /// A loop that never ends.
    Endless,
    /// A load from address 0.
    Crash,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 6] =
        [Mutant::LostCarry, Mutant::UnrollPlusOne, Mutant::PastTheEnd, Mutant::Clobber, Mutant::Endless, Mutant::Crash];

    /// The word for it, also the last part of its variant's name.
    pub const fn word(self) -> &'static str {
        match self {
            Mutant::LostCarry => "lost_carry",
            Mutant::UnrollPlusOne => "unroll_plus_one",
            Mutant::PastTheEnd => "past_the_end",
            Mutant::Clobber => "clobber",
            Mutant::Endless => "endless",
            Mutant::Crash => "crash",
        }
    }

    /// The mutant with that word.
    pub fn parse(word: &str) -> Option<Mutant> {
        Mutant::ALL.into_iter().find(|mutant| mutant.word() == word)
    }

    /// Whether it stops or kills the process that runs it, so that only a child process can find it out.
    pub const fn kills(self) -> bool {
        matches!(self, Mutant::Endless | Mutant::Crash)
    }

    /// The variant that is changed.
    pub const fn original(self) -> &'static str {
        match self {
            Mutant::PastTheEnd => "limb64.mul_add/mul.exact4",
            _ => "limb64.mul_add/mul.u4",
        }
    }

    /// The name of the faulty variant.
    pub fn name(self) -> String {
        format!("{}.mutant_{}", self.original(), self.word())
    }

    /// The faulty function.
    pub fn func(self) -> Func<Physical> {
        let Form::Machine(mut func) = self.compiled().form.clone() else { unreachable!("machine code") };
        let changed = match self {
            Mutant::LostCarry => change(&mut func.body, Within::Loop, &mut |insts| replace_last_adc(insts)),
            Mutant::UnrollPlusOne => change(&mut func.body, Within::TailOfOne, &mut |insts| drop_r(insts)),
            Mutant::PastTheEnd => change(&mut func.body, Within::Function, &mut |insts| shift_last_store(insts)),
            Mutant::Clobber => {
                let saved = &func.frame.saved;
                let victim = [RBX, RBP].into_iter().find(|reg| !saved.contains(reg)).expect("one is not saved");
                prepend(&mut func.body, Node::Block(vec![inst(Base::MovImm32, vec![reg(victim), Operand::Imm(0)])]));
                true
            }
            Mutant::Endless => {
                // r9 carries no argument: it goes up in the body what the control takes down.
                let body = vec![Node::Block(vec![inst(Base::Inc, vec![reg(R9)])])];
                let endless = Loop { counter: R9, control: Control::Decrement, live_flags: NONE, body };
                prepend(&mut func.body, Node::Loop(endless));
                prepend(&mut func.body, Node::Block(vec![inst(Base::MovImm32, vec![reg(R9), Operand::Imm(1)])]));
                true
            }
            Mutant::Crash => {
                let null = Mem { space: Space::Nowhere, base: RAX, index: None, disp: 0 };
                prepend(
                    &mut func.body,
                    Node::Block(vec![
                        inst(Base::MovImm32, vec![reg(RAX), Operand::Imm(0)]),
                        inst(Base::Load, vec![reg(RAX), Operand::Mem(null)]),
                    ]),
                );
                true
            }
        };
        assert!(changed, "{self:?} changes something");
        func.name = self.name();
        func
    }

    fn compiled(self) -> &'static Compiled<'static> {
        let original = forms::compiled().iter().find(|compiled| compiled.plan.name == self.original());
        original.expect("a shipped variant")
    }

    /// The faulty variant in executable memory.
    ///
    /// # Errors
    /// When there is no executable memory.
    pub fn candidate(self) -> Result<Candidate, Refused> {
        let bytes = kiln_codegen::backend::machine::assemble(&self.func()).expect("encodes");
        let code = Code::publish(&[&bytes])?;
        let code_hash = format!("{} of {}", self.word(), self.compiled().code_hash);
        let made = Made { name: self.name(), code_hash, startup: true, ..facts(self.compiled()) };
        // SAFETY: generated for the contract of the kernel in its name, with the features of the original, whose
        // instructions it consists of. It is wrong in what it computes, which `made` allows.
        Ok(unsafe { Candidate::made(made, code.entries()[0]) })
    }
}

fn prepend(body: &mut Vec<Node<PReg>>, node: Node<PReg>) {
    body.insert(0, node);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Function,
    Loop,
    TailOfOne,
}

/// Changes one block of the part of the function that is asked for; tells whether it did.
fn change(nodes: &mut [Node<PReg>], within: Within, edit: &mut dyn FnMut(&mut Vec<Inst<PReg>>) -> bool) -> bool {
    nodes.iter_mut().rev().any(|node| match node {
        Node::Block(insts) => within == Within::Function && edit(insts),
        Node::Loop(inner) => {
            let next = if within == Within::Loop { Within::Function } else { within };
            change(&mut inner.body, next, edit)
        }
        Node::When(inner) => {
            let here = within == Within::TailOfOne && inner.mask == Some(1);
            change(&mut inner.body, if here { Within::Function } else { within }, edit)
        }
        Node::Call(_) => false,
    })
}

/// `adc high, 0` becomes `mov high, high`.
fn replace_last_adc(insts: &mut [Inst<PReg>]) -> bool {
    let Some(found) = insts.iter_mut().rev().find(|inst| inst.op == Op::Base(Base::AdcRi)) else { return false };
    let high = found.operands[0];
    *found = inst(Base::Mov, vec![high, high]);
    true
}

/// `add low, [r]` becomes `add low, low`: r is never read.
fn drop_r(insts: &mut [Inst<PReg>]) -> bool {
    let from_r = |inst: &&mut Inst<PReg>| {
        inst.op == Op::Base(Base::Add) && inst.memory().is_some_and(|(mem, ..)| mem.space == Space::Argument(0))
    };
    let Some(found) = insts.iter_mut().find(from_r) else { return false };
    found.operands[1] = found.operands[0];
    true
}

fn shift_last_store(insts: &mut [Inst<PReg>]) -> bool {
    let Some(found) = insts.iter_mut().rev().find(|inst| inst.op == Op::Base(Base::Store)) else { return false };
    let Some(Operand::Mem(mem)) = found.operands.first_mut() else { return false };
    mem.disp += 1;
    true
}
