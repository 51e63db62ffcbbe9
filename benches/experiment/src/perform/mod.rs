//! Doing one run: everything that is started for it is a command that a person could type.

mod mpi;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_cluster::{Ended, Program, Ready, last_line};
use jitterlab_injector::shape;
use jitterlab_load::sender::Produced;
use jitterlab_packet::transport::Transport;
use jitterlab_stats::distribution::Distribution;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::hosts::Hosts;
use crate::level::{Level, LevelKind, Member};
use crate::link;
use crate::record::{Application, Injection, SuiteResult};
use crate::runtime::runtime;
use crate::schedule::{self, Run, Work};
use crate::spec::{ApplicationCase, Client, Experiment, Hook, Load, PacketCase, PacketCaseKind};

/// What a run yields.
#[derive(Debug)]
pub struct Measured {
    /// What its suite measured.
    pub result: SuiteResult,
    /// A Parquet file.
    pub samples: Option<Vec<u8>>,
    /// The load that was produced.
    pub load: Option<Produced>,
    /// What was injected.
    pub injection: Option<Injection>,
}

impl Measured {
    /// Of a suite, without load or injection.
    fn of(result: SuiteResult, samples: Option<Vec<u8>>) -> Self {
        Measured {
            result,
            samples,
            load: None,
            injection: None,
        }
    }
}

/// What runs are done with.
#[derive(Debug)]
pub struct Bench<'a> {
    pub experiment: &'a Experiment,
    pub hosts: Hosts<'a>,
    /// One-way bandwidth in bytes a second; none without loads.
    pub bandwidth: Option<f64>,
    /// The text of each table that is to be injected, or why there is none.
    pub tables: BTreeMap<(u8, Member), Result<String, String>>,
}

/// Why a run failed, for people. What was started for it may still run, as a background load does, and files of it may
/// be left: both go with the workers.
#[derive(Debug, PartialEq)]
pub enum Failed {
    /// It may go well the next time.
    Once(String),
    /// It would fail again.
    Always(String),
}

impl From<String> for Failed {
    fn from(reason: String) -> Self {
        Failed::Once(reason)
    }
}

impl From<&str> for Failed {
    fn from(reason: &str) -> Self {
        reason.to_string().into()
    }
}

/// Names of files in a worker's directory.
const SAMPLES: &str = "samples.parquet";
const TABLE: &str = "delays.dist";
const SEED: &str = "delays.seed";
const REPORT: &str = "delays.jsonl";

/// A run is given this time beside its own.
const SLACK: Nanos = Nanos(20_000_000_000);
/// A load goes on until it is stopped.
const UNTIL_STOPPED: Nanos = Nanos(24 * 3600 * 1_000_000_000);

impl<'a> Bench<'a> {
    /// Does a run.
    ///
    /// # Errors
    /// Why it failed.
    pub fn perform(&mut self, run: &Run<'a>) -> Result<Measured, Failed> {
        self.look_for_programs(run.work)?;
        let measured = match run.level {
            Level::None => {
                let prefix = self.undelayed(run)?;
                self.work(run.work, prefix)?
            }
            Level::Load { percent } => self.under_load(run, percent)?,
            Level::Injected { percent, shape } => self.injected(run, percent, shape)?,
        };
        is_whole(&measured, run.work)?;
        Ok(measured)
    }

    /// A program that is not there will not be there at the next attempt.
    fn look_for_programs(&mut self, work: Work<'a>) -> Result<(), Failed> {
        let Work::Application(case, schedule::Program::Client(client)) = work else {
            return Ok(());
        };
        let server = case.server.iter();
        let places = server.map(|server| (&server.on, &server.command));
        for (on, command) in places.chain([(&client.on, &client.command)]) {
            if let Some(program) = command.first()
                && !self.hosts.worker(on)?.has_program(program)?
            {
                let reason = format!("host {on} has no program {program}");
                return Err(Failed::Always(reason));
            }
        }
        Ok(())
    }

