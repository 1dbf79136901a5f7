//! Vector registers that hold blocks: what a mode asks of them, and the two instruction sets that can do it. Knows the AES
//! instructions; knows no mode.

use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place, Xmm, XmmOrMem, Ymm};
use crate::spec::Direction;

/// Registers of blocks. `blocks`: how many of a register's are meant, from the first on; what lies above means nothing.
pub(super) trait Engine {
    /// A register.
    type Reg: Copy + PartialEq;
    /// Blocks of a register.
    const WIDTH: u32;

    /// A new register.
    fn reg(b: &mut Builder) -> Self::Reg;
    /// to := blocks of memory.
    fn load(b: &mut Builder, to: Self::Reg, from: Place, blocks: u32);
    /// to := one block of memory, at a multiple of 16 bytes, in every place.
    fn spread(b: &mut Builder, to: Self::Reg, from: Place);
    /// to := one block of memory in every place.
    fn spread_unaligned(b: &mut Builder, to: Self::Reg, from: Place);
    /// Memory := blocks.
    fn store(b: &mut Builder, to: Place, from: Self::Reg, blocks: u32);
    /// to := from.
    fn copy(b: &mut Builder, to: Self::Reg, from: Self::Reg, blocks: u32);
    /// to := to xor other.
    fn xor(b: &mut Builder, to: Self::Reg, other: Self::Reg, blocks: u32);
    /// to := a xor blocks of memory; `to` is another register than `a`.
    fn xor_place(b: &mut Builder, to: Self::Reg, a: Self::Reg, from: Place, blocks: u32);
    /// state := a round of it; the last one mixes no columns.
    fn round(b: &mut Builder, direction: Direction, last: bool, state: Self::Reg, key: Self::Reg, blocks: u32);
    /// The second block of `to` := memory, where a register has two.
    fn load_second(b: &mut Builder, to: Self::Reg, from: Place);
    /// Memory := the second block of `from`, where a register has two.
    fn store_second(b: &mut Builder, to: Place, from: Self::Reg);
    /// to := a + a constant in memory at a multiple of 32 bytes, as lanes of 32 or of 64 bits without carry between them.
    fn add(b: &mut Builder, bits: u32, to: Self::Reg, a: Self::Reg, constant: Place, blocks: u32);
    /// to := to + other, as lanes of 64 bits.
    fn sum(b: &mut Builder, to: Self::Reg, other: Self::Reg);
    /// state := its bytes in the order that `mask` says, in each block.
    fn shuffle(b: &mut Builder, state: Self::Reg, mask: Self::Reg, blocks: u32);
    /// to := in each block the sign of its dword 1, in its upper half, and 0 in its lower half.
    fn sign_above(b: &mut Builder, to: Self::Reg, from: Self::Reg);
    /// to := the low half of the first block.
    fn low_half(b: &mut Builder, to: Gpr, from: Self::Reg);
    /// Whether registers with so many blocks each are best served by round keys straight from memory.
    fn direct(states: &[(Self::Reg, u32)]) -> bool;
    /// state := a round of one block, with the key in memory at a multiple of 16 bytes.
    fn round_at(b: &mut Builder, direction: Direction, last: bool, state: Self::Reg, key: Place);
    /// What the calling convention asks for at the end.
    fn end(b: &mut Builder);
}

/// For `pshufd`: dword 1 everywhere.
const DWORD_1: i32 = 0b01_01_01_01;

/// A block a register, in the encodings that the first CPUs with AES instructions have.
pub(super) struct Sse;

impl Engine for Sse {
    type Reg = Xmm;
    const WIDTH: u32 = 1;

    fn reg(b: &mut Builder) -> Xmm {
        b.xmm()
    }

    fn load(b: &mut Builder, to: Xmm, from: Place, _: u32) {
        b.movdqu_load(to, from);
    }

    fn spread(b: &mut Builder, to: Xmm, from: Place) {
        b.movdqa_load(to, from);
    }

