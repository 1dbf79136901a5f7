//! Does the model of a CPU say of simple loops what can be counted by hand?

use kiln_codegen::compile::{Form, compile_plan, cost_model};
use kiln_codegen::estimate::{Estimate, estimate};
use kiln_codegen::ir::interpret::{Argument, Call, Program};
use kiln_codegen::plan::plans;
use kiln_runtime::provide::Provider;

fn of(variant: &str, cpu: &str, arguments: Vec<Argument>) -> Estimate {
    let provider = Provider::shipped();
    let plan = plans(provider.specs()).unwrap().into_iter().find(|plan| plan.name == variant).expect("shipped");
    let compiled = compile_plan(plan, provider.specs()).unwrap();
    let Form::Machine(func) = &compiled.form else { panic!("machine code") };
    let model = cost_model(provider.specs().cpu(cpu).expect("shipped"));
    let (program, call) = (Program::new(func).unwrap(), Call::new(arguments));
    let found = estimate(&program, &call, &model).unwrap();
    assert_eq!(found.executed, program.run(&call).unwrap().executed, "what is watched is what is executed");
    found
}

fn row(n: usize) -> Vec<Argument> {
    let limbs = |seed: u64| Argument::limbs64(&(0..n as u64).map(|limb| limb * seed).collect::<Vec<_>>());
    vec![limbs(3), limbs(5), Argument::Integer(n as u64), Argument::Integer(7)]
}

/// `r + a * w`: a multiplication a cycle, and with `adcx` and `adox` a step of each chain a limb.
#[test]
fn a_row_is_bound_by_its_multiplications_and_waits_for_its_carries() {
    for (variant, path) in [
        ("limb64.mul_add/mulx_adx.u32.s_source", 128.0..150.0),
        ("limb64.mul_add/mulx.u16", 128.0..230.0),
        ("limb64.mul_add/mulx.u1", 256.0..600.0),
    ] {
        let found = of(variant, "zen3", row(128));
        assert!(found.bound >= 128.0 && found.bound < 240.0, "{variant}: {found:?}");
        assert!(path.contains(&found.path), "{variant}: {found:?}");
    }
}

/// Two instructions of two blocks each start in a cycle, ten rounds a block: 2.5 cycles, and one chain of rounds is 40.
#[test]
fn blocks_are_bound_by_their_rounds() {
    let bytes = |length: usize| Argument::Pointer { bytes: vec![7; length] };
    let blocks = 64;
    let arguments = vec![bytes(16 * blocks), bytes(16 * blocks), Argument::Integer(blocks as u64), bytes(176)];
    let found = of("aes128.ecb_encrypt/vaes256.b16.unrolled.s_source", "zen3", arguments);
    assert!((found.bound / blocks as f64 - 2.5).abs() < 0.2, "{found:?}");
    assert!(found.path >= 40.0 && found.path < 2.5 * blocks as f64, "{found:?}");
}
