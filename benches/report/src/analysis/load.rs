//! Background load by what was produced, which may be less than what was asked.

use std::borrow::Cow;
use std::fmt;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use serde::Serialize;

use crate::analysis::repeated::Repeated;
use crate::table::Estimate;
use crate::words;

/// Loads that came to the same within so many percent of the bandwidth are one.
pub const SAME: f64 = 5.0;

/// A background load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// The levels that were asked for, in percent of the bandwidth; several where all came to the same.
    pub asked: Vec<u8>,
    /// The level that was produced, in percent of the bandwidth: mean over runs, with its interval.
    pub produced: Estimate,
}

impl Load {
    /// The load of these runs; `None` if none of them was under load.
    pub fn of(runs: &[&RunRecord]) -> Option<Self> {
        let (mut asked, mut produced) = (Vec::new(), Repeated::default());
        for run in runs {
            if let (Some(percent), Some(load)) = (asked_of(run), &run.load) {
                asked.push(percent);
                produced.add(run.block, load.produced_level);
            }
        }
        asked.sort_unstable();
        asked.dedup();
        (!asked.is_empty()).then(|| Load {
            asked,
            produced: produced.mean().positive(),
        })
    }

    /// The levels that were asked for, in words: `60 and 80 %`.
    pub fn asked(&self) -> String {
        let asked: Vec<String> = self.asked.iter().map(u8::to_string).collect();
        format!("{} %", words::list(&asked))
    }

    /// True if another load came to the same. Loads that were asked to be close together did only if they came out closer still.
    fn is_same(&self, other: &Load) -> bool {
        let produced = (self.produced.value - other.produced.value).abs();
        let asked = |load: &Load| load.asked.first().copied().map_or(0.0, f64::from);
        produced <= SAME && produced < (asked(self) - asked(other)).abs() / 2.0
    }

    /// True if several loads that were asked for are this one.
    pub fn is_joined(&self) -> bool {
        self.asked.len() > 1
    }

    /// True if it is within so many percent of the bandwidth of all that was asked for.
    pub fn is_within(&self, tolerance: f64) -> bool {
        let mut asked = self.asked.iter();
        asked.all(|&of| (self.produced.value - f64::from(of)).abs() <= tolerance)
    }

    /// True if more was asked for than was produced, by over so many percent of the bandwidth.
    pub fn falls_short_by(&self, tolerance: f64) -> bool {
        let highest = self.asked.last();
        highest.is_some_and(|&of| f64::from(of) - self.produced.value > tolerance)
    }

    /// True if it is, in whole percent, what was asked for.
    pub fn is_as_asked(&self) -> bool {
        let [asked] = self.asked[..] else {
            return false;
        };
        self.produced.value.round() == f64::from(asked)
    }

    /// The same as `Display`, with the interval of what was produced: `load 47 % (46.2 to 47.9; asked 60 and 80 %)`.
    pub fn with_interval(&self) -> String {
        let interval = self.produced.interval();
        let interval =
            interval.map(|(low, high)| format!("{} to {}", words::short(low), words::short(high)));
        let asked = (!self.is_as_asked()).then(|| format!("asked {}", self.asked()));
        let brackets: Vec<String> = interval.into_iter().chain(asked).collect();
        let name = format!("load {:.0} %", self.produced.value);
        match brackets.as_slice() {
            [] => name,
            _ => format!("{name} ({})", brackets.join("; ")),
        }
    }
}

/// `load 60 %`; where something else was asked for, `load 47 % (asked 60 and 80 %)`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "load {:.0} %", self.produced.value)?;
        if self.is_as_asked() {
            return Ok(());
        }
        write!(f, " (asked {})", self.asked())
    }
}

/// The loads of an experiment, by all runs under load; those that came to the same are one.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Loads(Vec<Load>);

impl Loads {
    /// The loads of these runs, in ascending order of what was asked for.
    pub fn of(runs: &[&RunRecord]) -> Self {
        let mut asked: Vec<u8> = runs.iter().filter_map(|run| asked_of(run)).collect();
        asked.sort_unstable();
        asked.dedup();
        let of_any = |asked: &[u8]| {
            let runs = runs.iter().copied();
            let runs = runs.filter(|run| asked_of(run).is_some_and(|of| asked.contains(&of)));
            Load::of(&runs.collect::<Vec<_>>())
        };
        // The first of those that are one decides which others are.
        let mut groups: Vec<(Load, Vec<u8>)> = Vec::new();
        for load in asked.iter().filter_map(|&of| of_any(&[of])) {
            match groups.last_mut() {
                Some((first, group)) if first.is_same(&load) => group.extend(load.asked),
                _ => groups.push((load.clone(), load.asked)),
            }
        }
        let loads = groups.iter().filter_map(|(_, asked)| of_any(asked));
        Loads(loads.collect())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Load> {
        self.0.iter()
    }

    /// The load that was produced where this was asked for.
    pub fn asked(&self, percent: u8) -> Option<&Load> {
        self.0.iter().find(|load| load.asked.contains(&percent))
    }

    /// A run at the level of its condition: of loads that are one, that is the highest asked for.
    pub fn joined<'a>(&self, run: &'a RunRecord) -> Cow<'a, RunRecord> {
        let asked = asked_of(run);
        let load = asked.and_then(|percent| self.asked(percent));
        let highest = load.and_then(|load| load.asked.last().copied());
        match highest {
            Some(percent) if highest != asked => Cow::Owned(RunRecord {
                level: Level::Load { percent },
                ..run.clone()
            }),
            _ => Cow::Borrowed(run),
        }
    }
}

/// The load that a run was measured under, as it was asked for.
pub fn asked_of(run: &RunRecord) -> Option<u8> {
    match (run.level, &run.load) {
        (Level::Load { .. }, Some(load)) => Some(load.level.round() as u8),
        (Level::Load { percent }, None) => Some(percent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_named_by_what_was_produced_and_its_interval() {
        let load = |asked: &[u8], low: Option<f64>| Load {
            asked: asked.into(),
            produced: low.map_or(Estimate::alone(47.04), |low| {
                Estimate::within(47.04, (low, 47.9))
            }),
        };
        for (load, short, long) in [
            (load(&[47], None), "load 47 %", "load 47 %"),
            (
                load(&[47], Some(46.2)),
                "load 47 %",
                "load 47 % (46.2 to 47.9)",
            ),
            (
                load(&[60], None),
                "load 47 % (asked 60 %)",
                "load 47 % (asked 60 %)",
            ),
            (
                load(&[60, 80], Some(46.2)),
                "load 47 % (asked 60 and 80 %)",
                "load 47 % (46.2 to 47.9; asked 60 and 80 %)",
            ),
        ] {
            assert_eq!(
                (load.to_string().as_str(), load.with_interval().as_str()),
                (short, long)
            );
        }
    }
}
