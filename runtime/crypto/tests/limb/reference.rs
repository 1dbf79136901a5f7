//! The references of both limb sizes under one trait, and operands whose carries go far.

use kiln::limb::Limb;
use kiln_kernels::reference as plain;

type Row<L> = fn(&mut [L], &[L], L) -> L;
type TwoRows<L> = fn(&mut [L], &[L], &[L]) -> L;
type Product<L> = fn(&mut [L], &[L], &[L], &mut [L]);

/// The references of a limb type.
pub struct Reference<L> {
    pub mul: Row<L>,
    pub mul_add: Row<L>,
    pub mul_sub: Row<L>,
    pub mul_add_prop: Row<L>,
    pub sqr_add_prop: fn(&mut [L], &[L]) -> L,
    pub add: TwoRows<L>,
    pub sub: TwoRows<L>,
    pub mul_nxn: Product<L>,
    pub sqr_n: fn(&mut [L], &[L], &mut [L]),
    pub division: fn(&mut [L], L, L, L) -> L,
}

/// A limb with its references.
pub trait Checked: Limb {
    const REFERENCE: Reference<Self>;
    /// The low bits.
    fn cut(word: u64) -> Self;
    /// The high bit set.
    fn normalised(self) -> Self;
    /// What is left of it by a divisor that is not 0.
    fn below(self, divisor: Self) -> Self;
}

impl Checked for u64 {
    const REFERENCE: Reference<u64> = Reference {
        mul: plain::limb64_mul,
        mul_add: plain::limb64_mul_add,
        mul_sub: plain::limb64_mul_sub,
        mul_add_prop: plain::limb64_mul_add_prop,
        sqr_add_prop: plain::limb64_sqr_add_prop,
        add: plain::limb64_add,
        sub: plain::limb64_sub,
        mul_nxn: plain::limb64_mul_nxn,
        sqr_n: plain::limb64_sqr_n,
        division: plain::limb64_div_2by1_public,
    };

    fn cut(word: u64) -> u64 {
        word
    }

    fn normalised(self) -> u64 {
        self | 1 << 63
    }

    fn below(self, divisor: u64) -> u64 {
        self % divisor
    }
}

impl Checked for u32 {
    const REFERENCE: Reference<u32> = Reference {
        mul: plain::limb32_mul,
        mul_add: plain::limb32_mul_add,
        mul_sub: plain::limb32_mul_sub,
        mul_add_prop: plain::limb32_mul_add_prop,
        sqr_add_prop: plain::limb32_sqr_add_prop,
        add: plain::limb32_add,
        sub: plain::limb32_sub,
        mul_nxn: plain::limb32_mul_nxn,
        sqr_n: plain::limb32_sqr_n,
        division: plain::limb32_div_2by1_public,
    };

    fn cut(word: u64) -> u32 {
        // The high half, which is the better one of the generator below.
        (word >> 32) as u32
    }

    fn normalised(self) -> u32 {
        self | 1 << 31
    }

    fn below(self, divisor: u32) -> u32 {
        self % divisor
    }
}

/// Operands that follow from a seed (SplitMix64).
pub struct Operands(pub u64);

impl Operands {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// One limb: any, all zero, all one, or near them.
    pub fn limb<L: Checked>(&mut self) -> L {
        match self.word() % 8 {
            0 => L::cut(0),
            1 => L::cut(u64::MAX),
            2 => L::cut(1 << (self.word() % 64)),
            _ => L::cut(self.word()),
        }
    }

    /// A number: each limb drawn by itself, or all of them one, for carries that go through it all.
    pub fn limbs<L: Checked>(&mut self, n: usize) -> Vec<L> {
        match self.word() % 4 {
            0 => vec![L::cut(u64::MAX); n],
            _ => (0..n).map(|_| self.limb()).collect(),
        }
    }
}
