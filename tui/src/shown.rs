//! What several commands show people: runs, processors.

use jitterlab_base::show::{self, counted};
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_node_tuning::topology::{Topology, Vendor};
use jitterlab_stats::histogram::Bins;
use jitterlab_stats::summary::quantile;

use crate::picture;

/// Columns of a histogram in one line.
pub const WIDTH: usize = 32;
/// The span, in nanoseconds.
const SPAN: (f64, f64) = (1e3, 1e7);

/// A name in at most so many columns: of one that is longer, the beginning, and its last part (a repetition, which tells
/// runs apart) where that is short.
pub fn cut(name: &str, width: usize) -> String {
    /// Longer last parts leave too little of the beginning.
    const LAST: usize = 5;
    let length = name.chars().count();
    if length <= width {
        return name.into();
    }
    let last = name.rfind('.').map_or("", |at| &name[at..]);
    let last = match last.chars().count() {
        n if n <= LAST && 3 * n < width => last,
        _ => "",
    };
    let room = width.saturating_sub(last.chars().count() + 1);
    let begin: String = name.chars().take(room).collect();
    match width {
        0 => String::new(),
        _ => format!("{begin}…{last}"),
    }
}

/// The end of a run, in one line.
pub fn result(record: &RunRecord, samples: &[f64]) -> String {
    if let Some(short) = without_samples(record) {
        return short;
    }
    match Outline::of(samples) {
        Some(outline) => format!("{}  {}", outline.histogram(WIDTH), outline.quantiles()),
        None => String::new(),
    }
}

/// The end of a run that is not shown by its samples: it failed, or has a run time.
pub fn without_samples(record: &RunRecord) -> Option<String> {
    match (
        record.outcome,
        record
            .result
            .as_ref()
            .and_then(|result| result.application()),
    ) {
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
pub struct Outline {
    counts: Vec<u64>,
    median_ns: f64,
    p99_ns: f64,
}

impl Outline {
    /// The figures of samples in nanoseconds, in any order; none if there is no sample.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Outline {
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

/// Processors in two lines: what they are, and how many.
pub fn processors(topology: &Topology) -> String {
    let vendor = match &topology.vendor {
        Vendor::Intel => "Intel",
        Vendor::Amd => "AMD",
        Vendor::Arm => "Arm",
        Vendor::Other(name) if name.is_empty() => "unknown processor",
        Vendor::Other(name) => name,
    };
    let mut text = topology.model.as_deref().unwrap_or(vendor).to_owned();
    if topology.virtual_machine {
        text.push_str(", in a virtual machine");
    }
    text.push_str(&format!(
        "\n{}, {}, {} online ({})",
        counted(topology.packages.len(), "package"),
        counted(topology.cores.len(), "core"),
        counted(topology.online.len(), "CPU"),
        topology.online
    ));
    if !topology.offline.is_empty() {
        text.push_str(&format!(", {} offline", topology.offline));
    }
    if let Some(smt) = &topology.smt {
        // The kernel's words are `notsupported` and `notimplemented`, among others.
        text.push_str(&format!(", SMT {}", smt.replacen("not", "not ", 1)));
    }
    text + "\n"
}

/// A text as one word to a shell.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_its_bars_where_the_samples_are() {
        let outline = Outline::of(&[1e3, 1e3, 1e3, 1e3, 1e7]).unwrap();
        for width in [8, WIDTH] {
            let line = outline.histogram(width);
            assert_eq!(line.chars().count(), width + "1us||10ms".len());
            assert_eq!(line.chars().filter(|c| ('▁'..='█').contains(c)).count(), 2);
            assert!(line.contains("▕█"), "{line}");
            assert!(line.contains("▅▏") || line.contains("▄▏"), "{line}");
        }
        assert_eq!(Outline::of(&[]), None);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(59.4), "59 s");
        assert_eq!(time(61.0), "1:01 min");
        assert_eq!(time(7_260.0), "2:01 h");
    }

    #[test]
    fn of_a_long_name_the_beginning_is_seen() {
        let run = "packet-rtt-tcp.injected-80-uniform.r5";
        assert_eq!(cut(run, 37), run);
        assert_eq!(cut(run, 20), "packet-rtt-tcp.i….r5");
        assert_eq!(cut("results-20261122T031500Z", 10), "results-2…");
        assert_eq!([cut(run, 0), cut(run, 1)], ["", "…"]);
    }
}
