//! The workers of an experiment, started when they are first needed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::environment::Node;
use crate::mpi::{PROGRAM, no_launcher, no_program};
use crate::spec::{Experiment, Host, Launcher, Place};
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
    /// A host is not there, or has not the CPU, or not what starts ranks over MPI where some are to be.
    pub fn survey(&mut self) -> Result<BTreeMap<String, Node>, Unfit> {
        for (name, host) in &self.experiment.hosts {
            if !self.workers.contains_key(name.as_str()) {
                let mut worker = Worker::start(name, host, &self.own).map_err(Unfit::Host)?;
                worker.try_cpu(host.cpu)?;
                self.workers.insert(name, worker);
            }
        }
        self.survey_mpi().map_err(Unfit::Host)?;
        let workers = self.workers.iter();
        let nodes = workers.map(|(&name, worker)| (name.to_string(), worker.node().clone()));
        Ok(nodes.collect())
    }

    /// MPI is needed only where ranks are started; what is missing is said, and how to come by it.
    fn survey_mpi(&mut self) -> Result<(), String> {
        let suites = &self.experiment.suites;
        let ranks =
            !suites.library.is_empty() || suites.application.iter().any(|case| case.npb.is_some());
        let Some(mpi) = self.experiment.mpi.as_ref().filter(|_| ranks) else {
            return Ok(());
        };
        let on = &mpi.on;
        let here = self.host(on)?.at == Place::Local;
        let worker = self.worker(on)?;
        let place = format!("host {on}");
        if !worker.has_program(mpi.launcher.name())? {
            return Err(no_launcher(mpi.launcher, &place));
        }
        if mpi.launcher == Launcher::Srun && here && std::env::var_os("SLURM_JOB_ID").is_none() {
            return Err("srun starts ranks inside an allocation, and this is none (SLURM_JOB_ID is not set): \
                 start jitterlab with salloc or sbatch"
                .into());
        }
        if !worker.has_program(PROGRAM)? {
            return Err(no_program(&place));
        }
        Ok(())
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
