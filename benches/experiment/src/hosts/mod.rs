//! The workers of an experiment, started when they are first needed.

mod ranks;

pub(crate) use ranks::Ranks;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jitterlab_cluster::{Host, News, PROMPT, Program, Unfit, Worker};

use crate::environment::Node;
use crate::live::Board;
use crate::mpi::{ALLOCATION, Missing, PROGRAM};
use crate::scene::{Launcher, Mpi, Scene};

/// The workers of an experiment's hosts.
#[derive(Debug)]
pub struct Hosts<'a> {
    scene: Scene<'a>,
    own: PathBuf,
    workers: BTreeMap<&'a str, Worker>,
    board: Arc<Board>,
}

impl<'a> Hosts<'a> {
    /// Of an experiment; none is started yet. `own` is the program that runs this.
    pub fn new(scene: Scene<'a>, own: PathBuf) -> Self {
        Hosts {
            scene,
            own,
            workers: BTreeMap::new(),
            board: Arc::default(),
        }
    }

    /// Where it is told what the programs on these hosts publish while they run.
    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.board)
    }

    /// Starts every worker that is not there yet, and finds out whether programs can be started on the CPUs that
    /// hosts name; gives the machines by the names of the hosts.
    ///
    /// # Errors
    /// A host is not there, or has not the CPU, or not what starts ranks over MPI where some are to be.
    pub fn survey(&mut self, ranks: &[&'a Mpi]) -> Result<BTreeMap<String, Node>, Unfit> {
        for (name, host) in self.scene.hosts {
            if !self.workers.contains_key(name.as_str()) {
                let mut worker = self.start(name, host).map_err(Unfit::Host)?;
                worker.try_cpu(host.cpu)?;
                self.workers.insert(name, worker);
            }
        }
        for mpi in ranks {
            self.survey_mpi(mpi)?;
        }
        let workers = self.workers.iter();
        let nodes = workers.map(|(&name, worker)| Ok((name.to_string(), worker.node()?)));
        nodes.collect::<Result<_, _>>().map_err(Unfit::Host)
    }

    /// What ranks need and is missing is said, and how to come by it.
    fn survey_mpi(&mut self, mpi: &'a Mpi) -> Result<(), Unfit> {
        let missing = self.missing(mpi).map_err(Unfit::Host)?;
        if !missing.is_empty() {
            return Err(Unfit::Mpi(missing.join("; ")));
        }
        if mpi.launcher == Launcher::Srun && !self.is_allocation(&mpi.on).map_err(Unfit::Host)? {
            return Err(Unfit::Mpi(format!(
                "srun starts ranks inside an allocation, and host {} is in none ({ALLOCATION} is not set): \
                 start jitterlab with salloc or sbatch",
                mpi.on
            )));
        }
        Ok(())
    }

    /// What each host has not that ranks run on.
    fn missing(&mut self, mpi: &'a Mpi) -> Result<Vec<String>, String> {
        let others = mpi.hosts.keys().filter(|&name| *name != mpi.on);
        let mut all = Vec::new();
        for name in std::iter::once(&mpi.on).chain(others) {
            let worker = self.worker(name)?;
            let starts = *name != mpi.on || worker.has_program(mpi.launcher.name())?;
            let missing = Missing {
                launcher: (!starts).then_some(mpi.launcher),
                program: !worker.has_program(PROGRAM)?,
            };
            all.extend(missing.on(&format!("host {name}")));
        }
        Ok(all)
    }

    /// Whether what is started on a host is in an allocation of Slurm.
    fn is_allocation(&mut self, name: &'a str) -> Result<bool, String> {
        let program = Program {
            command: vec!["printenv".into(), ALLOCATION.into()],
            cpu: None,
        };
        let ended = self.worker(name)?.run_to_end(program, PROMPT)?;
        Ok(ended.status == Some(0))
    }

    /// A host as the experiment describes it.
    pub(crate) fn host(&self, name: &str) -> Result<&'a Host, String> {
        let host = self.scene.hosts.get(name);
        host.ok_or_else(|| format!("there is no host {name}"))
    }

    /// The worker of a host.
    pub(crate) fn worker(&mut self, name: &'a str) -> Result<&mut Worker, String> {
        if !self.workers.contains_key(name) {
            let host = self.host(name)?;
            let worker = self.start(name, host)?;
            self.workers.insert(name, worker);
        }
        let worker = self.workers.get_mut(name);
        worker.ok_or_else(|| format!("host {name} has no worker"))
    }

    fn start(&self, name: &str, host: &Host) -> Result<Worker, String> {
        let board = self.board();
        let host_name = name.to_string();
        let follow = move |program, news| board.take(&host_name, program, news);
        Worker::start(name, host, self.scene.trust, &self.own, follow)
    }

    /// Ends every worker, and so whatever they have started. What programs had published whose worker was killed is told by the
    /// next worker there, if that can be had.
    pub(crate) fn end(&mut self) {
        let workers = std::mem::take(&mut self.workers).into_iter();
        let left = workers.filter_map(|(name, worker)| {
            let left = worker.left_behind().map(String::from);
            drop(worker);
            Some((name, left?))
        });
        for (name, live) in left.collect::<Vec<_>>() {
            let told = self.worker(name).and_then(|worker| worker.left(&live));
            if let Ok(Some(update)) = told {
                self.board.take(name, None, News::Published(update));
            }
        }
    }
}
