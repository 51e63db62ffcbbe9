//! The total delay of an application's runs, and how much of it shows in its runtime.
//!
//! A run draws only a part of a table: the sum of n delays has the standard deviation σ √n. If the tail is heavy, that
//! is a large part of its mean n μ. If delays follow each other, the runtime is that of the sum, however it is divided.
//! Variation costs something of its own only where ranks wait for the slowest of several.

use jitterlab_experiment::level::Level;
use serde::Serialize;

use crate::analysis::application::groups::Group;
use crate::analysis::repeated::Repeated;
use crate::table::Estimate;
use crate::words;

/// The delays of an application's runs at one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Delays of a run, all ranks together, mean over runs.
    pub delays: f64,
    /// Their total in a run, in seconds, mean over runs.
    pub sum_s: Estimate,
    /// That total in proportion to how long the program ran without injection.
    pub share_of_program: f64,
    /// Standard deviation that the sum of a run's delays has by chance, in proportion to its mean.
    pub spread: f64,
    /// The part of the sum that shows in how long the program ran: 1 where each delay of each rank makes the run longer by
    /// itself, one over the number of ranks where all ranks are always delayed at the same time, 0 where delays take
    /// nothing but time that would be waited anyway. Of each run.
    #[serde(skip)]
    pub shown: Repeated,
}

impl Cost {
    /// The cost of injected delays, from runs with them beside those of the same blocks without; `None` if nothing
    /// was delayed. A sum of delays is compared with how long the program ran: a runtime may be of a unit of work.
    pub fn of(none: &Group, injected: &Group) -> Option<Self> {
        let (mean_ns, std_ns) = injected.injected?;
        let delays = injected.delayed.mean().value;
        if !(delays > 0.0 && mean_ns > 0.0) {
            return None;
        }
        let sum_s = injected.delay_s.mean();
        Some(Cost {
            delays,
            sum_s,
            share_of_program: sum_s.value / none.program_s.mean().value,
            spread: std_ns / mean_ns / delays.sqrt(),
            shown: injected.program_s.with(
                [&none.program_s, &injected.delay_s],
                |seconds, [without, sum]| (sum > 0.0).then(|| (seconds - without) / sum),
            ),
        })
    }

    /// [`Cost::shown`] over all runs; without an interval where that reaches further to either side than from nothing to
    /// all: so few runs do not tell it.
    pub fn shown(&self) -> Option<Estimate> {
        let shown = (self.shown.runs() > 0).then(|| self.shown.mean())?;
        let is_told = |(low, high): (f64, f64)| high - low <= 2.0;
        Some(match shown.interval().is_some_and(is_told) {
            true => shown,
            false => Estimate::alone(shown.value),
        })
    }
}

/// The distance of a run's sum of delays from the table's that chance alone explains before the report points at it.
const SPREAD_TOLERANCE: f64 = 0.1;

/// Applications whose runs have too few delays for their total to be near that of the table.
pub fn gap(groups: &[Group]) -> Option<String> {
    let costs = groups.iter().filter_map(|group| {
        let mut of_application = groups
            .iter()
            .filter(|of| of.application == group.application);
        let none = of_application.find(|of| of.level == Level::None)?;
        let cost = Cost::of(none, group)?;
        (cost.spread > SPREAD_TOLERANCE).then_some((group, cost))
    });
    let mut worst: Vec<(&Group, Cost)> = Vec::new();
    for (group, cost) in costs {
        match worst
            .iter_mut()
            .find(|(of, _)| of.application == group.application)
        {
            Some(known) if known.1.spread < cost.spread => *known = (group, cost),
            Some(_) => {}
            None => worst.push((group, cost)),
        }
    }
    let told: Vec<String> = worst
        .iter()
        .map(|(group, cost)| {
            format!(
                "a run of {} varies by {} (standard deviation) by chance",
                group.application,
                words::percent_of(cost.spread)
            )
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "The total delay of {}. The report therefore compares means over all runs.",
            words::list(&told)
        )
    })
}

#[cfg(test)]
mod tests {
    use jitterlab_experiment::level::Member;

    use super::*;
    use crate::analysis::application::groups::Timed;

    fn group(level: Level, runtimes: &[f64], delay_s: &[f64]) -> Group {
        let repeated = |figures: &[f64]| {
            let mut made = Repeated::default();
            (1..)
                .zip(figures)
                .for_each(|(block, &figure)| made.add(block, figure));
            made
        };
        Group {
            application: "lu".into(),
            level,
            timed: Timed::Program,
            runtimes: repeated(runtimes),
            program_s: repeated(runtimes),
            injected: (level != Level::None).then_some((10_000.0, 40_000.0)),
            delayed: repeated(&vec![400.0; delay_s.len()]),
            delay_s: repeated(delay_s),
            kernel: None,
        }
    }

    #[test]
    fn a_sum_spreads_by_the_root_of_its_number_and_half_of_it_shows() {
        let none = group(Level::None, &[1.0, 2.0, 3.0], &[]);
        let level = Level::Injected {
            percent: 70,
            shape: Member::Lognormal,
        };
        let injected = group(level, &[1.004, 2.006, 3.0], &[0.008, 0.012, 0.0]);
        let cost = Cost::of(&none, &injected).unwrap();
        // 40 us / 10 us / sqrt(400).
        assert!((cost.spread - 0.2).abs() < 1e-12, "{cost:?}");
        assert!((cost.shown().unwrap().value - 0.5).abs() < 1e-6, "{cost:?}");
        // Nothing was drawn in block 3.
        assert_eq!(cost.shown.runs(), 2);
        assert!(
            (cost.share_of_program - 0.02 / 3.0 / 2.0).abs() < 1e-12,
            "{cost:?}"
        );
        let few = group(level, &[1.04, 2.001], &[0.008, 0.012]);
        let shown = Cost::of(&none, &few).unwrap().shown().unwrap();
        assert_eq!((shown.interval(), shown.value > 2.0), (None, true));
        assert_eq!(Cost::of(&none, &none), None);
        let said = gap(&[none, injected]).unwrap();
        assert!(
            said.contains(
                "The total delay of a run of lu varies by 20 % (standard deviation) by chance."
            ),
            "{said}"
        );
    }
}