    fn work(&mut self, work: Work<'a>, prefix: Vec<String>) -> Result<Measured, Failed> {
        match work {
            Work::Packet(case, transport) => self.packet(case, transport, prefix),
            Work::Library(case, mpi) => self.library(case, mpi, prefix),
            Work::Application(case, schedule::Program::Npb(npb, mpi)) => {
                self.npb(npb, mpi, case.timeout, prefix)
            }
            Work::Application(case, schedule::Program::Client(client)) => {
                self.application(case, client, prefix)
            }
        }
    }

    fn packet(
        &mut self,
        case: &'a PacketCase,
        transport: Transport,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let PacketCaseKind::Rtt = case.case;
        let (from, to) = (self.hosts.host(&case.from)?, self.hosts.host(&case.to)?);
        let address = to.address().ok_or("the server has no address")?;
        let bind = SocketAddr::new(address, 0).to_string();
        let serve = words(&["packet", "serve", "--until-stdin-closes", "--bind", &bind])
            .chain(link::of_server(transport, to));
        let worker = self.hosts.worker(&case.to)?;
        let (server, listening) = worker.start_server(own(serve, to.cpu))?;
        let run = words(&["packet", "run", "--case", "rtt", "--format", "json"])
            .chain(words(&["--to", &listening.to_string()]))
            .chain(link::of_client(transport, case.verbs(), from))
            .chain(words(&["--wait", case.wait(transport).name()]))
            .chain(words(&["--size", &case.size.to_string()]))
            .chain(words(&["--warmup", &case.warmup.to_string()]))
            .chain(words(&["--duration", &case.duration.to_string()]))
            .chain(words(&["--samples", SAMPLES]))
            .chain(
                case.timeout
                    .iter()
                    .flat_map(|timeout| words(&["--timeout", &timeout.to_string()])),
            );
        let mut program = own(run, from.cpu);
        program.command.splice(0..0, prefix);
        let timeout = case.timeout.map_or(0, |timeout| timeout.0);
        let time = Nanos(case.warmup.0 + case.duration.0 + timeout + SLACK.0);
        let worker = self.hosts.worker(&case.from)?;
        let ended = worker.run(program, time)?;
        let samples = worker.take(SAMPLES)?;
        self.hosts.worker(&case.to)?.stop(server)?;
        let report = SuiteResult::Packet(printed(&ended)?);
        Ok(Measured::of(report, Some(samples)))
    }

    fn application(
        &mut self,
        case: &'a ApplicationCase,
        client: &'a Client,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let mut server = None;
        let mut place = None;
        if let Some(wanted) = &case.server {
            let host = self.hosts.host(&wanted.on)?;
            let address = host.address().ok_or("the server has no address")?;
            let worker = self.hosts.worker(&wanted.on)?;
            let listens = SocketAddr::new(address, worker.free_port(address)?);
            let program = Program {
                command: filled(&wanted.command, Some(listens)),
                cpu: host.cpu,
            };
            let ready = match &wanted.ready {
                Some(pattern) => Ready::Line(pattern.clone()),
                None => Ready::Accepts(listens),
            };
            let (id, _) = worker.start_program(program, ready)?;
            server = Some((&wanted.on, id));
            place = Some(listens);
        }
        let program = Program {
            command: [prefix, filled(&client.command, place)].concat(),
            cpu: self.hosts.host(&client.on)?.cpu,
        };
        let worker = self.hosts.worker(&client.on)?;
        let mut outcome = worker.run(program, case.timeout);
        if let Some((host, id)) = server {
            // A server that has failed is why its client did, or makes what it measured worthless.
            if let Err(failure) = self.hosts.worker(host)?.stop(id) {
                outcome = Err(match outcome {
                    Ok(_) => failure,
                    Err(reason) => format!("{reason}; {failure}"),
                });
            }
        }
        let ended = outcome?;
        let runtime_s = runtime(case.runtime.as_ref(), &ended)?;
        let figure = SuiteResult::Application(Application {
            runtime_s,
            program_s: ended.seconds,
            npb: None,
        });
        Ok(Measured::of(figure, None))
    }

