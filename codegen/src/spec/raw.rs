//! The shape of a spec file, as serde reads it and as the JSON Schema describes it: the one place where a key, its type
//! and its range are written. Knows nothing about what the words mean; every field may be absent, because a record is
//! read even when a part of it was refused (`schemars(required)` is what makes a key compulsory).

use crate::spec::place::At;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A list with its place, of items with theirs.
pub(crate) type List<T> = Option<At<Vec<At<T>>>>;

/// A kernel spec: one data contract and the ways to build it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KernelFile {
    /// The kernel's name: FAMILY.OPERATION.
    #[schemars(required, extend("x-words" = "kernels"))]
    pub kernel: Option<At<String>>,
    /// What the kernel computes, for people: one line without control characters; printed above every variant.
    #[schemars(required, length(min = 1))]
    pub math: Option<At<String>>,
    /// What the function returns; nothing when absent.
    pub returns: Option<At<Returns>>,
    /// Size classes, ascending: values of the first count; each has its own winner. Needed when there is a count.
    #[schemars(length(min = 1), inner(range(min = 1, max = 4294967296_u64)), extend("uniqueItems" = true))]
    pub sizes: List<u64>,
    /// What times are given for: `limb` (when absent), `block`, or `call` for a kernel whose work does not grow with n alone.
    pub unit: Option<At<Unit>>,
    /// Bits of a cipher's key, ascending: one kernel each, named after them. `key_bytes` is then a constant of lengths.
    #[schemars(length(min = 1), inner(range(min = 128, max = 256)), extend("uniqueItems" = true))]
    pub key_bits: List<u32>,
    /// Rounds of a block cipher, one number for each of `key_bits`. `rounds` is then a constant of lengths.
    #[schemars(length(min = 1), inner(range(min = 2, max = 32)))]
    pub rounds: List<u32>,
    /// A block cipher's mode: what happens to each block.
    pub mode: Option<At<ModeTable>>,
    /// The arguments in call order.
    #[schemars(required, length(min = 1))]
    pub argument: Option<Vec<At<ArgumentTable>>>,
    /// The ways to build the kernel.
    #[schemars(required, length(min = 1))]
    pub strategy: Option<Vec<At<StrategyTable>>>,
}

/// A unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// One limb of the first count.
    Limb,
    /// One block of the first count.
    Block,
    /// One call.
    Call,
}

/// A mode of a block cipher: what enters the cipher, which way it runs, and what is XORed to what comes out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModeTable {
    /// What is enciphered or deciphered: the XOR of these.
    #[schemars(required, length(min = 1), extend("uniqueItems" = true))]
    pub input: List<Term>,
    /// Which way the rounds run.
    #[schemars(required)]
    pub cipher: Option<At<Direction>>,
    /// What the cipher's output is XORed with; nothing when absent.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub output: List<Term>,
    /// How many low bits of a big-endian counter count; those above stand still.
    #[schemars(extend("enum" = [32, 64, 128]))]
    pub counter_bits: Option<At<u32>>,
    /// Messages that are worked on at once, each with an `iv` of its own; 1 when absent.
    #[schemars(range(min = 2, max = 8))]
    pub streams: Option<At<u32>>,
}

/// What a mode XORs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
pub enum Term {
    /// The block of the input.
    #[serde(rename = "in")]
    In,
    /// The input block before it; for the first, the `iv`.
    #[serde(rename = "previous in")]
    PreviousIn,
    /// The output block before it; for the first, the `iv`.
    #[serde(rename = "previous out")]
    PreviousOut,
    /// The counter, which is the `iv` at the first block and counts blocks.
    #[serde(rename = "counter")]
    Counter,
}

/// Which way a block cipher runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The cipher, with its round keys in the order of their use.
    Encrypt,
    /// The equivalent inverse cipher (FIPS 197, section 5.3.5), with its own round keys in the order of their use.
    Decrypt,
}

/// What a kernel returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Returns {
    /// One limb of the kernel's word size: the carry, as a rule.
    Limb,
}

