//! `jitterlab-mpi`, which mpirun or srun starts once a rank: a thin edge over its library.

#![forbid(unsafe_code)]

mod commands;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "jitterlab-mpi", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    commands::run(CommandLine::parse().command)
}
