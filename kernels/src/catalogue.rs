//! The types of the catalogue: what `kernels!` fills in and what the runtime reads. Knows no kernel.
//!
//! A [`Kernel`] is one data contract with its variants. Entries are type-erased; [`Kernel::call`] is generated from the
//! contract and is the one place where an entry gets its type back.

use core::ffi::c_void;

/// The address of a function that keeps a kernel's contract: `extern "sysv64"` on x86-64, `extern "C"` elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(*const c_void);

// SAFETY: an entry is the address of immutable code (compiled, or mapped read+execute and never unmapped); sharing the
// address between threads gives no access to anything mutable.
unsafe impl Send for Entry {}
// SAFETY: as for `Send`.
unsafe impl Sync for Entry {}

impl Entry {
    /// Wraps the address of a kernel function. Nothing is called through it but by [`Kernel::call`], which is unsafe.
    pub const fn new(address: *const c_void) -> Entry {
        Entry(address)
    }

    /// The address.
    pub const fn address(self) -> *const c_void {
        self.0
    }
}

/// One argument in a call through [`Kernel::call`]: a pointer or an integer, as the contract's argument says.
#[derive(Clone, Copy)]
pub union Word {
    /// A pointer argument. Input pointers are cast from `*const`; the kernel only reads through them.
    pub pointer: *mut u8,
    /// A count or a limb, zero-extended.
    pub integer: u64,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A pointer to limbs of `bits` bits, or to bytes.
    Limbs {
        /// Bits of a limb: 32 or 64, or 8 for bytes.
        bits: u32,
        /// How many.
        length: Length,
    },
    /// A number of limbs, `min..=max`, public.
    Count {
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// One limb of `bits` bits by value.
    Limb {
        /// Bits of the limb.
        bits: u32,
    },
}

/// A number of limbs: a sum of multiples of counts, and a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Indices, in the argument list, of counts, with how many times each is taken.
    pub terms: &'static [(usize, u64)],
    /// The constant.
    pub plus: u64,
}

impl Length {
    /// As many as the count at this index says.
    pub const fn of(term: &'static [(usize, u64); 1]) -> Length {
        Length { terms: term, plus: 0 }
    }

    /// The number when the arguments have these values; saturating, so that a nonsense count asks for too much.
    pub fn limbs(&self, value: impl Fn(usize) -> u64) -> u64 {
        self.terms.iter().fold(self.plus, |sum, &(index, times)| sum.saturating_add(value(index).saturating_mul(times)))
    }
}

/// How a kernel uses the memory behind a pointer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    In,
    /// Written only, every element.
    Out,
    /// Read, then written.
    InOut,
    /// Room for intermediate values: not read before it is written; what it holds afterwards means nothing.
    Scratch,
}

/// The values that an argument may have; the caller sees to it. Indices are those of other arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Any.
    Any,
    /// The top bit is set.
    Normalised,
    /// Less than the other: a limb than a limb, and limbs than a modulus of n limbs. If there are more than n, the highest n of them
    /// are less.
    Below(usize),
    /// `floor((B^2 - 1) / d) - B`, where B = 2^bits and d is the other, which is normalised.
    ReciprocalOf(usize),
    /// Limbs: -m^-1 mod B, and behind it the limbs of an odd m.
    MontgomeryModulus,
    /// The number of one of so many entries, as a rule; any other is allowed, and is the number of none.
    EntryOf(u64),
    /// Bytes: round keys as `slice_keys` makes them.
    SlicedRoundKeys,
}

/// One argument of a contract, in call order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name as in the spec.
    pub name: &'static str,
    /// Type and shape.
    pub kind: ArgumentKind,
    /// Use of the memory behind it; `In` for values.
    pub access: Access,
    /// Alignment of the memory behind it, in bytes; 1 for values.
    pub align: usize,
    /// Indices of the arguments whose pointer may be equal to this one's (fully equal; no other overlap).
    pub may_equal: &'static [usize],
    /// Which values it may have.
    pub domain: Domain,
    /// Whether the contents are secret.
    pub secret: bool,
}

/// Where a variant's code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Safe Rust compiled for the baseline of the target.
    Portable,
    /// A naked function compiled into the program.
    Compiled,
    /// Generated into executable memory at run time.
    Machine,
}

impl Origin {
    /// The word used in JSON and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Origin::Portable => "portable",
            Origin::Compiled => "compiled",
            Origin::Machine => "machine",
        }
    }
}

/// One way to compute a kernel. Its parts can be read and not changed: [`Variant::new`] is where somebody vouches for them.
#[derive(Clone, Copy, Debug)]
pub struct Variant(VariantParts);

impl Variant {
    /// A variant with these parts.
    ///
    /// # Safety
    /// `entry` must be a function that keeps the contract of the kernel whose name `name` begins with, that is never
    /// unmapped, that needs no CPU feature outside `features` and, if `exact` is given, that may be called with that `n`
    /// alone. It may be wrong in what it computes: that is what verification is for.
    pub const unsafe fn new(parts: VariantParts) -> Variant {
        Variant(parts)
    }
}

impl core::ops::Deref for Variant {
    type Target = VariantParts;

    fn deref(&self) -> &VariantParts {
        &self.0
    }
}

