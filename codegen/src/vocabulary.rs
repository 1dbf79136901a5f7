//! The words that specs may use, gathered from the tables of `isa` and `family`.

use crate::spec::Vocabulary;
use crate::{family, isa};
use std::sync::OnceLock;

/// The words of this version of Kiln. `cpus`: the CPUs that a schedule may name besides those whose files are read.
pub fn vocabulary<'a>(cpus: &'a [&'a str]) -> Vocabulary<'a> {
    static FEATURES: OnceLock<Vec<&'static str>> = OnceLock::new();
    static KERNELS: OnceLock<Vec<&'static str>> = OnceLock::new();
    static COST_KEYS: OnceLock<Vec<&'static str>> = OnceLock::new();
    Vocabulary {
        features: FEATURES.get_or_init(|| isa::feature::Feature::ALL.iter().map(|feature| feature.name()).collect()),
        kernels: KERNELS.get_or_init(|| family::contracts().map(|contract| contract.kernel).collect()),
        stems: family::stems(),
        is_keyed: family::aes::is_keyed,
        strategies: |kernel| family::strategies(kernel).iter().map(|strategy| strategy.word).collect(),
        cost_keys: COST_KEYS.get_or_init(isa::cost_keys),
        cpus,
    }
}
