//! The rows of `vectors/aes/*` as calls of Kiln's kernels. Knows the fields of the rows and the arguments of the contracts.

use crate::block_cipher::{Block, blocks, expand, invert, slice};
use crate::operands::Operands;
use crate::trial::Case;
use kiln_kernels::catalogue::{Kernel, Term};
use kiln_runtime::random::Random;
use serde_json::Value;
use std::collections::BTreeSet;

/// The files whose rows are messages.
pub const FILES: [&str; 4] = ["nist", "edge", "chunked", "published_cases"];

/// The rows of a file.
///
/// # Panics
/// When it is not part of the repository, or no JSON.
pub fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/vectors/aes/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the vectors are part of the repository");
    text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

/// A text of a row.
///
/// # Panics
/// When it has no such text.
pub fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("{field} of {row}"))
}

/// Bytes of a row.
///
/// # Panics
/// When it has no such hexadecimal text.
pub fn hex(row: &Value, field: &str) -> Vec<u8> {
    bytes(text(row, field))
}

fn bytes(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Rounds for a key of so many bytes.
pub fn rounds(key: &[u8]) -> usize {
    key.len() / 4 + 6
}

/// The round keys that a kernel with this mode wants of a key, as they lie in memory.
///
/// # Panics
/// When the kernel is not a mode's.
pub fn keys_for(kernel: &Kernel, key: &[u8]) -> Vec<u8> {
    let cipher = kernel.cipher.expect("a cipher's kernel");
    assert_eq!(cipher.key_bits as usize, 8 * key.len(), "{}", kernel.name);
    let keys = expand(key, rounds(key));
    if kernel.name.contains("_sliced.") {
        slice(&keys)
    } else if cipher.mode.expect("a mode").decrypts {
        invert(&keys).concat()
    } else {
        keys.concat()
    }
}

/// One message: what goes in, what must come out, and its `iv` before and after.
#[derive(Clone, Debug)]
pub struct Message {
    /// Which it is.
    pub label: String,
    /// Whether it is one of those that go through the interpreter.
    pub interpreted: bool,
    /// The cipher's key.
    pub key: Vec<u8>,
    /// The `iv`; none for a mode that has none.
    pub iv: Option<Block>,
    /// Whole blocks.
    pub input: Vec<u8>,
    /// The beginning of what must come out: all of it, but for what fills up the last block.
    pub output: Vec<u8>,
    /// The `iv` afterwards, where the row says so.
    pub iv_after: Option<Block>,
}

impl Message {
    /// The calls of a kernel: out of place and in place. With several streams it is one of them, and the others are noise.
    ///
    /// # Panics
    /// When the independent code makes something else of it than the row says.
    pub fn cases(&self, kernel: &'static Kernel, random: &mut Random) -> Vec<Case> {
        let streams = kernel.cipher.and_then(|cipher| cipher.mode).expect("a mode").streams;
        let n = self.input.len() / 16;
        let own = random.below(streams as u64) as usize;
        let mut noise = |length: usize| -> Vec<u8> { (0..length).map(|_| random.word() as u8).collect() };
        let (mut input, mut ivs) = (noise(self.input.len() * streams), noise(16 * streams));
        input[16 * n * own..16 * n * (own + 1)].copy_from_slice(&self.input);
        let mut operands = Operands::of(kernel).integer("n", n as u64).bytes("keys", &keys_for(kernel, &self.key));
        operands = operands.bytes("input", &input);
        if let Some(iv) = self.iv {
            ivs[16 * own..16 * (own + 1)].copy_from_slice(&iv);
            operands = operands.bytes("iv", &ivs);
        }
        let apart = operands.clone().noise(random);
        let cases = [("apart", apart), ("in place", operands.same("output", "input"))];
        cases.map(|(how, operands)| self.judged(how, operands, n, own)).into()
    }

    fn judged(&self, how: &str, operands: Operands, n: usize, own: usize) -> Case {
        let mut case = Case::new(format!("{}, {how}", self.label), operands);
        let written = |name: &str| -> Vec<u8> {
            let found = case.expected.written.iter().find(|(argument, _)| *argument == name);
            found.expect("written").1.iter().map(|byte| *byte as u8).collect()
        };
        let (output, at) = (written("output"), 16 * n * own);
        assert_eq!(output[at..at + self.output.len()], self.output, "{}: the row itself", case.label);
        if let Some(after) = self.iv_after {
            assert_eq!(written("iv")[16 * own..16 * (own + 1)], after, "{}: the iv of the row itself", case.label);
        }
        case.interpreted = self.interpreted;
        case
    }
}

/// Which way a row goes through a mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// `pt` to `ct`.
    Encrypt,
    /// `ct` to `pt`.
    Decrypt,
}

