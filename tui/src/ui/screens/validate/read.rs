//! The view of hosts files and validations: a validation is followed by the file that `--events` writes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jitterlab_base::show::printable;
use jitterlab_cluster::inventory::{self, Inventory};
use jitterlab_experiment::spec::Cluster;
use jitterlab_experiment::validate::{Event, Validation};
use jitterlab_packet::transport::Transport;
use jitterlab_stats::histogram::Compact;
use jitterlab_stats::summary::Summary;

use super::jobs::events_of;
use crate::ui::action::{News, Task};
use crate::ui::files::entries;

/// A file of hosts to validate.
#[derive(Debug, Clone, PartialEq)]
pub struct HostsFile {
    /// Its path.
    pub path: PathBuf,
    /// The hosts.
    pub hosts: Vec<String>,
    /// Those that may replace them.
    pub spares: Vec<String>,
    /// The fault of it.
    pub wrong: Option<String>,
}

/// Two hosts, the smaller name first.
pub type Pair = [String; 2];

/// The measurements of a pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Each measurement.
    pub runs: Vec<Summary>,
    /// The round trips of all of them, in nanoseconds.
    pub samples: Arc<Compact>,
}

impl Measured {
    /// Adds a measurement.
    pub fn add(&mut self, run: Summary, samples: &Compact) {
        self.runs.push(run);
        Arc::make_mut(&mut self.samples).add(samples);
    }
}

/// A validation as far as it has come.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validated {
    /// The process that does it, or has done it.
    pub pid: i32,
    /// True if it is under way.
    pub running: bool,
    /// The hosts of the last attempt.
    pub hosts: Vec<String>,
    /// Measurements that were made.
    pub done: usize,
    /// Measurements that there will be.
    pub of: usize,
    /// The measurements, by pair.
    pub pairs: BTreeMap<Pair, Measured>,
    /// The round trips of all pairs.
    pub all: Arc<Compact>,
    /// The things that could not be measured, in words.
    pub problems: Vec<String>,
    /// The validation, when it is found.
    pub found: Option<Validation>,
}

/// Two hosts as they are looked up.
pub fn pair(a: &str, b: &str) -> Pair {
    let mut pair = [a.to_string(), b.to_string()];
    pair.sort();
    pair
}

impl Validated {
    /// The validation that these events make.
    pub fn of(events: Vec<Event>) -> Self {
        let mut all = Validated::default();
        events.into_iter().for_each(|event| all.take(event));
        all
    }

    /// Takes in what happens.
    pub fn take(&mut self, event: Event) {
        match event {
            // All pairs are measured anew with spares among them.
            Event::Begins {
                pid,
                hosts,
                measurements,
                ..
            } => {
                *self = Validated {
                    pid,
                    hosts,
                    of: measurements,
                    ..Validated::default()
                }
            }
            Event::Run { run, histogram_ns } => {
                let pair = pair(&run.client, &run.server);
                let measured = self.pairs.entry(pair).or_default();
                measured.add(run.rtt_ns, &histogram_ns);
                Arc::make_mut(&mut self.all).add(&histogram_ns);
            }
            Event::Measured { done, of } => (self.done, self.of) = (done, of),
            Event::Lost { lost } => {
                let said = format!("{} is left out: {}", lost.host, lost.reason);
                self.problems.push(printable(&said));
            }
            Event::Failed { failed } => {
                let said = format!("{} - {}: {}", failed.client, failed.server, failed.reason);
                self.problems.push(printable(&said));
            }
            Event::Ends { validation } => self.found = Some(validation.into_owned()),
        }
    }
}

/// The files that there are, as they were seen last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Hosts files by name.
    pub files: Vec<HostsFile>,
    /// The last validation of the one that is chosen, or why it cannot be read.
    pub validated: Option<(PathBuf, Result<Validated, String>)>,
}

/// Follows the events of one validation: what was read of their file is not read again.
#[derive(Debug, Default)]
pub struct Follower {
    path: PathBuf,
    /// Its first line, which tells one validation from the next: that has the number of its process.
    begins: Vec<u8>,
    /// The bytes, and the events, that were read.
    read: u64,
    events: usize,
    validated: Validated,
}

