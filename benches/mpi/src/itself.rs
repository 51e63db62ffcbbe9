//! The description of `jitterlab-mpi`'s own command line, without an MPI: completions for shells, and manual pages.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use clap_complete::Shell;

/// Commands about the command line.
#[derive(Subcommand)]
pub enum Command {
    /// Print completions of commands and options for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages, one for each command
    #[command(hide = true)]
    Man {
        /// The folder that they are written to
        folder: PathBuf,
    },
}

/// Does it, of the whole command line.
pub fn run(command: Command, mut line: clap::Command) -> ExitCode {
    match command {
        Command::Completions { shell } => {
            // Not straight to stdout: `generate` panics where that cannot be written.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut line, "jitterlab-mpi", &mut script);
            match io::stdout().write_all(&script) {
                // A reader that has gone away (`… | head`) is no error.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return failed(&format!("cannot print completions: {error}"));
                }
                _ => {}
            }
        }
        Command::Man { folder } => {
            let written = std::fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(line, &folder));
            if let Err(error) = written {
                let folder = folder.display();
                return failed(&format!("cannot write manual pages to {folder}: {error}"));
            }
        }
    }
    ExitCode::SUCCESS
}

fn failed(why: &str) -> ExitCode {
    // Nobody is left to tell when stderr is closed; the exit status still speaks.
    let _ = writeln!(io::stderr(), "jitterlab-mpi: {why}");
    ExitCode::from(3)
}
