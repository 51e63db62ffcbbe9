//! What a launcher of ranks prints, and how it ends.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
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

/// Runs `a_rank` of this test program, an ignored test, on two ranks of Open MPI.
pub fn two_ranks() -> Ran {
    let launcher = ["mpirun", "--oversubscribe", "--timeout", "300"];
    let this = std::env::current_exe().unwrap();
    let as_rank = ["--exact", "a_rank", "--ignored", "--nocapture"];
    mpirun(&launcher, 2, this.to_str().unwrap(), &as_rank)
}

/// Runs `program ARGUMENTS…` on so many ranks. `launcher` is an mpirun with its options.
pub fn mpirun(launcher: &[&str], ranks: usize, program: &str, arguments: &[&str]) -> Ran {
    attended(launcher, ranks, program, arguments, |command| {
        command.stdin(Stdio::null()).spawn()
    })
}

/// The same; its standard input ends when it has printed a line on stderr.
pub fn mpirun_until_said(
    launcher: &[&str],
    ranks: usize,
    program: &str,
    arguments: &[&str],
) -> Ran {
    attended(launcher, ranks, program, arguments, |command| {
        let mut child = command.stdin(Stdio::piped()).spawn()?;
        let stderr = child.stderr.as_mut().unwrap();
        let mut byte = [0];
        while stderr.read(&mut byte)? > 0 && byte != *b"\n" {}
        drop(child.stdin.take());
        Ok(child)
    })
}

/// One run at a time: ranks of several would wait for each other's cores.
fn attended(
    launcher: &[&str],
    ranks: usize,
    program: &str,
    arguments: &[&str],
    start: impl FnOnce(&mut Command) -> io::Result<Child>,
) -> Ran {
    static CORES: Mutex<()> = Mutex::new(());
    let _cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(launcher[0]);
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        // Ranks that wait give way to those that share their core.
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .args(&launcher[1..])
        .args(["-n", &ranks.to_string(), program])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = start(&mut command)
        .and_then(Child::wait_with_output)
        .unwrap_or_else(|error| {
            let mpirun = launcher[0];
            panic!("{mpirun} does not start ({error}); in Debian it is in openmpi-bin or mpich")
        });
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
