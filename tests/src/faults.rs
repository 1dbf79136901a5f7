//! Faults that kernels of this kind are known for, each put into a shipped variant by taking one guard away, and the checks
//! that must find it. Data: a row is a fault.

use crate::edits::{self, Which, inst, is, kept, reg, replace, with};
use crate::{cipher_faults, forms};
use kiln_codegen::backend::machine;
use kiln_codegen::compile::{Compiled, Form};
use kiln_codegen::family::Extent;
use kiln_codegen::ir::interpret::Fault as Stopped;
use kiln_codegen::ir::wellformed::Rule;
use kiln_codegen::ir::{Control, Func, Inst, Mem, Node, Operand, Physical, Space};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::bmi2_adx::Bmi2Adx;
use kiln_codegen::isa::mmx_sse2::MmxSse2;
use kiln_codegen::isa::row::{PReg, RAX, RCX, RDI, RDX, RSI};
use kiln_codegen::spec::Rounds;
use kiln_runtime::candidate::{Candidate, Made};
use kiln_runtime::exec::{Code, Refused};
use kiln_runtime::provide::facts;
use kiln_runtime::verify::Kind;

/// A check, and what it must say.
#[derive(Clone, Copy, Debug)]
pub enum Caught {
    /// The interpreter's result is not that of big integers.
    Answer,
    /// The interpreter stops.
    Stops(fn(&Stopped) -> bool),
    /// A rule of the IR is broken.
    Breaks(fn(&Rule) -> bool),
    /// The interpreter's result of a row of `vectors/aes` is not the row's.
    Vectors,
    /// Verification of the native code finds it.
    Native(fn(&Kind) -> bool),
    /// Verification with guard pages, in a child, dies of it.
    GuardPage,
}

/// How a guard is taken away; tells whether there was one.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    /// In the allocated function.
    Func(fn(&mut Func<Physical>) -> bool),
    /// In the machine code.
    Bytes(fn(&mut Vec<u8>) -> bool),
}

/// What the variant that is changed is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Any n, in a loop that keeps no flag across its back-edge.
    Loop,
    /// Any n, in a loop that keeps flags.
    Live,
    /// One n.
    Exact,
    /// No n at all.
    Whole,
    /// Any number of blocks, so many in a turn of the loop, in unrolled rounds.
    Blocks(u32),
}

/// A fault and who must catch it.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What is wrong.
    pub what: &'static str,
    /// The kernel.
    pub kernel: &'static str,
    /// The strategy of the variant that is changed.
    pub strategy: &'static str,
    /// Which variant of that strategy.
    pub made: Shape,
    /// The change.
    pub edit: Edit,
    /// Each of these must find it.
    pub caught: &'static [Caught],
}

pub(crate) const WRONG: Caught = Caught::Native(|kind| matches!(kind, Kind::WrongResult(_) | Kind::WrongReturn));
pub(crate) const OUTSIDE: Caught = Caught::Stops(|fault| matches!(fault, Stopped::OutOfBounds { .. }));
const X87: Caught = Caught::Native(|kind| matches!(kind, Kind::X87(..)));
const REGISTER: Caught = Caught::Native(|kind| matches!(kind, Kind::Register(..)));

/// All faults: of kernels on limbs, of tables and of ciphers.
pub fn all() -> impl Iterator<Item = &'static Fault> {
    FAULTS.iter().chain(cipher_faults::FAULTS)
}

