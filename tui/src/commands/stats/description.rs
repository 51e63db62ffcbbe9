//! One recording beside another: how they differ, and not whether the systems do.

use jitterlab_base::show;
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::mann_whitney::{self, size_of_effect};
use jitterlab_stats::summary::Summary;
use jitterlab_stats::{Error, hodges_lehmann, ks, resolution, wasserstein, welch};
use serde::Serialize;

use super::{interval, line};
use crate::output::time_of;

/// The difference of two recordings; times in nanoseconds, differences a − b. It holds no test: samples that follow each other
/// depend on each other.
#[derive(Serialize)]
pub struct Description {
    a: Summary,
    b: Summary,
    /// The size of the effect, from −1 (all of a is smaller) to 1.
    rank_biserial: f64,
    /// The chance that a sample of a exceeds one of b.
    superiority: f64,
    /// The greatest distance of the two distribution functions.
    largest_difference: f64,
    /// Hodges-Lehmann.
    shift_ns: f64,
    /// Welch's interval, which is right if all samples are independent.
    mean_difference_ns: Interval,
    wasserstein_ns: f64,
    /// The step of the coarser clock; none if all samples are equal.
    resolution_ns: Option<f64>,
    conclusion: String,
}

impl Description {
    /// Describes samples in ascending order.
    pub fn of(a: &[f64], b: &[f64], alpha: f64) -> Result<Self, Error> {
        let (of_a, of_b) = (Summary::of_sorted(a), Summary::of_sorted(b));
        let found = mann_whitney::test_sorted(a, b);
        let mut described = Description {
            a: of_a,
            b: of_b,
            rank_biserial: found.rank_biserial,
            superiority: found.superiority,
            largest_difference: ks::two_sample_sorted(a, b).d,
            shift_ns: hodges_lehmann::shift_sorted(a, b, 1.0 - alpha)
                .interval
                .estimate,
            mean_difference_ns: welch::mean_difference(&of_a, &of_b, 1.0 - alpha)?,
            wasserstein_ns: wasserstein::distance_sorted(a, b),
            resolution_ns: resolution::of_two_sorted(a, b),
            conclusion: String::new(),
        };
        described.conclusion = described.in_words();
        Ok(described)
    }

    fn in_words(&self) -> String {
        const MORE: &str = "to test whether the two systems differ, give several recordings of each: --a FILE... --b FILE... \
                            (or --independent, where each sample is from a run of its own)";
        let size = size_of_effect(self.rank_biserial);
        if self.wasserstein_ns == 0.0 {
            return format!("these two recordings are the same; {MORE}");
        }
        let below = |step: &f64| self.shift_ns.abs() < *step;
        let how = match self.resolution_ns.filter(below) {
            Some(step) => format!(
                "in these two recordings a and b differ by less than the resolution of the samples, {}, in the middle",
                show::time(step)
            ),
            None => format!(
                "in these two recordings a is {} than b by {}",
                if self.shift_ns > 0.0 {
                    "larger"
                } else {
                    "smaller"
                },
                show::time(self.shift_ns.abs())
            ),
        };
        format!(
            "{how}; the effect is {size} (rank-biserial {:.3}); {MORE}",
            self.rank_biserial
        )
    }

    pub fn text(&self) -> String {
        format!(
            "{}{}\nrank-biserial correlation       {:.4}\n\
             largest difference              {:.4}\n\
             Hodges-Lehmann shift a - b      {}\n\
             difference of means a - b       {}, if all samples were independent\n\
             Wasserstein-1 distance          {}\n\
             resolution of the samples       {}\n\n{}\n",
            line("a", &self.a),
            line("b", &self.b),
            self.rank_biserial,
            self.largest_difference,
            show::time(self.shift_ns),
            interval(&self.mean_difference_ns),
            show::time(self.wasserstein_ns),
            time_of(self.resolution_ns),
            self.conclusion
        )
    }
}
