//! What could not run on this machine: counted, named, and a failure where `KILN_REQUIRE` asks for it.

use std::collections::BTreeMap;

/// What could not run here. `KILN_REQUIRE=avx2,vaes` turns a skip for such a feature into a failure.
#[derive(Debug, Default)]
pub struct Skips(BTreeMap<String, usize>);

impl Skips {
    /// Counts one skip that happened for want of `features`.
    pub fn skip(&mut self, features: Vec<&str>, why: &str) {
        let required = std::env::var("KILN_REQUIRE").unwrap_or_default();
        let required: Vec<&str> = required.split(',').collect();
        let wanted = features.iter().find(|feature| required.contains(feature));
        assert!(wanted.is_none(), "KILN_REQUIRE has {wanted:?}, but: {why}");
        *self.0.entry(why.to_owned()).or_default() += 1;
    }

    /// Whether nothing was skipped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says what was skipped.
    pub fn report(&self) {
        for (why, count) in &self.0 {
            println!("skipped {count}: {why}");
        }
    }
}
