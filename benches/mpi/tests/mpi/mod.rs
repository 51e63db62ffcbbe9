//! `jitterlab-mpi` under Open MPI's mpirun.

use crate::common::{self, Ran};

/// Runs `jitterlab-mpi ARGUMENTS…` on so many ranks. A run that hangs ends, as a failure.
pub fn mpirun(ranks: usize, arguments: &[&str]) -> Ran {
    let launcher = ["mpirun", "--oversubscribe", "--timeout", "300"];
    common::mpirun(
        &launcher,
        ranks,
        env!("CARGO_BIN_EXE_jitterlab-mpi"),
        arguments,
    )
}

/// The same; its standard input ends when something is said on stderr.
#[allow(dead_code, reason = "each test program uses its own part")]
pub fn mpirun_until_announced(ranks: usize, arguments: &[&str]) -> Ran {
    let launcher = ["mpirun", "--oversubscribe", "--timeout", "300"];
    common::mpirun_until_said(
        &launcher,
        ranks,
        env!("CARGO_BIN_EXE_jitterlab-mpi"),
        arguments,
    )
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
