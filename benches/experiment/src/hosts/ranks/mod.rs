//! Runs over MPI: the command that starts the ranks, the files that it needs where they run, and
//! what `jitterlab-mpi` says of them.

mod launch;
mod printed;

use std::path::Path;

use jitterlab_base::units::Nanos;
use jitterlab_cluster::{PROMPT, Place, Program, Ready};

use super::Hosts;
use crate::command::Failed;
use crate::scene::{Mpi, Scene};
use launch::{Mpirun, launch};
use printed::printed;

pub(crate) use printed::Printed;

/// Ranks that were started, and not ended.
#[derive(Debug)]
pub(crate) struct Ranks<'a> {
    mpi: &'a Mpi,
    ranks: u32,
    id: u32,
}

impl<'a> Hosts<'a> {
    /// Starts ranks of a command, waits for their end, and gives what rank 0 printed.
    pub(crate) fn ranks<R: Printed>(
        &mut self,
        mpi: &'a Mpi,
        ranks: u32,
        rank: impl Iterator<Item = String>,
        timeout: Nanos,
    ) -> Result<R, Failed> {
        let program = self.launch(mpi, ranks, rank)?;
        // Those on other machines publish there.
        let live = jitterlab_live::Place::new_name();
        let elsewhere = elsewhere(self.starts.scene, mpi);
        for host in &elsewhere {
            self.worker(host)?.follow(&live)?;
        }
        let worker = self.worker(&mpi.on)?;
        let ended = worker.run_published(program, live.clone(), timeout);
        for host in elsewhere {
            // One that is gone by then has failed the run, or will be missed where it is needed.
            let _ = self.worker(host).and_then(|worker| worker.unfollow(&live));
        }
        printed(mpi.launcher, ranks, &ended?, timeout)
    }

    /// Starts ranks of a command that goes on until its stdin is closed; ready when rank 0 prints such a line.
    pub(crate) fn start_ranks(
        &mut self,
        mpi: &'a Mpi,
        ranks: u32,
        rank: impl Iterator<Item = String>,
        ready: Ready,
    ) -> Result<Ranks<'a>, Failed> {
        let program = self.launch(mpi, ranks, rank)?;
        let (id, _) = self.worker(&mpi.on)?.start_program(program, ready)?;
        Ok(Ranks { mpi, ranks, id })
    }

    /// Ends ranks that were started, and gives what rank 0 printed.
    pub(crate) fn finish_ranks<R: Printed>(&mut self, started: Ranks<'a>) -> Result<R, Failed> {
        let Ranks { mpi, ranks, id } = started;
        let ended = self.worker(&mpi.on)?.finish(id)?;
        printed(mpi.launcher, ranks, &ended, PROMPT)
    }

    /// The launch of ranks of a command, with its files where it finds them.
    fn launch(
        &mut self,
        mpi: &'a Mpi,
        ranks: u32,
        rank: impl Iterator<Item = String>,
    ) -> Result<Program, Failed> {
        let mpirun = self.mpirun(mpi)?;
        self.name_directories(mpi)?;
        let launch = launch(self.starts.scene, mpi, mpirun, ranks, rank);
        let worker = self.worker(&mpi.on)?;
        for (name, content) in &launch.files {
            worker.put(name, content.as_bytes())?;
        }
        Ok(Program {
            command: launch.command,
            // Ranks are bound by what starts them.
            cpu: None,
        })
    }

    /// The MPI that mpirun belongs to; it is asked only where that matters.
    fn mpirun(&mut self, mpi: &'a Mpi) -> Result<Mpirun, Failed> {
        if mpi.hosts.is_empty() {
            return Ok(Mpirun::OpenMpi);
        }
        let ask = command(&[mpi.launcher.name(), "--version"]);
        let version = self.worker(&mpi.on)?.run_to_end(ask, PROMPT)?;
        Mpirun::of(&version, PROMPT).map_err(Failed::Always)
    }

    /// Ranks on other machines work in the directory of their own worker, by the name that the launcher's has.
    fn name_directories(&mut self, mpi: &'a Mpi) -> Result<(), String> {
        let elsewhere = elsewhere(self.starts.scene, mpi);
        if elsewhere.is_empty() {
            return Ok(());
        }
        let said = self.worker(&mpi.on)?.run(command(&["pwd"]), PROMPT)?;
        let directory = Path::new(said.stdout.trim_end_matches('\n'));
        for host in elsewhere {
            let worker = self.worker(host)?;
            worker.name_directory(directory).map_err(|reason| {
                let on = &mpi.on;
                format!(
                    "host {host}: {reason}; the worker of {on} has it in its TMPDIR, which has to be a directory on \
                     every host"
                )
            })?;
        }
        Ok(())
    }

    /// Puts files where ranks on other machines find them.
    pub(crate) fn spread(&mut self, mpi: &'a Mpi, files: &[(&str, &[u8])]) -> Result<(), String> {
        for host in elsewhere(self.starts.scene, mpi) {
            let worker = self.worker(host)?;
            for (name, content) in files {
                worker.put(name, content)?;
            }
        }
        Ok(())
    }

    /// The content of the files of this name that ranks have written, on whichever machine.
    pub(crate) fn gather(&mut self, mpi: &'a Mpi, report: &str) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        for host in std::iter::once(mpi.on.as_str()).chain(elsewhere(self.starts.scene, mpi)) {
            let worker = self.worker(host)?;
            match worker.take(report) {
                Ok(report) => all.extend(report),
                Err(reason) if worker.is_lost() => return Err(reason),
                // No rank was there, or all see one file system, and the first has had it all.
                Err(_) => {}
            }
        }
        if all.is_empty() {
            return Err("no rank has reported".into());
        }
        Ok(all)
    }
}

fn command(words: &[&str]) -> Program {
    Program {
        command: words.iter().map(|word| (*word).to_string()).collect(),
        cpu: None,
    }
}

/// The hosts of ranks that are other machines than the launcher's.
fn elsewhere<'a>(scene: Scene<'a>, mpi: &'a Mpi) -> Vec<&'a str> {
    let names = mpi.hosts.keys().map(String::as_str);
    names
        .filter(|&name| name != mpi.on)
        .filter(|&name| matches!(scene.hosts[name].at, Place::Ssh(_)))
        .collect()
}
