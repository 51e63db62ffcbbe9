//! Where an experiment measures: its hosts, as its file has them.

use std::path::Path;

use jitterlab_experiment::spec::{Experiment, filled_in};

use crate::ui::screens::validate::read::hosts_file;

/// How ranks are started on one machine: they speak over TCP, each on a CPU of its own, and every message is delayed where it enters a
/// socket.
const MPI_HERE: &str = "mpi: { on: both, hook: socket, arguments: [--map-by, hwthread, --bind-to, hwthread, --mca, pml, ob1, \
--mca, btl, \"self,tcp\", --mca, btl_tcp_if_include, lo] }\n";

/// A host of this name takes ranks, and both ends that poll.
const BOTH: &str = "both";

/// Where an experiment measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// On this machine, with both ends on one CPU.
    Here(u32),
    /// On hosts that a file names.
    There(Hosts),
}

/// Hosts as an experiment file has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts {
    /// What people know them by.
    pub about: String,
    /// The lines of the file.
    written: String,
    /// The same lines, with the hosts of another file in the place of its name.
    filled: String,
    /// Those that measure: who asks, who answers, and who starts ranks.
    ends: [String; 3],
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
        Hosts::new(about, part(&lines)?, part(&filled)?, &names)
    }

    fn new(about: String, written: String, filled: String, names: &[String]) -> Option<Self> {
        let one = |usual: &str, at: usize| {
            let usual = names.iter().find(|name| *name == usual);
            usual.or(names.get(at)).or(names.first()).cloned()
        };
        Some(Hosts {
            ends: [one("client", 0)?, one("server", 1)?, one(BOTH, 0)?],
            about,
            written,
            filled,
        })
    }
}

impl Place {
    /// What people know it by.
    pub fn about(&self) -> String {
        match self {
            Place::Here(cpu) => format!("on this machine, both ends on CPU {cpu}"),
            Place::There(hosts) => {
                let [from, to, _] = &hosts.ends;
                format!("hosts of {}: from {from} to {to}", hosts.about)
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

    /// Who asks, and who answers.
    pub fn ends(&self) -> [&str; 2] {
        match self {
            Place::Here(_) => ["client", "server"],
            Place::There(hosts) => [&hosts.ends[0], &hosts.ends[1]],
        }
    }

    /// The same of ends that poll.
    pub fn polling_ends(&self) -> [&str; 2] {
        match self {
            Place::Here(_) => [BOTH, BOTH],
            Place::There(hosts) if hosts.ends[2] == BOTH => [BOTH, BOTH],
            Place::There(_) => self.ends(),
        }
    }

    /// How ranks are started.
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
