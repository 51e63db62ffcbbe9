//! Validation: every pair of a cluster's hosts is measured, what does not fit is found, and replaced by
//! spares as long as there are some.

mod attempt;
mod baseline;
mod events;
mod report;
mod stations;

use std::collections::VecDeque;
use std::path::PathBuf;

use jitterlab_node_tuning::validation::judge;
use jitterlab_packet::transport::Transport;
use thiserror::Error;

use crate::spec::Cluster;
pub use baseline::{BaselineError, Kept};
pub use events::{Event, EventsError};
pub use report::{
    Attempt, Baseline, Failure, HostDrift, LeftOut, Lost, NodeRow, PairDrift, PairRow, Reason, Run,
    Setup, Validation,
};
use stations::Stations;

/// Why a validation could not be done.
#[derive(Debug, Error)]
pub enum ValidateError {
    /// There is no host that can measure.
    #[error("no host can be measured. The first, {host}, failed: {reason}")]
    Nobody {
        /// The first of them.
        host: String,
        /// The reason.
        reason: String,
    },
    /// The measurements cannot be judged.
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
                version: Validation::VERSION,
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
