//! Kolmogorov-Smirnov tests: how far apart are two distribution functions?

use crate::distribution::Distribution;
use crate::error::{Error, check};
use crate::sort::sorted;
use crate::special::{binomial, phi};
use crate::summary;

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct KolmogorovSmirnov {
    /// The greatest vertical distance between the two distribution functions, 0 to 1.
    pub d: f64,
    /// Two-sided p.
    pub p: f64,
}

/// The plain test of a sample against a distribution that is *given*. If its parameters were
/// estimated from the same sample, p is too large (conservative): see [`lilliefors`].
///
/// # Errors
/// There is no sample, or one is not finite.
pub fn one_sample(
    samples: &[f64],
    distribution: &Distribution,
) -> Result<KolmogorovSmirnov, Error> {
    check(samples, "the Kolmogorov-Smirnov test", 1)?;
    let d = distance(&sorted(samples)?, |x| distribution.cdf(x));
    Ok(KolmogorovSmirnov {
        d,
        p: survival(samples.len(), d),
    })
}

/// The plain test of a sample against the normal with the sample's own mean and standard
/// deviation, as the paper uses it (section 6). Its p is not valid, because the parameters were
/// estimated; [`lilliefors`] is the valid test.
///
/// # Errors
/// As [`lilliefors`].
pub fn plain_normality(samples: &[f64]) -> Result<KolmogorovSmirnov, Error> {
    let d = distance_to_normal(samples)?;
    Ok(KolmogorovSmirnov {
        d,
        p: survival(samples.len(), d),
    })
}

/// The Lilliefors test: whether a sample comes from *some* normal distribution.
///
/// The p value is Dallal and Wilkinson's approximation (1986, "An analytic approximation to the
/// distribution of Lilliefors's test statistic for normality"), good for p up to 0.1; above that,
/// polynomials in Stephens' modified statistic (Stephens 1974, table 1A), good to 0.02.
///
/// # Errors
/// There are fewer than five samples, they are all equal, or one is not finite.
pub fn lilliefors(samples: &[f64]) -> Result<KolmogorovSmirnov, Error> {
    let d = distance_to_normal(samples)?;
    Ok(KolmogorovSmirnov {
        d,
        p: lilliefors_p(samples.len() as f64, d),
    })
}

/// The distance to the normal with the sample's own mean and standard deviation.
pub(crate) fn distance_to_normal(samples: &[f64]) -> Result<f64, Error> {
    const STATISTIC: &str = "the test for normality";
    check(samples, STATISTIC, 5)?;
    let (mean, std) = (summary::mean(samples)?, summary::std(samples)?);
    if std == 0.0 {
        return Err(Error::NoVariation {
            statistic: STATISTIC,
        });
    }
    Ok(distance(&sorted(samples)?, |x| phi((x - mean) / std)))
}

/// The p value of [`lilliefors`] for a distance `d` found in `n` samples.
pub fn lilliefors_p(n: f64, d: f64) -> f64 {
    let (scaled, size) = if n > 100.0 {
        (d * (n / 100.0).powf(0.49), 100.0)
    } else {
        (d, n)
    };
    let shifted: f64 = size + 2.78019;
    let p = (-7.01256 * scaled * scaled * shifted + 2.99587 * scaled * shifted.sqrt() - 0.122119
        + 0.974598 / size.sqrt()
        + 1.67997 / size)
        .exp();
    if p <= 0.1 {
        return p;
    }
    let k = (n.sqrt() - 0.01 + 0.85 / n.sqrt()) * d;
    let polynomial = |c: [f64; 5]| c.iter().rev().fold(0.0, |sum, c| sum * k + c);
    let p = if k <= 0.302 {
        1.0
    } else if k <= 0.5 {
        polynomial([2.76773, -19.828315, 80.709644, -138.55152, 81.218052])
    } else if k <= 0.9 {
        polynomial([-4.901232, 40.662806, -97.490286, 94.029866, -32.355711])
    } else if k <= 1.31 {
        polynomial([6.198765, -19.558097, 23.186922, -12.234627, 2.423045])
    } else {
        0.0
    };
    p.clamp(0.0, 1.0)
}

/// The test of two samples against each other.
///
/// p is exact while n m is at most a million, and above that the one of a single sample of n m / (n + m), rounded, as
/// in SciPy. Ties make it conservative.
///
/// # Errors
/// A sample is empty or holds something not finite.
pub fn two_sample(a: &[f64], b: &[f64]) -> Result<KolmogorovSmirnov, Error> {
    check(a, "the Kolmogorov-Smirnov test", 1)?;
    check(b, "the Kolmogorov-Smirnov test", 1)?;
    Ok(two_sample_sorted(&sorted(a)?, &sorted(b)?))
}

/// The same for samples in ascending order, neither of them empty.
pub fn two_sample_sorted(a: &[f64], b: &[f64]) -> KolmogorovSmirnov {
    const EXACT_UP_TO: usize = 1_000_000;
    let d = distance_between(a, b);
    let p = if a.len().saturating_mul(b.len()) <= EXACT_UP_TO {
        exact_two_sample(a.len(), b.len(), d)
    } else {
        let (n, m) = (a.len() as f64, b.len() as f64);
        survival((n * m / (n + m)).round() as usize, d)
    };
    KolmogorovSmirnov { d, p }
}

