//! Hand-written cases: what must hold of the code itself, besides that it computes the same.

use super::tests::same;
use super::{AllocateError, allocate};
use crate::ir::typed::{Gpr, Place};
use crate::ir::*;
use crate::isa::Op;
use crate::isa::base::Base;
use crate::isa::row::{CF, CO, PReg, RAX, RCX, RDX, RSI, RegClass};
use crate::isa::sse2::Sse2;
use crate::pass::testing::pointer;

/// A builder with the parameters r, a (may be r), b, n, w, v, and those.
fn start(limb_bits: u32) -> (Builder, [Gpr; 6]) {
    let mut b = Builder::new("case", limb_bits);
    let value = ParameterKind::Value { bits: limb_bits };
    let parameters = [
        b.parameter("r", pointer(0), true, &[]),
        b.parameter("a", pointer(0), true, &[0]),
        b.parameter("b", pointer(1), true, &[]),
        b.parameter("n", ParameterKind::Count { min: 1, max: 9 }, false, &[]),
        b.parameter("w", value, true, &[]),
        b.parameter("v", value, true, &[]),
    ];
    (b, parameters)
}

fn load(b: &mut Builder, base: Gpr, index: i32) -> Gpr {
    let reg = b.gpr();
    let place = b.at(1, base, 8 * index);
    b.load(reg, place);
    reg
}

fn store(b: &mut Builder, base: Gpr, index: i32, reg: Gpr) {
    let place = b.at(0, base, 8 * index);
    b.store(place, reg);
}

/// The instructions of the only loop.
fn loop_body(func: &Func<Physical>) -> Vec<Inst<PReg>> {
    let bodies =
        func.body.iter().filter_map(|node| if let Node::Loop(inner) = node { Some(&inner.body) } else { None });
    let nodes: Vec<_> = bodies.flatten().collect();
    let insts = nodes.into_iter().map(|node| if let Node::Block(insts) = node { insts.clone() } else { Vec::new() });
    insts.flatten().collect()
}

fn count(insts: &[Inst<PReg>], op: Base) -> usize {
    insts.iter().filter(|inst| inst.op == Op::Base(op)).count()
}

fn all(func: &Func<Physical>) -> Vec<Inst<PReg>> {
    func.instructions().into_iter().cloned().collect()
}

#[test]
fn a_small_function_needs_no_frame_and_no_moves() {
    let (mut b, [r, a, ..]) = start(64);
    let (x, y) = (load(&mut b, a, 0), load(&mut b, a, 1));
    b.add(x, y);
    store(&mut b, r, 0, x);
    let func = b.finish(Some(x.0), None);
    let physical = same(&func, 1);
    assert_eq!(physical.frame, Frame::default());
    assert_eq!(all(&physical).len(), 4, "the sum is made in rax");
    assert_eq!(physical.parameters[1].reg, RSI);
}

#[test]
fn forty_live_values() {
    let (mut b, [r, a, ..]) = start(64);
    let values: Vec<_> = (0..40).map(|index| load(&mut b, a, index)).collect();
    for pair in values.windows(2) {
        b.add(pair[1], pair[0]);
    }
    for (index, reg) in values.iter().enumerate() {
        store(&mut b, r, index as i32, *reg);
    }
    let physical = same(&b.finish(None, None), 2);
    assert_eq!(physical.frame.saved.len(), 6, "callee-saved registers before slots");
    // About 13 of the 40 fit beside the pointer; each of the others is stored and read back before and after its sum.
    assert!(physical.frame.slots <= 29 && physical.frame.spills <= 4 * 28, "{:?}", physical.frame);
}

