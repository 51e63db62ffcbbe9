//! Maximum-likelihood fits of the families on the positive numbers.

use crate::error::Error;
use crate::positive::{Family, Positive};
use crate::special::{digamma, trigamma};

use super::mixture;

impl Family {
    /// Fits samples above 0, in ascending order.
    ///
    /// # Errors
    /// There are fewer than ten samples, they are all equal, or their likelihood is greatest where the family has no mean.
    pub fn fit(self, sorted: &[f64]) -> Result<Positive, Error> {
        const LEAST: usize = 10;
        if sorted.len() < LEAST {
            return Err(Error::TooFew {
                statistic: STATISTIC,
                needed: LEAST,
                given: sorted.len(),
            });
        }
        if sorted[0] == sorted[sorted.len() - 1] {
            return Err(Error::NoVariation {
                statistic: STATISTIC,
            });
        }
        let logarithms = Logarithms::of(sorted);
        match self {
            Family::LogNormal => Ok(Positive::LogNormal {
                shape: logarithms.std,
                scale: logarithms.mean.exp(),
            }),
            Family::Gamma => Ok(gamma(sorted, &logarithms)),
            Family::Weibull => Ok(weibull(sorted, &logarithms)),
            Family::GeneralisedPareto => generalised_pareto(sorted),
            Family::TwoLognormals => mixture::fit(sorted, 2),
            Family::ThreeLognormals => mixture::fit(sorted, 3),
        }
    }
}

const STATISTIC: &str = "a fit of the samples above 0";

/// Mean and standard deviation (divisor n) of the logarithms.
struct Logarithms {
    mean: f64,
    std: f64,
}

impl Logarithms {
    fn of(sorted: &[f64]) -> Self {
        let n = sorted.len() as f64;
        let shift = sorted[sorted.len() / 2].ln();
        let (mut sum, mut squares) = (0.0, 0.0);
        for x in sorted {
            let y = x.ln() - shift;
            sum += y;
            squares += y * y;
        }
        let mean = sum / n;
        Logarithms {
            mean: mean + shift,
            std: (squares / n - mean * mean).max(0.0).sqrt(),
        }
    }
}

/// θ times the mean below which a generalised Pareto is an exponential.
const NEARLY_EXPONENTIAL: f64 = 1e-9;

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// ln k − ψ(k) = ln(mean) − mean(ln x), by Newton's method on 1/k (Minka 2002, "Estimating a gamma distribution", equation 8).
fn gamma(sorted: &[f64], logarithms: &Logarithms) -> Positive {
    let mean = mean(sorted);
    let gap = (mean.ln() - logarithms.mean).max(f64::EPSILON);
    let mut shape = (3.0 - gap + ((gap - 3.0).powi(2) + 24.0 * gap).sqrt()) / (12.0 * gap);
    for _ in 0..100 {
        let step =
            (shape.ln() - digamma(shape) - gap) / (shape * shape * (1.0 / shape - trigamma(shape)));
        let next = 1.0 / (1.0 / shape + step);
        if !(next > 0.0 && next.is_finite()) {
            break;
        }
        let change = (next / shape - 1.0).abs();
        shape = next;
        if change < 1e-13 {
            break;
        }
    }
    Positive::Gamma {
        shape,
        scale: mean / shape,
    }
}

/// The root in k of Σ y^k ln y / Σ y^k − 1/k = mean(ln y), which has one (Johnson, Kotz and Balakrishnan 1994, chapter 21, equation 21.57),
/// by bisection of ln k.
fn weibull(sorted: &[f64], logarithms: &Logarithms) -> Positive {
    // Values are in units of the greatest, so that no power overflows.
    let most = sorted[sorted.len() - 1];
    let relative: Vec<f64> = sorted.iter().map(|x| (x / most).ln()).collect();
    let target = logarithms.mean - most.ln();
    let sums = |k: f64| {
        relative.iter().fold((0.0, 0.0), |(powers, weighted), y| {
            let power = (k * y).exp();
            (powers + power, weighted + power * y)
        })
    };
    let excess = |k: f64| {
        let (powers, weighted) = sums(k);
        weighted / powers - 1.0 / k - target
    };
    // The standard deviation of ln x is π / √6 / k.
    let guess = (std::f64::consts::PI / 6f64.sqrt() / logarithms.std).ln();
    let (mut low, mut high) = (guess - 1.0, guess + 1.0);
    while excess(low.exp()) > 0.0 && low > -30.0 {
        low -= 1.0;
    }
    while excess(high.exp()) < 0.0 && high < 30.0 {
        high += 1.0;
    }
    while high - low > 1e-11 {
        let middle = f64::midpoint(low, high);
        if excess(middle.exp()) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let shape = f64::midpoint(low, high).exp();
    let (powers, _) = sums(shape);
    Positive::Weibull {
        shape,
        scale: most * (powers / sorted.len() as f64).powf(1.0 / shape),
    }
}

/// The likelihood profiled over θ = ξ / σ: for a given θ the best ξ is the mean of ln(1 + θ x), and the likelihood a sample is
/// −ln(ξ / θ) − ξ − 1 (Grimshaw 1993, "Computing maximum likelihood estimates for the generalized Pareto distribution", section 2). It
/// has no
/// maximum for shapes under −1; where it is greatest from a shape of 1 on, the family has no mean.
fn generalised_pareto(sorted: &[f64]) -> Result<Positive, Error> {
    let most = sorted[sorted.len() - 1];
    let centre = mean(sorted);
    let rough = super::thin(sorted);
    let shape_of = |samples: &[f64], theta: f64| {
        samples.iter().map(|x| (theta * x).ln_1p()).sum::<f64>() / samples.len() as f64
    };
    let value = |samples: &[f64], theta: f64| {
        if theta.abs() * centre < NEARLY_EXPONENTIAL {
            return -centre.ln() - 1.0;
        }
        let shape = shape_of(samples, theta);
        if shape < -1.0 {
            return f64::NEG_INFINITY;
        }
        -(shape / theta).ln() - shape - 1.0
    };
    // θ from just above −1 / max to many times 1 / mean, evenly in ln(θ + 1 / max): where the top is, a thinned sample tells.
    let place = |step: f64| (step.exp() - 1.0) / most;
    let (first, last) = (-12.0, (1e4 * most / centre).ln());
    const STEPS: usize = 64;
    let step_of = |i: usize| first + (last - first) * i as f64 / (STEPS - 1) as f64;
    let values: Vec<f64> = (0..STEPS)
        .map(|i| value(&rough, place(step_of(i))))
        .collect();
    let top = (0..STEPS)
        .max_by(|&a, &b| values[a].total_cmp(&values[b]))
        .unwrap_or(0);
    let (low, high) = (
        step_of(top.saturating_sub(2)),
        step_of((top + 2).min(STEPS - 1)),
    );
    let theta = place(super::highest(low, high, 1e-9, |step| {
        value(sorted, place(step))
    }));
    let fitted = if theta.abs() * centre < NEARLY_EXPONENTIAL {
        Positive::GeneralisedPareto {
            shape: 0.0,
            scale: centre,
        }
    } else {
        let shape = shape_of(sorted, theta);
        Positive::GeneralisedPareto {
            shape,
            scale: shape / theta,
        }
    };
    match fitted.mean().is_finite() {
        true => Ok(fitted),
        false => Err(Error::NoMean {
            statistic: "a generalised Pareto fit",
        }),
    }
}
