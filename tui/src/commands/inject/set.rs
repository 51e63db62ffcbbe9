//! `inject set`.

use std::path::PathBuf;

use jitterlab_base::seed;
use jitterlab_injector::control::Mode;
use jitterlab_injector::replay::Order;
use jitterlab_injector::table::{DelayUnit, DistributionTable, TableSource};

use super::pages::{self, Address};
use crate::outcome::{Exit, Failure};

/// Options of `inject set`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true)
    .args(["table", "seed", "mode", "on", "off"])))]
pub struct Set {
    /// The program; `inject status` shows its pid
    #[arg(long)]
    pid: Address,
    /// Take the delays from this table
    #[arg(long)]
    table: Option<PathBuf>,
    /// Unit of a table file that has no header line: ns or spins
    #[arg(long, default_value = "ns", requires = "table")]
    unit: DelayUnit,
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
        let page = pages::of(self.pid)?.page;
        let locked = page.lock().map_err(Failure::run)?;
        let (now, _) = page.settings();
        let unit = table.as_ref().map_or(now.unit, |(_, unit)| *unit);
        let mode = self.mode.unwrap_or(now.mode);
        if let Some(obstacle) = mode.obstacle(unit, page.identity().hooks) {
            return Err(Failure::input(obstacle));
        }
        locked.change(|settings, source| {
            if let Some((table, unit)) = table {
                *source = table;
                settings.unit = unit;
                settings.order = Order::Drawn;
            }
            if let Some(seed) = seed {
                settings.seed = seed;
                settings.seedings = settings.seedings.wrapping_add(1);
            }
            settings.mode = mode;
            settings.enabled = (settings.enabled || self.on) && !self.off;
        });
        Ok(Exit::Done)
    }
}
