//! Runs a variant's IR in the interpreter and compares with the reference.

use kiln_codegen::ir::Func;
use kiln_codegen::ir::interpret::{Argument, Call, Executable, Outcome, Program};
use kiln_runtime::verify::{Known, Operand};

use crate::check::{Failed, Findings};

/// Failures that are kept.
const KEEP: usize = 2;

/// Checks a function against cases with their expected results.
pub fn check<S: Executable>(func: &Func<S>, cases: &[Known]) -> Findings {
    let mut findings = Findings::default();
    let program = match Program::new(func) {
        Ok(program) => program,
        Err(fault) => {
            return Findings { failed: 1, failures: vec![Failed::bare(fault.to_string())], ..Findings::default() };
        }
    };
    for case in cases {
        findings.cases += 1;
        let failed = match program.run(&Call::new(arguments(case))) {
            Ok(outcome) => difference(func, case, &outcome),
            Err(fault) => Some(Failed { what: fault.to_string(), ..at(func, case) }),
        };
        if let Some(failed) = failed {
            findings.failed += 1;
            if findings.failures.len() < KEEP {
                findings.failures.push(failed);
            }
        }
    }
    findings
}

fn arguments(case: &Known) -> Vec<Argument> {
    shared(&case.operands, &case.owner)
}

/// The arguments of a call with memory of its own for each.
pub fn apart(operands: &[Operand]) -> Vec<Argument> {
    shared(operands, &(0..operands.len()).collect::<Vec<_>>())
}

/// The first argument with a memory has the bytes; those that share it come later and name it.
fn shared(operands: &[Operand], owner: &[usize]) -> Vec<Argument> {
    let first_of = |own: usize| owner.iter().position(|other| *other == own).unwrap_or(own);
    operands
        .iter()
        .enumerate()
        .map(|(index, operand)| match operand {
            Operand::Integer { value, .. } => Argument::Integer(*value),
            Operand::Limbs { bits, limbs } => {
                let first = owner.get(index).map_or(index, |own| first_of(*own));
                if first == index { Argument::Pointer { bytes: bytes(*bits, limbs) } } else { Argument::Same(first) }
            }
        })
        .collect()
}

fn bytes(bits: u32, limbs: &[u64]) -> Vec<u8> {
    let width = bits as usize / 8;
    limbs.iter().flat_map(|limb| limb.to_le_bytes().into_iter().take(width)).collect()
}

fn difference<S: Executable>(func: &Func<S>, case: &Known, outcome: &Outcome) -> Option<Failed> {
    for (index, expected) in case.results.iter().enumerate() {
        let (Some(expected), Some(Operand::Limbs { bits, .. })) = (expected, case.operands.get(index)) else {
            continue;
        };
        let got = outcome.memories.get(index).map_or(&[][..], Vec::as_slice);
        let wanted = bytes(*bits, expected);
        if got != wanted {
            let name = func.parameters.get(index).map_or("an argument", |parameter| &parameter.name);
            let hex = |bytes: &[u8]| bytes.iter().rev().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"));
            let what = format!("wrong result in {name}");
            return Some(Failed { what, expected: hex(&wanted), got: hex(got), ..at(func, case) });
        }
    }
    let (expected, got) = (case.returned?, outcome.returned.unwrap_or(0));
    (expected != got).then(|| Failed {
        what: "wrong limb returned".to_owned(),
        expected: format!("{expected:#x}"),
        got: format!("{got:#x}"),
        ..at(func, case)
    })
}

fn at<S: Executable>(func: &Func<S>, case: &Known) -> Failed {
    let names = func.parameters.iter().map(|parameter| parameter.name.clone());
    Failed {
        seed: format!("{:#x}", case.seed),
        n: Some(case.n),
        aliasing: case.aliasing.clone(),
        placement: "interpreter".to_owned(),
        operands: names.zip(case.operands.iter().map(Operand::hex)).collect(),
        ..Failed::bare(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_codegen::compile::{Form, compile_plan};
    use kiln_codegen::plan::plans;
    use kiln_runtime::provide::Provider;
    use kiln_runtime::verify::{Depth, Lengths, Options, known};

    #[test]
    fn a_right_variant_agrees_and_a_wrong_expectation_is_found() {
        let provider = Provider::shipped();
        for name in ["limb64.mul_add/mul.u2", "limb32.mul_add/portable.u1"] {
            let plan = plans(provider.specs()).unwrap().into_iter().find(|plan| plan.name == name).expect("shipped");
            let compiled = compile_plan(plan, provider.specs()).unwrap();
            let kernel =
                kiln_kernels::kernels().find(|kernel| name.split('/').next() == Some(kernel.name)).expect("shipped");
            let options = Options { depth: Depth::Full { cases: 0 }, ..Options::default() };
            let mut cases = known(kernel, Lengths { exact: None, unroll: Some(2) }, &options, 20);
            let findings = check(&compiled.func, &cases);
            assert!(findings.failed == 0 && findings.cases == cases.len() as u64, "{findings:?}");
            if let Form::Machine(func) = &compiled.form {
                assert_eq!(check(func, &cases), findings);
            }
            assert!(cases.iter().any(|case| case.aliasing == "a = r"), "equal pointers are among the cases");

            for case in &mut cases {
                case.returned = case.returned.map(|limb| limb ^ 1);
            }
            let findings = check(&compiled.func, &cases);
            assert_eq!((findings.failed, findings.failures.len()), (cases.len() as u64, KEEP));
            assert_eq!(findings.failures[0].what, "wrong limb returned");
            assert_eq!(findings.failures[0].operands[2].0, "n");
        }
    }
}
