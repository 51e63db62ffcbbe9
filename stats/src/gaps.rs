//! Gaps between events that happen independently of each other at a mean rate.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;
    use crate::{ks, sorted};

    /// The exponential is not among the fitted distributions, but its square root of minus
    /// logarithm is uniform: 1 − e^(−x/mean).
    #[test]
    fn gaps_are_exponential() {
        let mut gaps = Gaps::new(5489, 250.0);
        let uniform: Vec<f64> = (0..20_000)
            .map(|_| 1.0 - (-gaps.draw() / 250.0).exp())
            .collect();
        let flat = Distribution::Uniform {
            low: 0.0,
            high: 1.0,
        };
        assert!(ks::one_sample(&uniform, &flat).unwrap().p > 0.01);
        assert!(sorted(&uniform).unwrap()[0] > 0.0);
    }
}
