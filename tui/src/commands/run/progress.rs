//! The progress that is shown while an experiment runs.

use std::io::Write;
use std::path::Path;

use jitterlab_base::show::{self, counted, printable};
use jitterlab_experiment::conduct::{Event, Tally};
use jitterlab_experiment::enough::{Enough, POWER};
use jitterlab_experiment::headless::Line;
use jitterlab_experiment::live::{Now, Stage};
use jitterlab_experiment::pause;

use crate::outcome::Failure;
use crate::shown::{result, time};
use crate::status::{self, Status};

macro_rules! say {
    ($status:ident, $($text:tt)*) => {
        $status.say(&format!($($text)*))
    };
}

/// The one who watches.
pub enum Progress {
    /// A program: a JSON object a line on stdout.
    Headless,
    /// People: lines on stderr, and the run that is being done in the last one if it is a terminal.
    People(Status),
}

impl Progress {
    /// The line on which people see the run that is under way.
    pub fn status(&self) -> Option<Status> {
        match self {
            Progress::Headless => None,
            Progress::People(status) => Some(status.clone()),
        }
    }

    /// Shows what happens.
    pub fn show(&mut self, folder: &Path, event: &Event) {
        match self {
            Progress::Headless => line(&Line::of(folder, event)),
            Progress::People(status) => people(status, folder, event),
        }
    }

    /// Shows an end before the end; people are told by the program's edge. There is no folder if
    /// none was made.
    pub fn fail(&mut self, folder: Option<&Path>, failure: &Failure) {
        if let Progress::Headless = self {
            line(&Line::failure(folder, failure.to_string()));
        }
    }

    /// Shows the end.
    pub fn end(&mut self, folder: &Path, tally: Tally) {
        match self {
            Progress::Headless => line(&Line::end(folder, tally)),
            Progress::People(status) => {
                let failed = match tally.failed {
                    0 => String::new(),
                    n => format!(", {n} failed"),
                };
                say!(status, "{} done{failed}", counted(tally.done, "run"));
                let _ = writeln!(std::io::stdout(), "{}", folder.display());
            }
        }
    }
}

/// A line on stdout, as [`say`] prints one on stderr.
fn line(line: &Line) {
    // Nobody is left to be told where stdout or stderr is gone.
    let _ = match serde_json::to_string(line) {
        Ok(text) => writeln!(std::io::stdout(), "{text}"),
        Err(error) => writeln!(
            std::io::stderr(),
            "jitterlab: cannot write an event: {error}"
        ),
    };
}

fn people(status: &Status, folder: &Path, event: &Event) {
    match event {
        Event::Begins {
            runs,
            finished,
            environment,
            seconds_left,
        } => {
            say!(status, "results: {}", folder.display());
            for (name, node) in &environment.hosts {
                say!(
                    status,
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
                say!(status, "not as in the beginning: {change}");
            }
            if let Some(bandwidth) = environment.bandwidth {
                say!(status, "one-way bandwidth: {}", show::bandwidth(bandwidth));
            }
            let before = match finished {
                0 => String::new(),
                n => format!(", {n} of them done before"),
            };
            say!(
                status,
                "{}{before}; about {} left",
                counted(*runs, "run"),
                time(*seconds_left)
            );
        }
        Event::RunBegins { run } => status.show(&[(*run).to_string()]),
        Event::RunEnded {
            record,
            samples,
            finished,
            seconds_left,
            ..
        } => say!(
            status,
            "{finished:4}  {:<46} {}  {} left",
            record.run,
            result(record, samples),
            time(*seconds_left)
        ),
        Event::Planned {
            enough,
            runs,
            seconds_left,
        } => say!(
            status,
            "{}; {}, about {} left",
            in_words(enough),
            counted(*runs, "run"),
            time(*seconds_left)
        ),
        Event::Lost { host, reason } => say!(status, "host {host} is lost: {}", printable(reason)),
        Event::Pauses => say!(
            status,
            "paused; to go on: rm {}",
            folder.join(pause::FILE).display()
        ),
        Event::GoesOn => say!(status, "goes on"),
        Event::Fitted { fits } => {
            for fit in *fits {
                say!(
                    status,
                    "fitted to load {} %: excess over the median RTT without load {}, std {}",
                    fit.percent,
                    show::time(fit.excess_mean_ns),
                    show::time(fit.excess_std_ns)
                );
            }
        }
    }
}

/// The plan that a pilot leads to, for people.
fn in_words(enough: &Enough) -> String {
    let Enough {
        repetitions,
        needed,
        resolve_percent,
        resolves_percent,
        decided_by,
    } = enough;
    let takes = format!(
        "a change of {} is found with a power of {} after {needed} repetitions ({decided_by})",
        show::rounded_percent(resolve_percent / 100.0),
        show::percent(POWER)
    );
    if repetitions < needed {
        format!(
            "{takes}; the time allows {repetitions}, which find a change of {}",
            show::rounded_percent(resolves_percent / 100.0)
        )
    } else {
        takes
    }
}

/// The run that is under way, in parts of a line: its name (case, level, repetition), what it has measured, the time that is left.
pub fn status_line(now: &Now) -> Vec<String> {
    if now.stage != Stage::UnderWay {
        return Vec::new();
    }
    let published = match (now.samples, now.said.as_str()) {
        (0, _) if !now.measured.counts.is_empty() => status::samples(&now.measured),
        (0, "") => vec![time(now.seconds)],
        (0, said) => vec![printable(said)],
        _ => status::samples(&now.measured),
    };
    let mut parts = vec![now.run.clone()];
    parts.extend(published);
    parts.push(format!("{} left", time(now.seconds_left - now.seconds)));
    parts
}
