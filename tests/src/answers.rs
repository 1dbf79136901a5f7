//! The right result of every kernel: of those on limbs by big integers, of a cipher's by somebody else's rounds, of a table's by its layout. Shares nothing
//! with the references of `kiln-kernels`.

use crate::block_cipher;
use crate::operands::{Operands, Results, limbs_of, mask};
use crate::tables;
use num_bigint::BigUint;

/// The kernels on limbs whose right results are known here, behind `limb32.` and `limb64.`.
pub const KERNELS: [&str; 12] = [
    "mul",
    "mul_add",
    "mul_sub",
    "mul_add_prop",
    "sqr_add_prop",
    "add",
    "sub",
    "mul_nxn",
    "sqr_n",
    "reciprocal",
    "div_2by1",
    "div_2by1_public",
];

/// The kernels whose right results are known here, behind `mont.`.
pub const MONTGOMERY: [&str; 3] = ["mul", "square", "reduce"];

/// What a call must leave.
///
/// # Panics
/// When the kernel is not one of [`KERNELS`] or [`MONTGOMERY`], and neither a cipher's nor a table's.
pub fn expected(operands: &Operands) -> Results {
    if operands.kernel().cipher.is_some() {
        return block_cipher::expected(operands);
    }
    if operands.kernel().name.starts_with("table.") {
        return tables::expected(operands);
    }
    let bits = operands.bits();
    let number = |name: &str| operands.number(name);
    let limb = |name: &str| BigUint::from(operands.integer_of(name) & mask(bits));
    let base = BigUint::from(1u8) << bits;
    // A number that fills the limbs of `r`, and what is carried out of them.
    let carried = |sum: BigUint| {
        let count = operands.limbs_of("r").len();
        let modulus = BigUint::from(1u8) << (bits as usize * count);
        (limbs_of(bits, &(&sum % &modulus), count), Some(limbs_of(bits, &(sum / modulus), 1)[0]))
    };
    // The least limb `borrow` with `from + borrow B^n >= taken`, and that difference.
    let borrowed = |from: BigUint, taken: BigUint| {
        let count = operands.limbs_of("r").len();
        let modulus = BigUint::from(1u8) << (bits as usize * count);
        let missing = if taken > from { &taken - &from } else { BigUint::ZERO };
        let borrow = (missing + &modulus - 1u8) / &modulus;
        let difference = from + &borrow * modulus - taken;
        (limbs_of(bits, &difference, count), Some(limbs_of(bits, &borrow, 1)[0]))
    };
    let (family, kernel) = operands.kernel().name.split_once('.').expect("a family and a kernel");
    if family == "mont" {
        let whole = match kernel {
            "mul" => number("a") * number("b"),
            "square" => number("a").pow(2),
            "reduce" => number("x"),
            _ => panic!("nobody has said what {} computes", operands.kernel().name),
        };
        return Results { written: vec![("r", reduced(operands, whole))], returned: None };
    }
    let (written, returned) = match kernel {
        "mul" => carried(number("a") * limb("w")),
        "mul_add" | "mul_add_prop" => carried(number("r") + number("a") * limb("w")),
        "mul_sub" => borrowed(number("r"), number("a") * limb("w")),
        "sqr_add_prop" => {
            let squares = operands.limbs_of("a").iter().enumerate();
            let square = |(index, limb): (usize, &u64)| BigUint::from(*limb).pow(2) << (2 * bits as usize * index);
            carried(number("r") + squares.map(square).sum::<BigUint>())
        }
        "add" => carried(number("a") + number("b")),
        "sub" => borrowed(number("a"), number("b")),
        "mul_nxn" => (carried(number("a") * number("b")).0, None),
        "sqr_n" => (carried(number("a").pow(2)).0, None),
        "reciprocal" => {
            let reciprocal = (&base * &base - 1u8) / limb("d") - base;
            return Results { written: Vec::new(), returned: Some(limbs_of(bits, &reciprocal, 1)[0]) };
        }
        "div_2by1" | "div_2by1_public" => {
            let (dividend, divisor) = (limb("hi") * base + limb("lo"), limb("d"));
            let (quotient, remainder) = (&dividend / &divisor, dividend % divisor);
            let written = vec![("q", limbs_of(bits, &quotient, 1))];
            return Results { written, returned: Some(limbs_of(bits, &remainder, 1)[0]) };
        }
        _ => panic!("nobody has said what {} computes", operands.kernel().name),
    };
    Results { written: vec![("r", written)], returned }
}

/// whole / B^n mod m, where m lies behind its negated inverse: division by the inverse of B^n, and no Montgomery step.
fn reduced(operands: &Operands, whole: BigUint) -> Vec<u64> {
    let bits = operands.bits();
    let n = operands.limbs_of("r").len();
    let modulus = operands.number("m") >> bits;
    let radix = BigUint::from(1u8) << (bits as usize * n);
    let inverse = radix.modinv(&modulus).expect("the modulus is odd");
    limbs_of(bits, &(whole * inverse % modulus), n)
}
