//! `jitterlab agent`.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process;

use jitterlab_cluster::agent::{self, Duties};
use jitterlab_experiment::environment::Node;
use jitterlab_injector::control::{self, Collector};

use crate::cpus::{pin, to_housekeeping};
use crate::outcome::{Exit, Failure};

/// Options of `jitterlab agent`.
#[derive(clap::Args)]
pub struct Command {
    /// Serve nobody: keep to this CPU, and become PROGRAM
    #[arg(long, requires = "program")]
    cpu: Option<usize>,
    #[arg(last = true, requires = "cpu", value_name = "PROGRAM")]
    program: Vec<String>,
}

/// Runs it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    if let Some((program, arguments)) = command.program.split_first() {
        pin(command.cpu)?;
        let error = process::Command::new(program).args(arguments).exec();
        return Err(Failure::run(format!("cannot start `{program}`: {error}")));
    }
    // Stdin will not do: it reads ahead, and what it holds back would seem not to have been said yet.
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = File::from(input.map_err(Failure::run)?);
    agent::serve(input, std::io::stdout(), DUTIES).map_err(Failure::run)?;
    Ok(Exit::Done)
}

const DUTIES: Duties<Node> = Duties {
    to_housekeeping,
    describe: Node::here,
    // Programs under injection that were killed have left their counters. A report that cannot be had is missed where it is
    // wanted.
    collect: || {
        let _ = control::programs(Collector::Anybody);
    },
};
