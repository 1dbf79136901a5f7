//! The S-box of AES and its inverse as lists of gates on the eight bits of a byte, 80 XOR and 32 AND each. Knows no layout: a
//! gate works on as many bytes as a word has places.
//!
//! The constant 0x63 of the affine map is left out, and no gate inverts: the round keys bring it (see `layers`).
//!
//! The nonlinear middle, the inversion in GF(2^8) by way of GF(2^4) and GF(2^2), is that of Boyar and Peralta, "A new
//! combinational logic minimization technique with applications to cryptology" (SEA 2010). The linear layers around it were
//! searched with the heuristic of the same paper over the automorphisms of the inversion, inv(x) = c s^-1(inv(s(c x))) for
//! every c != 0 and every Frobenius map s. 110 gates are the fewest found; these 112 have fewer values alive at once, and run
//! faster where registers are few.

use super::{State, and, xor};
use crate::ir::Builder;

/// One gate on two earlier values: 0 to 7 are the bits of the byte, least significant first, then come the gates.
#[derive(Clone, Copy)]
enum Gate {
    Xor(u8, u8),
    And(u8, u8),
}
use Gate::{And, Xor};

/// Gates in an order in which they can be computed, and which values are the bits of the result.
pub(super) struct Gates {
    gates: [Gate; 112],
    outputs: [u8; 8],
}

impl Gates {
    /// Each byte of the state through the gates.
    pub fn apply(&self, b: &mut Builder, state: State) -> State {
        let mut values = state.to_vec();
        for gate in &self.gates {
            let value = |index: u8| values[usize::from(index)];
            let next = match *gate {
                Xor(x, y) => xor(b, value(x), value(y)),
                And(x, y) => and(b, value(x), value(y)),
            };
            values.push(next);
        }
        self.outputs.map(|output| values[usize::from(output)])
    }
}

/// u to S(u) + 0x63.
#[rustfmt::skip]
pub(super) static FORWARD: Gates = Gates {
    gates: [
        Xor(0, 6), Xor(3, 6), Xor(3, 4), Xor(2, 10), Xor(4, 8), Xor(5, 9), Xor(11, 12), Xor(7, 14), Xor(11, 13),
        Xor(15, 13), Xor(1, 17), Xor(15, 16), And(19, 15), And(17, 7), Xor(21, 20), And(11, 14), Xor(23, 20),
        Xor(8, 19), Xor(9, 25), Xor(18, 26), And(10, 27), And(25, 26), Xor(29, 28), Xor(30, 24), Xor(31, 9),
        Xor(10, 25), And(33, 18), Xor(34, 28), Xor(35, 22), Xor(10, 27), Xor(36, 37), Xor(10, 17), Xor(15, 26),
        Xor(7, 27), And(39, 41), And(8, 40), Xor(43, 42), Xor(44, 24), Xor(45, 12), Xor(14, 18), Xor(8, 39),
        And(48, 47), Xor(49, 42), Xor(50, 22), Xor(51, 16), Xor(52, 46), And(52, 38), Xor(38, 32), Xor(46, 54),
        And(56, 55), Xor(32, 54), Xor(57, 32), Xor(58, 59), And(32, 60), Xor(38, 59), Xor(61, 62), Xor(58, 61),
        And(53, 58), Xor(65, 46), And(66, 64), Xor(53, 67), Xor(66, 68), And(69, 27), And(69, 10), And(68, 18),
        And(66, 26), Xor(70, 72), Xor(73, 72), And(68, 33), Xor(68, 63), And(77, 14), And(66, 25), Xor(66, 59),
        And(80, 15), And(80, 19), Xor(80, 77), And(77, 11), And(83, 7), And(83, 17), Xor(81, 85), Xor(78, 85),
        Xor(84, 86), Xor(82, 86), And(63, 47), And(59, 40), And(63, 48), Xor(59, 63), And(59, 8), And(94, 41),
        And(94, 39), Xor(87, 74), Xor(96, 74), Xor(91, 99), Xor(92, 99), Xor(75, 88), Xor(101, 88), Xor(71, 100),
        Xor(98, 100), Xor(93, 105), Xor(97, 106), Xor(95, 106), Xor(79, 89), Xor(108, 89), Xor(109, 104), Xor(76, 104),
        Xor(111, 107), Xor(107, 112), Xor(90, 112), Xor(114, 102), Xor(98, 113), Xor(105, 103), Xor(113, 103),
    ],
    outputs: [113, 102, 118, 115, 119, 117, 116, 110],
};

