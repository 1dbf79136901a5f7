//! Allocated functions, written by hand, with every kind of node and of line.

use kiln_codegen::ir::{
    Control, Frame, Func, Inst, Length, Loop, Mem, Node, Operand, Parameter, ParameterKind, Physical, Space, SubId,
    When,
};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::{CF, NONE, PReg, R8, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use kiln_codegen::isa::sse2::Sse2;

const R12: PReg = PReg::gpr(12);

fn reg(reg: PReg) -> Operand<PReg> {
    Operand::Reg(reg)
}

fn at(space: Space, base: PReg, disp: i32) -> Operand<PReg> {
    Operand::Mem(Mem { space, base, index: None, disp })
}

/// A baseline instruction.
pub fn base(op: Base, operands: &[Operand<PReg>]) -> Inst<PReg> {
    Inst { op: Op::Base(op), operands: operands.to_vec(), note: None }
}

fn xmm(op: Sse2, operands: &[Operand<PReg>]) -> Inst<PReg> {
    Inst { op: Op::Sse2(op), operands: operands.to_vec(), note: None }
}

fn limbs(name: &str, writes: bool, reg: PReg) -> Parameter<PReg> {
    let kind = ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes, cursor: 0 };
    Parameter { name: name.into(), kind, secret: true, may_equal: vec![], align: 1, reg }
}

fn function(name: &str, body: Vec<Node<PReg>>, subs: Vec<Vec<Node<PReg>>>, frame: Frame) -> Func<Physical> {
    let public =
        |name: &str, kind, reg| Parameter { name: name.into(), kind, secret: false, may_equal: vec![], align: 1, reg };
    Func {
        name: name.into(),
        limb_bits: 64,
        parameters: vec![
            limbs("r", true, RDI),
            limbs("a", false, RSI),
            public("n", ParameterKind::Count { min: 1, max: 1000 }, RDX),
            public("w", ParameterKind::Value { bits: 64 }, RCX),
        ],
        returns: Some(RAX),
        body,
        subs,
        pool: vec![],
        frame,
        exact: None,
        vregs: 0,
    }
}

/// Pushes, a frame with a word and a vector in it, a counted loop that calls a subroutine, a tail, a tail inside the subroutine:
/// `x := 0; for i in 0..n { r[i] += a[i]; x += a[i]; x := 3 x + 1 }; if w & 4 { x += 1000 }; x + w`.
pub fn every_node() -> Func<Physical> {
    let (slot, wide) = (at(Space::Frame, RSP, 8), at(Space::Frame, RSP, 16));
    let (vector, other) = (reg(PReg::xmm(15)), reg(PReg::xmm(8)));
    let start = vec![
        base(Base::Xor32, &[reg(RAX), reg(RAX)]),
        base(Base::Store, &[slot, reg(RCX)]),
        xmm(Sse2::MovdIn, &[vector, slot]),
        xmm(Sse2::MovdquStore, &[wide, vector]),
    ];
    let step = vec![
        Inst { note: Some("x += a[i]; r[i] += a[i]"), ..base(Base::Load, &[reg(RBX), at(Space::Argument(1), RSI, 0)]) },
        base(Base::AddMr, &[at(Space::Argument(0), RDI, 0), reg(RBX)]),
        base(Base::Add, &[reg(RAX), reg(RBX)]),
        base(Base::Lea, &[reg(RSI), at(Space::Argument(1), RSI, 8)]),
        base(Base::Lea, &[reg(RDI), at(Space::Argument(0), RDI, 8)]),
    ];
    let tail = vec![base(Base::AddRi, &[reg(RAX), Operand::Imm(1000)])];
    // + w, + (w mod 2^32) through the vector, - (w mod 2^32).
    let end = vec![
        base(Base::Load, &[reg(R12), slot]),
        base(Base::Add, &[reg(RAX), reg(R12)]),
        xmm(Sse2::MovdquLoad, &[other, wide]),
        xmm(Sse2::MovqOut, &[reg(R12), other]),
        base(Base::Add, &[reg(RAX), reg(R12)]),
        base(Base::Mov32, &[reg(RCX), reg(RCX)]),
        base(Base::Sub, &[reg(RAX), reg(RCX)]),
    ];
    let triple = Mem { space: Space::Nowhere, base: RAX, index: Some((RAX, 2)), disp: 1 };
    let sub = vec![
        Node::Block(vec![base(Base::Lea, &[reg(RBP), Operand::Mem(triple)]), base(Base::Mov, &[reg(RAX), reg(RBP)])]),
        Node::When(When {
            reg: RBP,
            mask: None,
            body: vec![Node::Block(vec![base(Base::Not, &[reg(RAX)]), base(Base::Not, &[reg(RAX)])])],
        }),
    ];
    let body = vec![
        Node::Block(start),
        Node::Loop(Loop {
            counter: RDX,
            control: Control::Decrement,
            live_flags: NONE,
            body: vec![Node::Block(step), Node::Call(SubId(0))],
        }),
        Node::When(When { reg: RCX, mask: Some(4), body: vec![Node::Block(tail)] }),
        Node::Block(end),
    ];
    let frame = Frame { saved: vec![RBX, RBP, R12], slots: 4, spills: 4 };
    function("test/every_node", body, vec![sub], frame)
}

