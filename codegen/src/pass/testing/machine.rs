//! A small evaluator: runs virtual functions node by node and physical ones line by line, over the same memory.

use super::scramble;
use crate::ir::linear::{Jump, Line};
use crate::ir::*;
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::bmi2_adx::Bmi2Adx;
use crate::isa::mmx_sse2::MmxSse2;
use crate::isa::row::{Kind, PReg, R8, R9, RCX, RDI, RDX, RSI, RSP, Width};
use crate::isa::sse2::Sse2;
use crate::pass::Resource;
use std::collections::BTreeMap;

/// Where the stack of a physical run starts; everything in the 64 KiB below is its own.
const STACK: u64 = 0x7fff_0000;

#[derive(Default)]
struct Machine {
    regs: BTreeMap<Resource, u128>,
    /// Bits 128 to 255 of vector registers.
    upper: BTreeMap<Resource, u128>,
    carry: bool,
    overflow: bool,
    zero: bool,
    written: BTreeMap<u64, u8>,
}

/// A register of either stage.
trait AsResource: Copy {
    fn resource(self) -> Resource;
}
impl AsResource for VReg {
    fn resource(self) -> Resource {
        Resource::of(self)
    }
}
impl AsResource for PReg {
    fn resource(self) -> Resource {
        Resource::Fixed(self)
    }
}

impl Machine {
    fn load(&self, address: u64, bytes: u32) -> u128 {
        (0..bytes).fold(0, |value, index| {
            let address = address.wrapping_add(index.into());
            // Dense and sparse bytes alike, so that carries run far.
            let own = || match scramble(address >> 3) % 3 {
                0 => 0xff,
                1 => 0,
                _ => scramble(address) as u8,
            };
            value | u128::from(self.written.get(&address).copied().unwrap_or_else(own)) << (8 * index)
        })
    }

    fn store(&mut self, address: u64, bytes: u32, value: u128) {
        for index in 0..bytes {
            self.written.insert(address.wrapping_add(index.into()), (value >> (8 * index)) as u8);
        }
    }

    fn get<R: AsResource>(&self, reg: R) -> u64 {
        self.get_wide(reg) as u64
    }

    fn get_wide<R: AsResource>(&self, reg: R) -> u128 {
        let own = || match reg.resource() {
            Resource::Fixed(reg) => scramble(u64::from(reg.number) + 100).into(),
            Resource::Free(index) => scramble(u64::from(index) + 200).into(),
        };
        self.regs.get(&reg.resource()).copied().unwrap_or_else(own)
    }

    fn set<R: AsResource>(&mut self, reg: R, value: u64) {
        self.regs.insert(reg.resource(), value.into());
    }

    fn address<R: AsResource>(&self, mem: &Mem<R>) -> u64 {
        let index = mem.index.map_or(0, |(reg, scale)| self.get(reg).wrapping_mul(scale.into()));
        self.get(mem.base).wrapping_add(index).wrapping_add_signed(mem.disp.into())
    }

    fn width(kind: Kind) -> Width {
        kind.width().unwrap_or(Width::W64)
    }

    fn read<R: AsResource>(&self, inst: &Inst<R>, index: usize) -> u64 {
        self.read_wide(inst, index) as u64
    }

    fn read_wide<R: AsResource>(&self, inst: &Inst<R>, index: usize) -> u128 {
        let spec = &inst.op.row().operands[index];
        let width = Machine::width(spec.kind);
        let value = match &inst.operands[index] {
            Operand::Reg(reg) => self.get_wide(*reg),
            Operand::Mem(mem) if spec.kind == Kind::Address => self.address(mem).into(),
            Operand::Mem(mem) => self.load(self.address(mem), width.min(Width::W128).bytes(64)),
            Operand::Imm(value) => u128::from(*value as u64),
        };
        Machine::cut(value, width.min(Width::W128))
    }

    fn cut(value: u128, width: Width) -> u128 {
        value & u128::MAX >> (128 - 8 * width.bytes(64))
    }

