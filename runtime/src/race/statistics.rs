//! Order statistics and the sign test. Pure functions of samples.

/// The sample at this fraction of the sorted order (nearest rank below); `None` without samples.
pub fn quantile(samples: &[u64], fraction: f64) -> Option<u64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * fraction) as usize).copied()
}

/// Two-sided sign test: how likely a split at least this uneven is when neither of a pair is faster. Equal pairs are
/// left out before. 1 without pairs.
///
/// ```
/// use kiln_runtime::race::sign_test;
/// assert!(sign_test(12, 12) > 0.99);
/// assert!(sign_test(8, 0) < 0.01);
/// ```
pub fn sign_test(wins: u32, losses: u32) -> f64 {
    let pairs = wins + losses;
    // Sum of binomial(pairs, k) / 2^pairs for k from 0 to the smaller count, by the ratio of neighbouring terms.
    let mut term = 0.5f64.powi(pairs.min(1000) as i32);
    let mut tail = term;
    for k in 0..wins.min(losses) {
        term *= f64::from(pairs - k) / f64::from(k + 1);
        tail += term;
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        assert_eq!(quantile(&[], 0.25), None);
        assert_eq!(quantile(&[7], 0.25), Some(7));
        assert_eq!(quantile(&[5, 1, 4, 2, 3], 0.25), Some(2));
        assert_eq!(quantile(&[5, 1, 4, 2, 3], 0.5), Some(3));
        assert_eq!(quantile(&[u64::MAX, 0], 1.0), Some(u64::MAX));
    }

    #[test]
    fn the_sign_test_is_the_binomial_tail() {
        assert_eq!(sign_test(0, 0), 1.0);
        assert_eq!(sign_test(1, 0), 1.0);
        assert!((sign_test(8, 0) - 2.0 / 256.0).abs() < 1e-12);
        assert!((sign_test(7, 1) - 2.0 * 9.0 / 256.0).abs() < 1e-12);
        assert_eq!(sign_test(3, 20), sign_test(20, 3));
        assert!(sign_test(19, 5) < 0.01 && sign_test(18, 6) > 0.01);
    }
}
