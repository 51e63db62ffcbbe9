//! Distributions on the positive numbers, from 0 on: what the part of an excess latency is taken to follow that is above 0.
//!
//! Each is a scale family: multiplying [its scale](Positive::scaled) multiplies every value, so that any of them can be given the mean of
//! samples without leaving the positive numbers.

use std::f64::consts::PI;

use libm::{lgamma, tgamma};

use crate::special::{gamma_p, gamma_q, phi, phi_inverse};

/// The families, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One lognormal.
    LogNormal,
    /// Gamma.
    Gamma,
    /// Weibull.
    Weibull,
    /// Generalised Pareto.
    GeneralisedPareto,
    /// A mixture of two lognormals.
    TwoLognormals,
    /// A mixture of three.
    ThreeLognormals,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 6] = [
        Family::LogNormal,
        Family::Gamma,
        Family::Weibull,
        Family::GeneralisedPareto,
        Family::TwoLognormals,
        Family::ThreeLognormals,
    ];

    /// The name, that of the [`Positive`] which it fits.
    pub const fn name(self) -> &'static str {
        match self {
            Family::LogNormal => "lognormal",
            Family::Gamma => "gamma",
            Family::Weibull => "weibull",
            Family::GeneralisedPareto => "generalised-pareto",
            Family::TwoLognormals => "two-lognormals",
            Family::ThreeLognormals => "three-lognormals",
        }
    }
}

/// A distribution on the positive numbers, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "family", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Positive {
    /// ln(x / scale) is normal with mean 0 and standard deviation `shape` (`scipy.stats.lognorm` with `loc=0`).
    #[serde(rename = "lognormal")]
    LogNormal {
        /// Standard deviation of the logarithm; no unit.
        shape: f64,
        /// The median.
        scale: f64,
    },
    /// `scipy.stats.gamma` with `loc=0`.
    Gamma {
        /// Number of exponential stages; no unit.
        shape: f64,
        /// Mean of a stage.
        scale: f64,
    },
    /// `scipy.stats.weibull_min` with `loc=0`.
    Weibull {
        /// Exponent; no unit.
        shape: f64,
        /// The quantile at 1 − 1/e.
        scale: f64,
    },
    /// The generalised Pareto distribution (`scipy.stats.genpareto` with `loc=0`): P(X > x) = (1 + ξ x / σ)^(−1/ξ).
    GeneralisedPareto {
        /// ξ, the weight of the tail; no unit. Below 0 it ends at −σ / ξ; from 1 on it has no mean.
        shape: f64,
        /// σ.
        scale: f64,
    },
    /// Several lognormals; each value follows one of them.
    Mixture(Mixture),
}

/// The most lognormals in a mixture.
pub const MOST_COMPONENTS: usize = 3;

/// A mixture of two or three lognormals, the one of the least median first.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(into = "Listed", try_from = "Listed")]
pub struct Mixture {
    count: usize,
    components: [Component; MOST_COMPONENTS],
}

/// A lognormal of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The share of values that follow it, 0 to 1.
    pub weight: f64,
    /// Standard deviation of the logarithm; no unit.
    pub shape: f64,
    /// The median.
    pub scale: f64,
}

/// A mixture as it is stored.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    components: Vec<Component>,
}

impl From<Mixture> for Listed {
    fn from(mixture: Mixture) -> Self {
        Listed {
            components: mixture.components().to_vec(),
        }
    }
}

impl TryFrom<Listed> for Mixture {
    type Error = &'static str;

    fn try_from(listed: Listed) -> Result<Self, Self::Error> {
        Mixture::new(&listed.components)
            .ok_or("expected two or three lognormals, with weights that sum to 1")
    }
}

impl Mixture {
    /// A mixture of these; `None` unless they are two or three, with shapes and scales above 0 and weights that sum to 1 (to 1e-6; they are
    /// divided by their sum).
    pub fn new(components: &[Component]) -> Option<Self> {
        let sum: f64 = components.iter().map(|c| c.weight).sum();
        let sound = |c: &Component| {
            [c.weight, c.shape, c.scale]
                .iter()
                .all(|x| x.is_finite() && *x > 0.0)
        };
        let count = components.len();
        if !(2..=MOST_COMPONENTS).contains(&count)
            || !components.iter().all(sound)
            || (sum - 1.0).abs() > 1e-6
        {
            return None;
        }
        let mut all = [components[0]; MOST_COMPONENTS];
        all[..count].copy_from_slice(components);
        all[..count].sort_by(|a, b| a.scale.total_cmp(&b.scale));
        for component in &mut all[..count] {
            component.weight /= sum;
        }
        // Two mixtures are equal where their lognormals are.
        let first = all[0];
        all[count..].fill(first);
        Some(Mixture {
            count,
            components: all,
        })
    }

