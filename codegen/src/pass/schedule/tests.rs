//! Does a scheduled function do what it did before?

use crate::ir::{Builder, Func, Node, Virtual};
use crate::isa::Op;
use crate::isa::avx::Avx;
use crate::isa::base::Base;
use crate::isa::mmx_sse2::MmxSse2;
use crate::pass::model::CostModel;
use crate::pass::schedule;
use crate::pass::testing::{arguments, pieces, pointer, program, run_virtual, straight};
use proptest::prelude::*;

fn model(issue_width: u32, window: u32) -> CostModel {
    CostModel { issue_width, window, ..CostModel::generic() }
}

fn same(func: &Func<Virtual>, scheduled: &Func<Virtual>, seed: u64) {
    for equal in [false, true] {
        let arguments = arguments(seed, equal);
        assert_eq!(run_virtual(func, &arguments), run_virtual(scheduled, &arguments), "r = a: {equal}");
    }
    let sorted = |func: &Func<Virtual>| {
        let mut list: Vec<_> = func.instructions().iter().map(|inst| format!("{inst:?}")).collect();
        list.sort_unstable();
        list
    };
    assert_eq!(sorted(func), sorted(scheduled), "the same instructions");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn straight_lines_do_what_they_did(live in 1..40_usize, body in straight(), width in 1..7_u32, window in 0..300_u32, seed in 0..1000_u64) {
        let func = program(live, live % 12, 64, &body);
        let scheduled = schedule(func.clone(), &model(width, window));
        same(&func, &scheduled, seed);
        prop_assert_eq!(&scheduled, &schedule(func, &model(width, window)), "twice the same");
    }

    #[test]
    fn loops_and_tails_do_what_they_did(live in 1..20_usize, body in pieces(), width in 1..7_u32, window in 0..100_u32, seed in 0..1000_u64) {
        let func = program(live, live % 5, 64, &body);
        same(&func, &schedule(func.clone(), &model(width, window)), seed);
    }
}

fn mnemonics(func: &Func<Virtual>) -> Vec<&'static str> {
    func.instructions().iter().map(|inst| inst.op.row().mnemonic).collect()
}

#[test]
fn a_load_moves_above_a_chain_and_a_dead_flag_write_stays_out_of_it() {
    let mut b = Builder::new("chain", 64);
    let p = b.parameter("p", pointer(0), true, &[]);
    let [x, y, z, u] = [(); 4].map(|()| b.gpr());
    for (index, reg) in [x, y, z].into_iter().enumerate() {
        let place = b.at(0, p, 8 * index as i32);
        b.load(reg, place);
    }
    b.add(x, y);
    b.adc(y, z);
    let place = b.at(0, p, 64);
    b.note("the far load");
    b.load(u, place);
    b.shr(u, 3_i64);
    b.add(u, x);
    b.adc(u, y);
    let func = b.finish(Some(u.0), None);
    let scheduled = schedule(func.clone(), &model(4, 32));
    assert_eq!(mnemonics(&scheduled)[..4], ["mov"; 4], "the loads come first");
    same(&func, &scheduled, 1);
    let Node::Block(insts) = &scheduled.body[0] else { panic!("one block") };
    let noted = insts.iter().find(|inst| inst.note.is_some()).expect("the note");
    assert_eq!(noted.operands[0], crate::ir::Operand::Reg(u.0), "notes travel");
}

#[test]
fn a_window_of_one_is_the_source_order() {
    let mut b = Builder::new("window", 64);
    let p = b.parameter("p", pointer(0), true, &[]);
    let (x, y) = (b.gpr(), b.gpr());
    b.mov_imm(x, 1_i64);
    b.add(x, x);
    let place = b.at(0, p, 0);
    b.load(y, place);
    b.add(y, x);
    let func = b.finish(Some(y.0), None);
    assert_eq!(schedule(func.clone(), &model(4, 1)), func);
    assert_ne!(schedule(func.clone(), &model(4, 8)), func);
}

