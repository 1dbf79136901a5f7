//! Kernels on limbs. Knows the algorithms, the order of the carries and the shape of loops and tails; knows no TOML and no
//! physical register but those that an instruction fixes.
//!
//! B is 2^bits throughout. Numbers are least significant limb first.

mod block;
mod block_square;
mod divide;
mod karatsuba;
mod mulx;
mod paired;
mod pairs;
mod product;
mod propagate;
mod scale;
mod square;
mod sum;
mod wide;
mod words;
mod xmm;

use super::{Contract, Knob, Role, Strategy, count, limb, limb_of, limbs};
use crate::ir::Builder;
use crate::ir::typed::{Gpr, Mmx, Place};
use crate::spec::Access::{In, InOut, Out, Scratch};

const SET: &[Role] = &[limbs("r", Out, "n"), limbs("a", In, "n"), count("n"), limb("w")];
const UPDATE: &[Role] = &[limbs("r", InOut, "n"), limbs("a", In, "n"), count("n"), limb("w")];
const UPDATE_ON: &[Role] = &[limbs("r", InOut, "n + more"), limbs("a", In, "n"), count("n"), count("more"), limb("w")];
const SQUARES_ON: &[Role] = &[limbs("r", InOut, "2n + more"), limbs("a", In, "n"), count("n"), count("more")];
const SUM: &[Role] = &[limbs("r", Out, "n"), limbs("a", In, "n"), limbs("b", In, "n"), count("n")];
const DIVIDE: &[Role] = &[
    limbs("q", Out, "1"),
    limb_of("hi", "below d"),
    limb("lo"),
    limb_of("d", "normalised"),
    limb_of("v", "reciprocal of d"),
];
const DIVIDE_PUBLIC: &[Role] =
    &[limbs("q", Out, "1"), limb_of("hi", "below d"), limb("lo"), limb_of("d", "normalised")];
const RECIPROCAL: &[Role] = &[limb_of("d", "normalised")];
const PRODUCT: &[Role] =
    &[limbs("r", Out, "2n"), limbs("a", In, "n"), limbs("b", In, "n"), count("n"), limbs("t", Scratch, "2n")];
const SQUARE: &[Role] = &[limbs("r", Out, "2n"), limbs("a", In, "n"), count("n"), limbs("t", Scratch, "2n")];

const ROW: &[Knob] = &[Knob::Unroll, Knob::Exact];
const ROW_LIVE: &[Knob] = &[Knob::Unroll, Knob::Exact, Knob::BackEdge];
const ROW_OVERLAP: &[Knob] = &[Knob::Unroll, Knob::Exact, Knob::BackEdge, Knob::Overlap];
const ROWS: &[Knob] = &[Knob::Unroll, Knob::Exact, Knob::Rows, Knob::Overlap];
const LOOP: &[Knob] = &[Knob::Unroll];
const BLOCKS: &[Knob] = &[Knob::Unroll, Knob::Exact, Knob::Block];
const EXACT: &[Knob] = &[Knob::Exact];
const SPLIT: &[Knob] = &[Knob::Exact, Knob::Split];
const NONE: &[Knob] = &[];

/// A contract with its strategies: word, parameters, lowering.
macro_rules! contract {
    ($kernel:literal, $bits:literal, $roles:ident, $returns:literal, { $($word:literal $knobs:ident: $lower:expr),* $(,)? }) => {
        Contract {
            kernel: $kernel,
            limb_bits: $bits,
            roles: $roles,
            returns: $returns,
            strategies: &[$(Strategy { word: $word, knobs: $knobs, in_flight: None, lower: $lower }),*],
        }
    };
}

pub mod montgomery;

