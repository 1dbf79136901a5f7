//! What is computed: a mode with a key and an `iv`, Kiln's kernel and plain reference for it, and the check of a contender.

use std::fmt;

use kiln_kernels::catalogue::{Cipher, Kernel};
use kiln_kernels::reference::aes as reference;
use kiln_peers_rust_crypto::call::Contender;
use kiln_peers_rust_crypto::setup::{Block, Mode, Setup};
use kiln_runtime::random::Random;

use super::buffers::Buffers;

/// What Kiln calls a mode.
const fn operation(mode: Mode) -> &'static str {
    match mode {
        Mode::EcbEncrypt => "ecb_encrypt",
        Mode::EcbDecrypt => "ecb_decrypt",
        Mode::CbcEncrypt => "cbc_encrypt",
        Mode::CbcDecrypt => "cbc_decrypt",
        Mode::Ctr => "ctr128",
        Mode::GcmCtr => "ctr32",
    }
}

/// A mode at one size of the key.
#[derive(Clone, Copy)]
pub struct Task {
    /// The mode.
    pub mode: Mode,
    /// Bits of the key.
    pub bits: u32,
    /// Kiln's kernel.
    pub kernel: &'static Kernel,
    cipher: Cipher,
}

impl Task {
    /// The task; `None` if this build has no such kernel.
    pub fn new(mode: Mode, bits: u32) -> Option<Task> {
        let name = format!("aes{bits}.{}", operation(mode));
        let kernel = kiln_kernels::kernels().find(|kernel| kernel.name == name)?;
        Some(Task { mode, bits, kernel, cipher: kernel.cipher? })
    }

    /// Rounds of the cipher.
    pub fn rounds(&self) -> u32 {
        self.cipher.rounds
    }
}

/// The round keys of a mode, aligned as kernels want them.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct RoundKeys([u8; 240]);

impl RoundKeys {
    /// By the plain reference, those of the equivalent inverse cipher if it runs backwards.
    pub fn new(mode: Mode, key: &[u8]) -> RoundKeys {
        let length = 16 * (key.len() / 4 + 7);
        let mut keys = [0; 240];
        reference::expand_key(&mut keys[..length], key);
        if mode.decrypts() {
            let forward = keys;
            reference::invert_keys(&mut keys[..length], &forward[..length]);
        }
        RoundKeys(keys)
    }

    /// The first of them.
    pub fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr()
    }
}

/// Sets a contender up; `None` if it does not have the mode.
pub type Make = Box<dyn Fn(&Setup<'_>) -> Option<Box<dyn Contender>>>;

/// What a contender did wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// The output differs.
    Output(Where),
    /// The input was changed.
    Input(Where),
    /// Something beside the buffers was written.
    Stray(Where),
}

/// In which call.
#[derive(Clone, Debug, PartialEq)]
pub struct Where {
    blocks: usize,
    call: usize,
    in_place: bool,
    key: Vec<u8>,
    iv: Block,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, at) = match self {
            Wrong::Output(at) => ("wrong output", at),
            Wrong::Input(at) => ("changed its input", at),
            Wrong::Stray(at) => ("wrote beside its output", at),
        };
        let place = if at.in_place { "in place" } else { "out of place" };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (blocks, call) = (at.blocks, at.call);
        write!(f, "{what} in call {call} of {blocks} blocks, {place}, key {}, iv {}", hex(&at.key), hex(&at.iv))
    }
}

/// A message in two calls of equally many blocks or fewer, with what the reference makes of it.
struct Case {
    key: Vec<u8>,
    iv: Block,
    /// Blocks of each call.
    calls: [usize; 2],
    input: Vec<u8>,
    expected: Vec<u8>,
}

/// The cases of a task.
pub struct Cases {
    mode: Mode,
    cases: Vec<Case>,
}

impl Cases {
    /// Random messages of 1 to 40 blocks, around 64 and 512, and of as many bytes as are asked for, with counters that wrap.
    pub fn new(task: &Task, bytes: &[usize]) -> Cases {
        let mut random = Random::new(0x4b69_6c6e ^ u64::from(task.bits) ^ (task.mode as u64) << 32);
        let random_lengths = (1..=40).chain([63, 64, 65, 511, 512, 513]).map(|blocks| (blocks, false));
        let lengths = random_lengths.chain(bytes.iter().map(|bytes| (bytes / 16, true)));
        let cases = lengths.map(|(blocks, twice)| {
            let key: Vec<u8> = fill(&mut random, task.bits as usize / 8);
            let mut iv = Block::try_from(fill(&mut random, 16)).expect("16 bytes");
            // The low bytes wrap within the message, and all bytes above them if they are ones.
            let ones = random.below(16) as usize;
            iv[15 - ones..].fill(0xff);
            iv[15] = 0xff - random.below(blocks.min(200) as u64) as u8;
            let calls = [blocks, if twice { blocks } else { 1 + random.below(blocks as u64) as usize }];
            let input = fill(&mut random, 16 * (calls[0] + calls[1]));
            let mut expected = vec![0; input.len()];
            let rounds = 16 * (task.rounds() as usize + 1);
            let keys = RoundKeys::new(task.mode, &key);
            reference::chain(&task.cipher, &mut expected, &input, &keys.0[..rounds], &mut iv.clone());
            Case { key, iv, calls, input, expected }
        });
        Cases { mode: task.mode, cases: cases.collect() }
    }

    /// Checks a contender on all of them, or on those whose calls are of `only` so many blocks; `None` if it does not have the
    /// mode.
    pub fn check(&self, make: &Make, only: Option<u64>) -> Option<Result<(), Wrong>> {
        let allowed = |case: &&Case| case.calls.iter().all(|blocks| only.is_none_or(|only| only == *blocks as u64));
        for case in self.cases.iter().filter(allowed) {
            for (in_place, skew) in [(false, 0), (true, 0), (false, 3)] {
                let mut contender = make(&Setup { mode: self.mode, key: &case.key, iv: case.iv })?;
                let mut at = 0;
                for (index, blocks) in case.calls.into_iter().enumerate() {
                    let part = at..at + 16 * blocks;
                    at = part.end;
                    let mut buffers = Buffers::new(16 * blocks, in_place, skew);
                    buffers.input_mut().copy_from_slice(&case.input[part.clone()]);
                    contender.repeat(buffers.span(), 1);
                    let place = || Where { blocks, call: index + 1, in_place, key: case.key.clone(), iv: case.iv };
                    if buffers.output() != &case.expected[part.clone()] {
                        return Some(Err(Wrong::Output(place())));
                    }
                    if !in_place && buffers.input() != &case.input[part] {
                        return Some(Err(Wrong::Input(place())));
                    }
                    if !buffers.undisturbed() {
                        return Some(Err(Wrong::Stray(place())));
                    }
                }
            }
        }
        Some(Ok(()))
    }
}

/// Random bytes.
pub fn fill(random: &mut Random, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.word() as u8).collect()
}
