//! Variants of a space as candidates: generated here and now, whatever is shipped.

use std::collections::BTreeMap;

use kiln_codegen::compile::{Form, compile_plan};
use kiln_codegen::error::Problem;
use kiln_codegen::ir::interpret::Program;
use kiln_codegen::plan::Plan;
use kiln_codegen::spec::Specs;
use kiln_kernels::catalogue::{Kernel, Origin};
use kiln_runtime::candidate::Candidate;
use kiln_runtime::provide::{LeftOut, Published, publish};

/// A variant that was made.
pub struct Made {
    /// It, unverified.
    pub candidate: Candidate,
    /// Its code, where it was generated here, to be put elsewhere.
    pub published: Option<Published>,
    /// Instructions of its code.
    pub instructions: u64,
    /// Loads and stores that allocation added, where it was generated here.
    pub spills: Option<u64>,
    /// It, ready to be interpreted, where it is machine code.
    pub program: Option<Program>,
}

/// Makes each plan, in their order: generated and published as one batch; portable ones are those that are compiled in.
pub fn make(kernel: &'static Kernel, specs: &Specs, plans: &[&Plan<'_>]) -> Vec<Result<Made, String>> {
    let mut outcomes: Vec<Result<Option<Made>, String>> = Vec::with_capacity(plans.len());
    let mut machine = Vec::new();
    for plan in plans {
        let shipped = kernel.variants.iter().find(|variant| variant.name == plan.name);
        outcomes.push(match compile_plan((*plan).clone(), specs) {
            Err(problems) => Err(problems.iter().next().map_or_else(String::new, Problem::message)),
            Ok(compiled) => match (&compiled.form, shipped.filter(|variant| variant.origin == Origin::Portable)) {
                (Form::Portable, None) => Err(LeftOut::Portable.to_string()),
                (Form::Portable, Some(variant)) => Ok(Some(Made {
                    candidate: Candidate::shipped(variant),
                    published: None,
                    instructions: compiled.instructions.into(),
                    spills: None,
                    program: None,
                })),
                (Form::Machine(_), _) => {
                    machine.push(compiled);
                    Ok(None)
                }
            },
        });
    }
    let mut published = publish(kernel, &machine).into_iter().zip(&machine);
    let finish = |outcome: Result<Option<Made>, String>| {
        if let Some(made) = outcome? {
            return Ok(made);
        }
        let Some((published, compiled)) = published.next() else { return Err(String::new()) };
        let published = published.map_err(|why| why.to_string())?;
        let Form::Machine(func) = &compiled.form else { return Err(LeftOut::Portable.to_string()) };
        Ok(Made {
            candidate: published.candidate().clone(),
            published: Some(published),
            instructions: compiled.instructions.into(),
            spills: Some(func.frame.spills.into()),
            program: Program::new(func).ok(),
        })
    };
    outcomes.into_iter().map(finish).collect()
}

/// The variants with these names, by name.
pub fn by_name(
    kernel: &'static Kernel,
    specs: &Specs,
    plans: &[Plan<'_>],
    names: &[&str],
) -> BTreeMap<String, Candidate> {
    let wanted: Vec<&Plan<'_>> = plans.iter().filter(|plan| names.contains(&plan.name.as_str())).collect();
    let made = make(kernel, specs, &wanted).into_iter();
    wanted.iter().zip(made).filter_map(|(plan, made)| Some((plan.name.clone(), made.ok()?.candidate))).collect()
}
