//! The lines of the log: they come from files, which are read when they have changed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use jitterlab_appliance::report::BootReport;
use jitterlab_base::show::printable;
use jitterlab_experiment::record::Outcome;
use jitterlab_experiment::store::ResultFolder;
use jitterlab_experiment::validate::Event;

use super::{Entry, Weight};
use crate::ui::action::{News, Task};
use crate::ui::files::{Stamp, entries, stamp};
use crate::ui::screens::validate::read::Validated;

/// Reads the log: news are its entries.
#[derive(Debug)]
pub struct ReadLog {
    /// The folder with `results` in it.
    pub folder: PathBuf,
    /// The reader that remembers what was read.
    pub reader: Arc<Mutex<Reader>>,
}

impl Task for ReadLog {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let reader = self.reader.lock();
        let mut reader = reader.unwrap_or_else(PoisonError::into_inner);
        let mut all = of_boot();
        all.extend(reader.results(&self.folder.join("results")));
        tell(Box::new(all));
    }
}

/// Remembers what it has read.
#[derive(Debug, Default)]
pub struct Reader {
    known: HashMap<PathBuf, (Stamp, Vec<Entry>)>,
}

impl Reader {
    /// The entries of all result folders, and of the logs beside them.
    fn results(&mut self, results: &Path) -> Vec<Entry> {
        let mut all = Vec::new();
        for path in entries(results) {
            let (file, read): (_, fn(&Path) -> Vec<Entry>) = match path.is_dir() {
                true => (path.join("runs.jsonl"), of_runs),
                false if path.extension() == Some("log".as_ref()) => (path.clone(), of_log),
                false if path.extension() == Some("jsonl".as_ref()) => {
                    (path.clone(), of_validation)
                }
                false => continue,
            };
            let now = stamp(&file);
            let found = match self.known.remove(&path) {
                Some((then, found)) if then == now => found,
                _ => read(&path),
            };
            all.extend(found.iter().cloned());
            self.known.insert(path, (now, found));
        }
        all
    }
}

fn name(path: &Path) -> String {
    printable(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// Attempts that have failed: one that was made up for is a warning.
fn of_runs(folder: &Path) -> Vec<Entry> {
    let opened = match ResultFolder::open(folder) {
        Ok(opened) => opened,
        Err(error) => {
            return vec![Entry {
                when: String::new(),
                weight: Weight::Error,
                source: name(folder),
                text: printable(&error.to_string()),
            }];
        }
    };
    let attempts = opened.attempts();
    let is_done = |run: &str| {
        let mut of_run = attempts.iter().filter(|other| other.run == run);
        of_run.any(|other| other.outcome == Outcome::Done)
    };
    let failed = attempts.iter().filter(|it| it.outcome == Outcome::Failed);
    let entry = failed.map(|attempt| Entry {
        when: attempt.started.clone(),
        weight: match is_done(&attempt.run) {
            true => Weight::Warning,
            false => Weight::Error,
        },
        source: name(folder),
        text: printable(&format!(
            "{}, attempt {}: {}",
            attempt.run,
            attempt.attempt,
            attempt.reason.as_deref().unwrap_or("failed")
        )),
    });
    entry.collect()
}

/// The objections of an experiment that was started here: its log has no times of lines, but one of its own.
fn of_log(path: &Path) -> Vec<Entry> {
    let bytes = fs::read(path).unwrap_or_default();
    let when = changed(path);
    let text = String::from_utf8_lossy(&bytes);
    let entry = |line: &str| {
        let weight = match line {
            line if line.starts_with("jitterlab: ") => Weight::Error,
            line if line.starts_with("not as in the beginning") => Weight::Warning,
            line if line.starts_with("stopped; ") || line.starts_with("paused; ") => Weight::Note,
            _ => return None,
        };
        Some(Entry {
            when: when.clone(),
            weight,
            source: name(path),
            text: printable(line.trim_start_matches("jitterlab: ")),
        })
    };
    text.lines().filter_map(entry).collect()
}

/// The things that a validation could not measure: its events have no times, but their file has one.
fn of_validation(path: &Path) -> Vec<Entry> {
    let bytes = fs::read(path).unwrap_or_default();
    let problems = match Event::read(&bytes, 0) {
        Ok((events, _)) => Validated::of(events).problems,
        Err(error) => vec![printable(&error.to_string())],
    };
    let when = changed(path);
    let entry = |text: String| Entry {
        when: when.clone(),
        weight: Weight::Warning,
        source: name(path),
        text,
    };
    problems.into_iter().map(entry).collect()
}

/// When a file was changed last.
fn changed(path: &Path) -> String {
    let changed = fs::metadata(path).and_then(|it| it.modified());
    time(changed.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// The objections of the boot.
fn of_boot() -> Vec<Entry> {
    let Ok(report) = BootReport::load() else {
        return Vec::new();
    };
    let entry = |weight, text: String| Entry {
        when: String::new(),
        weight,
        source: "boot".into(),
        text: printable(&text),
    };
    let problems = report.problems.iter();
    let problems = problems.map(|it| entry(Weight::Error, format!("{}: {}", it.doing, it.said)));
    let missing = report.missing.iter();
    let missing = missing.map(|it| entry(Weight::Warning, format!("{}: {}", it.setting, it.why)));
    problems.chain(missing).collect()
}

/// A time as entries have it.
pub fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}
