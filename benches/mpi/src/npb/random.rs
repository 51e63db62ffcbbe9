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
    /// The next one, times 2^46.
    state: u64,
    multiplier: u64,
}

impl Random {
    /// The stream that begins behind `seed`.
    pub fn new(seed: u64) -> Random {
        Random {
            state: seed.wrapping_mul(MULTIPLIER) & MASK,
            multiplier: MULTIPLIER,
        }
    }

    /// The next number, in (0, 1).
    #[inline]
    pub fn next(&mut self) -> f64 {
        let number = fraction(self.state);
        self.state = self.state.wrapping_mul(self.multiplier) & MASK;
        number
    }

    /// Leaves out `count` numbers, in log2(count) steps.
    pub fn skip(&mut self, count: u64) {
        self.state = self.state.wrapping_mul(power(self.multiplier, count)) & MASK;
    }

    /// The stream of the next number and every `n`th one after it. `n` of them, each begun one later, do not wait for
    /// each other.
    pub fn every(self, n: u64) -> Random {
        Random {
            multiplier: power(self.multiplier, n),
            ..self
        }
    }
}

/// A number below 2^46, times 2^-46: as the low bits of a number from 2^52 on, which takes no conversion.
#[inline]
fn fraction(state: u64) -> f64 {
    const TWO_52: f64 = (1u64 << 52) as f64;
    (f64::from_bits(TWO_52.to_bits() | state) - TWO_52) * SCALE
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

    #[test]
    fn streams_that_take_turns_are_the_stream() {
        let mut whole = Random::new(271_828_183);
        let mut turns: [Random; 4] = std::array::from_fn(|k| {
            let mut random = Random::new(271_828_183);
            random.skip(k as u64);
            random.every(4)
        });
        for _ in 0..10 {
            for random in &mut turns {
                assert_eq!(random.next(), whole.next());
            }
        }
    }

    #[test]
    fn a_seed_gives_the_numbers_of_the_definition() {
        let first = (271_828_183u64 * MULTIPLIER) & MASK;
        assert_eq!(
            Random::new(271_828_183).next(),
            first as f64 / 2f64.powi(46)
        );
    }
}
