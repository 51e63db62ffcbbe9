//! The place of an experiment: its hosts, as its file has them.

use std::path::Path;

use jitterlab_experiment::spec::{Experiment, filled_in};

use crate::ui::screens::validate::read::hosts_file;

/// The section on ranks on one machine: they speak over TCP, each on a CPU of its own, and every message is delayed where it enters a
/// socket.
const MPI_HERE: &str = "mpi: { on: both, hook: socket, arguments: [--map-by, hwthread, --bind-to, hwthread, --mca, pml, ob1, \
--mca, btl, \"self,tcp\", --mca, btl_tcp_if_include, lo] }\n";

/// A host of this name takes ranks, and both ends that poll.
const BOTH: &str = "both";

/// The place that an experiment measures at.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// This machine, with both ends on one CPU.
    Here(u32),
    /// The hosts that a file names.
    There(Hosts),
}

/// Hosts as an experiment file has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts {
    /// The name that people know them by.
    pub about: String,
    /// The lines of the file.
    written: String,
    /// The lines with the hosts of another file in the place of its name.
    filled: String,
    /// Their names.
    names: Vec<String>,
    /// Those that measure, by their places among the names: who asks, and who answers.
    ends: [usize; 2],
}

impl Hosts {
    /// Those of a hosts file beside the experiment files; nothing of a file that speaks of none, or cannot be read.
    pub fn of_file(path: &Path) -> Option<Self> {
        let file = hosts_file(path).filter(|file| file.wrong.is_none())?;
        let name = path.file_name()?.to_str()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let named = match name.chars().all(is_plain) {
            true => name.into(),
            false => serde_json::to_string(name).ok()?,
        };
        let written = format!("hosts_file: {named}\n");
        let filled = filled_in(written.clone(), path).ok()?;
        Hosts::new(name.into(), written, filled, &file.hosts)
    }

    /// Those of an experiment file, given with the hosts that it names another file for, too.
    pub fn of_experiment(text: &str, filled: &str, experiment: &Experiment) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let begins = |line: &&str| line.starts_with("hosts:") || line.starts_with("hosts_file:");
        let first = lines.iter().position(begins)?;
        let is_next = |line: &&str| line.starts_with(|c: char| c.is_ascii_alphabetic());
        let rest = lines[first + 1..].iter().position(is_next);
        let section = first..rest.map_or(lines.len(), |rest| first + 1 + rest);
        let filled: Vec<&str> = filled.lines().collect();
        let part = |of: &[&str]| Some(format!("{}\n", of.get(section.clone())?.join("\n")));
        let names: Vec<String> = experiment.hosts.keys().cloned().collect();
        let about = match lines[first].strip_prefix("hosts_file:") {
            Some(file) => file.trim().to_string(),
            None => "its own hosts".into(),
        };
        let mut hosts = Hosts::new(about, part(&lines)?, part(&filled)?, &names)?;
        for (end, name) in ends_of(experiment).into_iter().flatten().enumerate() {
            hosts.ends[end] = names.iter().position(|it| it == name)?;
        }
        Some(hosts)
    }

    fn new(about: String, written: String, filled: String, names: &[String]) -> Option<Self> {
        let last = names.len().checked_sub(1)?;
        let one = |usual: &str, at: usize| {
            let usual = names.iter().position(|name| name == usual);
            usual.unwrap_or(at.min(last))
        };
        Some(Hosts {
            ends: [one("client", 0), one("server", 1)],
            names: names.into(),
            about,
            written,
            filled,
        })
    }

    /// Whether others than those that measure could.
    pub fn has_others(&self) -> bool {
        self.names.len() > 2
    }

    /// The next host becomes an end; the other end is none, and of two hosts they change their places.
    fn next_end(&mut self, end: usize) {
        let other = self.ends[1 - end];
        let all = self.names.len();
        let next = |at: usize| (at + 1) % all;
        match next(self.ends[end]) {
            at if at != other => self.ends[end] = at,
            at if self.has_others() => self.ends[end] = next(at),
            _ => self.ends.reverse(),
        }
    }
}

