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
    /// nothing.
    pub fn of(provider: &Provider, kernel: &'static Kernel, sets: &[Set]) -> Result<Space, Failure> {
        let Some(spec) = provider.specs().kernel(kernel.name) else {
            return Err(Failure::UnknownKernel(nearest(kernel.name, [])));
        };
        let cpus = provider.specs().cpus.clone();
        if sets.is_empty() {
            return Ok(Space { kernel, specs: Specs { kernels: vec![spec.clone()], cpus }, refused: Vec::new() });
        }
        let mut draft = Draft { provider, spec, table: table(spec)?, cpus };
        draft.select(sets)?;
        let mut refused = Vec::new();
        for set in sets.iter().filter(|set| set.key != STRATEGY) {
            draft.apply(set, &mut refused)?;
        }
        let parsed = draft.read(&draft.table)?;
        Ok(Space { kernel, specs: parsed, refused })
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
    fn apply(&mut self, set: &Set, refused: &mut Vec<RefusedValue>) -> Result<(), Failure> {
        if set.values == [NONE] {
            for strategy in strategies(&mut self.table).iter_mut().filter_map(toml::Value::as_table_mut) {
                strategy.remove(&set.key);
            }
            return Ok(());
        }
        let mut owners = 0;
        let mut taken = 0;
        let mut first_problem = None;
        for index in 0..strategies(&mut self.table).len() {
            let name = word(&strategies(&mut self.table)[index]).to_owned();
            if !self.has(&name, &set.key) {
                continue;
            }
            owners += 1;
            let mut values = Vec::new();
            for value in &set.values {
                match self.only(index, set, std::slice::from_ref(value)).and_then(|table| self.read(&table)) {
                    Ok(_) => values.push(value.clone()),
                    Err(problems) => {
                        let why = problems.iter().next().map_or_else(String::new, Problem::message);
                        first_problem.get_or_insert(problems);
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
        if owners == 0 {
            return Ok(());
        }
        if let (0, Some(problems)) = (taken, first_problem) {
            return Err(Failure::Specs(problems));
        }
        // A strategy that takes none of the values has no points.
        let key = set.key.as_str();
        if let Some(list) = self.table.get_mut(STRATEGY).and_then(toml::Value::as_array_mut) {
            list.retain(|strategy| !strategy.get(key).and_then(toml::Value::as_array).is_some_and(Vec::is_empty));
        }
        Ok(())
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
