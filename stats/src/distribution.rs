//! Distributions that delays are taken to follow.

use std::f64::consts::PI;
use std::fmt;

use crate::positive::{Component, Mixture, Positive};
use crate::special::{phi, phi_inverse};

/// A distribution of a latency, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// Always the same value.
    Constant {
        /// The value.
        value: f64,
    },
    /// Every value between two bounds alike.
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// `ln((x − location) / scale)` is normal with mean 0 and standard deviation `shape`: the
    /// three-parameter lognormal in SciPy's parametrisation (`scipy.stats.lognorm`).
    #[serde(rename = "lognormal")]
    LogNormal {
        /// Standard deviation of the logarithm; no unit.
        shape: f64,
        /// Lower end.
        location: f64,
        /// Distance of the median from the lower end.
        scale: f64,
    },
    /// A share of zeros, and the rest above 0: an excess latency, which many messages do not have.
    WithZeros {
        /// The share of zeros, from 0 to less than 1.
        zeros: f64,
        /// The distribution of the others.
        rest: Positive,
    },
}

use Distribution::{Constant, LogNormal, Uniform, WithZeros};

impl Distribution {
    /// The lognormal with this mean, standard deviation and lower end; `None` unless the mean
    /// lies above the lower end and the standard deviation above 0.
    ///
    /// The shape follows from the moments of the lognormal: shape² = ln(1 + (std / (mean − location))²).
    pub fn lognormal_with_moments(mean: f64, std: f64, location: f64) -> Option<Self> {
        let excess = mean - location;
        let valid = excess > 0.0 && std > 0.0 && excess.is_finite() && std.is_finite();
        valid.then(|| {
            let variance = (std / excess).powi(2).ln_1p();
            LogNormal {
                shape: variance.sqrt(),
                location,
                scale: excess * (-variance / 2.0).exp(),
            }
        })
    }

    /// The number of parameters, for Akaike's criterion.
    pub fn parameters(&self) -> usize {
        match self {
            Constant { .. } => 1,
            Uniform { .. } => 2,
            LogNormal { .. } => 3,
            WithZeros { rest, .. } => 1 + rest.parameters(),
        }
    }

    /// The chance of a value at or below `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        match *self {
            Constant { value } => f64::from(u8::from(x >= value)),
            Uniform { low, high } => ((x - low) / (high - low)).clamp(0.0, 1.0),
            LogNormal {
                shape,
                location,
                scale,
            } if x > location => phi(((x - location) / scale).ln() / shape),
            LogNormal { .. } => 0.0,
            WithZeros { zeros, .. } if x <= 0.0 => zeros * f64::from(u8::from(x == 0.0)),
            WithZeros { zeros, rest } => zeros + (1.0 - zeros) * rest.cdf(x),
        }
    }

    /// The density at `x`; infinite at a value that has a share of its own.
    pub fn density(&self, x: f64) -> f64 {
        match *self {
            Constant { value } if x == value => f64::INFINITY,
            Constant { .. } => 0.0,
            Uniform { low, high } if (low..=high).contains(&x) => 1.0 / (high - low),
            Uniform { .. } => 0.0,
            LogNormal {
                shape,
                location,
                scale,
            } if x > location => {
                let z = ((x - location) / scale).ln() / shape;
                (-0.5 * z * z).exp() / ((x - location) * shape * (2.0 * PI).sqrt())
            }
            LogNormal { .. } => 0.0,
            WithZeros { zeros, .. } if x == 0.0 && zeros > 0.0 => f64::INFINITY,
            WithZeros { zeros, rest } => (1.0 - zeros) * rest.log_density(x).exp(),
        }
    }

    /// The value that a share `p` (0 to 1) of all values does not exceed.
    pub fn quantile(&self, p: f64) -> f64 {
        match *self {
            Constant { value } => value,
            Uniform { low, high } => low + (high - low) * p.clamp(0.0, 1.0),
            LogNormal {
                shape,
                location,
                scale,
            } => location + scale * (shape * phi_inverse(p)).exp(),
            WithZeros { zeros, rest } => rest.quantile((p - zeros) / (1.0 - zeros)),
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Constant { value } => value,
            Uniform { low, high } => f64::midpoint(low, high),
            LogNormal {
                shape,
                location,
                scale,
            } => location + scale * (shape * shape / 2.0).exp(),
            WithZeros { zeros, rest } => (1.0 - zeros) * rest.mean(),
        }
    }

    /// The standard deviation.
    pub fn std(&self) -> f64 {
        match *self {
            Constant { .. } => 0.0,
            Uniform { low, high } => (high - low) / 12f64.sqrt(),
            LogNormal { shape, scale, .. } => {
                let variance = shape * shape;
                scale * (variance / 2.0).exp() * variance.exp_m1().sqrt()
            }
            WithZeros { zeros, rest } => {
                let mean = self.mean();
                ((1.0 - zeros) * rest.second_moment() - mean * mean)
                    .max(0.0)
                    .sqrt()
            }
        }
    }

    /// The mean of the values between the quantiles at `low` and at `high` (0 ≤ low < high ≤ 1).
    ///
    /// For the lognormal from its partial expectation, E\[X; X < q\] = e^(σ²/2) Φ(z − σ).
    pub fn mean_between(&self, low: f64, high: f64) -> f64 {
        match *self {
            Constant { value } => value,
            Uniform { .. } => f64::midpoint(self.quantile(low), self.quantile(high)),
            LogNormal {
                shape,
                location,
                scale,
            } => {
                let (from, to) = (phi_inverse(low) - shape, phi_inverse(high) - shape);
                // The difference of the complements keeps the digits in the upper tail.
                let share = if from > 0.0 {
                    phi(-from) - phi(-to)
                } else {
                    phi(to) - phi(from)
                };
                location + scale * (shape * shape / 2.0).exp() * share / (high - low)
            }
            WithZeros { zeros, rest } => {
                let above = |p: f64| match (p - zeros) / (1.0 - zeros) {
                    p if p <= 0.0 => rest.mean(),
                    p if p >= 1.0 => 0.0,
                    p => rest.mean_above(rest.quantile(p)),
                };
                (1.0 - zeros) * (above(low) - above(high)) / (high - low)
            }
        }
    }

    /// `count` values that stand for it, in ascending order: the mean of each of as many equal shares.
    pub fn slices(&self, count: usize) -> Vec<f64> {
        let share = |i: usize| i as f64 / count as f64;
        (0..count)
            .map(|i| self.mean_between(share(i), share(i + 1)))
            .collect()
    }

    /// The logarithm of the likelihood of the samples; −∞ if one of them cannot occur, and 0 for
    /// a constant that all samples equal. With a share of zeros, samples at 0 or below count as 0.
    pub fn log_likelihood(&self, samples: &[f64]) -> f64 {
        match *self {
            Constant { value } if samples.iter().all(|&x| x == value) => 0.0,
            Constant { .. } => f64::NEG_INFINITY,
            _ => samples.iter().map(|&x| self.log_density(x)).sum(),
        }
    }

    fn log_density(&self, x: f64) -> f64 {
        match *self {
            LogNormal {
                shape,
                location,
                scale,
            } if x > location => {
                let z = ((x - location) / scale).ln() / shape;
                -0.5 * z * z - ((x - location) * shape).ln() - 0.5 * (2.0 * PI).ln()
            }
            WithZeros { zeros, .. } if x <= 0.0 => zeros.ln(),
            WithZeros { zeros, rest } => (1.0 - zeros).ln() + rest.log_density(x),
            _ => self.density(x).ln(),
        }
    }
}

