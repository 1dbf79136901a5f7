//! Does the interpreter execute a whole function, on virtual registers and laid out, as a caller sees it: arguments, results,
//! loops, tails, subroutines, and what the calling convention keeps?

use kiln_codegen::ir::interpret::{Argument, BadArgument, Call, Fault, run};
use kiln_codegen::ir::*;
use kiln_codegen::isa::Op;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::{PReg, RAX, RBX, RCX, RDI, RSP};
use kiln_tests::kernel_by_hand::{allocated, mul_add, mul_add_allocated, mul_add_call};
use kiln_tests::patterns::word;
use proptest::prelude::*;

const COUNT: ParameterKind = ParameterKind::Count { min: 0, max: 1 << 16 };

proptest! {
    #[test]
    fn both_forms_of_a_kernel_are_its_mathematics(pairs in prop::collection::vec((word(), word()), 0..9), w in word()) {
        let (r, a): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
        let (mut expected, mut carry) = (Vec::new(), 0u128);
        for (r, a) in r.iter().zip(&a) {
            carry += u128::from(*a) * u128::from(w) + u128::from(*r);
            expected.push(carry as u64);
            carry >>= 64;
        }
        let (func, physical) = (mul_add(), mul_add_allocated());
        prop_assert_eq!(wellformed::check(&func), Ok(()));
        prop_assert_eq!(wellformed::check_physical(&physical), Ok(()));
        prop_assert_eq!(taint::check(&func), Ok(()));
        let call = mul_add_call(&r, &a, w);
        for outcome in [run(&func, &call).unwrap(), run(&physical, &call).unwrap()] {
            prop_assert_eq!(outcome.limbs64(0), expected.clone());
            prop_assert_eq!(outcome.limbs64(1), a.clone());
            prop_assert_eq!(outcome.returned, Some(carry as u64));
        }
    }
}

#[test]
fn equal_pointers_share_their_memory() {
    let n = Argument::Integer(1);
    let arguments = vec![Argument::limbs64(&[5]), Argument::Same(0), n, Argument::Integer(3)];
    let outcome = run(&mul_add(), &Call::new(arguments.clone())).unwrap();
    assert_eq!((outcome.limbs64(0), outcome.limbs64(1)), (vec![20], vec![20]));
    let mut apart = mul_add();
    apart.parameters[1].may_equal.clear();
    let fault = Fault::Argument { index: 1, why: BadArgument::MayNotEqual(0) };
    assert_eq!(run(&apart, &Call::new(arguments)), Err(fault));
}

#[test]
fn addresses_do_not_depend_on_the_data() {
    let trace = |limb, w| run(&mul_add(), &mul_add_call(&[limb; 5], &[limb; 5], w).traced()).unwrap().trace.unwrap();
    assert_eq!(trace(0, 0), trace(u64::MAX, u64::MAX));
    assert_eq!(trace(0, 0).len(), 15);
    assert!(trace(0, 0)[0].address % 2 == 1);
}

#[test]
fn arguments_must_suit_their_parameters() {
    let why = |arguments| run(&mul_add(), &Call::new(arguments)).unwrap_err();
    let pointer = || Argument::limbs64(&[0]);
    let integer = Argument::Integer;
    assert!(matches!(why(vec![]), Fault::Arguments { expected: 4, got: 0 }));
    assert!(matches!(
        why(vec![pointer(), pointer(), integer(2), integer(0)]),
        Fault::Argument { index: 0, why: BadArgument::Length { expected: 16, got: 8 } }
    ));
    assert!(matches!(
        why(vec![pointer(), integer(0), integer(1), integer(0)]),
        Fault::Argument { index: 1, why: BadArgument::Sort }
    ));
    let mut exact = mul_add();
    exact.exact = Some(4);
    let call = mul_add_call(&[0; 5], &[0; 5], 1);
    let fault = Fault::Argument { index: 2, why: BadArgument::Count { got: 5 } };
    assert_eq!(run(&exact, &call), Err(fault));
}

#[test]
fn a_loop_of_no_trips_is_a_fault() {
    let mut b = Builder::new("none", 64);
    let count = b.gpr();
    b.mov_imm(count, 0i64);
    b.counted(count, |b| b.mov_imm(count, 0i64));
    let func = b.finish(None, None);
    assert!(matches!(run(&func, &Call::new(vec![])), Err(Fault::NoTrips { .. })));
    // Once laid out it wraps, as on the CPU.
    let physical = allocated(&func, Frame::default(), |_| RAX);
    let call = Call { budget: 1000, ..Call::new(vec![]) };
    assert!(matches!(run(&physical, &call), Err(Fault::Budget { .. })));
}

