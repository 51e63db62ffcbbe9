//! Two sets of samples that are independent: each from a run of its own.

use jitterlab_base::show;
use jitterlab_stats::bootstrap::{Bootstrap, Interval};
use jitterlab_stats::hodges_lehmann::{self, Shift};
use jitterlab_stats::ks::{self, KolmogorovSmirnov};
use jitterlab_stats::mann_whitney::size_of_effect;
use jitterlab_stats::mann_whitney::{self, MannWhitney};
use jitterlab_stats::summary::Summary;
use jitterlab_stats::{Error, resolution, wasserstein, welch};
use serde::Serialize;

use super::{interval, line};
use crate::output::time_of;

/// The findings from the samples; times in nanoseconds, differences a − b.
#[derive(Serialize)]
pub struct Comparison {
    alpha: f64,
    a: Summary,
    b: Summary,
    mann_whitney: MannWhitney,
    kolmogorov_smirnov: KolmogorovSmirnov,
    /// Hodges-Lehmann.
    shift_ns: Shift,
    /// Percentile bootstrap, or Welch's above [`RESAMPLED`].
    mean_difference_ns: Interval,
    wasserstein_ns: f64,
    /// The step of the coarser clock; none if all samples are equal.
    resolution_ns: Option<f64>,
    conclusion: String,
}

/// With more samples than this, a bootstrap takes too long, and their mean is as good as normal.
const RESAMPLED: usize = 100_000;

impl Comparison {
    /// Compares samples in ascending order.
    pub fn of(a: &[f64], b: &[f64], alpha: f64, seed: u64) -> Result<Self, Error> {
        let confidence = 1.0 - alpha;
        let (of_a, of_b) = (Summary::of_sorted(a), Summary::of_sorted(b));
        let mean_difference_ns = if a.len().max(b.len()) > RESAMPLED {
            welch::mean_difference(&of_a, &of_b, confidence)?
        } else {
            let bootstrap = Bootstrap {
                resamples: 1_000,
                confidence,
                seed,
            };
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            bootstrap.percentile_of_two(a, b, |a, b| mean(a) - mean(b))?
        };
        let mut comparison = Comparison {
            alpha,
            a: of_a,
            b: of_b,
            mann_whitney: mann_whitney::test_sorted(a, b),
            kolmogorov_smirnov: ks::two_sample_sorted(a, b),
            shift_ns: hodges_lehmann::shift_sorted(a, b, confidence),
            mean_difference_ns,
            wasserstein_ns: wasserstein::distance_sorted(a, b),
            resolution_ns: resolution::of_two_sorted(a, b),
            conclusion: String::new(),
        };
        comparison.conclusion = comparison.in_words();
        Ok(comparison)
    }

    fn in_words(&self) -> String {
        let test = &self.mann_whitney;
        if test.p >= self.alpha {
            return format!(
                "no significant difference at alpha = {} (Mann-Whitney {})",
                self.alpha,
                show::p_is(test.p)
            );
        }
        let size = size_of_effect(test.rank_biserial);
        let Interval {
            estimate,
            low,
            high,
        } = self.shift_ns.interval;
        if let Some(step) = self.resolution_ns.filter(|step| estimate.abs() < *step) {
            return format!(
                "a and b differ by less than the resolution of the samples, {}{}; the effect is {size} (rank-biserial \
                 {:.3}, Mann-Whitney {})",
                show::time(step),
                self.beyond_the_middle(step),
                test.rank_biserial,
                show::p_is(test.p)
            );
        }
        // The figures are in the direction that the sentence names, so that they agree with it.
        let (direction, by, from, to) = if test.rank_biserial > 0.0 {
            ("larger", estimate, low, high)
        } else {
            ("smaller", -estimate, -high, -low)
        };
        format!(
            "a tends to be {direction} than b, by {} (interval {} to {} at alpha = {}); \
             the effect is {size} (rank-biserial {:.3}, Mann-Whitney {})",
            show::time(by),
            show::time(from),
            show::time(to),
            self.alpha,
            test.rank_biserial,
            show::p_is(test.p)
        )
    }

    /// Samples that are alike in the middle may differ in their tails: so much that the clock shows it.
    fn beyond_the_middle(&self, step: f64) -> String {
        let Interval {
            estimate,
            low,
            high,
        } = self.mean_difference_ns;
        if low < step && high > -step {
            return String::new();
        }
        format!(
            ", in the middle; their means differ by {} (interval {} to {})",
            show::time(estimate),
            show::time(low),
            show::time(high)
        )
    }

    /// The words about an interval that has less confidence than was asked for.
    fn too_few(&self) -> String {
        let confidence = self.shift_ns.confidence;
        if confidence >= 1.0 - self.alpha - 1e-9 {
            return String::new();
        }
        format!(
            ", with a confidence of {}: too few samples for more",
            show::percent(confidence)
        )
    }

    pub fn text(&self) -> String {
        format!(
            "{}{}\nMann-Whitney        U {}  {}  rank-biserial {:.4}\n\
             Kolmogorov-Smirnov  D {:.4}  {}\n\
             Hodges-Lehmann shift a - b      {}{}\n\
             difference of means a - b       {}\n\
             Wasserstein-1 distance          {}\n\
             resolution of the samples       {}\n\n{}\n",
            line("a", &self.a),
            line("b", &self.b),
            self.mann_whitney.u,
            show::p_is(self.mann_whitney.p),
            self.mann_whitney.rank_biserial,
            self.kolmogorov_smirnov.d,
            show::p_is(self.kolmogorov_smirnov.p),
            interval(&self.shift_ns.interval),
            self.too_few(),
            interval(&self.mean_difference_ns),
            show::time(self.wasserstein_ns),
            time_of(self.resolution_ns),
            self.conclusion
        )
    }
}
