//! `jitterlab results merge`: folders of one experiment become one.

use std::path::PathBuf;

use jitterlab_base::show::counted;
use jitterlab_experiment::merge::merge;

use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// Options of `results merge`.
#[derive(clap::Args)]
pub struct Merge {
    /// Result folders of one experiment
    #[arg(required = true, num_args = 2..)]
    folders: Vec<PathBuf>,
    /// The new result folder
    #[arg(long)]
    into: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Merge {
    pub fn run(self) -> Result<Exit, Failure> {
        let parts = merge(&self.folders, &self.into).map_err(Failure::input)?;
        output::print(self.format, &parts, || {
            let into = self.into.display();
            let mut text = format!(
                "{into} has the runs of {}\n",
                counted(parts.len(), "folder")
            );
            for part in &parts {
                let (first, last) = (part.first_block, part.last_block);
                text += &format!("  {}: repetitions {first} to {last}\n", part.folder);
            }
            text
        })?;
        Ok(Exit::Done)
    }
}
