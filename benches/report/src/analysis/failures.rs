//! The things that went wrong, or are missing.

use std::collections::BTreeMap;

use jitterlab_base::show;
use jitterlab_experiment::level::{Level, LevelKind};
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use crate::analysis::application::correlation;
use crate::analysis::application::delays;
use crate::analysis::condition::Link;
use crate::analysis::load::{Load, Loads, SAME, asked_of};
use crate::analysis::packet::fits;
use crate::analysis::packet::latency::Latency;
use crate::analysis::results::{Results, subject};
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// The progress of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Schedule {
    /// Runs of it.
    pub runs: usize,
    /// Runs among them that are neither measured nor given up: they are done when the experiment goes on.
    pub left: usize,
}

/// A run that was tried and not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// Its name.
    pub run: String,
    /// The subject that it was to measure.
    pub subject: String,
    /// The level.
    pub level: Level,
    /// The number of times that it was tried.
    pub attempts: u32,
    /// True if it was tried as often as the experiment file says, and is not tried again.
    pub is_given_up: bool,
    /// Why the last attempt failed.
    pub reason: String,
}

/// The runs that failed. Each is tried again so many times.
pub fn failures(records: &[RunRecord], retries: u32) -> Vec<Failure> {
    records
        .iter()
        .filter(|record| record.outcome == Outcome::Failed)
        .map(|record| Failure {
            run: record.run.clone(),
            subject: subject(record),
            level: record.level,
            attempts: record.attempt,
            is_given_up: record.attempt > retries,
            reason: record
                .reason
                .clone()
                .unwrap_or_else(|| "no reason was recorded".into()),
        })
        .collect()
}

impl Row for Failure {
    const ID: &'static str = "failures";
    const TITLE: &'static str = "Runs that failed";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column("run", "Run", "its name", |row: &Failure| {
                Value::Text(row.run.clone())
            }),
            column(
                "subject",
                "Measured",
                "what it was to measure",
                |row: &Failure| Value::Text(row.subject.clone()),
            ),
            column("level", "Level", "its condition", |row: &Failure| {
                Value::Level(row.level)
            }),
            column(
                "attempts",
                "Attempts",
                "how often it was tried",
                |row: &Failure| Value::Count(row.attempts.into()),
            ),
            column(
                "given_up",
                "Given up?",
                "whether it was tried as often as the experiment file says; if not, it is tried again when the \
                 experiment goes on",
                |row: &Failure| Value::Text(if row.is_given_up { "yes" } else { "no" }.into()),
            ),
            column(
                "reason",
                "Reason",
                "why the last attempt failed",
                |row: &Failure| Value::Text(row.reason.clone()),
            ),
        ]
    }
}

/// The distance of the load produced from the load asked for, in percentage points, from which on
/// the report points at it.
const LOAD_TOLERANCE: f64 = 5.0;

/// The share of lost or late messages from which on the report points at them. They took longer than
/// was waited for, and the highest percentile that the report gives is the 99.9th: where more is
/// missing, it is not known.
const MISSING_TOLERANCE: f64 = 0.001;

/// The things that are missing or limited, and what follows for the reader.
pub fn gaps(
    results: &Results,
    failures: &[Failure],
    schedule: Schedule,
    done: &[&RunRecord],
    experiment: &Experiment,
) -> Vec<String> {
    let mut gaps = Vec::new();
    gaps.extend(not_done(failures, schedule));
    gaps.extend(given_up(failures));
    gaps.extend(shared_cpu(experiment));
    let mut links: Vec<&Link> = results
        .suites
        .packet
        .latency
        .iter()
        .map(|row| &row.link)
        .collect();
    links.dedup();
    for link in links {
        gaps.extend(gaps_over(results, link));
    }
    let packet = &results.suites.packet;
    gaps.extend(fits::poor(&packet.tables, &|percent| {
        packet.load_called(percent)
    }));
    gaps.extend(gaps_of_applications(results));
    gaps.extend(correlation::gaps(&results.suites.application.groups));
    gaps.extend(delays::gap(&results.suites.application.groups));
    let single = results
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| row.runs < 2)
        .count()
        + results
            .suites
            .application
            .runtimes
            .iter()
            .filter(|row| row.runs < 2)
            .count();
    if single > 0 {
        gaps.push(format!(
            "{} measured in a single run: it does not show what varies from run to run, \
             and no interval is given.",
            plural(single, "condition was", "conditions were")
        ));
    }
    gaps.extend(unestimated(results));
    gaps.extend(loads(&results.suites.packet.loads));
    gaps.extend(uneven(&results.suites.packet.loads, done));
    gaps.extend(missing(results));
    if done
        .iter()
        .any(|run| run.level.kind() == LevelKind::Injected)
        && results.injector.is_empty()
    {
        gaps.push(
            "No run says how many messages were delayed: whether anything was injected is not \
             known."
                .into(),
        );
    }
    gaps
}

