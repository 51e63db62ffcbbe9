//! Runs over MPI: the command that starts the ranks, the files that it needs where they run, and
//! what `jitterlab-mpi` says of them.

mod launch;
mod printed;

use std::path::Path;

use jitterlab_base::units::Nanos;
use jitterlab_cluster::{PROMPT, Place, Program};
use jitterlab_mpi_results::{library, npb};

use super::{Bench, Failed, Measured, REPORT, words};
use crate::mpi::PROGRAM;
use crate::record::{Application, SuiteResult};
use crate::samples;
use crate::spec::{Experiment, LibraryCase, Mpi, Npb};
use launch::{Mpirun, launch};
use printed::{Printed, printed};

/// The name of a file in a worker's directory.
const SAMPLES: &str = "samples.txt";

impl<'a> Bench<'a> {
    /// A run of the NAS Parallel Benchmarks; its run time is the one that it reports.
    pub(super) fn npb(
        &mut self,
        npb: &'a Npb,
        mpi: &'a Mpi,
        timeout: Nanos,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let program = words(&[PROGRAM, "npb", npb.kernel.name()]).chain(words(&[
            "--class",
            npb.class.name(),
            "--format",
            "json",
        ]));
        let program = prefix.into_iter().chain(program);
        let report: npb::Report = self.ranks(mpi, npb.ranks, program, timeout)?;
        let figure = SuiteResult::Application(Application {
            runtime_s: report.time_s,
            program_s: report.time_s,
            npb: Some(report),
        });
        Ok(Measured::of(figure, None))
    }

    /// A case of the library suite, with the samples of every rank.
    pub(super) fn library(
        &mut self,
        case: &'a LibraryCase,
        mpi: &'a Mpi,
        prefix: Vec<String>,
    ) -> Result<Measured, Failed> {
        let optional = |option: &str, value: Option<String>| {
            value
                .map(|value| [option.to_string(), value])
                .into_iter()
                .flatten()
        };
        let program = words(&[PROGRAM, "library", case.case.name(), "--format", "json"])
            .chain(words(&["--samples", SAMPLES]))
            .chain(words(&["--warmup", &case.warmup.to_string()]))
            .chain(optional("--size", case.size.map(|size| size.0.to_string())))
            .chain(optional(
                "--duration",
                case.duration.map(|time| time.to_string()),
            ))
            .chain(optional(
                "--iterations",
                case.iterations.map(|n| n.to_string()),
            ))
            .chain(optional(
                "--dimensions",
                case.dimensions.map(|n| n.to_string()),
            ))
            .chain(case.non_blocking.then(|| "--non-blocking".into()));
        let program = prefix.into_iter().chain(program);
        let mut report: library::Report = self.ranks(mpi, case.ranks, program, case.timeout)?;
        // What it is made of is kept: every sample of every rank.
        for point in &mut report.points {
            point.heat_map = None;
        }
        let text = self.hosts.worker(&mpi.on)?.take(SAMPLES)?;
        let ranks = samples::ranks_of_text(&String::from_utf8_lossy(&text))?;
        let taken: usize = ranks.iter().map(Vec::len).sum();
        let told: usize = report
            .points
            .iter()
            .map(|point| point.figures.samples)
            .sum();
        if told != taken {
            return Err(format!("rank 0 reports {told} samples, and {taken} came").into());
        }
        let parquet = samples::ranks_to_parquet(&ranks)
            .map_err(|error| format!("the samples cannot be kept: {error}"))?;
        Ok(Measured::of(SuiteResult::Library(report), Some(parquet)))
    }

    /// Starts ranks of a command, waits for their end, and gives what rank 0 printed.
    fn ranks<R: Printed>(
        &mut self,
        mpi: &'a Mpi,
        ranks: u32,
        rank: impl Iterator<Item = String>,
        timeout: Nanos,
    ) -> Result<R, Failed> {
        let mpirun = self.mpirun(mpi)?;
        self.name_directories(mpi)?;
        let launch = launch(self.experiment, mpi, mpirun, ranks, rank);
        let worker = self.hosts.worker(&mpi.on)?;
        for (name, content) in &launch.files {
            worker.put(name, content.as_bytes())?;
        }
        let program = Program {
            command: launch.command,
            // Ranks are bound by what starts them.
            cpu: None,
        };
        let ended = worker.run_to_end(program, timeout)?;
        printed(mpi.launcher, ranks, &ended, timeout)
    }

    /// Whose mpirun it is; it is asked only where that matters.
    fn mpirun(&mut self, mpi: &'a Mpi) -> Result<Mpirun, Failed> {
        if mpi.hosts.is_empty() {
            return Ok(Mpirun::OpenMpi);
        }
        let ask = command(&[mpi.launcher.name(), "--version"]);
        let version = self.hosts.worker(&mpi.on)?.run_to_end(ask, PROMPT)?;
        Mpirun::of(&version, PROMPT).map_err(Failed::Always)
    }

    /// Ranks on other machines work in the directory of their own worker, by the name that the launcher's has.
    fn name_directories(&mut self, mpi: &'a Mpi) -> Result<(), String> {
        let elsewhere = elsewhere(self.experiment, mpi);
        if elsewhere.is_empty() {
            return Ok(());
        }
        let said = self.hosts.worker(&mpi.on)?.run(command(&["pwd"]), PROMPT)?;
        let directory = Path::new(said.stdout.trim_end_matches('\n'));
        for host in elsewhere {
            let worker = self.hosts.worker(host)?;
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

    /// Puts the files of an injection where ranks on other machines find them.
    pub(super) fn spread(&mut self, mpi: &'a Mpi, files: &[(&str, &[u8])]) -> Result<(), String> {
        for host in elsewhere(self.experiment, mpi) {
            let worker = self.hosts.worker(host)?;
            for (name, content) in files {
                worker.put(name, content)?;
            }
        }
        Ok(())
    }

    /// What the library has reported of ranks, on whichever machine.
    pub(super) fn gather(&mut self, mpi: &'a Mpi) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        for host in std::iter::once(mpi.on.as_str()).chain(elsewhere(self.experiment, mpi)) {
            let worker = self.hosts.worker(host)?;
            match worker.take(REPORT) {
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
fn elsewhere<'a>(experiment: &'a Experiment, mpi: &'a Mpi) -> Vec<&'a str> {
    let names = mpi.hosts.keys().map(String::as_str);
    names
        .filter(|&name| name != mpi.on)
        .filter(|&name| matches!(experiment.hosts[name].at, Place::Ssh(_)))
        .collect()
}
