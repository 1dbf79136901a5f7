//! Data to work on.

/// A generator of test data (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.word() as u8).collect()
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.word() as u8)
    }

    /// Lengths of pieces that make up a length, some of them zero, each a multiple of the unit.
    pub fn pieces(&mut self, length: usize, unit: usize) -> Vec<usize> {
        let (mut pieces, mut left) = (Vec::new(), length / unit);
        while left > 0 {
            let most = if self.below(2) == 0 { left } else { left.min(20) };
            let piece = self.below(most + 1);
            pieces.push(piece * unit);
            left -= piece;
        }
        pieces
    }
}

/// Numbers of blocks with every tail of every unroll, exact multiples of them, and some beyond the largest size class.
pub fn block_counts() -> impl Iterator<Item = usize> {
    (0..=50).chain([63, 64, 65, 511, 512, 513, 700])
}

/// Buffers that outputs begin as, so that a byte that was not written shows.
pub fn unwritten(length: usize) -> Vec<u8> {
    vec![0xa5; length]
}

/// Runs checks for each size of the key, with Kiln's type and RustCrypto's.
macro_rules! for_each_size {
    ($check:ident) => {
        $check!(kiln::aes::Aes128, aes::Aes128, 16);
        $check!(kiln::aes::Aes192, aes::Aes192, 24);
        $check!(kiln::aes::Aes256, aes::Aes256, 32);
    };
}
pub(crate) use for_each_size;