/// The contracts of this family.
#[rustfmt::skip]
pub const CONTRACTS: &[Contract] = &[
    contract!("limb64.mul", 64, SET, true, {
        "portable" ROW: scale::row::<scale::Portable, scale::Set>,
        "mul" ROW: scale::row::<scale::MulAdc, scale::Set>,
        "mulx" ROW: scale::row::<mulx::Mulx, scale::Set>,
        "mulx_adx" ROW_OVERLAP: scale::row::<mulx::MulxAdx, scale::Set>,
    }),
    contract!("limb64.mul_add", 64, UPDATE, true, {
        "portable" ROW: scale::row::<scale::Portable, scale::Add>,
        "mul" ROW: scale::row::<scale::MulAdc, scale::Add>,
        "mulx" ROW: scale::row::<mulx::Mulx, scale::Add>,
        "mulx_adx" ROW_OVERLAP: scale::row::<mulx::MulxAdx, scale::Add>,
    }),
    contract!("limb64.mul_sub", 64, UPDATE, true, {
        "portable" ROW: scale::row::<scale::Portable, scale::Sub>,
        "mul" ROW: scale::row::<scale::MulAdc, scale::Sub>,
        "mulx" ROW: scale::row::<mulx::Mulx, scale::Sub>,
        "mulx_adx" ROW_OVERLAP: scale::row::<mulx::MulxAdx, scale::Sub>,
        "mulx_sbb" ROW_LIVE: scale::row::<mulx::MulxSbb, scale::Sub>,
    }),
    contract!("limb32.mul", 32, SET, true, {
        "portable" ROW: scale::row::<scale::Portable, scale::Set>,
        "mul" ROW: scale::row::<wide::Wide<Gpr>, scale::Set>,
        "sse2_mmx" ROW: scale::row::<wide::Wide<Mmx>, scale::Set>,
        "sse2_xmm" ROW: scale::row::<xmm::Pmuludq, scale::Set>,
        "mul_pairs" ROW: scale::row::<paired::Paired<scale::MulAdc>, scale::Set>,
        "mulx_adx_pairs" ROW: scale::row::<paired::Paired<mulx::MulxAdx>, scale::Set>,
    }),
    contract!("limb32.mul_add", 32, UPDATE, true, {
        "portable" ROW: scale::row::<scale::Portable, scale::Add>,
        "mul" ROW: scale::row::<wide::Wide<Gpr>, scale::Add>,
        "sse2_mmx" ROW: scale::row::<wide::Wide<Mmx>, scale::Add>,
        "sse2_xmm" ROW: scale::row::<xmm::Pmuludq, scale::Add>,
        "mul_pairs" ROW: scale::row::<paired::Paired<scale::MulAdc>, scale::Add>,
        "mulx_adx_pairs" ROW: scale::row::<paired::Paired<mulx::MulxAdx>, scale::Add>,
    }),
    contract!("limb32.mul_sub", 32, UPDATE, true, {
        "portable" ROW: scale::row::<scale::Portable, scale::Sub>,
        "mul" ROW: scale::row::<wide::Wide<Gpr>, scale::Sub>,
        "sse2_mmx" ROW: scale::row::<wide::Wide<Mmx>, scale::Sub>,
        "sse2_xmm" ROW: scale::row::<xmm::Pmuludq, scale::Sub>,
        "mul_pairs" ROW: scale::row::<paired::Paired<scale::MulAdc>, scale::Sub>,
        "mulx_adx_pairs" ROW: scale::row::<paired::Paired<mulx::MulxAdx>, scale::Sub>,
    }),
    contract!("limb64.mul_add_prop", 64, UPDATE_ON, true, {
        "portable" LOOP: propagate::row::<scale::Portable>,
        "mul" LOOP: propagate::row::<scale::MulAdc>,
        "mulx" LOOP: propagate::row::<mulx::Mulx>,
        "mulx_adx" LOOP: propagate::row::<mulx::MulxAdx>,
    }),
    contract!("limb32.mul_add_prop", 32, UPDATE_ON, true, {
        "portable" LOOP: propagate::row::<scale::Portable>,
        "mul" LOOP: propagate::row::<wide::Wide<Gpr>>,
        "sse2_mmx" LOOP: propagate::row::<wide::Wide<Mmx>>,
        "sse2_xmm" LOOP: propagate::row::<xmm::Pmuludq>,
        "mul_pairs" LOOP: propagate::row::<paired::Paired<scale::MulAdc>>,
        "mulx_adx_pairs" LOOP: propagate::row::<paired::Paired<mulx::MulxAdx>>,
    }),
    contract!("limb64.sqr_add_prop", 64, SQUARES_ON, true, {
        "portable" LOOP: propagate::squares::<square::PortableSquares>,
        "mul" LOOP: propagate::squares::<square::MulSquares>,
        "mulx" LOOP: propagate::squares::<square::MulxSquares>,
    }),
    contract!("limb32.sqr_add_prop", 32, SQUARES_ON, true, {
        "portable" LOOP: propagate::squares::<square::PortableSquares>,
        "mul" LOOP: propagate::squares::<wide::WideSquares<Gpr>>,
        "sse2_mmx" LOOP: propagate::squares::<wide::WideSquares<Mmx>>,
    }),
    contract!("limb64.add", 64, SUM, true, {
        "portable" ROW: sum::row::<sum::Portable, sum::Plus>,
        "adc" ROW_LIVE: sum::row::<sum::Chain, sum::Plus>,
    }),
    contract!("limb64.sub", 64, SUM, true, {
        "portable" ROW: sum::row::<sum::Portable, sum::Minus>,
        "adc" ROW_LIVE: sum::row::<sum::Chain, sum::Minus>,
    }),
    contract!("limb32.add", 32, SUM, true, {
        "portable" ROW: sum::row::<sum::Portable, sum::Plus>,
        "adc" ROW_LIVE: sum::row::<sum::Chain, sum::Plus>,
        "sse2_mmx" ROW: sum::row::<wide::WideSum<Mmx>, sum::Plus>,
    }),
    contract!("limb32.sub", 32, SUM, true, {
        "portable" ROW: sum::row::<sum::Portable, sum::Minus>,
        "adc" ROW_LIVE: sum::row::<sum::Chain, sum::Minus>,
        "sse2_mmx" ROW: sum::row::<wide::WideSum<Mmx>, sum::Minus>,
    }),
    contract!("limb64.mul_nxn", 64, PRODUCT, false, {
        "portable" ROW: product::by_rows::<scale::Portable>,
        "mul" ROW: product::by_rows::<scale::MulAdc>,
        "mulx" ROW: product::by_rows::<mulx::Mulx>,
        "mulx_adx" ROWS: pairs::product,
        "mulx_adx_block" BLOCKS: block::product,
        "mulx_adx_split" SPLIT: block::product,
        "sse2_mmx" ROW: product::by_rows::<wide::Wide<Mmx>>,
        "sse2_xmm" ROW: product::by_rows::<xmm::Pmuludq>,
    }),
    contract!("limb32.mul_nxn", 32, PRODUCT, false, {
        "portable" ROW: product::by_rows::<scale::Portable>,
        "mul" ROW: product::by_rows::<wide::Wide<Gpr>>,
        "sse2_mmx" ROW: product::by_rows::<wide::Wide<Mmx>>,
        "sse2_xmm" ROW: product::by_rows::<xmm::Pmuludq>,
    }),
    contract!("limb64.sqr_n", 64, SQUARE, false, {
        "portable" ROW: product::square_by_rows::<scale::Portable, square::PortableSquares>,
        "mul" ROW: product::square_by_rows::<scale::MulAdc, square::MulSquares>,
        "mulx" ROW: product::square_by_rows::<mulx::Mulx, square::MulxSquares>,
        "mulx_adx" ROW: product::square_by_rows::<mulx::MulxAdx, square::MulxAdxSquares>,
        "mulx_adx_block" EXACT: block_square::square,
        "mulx_adx_split" SPLIT: block_square::square,
        "sse2_mmx" ROW: product::square_by_rows::<wide::Wide<Mmx>, wide::WideSquares<Mmx>>,
        "sse2_xmm" ROW: product::square_by_rows::<xmm::Pmuludq, wide::WideSquares<Gpr>>,
    }),
    contract!("limb32.sqr_n", 32, SQUARE, false, {
        "portable" ROW: product::square_by_rows::<scale::Portable, square::PortableSquares>,
        "mul" ROW: product::square_by_rows::<wide::Wide<Gpr>, wide::WideSquares<Gpr>>,
        "sse2_mmx" ROW: product::square_by_rows::<wide::Wide<Mmx>, wide::WideSquares<Mmx>>,
        "sse2_xmm" ROW: product::square_by_rows::<xmm::Pmuludq, wide::WideSquares<Gpr>>,
    }),
    contract!("limb64.reciprocal", 64, RECIPROCAL, true, {
        "portable" NONE: divide::reciprocal::<words::Portable>,
        "mul" NONE: divide::reciprocal::<words::Mul>,
        "mulx" NONE: divide::reciprocal::<words::Mulx>,
    }),
    contract!("limb32.reciprocal", 32, RECIPROCAL, true, {
        "portable" NONE: divide::reciprocal::<words::Portable>,
        "mul" NONE: divide::reciprocal::<words::Narrow>,
    }),
    contract!("limb64.div_2by1", 64, DIVIDE, true, {
        "portable" NONE: divide::by_reciprocal::<words::Portable>,
        "mul" NONE: divide::by_reciprocal::<words::Mul>,
        "mulx" NONE: divide::by_reciprocal::<words::Mulx>,
    }),
    contract!("limb32.div_2by1", 32, DIVIDE, true, {
        "portable" NONE: divide::by_reciprocal::<words::Portable>,
        "mul" NONE: divide::by_reciprocal::<words::Narrow>,
    }),
    contract!("limb64.div_2by1_public", 64, DIVIDE_PUBLIC, true, {
        "portable" NONE: divide::public::<words::Portable>,
        "div" NONE: divide::public::<words::Mul>,
    }),
    contract!("limb32.div_2by1_public", 32, DIVIDE_PUBLIC, true, {
        "portable" NONE: divide::public::<words::Portable>,
        "div" NONE: divide::public::<words::Narrow>,
    }),
];

