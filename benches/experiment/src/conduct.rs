//! Conducting an experiment: run after run, each recorded before the next.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::{Instant, SystemTime};

use jitterlab_cluster::{OWN_VERSION, Unfit};
use jitterlab_injector::family::Member;
use jitterlab_live::Total;
use thiserror::Error;

use crate::background;
use crate::command::Failed;
use crate::enough::{Enough, begun, enough};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::fit::{Fit, instead};
use crate::hosts::Hosts;
use crate::live::{self, Board, Now, Stage};
use crate::pause;
use crate::perform::{Bench, Performed};
use crate::record::{Outcome, Phase, RunRecord};
use crate::schedule::{Run, schedule};
use crate::spec::{Experiment, LostHost, Repetitions};
use crate::store::{Recorder, StoreError};
use crate::tables::{self, GivenError};

/// An experiment that cannot begin, or go on.
#[derive(Debug, Error)]
pub enum ConductError {
    /// A host does not serve.
    #[error(transparent)]
    Host(#[from] Unfit),
    /// A host is not there any more, and the experiment does not go on without it.
    #[error("host {host} is lost: {reason}")]
    Lost {
        /// Its name.
        host: String,
        /// Why it cannot be reached.
        reason: String,
    },
    /// The bandwidth cannot be measured.
    #[error("cannot measure the bandwidth: {0}. Load levels are percentages of the bandwidth")]
    Bandwidth(String),
    /// Tables that claim to imitate a load do not.
    #[error(
        "{}. Set `shapes: [{instead}]`, which {}, or `accept_poor_fit: true` under `injected:`, which injects these all the same",
        poor.join("; "),
        match instead {
            Member::Replay => "injects the excess itself: no table of 4,096 delays has a tail as heavy",
            _ => "imitates nearly any load",
        }
    )]
    PoorFit {
        /// Each table, and how far it is from the excess.
        poor: Vec<String>,
        /// The shape that does imitate.
        instead: Member,
    },
    /// Delays that the file asks for cannot be made.
    #[error(transparent)]
    Given(#[from] GivenError),
    /// Results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An event, for whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// It begins, or goes on.
    Begins {
        /// Runs of the schedule.
        runs: usize,
        /// Runs of the schedule that were finished before.
        finished: usize,
        /// The environment of the measurement.
        environment: &'a Environment,
        /// The time that it will take as far as is known, in seconds.
        seconds_left: f64,
    },
    /// An attempt at a run begins.
    RunBegins {
        /// Its name.
        run: &'a str,
    },
    /// An attempt at a run has ended and is recorded.
    RunEnded {
        /// The record of the attempt.
        record: &'a RunRecord,
        /// Its samples in nanoseconds, if it has any.
        samples: &'a [f64],
        /// Runs that are finished.
        finished: usize,
        /// The number of samples that its programs had published by then.
        live: u64,
        /// The time that the rest will take, in seconds.
        seconds_left: f64,
    },
    /// A pilot, or a block after it, tells how many repetitions are enough.
    Planned {
        /// The number of repetitions, and what they resolve.
        enough: &'a Enough,
        /// Runs of the schedule.
        runs: usize,
        /// The time that the rest will take, in seconds.
        seconds_left: f64,
    },
    /// A host is not there, or not any more, and the experiment goes on without it.
    Lost {
        /// Its name.
        host: &'a str,
        /// Why it cannot be reached.
        reason: &'a str,
    },
    /// It pauses: no run begins as long as the file [`pause::FILE`] is in the result folder.
    Pauses,
    /// It goes on.
    GoesOn,
    /// Distributions were fitted.
    Fitted {
        /// The fits: the load that each imitates, and its distributions.
        fits: &'a [Fit],
    },
}

/// The fates of the runs of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Runs that were measured.
    pub done: usize,
    /// Runs that failed as often as they were tried.
    pub failed: usize,
}

/// Does what remains of an experiment, on its hosts.
///
/// # Errors
/// A host cannot be reached at the beginning, or results cannot be kept. A run that fails is no
/// error: it is recorded, tried again, and then left.
pub fn conduct<'a>(
    experiment: &'a Experiment,
    recorder: &mut Recorder,
    hosts: Hosts<'a>,
    watch: &mut dyn FnMut(Event),
) -> Result<Tally, ConductError> {
    /// However it ends.
    struct Closing<'a>(&'a Board);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    let board = hosts.board();
    let folder = recorder.folder().path().to_path_buf();
    std::thread::scope(|scope| {
        let _closing = Closing(&board);
        scope.spawn(|| live::write_to(&folder, &board));
        run_all(experiment, recorder, hosts, &board, watch)
    })
}

