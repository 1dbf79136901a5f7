//! What a call should cost by a CPU file: a model beside the measurement. Not a simulator: it knows no ports that classes share,
//! no caches and no front end; a report shows how far off it is.

use crate::ir::interpret::{Call, Executed, Fault, Program};
use crate::isa::row::{Class, FlagSet, Row};
use crate::pass::model::CostModel;
use std::collections::{BTreeMap, HashMap};

/// Instructions that a CPU has in flight: 224 on Skylake, 256 on Zen 3, 512 on Golden Cove.
const IN_FLIGHT: f64 = 256.0;

/// The cost of one call, in cycles of the core.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Instructions executed.
    pub executed: u64,
    /// The longest chain of results that wait for one another, through registers, flags and memory.
    pub path: f64,
    /// What the busiest unit takes, or the width of the core.
    pub bound: f64,
}

impl Estimate {
    /// A call of many that do not wait for one another: short ones overlap as far as so many instructions can be in flight.
    pub fn throughput(&self) -> f64 {
        self.bound.max(self.path * (self.executed as f64 / IN_FLIGHT).min(1.0))
    }

    /// A call that waits for the one before it.
    pub fn latency(&self) -> f64 {
        self.bound.max(self.path)
    }
}

/// Estimates a call of a program.
///
/// # Errors
/// The first fault of the execution.
pub fn estimate(program: &Program, call: &Call, model: &CostModel) -> Result<Estimate, Fault> {
    let mut flow = Flow::new(model);
    program.run_watched(call, &mut |executed| flow.execute(executed))?;
    Ok(flow.estimate())
}

/// When everything that has been computed is ready, and how busy each unit was.
struct Flow<'m> {
    model: &'m CostModel,
    executed: u64,
    registers: HashMap<u32, f64>,
    flags: [f64; 3],
    /// By address, for each byte.
    memory: HashMap<u64, f64>,
    units: BTreeMap<&'static str, f64>,
    path: f64,
}

impl<'m> Flow<'m> {
    fn new(model: &'m CostModel) -> Flow<'m> {
        Flow {
            model,
            executed: 0,
            registers: HashMap::new(),
            flags: [0.0; 3],
            memory: HashMap::new(),
            units: BTreeMap::new(),
            path: 0.0,
        }
    }

    fn ready(&self, registers: &[u32]) -> f64 {
        registers.iter().filter_map(|register| self.registers.get(register)).copied().fold(0.0, f64::max)
    }

    /// The time from an address to its data, by how wide they are.
    fn load(&self, bytes: u32) -> (&'static str, f64, f64) {
        let class = if bytes > 8 { Class::SimdLoad } else { Class::Load };
        let (latency, per_cycle) = self.model.class_cost(class);
        (class.word(), f64::from(latency), per_cycle)
    }

    fn execute(&mut self, executed: &Executed) {
        self.executed += 1;
        let Some(row) = executed.row else { return };
        self.occupy(row, executed);
        let mut start = self.ready(&executed.reads);
        for (flag, ready) in FlagSet::EACH.into_iter().zip(self.flags) {
            if row.flags.reads.contains(flag) {
                start = start.max(ready);
            }
        }
        let mut latency = f64::from(self.model.latency(row));
        if let Some(memory) = executed.memory.filter(|memory| memory.reads) {
            let (_, load, _) = self.load(memory.bytes);
            let stored = each(memory.address, memory.bytes).filter_map(|byte| self.memory.get(&byte));
            let data = stored.copied().fold(self.ready(&executed.address), f64::max) + load;
            // Only the data waits for the load: what the registers hold may come later.
            start = data.max(if executed.reads == executed.address { 0.0 } else { start });
            if matches!(row.class, Class::Load | Class::SimdLoad) {
                latency = 0.0;
            }
        }
        let end = start + latency;
        for register in &executed.writes {
            self.registers.insert(*register, end);
        }
        for (flag, ready) in FlagSet::EACH.into_iter().zip(&mut self.flags) {
            if row.flags.writes.contains(flag) {
                *ready = end;
            }
        }
        if let Some(memory) = executed.memory.filter(|memory| memory.writes) {
            for byte in each(memory.address, memory.bytes) {
                self.memory.insert(byte, end);
            }
        }
        self.path = self.path.max(end);
    }

    fn occupy(&mut self, row: &Row, executed: &Executed) {
        *self.units.entry(self.model.key(row)).or_default() += 1.0 / self.model.per_cycle(row);
        if let Some(memory) = executed.memory {
            if memory.reads && !matches!(row.class, Class::Load | Class::SimdLoad) {
                let (unit, _, per_cycle) = self.load(memory.bytes);
                *self.units.entry(unit).or_default() += 1.0 / per_cycle;
            }
            if memory.writes && !matches!(row.class, Class::Store | Class::SimdStore) {
                let class = if memory.bytes > 8 { Class::SimdStore } else { Class::Store };
                *self.units.entry(class.word()).or_default() += 1.0 / self.model.class_cost(class).1;
            }
        }
    }

    fn estimate(&self) -> Estimate {
        let issue = self.executed as f64 / f64::from(self.model.issue_width.max(1));
        let bound = self.units.values().copied().fold(issue, f64::max);
        Estimate { executed: self.executed, path: self.path, bound }
    }
}

fn each(address: u64, bytes: u32) -> impl Iterator<Item = u64> {
    (0..u64::from(bytes)).map(move |byte| address.wrapping_add(byte))
}