/// The faults of kernels on limbs and of tables.
pub const FAULTS: &[Fault] = &[
    Fault {
        what: "a carry between two turns of a loop is dropped",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            replace(func, Which::Last, |at, inst| at.in_loop && is(inst, &[Base::AdcRi]), |old| vec![kept(old)])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a square loses a carry where the product keeps it",
        kernel: "limb64.sqr_n",
        strategy: "mulx",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            replace(func, Which::Last, |_, inst| is(inst, &[Base::Adc]), |old| vec![with(Base::Add, old)])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a square of 32-bit limbs loses a carry in a column",
        kernel: "limb32.sqr_n",
        strategy: "sse2_mmx",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            let shift = |inst: &Inst<PReg>| inst.op == Op::MmxSse2(MmxSse2::Psrlq);
            replace(func, Which::First, |_, inst| shift(inst), |_| vec![])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a carry out that forgets the carry in",
        kernel: "limb64.add",
        strategy: "adc",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            replace(func, Which::Second, |_, inst| is(inst, &[Base::Adc]), |old| vec![with(Base::Add, old)])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a borrow out that forgets the borrow in",
        kernel: "limb64.sub",
        strategy: "adc",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            replace(func, Which::Second, |_, inst| is(inst, &[Base::Sbb]), |old| vec![with(Base::Sub, old)])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a sum whose carry is not made: lea for add",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            replace(func, Which::First, |at, inst| at.in_loop && sum_of_registers(inst), sum_by_lea)
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "an instruction that keeps the old carry: inc for add",
        kernel: "limb64.mul_add",
        strategy: "mulx",
        made: Shape::Exact,
        // The sum goes down and up again by one: the value is right, and inc leaves the flag of the subtraction.
        edit: Edit::Func(|func| {
            let first = |inst: &Inst<PReg>| is(inst, &[Base::Add]) && matches!(inst.operands[1], Operand::Mem(_));
            replace(
                func,
                Which::First,
                |_, inst| first(inst),
                |old| {
                    let dst = old.operands[0];
                    vec![old.clone(), inst(Base::SubRi, vec![dst, Operand::Imm(1)]), inst(Base::Inc, vec![dst])]
                },
            )
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a pointer that walks by add where a carry is live",
        kernel: "limb64.add",
        strategy: "adc",
        made: Shape::Live,
        edit: Edit::Func(|func| {
            replace(
                func,
                Which::Last,
                |at, inst| at.in_loop && is(inst, &[Base::Lea]),
                |old| {
                    let Operand::Mem(mem) = old.operands[1] else { unreachable!("a lea has an address") };
                    vec![inst(Base::AddRi, vec![old.operands[0], Operand::Imm(mem.disp.into())])]
                },
            )
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "loop control that writes a live flag",
        kernel: "limb64.mul_add",
        strategy: "mulx_adx",
        made: Shape::Live,
        edit: Edit::Func(|func| edits::last_loop(func, |inner| inner.control = Control::Decrement)),
        caught: &[Caught::Breaks(|rule| matches!(rule, Rule::ControlWritesFlag(_))), Caught::Answer, WRONG],
    },
    Fault {
        what: "mulx that writes flags, as under a translator",
        kernel: "limb64.mul_add",
        strategy: "mulx_adx",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            replace(
                func,
                Which::Each,
                |_, inst| inst.op == Op::Bmi2Adx(Bmi2Adx::Mulx),
                |old| vec![old.clone(), inst(Base::Test, vec![reg(RDX), reg(RDX)])],
            )
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "the halves of a product exchanged",
        kernel: "limb64.mul_nxn",
        strategy: "mulx",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            replace(
                func,
                Which::Last,
                |_, inst| inst.op == Op::Bmi2Adx(Bmi2Adx::Mulx),
                |old| {
                    let mut new = old.clone();
                    new.operands.swap(0, 1);
                    vec![new]
                },
            )
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "the last correction of a quotient left out",
        kernel: "limb64.div_2by1",
        strategy: "mul",
        made: Shape::Whole,
        edit: Edit::Func(|func| {
            let correction = |inst: &Inst<PReg>| is(inst, &[Base::Add, Base::Sub, Base::Adc, Base::Sbb, Base::And]);
            replace(func, Which::Last, |_, inst| correction(inst), |_| vec![])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "the last subtraction of a Montgomery product left out",
        kernel: "mont.mul",
        strategy: "mulx_adx_block",
        made: Shape::Exact,
        // The sum itself is always taken.
        edit: Edit::Func(|func| {
            replace(func, Which::Each, |_, inst| is(inst, &[Base::Cmovb]), |old| vec![with(Base::Load, old)])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "the carry above the sum of a Montgomery product dropped",
        kernel: "mont.mul",
        strategy: "mulx_adx_block",
        made: Shape::Exact,
        edit: Edit::Func(|func| replace(func, Which::Last, |_, inst| is(inst, &[Base::AdcRi]), |old| vec![kept(old)])),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "the carry above the sum of a Montgomery square dropped",
        kernel: "mont.square",
        strategy: "mulx_adx_block",
        made: Shape::Exact,
        edit: Edit::Func(|func| replace(func, Which::Last, |_, inst| is(inst, &[Base::AdcRi]), |old| vec![kept(old)])),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a Montgomery sum whose carry between two limbs is lost",
        kernel: "mont.reduce",
        strategy: "mul",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            replace(func, Which::Last, |_, inst| is(inst, &[Base::Adc]), |old| vec![with(Base::Add, old)])
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a carry that walks past the end of the number",
        kernel: "limb64.mul_add_prop",
        strategy: "mulx",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            edits::loops(func, &mut |nodes, index| {
                let Node::Loop(inner) = &nodes[index] else { return false };
                let one_more = inst(Base::Inc, vec![reg(inner.counter)]);
                nodes.insert(index, Node::Block(vec![one_more]));
                true
            })
        }),
        caught: &[OUTSIDE, Caught::Native(|kind| *kind == Kind::WroteAfter("r"))],
    },
    Fault {
        what: "a loop that is entered for n = 0",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        edit: Edit::Func(edits::unguarded),
        caught: &[Caught::Stops(|fault| matches!(fault, Stopped::OutOfBounds { .. } | Stopped::Budget { .. }))],
    },
    Fault {
        what: "the tail of one limb left out",
        kernel: "limb64.mul",
        strategy: "mulx",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            let mut changed = false;
            edits::blocks(func, &mut |place, insts| {
                changed |= place.in_tail_of_one && !insts.is_empty();
                if place.in_tail_of_one {
                    insts.clear();
                }
            });
            changed
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "one limb past the end read, and not used",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            let Some(end) = edits::walked(func, 1) else { return false };
            edits::append(func, vec![inst(Base::Load, vec![reg(PReg::gpr(11)), Operand::Mem(end)])]);
            true
        }),
        caught: &[OUTSIDE, Caught::GuardPage],
    },
    Fault {
        what: "one limb too many written",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            let Some(end) = edits::walked(func, 0) else { return false };
            edits::append(func, vec![inst(Base::Store, vec![Operand::Mem(end), reg(RAX)])]);
            true
        }),
        caught: &[OUTSIDE, Caught::Native(|kind| *kind == Kind::WroteAfter("r"))],
    },
    Fault {
        what: "a length in another unit",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        // n is the third argument.
        edit: Edit::Func(|func| {
            edits::prepend(func, vec![inst(Base::Add, vec![reg(RDX), reg(RDX)])]);
            true
        }),
        caught: &[OUTSIDE],
    },
    Fault {
        what: "an element written before it is read: wrong in place alone",
        kernel: "limb64.mul",
        strategy: "mul",
        made: Shape::Exact,
        edit: Edit::Func(|func| {
            let second = Mem { space: Space::Argument(0), base: RDI, index: None, disp: 8 };
            edits::prepend(func, vec![inst(Base::Store, vec![Operand::Mem(second), reg(RDI)])]);
            true
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "an input changed",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Exact,
        // The second argument.
        edit: Edit::Func(|func| {
            let input = Mem { space: Space::Argument(1), base: RSI, index: None, disp: 0 };
            edits::prepend(func, vec![inst(Base::Store, vec![Operand::Mem(input), reg(RSI)])]);
            true
        }),
        caught: &[
            Caught::Breaks(|rule| matches!(rule, Rule::Right { argument: 1, write: true })),
            Caught::Stops(|fault| matches!(fault, Stopped::Forbidden { argument: 1, write: true, .. })),
            Caught::Native(|kind| *kind == Kind::InputChanged("a")),
        ],
    },
    Fault {
        what: "the upper half of a 32-bit argument taken along",
        kernel: "limb32.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        // The multiplier is the fourth argument.
        edit: Edit::Func(|func| {
            let cleans = |inst: &Inst<PReg>| is(inst, &[Base::Mov32]) && inst.operands[1] == reg(RCX);
            replace(func, Which::First, |_, inst| cleans(inst), |old| vec![with(Base::Mov, old)])
        }),
        caught: &[Caught::Answer],
    },
    Fault {
        what: "MMX without emms",
        kernel: "limb32.mul_add",
        strategy: "sse2_mmx",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            replace(func, Which::Each, |_, inst| inst.op == Op::MmxSse2(MmxSse2::Emms), |_| vec![])
        }),
        caught: &[Caught::Breaks(|rule| *rule == Rule::NoEmms), Caught::Stops(|fault| *fault == Stopped::NoEmms), X87],
    },
    Fault {
        what: "emms without MMX",
        kernel: "limb64.mul_add",
        strategy: "mul",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            edits::append(func, vec![Inst { op: Op::MmxSse2(MmxSse2::Emms), operands: vec![], note: None }]);
            true
        }),
        caught: &[Caught::Breaks(|rule| *rule == Rule::NeedlessEmms), X87],
    },
    Fault {
        what: "a save area one register short",
        kernel: "limb64.mul_nxn",
        strategy: "mulx",
        made: Shape::Exact,
        edit: Edit::Func(|func| func.frame.saved.pop().is_some()),
        caught: &[
            Caught::Breaks(|rule| matches!(rule, Rule::NotSaved(_))),
            Caught::Stops(|fault| matches!(fault, Stopped::Clobbered { .. })),
            REGISTER,
        ],
    },
    Fault {
        what: "registers restored in another order than saved",
        kernel: "limb64.mul_nxn",
        strategy: "mulx",
        made: Shape::Loop,
        edit: Edit::Bytes(swap_pops),
        caught: &[REGISTER],
    },
    Fault {
        what: "the index of a table's entry cut to the bits that are compared",
        kernel: "table.read_word64_x32",
        strategy: "avx2",
        made: Shape::Loop,
        edit: Edit::Func(|func| replace(func, Which::First, |_, inst| is(inst, &[Base::Or]), |_| vec![])),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "the last entries of a table left out",
        kernel: "table.read_vector_x32",
        strategy: "sse2",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            let turns = |old: &Inst<PReg>| match old.operands[1] {
                Operand::Imm(turns) => vec![inst(Base::MovImm32, vec![old.operands[0], Operand::Imm(turns - 1)])],
                Operand::Reg(_) | Operand::Mem(_) => vec![old.clone()],
            };
            replace(func, Which::Each, |_, inst| is(inst, &[Base::MovImm32]), turns)
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a read of a table past its end",
        kernel: "table.read_vector_x32",
        strategy: "avx2",
        made: Shape::Loop,
        edit: Edit::Func(|func| {
            let turns = |old: &Inst<PReg>| match old.operands[1] {
                Operand::Imm(turns) => vec![inst(Base::MovImm32, vec![old.operands[0], Operand::Imm(turns + 1)])],
                Operand::Reg(_) | Operand::Mem(_) => vec![old.clone()],
            };
            replace(func, Which::Each, |_, inst| is(inst, &[Base::MovImm32]), turns)
        }),
        caught: &[OUTSIDE, WRONG],
    },
];

