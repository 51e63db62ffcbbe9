//! What `jitterlab-mpi` tells of its own command line, without an MPI: completions for shells, and manual pages.

use std::io;
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
            clap_complete::generate(shell, &mut line, "jitterlab-mpi", &mut io::stdout());
        }
        Command::Man { folder } => {
            let written = std::fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(line, &folder));
            if let Err(error) = written {
                let folder = folder.display();
                eprintln!("jitterlab-mpi: cannot write manual pages to {folder}: {error}");
                return ExitCode::from(3);
            }
        }
    }
    ExitCode::SUCCESS
}