impl Follower {
    /// Reads on, or from the beginning where it is another validation; nothing where there is none.
    fn look(&mut self, path: &Path) -> Option<Result<Validated, String>> {
        let mut file = BufReader::new(File::open(path).ok()?);
        let mut begins = Vec::new();
        file.read_until(b'\n', &mut begins).ok()?;
        let length = file.get_ref().metadata().ok()?.len();
        if self.path != path || self.begins != begins || length < self.read {
            *self = Follower {
                path: path.into(),
                begins,
                ..Follower::default()
            };
        }
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(self.read)).ok()?;
        file.read_to_end(&mut text).ok()?;
        let (events, bytes) = match Event::read(&text, self.events) {
            Ok(read) => read,
            Err(error) => {
                *self = Follower::default();
                return Some(Err(printable(&format!("{}: {error}", path.display()))));
            }
        };
        self.read += bytes as u64;
        self.events += events.len();
        let take = |event| self.validated.take(event);
        events.into_iter().for_each(take);
        let all = &mut self.validated;
        all.running = all.found.is_none() && is_validating(all.pid);
        Some(Ok(all.clone()))
    }
}

/// Looks for hosts files, and at the validation of the one that is chosen: news are [`Seen`].
#[derive(Debug)]
pub struct Look {
    /// The one who follows the validation.
    pub follower: Arc<Mutex<Follower>>,
    /// The folder with hosts files and `results`.
    pub folder: PathBuf,
    /// The one that is chosen; the first one where none is.
    pub chosen: Option<PathBuf>,
}

impl Task for Look {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let mut paths = entries(&self.folder);
        paths.retain(|path| may_name_hosts(path));
        paths.sort();
        let files: Vec<HostsFile> = paths.iter().filter_map(|path| hosts_file(path)).collect();
        let first = files.first().map(|file| file.path.clone());
        let is_there = |chosen: &PathBuf| files.iter().any(|file| file.path == *chosen);
        let chosen = self.chosen.filter(is_there).or(first);
        let follower = self.follower.lock();
        let mut follower = follower.unwrap_or_else(PoisonError::into_inner);
        let validated = chosen.and_then(|path| {
            let read = follower.look(&events_of(&self.folder, &path))?;
            Some((path, read))
        });
        tell(Box::new(Seen { files, validated }));
    }
}

/// The ending of inventories that are no YAML.
const INI: &str = "ini";

/// True if a file ends as hosts files do.
pub fn may_name_hosts(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("yaml" | "yml" | INI))
}

/// `None` for a file that speaks of no hosts, or is an experiment.
pub fn hosts_file(path: &Path) -> Option<HostsFile> {
    let text = fs::read_to_string(path).ok()?;
    if inventory::is_inventory(&text, path) {
        return of_inventory(&text, path);
    }
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    if !(has("hosts:") || has("hosts_file:")) || has("suites:") {
        return None;
    }
    let [mut hosts, mut spares] = [Vec::new(), Vec::new()];
    let wrong = match Cluster::parse(&text, path, Transport::Udp) {
        Ok(cluster) => {
            hosts.extend(cluster.hosts.into_keys());
            spares.extend(cluster.spares.into_keys());
            None
        }
        Err(error) => Some(printable(&error.to_string())),
    };
    Some(HostsFile {
        path: path.into(),
        hosts,
        spares,
        wrong,
    })
}

/// `None` for YAML that is another file of Ansible's, as a playbook is. Addresses are not looked for: that takes time.
fn of_inventory(text: &str, path: &Path) -> Option<HostsFile> {
    let mut file = HostsFile {
        path: path.into(),
        hosts: Vec::new(),
        spares: Vec::new(),
        wrong: None,
    };
    match Inventory::parse(text, path, None) {
        Ok(found) => {
            file.hosts.extend(found.hosts.into_keys());
            file.spares.extend(found.spares.into_keys());
        }
        Err(_) if path.extension() != Some(INI.as_ref()) => return None,
        Err(error) => file.wrong = Some(printable(&error.to_string())),
    }
    Some(file)
}

/// True if a process is a validation: its number may be another's by now.
fn is_validating(pid: i32) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command
        .split(|&byte| byte == 0)
        .any(|word| word == b"validate")
}