#[test]
fn two_flags_that_wait_for_each_other_are_untied() {
    // Each chain's second link needs a value whose making writes the other chain's flag.
    let mut b = Builder::new("tied", 64);
    let p = b.parameter("p", pointer(0), true, &[]);
    let [x, y, s, t, u] = [(); 5].map(|()| b.gpr());
    for (index, reg) in [x, y, s, t, u].into_iter().enumerate() {
        let place = b.at(0, p, 8 * index as i32);
        b.load(reg, place);
    }
    b.adcx(x, y);
    b.adox(s, s);
    b.adcx(s, y);
    b.adcx(t, t);
    b.adox(u, u);
    b.adcx(u, x);
    b.adox(u, t);
    let func = b.finish(Some(u.0), None);
    for window in 1..12 {
        same(&func, &schedule(func.clone(), &model(6, window)), 3);
    }
}

#[test]
fn loads_pass_stores_only_where_the_bytes_are_apart() {
    let build = |same_argument: bool, disp: i32, step: i32| {
        let mut b = Builder::new("alias", 64);
        let r = b.parameter("r", pointer(0), true, &[]);
        let a = b.parameter("a", pointer(0), true, &[0]);
        let (x, y) = (b.gpr(), b.gpr());
        b.mov_imm(x, 7_i64);
        b.mul_chain(x);
        let place = b.at(0, r, 0);
        b.store(place, x);
        if step != 0 {
            b.advance(0, r, step);
            b.advance(1, a, step);
        }
        let place = if same_argument { b.at(0, r, disp) } else { b.at(1, a, disp) };
        b.load(y, place);
        let place = b.at(0, r, 256);
        b.store(place, y);
        schedule(b.finish(None, None), &model(4, 64))
    };
    let load_is_first = |func: &Func<Virtual>| {
        let list = func.instructions();
        let of = |op| list.iter().position(|inst| inst.op == Op::Base(op)).expect("there is one");
        of(Base::Load) < of(Base::Store)
    };
    for same_argument in [false, true] {
        assert!(load_is_first(&build(same_argument, 8, 0)));
        assert!(!load_is_first(&build(same_argument, 0, 0)));
        assert!(!load_is_first(&build(same_argument, 4, 0)));
        assert!(!load_is_first(&build(same_argument, -8, 8)));
    }
    assert!(load_is_first(&build(false, 0, 8)), "the pointers walk in step");
}

impl Builder {
    /// A long chain on `x`.
    fn mul_chain(&mut self, x: crate::ir::typed::Gpr) {
        for _ in 0..4 {
            self.imul(x, x);
        }
    }
}

#[test]
fn vzeroupper_stays_behind_every_wide_instruction() {
    let mut b = Builder::new("vzeroupper", 64);
    let p = b.parameter("p", pointer(0), true, &[]);
    let (x, y) = (b.ymm(), b.ymm());
    for (index, reg) in [x, y].into_iter().enumerate() {
        let place = b.at(0, p, 32 * index as i32);
        b.vmovdqu_load_y(reg, place);
    }
    b.vpmuludq_y(x, x, y);
    let place = b.at(0, p, 64);
    b.vmovdqu_store_y(place, x);
    b.vzeroupper();
    let scheduled = schedule(b.finish(None, None), &model(4, 64));
    assert_eq!(scheduled.instructions().last().map(|inst| inst.op), Some(Op::Avx(Avx::Vzeroupper)));
}

#[test]
fn emms_stays_behind_every_mmx_instruction() {
    let mut b = Builder::new("emms", 32);
    let p = b.parameter("p", pointer(0), true, &[]);
    let (x, y) = (b.mmx(), b.mmx());
    for (index, reg) in [x, y].into_iter().enumerate() {
        let place = b.at(0, p, 8 * index as i32);
        b.movq_load(reg, place);
    }
    b.pmuludq_mm(x, y);
    let place = b.at(0, p, 16);
    b.movq_store(place, x);
    b.emms();
    let scheduled = schedule(b.finish(None, None), &model(4, 64));
    assert_eq!(scheduled.instructions().last().map(|inst| inst.op), Some(Op::MmxSse2(MmxSse2::Emms)));
}
