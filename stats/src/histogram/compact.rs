//! A histogram that is kept, and not counted into.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use super::{Histogram, buckets};

/// The buckets of a [`Histogram`] that are not empty: 16 bytes each, where a histogram takes 264 KiB. Serialised it is the same.
///
/// ```
/// use jitterlab_stats::histogram::{Compact, Histogram};
///
/// let mut all = Compact::of([7, 7, 12_345]);
/// all.add(&Compact::of([7]));
/// assert_eq!(Histogram::from(&all).count(), 4);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compact(Vec<(u64, u64)>);

impl Compact {
    /// The histogram of these values, in any order.
    pub fn of(values: impl IntoIterator<Item = u64>) -> Self {
        let lowest = values
            .into_iter()
            .map(|value| buckets::range(buckets::index(value)).0);
        let mut lowest: Vec<u64> = lowest.collect();
        lowest.sort_unstable();
        let same = lowest.chunk_by(|a, b| a == b);
        Compact(same.map(|same| (same[0], same.len() as u64)).collect())
    }

    /// Adds all that another one has counted.
    pub fn add(&mut self, other: &Compact) {
        let mut sum = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(&&(a, n)), Some(&&(b, m))) = (own.peek(), others.peek()) {
            let (from_own, from_others) = (a <= b, b <= a);
            sum.push((
                a.min(b),
                n * u64::from(from_own) + m * u64::from(from_others),
            ));
            own.next_if(|_| from_own);
            others.next_if(|_| from_others);
        }
        sum.extend(own.chain(others));
        self.0 = sum;
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&Compact> for Histogram {
    fn from(compact: &Compact) -> Self {
        let mut histogram = Histogram::new();
        for &(lowest, count) in &compact.0 {
            histogram.record_n(lowest, count);
        }
        histogram
    }
}

impl From<&Histogram> for Compact {
    fn from(histogram: &Histogram) -> Self {
        let counts = histogram.buckets();
        Compact(counts.map(|(lowest, _, count)| (lowest, count)).collect())
    }
}

impl Serialize for Compact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Compact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = Vec::<(u64, u64)>::deserialize(deserializer)?;
        for &(lowest, _) in &counts {
            if buckets::range(buckets::index(lowest)).0 != lowest {
                return Err(D::Error::custom(format!(
                    "no bucket of a histogram begins at {lowest}"
                )));
            }
        }
        if !counts.is_sorted_by(|a, b| a.0 < b.0) || counts.iter().any(|&(_, count)| count == 0) {
            return Err(D::Error::custom(
                "the buckets of a histogram ascend, and none is empty",
            ));
        }
        Ok(Compact(counts))
    }
}
