//! The steps of AES on a block of 16 bytes: FIPS 197, section 5. Byte `r + 4 c` is row r of column c.

use std::sync::OnceLock;

/// A block, or a round key.
pub(super) type Block = [u8; 16];

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (section 4.2).
fn times(a: u8, b: u8) -> u8 {
    let double = |a: u8| a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 };
    let (mut power, mut product) = (a, 0);
    for bit in 0..8 {
        if b >> bit & 1 != 0 {
            product ^= power;
        }
        power = double(power);
    }
    product
}

/// SubBytes of one byte (section 5.1.1): the inverse, with 0 for 0, then an affine transformation.
fn substituted(byte: u8) -> u8 {
    // The multiplicative group has 255 elements.
    let inverse = (0..254).fold(1, |power, _| times(power, byte));
    (1..5).fold(inverse, |sum, by| sum ^ inverse.rotate_left(by)) ^ 0x63
}

/// SubBytes and InvSubBytes for every byte.
fn boxes() -> &'static [[u8; 256]; 2] {
    static BOXES: OnceLock<[[u8; 256]; 2]> = OnceLock::new();
    BOXES.get_or_init(|| {
        let mut boxes = [[0; 256]; 2];
        for byte in 0..=255 {
            let to = substituted(byte);
            boxes[0][usize::from(byte)] = to;
            boxes[1][usize::from(to)] = byte;
        }
        boxes
    })
}

fn sub_bytes(block: Block) -> Block {
    block.map(|byte| boxes()[0][usize::from(byte)])
}

fn inv_sub_bytes(block: Block) -> Block {
    block.map(|byte| boxes()[1][usize::from(byte)])
}

/// Row r moves left by r times `by` columns.
fn shift_rows(block: Block, by: usize) -> Block {
    std::array::from_fn(|index| {
        let (row, column) = (index % 4, index / 4);
        block[row + 4 * ((column + by * row) % 4)]
    })
}

/// Each column times a circulant matrix whose first row this is (sections 5.1.3 and 5.3.3).
fn mix(block: Block, row: [u8; 4]) -> Block {
    std::array::from_fn(|index| {
        let (r, column) = (index % 4, index / 4);
        (0..4).fold(0, |sum, k| sum ^ times(block[k + 4 * column], row[(k + 4 - r) % 4]))
    })
}

fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|index| a[index] ^ b[index])
}

fn mix_columns(block: Block) -> Block {
    mix(block, [2, 3, 1, 1])
}

/// InvMixColumns: `aesimc`.
pub(super) fn inv_mix_columns(block: Block) -> Block {
    mix(block, [0x0e, 0x0b, 0x0d, 0x09])
}

/// `aesenc`.
pub(super) fn encrypt(block: Block, key: Block) -> Block {
    xor(mix_columns(sub_bytes(shift_rows(block, 1))), key)
}

/// `aesenclast`.
pub(super) fn encrypt_last(block: Block, key: Block) -> Block {
    xor(sub_bytes(shift_rows(block, 1)), key)
}

/// `aesdec`.
pub(super) fn decrypt(block: Block, key: Block) -> Block {
    xor(inv_mix_columns(inv_sub_bytes(shift_rows(block, 3))), key)
}

/// `aesdeclast`.
pub(super) fn decrypt_last(block: Block, key: Block) -> Block {
    xor(inv_sub_bytes(shift_rows(block, 3)), key)
}

/// `aeskeygenassist`: words 1 and 3 through SubWord, each also through RotWord and the constant.
pub(super) fn key_assist(block: Block, constant: u8) -> Block {
    let block = sub_bytes(block);
    let word = |index: usize| [0, 1, 2, 3].map(|byte| block[4 * index + byte]);
    let turned = |[a, b, c, d]: [u8; 4]| [b ^ constant, c, d, a];
    let words = [word(1), turned(word(1)), word(3), turned(word(3))];
    std::array::from_fn(|index| words[index / 4][index % 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boxes_are_those_of_the_standard() {
        // FIPS 197, figures 7 and 14: corners and the example 0x53.
        let [forward, backward] = boxes();
        assert_eq!([forward[0], forward[0x53], forward[0xf0], forward[0xff]], [0x63, 0xed, 0x8c, 0x16]);
        assert_eq!([backward[0], backward[0xed], backward[0xff]], [0x52, 0x53, 0x7d]);
    }

    #[test]
    fn a_round_of_the_standard() {
        // FIPS 197, appendix B: round 1.
        let start = 0x193d_e3be_a0f4_e22b_9ac6_8d2a_e9f8_4808_u128.to_be_bytes();
        let key = 0xa0fa_fe17_8854_2cb1_23a3_3939_2a6c_7605_u128.to_be_bytes();
        let end = 0xa49c_7ff2_689f_352b_6b5b_ea43_026a_5049_u128;
        assert_eq!(u128::from_be_bytes(encrypt(start, key)), end);
        assert_eq!(decrypt_last(encrypt_last(start, [0; 16]), [0; 16]), start);
        assert_eq!(inv_mix_columns(mix_columns(start)), start);
        let zero = [0; 16];
        assert_eq!(decrypt(shift_rows(sub_bytes(mix_columns(start)), 1), zero), inv_mix_columns(mix_columns(start)));
    }

    #[test]
    fn the_first_word_of_a_key_schedule() {
        // FIPS 197, appendix A.1: w[3] = 09cf4f3c, and SubWord(RotWord(w[3])) xor Rcon[1] = 8b84eb01.
        let mut block = [0; 16];
        block[12..].copy_from_slice(&[0x09, 0xcf, 0x4f, 0x3c]);
        assert_eq!(key_assist(block, 1)[12..], [0x8b, 0x84, 0xeb, 0x01]);
    }
}