/// The two hosts between which an experiment measures; nothing where it takes no hosts of its file.
fn ends_of(experiment: &Experiment) -> Option<[&String; 2]> {
    let suites = &experiment.suites;
    let packet = suites.packet.iter().map(|case| [&case.from, &case.to]);
    let load = experiment.load.iter().map(|load| [&load.from, &load.to]);
    let amvia = suites.amvia.iter().map(|case| [&case.from, &case.to]);
    let application = suites.application.iter().filter_map(|case| {
        let (client, server) = (case.client.as_ref()?, case.server.as_ref()?);
        Some([&client.on, &server.on])
    });
    let mpi = experiment.mpi.iter().map(|mpi| {
        let other = mpi.hosts.keys().find(|host| **host != mpi.on);
        [&mpi.on, other.unwrap_or(&mpi.on)]
    });
    let mut all = packet
        .chain(load)
        .chain(application)
        .chain(mpi)
        .chain(amvia);
    all.find(|ends| ends.iter().all(|end| *end != BOTH))
}

impl Place {
    /// The name that people know it by.
    pub fn about(&self) -> String {
        match self {
            Place::Here(cpu) => format!("on this machine, both ends on CPU {cpu}"),
            Place::There(hosts) => {
                let [from, to] = self.ends();
                let about = &hosts.about;
                match hosts.names.len() {
                    n if hosts.has_others() => {
                        format!("from {from} to {to}, of {n} hosts of {about} (f t choose)")
                    }
                    _ => format!("hosts of {about}: from {from} to {to}"),
                }
            }
        }
    }

    /// The lines of an experiment file that name the hosts; `with_both`: ends that poll, or ranks, are among what is measured.
    pub fn section(&self, with_both: bool) -> String {
        match self {
            Place::Here(cpu) => {
                let end = |end: &str| format!("  {end}: {{ at: local, cpu: {cpu} }}\n");
                let both = match with_both {
                    // They have a CPU each.
                    true => format!("  {BOTH}: {{ at: local }}\n"),
                    false => String::new(),
                };
                format!("hosts:\n{}{}{both}", end("client"), end("server"))
            }
            Place::There(hosts) => hosts.written.clone(),
        }
    }

    /// The text of an experiment file that can be read where other files are not.
    pub fn filled(&self, text: &str) -> String {
        match self {
            Place::Here(_) => text.into(),
            Place::There(hosts) => text.replacen(&hosts.written, &hosts.filled, 1),
        }
    }

    /// The next of the hosts asks (0) or answers (1).
    pub fn next_end(&mut self, end: usize) {
        if let Place::There(hosts) = self {
            hosts.next_end(end);
        }
    }

    /// Whether another one has the same hosts, whichever of them measure.
    pub fn has_hosts_of(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::There(these), Place::There(those)) => these.written == those.written,
            _ => self == other,
        }
    }

    /// The end that asks, and the end that answers.
    pub fn ends(&self) -> [&str; 2] {
        match self {
            Place::Here(_) => ["client", "server"],
            Place::There(hosts) => hosts.ends.map(|end| hosts.names[end].as_str()),
        }
    }

    /// The ends that poll.
    pub fn polling_ends(&self) -> [&str; 2] {
        match self {
            Place::Here(_) => [BOTH, BOTH],
            Place::There(hosts) if hosts.names.iter().any(|name| name == BOTH) => [BOTH, BOTH],
            Place::There(_) => self.ends(),
        }
    }

    /// The section on how ranks are started.
    pub fn mpi(&self) -> String {
        match self.polling_ends() {
            [BOTH, BOTH] => MPI_HERE.into(),
            [from, to] => {
                let hosts = match from == to {
                    true => format!("{from}: 2"),
                    false => format!("{from}: 1, {to}: 1"),
                };
                format!(
                    "mpi: {{ on: {from}, hosts: {{ {hosts} }}, hook: socket, arguments: [--mca, pml, ob1, --mca, btl, \
                     \"self,tcp\"] }}\n"
                )
            }
        }
    }
}