    fn write<R: AsResource>(&mut self, inst: &Inst<R>, index: usize, value: impl Into<u128>) {
        let width = Machine::width(inst.op.row().operands[index].kind).min(Width::W128);
        match &inst.operands[index] {
            Operand::Reg(reg) => {
                self.regs.insert(reg.resource(), Machine::cut(value.into(), width));
            }
            Operand::Mem(mem) => self.store(self.address(mem), width.bytes(64), value.into()),
            Operand::Imm(_) => panic!("a constant is not written"),
        }
    }

    fn sum(&mut self, a: u64, b: u64, carry: bool) -> u64 {
        let wide = u128::from(a) + u128::from(b) + u128::from(carry);
        let sum = wide as u64;
        (self.carry, self.zero) = (wide >> 64 != 0, sum == 0);
        self.overflow = ((a ^ sum) & (b ^ sum)) >> 63 == 1;
        sum
    }

    fn difference(&mut self, a: u64, b: u64, borrow: bool) -> u64 {
        let value = a.wrapping_sub(b).wrapping_sub(borrow.into());
        (self.carry, self.zero) = (u128::from(a) < u128::from(b) + u128::from(borrow), value == 0);
        self.overflow = ((a ^ b) & (a ^ value)) >> 63 == 1;
        value
    }

    fn logic(&mut self, value: u64) -> u64 {
        (self.carry, self.overflow, self.zero) = (false, false, value == 0);
        value
    }

