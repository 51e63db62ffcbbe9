//! The pseudo-random numbers of the NAS Parallel Benchmarks: x(k+1) = a x(k) mod 2^46 (RNR-94-007, section 2.3).
//!
//! 2^46 divides 2^64, so that a product of 64 bits that wraps around is right in its low 46.

const MASK: u64 = (1 << 46) - 1;
const SCALE: f64 = 1.0 / (1u64 << 46) as f64;

/// The multiplier, 5^13.
pub const MULTIPLIER: u64 = 1_220_703_125;

/// A stream of numbers.
#[derive(Debug, Clone, Copy)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream that begins behind `seed`.
    pub fn new(seed: u64) -> Random {
        Random { state: seed & MASK }
    }

    /// The next number, in (0, 1).
    #[inline]
    pub fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(MULTIPLIER) & MASK;
        self.state as f64 * SCALE
    }

    /// Leaves out `count` numbers, in log2(count) steps.
    pub fn skip(&mut self, count: u64) {
        self.state = self.state.wrapping_mul(power(MULTIPLIER, count)) & MASK;
    }
}

/// a^n mod 2^46.
fn power(a: u64, mut n: u64) -> u64 {
    let (mut result, mut square) = (1u64, a);
    while n > 0 {
        if n & 1 == 1 {
            result = result.wrapping_mul(square) & MASK;
        }
        square = square.wrapping_mul(square) & MASK;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_is_drawing() {
        let mut drawn = Random::new(314_159_265);
        for _ in 0..1000 {
            drawn.next();
        }
        let mut skipped = Random::new(314_159_265);
        skipped.skip(1000);
        assert_eq!(drawn.next(), skipped.next());
    }
}
