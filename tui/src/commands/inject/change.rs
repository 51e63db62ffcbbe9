//! The changes of a running program under injection: by `inject set`, or in the terminal UI.

use jitterlab_injector::control::{Attached, Mode};
use jitterlab_injector::replay::Order;
use jitterlab_injector::table::{DelayUnit, TableSource};

use crate::outcome::Failure;

/// A change; what it does not say stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// The table that delays are drawn from, and what it counts.
    pub table: Option<(TableSource, DelayUnit)>,
    /// The factor that each delay of the table is multiplied by.
    pub scale: Option<f64>,
    /// The seed that all streams start over with.
    pub seed: Option<u64>,
    /// The way that delays are injected.
    pub mode: Option<Mode>,
    /// True if delays are to be injected.
    pub enabled: Option<bool>,
}

impl Change {
    /// Makes it, all at once.
    ///
    /// # Errors
    /// The program cannot have it, or somebody else keeps its page locked; nothing is changed then.
    pub fn make(&self, page: &Attached) -> Result<(), Failure> {
        let locked = page.lock().map_err(Failure::run)?;
        let (now, source) = page.settings();
        let unit = self.table.as_ref().map_or(now.unit, |(_, unit)| *unit);
        let mode = self.mode.unwrap_or(now.mode);
        if let Some(obstacle) = mode.obstacle(unit, page.identity().hooks) {
            return Err(Failure::input(obstacle));
        }
        let table = self.table.as_ref().map(|(table, _)| table);
        if self.scale.is_some() && table.is_none() && now.order != Order::Drawn {
            return Err(Failure::input(
                "the delays of a replayed recording cannot be multiplied: give a table with the factor",
            ));
        }
        let scaled = self
            .scale
            .map(|scale| table.unwrap_or(&source).scaled(scale, unit));
        let scaled = scaled.transpose().map_err(Failure::input)?;
        let table = scaled.as_ref().or(table);
        locked.change(|settings, source| {
            if let Some(table) = table {
                *source = table.clone();
                settings.unit = unit;
                settings.order = Order::Drawn;
            }
            if let Some(seed) = self.seed {
                settings.seed = seed;
                settings.seedings = settings.seedings.wrapping_add(1);
            }
            settings.mode = mode;
            settings.enabled = self.enabled.unwrap_or(settings.enabled);
        });
        Ok(())
    }
}
