//! The runs of applications, by application and level.

use jitterlab_base::named;
use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::{Application, RunRecord, SuiteKind};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::suites::application::RuntimeUnit;
use serde::Serialize;

use crate::analysis::injected::moments_ns;
use crate::analysis::packet::fits::Injected;
use crate::analysis::packet::made::MadeTable;
use crate::analysis::repeated::Repeated;
use crate::analysis::slowdown::Slowdown;

/// The thing that the time of an application is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timed {
    /// The program, or the part of it that it times.
    Program,
    /// A unit of its work: one over the rate that it printed.
    Unit,
}

impl Timed {
    /// The thing that is timed in an application of the experiment.
    fn of(application: &str, experiment: &Experiment) -> Self {
        let mut cases = experiment.suites.application.iter();
        let case = cases.find(|case| case.name == application);
        match case.and_then(|case| case.runtime.as_ref()) {
            Some(runtime) if runtime.unit == RuntimeUnit::PerSecond => Timed::Unit,
            _ => Timed::Program,
        }
    }
}

named!(Timed, Program => "runtime", Unit => "time of a unit of work");

/// The runs of one application at one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name.
    pub application: String,
    /// The level.
    pub level: Level,
    /// The thing that its times are of.
    pub timed: Timed,
    /// The runtime of each run, in seconds.
    pub runtimes: Repeated,
    /// The time that the program of each run ran, in seconds.
    pub program_s: Repeated,
    /// Mean and standard deviation of the delays injected, in nanoseconds: those of the table.
    pub injected: Option<(f64, f64)>,
    /// The number of delays of each run, all processes together.
    pub delayed: Repeated,
    /// Their total in each run, in seconds.
    pub delay_s: Repeated,
    /// The one of the NAS Parallel Benchmarks that it is, if one: `lu`.
    pub kernel: Option<String>,
}

impl Group {
    fn new(record: &RunRecord, injected: Option<(f64, f64)>, experiment: &Experiment) -> Self {
        Group {
            application: record.case.clone(),
            level: record.level,
            timed: Timed::of(&record.case, experiment),
            runtimes: Repeated::default(),
            program_s: Repeated::default(),
            injected,
            delayed: Repeated::default(),
            delay_s: Repeated::default(),
            kernel: kernel(record),
        }
    }

    fn add(&mut self, record: &RunRecord, figure: &Application) {
        self.runtimes.add(record.block, figure.runtime_s);
        self.program_s.add(record.block, figure.program_s);
        if let Some(injection) = record.injection {
            let delayed = injection.delayed as f64;
            self.delayed.add(record.block, delayed);
            self.delay_s
                .add(record.block, delayed * injection.asked_mean_ns / 1e9);
        }
    }

    /// Its runtimes in proportion to those of another level.
    pub fn against(&self, base: &Group) -> Option<Slowdown> {
        Slowdown::of(&self.runtimes, &base.runtimes)
    }
}

/// All applications' runs by level: applications by name, levels in their order.
pub fn groups(
    records: &[&RunRecord],
    tables: &[Injected],
    made: &[MadeTable],
    experiment: &Experiment,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let runs = records
        .iter()
        .filter(|record| record.suite == SuiteKind::Application);
    for record in runs {
        let Some(figure) = record
            .result
            .as_ref()
            .and_then(|result| result.application())
        else {
            continue;
        };
        let known = groups
            .iter()
            .position(|group| group.application == record.case && group.level == record.level);
        let place = known.unwrap_or_else(|| {
            let injected = moments_ns(record.level, tables, made);
            groups.push(Group::new(record, injected, experiment));
            groups.len() - 1
        });
        groups[place].add(record, figure);
    }
    groups.sort_by(|a, b| (&a.application, a.level).cmp(&(&b.application, b.level)));
    groups
}

fn kernel(record: &RunRecord) -> Option<String> {
    Some(
        record
            .result
            .as_ref()?
            .application()?
            .npb
            .as_ref()?
            .kernel
            .to_string(),
    )
}

/// The words around a program's rate, if its time is for a unit of its work: `GET: … requests per
/// second`.
pub fn printed(application: &str, experiment: &Experiment) -> Option<String> {
    let mut cases = experiment.suites.application.iter();
    let case = cases.find(|case| case.name == application)?;
    let runtime = case.runtime.as_ref()?;
    let pattern = (runtime.unit == RuntimeUnit::PerSecond).then_some(&runtime.pattern)?;
    let pattern = pattern.as_str();
    let number = pattern.find('(')?..pattern.rfind(')')? + 1;
    let mut printed = pattern.to_string();
    printed.replace_range(number, "…");
    Some(printed)
}

/// The names of the applications, each once.
pub fn names(groups: &[Group]) -> Vec<&str> {
    let mut names: Vec<&str> = groups
        .iter()
        .map(|group| group.application.as_str())
        .collect();
    names.dedup();
    names
}
