//! The one table of CPU features: a name comes in, a CPUID bit, the state that the operating system must keep, and the
//! assembler's name come out. Knows no CPU: whether a bit is set is asked by `runtime::detect`.

use std::fmt;

/// A register that CPUID answers in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuidRegister {
    /// `eax`.
    Eax,
    /// `ebx`.
    Ebx,
    /// `ecx`.
    Ecx,
    /// `edx`.
    Edx,
}

impl CpuidRegister {
    /// Position in an answer in the order eax, ebx, ecx, edx.
    pub const fn index(self) -> usize {
        match self {
            CpuidRegister::Eax => 0,
            CpuidRegister::Ebx => 1,
            CpuidRegister::Ecx => 2,
            CpuidRegister::Edx => 3,
        }
    }
}

/// Where CPUID reports a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuidBit {
    /// Leaf, the input in eax.
    pub leaf: u32,
    /// Sub-leaf, the input in ecx.
    pub subleaf: u32,
    /// Register of the answer.
    pub register: CpuidRegister,
    /// Bit of that register, 0 to 31.
    pub bit: u32,
}

/// Register state that the operating system must save and restore before a feature may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OsState {
    /// General registers (and x87/MMX) only.
    None,
    /// The xmm registers.
    Sse,
    /// The ymm registers.
    Ymm,
    /// The zmm and mask registers.
    Zmm,
}

impl OsState {
    /// The bits of XCR0 that must all be set.
    pub const fn xcr0_mask(self) -> u64 {
        match self {
            OsState::None => 0,
            OsState::Sse => 0x02,
            OsState::Ymm => 0x06,
            OsState::Zmm => 0xe6,
        }
    }

    /// The word used in explanations.
    pub const fn word(self) -> &'static str {
        match self {
            OsState::None => "general",
            OsState::Sse => "xmm",
            OsState::Ymm => "ymm",
            OsState::Zmm => "zmm",
        }
    }
}

/// Builds `Feature` and its rows from one table, so that there is no second list to forget.
macro_rules! features {
    ($($variant:ident $name:literal $leaf:literal:$subleaf:literal $register:ident $bit:literal $os:ident $asm:literal [$($requires:ident)*];)*) => {
        /// A CPU feature that an instruction can need. The order is the table's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
        }

        impl Feature {
            /// Every feature, in table order.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant),*];

            /// The word used in specs, manifests, overrides and profiles.
            pub const fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }

            /// Where CPUID reports it.
            pub const fn cpuid(self) -> CpuidBit {
                match self {
                    $(Feature::$variant => CpuidBit {
                        leaf: $leaf, subleaf: $subleaf, register: CpuidRegister::$register, bit: $bit,
                    },)*
                }
            }

            /// What the operating system must keep.
            pub const fn os_state(self) -> OsState {
                match self { $(Feature::$variant => OsState::$os,)* }
            }

            /// The name that GNU `as` knows it by (`.arch .NAME`).
            pub const fn assembler_name(self) -> &'static str {
                match self { $(Feature::$variant => $asm,)* }
            }

            /// The features that must be there too before this one may be used (one step; see
            /// [`FeatureSet::with_required`]).
            pub const fn requires(self) -> &'static [Feature] {
                match self { $(Feature::$variant => &[$(Feature::$requires),*],)* }
            }
        }
    };
}

// Bits: Intel SDM volume 2, CPUID, and AMD APM volume 3, appendix E. BMI and ADX are VEX- or plain-encoded on general
// registers and need no vector state; a CPU that reports BMI without AVX is a matter for the errata table.
#[rustfmt::skip]
features! {
//  variant     word         CPUID leaf:sub, register, bit   OS state  assembler     requires
    Mmx         "mmx"        1:0 Edx 23  None "mmx"        [];
    Sse         "sse"        1:0 Edx 25  Sse  "sse"        [];
    Sse2        "sse2"       1:0 Edx 26  Sse  "sse2"       [Sse];
    Ssse3       "ssse3"      1:0 Ecx 9   Sse  "ssse3"      [Sse2];
    Sse41       "sse4.1"     1:0 Ecx 19  Sse  "sse4.1"     [Ssse3];
    Aes         "aes"        1:0 Ecx 25  Sse  "aes"        [Sse2];
    Pclmulqdq   "pclmulqdq"  1:0 Ecx 1   Sse  "pclmul"     [Sse2];
    Avx         "avx"        1:0 Ecx 28  Ymm  "avx"        [Sse41];
    Avx2        "avx2"       7:0 Ebx 5   Ymm  "avx2"       [Avx];
    Bmi1        "bmi1"       7:0 Ebx 3   None "bmi"        [];
    Bmi2        "bmi2"       7:0 Ebx 8   None "bmi2"       [];
    Adx         "adx"        7:0 Ebx 19  None "adx"        [];
    Fma         "fma"        1:0 Ecx 12  Ymm  "fma"        [Avx];
    Sha         "sha"        7:0 Ebx 29  Sse  "sha"        [Ssse3];
    Vaes        "vaes"       7:0 Ecx 9   Ymm  "vaes"       [Avx Aes];
    Vpclmulqdq  "vpclmulqdq" 7:0 Ecx 10  Ymm  "vpclmulqdq" [Avx Pclmulqdq];
    Avx512f     "avx512f"    7:0 Ebx 16  Zmm  "avx512f"    [Avx2 Fma];
    Avx512ifma  "avx512ifma" 7:0 Ebx 21  Zmm  "avx512ifma" [Avx512f];
}

