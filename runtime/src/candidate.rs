//! A way to compute a kernel, compiled or made at run time, and whether it may run here. Runs nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kiln_codegen::isa::feature::FeatureSet;
use kiln_kernels::catalogue::{ArgumentKind, Entry, Kernel, Origin, Variant};

use crate::detect::{Cpu, Hidden};
use crate::settings::Glob;

/// One way to compute a kernel. Only the catalogue and (through `unsafe`) a generator make one.
#[derive(Clone, Debug)]
pub struct Candidate {
    name: Cow<'static, str>,
    origin: Origin,
    features: Result<FeatureSet, String>,
    exact: Option<u64>,
    startup: bool,
    entry: Entry,
    code_hash: Cow<'static, str>,
    instructions: u32,
}

/// What a generator says about a function that it made.
#[derive(Clone, Debug)]
pub struct Made {
    /// `KERNEL/STRATEGY.PARAMETERS[.SCHEDULE]`.
    pub name: String,
    /// The computed manifest.
    pub features: FeatureSet,
    /// The only `n` it may be called with, if it has no loop.
    pub exact: Option<u64>,
    /// Whether it takes part in the start-up race.
    pub startup: bool,
    /// Hash of its instructions.
    pub code_hash: String,
    /// Number of instructions.
    pub instructions: u32,
}

impl Candidate {
    /// A shipped variant. Its entry is trusted as the catalogue is: whoever builds a [`Variant`] vouches for it.
    pub fn shipped(variant: &'static Variant) -> Candidate {
        Candidate {
            name: Cow::Borrowed(variant.name),
            origin: variant.origin,
            features: FeatureSet::from_names(variant.features).map_err(|unknown| unknown.word),
            exact: variant.exact,
            startup: variant.startup,
            entry: variant.entry,
            code_hash: Cow::Borrowed(variant.code_hash),
            instructions: variant.instructions,
        }
    }

    /// A function made at run time.
    ///
    /// # Safety
    /// `entry` must be the address of a function that is never unmapped and that was generated for the contract of the
    /// kernel that `made.name` begins with, needing no CPU feature outside `made.features`. It may be wrong in what it
    /// computes: that is what verification is for.
    pub unsafe fn made(made: Made, entry: Entry) -> Candidate {
        Candidate {
            name: Cow::Owned(made.name),
            origin: Origin::Machine,
            features: Ok(made.features),
            exact: made.exact,
            startup: made.startup,
            entry,
            code_hash: Cow::Owned(made.code_hash),
            instructions: made.instructions,
        }
    }

    /// The variant's name, `KERNEL/STRATEGY.PARAMETERS[.SCHEDULE]`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's part of the name.
    pub fn kernel(&self) -> &str {
        self.name.split_once('/').map_or("", |(kernel, _)| kernel)
    }

    /// The name without `KERNEL/`.
    pub fn short_name(&self) -> &str {
        self.name.split_once('/').map_or(&self.name, |(_, short)| short)
    }

    /// Where the code comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The CPU features it needs; the word if its manifest names one that the table does not have.
    ///
    /// # Errors
    /// The unknown word.
    pub fn features(&self) -> Result<FeatureSet, &str> {
        self.features.as_ref().copied().map_err(String::as_str)
    }

    /// The only `n` it may be called with, if there is only one.
    pub fn exact(&self) -> Option<u64> {
        self.exact
    }

    /// Whether it takes part in the start-up race.
    pub fn startup(&self) -> bool {
        self.startup
    }

    /// The function.
    pub fn entry(&self) -> Entry {
        self.entry
    }

    /// Hash of its instructions.
    pub fn code_hash(&self) -> &str {
        &self.code_hash
    }

    /// Number of instructions.
    pub fn instructions(&self) -> u32 {
        self.instructions
    }

    /// The unroll factor that its name states (`u8`), if it states one.
    pub fn unroll(&self) -> Option<u64> {
        let mut parts = self.short_name().split('.').skip(1);
        parts.find_map(|part| part.strip_prefix('u')?.parse().ok())
    }

