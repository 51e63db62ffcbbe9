//! The workers of an experiment, started when they are first needed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::environment::Node;
use crate::spec::{Experiment, Host};
use crate::worker::{Unfit, Worker};

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

    /// The experiment.
    pub fn experiment(&self) -> &'a Experiment {
        self.experiment
    }

    /// Starts every worker that is not there yet, and finds out whether programs can be started on the CPUs that
    /// hosts name; gives the machines by the names of the hosts.
    ///
    /// # Errors
    /// A host is not there, or has not the CPU.
    pub fn survey(&mut self) -> Result<BTreeMap<String, Node>, Unfit> {
        for (name, host) in &self.experiment.hosts {
            if !self.workers.contains_key(name.as_str()) {
                let mut worker = Worker::start(name, host, &self.own).map_err(Unfit::Host)?;
                worker.try_cpu(host.cpu)?;
                self.workers.insert(name, worker);
            }
        }
        let workers = self.workers.iter();
        let nodes = workers.map(|(&name, worker)| (name.to_string(), worker.node().clone()));
        Ok(nodes.collect())
    }

    /// A host as the experiment describes it.
    pub(crate) fn host(&self, name: &str) -> Result<&'a Host, String> {
        let host = self.experiment.hosts.get(name);
        host.ok_or_else(|| format!("there is no host {name}"))
    }

    /// The worker of a host.
    pub(crate) fn worker(&mut self, name: &'a str) -> Result<&mut Worker, String> {
        if !self.workers.contains_key(name) {
            let host = self.host(name)?;
            let worker = Worker::start(name, host, &self.own)?;
            self.workers.insert(name, worker);
        }
        let worker = self.workers.get_mut(name);
        worker.ok_or_else(|| format!("host {name} has no worker"))
    }

    /// Ends every worker, and so whatever they have started.
    pub(crate) fn end(&mut self) {
        self.workers.clear();
    }
}
