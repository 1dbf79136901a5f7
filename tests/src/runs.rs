//! Runs operands: in the interpreter, and natively between canaries. Says what came of it; judges nothing but stray writes.
//!
//! Unsafe is needed to call an entry: every pointer is to as many limbs as the contract says, equal only as the operands say.

use crate::operands::{Operands, Results, Value, bytes, limbs};
use kiln_codegen::ir::interpret::{Fault, Program};
use kiln_kernels::catalogue::{Entry, Kernel, Word};

/// Runs a program of the interpreter.
///
/// # Errors
/// The fault that stopped it.
pub fn interpret(operands: &Operands, program: &Program) -> Result<Results, Fault> {
    let outcome = program.run(&operands.call())?;
    Ok(operands.results(|index| limbs(operands.bits(), &outcome.memories[index]), outcome.returned))
}

/// Bytes of canary on each side of a buffer.
const CANARY: usize = 64;
const PAINT: [u8; 8] = 0xa55a_c33c_9669_f00f_u64.to_le_bytes();
/// Where buffers begin, but for their skew: at a multiple of this.
const BOUNDARY: usize = 64;

/// Runs an entry of the operands' kernel.
///
/// # Safety
/// The entry must be code for the contract of the operands' kernel, and this CPU must have the features that it needs.
///
/// # Panics
/// When something beside a buffer was written.
pub unsafe fn run(operands: &Operands, entry: Entry) -> Results {
    // SAFETY: as for this function.
    unsafe { run_at(operands, entry, 0) }
}

/// The ways that the first two arguments can lie, in bytes up to 15 from a boundary.
pub const SKEWS: usize = 256;

/// How far from a boundary an argument lies in the turn: as far as its type and its promised alignment let it.
fn skew(operands: &Operands, argument: usize, turn: usize) -> usize {
    let step = operands.kernel().arguments[argument].align.max(operands.bits() as usize / 8);
    let raw = match argument {
        0 => turn % 16,
        1 => turn / 16 % 16,
        _ => (turn * 7 + argument) % 16,
    };
    if turn == 0 { 0 } else { raw / step * step }
}

/// Runs an entry of the operands' kernel, with the buffers misaligned in the way of the turn: of [`SKEWS`] ways all are
/// different in the first two arguments.
///
/// # Safety
/// As for [`run`].
///
/// # Panics
/// When something beside a buffer was written.
pub unsafe fn run_at(operands: &Operands, entry: Entry, turn: usize) -> Results {
    let (kernel, bits) = (operands.kernel(), operands.bits());
    let values = operands.values();
    let mut buffers: Vec<Buffer> =
        values.iter().enumerate().map(|(index, value)| Buffer::new(bits, value, skew(operands, index, turn))).collect();
    let pointers: Vec<*mut u8> = buffers.iter_mut().map(Buffer::pointer).collect();
    let words = values.iter().zip(operands.owners()).map(|(value, owner)| match value {
        Value::Limbs(_) => Word { pointer: pointers[*owner] },
        Value::Integer(value) => Word { integer: *value },
    });
    let words: Vec<Word> = words.collect();
    // SAFETY: one word for each argument, the pointers to as many limbs as the contract says and aligned as it says, between
    // canaries, equal only as the operands say; the caller vouches for the entry.
    let returned = unsafe { (kernel.call)(entry, &words) };
    // Scratch has canaries too.
    for (index, buffer) in buffers.iter().enumerate() {
        assert!(buffer.is_painted(), "turn {turn}: stray write beside argument {index} of {operands:?}");
    }
    operands.results(|index| limbs(bits, buffers[operands.owners()[index]].inside()), Some(returned))
}

/// The bytes of a value between canaries.
struct Buffer {
    bytes: Vec<u8>,
    inside: std::ops::Range<usize>,
}

impl Buffer {
    fn new(bits: u32, value: &Value, skew: usize) -> Buffer {
        let own = match value {
            Value::Limbs(limbs) => bytes(bits, limbs),
            Value::Integer(_) => Vec::new(),
        };
        let length = own.len() + 2 * CANARY + 2 * BOUNDARY;
        let mut bytes: Vec<u8> = PAINT.into_iter().cycle().take(length).collect();
        let start = CANARY + bytes[CANARY..].as_ptr().align_offset(BOUNDARY) + skew;
        let inside = start..start + own.len();
        bytes[inside.clone()].copy_from_slice(&own);
        Buffer { bytes, inside }
    }

    fn pointer(&mut self) -> *mut u8 {
        self.bytes[self.inside.start..].as_mut_ptr()
    }

    fn inside(&self) -> &[u8] {
        &self.bytes[self.inside.clone()]
    }

    fn is_painted(&self) -> bool {
        let paint = |at: usize| self.bytes[at] == PAINT[at % PAINT.len()];
        (0..self.inside.start).all(paint) && (self.inside.end..self.bytes.len()).all(paint)
    }
}

/// Runs an entry of a mode's kernel in one arena: `n` blocks from one place of it to another.
///
/// # Safety
/// The entry must be code for the kernel's contract, whose places may be equal or apart, and this CPU must have the features
/// that it needs.
///
/// # Panics
/// When the blocks are not in the arena, partly overlap, or the keys or the `iv` are not those of the contract.
pub unsafe fn run_in_arena(
    kernel: &'static Kernel,
    entry: Entry,
    arena: &mut [u8],
    (source, destination, n): (usize, usize, usize),
    keys: &[u8],
    iv: &mut [u8; 16],
) {
    let mode = kernel.cipher.and_then(|cipher| Some((cipher.rounds as usize, cipher.mode?)));
    let (rounds, mode) = mode.expect("a mode's kernel");
    let length = 16 * n;
    assert!(source.max(destination) + length <= arena.len() && mode.streams == 1);
    let key_bytes = if kernel.name.contains("_sliced.") { 64 } else { 16 };
    assert_eq!(keys.len(), key_bytes * (rounds + 1), "round keys");
    assert!(source == destination || source.abs_diff(destination) >= length, "in place or apart");
    let keys: Vec<u64> = limbs(8, keys);
    let mut keys = Buffer::new(8, &Value::Limbs(keys), 0);
    let base = arena.as_mut_ptr();
    let place = |offset: usize| Word { pointer: base.wrapping_add(offset) };
    let mut words =
        vec![place(destination), place(source), Word { integer: n as u64 }, Word { pointer: keys.pointer() }];
    if kernel.arguments.len() == 5 {
        words.push(Word { pointer: iv.as_mut_ptr() });
    }
    // SAFETY: both places hold n blocks, equal or apart; as many round keys as rounds and one more, at a multiple of 64 bytes; an iv of
    // one block where the contract has one. The caller vouches for the entry.
    unsafe { (kernel.call)(entry, &words) };
    assert!(keys.is_painted(), "stray write beside the keys");
}

/// Memory at a multiple of its size.
#[derive(Clone, PartialEq, Eq, Debug)]
#[repr(C, align(1024))]
pub struct Memory(pub [u8; 1024]);

/// Calls a function of one pointer on memory.
///
/// # Safety
/// The entry must be code that takes one pointer, accesses nothing but the memory and keeps to System V, and this CPU must have
/// the features that it needs.
pub unsafe fn run_on(entry: Entry, memory: &mut Memory) {
    // SAFETY: the caller vouches for the entry; the memory is this borrow's alone.
    unsafe {
        let function: extern "sysv64" fn(*mut u8) = core::mem::transmute(entry.address());
        function(memory.0.as_mut_ptr());
    }
}
