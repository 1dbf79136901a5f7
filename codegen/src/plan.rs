//! A spec's strategies and lists of parameters to one plan for each variant. The only place that makes variant names.

use crate::error::{Noun, Problems, Reason, Shown};
use crate::family::{self, Contract, Fact, Parameters, Role, Shape};
use crate::spec::{Access, ArgumentKind, BackEdge, KernelSpec, Specs, Strategy};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// In what order a variant's instructions stand.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Schedule {
    /// Scheduled for the CPU file `generic`; not in the name.
    Generic,
    /// As the family wrote them.
    Source,
    /// Scheduled for the CPU file with this name.
    Cpu(String),
}

impl Schedule {
    /// The schedule of that word in a spec.
    pub fn parse(word: &str) -> Schedule {
        match word {
            "generic" => Schedule::Generic,
            "source" => Schedule::Source,
            cpu => Schedule::Cpu(cpu.into()),
        }
    }

    /// The CPU file whose costs are used.
    pub fn cpu(&self) -> Option<&str> {
        match self {
            Schedule::Generic => Some("generic"),
            Schedule::Source => None,
            Schedule::Cpu(name) => Some(name),
        }
    }
}

/// One variant to generate.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The spec it comes from.
    pub kernel: &'a KernelSpec,
    /// The strategy's table in that spec.
    pub strategy: &'a Strategy,
    /// The family's contract.
    pub contract: &'static Contract,
    /// `KERNEL/STRATEGY.PARAMETERS[.SCHEDULE]`.
    pub name: String,
    /// Where the parameters stand.
    pub parameters: Parameters,
    /// Order of the instructions.
    pub schedule: Schedule,
    /// Whether it races at start-up.
    pub startup: bool,
    /// What the spec says of each argument.
    pub arguments: Vec<Fact>,
}

impl Plan<'_> {
    /// The variant's symbol: its name with `.` and `/` as `_`.
    pub fn symbol(&self) -> String {
        symbol(&self.name)
    }
}

/// A name as a Rust or C identifier.
pub fn symbol(name: &str) -> String {
    name.replace(['.', '/'], "_")
}

/// The name of a variant.
fn variant_name(kernel: &str, strategy: &str, parameters: Parameters, schedule: &Schedule) -> String {
    let parameters = match parameters {
        Parameters::Unrolled { unroll, live: false } => format!("u{unroll}"),
        Parameters::Unrolled { unroll, live: true } => format!("u{unroll}.live"),
        Parameters::Exact(limbs) => format!("exact{limbs}"),
    };
    let schedule = match schedule {
        Schedule::Generic => String::new(),
        Schedule::Source => ".s_source".into(),
        Schedule::Cpu(name) => format!(".s_{name}"),
    };
    format!("{kernel}/{strategy}.{parameters}{schedule}")
}

/// The most variants of one kernel: far more than anybody can measure, and still soon made.
const MOST: usize = 20_000;

/// How many plans the strategies of a kernel ask for.
fn count(kernel: &KernelSpec) -> usize {
    let points = |strategy: &Strategy| strategy.back_edge.len() * strategy.unroll.len() + strategy.exact.len();
    kernel.strategies.iter().map(|strategy| points(strategy) * strategy.schedule.len()).sum()
}

