//! `jitterlab amvia`: active messages.

mod call;
mod end;
mod names;
mod serve;
mod status;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab amvia`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Be an endpoint that answers: its handlers are echo (1) and wait (2)
    Serve(serve::Serve),
    /// Make requests of an endpoint, and say what became of each
    Call(call::Call),
    /// Show what the log of an endpoint says of each transaction
    Status(status::Status),
    /// Tell endpoints where others are
    #[command(subcommand)]
    Names(names::Command),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(options) => options.run(),
        Command::Call(options) => options.run(),
        Command::Status(options) => options.run(),
        Command::Names(command) => names::run(command),
    }
}
