//! `inject set`.

use std::path::PathBuf;

use jitterlab_base::seed;
use jitterlab_injector::control::Mode;
use jitterlab_injector::table::{DelayUnit, DistributionTable, TableSource};

use super::change::Change;
use super::pages::{self, Address};
use crate::outcome::{Exit, Failure};

/// Options of `inject set`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true)
    .args(["table", "scale", "seed", "mode", "on", "off"])))]
pub struct Set {
    /// The program; `inject status` shows its pid
    #[arg(long)]
    pid: Address,
    /// Take the delays from this table
    #[arg(long)]
    table: Option<PathBuf>,
    /// Unit of a table file that has no header line: ns (nanoseconds) or spins (turns of a waiting loop)
    #[arg(long, default_value = "ns", requires = "table")]
    unit: DelayUnit,
    /// Multiply each delay by this number. It applies to --table, or else to the current table
    #[arg(long)]
    scale: Option<f64>,
    /// Restart the sequence of delays with the seed in this file
    #[arg(long)]
    seed: Option<PathBuf>,
    /// spin, defer or pace
    #[arg(long)]
    mode: Option<Mode>,
    /// Switch the delays on
    #[arg(long, conflicts_with = "off")]
    on: bool,
    /// Switch the delays off
    #[arg(long)]
    off: bool,
}

impl Set {
    pub fn run(self) -> Result<Exit, Failure> {
        // Everything that can be wrong is found before anything is changed.
        let table = self
            .table
            .as_ref()
            .map(|path| {
                let table = DistributionTable::load(path, self.unit).map_err(Failure::input)?;
                Ok((TableSource::of(&table, path), table.unit()))
            })
            .transpose()?;
        let seed = self
            .seed
            .as_ref()
            .map(|path| seed::load(path).map_err(Failure::input))
            .transpose()?;
        let enabled = match (self.on, self.off) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let change = Change {
            table,
            scale: self.scale,
            seed,
            mode: self.mode,
            enabled,
        };
        change.make(&pages::of(self.pid)?.page)?;
        Ok(Exit::Done)
    }
}
