//! Runs operands: in the interpreter, and natively between canaries. Says what came of it; judges nothing but stray writes.
//!
//! Unsafe is needed to call an entry: every pointer is to as many limbs as the contract says, equal only as the operands say.

use crate::operands::{Operands, Results, Value, bytes, limbs};
use kiln_codegen::ir::interpret::{Fault, Program};
use kiln_kernels::catalogue::{Entry, Word};

/// Runs a program of the interpreter.
///
/// # Errors
/// The fault that stopped it.
pub fn interpret(operands: &Operands, program: &Program) -> Result<Results, Fault> {
    let outcome = program.run(&operands.call())?;
    Ok(operands.results(|index| limbs(operands.bits(), &outcome.memories[index]), outcome.returned))
}

/// 64-bit words of canary on each side of a buffer.
const CANARY: usize = 8;
const PAINT: u64 = 0xa55a_c33c_9669_f00f;

/// Runs an entry of the operands' kernel.
///
/// # Safety
/// The entry must be code for the contract of the operands' kernel, and this CPU must have the features that it needs.
///
/// # Panics
/// When something beside a buffer was written.
pub unsafe fn run(operands: &Operands, entry: Entry) -> Results {
    let (kernel, bits) = (operands.kernel(), operands.bits());
    let values = operands.values();
    let mut buffers: Vec<Vec<u64>> = values.iter().map(|value| buffer(bits, value)).collect();
    let pointers: Vec<*mut u8> = buffers.iter_mut().map(|words| words[CANARY..].as_mut_ptr().cast()).collect();
    let words = values.iter().zip(operands.owners()).map(|(value, owner)| match value {
        Value::Limbs(_) => Word { pointer: pointers[*owner] },
        Value::Integer(value) => Word { integer: *value },
    });
    let words: Vec<Word> = words.collect();
    // SAFETY: one word for each argument, the pointers to as many limbs as the contract says, between canaries, equal only as
    // the operands say; the caller vouches for the entry.
    let returned = unsafe { (kernel.call)(entry, &words) };
    let after = |index: usize| {
        let length = match values[index] {
            Value::Limbs(limbs) => limbs.len() * (bits / 8) as usize,
            Value::Integer(_) => 0,
        };
        let bytes: Vec<u8> = buffers[operands.owners()[index]].iter().flat_map(|word| word.to_le_bytes()).collect();
        let (before, rest) = bytes.split_at(8 * CANARY);
        let (inside, behind) = rest.split_at(length);
        let painted =
            |bytes: &[u8]| bytes.iter().rev().zip(PAINT.to_le_bytes().iter().rev().cycle()).all(|(a, b)| a == b);
        assert!(painted(before) && painted(behind), "stray write beside argument {index} of {operands:?}");
        limbs(bits, inside)
    };
    // Scratch has canaries too.
    (0..values.len()).for_each(|index| drop(after(index)));
    operands.results(after, Some(returned))
}

/// The limbs of a value between canaries, in whole 64-bit words.
fn buffer(bits: u32, value: &Value) -> Vec<u64> {
    let Value::Limbs(limbs) = value else { return vec![PAINT; 2 * CANARY] };
    let mut inside = bytes(bits, limbs);
    let whole = inside.len().next_multiple_of(8);
    // What is left of the last word belongs to the canary behind.
    let missing = whole - inside.len();
    inside.extend(&PAINT.to_le_bytes()[8 - missing..]);
    let mut words = vec![PAINT; CANARY];
    words.extend(inside.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)));
    words.extend([PAINT; CANARY]);
    words
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
