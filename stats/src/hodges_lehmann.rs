//! The Hodges-Lehmann shift: the amount by which one sample is larger than another.

use crate::bootstrap::Interval;
use crate::error::{Error, check, check_level};
use crate::mann_whitney;
use crate::sort::sorted;
use crate::special::{two_sided, two_sided_inverse};

/// The amount by which one sample is larger, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Shift {
    /// The estimate and the ends of its interval.
    #[serde(flatten)]
    pub interval: Interval,
    /// The confidence that the interval has: at least what was asked for, except where samples are so few
    /// that no interval does. It then reaches from the least difference to the greatest.
    pub confidence: f64,
}

/// The median of all differences between a member of `a` and one of `b`, with the interval that
/// belongs to the Mann-Whitney test (Hodges and Lehmann 1963; Lehmann 1975, section 2.3), in the
/// unit of the samples. Positive if `a` is larger. Where the test is exact, so is the interval: of
/// samples enough for it, it excludes 0 where p is below 1 − confidence, and nowhere else.
///
/// The n m differences are never formed: they are a matrix with sorted rows and columns, in which
/// the number of elements below a value is counted in O(n + m).
///
/// # Errors
/// A sample is empty or holds something not finite, or the confidence is not between 0 and 1.
pub fn shift(a: &[f64], b: &[f64], confidence: f64) -> Result<Shift, Error> {
    check(a, "the Hodges-Lehmann shift", 1)?;
    check(b, "the Hodges-Lehmann shift", 1)?;
    check_level("confidence", confidence)?;
    Ok(shift_sorted(&sorted(a)?, &sorted(b)?, confidence))
}

/// The same for samples in ascending order, neither of them empty.
pub fn shift_sorted(a: &[f64], b: &[f64], confidence: f64) -> Shift {
    let differences = Differences { a, b };
    let pairs = differences.len();
    let middle = differences.select((pairs - 1) / 2);
    let estimate = if pairs.is_multiple_of(2) {
        f64::midpoint(middle, differences.select(pairs / 2))
    } else {
        middle
    };
    let (outside, confidence) = limit(a, b, confidence);
    Shift {
        interval: Interval {
            estimate,
            low: differences.select(outside),
            high: differences.select(pairs - 1 - outside),
        },
        confidence,
    }
}

/// The number of differences outside the interval at either end, and the confidence that it then has.
fn limit(a: &[f64], b: &[f64], confidence: f64) -> (u64, f64) {
    if let Some((u, below)) = mann_whitney::exact_limit(a, b, 1.0 - confidence) {
        return (u - 1, 1.0 - 2.0 * below);
    }
    // The least U that the normal approximation with its correction for continuity does not reject.
    let (n, m) = (a.len() as f64, b.len() as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let z = two_sided_inverse(1.0 - confidence);
    let centre = n * m / 2.0 - 0.5;
    let u = (centre - z * deviation).ceil();
    if u >= 1.0 {
        (u as u64 - 1, confidence)
    } else {
        (0, 1.0 - two_sided(centre / deviation))
    }
}

/// The differences a − b, as a matrix that is not there.
struct Differences<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Differences<'_> {
    fn len(&self) -> u64 {
        self.a.len() as u64 * self.b.len() as u64
    }

    /// The number of differences at or below `value`.
    fn count(&self, value: f64) -> u64 {
        let mut count = 0;
        let mut first = self.b.len();
        // More of b is needed to stay below as a grows: `first` only moves up. The subtraction is
        // the same as in `between`, so that rounding cannot make the two disagree.
        for (i, &x) in self.a.iter().enumerate() {
            if i == 0 {
                first = self.b.partition_point(|&y| x - y > value);
            }
            while first < self.b.len() && x - self.b[first] > value {
                first += 1;
            }
            if first == self.b.len() {
                break;
            }
            count += (self.b.len() - first) as u64;
        }
        count
    }

    /// Those above `low` and at or below `high`.
    fn between(&self, low: f64, high: f64) -> Vec<f64> {
        let mut found = Vec::new();
        let (mut from, mut to) = (0, 0);
        for &x in self.a {
            while from < self.b.len() && x - self.b[from] > high {
                from += 1;
            }
            while to < self.b.len() && x - self.b[to] > low {
                to += 1;
            }
            found.extend(self.b[from..to].iter().map(|y| x - y));
        }
        found
    }

    /// The one with `rank` others before it in ascending order.
    fn select(&self, rank: u64) -> f64 {
        let last = |s: &[f64]| s[s.len() - 1];
        let least = self.a[0] - last(self.b);
        let mut high = last(self.a) - self.b[0];
        let mut low = least.next_down();
        let (mut below, mut up_to) = (0, self.len());
        let few = (self.a.len() + self.b.len()) as u64;
        let mut interpolate = true;
        // Invariant: `below` differences are at or below `low`, `up_to` at or below `high`, and
        // below ≤ rank < up_to. Every other step halves the remaining floating-point numbers, at
        // most 2^64. The steps between go where an even spread would have the answer, which is fast
        // and need not be right.
        while up_to - below > few && low.next_up() < high {
            let guess = if interpolate {
                let share = (rank - below) as f64 / (up_to - below) as f64;
                low + (high - low) * share
            } else {
                middle(low, high)
            };
            interpolate = !interpolate;
            let guess = guess.clamp(low.next_up(), high.next_down());
            let count = self.count(guess);
            if count > rank {
                (high, up_to) = (guess, count);
            } else {
                (low, below) = (guess, count);
            }
        }
        if low.next_up() >= high {
            return high;
        }
        let mut candidates = self.between(low, high);
        let place = (rank - below) as usize;
        *candidates.select_nth_unstable_by(place, f64::total_cmp).1
    }
}

/// The number in the middle of all floating-point numbers between two.
fn middle(low: f64, high: f64) -> f64 {
    let order = |x: f64| {
        let bits = x.to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    };
    let middle = order(low).midpoint(order(high));
    f64::from_bits((middle ^ (((middle >> 63) as u64) >> 1) as i64) as u64)
}
