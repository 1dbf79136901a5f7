//! Montgomery products: r := a b / B^n mod m for an odd modulus m of n limbs, and r := x / B^n mod m for 2n limbs.
//!
//! Source: P. L. Montgomery, "Modular multiplication without trial division", Mathematics of Computation 44 (1985). With
//! n0 = -m^-1 mod B, the multiple q m with q = x_0 n0 mod B makes the lowest limb of x + q m zero; n such steps, each a limb
//! higher, make n limbs zero. From x < m B^n the sum is below 2 m B^n, so that what stands above the zeros is below 2 m, of n
//! limbs and a carry, and m is taken from it once, or not: by a mask, or by what a flag selects.
//!
//! A modulus lies in memory behind its n0: there are six registers for arguments.

mod block;
mod fused;
mod rows;

use super::{Limbs, mulx, scale, square, sum, words};
use crate::family::{Contract, Knob, Lowering, Role, Strategy, count, limbs, limbs_of};
use crate::ir::Builder;
use crate::ir::typed::Gpr;
use crate::spec::Access::{In, Out, Scratch};

const MODULUS: Role = limbs_of("m", In, "n + 1", "montgomery modulus");
const PRODUCT: &[Role] = &[
    limbs("r", Out, "n"),
    limbs_of("a", In, "n", "below m"),
    limbs_of("b", In, "n", "below m"),
    MODULUS,
    count("n"),
    limbs("t", Scratch, "4n"),
];
const SQUARE: &[Role] =
    &[limbs("r", Out, "n"), limbs_of("a", In, "n", "below m"), MODULUS, count("n"), limbs("t", Scratch, "4n")];
const REDUCE: &[Role] =
    &[limbs("r", Out, "n"), limbs_of("x", In, "2n", "below m"), MODULUS, count("n"), limbs("t", Scratch, "2n")];

const ROW: &[Knob] = &[Knob::Unroll, Knob::Exact];
const EXACT: &[Knob] = &[Knob::Exact];
const BLOCKS: &[Knob] = &[Knob::Exact, Knob::Block];
const SPLIT: &[Knob] = &[Knob::Exact, Knob::Block, Knob::Split];

/// The contracts of Montgomery products.
#[rustfmt::skip]
pub const CONTRACTS: &[Contract] = &[
    contract!("mont.mul", 64, PRODUCT, false, {
        "portable" ROW: rows::product::<scale::Portable, words::Portable, sum::Portable>,
        "mul" ROW: rows::product::<scale::MulAdc, words::Mul, sum::Chain>,
        "mulx" ROW: rows::product::<mulx::Mulx, words::Mulx, sum::Chain>,
        "mulx_adx" ROW: rows::product::<mulx::MulxAdx, words::Mulx, sum::Chain>,
        "mulx_adx_fused" EXACT: fused::product,
        "mulx_adx_block" BLOCKS: block::product,
        "mulx_adx_split" SPLIT: block::split_product,
    }),
    contract!("mont.square", 64, SQUARE, false, {
        "portable" ROW: rows::square::<scale::Portable, square::PortableSquares, words::Portable, sum::Portable>,
        "mul" ROW: rows::square::<scale::MulAdc, square::MulSquares, words::Mul, sum::Chain>,
        "mulx" ROW: rows::square::<mulx::Mulx, square::MulxSquares, words::Mulx, sum::Chain>,
        "mulx_adx" ROW: rows::square::<mulx::MulxAdx, square::MulxAdxSquares, words::Mulx, sum::Chain>,
        "mulx_adx_block" SPLIT: block::square,
    }),
    contract!("mont.reduce", 64, REDUCE, false, {
        "portable" ROW: rows::reduction::<scale::Portable, words::Portable, sum::Portable>,
        "mul" ROW: rows::reduction::<scale::MulAdc, words::Mul, sum::Chain>,
        "mulx" ROW: rows::reduction::<mulx::Mulx, words::Mulx, sum::Chain>,
        "mulx_adx" ROW: rows::reduction::<mulx::MulxAdx, words::Mulx, sum::Chain>,
        "mulx_adx_block" BLOCKS: block::reduction,
    }),
];

/// The arguments of a function: what is multiplied or reduced, and what they all have.
struct Arguments {
    r: Limbs,
    /// Of a product both factors, else one number.
    numbers: Vec<Limbs>,
    /// Without its n0.
    m: Limbs,
    n: Gpr,
    /// The scratch.
    t: Limbs,
    /// The largest n.
    max: u64,
}

impl Arguments {
    /// Declares the arguments of any of the contracts.
    fn declare(b: &mut Builder, contract: &Contract, lowering: &Lowering<'_>) -> Arguments {
        let numbers = contract.roles.len() - 4;
        let mut limbs = |index: usize| {
            Limbs::new(index as u8, lowering.declare(b, contract, index, index as u8), contract.limb_bits)
        };
        let r = limbs(0);
        let numbers: Vec<Limbs> = (1..=numbers).map(&mut limbs).collect();
        let m = limbs(numbers.len() + 1).at_limb(1);
        let count = numbers.len() + 2;
        let n = lowering.declare(b, contract, count, 0);
        let t =
            Limbs::new(count as u8 + 1, lowering.declare(b, contract, count + 1, count as u8 + 1), contract.limb_bits);
        Arguments { r, numbers, m, n, t, max: lowering.arguments[count].count.1 }
    }
}
