//! Puts cases through every form of every variant of a kernel, and through its reference: each must leave what is expected.
//!
//! Unsafe is needed to call entries: those of the catalogue, found eligible, and their twins of the same plan.

use crate::forms;
use crate::operands::{Operands, Results};
use crate::skips::Skips;
use crate::{answers, runs};
use kiln_codegen::ir::interpret::Program;
use kiln_runtime::candidate::Candidate;
use kiln_runtime::detect::{Native, native};
use std::fmt;

/// A call and what it must leave.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which it is, for a failure.
    pub label: String,
    /// The operands.
    pub operands: Operands,
    /// The right results.
    pub expected: Results,
}

impl Case {
    /// A case whose right results follow from its operands.
    pub fn new(label: impl Into<String>, operands: Operands) -> Case {
        let expected = answers::expected(&operands);
        Case { label: label.into(), operands, expected }
    }
}

/// What ran.
#[derive(Default, Debug)]
pub struct Tally {
    variants: u64,
    native: u64,
    interpreted: u64,
    /// Variants for one `n` alone that no case has.
    untried: Vec<&'static str>,
    skips: Skips,
}

impl Tally {
    /// Says what ran and what was skipped.
    ///
    /// # Panics
    /// When nothing ran in some form.
    pub fn report(&self) {
        self.skips.report();
        println!("{self}; no case for {:?}", self.untried);
        assert!(self.native > 0 && self.interpreted > 0, "{self}");
    }

    /// The same, and every variant must have had a case.
    ///
    /// # Panics
    /// When nothing ran in some form, or not for some variant.
    pub fn report_whole(&self) {
        self.report();
        assert!(self.untried.is_empty(), "no case for {:?}", self.untried);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} variants, {} native runs, {} interpreted", self.variants, self.native, self.interpreted)
    }
}

/// One variant in all its forms.
#[derive(Debug)]
pub struct Variant {
    name: &'static str,
    exact: Option<u64>,
    programs: Vec<(&'static str, Program)>,
    natives: Vec<Candidate>,
}

/// Every variant of a kernel in all its forms.
fn variants(kernel: &str, cpu: &Native, skips: &mut Skips) -> Vec<Variant> {
    let ours = forms::compiled().iter().filter(|compiled| compiled.plan.kernel.kernel.value == kernel);
    let variant = |compiled: &'static kiln_codegen::compile::Compiled<'_>| Variant {
        name: &compiled.plan.name,
        exact: compiled.func.exact,
        programs: forms::programs(compiled),
        natives: forms::natives(compiled, cpu, skips),
    };
    ours.map(variant).collect()
}

/// Puts the cases through every form of every variant of the kernel, those with an `n` up to `interpreted` through the
/// interpreter too. A variant for one `n` alone gets the cases with that `n`, all of them.
///
/// # Panics
/// At the first difference.
pub fn try_all(kernel: &str, cases: &[Case], interpreted: u64, tally: &mut Tally) {
    let cpu = &native();
    let reference = forms::kernel(kernel).reference;
    for Case { label, operands, expected } in cases {
        // SAFETY: the reference keeps the contract of its kernel and needs no feature.
        let got = unsafe { runs::run(operands, reference) };
        assert_eq!(got, *expected, "the reference, {label}: {operands:?}");
    }
    for Variant { name, exact, programs, natives } in variants(kernel, cpu, &mut tally.skips) {
        tally.variants += 1;
        let mut tried = 0;
        for Case { label, operands, expected } in cases {
            let n = operands.n();
            if exact.is_some_and(|exact| exact != n) {
                continue;
            }
            tried += 1;
            if exact.is_some() || n <= interpreted {
                for (stage, program) in &programs {
                    let got = runs::interpret(operands, program);
                    assert_eq!(got.as_ref(), Ok(expected), "{name}, {stage}, {label}: {operands:?}");
                    tally.interpreted += 1;
                }
            }
            for native in &natives {
                // SAFETY: eligible on this CPU, and made for the kernel that its name begins with.
                let got = unsafe { runs::run(operands, native.entry()) };
                assert_eq!(got, *expected, "{name}, {}, {label}: {operands:?}", native.origin().word());
                tally.native += 1;
            }
        }
        if tried == 0 {
            tally.untried.push(name);
        }
    }
}

/// The `n` that the exact variants of a kernel serve.
pub fn exact_sizes(kernel: &str) -> Vec<usize> {
    let ours = forms::compiled().iter().filter(|compiled| compiled.plan.kernel.kernel.value == kernel);
    let mut sizes: Vec<usize> = ours.filter_map(|compiled| compiled.func.exact).map(|n| n as usize).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
