//! `jitterlab-mpi`, which mpirun or srun starts once a rank: a thin edge over its library.

#![forbid(unsafe_code)]

mod commands;

use std::process::ExitCode;

use clap::Parser;
use commands::Wrong;

#[derive(Parser)]
#[command(name = "jitterlab-mpi", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    match CommandLine::try_parse() {
        Err(help) if !help.use_stderr() => help.exit(),
        parsed => commands::run(parsed.map(|line| line.command).map_err(Wrong::from)),
    }
}
