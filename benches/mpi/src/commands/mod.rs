//! The commands of the program, a file each.

mod library;
mod load;
mod npb;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use jitterlab_base::print::Text;
use jitterlab_mpi::comm::{self, Comm};
use mpi::Threading;
use mpi::environment::Universe;
use serde::Serialize;

#[derive(Subcommand)]
pub enum Command {
    /// Measure an MPI operation: ping-pong, collectives, halo exchange
    Library(library::Arguments),
    /// Send load between ranks in a pattern; optionally measure what it does to an operation
    Load(load::Arguments),
    /// Run a NAS Parallel Benchmark and verify its result
    Npb(npb::Arguments),
}

/// The format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    Text,
    /// One object, for programs.
    Json,
}

/// The request could not be run: 2 as wrong usage, said once, by rank 0.
pub struct Wrong(pub String);

impl From<clap::Error> for Wrong {
    fn from(error: clap::Error) -> Wrong {
        Wrong(
            error
                .to_string()
                .trim_start_matches("error: ")
                .trim_end()
                .to_owned(),
        )
    }
}

/// Why there is no result: said once, by rank 0.
pub enum Failure {
    Wrong(Wrong),
    /// It could not be done: 3.
    Failed(String),
}

impl From<Wrong> for Failure {
    fn from(wrong: Wrong) -> Failure {
        Failure::Wrong(wrong)
    }
}

/// Runs what the command line asks for. If that is wrong, then on every rank, and MPI says which of them tells.
pub fn run(command: Result<Command, Wrong>) -> ExitCode {
    // The universe outlives what is done in it: its end is MPI_Finalize. There is one thread: Open MPI takes a fifth
    // longer over a ping-pong where it is told of more.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Single) else {
        eprintln!("jitterlab-mpi: MPI does not start");
        return ExitCode::from(3);
    };
    comm::end_all_with_a_panic();
    let comm = world(&universe);
    let ended = (command.map_err(Failure::from)).and_then(|command| match command {
        Command::Library(arguments) => library::run(&comm, &arguments),
        Command::Load(arguments) => load::run(&comm, &arguments),
        Command::Npb(arguments) => npb::run(&comm, &arguments),
    });
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(Failure::Wrong(Wrong(why))) => give_up(&comm, &why, 2),
        Err(Failure::Failed(why)) => give_up(&comm, &why, 3),
    }
}

fn give_up(comm: &Comm, why: &str, status: u8) -> ExitCode {
    if comm.rank() == 0 {
        // It goes in one write, as a result. Where nobody reads it, the exit status remains.
        let _ = io::stderr().write_all(format!("jitterlab-mpi: {why}\n").as_bytes());
    }
    ExitCode::from(status)
}

/// Prints a result, in one write. By a launcher of another MPI than theirs ranks are each the only one, and print as
/// rank 0 does: one in the middle of another's line would leave nothing to find that out by.
fn print(format: Format, report: &(impl Serialize + Text)) -> Result<(), Failure> {
    let said = match format {
        Format::Text => report.text(),
        Format::Json => format!("{}\n", serde_json::json!(report)),
    };
    let printed = io::stdout().write_all(said.as_bytes());
    printed.map_err(|error| Failure::Failed(format!("the result cannot be printed: {error}")))
}

fn world(universe: &Universe) -> Comm {
    Comm::new(universe.world())
}