#[test]
fn twenty_live_vectors_go_to_two_slots_each() {
    let (mut b, [r, a, ..]) = start(64);
    let values: Vec<_> = (0..20).map(|_| b.xmm()).collect();
    for (index, reg) in (0..).zip(&values) {
        let place = b.at(1, a, 8 * index);
        b.movdqu_load(*reg, place);
    }
    // General registers take slots too, in between.
    let idle: Vec<_> = (0..20).map(|index| load(&mut b, a, index)).collect();
    for pair in values.windows(2) {
        b.paddq_x(pair[1], pair[0]);
    }
    for reg in &idle[1..] {
        b.add(idle[0], *reg);
    }
    store(&mut b, r, 100, idle[0]);
    for (index, reg) in (0..).zip(&values) {
        let place = b.at(0, r, 16 * index);
        b.movdqu_store(place, *reg);
    }
    let physical = same(&b.finish(None, None), 3);
    let in_frame = |inst: &&Inst<PReg>| inst.memory().is_some_and(|(mem, ..)| mem.space == Space::Frame);
    let spills: Vec<_> = all(&physical).iter().filter(in_frame).cloned().collect();
    let vectors = |op| spills.iter().filter(|inst| inst.op == Op::Sse2(op)).count();
    assert!(vectors(Sse2::MovdquStore) >= 4 && vectors(Sse2::MovdquLoad) >= 4, "{spills:?}");
    assert_eq!(physical.frame.spills as usize, spills.len());
    assert!(crate::ir::wellformed::check_physical(&physical).is_ok());
    assert!(physical.frame.saved.iter().all(|reg| reg.class == RegClass::Gpr));
}

/// Twenty vectors of 256 bits that live at once, or of 128 bits in the same encoding.
fn twenty_live_vectors(wide: bool) -> Func<Physical> {
    let (mut b, [r, a, ..]) = start(64);
    let values: Vec<_> = (0..20).map(|_| b.ymm()).collect();
    for (index, reg) in (0..).zip(&values) {
        let place = b.at(1, a, 8 * index);
        if wide { b.vmovdqu_load_y(*reg, place) } else { b.vmovdqu_load_x(reg.low(), place) }
    }
    for pair in values.windows(2) {
        if wide {
            b.vpaddq_y(pair[1], pair[1], pair[0])
        } else {
            b.vpaddq_x(pair[1].low(), pair[1].low(), pair[0].low())
        }
    }
    for (index, reg) in (0..).zip(&values) {
        let place = b.at(0, r, 32 * index);
        if wide { b.vmovdqu_store_y(place, *reg) } else { b.vmovdqu_store_x(place, reg.low()) }
    }
    if wide {
        b.vzeroupper();
    }
    let func = b.finish(None, None);
    assert_eq!(crate::ir::wellformed::check(&func), Ok(()));
    let physical = same(&func, 3);
    assert_eq!(crate::ir::wellformed::check_physical(&physical), Ok(()));
    physical
}

#[test]
fn wide_vectors_go_to_four_slots_each_and_narrow_ones_to_two() {
    for (wide, slots) in [(true, 4), (false, 2)] {
        let physical = twenty_live_vectors(wide);
        let in_frame = |inst: &&Inst<PReg>| inst.memory().is_some_and(|(mem, ..)| mem.space == Space::Frame);
        let insts = all(&physical);
        let spills: Vec<_> = insts.iter().filter(in_frame).collect();
        assert!(spills.iter().any(|inst| inst.memory().is_some_and(|(_, _, writes)| writes)), "{spills:?}");
        for inst in &spills {
            assert_eq!(inst.access().map(|width| width.bytes(64)), Some(8 * slots), "{inst:?}");
        }
        assert!(physical.frame.slots > 0 && physical.frame.slots.is_multiple_of(slots), "{:?}", physical.frame);
    }
}

#[test]
fn the_low_half_of_a_wide_vector_is_no_copy_of_it() {
    let (mut b, [r, a, ..]) = start(64);
    let (x, y) = (b.ymm(), b.ymm());
    let (from, to) = (b.at(1, a, 0), b.at(0, r, 0));
    b.vmovdqu_load_y(x, from);
    b.vmovdqa_x(y.low(), x.low());
    b.vmovdqu_store_y(to, y);
    b.vzeroupper();
    same(&b.finish(None, None), 5);
}

