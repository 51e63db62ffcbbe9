//! `jitterlab-mpi` under Open MPI's mpirun.

use std::process::Command;

use crate::common::{self, Ran};

/// Runs `jitterlab-mpi ARGUMENTS…` on so many ranks.
pub fn mpirun(ranks: usize, arguments: &[&str]) -> Ran {
    let mut command = Command::new("mpirun");
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        // Ranks that wait give way to those that share their core.
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        // A run that hangs ends, as a failure.
        .args(["--oversubscribe", "--timeout", "300"])
        .args(["-n", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_jitterlab-mpi"))
        .args(arguments);
    common::run(command)
}

/// A command line that is refused with exit status 2 and one message of rank 0's that holds these words.
pub fn assert_wrong(ranks: usize, arguments: &[&str], words: &str) {
    let ran = mpirun(ranks, arguments);
    assert_eq!(ran.status, Some(2), "{arguments:?}: {ran}");
    let said = ran.stderr.matches("jitterlab-mpi: ").count();
    assert_eq!(said, 1, "{arguments:?}: {ran}");
    assert!(ran.stderr.contains(words), "{arguments:?}: {ran}");
    assert!(ran.stdout.is_empty(), "{arguments:?}: {ran}");
}
