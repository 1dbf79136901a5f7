//! The space that is swept: a kernel's spec with other lists in its strategies. What a list may hold is checked where specs are
//! checked: the spec is written out again with the new lists, and read as any other.

use std::collections::BTreeMap;

use kiln_codegen::error::{Problem, Problems, Reason};
use kiln_codegen::plan::{Plan, Setting, plans_up_to};
use kiln_codegen::spec::{KernelSpec, SourceFile, Specs};
use kiln_kernels::catalogue::Kernel;
use kiln_runtime::provide::Provider;

use super::record::Value;
use super::set::{STRATEGY, Set};
use crate::failure::Failure;
use crate::names::nearest;

/// Most variants of a kernel in a sweep.
pub const MOST: usize = 200_000;
/// The strategies whose variants are compiled Rust: schedules are nothing to them.
const PORTABLE: &str = "portable";
/// The key of schedules.
const SCHEDULE: &str = "schedule";
/// The value that takes a list away.
const NONE: &str = "none";

/// The variants of a kernel that are swept.
pub struct Space {
    /// The kernel as it is compiled in.
    pub kernel: &'static Kernel,
    /// Its spec with the lists that were asked for, alone.
    pub specs: Specs,
    /// Values that a strategy does not take, and why.
    pub refused: Vec<RefusedValue>,
    /// Lists for a key that none of the strategies has.
    pub idle: Vec<Set>,
}

/// A list that changes nothing in any of the kernels, in words: nobody asks for that.
pub fn idle_everywhere(spaces: &[Space]) -> Option<String> {
    let (first, others) = spaces.split_first()?;
    let set = first.idle.iter().find(|set| others.iter().all(|space| space.idle.contains(set)))?;
    let strategy = |space: &Space| {
        let names = space.specs.kernels.iter().flat_map(|spec| &spec.strategies).map(|one| one.name.value.as_str());
        format!("{} of {}", names.collect::<Vec<_>>().join(", "), space.kernel.name)
    };
    let strategies = spaces.iter().map(strategy).collect::<Vec<_>>().join("; ");
    Some(format!("--set {}: no strategy that is swept has that parameter ({strategies})", short(set)))
}

/// A list as it may stand in a message.
fn short(set: &Set) -> String {
    const MOST: usize = 5;
    match set.values.len() {
        0..=MOST => set.to_string(),
        many => format!("{}={},… ({many} values)", set.key, set.values[..MOST].join(",")),
    }
}

/// A value that a strategy does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedValue {
    /// The strategy.
    pub strategy: String,
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl Space {
    /// The space of a kernel: its spec, with the lists of `sets` in each strategy that has the key.
    ///
    /// # Errors
    /// Strategies of which the kernel has none, or a key of which no strategy takes a value. A key that no strategy has changes
    /// nothing and is told: see [`idle_everywhere`].
    pub fn of(provider: &Provider, kernel: &'static Kernel, sets: &[Set]) -> Result<Space, Failure> {
        let Some(spec) = provider.specs().kernel(kernel.name) else {
            return Err(Failure::UnknownKernel(nearest(kernel.name, [])));
        };
        let cpus = provider.specs().cpus.clone();
        if sets.is_empty() {
            return Ok(Space {
                kernel,
                specs: Specs { kernels: vec![spec.clone()], cpus },
                refused: Vec::new(),
                idle: Vec::new(),
            });
        }
        let mut draft = Draft { provider, spec, table: table(spec)?, cpus };
        draft.select(sets)?;
        let (mut refused, mut idle) = (Vec::new(), Vec::new());
        for set in sets.iter().filter(|set| set.key != STRATEGY) {
            if !draft.apply(set, &mut refused)? {
                idle.push(set.clone());
            }
        }
        let specs = draft.read(&draft.table).map_err(|problems| {
            let all = sets.iter().map(|set| format!("--set {}", short(set))).collect::<Vec<_>>().join(" ");
            Failure::Usage(format!("{all}: {}", reason(&problems)))
        })?;
        Ok(Space { kernel, specs, refused, idle })
    }

    /// Every variant of the space.
    ///
    /// # Errors
    /// More than [`MOST`].
    pub fn plans(&self) -> Result<Vec<Plan<'_>>, Failure> {
        Ok(plans_up_to(&self.specs, MOST)?)
    }
}