fn run_all<'a>(
    experiment: &'a Experiment,
    recorder: &mut Recorder,
    hosts: Hosts<'a>,
    board: &Board,
    watch: &mut dyn FnMut(Event),
) -> Result<Tally, ConductError> {
    let attempts = experiment.retries + 1;
    let finished = |recorder: &Recorder, run: &Run| {
        let (tried, done) = recorder.tried(&run.id());
        done || tried >= attempts
    };
    let mut planned = enough(experiment, recorder.folder().attempts());
    let mut runs = schedule(experiment, blocks(experiment, recorder, planned.as_ref()));
    let mut left: Vec<Run> = runs
        .iter()
        .filter(|run| !finished(recorder, run))
        .copied()
        .collect();
    if left.is_empty() {
        // Nobody has to be there for nothing.
        return Ok(tally(recorder, &runs));
    }
    let mut bench = Bench {
        experiment,
        hosts,
        bandwidth: None,
        delays: BTreeMap::new(),
    };
    tables::given(experiment, recorder, &mut bench.delays)?;
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
    tell_lost(&mut bench.hosts, watch);
    left.reverse();
    let folder = recorder.folder().path().to_path_buf();
    let mut fitted = false;
    while let Some(run) = left.pop() {
        let run = &run;
        if run.phase == Phase::Inject && !fitted {
            fitted = true;
            let fits = tables::of_loads(experiment, recorder, &mut bench.delays)?;
            watch(Event::Fitted { fits: &fits });
            let poor = tables::poor(experiment, &fits);
            if !poor.is_empty() {
                let instead = instead(&fits);
                return Err(ConductError::PoorFit { poor, instead });
            }
        }
        let mut is_over = false;
        while !is_over {
            if pause::wait(&folder, || watch(Event::Pauses)) {
                watch(Event::GoesOn);
            }
            watch(Event::RunBegins { run: &run.id() });
            let attempted = Now {
                run: run.id(),
                attempt: recorder.tried(&run.id()).0 + 1,
                stage: Stage::UnderWay,
                started: now(),
                seconds: 0.0,
                finished: runs.len() - left.len() - 1,
                runs: runs.len(),
                seconds_left: estimate.seconds(&left) + estimate.seconds([run]),
                samples: 0,
                measured: Total::default(),
                load: None,
                said: String::new(),
            };
            board.begin(attempted, Instant::now());
            let attempt = attempt(&mut bench, recorder, run)?;
            let stage = match attempt.record.outcome {
                Outcome::Done => Stage::Done,
                Outcome::Failed => Stage::Failed,
            };
            let live = board.end(stage, Instant::now());
            estimate.learn(&attempt.record);
            recorder.record(attempt.record.clone())?;
            is_over = attempt.is_hopeless || finished(recorder, run);
            watch(Event::RunEnded {
                record: &attempt.record,
                samples: &attempt.samples,
                finished: runs.len() - left.len() - usize::from(!is_over),
                live,
                seconds_left: estimate.seconds(&left),
            });
            let lost = tell_lost(&mut bench.hosts, watch);
            if let (Some((host, reason)), LostHost::Stop) = (lost, experiment.lost_host) {
                return Err(ConductError::Lost { host, reason });
            }
        }
        if experiment.repetitions == Repetitions::Auto && is_end_of_block(run, left.last()) {
            let now = enough(experiment, recorder.folder().attempts());
            if now == planned {
                continue;
            }
            planned = now;
            runs = schedule(experiment, blocks(experiment, recorder, planned.as_ref()));
            let is_left = |it: &&Run| it.block > run.block || it.phase != run.phase;
            left = runs
                .iter()
                .filter(is_left)
                .filter(|it| !finished(recorder, it))
                .copied()
                .collect();
            left.reverse();
            if let Some(enough) = &planned {
                watch(Event::Planned {
                    enough,
                    runs: runs.len(),
                    seconds_left: estimate.seconds(&left),
                });
            }
        }
    }
    Ok(tally(recorder, &runs))
}

/// Tells which hosts are not there any more; gives the first.
fn tell_lost(hosts: &mut Hosts, watch: &mut dyn FnMut(Event)) -> Option<(String, String)> {
    let lost = hosts.newly_lost();
    for (host, reason) in &lost {
        watch(Event::Lost { host, reason });
    }
    let first = lost.into_iter().next();
    first.map(|(host, reason)| (host.into(), reason))
}

