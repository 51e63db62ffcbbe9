//! `jitterlab amvia`: active messages.

mod call;
mod end;
mod measure;
mod names;
mod own_name;
mod performability;
mod serve;
mod status;

use crate::outcome::{Exit, Failure};

/// The verbs of `jitterlab amvia`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Run an endpoint that answers requests. It has three handlers: echo (1) sends the data back, wait (2) waits for
    /// the time in the request, as in 250ms, and take (3) sends an empty reply
    Serve(serve::Serve),
    /// Make requests of an endpoint, and print the final state of each
    Call(call::Call),
    /// Measure the round trips of transactions (a request and its reply), one after the other
    Rtt(measure::Rtt),
    /// Measure transactions and bytes a second, with as many transactions under way as --window allows
    Bandwidth(measure::Bandwidth),
    /// Measure the LogGP parameters (o_s, o_r, L, g and G), and check them by adding known delays
    Loggp(measure::Loggp),
    /// Estimate the cost of bit errors by a model, a simulation and an experiment, and compare the three; exit status 1 if they differ
    Performability(performability::Options),
    /// Show the transactions in the log of an endpoint, by state, or set the log aside
    Status(status::Status),
    /// Run or ask the name server, which tells endpoints the addresses of others
    #[command(subcommand)]
    Names(names::Command),
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(options) => options.run(),
        Command::Call(options) => options.run(),
        Command::Rtt(options) => options.run(),
        Command::Bandwidth(options) => options.run(),
        Command::Loggp(options) => options.run(),
        Command::Performability(options) => options.run(),
        Command::Status(options) => options.run(),
        Command::Names(command) => names::run(command),
    }
}
