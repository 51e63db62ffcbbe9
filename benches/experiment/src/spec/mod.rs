//! The experiment file: what a person writes, read strictly.

mod check;
mod cluster;
mod defaults;
mod hosts;
mod hosts_file;
mod repetitions;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use jitterlab_base::units::{Bandwidth, Bytes, Nanos, Percent};
use jitterlab_base::yaml::{self, FileError};
use jitterlab_cluster::{Host, Trust};
use jitterlab_load::transport::Transport;
use serde::{Deserialize, Serialize};

use crate::suites::{Suites, Work};

pub use crate::scene::{Hook, InjectedLevels, Launcher, Levels, LostHost, Mpi, Scene};
pub use check::characterised;
pub use cluster::Cluster;
pub use defaults::frozen;
pub use hosts::{lacks_hosts, with_hosts};
pub use repetitions::Repetitions;

/// An experiment, as its file describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The name of the result folder: letters, digits, hyphens.
    pub name: String,
    /// The seed that the order of runs and every random choice follow from.
    pub seed: u64,
    /// The number of times that each run is done: the number of blocks.
    pub repetitions: Repetitions,
    /// The smallest change of a figure that is to be found with `repetitions: auto` [default: 5 %].
    pub resolve: Option<Percent>,
    /// The time that the experiment takes at most with `repetitions: auto`; the pilot is done in any case.
    pub at_most: Option<Nanos>,
    /// The number of times that a run that failed is tried again.
    #[serde(default = "default_retries")]
    pub retries: u32,
    /// The hosts by name.
    pub hosts: BTreeMap<String, Host>,
    /// The trust in hosts at the end of ssh whose keys are not named.
    #[serde(default)]
    pub trust: Trust,
    /// The reaction to a host that is missing or lost.
    #[serde(default)]
    pub lost_host: LostHost,
    /// The settings of background load [default: as an empty section says, where there are levels of load].
    pub load: Option<Load>,
    /// The way that programs are started over MPI; needed where one is.
    pub mpi: Option<Mpi>,
    /// The levels beside none.
    #[serde(default)]
    pub levels: Levels,
    /// The measurements at the levels.
    #[serde(skip_serializing)]
    pub suites: Suites,
}

fn default_retries() -> u32 {
    2
}

/// The settings of background load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Over what [default: UDP].
    #[serde(default = "defaults::load_transport")]
    pub transport: Transport,
    /// The host that sends [default: the first of two hosts by name].
    #[serde(default)]
    pub from: String,
    /// The host that takes [default: the other one].
    #[serde(default)]
    pub to: String,
    /// Hosts that each send to every other, in the place of `from` and `to`.
    #[serde(default)]
    pub between: Vec<String>,
    /// Size of a message [default: as `jitterlab load run` has it].
    pub message: Option<Bytes>,
    /// One-way bandwidth in bytes a second that levels are shares of [default: measured once].
    pub bandwidth: Option<Bandwidth>,
    /// Over MPI, how its ranks are started: one on each host; it follows from the section `mpi`.
    #[serde(skip)]
    pub ranks: Option<Mpi>,
}

impl Load {
    /// Sender and receiver of each flow: each pair of hosts both ways, or one way from one to the other.
    pub fn flows(&self) -> Vec<(&str, &str)> {
        if self.between.is_empty() {
            return vec![(&self.from, &self.to)];
        }
        let others = |from| self.between.iter().filter(move |&to| to != from);
        let flows = self.between.iter();
        flows
            .flat_map(|from| others(from).map(move |to| (from.as_str(), to.as_str())))
            .collect()
    }

    /// Size of a message.
    pub fn message(&self) -> Bytes {
        self.message.unwrap_or(self.transport.message())
    }

    /// The hosts that it goes between, the first that sends at the beginning; one that is alone stands once.
    pub fn hosts(&self) -> Vec<&str> {
        match &self.between[..] {
            [] if self.from == self.to => vec![&self.from],
            [] => vec![&self.from, &self.to],
            between => between.iter().map(String::as_str).collect(),
        }
    }

    /// Over MPI, as the section `mpi` starts ranks, but one on each host, the first one where the launcher is.
    fn ranks(&self, mpi: &Mpi) -> Option<Mpi> {
        let hosts = self.hosts();
        let each = hosts.iter().map(|&host| (host.to_string(), 1));
        (self.transport == Transport::Mpi).then(|| Mpi {
            on: hosts[0].to_string(),
            hosts: each.filter(|_| hosts.len() > 1).collect(),
            ..mpi.clone()
        })
    }

    /// The part of a level that one flow has: a level is what a host sends in all.
    pub fn share(&self) -> f64 {
        1.0 / self.between.len().saturating_sub(1).max(1) as f64
    }
}

/// `from a to b`, or `between a, b and c, both ways`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.between[..] {
            [] => write!(f, "from {} to {}", self.from, self.to),
            [first @ .., last] => {
                write!(f, "between {} and {last}, both ways", first.join(", "))
            }
        }
    }
}

/// The text of an experiment file with the hosts that it names another file for, if it does.
///
/// # Errors
/// The other file cannot be read, or something in it is wrong: with its place.
pub fn filled_in(text: String, path: &Path) -> Result<String, FileError> {
    let filled = hosts_file::filled_in(&text, path, cluster::hosts)?;
    Ok(filled.map_or(text, |(filled, _)| filled))
}

impl Experiment {
    /// Reads an experiment file; gives its text, too, with the hosts that it names another file for.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong: with its place.
    pub fn load(path: &Path) -> Result<(Experiment, String), FileError> {
        let text = filled_in(yaml::text_of("experiment file", path)?, path)?;
        Ok((Experiment::parse(&text, path)?, text))
    }

    /// Reads the text of an experiment file; `path` is for messages.
    ///
    /// # Errors
    /// Something in it is wrong: with its place.
    pub fn parse(text: &str, path: &Path) -> Result<Experiment, FileError> {
        yaml::parse_filled(text, path, defaults::fill, check::check)
    }

    /// The smallest change of a figure that is to be found, as a share: 0 where none is, for `repetitions` is a number.
    pub fn resolve(&self) -> f64 {
        self.resolve.map_or(0.0, Percent::fraction)
    }

    /// The scene that it plays in.
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            hosts: &self.hosts,
            trust: self.trust,
            lost_host: self.lost_host,
            mpi: self.mpi.as_ref(),
            levels: &self.levels,
        }
    }

    /// Everything that is measured.
    pub fn works(&self) -> impl Iterator<Item = Work<'_>> {
        let cases = self.suites.cases().into_iter();
        cases.flat_map(|(_, _, case)| case.works(self.scene()))
    }

    /// The ways that ranks are started, where some are: those that measure, and those that make load.
    pub fn ranks(&self) -> impl Iterator<Item = &Mpi> {
        let of_load = self.load.as_ref().and_then(|load| load.ranks.as_ref());
        let of_works = self.works().find_map(|work| work.mpi());
        of_works.into_iter().chain(of_load)
    }
}
