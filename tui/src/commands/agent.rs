//! `jitterlab agent`.

use std::os::unix::process::CommandExt;
use std::process;

use jitterlab_experiment::agent;

use crate::commands::packet::pin;
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
    agent::serve(std::io::stdin(), std::io::stdout()).map_err(Failure::run)?;
    Ok(Exit::Done)
}
