//! `jitterlab ui`: the terminal UI.

use std::io::IsTerminal;
use std::path::PathBuf;

use jitterlab_appliance::report::BootReport;

use crate::outcome::{Exit, Failure};
use crate::ui::attach::Elsewhere;
use crate::ui::session;

/// Options of `jitterlab ui`.
#[derive(Default, clap::Args)]
pub struct Command {
    /// The folder with experiment files and results/; ssh://HOST/FOLDER is one on another machine, where the UI then runs
    /// [default: the working directory; on an appliance its volume]
    folder: Option<PathBuf>,
}

/// Whether there is a terminal to show it on.
pub fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Shows it until somebody leaves it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    if !has_terminal() {
        return Err(Failure::input(
            "the terminal UI needs a terminal as its stdin and stdout; without one there are `jitterlab run`, \
             `check` and `noise run`",
        ));
    }
    let address = command.folder.as_ref().and_then(|folder| folder.to_str());
    if let Some(elsewhere) = address.and_then(Elsewhere::of) {
        return elsewhere?.show();
    }
    let folder = command.folder.unwrap_or_else(usual_folder);
    if !folder.is_dir() {
        return Err(Failure::input(format!(
            "{} is no folder: give the one where experiment files and results/ are",
            folder.display()
        )));
    }
    session::run(folder)?;
    Ok(Exit::Done)
}

/// The volume of an appliance that has one; where this program is, otherwise.
fn usual_folder() -> PathBuf {
    let volume = BootReport::load().ok().and_then(|report| report.volume);
    volume.map_or_else(|| ".".into(), PathBuf::from)
}
