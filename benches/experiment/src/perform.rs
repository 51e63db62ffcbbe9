//! Doing one run: everything that is started for it is a command that a person could type.

use jitterlab_injector::replay::{Order, Stretch};
use jitterlab_injector::shape;
use jitterlab_load::Produced;
use jitterlab_stats::distribution::Distribution;
use serde::Deserialize;

use crate::background::Background;
use crate::command::{Failed, words};
use crate::delays::Delays;
use crate::hosts::Hosts;
use crate::level::{Level, LevelKind};
use crate::record::Injection;
use crate::scene::Replay;
use crate::schedule::Run;
use crate::spec::Experiment;
use crate::suites::Measured;
use crate::tables::ByLevel;

/// The yield of a run.
#[derive(Debug)]
pub struct Performed {
    /// The measurements of its suite.
    pub measured: Measured,
    /// The load that was produced.
    pub load: Option<Produced>,
    /// The delays that were injected.
    pub injection: Option<Injection>,
}

/// What runs are done with.
#[derive(Debug)]
pub struct Bench<'a> {
    pub experiment: &'a Experiment,
    pub hosts: Hosts<'a>,
    /// One-way bandwidth in bytes a second; none without loads.
    pub bandwidth: Option<f64>,
    /// The delays of each level, or why there are none.
    pub delays: ByLevel,
}

/// Names of files in a worker's directory.
const TABLE: &str = "delays.dist";
const RECORDING: &str = "delays.recording";
const SEED: &str = "delays.seed";
const REPORT: &str = "delays.jsonl";

impl<'a> Bench<'a> {
    /// Does a run.
    ///
    /// # Errors
    /// Why it failed.
    pub fn perform(&mut self, run: &Run<'a>) -> Result<Performed, Failed> {
        run.work.prepare(&mut self.hosts)?;
        let performed = match run.level {
            Level::None => {
                let prefix = self.undelayed(run)?;
                Performed {
                    measured: run.work.perform(&mut self.hosts, prefix, run.seed)?,
                    load: None,
                    injection: None,
                }
            }
            Level::Load { percent } => self.under_load(run, percent)?,
            Level::Injected { .. }
            | Level::Scaled { .. }
            | Level::Delay { .. }
            | Level::Shape { .. }
            | Level::Table => self.injected(run)?,
        };
        run.work
            .check(&performed.measured.result, performed.load.as_ref())?;
        Ok(performed)
    }

    /// A run while background load is on the network.
    fn under_load(&mut self, run: &Run<'a>, percent: u8) -> Result<Performed, Failed> {
        let experiment = self.experiment;
        let load = experiment.load.as_ref().ok_or("no load is described")?;
        for host in load.hosts() {
            self.hosts.worker(host)?;
        }
        let bandwidth = self.bandwidth.ok_or("no bandwidth is known")?;
        let background = Background::start(&mut self.hosts, load, percent, bandwidth, run.seed)?;
        let prefix = self.undelayed(run)?;
        let measured = run.work.perform(&mut self.hosts, prefix, run.seed)?;
        // The load tells what it has produced when it ends.
        let load = background.end(&mut self.hosts, load, percent)?;
        Ok(Performed {
            measured,
            load,
            injection: None,
        })
    }

    /// A run with delays injected into the program that measures.
    fn injected(&mut self, run: &Run<'a>) -> Result<Performed, Failed> {
        let delays = match self.delays.get(&run.level) {
            Some(Ok(delays)) => delays.clone(),
            Some(Err(reason)) => {
                return Err(Failed::Always(format!("there is no table: {reason}")));
            }
            None => return Err(Failed::Always("there is no table".into())),
        };
        let prefix = self.under_library(run, &delays, REPORT)?;
        let measured = run.work.perform(&mut self.hosts, prefix, run.seed)?;
        let report = match run.work.mpi() {
            Some(mpi) => self.hosts.gather(mpi, REPORT),
            None => self.hosts.worker(run.work.measures_on())?.take(REPORT),
        };
        let report = report.map_err(|_| {
            "nothing was injected: no process of the program reported its sends; `jitterlab inject doctor` says why"
        })?;
        let injection = injection(&String::from_utf8_lossy(&report))?;
        if injection.delayed == 0 && !run.work.is_silent(&measured.result) {
            return Err(
                "nothing was injected: the program sent nothing over a network, or its sends bypass the hooks; `jitterlab inject doctor` says which"
                    .into(),
            );
        }
        Ok(Performed {
            measured,
            load: None,
            injection: Some(injection),
        })
    }

