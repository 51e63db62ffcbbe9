//! The progress of an experiment, by what its folder holds: for whoever looks on.

use std::collections::BTreeMap;

use crate::enough::{begun, enough};
use crate::estimate::Estimate;
use crate::record::{Outcome, RunRecord};
use crate::schedule::{Run, schedule};
use crate::spec::Experiment;

/// The progress of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Runs of the schedule.
    pub runs: usize,
    /// Runs of the schedule that are left: neither measured, nor tried as often as the file says.
    pub left: usize,
    /// Runs that were tried and not measured; some of them may be tried again.
    pub failed: usize,
    /// The time that those that are left will take, in seconds, as far as is known.
    pub seconds_left: f64,
    /// The run that is the next one, or under way. `None` where no run is left, or where one that is left has
    /// failed: nobody can tell from the folder whether it is tried again, or would fail again and is passed over.
    pub next: Option<String>,
}

impl Standing {
    /// The standing after all attempts that have ended.
    pub fn of(experiment: &Experiment, attempts: &[RunRecord]) -> Self {
        let mut tried: BTreeMap<&str, (u32, bool)> = BTreeMap::new();
        let mut estimate = Estimate::new();
        for attempt in attempts {
            estimate.learn(attempt);
            let (times, done) = tried.entry(&attempt.run).or_default();
            *times += 1;
            *done |= attempt.outcome == Outcome::Done;
        }
        let tried = |run: &Run| tried.get(run.id().as_str()).copied().unwrap_or_default();
        let blocks = enough(experiment, attempts).map_or(0, |enough| enough.repetitions);
        let runs = schedule(experiment, blocks.max(begun(experiment, attempts)));
        let is_left = |run: &&Run| {
            let (times, done) = tried(run);
            !done && times <= experiment.retries
        };
        let left: Vec<&Run> = runs.iter().filter(is_left).collect();
        let failed = |run: &Run| matches!(tried(run), (1.., false));
        let next = match left.first() {
            Some(run) if !left.iter().any(|run| failed(run)) => Some(run.id()),
            _ => None,
        };
        Standing {
            runs: runs.len(),
            left: left.len(),
            failed: runs.iter().filter(|run| failed(run)).count(),
            seconds_left: estimate.seconds(left.iter().copied()),
            next,
        }
    }

    /// Runs that are behind it: measured, or failed as often as they are tried.
    pub fn finished(&self) -> usize {
        self.runs - self.left
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = "
name: t
seed: 1
repetitions: 3
retries: 1
hosts: { a: { at: local } }
suites:
  application:
    - { name: x, client: { on: a, command: [sleep, '1'] } }
";

    fn attempt(run: &str, outcome: &str) -> RunRecord {
        let line = format!(
            r#"{{"version":9,"run":"{run}","phase":"characterise","block":1,"repetition":1,"attempt":1,"suite":"application",
            "case":"x","transport":null,"level":{{"kind":"none"}},"outcome":"{outcome}","reason":null,"started":"","seconds":4.0,
            "samples":null,"n":null,"result":null,"load":null,"injection":null}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn what_is_left_follows_from_what_was_tried() {
        let experiment = Experiment::parse(FILE, Path::new("t.yaml")).unwrap();
        let of = |attempts: &[(&str, &str)]| {
            let records: Vec<RunRecord> = attempts.iter().map(|(r, o)| attempt(r, o)).collect();
            let it = Standing::of(&experiment, &records);
            let next = it.next.clone().unwrap_or_default();
            (it.finished(), it.failed, it.seconds_left.round(), next)
        };
        let [first, second, third] = ["r1", "r2", "r3"].map(|r| format!("application-x.none.{r}"));
        let (first, second, third) = (first.as_str(), second.as_str(), third.as_str());
        assert_eq!(of(&[]), (0, 0, 4.0, first.into()));
        assert_eq!(of(&[(first, "done")]), (1, 0, 8.0, second.into()));
        // It is tried again, or not: nobody can tell which run is under way.
        let failed = [(first, "done"), (second, "failed")];
        assert_eq!(of(&failed), (1, 1, 8.0, String::new()));
        let twice = [failed[0], failed[1], failed[1]];
        assert_eq!(of(&twice), (2, 1, 4.0, third.into()));
        let all = [failed[0], failed[1], (second, "done"), (third, "done")];
        assert_eq!(of(&all), (3, 0, 0.0, String::new()));
    }
}
