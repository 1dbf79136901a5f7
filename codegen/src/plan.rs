//! A spec's strategies and lists of parameters to one plan for each variant. The only place that makes variant names.

use crate::error::{Noun, Problems, Reason, Shown};
use crate::family::{self, Contract, Extent, Fact, Knob, Parameters, Role, Shape};
use crate::ir::Length;
use crate::spec::{Access, ArgumentKind, At, BackEdge, Cipher, KernelSpec, RoundKeys, Rounds, Specs, Strategy, XorAt};
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
    /// As the family wrote them, shaken a little: the same seed gives the same order.
    Seed(u32),
}

/// The seed that a schedule's word names: `seed7`.
pub fn seed(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("seed")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| plain)
}

impl Schedule {
    /// The schedule of that word in a spec.
    pub fn parse(word: &str) -> Schedule {
        match word {
            "generic" => Schedule::Generic,
            "source" => Schedule::Source,
            word if seed(word).is_some() => Schedule::Seed(seed(word).unwrap_or(0)),
            cpu => Schedule::Cpu(cpu.into()),
        }
    }

    /// The CPU file whose costs are used.
    pub fn cpu(&self) -> Option<&str> {
        match self {
            Schedule::Generic => Some("generic"),
            Schedule::Source | Schedule::Seed(_) => None,
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

/// Where one parameter stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Setting {
    /// A number.
    Number(u32),
    /// A word, as in a spec.
    Word(String),
}

impl Plan<'_> {
    /// Where each parameter that the strategy has stands, by its key in a spec; and the `schedule`.
    pub fn settings(&self) -> Vec<(&'static str, Setting)> {
        let at = self.parameters;
        let word = |word: &str| Setting::Word(word.to_owned());
        let knobs = self.contract.strategy(&self.strategy.name).map_or(&[][..], |strategy| strategy.knobs);
        let mut settings: Vec<(&'static str, Setting)> = Vec::new();
        for knob in knobs {
            let setting = match (knob, at.extent) {
                (Knob::Unroll, Extent::Unrolled(limbs)) => Setting::Number(limbs),
                (Knob::Blocks, Extent::Blocks(blocks)) => Setting::Number(blocks),
                (Knob::Exact, Extent::Exact(limbs)) => Setting::Number(limbs),
                (Knob::Unroll | Knob::Blocks | Knob::Exact, _) => continue,
                (Knob::BackEdge, Extent::Exact(_)) => continue,
                (Knob::BackEdge, _) => word(if at.live { "live" } else { "folded" }),
                (Knob::Rows, _) => Setting::Number(at.rows),
                (Knob::Overlap, _) => Setting::Number(at.overlap),
                (Knob::Block, _) => match at.block {
                    Some(block) => Setting::Number(block),
                    None => continue,
                },
                (Knob::Split, _) => Setting::Number(at.split),
                (Knob::Rounds, _) => match at.rounds {
                    Some(Rounds::Looped) => word("looped"),
                    Some(Rounds::Unrolled) => word("unrolled"),
                    None => continue,
                },
                (Knob::RoundKeys, _) => word(if at.keys == RoundKeys::Registers { "registers" } else { "memory" }),
                (Knob::Xor, _) => word(if at.xor == XorAt::Folded { "folded" } else { "apart" }),
            };
            settings.push((knob.key(), setting));
        }
        let schedule = match &self.schedule {
            Schedule::Generic => word("generic"),
            Schedule::Source => word("source"),
            Schedule::Cpu(name) => word(name),
            Schedule::Seed(seed) => Setting::Word(format!("seed{seed}")),
        };
        settings.push(("schedule", schedule));
        settings
    }

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
    let schedule = match schedule {
        Schedule::Generic => String::new(),
        Schedule::Source => ".s_source".into(),
        Schedule::Cpu(name) => format!(".s_{name}"),
        Schedule::Seed(seed) => format!(".s_seed{seed}"),
    };
    format!("{kernel}/{strategy}{parameters}{schedule}")
}

/// The parameters as they stand in a name, each behind a point; what a spec need not say is not in it.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Whole => {}
            Extent::Unrolled(limbs) => write!(f, ".u{limbs}")?,
            Extent::Blocks(blocks) => write!(f, ".b{blocks}")?,
            Extent::Exact(limbs) => write!(f, ".exact{limbs}")?,
        }
        if self.live {
            f.write_str(".live")?;
        }
        if self.rows != 1 {
            write!(f, ".r{}", self.rows)?;
        }
        if self.overlap != 0 {
            write!(f, ".o{}", self.overlap)?;
        }
        if let Some(limbs) = self.block {
            write!(f, ".b{limbs}")?;
        }
        if self.split != 0 {
            write!(f, ".k{}", self.split)?;
        }
        match self.rounds {
            None => {}
            Some(Rounds::Looped) => f.write_str(".looped")?,
            Some(Rounds::Unrolled) => f.write_str(".unrolled")?,
        }
        if self.keys == RoundKeys::Registers {
            f.write_str(".registers")?;
        }
        if self.xor == XorAt::Folded {
            f.write_str(".folded")?;
        }
        Ok(())
    }
}