/// Limbs behind a pointer: whose they are, and the register that walks over them.
#[derive(Clone, Copy)]
struct Limbs {
    /// The argument; in a subroutine, whatever the register points into.
    argument: Option<u8>,
    at: Gpr,
    /// Bytes of a limb.
    bytes: i32,
    /// Bytes from the register to the first of these.
    offset: i32,
}

impl Limbs {
    /// The limbs that begin where `at` points, which is behind the argument at this index.
    fn new(argument: u8, at: Gpr, bits: u32) -> Limbs {
        Limbs { argument: Some(argument), at, bytes: bits as i32 / 8, offset: 0 }
    }

    /// The same limbs as a subroutine sees them behind a register of its own.
    fn pointed(&self, at: Gpr) -> Limbs {
        Limbs { argument: None, at, offset: 0, ..*self }
    }

    /// to := the place where these limbs begin.
    fn address(&self, b: &mut Builder, to: Gpr) {
        let begin = self.limb(b, 0);
        b.lea(to, begin);
    }

    /// The limbs from the one `i` places from here on.
    fn at_limb(&self, i: u32) -> Limbs {
        Limbs { offset: self.offset + self.bytes * i as i32, ..*self }
    }

    /// The same memory as limbs of twice the size.
    fn pairs(&self) -> Limbs {
        Limbs { bytes: 2 * self.bytes, ..*self }
    }

