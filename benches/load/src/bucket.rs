//! When the next message may go: the leaky bucket, with time passed in.

use jitterlab_stats::gaps::Gaps;

/// Algorithm 3: time fills the bucket, a message empties it by its gap.
///
/// A sender that was held up finds the bucket fuller than one gap and sends at once until it has
/// caught up, so that the load over a longer time is kept.
pub struct Bucket {
    gaps: Gaps,
    filled_ns: f64,
    gap_ns: f64,
}

impl Bucket {
    /// An empty bucket.
    pub fn new(mut gaps: Gaps) -> Self {
        let gap_ns = gaps.draw();
        Bucket {
            gaps,
            filled_ns: 0.0,
            gap_ns,
        }
    }

    /// So much time has passed.
    pub fn fill(&mut self, ns: f64) {
        self.filled_ns += ns;
    }

    /// True if a message may go now. If so, it has gone.
    pub fn take(&mut self) -> bool {
        let may_go = self.filled_ns >= self.gap_ns;
        if may_go {
            self.filled_ns -= self.gap_ns;
            self.gap_ns = self.gaps.draw();
        }
        may_go
    }

    /// The time until the next message may go, in nanoseconds; 0 if it may now.
    pub fn wait_ns(&self) -> f64 {
        (self.gap_ns - self.filled_ns).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However unevenly time passes, as many messages have gone as gaps fit into it.
        #[test]
        fn the_load_does_not_depend_on_when_one_looks(
            seed in any::<u64>(), steps in proptest::collection::vec(0.0f64..5_000.0, 1..200)
        ) {
            let mut bucket = Bucket::new(Gaps::new(seed, 300.0));
            let mut sent = 0;
            for step in &steps {
                bucket.fill(*step);
                prop_assert_eq!(bucket.wait_ns() == 0.0, bucket.filled_ns >= bucket.gap_ns);
                while bucket.take() {
                    sent += 1;
                }
            }
            let total: f64 = steps.iter().sum();
            let mut gaps = Gaps::new(seed, 300.0);
            let (mut fitting, mut sum) = (0, gaps.draw());
            while sum <= total {
                fitting += 1;
                sum += gaps.draw();
            }
            // The two sums round differently where a gap ends just at the end.
            prop_assert!((sent as i64 - fitting as i64).abs() <= 1, "{sent} {fitting}");
        }
    }
}
