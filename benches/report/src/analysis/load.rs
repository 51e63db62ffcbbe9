//! Background load by what was produced, which may be less than what was asked.

use std::fmt;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::RunRecord;
use serde::Serialize;

use crate::analysis::repeated::{Repeated, mean_of};
use crate::table::Estimate;
use crate::words;

/// Loads that came to the same within so many percent of the bandwidth are one, if they were asked to be further apart.
const SAME: f64 = 5.0;

/// A background load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// What was asked for, in percent of the bandwidth; several where all came to the same.
    pub asked: Vec<u8>,
    /// What was produced, in percent of the bandwidth: mean over runs, with its interval.
    pub produced: Estimate,
}

impl Load {
    /// Of these runs; `None` if none of them was under load.
    pub fn of(runs: &[&RunRecord]) -> Option<Self> {
        let (mut asked, mut produced) = (Vec::new(), Repeated::default());
        for run in runs {
            if let (Level::Load { percent }, Some(load)) = (run.level, &run.load) {
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

    /// What was asked for, in words: `60 and 80 %`.
    pub fn asked(&self) -> String {
        let asked: Vec<String> = self.asked.iter().map(u8::to_string).collect();
        format!("{} %", words::list(&asked))
    }

    /// Whether it is, in whole percent, what was asked for.
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

/// The loads asked for over one link, in ascending order, those together that came to the same.
pub fn merged(runs: &[&RunRecord]) -> Vec<Vec<u8>> {
    let mut asked: Vec<u8> = runs.iter().filter_map(|run| percent(run)).collect();
    asked.sort_unstable();
    asked.dedup();
    let produced = |of: u8| {
        let runs = runs.iter().filter(|run| percent(run) == Some(of));
        mean_of(runs.filter_map(|run| Some(run.load.as_ref()?.produced_level)))
    };
    let mut groups: Vec<(Option<f64>, Vec<u8>)> = Vec::new();
    for of in asked {
        let produced = produced(of);
        match groups.last_mut() {
            Some((first, group)) if is_same(*first, produced) => group.push(of),
            _ => groups.push((produced, vec![of])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn percent(run: &RunRecord) -> Option<u8> {
    match run.level {
        Level::Load { percent } => Some(percent),
        _ => None,
    }
}

fn is_same(first: Option<f64>, second: Option<f64>) -> bool {
    let both = first.zip(second);
    both.is_some_and(|(first, second)| (second - first).abs() <= SAME)
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
