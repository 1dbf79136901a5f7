//! Is every secret of AES refused where it can be timed: keys, blocks and chaining blocks in a condition, a loop's count, an address
//! or public memory? And are counters, which are public, let through?

use kiln_codegen::compile::Form;
use kiln_codegen::ir::taint::{Rule, check};
use kiln_codegen::ir::{Control, Func, Inst, Loop, Mem, Node, Operand, ParameterKind, Space, VReg, Virtual, When};
use kiln_codegen::isa::Op;
use kiln_codegen::isa::aes::Aes;
use kiln_codegen::isa::base::Base;
use kiln_codegen::isa::row::{NONE, RegClass};
use kiln_codegen::isa::sse2::Sse2;
use kiln_tests::forms;

/// The compiled plan of that name before its registers are allocated.
fn func(variant: &str) -> Func<Virtual> {
    let found = forms::compiled().iter().find(|compiled| compiled.plan.name == variant);
    let found = found.unwrap_or_else(|| panic!("{variant} is not shipped"));
    assert!(matches!(found.form, Form::Machine(_)), "{variant}");
    found.func.clone()
}

fn new(func: &mut Func<Virtual>, class: RegClass) -> VReg {
    func.vregs += 1;
    VReg { index: func.vregs - 1, class, pin: None }
}

fn inst(op: Op, operands: Vec<Operand<VReg>>) -> Inst<VReg> {
    Inst { op, operands, note: None }
}

/// The word of 64 bits at the start of an argument's memory, in a register.
fn load(func: &mut Func<Virtual>, argument: usize) -> (VReg, Inst<VReg>) {
    let word = new(func, RegClass::Gpr);
    let place =
        Mem { space: Space::Argument(argument as u8), base: func.parameters[argument].reg, index: None, disp: 0 };
    (word, inst(Op::Base(Base::Load), vec![Operand::Reg(word), Operand::Mem(place)]))
}

/// Each way to let a word of an argument's memory be timed, put before a function; and what is found.
fn leaks(func: &Func<Virtual>, argument: usize) -> Vec<(&'static str, Vec<Rule>)> {
    let found = |mut nodes: Vec<Node<VReg>>, mut func: Func<Virtual>| {
        nodes.append(&mut func.body);
        func.body = nodes;
        check(&func).err().unwrap_or_default().into_iter().map(|leak| leak.rule).collect()
    };
    let mut ways = Vec::new();
    let mut with = |what, nodes: &dyn Fn(&mut Func<Virtual>) -> Vec<Node<VReg>>| {
        let mut func = func.clone();
        let nodes = nodes(&mut func);
        ways.push((what, found(nodes, func)));
    };
    with("condition", &|func| {
        let (reg, load) = load(func, argument);
        vec![Node::Block(vec![load]), Node::When(When { reg, mask: Some(1), body: vec![] })]
    });
    with("count", &|func| {
        let (counter, load) = load(func, argument);
        let inner = Loop { counter, control: Control::Decrement, live_flags: NONE, body: vec![] };
        vec![Node::Block(vec![load]), Node::Loop(inner)]
    });
    with("index", &|func| {
        // As a table of the S-box would be read; the input stands for it.
        let (index, load) = load(func, argument);
        let entry = new(func, RegClass::Gpr);
        let table = Mem { space: Space::Argument(1), base: func.parameters[1].reg, index: Some((index, 1)), disp: 0 };
        vec![Node::Block(vec![load, inst(Op::Base(Base::Load), vec![Operand::Reg(entry), Operand::Mem(table)])])]
    });
    ways
}

#[test]
fn a_key_a_block_and_a_chaining_block_are_refused_in_conditions_counts_and_addresses() {
    let mut refused = 0;
    for variant in [
        "aes128.ecb_encrypt/aesni.b8.unrolled.s_source",
        "aes192.cbc_decrypt/aesni.b4.looped.folded.s_source",
        "aes256.cbc_encrypt/aesni.b4.folded.s_source",
        "aes256.ctr128/vaes256.b8.unrolled.folded.s_source",
    ] {
        let func = func(variant);
        assert_eq!(check(&func), Ok(()), "{variant}");
        for (index, parameter) in func.parameters.iter().enumerate() {
            let ParameterKind::Pointer { reads, .. } = parameter.kind else { continue };
            if !reads {
                continue;
            }
            let public = parameter.name == "iv" && variant.contains("ctr");
            assert_eq!(parameter.secret, !public, "{variant}: {}", parameter.name);
            for (what, rules) in leaks(&func, index) {
                let right = match (public, what) {
                    (true, _) => rules.is_empty(),
                    (false, "condition") => matches!(rules[..], [Rule::Condition(_)]),
                    (false, "count") => matches!(rules[..], [Rule::Counter(_)]),
                    (false, _) => matches!(rules[..], [Rule::Index(_)]),
                };
                assert!(right, "{variant}: {} as {what}: {rules:?}", parameter.name);
                refused += usize::from(!public);
            }
        }
    }
    println!("{refused} leaks refused");
    assert!(refused >= 20);
}

/// What leaves the cipher is as secret as its key, and a round does not wash it.
#[test]
fn a_block_that_met_a_key_is_refused_in_public_memory() {
    let mut func = func("aes128.ctr128/aesni.b4.unrolled.s_source");
    let [keys, iv] = [3, 4].map(|index: usize| (index as u8, func.parameters[index].reg));
    let state = new(&mut func, RegClass::Xmm);
    let place = |(argument, base)| Operand::Mem(Mem { space: Space::Argument(argument), base, index: None, disp: 0 });
    let store = |op: Aes| {
        vec![
            inst(Op::Sse2(Sse2::MovdquLoad), vec![Operand::Reg(state), place(iv)]),
            inst(Op::Aes(op), vec![Operand::Reg(state), place(keys)]),
            inst(Op::Sse2(Sse2::MovdquStore), vec![place(iv), Operand::Reg(state)]),
        ]
    };
    for op in [Aes::Aesenc, Aes::Aesenclast, Aes::Aesdec, Aes::Aesdeclast] {
        let mut leaky = func.clone();
        leaky.body.insert(0, Node::Block(store(op)));
        let rules: Vec<Rule> = check(&leaky).expect_err("it leaks").into_iter().map(|leak| leak.rule).collect();
        assert!(rules.contains(&Rule::Escape(4)), "{op:?}: {rules:?}");
    }
}
