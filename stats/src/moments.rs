//! Moments of samples: what mean, standard deviation and skewness are made from.

/// Number and mean of some samples, and the sums of the second and third powers of their deviations from it; those of two
/// sets of samples can be merged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    n: f64,
    mean: f64,
    m2: f64,
    m3: f64,
}

impl Moments {
    /// The moments of no samples.
    pub const NONE: Moments = Moments {
        n: 0.0,
        mean: 0.0,
        m2: 0.0,
        m3: 0.0,
    };

    /// The moments of finite samples, by two passes so that a large mean does not swallow a small deviation.
    pub fn of(samples: &[f64]) -> Self {
        let n = samples.len() as f64;
        let Some((&first, rest)) = samples.split_first() else {
            return Moments::NONE;
        };
        if rest.iter().all(|&x| x == first) {
            // Exactly: what rounding leaves is no variation.
            return Moments {
                n,
                mean: first,
                ..Moments::NONE
            };
        }
        let rough = samples.iter().sum::<f64>() / n;
        // The first pass leaves a rounding error; the mean of the residues takes it out.
        let mean = rough + samples.iter().map(|x| x - rough).sum::<f64>() / n;
        let (mut m2, mut m3) = (0.0, 0.0);
        for x in samples {
            let d = x - mean;
            m2 += d * d;
            m3 += d * d * d;
        }
        Moments { n, mean, m2, m3 }
    }

    /// The moments of the samples of both (Pébay 2008, "Formulas for robust, one-pass parallel computation of
    /// covariances and arbitrary-order statistical moments", SAND2008-6212, equations 1.3 to 1.5 for two sets).
    pub fn merged(self, other: Moments) -> Moments {
        let n = self.n + other.n;
        if n == 0.0 {
            return Moments::NONE;
        }
        let d = other.mean - self.mean;
        let both = self.n * other.n / n;
        Moments {
            n,
            mean: self.mean + d * other.n / n,
            m2: self.m2 + other.m2 + d * d * both,
            m3: self.m3
                + other.m3
                + d * d * d * both * (self.n - other.n) / n
                + 3.0 * d * (self.n * other.m2 - other.n * self.m2) / n,
        }
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.n as usize
    }

    /// The mean; none without samples.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0.0).then_some(self.mean)
    }

    /// The standard deviation with the divisor n − 1; fewer than two samples have none.
    pub fn std(&self) -> Option<f64> {
        (self.n > 1.0).then(|| (self.m2 / (self.n - 1.0)).sqrt())
    }

    /// The skewness, see [`summary::skew`](crate::summary::skew); fewer than three samples have none.
    pub fn skew(&self) -> Option<f64> {
        if self.n < 3.0 {
            return None;
        }
        let variance = self.m2 / self.n;
        // Residues of rounding are not variation.
        if variance <= (f64::EPSILON * self.mean).powi(2) {
            return Some(0.0);
        }
        let g1 = (self.m3 / self.n) / variance.powf(1.5);
        Some(g1 * (self.n * (self.n - 1.0)).sqrt() / (self.n - 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_merge_to_the_moments_of_all() {
        let samples: Vec<f64> = (0..100).map(|i| f64::from(i * i % 37) + 1e3).collect();
        let whole = Moments::of(&samples);
        for parts in [1, 2, 7, 50] {
            let merged = samples
                .chunks(parts)
                .map(Moments::of)
                .fold(Moments::NONE, Moments::merged);
            for (merged, whole) in [
                (merged.mean(), whole.mean()),
                (merged.std(), whole.std()),
                (merged.skew(), whole.skew()),
            ] {
                let (merged, whole) = (merged.unwrap(), whole.unwrap());
                assert!(
                    (merged - whole).abs() < 1e-9 * whole.abs(),
                    "{merged} {whole}"
                );
            }
        }
    }
}