/// The greatest distance between the step function of sorted samples and `cdf`: at each step from
/// its top, and from its foot, where a `cdf` that itself jumps there has not jumped yet.
fn distance(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let mut d = 0.0f64;
    let mut done = 0;
    while let Some(&x) = sorted.get(done) {
        let foot = done as f64 / n;
        done += sorted[done..].iter().take_while(|&&y| y == x).count();
        let top = done as f64 / n;
        d = d
            .max((top - cdf(x)).abs())
            .max((cdf(x.next_down()) - foot).abs());
    }
    d
}

/// The largest difference of the distribution functions of two samples in ascending order.
pub(crate) fn distance_between(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j) = (0, 0);
    let mut d = 0.0f64;
    // Once one sample is used up, the distance can only shrink.
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        let value = x.min(y);
        i += a[i..].iter().take_while(|&&x| x == value).count();
        j += b[j..].iter().take_while(|&&x| x == value).count();
        d = d.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    d
}

/// The chance of a distance of at least `d` in a sample of `n` from the distribution itself.
fn survival(n: usize, d: f64) -> f64 {
    const EXACT_UP_TO: usize = 1_000;
    if d >= 1.0 {
        0.0
    } else if d >= 0.5 || n as f64 * d * d >= 4.0 {
        // Both sides at once are impossible, or rarer by 1e-10: no difference from 1 takes the digits.
        2.0 * one_sided(n, d)
    } else if n > EXACT_UP_TO {
        asymptotic(n as f64, d)
    } else {
        (1.0 - exact_one_sample(n, d)).clamp(0.0, 1.0)
    }
}

/// The chance that a sample's distribution function is somewhere at least `d` above the true one: Smirnov's sum
/// (Birnbaum and Tingey 1951, "One-sided confidence contours for probability distribution functions", equation
/// 3.0), a binomial chance each time. If there are more than a million terms, one stands for several: each is
/// hardly different from the next.
fn one_sided(n: usize, d: f64) -> f64 {
    const TERMS: usize = 1_000_000;
    let stride = n.div_ceil(TERMS);
    let n_f = n as f64;
    let shift = n_f * d;
    let sum: f64 = (stride / 2..n)
        .step_by(stride)
        .map(|j| (j as u64, j as f64 + shift))
        .take_while(|&(_, expected)| expected < n_f)
        .map(|(j, expected)| binomial(j, n as u64, expected) * shift / expected)
        .sum();
    stride as f64 * sum
}

/// Kolmogorov's limit, at the argument corrected for finite n (Vrbik 2018, "Small-sample
/// corrections to Kolmogorov-Smirnov test statistic": z + 1 / (6 √n) + (z − 1) / (4 n)). For n above 1,000 and p above
/// 5e-4 within 0.5 % of the exact p.
fn asymptotic(n: f64, d: f64) -> f64 {
    let z = n.sqrt() * d;
    kolmogorov_survival(z + 1.0 / (6.0 * n.sqrt()) + (z - 1.0) / (4.0 * n))
}