    fn run<R: AsResource>(&mut self, inst: &Inst<R>) {
        let read = |machine: &Machine, index| machine.read(inst, index);
        match inst.op {
            Op::Base(op) => match op {
                Base::Mov
                | Base::Load
                | Base::Store
                | Base::MovImm
                | Base::Mov32
                | Base::Load32
                | Base::Store32
                | Base::Store8
                | Base::MovImm32
                | Base::Lea => {
                    let value = read(self, 1);
                    self.write(inst, 0, value);
                }
                Base::Add | Base::AddMr | Base::AddRi => {
                    let value = self.sum(read(self, 0), read(self, 1), false);
                    self.write(inst, 0, value);
                }
                Base::Adc | Base::AdcMr | Base::AdcRi => {
                    let value = self.sum(read(self, 0), read(self, 1), self.carry);
                    self.write(inst, 0, value);
                }
                Base::Sub | Base::SubMr | Base::SubRi => {
                    let value = self.difference(read(self, 0), read(self, 1), false);
                    self.write(inst, 0, value);
                }
                Base::Sbb | Base::SbbMr | Base::SbbRi => {
                    let value = self.difference(read(self, 0), read(self, 1), self.carry);
                    self.write(inst, 0, value);
                }
                Base::And | Base::AndRi => {
                    let value = self.logic(read(self, 0) & read(self, 1));
                    self.write(inst, 0, value);
                }
                Base::Or => {
                    let value = self.logic(read(self, 0) | read(self, 1));
                    self.write(inst, 0, value);
                }
                Base::Xor | Base::Xor32 => {
                    let value = self.logic(read(self, 0) ^ read(self, 1));
                    self.write(inst, 0, value);
                }
                Base::Test | Base::TestRi => {
                    self.logic(read(self, 0) & read(self, 1));
                }
                Base::Cmp | Base::CmpRi => {
                    self.difference(read(self, 0), read(self, 1), false);
                }
                Base::Inc | Base::Dec => {
                    let carry = self.carry;
                    let value = read(self, 0);
                    let value =
                        if op == Base::Inc { self.sum(value, 1, false) } else { self.difference(value, 1, false) };
                    self.carry = carry;
                    self.write(inst, 0, value);
                }
                Base::Neg => {
                    let value = self.difference(0, read(self, 0), false);
                    self.write(inst, 0, value);
                }
                Base::Not => self.write(inst, 0, !read(self, 0)),
                Base::Shl | Base::Shr | Base::Sar => {
                    let (value, count) = (read(self, 0), read(self, 1) % 64);
                    let (carry, value) = match op {
                        Base::Shl => (value >> (64 - count) & 1, value << count),
                        Base::Shr => (value >> (count - 1) & 1, value >> count),
                        _ => (value >> (count - 1) & 1, (value as i64 >> count) as u64),
                    };
                    self.logic(value);
                    self.carry = carry == 1;
                    self.write(inst, 0, value);
                }
                Base::Mul => {
                    let product = u128::from(read(self, 0)) * u128::from(read(self, 1));
                    self.write(inst, 1, product as u64);
                    self.write(inst, 2, (product >> 64) as u64);
                    self.carry = product >> 64 != 0;
                    self.overflow = self.carry;
                }
                Base::Imul => {
                    let value = read(self, 0).wrapping_mul(read(self, 1));
                    self.write(inst, 0, value);
                }
                Base::Cmovb => {
                    let value = read(self, if self.carry { 1 } else { 0 });
                    self.write(inst, 0, value);
                }
                Base::Div | Base::Pool | Base::Bswap | Base::Bswap32 | Base::Rol | Base::Ror => {
                    panic!("not in the test programs")
                }
            },
            Op::Bmi2Adx(op) => match op {
                Bmi2Adx::Mulx => {
                    let product = u128::from(read(self, 2)) * u128::from(read(self, 3));
                    self.write(inst, 1, product as u64);
                    self.write(inst, 0, (product >> 64) as u64);
                }
                Bmi2Adx::Rorx => self.write(inst, 0, read(self, 1).rotate_right(read(self, 2) as u32)),
                Bmi2Adx::Shlx => self.write(inst, 0, read(self, 1) << (read(self, 2) % 64)),
                Bmi2Adx::Shrx => self.write(inst, 0, read(self, 1) >> (read(self, 2) % 64)),
                Bmi2Adx::Adcx | Bmi2Adx::Adox => {
                    let carry_in = if op == Bmi2Adx::Adcx { self.carry } else { self.overflow };
                    let wide = u128::from(read(self, 0)) + u128::from(read(self, 1)) + u128::from(carry_in);
                    self.write(inst, 0, wide as u64);
                    *(if op == Bmi2Adx::Adcx { &mut self.carry } else { &mut self.overflow }) = wide >> 64 != 0;
                }
            },
            Op::MmxSse2(op) => {
                let value = match op {
                    MmxSse2::MovdIn | MmxSse2::MovqMm | MmxSse2::MovqLoad | MmxSse2::MovqStore => read(self, 1),
                    MmxSse2::MovdOut | MmxSse2::MovdStore => read(self, 1) & 0xffff_ffff,
                    MmxSse2::Pmuludq => u64::from(read(self, 0) as u32) * u64::from(read(self, 1) as u32),
                    MmxSse2::Paddq => read(self, 0).wrapping_add(read(self, 1)),
                    MmxSse2::Psubq => read(self, 0).wrapping_sub(read(self, 1)),
                    MmxSse2::Pand => read(self, 0) & read(self, 1),
                    MmxSse2::Por => read(self, 0) | read(self, 1),
                    MmxSse2::Pxor => read(self, 0) ^ read(self, 1),
                    MmxSse2::Psrlq => read(self, 0) >> (read(self, 1) % 64),
                    MmxSse2::Psllq => read(self, 0) << (read(self, 1) % 64),
                    MmxSse2::Emms => return,
                };
                self.write(inst, 0, value);
            }
            Op::Sse2(op) => {
                let wide = |index| self.read_wide(inst, index);
                let lanes = |combine: fn(u64, u64) -> u64| {
                    let (a, b) = (wide(0), wide(1));
                    u128::from(combine(a as u64, b as u64))
                        | u128::from(combine((a >> 64) as u64, (b >> 64) as u64)) << 64
                };
                let value = match op {
                    Sse2::MovdIn
                    | Sse2::MovdOut
                    | Sse2::MovdStore
                    | Sse2::MovqIn
                    | Sse2::MovqOut
                    | Sse2::MovqLoad
                    | Sse2::MovqStore
                    | Sse2::MovdqaXmm
                    | Sse2::MovdqaLoad
                    | Sse2::MovdqaStore
                    | Sse2::MovdquLoad
                    | Sse2::MovdquStore => wide(1),
                    Sse2::Pmuludq => lanes(|a, b| u64::from(a as u32) * u64::from(b as u32)),
                    Sse2::Paddq => lanes(u64::wrapping_add),
                    Sse2::Psubq => lanes(u64::wrapping_sub),
                    Sse2::Pxor => wide(0) ^ wide(1),
                    Sse2::Pslldq => wide(0) << (8 * (wide(1) % 16)),
                    Sse2::Paddd
                    | Sse2::Paddb
                    | Sse2::Pcmpeqd
                    | Sse2::Pcmpgtd
                    | Sse2::Psrad
                    | Sse2::Punpckhdq
                    | Sse2::Pand
                    | Sse2::Pandn
                    | Sse2::Por
                    | Sse2::Psrlq
                    | Sse2::Psllq
                    | Sse2::Psrldq
                    | Sse2::Pshufd
                    | Sse2::Punpckldq
                    | Sse2::Punpcklqdq
                    | Sse2::Punpckhqdq => panic!("not in the test programs"),
                };
                self.write(inst, 0, value);
            }
            Op::Avx(_) | Op::Avx2(_) => self.vex(inst),
            Op::Ssse3Sse41(_) | Op::Aes(_) | Op::Vaes(_) | Op::Portable(_) => panic!("not in the test programs"),
        }
    }