/// `dec; jnz` and both tests of tails, laid out and not.
#[test]
fn loops_and_tails_are_the_same_once_laid_out() {
    let mut b = Builder::new("control", 64);
    let n = b.parameter("n", COUNT, false, &[]);
    let (total, trips) = (b.gpr(), b.gpr());
    b.mov_imm(total, 0i64);
    b.when_nonzero(n, |b| {
        b.mov(trips, n);
        b.counted(trips, |b| b.add_ri(total, 10));
        b.when_bits(n, 3, |b| b.inc(total));
        b.when_bits(n, 1 << 12 | 4, |b| b.inc(total));
    });
    let func = b.finish(Some(total.0), None);
    assert_eq!(wellformed::check(&func), Ok(()));
    let physical = allocated(&func, Frame::default(), |reg| [RDI, RAX, RCX][reg.index as usize]);
    assert_eq!(wellformed::check_physical(&physical), Ok(()));
    for n in 0..40 {
        let call = Call::new(vec![Argument::Integer(n)]);
        let expected = 10 * n + u64::from(n % 4 != 0) + u64::from(n & 4 != 0);
        assert_eq!(run(&func, &call).unwrap().returned, Some(expected));
        assert_eq!(run(&physical, &call).unwrap().returned, Some(expected));
    }
}

fn mov_imm(reg: PReg) -> Inst<PReg> {
    Inst { op: Op::Base(Base::MovImm), operands: vec![Operand::Reg(reg), Operand::Imm(3)], note: None }
}

fn bare(frame: Frame, body: Vec<Node<PReg>>, subs: Vec<Vec<Node<PReg>>>) -> Func<Physical> {
    let b = Builder::new("bare", 64).finish(None, None);
    Func { body, subs, ..allocated(&b, frame, |_| RAX) }
}

#[test]
fn the_abi_is_kept() {
    let call = Call::new(vec![]);
    let saving = |saved: &[PReg]| Frame { saved: saved.to_vec(), ..Frame::default() };
    let body = || vec![Node::Block(vec![mov_imm(RBX), mov_imm(PReg::gpr(15))])];
    let right = bare(saving(&[RBX, PReg::gpr(15)]), body(), vec![]);
    assert_eq!(run(&right, &call).unwrap().executed, 7);
    let fault = run(&bare(saving(&[PReg::gpr(15)]), body(), vec![]), &call);
    assert_eq!(fault, Err(Fault::Clobbered { register: RBX, found: 3 }));
    let stack = bare(saving(&[]), vec![Node::Block(vec![mov_imm(RSP)])], vec![]);
    assert!(matches!(run(&stack, &call), Err(Fault::Stack { address: 3, .. })));
}

#[test]
fn subroutines_return_and_have_no_slots() {
    let call = Call::new(vec![]);
    let slot = |disp| Operand::Mem(Mem { space: Space::Frame, base: RSP, index: None, disp });
    let store = |disp| Inst { op: Op::Base(Base::Store), operands: vec![slot(disp), Operand::Reg(RAX)], note: None };
    let load = |disp| Inst { op: Op::Base(Base::Load), operands: vec![Operand::Reg(RAX), slot(disp)], note: None };
    let frame = || Frame { saved: vec![], slots: 2, spills: 0 };
    let sub = |insts: Vec<Inst<PReg>>| vec![vec![Node::Block(insts)]];
    let twice = || vec![Node::Call(SubId(0)), Node::Call(SubId(0)), Node::Block(vec![store(8), load(8)])];
    let right = bare(frame(), twice(), sub(vec![mov_imm(RAX)]));
    assert_eq!(run(&right, &call).unwrap().executed, 2 * 3 + 2 + 3);
    let spill = bare(frame(), twice(), sub(vec![mov_imm(RAX), store(8)]));
    assert!(matches!(run(&spill, &call), Err(Fault::Stack { .. })));
    let empty = bare(frame(), vec![Node::Block(vec![load(0)])], vec![]);
    assert!(matches!(run(&empty, &call), Err(Fault::UndefinedSlot { offset: 0, .. })));
    for disp in [-8, 9, 16] {
        let outside = bare(frame(), vec![Node::Block(vec![mov_imm(RAX), store(disp)])], vec![]);
        assert!(matches!(run(&outside, &call), Err(Fault::Stack { .. })));
    }
    let endless = bare(frame(), vec![Node::Call(SubId(0))], vec![vec![Node::Call(SubId(0))]]);
    assert!(matches!(run(&endless, &call), Err(Fault::Stack { .. })));
}