#[test]
fn the_source_that_costs_a_byte_of_prefix_stands_first() {
    let (mut b, [_, a, ..]) = start(64);
    let values: Vec<_> = (0..16).map(|_| b.xmm()).collect();
    for (index, reg) in (0..).zip(&values) {
        let place = b.at(1, a, 8 * index);
        b.vmovdqu_load_x(*reg, place);
    }
    b.vpxor_x(values[0], values[0], values[15]);
    b.vpsubq_x(values[0], values[0], values[15]);
    for pair in values.windows(2) {
        b.vpxor_x(pair[1], pair[1], pair[0]);
    }
    let insts = all(&same(&b.finish(None, None), 7));
    let sources = |index: usize| [1, 2].map(|operand| insts[16 + index].operands[operand]);
    assert_eq!(sources(0), [PReg::xmm(15), PReg::xmm(0)].map(Operand::Reg));
    assert_eq!(sources(1), [PReg::xmm(0), PReg::xmm(15)].map(Operand::Reg), "a difference has an order");
}

#[test]
fn a_value_that_a_full_loop_does_not_use_waits_in_its_slot() {
    let (mut b, [r, a, idle, n, ..]) = start(64);
    let values: Vec<_> = (0..11).map(|index| load(&mut b, a, index)).collect();
    b.counted(n, |b| {
        for pair in values.windows(2) {
            b.add(pair[1], pair[0]);
        }
        let t = load(b, a, 3);
        b.add(values[0], t);
    });
    for (index, reg) in values.iter().chain([&idle]).enumerate() {
        store(&mut b, r, index as i32, *reg);
    }
    let physical = same(&b.finish(None, None), 3);
    assert_eq!(physical.frame.slots, 1);
    assert_eq!(physical.frame.spills, 2, "stored before the loop, loaded after it");
    assert_eq!(loop_body(&physical).len(), 12, "nothing was added inside");
}

#[test]
fn a_parameter_leaves_rdx_for_a_product() {
    let (mut b, [r, a, third, ..]) = start(64);
    let x = load(&mut b, a, 0);
    let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
    b.mov(lo, x);
    b.mul(third, lo, hi);
    store(&mut b, r, 0, lo);
    store(&mut b, r, 1, hi);
    store(&mut b, r, 2, third);
    let physical = same(&b.finish(None, None), 4);
    assert_eq!(count(&all(&physical), Base::Mov), 1, "the parameter moves, the factor is loaded into rax");
    assert_eq!(physical.frame, Frame::default());
}

#[test]
fn a_parameter_leaves_rcx_for_a_flag_free_loop_and_two_carries_cross_its_back_edge() {
    let (mut b, [r, a, _, n, w, _]) = start(64);
    let counter = b.pinned(RCX);
    b.mov(counter, w);
    let multiplier = b.pinned(RDX);
    let (x, high) = (load(&mut b, a, 0), b.gpr());
    b.mov_imm(counter, 5_i64);
    b.mov(multiplier, w);
    b.mov_imm(high, 0_i64);
    b.xor(x, x);
    b.counted_flag_free(counter, CO, |b| {
        let (lo, hi) = (b.gpr(), b.gpr());
        let place = b.at(1, a, 0);
        b.mulx(hi, lo, place, multiplier);
        b.adcx(lo, high);
        let place = b.at(0, r, 0);
        b.adox(lo, place);
        store(b, r, 0, lo);
        b.mov(high, hi);
        b.advance(0, r, 8);
        b.advance(1, a, 8);
    });
    b.adc_ri(high, 0_i64);
    store(&mut b, r, 0, high);
    store(&mut b, r, 1, n);
    let physical = same(&b.finish(Some(high.0), None), 5);
    assert_eq!(loop_body(&physical).len(), 7, "the copy to the loop-carried high half disappears");
    let Some(Node::Loop(inner)) = physical.body.iter().find(|node| matches!(node, Node::Loop(_))) else { panic!() };
    assert_eq!((inner.counter, inner.live_flags), (RCX, CO));
}

#[test]
fn a_carry_crosses_the_back_edge_of_a_decrementing_loop_under_pressure() {
    let (mut b, [r, a, _, n, w, _]) = start(64);
    let values: Vec<_> = (0..16).map(|index| load(&mut b, a, index)).collect();
    b.add(w, w);
    let body = |b: &mut Builder| {
        for pair in values.windows(2) {
            b.adc(pair[1], pair[0]);
        }
        b.adc(values[0], w);
    };
    let counter = b.gpr();
    b.mov(counter, n);
    b.counted(counter, body);
    b.adc_ri(w, 0_i64);
    for (index, reg) in values.iter().chain([&w, &n]).enumerate() {
        store(&mut b, r, index as i32, *reg);
    }
    let mut func = b.finish(Some(w.0), None);
    let Some(Node::Loop(inner)) = func.body.iter_mut().find(|node| matches!(node, Node::Loop(_))) else { panic!() };
    inner.live_flags = CF;
    same(&func, 6);
}

