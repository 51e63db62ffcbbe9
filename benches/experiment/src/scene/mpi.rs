//! How ranks are started over MPI, and placed.

use std::collections::BTreeMap;

use jitterlab_base::named;
use serde::{Deserialize, Serialize};

/// How programs are started over MPI.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mpi {
    /// The host that the launcher is started on, and rank 0 runs on [default: where hosts have slots, the one on this machine].
    #[serde(default)]
    pub on: String,
    /// What starts the ranks [default: mpirun].
    #[serde(default)]
    pub launcher: Launcher,
    /// The hosts that ranks run on, and how many each takes [default: the slots of the hosts; all run on `on`, where they have none].
    #[serde(default)]
    pub hosts: BTreeMap<String, u32>,
    /// More arguments for the launcher.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Where delays are injected into ranks [default: mpi].
    #[serde(default)]
    pub hook: Hook,
}

/// What starts the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Launcher {
    /// The MPI's own.
    #[default]
    Mpirun,
    /// Slurm's, inside an allocation, which says where ranks run.
    Srun,
}

/// Where delays are injected into a rank: one layer, or a message is delayed at each that it passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hook {
    /// In the calls of MPI: each send, one-sided call and collective, once.
    #[default]
    Mpi,
    /// In the sockets that the MPI sends over: also the messages that a collective is made of.
    Socket,
    /// In the verbs that the MPI sends over, likewise.
    Verbs,
    /// In the transports of UCX that the MPI sends over, likewise.
    Uct,
}

impl Hook {
    /// What `jitterlab inject run --hook` takes.
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