/// Runs that are still to be done: the experiment was stopped.
fn not_done(failures: &[Failure], Schedule { runs, left }: Schedule) -> Option<String> {
    let again = failures.iter().filter(|run| !run.is_given_up).count();
    (left > 0).then(|| {
        format!(
            "{} of {} not done, and nothing of them stands below; `jitterlab run --resume` does them{}.",
            show::count(left as u64),
            plural(runs, "run was", "runs were"),
            match again {
                0 => String::new(),
                again => format!(
                    ", also {} of them that failed and may be tried again (under “Runs that failed”)",
                    show::count(again as u64)
                ),
            }
        )
    })
}

/// Runs that are not done, and will not be.
fn given_up(failures: &[Failure]) -> Option<String> {
    let given_up = failures.iter().filter(|run| run.is_given_up).count();
    (given_up > 0).then(|| {
        format!(
            "{} given up after all attempts, and nothing of them stands below; the reasons are listed under “Runs that \
             failed”.",
            plural(given_up, "run was", "runs were")
        )
    })
}

/// Hosts that stay on one CPU of one machine.
fn shared_cpu(experiment: &Experiment) -> Option<String> {
    // A host is a machine, by how it is reached, and a CPU there.
    let placed = experiment.hosts.iter();
    let placed = placed.filter_map(|(name, host)| Some((name, (host.at.target(), host.cpu?))));
    let placed: Vec<_> = placed.collect();
    let shared = placed.iter().find_map(|(_, place)| {
        let there = placed.iter().filter(|(_, other)| other == place);
        let names: Vec<String> = there.map(|&(name, _)| name.clone()).collect();
        (names.len() > 1).then_some((names, place.1))
    });
    shared.map(|(names, cpu)| {
        format!(
            "{} share CPU {cpu} of one machine. Messages wait for this CPU, and pass no link between machines.",
            words::list(&names)
        )
    })
}

fn gaps_over(results: &Results, link: &Link) -> Vec<String> {
    let levels: Vec<Level> = results
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| row.link == *link)
        .map(|row| row.level)
        .collect();
    let mut gaps = Vec::new();
    if !levels.contains(&Level::None) {
        gaps.push(format!(
            "There is no {link} without load: nothing can be said of the excess under \
             load."
        ));
    }
    let rows = results
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| row.link == *link);
    let loads = rows.filter_map(|row| row.load.as_ref());
    let asked: Vec<u8> = loads.flat_map(|load| load.asked.clone()).collect();
    let mut alone: Vec<u8> = levels
        .iter()
        .filter_map(|level| match *level {
            Level::Injected { percent, .. } if !asked.contains(&percent) => Some(percent),
            _ => None,
        })
        .collect();
    alone.dedup();
    if !alone.is_empty() {
        let percents: Vec<String> = alone.iter().map(|percent| format!("{percent} %")).collect();
        gaps.push(format!(
            "There is no {link} under load of {} to compare the injected delays with.",
            words::list(&percents)
        ));
    }
    gaps
}

fn gaps_of_applications(results: &Results) -> Vec<String> {
    if results.suites.application.runtimes.is_empty() {
        let suites = &results.suites;
        let ends = match () {
            () if !suites.library.operations.is_empty() => "operations of MPI",
            () if !suites.packet.latency.is_empty() || !suites.packet.places.is_empty() => {
                "the packet level"
            }
            () => "active messages",
        };
        return vec![format!(
            "No application was measured: the report ends at {ends}, and says nothing of runtimes."
        )];
    }
    let mut names: Vec<&str> = results
        .suites
        .application
        .runtimes
        .iter()
        .map(|row| row.application.as_str())
        .collect();
    names.dedup();
    names
        .into_iter()
        .filter(|name| {
            !results
                .suites
                .application
                .runtimes
                .iter()
                .any(|row| row.application == *name && row.level == Level::None)
        })
        .map(|name| {
            format!("There is no run of {name} without injection: its slowdown is not known.")
        })
        .collect()
}

