//! The experiment file: what a person writes, read strictly.

mod check;
mod cluster;
mod defaults;
mod mpi;

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::units::{Bandwidth, Bytes, Nanos};
use jitterlab_base::yaml::{self, FileError};
use jitterlab_cluster::{Host, Trust};
use jitterlab_injector::control::Mode;
use jitterlab_packet::transport::{Transport, Verbs, Wait};
use serde::Deserialize;

use crate::level::{Level, LevelKind, Member};

pub use check::characterised;
pub use cluster::Cluster;
pub use defaults::frozen;
pub use mpi::{Class, Hook, Kernel, Launcher, LibraryCase, LibraryCaseKind, Mpi, Npb};

/// An experiment, as its file describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What the result folder is called after: letters, digits, hyphens.
    pub name: String,
    /// From which the order of runs and every random choice follow.
    pub seed: u64,
    /// How often each run is done: the number of blocks.
    pub repetitions: u32,
    /// How often a run that failed is tried again.
    #[serde(default = "default_retries")]
    pub retries: u32,
    /// The hosts by name.
    pub hosts: BTreeMap<String, Host>,
    /// What is done about hosts at the end of ssh whose keys are not named.
    #[serde(default)]
    pub trust: Trust,
    /// How background load is made [default: as an empty section says, where there are levels of load].
    pub load: Option<Load>,
    /// How programs are started over MPI; needed where one is.
    pub mpi: Option<Mpi>,
    /// The levels beside none.
    #[serde(default)]
    pub levels: Levels,
    /// What is measured at the levels.
    pub suites: Suites,
}

fn default_retries() -> u32 {
    2
}

/// How background load is made.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
    /// Size of a message [default: as `jitterlab load run` has it].
    #[serde(default = "defaults::message")]
    pub message: Bytes,
    /// One-way bandwidth in bytes a second, of which levels are shares [default: measured once].
    pub bandwidth: Option<Bandwidth>,
}

/// The levels beside none, which is always there.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// Background loads in percent of the bandwidth.
    #[serde(default)]
    pub load: Vec<u8>,
    /// Injected distributions.
    pub injected: Option<InjectedLevels>,
}

/// Injected distributions: each shape for each load.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InjectedLevels {
    /// The loads that are imitated, out of those of `load`.
    pub percent: Vec<u8>,
    /// The transport whose RTT under load is imitated.
    pub transport: Transport,
    /// The distributions.
    pub shapes: Vec<Member>,
    /// How delays are injected [default: spin].
    #[serde(default)]
    pub mode: Mode,
    /// Whether tables are injected, too, that claim to imitate a load and are not close to it [default: no].
    #[serde(default)]
    pub accept_poor_fit: bool,
}

/// What is measured.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suites {
    /// Messages between two hosts.
    #[serde(default)]
    pub packet: Vec<PacketCase>,
    /// Operations of MPI between ranks.
    #[serde(default)]
    pub library: Vec<LibraryCase>,
    /// Real, unmodified programs.
    #[serde(default)]
    pub application: Vec<ApplicationCase>,
}

/// A case of the packet suite.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketCase {
    /// What is measured.
    pub case: PacketCaseKind,
    /// What it is called in results [default: as the case]: two of a kind need two names.
    pub name: Option<String>,
    /// Over what [default: UDP and TCP].
    #[serde(default = "defaults::transports")]
    pub transports: Vec<Transport>,
    /// How messages go over verbs, where that is one of the transports.
    pub verbs: Option<Verbs>,
    /// The host that asks and measures [default: the first of two hosts by name].
    #[serde(default)]
    pub from: String,
    /// The host that answers [default: the other one].
    #[serde(default)]
    pub to: String,
    /// Size of a message [default: as `jitterlab packet run` has it].
    #[serde(default = "defaults::size")]
    pub size: Bytes,
    /// How long to warm up; what is measured in it is discarded [default: as `jitterlab packet run` has it].
    #[serde(default = "defaults::warmup")]
    pub warmup: Nanos,
    /// How long to measure [default: 500ms].
    #[serde(default = "defaults::duration")]
    pub duration: Nanos,
    /// How answers are waited for [default: as the transport usually does].
    pub wait: Option<Wait>,
    /// A message without an answer after this time is lost [default: as `jitterlab packet run` has it].
    pub timeout: Option<Nanos>,
    /// The kinds of level that it is measured at.
    #[serde(default = "every_level")]
    pub levels: Vec<LevelKind>,
}

