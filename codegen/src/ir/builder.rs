//! Builds a `Func<Virtual>`, one instruction a call. The typed methods, one for each row, come from the instruction table.

use super::typed::{Gpr, Mmx, Place, Val, Xmm, Ymm};
use super::*;
use crate::isa::row::{FlagSet, NONE};

/// A function under construction.
#[derive(Debug)]
pub struct Builder {
    func: Func<Virtual>,
    /// Bodies that are open: the function's own, then each open loop, tail or subroutine.
    open: Vec<Vec<Node<VReg>>>,
    note: Option<&'static str>,
}

impl Builder {
    /// Starts a function. Parameters come next, in the order of the ABI.
    pub fn new(name: impl Into<String>, limb_bits: u32) -> Builder {
        let func = Func {
            name: name.into(),
            limb_bits,
            parameters: Vec::new(),
            returns: None,
            body: Vec::new(),
            subs: Vec::new(),
            pool: Vec::new(),
            frame: (),
            exact: None,
            vregs: 0,
        };
        Builder { func, open: vec![Vec::new()], note: None }
    }

    fn fresh(&mut self, class: RegClass, pin: Option<PReg>) -> VReg {
        let index = self.func.vregs;
        self.func.vregs += 1;
        VReg { index, class, pin }
    }

    /// A new general register.
    pub fn gpr(&mut self) -> Gpr {
        Gpr(self.fresh(RegClass::Gpr, None))
    }
    /// A new general register that must be `reg`.
    pub fn pinned(&mut self, reg: PReg) -> Gpr {
        Gpr(self.fresh(RegClass::Gpr, Some(reg)))
    }
    /// A new MMX register.
    pub fn mmx(&mut self) -> Mmx {
        Mmx(self.fresh(RegClass::Mmx, None))
    }
    /// A new vector register.
    pub fn xmm(&mut self) -> Xmm {
        Xmm(self.fresh(RegClass::Xmm, None))
    }
    /// A new vector register of 256 bits.
    pub fn ymm(&mut self) -> Ymm {
        Ymm(self.fresh(RegClass::Xmm, None))
    }
    /// A new portable value.
    pub fn val(&mut self) -> Val {
        Val(self.fresh(RegClass::Portable, None))
    }

    /// Declares the next parameter, which arrives in a general register.
    pub fn parameter(&mut self, name: &str, kind: ParameterKind, secret: bool, may_equal: &[u8]) -> Gpr {
        let reg = self.gpr();
        self.declare(name, kind, secret, may_equal, reg.0);
        reg
    }

    /// Declares the next parameter as a value of the portable ISA.
    pub fn parameter_val(&mut self, name: &str, kind: ParameterKind, secret: bool) -> Val {
        let reg = self.val();
        self.declare(name, kind, secret, &[], reg.0);
        reg
    }

    fn declare(&mut self, name: &str, kind: ParameterKind, secret: bool, may_equal: &[u8], reg: VReg) {
        let may_equal = may_equal.to_vec();
        self.func.parameters.push(Parameter { name: name.into(), kind, secret, may_equal, align: 1, reg });
    }

    /// Promises that the pointer with that index is a multiple of `bytes`, as its contract says.
    pub fn aligned(&mut self, parameter: u8, bytes: u32) {
        self.func.parameters[usize::from(parameter)].align = bytes;
    }

