//! Looks at experiment files and result folders while somebody looks at their screen.
//!
//! The interface is the folder: whoever fills it, it is seen. Files are read again when they have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jitterlab_base::show::printable;
use jitterlab_experiment::conduct::duration;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::pause;
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_experiment::schedule::{Run, schedule};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::standing::Standing;
use jitterlab_experiment::store::{ResultFolder, who_fills};

use super::edit::Choices;
use super::place::Hosts;
use super::seen::{ExperimentFile, Folder, Followed, RunLine, Samples, Seen, Shown, State, Wanted};
use crate::outcome::Failure;
use crate::shown::{self, Outline};
use crate::ui::action::{News, Task};
use crate::ui::files::{Stamp, entries, stamp};
use crate::ui::screens::validate::read::may_name_hosts;

/// Files of samples that are read in one look.
const READ_AT_ONCE: usize = 8;

/// Looks at what is wanted. Tells what is [`Seen`], and whether that was all.
#[derive(Debug)]
pub struct Look {
    /// The watcher that remembers what was read.
    pub watcher: Arc<Mutex<Watcher>>,
    /// The thing that is wanted.
    pub want: Wanted,
}

impl Task for Look {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let watcher = self.watcher.lock();
        let mut watcher = watcher.unwrap_or_else(PoisonError::into_inner);
        tell(Box::new(watcher.look(&self.want)));
    }
}

/// Looks, and remembers what it has read.
#[derive(Debug)]
pub struct Watcher {
    base: PathBuf,
    files: HashMap<PathBuf, (Stamp, ExperimentFile)>,
    hosts: BTreeMap<PathBuf, (Stamp, Option<Hosts>)>,
    folders: HashMap<PathBuf, (Stamp, Result<Standing, String>)>,
    opened: Option<Opened>,
}

/// The result folder that is looked into.
#[derive(Debug)]
struct Opened {
    stamp: Stamp,
    folder: ResultFolder,
    shown: Vec<Shown>,
    samples: Option<Samples>,
}

impl Watcher {
    /// The watcher of a folder with experiment files and `results`.
    pub fn new(base: PathBuf) -> Self {
        Watcher {
            base,
            files: HashMap::new(),
            hosts: BTreeMap::new(),
            folders: HashMap::new(),
            opened: None,
        }
    }

    /// Looks; says whether that was all there is to be read.
    pub fn look(&mut self, want: &Wanted) -> (Seen, bool) {
        let files = self.files();
        if want.hosts {
            self.find_hosts();
        }
        let hosts = self.hosts.values().filter_map(|(_, hosts)| hosts.clone());
        let hosts = hosts.collect();
        let folders = self.folders();
        let (followed, is_all) = match &want.folder {
            Some(path) => self.follow(path, want.run),
            None => (None, true),
        };
        let seen = Seen {
            files,
            hosts,
            folders,
            followed,
        };
        (seen, is_all)
    }

    fn files(&mut self) -> Vec<ExperimentFile> {
        let mut paths = entries(&self.base);
        paths.retain(|path| path.extension().is_some_and(|end| end == "yaml") && path.is_file());
        paths.sort();
        let mut known = std::mem::take(&mut self.files);
        let mut seen = Vec::new();
        for path in paths {
            let now = stamp(&path);
            let file = match known.remove(&path) {
                Some((then, file)) if then == now => file,
                _ => ExperimentFile {
                    about: about(&path),
                    choices: Choices::of(&path),
                    path: path.clone(),
                },
            };
            seen.push(file.clone());
            self.files.insert(path, (now, file));
        }
        seen
    }

    /// Reads hosts files. It may take its time: addresses of an inventory are looked up.
    fn find_hosts(&mut self) {
        let mut known = std::mem::take(&mut self.hosts);
        let paths = entries(&self.base).into_iter();
        for path in paths.filter(|path| path.is_file() && may_name_hosts(path)) {
            let now = stamp(&path);
            let hosts = match known.remove(&path) {
                Some((then, hosts)) if then == now => hosts,
                _ => Hosts::of_file(&path),
            };
            self.hosts.insert(path, (now, hosts));
        }
    }

