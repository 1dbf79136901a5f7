//! AES and its modes by code that shares nothing with Kiln: somebody else's rounds, and modes block after block as SP 800-38A
//! writes them.

use crate::operands::{Operands, Results, limbs};
use aes::hazmat;
use kiln_kernels::catalogue::{Cipher, Mode, Term};

/// A block, column by column.
pub type Block = [u8; 16];

/// The XOR of two blocks.
pub fn xor(a: &Block, b: &Block) -> Block {
    core::array::from_fn(|index| a[index] ^ b[index])
}

/// The blocks of some bytes.
///
/// # Panics
/// When the last is not whole.
pub fn blocks(bytes: &[u8]) -> Vec<Block> {
    let (blocks, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "{} bytes are no whole blocks", bytes.len());
    blocks.to_vec()
}

fn through(step: impl Fn(&mut aes::Block), block: &Block) -> Block {
    let mut block = aes::Block::from(*block);
    step(&mut block);
    block.into()
}

/// SubBytes and ShiftRows.
fn last_round(block: &Block) -> Block {
    let mixed = through(|state| hazmat::cipher_round(state, &aes::Block::default()), block);
    through(hazmat::inv_mix_columns, &mixed)
}

/// A block enciphered, with these round keys.
///
/// # Panics
/// When there are fewer than two.
pub fn encipher(keys: &[Block], block: &Block) -> Block {
    let [first, between @ .., last] = keys else { panic!("at least two round keys") };
    let round = |state: Block, key: &Block| through(|state| hazmat::cipher_round(state, &(*key).into()), &state);
    xor(&last_round(&between.iter().fold(xor(block, first), round)), last)
}

/// A block deciphered, with the round keys of the equivalent inverse cipher in the order of their use.
///
/// # Panics
/// When there are fewer than two.
pub fn decipher(keys: &[Block], block: &Block) -> Block {
    let [first, between @ .., last] = keys else { panic!("at least two round keys") };
    let round =
        |state: Block, key: &Block| through(|state| hazmat::equiv_inv_cipher_round(state, &(*key).into()), &state);
    let mixed = round(between.iter().fold(xor(block, first), round), &[0; 16]);
    xor(&through(hazmat::mix_columns, &mixed), last)
}

/// The round keys of a key: FIPS 197, section 5.2.
pub fn expand(key: &[u8], rounds: usize) -> Vec<Block> {
    let words = key.len() / 4;
    let mut schedule: Vec<[u8; 4]> = key.as_chunks().0.to_vec();
    // Four equal columns are a column without a shift.
    let substituted = |word: [u8; 4]| {
        let [first, ..] = *last_round(&core::array::from_fn(|index| word[index % 4])).as_chunks().0 else {
            unreachable!("four words")
        };
        first
    };
    let mut constant = 1u8;
    while schedule.len() < 4 * (rounds + 1) {
        let index = schedule.len();
        let mut word = schedule[index - 1];
        if index.is_multiple_of(words) {
            word.rotate_left(1);
            word = substituted(word);
            word[0] ^= constant;
            constant = constant << 1 ^ if constant >= 0x80 { 0x1b } else { 0 };
        } else if words == 8 && index % words == 4 {
            word = substituted(word);
        }
        let before = schedule[index - words];
        schedule.push(core::array::from_fn(|byte| word[byte] ^ before[byte]));
    }
    blocks(&schedule.concat())
}

/// The round keys of the equivalent inverse cipher in the order of their use: section 5.3.5.
pub fn invert(keys: &[Block]) -> Vec<Block> {
    let outer = [0, keys.len() - 1];
    let inverted = |(index, key): (usize, &Block)| {
        if outer.contains(&index) { *key } else { through(hazmat::inv_mix_columns, key) }
    };
    let mut inverse: Vec<Block> = keys.iter().enumerate().map(inverted).collect();
    inverse.reverse();
    inverse
}

/// The counter after this one: the low bits count, those above stand still.
pub fn count(counter: &Block, bits: u32) -> Block {
    let (counter, low) = (u128::from_be_bytes(*counter), u128::MAX >> (128 - bits));
    (counter & !low | counter.wrapping_add(1) & low).to_be_bytes()
}

/// A message in a mode, and what the next one of its stream begins with.
pub fn message(mode: &Mode, keys: &[Block], iv: &Block, input: &[Block]) -> (Vec<Block>, Block) {
    let (mut chain, mut output) = (*iv, Vec::new());
    for block in input {
        let with = |start: Block, terms: &[Term]| {
            terms.iter().fold(start, |sum, term| xor(&sum, if *term == Term::In { block } else { &chain }))
        };
        let entering = with([0; 16], mode.input);
        let cipher = if mode.decrypts { decipher } else { encipher };
        let out = with(cipher(keys, &entering), mode.output);
        output.push(out);
        for term in [mode.input, mode.output].concat() {
            match term {
                Term::In => {}
                Term::PreviousIn => chain = *block,
                Term::PreviousOut => chain = out,
                Term::Counter => chain = count(&chain, mode.counter_bits),
            }
        }
    }
    (output, chain)
}

