//! The words that a spec may use: they come from the tables of `isa` and `family`, which this module must not know.

/// The words that are valid in specs. A word outside them is refused, with the nearest one as a hint.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// CPU features.
    pub features: &'a [&'a str],
    /// Kernels that a family can lower.
    pub kernels: &'a [&'a str],
    /// How the names of kernels begin that no list can hold, since a spec may make up the rest: `aes.`.
    pub stems: &'a [&'a str],
    /// Whether the kernel's spec says which keys it is for: one kernel for each size.
    pub is_keyed: fn(kernel: &str) -> bool,
    /// The strategies of a kernel; none for a kernel that no family can lower.
    pub strategies: fn(kernel: &str) -> Vec<&'static str>,
    /// What may be a key of `[cost]`: classes of instructions, and mnemonics.
    pub cost_keys: &'a [&'a str],
    /// CPUs that `schedule` may name besides those whose files are read.
    pub cpus: &'a [&'a str],
}
