//! The description of `jitterlab`'s own command line: completions for shells, and manual pages.

use std::path::PathBuf;

use clap_complete::Shell;

use crate::outcome::{Exit, Failure};
use crate::output;

/// Commands about the command line.
#[derive(clap::Subcommand)]
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

/// The place at which `--help` lists it.
pub const TASK: (&str, &[&str]) = ("Use the command line", &["completions"]);

/// Does it, of the whole command line.
pub fn run(command: Command, mut line: clap::Command) -> Result<Exit, Failure> {
    match command {
        Command::Completions { shell } => {
            // Not straight to stdout: `generate` panics where that cannot be written.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut line, "jitterlab", &mut script);
            output::print_text(String::from_utf8(script).map_err(Failure::run)?)?;
        }
        Command::Man { folder } => {
            std::fs::create_dir_all(&folder)
                .and_then(|()| clap_mangen::generate_to(line, &folder))
                .map_err(|error| {
                    Failure::run(format!(
                        "cannot write manual pages to {}: {error}",
                        folder.display()
                    ))
                })?;
        }
    }
    Ok(Exit::Done)
}
