//! What starting ranks over MPI takes, and what to do where it is missing.

use crate::spec::Launcher;

/// The program of ranks.
pub const PROGRAM: &str = "jitterlab-mpi";

/// What Open MPI's launcher finds in its environment. Whoever runs it as root has decided that already, and more
/// ranks than CPUs are a person's choice, too.
pub const ENVIRONMENT: [(&str, &str); 3] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
];

const INSTALL: &str = "on Debian, `apt-get install libopenmpi-dev openmpi-bin`";

/// What starts ranks is not on `place`, and how to come by it.
pub fn no_launcher(launcher: Launcher, place: &str) -> String {
    match launcher {
        Launcher::Mpirun => format!("{place} has no mpirun: {INSTALL}"),
        Launcher::Srun => {
            format!("{place} has no srun, which is Slurm's; `launcher: mpirun` needs none")
        }
    }
}

/// The program of ranks is not on `place`, and how to come by it.
pub fn no_program(place: &str) -> String {
    format!(
        "{place} has no {PROGRAM}, beside jitterlab or where its PATH leads: build it with \
         `cargo build --release -p jitterlab-mpi`, which needs an MPI ({INSTALL})"
    )
}