    /// The limb before that one.
    fn before(&self, b: &Builder, i: u32) -> Place {
        let mut place = self.limb(b, i);
        place.0.disp -= self.bytes;
        place
    }

    /// The limb `i` places from here.
    fn limb(&self, b: &Builder, i: u32) -> Place {
        let disp = self.offset + self.bytes * i as i32;
        match self.argument {
            Some(argument) => b.at(argument, self.at, disp),
            None => b.at_pointed(self.at, disp),
        }
    }

    /// Walks on.
    fn advance(&self, b: &mut Builder, limbs: u32) {
        let by = Limbs { offset: 0, ..*self }.limb(b, limbs);
        b.lea(self.at, by);
    }

    /// Another pointer to the same place.
    fn copy(&self, b: &mut Builder) -> Limbs {
        let at = b.gpr();
        b.mov(at, self.at);
        Limbs { at, ..*self }
    }
}

/// CF := the carry, which is 0 or 1.
fn to_flag(b: &mut Builder, carry: Gpr) {
    b.note("the carry into CF");
    b.add_ri(carry, -1);
}

/// The carry := CF.
fn from_flag(b: &mut Builder, carry: Gpr) {
    b.note("the carry out of CF");
    b.mov_imm32(carry, 0);
    b.adc_ri(carry, 0);
}
