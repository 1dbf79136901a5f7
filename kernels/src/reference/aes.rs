//! Plain references of AES: FIPS 197 byte by byte, and modes as their specs say. They index tables by their data: for checking,
//! never for keys that matter.

use crate::catalogue::{Cipher, Mode, Term};

/// A block: column by column, as FIPS 197 has it.
type Block = [u8; 16];

/// a x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn times_x(a: u8) -> u8 {
    a << 1 ^ if a & 0x80 == 0 { 0 } else { 0x1b }
}

/// a b in the same field.
const fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = times_x(a);
        b >>= 1;
    }
    product
}

/// The S-box, from its definition: the inverse in the field (of 0: 0), then the affine map.
pub const S_BOX: [u8; 256] = {
    // Powers of the generator 3: the inverse of one is another.
    let mut powers = [1; 255];
    let mut power = 1;
    while power < 255 {
        powers[power] = times(powers[power - 1], 3);
        power += 1;
    }
    let mut table = [0x63; 256];
    let mut power = 0;
    while power < 255 {
        let i = powers[(255 - power) % 255];
        let affine = i ^ i.rotate_left(1) ^ i.rotate_left(2) ^ i.rotate_left(3) ^ i.rotate_left(4) ^ 0x63;
        table[powers[power] as usize] = affine;
        power += 1;
    }
    table
};

/// Its inverse.
pub const INVERSE_S_BOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut value = 0;
    while value < 256 {
        table[S_BOX[value] as usize] = value as u8;
        value += 1;
    }
    table
};

/// What a byte of each row, substituted, adds to its mixed column. `first`: the first column of the matrix; the others are
/// the same, turned.
const fn mixed(substitute: &[u8; 256], first: [u8; 4]) -> [[[u8; 4]; 256]; 4] {
    let mut table = [[[0; 4]; 256]; 4];
    let mut value = 0;
    while value < 256 {
        let mut row = 0;
        while row < 4 {
            let product = times(substitute[value], first[row]);
            let mut from = 0;
            while from < 4 {
                table[from][value][(row + from) % 4] = product;
                from += 1;
            }
            row += 1;
        }
        value += 1;
    }
    table
}

/// One direction of the cipher.
struct Way {
    substitute: [u8; 256],
    mixed: [[[u8; 4]; 256]; 4],
    /// How many columns a row comes from further on, for each row further down.
    shift: usize,
}

static FORWARD: Way = Way { substitute: S_BOX, mixed: mixed(&S_BOX, [2, 1, 1, 3]), shift: 1 };
static BACKWARD: Way = Way { substitute: INVERSE_S_BOX, mixed: mixed(&INVERSE_S_BOX, [14, 9, 13, 11]), shift: 3 };

fn xor(a: &Block, b: &Block) -> Block {
    (u128::from_ne_bytes(*a) ^ u128::from_ne_bytes(*b)).to_ne_bytes()
}

impl Way {
    /// The byte that stands at `index` after the shift of the rows.
    fn shifted(&self, block: &Block, index: usize) -> usize {
        usize::from(block[(index + 4 * self.shift * (index % 4)) % 16])
    }

    /// A block through all rounds, with the round keys in the order of their use: for the way back those of the equivalent
    /// inverse cipher (section 5.3.5).
    fn cipher(&self, keys: &[Block], block: &Block) -> Block {
        let [first, between @ .., last] = keys else { panic!("at least two round keys") };
        let mut state = xor(block, first);
        for key in between {
            let column = |column: usize| {
                let from = |row: usize| u32::from_ne_bytes(self.mixed[row][self.shifted(&state, 4 * column + row)]);
                (from(0) ^ from(1) ^ from(2) ^ from(3)).to_ne_bytes()
            };
            let [a, b, c, d] = [column(0), column(1), column(2), column(3)];
            let mut next = [0; 16];
            for (place, column) in next.chunks_exact_mut(4).zip([a, b, c, d]) {
                place.copy_from_slice(&column);
            }
            state = xor(&next, key);
        }
        xor(&core::array::from_fn(|index| self.substitute[self.shifted(&state, index)]), last)
    }
}

fn as_blocks(bytes: &[u8]) -> &[Block] {
    let (blocks, []) = bytes.as_chunks() else { panic!("whole blocks") };
    blocks
}

fn as_blocks_mut(bytes: &mut [u8]) -> &mut [Block] {
    let (blocks, []) = bytes.as_chunks_mut() else { panic!("whole blocks") };
    blocks
}

