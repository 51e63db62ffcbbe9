//! What the program can do, a file each.

mod npb;

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use jitterlab_mpi::comm::Comm;
use mpi::Threading;
use mpi::environment::Universe;

#[derive(Subcommand)]
pub enum Command {
    /// The NAS Parallel Benchmarks: a kernel, verified against the published result
    Npb(npb::Arguments),
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One object, for programs.
    Json,
}

/// What was asked for could not be run: 2 as wrong usage, said once, by rank 0.
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

/// Runs what the command line asks for. If that is wrong, then on every rank, and MPI says which of them tells.
pub fn run(command: Result<Command, Wrong>) -> ExitCode {
    // The universe outlives what is done in it: its end is MPI_Finalize.
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("jitterlab-mpi: MPI does not start");
        return ExitCode::from(3);
    };
    let comm = world(&universe);
    let ended = command.and_then(|command| match command {
        Command::Npb(arguments) => npb::run(&comm, &arguments),
    });
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(Wrong(why)) => {
            if comm.rank() == 0 {
                eprintln!("jitterlab-mpi: {why}");
            }
            ExitCode::from(2)
        }
    }
}

fn world(universe: &Universe) -> Comm {
    Comm::new(universe.world())
}
