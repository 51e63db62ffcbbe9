//! The runs of one condition, taken together.

use std::fmt;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::{RunRecord, SuiteKind, Transport, rtt};
use jitterlab_packet::cases::open_loop::Loop;
use jitterlab_stats::autocorrelation::{self, LAGS};
use jitterlab_stats::bootstrap::Bootstrap;
use jitterlab_stats::moments::Moments;
use jitterlab_stats::repeated;
use jitterlab_stats::summary::{Summary, quantile};
use serde::Serialize;

use crate::Error;
use crate::analysis::load::Load;
use crate::analysis::repeated::{CONFIDENCE, Repeated};
use crate::table::Estimate;
use crate::words;

/// The resampling of intervals over runs; the seed is fixed, so that a folder has one report.
pub const BOOTSTRAP: Bootstrap = Bootstrap {
    resamples: 2_000,
    confidence: CONFIDENCE,
    seed: 1,
};

/// A run is resampled in so many segments of consecutive samples.
pub const SEGMENTS: usize = 50;

/// The most samples that tests and fits are computed of. If there are more, so many evenly spaced
/// order statistics are taken. They have the same distribution function to within 1 / this.
pub const COMPARED: usize = 200_000;

/// Gives the samples of a run, in nanoseconds and in the order in which they were taken.
pub type Reader<'a> = dyn Fn(&RunRecord) -> Result<Vec<f64>, Error> + 'a;

/// Gives the samples of a run over MPI, in nanoseconds, rank by rank.
pub type RankReader<'a> = dyn Fn(&RunRecord) -> Result<Vec<Vec<f64>>, Error> + 'a;

/// The link of round trips: a case of the packet suite over one transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The name of the case.
    pub case: String,
    /// The carrier of the messages.
    pub transport: Transport,
}

impl Link {
    /// The link that a run of the packet suite measures.
    pub fn of(run: &RunRecord) -> Option<Self> {
        let transport = run.transport.filter(|_| run.suite == SuiteKind::Packet)?;
        Some(Link {
            case: run.case.clone(),
            transport,
        })
    }

    /// Every link over which round trips were measured in the closed loop: by case, and within one in the order of
    /// [`Transport::ALL`].
    pub fn all(runs: &[&RunRecord]) -> Vec<Self> {
        Link::among(runs, is_closed_rtt)
    }

    /// The links over which something else was measured.
    pub fn others(runs: &[&RunRecord]) -> Vec<Self> {
        Link::among(runs, |run| !is_closed_rtt(run))
    }

    fn among(runs: &[&RunRecord], is_meant: impl Fn(&RunRecord) -> bool) -> Vec<Self> {
        let meant = runs.iter().filter(|run| is_meant(run));
        let mut links: Vec<Link> = meant.filter_map(|run| Link::of(run)).collect();
        let place = |transport| Transport::ALL.iter().position(|&known| known == transport);
        links.sort_by(|a, b| (&a.case, place(a.transport)).cmp(&(&b.case, place(b.transport))));
        links.dedup();
        links
    }

    /// The link for the names of files: `rtt-udp`.
    pub fn id(&self) -> String {
        format!("{}-{}", self.case, self.transport.name())
    }
}

impl fmt::Display for Link {
    /// The link for people: `RTT over UDP`, and with its name if the case has one of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = words::transport(self.transport.name());
        match self.case.as_str() {
            "rtt" => write!(f, "RTT over {transport}"),
            case => write!(f, "RTT of {case} over {transport}"),
        }
    }
}

/// All round trips that were measured over one link at one level.
pub struct Condition {
    /// The link.
    pub link: Link,
    /// The level.
    pub level: Level,
    /// Their RTT in nanoseconds.
    pub rtt: Pooled,
    /// Messages without an answer.
    pub lost: u64,
    /// Messages whose answer came too late to be a sample: after the timeout.
    pub reordered: u64,
    /// The background load of these runs.
    pub load: Option<Load>,
}

impl Condition {
    /// The condition of these runs, which are of one link and level; `None` if there are no
    /// samples.
    ///
    /// # Errors
    /// The samples of a run cannot be read.
    pub fn of(
        link: &Link,
        level: Level,
        runs: &[&RunRecord],
        read: &Reader,
    ) -> Result<Option<Self>, Error> {
        let rtt = Pooled::of(&format!("{link} at {level}"), runs, read)?;
        Ok(rtt.map(|rtt| Condition {
            link: link.clone(),
            level,
            rtt,
            lost: sum(runs, |point| point.lost),
            reordered: sum(runs, |point| point.reordered),
            load: Load::of(runs),
        }))
    }
}

/// The samples of repeated runs, taken together.
pub struct Pooled {
    /// The samples of all runs in nanoseconds, in ascending order; never empty.
    pub sorted: Vec<f64>,
    /// The summary of all of them.
    pub summary: Summary,
    /// The mean of each run, in nanoseconds.
    pub means: Repeated,
    /// The median of each run, in nanoseconds.
    medians: Vec<f64>,
    /// The skewness of each run of three samples or more.
    skews: Vec<f64>,
    /// The autocorrelation of the ranks of each run at each of [`LAGS`], of runs that have one.
    orders: Vec<Vec<f64>>,
    segments: Vec<Vec<Moments>>,
}