/// The most variants of one kernel that a spec may ask for: far more than anybody can measure, and still soon made.
pub const MOST: usize = 20_000;

/// How many plans the strategies of a kernel ask for.
fn count(kernel: &KernelSpec) -> usize {
    let points = |strategy: &Strategy| {
        let loops = strategy.back_edge.len().max(1) * strategy.unroll.len() + strategy.blocks.len();
        let extents = loops + strategy.exact.len();
        let knobs = [&strategy.rows, &strategy.overlap, &strategy.block, &strategy.split].map(Vec::len);
        let cipher = [strategy.rounds.len(), strategy.round_keys.len(), strategy.xor.len()];
        let knobs = knobs.into_iter().chain(cipher);
        knobs.fold(extents.max(1), |points, items| points * items.max(1)) * strategy.schedule.len()
    };
    kernel.strategies.iter().map(points).sum()
}

/// Every plan of every kernel, in the order of the specs: strategies as written; unrolled before exact; sizes as written.
///
/// # Errors
/// A kernel whose arguments are not those of the family's contract, and one that asks for too many variants.
pub fn plans(specs: &Specs) -> Result<Vec<Plan<'_>>, Problems> {
    plans_up_to(specs, MOST)
}

/// As [`plans`], with another limit for each kernel.
///
/// # Errors
/// As [`plans`].
pub fn plans_up_to(specs: &Specs, limit: usize) -> Result<Vec<Plan<'_>>, Problems> {
    let mut problems = Problems::new();
    let mut plans = Vec::new();
    for kernel in &specs.kernels {
        let Some(contract) = family::contract(kernel) else {
            let word = Shown::new(&kernel.kernel);
            let reason = Reason::UnknownWord {
                noun: Noun::Kernel,
                word,
                context: family::made_up_of(&kernel.kernel).to_owned(),
            };
            problems.push(kernel.problem(kernel.kernel.span.clone(), reason, None));
            continue;
        };
        let arguments = match facts(kernel, contract) {
            Ok(arguments) => arguments,
            Err(wrong) => {
                // The first argument that is not as it must be; the kernel's name when one is missing.
                let span =
                    kernel.arguments.get(wrong).map_or(kernel.kernel.span.clone(), |wrong| wrong.name.span.clone());
                let kernel_name = kernel.kernel.value.clone();
                let error = NotTheContract { kernel: kernel_name, contract, cipher: kernel.cipher.clone() };
                problems.push(kernel.problem(span, Reason::Stage(Arc::new(error)), None));
                continue;
            }
        };
        let count = count(kernel);
        if count > limit {
            let reason = Reason::TooManyVariants { count, limit };
            problems.push(kernel.problem(kernel.kernel.span.clone(), reason, None));
            continue;
        }
        for strategy in &kernel.strategies {
            problems.extend(wrong_knobs(kernel, contract, strategy));
            let startup: BTreeSet<u32> = strategy.startup.iter().map(|at| at.value).collect();
            for (parameters, at_startup) in parameters(strategy, &startup) {
                for (place, word) in strategy.schedule.iter().enumerate() {
                    let schedule = Schedule::parse(word);
                    plans.push(Plan {
                        kernel,
                        strategy,
                        contract,
                        name: variant_name(&kernel.kernel, &strategy.name, parameters, &schedule),
                        parameters,
                        startup: at_startup && place == 0,
                        schedule,
                        arguments: arguments.clone(),
                    });
                }
            }
        }
    }
    problems.or(plans)
}

