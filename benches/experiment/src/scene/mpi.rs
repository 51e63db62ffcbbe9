//! The start and the placement of ranks over MPI.

use std::collections::BTreeMap;

use jitterlab_base::named;
use serde::{Deserialize, Serialize};

/// The way that programs are started over MPI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mpi {
    /// The host that the launcher is started on, and rank 0 runs on [default: where hosts have slots, the one on this machine].
    #[serde(default)]
    pub on: String,
    /// The program that starts the ranks [default: mpirun].
    #[serde(default)]
    pub launcher: Launcher,
    /// The hosts that ranks run on, and how many each takes [default: the slots of the hosts; all run on `on`, where they have none].
    #[serde(default)]
    pub hosts: BTreeMap<String, u32>,
    /// More arguments for the launcher.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The layer at which delays are injected into ranks [default: mpi].
    #[serde(default)]
    pub hook: Hook,
}

/// The program that starts the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Launcher {
    /// The MPI's own.
    #[default]
    Mpirun,
    /// Slurm's, inside an allocation, which says where ranks run.
    Srun,
}

/// The layer at which delays are injected into a rank; with several, a message is delayed at each that it passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hook {
    /// The calls of MPI: each send, one-sided call and collective, once.
    #[default]
    Mpi,
    /// The sockets that the MPI sends over: also the messages that a collective is made of.
    Socket,
    /// The verbs that the MPI sends over, likewise.
    Verbs,
    /// The transports of UCX that the MPI sends over, likewise.
    Uct,
}

impl Hook {
    /// The families for `jitterlab inject run --hook`.
    pub fn families(self) -> &'static str {
        match self {
            Hook::Mpi => "mpi,mpi-collectives",
            Hook::Socket => "socket",
            Hook::Verbs => "verbs",
            Hook::Uct => "uct",
        }
    }
}

named!(Launcher, serde, "a launcher", Mpirun => "mpirun", Srun => "srun");
named!(Hook, serde, Mpi => "mpi", Socket => "socket", Verbs => "verbs", Uct => "uct");
