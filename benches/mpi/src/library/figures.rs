use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

/// What times are like, in nanoseconds. Quantiles interpolate linearly (Hyndman and Fan's type 7).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How many times there are.
    pub samples: usize,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation, with the divisor n − 1; one time has none.
    pub std_ns: Option<f64>,
    /// The least.
    pub min_ns: f64,
    /// Median.
    pub median_ns: f64,
    /// 90th percentile.
    pub p90_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// 99.9th percentile.
    pub p999_ns: f64,
    /// The greatest.
    pub max_ns: f64,
}

impl Figures {
    /// Of times in nanoseconds, in any order.
    ///
    /// # Panics
    /// There is none.
    pub fn of(mut times: Vec<f64>) -> Figures {
        times.sort_unstable_by(f64::total_cmp);
        let summary = Summary::of_sorted(&times);
        Figures {
            samples: summary.n,
            mean_ns: summary.mean,
            std_ns: summary.std,
            min_ns: summary.min,
            median_ns: summary.median,
            p90_ns: summary.p90,
            p99_ns: summary.p99,
            p999_ns: summary.p999,
            max_ns: summary.max,
        }
    }
}
