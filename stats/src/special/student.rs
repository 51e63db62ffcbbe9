//! Student's t distribution.
//!
//! The chance that a deviate is at least as far from 0 as t, with ν degrees of freedom, is I_x(ν/2, 1/2) with
//! x = ν / (ν + t²): the incomplete beta function with one parameter that is always 1/2. Each branch below is a
//! sum of terms that are all positive, or one that converges in a few steps however large ν is. (Libraries
//! evaluate the general function, by a continued fraction of as many steps as the root of ν, times a difference of
//! logarithms of gamma functions that at ν = 1e9 has six digits left.)

use std::f64::consts::PI;

use super::gamma::{half_step, half_step_excess};
use super::normal::{two_sided, two_sided_inverse};

/// The chance of a deviate with `freedom` degrees (above 0) at least as far from 0 as `t`.
pub fn two_sided_t(t: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return two_sided(t);
    }
    Place::of(t.abs(), freedom).chances().outside
}

/// The distance from 0 of a deviate with `freedom` degrees (above 0) with the chance `p`: the
/// inverse of [`two_sided_t`], ∞ at 0.
///
/// Newton's method on logarithms, where the function is nearly straight in the centre and in the tail alike. It
/// begins at the normal's quantile, which is below. If a step leaves the interval in which the root is known to
/// lie, the interval is halved.
pub fn two_sided_t_inverse(p: f64, freedom: f64) -> f64 {
    /// A step is a relative change of t.
    const NO_CHANGE: f64 = 1e-15;
    const MOST_STEPS: usize = 200;
    if p.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return f64::NAN;
    }
    if freedom.is_infinite() {
        return two_sided_inverse(p);
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let mut t = two_sided_inverse(p);
    // Rounding may have the root at the start itself.
    let (mut low, mut high) = (0.5 * t, f64::MAX);
    for _ in 0..MOST_STEPS {
        let place = Place::of(t, freedom);
        let Chances { inside, outside } = place.chances();
        let slope = 2.0 * t * place.density();
        // The smaller of the two keeps the digits; either excess falls as t grows.
        let (excess, step) = if p < 0.5 {
            let excess = (outside / p).ln();
            (excess, excess * outside / slope)
        } else {
            let excess = ((1.0 - p) / inside).ln();
            (excess, excess * inside / slope)
        };
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        if step.abs() <= NO_CHANGE {
            break;
        }
        let next = t * step.exp();
        t = if next >= low && next <= high {
            next
        } else {
            low.sqrt() * high.sqrt()
        };
    }
    t
}

/// The chances of a deviate nearer to 0 than some t, and of one that is not.
struct Chances {
    inside: f64,
    outside: f64,
}

impl Chances {
    fn with_inside(inside: f64) -> Self {
        Chances {
            inside,
            outside: 1.0 - inside,
        }
    }

    fn with_outside(outside: f64) -> Self {
        Chances {
            inside: 1.0 - outside,
            outside,
        }
    }
}

/// The place where the distribution is evaluated, at t ≥ 0.
struct Place {
    t: f64,
    /// Half of the degrees of freedom.
    a: f64,
    /// t² / (ν + t²).
    y: f64,
    /// ln x, where x = ν / (ν + t²) = 1 − y.
    ln_x: f64,
}

/// Up to here the series in x is taken, which needs a few hundred terms then.
const LEAST_X: f64 = 0.9;
/// From this value on, the asymptotic expansion is as good as a `f64` above [`LEAST_X`].
const LARGE: f64 = 15.0;
/// No series below needs as many terms.
const MOST_TERMS: usize = 1_000;

impl Place {
    fn of(t: f64, freedom: f64) -> Self {
        let root = t / freedom.sqrt();
        let square = root * root;
        let (y, ln_x) = if square.is_finite() {
            (square / (1.0 + square), -square.ln_1p())
        } else {
            (1.0, -2.0 * root.ln())
        };
        Place {
            t,
            a: 0.5 * freedom,
            y,
            ln_x,
        }
    }

    fn density(&self) -> f64 {
        let height = half_step(self.a) / (2.0 * PI * self.a).sqrt();
        height * ((self.a + 0.5) * self.ln_x).exp()
    }

    fn chances(&self) -> Chances {
        let x = self.ln_x.exp();
        if self.t <= 1.0 {
            Chances::with_inside(self.series_inside())
        } else if x <= LEAST_X {
            Chances::with_outside(self.series_outside(x))
        } else if self.a >= LARGE {
            Chances::with_outside(self.expansion_outside())
        } else {
            Chances::with_inside(self.series_inside())
        }
    }

    /// I_y(1/2, a) by DLMF 8.17.8: 2 √y xᵃ / B(a, 1/2) Σ (a + 1/2)ₙ / (3/2)ₙ yⁿ.
    fn series_inside(&self) -> f64 {
        let factor = 2.0 * (self.y / PI).sqrt() * half_step(self.a) * (self.a * self.ln_x).exp();
        let terms = |n: f64, term: f64| term * self.y * (self.a + 0.5 + n) / (1.5 + n);
        factor * sum(1.0, terms)
    }

    /// I_x(a, 1/2) by DLMF 8.17.7: xᵃ / (a B(a, 1/2)) Σ (1/2)ₙ a / (n! (a + n)) xⁿ.
    fn series_outside(&self, x: f64) -> f64 {
        let factor = half_step(self.a) / (self.a * PI.sqrt()) * (self.a * self.ln_x).exp();
        let ratio = |n: f64| (0.5 + n) / (1.0 + n) * (self.a + n) / (self.a + n + 1.0);
        factor * sum(1.0, |n, term| term * x * ratio(n))
    }

    /// I_x(a, 1/2) for large a: DiDonato and Morris 1992, "Algorithm 708: Significant digit computation of the
    /// incomplete beta function ratios", section 9 (BGRAT), where the incomplete gamma function with the parameter
    /// 1/2 is erfc. Terms fall by 1 / (4 (a − 1/4)²), or by (ln x / 2)² at least.
    fn expansion_outside(&self) -> f64 {
        const B: f64 = 0.5;
        const TERMS: usize = 12;
        let shifted = self.a - 0.25;
        let u = -shifted * self.ln_x;
        let height = (-u).exp() * (u / PI).sqrt();
        let square = (0.5 * self.ln_x).powi(2);
        let mut integral = libm::erfc(u.sqrt());
        let mut total = integral;
        let mut power = height;
        // The coefficients p₀ = 1, p₁, … and 1 / (2m + 1)!.
        let (mut p, mut inverse) = ([0.0; TERMS], [0.0; TERMS]);
        (p[0], inverse[0]) = (1.0, 1.0);
        for n in 1..TERMS {
            let n_f = n as f64;
            let even = 2.0 * (n_f - 1.0);
            integral = ((B + even) * (B + even + 1.0) * integral + (u + B + even + 1.0) * power)
                / (4.0 * shifted * shifted);
            power *= square;
            inverse[n] = inverse[n - 1] / (2.0 * n_f * (2.0 * n_f + 1.0));
            let products = (1..n).map(|m| (m as f64 * B - n_f) * inverse[m] * p[n - m]);
            p[n] = (B - 1.0) * inverse[n] + products.sum::<f64>() / n_f;
            total += p[n] * integral;
        }
        half_step_excess(self.a) * total
    }
}

/// The sum of positive terms from the first one on. `next` makes each from its number and the one before.
fn sum(first: f64, next: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut term, mut sum) = (first, first);
    for n in 0..MOST_TERMS {
        term = next(n as f64, term);
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum
}