/// What a strategy's table asks for and the strategy does not have.
fn wrong_knobs(kernel: &KernelSpec, contract: &Contract, strategy: &Strategy) -> Problems {
    let mut problems = Problems::new();
    let Some(known) = contract.strategy(&strategy.name) else { return problems };
    let first = |list: &[At<u32>]| list.first().map(|item| item.span.clone());
    let given = [
        (Knob::Unroll, first(&strategy.unroll)),
        (Knob::Exact, first(&strategy.exact)),
        (Knob::BackEdge, strategy.back_edge.first().map(|edge| edge.span.clone())),
        (Knob::Rows, first(&strategy.rows)),
        (Knob::Overlap, first(&strategy.overlap)),
        (Knob::Block, first(&strategy.block)),
        (Knob::Split, first(&strategy.split)),
        (Knob::Blocks, first(&strategy.blocks)),
        (Knob::Rounds, strategy.rounds.first().map(|rounds| rounds.span.clone())),
        (Knob::RoundKeys, strategy.round_keys.first().map(|keys| keys.span.clone())),
        (Knob::Xor, strategy.xor.first().map(|xor| xor.span.clone())),
    ];
    for (knob, span) in given {
        if let (Some(span), false) = (span, known.knobs.contains(&knob)) {
            let reason = Reason::NoSuchParameter {
                key: knob.key().to_owned(),
                strategy: Shown::new(&strategy.name),
                kernel: Shown::new(&kernel.kernel),
                valid: known.knobs.iter().map(|knob| knob.key().to_owned()).collect(),
            };
            problems.push(kernel.problem(span, reason, None));
        }
    }
    if let Some(lanes) = known.in_flight {
        let serial = kernel.cipher.as_ref().and_then(|cipher| cipher.mode.as_ref()).is_some_and(|mode| mode.serial());
        let only = if serial { 1 } else { lanes };
        for blocks in strategy.blocks.iter().filter(|blocks| blocks.value != only) {
            let error = NotInFlight { strategy: strategy.name.value.clone(), blocks: blocks.value, only, serial };
            problems.push(kernel.problem(blocks.span.clone(), Reason::Stage(Arc::new(error)), None));
        }
    }
    problems
}

/// A strategy has a fixed number of blocks in flight.
#[derive(Clone, Debug)]
pub struct NotInFlight {
    /// The strategy.
    pub strategy: String,
    /// What the spec asks for.
    pub blocks: u32,
    /// What there is.
    pub only: u32,
    /// Whether a block waits for the one before it.
    pub serial: bool,
}

impl fmt::Display for NotInFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotInFlight { strategy, blocks, only, serial } = self;
        let why = if *serial { ", since each block waits for the one before it" } else { "" };
        write!(f, "blocks of strategy `{strategy}` is {only}{why}; it cannot be {blocks}")
    }
}

impl std::error::Error for NotInFlight {}

