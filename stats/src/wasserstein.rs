//! The distance between two samples in the unit of the samples.

use crate::error::{Error, check};
use crate::sort::sorted;

/// Wasserstein-1 distance: the area between the two empirical distribution functions. It is the
/// least mean distance by which the samples of one have to be moved to become the other.
///
/// # Errors
/// A sample is empty or holds something not finite.
pub fn distance(a: &[f64], b: &[f64]) -> Result<f64, Error> {
    check(a, "a distance", 1)?;
    check(b, "a distance", 1)?;
    Ok(distance_sorted(&sorted(a)?, &sorted(b)?))
}

/// The same for samples in ascending order.
pub fn distance_sorted(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j) = (0, 0);
    let mut area = 0.0;
    let mut last = f64::NAN;
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(&x), Some(&y)) => x.min(y),
            (Some(&x), None) | (None, Some(&x)) => x,
            (None, None) => break,
        };
        if i + j > 0 {
            let gap = i as f64 / a.len() as f64 - j as f64 / b.len() as f64;
            area += gap.abs() * (next - last);
        }
        last = next;
        i += a[i..].iter().take_while(|&&x| x == next).count();
        j += b[j..].iter().take_while(|&&x| x == next).count();
    }
    area
}