/// The number of repetitions that are planned, and at least of those that were begun.
fn blocks(experiment: &Experiment, recorder: &Recorder, planned: Option<&Enough>) -> u32 {
    let begun = begun(experiment, recorder.folder().attempts());
    planned.map_or(begun, |enough| enough.repetitions.max(begun))
}

/// True of the last run of a block, from the last block of the pilot on.
fn is_end_of_block(run: &Run, next: Option<&Run>) -> bool {
    let changes = next.is_none_or(|next| (next.phase, next.block) != (run.phase, run.block));
    changes && run.block >= Repetitions::PILOT && run.work.is_compared()
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
    let hosts = bench
        .hosts
        .survey(&experiment.ranks().collect::<Vec<_>>())?;
    match recorder.folder().environment() {
        Ok(mut environment) => {
            bench.bandwidth = environment.bandwidth;
            environment.resume(&OWN_VERSION, now(), hosts);
            if bench.bandwidth.is_none() {
                // The hosts of the load were not there before.
                environment.bandwidth = bandwidth(bench)?;
            }
            recorder.store_environment(&environment)?;
            return Ok(environment);
        }
        Err(StoreError::System { source, .. })
            if source.kind() == ErrorKind::NotFound && recorder.folder().attempts().is_empty() => {}
        // Another bandwidth would give another meaning to the loads of runs that are done.
        Err(error) => return Err(error.into()),
    }
    bandwidth(bench)?;
    let environment = Environment {
        jitterlab: OWN_VERSION.clone(),
        started: now(),
        bandwidth: bench.bandwidth,
        hosts,
        resumed: Vec::new(),
    };
    recorder.store_environment(&environment)?;
    Ok(environment)
}

/// Finds out the bandwidth that loads are shares of; nothing without loads, or where a host of theirs is not there.
fn bandwidth(bench: &mut Bench) -> Result<Option<f64>, ConductError> {
    let experiment = bench.experiment;
    if let Some(load) = &experiment.load
        && !load.hosts().iter().any(|host| bench.hosts.is_lost(host))
    {
        let bandwidth = match load.bandwidth {
            Some(bandwidth) => bandwidth.0 as f64,
            None => background::measure_bandwidth(&mut bench.hosts, load)
                .map_err(|failed| ConductError::Bandwidth(failed.reason()))?,
        };
        bench.bandwidth = Some(bandwidth);
    }
    Ok(bench.bandwidth)
}

fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// One attempt at a run.
struct Attempt {
    /// The record of the attempt.
    record: RunRecord,
    /// The samples in nanoseconds; they are stored.
    samples: Vec<f64>,
    /// It failed, and would again.
    is_hopeless: bool,
}

fn attempt<'a>(
    bench: &mut Bench<'a>,
    recorder: &Recorder,
    run: &Run<'a>,
) -> Result<Attempt, StoreError> {
    let id = run.id();
    let started = now();
    let clock = Instant::now();
    let outcome = bench.perform(run);
    if outcome.is_err() {
        // Whatever it has left running, and whatever files, goes with its workers.
        bench.hosts.end();
    }
    let seconds = clock.elapsed().as_secs_f64();
    let missed = bench.hosts.has_missed();
    let is_hopeless = outcome.is_err() && missed || matches!(outcome, Err(Failed::Always(_)));
    let (reason, performed) = match outcome {
        Ok(performed) => (None, Some(performed)),
        Err(failed) => (Some(failed.reason()), None),
    };
    let (result, samples, load, injection) = match performed {
        Some(Performed {
            measured,
            load,
            injection,
        }) => (Some(measured.result), measured.samples, load, injection),
        None => (None, None, None, None),
    };
    let samples = samples
        .map(|parquet| recorder.store_samples(&id, &parquet))
        .transpose()?;
    let mut record = RunRecord {
        version: RunRecord::VERSION,
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
        n: None,
        result,
        load,
        injection,
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
    record.n = (!samples.is_empty()).then_some(samples.len() as u64);
    Ok(Attempt {
        record,
        samples,
        is_hopeless,
    })
}

/// The time that a schedule takes, in seconds, as far as its file tells.
pub fn duration(runs: &[Run]) -> f64 {
    Estimate::new().seconds(runs)
}
