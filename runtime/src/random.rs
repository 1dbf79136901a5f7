//! A small deterministic generator for test operands and the order of rounds. Not for keys: nothing here is secret.

/// SplitMix64 (Steele, Lea, Flood 2014): any seed is good, the state is one word, equal seeds give equal streams.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream for a seed.
    pub const fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 for a bound of 0. The bias for these small bounds does not matter.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// A word whose bits are one with a random probability between about 1/64 and 63/64.
    pub fn word_of_density(&mut self, density: u32) -> u64 {
        // Fold uniform words: an AND halves the density, an OR halves the distance to one.
        (0..6).fold(0, |word, step| if density >> step & 1 == 1 { word | self.word() } else { word & self.word() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_spans_the_range() {
        let mut random = Random::new(1);
        let ones =
            |random: &mut Random, density| (0..256).map(|_| random.word_of_density(density).count_ones()).sum::<u32>();
        assert_eq!(ones(&mut random, 0), 0);
        let sparse = ones(&mut random, 1 << 1);
        let half = ones(&mut random, 1 << 5);
        let dense = ones(&mut random, 63);
        assert!(
            sparse < 256 * 8 && (256 * 28..256 * 36).contains(&half) && dense > 256 * 60,
            "{sparse} {half} {dense}"
        );
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::new(2);
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