impl Pooled {
    /// The samples of these runs; `None` if there are none. `what` they are of is for messages.
    ///
    /// # Errors
    /// The samples of a run cannot be read.
    pub fn of(what: &str, runs: &[&RunRecord], read: &Reader) -> Result<Option<Self>, Error> {
        let statistics = |source| Error::Statistics {
            what: what.into(),
            source,
        };
        let (mut pooled, mut segments) = (Vec::new(), Vec::new());
        let (mut means, mut medians, mut skews) = (Repeated::default(), Vec::new(), Vec::new());
        let mut orders = Vec::new();
        for run in runs {
            let samples = read(run)?;
            if samples.is_empty() {
                continue;
            }
            let sorted = jitterlab_stats::sorted(&samples).map_err(statistics)?;
            let summary = Summary::of_sorted(&sorted);
            means.add(run.block, summary.mean);
            medians.push(summary.median);
            skews.extend(summary.skew);
            orders.extend(autocorrelation::of_ranks(&samples, &LAGS));
            segments.push(repeated::segments(&samples, SEGMENTS));
            pooled.extend(samples);
        }
        if pooled.is_empty() {
            return Ok(None);
        }
        let sorted = jitterlab_stats::sorted(&pooled).map_err(statistics)?;
        drop(pooled);
        Ok(Some(Pooled {
            summary: Summary::of_sorted(&sorted),
            sorted,
            means,
            medians,
            skews,
            orders,
            segments,
        }))
    }

    /// Number of runs with samples.
    pub fn runs(&self) -> usize {
        self.segments.len()
    }

    /// The mean in nanoseconds, with its interval over runs.
    pub fn mean(&self) -> Estimate {
        self.estimate(self.summary.mean, Moments::mean)
    }

    /// The standard deviation in nanoseconds, with its interval over runs; not a number for a single sample.
    pub fn std(&self) -> Estimate {
        self.estimate(self.summary.std.unwrap_or(f64::NAN), Moments::std)
    }

    /// The median in nanoseconds, with its interval over runs.
    pub fn median(&self) -> Estimate {
        let median = self.summary.median;
        match repeated::about(median, &self.medians, CONFIDENCE) {
            Ok(interval) => Estimate::from(interval).positive(),
            Err(_) => Estimate::alone(median),
        }
    }

    /// The skewness of a run, mean over runs with its interval.
    pub fn skew_of_run(&self) -> Option<Estimate> {
        let mean = repeated::mean(&self.skews, CONFIDENCE);
        mean.ok().map(Estimate::from)
    }

    /// The autocorrelation of ranks at each of [`LAGS`], mean over runs; `None` where no run is long enough, or varies.
    pub fn order(&self) -> Option<[f64; LAGS.len()]> {
        let runs = self.orders.len();
        let mean = |lag: usize| {
            let of_runs: f64 = self.orders.iter().map(|order| order[lag]).sum();
            of_runs / runs as f64
        };
        (runs > 0).then(|| std::array::from_fn(mean))
    }

    fn estimate(&self, value: f64, statistic: impl Fn(&Moments) -> Option<f64>) -> Estimate {
        match repeated::interval(&self.segments, &BOOTSTRAP, statistic) {
            Ok(interval) => Estimate::from(interval).positive(),
            // One run: nothing is known of what varies from run to run.
            Err(_) => Estimate::alone(value),
        }
    }

    /// The samples, in ascending order; at most [`COMPARED`] of them.
    pub fn compared(&self) -> Vec<f64> {
        thinned(&self.sorted, COMPARED)
    }

    /// The samples at evenly spaced shares, for a figure.
    pub fn quantiles(&self, count: usize) -> Vec<(f64, f64)> {
        shares(count)
            .map(|p| (p, quantile(&self.sorted, p)))
            .collect()
    }
}

/// Evenly spaced shares inside 0 to 1.
fn shares(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |i| (i as f64 + 0.5) / count as f64)
}

/// Evenly spaced order statistics, each in the middle of those it stands for; all where there are
/// no more than `most`.
pub fn thinned(sorted: &[f64], most: usize) -> Vec<f64> {
    if sorted.len() <= most {
        return sorted.to_vec();
    }
    (0..most)
        .map(|i| sorted[(2 * i + 1) * sorted.len() / (2 * most)])
        .collect()
}

/// The report of a run of round trips.
pub fn rtt_of(run: &RunRecord) -> Option<&rtt::Report> {
    run.result.as_ref()?.packet()?.rtt()
}

/// True if a run measured round trips in the closed loop: those of an open loop count from another moment.
fn is_closed_rtt(run: &RunRecord) -> bool {
    rtt_of(run).is_some_and(|report| report.pacing == Loop::Closed)
}

/// A count of the ping-pong, over all runs.
fn sum(runs: &[&RunRecord], count: fn(&rtt::Point) -> u64) -> u64 {
    let reports = runs.iter().filter_map(|run| rtt_of(run));
    reports.map(|report| count(&report.point)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thinned_sample_keeps_the_distribution() {
        let sorted: Vec<f64> = (0..1_000_003).map(f64::from).collect();
        let thin = thinned(&sorted, 1_000);
        assert_eq!(thin.len(), 1_000);
        for p in [0.0, 0.1, 0.5, 0.999, 1.0] {
            let (a, b) = (quantile(&sorted, p), quantile(&thin, p));
            assert!((a - b).abs() <= 1_001.0, "{p}: {a} {b}");
        }
        assert_eq!(thinned(&sorted[..10], 1_000), sorted[..10]);
    }
}