    /// Both halves of an operand of a VEX instruction.
    fn read_halves<R: AsResource>(&self, inst: &Inst<R>, index: usize) -> [u128; 2] {
        let low = self.read_wide(inst, index);
        if inst.op.row().operands[index].kind.width() != Some(Width::W256) {
            return [low, 0];
        }
        let high = match &inst.operands[index] {
            Operand::Reg(reg) => self.upper.get(&reg.resource()).copied().unwrap_or(0),
            Operand::Mem(mem) => self.load(self.address(mem).wrapping_add(16), 16),
            Operand::Imm(_) => panic!("a constant of 256 bits"),
        };
        [low, high]
    }

    fn vex<R: AsResource>(&mut self, inst: &Inst<R>) {
        let each = |combine: fn(u64, u64) -> u64| {
            let (a, b) = (self.read_halves(inst, 1), self.read_halves(inst, 2));
            [0, 1].map(|half| {
                let high = combine((a[half] >> 64) as u64, (b[half] >> 64) as u64);
                u128::from(combine(a[half] as u64, b[half] as u64)) | u128::from(high) << 64
            })
        };
        let [low, high] = match inst.op.row().mnemonic {
            "vmovdqa" | "vmovdqu" | "vmovd" | "vmovq" => self.read_halves(inst, 1),
            "vpxor" => each(|a, b| a ^ b),
            "vpaddq" => each(u64::wrapping_add),
            "vpsubq" => each(u64::wrapping_sub),
            "vpmuludq" => each(|a, b| u64::from(a as u32) * u64::from(b as u32)),
            "vzeroupper" => return self.upper.clear(),
            other => panic!("{other} is not in the test programs"),
        };
        self.write(inst, 0, low);
        let wide = inst.op.row().operands[0].kind.width() == Some(Width::W256);
        match &inst.operands[0] {
            Operand::Reg(reg) => {
                self.upper.insert(reg.resource(), if wide { high } else { 0 });
            }
            Operand::Mem(mem) if wide => self.store(self.address(mem).wrapping_add(16), 16, high),
            Operand::Mem(_) | Operand::Imm(_) => {}
        }
    }

    fn nodes(&mut self, nodes: &[Node<VReg>], subs: &[Vec<Node<VReg>>]) {
        for node in nodes {
            match node {
                Node::Block(insts) => insts.iter().for_each(|inst| self.run(inst)),
                Node::Loop(inner) => loop {
                    self.nodes(&inner.body, subs);
                    let left = self.get(inner.counter).wrapping_sub(1);
                    if inner.control == Control::Decrement {
                        let carry = self.carry;
                        self.difference(left.wrapping_add(1), 1, false);
                        self.carry = carry;
                    }
                    self.set(inner.counter, left);
                    if left == 0 {
                        break;
                    }
                },
                Node::When(inner) => {
                    let value = self.get(inner.reg);
                    if self.logic(value & inner.mask.map_or(u64::MAX, |mask| mask as i64 as u64)) != 0 {
                        self.nodes(&inner.body, subs);
                    }
                }
                Node::Call(sub) => self.nodes(&subs[sub.0 as usize], subs),
            }
        }
    }

