//! P-values of many comparisons at once.

/// P-values adjusted by Holm's step-down procedure (Scandinavian Journal of Statistics 6, 1979), in the order given. Calling
/// those significant that are at most `level` calls any at all wrongly with at most that probability, however the comparisons
/// depend on each other.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut adjusted = vec![0.0; count];
    let mut least = 0.0f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        least = least.max(p_values[index] * (count - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

/// P-values adjusted by the procedure of Benjamini and Hochberg (Journal of the Royal Statistical Society B 57, 1995), in the
/// order given. Of those that are at most `level`, at most that fraction is expected to be wrong, if the comparisons are independent or
/// depend on each other positively.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut adjusted = vec![0.0; count];
    let mut most = 1.0f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate().rev() {
        most = most.min(p_values[index] * count as f64 / (rank + 1) as f64);
        adjusted[index] = most;
    }
    adjusted
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    /// By hand: 5 x 0.005, 4 x 0.01, 3 x 0.03, and what follows is no less; 5/4 x 0.04 and 5/2 x 0.01, and what precedes is no more.
    #[test]
    fn known_adjustments() {
        let raw = [0.04, 0.01, 0.03, 0.005, 0.9];
        let found = holm(&raw);
        assert!(close(&found, &[0.09, 0.04, 0.09, 0.025, 0.9]), "{found:?}");
        let found = benjamini_hochberg(&raw);
        assert!(close(&found, &[0.05, 0.025, 0.05, 0.025, 0.9]), "{found:?}");
    }

    #[test]
    fn they_are_monotone_and_at_most_one() {
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert_eq!(benjamini_hochberg(&[0.6, 0.7]), [0.7, 0.7]);
        let raw: Vec<f64> = (0..200).map(|k| f64::from(k * 37 % 200) / 200.0).collect();
        for adjusted in [holm(&raw), benjamini_hochberg(&raw)] {
            assert!(adjusted.iter().zip(&raw).all(|(adjusted, raw)| adjusted >= raw && *adjusted <= 1.0));
            let order = ascending(&raw);
            assert!(order.windows(2).all(|pair| adjusted[pair[0]] <= adjusted[pair[1]]));
        }
    }
}
