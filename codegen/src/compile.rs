//! The pipeline on one screen: plan, lower, check, schedule, allocate.

use crate::error::{Noun, Problems, Reason, Shown};
use crate::family::Lowering;
use crate::ir::linear::Line;
use crate::ir::{Func, Physical, Virtual, taint, wellformed};
use crate::isa::feature::FeatureSet;
use crate::isa::row::RegClass;
use crate::pass::allocate::allocate;
use crate::pass::model::CostModel;
use crate::pass::schedule::schedule;
use crate::plan::{Plan, Schedule, plans};
use crate::spec::{CpuSpec, Specs};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// The last form before a backend.
#[derive(Clone, Debug)]
pub enum Form {
    /// The portable ISA: printed as safe Rust.
    Portable,
    /// Allocated machine instructions.
    Machine(Func<Physical>),
}

/// One variant, compiled up to the backends.
#[derive(Clone, Debug)]
pub struct Compiled<'a> {
    /// What was asked for.
    pub plan: Plan<'a>,
    /// The scheduled function on virtual registers: what the interpreter runs, and the portable backend prints.
    pub func: Func<Virtual>,
    /// The last form.
    pub form: Form,
    /// The computed manifest.
    pub features: FeatureSet,
    /// Hash of the last form; 16 hex digits. The same for the compiled and the run-time twin.
    pub code_hash: String,
    /// Instructions of the last form, loop control and prologue included.
    pub instructions: u32,
}

/// Compiles every variant of every kernel.
///
/// # Errors
/// Every problem of every plan.
pub fn compile(specs: &Specs) -> Result<Vec<Compiled<'_>>, Problems> {
    let mut problems = Problems::new();
    let mut done = Vec::new();
    for plan in plans(specs)? {
        match compile_plan(plan, specs) {
            Ok(compiled) => done.push(compiled),
            Err(found) => problems.extend(found),
        }
    }
    problems.or(done)
}

/// Compiles one variant.
///
/// # Errors
/// What the family, the secrecy check or the manifest has against it, at its place in the spec.
///
/// # Panics
/// On ill-formed IR: a fault of a family or of a pass, never of a spec.
pub fn compile_plan<'a>(plan: Plan<'a>, specs: &Specs) -> Result<Compiled<'a>, Problems> {
    let at_strategy = |reason| Problems::from(plan.kernel.problem(plan.strategy.name.span.clone(), reason, None));
    let strategy = plan.contract.strategy(&plan.strategy.name).ok_or_else(|| {
        let word = Shown::new(&plan.strategy.name);
        at_strategy(Reason::UnknownWord {
            noun: Noun::Strategy,
            word,
            context: format!("of {}", plan.kernel.kernel.value),
        })
    })?;
    let cipher = plan.kernel.cipher.as_ref();
    let lowering = Lowering { name: &plan.name, arguments: &plan.arguments, parameters: plan.parameters, cipher };
    let func = (strategy.lower)(plan.contract, &lowering);
    must_be_well_formed("lowering", &func);
    taint::check(&func).map_err(|leaks| {
        let arguments = func.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let error = Refused::Leaks { variant: plan.name.clone(), leaks, arguments };
        at_strategy(Reason::Stage(Arc::new(error)))
    })?;

    let portable = func.instructions().iter().any(|inst| {
        inst.operands.iter().flat_map(|operand| operand.registers()).any(|reg| reg.class == RegClass::Portable)
    });
    let (func, form) = if portable {
        (func, Form::Portable)
    } else {
        let func = match (&plan.schedule, plan.schedule.cpu()) {
            (Schedule::Seed(seed), _) => schedule(func, &CostModel::shaken(*seed)),
            (_, None) => func,
            (_, Some(name)) => {
                let cpu = specs.cpu(name).ok_or_else(|| {
                    let error = Refused::NoCpuFile { variant: plan.name.clone(), cpu: name.into() };
                    at_strategy(Reason::Stage(Arc::new(error)))
                })?;
                schedule(func, &cost_model(cpu))
            }
        };
        must_be_well_formed("scheduling", &func);
        let physical = allocate(func.clone()).unwrap_or_else(|error| panic!("{}: {error}", plan.name));
        if let Err(ills) = wellformed::check_physical(&physical) {
            panic!("{}: ill-formed after allocation: {ills:?}", plan.name);
        }
        (func, Form::Machine(physical))
    };

    let features = func.features();
    if let Some(stated) = &plan.strategy.requires {
        let computed: Vec<String> = features.names().into_iter().map(str::to_owned).collect();
        let mut sorted = stated.value.clone();
        sorted.sort_unstable();
        let mut wanted = computed.clone();
        wanted.sort_unstable();
        if sorted != wanted {
            let reason = Reason::RequiresDiffers { stated: stated.value.clone(), computed };
            return Err(plan.kernel.problem(stated.span.clone(), reason, None).into());
        }
    }
    let (text, instructions) = match &form {
        Form::Portable => (format!("{:?}", func.body), func.instructions().len()),
        Form::Machine(physical) => {
            let lines = physical.lines();
            let data = lines.iter().filter(|line| matches!(line, Line::Pool(_))).count();
            (format!("{lines:?}"), lines.len() - data)
        }
    };
    let code_hash = hex16(&Sha256::digest(text.as_bytes()));
    let instructions = u32::try_from(instructions).unwrap_or(u32::MAX);
    Ok(Compiled { plan, func, form, features, code_hash, instructions })
}

fn must_be_well_formed(stage: &str, func: &Func<Virtual>) {
    if let Err(ills) = wellformed::check(func) {
        panic!("{}: ill-formed after {stage}: {ills:?}", func.name);
    }
}

/// The scheduler's view of a CPU file.
pub fn cost_model(cpu: &CpuSpec) -> CostModel {
    CostModel {
        name: cpu.name.clone(),
        issue_width: cpu.machine.issue_width,
        window: cpu.machine.window,
        seed: None,
        cost: cpu.cost.iter().map(|(key, cost)| (key.clone(), (cost.latency, cost.per_cycle))).collect(),
    }
}

/// Why a plan cannot be compiled.
#[derive(Clone, Debug)]
pub enum Refused {
    /// A secret would show in a branch, an address, a latency or a public argument.
    Leaks {
        /// The variant.
        variant: String,
        /// Each place.
        leaks: Vec<taint::Leak>,
        /// The names of the arguments.
        arguments: Vec<String>,
    },
    /// The schedule names a CPU whose file is not among the specs.
    NoCpuFile {
        /// The variant.
        variant: String,
        /// The CPU.
        cpu: String,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Leaks { variant, leaks, arguments } => {
                write!(f, "{variant} would leak a secret: ")?;
                for (index, leak) in leaks.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "; " })?;
                    match leak.rule {
                        taint::Rule::Escape(argument) => {
                            let name = arguments.get(usize::from(argument)).map_or("?", String::as_str);
                            write!(f, "{}: a secret is stored into `{name}`, which is not secret", leak.at)?;
                        }
                        _ => write!(f, "{leak}")?,
                    }
                }
                Ok(())
            }
            Refused::NoCpuFile { variant, cpu } => {
                write!(f, "{variant} is scheduled for `{cpu}`, but no file {cpu}.toml is among the specs")
            }
        }
    }
}

impl std::error::Error for Refused {}

fn hex16(digest: &[u8]) -> String {
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