/// Figures of repeated runs without an interval.
fn unestimated(results: &Results) -> Option<String> {
    let latency = results.suites.packet.latency.iter();
    let library = results.suites.library.operations.iter();
    let slowdowns = (results
        .suites
        .application
        .runtimes
        .iter()
        .filter_map(|row| row.slowdown))
    .chain(
        results
            .suites
            .application
            .fixed_mean
            .iter()
            .map(|row| row.slowdown),
    );
    let repeated = (latency.map(|row| (row.runs, vec![row.mean_ns, row.std_ns, row.median_ns])))
        .chain(library.map(|row| (row.runs, vec![row.mean_ns, row.std_ns, row.median_ns])))
        .chain(
            results
                .suites
                .application
                .runtimes
                .iter()
                .map(|row| (row.runs, vec![row.runtime_s])),
        )
        .chain(slowdowns.map(|slowdown| (slowdown.blocks, vec![slowdown.ratio])))
        .filter(|(runs, _)| *runs > 1)
        .flat_map(|(runs, figures)| figures.into_iter().map(move |figure| (runs, figure)));
    let repeated: Vec<(usize, Estimate)> = repeated.collect();
    let without = repeated.iter().filter(|(_, of)| of.interval().is_none());
    let without: Vec<usize> = without.map(|&(runs, _)| runs).collect();
    let least_and_most = without.iter().min().zip(without.iter().max());
    least_and_most.map(|(&least, &most)| {
        format!(
            "{} of {} have no interval. With {} their uncertainty exceeds a factor of 10.",
            show::count(without.len() as u64),
            show::counted(repeated.len(), "figure"),
            if least == most {
                show::counted(most, "run")
            } else {
                format!("{least} to {}", show::counted(most, "run"))
            }
        )
    })
}

/// Loads that were not what was asked for, and what the machine reaches.
fn loads(loads: &Loads) -> Option<String> {
    let told = |load: &Load| match load.produced.interval() {
        Some((low, high)) => format!("{:.0} % ({low:.0} to {high:.0})", load.produced.value),
        None => format!("{:.0} %", load.produced.value),
    };
    let is_off = |load: &&Load| load.is_joined() || !load.is_within(LOAD_TOLERANCE);
    let off = loads.iter().filter(is_off);
    let off: Vec<String> = off
        .map(|load| format!("asked {}, produced {}", load.asked(), told(load)))
        .collect();
    if off.is_empty() {
        return None;
    }
    let produced = |load: &&Load| load.produced.value;
    let highest = loads
        .iter()
        .max_by(|a, b| produced(a).total_cmp(&produced(b)))?;
    let reaches = match highest.falls_short_by(LOAD_TOLERANCE) {
        true => format!(" This machine reaches {}.", told(highest)),
        false => String::new(),
    };
    Some(format!(
        "The load produced was not the load asked for: {}.{reaches} The report names a load by what was produced. It joins loads \
         that came out equal. It names injected delays by both figures.",
        words::list(&off)
    ))
}

/// Loads that were not the same beside everything that was measured: what is measured takes bandwidth, too.
fn uneven(loads: &Loads, done: &[&RunRecord]) -> Vec<String> {
    let told = |load: &Load| {
        let mut beside: BTreeMap<String, Vec<&RunRecord>> = BTreeMap::new();
        let is_of = |run: &&&RunRecord| asked_of(run).is_some_and(|of| load.asked.contains(&of));
        for run in done.iter().filter(is_of) {
            beside.entry(subject(run)).or_default().push(run);
        }
        let produced = beside.iter();
        let produced = produced.filter_map(|(of, runs)| Some((of, Load::of(runs)?.produced.value)));
        let mut produced: Vec<(&String, f64)> = produced.collect();
        produced.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (least, most) = (produced.first()?, produced.last()?);
        (most.1 - least.1 > SAME).then(|| {
            format!(
                "The load that is called {load} was {:.0} % beside {} and {:.0} % beside {}: its name is the mean of all runs.",
                least.1, least.0, most.1, most.0
            )
        })
    };
    loads.iter().filter_map(told).collect()
}

/// Round trips that took too long to be there.
fn missing(results: &Results) -> Option<String> {
    let rows: Vec<&Latency> = results
        .suites
        .packet
        .latency
        .iter()
        .filter(|row| row.missing_share() > MISSING_TOLERANCE)
        .collect();
    let worst = rows
        .iter()
        .max_by(|a, b| a.missing_share().total_cmp(&b.missing_share()))?;
    Some(format!(
        "In {} more than {} of the messages were lost or answered too late, most in {}, {}: {} lost \
         and {} late beside {} round trips. They took longer than was waited for, if they came at all, \
         and are no samples: mean, standard deviation and high percentiles are too low there.",
        show::counted(rows.len(), "condition"),
        words::percent_of(MISSING_TOLERANCE),
        worst.link,
        results.suites.packet.level_called(worst.level),
        show::count(worst.lost),
        show::count(worst.reordered),
        show::count(worst.n as u64),
    ))
}

fn plural(n: usize, one: &str, many: &str) -> String {
    let noun = if n == 1 { one } else { many };
    format!("{} {noun}", show::count(n as u64))
}