    fn spread_unaligned(b: &mut Builder, to: Xmm, from: Place) {
        b.movdqu_load(to, from);
    }

    fn store(b: &mut Builder, to: Place, from: Xmm, _: u32) {
        b.movdqu_store(to, from);
    }

    fn copy(b: &mut Builder, to: Xmm, from: Xmm, _: u32) {
        b.movdqa_x(to, from);
    }

    fn xor(b: &mut Builder, to: Xmm, other: Xmm, _: u32) {
        b.pxor_x(to, other);
    }

    fn xor_place(b: &mut Builder, to: Xmm, a: Xmm, from: Place, _: u32) {
        b.movdqu_load(to, from);
        b.pxor_x(to, a);
    }

    fn round(b: &mut Builder, direction: Direction, last: bool, state: Xmm, key: Xmm, _: u32) {
        sse_round(b, direction, last, state, key);
    }

    fn low_half(b: &mut Builder, to: Gpr, from: Xmm) {
        b.movq_out_x(to, from);
    }

    // A block or two wait for their rounds, not for memory, and one instruction less a round is one less.
    fn direct(states: &[(Xmm, u32)]) -> bool {
        states.len() <= 2
    }

    fn round_at(b: &mut Builder, direction: Direction, last: bool, state: Xmm, key: Place) {
        sse_round(b, direction, last, state, key);
    }

    fn load_second(_: &mut Builder, _: Xmm, _: Place) {
        unreachable!("a block a register");
    }

    fn store_second(_: &mut Builder, _: Place, _: Xmm) {
        unreachable!("a block a register");
    }

    fn add(b: &mut Builder, bits: u32, to: Xmm, a: Xmm, constant: Place, _: u32) {
        if to != a {
            b.movdqa_x(to, a);
        }
        if bits == 32 {
            b.paddd_x(to, constant);
        } else {
            b.paddq_x(to, constant);
        }
    }

    fn sum(b: &mut Builder, to: Xmm, other: Xmm) {
        b.paddq_x(to, other);
    }

    fn shuffle(b: &mut Builder, state: Xmm, mask: Xmm, _: u32) {
        b.pshufb_x(state, mask);
    }

    fn sign_above(b: &mut Builder, to: Xmm, from: Xmm) {
        b.pshufd(to, from, DWORD_1);
        b.psrad_x(to, 31);
        b.psrldq(to, 8);
        b.pslldq(to, 8);
    }

    fn end(_: &mut Builder) {}
}

/// The instruction of a round: of those that encipher and those that decipher, the one for any round or for the last.
fn of_round<I>(direction: Direction, last: bool, [encrypt, decrypt]: [[I; 2]; 2]) -> I {
    let [any, end] = match direction {
        Direction::Encrypt => encrypt,
        Direction::Decrypt => decrypt,
    };
    if last { end } else { any }
}

fn sse_round(b: &mut Builder, direction: Direction, last: bool, state: Xmm, key: impl Into<XmmOrMem>) {
    type Round = fn(&mut Builder, Xmm, XmmOrMem);
    let rounds: [[Round; 2]; 2] = [[Builder::aesenc, Builder::aesenclast], [Builder::aesdec, Builder::aesdeclast]];
    of_round(direction, last, rounds)(b, state, key.into());
}

fn vex_round(b: &mut Builder, direction: Direction, last: bool, state: Xmm, key: impl Into<XmmOrMem>) {
    type Round = fn(&mut Builder, Xmm, Xmm, XmmOrMem);
    let rounds: [[Round; 2]; 2] =
        [[Builder::vaesenc_x, Builder::vaesenclast_x], [Builder::vaesdec_x, Builder::vaesdeclast_x]];
    of_round(direction, last, rounds)(b, state, state, key.into());
}

/// Two blocks a register.
pub(super) struct Vaes256;

impl Engine for Vaes256 {
    type Reg = Ymm;
    const WIDTH: u32 = 2;

    fn reg(b: &mut Builder) -> Ymm {
        b.ymm()
    }

