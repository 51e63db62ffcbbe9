//! The difference of two means, from no more than their moments.

use crate::bootstrap::Interval;
use crate::error::{Error, check_level};
use crate::special::{two_sided_t, two_sided_t_inverse};
use crate::summary::Summary;

/// Whether two means differ, and by how much.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Welch {
    /// The first mean less the second, in the unit of the samples.
    pub difference: Interval,
    /// Two-sided p of equal means; none where neither sample varies.
    pub p: Option<f64>,
}

/// Welch's t test of the means of two independent samples (Welch 1947, "The generalization of Student's problem when several
/// different population variances are involved"), from no more than their moments.
///
/// # Errors
/// A sample is of fewer than two: nothing is known of how it varies. The confidence is not between 0 and 1.
pub fn test(a: &Summary, b: &Summary, confidence: f64) -> Result<Welch, Error> {
    check_level("confidence", confidence)?;
    let (Some(std_a), Some(std_b)) = (a.std, b.std) else {
        return Err(Error::TooFew {
            statistic: "Welch's interval",
            needed: 2,
            given: a.n.min(b.n),
        });
    };
    let variances =
        [(a.n, std_a), (b.n, std_b)].map(|(n, std)| (std * std / n as f64, n as f64 - 1.0));
    let variance: f64 = variances.iter().map(|(variance, _)| variance).sum();
    let estimate = a.mean - b.mean;
    let (reach, p) = if variance > 0.0 {
        let shares: f64 = variances
            .iter()
            .filter(|(variance, _)| *variance > 0.0)
            .map(|(of, freedom)| (of / variance).powi(2) / freedom)
            .sum();
        let error = variance.sqrt();
        (
            two_sided_t_inverse(1.0 - confidence, 1.0 / shares) * error,
            Some(two_sided_t(estimate / error, 1.0 / shares)),
        )
    } else {
        (0.0, None)
    };
    Ok(Welch {
        difference: Interval {
            estimate,
            low: estimate - reach,
            high: estimate + reach,
        },
        p,
    })
}

/// The interval of [`test`] alone.
///
/// # Errors
/// As [`test`].
pub fn mean_difference(a: &Summary, b: &Summary, confidence: f64) -> Result<Interval, Error> {
    Ok(test(a, b, confidence)?.difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_vary_adds_no_width() {
        let of = |samples: &[f64]| Summary::of(samples).unwrap();
        let found = mean_difference(&of(&[5.0; 2]), &of(&[2.0; 9]), 0.95).unwrap();
        assert_eq!((found.low, found.estimate, found.high), (3.0, 3.0, 3.0));
        let varied = of(&[1.0, 2.0, 3.0]);
        let found = mean_difference(&varied, &of(&[2.0; 2]), 0.95).unwrap();
        let alone = crate::repeated::mean(&[-1.0, 0.0, 1.0], 0.95).unwrap();
        assert!((found.high - alone.high).abs() < 1e-9, "{found:?}");
        assert!(mean_difference(&varied, &varied, 1.0).is_err());
        // One value says nothing of how the next would differ.
        let one = Err(Error::TooFew {
            statistic: "Welch's interval",
            needed: 2,
            given: 1,
        });
        assert_eq!(mean_difference(&varied, &of(&[2.0]), 0.95), one);
        assert_eq!(mean_difference(&of(&[2.0]), &varied, 0.95), one);
    }

    /// SciPy 1.17.1: `ttest_ind([5, 7, 9, 12, 6.5], [8, 13, 15, 11.5], equal_var=False)`.
    #[test]
    fn the_test_is_scipys() {
        let of = |samples: &[f64]| Summary::of(samples).unwrap();
        let found = test(
            &of(&[5.0, 7.0, 9.0, 12.0, 6.5]),
            &of(&[8.0, 13.0, 15.0, 11.5]),
            0.95,
        )
        .unwrap();
        assert!(
            (found.p.unwrap() - 0.08050441697482363).abs() < 1e-12,
            "{found:?}"
        );
        assert!(
            (found.difference.low + 8.598843454122125).abs() < 1e-9,
            "{found:?}"
        );
        assert!(
            (found.difference.high - 0.6488434541221251).abs() < 1e-9,
            "{found:?}"
        );
        let same = test(&of(&[5.0; 2]), &of(&[4.0; 3]), 0.95).unwrap();
        assert_eq!((same.p, same.difference.estimate), (None, 1.0));
    }
}
