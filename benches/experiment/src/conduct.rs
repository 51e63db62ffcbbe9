//! Conducting an experiment: run after run, each recorded before the next.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use jitterlab_injector::seed;
use jitterlab_stats::summary;
use thiserror::Error;

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::fit::{self, Fit, FittedMember};
use crate::hosts::Hosts;
use crate::level::Level;
use crate::perform::{Bench, Measured};
use crate::record::{Outcome, Phase, RunRecord, SuiteKind};
use crate::schedule::{Run, schedule};
use crate::spec::{Experiment, characterised};
use crate::store::{Recorder, StoreError};

/// An experiment that cannot begin, or go on.
#[derive(Debug, Error)]
pub enum ConductError {
    /// A host does not serve.
    #[error("{0}")]
    Host(String),
    /// The bandwidth cannot be measured.
    #[error("cannot measure the bandwidth that loads are shares of: {0}")]
    Bandwidth(String),
    /// Results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What happens, for whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// It begins, or goes on.
    Begins {
        /// Runs of the schedule.
        runs: usize,
        /// Of these, runs that were finished before.
        finished: usize,
        /// What is measured on.
        environment: &'a Environment,
        /// How long it will take as far as is known, in seconds.
        seconds_left: f64,
    },
    /// An attempt at a run begins.
    RunBegins {
        /// Its name.
        run: &'a str,
    },
    /// An attempt at a run has ended and is recorded.
    RunEnded {
        /// What was recorded.
        record: &'a RunRecord,
        /// Its samples in nanoseconds, if it has any.
        samples: &'a [f64],
        /// Runs that are finished.
        finished: usize,
        /// How long the rest will take, in seconds.
        seconds_left: f64,
    },
    /// Distributions were fitted.
    Fitted {
        /// To what, and which.
        fits: &'a [Fit],
    },
}

/// What has become of the runs of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Runs that were measured.
    pub done: usize,
    /// Runs that failed as often as they were tried.
    pub failed: usize,
}

/// Does what remains of an experiment. `own` is the program that runs this: its workers are started
/// from it.
///
/// # Errors
/// A host cannot be reached at the beginning, or results cannot be kept. A run that fails is no
/// error: it is recorded, tried again, and then left.
pub fn conduct(
    recorder: &mut Recorder,
    own: PathBuf,
    watch: &mut dyn FnMut(Event),
) -> Result<Tally, ConductError> {
    let experiment = recorder.folder().experiment().clone();
    let runs = schedule(&experiment);
    let attempts = experiment.retries + 1;
    let finished = |recorder: &Recorder, run: &Run| {
        let (tried, done) = recorder.tried(&run.id());
        done || tried >= attempts
    };
    let mut left: Vec<&Run> = runs.iter().filter(|run| !finished(recorder, run)).collect();
    if left.is_empty() {
        // Nobody has to be there for nothing.
        return Ok(tally(recorder, &runs));
    }
    let mut bench = Bench {
        experiment: &experiment,
        hosts: Hosts::new(&experiment, own),
        bandwidth: None,
        tables: BTreeMap::new(),
    };
    let environment = prepare(&mut bench, recorder)?;
    let mut estimate = Estimate::new();
    for attempt in recorder.folder().attempts() {
        estimate.learn(attempt);
    }
    watch(Event::Begins {
        runs: runs.len(),
        finished: runs.len() - left.len(),
        environment: &environment,
        seconds_left: estimate.seconds(&left),
    });
    left.reverse();
    let mut fitted = false;
    while let Some(run) = left.pop() {
        if run.phase == Phase::Inject && !fitted {
            fitted = true;
            let fits = prepare_tables(&mut bench, recorder)?;
            watch(Event::Fitted { fits: &fits });
        }
        while !finished(recorder, run) {
            watch(Event::RunBegins { run: &run.id() });
            let (record, samples) = attempt(&mut bench, recorder, run)?;
            estimate.learn(&record);
            recorder.record(record.clone())?;
            watch(Event::RunEnded {
                record: &record,
                samples: &samples,
                finished: runs.len() - left.len() - usize::from(!finished(recorder, run)),
                seconds_left: estimate.seconds(&left),
            });
        }
    }
    Ok(tally(recorder, &runs))
}

fn tally(recorder: &Recorder, runs: &[Run]) -> Tally {
    let done = runs.iter().filter(|run| recorder.tried(&run.id()).1);
    let done = done.count();
    Tally {
        done,
        failed: runs.len() - done,
    }
}