    /// A run while background load is on the network.
    fn under_load(&mut self, run: &Run<'a>, percent: u8) -> Result<Measured, Failed> {
        let experiment = self.experiment;
        let load = experiment.load.as_ref().ok_or("no load is described")?;
        let bandwidth = self.bandwidth.ok_or("no bandwidth is known")?;
        let (sink, listening) = self.start_sink(load)?;
        let send = load_run(load, listening, percent, UNTIL_STOPPED)
            .chain(words(&[
                "--bandwidth",
                &Bytes(bandwidth as u64).to_string(),
            ]))
            .chain(words(&["--seed", &run.seed.to_string(), "--announce"]));
        let program = own(send, self.hosts.host(&load.from)?.cpu);
        let worker = self.hosts.worker(&load.from)?;
        // What is measured before the load begins would count as measured under it.
        let begins = Ready::Line("^sending$".into());
        let (sender, _) = worker.start_program(program, begins)?;
        let prefix = self.undelayed(run)?;
        let mut measured = self.work(run.work, prefix)?;
        // What it has produced is told when it is stopped.
        let produced = self.hosts.worker(&load.from)?.stop(sender)?;
        let produced = printed(&produced).map_err(|said| format!("the background load: {said}"))?;
        self.hosts.worker(&load.to)?.stop(sink)?;
        measured.load = Some(produced);
        Ok(measured)
    }

    fn start_sink(&mut self, load: &'a Load) -> Result<(u32, SocketAddr), String> {
        let to = self.hosts.host(&load.to)?;
        let address = to.address().ok_or("the sink has no address")?;
        let bind = SocketAddr::new(address, 0).to_string();
        let serve = words(&["load", "serve", "--until-stdin-closes", "--bind", &bind]);
        self.hosts
            .worker(&load.to)?
            .start_server(own(serve, to.cpu))
    }

    /// The one-way bandwidth in bytes a second, of which loads are shares.
    pub fn measure_bandwidth(&mut self, load: &'a Load) -> Result<f64, String> {
        let (sink, listening) = self.start_sink(load)?;
        let run = load_run(load, listening, 0, Nanos(1_000_000));
        let program = own(run, self.hosts.host(&load.from)?.cpu);
        let ended = self.hosts.worker(&load.from)?.run(program, SLACK)?;
        self.hosts.worker(&load.to)?.stop(sink)?;
        let produced: Produced = printed(&ended)?;
        Ok(produced.bandwidth)
    }

    /// A run with delays injected into the program that measures.
    fn injected(&mut self, run: &Run<'a>, percent: u8, shape: Member) -> Result<Measured, Failed> {
        let table = match self.tables.get(&(percent, shape)) {
            Some(Ok(table)) => table.clone(),
            Some(Err(reason)) => {
                return Err(Failed::Always(format!("there is no table: {reason}")));
            }
            None => return Err(Failed::Always("there is no table".into())),
        };
        let prefix = self.under_library(run, &table, REPORT)?;
        let mut measured = self.work(run.work, prefix)?;
        let report = match run.work.mpi() {
            Some(mpi) => self.gather(mpi),
            None => self.hosts.worker(run.work.measures_on())?.take(REPORT),
        };
        let report = report.map_err(|_| {
            "nothing was injected: no process of the program reported its sends; `jitterlab inject doctor` says why"
        })?;
        let injection = injection(&String::from_utf8_lossy(&report))?;
        if injection.delayed == 0 && !is_silent(&measured.result, run.work.hook()) {
            return Err(
                "nothing was injected: the program sent nothing over a network, or its sends bypass the hooks; `jitterlab inject doctor` says which"
                    .into(),
            );
        }
        measured.injection = Some(injection);
        Ok(measured)
    }

    /// What stands before a command into which nothing is injected. The run time of a program holds
    /// its start, and starting under the library takes milliseconds. So where a program is compared
    /// with itself under delays, it has the library at every level, with delays of 0.
    fn undelayed(&mut self, run: &Run<'a>) -> Result<Vec<String>, String> {
        let is_compared = match run.work {
            Work::Packet(..) => false,
            Work::Library(..) | Work::Application(..) => {
                run.work.levels().contains(&LevelKind::Injected)
            }
        };
        if !is_compared || self.experiment.levels.injected.is_none() {
            return Ok(Vec::new());
        }
        let none = shape::table(&Distribution::Constant { value: 0.0 }, run.seed).table;
        self.under_library(run, &none.to_text(), "/dev/null")
    }