impl fmt::Display for Distribution {
    /// The distribution as people write it, in the unit of the samples: `lognormal(shape=1, location=0, scale=2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant { value } => write!(f, "constant(value={value})"),
            Uniform { low, high } => write!(f, "uniform(low={low}, high={high})"),
            LogNormal {
                shape,
                location,
                scale,
            } => {
                write!(
                    f,
                    "lognormal(shape={shape}, location={location}, scale={scale})"
                )
            }
            WithZeros { zeros, rest } => {
                write!(f, "{}(zeros={zeros}", rest.name())?;
                match rest {
                    Positive::LogNormal { shape, scale }
                    | Positive::Gamma { shape, scale }
                    | Positive::Weibull { shape, scale }
                    | Positive::GeneralisedPareto { shape, scale } => {
                        write!(f, ", shape={shape}, scale={scale}")?;
                    }
                    Positive::Mixture(mixture) => {
                        for c in mixture.components() {
                            let Component {
                                weight,
                                shape,
                                scale,
                            } = c;
                            write!(f, ", weight={weight}, shape={shape}, scale={scale}")?;
                        }
                    }
                }
                f.write_str(")")
            }
        }
    }
}

impl std::str::FromStr for Distribution {
    type Err = ();

    /// Reads what [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, rest) = text.trim().split_once('(').ok_or(())?;
        let list = rest.strip_suffix(')').ok_or(())?;
        let mut values = Vec::new();
        for field in list.split(',') {
            let (name, value) = field.split_once('=').ok_or(())?;
            let value: f64 = value.trim().parse().map_err(drop)?;
            values.push((
                name.trim(),
                Some(value).filter(|v| v.is_finite()).ok_or(())?,
            ));
        }
        match (kind, values.as_slice()) {
            ("constant", &[("value", value)]) => Ok(Constant { value }),
            ("uniform", &[("low", low), ("high", high)]) if low < high => Ok(Uniform { low, high }),
            ("lognormal", &[("shape", shape), ("location", location), ("scale", scale)])
                if shape > 0.0 && scale > 0.0 =>
            {
                Ok(LogNormal {
                    shape,
                    location,
                    scale,
                })
            }
            (kind, &[("zeros", zeros), ref rest @ ..]) if (0.0..1.0).contains(&zeros) => {
                Ok(WithZeros {
                    zeros,
                    rest: positive(kind, rest).ok_or(())?,
                })
            }
            _ => Err(()),
        }
    }
}

/// The distribution of this name with these parameters.
fn positive(name: &str, fields: &[(&str, f64)]) -> Option<Positive> {
    let components: Vec<Component> = fields
        .chunks(3)
        .filter_map(|fields| match *fields {
            [("weight", weight), ("shape", shape), ("scale", scale)] => Some(Component {
                weight,
                shape,
                scale,
            }),
            _ => None,
        })
        .collect();
    let read = match *fields {
        [("shape", shape), ("scale", scale)] if scale > 0.0 => match name {
            "lognormal" if shape > 0.0 => Positive::LogNormal { shape, scale },
            "gamma" if shape > 0.0 => Positive::Gamma { shape, scale },
            "weibull" if shape > 0.0 => Positive::Weibull { shape, scale },
            "generalised-pareto" => Positive::GeneralisedPareto { shape, scale },
            _ => return None,
        },
        _ if 3 * components.len() == fields.len() => Positive::Mixture(Mixture::new(&components)?),
        _ => return None,
    };
    (read.name() == name).then_some(read)
}
