//! Lines on stderr for people who wait. The last line is written over as long as it changes.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jitterlab_base::show::{count, counted, percent, size, time};
use jitterlab_live::{Count, Total, follow_own, own_reader};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use ratatui::crossterm::terminal;

use crate::cpus::beside;
use crate::shown::{self, cut};

/// The status lines on stderr. A reader that has gone away, or a terminal, stops nothing.
#[derive(Clone)]
pub struct Status {
    /// True if the last line can be written over.
    is_terminal: bool,
    last: Arc<Mutex<String>>,
}

impl Status {
    /// A status on stderr as it is: nothing is written over if it is no terminal, or `NO_COLOR` is set.
    pub fn new() -> Self {
        Status {
            is_terminal: std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            last: Arc::default(),
        }
    }

    /// True if the last line can be written over.
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

    /// Writes the last line over with these parts; without any, it is gone.
    pub fn show(&self, parts: &[String]) {
        if self.is_terminal {
            let columns = terminal::size().map_or(80, |(columns, _)| usize::from(columns));
            let mut last = self.last();
            // A line that is too long would be two, and could not be written over.
            *last = fitted(parts, columns.saturating_sub(1));
            let _ = write!(std::io::stderr(), "\r\x1b[K{last}");
        }
    }
}

/// Parts in a line of at most so many columns: the first and the last one, and of those between them as many as there is room
/// for.
fn fitted(parts: &[String], columns: usize) -> String {
    const BETWEEN: &str = "  ";
    let (first, last, others) = match parts {
        [] => return String::new(),
        [only] => return cut(only, columns),
        [first, others @ .., last] => (first, last, others),
    };
    let width = |text: &str| text.chars().count();
    let mut room = columns.saturating_sub(width(last) + BETWEEN.len());
    let mut line = cut(first, room);
    room = room.saturating_sub(width(&line));
    for (at, part) in others.iter().enumerate() {
        let Some(own) = room.checked_sub(BETWEEN.len()) else {
            break;
        };
        let is_cut = width(part) > own;
        // A figure without its end would be another one; the first part may be a line of words.
        if is_cut && at > 0 {
            break;
        }
        let part = cut(part, own);
        line.extend([BETWEEN, &part]);
        room = own - width(&part);
        if is_cut {
            break;
        }
    }
    line.extend([BETWEEN, last]);
    line.chars().take(columns).collect()
}

/// The samples published so far, in parts of a line: their number, and of the part that is measured, median, 99 % and the
/// highest. If there are no samples, iterations or messages.
pub fn samples(total: &Total) -> Vec<String> {
    if total.samples() == 0
        && let Some((done, planned)) = total.iterations()
    {
        let share = done as f64 / planned.max(1) as f64;
        return vec![format!("{} of the iterations", percent(share))];
    }
    let messages = total.counted(Count::Messages);
    if total.samples() == 0 && messages > 0 {
        let bytes = total.counted(Count::Bytes);
        return vec![format!(
            "{}, {}",
            counted(messages as usize, "message"),
            size(bytes as f64)
        )];
    }
    let of_part = |share| {
        let ns = total.histogram.quantile(share).unwrap_or_default();
        time(ns.min(total.max_ns) as f64)
    };
    let mut parts = vec![format!("{} samples", count(total.samples()))];
    if !total.histogram.is_empty() {
        parts.extend([
            format!("median {}", of_part(0.5)),
            format!("99 % {}", of_part(0.99)),
            format!("max {}", time(total.max_ns as f64)),
        ]);
    }
    parts
}

/// The amount that is going to be measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Planned {
    /// So many parts, at least and at most. Each takes this long.
    Parts {
        /// The number of parts.
        counts: [u32; 2],
        /// The length of each part.
        each: Duration,
    },
    /// So many samples.
    Samples(u64),
    /// So many parts, at least and at most. The length of one is yet to be seen.
    Counted([u32; 2]),
    /// Whatever comes until it is stopped.
    Endless,
}

/// The time that it still takes.
struct Left {
    planned: Planned,
    /// When the first samples, or parts, were seen, and how many they were.
    first: Option<(Duration, u64)>,
}

impl Left {
    fn new(planned: Planned) -> Self {
        Left {
            planned,
            first: None,
        }
    }

    /// The time left in words, when so many samples are there, the part of this number is measured, and so much time has gone by;
    /// none where nobody knows.
    fn after(&mut self, samples: u64, part: u64, elapsed: Duration) -> Option<String> {
        match self.planned {
            Planned::Parts { counts, each } => {
                let [least, most] = counts;
                let left = (each * most).checked_sub(elapsed)?.as_secs_f64();
                let bound = if least == most { "" } else { "at most " };
                Some(format!("{bound}{} left", shown::time(left)))
            }
            Planned::Samples(all) => {
                let left = self.by_pace(samples, all, elapsed)?;
                Some(format!("{} left", shown::time(left)))
            }
            Planned::Counted([least, most]) => {
                // The part that is measured is left as a whole.
                let left = self.by_pace(part, u64::from(most) + 1, elapsed)?;
                let bound = if least == most { "" } else { "at most " };
                Some(format!("{bound}about {} left", shown::time(left)))
            }
            Planned::Endless => None,
        }
    }

    /// The seconds that are left until so many are there, by how fast they have come.
    fn by_pace(&mut self, now: u64, all: u64, elapsed: Duration) -> Option<f64> {
        if now == 0 {
            return None;
        }
        let (since, before) = *self.first.get_or_insert((elapsed, now));
        let each = (elapsed - since).as_secs_f64() / now.checked_sub(before)? as f64;
        Some(each * all.saturating_sub(now) as f64).filter(|left| left.is_finite())
    }
}

