//! A kernel written by hand, on virtual registers and allocated: what the interpreter executes without a family or a pass.

use kiln_codegen::ir::interpret::{Argument, Call};
use kiln_codegen::ir::*;
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::{CF, OF, PReg, RAX, RBX, RCX, RDI, RDX, RSI, RSP};

const COUNT: ParameterKind = ParameterKind::Count { min: 0, max: 1 << 16 };
const VALUE: ParameterKind = ParameterKind::Value { bits: 64 };

/// r := r + a w, the carry limb returned, with mulx and a flag-free loop. The chains' CF is live across the back-edge.
pub fn mul_add() -> Func<Virtual> {
    let mut b = Builder::new("mul_add", 64);
    let read =
        ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: false, cursor: 0 };
    let both = ParameterKind::Pointer { element_bytes: 8, length: Length::of(2), reads: true, writes: true, cursor: 0 };
    let r = b.parameter("r", both, true, &[]);
    let a = b.parameter("a", read, true, &[0]);
    let n = b.parameter("n", COUNT, false, &[]);
    let w = b.parameter("w", VALUE, true, &[]);
    let [carry, lo, hi, zero] = [(); 4].map(|()| b.gpr());
    let (rdx, rcx) = (b.pinned(RDX), b.pinned(RCX));
    b.mov_imm(carry, 0i64);
    b.when_nonzero(n, |b| {
        b.mov(rcx, n);
        b.mov(rdx, w);
        b.xor32(zero, zero);
        b.counted_flag_free(rcx, CF.union(OF), |b| {
            let (here, there) = (b.at(1, a, 0), b.at(0, r, 0));
            b.mulx(hi, lo, here, rdx);
            b.adcx(lo, carry);
            b.adox(lo, there);
            b.store(there, lo);
            b.mov(carry, hi);
            b.advance(0, r, 8);
            b.advance(1, a, 8);
        });
        b.adcx(carry, zero);
        b.adox(carry, zero);
    });
    b.finish(Some(carry.0), None)
}

/// The same function with the registers that `assign` gives, and the frame.
pub fn allocated(func: &Func<Virtual>, frame: Frame, assign: impl Fn(VReg) -> PReg) -> Func<Physical> {
    type Assign<'a> = &'a dyn Fn(VReg) -> PReg;
    fn operand(operand: &Operand<VReg>, assign: Assign<'_>) -> Operand<PReg> {
        match operand {
            Operand::Reg(reg) => Operand::Reg(assign(*reg)),
            Operand::Imm(value) => Operand::Imm(*value),
            Operand::Mem(mem) => Operand::Mem(Mem {
                space: mem.space,
                base: assign(mem.base),
                index: mem.index.map(|(reg, scale)| (assign(reg), scale)),
                disp: mem.disp,
            }),
        }
    }
    fn nodes(list: &[Node<VReg>], assign: Assign<'_>) -> Vec<Node<PReg>> {
        let inst = |inst: &Inst<VReg>| Inst {
            op: inst.op,
            operands: inst.operands.iter().map(|op| operand(op, assign)).collect(),
            note: inst.note,
        };
        let node = |node: &Node<VReg>| match node {
            Node::Block(insts) => Node::Block(insts.iter().map(inst).collect()),
            Node::Loop(inner) => Node::Loop(Loop {
                counter: assign(inner.counter),
                control: inner.control,
                live_flags: inner.live_flags,
                body: nodes(&inner.body, assign),
            }),
            Node::When(inner) => {
                Node::When(When { reg: assign(inner.reg), mask: inner.mask, body: nodes(&inner.body, assign) })
            }
            Node::Call(sub) => Node::Call(*sub),
        };
        list.iter().map(node).collect()
    }
    let parameter = |parameter: &Parameter<VReg>| Parameter {
        name: parameter.name.clone(),
        kind: parameter.kind,
        secret: parameter.secret,
        may_equal: parameter.may_equal.clone(),
        align: parameter.align,
        reg: assign(parameter.reg),
    };
    Func {
        name: func.name.clone(),
        limb_bits: func.limb_bits,
        parameters: func.parameters.iter().map(parameter).collect(),
        returns: func.returns.map(&assign),
        body: nodes(&func.body, &assign),
        pool: vec![],
        subs: func.subs.iter().map(|sub| nodes(sub, &assign)).collect(),
        frame,
        exact: func.exact,
        vregs: func.vregs,
    }
}

/// `mul_add` with rdi, rsi, rdx, rcx as arguments: n and w move out of the way of the pinned registers first.
pub fn mul_add_allocated() -> Func<Physical> {
    let func = mul_add();
    // r, a, n, w, carry, lo, hi, zero.
    let free = [RDI, RSI, RDX, RCX, RAX, PReg::gpr(8), PReg::gpr(9), RBX].map(Some);
    let mut physical = allocated(&func, Frame { saved: vec![RBX], slots: 1, spills: 2 }, |reg| {
        reg.pin.or_else(|| free[reg.index as usize]).unwrap()
    });
    let slot = Mem { space: Space::Frame, base: RSP, index: None, disp: 0 };
    let line = |op, operands| Inst { op: Op::Base(op), operands, note: None };
    let spill = line(Base::Store, vec![Operand::Mem(slot), Operand::Reg(RCX)]);
    let reload = line(Base::Load, vec![Operand::Reg(RDX), Operand::Mem(slot)]);
    physical.body.insert(0, Node::Block(vec![spill]));
    let Some(Node::When(when)) = physical.body.last_mut() else { panic!("the tail") };
    let Some(Node::Block(insts)) = when.body.first_mut() else { panic!("the moves") };
    insts[1] = reload;
    physical
}

/// A call of it: `r + a * w`, over as many limbs as `r` has.
pub fn mul_add_call(r: &[u64], a: &[u64], w: u64) -> Call {
    let n = Argument::Integer(r.len() as u64);
    Call::new(vec![Argument::limbs64(r), Argument::limbs64(a), n, Argument::Integer(w)])
}