/// The points of a strategy's lists. What starts up is the first of each list but `unroll`, which says it itself; a strategy
/// with a `startup` list also brings its exact sizes to the start-up race, each to its own size class, or, without loops, those
/// that the list names.
fn parameters(strategy: &Strategy, startup: &BTreeSet<u32>) -> Vec<(Parameters, bool)> {
    let or = |list: &[At<u32>], default: Option<u32>| -> Vec<Option<u32>> {
        if list.is_empty() { vec![default] } else { list.iter().map(|item| Some(item.value)).collect() }
    };
    let edges: Vec<bool> = match strategy.back_edge.as_slice() {
        [] => vec![false],
        edges => edges.iter().map(|edge| edge.value == BackEdge::Live).collect(),
    };
    let mut extents: Vec<(Extent, bool, bool)> = Vec::new();
    for live in &edges {
        for unroll in &strategy.unroll {
            let at_startup = startup.contains(&unroll.value) && *live == edges[0];
            extents.push((Extent::Unrolled(unroll.value), *live, at_startup));
        }
    }
    for blocks in &strategy.blocks {
        extents.push((Extent::Blocks(blocks.value), false, startup.contains(&blocks.value)));
    }
    let loops = !strategy.unroll.is_empty() || !strategy.blocks.is_empty();
    extents.extend(strategy.exact.iter().map(|limbs| {
        let at_startup = if loops { !startup.is_empty() } else { startup.contains(&limbs.value) };
        (Extent::Exact(limbs.value), false, at_startup)
    }));
    if extents.is_empty() {
        extents.push((Extent::Whole, false, true));
    }
    let mut points: Vec<(Parameters, bool)> = Vec::new();
    for (extent, live, at_startup) in extents {
        let mut first = true;
        for rows in or(&strategy.rows, Some(1)) {
            for overlap in or(&strategy.overlap, Some(0)) {
                for block in or(&strategy.block, None) {
                    // Only an exact number of limbs can be split.
                    let exact = matches!(extent, Extent::Exact(_));
                    let splits = if exact { or(&strategy.split, Some(0)) } else { vec![Some(0)] };
                    for split in splits {
                        let [rows, overlap, split] = [(rows, 1), (overlap, 0), (split, 0)].map(|(a, b)| a.unwrap_or(b));
                        for (rounds, keys, xor) in cipher_points(strategy, exact) {
                            let parameters =
                                Parameters { extent, live, rows, overlap, block, split, rounds, keys, xor };
                            points.push((parameters, at_startup && first));
                            first = false;
                        }
                    }
                }
            }
        }
    }
    points
}

/// The points of a cipher's lists. Those that are none: a loop of rounds with its keys in registers, or in an exact variant.
fn cipher_points(strategy: &Strategy, exact: bool) -> Vec<(Option<Rounds>, RoundKeys, XorAt)> {
    fn or<T: Copy>(list: &[At<T>], default: T) -> Vec<T> {
        if list.is_empty() { vec![default] } else { list.iter().map(|item| item.value).collect() }
    }
    let rounds: Vec<Option<Rounds>> = match strategy.rounds.as_slice() {
        [] => vec![None],
        list => list.iter().map(|item| Some(item.value)).collect(),
    };
    let mut points = Vec::new();
    for rounds in rounds {
        for keys in or(&strategy.round_keys, RoundKeys::Memory) {
            if rounds == Some(Rounds::Looped) && (exact || keys == RoundKeys::Registers) {
                continue;
            }
            points.extend(or(&strategy.xor, XorAt::Apart).into_iter().map(|xor| (rounds, keys, xor)));
        }
    }
    points
}