fn kolmogorov_survival(z: f64) -> f64 {
    use std::f64::consts::PI;
    if z <= 0.0 {
        return 1.0;
    }
    // Two forms of one theta function: each converges where the other does not.
    if z < 1.0 {
        let sum: f64 = (1..=20)
            .map(|k| (-((2 * k - 1) as f64 * PI / z).powi(2) / 8.0).exp())
            .sum();
        return (1.0 - (2.0 * PI).sqrt() / z * sum).clamp(0.0, 1.0);
    }
    let sum: f64 = (1..=20)
        .map(|k: i32| {
            let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
            sign * (-2.0 * (f64::from(k) * z).powi(2)).exp()
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

/// P(D < d) in a sample of `n`: Durbin's matrix, as arranged by Marsaglia, Tsang and Wang 2003,
/// "Evaluating Kolmogorov's distribution".
fn exact_one_sample(n: usize, d: f64) -> f64 {
    let k = (n as f64 * d).floor() as usize + 1;
    let size = 2 * k - 1;
    let h = k as f64 - n as f64 * d;
    let mut matrix = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..size.min(i + 2) {
            matrix[i * size + j] = 1.0;
        }
    }
    for i in 0..size {
        matrix[i * size] -= h.powi(i as i32 + 1);
        matrix[(size - 1) * size + i] -= h.powi((size - i) as i32);
    }
    if 2.0 * h > 1.0 {
        matrix[(size - 1) * size] += (2.0 * h - 1.0).powi(size as i32);
    }
    for i in 0..size {
        for j in 0..size.min(i + 2) {
            for g in 1..=(i + 1 - j) {
                matrix[i * size + j] /= g as f64;
            }
        }
    }
    let (power, mut exponent) = matrix_power(&matrix, size, n);
    let mut p = power[(k - 1) * size + k - 1];
    for i in 1..=n {
        p *= i as f64 / n as f64;
        if p < 1e-140 {
            p *= 1e140;
            exponent -= 140;
        }
    }
    p * 10f64.powi(exponent)
}

/// The matrix to the power `n`, with a power of ten taken out.
fn matrix_power(matrix: &[f64], size: usize, n: usize) -> (Vec<f64>, i32) {
    if n == 1 {
        return (matrix.to_vec(), 0);
    }
    let (half, exponent) = matrix_power(matrix, size, n / 2);
    let mut power = multiply(&half, &half, size);
    let mut exponent = 2 * exponent;
    if !n.is_multiple_of(2) {
        power = multiply(matrix, &power, size);
    }
    if power[(size / 2) * size + size / 2] > 1e140 {
        power.iter_mut().for_each(|x| *x *= 1e-140);
        exponent += 140;
    }
    (power, exponent)
}

fn multiply(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let mut product = vec![0.0; size * size];
    for i in 0..size {
        for k in 0..size {
            let factor = a[i * size + k];
            for j in 0..size {
                product[i * size + j] += factor * b[k * size + j];
            }
        }
    }
    product
}

/// The share of the orders of n and m values in which the distance reaches `d`: of the lattice paths
/// from corner to corner, those that touch the outside (Hodges 1958, "The significance probability of the
/// Smirnov two-sample test"). Sums of what is positive, so that the smallest share keeps its digits.
fn exact_two_sample(n: usize, m: usize, d: f64) -> f64 {
    let (n, m) = (n.min(m), n.max(m));
    // The distance takes values that are multiples of 1 / (n m); halfway between two is safe from
    // rounding.
    let limit = (d * (n * m) as f64).round() - 0.5;
    let outside = |i: usize, j: usize| ((i * m) as f64 - (j * n) as f64).abs() >= limit;
    // The share of the paths to (i, j) that has been outside.
    let mut share = vec![0.0; n + 1];
    for j in 0..=m {
        for i in 0..=n {
            share[i] = if outside(i, j) {
                1.0
            } else if i + j == 0 {
                0.0
            } else {
                let from_left = if i > 0 { share[i - 1] * i as f64 } else { 0.0 };
                let from_below = if j > 0 { share[i] * j as f64 } else { 0.0 };
                (from_left + from_below) / (i + j) as f64
            };
        }
    }
    share[n].min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy 1.17: `scipy.stats.kstwo.sf(d, n)`; above a million, where SciPy is off by up to 1.5 %, the sum by mpmath.
    #[test]
    fn a_small_p_of_one_sample_is_scipys() {
        for (n, d, expected) in [
            (3, 0.99, 2.000_000_000_000_005e-6),
            (5, 0.9, 1.999_999_999_999_998e-5),
            (20, 0.447, 3.658_410_203_729_278e-4),
            (20, 0.448, 3.515_313_735_345_665e-4),
            (100, 0.35, 1.865_228_719_089_831e-11),
            (140, 0.17, 5.246_108_687_519_814e-4),
            (140, 0.9, 2.085_597_360_093_660_3e-140),
            (141, 0.160009, 0.001_275_502_228_014_348_5),
            (1_000, 0.060083, 0.001_400_286_119_288_055),
            (5_000, 0.113137, 3.325_133_486_334_056e-56),
            (1_000_000, 0.018, 7.125_088_222_421_033e-282),
            (3_000_000, 0.001443, 7.494_705_832_898_284e-6),
            (3_000_000, 0.010392, 7.673_156_668_915_806e-282),
            (1_000_000_000, 0.0003, 1.342_563_537_583_009e-78),
        ] {
            let p = survival(n, d);
            assert!((p - expected).abs() < 1e-9 * expected, "{n} {d}: {p:e}");
        }
    }

    /// SciPy 1.17: `scipy.stats.ks_2samp(a, b, method="exact")`; the first is 2 / C(200, 100).
    #[test]
    fn a_small_p_of_two_samples_is_scipys() {
        let from = |start: f64, n: u32| (0..n).map(|i| start + f64::from(i)).collect::<Vec<_>>();
        for (n, later, expected) in [
            (100, 100.0, 2.208_760_693_199_505_4e-59),
            (60, 48.5, 2.402_697_058_495_502_2e-20),
        ] {
            let p = two_sample_sorted(&from(0.0, n), &from(later, n)).p;
            assert!((p - expected).abs() < 1e-9 * expected, "{n}: {p}");
        }
    }

    #[test]
    fn a_distribution_that_jumps_is_no_distance_from_samples_that_do() {
        let distance = |samples: &[f64], value| {
            let constant = Distribution::Constant { value };
            one_sample(samples, &constant).unwrap().d
        };
        assert_eq!(distance(&[5.0; 7], 5.0), 0.0);
        assert_eq!(distance(&[5.0; 7], 4.0), 1.0);
        assert_eq!(distance(&[4.0, 5.0, 5.0, 6.0], 5.0), 0.25);
    }
}