/// What a [`Variant`] is made of.
#[derive(Clone, Copy, Debug)]
pub struct VariantParts {
    /// `KERNEL/STRATEGY.PARAMETERS[.SCHEDULE]`.
    pub name: &'static str,
    /// The strategy's word in the spec.
    pub strategy: &'static str,
    /// Where the code comes from.
    pub origin: Origin,
    /// CPU features that the emitted instructions need (the computed manifest), by the names of the feature table.
    pub features: &'static [&'static str],
    /// For a variant without any loop: the only value of the first count it may be called with.
    pub exact: Option<u64>,
    /// Whether it takes part in the start-up race.
    pub startup: bool,
    /// The function.
    pub entry: Entry,
    /// Hash of the variant's instructions, equal for the compiled and the run-time form of one plan; 16 hex digits.
    pub code_hash: &'static str,
    /// Number of instructions, as a measure of code size that is the same in every backend.
    pub instructions: u32,
}

/// One data contract and all its shipped variants. Its parts can be read and not changed: [`Kernel::new`] is where somebody
/// vouches for them.
#[derive(Clone, Copy)]
pub struct Kernel(KernelParts);

impl Kernel {
    /// A kernel with these parts.
    ///
    /// # Safety
    /// `arguments` and `returns` must describe the contract that `reference` and every variant keep and that `call` calls;
    /// the reference must be right for every `n` that the count argument allows, and the sizes must be among those.
    pub const unsafe fn new(parts: KernelParts) -> Kernel {
        Kernel(parts)
    }
}

impl core::ops::Deref for Kernel {
    type Target = KernelParts;

    fn deref(&self) -> &KernelParts {
        &self.0
    }
}

/// What a [`Kernel`] is made of.
#[derive(Clone, Copy)]
pub struct KernelParts {
    /// `limb64.mul_add`.
    pub name: &'static str,
    /// What it computes, in one line.
    pub math: &'static str,
    /// Arguments in call order.
    pub arguments: &'static [Argument],
    /// Whether a limb is returned (zero-extended to 64 bits by [`Kernel::call`]).
    pub returns: bool,
    /// Size classes: values of the first count that have a winner of their own; empty for a contract without a count.
    pub sizes: &'static [u64],
    /// What times are given for.
    pub unit: Unit,
    /// For the kernels of a block cipher, its key, rounds and mode.
    pub cipher: Option<Cipher>,
    /// Path of the spec file as `kernels!` was given it.
    pub spec_file: &'static str,
    /// Text of the spec file.
    pub spec_text: &'static str,
    /// Hash of the spec file; 16 hex digits.
    pub spec_hash: &'static str,
    /// The reference: shortest obviously right code, same contract.
    pub reference: Entry,
    /// Every compiled variant that this target has, in the order of the plan. Never empty: portable is always there.
    pub variants: &'static [Variant],
    /// Calls an entry of this contract.
    ///
    /// # Safety
    /// `Entry` must keep this kernel's contract and the CPU must have the features it needs; the words must be one for
    /// each argument, with pointers that are valid for the count given, overlapping only as `may_equal` says.
    pub call: unsafe fn(Entry, &[Word]) -> u64,
    /// Calls an entry of this contract so many times with the same arguments, and nothing else between: for timing.
    ///
    /// # Safety
    /// As for `call`, each time.
    pub repeat: unsafe fn(Entry, &[Word], u32),
}

/// What a block cipher's kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cipher {
    /// Bits of the key.
    pub key_bits: u32,
    /// Rounds.
    pub rounds: u32,
    /// What happens to each block; `None` for a kernel that works on keys.
    pub mode: Option<Mode>,
}

/// A block cipher's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// What enters the cipher: the XOR of these.
    pub input: &'static [Term],
    /// Whether the cipher runs backwards.
    pub decrypts: bool,
    /// What the cipher's output is XORed with.
    pub output: &'static [Term],
    /// Low bits of the big-endian counter that count; 0 without one.
    pub counter_bits: u32,
    /// Messages that are worked on at once, one behind the other.
    pub streams: usize,
}

/// What a mode XORs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The block of the input.
    In,
    /// The input block before it; for the first, the `iv`.
    PreviousIn,
    /// The output block before it; for the first, the `iv`.
    PreviousOut,
    /// The counter, which is the `iv` at the first block and counts blocks.
    Counter,
}

/// A unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// One limb of the first count.
    Limb,
    /// One block of the first count.
    Block,
    /// One call.
    Call,
}

impl Unit {
    /// The word in specs, JSON and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::Limb => "limb",
            Unit::Block => "block",
            Unit::Call => "call",
        }
    }
}

impl core::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("variants", &self.variants.len())
            .finish_non_exhaustive()
    }
}

/// A spec text that was compiled in, so that a program can generate more of the same at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecText {
    /// Path as `kernels!` was given it.
    pub path: &'static str,
    /// The whole file.
    pub text: &'static str,
}

/// How a CPU file recognises its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuIdentity {
    /// CPUID's vendor string.
    pub vendor: &'static str,
    /// Family, extended family included.
    pub family: u32,
    /// Models, extended model included.
    pub models: &'static [u32],
}

/// What a CPU file prefers before anything is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPreference {
    /// The file's name.
    pub name: &'static str,
    /// Whose preference it is; `None` for the generic file, which is asked last.
    pub identity: Option<CpuIdentity>,
    /// Kernel and the full name of the preferred variant.
    pub prefer: &'static [(&'static str, &'static str)],
}
