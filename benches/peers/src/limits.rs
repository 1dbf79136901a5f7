//! What the hardware allows: known for one CPU at one frequency, so told only there.

use kiln_runtime::detect::Cpu;

/// The multiplier's limit, where it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What it is valid for.
    pub valid_for: &'static str,
    /// Time of one 64-bit multiplication in ticks of the time stamp counter.
    pub multiplication: f64,
}

/// One multiplication a cycle, at 4/3 of the counter's frequency.
const ZEN3: Limit = Limit { valid_for: "Zen 3, 2.44 GHz TSC", multiplication: 0.75 };

/// The limit on this CPU with a counter of so many gigahertz.
pub fn limit(cpu: &Cpu, gigahertz: f64) -> Option<Limit> {
    let zen3 = cpu.vendor == "AuthenticAMD" && cpu.family == 25 && matches!(cpu.model, 0..=0xf | 0x20..=0x5f);
    (zen3 && (gigahertz - 2.44).abs() < 0.02).then_some(ZEN3)
}
