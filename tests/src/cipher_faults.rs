//! Faults that kernels of block ciphers are known for, put into shipped variants of AES as [`faults`](crate::faults) does. Data: a
//! row is a fault.

use crate::edits::{self, Place, Which, inst, is, reg, replace};
use crate::faults::{Caught, Edit, Fault, OUTSIDE, Shape, WRONG};
use kiln_codegen::ir::interpret::Fault as Stopped;
use kiln_codegen::ir::wellformed::Rule;
use kiln_codegen::ir::{Func, Inst, Mem, Operand, Physical, Space};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::aes::Aes;
use kiln_codegen::isa::avx::Avx;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::PReg;
use kiln_codegen::isa::sse2::Sse2;
use kiln_runtime::verify::Kind;

/// Output, input, n, keys, iv: the arguments of a mode in their order.
const OUTPUT: u8 = 0;
const INPUT: u8 = 1;
const KEYS: u8 = 3;
const IV: u8 = 4;

/// What a byte does not hold any more: the test for a carry out of a counter's last one.
const CARRY: i32 = 256;

/// A register that no mode has a use for.
const SPARE: PReg = PReg::gpr(11);

/// All forms of wrong bytes.
const EVERYWHERE: &[Caught] = &[Caught::Answer, Caught::Vectors, WRONG];