/// The cases of the packet suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacketCaseKind {
    /// Ping-pong: the round-trip time of one message at a time.
    Rtt,
}

/// A program whose run time is measured, with a server that it talks to if it needs one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationCase {
    /// What it is called in results.
    pub name: String,
    /// Started before the program and stopped after it.
    pub server: Option<Server>,
    /// The program; delays are injected into it. This or `npb`.
    pub client: Option<Client>,
    /// One of the NAS Parallel Benchmarks, whose run time is the one that it reports.
    pub npb: Option<Npb>,
    /// How its run time is read from what it prints [default: the time from start to end].
    pub runtime: Option<Runtime>,
    /// A run that takes longer has failed.
    #[serde(default = "default_timeout")]
    pub timeout: Nanos,
    /// How long a run takes, for the estimate before one was done [default: 1s].
    pub expected: Option<Nanos>,
    /// Where delays are injected into the client [default: as `jitterlab inject run` has it].
    pub hook: Option<Hook>,
    /// The kinds of level that it is measured at.
    #[serde(default = "every_level")]
    pub levels: Vec<LevelKind>,
}

fn default_timeout() -> Nanos {
    Nanos(60_000_000_000)
}

fn every_level() -> Vec<LevelKind> {
    LevelKind::ALL.to_vec()
}

/// The server of an application.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// The host that it runs on.
    pub on: String,
    /// Program and arguments; `{address}` and `{port}` stand for where it is to listen.
    pub command: Vec<String>,
    /// A pattern in a line that it prints when it is ready [default: it accepts connections].
    pub ready: Option<String>,
}

/// The program of an application.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The host that it runs on.
    pub on: String,
    /// Program and arguments; `{address}` and `{port}` stand for where the server listens.
    pub command: Vec<String>,
}

/// How a run time is read from a program's output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// A regular expression with one group, which holds the number; its last match counts.
    pub pattern: String,
    /// What the number counts.
    pub unit: RuntimeUnit,
}

/// What a number in a program's output counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Units of work a second: the run time is that of one unit.
    PerSecond,
}

impl RuntimeUnit {
    /// The time in seconds that a number of this unit means.
    pub fn seconds(self, number: f64) -> f64 {
        match self {
            RuntimeUnit::S => number,
            RuntimeUnit::Ms => number / 1e3,
            RuntimeUnit::Us => number / 1e6,
            RuntimeUnit::PerSecond => 1.0 / number,
        }
    }
}

impl Experiment {
    /// Reads an experiment file.
    ///
    /// # Errors
    /// It cannot be read, or something in it is wrong: with its place.
    pub fn load(path: &Path) -> Result<(Experiment, String), FileError> {
        let text = yaml::text_of("experiment file", path)?;
        Ok((Experiment::parse(&text, path)?, text))
    }

    /// Reads the text of an experiment file; `path` is for messages.
    ///
    /// # Errors
    /// Something in it is wrong: with its place.
    pub fn parse(text: &str, path: &Path) -> Result<Experiment, FileError> {
        yaml::parse_filled(text, path, defaults::fill, check::check)
    }
}

impl PacketCase {
    /// What it is called in results.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(match self.case {
            PacketCaseKind::Rtt => "rtt",
        })
    }

    /// How messages go over verbs.
    pub fn verbs(&self) -> Verbs {
        self.verbs.unwrap_or_default()
    }

    /// How answers are waited for over a transport.
    pub fn wait(&self, transport: Transport) -> Wait {
        self.wait.unwrap_or(transport.usual_wait())
    }
}

impl Levels {
    /// Every level of some kinds, in the order of the file.
    pub fn of(&self, kinds: &[LevelKind]) -> Vec<Level> {
        let load = self.load.iter().map(|&percent| Level::Load { percent });
        let injected = self.injected.iter().flat_map(|injected| {
            injected.percent.iter().flat_map(|&percent| {
                let shapes = injected.shapes.iter();
                shapes.map(move |&shape| Level::Injected { percent, shape })
            })
        });
        std::iter::once(Level::None)
            .chain(load)
            .chain(injected)
            .filter(|level| kinds.contains(&level.kind()))
            .collect()
    }
}
