//! Correction for repeated tests.

/// Holm's step-down adjustment (Holm 1979, "A simple sequentially rejective multiple test
/// procedure"): p values that can be held against one level of significance together, each in
/// the place of the one it came from.
///
/// ```
/// let adjusted = jitterlab_stats::holm::adjust(&[0.01, 0.04, 0.03]);
/// assert_eq!(adjusted, [0.03, 0.06, 0.06]);
/// ```
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut least = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        least = least.max((left * p_values[index]).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn adjusted_values_keep_their_order_and_only_grow(
            p in proptest::collection::vec(0.0f64..=1.0, 0..30)
        ) {
            let adjusted = adjust(&p);
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                prop_assert!(adjusted[i] <= (p[i] * p.len() as f64).min(1.0) || p.iter().any(|q| *q < p[i]));
                for j in 0..p.len() {
                    if p[i] < p[j] {
                        prop_assert!(adjusted[i] <= adjusted[j]);
                    }
                }
            }
        }
    }
}
