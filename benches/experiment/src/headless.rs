//! What happens in an experiment, for programs: the lines of `jitterlab run --headless`, which are read back as the type that they were
//! written from.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::conduct::{Event, Tally};
use crate::enough::Enough;
use crate::fit::Fit;
use crate::record::RunRecord;

/// A line: an event as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Line {
    /// The experiment begins, or goes on after it was stopped.
    Begins {
        /// The format of all lines: [`Line::VERSION`].
        version: u32,
        /// The result folder.
        results: String,
        /// Runs of the schedule.
        runs: usize,
        /// Of these, runs that were finished before.
        finished: usize,
        /// The one-way bandwidth in bytes a second, where there are loads.
        #[serde(deserialize_with = "Option::deserialize")]
        bandwidth: Option<f64>,
        /// How long it will take as far as is known, in seconds.
        seconds_left: f64,
        /// How the hosts differ from what they were in the beginning.
        changed: Vec<String>,
    },
    /// An attempt at a run begins.
    RunBegins {
        /// The name of the run.
        run: String,
    },
    /// An attempt at a run has ended.
    RunEnded {
        /// The record of it, as it is in `runs.jsonl`.
        record: Box<RunRecord>,
        /// Runs that are finished.
        finished: usize,
        /// How many samples its programs had published by then.
        live: u64,
        /// How long the rest will take, in seconds.
        seconds_left: f64,
    },
    /// A pilot, or a block after it, tells how many repetitions are enough.
    Planned {
        /// How many, and what they resolve.
        enough: Enough,
        /// Runs of the schedule.
        runs: usize,
        /// How long the rest will take, in seconds.
        seconds_left: f64,
    },
    /// Distributions were fitted.
    Fitted {
        /// One for each load.
        fits: Vec<Fit>,
    },
    /// The experiment pauses.
    Pauses {},
    /// It goes on after a pause.
    GoesOn {},
    /// A host is not there, or not any more, and the experiment goes on without it.
    HostLost {
        /// The name of the host.
        host: String,
        /// Why it cannot be reached.
        reason: String,
    },
    /// All runs were done, or have failed for good.
    Ends {
        /// The result folder.
        results: String,
        /// Runs that were measured.
        done: usize,
        /// Runs that failed as often as they were tried.
        failed: usize,
    },
    /// The experiment cannot begin or go on.
    Fails {
        /// The result folder, if there is one.
        #[serde(deserialize_with = "Option::deserialize")]
        results: Option<String>,
        /// Why.
        error: String,
    },
}

impl Line {
    /// It grows with any change of a line, but for the record of a run, which has a version of its own.
    pub const VERSION: u32 = 1;

    /// The line of an event; `folder` is the result folder.
    pub fn of(folder: &Path, event: &Event) -> Line {
        match *event {
            Event::Begins {
                runs,
                finished,
                environment,
                seconds_left,
            } => Line::Begins {
                version: Line::VERSION,
                results: name(folder),
                runs,
                finished,
                bandwidth: environment.bandwidth,
                seconds_left,
                changed: environment.changed().to_vec(),
            },
            Event::RunBegins { run } => Line::RunBegins { run: run.into() },
            Event::RunEnded {
                record,
                finished,
                live,
                seconds_left,
                ..
            } => Line::RunEnded {
                record: Box::new(record.clone()),
                finished,
                live,
                seconds_left,
            },
            Event::Planned {
                enough,
                runs,
                seconds_left,
            } => Line::Planned {
                enough: enough.clone(),
                runs,
                seconds_left,
            },
            Event::Fitted { fits } => Line::Fitted {
                fits: fits.to_vec(),
            },
            Event::Pauses => Line::Pauses {},
            Event::GoesOn => Line::GoesOn {},
            Event::Lost { host, reason } => Line::HostLost {
                host: host.into(),
                reason: reason.into(),
            },
        }
    }

    /// The last line of an experiment that ends.
    pub fn end(folder: &Path, tally: Tally) -> Line {
        let Tally { done, failed } = tally;
        Line::Ends {
            results: name(folder),
            done,
            failed,
        }
    }

    /// The last line of one that cannot begin or go on; there is no folder if none was made.
    pub fn failure(folder: Option<&Path>, error: String) -> Line {
        Line::Fails {
            results: folder.map(name),
            error,
        }
    }
}

/// The name of a folder in JSON, which is UTF-8.
fn name(folder: &Path) -> String {
    folder.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_is_read_back_and_one_with_another_field_is_refused() {
        let folder = Path::new("results/a");
        let enough = Enough {
            repetitions: 9,
            needed: 9,
            resolve_percent: 5.0,
            resolves_percent: 4.5,
            decided_by: "application nap".into(),
        };
        let (host, reason) = ("b", "it is gone");
        let begins = Line::Begins {
            version: Line::VERSION,
            results: "results/a".into(),
            runs: 4,
            finished: 0,
            bandwidth: None,
            seconds_left: 1.5,
            changed: vec!["kernel".into()],
        };
        let of = |event: Event| Line::of(folder, &event);
        let lines = [
            begins,
            of(Event::RunBegins { run: "nap.none.r1" }),
            of(Event::Planned {
                enough: &enough,
                runs: 18,
                seconds_left: 2.0,
            }),
            of(Event::Fitted { fits: &[] }),
            of(Event::Pauses),
            of(Event::GoesOn),
            of(Event::Lost { host, reason }),
            Line::end(folder, Tally { done: 3, failed: 1 }),
            Line::failure(None, "no".into()),
        ];
        for line in lines {
            let written = serde_json::to_value(&line).unwrap();
            let read = |value: &Value| serde_json::from_value::<Line>(value.clone());
            assert_eq!(read(&written).unwrap(), line);
            let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
            for key in keys {
                let mut other = written.clone();
                let fields = other.as_object_mut().unwrap();
                let value = fields.remove(key).unwrap();
                assert!(
                    read(&Value::Object(fields.clone())).is_err(),
                    "{key} of {written}"
                );
                fields.insert(format!("{key}_"), value);
                assert!(read(&other).is_err(), "{key} of {written}");
            }
        }
        assert_eq!(
            serde_json::to_value(of(Event::Lost { host, reason })).unwrap(),
            json!({ "event": "host_lost", "host": "b", "reason": "it is gone" })
        );
    }
}
