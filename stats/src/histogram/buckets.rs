//! The buckets of a [`Histogram`](super::Histogram): which value belongs to which.
//!
//! The arithmetic is HdrHistogram's (Gil Tene, `index_for` and `value_for` of the crate `hdrhistogram`) with the lowest
//! discernible value 1 and 3 significant digits: a bucket a value up to 2,047, and from there on 1,024 buckets of equal
//! width for each power of two. All of it is `const`, so that an array of counters has its length at compile time.
//!
//! ```
//! use jitterlab_stats::histogram::buckets;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! static COUNTS: [AtomicU64; buckets::LEN] = [const { AtomicU64::new(0) }; buckets::LEN];
//! COUNTS[buckets::index(12_345)].fetch_add(1, Ordering::Relaxed);
//! assert_eq!(buckets::range(buckets::index(12_345)), (12_344, 12_351));
//! ```

/// The significant digits of a value that its bucket keeps, in decimal.
pub const DIGITS: u8 = 3;

/// Buckets for a power of two: the next power of two above 10^[`DIGITS`].
const HALF: usize = 1 << HALF_BITS;
const HALF_BITS: u32 = 10;

/// The highest value that has a bucket of its own: 73 minutes, in nanoseconds. What is higher is counted with it.
pub const HIGHEST: u64 = (1 << 42) - 1;

/// The number of buckets.
pub const LEN: usize = index(HIGHEST) + 1;

/// The bucket of a value, below [`LEN`].
#[inline]
pub const fn index(value: u64) -> usize {
    let value = if value > HIGHEST { HIGHEST } else { value };
    // The shift that leaves HALF_BITS + 1 bits of the value; 0 for one that has no more.
    let shift = (value | (2 * HALF as u64 - 1)).ilog2() - HALF_BITS;
    ((shift as usize) << HALF_BITS) + (value >> shift) as usize
}

/// The lowest and the highest value of a bucket, both included. `index` is below [`LEN`].
#[inline]
pub const fn range(index: usize) -> (u64, u64) {
    let shift = (index >> HALF_BITS).saturating_sub(1);
    let lowest = ((index - (shift << HALF_BITS)) as u64) << shift;
    (lowest, lowest + ((1 << shift) - 1))
}
