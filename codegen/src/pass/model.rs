//! What instructions cost on one CPU, as far as the scheduler needs to know. The numbers come from a CPU's spec.

use crate::isa::row::{Class, Row};
use std::collections::BTreeMap;

/// The costs of one CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    /// The CPU's name in its spec.
    pub name: String,
    /// Instructions that may start in one cycle.
    pub issue_width: u32,
    /// How many instructions past the oldest unscheduled one may be taken first. Small windows keep register pressure down.
    pub window: u32,
    /// Instead of by costs, instructions are taken by their place in the source, each moved on by a number of places below
    /// `window` that follows from this seed: an order to search from where no model of the CPU is good enough.
    pub seed: Option<u32>,
    /// Latency in cycles and instructions per cycle, by mnemonic or by [`Class::word`]; the mnemonic wins.
    pub cost: BTreeMap<String, (u32, f64)>,
}

/// By how many places a seed may move an instruction, less one: some seeds shake gently, others hard.
const SHAKES: [u32; 4] = [2, 3, 5, 8];

impl CostModel {
    /// A model with only the defaults of the classes: a current 4-wide core.
    pub fn generic() -> CostModel {
        CostModel { name: "generic".into(), issue_width: 4, window: 32, seed: None, cost: BTreeMap::new() }
    }

    /// The source's order, shaken by a seed.
    pub fn shaken(seed: u32) -> CostModel {
        CostModel { window: SHAKES[seed as usize % SHAKES.len()], seed: Some(seed), ..CostModel::generic() }
    }

    /// How far an instruction is moved by the seed, if there is one.
    pub fn shake(&self, index: usize) -> Option<usize> {
        // The finaliser of MurmurHash3, a public-domain mixing function.
        let mut mixed = self.seed? ^ (index as u32).wrapping_mul(0x9e37_79b9);
        for (shift, factor) in [(16, 0x85eb_ca6b_u32), (13, 0xc2b2_ae35)] {
            mixed = (mixed ^ mixed >> shift).wrapping_mul(factor);
        }
        Some(index + ((mixed ^ mixed >> 16) % self.window) as usize)
    }

    /// The cost of a class that no model names.
    const fn default_cost(class: Class) -> (u32, f64) {
        match class {
            Class::Move | Class::Alu => (1, 4.0),
            Class::Load => (5, 2.0),
            Class::Store | Class::Stack => (1, 1.0),
            Class::Lea | Class::Shift => (1, 2.0),
            Class::Carry => (1, 1.0),
            Class::Mul | Class::Mulx => (4, 1.0),
            Class::Div => (30, 0.05),
            Class::SimdMove | Class::SimdAlu => (1, 2.0),
            Class::SimdShuffle => (1, 1.0),
            Class::SimdLoad => (6, 2.0),
            Class::SimdStore => (1, 1.0),
            Class::SimdMul | Class::Aes => (4, 1.0),
        }
    }

    /// The word under which this row's cost is found: its mnemonic if the model names it, else its class.
    pub fn key(&self, row: &Row) -> &'static str {
        if self.cost.contains_key(row.mnemonic) { row.mnemonic } else { row.class.word() }
    }

    fn cost(&self, row: &Row) -> (u32, f64) {
        self.cost.get(self.key(row)).copied().unwrap_or(CostModel::default_cost(row.class))
    }

    /// Latency in cycles and instructions per cycle (always positive) of a class, whatever mnemonics say.
    pub fn class_cost(&self, class: Class) -> (u32, f64) {
        let (latency, per_cycle) = self.cost.get(class.word()).copied().unwrap_or(CostModel::default_cost(class));
        (latency, if per_cycle.is_finite() && per_cycle > 0.0 { per_cycle } else { 1.0 })
    }

    /// Cycles from the start of an instruction to its result.
    pub fn latency(&self, row: &Row) -> u32 {
        self.cost(row).0
    }

    /// How many such instructions may start in one cycle; always positive.
    pub fn per_cycle(&self, row: &Row) -> f64 {
        let per_cycle = self.cost(row).1;
        if per_cycle.is_finite() && per_cycle > 0.0 { per_cycle } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::base::Base;

    #[test]
    fn the_mnemonic_wins_over_the_class_and_the_class_over_the_default() {
        let mut model = CostModel::generic();
        assert_eq!(model.latency(Base::Adc.row()), 1);
        model.cost.insert("carry".into(), (2, 0.5));
        assert_eq!((model.latency(Base::Adc.row()), model.per_cycle(Base::Sbb.row())), (2, 0.5));
        model.cost.insert("adc".into(), (3, 0.0));
        assert_eq!((model.latency(Base::Adc.row()), model.latency(Base::Sbb.row())), (3, 2));
        assert_eq!(model.per_cycle(Base::Adc.row()), 1.0);
        assert_eq!(model.latency(Base::Mul.row()), 4);
    }
}
