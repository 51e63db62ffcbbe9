//! The library suite.

use jitterlab_base::clock::Source;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_base::units::Bytes;
use jitterlab_stats::summary::Summary;
use serde::{Deserialize, Serialize};

/// The size of a message, if nothing is said.
pub const SIZE: Bytes = Bytes(8);
/// The dimensions of a halo exchange, if nothing is said.
pub const DIMENSIONS: u8 = 2;

/// A run of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The suite.
    pub suite: Suite,
    /// The name of the case.
    pub case: String,
    /// Number of ranks.
    pub ranks: usize,
    /// True if messages went by non-blocking calls.
    pub non_blocking: bool,
    /// The meaning of a sample.
    pub sample: Sample,
    /// The clock that rank 0 measured times with.
    pub clock: Source,
    /// Time that one reading of it takes.
    pub clock_read_ns: f64,
    /// The measurements, by size.
    pub points: Vec<Point>,
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let way = match self.non_blocking {
            true => ", non-blocking",
            false => "",
        };
        let sample = match self.sample {
            Sample::RoundTrip => "round trip",
            Sample::Call => "time in the call",
        };
        let of_point = |point: &Point| {
            let Report { case, ranks, .. } = self;
            let size = point.size_bytes;
            let clocks = format!(
                "ranks' times are comparable to {}; a reading of the clock ({}) takes {}",
                show::time(point.clock_error_ns),
                self.clock,
                show::time(self.clock_read_ns)
            );
            [
                Part::Line(format!(
                    "{case}{way} on {ranks} ranks, {size} B: {sample} and its parts"
                )),
                point.table(),
                Part::Line(clocks),
            ]
        };
        self.points.iter().flat_map(of_point).collect()
    }
}

/// The name of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Operations of MPI.
    Library,
}

/// The meaning of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sample {
    /// A round trip between two ranks.
    RoundTrip,
    /// The time that a rank is in the call, with all others.
    Call,
}

/// The times of a case with one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The size; 0 of an operation that has none.
    pub size_bytes: usize,
    /// The figures of the samples of all ranks that count: a rank that answers in a ping-pong does not.
    #[serde(flatten)]
    pub figures: Figures,
    /// The greatest error of a time of one rank, compared with one of another, in nanoseconds: twice the greatest
    /// error of a clock against rank 0's, once if there are two clocks.
    pub clock_error_ns: f64,
    /// The time from the first rank's entry to the last one's, one for each operation; none of a round trip.
    #[serde(deserialize_with = "Option::deserialize")]
    pub skew: Option<Figures>,
    /// The operation itself: from the last rank's entry to each exit; none of a round trip. Negative where a rank could
    /// leave before all had come.
    #[serde(deserialize_with = "Option::deserialize")]
    pub operation: Option<Figures>,
    /// Rank by rank.
    pub per_rank: Vec<RankFigures>,
    /// Rank by rank, and by time; none where every sample is kept elsewhere.
    #[serde(deserialize_with = "Option::deserialize")]
    pub heat_map: Option<HeatMap>,
}

impl Point {
    fn table(&self) -> Part {
        let mut rows = vec![("all".to_string(), self.figures)];
        rows.extend(self.skew.map(|skew| ("skew".into(), skew)));
        rows.extend(
            self.operation
                .map(|operation| ("operation".into(), operation)),
        );
        for rank in &self.per_rank {
            rows.push((format!("rank {}", rank.rank), rank.figures));
            rows.extend(rank.late.map(|late| ("  late".into(), late)));
        }
        let names = [
            "", "n", "least", "median", "mean", "99 %", "99.9 %", "greatest",
        ];
        let row = |(what, of): (String, Figures)| {
            let [least, median, mean, p99, p999, greatest] = [
                of.min_ns,
                of.median_ns,
                of.mean_ns,
                of.p99_ns,
                of.p999_ns,
                of.max_ns,
            ]
            .map(show::time);
            let n = show::count(of.samples as u64);
            [what, n, least, median, mean, p99, p999, greatest]
        };
        Part::table(names, rows.into_iter().map(row))
    }
}

/// The times of a case on one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankFigures {
    /// The rank.
    pub rank: usize,
    /// The figures of its samples.
    #[serde(flatten)]
    pub figures: Figures,
    /// The time after the first one at which it entered; none of a round trip.
    #[serde(deserialize_with = "Option::deserialize")]
    pub late: Option<Figures>,
    /// The time from the last rank's entry to its exit; none of a round trip.
    #[serde(deserialize_with = "Option::deserialize")]
    pub operation: Option<Figures>,
    /// Its clock.
    pub clock: Alignment,
}

/// The offset of a rank's clock from rank 0's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Alignment {
    /// The offset before the run, in nanoseconds; positive if it was ahead.
    pub offset_before_ns: f64,
    /// The offset after the run.
    pub offset_after_ns: f64,
    /// The greatest error of either.
    pub error_ns: f64,
}

/// Times by rank and by time: a list for each rank, with a number for each bin of equally many operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// When rank 0 entered the first operation of each bin, in seconds since it entered the first of all.
    pub bin_starts_s: Vec<f64>,
    /// The mean sample, in nanoseconds.
    pub mean_ns: Vec<Vec<f64>>,
    /// The greatest sample.
    pub max_ns: Vec<Vec<f64>>,
    /// The time that a rank was late, in the mean; none of a round trip.
    #[serde(deserialize_with = "Option::deserialize")]
    pub late_mean_ns: Option<Vec<Vec<f64>>>,
    /// The time that it was late at most; none of a round trip.
    #[serde(deserialize_with = "Option::deserialize")]
    pub late_max_ns: Option<Vec<Vec<f64>>>,
}

/// The figures of times, in nanoseconds. Quantiles interpolate linearly (Hyndman and Fan's type 7).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of times.
    pub samples: usize,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation, with the divisor n − 1; one time has none.
    #[serde(deserialize_with = "Option::deserialize")]
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
    /// The figures of times in nanoseconds, in any order.
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
