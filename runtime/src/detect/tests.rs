//! The detector against modelled CPUs: each fault that a detector of this field has had.

use std::collections::BTreeMap;

use super::native::microcode_in;
use super::*;

/// CPUID answers as a table. XGETBV panics where the real instruction faults.
struct Model {
    leaves: BTreeMap<(u32, u32), [u32; 4]>,
    /// What a leaf outside the table answers.
    garbage: [u32; 4],
    xcr0: Option<u64>,
}

impl CpuidSource for Model {
    fn cpuid(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        self.leaves.get(&(leaf, subleaf)).copied().unwrap_or(self.garbage)
    }

    fn xgetbv(&self) -> u64 {
        self.xcr0.expect("XGETBV executed on a CPU without OSXSAVE")
    }
}

const INTEL: [u32; 3] = [0x756e_6547, 0x6c65_746e, 0x4965_6e69];
const AMD: [u32; 3] = [0x6874_7541, 0x444d_4163, 0x6974_6e65];
const AVX512_XCR0: u64 = 0xe7;

fn model(vendor: [u32; 3], max_leaf: u32, signature: u32, features: &[Feature], xcr0: Option<u64>) -> Model {
    let [b, c, d] = vendor;
    let mut leaves = BTreeMap::from([((0, 0), [max_leaf, b, c, d]), ((1, 0), [signature, 0, 0, 0]), ((7, 0), [0; 4])]);
    for feature in features {
        let place = feature.cpuid();
        leaves.entry((place.leaf, place.subleaf)).or_default()[place.register.index()] |= 1 << place.bit;
    }
    if xcr0.is_some() {
        leaves.entry((1, 0)).or_default()[2] |= OSXSAVE;
    }
    Model { leaves, garbage: [0; 4], xcr0 }
}

fn hidden(cpu: &Cpu, feature: Feature) -> Option<&Hidden> {
    cpu.hidden.iter().find(|(hidden, _)| *hidden == feature).map(|(_, why)| why)
}

const BASE: [Feature; 5] = [Feature::Mmx, Feature::Sse, Feature::Sse2, Feature::Ssse3, Feature::Sse41];

fn with_base(more: &[Feature]) -> Vec<Feature> {
    BASE.iter().chain(more).copied().collect()
}

#[test]
fn without_osxsave_xgetbv_is_never_executed_and_avx_is_absent() {
    // An Atom, or any system booted with noxsave: the mock panics if XGETBV is executed.
    let features = with_base(&[Feature::Aes, Feature::Avx, Feature::Avx2, Feature::Bmi2, Feature::Avx512f]);
    let cpu = Cpu::from_source(&model(INTEL, 7, 0x306c3, &features, None));
    assert_eq!(cpu.features.names(), ["mmx", "sse", "sse2", "ssse3", "sse4.1", "aes", "bmi2"]);
    assert_eq!(hidden(&cpu, Feature::Avx2), Some(&Hidden::OsState(OsState::Ymm)));
}

#[test]
fn avx2_needs_ymm_state() {
    let features = with_base(&[Feature::Avx, Feature::Avx2, Feature::Fma, Feature::Vaes, Feature::Aes]);
    let cpu = Cpu::from_source(&model(INTEL, 7, 0x306c3, &features, Some(3)));
    assert_eq!(cpu.features.names(), ["mmx", "sse", "sse2", "ssse3", "sse4.1", "aes"]);
    for feature in [Feature::Avx, Feature::Avx2, Feature::Fma, Feature::Vaes] {
        assert_eq!(hidden(&cpu, feature), Some(&Hidden::OsState(OsState::Ymm)), "{feature}");
    }
}

#[test]
fn avx2_alone_in_leaf_7_is_not_enough() {
    let cpu = Cpu::from_source(&model(AMD, 7, 0x800f11, &with_base(&[Feature::Avx2]), Some(7)));
    assert!(!cpu.features.contains(Feature::Avx2));
    assert_eq!(hidden(&cpu, Feature::Avx2), Some(&Hidden::Requires(Feature::Avx)));
}

