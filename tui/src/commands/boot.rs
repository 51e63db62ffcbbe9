//! `jitterlab boot`: the appliance's boot.

use std::path::PathBuf;

use jitterlab_appliance::node_file::NodeFile;
use jitterlab_appliance::report::BootReport;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// The verbs of `jitterlab boot`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Say what this node did when it booted from the boot image, and how long that took
    Report {
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Check a node.yaml before a node boots with it
    Check {
        /// The node.yaml
        file: PathBuf,
    },
    /// Bring the appliance to what node.yaml says (started once, at boot)
    #[command(hide = true)]
    Start,
    /// Run the experiment of node.yaml (started by `boot start`)
    #[command(hide = true)]
    Experiment,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Report { format } => print(&BootReport::load().map_err(Failure::run)?, format),
        Command::Check { file } => {
            let text = NodeFile::text(&file).map_err(Failure::input)?;
            NodeFile::parse(&text, &file).map_err(Failure::input)?;
            output::print(Format::Text, &(), || format!("{} is right", file.display()))?;
            Ok(Exit::Done)
        }
        Command::Start => print(&jitterlab_appliance::start(), Format::Text),
        Command::Experiment => jitterlab_appliance::run_experiment()
            .map(|()| Exit::Done)
            .map_err(Failure::run),
    }
}

fn print(report: &BootReport, format: Format) -> Result<Exit, Failure> {
    output::print(format, report, || report.text())?;
    Ok(if report.is_clean() {
        Exit::Done
    } else {
        Exit::Finding
    })
}