#[test]
fn a_source_in_a_slot_is_read_as_memory() {
    let (mut b, [r, a, ..]) = start(64);
    let values: Vec<_> = (0..20).map(|index| load(&mut b, a, index)).collect();
    let sum = b.gpr();
    b.xor(sum, sum);
    for reg in &values {
        b.adc(sum, *reg);
    }
    store(&mut b, r, 0, sum);
    let physical = same(&b.finish(Some(sum.0), None), 7);
    let insts = all(&physical);
    let from_slots = |inst: &&Inst<PReg>| inst.memory().is_some_and(|(mem, ..)| mem.space == Space::Frame);
    let folded = insts.iter().filter(|inst| inst.op == Op::Base(Base::Adc)).filter(from_slots).count();
    assert!(folded >= 6, "{folded}");
    let reloads = insts.iter().filter(|inst| inst.op == Op::Base(Base::Load)).filter(from_slots).count();
    assert_eq!(reloads, 1, "the pointer, which cannot be read from memory");
    assert_eq!(physical.frame.spills as usize, 2 * (folded + reloads));
}

#[test]
fn values_that_change_places_in_a_loop_change_registers_at_its_end() {
    let (mut b, [r, a, _, n, ..]) = start(64);
    let [x, y, z] = [0, 1, 2].map(|index| load(&mut b, a, index));
    b.counted(n, |b| {
        let (s, t) = (b.gpr(), b.gpr());
        b.mov(s, x);
        b.mov(x, y);
        b.mov(y, s);
        b.mov(t, z);
        b.mov(z, t);
        b.not(z);
    });
    for (index, reg) in [x, y, z].into_iter().enumerate() {
        store(&mut b, r, index as i32, reg);
    }
    let physical = same(&b.finish(None, None), 9);
    assert_eq!(physical.frame.spills, 0);
    assert_eq!(loop_body(&physical).len(), 4, "three moves for the swap, none for the detour of z");
}

#[test]
fn a_swap_without_a_free_register_goes_through_a_slot() {
    let (mut b, [r, a, _, n, ..]) = start(64);
    let values: Vec<_> = (0..13).map(|index| load(&mut b, a, index)).collect();
    b.counted(n, |b| {
        for pair in values.windows(2) {
            b.adc(pair[1], pair[0]);
        }
        // Renaming, no instruction: the moves appear at the end of the body.
        let s = b.gpr();
        b.mov(s, values[0]);
        b.mov(values[0], values[1]);
        b.mov(values[1], s);
    });
    for (index, reg) in values.iter().enumerate() {
        store(&mut b, r, index as i32, *reg);
    }
    let physical = same(&b.finish(None, None), 9);
    assert!(physical.frame.spills > 0);
}

#[test]
fn subroutines_keep_their_registers_and_the_rest_survives() {
    let (mut b, [r, a, _, _, w, v]) = start(64);
    let (t0, t1) = (b.pinned(PReg::gpr(12)), b.pinned(PReg::gpr(13)));
    let square = b.subroutine(|b| {
        let (lo, hi) = (b.pinned(RAX), b.pinned(RDX));
        b.mov(lo, t0);
        b.mul(t0, lo, hi);
        b.mov(t1, hi);
        b.mov(t0, lo);
        let place = b.at(0, r, 0);
        b.store(place, t1);
    });
    let twice = b.subroutine(|b| {
        b.call(square);
        b.call(square);
    });
    let values: Vec<_> = (0..14).map(|index| load(&mut b, a, index)).collect();
    b.mov(t0, w);
    b.call(twice);
    b.add(v, t0);
    b.add(v, t1);
    b.mov(t0, v);
    b.call(square);
    for (index, reg) in values.iter().chain([&v, &t0]).enumerate() {
        store(&mut b, r, index as i32 + 1, *reg);
    }
    let physical = same(&b.finish(Some(t1.0), None), 11);
    assert!(physical.frame.saved.contains(&PReg::gpr(12)) && physical.frame.saved.contains(&PReg::gpr(13)));
    assert_eq!(physical.subs[0].len(), 1);
}