/// A loop with a carry across its back-edge: `r := r + a`, returns the carry. `frame` bytes are opened for nothing.
pub fn carry_chain(slots: u32) -> Func<Physical> {
    let start = vec![base(Base::Mov, &[reg(RCX), reg(RDX)]), base(Base::Xor32, &[reg(RAX), reg(RAX)])];
    let step = vec![
        base(Base::Load, &[reg(R8), at(Space::Argument(1), RSI, 0)]),
        base(Base::AdcMr, &[at(Space::Argument(0), RDI, 0), reg(R8)]),
        base(Base::Lea, &[reg(RSI), at(Space::Argument(1), RSI, 8)]),
        base(Base::Lea, &[reg(RDI), at(Space::Argument(0), RDI, 8)]),
    ];
    let body = vec![
        Node::Block(start),
        Node::Loop(Loop { counter: RCX, control: Control::FlagFree, live_flags: CF, body: vec![Node::Block(step)] }),
        Node::Block(vec![base(Base::AdcRi, &[reg(RAX), Operand::Imm(0)])]),
    ];
    function("test/carry_chain", body, vec![], Frame { saved: vec![], slots, spills: 0 })
}

/// Jumps over `filler` bytes (at least 2): a loop around a tail around them, and a second loop whose control leaves the flags
/// alone. Complements and moves, which change nothing in the end only for an even count of complements.
pub fn long_jumps(filler: usize) -> Func<Physical> {
    // 3 bytes each, and 2 bytes each for the rest.
    let twos = (3 - filler % 3) % 3;
    let threes = (filler - 2 * twos) / 3;
    let mut block = vec![base(Base::Not, &[reg(RAX)]); threes];
    block.extend(vec![base(Base::Mov32, &[reg(RAX), reg(RAX)]); twos]);
    let tail = |body| Node::When(When { reg: RDX, mask: None, body });
    let counted = |counter, control, body| Node::Loop(Loop { counter, control, live_flags: NONE, body });
    let body = vec![
        counted(RDX, Control::Decrement, vec![tail(vec![Node::Block(block.clone())])]),
        counted(RCX, Control::FlagFree, vec![Node::Block(block)]),
    ];
    function("test/long_jumps", body, vec![], Frame::default())
}

/// Two constants behind the code, one of them read from a subroutine: `(r[0], r[1]) = (a[0], a[1]) xor (c, c)`, returns d.
pub fn constants() -> Func<Physical> {
    let vector = reg(PReg::xmm(9));
    let read = |disp| at(Space::Pool, R12, disp);
    let body = vec![
        base(Base::Pool, &[reg(R12)]),
        xmm(Sse2::MovdquLoad, &[vector, at(Space::Argument(1), RSI, 0)]),
        xmm(Sse2::Pxor, &[vector, read(32)]),
        xmm(Sse2::MovdquStore, &[at(Space::Argument(0), RDI, 0), vector]),
    ];
    let sub = vec![base(Base::Load, &[reg(RAX), read(8)])];
    let frame = Frame { saved: vec![R12], slots: 0, spills: 0 };
    let body = vec![Node::Block(body), Node::Call(SubId(0))];
    let mut func = function("test/constants", body, vec![vec![Node::Block(sub)]], frame);
    func.pool = [[0x11; 32], [0xf0; 32]].concat();
    func
}

/// One function of these instructions, which is not for running.
pub fn listed(name: &str, insts: Vec<Inst<PReg>>) -> Func<Physical> {
    function(name, vec![Node::Block(insts)], vec![], Frame::default())
}

/// A saved register, a frame, and a subroutine that loads `a[0]`: a place to fault, to be stopped or to be sampled in.
pub fn load_in_subroutine() -> Func<Physical> {
    let load = base(Base::Load, &[reg(RAX), at(Space::Argument(1), RSI, 0)]);
    let body = vec![Node::Block(vec![base(Base::Mov, &[reg(RBX), reg(RSI)])]), Node::Call(SubId(0))];
    let frame = Frame { saved: vec![RBX], slots: 3, spills: 0 };
    function("test/load_in_subroutine", body, vec![vec![Node::Block(vec![load])]], frame)
}