/// The message of a row of ECB, CBC or CTR: for a counter of `counter_bits`, whose output the row may have under another name.
///
/// # Panics
/// When the row has no such fields.
pub fn message(row: &Value, way: Way, counter_bits: u32) -> Message {
    let (mode, id) = (text(row, "mode"), text(row, "id"));
    let narrower = format!("ct_if_ctr_bits_{counter_bits}");
    let ct = if mode == "CTR" && row[&narrower].is_string() { hex(row, &narrower) } else { hex(row, "ct") };
    let (mut input, output) = match way {
        Way::Encrypt => (hex(row, "pt"), ct),
        Way::Decrypt => (ct, hex(row, "pt")),
    };
    // The rest of the last block, which only a counter has: what comes out there is of no concern.
    input.resize(input.len().next_multiple_of(16), 0x5a);
    let iv = row["iv"].is_string().then(|| blocks(&hex(row, "iv"))[0]);
    let ciphertext = if way == Way::Encrypt { &output } else { &input };
    let iv_after = (mode == "CBC").then(|| blocks(ciphertext).last().copied().or(iv).expect("an iv"));
    if row["iv_out"].is_string() {
        assert_eq!(iv_after.map(|iv| iv.to_vec()), Some(hex(row, "iv_out")), "{id}");
    }
    Message { label: format!("{id} ({way:?})"), interpreted: true, key: hex(row, "key"), iv, input, output, iv_after }
}

/// The messages of a row that is fed in pieces of whole blocks, each with the `iv` that the one before it leaves; nothing for
/// one in other pieces.
///
/// # Panics
/// When the row has no such fields.
pub fn pieces(row: &Value, way: Way) -> Vec<Message> {
    let Some(chunks) = row["chunks_blocks"].as_array() else { return Vec::new() };
    let whole = message(row, way, 128);
    let (mut at, mut iv, mut messages) = (0, whole.iv, Vec::new());
    let ends = row["iv_after_chunk"].as_array().expect("an iv for each");
    for (index, (chunk, end)) in chunks.iter().zip(ends).enumerate() {
        let own = at..at + 16 * chunk.as_u64().expect("a number") as usize;
        let after = blocks(&bytes(end.as_str().expect("hexadecimal")))[0];
        messages.push(Message {
            label: format!("{}, piece {index}", whole.label),
            iv,
            input: whole.input[own.clone()].to_vec(),
            output: whole.output[own.clone()].to_vec(),
            iv_after: Some(after),
            ..whole.clone()
        });
        (at, iv) = (own.end, Some(after));
    }
    assert_eq!(at, whole.input.len(), "{}: the pieces are all of it", whole.label);
    messages
}

/// The mode that the rows call by this name, both ways, with bits of a counter; `None` for one that they have no rows of.
pub fn mode_of(kernel: &Kernel) -> Option<(&'static str, Way, u32)> {
    let mode = kernel.cipher?.mode?;
    match (mode.input, mode.decrypts, mode.output) {
        ([Term::In], false, []) => Some(("ECB", Way::Encrypt, 0)),
        ([Term::In], true, []) => Some(("ECB", Way::Decrypt, 0)),
        ([Term::In, Term::PreviousOut], false, []) => Some(("CBC", Way::Encrypt, 0)),
        ([Term::In], true, [Term::PreviousIn]) => Some(("CBC", Way::Decrypt, 0)),
        // Enciphered and deciphered alike: both ways are tried.
        ([Term::Counter], false, [Term::In]) => Some(("CTR", Way::Encrypt, mode.counter_bits)),
        _ => None,
    }
}

/// The messages of a kernel, with those marked that go through the interpreter: the first of each class.
pub fn messages(kernel: &Kernel, (name, way, counter_bits): (&str, Way, u32)) -> Vec<Message> {
    let key_bits = kernel.cipher.expect("a cipher's kernel").key_bits as usize;
    let mut messages = Vec::new();
    let mut classes = BTreeSet::new();
    for row in FILES.iter().flat_map(|file| rows(file)) {
        let mode = text(&row, "mode");
        if mode != name || 8 * hex(&row, "key").len() != key_bits || is_for_wider(&row, counter_bits) {
            continue;
        }
        let class = row["class"].as_str().unwrap_or(text(&row, "id")).to_owned();
        let first = classes.insert(class);
        let ways = if mode == "CTR" { vec![Way::Encrypt, Way::Decrypt] } else { vec![way] };
        for way in ways {
            let interpreted = first && way == ways_first(mode, way);
            let mut add = |message: Message| messages.push(Message { interpreted, ..message });
            // Pieces say what a counter of all bits is after each; a narrower one is the same unless it wraps.
            pieces(&row, way).into_iter().filter(|_| mode != "CTR" || counter_bits == 128).for_each(&mut add);
            add(message(&row, way, counter_bits));
        }
    }
    messages
}

/// Whether a row says only what a counter of all bits gives, and one of so many bits would wrap in it.
fn is_for_wider(row: &Value, counter_bits: u32) -> bool {
    if text(row, "mode") != "CTR" || counter_bits == 128 || row[format!("ct_if_ctr_bits_{counter_bits}")].is_string() {
        return false;
    }
    let low = u128::from_be_bytes(blocks(&hex(row, "iv"))[0]) & (u128::MAX >> (128 - counter_bits));
    low + text(row, "pt").len().div_ceil(32) as u128 > 1 << counter_bits
}

/// The way of a row that goes through the interpreter: of a counter's two the first.
fn ways_first(mode: &str, way: Way) -> Way {
    if mode == "CTR" { Way::Encrypt } else { way }
}

/// The calls of a kernel that the rows make: none for a kernel without rows.
pub fn cases(kernel: &'static Kernel) -> Vec<Case> {
    let mut random = Random::new(0x6165_7376);
    let Some(mode) = mode_of(kernel) else { return Vec::new() };
    messages(kernel, mode).iter().flat_map(|message| message.cases(kernel, &mut random)).collect()
}
