//! The record of a run: one line of `runs.jsonl` for each attempt that ended.
//!
//! A field that may have no value is stored as null: one that is not there at all is refused.

pub use jitterlab_load::Produced;
pub use jitterlab_mpi_results::{library, npb};
pub use jitterlab_packet::cases::rtt;
pub use jitterlab_packet::transport::Transport;
use serde::{Deserialize, Serialize};

use crate::level::Level;
pub use crate::level::Phase;
pub use crate::suites::amvia::AmviaResult;
pub use crate::suites::application::Application;
pub use crate::suites::packet::PacketResult;
pub use crate::suites::{SuiteKind, SuiteResult};

/// An attempt at a run, as it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The format of the line: [`RunRecord::VERSION`].
    pub version: u32,
    /// Unique name of the run: suite-case-transport-variant.level.repetition.
    pub run: String,
    /// Part of the experiment.
    pub phase: Phase,
    /// The block, counted from 1.
    pub block: u32,
    /// The repetition, counted from 1; it equals the block.
    pub repetition: u32,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// The suite.
    pub suite: SuiteKind,
    /// The case of the suite; of an application, its name.
    pub case: String,
    /// The transport of the messages, where the suite chooses.
    #[serde(deserialize_with = "Option::deserialize")]
    pub transport: Option<Transport>,
    /// The condition.
    pub level: Level,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason of its failure.
    #[serde(deserialize_with = "Option::deserialize")]
    pub reason: Option<String>,
    /// When it began, UTC (RFC 3339, milliseconds).
    pub started: String,
    /// The time that it took in seconds, preparation included.
    pub seconds: f64,
    /// The file of its samples, relative to the result folder.
    #[serde(deserialize_with = "Option::deserialize")]
    pub samples: Option<String>,
    /// Number of samples.
    #[serde(deserialize_with = "Option::deserialize")]
    pub n: Option<u64>,
    /// The measurement; none where it failed.
    #[serde(deserialize_with = "Option::deserialize")]
    pub result: Option<SuiteResult>,
    /// The load that `jitterlab load run` produced, at a level of load.
    #[serde(deserialize_with = "Option::deserialize")]
    pub load: Option<Produced>,
    /// The delays that were injected, at an injected level.
    #[serde(deserialize_with = "Option::deserialize")]
    pub injection: Option<Injection>,
}

impl RunRecord {
    /// The format that is written, and the only one that is read. It changes with any change of what is stored.
    pub const VERSION: u32 = 9;

    /// The name of the run without its repetition: `packet-rtt-udp.none`.
    pub fn condition(&self) -> &str {
        self.run
            .rsplit_once('.')
            .map_or(&self.run, |(name, _)| name)
    }
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Measured.
    Done,
    /// It was not measured.
    Failed,
}

/// The preloaded library's report of the delays of a run, over all processes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// Messages that were delayed.
    pub delayed: u64,
    /// Mean delay asked for, in nanoseconds.
    pub asked_mean_ns: f64,
    /// Mean delay achieved, in nanoseconds.
    pub achieved_mean_ns: f64,
    /// The most that a delay was late by, in nanoseconds.
    pub error_max_ns: u64,
}

/// The folder that some runs of a merged folder come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The name of the folder that they were measured into.
    pub folder: String,
    /// When that experiment began, UTC (RFC 3339).
    pub started: String,
    /// Their first block in the merged folder; it was 1.
    pub first_block: u32,
    /// Their last block.
    pub last_block: u32,
}