    /// Its lognormals, the one of the least median first.
    pub fn components(&self) -> &[Component] {
        &self.components[..self.count]
    }

    fn sum(&self, of: impl Fn(&Component) -> f64) -> f64 {
        self.components().iter().map(|c| c.weight * of(c)).sum()
    }
}

impl Component {
    fn z(&self, x: f64) -> f64 {
        (x / self.scale).ln() / self.shape
    }

    fn mean(&self) -> f64 {
        self.scale * (self.shape * self.shape / 2.0).exp()
    }
}

use Positive::{Gamma, GeneralisedPareto, LogNormal, Weibull};

impl Positive {
    /// The name of the family.
    pub fn name(&self) -> &'static str {
        match self {
            LogNormal { .. } => Family::LogNormal,
            Gamma { .. } => Family::Gamma,
            Weibull { .. } => Family::Weibull,
            GeneralisedPareto { .. } => Family::GeneralisedPareto,
            Positive::Mixture(mixture) if mixture.count == 2 => Family::TwoLognormals,
            Positive::Mixture(_) => Family::ThreeLognormals,
        }
        .name()
    }

    /// The number of parameters.
    pub fn parameters(&self) -> usize {
        match self {
            Positive::Mixture(mixture) => 3 * mixture.count - 1,
            _ => 2,
        }
    }

    /// The same with every value multiplied by `factor`, above 0.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        match self {
            LogNormal { shape, scale } => LogNormal {
                shape,
                scale: scale * factor,
            },
            Gamma { shape, scale } => Gamma {
                shape,
                scale: scale * factor,
            },
            Weibull { shape, scale } => Weibull {
                shape,
                scale: scale * factor,
            },
            GeneralisedPareto { shape, scale } => GeneralisedPareto {
                shape,
                scale: scale * factor,
            },
            Positive::Mixture(mut mixture) => {
                for component in &mut mixture.components {
                    component.scale *= factor;
                }
                Positive::Mixture(mixture)
            }
        }
    }

    /// The chance of a value at or below `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match *self {
            LogNormal { shape, scale } => phi((x / scale).ln() / shape),
            Gamma { shape, scale } => gamma_p(shape, x / scale),
            Weibull { shape, scale } => -(-(x / scale).powf(shape)).exp_m1(),
            GeneralisedPareto { shape: 0.0, scale } => -(-x / scale).exp_m1(),
            GeneralisedPareto { shape, scale } if shape * x / scale <= -1.0 => 1.0,
            GeneralisedPareto { shape, scale } => -(-(shape * x / scale).ln_1p() / shape).exp_m1(),
            Positive::Mixture(ref mixture) => mixture.sum(|c| phi(c.z(x))),
        }
    }

    /// The chance of a value above `x`, accurate in the upper tail.
    pub fn survival(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 1.0;
        }
        match *self {
            LogNormal { shape, scale } => phi(-(x / scale).ln() / shape),
            Gamma { shape, scale } => gamma_q(shape, x / scale),
            Weibull { shape, scale } => (-(x / scale).powf(shape)).exp(),
            GeneralisedPareto { shape: 0.0, scale } => (-x / scale).exp(),
            GeneralisedPareto { shape, scale } => {
                let base = shape * x / scale;
                if base <= -1.0 {
                    0.0
                } else {
                    (-base.ln_1p() / shape).exp()
                }
            }
            Positive::Mixture(ref mixture) => mixture.sum(|c| phi(-c.z(x))),
        }
    }

    /// The logarithm of the density at `x`; −∞ where there is none.
    pub fn log_density(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let lognormal = |shape: f64, scale: f64| {
            let z = (x / scale).ln() / shape;
            -0.5 * z * z - (x * shape).ln() - 0.5 * (2.0 * PI).ln()
        };
        match *self {
            LogNormal { shape, scale } => lognormal(shape, scale),
            Gamma { shape, scale } => {
                (shape - 1.0) * (x / scale).ln() - x / scale - lgamma(shape) - scale.ln()
            }
            Weibull { shape, scale } => {
                let y = x / scale;
                (shape / scale).ln() + (shape - 1.0) * y.ln() - y.powf(shape)
            }
            GeneralisedPareto { shape: 0.0, scale } => -x / scale - scale.ln(),
            GeneralisedPareto { shape, scale } => {
                let base = shape * x / scale;
                if base <= -1.0 {
                    f64::NEG_INFINITY
                } else {
                    -(1.0 + 1.0 / shape) * base.ln_1p() - scale.ln()
                }
            }
            Positive::Mixture(ref mixture) => {
                mixture.sum(|c| lognormal(c.shape, c.scale).exp()).ln()
            }
        }
    }

    /// The value that a share `p` (0 to 1) of all values does not exceed.
    pub fn quantile(&self, p: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        match *self {
            LogNormal { shape, scale } => scale * (shape * phi_inverse(p)).exp(),
            Weibull { shape, scale } => scale * (-(-p).ln_1p()).powf(1.0 / shape),
            GeneralisedPareto { shape: 0.0, scale } => -scale * (-p).ln_1p(),
            GeneralisedPareto { shape, scale } => scale * (-shape * (-p).ln_1p()).exp_m1() / shape,
            _ if p >= 1.0 => f64::INFINITY,
            Gamma { .. } | Positive::Mixture(_) => self.solve(p),
        }
    }

    /// The quantile by bisection of the logarithm of x, between bounds that hold it.
    fn solve(&self, p: f64) -> f64 {
        let below = |x: f64| {
            if p > 0.5 {
                self.survival(x) > 1.0 - p
            } else {
                self.cdf(x) < p
            }
        };
        let start = self.mean().max(f64::MIN_POSITIVE);
        let (mut low, mut high) = (start, start);
        while below(high) && high < f64::MAX / 4.0 {
            high *= 4.0;
        }
        while !below(low) && low > f64::MIN_POSITIVE {
            low /= 4.0;
        }
        let (mut low, mut high) = (low.ln(), high.ln());
        loop {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high || high - low < 1e-14 {
                return middle.exp();
            }
            if below(middle.exp()) {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// The mean; ∞ for a generalised Pareto of shape 1 or more.
    pub fn mean(&self) -> f64 {
        match *self {
            LogNormal { shape, scale } => scale * (shape * shape / 2.0).exp(),
            Gamma { shape, scale } => shape * scale,
            Weibull { shape, scale } => scale * tgamma(1.0 + 1.0 / shape),
            GeneralisedPareto { shape, scale } if shape < 1.0 => scale / (1.0 - shape),
            GeneralisedPareto { .. } => f64::INFINITY,
            Positive::Mixture(ref mixture) => mixture.sum(Component::mean),
        }
    }

    /// The mean of squares; ∞ for a generalised Pareto of shape ½ or more.
    pub fn second_moment(&self) -> f64 {
        match *self {
            LogNormal { shape, scale } => (scale * (shape * shape).exp()).powi(2),
            Gamma { shape, scale } => shape * (shape + 1.0) * scale * scale,
            Weibull { shape, scale } => scale * scale * tgamma(1.0 + 2.0 / shape),
            GeneralisedPareto { shape, scale } if shape < 0.5 => {
                2.0 * scale * scale / ((1.0 - shape) * (1.0 - 2.0 * shape))
            }
            GeneralisedPareto { .. } => f64::INFINITY,
            Positive::Mixture(ref mixture) => {
                mixture.sum(|c| (c.scale * (c.shape * c.shape).exp()).powi(2))
            }
        }
    }

    /// ∫ x dF over the values above `x`, accurate in the upper tail: what the values above `x` contribute to the mean.
    ///
    /// Lognormal: m Φ(σ − z). Gamma: m Q(k + 1, x / θ). Weibull: m Q(1 + 1/k, (x / λ)^k). Generalised Pareto: P(X > x) times the mean
    /// beyond
    /// it, (x + σ) / (1 − ξ) (Embrechts, Klüppelberg and Mikosch 1997, theorem 3.4.13).
    pub fn mean_above(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return self.mean();
        }
        if x == f64::INFINITY {
            return 0.0;
        }
        match *self {
            LogNormal { shape, scale } => self.mean() * phi(shape - (x / scale).ln() / shape),
            Gamma { shape, scale } => self.mean() * gamma_q(shape + 1.0, x / scale),
            Weibull { shape, scale } => {
                self.mean() * gamma_q(1.0 + 1.0 / shape, (x / scale).powf(shape))
            }
            GeneralisedPareto { shape, scale } => {
                let survival = self.survival(x);
                if survival == 0.0 {
                    0.0
                } else {
                    survival * (x + scale) / (1.0 - shape)
                }
            }
            Positive::Mixture(ref mixture) => mixture.sum(|c| c.mean() * phi(c.shape - c.z(x))),
        }
    }
}
