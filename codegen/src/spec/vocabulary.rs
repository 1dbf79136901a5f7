//! The words that a spec may use: they come from the tables of `isa` and `family`, which this module must not know.

/// The words that are valid in specs. A word outside them is refused, with the nearest one as a hint.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary<'a> {
    /// CPU features.
    pub features: &'a [&'a str],
    /// Kernels that a family can lower.
    pub kernels: &'a [&'a str],
    /// The strategies of a kernel; none for a kernel that is not in `kernels`.
    pub strategies: fn(kernel: &str) -> &'static [&'static str],
    /// What may be a key of `[cost]`: classes of instructions, and mnemonics.
    pub cost_keys: &'a [&'a str],
    /// CPUs that `schedule` may name besides those whose files are read.
    pub cpus: &'a [&'a str],
}

impl Vocabulary<'static> {
    /// The words of this version of Kiln.
    pub const BUILT_IN: Vocabulary<'static> = Vocabulary {
        features: FEATURES,
        kernels: KERNELS,
        strategies: strategies_of,
        cost_keys: COST_KEYS,
        cpus: &["generic", "westmere", "sandybridge", "haswell", "zen3"],
    };
}

#[rustfmt::skip]
const FEATURES: &[&str] = &[
    "mmx", "sse", "sse2", "ssse3", "sse4.1", "aes", "pclmulqdq", "avx", "avx2", "bmi1", "bmi2", "adx", "fma", "sha",
    "vaes", "vpclmulqdq",
];

const KERNELS: &[&str] = &["limb64.mul_add", "limb32.mul_add"];

fn strategies_of(kernel: &str) -> &'static [&'static str] {
    match kernel {
        "limb64.mul_add" => &["portable", "mul", "mulx", "mulx_adx"],
        "limb32.mul_add" => &["portable", "sse2_mmx"],
        _ => &[],
    }
}

#[rustfmt::skip]
const COST_KEYS: &[&str] = &[
    // Classes of instructions.
    "move", "load", "store", "lea", "alu", "carry", "shift", "mul", "mulx", "div", "simd_move", "simd_mul", "simd_alu",
    // Mnemonics that are not the name of a class.
    "mov", "add", "adc", "sub", "sbb", "and", "or", "xor", "adcx", "adox", "shl", "shr", "movd", "movq", "pmuludq",
    "paddq", "psrlq", "emms", "test", "dec", "neg",
];
