//! Lays a `Func<Physical>` out as the list of lines that every machine backend prints or encodes: prologue, body with
//! loop control and jumps, epilogue, subroutines. The one place that knows how a node becomes jumps.

use super::*;
use crate::isa::base::Base;
use crate::isa::row::{RCX, RSP};

/// A place that can be jumped to, unique in the function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Label(pub u32);

/// When a jump is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    /// `jmp`.
    Always,
    /// `jz`.
    Zero,
    /// `jnz`.
    NotZero,
    /// `jrcxz`: rcx is 0; reads no flag. Its displacement is 8 bits.
    RcxZero,
}

impl Jump {
    /// The assembler's mnemonic.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Jump::Always => "jmp",
            Jump::Zero => "jz",
            Jump::NotZero => "jnz",
            Jump::RcxZero => "jrcxz",
        }
    }
}

/// One line of a laid-out function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// An instruction of the table.
    Inst(Inst<PReg>),
    /// A label.
    Label(Label),
    /// A jump.
    Jump(Jump, Label),
    /// A call of a private subroutine.
    Call(Label),
    /// `push` of a callee-saved register; unwind tables follow.
    Push(PReg),
    /// `pop` of a callee-saved register.
    Pop(PReg),
    /// `sub rsp, bytes`: opens the frame.
    Reserve(u32),
    /// `add rsp, bytes`: closes it.
    Release(u32),
    /// `ret`.
    Ret,
    /// The pool of constants, at a multiple of [`POOL_ALIGNMENT`]: the last line, if there is a pool.
    Pool(Vec<u8>),
}

struct Layout {
    lines: Vec<Line>,
    labels: u32,
    subs: Vec<Label>,
}

impl Layout {
    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    fn base(&mut self, op: Base, operands: Vec<Operand<PReg>>) {
        self.lines.push(Line::Inst(Inst { op: Op::Base(op), operands, note: None }));
    }

    fn nodes(&mut self, nodes: &[Node<PReg>]) {
        for node in nodes {
            match node {
                Node::Block(insts) => self.lines.extend(insts.iter().cloned().map(Line::Inst)),
                Node::Loop(inner) => self.counted(inner),
                Node::When(inner) => {
                    let skip = self.label();
                    let reg = Operand::Reg(inner.reg);
                    match inner.mask {
                        None => self.base(Base::Test, vec![reg, reg]),
                        Some(mask) => self.base(Base::TestRi, vec![reg, Operand::Imm(mask.into())]),
                    }
                    self.lines.push(Line::Jump(Jump::Zero, skip));
                    self.nodes(&inner.body);
                    self.lines.push(Line::Label(skip));
                }
                Node::Call(sub) => {
                    let label = self.subs[sub.0 as usize];
                    self.lines.push(Line::Call(label));
                }
            }
        }
    }

    fn counted(&mut self, inner: &Loop<PReg>) {
        let top = self.label();
        self.lines.push(Line::Label(top));
        self.nodes(&inner.body);
        match inner.control {
            Control::Decrement => {
                self.base(Base::Dec, vec![Operand::Reg(inner.counter)]);
                self.lines.push(Line::Jump(Jump::NotZero, top));
            }
            Control::FlagFree => {
                assert_eq!(inner.counter, RCX, "jrcxz counts in rcx");
                let out = self.label();
                let less = Mem { space: Space::Nowhere, base: RCX, index: None, disp: -1 };
                self.base(Base::Lea, vec![Operand::Reg(RCX), Operand::Mem(less)]);
                self.lines.push(Line::Jump(Jump::RcxZero, out));
                self.lines.push(Line::Jump(Jump::Always, top));
                self.lines.push(Line::Label(out));
            }
        }
    }
}

impl Func<Physical> {
    /// The lines of the function in order. Spill slots are addressed from `rsp`, which stands still between the prologue and
    /// the epilogue (inside a subroutine it is 8 lower: subroutines have no slots).
    pub fn lines(&self) -> Vec<Line> {
        let mut layout = Layout { lines: Vec::new(), labels: 0, subs: Vec::new() };
        for _ in &self.subs {
            let label = layout.label();
            layout.subs.push(label);
        }
        layout.lines.extend(self.frame.saved.iter().map(|reg| Line::Push(*reg)));
        let reserved = self.reserved_bytes();
        if reserved > 0 {
            layout.lines.push(Line::Reserve(reserved));
        }
        layout.nodes(&self.body);
        if reserved > 0 {
            layout.lines.push(Line::Release(reserved));
        }
        layout.lines.extend(self.frame.saved.iter().rev().map(|reg| Line::Pop(*reg)));
        layout.lines.push(Line::Ret);
        for (index, sub) in self.subs.iter().enumerate() {
            let label = layout.subs[index];
            layout.lines.push(Line::Label(label));
            layout.nodes(sub);
            layout.lines.push(Line::Ret);
        }
        if !self.pool.is_empty() {
            layout.lines.push(Line::Pool(self.pool.clone()));
        }
        layout.lines
    }

    /// Bytes of the frame below the saved registers.
    pub fn reserved_bytes(&self) -> u32 {
        self.frame.slots * 8
    }

    /// The stack pointer, as the base of spill slots.
    pub const STACK: PReg = RSP;
}
