//! What this CPU is and what may be used of it: CPUID and XCR0 in, a [`Cpu`] out. Knows no kernel.
//!
//! One detector for everything. A feature counts only if its leaf exists, its bit is set, the operating system keeps
//! the registers it needs, everything it requires counts too, and no erratum says that the bit lies.

mod errata;
mod native;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use kiln_codegen::isa::feature::{Feature, FeatureSet, OsState};

pub use native::NativeCpuid;

/// Answers CPUID and XGETBV: the CPU itself, or a model of one in a test.
pub trait CpuidSource {
    /// The answer in the order eax, ebx, ecx, edx. `subleaf` is loaded into ecx before the instruction, always.
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4];
    /// XCR0. Called only if CPUID reports OSXSAVE; anywhere else the instruction faults.
    fn xgetbv(&self) -> u64;
}

/// Why a feature that CPUID reports is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// The operating system does not keep the registers.
    OsState(OsState),
    /// A feature that it requires is absent.
    Requires(Feature),
    /// An erratum: the bit lies. Name and what it is about.
    Erratum(&'static str, &'static str),
    /// `KILN_FEATURES` (or the API) took it away.
    Overridden,
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hidden::OsState(state) => write!(f, "the operating system does not keep the {} registers", state.word()),
            Hidden::Requires(feature) => write!(f, "requires {feature}, which is absent"),
            Hidden::Erratum(name, what) => write!(f, "erratum {name}: {what}"),
            Hidden::Overridden => f.write_str("taken away by an override"),
        }
    }
}

/// A CPU as it may be used: a description, of this machine or of a modelled one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Vendor string of leaf 0, e.g. `AuthenticAMD`; empty where there is no CPUID.
    pub vendor: String,
    /// Marketing name, trimmed; may be empty.
    pub brand: String,
    /// Family, extended family added.
    pub family: u32,
    /// Model, extended model included.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
    /// Microcode revision, where the system says.
    pub microcode: Option<u64>,
    /// Whether a hypervisor says that it is there.
    pub hypervisor: bool,
    /// Whether the time stamp counter ticks at one rate in every power state, and `rdtscp` exists.
    pub invariant_tsc: bool,
    /// What may be used.
    pub features: FeatureSet,
    /// What CPUID reports and may not be used, with the first reason found.
    pub hidden: Vec<(Feature, Hidden)>,
}

const OSXSAVE: u32 = 1 << 27;
const HYPERVISOR: u32 = 1 << 31;
const RDTSCP: u32 = 1 << 27;
const INVARIANT_TSC: u32 = 1 << 8;

impl Cpu {
    /// Reads a CPU from its CPUID answers.
    pub fn from_source(source: &impl CpuidSource) -> Cpu {
        let [max_leaf, b, c, d] = source.cpuid(0, 0);
        let vendor = text(&[b, d, c]);
        // A leaf beyond the maximum answers garbage (the last leaf, or stale registers): it is never read.
        // Each leaf is asked once: under a hypervisor a CPUID costs tens of microseconds.
        let answers = RefCell::new(BTreeMap::new());
        let leaf = |leaf: u32, subleaf: u32| -> [u32; 4] {
            if leaf > max_leaf {
                return [0; 4];
            }
            *answers.borrow_mut().entry((leaf, subleaf)).or_insert_with(|| source.cpuid(leaf, subleaf))
        };
        let max_extended = match source.cpuid(0x8000_0000, 0)[0] {
            max @ 0x8000_0000..=0x8000_ffff => max,
            _ => 0,
        };
        let extended = |leaf: u32| if leaf <= max_extended { source.cpuid(leaf, 0) } else { [0; 4] };

        let [signature, _, leaf1_ecx, _] = leaf(1, 0);
        let base_family = signature >> 8 & 0xf;
        let family = if base_family == 0xf { base_family + (signature >> 20 & 0xff) } else { base_family };
        let extended_model = if base_family == 0xf || base_family == 6 { signature >> 12 & 0xf0 } else { 0 };
        let brand: Vec<u32> = if max_extended >= 0x8000_0004 {
            (0x8000_0002..=0x8000_0004).flat_map(extended).collect()
        } else {
            Vec::new()
        };

        let xcr0 = if leaf1_ecx & OSXSAVE != 0 { Some(source.xgetbv()) } else { None };
        let reported: FeatureSet = Feature::ALL
            .iter()
            .copied()
            .filter(|feature| {
                let place = feature.cpuid();
                leaf(place.leaf, place.subleaf)[place.register.index()] >> place.bit & 1 == 1
            })
            .collect();

        let mut cpu = Cpu {
            vendor,
            brand: text(&brand).split_whitespace().collect::<Vec<_>>().join(" "),
            family,
            model: (signature >> 4 & 0xf) | extended_model,
            stepping: signature & 0xf,
            microcode: None,
            hypervisor: leaf1_ecx & HYPERVISOR != 0,
            invariant_tsc: extended(0x8000_0007)[3] & INVARIANT_TSC != 0 && extended(0x8000_0001)[3] & RDTSCP != 0,
            features: reported,
            hidden: Vec::new(),
        };
        for erratum in errata::ERRATA {
            if erratum.applies(&cpu, reported) {
                for &feature in erratum.drop {
                    cpu.hide(feature, Hidden::Erratum(erratum.name, erratum.what));
                }
            }
        }
        for feature in reported.iter() {
            let state = feature.os_state();
            if !os_keeps(state, xcr0) {
                cpu.hide(feature, Hidden::OsState(state));
            }
        }
        cpu.hide_unmet();
        cpu
    }