/// Every plan of every kernel, in the order of the specs: strategies as written; unrolled before exact; sizes as written.
///
/// # Errors
/// A kernel whose arguments are not those of the family's contract, and one that asks for too many variants.
pub fn plans(specs: &Specs) -> Result<Vec<Plan<'_>>, Problems> {
    let mut problems = Problems::new();
    let mut plans = Vec::new();
    for kernel in &specs.kernels {
        let Some(contract) = family::contract(&kernel.kernel) else {
            let word = Shown::new(&kernel.kernel);
            let reason = Reason::UnknownWord { noun: Noun::Kernel, word, context: String::new() };
            problems.push(kernel.problem(kernel.kernel.span.clone(), reason, None));
            continue;
        };
        let arguments = match facts(kernel, contract) {
            Ok(arguments) => arguments,
            Err(wrong) => {
                // The first argument that is not as it must be; the kernel's name when one is missing.
                let span =
                    kernel.arguments.get(wrong).map_or(kernel.kernel.span.clone(), |wrong| wrong.name.span.clone());
                problems.push(kernel.problem(span, Reason::Stage(Arc::new(NotTheContract { contract })), None));
                continue;
            }
        };
        let count = count(kernel);
        if count > MOST {
            let reason = Reason::TooManyVariants { count, limit: MOST };
            problems.push(kernel.problem(kernel.kernel.span.clone(), reason, None));
            continue;
        }
        for strategy in &kernel.strategies {
            let startup: BTreeSet<u32> = strategy.startup.iter().map(|at| at.value).collect();
            for (parameters, at_startup) in parameters(strategy, &startup) {
                for schedule in strategy.schedule.iter().map(|word| Schedule::parse(word)) {
                    plans.push(Plan {
                        kernel,
                        strategy,
                        contract,
                        name: variant_name(&kernel.kernel, &strategy.name, parameters, &schedule),
                        parameters,
                        startup: at_startup && schedule == Schedule::Generic,
                        schedule,
                        arguments: arguments.clone(),
                    });
                }
            }
        }
    }
    problems.or(plans)
}

/// The points of a strategy's lists. A strategy with a `startup` list also brings its exact sizes to the start-up race,
/// each to its own size class.
fn parameters(strategy: &Strategy, startup: &BTreeSet<u32>) -> Vec<(Parameters, bool)> {
    let mut points: Vec<(Parameters, bool)> = Vec::new();
    for edge in &strategy.back_edge {
        for unroll in &strategy.unroll {
            let live = edge.value == BackEdge::Live;
            let point = Parameters::Unrolled { unroll: unroll.value, live };
            points.push((point, startup.contains(&unroll.value) && !live));
        }
    }
    points.extend(strategy.exact.iter().map(|limbs| (Parameters::Exact(limbs.value), !startup.is_empty())));
    points
}

/// What the spec says of the contract's arguments, or the index of the first that is not the contract's (one past the last
/// when some are missing, or when it is the returned limb).
fn facts(kernel: &KernelSpec, contract: &Contract) -> Result<Vec<Fact>, usize> {
    let index_of = |name: &str| kernel.arguments.iter().position(|argument| argument.name.value == name);
    let mut facts = Vec::new();
    for (index, (argument, role)) in kernel.arguments.iter().zip(contract.roles).enumerate() {
        let shape = match &argument.kind {
            ArgumentKind::Limbs { .. } => {
                Shape::Limbs { reads: argument.access != Access::Out, writes: argument.access != Access::In }
            }
            ArgumentKind::Count { .. } => Shape::Count,
            ArgumentKind::Limb => Shape::Limb,
        };
        if argument.name.value != role.name || shape != role.shape {
            return Err(index);
        }
        let may_equal: Option<Vec<u8>> =
            argument.may_equal.iter().map(|name| index_of(name).and_then(|index| u8::try_from(index).ok())).collect();
        let count = match argument.kind {
            ArgumentKind::Count { min, max } => (min, max),
            ArgumentKind::Limbs { .. } | ArgumentKind::Limb => (0, 0),
        };
        facts.push(Fact { secret: argument.secret, may_equal: may_equal.ok_or(index)?, count });
    }
    if kernel.arguments.len() != contract.roles.len() || kernel.returns.is_some() != contract.returns {
        return Err(contract.roles.len());
    }
    Ok(facts)
}

/// A kernel's arguments are not those of the family's contract.
#[derive(Clone, Copy, Debug)]
pub struct NotTheContract {
    /// The contract.
    pub contract: &'static Contract,
}

impl fmt::Display for NotTheContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles: Vec<String> = self.contract.roles.iter().map(describe).collect();
        let returns = if self.contract.returns { "returns a limb" } else { "returns nothing" };
        write!(f, "the arguments of {} are, in this order: {}; it {returns}", self.contract.kernel, roles.join(", "))
    }
}

impl std::error::Error for NotTheContract {}

fn describe(role: &Role) -> String {
    let what = match role.shape {
        Shape::Limbs { reads: true, writes: false } => "limbs, in",
        Shape::Limbs { reads: true, writes: true } => "limbs, inout",
        Shape::Limbs { .. } => "limbs, out",
        Shape::Count => "count",
        Shape::Limb => "limb",
    };
    format!("{} ({what})", role.name)
}
