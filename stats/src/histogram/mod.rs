//! A log-bucketed histogram: millions of latencies in a fixed piece of memory, each known to three significant digits.

mod bins;
pub mod buckets;
mod compact;

use std::fmt;

use hdrhistogram::Histogram as Hdr;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::Error;

pub use bins::Bins;
pub use compact::Compact;

/// Counts of values of each size. Values are whole numbers, as a rule nanoseconds; those above
/// [`buckets::HIGHEST`] count as that one.
///
/// Serialised it is a list of pairs, a lowest value of a bucket and the count of that bucket, ascending and without empty
/// buckets.
#[derive(Clone)]
pub struct Histogram(Hdr<u64>);

impl Histogram {
    /// An empty one, with the memory for all buckets: 264 KiB.
    pub fn new() -> Self {
        Histogram(Hdr::new_with_max(buckets::HIGHEST, buckets::DIGITS).expect("constants in range"))
    }

    /// The histogram of samples, each rounded to a whole number; what is below 0 counts as 0.
    pub fn of(samples: &[f64]) -> Self {
        let mut histogram = Histogram::new();
        for sample in samples {
            histogram.record(sample.round() as u64);
        }
        histogram
    }

    /// The histogram of counts that were kept elsewhere: at [`buckets::index`], as many as there are buckets.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut histogram = Histogram::new();
        for (index, count) in counts.into_iter().take(buckets::LEN).enumerate() {
            histogram.record_n(buckets::range(index).0, count);
        }
        histogram
    }

    /// Counts a value. Allocates nothing.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts a value `n` times. Allocates nothing.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n > 0 {
            self.0.saturating_record_n(value.min(buckets::HIGHEST), n);
        }
    }

    /// Adds all that another one has counted.
    pub fn add(&mut self, other: &Histogram) {
        self.0.add(&other.0).expect("both have the same buckets");
    }

    /// The counts since `earlier`, which was taken of the same counts.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `earlier` counts more values of a bucket than this one.
    pub fn since(&self, earlier: &Histogram) -> Result<Histogram, Error> {
        let mut difference = self.clone();
        match difference.0.subtract(&earlier.0) {
            Ok(()) => Ok(difference),
            Err(_) => Err(Error::Parameter {
                name: "the count of the earlier histogram",
                value: earlier.count() as f64,
                expected: "at most the later one's in each bucket",
            }),
        }
    }

    /// The number of values that were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest value of the first bucket that is not empty.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.min())
    }

    /// The highest value of the last bucket that is not empty.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.max())
    }

    /// The value that a share of all values is at or below, from 0 to 1: the highest value of its bucket (HdrHistogram's
    /// definition; the lowest for share 0).
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.value_at_quantile(share))
    }

    /// The buckets that are not empty, ascending: lowest value, highest value, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.0.iter_recorded().map(|bucket| {
            let (lowest, highest) = buckets::range(buckets::index(bucket.value_iterated_to()));
            (lowest, highest, bucket.count_at_value())
        })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// Equal counts. `hdrhistogram` also compares what it keeps beside them, which a subtraction leaves behind.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

impl Eq for Histogram {}

/// The buckets that are not empty: all 33,792 of them say nothing.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.buckets().map(|(lowest, _, count)| (lowest, count));
        f.debug_map().entries(counts).finish()
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Compact::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Histogram::from(&Compact::deserialize(deserializer)?))
    }
}