    /// The words before a command into which nothing is injected. The run time of a program holds
    /// its start, and starting under the library takes milliseconds. So a program that is compared
    /// with itself under delays has the library at every level, with delays of 0.
    fn undelayed(&mut self, run: &Run<'a>) -> Result<Vec<String>, String> {
        let is_compared =
            run.work.is_compared() && run.work.levels().contains(&LevelKind::Injected);
        if !is_compared || self.experiment.levels.injected.is_none() {
            return Ok(Vec::new());
        }
        let none = shape::table(&Distribution::Constant { value: 0.0 }, run.seed).table;
        let none = Delays::Table(none.to_text().into());
        self.under_library(run, &none, "/dev/null")
    }

    /// The words before a command that is to run with the library and with delays. The files that
    /// this takes are put where the command will run.
    fn under_library(
        &mut self,
        run: &Run<'a>,
        delays: &Delays,
        report: &str,
    ) -> Result<Vec<String>, String> {
        let injected = self.experiment.levels.injected.as_ref();
        let mode = injected.map(|injected| injected.mode).unwrap_or_default();
        let replay = injected.map(|injected| injected.replay).unwrap_or_default();
        let (name, bytes, source) = match delays {
            Delays::Table(bytes) => (TABLE, bytes, words(&["--table", TABLE]).collect()),
            Delays::Recording(bytes) => (RECORDING, bytes, replayed(replay)),
        };
        let seed = format!("{}\n", run.seed);
        let files = [(name, bytes.as_slice()), (SEED, seed.as_bytes())];
        let worker = self.hosts.worker(run.work.measures_on())?;
        for (name, content) in files {
            worker.put(name, content)?;
        }
        if let Some(mpi) = run.work.mpi() {
            self.hosts.spread(mpi, &files)?;
        }
        let hook = run
            .work
            .hook()
            .map(|hook| ["--hook".into(), hook.families().into()]);
        let prefix = words(&["jitterlab", "inject", "run"])
            .chain(source)
            .chain(words(&["--seed", SEED, "--mode", mode.name()]))
            .chain(hook.into_iter().flatten())
            .chain(words(&["--report", report, "--"]));
        Ok(prefix.collect())
    }
}

/// The options of `inject run` that replay a recording.
fn replayed(replay: Replay) -> Vec<String> {
    let by_message = (replay.order == Order::ByMessage).then_some("--by-message");
    let each_rank = (replay.stretch == Stretch::Each).then_some("--each-rank");
    let options = ["--replay", RECORDING].into_iter();
    let options = options.chain(by_message).chain(each_rank);
    options.map(String::from).collect()
}

/// A line of what the library reports: one for each process of the program.
#[derive(Deserialize)]
struct ProcessReport {
    delays: u64,
    asked_ns: u64,
    achieved_ns: u64,
    late_max_ns: u64,
}

fn injection(report: &str) -> Result<Injection, String> {
    let (mut delayed, mut asked, mut achieved, mut late_max) = (0, 0, 0, 0);
    for line in report.lines() {
        let process: ProcessReport = serde_json::from_str(line)
            .map_err(|error| format!("the library's report is broken: {error}"))?;
        delayed += process.delays;
        asked += process.asked_ns;
        achieved += process.achieved_ns;
        late_max = late_max.max(process.late_max_ns);
    }
    let mean = |sum: u64| sum as f64 / delayed.max(1) as f64;
    Ok(Injection {
        delayed,
        asked_mean_ns: mean(asked),
        achieved_mean_ns: mean(achieved),
        error_max_ns: late_max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_processes_are_added() {
        let report = "{\"delays\":1,\"asked_ns\":100,\"achieved_ns\":110,\"late_max_ns\":10}\n\
                      {\"delays\":3,\"asked_ns\":500,\"achieved_ns\":530,\"late_max_ns\":5}\n";
        let injection = injection(report).unwrap();
        assert_eq!(
            (
                injection.delayed,
                injection.asked_mean_ns,
                injection.achieved_mean_ns
            ),
            (4, 150.0, 160.0)
        );
        assert_eq!(injection.error_max_ns, 10);
        assert_eq!(super::injection("").unwrap().delayed, 0);
        assert!(super::injection("{}").is_err());
    }
}
