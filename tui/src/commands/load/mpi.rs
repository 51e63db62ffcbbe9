//! `load run --transport mpi`: the load of `jitterlab-mpi`, started by mpirun, or by srun in an allocation of Slurm.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;

use jitterlab_experiment::mpi::{ALLOCATION, ENVIRONMENT, Missing, PROGRAM};
use jitterlab_experiment::spec::Launcher;
use jitterlab_mpi_results::load::Pattern;

use super::Run;
use crate::choice::choice;
use crate::commands::inject::find;
use crate::outcome::{Exit, Failure};
use crate::output::Format;

/// The options that only load over MPI has.
#[derive(clap::Args)]
pub struct Options {
    /// Over MPI: who sends to whom, for N ranks: pairs (rank k to rank k + N/2), alltoall (each to all others, in turn), rma-incast (all
    /// write into rank 0's memory), p2p-incast (all to rank 0) or rma-bcast (all read rank 0's memory)
    #[arg(long, required_if_eq("transport", "mpi"), value_parser = choice::<Pattern>(Pattern::ALL.map(Pattern::name)))]
    pattern: Option<Pattern>,
    /// Over MPI: the number of ranks [default: one for each CPU, but at least 2]
    #[arg(long)]
    ranks: Option<u32>,
    /// Over MPI: half of the ranks measure this case of `jitterlab-mpi library`, such as ping-pong. They measure it first without load,
    /// then under load
    #[arg(long, value_name = "CASE")]
    victim: Option<String>,
    /// Over MPI: the launcher [default: srun inside a Slurm allocation, otherwise mpirun]
    #[arg(long, value_name = "PROGRAM", value_parser = choice::<Launcher>(Launcher::ALL.map(Launcher::name)))]
    launcher: Option<Launcher>,
    /// Over MPI: more arguments for the launcher
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

impl Options {
    /// The first option that is given, if one is: without MPI there is nothing that it could mean.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--pattern", self.pattern.is_some()),
            ("--ranks", self.ranks.is_some()),
            ("--victim", self.victim.is_some()),
            ("--launcher", self.launcher.is_some()),
            ("--", !self.arguments.is_empty()),
        ];
        given
            .into_iter()
            .find_map(|(name, given)| given.then_some(name))
    }
}

/// Becomes the launcher.
pub fn start(run: &Run) -> Result<Exit, Failure> {
    let is_allocation = std::env::var_os(ALLOCATION).is_some();
    let usual = match is_allocation {
        true => Launcher::Srun,
        false => Launcher::Mpirun,
    };
    let launcher = run.mpi.launcher.unwrap_or(usual);
    let program = program()?;
    let missing = Missing {
        launcher: find(Path::new(launcher.name()))
            .is_none()
            .then_some(launcher),
        program: program.is_none(),
    };
    if let Some(missing) = missing.on("this machine") {
        return Err(Failure::input(missing));
    }
    let error = command(run, launcher, &program.unwrap_or_default()).exec();
    Err(Failure::run(format!(
        "cannot start {}: {error}",
        launcher.name()
    )))
}

fn command(run: &Run, launcher: Launcher, program: &Path) -> process::Command {
    let options = &run.mpi;
    let cpus = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
    let ranks = options
        .ranks
        .map_or(cpus.to_string(), |ranks| ranks.to_string());
    let mut command = process::Command::new(launcher.name());
    command
        .envs(ENVIRONMENT)
        .args(["-n", &ranks])
        .args(&options.arguments)
        .arg(program)
        .arg("load")
        .args(["--level", &run.level.to_string()])
        .args(["--duration", &run.duration.to_string()])
        .args(["--seed", &run.seed.to_string()]);
    if let Some(pattern) = options.pattern {
        command.args(["--pattern", pattern.name()]);
    }
    if let Some(message) = run.message {
        command.args(["--size", &message.to_string()]);
    }
    if let Some(victim) = &options.victim {
        command.args(["--victim", victim]);
    }
    if run.format == Format::Json {
        command.args(["--format", "json"]);
    }
    command
}

/// The program of ranks: beside this one, or where the PATH leads.
fn program() -> Result<Option<PathBuf>, Failure> {
    let own = std::env::current_exe().map_err(Failure::run)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = own.parent().map(Path::to_path_buf);
    let mut places = beside.into_iter().chain(std::env::split_paths(&path));
    Ok(places.find_map(|place| Some(place.join(PROGRAM)).filter(|path| path.is_file())))
}