    fn lines(&mut self, lines: &[Line]) {
        let target =
            |label| lines.iter().position(|line| *line == Line::Label(label)).expect("every label is laid out");
        let mut calls = Vec::new();
        let mut at = 0;
        self.set(RSP, STACK);
        for _ in 0..5_000_000 {
            let push = |machine: &mut Machine, value: u64| {
                let rsp = machine.get(RSP) - 8;
                machine.set(RSP, rsp);
                machine.store(rsp, 8, value.into());
            };
            let rsp = self.get(RSP);
            let mut next = at + 1;
            match &lines[at] {
                Line::Inst(inst) => self.run(inst),
                Line::Label(_) | Line::Pool(_) => {}
                Line::Jump(jump, label) => {
                    let taken = match jump {
                        Jump::Always => true,
                        Jump::Zero => self.zero,
                        Jump::NotZero => !self.zero,
                        Jump::RcxZero => self.get(RCX) == 0,
                    };
                    next = if taken { target(*label) } else { next };
                }
                Line::Call(label) => {
                    push(self, 0xdead);
                    calls.push(next);
                    next = target(*label);
                }
                Line::Push(reg) => push(self, self.get(*reg)),
                Line::Pop(reg) => {
                    let value = self.load(rsp, 8) as u64;
                    self.set(*reg, value);
                    self.set(RSP, rsp + 8);
                }
                Line::Reserve(bytes) => self.set(RSP, rsp - u64::from(*bytes)),
                Line::Release(bytes) => self.set(RSP, rsp + u64::from(*bytes)),
                Line::Ret => match calls.pop() {
                    Some(back) => {
                        self.set(RSP, rsp + 8);
                        next = back;
                    }
                    None => return,
                },
            }
            at = next;
        }
        panic!("the function does not end");
    }

    fn own_stack(address: u64) -> bool {
        (STACK - 0x1_0000..STACK).contains(&address)
    }
}

/// What a run left behind: bytes written outside the stack, and the result.
pub(in crate::pass) type Outcome = (BTreeMap<u64, u8>, Option<u64>);

fn result(machine: &Machine, value: Option<u64>, limb_bits: u32) -> Outcome {
    let written = machine.written.iter().filter(|(address, _)| !Machine::own_stack(**address));
    let value = value.map(|value| if limb_bits == 32 { u64::from(value as u32) } else { value });
    (written.map(|(address, byte)| (*address, *byte)).collect(), value)
}

/// Runs a virtual function.
pub(in crate::pass) fn run_virtual(func: &Func<Virtual>, arguments: &[u64]) -> Outcome {
    let mut machine = Machine::default();
    for (parameter, value) in func.parameters.iter().zip(arguments) {
        machine.set(parameter.reg, *value);
    }
    machine.nodes(&func.body, &func.subs);
    let value = func.returns.map(|reg| machine.get(reg));
    result(&machine, value, func.limb_bits)
}

/// Runs an allocated function, and checks that it leaves the caller's registers as they were.
pub(in crate::pass) fn run_physical(func: &Func<Physical>, arguments: &[u64]) -> Outcome {
    let mut machine = Machine::default();
    for (reg, value) in [RDI, RSI, RDX, RCX, R8, R9].into_iter().zip(arguments) {
        machine.set(reg, *value);
    }
    let lines = func.lines();
    machine.lines(&lines);
    assert_eq!(machine.get(RSP), STACK, "{}: the stack pointer is back", func.name);
    for number in [3, 5, 12, 13, 14, 15] {
        let before = Machine::default().get(PReg::gpr(number));
        assert_eq!(machine.get(PReg::gpr(number)), before, "{}: register {number} is the caller's", func.name);
    }
    let value = func.returns.map(|reg| machine.get(reg));
    if func.limb_bits == 32 {
        assert!(value.is_none_or(|value| value >> 32 == 0), "{}: the result is zero-extended", func.name);
    }
    result(&machine, value, func.limb_bits)
}