    /// The same CPU without some features. Nothing can be added.
    #[must_use]
    pub fn without(mut self, removed: FeatureSet) -> Cpu {
        for feature in removed.iter() {
            self.hide(feature, Hidden::Overridden);
        }
        self.hide_unmet();
        self
    }

    /// What a stored decision depends on, in one line: equal lines, same decision.
    pub fn fingerprint(&self) -> String {
        let microcode = self.microcode.map_or_else(|| "unknown".to_owned(), |revision| format!("{revision:#x}"));
        format!(
            "vendor={} family={} model={} stepping={} microcode={microcode} hypervisor={} features={}",
            if self.vendor.is_empty() { "unknown" } else { &self.vendor },
            self.family,
            self.model,
            self.stepping,
            if self.hypervisor { "yes" } else { "no" },
            self.features,
        )
    }

    fn hide(&mut self, feature: Feature, why: Hidden) {
        if self.features.contains(feature) {
            self.features.remove(feature);
            self.hidden.push((feature, why));
        }
    }

    /// Takes away whatever requires something absent, until nothing does.
    fn hide_unmet(&mut self) {
        while let Some((feature, absent)) = self.features.iter().find_map(|feature| {
            let absent = feature.requires().iter().find(|required| !self.features.contains(**required))?;
            Some((feature, *absent))
        }) {
            self.hide(feature, Hidden::Requires(absent));
        }
    }
}

/// Whether the operating system keeps this state. Without OSXSAVE it can only have used `fxsave`: x87, MMX and xmm,
/// which every 64-bit system does.
fn os_keeps(state: OsState, xcr0: Option<u64>) -> bool {
    match xcr0 {
        Some(xcr0) => xcr0 & state.xcr0_mask() == state.xcr0_mask(),
        None => state <= OsState::Sse,
    }
}

/// The characters of registers, up to the first NUL, with anything but printable ASCII replaced.
fn text(registers: &[u32]) -> String {
    registers
        .iter()
        .flat_map(|register| register.to_le_bytes())
        .take_while(|&byte| byte != 0)
        .map(|byte| if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' })
        .collect()
}

/// The CPU that this code runs on. Only [`native`] makes one and it can only lose features, so it is the proof that a
/// function which needs `features` may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Native(Cpu);

impl Native {
    /// The same CPU without some features. Nothing can be added.
    #[must_use]
    pub fn without(self, removed: FeatureSet) -> Native {
        Native(self.0.without(removed))
    }

    /// The description alone.
    pub fn cpu(&self) -> &Cpu {
        &self.0
    }
}

impl Deref for Native {
    type Target = Cpu;

    fn deref(&self) -> &Cpu {
        &self.0
    }
}

/// Detects the CPU that this code runs on. On an architecture without CPUID it has no features.
///
/// ```
/// let cpu = kiln_runtime::detect::native();
/// println!("{}", cpu.fingerprint());
/// ```
pub fn native() -> Native {
    #[cfg(target_arch = "x86_64")]
    let mut cpu = Cpu::from_source(&NativeCpuid::new());
    #[cfg(not(target_arch = "x86_64"))]
    let mut cpu = Cpu {
        vendor: String::new(),
        brand: String::new(),
        family: 0,
        model: 0,
        stepping: 0,
        microcode: None,
        hypervisor: false,
        invariant_tsc: false,
        features: FeatureSet::EMPTY,
        hidden: Vec::new(),
    };
    cpu.microcode = native::microcode();
    Native(cpu)
}
