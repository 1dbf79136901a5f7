//! Numbers at which carries, truncations and sign extensions go wrong.

use crate::operands::mask;
use kiln_runtime::random::Random;
use proptest::prelude::*;

/// Limbs at which something ends: both ends, both halves, and their neighbours.
pub const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0xffff_ffff_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX - 1,
    u64::MAX,
];

/// A limb of random bit density: edges, single bits and runs of ones among them.
pub fn limb(random: &mut Random, bits: u32) -> u64 {
    let raw = match random.below(6) {
        0 => EDGES[random.below(EDGES.len() as u64) as usize],
        1 => 1 << random.below(64),
        2 => u64::MAX << random.below(64),
        _ => {
            let density = random.below(64) as u32;
            random.word_of_density(density)
        }
    };
    raw & mask(bits)
}

/// A number of that many limbs, each of its own random density.
pub fn row(random: &mut Random, bits: u32, n: usize) -> Vec<u64> {
    (0..n).map(|_| limb(random, bits)).collect()
}

/// Numbers of `n` limbs, each with a word for it.
pub fn numbers(random: &mut Random, bits: u32, n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let ones = mask(bits);
    let by = |limb: &dyn Fn(usize) -> u64| (0..n).map(limb).collect::<Vec<u64>>();
    let bit = random.below((bits as usize * n).max(1) as u64) as usize;
    let density = random.below(64) as u32;
    vec![
        ("zero", by(&|_| 0)),
        ("ones", by(&|_| ones)),
        ("one", by(&|i| u64::from(i == 0))),
        ("the top bit", by(&|i| if i + 1 == n { 1 << (bits - 1) } else { 0 })),
        ("a single bit", by(&|i| if i == bit / bits as usize { 1 << (bit % bits as usize) } else { 0 })),
        (
            "all but a single bit",
            by(&|i| if i == bit / bits as usize { ones ^ 1 << (bit % bits as usize) } else { ones }),
        ),
        ("ones less one", by(&|i| if i == 0 { ones - 1 } else { ones })),
        ("a power less one", by(&|i| if i + 1 < n { ones } else { 0 })),
        ("alternating bits", by(&|_| 0xaaaa_aaaa_aaaa_aaaa & ones)),
        ("alternating limbs", by(&|i| if i % 2 == 0 { ones } else { 0 })),
        ("upper halves", by(&|_| ones << (bits / 2) & ones)),
        ("lower halves", by(&|_| ones >> (bits / 2))),
        ("half a limb and one more", by(&|_| 1 << (bits / 2) & ones)),
        ("edges", (0..n).map(|_| EDGES[random.below(EDGES.len() as u64) as usize] & ones).collect()),
        ("one density", (0..n).map(|_| random.word_of_density(density) & ones).collect()),
        ("many densities", row(random, bits, n)),
    ]
}

/// Words of 64 bits for proptest: any, edges, single bits, sparse and dense ones.
pub fn word() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, 1 << 31];
    prop_oneof![
        any::<u64>(),
        prop::sample::select(edges),
        (0..64u32).prop_map(|bit| 1 << bit),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a | b),
    ]
}
