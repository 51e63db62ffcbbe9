//! The hosts of a validation, each with its worker and a server that the others measure against.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jitterlab_base::units::Nanos;
use jitterlab_cluster::{Controller, Program, Worker, together};
use jitterlab_packet::transport::Transport;
use jitterlab_stats::histogram::Compact;
use jitterlab_stats::summary::Summary;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::Deserialize;

use crate::link;
use crate::spec::Cluster;

/// A worker that says nothing for this long beside its measurement has stalled.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time that a measurement may take beside its own.
const SLACK: Nanos = Nanos(5_000_000_000);

/// The hosts that are there.
#[derive(Debug)]
pub struct Stations<'a> {
    cluster: &'a Cluster,
    transport: Transport,
    of: BTreeMap<&'a str, Station>,
    controller: Controller,
}

/// A host that is there.
#[derive(Debug)]
struct Station {
    worker: Mutex<Worker>,
    server: u32,
    listening: SocketAddr,
}

/// The result of a measurement.
#[derive(Debug, Deserialize)]
pub struct Measured {
    /// Messages without an answer.
    pub lost: u64,
    /// Round trips.
    pub rtt_ns: Summary,
    /// The number of those of each size.
    pub histogram_ns: Compact,
}

impl<'a> Stations<'a> {
    /// The stations of a cluster; nobody is there yet. `own` is the program that runs this.
    pub fn new(cluster: &'a Cluster, transport: Transport, own: PathBuf) -> Self {
        allow_many_files();
        Stations {
            cluster,
            transport,
            of: BTreeMap::new(),
            controller: Controller::new(own, cluster.trust),
        }
    }

    /// Starts those that are not there yet. Gives the ones that cannot be, with the reason.
    pub fn start(&mut self, names: &[&'a str]) -> Vec<(&'a str, String)> {
        let missing: Vec<&'a str> = names.iter().copied().filter(|n| !self.has(n)).collect();
        let mut failed = Vec::new();
        for (name, outcome) in together(&missing, |name| self.started(name)) {
            match outcome {
                Ok(station) => {
                    self.of.insert(name, station);
                }
                Err(reason) => failed.push((name, reason)),
            }
        }
        failed
    }

    /// True if a host is there.
    pub fn has(&self, name: &str) -> bool {
        self.of.contains_key(name)
    }

    fn started(&self, name: &str) -> Result<Station, String> {
        let host = self.cluster.host(name).ok_or("it is not in the file")?;
        let mut worker = Worker::start(name, host, &self.controller, |_, _| {})?;
        worker.set_patience(PATIENCE);
        worker
            .try_cpu(host.cpu)
            .map_err(|unfit| unfit.to_string())?;
        let (server, listening) = self.start_server(name, &mut worker)?;
        Ok(Station {
            worker: Mutex::new(worker),
            server,
            listening,
        })
    }

    fn start_server(&self, name: &str, worker: &mut Worker) -> Result<(u32, SocketAddr), String> {
        let host = self.cluster.host(name).ok_or("it is not in the file")?;
        let bind = SocketAddr::new(host.address().ok_or("it has no address")?, 0);
        let options = [("--bind", bind.to_string())];
        let mut command = command(&["packet", "serve", "--until-stdin-closes"], &options);
        command.extend(link::of_server(self.transport, host));
        worker.start_server(self.program(name, command))
    }

    fn program(&self, name: &str, command: Vec<String>) -> Program {
        let cpu = self.cluster.host(name).and_then(|host| host.cpu);
        Program { command, cpu }
    }

    /// Measures the pair of two hosts that are there.
    ///
    /// # Errors
    /// Why it could not be measured, for people.
    pub fn measure(&self, client: &str, server: &str) -> Result<Measured, String> {
        let station = |name| self.of.get(name).ok_or(format!("host {name} is not there"));
        let cluster = self.cluster;
        let options = [
            ("--case", "rtt".to_string()),
            ("--format", "json".into()),
            ("--to", station(server)?.listening.to_string()),
            ("--wait", cluster.wait.name().into()),
            ("--size", cluster.size.to_string()),
            ("--warmup", cluster.warmup.to_string()),
            ("--duration", cluster.duration.to_string()),
        ];
        let host = cluster.host(client).ok_or("it is not in the file")?;
        let mut command = command(&["packet", "run"], &options);
        command.push("--histogram".into());
        command.extend(link::of_client(self.transport, cluster.verbs, host));
        let program = self.program(client, command);
        let time = Nanos(cluster.warmup.0 + cluster.duration.0 + SLACK.0);
        let worker = &station(client)?.worker;
        let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = worker.run(program, time)?;
        serde_json::from_str(&ended.stdout)
            .map_err(|error| format!("what `jitterlab packet run` printed: {error}"))
    }

    /// After a measurement failed: a host whose worker is lost is no longer there, and gives its reason; a
    /// server gets a successor, because it may be waiting for a client that has gone.
    pub fn recover(&mut self, client: &str, server: &str) -> Vec<(String, String)> {
        let mut lost = Vec::new();
        for name in [client, server] {
            let Some(mut station) = self.of.remove_entry(name) else {
                continue;
            };
            let worker = station.1.worker.get_mut();
            let worker = worker.unwrap_or_else(PoisonError::into_inner);
            let fate = if worker.is_lost() {
                Err(format!("the worker of host {name} stalled or is gone"))
            } else if name == server {
                // It may have failed, which is why it is replaced.
                let _ = worker.stop(station.1.server);
                self.start_server(name, worker)
            } else {
                Ok((station.1.server, station.1.listening))
            };
            match fate {
                Ok((server, listening)) => {
                    (station.1.server, station.1.listening) = (server, listening);
                    self.of.insert(station.0, station.1);
                }
                Err(reason) => lost.push((name.to_string(), reason)),
            }
        }
        lost
    }
}

/// The reason of what should not happen.
pub const BROKEN: &str = "a thread of this program ended in the middle";

fn command(words: &[&str], options: &[(&str, String)]) -> Vec<String> {
    let words = ["jitterlab"].iter().chain(words).map(ToString::to_string);
    let options = options.iter();
    words
        .chain(options.flat_map(|(name, value)| [name.to_string(), value.clone()]))
        .collect()
}

/// A worker takes two pipes, and a thousand workers more files than a shell allows. Where the system
/// refuses, the workers that cannot be started say so.
fn allow_many_files() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
