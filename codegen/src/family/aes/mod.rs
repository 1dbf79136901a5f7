//! AES, FIPS 197: whole buffers in the modes that specs describe, and the keys. Knows the rounds and where a mode's XOR can
//! go; knows no TOML.
//!
//! There are two contracts of every mode. `aes128.*` reads round keys as FIPS 197 has them, 16 bytes for each round (for a mode
//! that deciphers, those of the equivalent inverse cipher in the order of their use); `aes128_sliced.*` reads them in
//! bitsliced form.

mod counter;
mod ends;
mod engine;
mod keys;
mod modes;
mod sliced;

use super::{Bytes, Contract, Knob, Lower, Role, Shape, Strategy, count};
use crate::spec::Access::{self, In, InOut, Out};
use crate::spec::Cipher;

/// How the names of this family's kernels begin, in files and, with the size of the key, elsewhere.
pub const STEMS: &[&str] =
    &["aes.", "aes_sliced.", "aes128.", "aes192.", "aes256.", "aes128_sliced.", "aes192_sliced.", "aes256_sliced."];

/// Whether a file's kernel is of this family.
pub fn is_keyed(kernel: &str) -> bool {
    kernel.starts_with("aes.") || kernel.starts_with("aes_sliced.")
}

const fn bytes(name: &'static str, access: Access, length: Bytes, align: u32) -> Role {
    Role { name, shape: Shape::Bytes { access, length, align, domain: "any" } }
}

const OUTPUT: Role = bytes("output", Out, Bytes::Blocks, 1);
const INPUT: Role = bytes("input", In, Bytes::Blocks, 1);
const IV: Role = bytes("iv", InOut, Bytes::Ivs, 1);
const KEYS: Role = bytes("keys", In, Bytes::RoundKeys, 16);
const SLICED: Role = Role {
    name: "keys",
    shape: Shape::Bytes { access: In, length: Bytes::SlicedRoundKeys, align: 8, domain: "sliced round keys" },
};

const PLAIN: &[Role] = &[OUTPUT, INPUT, count("n"), KEYS];
const CHAINED: &[Role] = &[OUTPUT, INPUT, count("n"), KEYS, IV];
const PLAIN_SLICED: &[Role] = &[OUTPUT, INPUT, count("n"), SLICED];
const CHAINED_SLICED: &[Role] = &[OUTPUT, INPUT, count("n"), SLICED, IV];
const EXPAND: &[Role] = &[bytes("keys", Out, Bytes::RoundKeys, 16), bytes("key", In, Bytes::Key, 1)];
const INVERT: &[Role] = &[bytes("inverse", Out, Bytes::RoundKeys, 16), KEYS];
const SLICE: &[Role] = &[bytes("sliced", Out, Bytes::SlicedRoundKeys, 8), KEYS];

const IN_FLIGHT: &[Knob] = &[Knob::Blocks, Knob::Exact, Knob::Rounds, Knob::RoundKeys, Knob::Xor];

const FOUR_BLOCKS: &[Knob] = &[Knob::Blocks, Knob::Exact, Knob::Rounds];

const fn in_flight(word: &'static str, lower: Lower) -> Strategy {
    Strategy { word, knobs: IN_FLIGHT, in_flight: None, lower }
}

/// Bitsliced, in a state of four blocks.
const fn four_blocks(lower: Lower) -> Strategy {
    Strategy { word: "portable", knobs: FOUR_BLOCKS, in_flight: Some(sliced::LANES), lower }
}

/// One without parameters.
const fn plain(word: &'static str, lower: Lower) -> Strategy {
    Strategy { word, knobs: &[], in_flight: None, lower }
}

const MODES: &[Strategy] = &[
    four_blocks(sliced::canonical),
    in_flight("aesni", modes::lower::<engine::Sse>),
    in_flight("vaes256", modes::lower::<engine::Vaes256>),
];
const SLICED_MODES: &[Strategy] = &[four_blocks(sliced::sliced)];
const EXPANDS: &[Strategy] = &[plain("portable", sliced::expand), plain("aesni", keys::expand)];
const INVERTS: &[Strategy] = &[plain("portable", sliced::invert), plain("aesni", keys::invert)];
const SLICES: &[Strategy] = &[plain("portable", sliced::slice)];

/// A contract without a result, on words of 64 bits.
const fn contract_of(kernel: &'static str, roles: &'static [Role], strategies: &'static [Strategy]) -> Contract {
    Contract { kernel, limb_bits: 64, roles, returns: false, strategies }
}

static ON_BLOCKS: Contract = contract_of("a mode of aes", PLAIN, MODES);
static ON_CHAINS: Contract = contract_of("a mode of aes with an iv", CHAINED, MODES);
static ON_SLICED_BLOCKS: Contract = contract_of("a mode of bitsliced aes", PLAIN_SLICED, SLICED_MODES);
static ON_SLICED_CHAINS: Contract = contract_of("a mode of bitsliced aes with an iv", CHAINED_SLICED, SLICED_MODES);
static EXPAND_KEY: Contract = contract_of("aes.expand_key", EXPAND, EXPANDS);
static INVERT_KEYS: Contract = contract_of("aes.invert_keys", INVERT, INVERTS);
static SLICE_KEYS: Contract = contract_of("aes_sliced.slice_keys", SLICE, SLICES);

/// The contract of a kernel, whose name has the size of its key in it.
pub fn contract(kernel: &str, cipher: &Cipher) -> Option<&'static Contract> {
    let (own, operation) = kernel.split_once('.')?;
    let sliced = own.ends_with("_sliced");
    match (&cipher.mode, sliced, operation) {
        (Some(mode), false, _) => Some(if mode.chained() { &ON_CHAINS } else { &ON_BLOCKS }),
        (Some(mode), true, _) => Some(if mode.chained() { &ON_SLICED_CHAINS } else { &ON_SLICED_BLOCKS }),
        (None, false, "expand_key") => Some(&EXPAND_KEY),
        (None, false, "invert_keys") => Some(&INVERT_KEYS),
        (None, true, "slice_keys") => Some(&SLICE_KEYS),
        (None, ..) => None,
    }
}

/// The ways to compute the kernel of this name, with or without the size of its key: those that any mode has, unless it is one
/// that works on keys.
pub fn strategies(kernel: &str) -> &'static [Strategy] {
    let sizes = ["128", "192", "256"];
    let size = sizes.iter().find(|size| kernel.strip_prefix("aes").is_some_and(|rest| rest.starts_with(*size)));
    let file = size.map_or(kernel.to_owned(), |size| kernel.replacen(size, "", 1));
    match file.as_str() {
        "aes.expand_key" => EXPAND_KEY.strategies,
        "aes.invert_keys" => INVERT_KEYS.strategies,
        "aes_sliced.slice_keys" => SLICE_KEYS.strategies,
        file if file.starts_with("aes.") => MODES,
        file if file.starts_with("aes_sliced.") => SLICED_MODES,
        _ => &[],
    }
}
