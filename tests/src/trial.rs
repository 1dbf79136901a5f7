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
    /// Whether it goes through the interpreter too.
    pub interpreted: bool,
}

impl Case {
    /// A case whose right results follow from its operands.
    pub fn new(label: impl Into<String>, operands: Operands) -> Case {
        let expected = answers::expected(&operands);
        Case { label: label.into(), operands, expected, interpreted: true }
    }

    /// The same, but not through the interpreter.
    pub fn native_only(self) -> Case {
        Case { interpreted: false, ..self }
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
    let variant = |compiled: &'static kiln_codegen::compile::Compiled<'_>| Variant {
        name: &compiled.plan.name,
        exact: compiled.func.exact,
        programs: forms::programs(compiled),
        natives: forms::natives(compiled, cpu, skips),
    };
    forms::compiled_of(kernel).map(variant).collect()
}

/// In which ways the buffers of a case lie: bytes in some of [`runs::SKEWS`], in all of them over the cases of a kernel. The second
/// of two forms, whose instructions are those of the first, gets a part of the cases of bytes.
fn turns(operands: &Operands, index: usize, second: bool) -> impl Iterator<Item = usize> + use<> {
    const WAYS: usize = 2;
    const PART: usize = 4;
    // 37 has no factor in common with the number of ways.
    let turn = move |way: usize| (WAYS * index + way) * 37 % runs::SKEWS;
    let turns = match (operands.bits(), second) {
        (8, false) => vec![turn(0), turn(1)],
        (8, true) if index.is_multiple_of(PART) => vec![turn(0)],
        (8, true) => Vec::new(),
        _ => vec![0],
    };
    turns.into_iter()
}

/// Puts the cases through every form of every variant of the kernel, those with an `n` up to `interpreted` through the
/// interpreter too. A variant for one `n` alone gets the cases with that `n`, all of them.
///
/// # Panics
/// At the first difference.
pub fn try_all(kernel: &str, cases: &[Case], interpreted: u64, tally: &mut Tally) {
    let cpu = &native();
    let reference = forms::kernel(kernel).reference;
    for Case { label, operands, expected, .. } in cases {
        // SAFETY: the reference keeps the contract of its kernel and needs no feature.
        let got = unsafe { runs::run(operands, reference) };
        assert_eq!(got, *expected, "the reference, {label}: {operands:?}");
    }
    for Variant { name, exact, programs, natives } in variants(kernel, cpu, &mut tally.skips) {
        tally.variants += 1;
        let mut tried = 0;
        for (index, Case { label, operands, expected, interpreted: wanted }) in cases.iter().enumerate() {
            let n = operands.n();
            if exact.is_some_and(|exact| exact != n) {
                continue;
            }
            tried += 1;
            if *wanted && (exact.is_some() || n <= interpreted) {
                for (stage, program) in &programs {
                    let got = runs::interpret(operands, program);
                    assert_eq!(got.as_ref(), Ok(expected), "{name}, {stage}, {label}: {operands:?}");
                    tally.interpreted += 1;
                }
            }
            let each = natives.iter().enumerate();
            let each = each.flat_map(|(form, native)| turns(operands, index, form > 0).map(move |turn| (native, turn)));
            for (native, turn) in each {
                // SAFETY: eligible on this CPU, and made for the kernel that its name begins with.
                let got = unsafe { runs::run_at(operands, native.entry(), turn) };
                let origin = native.origin().word();
                assert_eq!(got, *expected, "{name}, {origin}, turn {turn}, {label}: {operands:?}");
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
    let mut sizes: Vec<usize> =
        forms::compiled_of(kernel).filter_map(|compiled| compiled.func.exact).map(|n| n as usize).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}