    fn folders(&mut self) -> Vec<Folder> {
        let mut paths = entries(&self.base.join("results"));
        paths.retain(|path| path.join("experiment.yaml").is_file());
        // They end with the time at which they were made.
        let time = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.rsplit('-').next().unwrap_or_default().to_string()
        };
        paths.sort_by_cached_key(|path| std::cmp::Reverse((time(path), path.clone())));
        let mut known = std::mem::take(&mut self.folders);
        let mut seen = Vec::new();
        for path in paths {
            let now = stamp(&path.join("runs.jsonl"));
            let standing = match known.remove(&path) {
                // A folder that is being made may lack something for a moment.
                Some((then, Ok(standing))) if then == now => Ok(standing),
                _ => standing(&path),
            };
            let state = standing.clone().map(|standing| State {
                standing,
                running: who_fills(&path).is_some(),
                paused: pause::is_paused(&path),
            });
            seen.push(Folder {
                path: path.clone(),
                state,
            });
            self.folders.insert(path, (now, standing));
        }
        seen
    }

    fn follow(&mut self, path: &Path, run: Option<usize>) -> (Option<Followed>, bool) {
        let now = stamp(&path.join("runs.jsonl"));
        let before = self.opened.take();
        let before = before.filter(|opened| opened.folder.path() == path);
        let opened = match before {
            Some(opened) if opened.stamp == now => Some(opened),
            // The attempts that were shown stay: others are only added.
            before => ResultFolder::open(path).ok().map(|folder| {
                let known = before.map(|opened| (opened.shown, opened.samples));
                let (shown, samples) = known.unwrap_or_default();
                Opened {
                    stamp: now,
                    folder,
                    shown,
                    samples,
                }
            }),
        };
        let Some(mut opened) = opened else {
            return (None, true);
        };
        let is_all = opened.read_on();
        opened.choose(run);
        let followed = opened.followed();
        self.opened = Some(opened);
        (Some(followed), is_all)
    }
}

impl Opened {
    /// Reads some of the samples that are not read yet, the latest first; says whether no more are left.
    fn read_on(&mut self) -> bool {
        let attempts = self.folder.attempts();
        self.shown.resize(attempts.len(), Shown::Later);
        let later = |(_, shown): &(usize, &mut Shown)| **shown == Shown::Later;
        let mut left = self.shown.iter_mut().enumerate().rev().filter(later);
        for (at, shown) in left.by_ref().take(READ_AT_ONCE) {
            *shown = shown_of(&self.folder, &attempts[at]);
        }
        left.next().is_none()
    }

    /// Reads the samples of an attempt; of the last one, where it is not said which.
    fn choose(&mut self, run: Option<usize>) {
        let Some(last) = self.folder.attempts().len().checked_sub(1) else {
            return;
        };
        let at = run.map_or(last, |run| run.min(last));
        if self
            .samples
            .as_ref()
            .is_some_and(|samples| samples.at == at)
        {
            return;
        }
        let read = self.folder.samples(&self.folder.attempts()[at]);
        let sorted = read.map(|mut samples| {
            samples.sort_unstable_by(f64::total_cmp);
            Arc::new(samples)
        });
        self.samples = Some(Samples {
            at,
            sorted: sorted.map_err(in_words),
        });
    }

    fn followed(&self) -> Followed {
        let attempts = self.folder.attempts().iter().zip(&self.shown);
        let runs = attempts.map(|(record, shown)| RunLine {
            run: printable(&record.run),
            done: record.outcome == Outcome::Done,
            shown: shown.clone(),
        });
        Followed {
            path: self.folder.path().into(),
            runs: runs.collect(),
            samples: self.samples.clone(),
        }
    }
}

fn shown_of(folder: &ResultFolder, record: &RunRecord) -> Shown {
    if let Some(short) = shown::without_samples(record) {
        return Shown::Words(printable(short.trim()));
    }
    match folder.samples(record) {
        Ok(samples) => match Outline::of(&samples) {
            Some(outline) => Shown::Outline(Box::new(outline)),
            None => Shown::Words(String::new()),
        },
        Err(error) => Shown::Words(in_words(error)),
    }
}

fn standing(folder: &Path) -> Result<Standing, String> {
    let folder = ResultFolder::open(folder).map_err(in_words)?;
    Ok(Standing::of(folder.experiment(), folder.attempts()))
}

/// The experiment that a file describes.
fn about(path: &Path) -> Result<Vec<String>, String> {
    let (experiment, _) = Experiment::load(path).map_err(in_words)?;
    let runs = schedule(&experiment, experiment.repetitions.first());
    let hosts: Vec<&str> = experiment.hosts.keys().map(String::as_str).collect();
    let mut lines = vec![
        format!("experiment  {}", experiment.name),
        format!(
            "runs        {}, about {}",
            runs.len(),
            shown::time(duration(&runs))
        ),
        format!("hosts       {}", hosts.join(", ")),
    ];
    let mut conditions: Vec<String> = Vec::new();
    for run in &runs {
        let transport = run.work.transport().map(|it| format!(" over {it}"));
        let variant = run.work.variant().map(|it| format!(" by {it}"));
        let case = format!(
            "{} {}{}{}",
            run.work.suite().name(),
            run.work.case(),
            transport.unwrap_or_default(),
            variant.unwrap_or_default()
        );
        if !conditions.contains(&case) {
            conditions.push(case);
        }
    }
    conditions.sort();
    lines.extend(conditions.iter().map(|case| format!("measures    {case}")));
    let of_run = |run: &Run| (run.level != Level::None, run.level.to_string());
    let levels: BTreeSet<(bool, String)> = runs.iter().map(of_run).collect();
    let levels: Vec<String> = levels.into_iter().map(|(_, level)| level).collect();
    lines.push(format!("levels      {}", levels.join(", ")));
    Ok(lines.iter().map(|line| printable(line)).collect())
}

/// An error and its causes, for a terminal.
fn in_words(error: impl std::error::Error + 'static) -> String {
    printable(&Failure::run(error).to_string())
}
