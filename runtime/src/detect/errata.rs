//! CPUs whose CPUID says what is not so: rules as data. A rule looks at raw CPUID bits, before the operating system's
//! part, so that a system booted without AVX state does not look like a faulty CPU.

use kiln_codegen::isa::feature::{Feature, FeatureSet};

use super::Cpu;

/// One rule: on a CPU of `vendor`, with every feature of `reported` and none of `absent`, `drop` does not work.
pub(super) struct Erratum {
    /// The vendor's number of the erratum, or a short name.
    pub name: &'static str,
    /// What happens, for explanations.
    pub what: &'static str,
    /// Vendor string; `None` for any.
    pub vendor: Option<&'static str>,
    /// Family; `None` for any.
    pub family: Option<u32>,
    /// Features that are reported.
    pub reported: &'static [Feature],
    /// Features that are not.
    pub absent: &'static [Feature],
    /// Features that do not work.
    pub drop: &'static [Feature],
}

impl Erratum {
    pub fn applies(&self, cpu: &Cpu, reported: FeatureSet) -> bool {
        self.vendor.is_none_or(|vendor| vendor == cpu.vendor)
            && self.family.is_none_or(|family| family == cpu.family)
            && reported.contains_all(FeatureSet::of(self.reported))
            && self.absent.iter().all(|&feature| !reported.contains(feature))
    }
}

#[rustfmt::skip]
pub(super) const ERRATA: &[Erratum] = &[
    // Pentium and Celeron of the Skylake and Kaby Lake families: VEX decoding is fused off with AVX, the bits are not.
    Erratum { name: "SKL052", what: "BMI1 is reported without AVX and faults", vendor: Some("GenuineIntel"), family: Some(6), reported: &[Feature::Bmi1], absent: &[Feature::Avx], drop: &[Feature::Bmi1] },
    Erratum { name: "SKL052", what: "BMI2 is reported without AVX and faults", vendor: Some("GenuineIntel"), family: Some(6), reported: &[Feature::Bmi2], absent: &[Feature::Avx], drop: &[Feature::Bmi2] },
    // A masked AVX with FMA, VAES or VPCLMULQDQ left set is caught by `Feature::requires` and needs no rule.
];