/// One argument: exactly one of `limbs`, `bytes`, `count` and `limb` says what it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["limbs"]}, {"required": ["bytes"]}, {"required": ["count"]}, {"required": ["limb"]},
]))]
pub(crate) struct ArgumentTable {
    /// The argument's name, in the Rust and C prototypes too: lower case letters, digits and `_`.
    #[schemars(required, extend("pattern" = "^[a-z][a-z0-9_]*$"))]
    pub name: Option<At<String>>,
    /// A pointer to limbs; how many: a count argument's name, or a sum such as `2n`, `n + more` or `8`.
    pub limbs: Option<At<String>>,
    /// A pointer to bytes; how many, as for `limbs`: `16n`.
    pub bytes: Option<At<String>>,
    /// The alignment of the bytes that the caller promises: 1, 2, 4, 8, 16, 32 or 64; 1 when absent.
    #[schemars(range(min = 1, max = 64))]
    pub align: Option<At<u32>>,
    /// A number of limbs or blocks between these bounds; always public.
    pub count: Option<At<CountTable>>,
    /// One limb by value.
    #[schemars(extend("const" = true))]
    pub limb: Option<At<bool>>,
    /// How the memory behind `limbs` or `bytes` is used.
    pub access: Option<At<Access>>,
    /// Arguments whose pointer may be equal to this one's; any other overlap is forbidden.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub may_equal: List<String>,
    /// Which values the limb may have: `normalised` (its top bit is set), `below d` or `reciprocal of d`, where `d` is another
    /// limb, or `entry of 32` (one of the numbers from 0 to 31; any other is allowed, and is the number of none); limbs:
    /// `montgomery modulus` (-m^-1 mod B, and behind it an odd m) or `below m`; bytes: `sliced round keys`; any when absent. The
    /// caller sees to it, and checks draw their values from there.
    pub domain: Option<At<String>>,
    /// Whether the contents are secret: they then reach no branch, no address and no instruction of variable latency.
    pub secret: Option<At<bool>>,
}

/// The bounds of a count. They end at 2^26 - 1, which is 67108863: below 2^26 a division by any unroll is one exact
/// multiplication with its reciprocal of 32 bits.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CountTable {
    /// The smallest allowed.
    #[schemars(required, range(max = 67108863_u64))]
    pub min: Option<At<u64>>,
    /// The largest allowed.
    #[schemars(required, range(max = 67108863_u64))]
    pub max: Option<At<u64>>,
}

/// How a kernel uses the memory behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Read only.
    In,
    /// Written only, every element.
    Out,
    /// Read, then written.
    InOut,
    /// Room for intermediate values: whatever it holds before is not read, and what it holds afterwards means nothing.
    Scratch,
}

/// One way to build a kernel, and the points of its space.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StrategyTable {
    /// The strategy's word.
    #[schemars(required, extend("x-words" = "strategies"))]
    pub name: Option<At<String>>,
    /// Limbs for each turn of the loop; one variant each.
    #[schemars(length(min = 1), inner(range(min = 1, max = 64)), extend("uniqueItems" = true))]
    pub unroll: List<u32>,
    /// Blocks for each turn of the loop, in flight together where the mode lets them be; one variant each.
    #[schemars(length(min = 1), inner(range(min = 1, max = 64)), extend("uniqueItems" = true))]
    pub blocks: List<u32>,
    /// Fully unrolled for one number of limbs or blocks: no loop, no tail.
    #[schemars(length(min = 1), inner(range(min = 1, max = 64)), extend("uniqueItems" = true))]
    pub exact: List<u32>,
    /// Which of `unroll` (or `blocks`) race at start-up, and all of `exact` then; without them, which of `exact`. The others
    /// race when tuning.
    #[schemars(length(min = 1), inner(range(min = 1, max = 64)), extend("uniqueItems" = true))]
    pub startup: List<u32>,
    /// Whether the carry flags stay live from one turn of the loop to the next; `folded` when absent.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub back_edge: List<BackEdge>,
    /// Rows of a product in one pass, with a carry chain each; 1 when absent.
    #[schemars(length(min = 1), inner(range(min = 1, max = 2)), extend("uniqueItems" = true))]
    pub rows: List<u32>,
    /// Products that are started before the chain of those before them has drained; 0 when absent.
    #[schemars(length(min = 1), inner(range(max = 16)), extend("uniqueItems" = true))]
    pub overlap: List<u32>,
    /// Limbs of the blocks in registers of which a whole product is made.
    #[schemars(length(min = 1), inner(range(min = 1, max = 16)), extend("uniqueItems" = true))]
    pub block: List<u32>,
    /// How often an exact product is split in halves by Karatsuba's rule; 0 when absent.
    #[schemars(length(min = 1), inner(range(max = 3)), extend("uniqueItems" = true))]
    pub split: List<u32>,
    /// Whether a cipher's rounds are a loop or stand one after the other, as they always do in an exact variant; `unrolled`
    /// when absent.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub rounds: List<Rounds>,
    /// Where the round keys are; `memory` when absent. A loop of rounds has them in memory.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub round_keys: List<RoundKeys>,
    /// Where a mode's XOR with the cipher's output goes; `apart` when absent.
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub xor: List<XorAt>,
    /// Whose costs order the instructions: `generic` (when absent), `source` (as the algorithm wrote them), a CPU, or
    /// `seed1`, `seed2`, ... (as written, shaken a little).
    #[schemars(length(min = 1), extend("uniqueItems" = true, "x-words" = "schedules"))]
    pub schedule: List<String>,
    /// The features that the strategy is meant to need; a difference from what it does need is an error.
    #[schemars(extend("uniqueItems" = true, "x-words" = "features"))]
    pub requires: List<String>,
}