    fn load(b: &mut Builder, to: Ymm, from: Place, blocks: u32) {
        if blocks == 1 {
            b.vmovdqu_load_x(to.low(), from);
        } else {
            b.vmovdqu_load_y(to, from);
        }
    }

    fn spread(b: &mut Builder, to: Ymm, from: Place) {
        b.vbroadcasti128(to, from);
    }

    fn spread_unaligned(b: &mut Builder, to: Ymm, from: Place) {
        b.vbroadcasti128(to, from);
    }

    fn store(b: &mut Builder, to: Place, from: Ymm, blocks: u32) {
        if blocks == 1 {
            b.vmovdqu_store_x(to, from.low());
        } else {
            b.vmovdqu_store_y(to, from);
        }
    }

    fn copy(b: &mut Builder, to: Ymm, from: Ymm, blocks: u32) {
        if blocks == 1 {
            b.vmovdqa_x(to.low(), from.low());
        } else {
            b.vmovdqa_y(to, from);
        }
    }

    fn xor(b: &mut Builder, to: Ymm, other: Ymm, blocks: u32) {
        if blocks == 1 {
            b.vpxor_x(to.low(), to.low(), other.low());
        } else {
            b.vpxor_y(to, to, other);
        }
    }

    fn xor_place(b: &mut Builder, to: Ymm, a: Ymm, from: Place, blocks: u32) {
        if blocks == 1 {
            b.vpxor_x(to.low(), a.low(), from);
        } else {
            b.vpxor_y(to, a, from);
        }
    }

    fn round(b: &mut Builder, direction: Direction, last: bool, state: Ymm, key: Ymm, blocks: u32) {
        type Round = fn(&mut Builder, Ymm, Ymm, Ymm);
        let rounds: [[Round; 2]; 2] =
            [[Builder::vaesenc_y, Builder::vaesenclast_y], [Builder::vaesdec_y, Builder::vaesdeclast_y]];
        if blocks == 1 {
            vex_round(b, direction, last, state.low(), key.low());
        } else {
            of_round(direction, last, rounds)(b, state, state, key);
        }
    }

    fn low_half(b: &mut Builder, to: Gpr, from: Ymm) {
        b.vmovq_out_x(to, from.low());
    }

    fn direct(states: &[(Ymm, u32)]) -> bool {
        matches!(states, [(_, 1)])
    }

    fn round_at(b: &mut Builder, direction: Direction, last: bool, state: Ymm, key: Place) {
        vex_round(b, direction, last, state.low(), key);
    }

    fn load_second(b: &mut Builder, to: Ymm, from: Place) {
        b.vinserti128(to, to, from, 1);
    }

    fn store_second(b: &mut Builder, to: Place, from: Ymm) {
        b.vextracti128(to, from, 1);
    }

    fn add(b: &mut Builder, bits: u32, to: Ymm, a: Ymm, constant: Place, blocks: u32) {
        match (bits, blocks) {
            (32, 1) => b.vpaddd_x(to.low(), a.low(), constant),
            (32, _) => b.vpaddd_y(to, a, constant),
            (_, 1) => b.vpaddq_x(to.low(), a.low(), constant),
            (_, _) => b.vpaddq_y(to, a, constant),
        }
    }

    fn sum(b: &mut Builder, to: Ymm, other: Ymm) {
        b.vpaddq_y(to, to, other);
    }

    fn shuffle(b: &mut Builder, state: Ymm, mask: Ymm, blocks: u32) {
        if blocks == 1 {
            b.vpshufb_x(state.low(), state.low(), mask.low());
        } else {
            b.vpshufb_y(state, state, mask);
        }
    }

    fn sign_above(b: &mut Builder, to: Ymm, from: Ymm) {
        b.vpshufd_y(to, from, DWORD_1);
        b.vpsrad_y(to, to, 31);
        b.vpsrldq_y(to, to, 8);
        b.vpslldq_y(to, to, 8);
    }

    fn end(b: &mut Builder) {
        b.vzeroupper();
    }
}