    /// Whether it may run on `cpu`, for the `kernel`.
    ///
    /// # Errors
    /// Why not.
    pub fn eligible(&self, kernel: &Kernel, cpu: &Cpu) -> Result<(), Ineligible> {
        if self.kernel() != kernel.name {
            return Err(Ineligible::OtherKernel);
        }
        let needs = self.features().map_err(|word| Ineligible::UnknownFeature(word.to_owned()))?;
        if let Some(missing) = needs.difference(cpu.features).iter().next() {
            let hidden = cpu.hidden.iter().find(|(feature, _)| *feature == missing).map(|(_, why)| why.clone());
            return Err(Ineligible::Feature(missing.name(), hidden));
        }
        if let Some(n) = self.exact
            && !count_range(kernel).contains(&n)
        {
            return Err(Ineligible::OutOfRange(n));
        }
        Ok(())
    }
}

/// Everyone who computes a kernel: the shipped variants, and the `extra` that are not twins of another (same name, or same
/// instructions for the same sizes). One that has a shipped variant's name and other instructions stands in for it, since
/// the spec in force says that this is what the name means; not for a portable one, which has to be there whatever a spec
/// says.
pub fn lineup(kernel: &'static Kernel, extra: impl IntoIterator<Item = Candidate>) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = kernel.variants.iter().map(Candidate::shipped).collect();
    let mut replaced = BTreeSet::new();
    for candidate in extra {
        // Who does not know his instructions is nobody's twin, and stands in for nobody.
        let known = !candidate.code_hash.is_empty();
        let twin = |other: &Candidate| other.code_hash == candidate.code_hash && other.exact == candidate.exact;
        match all.iter().position(|other| other.name == candidate.name) {
            Some(place) => {
                let shipped = place < kernel.variants.len() && all[place].origin != Origin::Portable;
                if shipped && known && !twin(&all[place]) && replaced.insert(place) {
                    all[place] = candidate;
                }
            }
            None if known && all.iter().any(twin) => {}
            None => all.push(candidate),
        }
    }
    all
}

/// The `n` that the contract allows: the range of its first count, `0..=0` without one.
pub(crate) fn count_range(kernel: &Kernel) -> std::ops::RangeInclusive<u64> {
    let count = kernel.arguments.iter().find_map(|argument| match argument.kind {
        ArgumentKind::Count { min, max } => Some(min..=max),
        ArgumentKind::Limbs { .. } | ArgumentKind::Limb { .. } => None,
    });
    count.unwrap_or(0..=0)
}

/// Why a candidate cannot run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ineligible {
    /// It computes another kernel.
    OtherKernel,
    /// Its manifest names a feature that the table does not have.
    UnknownFeature(String),
    /// A feature is absent or may not be used, with the reason for the latter.
    Feature(&'static str, Option<Hidden>),
    /// It serves one `n` alone, and the contract does not allow that.
    OutOfRange(u64),
}

impl fmt::Display for Ineligible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ineligible::OtherKernel => f.write_str("computes another kernel"),
            Ineligible::UnknownFeature(word) => write!(f, "needs {word:?}, which is no known CPU feature"),
            Ineligible::Feature(feature, None) => write!(f, "needs {feature}, which this CPU does not have"),
            Ineligible::Feature(feature, Some(why)) => write!(f, "needs {feature}: {why}"),
            Ineligible::OutOfRange(n) => write!(f, "serves n = {n} alone, which the contract does not allow"),
        }
    }
}

impl std::error::Error for Ineligible {}

/// What keeps candidates out whatever the CPU: patterns of the operator, and earlier failures by name.
#[derive(Clone, Debug, Default)]
pub struct Exclusions {
    /// Patterns over variant names.
    pub deny: Vec<Glob>,
    /// Variants that failed, and how.
    pub quarantined: BTreeMap<String, String>,
}

impl Exclusions {
    /// The pattern that denies this name, if any.
    pub fn denies(&self, name: &str) -> Option<&Glob> {
        self.deny.iter().find(|glob| glob.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str) -> Candidate {
        let made = Made {
            name: name.to_owned(),
            features: FeatureSet::EMPTY,
            exact: None,
            startup: false,
            code_hash: String::new(),
            instructions: 1,
        };
        // SAFETY: never called in these tests.
        unsafe { Candidate::made(made, Entry::new(core::ptr::null())) }
    }

    #[test]
    fn names_are_taken_apart() {
        let candidate = made("limb64.mul_add/mulx_adx.u8.s_zen3");
        assert_eq!(candidate.kernel(), "limb64.mul_add");
        assert_eq!(candidate.short_name(), "mulx_adx.u8.s_zen3");
        assert_eq!(candidate.unroll(), Some(8));
        assert_eq!(made("limb64.mul_add/u2.x4").unroll(), None);
        assert_eq!(made("no-kernel").kernel(), "");
        assert_eq!(made("").short_name(), "");
    }
}