#[test]
fn a_32_bit_limb_is_returned_zero_extended() {
    let (mut b, [.., w, _]) = start(32);
    b.add(w, w);
    let physical = same(&b.finish(Some(w.0), None), 12);
    assert_eq!(all(&physical).last().map(|inst| inst.op), Some(Op::Base(Base::Mov32)));

    let (mut b, [.., w, v]) = start(32);
    b.mov32(w, v);
    let physical = same(&b.finish(Some(w.0), None), 12);
    assert_eq!(count(&all(&physical), Base::Mov32), 1, "a 32-bit result needs no second extension");
}

#[test]
fn a_note_outlives_its_copy() {
    let (mut b, [r, a, ..]) = start(64);
    let x = load(&mut b, a, 0);
    let y = b.gpr();
    b.note("the sum");
    b.mov(y, x);
    b.add(y, y);
    store(&mut b, r, 0, y);
    let physical = same(&b.finish(None, None), 13);
    let noted = all(&physical).into_iter().find(|inst| inst.note == Some("the sum"));
    assert_eq!(noted.map(|inst| inst.op), Some(Op::Base(Base::Add)));
}

#[test]
fn what_the_target_does_not_have_is_refused() {
    let mut b = Builder::new("portable", 64);
    let w = b.parameter_val("w", ParameterKind::Value { bits: 64 }, true);
    let refused = allocate(b.finish(Some(w.0), None));
    assert_eq!(refused, Err(AllocateError::Class { function: "portable".into(), class: RegClass::Portable }));

    let (mut b, [.., n, _, _]) = start(64);
    b.counted_flag_free(n, CF, |b| b.note("nothing"));
    assert!(matches!(allocate(b.finish(None, None)), Err(AllocateError::Counter { .. })));

    let (mut b, [_, _, third, ..]) = start(64);
    let high = b.pinned(RDX);
    b.subroutine(|b| b.inc(third));
    b.mov_imm(high, 1_i64);
    assert!(matches!(allocate(b.finish(None, None)), Err(AllocateError::Pinned { .. })));

    let (mut b, _) = start(64);
    let free = b.gpr();
    b.subroutine(|b| b.mov_imm(free, 1_i64));
    assert!(matches!(allocate(b.finish(None, None)), Err(AllocateError::Subroutine { .. })));

    let (mut b, _) = start(64);
    b.subroutine(|b| b.call(SubId(0)));
    assert!(matches!(allocate(b.finish(None, None)), Err(AllocateError::Calls { .. })));

    let (mut b, [_, a, ..]) = start(64);
    let pins: Vec<_> = (0..16).filter(|n| ![4, 6].contains(n)).map(|n| b.pinned(PReg::gpr(n))).collect();
    pins.iter().for_each(|reg| b.mov_imm(*reg, 1_i64));
    let x = b.gpr();
    b.lea(x, Place(Mem { space: Space::Nowhere, base: a.0, index: None, disp: 1 }));
    let place = b.at(1, a, 0);
    b.add(x, place);
    pins.iter().for_each(|reg| b.inc(*reg));
    assert!(matches!(allocate(b.finish(None, None)), Err(AllocateError::Pressure { .. })));
}

#[test]
fn five_thousand_instructions() {
    let (mut b, [r, a, ..]) = start(64);
    let mut values: Vec<_> = (0..24).map(|index| load(&mut b, a, index)).collect();
    for round in 0..1000 {
        let multiplier = b.pinned(RDX);
        b.mov(multiplier, values[round * 7 % 24]);
        let (hi, lo) = (b.gpr(), b.gpr());
        b.mulx(hi, lo, values[round * 5 % 24], multiplier);
        b.add(lo, values[round % 24]);
        b.adc_ri(hi, 0_i64);
        b.xor(hi, lo);
        values[round % 24] = hi;
    }
    for (index, reg) in values.iter().enumerate() {
        store(&mut b, r, index as i32, *reg);
    }
    let func = b.finish(None, None);
    same(&func, 14);
    same(&crate::pass::schedule(func, &crate::pass::CostModel::generic()), 14);
}
