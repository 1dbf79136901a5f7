//! The arguments of a mode: their numbers, and the places of their blocks. Knows no round and nothing in flight.

use crate::family::{Contract, Lowering};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Place};
use crate::spec::Mode;

pub(super) const OUTPUT: u8 = 0;
pub(super) const INPUT: u8 = 1;
pub(super) const COUNT: u8 = 2;
pub(super) const KEYS: u8 = 3;
pub(super) const IV: u8 = 4;
/// Bytes of a block.
pub(super) const BLOCK: i32 = 16;

/// The arguments. Output and input walk together; the keys and the `iv` each have a cursor of their own.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub output: Gpr,
    pub input: Gpr,
    pub n: Gpr,
    pub keys: Gpr,
    iv: Option<Gpr>,
}

impl Ends {
    /// Declares them, the `iv` where the mode has one.
    pub fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>, mode: &Mode) -> Ends {
        let mut declare = |argument: u8, cursor: u8| lowering.declare(b, contract, usize::from(argument), cursor);
        let (output, input, n, keys) = (declare(OUTPUT, 0), declare(INPUT, 0), declare(COUNT, 0), declare(KEYS, 1));
        let iv = mode.chained().then(|| declare(IV, 2));
        Ends { output, input, n, keys, iv }
    }

    /// The block of the input so many places on.
    pub fn input(&self, b: &Builder, block: i32) -> Place {
        b.at(INPUT, self.input, BLOCK * block)
    }

    /// The block of the output so many places on.
    pub fn output(&self, b: &Builder, block: i32) -> Place {
        b.at(OUTPUT, self.output, BLOCK * block)
    }

    /// The `iv` of the message so many places on.
    pub fn iv(&self, b: &Builder, message: u32) -> Place {
        b.at(IV, self.ivs(), BLOCK * message as i32)
    }

    /// The pointer to the `iv` of the first message.
    pub fn ivs(&self) -> Gpr {
        self.iv.expect("a mode with an iv")
    }

    /// Moves output and input so many blocks on.
    pub fn advance(&self, b: &mut Builder, blocks: u32) {
        b.advance(OUTPUT, self.output, BLOCK * blocks as i32);
        b.advance(INPUT, self.input, BLOCK * blocks as i32);
    }
}