/// Adds one to the low bits of a big-endian counter; those above stand still.
fn count(counter: &mut Block, bits: u32) {
    for byte in counter.iter_mut().rev().take(bits as usize / 8) {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
}

/// One message through a mode. `chain` is the `iv`, and what the next message of the same stream would begin with.
fn message(mode: &Mode, cipher: impl Fn(&Block) -> Block, output: &mut [u8], input: &[u8], chain: &mut Block) {
    assert_eq!(output.len(), input.len(), "as much output as input");
    for (output, input) in as_blocks_mut(output).iter_mut().zip(as_blocks(input)) {
        let sum = |terms: &[Term], start: &Block| {
            terms.iter().fold(*start, |sum, term| match term {
                Term::In => xor(&sum, input),
                Term::PreviousIn | Term::PreviousOut | Term::Counter => xor(&sum, chain),
            })
        };
        *output = sum(mode.output, &cipher(&sum(mode.input, &[0; 16])));
        match mode.input.iter().chain(mode.output).find(|term| **term != Term::In) {
            Some(Term::PreviousIn) => *chain = *input,
            Some(Term::PreviousOut) => *chain = *output,
            Some(Term::Counter) => count(chain, mode.counter_bits),
            Some(Term::In) | None => {}
        }
    }
}

/// Whole blocks in a mode that chains nothing.
///
/// # Panics
/// When the lengths do not fit, or the cipher has no mode.
pub fn blocks(cipher: &Cipher, output: &mut [u8], input: &[u8], keys: &[u8]) {
    chain(cipher, output, input, keys, &mut [0; 16]);
}

/// Whole blocks of each stream, one stream behind the other, in a mode with an `iv` for each of them.
///
/// # Panics
/// When the lengths do not fit, or the cipher has no mode.
pub fn chain(cipher: &Cipher, output: &mut [u8], input: &[u8], keys: &[u8], iv: &mut [u8]) {
    let mode = cipher.mode.expect("a mode");
    let keys = as_blocks(keys);
    let way = if mode.decrypts { &BACKWARD } else { &FORWARD };
    let run = |block: &Block| way.cipher(keys, block);
    let length = input.len() / mode.streams;
    for (stream, iv) in as_blocks_mut(iv).iter_mut().enumerate() {
        let own = stream * length..(stream + 1) * length;
        message(&mode, run, &mut output[own.clone()], &input[own], iv);
    }
}

/// The key schedule (section 5.2): as many round keys as `keys` has room for.
///
/// # Panics
/// When a length is no multiple of four bytes.
pub fn expand_key(keys: &mut [u8], key: &[u8]) {
    let words = key.len() / 4;
    keys[..key.len()].copy_from_slice(key);
    let mut constant = 1;
    for index in words..keys.len() / 4 {
        let word = |index: usize| -> [u8; 4] { core::array::from_fn(|byte| keys[4 * index + byte]) };
        let mut last = word(index - 1);
        if index % words == 0 {
            last.rotate_left(1);
            last = last.map(|byte| S_BOX[usize::from(byte)]);
            last[0] ^= constant;
            constant = times_x(constant);
        } else if words > 6 && index % words == 4 {
            last = last.map(|byte| S_BOX[usize::from(byte)]);
        }
        let before = word(index - words);
        for byte in 0..4 {
            keys[4 * index + byte] = before[byte] ^ last[byte];
        }
    }
}

/// The round keys of the equivalent inverse cipher in the order of their use, from those of the cipher.
///
/// # Panics
/// When the lengths do not fit.
pub fn invert_keys(inverse: &mut [u8], keys: &[u8]) {
    let keys = as_blocks(keys);
    let inverse = as_blocks_mut(inverse);
    assert_eq!(inverse.len(), keys.len(), "as many keys as keys");
    let last = keys.len() - 1;
    for (index, key) in inverse.iter_mut().enumerate() {
        let own = &keys[last - index];
        *key = *own;
        if index != 0 && index != last {
            for column in key.chunks_exact_mut(4) {
                // The table substitutes backwards first.
                let from = |row: usize| BACKWARD.mixed[row][usize::from(S_BOX[usize::from(column[row])])];
                let mixed = [from(0), from(1), from(2), from(3)];
                for (row, byte) in column.iter_mut().enumerate() {
                    *byte = mixed.iter().fold(0, |sum, mixed| sum ^ mixed[row]);
                }
            }
        }
    }
}

/// Round keys as bitsliced kernels read them: for each round eight little-endian words, word i with bit i of every byte.
///
/// A byte of row r and column c has the four places from 16 r + 4 c' on, one for each of four blocks, where c' = c + k r mod 4 in
/// round k: the shift of the rows is not done but remembered (Adomnicai and Peyrin, Fixslicing AES-like ciphers, 2021). From
/// round 1 on, the constant of the S-box is in the key.
///
/// # Panics
/// When the lengths do not fit.
pub fn slice_keys(sliced: &mut [u8], keys: &[u8]) {
    assert_eq!(sliced.len(), 4 * keys.len(), "four places for every byte");
    for (round, (words, key)) in sliced.chunks_exact_mut(64).zip(as_blocks(keys)).enumerate() {
        let mut bits = [0u64; 8];
        for (index, byte) in key.iter().enumerate() {
            let (column, row) = (index / 4, index % 4);
            let place = 16 * row + 4 * ((column + round * row) % 4);
            let value = byte ^ if round == 0 { 0 } else { 0x63 };
            for (bit, word) in bits.iter_mut().enumerate() {
                *word |= (u64::from(value >> bit & 1) * 0xf) << place;
            }
        }
        for (place, word) in words.chunks_exact_mut(8).zip(bits) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// The canonical round keys of sliced ones.
fn unsliced(sliced: &[u8]) -> Vec<u8> {
    let mut keys = vec![0; sliced.len() / 4];
    for (round, (words, key)) in sliced.chunks_exact(64).zip(as_blocks_mut(&mut keys)).enumerate() {
        for (index, byte) in key.iter_mut().enumerate() {
            let (column, row) = (index / 4, index % 4);
            let place = 16 * row + 4 * ((column + round * row) % 4);
            let bit = |bit: usize| words[8 * bit + place / 8] >> (place % 8) & 1;
            *byte = (0..8).fold(0, |value, at| value | bit(at) << at) ^ if round == 0 { 0 } else { 0x63 };
        }
    }
    keys
}

/// As [`blocks`], with sliced round keys, which are those of the cipher whichever way it runs.
///
/// # Panics
/// When the lengths do not fit, or the cipher has no mode.
pub fn sliced_blocks(cipher: &Cipher, output: &mut [u8], input: &[u8], keys: &[u8]) {
    sliced_chain(cipher, output, input, keys, &mut [0; 16]);
}

/// As [`chain`], with sliced round keys, which are those of the cipher whichever way it runs.
///
/// # Panics
/// When the lengths do not fit, or the cipher has no mode.
pub fn sliced_chain(cipher: &Cipher, output: &mut [u8], input: &[u8], keys: &[u8], iv: &mut [u8]) {
    let mut own = unsliced(keys);
    if cipher.mode.expect("a mode").decrypts {
        let mut inverse = own.clone();
        invert_keys(&mut inverse, &own);
        own = inverse;
    }
    chain(cipher, output, input, &own, iv);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C: key 000102…, plaintext 00112233….
    #[test]
    fn the_examples_of_the_standard() {
        let plain: Block = core::array::from_fn(|index| index as u8 * 0x11);
        let key: [u8; 32] = core::array::from_fn(|index| index as u8);
        for (bits, rounds, ciphertext) in [
            (128, 10, 0x69c4e0d86a7b0430d8cdb78070b4c55a_u128),
            (192, 12, 0xdda97ca4864cdfe06eaf70a0ec0d7191),
            (256, 14, 0x8ea2b7ca516745bfeafc49904b496089),
        ] {
            let mut keys = vec![0; 16 * (rounds + 1)];
            let mut inverse = keys.clone();
            expand_key(&mut keys, &key[..bits / 8]);
            invert_keys(&mut inverse, &keys);
            let enciphered = FORWARD.cipher(as_blocks(&keys), &plain);
            assert_eq!(enciphered, ciphertext.to_be_bytes(), "{bits}");
            assert_eq!(BACKWARD.cipher(as_blocks(&inverse), &enciphered), plain, "{bits}");
        }
    }

    #[test]
    fn sliced_keys_are_the_same_keys() {
        let mut keys = [0; 176];
        expand_key(&mut keys, b"sixteen bytes it");
        let mut sliced = [0; 704];
        slice_keys(&mut sliced, &keys);
        assert_eq!(unsliced(&sliced), keys);
    }

    #[test]
    fn counters_carry_as_far_as_they_are_wide() {
        let mut counter = [0xff; 16];
        counter[0] = 0;
        let before = counter;
        count(&mut counter, 32);
        assert_eq!(counter, [&before[..12], &[0; 4]].concat()[..]);
        counter = before;
        count(&mut counter, 128);
        assert_eq!(counter, [&[1][..], &[0; 15]].concat()[..]);
    }
}