/// What happens to the carry flags at the end of a turn of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackEdge {
    /// Carries are folded into a register before the loop's branch.
    Folded,
    /// Carries stay in the flags across the loop's branch.
    Live,
}

/// How the rounds of a cipher are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rounds {
    /// A loop over the rounds.
    Looped,
    /// One after the other.
    Unrolled,
}

/// Where the round keys of a cipher are while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoundKeys {
    /// In memory: read anew in every turn.
    Memory,
    /// In registers, the first ones, as many as there are registers for.
    Registers,
}

/// Where a mode's XOR with the cipher's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum XorAt {
    /// An instruction of its own behind the last round.
    Apart,
    /// Into the last round key, before the last round: it is then no part of the chain of rounds.
    Folded,
}

/// A CPU file: how to recognise a CPU, what its instructions cost and what to prefer on it when nothing can be measured.
/// The file's stem is the CPU's name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CpuFile {
    /// The features that the CPU has.
    #[schemars(extend("uniqueItems" = true, "x-words" = "features"))]
    pub features: List<String>,
    /// Which CPUs this file describes; absent for one that describes none in particular.
    pub identify: Option<At<IdentifyTable>>,
    /// The size of the machine.
    pub machine: Option<At<MachineTable>>,
    /// The cost of an instruction, by mnemonic or by class: `[latency, instructions a cycle]`.
    #[schemars(extend("propertyNames" = {"x-words": "cost_keys"}))]
    pub cost: Option<At<BTreeMap<At<String>, CostPair>>>,
    /// By kernel, the variant (without the kernel's name) to use when nothing can be measured. Of several, with `|` between them, the
    /// first that serves a length; `exact*` is the variant for that length alone.
    #[schemars(extend("propertyNames" = {"x-words": "kernels"}))]
    pub prefer: Option<At<BTreeMap<At<String>, At<String>>>>,
}

/// Vendor, family and models as CPUID tells them (family and model with their extended parts added).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdentifyTable {
    /// The vendor's twelve letters.
    #[schemars(
        required,
        extend("enum" = ["GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "  Shanghai  "])
    )]
    pub vendor: Option<At<String>>,
    /// The family.
    #[schemars(required, range(max = 270))]
    pub family: Option<At<u32>>,
    /// The models.
    #[schemars(required, length(min = 1), inner(range(max = 255)), extend("uniqueItems" = true))]
    pub models: List<u32>,
}

/// What the scheduler knows about the pipeline.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineTable {
    /// Instructions that can start in one cycle.
    #[schemars(required, range(min = 1, max = 32))]
    pub issue_width: Option<At<u32>>,
    /// How many instructions past the oldest waiting one may be taken first. Small windows keep register pressure down.
    #[schemars(required, range(min = 1, max = 4096))]
    pub window: Option<At<u32>>,
}

/// Latency and throughput.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CostPair(pub Latency, pub PerCycle);

/// Cycles from the start of the instruction to its result.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(title = "latency")]
pub(crate) struct Latency(#[schemars(range(max = 1000))] pub u32);

/// Independent instructions of the kind that can start in one cycle, on average.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(title = "instructions a cycle", extend("exclusiveMinimum" = 0, "maximum" = 32))]
pub(crate) struct PerCycle(pub f64);