    /// Puts a public constant into the pool, if it is not there yet; its offset, a multiple of [`POOL_ALIGNMENT`].
    pub fn constant(&mut self, bytes: &[u8]) -> i32 {
        let step = POOL_ALIGNMENT as usize;
        let pool = &mut self.func.pool;
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(step), 0);
        let known = (0..pool.len()).step_by(step).find(|start| pool[*start..].starts_with(&padded));
        let offset = known.unwrap_or_else(|| {
            pool.extend(&padded);
            pool.len() - padded.len()
        });
        i32::try_from(offset).expect("a pool below 2^31 bytes")
    }

    /// The memory `offset` bytes into the pool, which starts at `base`: what [`Builder::pool`] left.
    pub fn pooled(&self, base: Gpr, offset: i32) -> Place {
        Place(Mem { space: Space::Pool, base: base.0, index: None, disp: offset })
    }

    /// The memory `disp` bytes after the pointer `base`, which belongs to the parameter with that index.
    pub fn at(&self, parameter: u8, base: Gpr, disp: i32) -> Place {
        Place(Mem { space: Space::Argument(parameter), base: base.0, index: None, disp })
    }

    /// The memory `disp` bytes after `base`, whatever it points into: in subroutines.
    pub fn at_pointed(&self, base: Gpr, disp: i32) -> Place {
        Place(Mem { space: Space::Pointed, base: base.0, index: None, disp })
    }

    /// Moves the pointer `base` on by `bytes`, leaving the flags alone.
    pub fn advance(&mut self, parameter: u8, base: Gpr, bytes: i32) {
        let place = self.at(parameter, base, bytes);
        self.lea(base, place);
    }

    /// The note for the next instruction: a step of the algorithm, never an opcode.
    pub fn note(&mut self, note: &'static str) {
        self.note = Some(note);
    }

    /// Appends an instruction. The typed methods call this.
    ///
    /// # Panics
    /// When an operand does not fit the row: a fault in a family.
    pub fn push(&mut self, op: Op, operands: Vec<Operand<VReg>>) {
        let inst = Inst { op, operands, note: self.note.take() };
        if let Err(why) = crate::ir::wellformed::fits(&inst) {
            panic!("{}: {why} in {inst:?}, row {:?}", self.func.name, op.row());
        }
        let body = self.open.last_mut().expect("a body is open");
        match body.last_mut() {
            Some(Node::Block(insts)) => insts.push(inst),
            _ => body.push(Node::Block(vec![inst])),
        }
    }

    fn nested(&mut self, build: impl FnOnce(&mut Builder)) -> Vec<Node<VReg>> {
        self.open.push(Vec::new());
        build(self);
        self.open.pop().expect("the body just opened")
    }

    fn close(&mut self, node: Node<VReg>) {
        self.open.last_mut().expect("a body is open").push(node);
    }

    /// A loop of `counter` trips (at least one).
    pub fn counted(&mut self, counter: Gpr, build: impl FnOnce(&mut Builder)) {
        self.counted_keeping(counter, NONE, build);
    }

    /// A loop of `counter` trips (at least one) with `live_flags`, which cannot be OF or ZF, live across the back-edge.
    pub fn counted_keeping(&mut self, counter: Gpr, live_flags: FlagSet, build: impl FnOnce(&mut Builder)) {
        let body = self.nested(build);
        self.close(Node::Loop(Loop { counter: counter.0, control: Control::Decrement, live_flags, body }));
    }

    /// Bits of a limb of the function's contract.
    pub fn limb_bits(&self) -> u32 {
        self.func.limb_bits
    }

    /// A loop of `counter` trips (at least one; pinned to rcx) whose control leaves the flags alone, with `live_flags` live
    /// across the back-edge.
    pub fn counted_flag_free(&mut self, counter: Gpr, live_flags: FlagSet, build: impl FnOnce(&mut Builder)) {
        let body = self.nested(build);
        self.close(Node::Loop(Loop { counter: counter.0, control: Control::FlagFree, live_flags, body }));
    }

    /// A part that runs when `reg` is not 0.
    pub fn when_nonzero(&mut self, reg: Gpr, build: impl FnOnce(&mut Builder)) {
        let body = self.nested(build);
        self.close(Node::When(When { reg: reg.0, mask: None, body }));
    }

    /// A part that runs when `reg` has any bit of `mask`.
    pub fn when_bits(&mut self, reg: Gpr, mask: i32, build: impl FnOnce(&mut Builder)) {
        let body = self.nested(build);
        self.close(Node::When(When { reg: reg.0, mask: Some(mask), body }));
    }

    /// A private subroutine; every register in it is pinned or a parameter's.
    pub fn subroutine(&mut self, build: impl FnOnce(&mut Builder)) -> SubId {
        let body = self.nested(build);
        self.func.subs.push(body);
        SubId(u32::try_from(self.func.subs.len() - 1).expect("fewer than 2^32 subroutines"))
    }

    /// Calls a private subroutine.
    pub fn call(&mut self, sub: SubId) {
        self.close(Node::Call(sub));
    }

    /// Ends the function, which may only be called with `exact` limbs if that is given.
    pub fn finish(mut self, returns: Option<VReg>, exact: Option<u64>) -> Func<Virtual> {
        self.func.body = self.open.pop().expect("the function's own body");
        self.func.returns = returns;
        self.func.exact = exact;
        self.func
    }
}
