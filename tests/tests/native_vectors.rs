//! Does the interpreter do what this CPU does? Each vector row with random operands, on random registers and memory, both in
//! the interpreter and natively; all 256 bits of the registers are compared where there are as many.

use kiln_codegen::backend::machine::assemble;
use kiln_codegen::ir::interpret::{Argument, Call, run};
use kiln_codegen::ir::{Frame, Func, Inst, Length, Mem, Node, Operand, Parameter, ParameterKind, Physical, Space};
use kiln_codegen::isa::avx::Avx;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::feature::{Feature, FeatureSet};
use kiln_codegen::isa::row::{Kind, PReg, RDI, RegClass};
use kiln_codegen::isa::sse2::Sse2;
use kiln_codegen::isa::{Op, VectorEncoding};
use kiln_runtime::detect::native;
use kiln_runtime::exec::Code;
use kiln_tests::encoding_cases::Random;
use kiln_tests::runs::{Memory, run_on};
use kiln_tests::skips::Skips;

/// Where in the memory the general registers are, and what an instruction accesses. The vector registers are at 0.
const GENERAL: i32 = 512;
const ACCESSED: i32 = 768;

/// The general registers that take part: a callee's own, and not the pointer.
const OWN: [u8; 8] = [0, 1, 2, 6, 8, 9, 10, 11];

fn at(disp: i32) -> Operand<PReg> {
    Operand::Mem(Mem { space: Space::Argument(0), base: RDI, index: None, disp })
}

fn inst(op: Op, operands: Vec<Operand<PReg>>) -> Inst<PReg> {
    Inst { op, operands, note: None }
}

/// Random operands for a row.
fn operands(random: &mut Random, op: Op) -> Vec<Operand<PReg>> {
    let operand = |random: &mut Random, kind: Kind| match kind {
        Kind::Imm8 => Operand::Imm(random.one(&[0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127])),
        Kind::Selector => Operand::Imm(random.below(256).cast_signed()),
        kind if kind.memory().is_some() && (kind.register().is_none() || random.below(2) == 0) => {
            at(ACCESSED + if kind.is_aligned() { 32 } else { random.below(64) as i32 })
        }
        kind => Operand::Reg(match kind.register() {
            Some(RegClass::Xmm) => PReg::xmm(random.below(16) as u8),
            Some(RegClass::Gpr) => PReg::gpr(random.one(&OWN)),
            other => panic!("no vector row has an operand in {other:?}"),
        }),
    };
    op.row().operands.iter().map(|spec| operand(random, spec.kind)).collect()
}

/// Loads every register, runs the instruction, and stores every register.
fn function(tested: Inst<PReg>, avx: bool) -> Func<Physical> {
    let vectors = || (0..16).map(|number| (at(32 * i32::from(number)), Operand::Reg(PReg::xmm(number))));
    let generals = || OWN.map(|number| (at(GENERAL + 8 * i32::from(number)), Operand::Reg(PReg::gpr(number))));
    let (load, store) = if avx {
        (Op::Avx(Avx::VmovdquLoadY), Op::Avx(Avx::VmovdquStoreY))
    } else {
        (Op::Sse2(Sse2::MovdquLoad), Op::Sse2(Sse2::MovdquStore))
    };
    let mut insts: Vec<_> = vectors().map(|(place, reg)| inst(load, vec![reg, place])).collect();
    insts.extend(generals().map(|(place, reg)| inst(Op::Base(Base::Load), vec![reg, place])));
    insts.push(tested);
    insts.extend(vectors().map(|(place, reg)| inst(store, vec![place, reg])));
    insts.extend(generals().map(|(place, reg)| inst(Op::Base(Base::Store), vec![place, reg])));
    if avx {
        insts.push(inst(Op::Avx(Avx::Vzeroupper), vec![]));
    }
    let kind =
        ParameterKind::Pointer { element_bytes: 1, length: Length::fixed(1024), reads: true, writes: true, cursor: 0 };
    Func {
        name: "test/native_vectors".into(),
        limb_bits: 64,
        parameters: vec![Parameter {
            name: "state".into(),
            kind,
            secret: false,
            may_equal: vec![],
            align: 1024,
            reg: RDI,
        }],
        returns: None,
        body: vec![Node::Block(insts)],
        subs: vec![],
        pool: vec![],
        frame: Frame::default(),
        exact: None,
        vregs: 0,
    }
}

/// Random bytes, in part of few bits, and in part equal to one another.
fn memory(random: &mut Random) -> Memory {
    let mut memory = Memory([0; 1024]);
    let words = [0, 1, u64::MAX, 1 << 63, 1 << 31, 0xffff_ffff, 0x8080_8080_8080_8080, 0x0706_0504_0302_0100];
    for word in memory.0.as_chunks_mut().0 {
        let value = match random.below(3) {
            0 => random.one(&words),
            1 => random.bits() & random.bits(),
            _ => random.bits(),
        };
        *word = value.to_le_bytes();
    }
    memory
}

#[test]
fn every_vector_row_does_what_the_cpu_does() {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: no such rows on this architecture");
        return;
    }
    let has = native().cpu().features;
    let avx = has.contains(Feature::Avx);
    let seed = 0x7665_6374;
    let mut random = Random(seed);
    let mut skips = Skips::default();
    let mut cases = Vec::new();
    for op in Op::machine().filter(|op| op.vector_encoding().is_some()) {
        let needs = op.row().features;
        if !has.contains_all(needs.with_required()) || (!avx && op.vector_encoding() == Some(VectorEncoding::Vex)) {
            skips.skip(needs.names(), &format!("rows that need {needs}, which this CPU lacks"));
            continue;
        }
        // Without vzeroupper after it, each would leave what it must not.
        assert!(avx || !needs.with_required().contains_all(FeatureSet::of(&[Feature::Avx])));
        cases.extend((0..24).map(|_| inst(op, operands(&mut random, op))));
    }
    let funcs: Vec<_> = cases.iter().map(|case| function(case.clone(), avx)).collect();
    let bytes: Vec<_> = funcs.iter().map(|func| assemble(func).expect("encodes")).collect();
    let code = match Code::publish(&bytes.iter().map(Vec::as_slice).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(refused) => return println!("skipped: {refused}"),
    };
    for ((case, func), entry) in cases.iter().zip(&funcs).zip(code.entries()) {
        for _ in 0..8 {
            let before = memory(&mut random);
            let mut after = before.clone();
            // SAFETY: `function` made it, for one pointer to as much memory; the features were asked for.
            unsafe { run_on(*entry, &mut after) };
            let call = Call::new(vec![Argument::Pointer { bytes: before.0.to_vec() }]);
            let interpreted = run(func, &call).unwrap_or_else(|fault| panic!("{case:?}: {fault}"));
            assert_eq!(interpreted.memories[0], after.0, "seed {seed:#x}: {case:?} on {before:x?}");
        }
    }
    skips.report();
    println!("{} instructions, {} runs", cases.len(), 8 * cases.len());
}
