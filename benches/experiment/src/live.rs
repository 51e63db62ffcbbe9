//! The run that is under way, as its programs tell of it: for whoever looks on, in this process or in another, which reads
//! `live.json` in the result folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jitterlab_cluster::News;
use jitterlab_live::Total;
use serde::{Deserialize, Serialize};

/// The file in the result folder. It is there while an experiment is conducted, and not synced: it is worth nothing after.
pub const FILE: &str = "live.json";

/// Whoever looks on looks at most ten times a second.
pub const PERIOD: Duration = Duration::from_millis(100);

/// The stage of an attempt at a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It is under way.
    UnderWay,
    /// It was measured.
    Done,
    /// It has failed.
    Failed,
}

/// An attempt at a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Now {
    /// Its name.
    pub run: String,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// The stage that it has come to.
    pub stage: Stage,
    /// When it began, UTC (RFC 3339, milliseconds).
    pub started: String,
    /// The time that it has taken so far, in seconds.
    pub seconds: f64,
    /// Runs of the schedule that are behind it.
    pub finished: usize,
    /// Runs of the schedule.
    pub runs: usize,
    /// The time that the experiment will still take, in seconds, as far as is known.
    pub seconds_left: f64,
    /// Samples so far.
    pub samples: u64,
    /// The figures that the program that measures has published.
    pub measured: Total,
    /// The figures that the background load has published.
    #[serde(deserialize_with = "Option::deserialize")]
    pub load: Option<Total>,
    /// The line that the program printed last, of one that publishes nothing.
    pub said: String,
}

impl Now {
    /// Median, 99 % and the highest of the samples of the part that is measured, in nanoseconds; nothing where there are none.
    pub fn quantiles_ns(&self) -> Option<[u64; 3]> {
        let histogram = &self.measured.histogram;
        let (median, p99) = (histogram.quantile(0.5)?, histogram.quantile(0.99)?);
        let max = self.measured.max_ns;
        // A bucket is told by its highest value.
        Some([median.min(max), p99.min(max), max])
    }
}

/// The board that tells of the run that is under way.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    now: Option<(Now, Instant)>,
    /// The figures that were published, by host: by what is measured, and by programs beside it.
    measured: BTreeMap<String, Total>,
    beside: BTreeMap<(String, u32), Total>,
    /// The number of its changes.
    changes: u64,
    is_closed: bool,
}

impl State {
    /// It has become so late: an attempt that is under way has taken so long.
    fn pass(&mut self, at: Instant) {
        if let Some((now, since)) = &mut self.now
            && now.stage == Stage::UnderWay
        {
            now.seconds = at.saturating_duration_since(*since).as_secs_f64();
        }
    }
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let changed = change(&mut state);
        state.changes += 1;
        self.changed.notify_all();
        changed
    }

    /// An attempt begins at a time.
    pub(crate) fn begin(&self, now: Now, at: Instant) {
        self.change(|state| {
            state.now = Some((now, at));
            state.measured.clear();
            state.beside.clear();
        });
    }

    /// A program on a host has told something: the one that measures, or if it has an `id`, one beside it.
    pub(crate) fn take(&self, host: &str, id: Option<u32>, news: News) {
        self.change(|state| {
            let State {
                now,
                measured,
                beside,
                ..
            } = state;
            let Some((now, _)) = now.as_mut().filter(|(now, _)| now.stage == Stage::UnderWay)
            else {
                return;
            };
            match (id, news) {
                (None, News::Published(update)) => {
                    measured.entry(host.into()).or_default().take(update);
                    now.measured = Total::together(measured.values());
                    now.samples = now.measured.samples();
                }
                (None, News::Said(line)) => now.said = line,
                (Some(id), News::Published(update)) => {
                    let program = (host.to_string(), id);
                    beside.entry(program).or_default().take(update);
                    now.load = Some(Total::together(beside.values()));
                }
                (Some(_), News::Said(_)) => {}
            }
        });
    }

    /// The attempt has ended at a time; how many samples it had by then.
    pub(crate) fn end(&self, stage: Stage, at: Instant) -> u64 {
        self.change(|state| {
            state.pass(at);
            match &mut state.now {
                Some((now, _)) => {
                    now.stage = stage;
                    now.samples
                }
                None => 0,
            }
        })
    }

    /// There is nothing more to come.
    pub(crate) fn close(&self) {
        self.change(|state| state.is_closed = true);
    }

    /// Calls `look` whenever something has changed, at most once a [`PERIOD`], until there is nothing more to come.
    pub fn follow(&self, mut look: impl FnMut(&Now)) {
        let mut seen = 0;
        loop {
            let mut state = self
                .changed
                .wait_while(self.state(), |state| {
                    state.changes == seen && !state.is_closed
                })
                .unwrap_or_else(PoisonError::into_inner);
            if state.is_closed {
                return;
            }
            seen = state.changes;
            state.pass(Instant::now());
            let now = state.now.as_ref().map(|(now, _)| now.clone());
            drop(state);
            if let Some(now) = now {
                look(&now);
            }
            let closed = |state: &mut State| !state.is_closed;
            let _ = self
                .changed
                .wait_timeout_while(self.state(), PERIOD, closed);
        }
    }
}

/// Writes what is under way into a result folder, whenever it changes. A folder that cannot be written to is noticed by what
/// stores results.
pub(crate) fn write_to(folder: &Path, board: &Board) {
    let (path, next) = (folder.join(FILE), folder.join(".live.json"));
    board.follow(|now| {
        if let Ok(text) = serde_json::to_vec(now) {
            let _ = fs::write(&next, text).and_then(|()| fs::rename(&next, &path));
        }
    });
    let _ = fs::remove_file(&path);
}

/// The run that is under way in a result folder, or was when whoever conducts it was killed; nothing where no experiment is
/// conducted.
///
/// # Errors
/// The file cannot be read, or is of another version of jitterlab.
pub fn read(folder: &Path) -> io::Result<Option<Now>> {
    match fs::read(folder.join(FILE)) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_takes_as_long_as_it_is_under_way() {
        let board = Board::default();
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let seconds_at = |at| {
            let mut state = board.state();
            state.pass(at);
            state.now.as_ref().map(|(now, _)| now.seconds)
        };
        assert_eq!(seconds_at(after(1)), None);
        assert_eq!(board.end(Stage::Failed, after(1)), 0);
        let now = Now {
            run: "a".into(),
            attempt: 1,
            stage: Stage::UnderWay,
            started: String::new(),
            seconds: 0.0,
            finished: 0,
            runs: 1,
            seconds_left: 9.0,
            samples: 0,
            measured: Total::default(),
            load: None,
            said: String::new(),
        };
        board.begin(now.clone(), begun);
        assert_eq!(seconds_at(after(3)), Some(3.0));
        assert_eq!(board.end(Stage::Done, after(5)), 0);
        assert_eq!(seconds_at(after(60)), Some(5.0));
        board.begin(now, after(60));
        assert_eq!(seconds_at(after(62)), Some(2.0));
    }
}
