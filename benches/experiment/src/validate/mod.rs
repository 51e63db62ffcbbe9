//! Validation: every pair of a cluster's hosts is measured, what does not fit is found, and replaced by
//! spares as long as there are some.

mod attempt;
mod baseline;
mod report;
mod stations;

use std::collections::VecDeque;
use std::path::PathBuf;

use jitterlab_node_tuning::validation::judge;
use jitterlab_packet::transport::Transport;
use thiserror::Error;

use crate::spec::Cluster;
pub use baseline::{BaselineError, Kept};
pub use report::{
    Attempt, Baseline, Failure, HostDrift, LeftOut, Lost, NodeRow, PairDrift, PairRow, Reason, Run,
    Setup, Validation,
};
use stations::Stations;

/// What happens, for those who wait.
#[derive(Debug)]
pub enum Event<'a> {
    /// All pairs of these hosts are going to be measured.
    Begins {
        /// The hosts.
        hosts: &'a [&'a str],
        /// Measurements that there will be.
        measurements: usize,
    },
    /// A pair was measured once.
    Run(&'a Run),
    /// A host cannot be measured.
    Lost(&'a Lost),
    /// A measurement failed.
    Failed(&'a Failure),
    /// So many measurements have been made, or were left out.
    Measured {
        /// How many.
        done: usize,
        /// How many there will have been.
        of: usize,
    },
}

/// Why a validation could not be done.
#[derive(Debug, Error)]
pub enum ValidateError {
    /// There is no host that can measure.
    #[error("no host can be measured. The first, {host}, failed: {reason}")]
    Nobody {
        /// The first of them.
        host: String,
        /// Why.
        reason: String,
    },
    /// What was measured cannot be judged.
    #[error("jitterlab cannot judge the measurements")]
    Judge(#[from] judge::Error),
}

/// Measures all pairs of a cluster's hosts over `transport`, and again with spares in the place of those
/// that do not fit, until all that remain fit or there are no spares. `own` is the program that
/// runs this.
///
/// # Errors
/// No host can be measured. Hosts and pairs that cannot are no error: the result names them.
pub fn validate(
    cluster: &Cluster,
    transport: Transport,
    own: PathBuf,
    watch: &mut dyn FnMut(Event),
) -> Result<Validation, ValidateError> {
    let setup = Setup::of(cluster, transport);
    let mut stations = Stations::new(cluster, transport, own);
    let wanted = cluster.hosts.len();
    let mut team: Vec<&str> = cluster.hosts.keys().map(String::as_str).collect();
    let mut spares: VecDeque<&str> = cluster.spares.keys().map(String::as_str).collect();
    let mut attempts = Vec::new();
    loop {
        let attempt = attempt::attempt(cluster, &mut stations, &team, watch)?;
        let mut remaining = team;
        remaining.retain(|name| attempt.left_out.iter().all(|out| out.host != *name));
        attempts.push(attempt);
        let missing = wanted - remaining.len();
        if missing == 0 || spares.is_empty() {
            return Ok(Validation {
                setup,
                attempts,
                remaining: remaining.into_iter().map(String::from).collect(),
                spares_left: spares.into_iter().map(String::from).collect(),
                baseline: None,
            });
        }
        remaining.extend(spares.drain(..missing.min(spares.len())));
        remaining.sort_unstable();
        team = remaining;
    }
}