/// Every key that some strategy of a kernel has.
pub fn keys(spec: &KernelSpec) -> Vec<&'static str> {
    let contract = kiln_codegen::family::contract(spec);
    let known = spec.strategies.iter().filter_map(|strategy| contract?.strategy(&strategy.name));
    let mut keys: Vec<&'static str> = known.flat_map(|known| known.knobs).map(|knob| knob.key()).collect();
    keys.extend([SCHEDULE, STRATEGY]);
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A plan's parameters as they stand in a record.
pub fn settings(plan: &Plan<'_>) -> BTreeMap<String, Value> {
    let value = |setting| match setting {
        Setting::Number(number) => Value::from(i64::from(number)),
        Setting::Word(word) => Value::Text(word),
    };
    plan.settings().into_iter().map(|(key, setting)| (key.to_owned(), value(setting))).collect()
}

/// A spec that is being rewritten.
struct Draft<'a> {
    provider: &'a Provider,
    spec: &'a KernelSpec,
    table: toml::Table,
    cpus: Vec<kiln_codegen::spec::CpuSpec>,
}

fn table(spec: &KernelSpec) -> Result<toml::Table, Failure> {
    // It was read before.
    spec.text.parse().map_err(|_| Failure::Specs(Problem::whole(&spec.file, Reason::Incomplete).into()))
}

/// The first of the problems, without its place in a text that nobody wrote.
fn reason(problems: &Problems) -> String {
    problems.iter().next().map_or_else(String::new, Problem::message)
}

/// Why no strategy takes any of some values: each reason once.
fn reasons(refused: &[RefusedValue]) -> String {
    let mut known: Vec<(&str, Set)> = Vec::new();
    for RefusedValue { key, value, why, .. } in refused {
        let of = known.iter().position(|(known, _)| known == why).unwrap_or_else(|| {
            known.push((why, Set { key: key.clone(), values: Vec::new() }));
            known.len() - 1
        });
        if !known[of].1.values.contains(value) {
            known[of].1.values.push(value.clone());
        }
    }
    const MOST: usize = 3;
    let mut text: Vec<String> =
        known.iter().take(MOST).map(|(why, set)| format!("--set {}: {why}", short(set))).collect();
    if known.len() > MOST {
        text.push(format!("and {} more", known.len() - MOST));
    }
    text.join("; ")
}