/// Shows what this process publishes, until it is over.
pub struct Shown {
    status: Status,
    look: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Shown {
    /// Begins, if stderr is a terminal. It is looked at by a thread that keeps off the CPUs `measuring`; where there are no
    /// others, nothing is shown, since looking would disturb what is measured.
    pub fn begin(measuring: &[usize], planned: Planned) -> Self {
        const PERIOD: Duration = Duration::from_millis(250);
        let status = Status::new();
        let Some(others) = others(measuring).filter(|_| status.is_terminal()) else {
            return Shown { status, look: None };
        };
        let shows = status.clone();
        let followed = follow_own();
        let (over, is_over) = channel();
        let look = move || {
            let _ = sched_setaffinity(Pid::from_raw(0), &others);
            let (mut reader, mut total) = (own_reader(), Total::default());
            let (mut left, begun) = (Left::new(planned), Instant::now());
            while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(PERIOD) {
                if let Some(update) = reader.update() {
                    total.take(update);
                }
                let mut parts = vec![total.label.clone()];
                parts.extend(samples(&total));
                parts.extend(left.after(total.samples(), total.part, begun.elapsed()));
                shows.show(&parts);
            }
            shows.show(&[]);
            drop(followed);
        };
        // The process that measures waits for its end, also where another one polls at real-time priority on the CPUs that are left.
        let thread = beside(|| std::thread::spawn(look));
        Shown {
            status,
            look: Some((over, thread)),
        }
    }

    /// Prints a line on stderr that stays.
    pub fn say(&self, line: &str) {
        self.status.say(line);
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.look.take() {
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
    fn the_time_that_is_left_follows_from_what_is_planned() {
        let mut parts = Left::new(Planned::Parts {
            counts: [9, 9],
            each: Duration::from_millis(700),
        });
        let after =
            |left: &mut Left, samples, ms| left.after(samples, 0, Duration::from_millis(ms));
        assert_eq!(after(&mut parts, 0, 300).as_deref(), Some("6 s left"));
        assert_eq!(after(&mut parts, 5, 6_500), None);
        let mut bounded = Left::new(Planned::Parts {
            counts: [2, 15],
            each: Duration::from_secs(1),
        });
        let told = after(&mut bounded, 7, 5_000);
        assert_eq!(told.as_deref(), Some("at most 10 s left"));
        // The time that samples take is known from the second look on, by how fast they come.
        let mut counted = Left::new(Planned::Samples(100_000));
        assert_eq!(after(&mut counted, 0, 250), None);
        assert_eq!(after(&mut counted, 1_000, 500), None);
        let told = after(&mut counted, 11_000, 1_500);
        assert_eq!(told.as_deref(), Some("9 s left"));
        // The time that parts take is known likewise, once one is over.
        let mut parts = Left::new(Planned::Counted([4, 4]));
        let mut at = |part, ms| parts.after(7, part, Duration::from_millis(ms));
        assert_eq!((at(0, 250), at(1, 1_000), at(1, 1_500)), (None, None, None));
        assert_eq!(at(2, 3_000).as_deref(), Some("about 6 s left"));
        assert_eq!(at(4, 7_000).as_deref(), Some("about 2 s left"));
        let mut bounded = Left::new(Planned::Counted([2, 11]));
        assert_eq!(bounded.after(0, 1, Duration::ZERO), None);
        let told = bounded.after(0, 2, Duration::from_secs(1));
        assert_eq!(told.as_deref(), Some("at most about 10 s left"));
    }

    #[test]
    fn of_a_long_line_both_ends_are_seen_and_no_figure_is_cut() {
        let parts = [
            "gaps",
            "2,451 samples",
            "median 31.14 us",
            "99 % 8.684 ms",
            "at most 2 s left",
        ]
        .map(String::from);
        for (columns, line) in [
            (
                80,
                "gaps  2,451 samples  median 31.14 us  99 % 8.684 ms  at most 2 s left",
            ),
            (60, "gaps  2,451 samples  median 31.14 us  at most 2 s left"),
            (40, "gaps  2,451 samples  at most 2 s left"),
            (30, "gaps  2,451…  at most 2 s left"),
            (5, "  at "),
        ] {
            assert_eq!(fitted(&parts, columns), line);
        }
        let run = String::from("packet-rtt-udp.none.r2");
        assert_eq!(fitted(&[run], 20), "packet-rtt-udp.n….r2");
        assert_eq!(fitted(&[], 20), "");
    }

    #[test]
    fn a_line_tells_samples_of_all_parts_and_quantiles_of_one() {
        let mut total = Total::default();
        let samples = |total: &Total| samples(total).join("  ");
        assert_eq!(samples(&total), "0 samples");
        total.take(Update {
            part: 2,
            label: "64B".into(),
            before: 1_000,
            max_ns: 90_000,
            counts: Default::default(),
            timing: None,
            ranks: Default::default(),
            starts_over: true,
            more: Histogram::of(&[17_000.0, 18_000.0, 90_000.0]),
        });
        assert_eq!(
            samples(&total),
            "1,003 samples  median 18.02 us  99 % 90 us  max 90 us"
        );
        let counted = |counts: &[(Count, u64)]| Total {
            part: 1,
            counts: counts.iter().copied().collect(),
            ..Total::default()
        };
        let loaded = counted(&[(Count::Messages, 3_000), (Count::Bytes, 196_608_000)]);
        assert_eq!(samples(&loaded), "3,000 messages, 187.5 MiB");
        // There are four ranks with 60 each.
        let iterated = counted(&[(Count::Iterations, 60), (Count::Planned, 240)]);
        assert_eq!(samples(&iterated), "25 % of the iterations");
    }
}
