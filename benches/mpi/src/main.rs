//! `jitterlab-mpi`, which mpirun or srun starts once a rank: a thin edge over its library.

#![forbid(unsafe_code)]

mod commands;
mod itself;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use commands::Wrong;

#[derive(Parser)]
#[command(name = "jitterlab-mpi", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Work(commands::Command),
    #[command(flatten)]
    Itself(itself::Command),
}

fn main() -> ExitCode {
    match CommandLine::try_parse() {
        Err(help) if !help.use_stderr() => help.exit(),
        Err(wrong) => commands::run(Err(Wrong::from(wrong))),
        Ok(line) => match line.command {
            Command::Work(command) => commands::run(Ok(command)),
            Command::Itself(asked) => itself::run(asked, CommandLine::command()),
        },
    }
}