/// Canonical round keys from sliced ones: word i of a round holds bit i of every byte; a byte of row r and column c stands at
/// 16 r + 4 (c + k r mod 4) in round k, four times; from round 1 on the constant of the S-box is in it.
fn unsliced(sliced: &[u8]) -> Vec<Block> {
    let round = |(round, words): (usize, &[u8])| {
        let words: Vec<u64> = words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        core::array::from_fn(|index| {
            let (row, column) = (index % 4, index / 4);
            let place = 16 * row + 4 * ((column + round * row) % 4);
            let byte = words.iter().rev().fold(0, |byte, word| byte << 1 | (word >> place & 1) as u8);
            if round == 0 { byte } else { byte ^ 0x63 }
        })
    };
    sliced.chunks(64).enumerate().map(round).collect()
}

/// What a call of a cipher's kernel must leave.
pub(crate) fn expected(operands: &Operands) -> Results {
    let kernel = operands.kernel();
    let Cipher { rounds, mode, .. } = kernel.cipher.expect("a cipher's kernel");
    let sliced = kernel.name.contains("_sliced.");
    let written = |bytes: &[Block]| limbs(8, &bytes.concat());
    let Some(mode) = mode else {
        let (_, operation) = kernel.name.split_once('.').expect("a cipher and a kernel");
        let written = match operation {
            "expand_key" => ("keys", written(&expand(&operands.bytes_of("key"), rounds as usize))),
            "invert_keys" => ("inverse", written(&invert(&blocks(&operands.bytes_of("keys"))))),
            "slice_keys" => ("sliced", limbs(8, &slice(&blocks(&operands.bytes_of("keys"))))),
            _ => panic!("nobody has said what {} computes", kernel.name),
        };
        return Results { written: vec![written], returned: None };
    };
    let mut keys = if sliced { unsliced(&operands.bytes_of("keys")) } else { blocks(&operands.bytes_of("keys")) };
    if sliced && mode.decrypts {
        keys = invert(&keys);
    }
    let chained = kernel.arguments.iter().any(|argument| argument.name == "iv");
    let ivs = if chained { blocks(&operands.bytes_of("iv")) } else { vec![[0; 16]] };
    let (input, n) = (blocks(&operands.bytes_of("input")), operands.n() as usize);
    let each =
        ivs.iter().enumerate().map(|(stream, iv)| message(&mode, &keys, iv, &input[n * stream..n * (stream + 1)]));
    let (outputs, ends): (Vec<_>, Vec<_>) = each.unzip();
    let mut results = vec![("output", written(&outputs.concat()))];
    if chained {
        results.push(("iv", written(&ends)));
    }
    Results { written: results, returned: None }
}

/// Round keys as `slice_keys` makes them: the inverse of [`unsliced`].
pub fn slice(keys: &[Block]) -> Vec<u8> {
    let mut sliced = Vec::new();
    for (round, key) in keys.iter().enumerate() {
        for bit in 0..8 {
            let mut word = 0u64;
            for (index, byte) in key.iter().enumerate() {
                let (row, column) = (index % 4, index / 4);
                let byte = if round == 0 { *byte } else { byte ^ 0x63 };
                word |= (u64::from(byte >> bit & 1) * 0xf) << (16 * row + 4 * ((column + round * row) % 4));
            }
            sliced.extend(word.to_le_bytes());
        }
    }
    sliced
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

    fn check<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(rounds: usize) {
        for turn in 0..64u8 {
            let key: Vec<u8> = (0..C::key_size() as u8).map(|index| (index ^ turn).wrapping_mul(0x9d)).collect();
            let theirs = C::new_from_slice(&key).expect("a key of that length");
            let keys = expand(&key, rounds);
            let block: Block = core::array::from_fn(|index| turn.wrapping_mul(3) ^ (index as u8) << 4);
            let mut enciphered = aes::cipher::Block::<C>::default();
            enciphered.copy_from_slice(&block);
            theirs.encrypt_block(&mut enciphered);
            let enciphered: Block = enciphered[..].try_into().expect("16 bytes");
            assert_eq!(encipher(&keys, &block), enciphered);
            assert_eq!(decipher(&invert(&keys), &enciphered), block);
            assert_eq!(unsliced(&slice(&keys)), keys);
        }
    }

    #[test]
    fn rounds_and_key_schedule_are_those_of_the_whole_cipher() {
        check::<aes::Aes128>(10);
        check::<aes::Aes192>(12);
        check::<aes::Aes256>(14);
    }

    #[test]
    fn counters_wrap_where_they_end() {
        for (bits, after) in [(32, [[0xff; 12].as_slice(), &[0; 4]].concat()), (128, vec![0; 16])] {
            assert_eq!(count(&[0xff; 16], bits)[..], after);
        }
    }
}