fn strategies(table: &mut toml::Table) -> &mut [toml::Value] {
    table.get_mut(STRATEGY).and_then(toml::Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

fn word(strategy: &toml::Value) -> &str {
    strategy.get("name").and_then(toml::Value::as_str).unwrap_or_default()
}

impl Draft<'_> {
    /// Leaves the strategies that were asked for, without their start-up lists, which name what may be gone.
    fn select(&mut self, sets: &[Set]) -> Result<(), Failure> {
        let wanted: Vec<&String> = sets.iter().filter(|set| set.key == STRATEGY).flat_map(|set| &set.values).collect();
        let names: Vec<String> = strategies(&mut self.table).iter().map(|strategy| word(strategy).to_owned()).collect();
        // Another kernel may have those that this one has not.
        if let (Some(unknown), true) = (wanted.first(), wanted.iter().all(|name| !names.contains(name))) {
            let near = nearest(unknown, names.iter().map(String::as_str));
            return Err(Failure::UnknownStrategy { kernel: self.spec.kernel.value.clone(), near });
        }
        if let Some(list) = self.table.get_mut(STRATEGY).and_then(toml::Value::as_array_mut) {
            list.retain(|strategy| wanted.is_empty() || wanted.iter().any(|name| *name == word(strategy)));
            for strategy in list.iter_mut().filter_map(toml::Value::as_table_mut) {
                strategy.remove("startup");
            }
        }
        Ok(())
    }

    /// Puts a list into each strategy that has the key, less the values that it does not take. `none` takes the list away.
    /// Whether there was anything to do.
    fn apply(&mut self, set: &Set, refused: &mut Vec<RefusedValue>) -> Result<bool, Failure> {
        if set.values == [NONE] {
            for strategy in strategies(&mut self.table).iter_mut().filter_map(toml::Value::as_table_mut) {
                strategy.remove(&set.key);
            }
            return Ok(true);
        }
        let names: Vec<String> = strategies(&mut self.table).iter().map(|strategy| word(strategy).to_owned()).collect();
        let owners: Vec<usize> = (0..names.len()).filter(|&index| self.has(&names[index], &set.key)).collect();
        let mut taken = 0;
        let before = refused.len();
        for &index in &owners {
            let name = &names[index];
            let mut values = Vec::new();
            for value in &set.values {
                match self.only(index, set, std::slice::from_ref(value)).and_then(|table| self.read(&table)) {
                    Ok(_) => values.push(value.clone()),
                    Err(problems) => {
                        let why = reason(&problems);
                        let (key, value) = (set.key.clone(), value.clone());
                        refused.push(RefusedValue { strategy: name.clone(), key, value, why });
                    }
                }
            }
            taken += values.len();
            let list = values.iter().map(|value| set.toml(value)).collect();
            if let Some(strategy) = strategies(&mut self.table)[index].as_table_mut() {
                strategy.insert(set.key.clone(), toml::Value::Array(list));
            }
        }
        if owners.is_empty() {
            let why = format!("it has no parameter `{}`", set.key);
            refused.extend(names.into_iter().map(|strategy| RefusedValue {
                strategy,
                key: set.key.clone(),
                value: set.values.join(" "),
                why: why.clone(),
            }));
            return Ok(false);
        }
        if taken == 0 {
            return Err(Failure::Usage(reasons(&refused[before..])));
        }
        // A strategy that takes none of the values has no points.
        let key = set.key.as_str();
        if let Some(list) = self.table.get_mut(STRATEGY).and_then(toml::Value::as_array_mut) {
            list.retain(|strategy| !strategy.get(key).and_then(toml::Value::as_array).is_some_and(Vec::is_empty));
        }
        Ok(true)
    }

    /// Whether a strategy has a parameter.
    fn has(&self, strategy: &str, key: &str) -> bool {
        if key == SCHEDULE {
            return strategy != PORTABLE;
        }
        let known = kiln_codegen::family::contract(self.spec).and_then(|contract| contract.strategy(strategy));
        known.is_some_and(|known| known.knobs.iter().any(|knob| knob.key() == key))
    }

    /// The spec with one strategy alone, in which the key has these values alone.
    fn only(&self, index: usize, set: &Set, values: &[String]) -> Result<toml::Table, Problems> {
        let mut table = self.table.clone();
        if let Some(list) = table.get_mut(STRATEGY).and_then(toml::Value::as_array_mut) {
            let mut strategy = list.swap_remove(index);
            if let Some(strategy) = strategy.as_table_mut() {
                let list = values.iter().map(|value| set.toml(value)).collect();
                strategy.insert(set.key.clone(), toml::Value::Array(list));
            }
            *list = vec![strategy];
        }
        Ok(table)
    }

    /// Reads the spec as it is written now.
    fn read(&self, table: &toml::Table) -> Result<Specs, Problems> {
        let path = format!("{} with --set", self.spec.file);
        let text = toml::to_string(table).unwrap_or_default();
        let cpus: Vec<&str> = self.provider.specs().cpus.iter().map(|cpu| cpu.name.as_str()).collect();
        let file = SourceFile { path, bytes: text.into_bytes() };
        let mut specs = Specs::parse(&[file], &kiln_codegen::vocabulary(&cpus))?;
        specs.kernels.retain(|kernel| kernel.kernel.value == self.spec.kernel.value);
        specs.cpus.clone_from(&self.cpus);
        plans_up_to(&specs, MOST)?;
        Ok(specs)
    }
}