    /// What stands before a command that is to run with the library and a table of delays; the files
    /// that this takes are put where the command will run.
    fn under_library(
        &mut self,
        run: &Run<'a>,
        table: &str,
        report: &str,
    ) -> Result<Vec<String>, String> {
        let injected = self.experiment.levels.injected.as_ref();
        let mode = injected.map(|injected| injected.mode).unwrap_or_default();
        let seed = format!("{}\n", run.seed);
        let files = [(TABLE, table.as_bytes()), (SEED, seed.as_bytes())];
        let worker = self.hosts.worker(run.work.measures_on())?;
        for (name, content) in files {
            worker.put(name, content)?;
        }
        if let Some(mpi) = run.work.mpi() {
            self.spread(mpi, &files)?;
        }
        let hook = run
            .work
            .hook()
            .map(|hook| ["--hook".into(), hook.families().into()]);
        let prefix = words(&["jitterlab", "inject", "run", "--table", TABLE])
            .chain(words(&["--seed", SEED, "--mode", mode.name()]))
            .chain(hook.into_iter().flatten())
            .chain(words(&["--report", report, "--"]));
        Ok(prefix.collect())
    }
}

/// Whether a program says itself that it has sent nothing that could be delayed. What one rank says to itself passes the
/// calls of MPI, and nothing below them.
fn is_silent(result: &SuiteResult, hook: Option<Hook>) -> bool {
    let SuiteResult::Application(Application { npb: Some(npb), .. }) = result else {
        return false;
    };
    let is_alone = npb.ranks == 1 && hook != Some(Hook::Mpi);
    is_alone || (npb.messages == 0 && npb.collectives == 0)
}

/// Whether a run was as long as it was to be, and under load for as long.
fn is_whole(measured: &Measured, work: Work) -> Result<(), Failed> {
    let SuiteResult::Packet(packet) = &measured.result else {
        return Ok(());
    };
    if packet.point.memory_full {
        let n = packet.point.rtt_ns.n;
        return Err(Failed::Always(format!(
            "there was no memory for more than {n} samples before its time was over; give it a \
             shorter `duration`"
        )));
    }
    let least = work.least_seconds();
    match &measured.load {
        Some(load) if load.seconds < least => {
            Err(format!("the background load was there for {} s only", load.seconds).into())
        }
        _ => Ok(()),
    }
}

fn load_run(
    load: &Load,
    to: SocketAddr,
    percent: u8,
    duration: Nanos,
) -> impl Iterator<Item = String> {
    words(&["load", "run", "--format", "json"])
        .chain(words(&["--transport", load.transport.name()]))
        .chain(words(&["--level", &percent.to_string()]))
        .chain(words(&["--to", &to.to_string()]))
        .chain(words(&["--duration", &duration.to_string()]))
        .chain(words(&["--message", &load.message.to_string()]))
}

fn words(words: &[&str]) -> impl Iterator<Item = String> + use<> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_string()).collect();
    words.into_iter()
}

/// A command of ours.
fn own(arguments: impl Iterator<Item = String>, cpu: Option<usize>) -> Program {
    Program {
        command: std::iter::once("jitterlab".into())
            .chain(arguments)
            .collect(),
        cpu,
    }
}

/// A command with what stands for the server's place filled in.
fn filled(command: &[String], place: Option<SocketAddr>) -> Vec<String> {
    let Some(place) = place else {
        return command.to_vec();
    };
    let (address, port) = (place.ip().to_string(), place.port().to_string());
    let fill = |word: &String| word.replace("{address}", &address).replace("{port}", &port);
    command.iter().map(fill).collect()
}

