//! The choice of the next one of the 4,096 delays.

use std::cell::Cell;

use jitterlab_base::named;

/// The number of delays in a distribution table, and of different draws: 2^12.
pub const TABLE_ENTRIES: usize = 4096;

/// The generator of the index into the distribution table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum GeneratorKind {
    /// PCG-XSH-RR, 64 bits of state and 32 of output (O'Neill 2014, "PCG: A family of simple fast
    /// space-efficient statistically good algorithms for random number generation", section 6.3.1).
    /// Its highest 12 bits are used. As little state as the paper's generator, and a period of 2^64
    /// in the bits that are used.
    #[default]
    Pcg,
    /// The paper's (section 3.1): a linear congruential generator. "The lower 12 bits" are the
    /// index. With a modulus that is a power of two these bits repeat every 4,096 draws:
    /// the delays are one and the same permutation of the table, over and over. Kept to reproduce.
    Lcg,
}

named!(GeneratorKind, serde, "a generator", Pcg => "pcg", Lcg => "lcg");

/// Both generators are built on the 64-bit congruential step with Knuth's MMIX multiplier and
/// increment (The Art of Computer Programming, volume 2, section 3.3.4, table 1, line 26). The
/// paper states neither; its modulus is taken as the word, as in every such generator in C.
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// The state of one stream of indices. One word, so that it stays out of the program's caches.
///
/// The methods take `&self`: a signal handler may draw while the code that it interrupted is in
/// the middle of a draw. At worst both then see the same index, and the next one is left out.
#[derive(Debug)]
pub struct Generator {
    state: Cell<u64>,
}

impl Generator {
    /// A generator that has not been seeded.
    pub const fn new() -> Self {
        Generator {
            state: Cell::new(0),
        }
    }

    /// Starts the stream over from `seed` (see [`jitterlab_base::seed::stream`]).
    pub fn seed(&self, seed: u64) {
        self.state.set(seed);
    }

    /// The next index into the table, below [`TABLE_ENTRIES`].
    #[inline(always)]
    pub fn next_index(&self, kind: GeneratorKind) -> usize {
        let state = self.state.get();
        self.advance();
        match kind {
            GeneratorKind::Pcg => {
                // The output comes from the old state, so that it does not wait for the product.
                let xorshifted = (((state >> 18) ^ state) >> 27) as u32;
                (xorshifted.rotate_right((state >> 59) as u32) >> 20) as usize
            }
            GeneratorKind::Lcg => (step(state) & (TABLE_ENTRIES as u64 - 1)) as usize,
        }
    }

    /// Goes past the next index.
    #[inline(always)]
    fn advance(&self) {
        self.state.set(step(self.state.get()));
    }

    /// Goes past the next `draws` indices, in as many rounds as their number has bits (Brown 1994, "Random number
    /// generation with arbitrary strides").
    pub(crate) fn skip(&self, mut draws: u64) {
        let (mut multiplier, mut increment) = (1, 0u64);
        let mut stride = (MULTIPLIER, INCREMENT);
        while draws > 0 {
            if draws & 1 == 1 {
                multiplier = stride.0.wrapping_mul(multiplier);
                increment = stride.0.wrapping_mul(increment).wrapping_add(stride.1);
            }
            // Twice as far: the step, applied to itself.
            stride.1 = stride.0.wrapping_add(1).wrapping_mul(stride.1);
            stride.0 = stride.0.wrapping_mul(stride.0);
            draws >>= 1;
        }
        // Only now is the state looked at: a signal handler may have drawn, or set a seed.
        let state = self.state.get();
        self.state
            .set(state.wrapping_mul(multiplier).wrapping_add(increment));
    }
}

#[inline(always)]
fn step(state: u64) -> u64 {
    state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT)
}

impl Default for Generator {
    fn default() -> Self {
        Generator::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(kind: GeneratorKind, seed: u64, n: usize) -> Vec<usize> {
        let generator = Generator::new();
        generator.seed(seed);
        (0..n).map(|_| generator.next_index(kind)).collect()
    }

    /// Why the paper's generator is not the default.
    #[test]
    fn the_low_bits_of_the_papers_generator_repeat_every_4096_draws() {
        for seed in [0, 1, 42, u64::MAX] {
            let drawn = draws(GeneratorKind::Lcg, seed, 3 * TABLE_ENTRIES);
            assert_eq!(
                drawn[..TABLE_ENTRIES],
                drawn[TABLE_ENTRIES..2 * TABLE_ENTRIES]
            );
            let mut once = drawn[..TABLE_ENTRIES].to_vec();
            once.sort_unstable();
            assert!(once.into_iter().eq(0..TABLE_ENTRIES));
            // The lowest bit does nothing but alternate.
            assert!(drawn.windows(2).all(|pair| pair[0] % 2 != pair[1] % 2));
        }
    }

    #[test]
    fn the_default_generator_does_not() {
        let drawn = draws(GeneratorKind::Pcg, 1, 2 * TABLE_ENTRIES);
        assert_ne!(drawn[..TABLE_ENTRIES], drawn[TABLE_ENTRIES..]);
        let alternations = drawn
            .windows(2)
            .filter(|pair| pair[0] % 2 != pair[1] % 2)
            .count();
        // Binomial with n = 8,191 and p = 1/2: five standard deviations are 226.
        assert!(alternations.abs_diff(4095) < 226, "{alternations}");
    }

    /// Chi-squared over the 4,096 indices: 4,095 degrees of freedom, standard deviation 90.5.
    #[test]
    fn every_index_is_equally_likely() {
        let mut counts = [0u32; TABLE_ENTRIES];
        for index in draws(GeneratorKind::Pcg, 7, 100 * TABLE_ENTRIES) {
            counts[index] += 1;
        }
        let chi_squared: f64 = counts
            .iter()
            .map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0)
            .sum();
        assert!((chi_squared - 4095.0).abs() < 5.0 * 90.5, "{chi_squared}");
    }

    #[test]
    fn a_seed_gives_the_same_indices_and_another_seed_others() {
        for kind in GeneratorKind::ALL {
            assert_eq!(draws(kind, 3, 1000), draws(kind, 3, 1000));
            assert_ne!(draws(kind, 3, 1000), draws(kind, 4, 1000));
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("xoshiro".parse::<GeneratorKind>().is_err());
    }

    #[test]
    fn a_skip_is_as_many_draws() {
        let walked = Generator::new();
        let skipped = Generator::new();
        walked.seed(9);
        skipped.seed(9);
        for draws in (0..70).chain([1_000, 4_096, 65_537]) {
            (0..draws).for_each(|_| walked.advance());
            skipped.skip(draws);
            assert_eq!(skipped.state, walked.state, "{draws}");
        }
        // More than can be walked: back by one, for the period is 2^64.
        skipped.skip(u64::MAX);
        skipped.advance();
        assert_eq!(skipped.state, walked.state);
    }

    /// `check-oneseq-64-xsh-rr-32.out` of the reference implementation (pcg-c, round 1): with seed 42,
    /// which it adds to the increment and steps once.
    #[test]
    fn pcg_is_pcg() {
        let published: [u32; 6] = [
            0xc2f5_7bd6,
            0x6b07_c4a9,
            0x72b7_b29b,
            0x4421_5383,
            0xf5af_5ead,
            0x68be_b632,
        ];
        let seed = step(INCREMENT + 42);
        let expected = published.map(|output| (output >> 20) as usize);
        assert_eq!(draws(GeneratorKind::Pcg, seed, 6), expected);
    }
}
