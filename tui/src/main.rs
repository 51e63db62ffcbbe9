//! `jitterlab`, the one program people start: a thin edge that turns a command line into calls of
//! the rooms below, and their errors into messages and exit statuses.

#![forbid(unsafe_code)]

mod commands;
mod files;
mod outcome;
mod output;
mod peer;
mod shown;
mod status;
mod stopped;

use std::any::TypeId;
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser};
use jitterlab_base::units::{Bytes, Nanos, Percent};

#[derive(Parser)]
#[command(name = "jitterlab", version, about, propagate_version = true)]
struct CommandLine {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let matches = quantities_may_be_negative(CommandLine::command()).get_matches();
    match CommandLine::from_arg_matches(&matches) {
        Ok(line) => outcome::report(commands::run(line.command)),
        Err(error) => error.exit(),
    }
}

/// `--mean -10us` is a wrong quantity, and not a list of options: that is said by who reads it.
fn quantities_may_be_negative(command: clap::Command) -> clap::Command {
    let is_quantity = |arg: &Arg| {
        let of = arg.get_value_parser().type_id();
        arg.get_action().takes_values()
            && [
                TypeId::of::<Nanos>(),
                TypeId::of::<Bytes>(),
                TypeId::of::<Percent>(),
                TypeId::of::<f64>(),
            ]
            .iter()
            .any(|quantity| of == *quantity)
    };
    command
        .mut_args(|arg| {
            let quantity = is_quantity(&arg);
            if quantity {
                arg.allow_hyphen_values(true)
            } else {
                arg
            }
        })
        .mut_subcommands(quantities_may_be_negative)
}