#[test]
fn avx512_needs_zmm_state() {
    let features = with_base(&[Feature::Avx, Feature::Avx2, Feature::Fma, Feature::Avx512f, Feature::Avx512ifma]);
    let ymm = Cpu::from_source(&model(INTEL, 7, 0x706e5, &features, Some(7)));
    assert!(ymm.features.contains(Feature::Avx2) && !ymm.features.contains(Feature::Avx512f));
    let zmm = Cpu::from_source(&model(INTEL, 7, 0x706e5, &features, Some(AVX512_XCR0)));
    assert!(zmm.features.contains(Feature::Avx512ifma));
}

#[test]
fn bmi_without_avx_is_an_erratum_on_intel_only() {
    let features = with_base(&[Feature::Bmi1, Feature::Bmi2]);
    let pentium = Cpu::from_source(&model(INTEL, 7, 0x506e3, &features, Some(3)));
    assert_eq!(pentium.features.names(), ["mmx", "sse", "sse2", "ssse3", "sse4.1"]);
    assert!(matches!(hidden(&pentium, Feature::Bmi2), Some(Hidden::Erratum("SKL052", _))));
    let masked_ryzen = Cpu::from_source(&model(AMD, 7, 0x800f11, &features, Some(3)));
    assert!(masked_ryzen.features.contains(Feature::Bmi2));
}

#[test]
fn bmi1_does_not_imply_bmi2() {
    // Piledriver: family 15h.
    let features = with_base(&[Feature::Avx, Feature::Bmi1, Feature::Fma]);
    let cpu = Cpu::from_source(&model(AMD, 7, 0x600f20, &features, Some(7)));
    assert_eq!(cpu.family, 0x15);
    assert!(cpu.features.contains(Feature::Bmi1) && !cpu.features.contains(Feature::Bmi2));
}

#[test]
fn leaves_beyond_the_maximum_are_never_read() {
    // Max leaf 1, every other leaf answers stale registers: ecx passes through.
    let mut cpu = model(INTEL, 1, 0x6f6, &BASE, None);
    cpu.leaves.remove(&(7, 0));
    cpu.garbage = [u32::MAX; 4];
    let cpu = Cpu::from_source(&cpu);
    assert_eq!(cpu.features.names(), ["mmx", "sse", "sse2", "ssse3", "sse4.1"]);
    assert!(!cpu.invariant_tsc);
    assert_eq!(cpu.brand, "");
}

#[test]
fn leaf_7_is_read_at_subleaf_0() {
    let mut cpu = model(AMD, 7, 0x800f11, &with_base(&[Feature::Avx, Feature::Adx]), Some(7));
    cpu.leaves.insert((7, 1), [0, u32::MAX, u32::MAX, 0]);
    cpu.garbage = [0, u32::MAX, u32::MAX, 0];
    let cpu = Cpu::from_source(&cpu);
    assert!(cpu.features.contains(Feature::Adx));
    assert!(!cpu.features.contains(Feature::Vaes) && !cpu.features.contains(Feature::Avx2));
}

#[test]
fn amd_family_17h_reads_leaf_7_like_any_other() {
    let features = with_base(&[
        Feature::Aes,
        Feature::Pclmulqdq,
        Feature::Avx,
        Feature::Avx2,
        Feature::Bmi1,
        Feature::Bmi2,
        Feature::Adx,
        Feature::Fma,
        Feature::Sha,
    ]);
    let cpu = Cpu::from_source(&model(AMD, 13, 0x800f11, &features, Some(7)));
    assert_eq!((cpu.vendor.as_str(), cpu.family, cpu.model, cpu.stepping), ("AuthenticAMD", 0x17, 1, 1));
    assert_eq!(cpu.features, features.into_iter().collect());
    assert!(cpu.hidden.is_empty());
}

