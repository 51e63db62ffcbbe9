//! `jitterlab`, the one program people start: a thin edge that turns a command line into calls of
//! the rooms below, and their errors into messages and exit statuses.

#![forbid(unsafe_code)]

mod commands;
mod files;
mod outcome;
mod output;
mod peer;
mod shown;
mod stopped;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "jitterlab", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    outcome::report(commands::run(CommandLine::parse().command))
}