/// Starts every host's worker, and measures what all runs share. What was measured before the
/// experiment was stopped stays as it was.
fn prepare(bench: &mut Bench, recorder: &Recorder) -> Result<Environment, ConductError> {
    let experiment = bench.experiment;
    let mut hosts = BTreeMap::new();
    for (name, host) in &experiment.hosts {
        let worker = bench.hosts.worker(name).map_err(ConductError::Host)?;
        worker.try_cpu(host.cpu).map_err(ConductError::Host)?;
        hosts.insert(name.clone(), worker.node().clone());
    }
    match recorder.folder().environment() {
        Ok(environment) => {
            bench.bandwidth = environment.bandwidth;
            return Ok(environment);
        }
        Err(StoreError::System { source, .. })
            if source.kind() == ErrorKind::NotFound && recorder.folder().attempts().is_empty() => {}
        // Another bandwidth would give another meaning to the loads of runs that are done.
        Err(error) => return Err(error.into()),
    }
    if let Some(load) = &experiment.load {
        let bandwidth = match load.bandwidth {
            Some(bandwidth) => bandwidth.0 as f64,
            None => bench
                .measure_bandwidth(load)
                .map_err(ConductError::Bandwidth)?,
        };
        bench.bandwidth = Some(bandwidth);
    }
    let environment = Environment {
        jitterlab: env!("CARGO_PKG_VERSION").into(),
        started: now(),
        bandwidth: bench.bandwidth,
        hosts,
    };
    recorder.store_environment(&environment)?;
    Ok(environment)
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// One attempt at a run: what is to be recorded of it, and its samples, which are stored.
fn attempt<'a>(
    bench: &mut Bench<'a>,
    recorder: &Recorder,
    run: &Run<'a>,
) -> Result<(RunRecord, Vec<f64>), StoreError> {
    let id = run.id();
    let started = now();
    let clock = Instant::now();
    let outcome = bench.perform(run);
    if outcome.is_err() {
        // Whatever it has left running goes with its workers.
        bench.hosts.end();
    }
    let seconds = clock.elapsed().as_secs_f64();
    let (reason, measured) = match outcome {
        Ok(measured) => (None, measured),
        Err(reason) => (Some(reason), Measured::default()),
    };
    let samples = measured.samples.as_deref();
    let samples = samples
        .map(|parquet| recorder.store_samples(&id, parquet))
        .transpose()?;
    let n = measured.packet.as_ref();
    let mut record = RunRecord {
        phase: run.phase,
        block: run.block,
        repetition: run.block,
        attempt: recorder.tried(&id).0 + 1,
        suite: run.work.suite(),
        case: run.work.case().into(),
        transport: run.work.transport(),
        level: run.level,
        outcome: match reason {
            None => Outcome::Done,
            Some(_) => Outcome::Failed,
        },
        reason,
        started,
        seconds,
        samples,
        n: n.and_then(|packet| packet["rtt_ns"]["n"].as_u64()),
        packet: measured.packet,
        load: measured.load,
        injection: measured.injection,
        application: measured.application,
        run: id,
    };
    // Read back: what a worker sent may be no samples, and that is a run that failed.
    let samples = match recorder.folder().samples(&record) {
        Err(StoreError::Samples(error)) => {
            record.outcome = Outcome::Failed;
            record.reason = Some(format!("its samples cannot be used: {error}"));
            record.samples = None;
            Vec::new()
        }
        other => other?,
    };
    Ok((record, samples))
}

/// Makes the tables, or takes those that were made before the experiment was stopped.
fn prepare_tables(bench: &mut Bench, recorder: &Recorder) -> Result<Vec<Fit>, ConductError> {
    let mut fits = recorder.folder().fits()?;
    if fits.is_empty() {
        fits = make_tables(bench.experiment, recorder)?;
    }
    for fit in &fits {
        for member in &fit.members {
            let text = recorder.folder().table(member)?;
            bench.tables.insert((fit.percent, member.shape), text);
        }
    }
    Ok(fits)
}

fn make_tables(experiment: &Experiment, recorder: &Recorder) -> Result<Vec<Fit>, StoreError> {
    let Some((injected, (_, case))) = experiment
        .levels
        .injected
        .as_ref()
        .zip(characterised(experiment))
    else {
        return Ok(Vec::new());
    };
    let samples_at = |level: Level| -> Result<Vec<f64>, StoreError> {
        let mut all = Vec::new();
        for record in recorder.folder().records() {
            if record.suite == SuiteKind::Packet
                && record.case == case.name()
                && record.transport == Some(injected.transport)
                && record.level == level
            {
                all.extend(recorder.folder().samples(record)?);
            }
        }
        Ok(all)
    };
    let mut fits = Vec::new();
    let mut baseline = samples_at(Level::None)?;
    baseline.sort_unstable_by(f64::total_cmp);
    if baseline.is_empty() {
        return Ok(fits);
    }
    let median = summary::quantile(&baseline, 0.5);
    for &percent in &injected.percent {
        let excess = fit::excess(&samples_at(Level::Load { percent })?, median);
        // What cannot be fitted has no tables, and the runs that need them fail and say so.
        let table_seed = seed::stream(experiment.seed, 0, u64::from(percent));
        let (Ok((mean, std)), Ok(fitted)) = (
            fit::injectable_moments(&excess),
            fit::tables(&excess, &injected.shapes, table_seed),
        ) else {
            continue;
        };
        let members = fitted.iter().map(|fitted| {
            let name = format!("{}-{percent}-{}", injected.transport, fitted.shape.name());
            Ok(FittedMember {
                shape: fitted.shape,
                distribution: fitted.distribution,
                mean_ns: fitted.table.mean(),
                std_ns: fitted.table.std(),
                table: recorder.store_table(&name, &fitted.table.to_text())?,
            })
        });
        fits.push(Fit {
            transport: injected.transport,
            percent,
            n: excess.len() as u64,
            baseline_median_ns: median,
            excess_mean_ns: mean,
            excess_std_ns: std,
            members: members.collect::<Result<_, StoreError>>()?,
        });
    }
    recorder.store_fits(&fits)?;
    Ok(fits)
}

/// How long a schedule takes, in seconds, as far as its file tells.
pub fn duration(runs: &[Run]) -> f64 {
    Estimate::new().seconds(&runs.iter().collect::<Vec<_>>())
}
