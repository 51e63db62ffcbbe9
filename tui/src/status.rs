//! Lines on stderr for people who wait, the last of which is written over as long as it changes.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jitterlab_base::show::{count, time};
use jitterlab_live::{Total, follow_own, own_reader};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use ratatui::crossterm::terminal;

/// What is written on stderr. A reader that has gone away, or a terminal, stops nothing.
#[derive(Clone)]
pub struct Status {
    /// Whether the last line can be written over.
    is_terminal: bool,
    last: Arc<Mutex<String>>,
}

impl Status {
    /// On stderr as it is: nothing is written over where it is no terminal, or `NO_COLOR` is set.
    pub fn new() -> Self {
        Status {
            is_terminal: std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            last: Arc::default(),
        }
    }

    /// Whether the last line can be written over.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn last(&self) -> MutexGuard<'_, String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line that stays.
    pub fn say(&self, line: &str) {
        let last = self.last();
        let (clear, again) = match self.is_terminal {
            true => ("\r\x1b[K", last.as_str()),
            false => ("", ""),
        };
        let _ = write!(std::io::stderr(), "{clear}{line}\n{again}");
    }

    /// Writes the last line over; empty, it is gone.
    pub fn show(&self, line: &str) {
        if self.is_terminal {
            let columns = terminal::size().map_or(80, |(columns, _)| usize::from(columns));
            let mut last = self.last();
            // A line that is too long would be two, and could not be written over.
            *last = line.chars().take(columns.saturating_sub(1)).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K{last}");
        }
    }
}

/// What was published so far, in a line: samples, and of the part that is measured, median, 99 % and the highest.
pub fn samples(total: &Total) -> String {
    let of_part = |share| {
        let ns = total.histogram.quantile(share).unwrap_or_default();
        time(ns.min(total.max_ns) as f64)
    };
    match total.histogram.is_empty() {
        true => format!("{} samples", count(total.samples())),
        false => format!(
            "{} samples  median {}  99 % {}  max {}",
            count(total.samples()),
            of_part(0.5),
            of_part(0.99),
            time(total.max_ns as f64)
        ),
    }
}

/// Shows what this process publishes, until it is over.
pub struct Shown(Option<(Sender<()>, JoinHandle<()>)>);

impl Shown {
    /// Begins, if stderr is a terminal. It is looked at by a thread that keeps off the CPUs `measuring`; where there are no
    /// others, nothing is shown, since looking would disturb what is measured.
    pub fn begin(measuring: &[usize]) -> Self {
        const PERIOD: Duration = Duration::from_millis(250);
        let status = Status::new();
        let Some(others) = others(measuring).filter(|_| status.is_terminal()) else {
            return Shown(None);
        };
        follow_own();
        let (over, is_over) = channel();
        let thread = std::thread::spawn(move || {
            let _ = sched_setaffinity(Pid::from_raw(0), &others);
            let (mut reader, mut total) = (own_reader(), Total::default());
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(PERIOD) {
                if let Some(update) = reader.update() {
                    total.take(update);
                    status.show(&format!("… {}  {}", total.label, samples(&total)));
                }
            }
            status.show("");
        });
        Shown(Some((over, thread)))
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.0.take() {
            drop(over);
            let _ = thread.join();
        }
    }
}

/// The CPUs that the calling thread may run on, without these; nothing if none is left.
fn others(measuring: &[usize]) -> Option<CpuSet> {
    let mut others = sched_getaffinity(Pid::from_raw(0)).ok()?;
    for &cpu in measuring {
        let _ = others.unset(cpu);
    }
    let has_any = (0..CpuSet::count()).any(|cpu| others.is_set(cpu).unwrap_or(false));
    has_any.then_some(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_live::Update;
    use jitterlab_stats::histogram::Histogram;

    #[test]
    fn a_line_tells_samples_of_all_parts_and_quantiles_of_one() {
        let mut total = Total::default();
        assert_eq!(samples(&total), "0 samples");
        total.take(Update {
            part: 2,
            label: "64B".into(),
            before: 1_000,
            max_ns: 90_000,
            counts: Default::default(),
            starts_over: true,
            more: Histogram::of(&[17_000.0, 18_000.0, 90_000.0]),
        });
        assert_eq!(
            samples(&total),
            "1,003 samples  median 18.02 us  99 % 90 us  max 90 us"
        );
    }
}