/// u to S^-1(u + 0x63).
#[rustfmt::skip]
pub(super) static BACKWARD: Gates = Gates {
    gates: [
        Xor(1, 6), Xor(1, 7), Xor(0, 5), Xor(10, 8), Xor(0, 8), Xor(4, 8), Xor(0, 9), Xor(2, 11), Xor(13, 15),
        Xor(7, 16), Xor(2, 17), Xor(3, 18), Xor(4, 19), Xor(11, 17), Xor(21, 9), And(19, 5), And(16, 20), Xor(24, 23),
        Xor(5, 20), Xor(17, 26), Xor(12, 27), Xor(27, 22), And(13, 28), And(29, 27), Xor(31, 30), Xor(25, 32),
        Xor(33, 22), And(14, 11), And(15, 21), Xor(36, 35), Xor(37, 32), Xor(38, 18), Xor(16, 19), And(40, 26),
        Xor(41, 23), Xor(13, 29), And(43, 12), Xor(44, 30), Xor(42, 45), Xor(40, 29), And(47, 17), Xor(48, 35),
        Xor(49, 45), Xor(13, 28), Xor(46, 51), Xor(11, 14), Xor(50, 53), Xor(52, 34), And(52, 54), Xor(54, 39),
        Xor(34, 56), And(58, 57), Xor(39, 56), Xor(59, 39), Xor(60, 61), And(39, 62), Xor(54, 61), Xor(63, 64),
        Xor(60, 63), And(55, 60), Xor(67, 34), And(68, 66), Xor(55, 69), And(65, 26), And(61, 20), And(68, 21),
        Xor(61, 65), And(74, 5), And(74, 19), And(65, 40), Xor(70, 65), And(78, 27), Xor(73, 79), Xor(72, 79),
        And(70, 17), And(70, 47), Xor(68, 70), And(84, 11), And(84, 14), And(61, 16), Xor(68, 61), And(68, 15),
        And(88, 28), Xor(75, 90), Xor(85, 90), Xor(82, 80), Xor(92, 80), And(88, 13), Xor(88, 78), And(78, 29),
        And(96, 12), And(96, 43), Xor(71, 93), Xor(98, 93), Xor(81, 100), Xor(91, 100), Xor(97, 99), Xor(95, 99),
        Xor(89, 102), Xor(106, 83), Xor(86, 83), Xor(104, 107), Xor(87, 107), Xor(110, 77), Xor(76, 77), Xor(101, 111),
        Xor(112, 105), Xor(108, 113), Xor(115, 105), Xor(103, 109), Xor(117, 113), Xor(94, 114),
    ],
    outputs: [109, 116, 102, 114, 119, 111, 117, 118],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The gates on one byte.
    fn byte(gates: &Gates, byte: u8) -> u8 {
        let mut bits: Vec<u8> = (0..8).map(|bit| byte >> bit & 1).collect();
        for gate in &gates.gates {
            let bit = |index: u8| bits[usize::from(index)];
            bits.push(match *gate {
                Xor(x, y) => bit(x) ^ bit(y),
                And(x, y) => bit(x) & bit(y),
            });
        }
        (0..8).zip(gates.outputs).fold(0, |byte, (bit, output)| byte | bits[usize::from(output)] << bit)
    }

    fn times(a: u8, b: u8) -> u8 {
        let double = |a: u8| a << 1 ^ if a & 0x80 == 0 { 0 } else { 0x1b };
        let step = |(sum, a): (u8, u8), bit: u8| (sum ^ if b >> bit & 1 == 0 { 0 } else { a }, double(a));
        (0..8).fold((0, a), step).0
    }

    /// FIPS 197, section 5.1.1: the inverse in the field, then the affine map.
    #[test]
    fn the_gates_are_the_s_box_and_its_inverse() {
        for x in 0..=255 {
            let inverse = (0..=255).find(|y| times(x, *y) == 1).unwrap_or(0);
            let affine = (1..=4).fold(inverse, |sum, by| sum ^ inverse.rotate_left(by));
            assert_eq!(byte(&FORWARD, x), affine);
            assert_eq!(byte(&BACKWARD, affine), x);
        }
    }
}