/// What the spec says of the contract's arguments, or the index of the first that is not the contract's (one past the last
/// when some are missing, or when it is the returned limb).
fn facts(kernel: &KernelSpec, contract: &Contract) -> Result<Vec<Fact>, usize> {
    let index_of = |name: &str| kernel.arguments.iter().position(|argument| argument.name.value == name);
    let mut facts = Vec::new();
    for (index, (argument, role)) in kernel.arguments.iter().zip(contract.roles).enumerate() {
        let shape = match &argument.kind {
            ArgumentKind::Limbs { length } => match role.shape {
                // The same sum, in whatever order it was written.
                Shape::Limbs { length: wanted, domain, .. }
                    if same_length(&length.to_string(), &family::written(&kernel.kernel, wanted))
                        && argument.domain.to_string() == domain =>
                {
                    Shape::Limbs { access: argument.access, length: wanted, domain }
                }
                _ => return Err(index),
            },
            ArgumentKind::Bytes { length, align } => match role.shape {
                Shape::Bytes { length: wanted, domain, .. } => {
                    let wanted_text = kernel.cipher.as_ref().map(|cipher| wanted.text(cipher));
                    if wanted_text != Some(length.to_string()) || argument.domain.to_string() != domain {
                        return Err(index);
                    }
                    Shape::Bytes { access: argument.access, length: wanted, align: *align, domain }
                }
                _ => return Err(index),
            },
            ArgumentKind::Count { .. } => Shape::Count,
            ArgumentKind::Limb => match role.shape {
                Shape::Limb { domain } if argument.domain.to_string() == family::written(&kernel.kernel, domain) => {
                    role.shape
                }
                _ => return Err(index),
            },
        };
        if argument.name.value != role.name || shape != role.shape {
            return Err(index);
        }
        let length = match &argument.kind {
            ArgumentKind::Limbs { length } | ArgumentKind::Bytes { length, .. } => {
                let term = |(name, times): &(String, u32)| {
                    let index = index_of(name).and_then(|index| u8::try_from(index).ok())?;
                    Some((index, u16::try_from(*times).ok()?))
                };
                let terms: Option<Vec<_>> = length.terms.iter().map(term).collect();
                Length::new(&terms.ok_or(index)?, length.plus)
            }
            ArgumentKind::Count { .. } | ArgumentKind::Limb => Length::new(&[], 0),
        };
        let may_equal: Option<Vec<u8>> =
            argument.may_equal.iter().map(|name| index_of(name).and_then(|index| u8::try_from(index).ok())).collect();
        let count = match argument.kind {
            ArgumentKind::Count { min, max } => (min, max),
            ArgumentKind::Limbs { .. } | ArgumentKind::Bytes { .. } | ArgumentKind::Limb => (0, 0),
        };
        facts.push(Fact { secret: argument.secret, may_equal: may_equal.ok_or(index)?, count, length });
    }
    if kernel.arguments.len() != contract.roles.len() || kernel.returns.is_some() != contract.returns {
        return Err(contract.roles.len());
    }
    Ok(facts)
}

/// A kernel's arguments are not those of the family's contract.
#[derive(Clone, Debug)]
pub struct NotTheContract {
    /// The kernel.
    pub kernel: String,
    /// The contract.
    pub contract: &'static Contract,
    /// The cipher, for a kernel of one.
    pub cipher: Option<Cipher>,
}

impl fmt::Display for NotTheContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles: Vec<String> =
            self.contract.roles.iter().map(|role| describe(&self.kernel, role, self.cipher.as_ref())).collect();
        let returns = if self.contract.returns { "returns a limb" } else { "returns nothing" };
        write!(f, "the arguments of {} are, in this order: {}; it {returns}", self.kernel, roles.join(", "))
    }
}

impl std::error::Error for NotTheContract {}

fn describe(kernel: &str, role: &Role, cipher: Option<&Cipher>) -> String {
    let access = |access| match access {
        Access::In => "in",
        Access::Out => "out",
        Access::InOut => "inout",
        Access::Scratch => "scratch",
    };
    let what = match role.shape {
        Shape::Limbs { access: how, length, domain } => {
            let domain = if domain == "any" { String::new() } else { format!(", {domain}") };
            format!("{} limbs, {}{domain}", family::written(kernel, length), access(how))
        }
        Shape::Bytes { access: how, length, align, domain } => {
            let align = if align == 1 { String::new() } else { format!(", aligned to {align}") };
            let domain = if domain == "any" { String::new() } else { format!(", {domain}") };
            let length = cipher.map_or("n".to_owned(), |cipher| length.text(cipher));
            format!("{length} bytes{align}, {}{domain}", access(how))
        }
        Shape::Count => "count".into(),
        Shape::Limb { domain: "any" } => "limb".into(),
        Shape::Limb { domain } => format!("limb, {}", family::written(kernel, domain)),
    };
    format!("{} ({what})", role.name)
}

/// Whether two sums have the same terms.
fn same_length(a: &str, b: &str) -> bool {
    let terms = |text: &str| text.split('+').map(|term| term.trim().to_owned()).collect::<BTreeSet<_>>();
    terms(a) == terms(b)
}