/// `add x, y` of registers.
fn sum_of_registers(inst: &Inst<PReg>) -> bool {
    is(inst, &[Base::Add]) && matches!(inst.operands[1], Operand::Reg(_))
}

/// `lea x, [x + y]`: the same sum.
fn sum_by_lea(old: &Inst<PReg>) -> Vec<Inst<PReg>> {
    let (Operand::Reg(x), Operand::Reg(y)) = (old.operands[0], old.operands[1]) else {
        unreachable!("of registers");
    };
    let sum = Mem { space: Space::Nowhere, base: x, index: Some((y, 1)), disp: 0 };
    vec![inst(Base::Lea, vec![reg(x), Operand::Mem(sum)])]
}

/// Exchanges the last two pops.
fn swap_pops(bytes: &mut Vec<u8>) -> bool {
    let pops = crate::decode::decode(bytes).into_iter().filter(|inst| inst.code() == iced_x86::Code::Pop_r64);
    let ranges: Vec<_> = pops.map(|inst| inst.ip() as usize..inst.next_ip() as usize).collect();
    let [.., one, two] = ranges.as_slice() else { return false };
    if one.end != two.start {
        return false;
    }
    let swapped = [&bytes[two.clone()], &bytes[one.clone()]].concat();
    bytes.splice(one.start..two.end, swapped);
    true
}

