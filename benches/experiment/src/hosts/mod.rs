//! The workers of an experiment, started when they are first needed.

mod ranks;

pub(crate) use ranks::Ranks;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jitterlab_cluster::{Controller, Host, News, PROMPT, Program, Unfit, Worker, together};

use crate::environment::Node;
use crate::live::Board;
use crate::mpi::{ALLOCATION, Missing, PROGRAM};
use crate::scene::{Launcher, LostHost, Mpi, Scene};

/// The workers of an experiment's hosts.
#[derive(Debug)]
pub struct Hosts<'a> {
    workers: BTreeMap<&'a str, Worker>,
    /// The machines of those that are there.
    machines: BTreeMap<&'a str, Node>,
    starts: Starts<'a>,
    /// The hosts that are not there, with the reason; nobody tries to reach them again.
    lost: BTreeMap<&'a str, String>,
    /// Those of them that nobody was told of yet.
    untold: Vec<&'a str>,
    /// True if one of them was asked for.
    missed: bool,
}

/// What workers are started with.
#[derive(Debug)]
struct Starts<'a> {
    scene: Scene<'a>,
    controller: Controller,
    board: Arc<Board>,
}

impl<'a> Starts<'a> {
    fn host(&self, name: &str) -> Result<&'a Host, String> {
        let host = self.scene.hosts.get(name);
        host.ok_or_else(|| format!("there is no host {name}"))
    }

    fn start(&self, name: &str) -> Result<Worker, String> {
        let board = self.board.clone();
        let host_name = name.to_string();
        let follow = move |program, news| board.take(&host_name, program, news);
        Worker::start(name, self.host(name)?, &self.controller, follow)
    }

    /// A worker that can start programs on the CPU that its host names, and its machine.
    fn survey(&self, name: &str) -> Result<(Worker, Node), Unfit> {
        let mut worker = self.start(name).map_err(Unfit::Host)?;
        worker.try_cpu(self.host(name).map_err(Unfit::Host)?.cpu)?;
        let machine = worker.machine().map_err(Unfit::Host)?;
        Ok((worker, machine))
    }

    /// A host that was there before may refuse a connection, and take the next one.
    fn start_again(&self, name: &str) -> Result<Worker, String> {
        const MORE_TRIES: u32 = 2;
        const PAUSE: Duration = Duration::from_secs(1);
        let mut started = self.start(name);
        for _ in 0..MORE_TRIES {
            if started.is_err() {
                thread::sleep(PAUSE);
                started = self.start(name);
            }
        }
        started
    }
}

impl<'a> Hosts<'a> {
    /// The hosts of an experiment; none is started yet. `own` is the program that runs this.
    pub fn new(scene: Scene<'a>, own: PathBuf) -> Self {
        Hosts {
            workers: BTreeMap::new(),
            machines: BTreeMap::new(),
            starts: Starts {
                scene,
                controller: Controller::new(own, scene.trust),
                board: Arc::default(),
            },
            lost: BTreeMap::new(),
            untold: Vec::new(),
            missed: false,
        }
    }

    /// The board that tells what the programs on these hosts publish while they run.
    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.starts.board)
    }

    /// Starts every worker that is not there yet, many at the same time, and finds out whether programs can be started on the CPUs that
    /// hosts name; gives the machines by the names of the hosts.
    ///
    /// # Errors
    /// A host is not there, and the experiment does not go on without, or none is there; or one has not the CPU, or not what starts
    /// ranks over MPI where some are to be.
    pub fn survey(&mut self, ranks: &[&'a Mpi]) -> Result<BTreeMap<String, Node>, Unfit> {
        let is_due =
            |name: &&str| !self.workers.contains_key(name) && !self.lost.contains_key(name);
        let names = self.starts.scene.hosts.keys().map(String::as_str);
        let due: Vec<&'a str> = names.filter(is_due).collect();
        let mut absent = Vec::new();
        let starts = &self.starts;
        for (name, started) in together(&due, |name| starts.survey(name)) {
            match started {
                Ok((worker, machine)) => {
                    self.workers.insert(name, worker);
                    self.machines.insert(name, machine);
                }
                Err(Unfit::Host(reason)) => absent.push((name, reason)),
                Err(unfit) => return Err(unfit),
            }
        }
        let goes_on = self.starts.scene.lost_host == LostHost::GoOn && !self.workers.is_empty();
        if !goes_on && !absent.is_empty() {
            let reasons: Vec<String> = absent.into_iter().map(|(_, reason)| reason).collect();
            return Err(Unfit::Host(reasons.join("; ")));
        }
        for (name, reason) in absent {
            self.lose(name, reason);
        }
        for mpi in ranks {
            let mut hosts = mpi.hosts.keys().chain([&mpi.on]);
            if !hosts.any(|name| self.lost.contains_key(name.as_str())) {
                self.survey_mpi(mpi)?;
            }
        }
        let machines = self.machines.iter();
        Ok(machines
            .map(|(&name, machine)| (name.to_string(), machine.clone()))
            .collect())
    }

    /// Nobody tries to reach it any more.
    fn lose(&mut self, name: &'a str, reason: String) {
        self.machines.remove(name);
        self.lost.insert(name, reason);
        self.untold.push(name);
    }

    /// True if a host is not there.
    pub(crate) fn is_lost(&self, name: &str) -> bool {
        self.lost.contains_key(name)
    }

    /// The hosts that are not there, with the reason, since this was asked last.
    pub(crate) fn newly_lost(&mut self) -> Vec<(&'a str, String)> {
        let untold = std::mem::take(&mut self.untold).into_iter();
        untold
            .filter_map(|name| Some((name, self.lost.get(name)?.clone())))
            .collect()
    }

    /// True if somebody has asked for a missing host since the last call.
    pub(crate) fn has_missed(&mut self) -> bool {
        std::mem::take(&mut self.missed)
    }

    /// Tells what ranks need and is missing, and how to come by it.
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

    /// The things that ranks need and each host has not.
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
        self.starts.host(name)
    }

    /// The worker of a host.
    pub(crate) fn worker(&mut self, name: &'a str) -> Result<&mut Worker, String> {
        if let Some(reason) = self.lost.get(name) {
            self.missed = true;
            return Err(format!("host {name} is not there: {reason}"));
        }
        if !self.workers.contains_key(name) {
            match self.starts.start_again(name) {
                Ok(worker) => {
                    self.workers.insert(name, worker);
                }
                Err(reason) => {
                    self.lose(name, reason.clone());
                    self.missed = true;
                    return Err(reason);
                }
            }
        }
        let worker = self.workers.get_mut(name);
        worker.ok_or_else(|| format!("host {name} has no worker"))
    }

    /// Ends every worker, and so whatever they have started. Where one was lost, the next one is started, if that can be done: it tells
    /// what programs had published whose worker was killed.
    pub(crate) fn end(&mut self) {
        let workers = std::mem::take(&mut self.workers).into_iter();
        let lost = workers.filter(|(_, worker)| worker.is_lost());
        let lost: Vec<_> = lost
            .map(|(name, worker)| (name, worker.left_behind().map(String::from)))
            .collect();
        for (name, left) in lost {
            self.starts.controller.disconnect(name);
            let told = self.worker(name).and_then(|worker| match left {
                Some(live) => worker.left(&live),
                None => Ok(None),
            });
            if let Ok(Some(update)) = told {
                self.starts.board.take(name, None, News::Published(update));
            }
        }
    }
}
