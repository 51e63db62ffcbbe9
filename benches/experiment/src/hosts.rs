//! The workers of an experiment, started when they are first needed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::spec::{Experiment, Host};
use crate::worker::Worker;

/// The workers of an experiment's hosts.
#[derive(Debug)]
pub struct Hosts<'a> {
    experiment: &'a Experiment,
    own: PathBuf,
    workers: BTreeMap<&'a str, Worker>,
}

impl<'a> Hosts<'a> {
    /// Of an experiment; none is started yet. `own` is the program that runs this.
    pub fn new(experiment: &'a Experiment, own: PathBuf) -> Self {
        Hosts {
            experiment,
            own,
            workers: BTreeMap::new(),
        }
    }

    /// A host as the experiment describes it.
    pub fn host(&self, name: &str) -> Result<&'a Host, String> {
        let host = self.experiment.hosts.get(name);
        host.ok_or_else(|| format!("there is no host {name}"))
    }

    /// The worker of a host.
    pub fn worker(&mut self, name: &'a str) -> Result<&mut Worker, String> {
        if !self.workers.contains_key(name) {
            let host = self.host(name)?;
            let worker = Worker::start(name, host, &self.own)?;
            self.workers.insert(name, worker);
        }
        let worker = self.workers.get_mut(name);
        worker.ok_or_else(|| format!("host {name} has no worker"))
    }

    /// Ends every worker, and so whatever they have started.
    pub fn end(&mut self) {
        self.workers.clear();
    }
}