impl Fault {
    /// The variant that is changed: the first of its strategy that is made so, with a loop of some limbs if it has one.
    ///
    /// # Panics
    /// When no shipped variant is.
    pub fn original(&self) -> &'static Compiled<'static> {
        let fits = |compiled: &&Compiled<'_>| {
            let parameters = compiled.plan.parameters;
            compiled.plan.kernel.kernel.value == self.kernel
                && compiled.plan.strategy.name.value == self.strategy
                && match (self.made, parameters.extent) {
                    (Shape::Loop, Extent::Unrolled(unroll)) => unroll > 2 && !parameters.live,
                    (Shape::Live, Extent::Unrolled(_)) => parameters.live,
                    (Shape::Blocks(blocks), Extent::Blocks(other)) => {
                        blocks == other && parameters.rounds != Some(Rounds::Looped)
                    }
                    (Shape::Exact, Extent::Exact(_)) | (Shape::Whole, Extent::Whole) => true,
                    _ => false,
                }
        };
        let found = forms::compiled().iter().find(fits);
        found.unwrap_or_else(|| panic!("{}: no {:?} of {}/{}", self.what, self.made, self.kernel, self.strategy))
    }

    /// The faulty function; the unchanged one when the fault is in the bytes.
    ///
    /// # Panics
    /// When the guard that is to be taken away is not there.
    pub fn func(&self) -> Func<Physical> {
        let Form::Machine(mut func) = self.original().form.clone() else { panic!("{}: portable", self.what) };
        if let Edit::Func(edit) = self.edit {
            assert!(edit(&mut func), "{}: {} has no such guard", self.what, func.name);
        }
        func
    }

    /// The faulty code in executable memory.
    ///
    /// # Errors
    /// When there is no executable memory.
    ///
    /// # Panics
    /// When it cannot be encoded, or the guard that is to be taken away is not there.
    pub fn candidate(&self) -> Result<Candidate, Refused> {
        let mut bytes = machine::assemble(&self.func()).expect("encodes");
        if let Edit::Bytes(edit) = self.edit {
            assert!(edit(&mut bytes), "{}: {} has no such guard", self.what, self.original().plan.name);
        }
        let code = Code::publish(&[&bytes])?;
        let code_hash = format!("{} of {}", self.what, self.original().code_hash);
        let made = Made { code_hash, ..facts(self.original()) };
        // SAFETY: generated for the contract of the kernel in its name, and consists of instructions that the original has or
        // that every CPU has. What is wrong with it is what verification must find.
        Ok(unsafe { Candidate::made(made, code.entries()[0]) })
    }
}