#[test]
fn zen_3() {
    let features: Vec<Feature> = Feature::ALL
        .iter()
        .copied()
        .filter(|feature| !matches!(feature, Feature::Avx512f | Feature::Avx512ifma))
        .collect();
    let mut zen = model(AMD, 16, 0xa20f10, &features, Some(0x207));
    let brand = |text: &[u8; 16]| -> [u32; 4] {
        core::array::from_fn(|i| u32::from_le_bytes([text[4 * i], text[4 * i + 1], text[4 * i + 2], text[4 * i + 3]]))
    };
    zen.leaves.insert((0x8000_0000, 0), [0x8000_0023, 0, 0, 0]);
    zen.leaves.insert((0x8000_0001, 0), [0, 0, 0, RDTSCP]);
    zen.leaves.insert((0x8000_0002, 0), brand(b"AMD Ryzen 9 5950"));
    zen.leaves.insert((0x8000_0003, 0), brand(b"X 16-Core Proces"));
    zen.leaves.insert((0x8000_0004, 0), brand(b"sor   \0\0\0\0\0\0\0\0\0\0"));
    zen.leaves.insert((0x8000_0007, 0), [0, 0, 0, INVARIANT_TSC]);
    let cpu = Cpu::from_source(&zen);
    assert_eq!((cpu.family, cpu.model, cpu.stepping), (25, 33, 0));
    assert_eq!(cpu.brand, "AMD Ryzen 9 5950X 16-Core Processor");
    assert!(cpu.invariant_tsc && !cpu.hypervisor);
    assert!(cpu.features.contains(Feature::Vaes));
    assert_eq!(
        cpu.fingerprint(),
        "vendor=AuthenticAMD family=25 model=33 stepping=0 microcode=unknown hypervisor=no features=mmx,sse,sse2,ssse3,\
         sse4.1,aes,pclmulqdq,avx,avx2,bmi1,bmi2,adx,fma,sha,vaes,vpclmulqdq"
    );
}

#[test]
fn westmere_has_aes_and_nothing_newer() {
    let features = with_base(&[Feature::Aes, Feature::Pclmulqdq]);
    let cpu = Cpu::from_source(&model(INTEL, 11, 0x206c2, &features, None));
    assert_eq!((cpu.family, cpu.model, cpu.stepping), (6, 44, 2));
    assert_eq!(cpu.features, features.into_iter().collect());
}

#[test]
fn an_override_only_removes() {
    let features = with_base(&[Feature::Avx, Feature::Avx2, Feature::Bmi2]);
    let cpu = Cpu::from_source(&model(AMD, 7, 0x800f11, &features, Some(7)));
    let less = cpu.clone().without(FeatureSet::of(&[Feature::Avx, Feature::Adx]));
    assert!(cpu.features.contains_all(less.features));
    assert_eq!(hidden(&less, Feature::Avx), Some(&Hidden::Overridden));
    assert_eq!(hidden(&less, Feature::Avx2), Some(&Hidden::Requires(Feature::Avx)));
    assert!(less.features.contains(Feature::Bmi2) && !less.features.contains(Feature::Adx));
}

#[test]
fn hostile_strings_are_made_printable() {
    let cpu = Cpu::from_source(&model([0x1b5b_0a41, 0xffff_ffff, 0x0042_4344], 1, 0, &[], None));
    assert!(cpu.vendor.chars().all(|c| c.is_ascii_graphic()), "{:?}", cpu.vendor);
}

#[test]
fn microcode_lines() {
    assert_eq!(microcode_in("processor\t: 0\nmicrocode\t: 0xa0011d1\nmicrocode\t: 0x1\n"), Some(0xa00_11d1));
    assert_eq!(microcode_in("microcode : new"), None);
    assert_eq!(microcode_in(""), None);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn this_machine_agrees_with_the_standard_library() {
    let cpu = native();
    assert!(cpu.features.contains(Feature::Sse2));
    assert_eq!(cpu.features.contains(Feature::Avx2), std::is_x86_feature_detected!("avx2"));
    assert_eq!(cpu.features.contains(Feature::Bmi2), std::is_x86_feature_detected!("bmi2"));
    assert_eq!(cpu.features.contains(Feature::Adx), std::is_x86_feature_detected!("adx"));
    assert_eq!(cpu.features.contains(Feature::Vaes), std::is_x86_feature_detected!("vaes"));
    assert_eq!(cpu.features.contains(Feature::Avx512f), std::is_x86_feature_detected!("avx512f"));
}
