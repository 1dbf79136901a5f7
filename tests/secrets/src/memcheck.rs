//! Requests to valgrind's memcheck: mark memory undefined or defined, ask what is, count errors. The numbers and the sequence of
//! instructions are those of `valgrind.h` and `memcheck.h`, which promise that they stay; outside of valgrind the sequence does
//! nothing, and each request is answered by 0.
//!
//! Unsafe is needed for the instructions; the memory is what a slice says, and valgrind changes nothing but what it notes of it.

use core::arch::asm;

const RUNNING: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
const MEMCHECK: u64 = (b'M' as u64) << 24 | (b'C' as u64) << 16;
const MAKE_UNDEFINED: u64 = MEMCHECK + 1;
const MAKE_DEFINED: u64 = MEMCHECK + 2;
const GET_VALID_BITS: u64 = MEMCHECK + 8;

fn request(code: u64, arguments: [u64; 3]) -> u64 {
    let [a, b, c] = arguments;
    let block = [code, a, b, c, 0, 0];
    let mut answer = 0u64;
    // SAFETY: four rotations by 128 bits in all leave rdi as it was, and an exchange of a register with itself changes nothing;
    // under valgrind this reads the block, and sets rdx.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const block,
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Whether this runs under valgrind.
pub fn is_there() -> bool {
    request(RUNNING, [0; 3]) != 0
}

/// How many errors valgrind has seen.
pub fn errors() -> u64 {
    request(COUNT_ERRORS, [0; 3])
}

/// From now on no branch and no address may depend on these values.
pub fn make_secret<T: Copy>(values: &mut [T]) {
    request(MAKE_UNDEFINED, [values.as_mut_ptr().addr() as u64, size_of_val(values) as u64, 0]);
}

/// From now on these values are like others.
pub fn make_public<T: Copy>(values: &mut [T]) {
    request(MAKE_DEFINED, [values.as_mut_ptr().addr() as u64, size_of_val(values) as u64, 0]);
}

/// How many of these bytes depend on secrets.
///
/// # Panics
/// When valgrind cannot tell.
pub fn secret_bytes(bytes: &[u8]) -> usize {
    let mut undefined = vec![0u8; bytes.len()];
    let answer = request(
        GET_VALID_BITS,
        [bytes.as_ptr().addr() as u64, undefined.as_mut_ptr().addr() as u64, bytes.len() as u64],
    );
    assert!(bytes.is_empty() || answer == 1, "valgrind does not tell what is undefined: {answer}");
    undefined.iter().filter(|bits| **bits != 0).count()
}
