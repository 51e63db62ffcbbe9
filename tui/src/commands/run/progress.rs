//! What is shown while an experiment runs.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use jitterlab_experiment::conduct::{Event, Tally};
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_stats::summary::quantile;
use serde_json::json;

use crate::outcome::Failure;

/// A line on stderr. A reader that has gone away, or a terminal, does not stop an experiment.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

/// Who watches.
pub enum Progress {
    /// A program: a JSON object a line on stdout.
    Headless,
    /// People: lines on stderr, and the run that is being done in the last one if it is a terminal.
    People {
        /// Whether the last line can be written over.
        terminal: bool,
    },
}

impl Progress {
    /// For people.
    pub fn people(terminal: bool) -> Self {
        Progress::People { terminal }
    }

    /// Shows what happens.
    pub fn show(&mut self, folder: &Path, event: &Event) {
        match self {
            Progress::Headless => line(&json_of(folder, event)),
            Progress::People { terminal } => people(*terminal, folder, event),
        }
    }

    /// Shows an end before the end; people are told by the program's edge. There is no folder if
    /// none was made.
    pub fn fail(&mut self, folder: Option<&Path>, failure: &Failure) {
        if let Progress::Headless = self {
            line(&json!({
                "event": "ends", "results": folder.map(name), "error": failure.to_string(),
            }));
        }
    }

    /// Shows the end.
    pub fn end(&mut self, folder: &Path, tally: Tally) {
        match self {
            Progress::Headless => line(&json!({
                "event": "ends", "results": name(folder), "done": tally.done, "failed": tally.failed,
            })),
            Progress::People { .. } => {
                let failed = match tally.failed {
                    0 => String::new(),
                    n => format!(", {n} failed"),
                };
                say!("{} runs done{failed}", tally.done);
                let _ = writeln!(std::io::stdout(), "{}", folder.display());
            }
        }
    }
}

/// A line on stdout, as [`say`] prints one on stderr.
fn line(value: &serde_json::Value) {
    let _ = writeln!(std::io::stdout(), "{value}");
}

/// A folder's name in JSON, which is UTF-8.
fn name(folder: &Path) -> Cow<'_, str> {
    folder.to_string_lossy()
}

fn json_of(folder: &Path, event: &Event) -> serde_json::Value {
    match event {
        Event::Begins {
            runs,
            finished,
            environment,
            seconds_left,
        } => json!({
            "event": "begins", "results": name(folder), "runs": runs, "finished": finished,
            "bandwidth": environment.bandwidth, "seconds_left": seconds_left,
            "changed": environment.changed(),
        }),
        Event::RunBegins { run } => json!({"event": "run_begins", "run": run}),
        Event::RunEnded {
            record,
            finished,
            seconds_left,
            ..
        } => json!({
            "event": "run_ended", "record": record, "finished": finished,
            "seconds_left": seconds_left,
        }),
        Event::Fitted { fits } => json!({"event": "fitted", "fits": fits}),
    }
}

fn people(terminal: bool, folder: &Path, event: &Event) {
    if terminal {
        // Back to the start of the line, and clear it.
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    match event {
        Event::Begins {
            runs,
            finished,
            environment,
            seconds_left,
        } => {
            say!("results: {}", folder.display());
            for (name, node) in &environment.hosts {
                say!(
                    "host {name}: {}, {}, {} CPUs{}, Linux {}",
                    node.hostname,
                    node.cpu,
                    node.cpus,
                    if node.virtual_machine {
                        " (virtual)"
                    } else {
                        ""
                    },
                    node.kernel.split(' ').next().unwrap_or_default()
                );
            }
            for change in environment.changed() {
                say!("not as in the beginning: {change}");
            }
            if let Some(bandwidth) = environment.bandwidth {
                say!("one-way bandwidth: {:.1} MB/s", bandwidth / 1e6);
            }
            let before = match finished {
                0 => String::new(),
                n => format!(", {n} of them done before"),
            };
            say!("{runs} runs{before}; about {} left", time(*seconds_left));
        }
        Event::RunBegins { run } => {
            if terminal {
                let _ = write!(std::io::stderr(), "… {run}");
            }
        }
        Event::RunEnded {
            record,
            samples,
            finished,
            seconds_left,
        } => say!(
            "{finished:4}  {:<46} {}  {} left",
            record.run,
            result(record, samples),
            time(*seconds_left)
        ),
        Event::Fitted { fits } => {
            for fit in *fits {
                say!(
                    "fitted to load {} %: excess over the median RTT without load {:.1} us, \
                     std {:.1} us",
                    fit.percent,
                    fit.excess_mean_ns / 1e3,
                    fit.excess_std_ns / 1e3
                );
            }
        }
    }
}

fn result(record: &RunRecord, samples: &[f64]) -> String {
    match (record.outcome, &record.application) {
        (Outcome::Failed, _) => {
            let reason = record.reason.as_deref().unwrap_or("failed");
            format!("attempt {}: {reason}", record.attempt)
        }
        (_, Some(application)) => format!("{:>9}", seconds(application.runtime_s)),
        _ => histogram(samples),
    }
}

/// A time in the unit that suits it.
fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
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

/// A histogram in one line, from 1 us to 10 ms on a logarithmic axis that is the same for every
/// run, with the median and the 99th percentile of the RTT.
fn histogram(samples: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const DECADES: f64 = 4.0;
    const WIDTH: usize = 32;
    if samples.is_empty() {
        return String::new();
    }
    let mut counts = [0u64; WIDTH];
    for ns in samples {
        let place = (ns / 1e3).max(1.0).log10() / DECADES * WIDTH as f64;
        counts[(place as usize).min(WIDTH - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let bars: String = counts
        .iter()
        .map(|&count| match count {
            0 => ' ',
            // Also one sample in a million is seen.
            n => BARS[((n as f64 / most).sqrt() * 7.0).round() as usize],
        })
        .collect();
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    format!(
        "1us▕{bars}▏10ms  median {:7.1} us  99 % {:8.1} us",
        quantile(&sorted, 0.5) / 1e3,
        quantile(&sorted, 0.99) / 1e3
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_its_bars_where_the_samples_are() {
        let line = histogram(&[1e3, 1e3, 1e3, 1e3, 1e7]);
        assert_eq!(line.chars().filter(|c| ('▁'..='█').contains(c)).count(), 2);
        assert!(line.contains("▕█"), "{line}");
        assert!(line.contains("▅▏") || line.contains("▄▏"), "{line}");
        assert_eq!(histogram(&[]), "");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(time(59.4), "59 s");
        assert_eq!(time(61.0), "1:01 min");
        assert_eq!(time(7_260.0), "2:01 h");
        assert_eq!(seconds(0.000_25), "250.00 us");
    }
}