/// The faults.
pub const FAULTS: &[Fault] = &[
    Fault {
        what: "the last block of a group of six left as it was",
        kernel: "aes128.ecb_encrypt",
        strategy: "aesni",
        made: Shape::Blocks(6),
        edit: Edit::Func(|func| replace(func, Which::Last, |at, inst| at.in_loop && stores(inst, OUTPUT), |_| vec![])),
        caught: EVERYWHERE,
    },
    Fault {
        what: "the tail of two blocks left out, so that two and three are wrong",
        kernel: "aes256.ecb_decrypt",
        strategy: "vaes256",
        made: Shape::Blocks(8),
        edit: Edit::Func(|func| emptied(func, |place| place.tail == Some(2))),
        caught: EVERYWHERE,
    },
    Fault {
        what: "the tail of one block left out",
        kernel: "aes192.ctr128",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| emptied(func, |place| place.in_tail_of_one)),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a previous block of the input read after the output was written over it: wrong in place alone",
        kernel: "aes128.cbc_decrypt",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(stores_too_early),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a chaining block taken from the output",
        kernel: "aes256.cbc_decrypt",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(chains_the_output),
        // The checks of the IR let it pass, since the output may be where the input is, which is read.
        caught: &[
            Caught::Stops(|fault| matches!(fault, Stopped::Forbidden { argument: OUTPUT, write: false, .. })),
            Caught::Vectors,
            WRONG,
        ],
    },
    Fault {
        what: "a counter of 32 bits that counts in 64",
        kernel: "aes128.ctr32",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| {
            replace(
                func,
                Which::Each,
                |_, inst| inst.op == Op::Sse2(Sse2::Paddd),
                |old| vec![Inst { op: Op::Sse2(Sse2::Paddq), ..old.clone() }],
            )
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a counter of 128 bits whose upper half stands still",
        kernel: "aes128.ctr128",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| emptied(func, |place| place.in_tail_of(CARRY) && place.tail.is_none())),
        caught: EVERYWHERE,
    },
    Fault {
        what: "counters before a wrap inside the batch, as if they were behind it",
        kernel: "aes128.ctr128",
        strategy: "aesni",
        made: Shape::Blocks(8),
        edit: Edit::Func(|func| {
            let corrects = |at: Place, inst: &Inst<PReg>| {
                at.in_tail_of(CARRY) && inst.op == Op::Sse2(Sse2::Paddq) && matches!(inst.operands[1], Operand::Reg(_))
            };
            replace(func, Which::Each, corrects, |_| vec![])
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a carry out of the last byte of a counter is dropped",
        kernel: "aes256.ctr128",
        strategy: "vaes256",
        made: Shape::Blocks(8),
        // What is tested inside is still made.
        edit: Edit::Func(|func| {
            let vector = |inst: &Inst<PReg>| inst.op.vector_encoding().is_some() && !moves_out(inst);
            replace(func, Which::Each, |at, inst| at.in_tail_of(CARRY) && vector(inst), |_| vec![])
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a counter that is not handed back",
        kernel: "aes128.ctr128",
        strategy: "vaes256",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| replace(func, Which::Last, |_, inst| stores(inst, IV), |_| vec![])),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a tail of two blocks that hands on another chaining block",
        kernel: "aes128.cbc_decrypt",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| {
            replace(func, Which::Last, |at, inst| at.tail == Some(2) && loads(inst, INPUT), |_| vec![])
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "the second register of two blocks loaded from the place of the first",
        kernel: "aes128.ecb_encrypt",
        strategy: "vaes256",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| {
            replace(func, Which::Second, |at, inst| at.in_loop && loads(inst, INPUT), |old| vec![moved(old, -32)])
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "the second of two messages read where the first is",
        kernel: "aes128.cbc_encrypt_x2",
        strategy: "aesni",
        made: Shape::Blocks(2),
        edit: Edit::Func(|func| {
            let strides =
                |inst: &Inst<PReg>| is(inst, &[Base::Lea]) && address(inst).is_some_and(|m| m.index.is_some());
            replace(
                func,
                Which::First,
                |_, inst| strides(inst),
                |old| {
                    let mem = Mem { index: None, ..*address(old).expect("it has one") };
                    vec![inst(Base::Lea, vec![old.operands[0], Operand::Mem(mem)])]
                },
            )
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a round left out for one block of a batch",
        kernel: "aes192.ecb_encrypt",
        strategy: "aesni",
        made: Shape::Blocks(8),
        edit: Edit::Func(|func| {
            replace(func, Which::Last, |at, inst| at.in_loop && inst.op == Op::Aes(Aes::Aesenc), |_| vec![])
        }),
        caught: EVERYWHERE,
    },
    Fault {
        what: "a round constant that does not leave its field",
        kernel: "aes128.expand_key",
        strategy: "aesni",
        made: Shape::Whole,
        edit: Edit::Func(|func| {
            let wraps =
                |inst: &Inst<PReg>| inst.op == Op::Aes(Aes::Aeskeygenassist) && inst.operands[2] == Operand::Imm(0x1b);
            let zero = |old: &Inst<PReg>| {
                let mut new = old.clone();
                new.operands[2] = Operand::Imm(0);
                vec![new]
            };
            replace(func, Which::First, |_, inst| wraps(inst), zero)
        }),
        caught: &[Caught::Answer, WRONG],
    },
    Fault {
        what: "a loop of blocks that is entered for n = 0",
        kernel: "aes128.ecb_encrypt",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(edits::unguarded),
        caught: &[Caught::Stops(|fault| matches!(fault, Stopped::OutOfBounds { .. } | Stopped::Budget { .. }))],
    },
    Fault {
        what: "48 bytes past the end of the input read in a tail, and not used",
        kernel: "aes128.ecb_encrypt",
        strategy: "vaes256",
        made: Shape::Blocks(16),
        edit: Edit::Func(|func| {
            // The last bytes of three blocks behind the one that there is.
            let Some(end) = edits::walked(func, INPUT) else { return false };
            let over = Mem { disp: 16 + 48 - 8, ..end };
            let mut changed = false;
            edits::blocks(func, &mut |place, insts| {
                if place.in_tail_of_one && !changed {
                    insts.insert(0, inst(Base::Load, vec![reg(SPARE), Operand::Mem(over)]));
                    changed = true;
                }
            });
            changed
        }),
        caught: &[OUTSIDE, Caught::GuardPage],
    },
    Fault {
        what: "one block past the end of the input read, and not used",
        kernel: "aes128.cbc_decrypt",
        strategy: "aesni",
        made: Shape::Blocks(8),
        edit: Edit::Func(|func| reads_behind(func, INPUT, 0)),
        caught: &[OUTSIDE, Caught::GuardPage],
    },
    Fault {
        what: "one round key past the last read, and not used",
        kernel: "aes128.ctr128",
        strategy: "vaes256",
        made: Shape::Blocks(8),
        edit: Edit::Func(|func| reads_behind(func, KEYS, 16 * 11)),
        caught: &[OUTSIDE, Caught::GuardPage],
    },
    Fault {
        what: "one block too many written",
        kernel: "aes128.ecb_encrypt",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| {
            let Some(end) = edits::walked(func, OUTPUT) else { return false };
            let op = Op::Sse2(Sse2::MovdquStore);
            let operands = vec![Operand::Mem(end), reg(PReg::xmm(0))];
            edits::append(func, vec![Inst { op, operands, note: None }]);
            true
        }),
        caught: &[OUTSIDE, Caught::Native(|kind| *kind == Kind::WroteAfter("output"))],
    },
    Fault {
        what: "a block read as if it were aligned",
        kernel: "aes128.ecb_encrypt",
        strategy: "aesni",
        made: Shape::Blocks(4),
        edit: Edit::Func(|func| {
            replace(
                func,
                Which::First,
                |at, inst| at.in_loop && loads(inst, INPUT),
                |old| vec![Inst { op: Op::Sse2(Sse2::MovdqaLoad), ..old.clone() }],
            )
        }),
        caught: &[Caught::Breaks(|rule| matches!(rule, Rule::Misaligned(_)))],
    },
    Fault {
        what: "upper halves of registers left as they are",
        kernel: "aes256.ctr32",
        strategy: "vaes256",
        made: Shape::Blocks(8),
        edit: Edit::Func(|func| replace(func, Which::Each, |_, inst| inst.op == Op::Avx(Avx::Vzeroupper), |_| vec![])),
        caught: &[
            Caught::Breaks(|rule| *rule == Rule::NoVzeroupper),
            Caught::Stops(|fault| *fault == Stopped::NoVzeroupper),
            Caught::Native(|kind| matches!(kind, Kind::UpperHalf(_))),
        ],
    },
];

/// Whether an instruction takes a word out of a vector register.
fn moves_out(inst: &Inst<PReg>) -> bool {
    matches!(inst.op, Op::Avx(Avx::VmovqOut) | Op::Sse2(Sse2::MovqOut))
}

/// Whether an instruction reads the memory of that argument.
fn loads(inst: &Inst<PReg>, argument: u8) -> bool {
    inst.memory().is_some_and(|(mem, reads, _)| reads && mem.space == Space::Argument(argument))
}

/// Whether an instruction writes the memory of that argument.
fn stores(inst: &Inst<PReg>, argument: u8) -> bool {
    inst.memory().is_some_and(|(mem, _, writes)| writes && mem.space == Space::Argument(argument))
}

/// The address of an instruction that has one.
fn address(inst: &Inst<PReg>) -> Option<&Mem<PReg>> {
    inst.operands.iter().find_map(|operand| match operand {
        Operand::Mem(mem) => Some(mem),
        Operand::Reg(_) | Operand::Imm(_) => None,
    })
}

/// The same instruction with an address so many bytes on.
fn moved(old: &Inst<PReg>, by: i32) -> Inst<PReg> {
    let mut new = old.clone();
    for operand in &mut new.operands {
        if let Operand::Mem(mem) = operand {
            mem.disp += by;
        }
    }
    new
}

/// Takes out the instructions of all blocks in such places; tells whether there were any.
fn emptied(func: &mut Func<Physical>, place: impl Fn(Place) -> bool) -> bool {
    let mut changed = false;
    edits::blocks(func, &mut |at, insts| {
        if place(at) {
            changed |= !insts.is_empty();
            insts.clear();
        }
    });
    changed
}

/// Reads 8 bytes at a place counted from where the pointer of an argument has walked to at the end.
fn reads_behind(func: &mut Func<Physical>, argument: u8, disp: i32) -> bool {
    let Some(end) = edits::walked(func, argument) else { return false };
    edits::append(func, vec![inst(Base::Load, vec![reg(SPARE), Operand::Mem(Mem { disp, ..end })])]);
    true
}

/// In the loop: the first block's result stored as soon as it is there, before the others' previous blocks are read.
fn stores_too_early(func: &mut Func<Physical>) -> bool {
    let mut changed = false;
    edits::blocks(func, &mut |place, insts| {
        let last = insts.iter().position(|inst| inst.op == Op::Aes(Aes::Aesdeclast));
        let store = insts.iter().position(|inst| stores(inst, OUTPUT));
        if let (true, Some(last), Some(store)) = (place.in_loop, last, store) {
            let early = insts.remove(store);
            insts.insert(last + 1, early);
            changed = true;
        }
    });
    changed
}

/// In the loop: the first previous block that is read behind the rounds read from the output.
fn chains_the_output(func: &mut Func<Physical>) -> bool {
    let mut changed = false;
    edits::blocks(func, &mut |place, insts| {
        let rounds = insts.iter().position(|inst| inst.op == Op::Aes(Aes::Aesdec));
        let output = insts.iter().find(|inst| stores(inst, OUTPUT)).and_then(address).map(|mem| mem.base);
        let (true, Some(rounds), Some(output)) = (place.in_loop, rounds, output) else { return };
        if let Some(previous) = insts.iter_mut().skip(rounds).find(|inst| loads(inst, INPUT)) {
            for operand in &mut previous.operands {
                if let Operand::Mem(mem) = operand {
                    (mem.space, mem.base) = (Space::Argument(OUTPUT), output);
                }
            }
            changed = true;
        }
    });
    changed
}
