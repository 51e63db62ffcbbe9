//! When the next message may go: the leaky bucket, with time passed in.

use rand_mt::Mt64;

/// Gaps drawn from an exponential distribution, by inversion of numbers from a Mersenne Twister
/// 19937 (the paper, section 5.1; Matsumoto and Nishimura 1998; the 64-bit variant).
pub struct Gaps {
    random: Mt64,
    mean_ns: f64,
}

impl Gaps {
    /// Gaps with this mean, in nanoseconds.
    pub fn new(seed: u64, mean_ns: f64) -> Self {
        Gaps {
            random: Mt64::new(seed),
            mean_ns,
        }
    }

    /// The next gap in nanoseconds.
    pub fn draw(&mut self) -> f64 {
        // 53 bits, shifted off 0, whose logarithm there is none of.
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        -self.mean_ns * uniform.ln()
    }
}

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

    /// Whether a message may go now. If so, it has gone.
    pub fn take(&mut self) -> bool {
        let may_go = self.filled_ns >= self.gap_ns;
        if may_go {
            self.filled_ns -= self.gap_ns;
            self.gap_ns = self.gaps.draw();
        }
        may_go
    }

    /// How long until the next message may go, in nanoseconds; 0 if it may now.
    pub fn wait_ns(&self) -> f64 {
        (self.gap_ns - self.filled_ns).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_stats::{ks, sorted};
    use proptest::prelude::*;

    /// The exponential is not among the fitted distributions, but its square root of minus
    /// logarithm is uniform: 1 − e^(−x/mean).
    #[test]
    fn gaps_are_exponential() {
        let mut gaps = Gaps::new(5489, 250.0);
        let uniform: Vec<f64> = (0..20_000)
            .map(|_| 1.0 - (-gaps.draw() / 250.0).exp())
            .collect();
        let flat = jitterlab_stats::distribution::Distribution::Uniform {
            low: 0.0,
            high: 1.0,
        };
        assert!(ks::one_sample(&uniform, &flat).unwrap().p > 0.01);
        assert!(sorted(&uniform).unwrap()[0] > 0.0);
    }

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