/// What a program of ours has printed.
fn printed<T: DeserializeOwned>(ended: &Ended) -> Result<T, String> {
    serde_json::from_str(&ended.stdout).map_err(|error| match error.classify() {
        Category::Data => format!("its result cannot be read: {error}"),
        _ => {
            let said = last_line(&ended.stderr, &ended.stdout);
            let how = if ended.timed_out {
                "it had to be killed, and "
            } else {
                ""
            };
            format!("{how}no result was printed{said}")
        }
    })
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
    use serde_json::json;

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

    #[test]
    fn a_program_is_silent_where_nothing_could_be_delayed() {
        let silent = |messages: u64, collectives: u64, ranks: usize, hook| {
            let npb = json!({
                "kernel": "ep", "class": "S", "ranks": ranks, "time_s": 1.0, "mops": 1.0, "verified": true, "checks": [],
                "messages": messages, "bytes": 0, "collectives": collectives, "collective_bytes": 0, "mpi_share": 0.0,
                "memory_bytes": [], "phases": []
            });
            let figure =
                json!({ "application": { "runtime_s": 1.0, "program_s": 1.0, "npb": npb } });
            is_silent(&serde_json::from_value(figure).unwrap(), Some(hook))
        };
        for hook in [Hook::Mpi, Hook::Socket, Hook::Verbs, Hook::Uct] {
            // As ft and is: they have sent by collectives alone.
            assert!(!silent(0, 44, 4, hook));
            assert!(!silent(8, 0, 4, hook));
            assert!(silent(0, 0, 4, hook));
            assert_eq!(silent(0, 44, 1, hook), hook != Hook::Mpi);
        }
        let figure = json!({ "application": { "runtime_s": 1.0, "program_s": 1.0, "npb": null } });
        assert!(!is_silent(&serde_json::from_value(figure).unwrap(), None));
    }

    #[test]
    fn a_run_that_was_cut_short_says_why() {
        let text = "{ case: rtt, transports: [udp], from: a, to: b, size: 64B, warmup: 0s, duration: 10s, wait: poll }";
        let case: PacketCase = serde_yaml::from_str(text).unwrap();
        let work = Work::Packet(&case, Transport::Udp);
        let measured = |memory_full: bool, load: Option<f64>| {
            let packet = json!({
                "case": "rtt", "transport": "udp", "path": null, "wait": "poll", "cpus": [0], "clock": "tsc",
                "clock_read_ns": 20.0, "clock_resolution_ns": 1.0, "discarded": 0, "size": 64, "lost": 0, "reordered": 0,
                "duplicates": 0, "memory_full": memory_full, "one_way_median_ns": 1.0,
                "rtt_ns": {
                    "n": 7, "mean": 2.0, "std": null, "skew": null, "min": 2.0, "median": 2.0, "p90": 2.0, "p99": 2.0,
                    "p999": 2.0, "max": 2.0
                }
            });
            let produced = |seconds: f64| {
                serde_json::from_value(json!({
                    "transport": "udp", "message": 1400, "level": 10.0, "produced_level": 10.0, "bandwidth": 1e9,
                    "bandwidth_measured": false, "seconds": seconds, "sent_messages": 1, "sent_bytes": 1400,
                    "received_messages": 1, "received_bytes": 1400, "lost_messages": 0, "refused_messages": 0,
                    "longest_gap_ns": 1, "sent_bytes_each_100ms": [1400]
                }))
                .unwrap()
            };
            Measured {
                result: SuiteResult::Packet(serde_json::from_value(packet).unwrap()),
                samples: None,
                load: load.map(produced),
                injection: None,
            }
        };
        assert_eq!(is_whole(&measured(false, None), work), Ok(()));
        assert_eq!(is_whole(&measured(false, Some(10.5)), work), Ok(()));
        let short = is_whole(&measured(false, Some(4.0)), work);
        assert!(matches!(short, Err(Failed::Once(reason)) if reason.contains("for 4 s only")));
        // The load was there for as long as the run: it is not what was missing.
        for load in [None, Some(4.0)] {
            let full = is_whole(&measured(true, load), work);
            assert!(
                matches!(full, Err(Failed::Always(reason)) if reason.contains("than 7 samples"))
            );
        }
    }

    #[test]
    fn the_servers_place_is_filled_in_everywhere() {
        let command = ["a", "{address}:{port}", "--x={port}"].map(String::from);
        let place = "10.0.0.1:99".parse().unwrap();
        assert_eq!(
            filled(&command, Some(place)),
            ["a", "10.0.0.1:99", "--x=99"]
        );
    }
}
