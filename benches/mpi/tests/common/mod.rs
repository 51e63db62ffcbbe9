//! What a launcher of ranks prints, and how it ends.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// What came of a run.
pub struct Ran {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Reads the one JSON object on standard output.
    pub fn report(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran {
            status,
            stdout,
            stderr,
        } = self;
        write!(f, "status {status:?}\n{stdout}\n{stderr}")
    }
}

/// Runs a launcher to its end. One at a time: ranks of several runs would wait for each other's cores.
pub fn run(mut command: Command) -> Ran {
    static CORES: Mutex<()> = Mutex::new(());
    let _cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let output = command.output().unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!(
            "{program} does not start ({error}): these tests need an MPI, as Debian's openmpi-bin"
        )
    });
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