impl Feature {
    /// The feature with this word, if there is one.
    pub fn from_name(name: &str) -> Option<Feature> {
        Feature::ALL.iter().copied().find(|feature| feature.name() == name)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFeature {
    /// The word.
    pub word: String,
    /// The most similar valid word, if any is similar.
    pub nearest: Option<&'static str>,
}

impl UnknownFeature {
    fn new(word: &str) -> UnknownFeature {
        let nearest = Feature::ALL
            .iter()
            .map(|feature| (strsim::damerau_levenshtein(word, feature.name()), feature.name()))
            .min()
            .and_then(|(distance, name)| (distance <= 2.max(name.len() / 3)).then_some(name));
        UnknownFeature { word: word.to_owned(), nearest }
    }
}

impl fmt::Display for UnknownFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown CPU feature {:?}", self.word)?;
        match self.nearest {
            Some(nearest) => write!(f, ", did you mean {nearest:?}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownFeature {}

/// A set of features.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FeatureSet(u64);

impl FeatureSet {
    /// No feature.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    const fn bit(feature: Feature) -> u64 {
        1 << feature as u8
    }

    /// The set with these features.
    pub const fn of(features: &[Feature]) -> FeatureSet {
        let mut bits = 0;
        let mut i = 0;
        while i < features.len() {
            bits |= Self::bit(features[i]);
            i += 1;
        }
        FeatureSet(bits)
    }

    /// The set with these words.
    ///
    /// # Errors
    /// The first word that names no feature.
    pub fn from_names<I>(names: I) -> Result<FeatureSet, UnknownFeature>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut set = FeatureSet::EMPTY;
        for name in names {
            let name = name.as_ref();
            set.insert(Feature::from_name(name).ok_or_else(|| UnknownFeature::new(name))?);
        }
        Ok(set)
    }

    /// Adds one feature.
    pub fn insert(&mut self, feature: Feature) {
        self.0 |= Self::bit(feature);
    }

    /// Takes one feature away.
    pub fn remove(&mut self, feature: Feature) {
        self.0 &= !Self::bit(feature);
    }

    /// Whether the feature is in the set.
    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & Self::bit(feature) != 0
    }

    /// Whether every feature of `other` is in the set.
    pub const fn contains_all(self, other: FeatureSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Features of either set.
    #[must_use]
    pub const fn union(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 | other.0)
    }

    /// Features of this set that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 & !other.0)
    }

    /// Whether there is no feature.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of features.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The features in table order.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&feature| self.contains(feature))
    }

    /// The words in table order.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Feature::name).collect()
    }

    /// The set and everything that its members require, transitively.
    #[must_use]
    pub fn with_required(self) -> FeatureSet {
        let mut set = self;
        loop {
            let next = set.iter().fold(set, |all, feature| all.union(FeatureSet::of(feature.requires())));
            if next == set {
                return set;
            }
            set = next;
        }
    }
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> FeatureSet {
        let mut set = FeatureSet::EMPTY;
        for feature in features {
            set.insert(feature);
        }
        set
    }
}

/// The words in table order, separated by commas.
impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.names().join(","))
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bits_are_unique_and_every_row_fits_the_set() {
        assert!(Feature::ALL.len() <= 64);
        for (i, a) in Feature::ALL.iter().enumerate() {
            assert_eq!(*a as usize, i);
            assert_eq!(Feature::from_name(a.name()), Some(*a));
            assert!(a.cpuid().bit < 32);
            for b in &Feature::ALL[i + 1..] {
                assert_ne!(a.name(), b.name());
                assert_ne!(a.cpuid(), b.cpuid());
            }
        }
    }

    #[test]
    fn what_a_feature_requires_needs_no_more_os_state() {
        for feature in Feature::ALL {
            for required in feature.requires() {
                assert!(required.os_state() <= feature.os_state(), "{feature} requires {required}");
                assert!(!FeatureSet::of(required.requires()).with_required().contains(*feature), "{feature} in a ring");
            }
        }
    }

    #[test]
    fn sets() {
        let adx = FeatureSet::from_names(["adx", "bmi2"]).unwrap();
        assert_eq!(adx.to_string(), "bmi2,adx");
        assert!(adx.contains_all(FeatureSet::of(&[Feature::Bmi2])));
        assert!(!FeatureSet::of(&[Feature::Bmi1]).contains_all(FeatureSet::of(&[Feature::Bmi1, Feature::Bmi2])));
        assert_eq!(adx.difference(FeatureSet::of(&[Feature::Adx])).names(), ["bmi2"]);
        assert_eq!(adx.union(FeatureSet::of(&[Feature::Mmx])).len(), 3);
        assert_eq!(
            FeatureSet::of(&[Feature::Avx2]).with_required().names(),
            ["sse", "sse2", "ssse3", "sse4.1", "avx", "avx2"]
        );
        assert_eq!(FeatureSet::EMPTY.to_string(), "");
        assert_eq!(adx.iter().collect::<FeatureSet>(), adx);
    }

    #[test]
    fn an_unknown_word_is_named_with_its_neighbour() {
        let error = FeatureSet::from_names(["avx2", "bmi3"]).unwrap_err();
        assert_eq!(error.word, "bmi3");
        assert_eq!(error.to_string(), "unknown CPU feature \"bmi3\", did you mean \"bmi1\"?");
        assert_eq!(FeatureSet::from_names(["warp-drive"]).unwrap_err().nearest, None);
    }
}
