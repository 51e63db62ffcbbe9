//! How runs are shown to people who watch them.

use jitterlab_base::show;
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_stats::histogram::Bins;
use jitterlab_stats::summary::quantile;

use crate::picture;

/// Columns of a histogram in one line.
pub const WIDTH: usize = 32;
/// What it spans, in nanoseconds.
const SPAN: (f64, f64) = (1e3, 1e7);

/// How a run ended, in one line.
pub fn result(record: &RunRecord, samples: &[f64]) -> String {
    if let Some(short) = without_samples(record) {
        return short;
    }
    match Brief::of(samples) {
        Some(brief) => format!("{}  {}", brief.histogram(WIDTH), brief.quantiles()),
        None => String::new(),
    }
}

/// How a run ended that is not shown by its samples: it failed, or has a run time.
pub fn without_samples(record: &RunRecord) -> Option<String> {
    match (record.outcome, record.application()) {
        (Outcome::Failed, _) => {
            let reason = record.reason.as_deref().unwrap_or("failed");
            Some(format!("attempt {}: {reason}", record.attempt))
        }
        (_, Some(application)) => Some(format!("{:>9}", show::time(application.runtime_s * 1e9))),
        _ => None,
    }
}

/// The samples of a run in short: RTT, from 1 us to 10 ms on a logarithmic axis that is the same for every
/// run.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    counts: Vec<u64>,
    median_ns: f64,
    p99_ns: f64,
}

impl Brief {
    /// Of samples in nanoseconds, in any order; of none there is nothing to show.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Brief {
            counts: Bins::logarithmic(SPAN.0, SPAN.1, WIDTH).of_sorted(&sorted),
            median_ns: quantile(&sorted, 0.5),
            p99_ns: quantile(&sorted, 0.99),
        })
    }

    /// The histogram with its axis, in so many columns: a divisor of [`WIDTH`].
    pub fn histogram(&self, columns: usize) -> String {
        let joined: Vec<u64> = self
            .counts
            .chunks(WIDTH / columns.clamp(1, WIDTH))
            .map(|counts| counts.iter().sum())
            .collect();
        format!("1us▕{}▏10ms", picture::line(&joined))
    }

    /// Median and 99th percentile of the RTT.
    pub fn quantiles(&self) -> String {
        format!(
            "median {:>8}  99 % {:>8}",
            show::time(self.median_ns),
            show::time(self.p99_ns)
        )
    }
}

/// A duration for people who wait.
pub fn time(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02} h", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_its_bars_where_the_samples_are() {
        let brief = Brief::of(&[1e3, 1e3, 1e3, 1e3, 1e7]).unwrap();
        for width in [8, WIDTH] {
            let line = brief.histogram(width);
            assert_eq!(line.chars().count(), width + "1us||10ms".len());
            assert_eq!(line.chars().filter(|c| ('▁'..='█').contains(c)).count(), 2);
            assert!(line.contains("▕█"), "{line}");
            assert!(line.contains("▅▏") || line.contains("▄▏"), "{line}");
        }
        assert_eq!(Brief::of(&[]), None);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(59.4), "59 s");
        assert_eq!(time(61.0), "1:01 min");
        assert_eq!(time(7_260.0), "2:01 h");
    }
}
