//! `jitterlab tune`: bring a node to the measuring state, and put it back.

pub mod looked;
pub mod text;

use std::io::Write;
use std::path::PathBuf;

use jitterlab_node_tuning::journal::Change;
use jitterlab_node_tuning::plan::Request;
use jitterlab_node_tuning::privilege;
use jitterlab_node_tuning::profile::Profile;
use jitterlab_node_tuning::system::{self, System, Value};
use jitterlab_node_tuning::tune::{self, Asked, Error, Finding, Mode, Outcome, State, Survey};
use serde::Serialize;

use crate::choice::choice;
use crate::outcome::{Exit, Failure};
use crate::output::{self, Format};

/// The verbs of `jitterlab tune`.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Say which settings `apply` would change, and why. Changes nothing
    Plan(Plan),
    /// Change the settings of the plan. Saves every old value first
    Apply(Apply),
    /// Check that the applied settings still hold. Changes nothing
    Verify(Verify),
    /// Restore every old value
    Revert(Revert),
    /// Keep /dev/cpu_dma_latency open (started by `jitterlab tune apply`)
    #[command(hide = true)]
    Hold {
        /// Microseconds
        latency: i32,
    },
}

/// Which node is meant.
#[derive(clap::Args)]
pub struct Target {
    /// Use the /sys, /proc and /etc in this folder, for example copied from another node
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

/// What is asked of it.
#[derive(clap::Args)]
struct Wanted {
    /// The settings to change. measure: all that reduce disturbance of microsecond measurements. reversible: those of `measure`
    /// that take effect without a reboot. A reboot undoes them. paper: the settings used in the paper on latency variation
    /// (docs/tuning.md lists them)
    #[arg(long, default_value_t, value_parser = choice::<Profile>(Profile::ALL.map(Profile::name)))]
    profile: Profile,
    /// Change only these settings; `tune plan` shows their names
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Number of measuring programs or MPI ranks; each gets a core [default: as many as possible]
    #[arg(long)]
    ranks: Option<usize>,
    /// Network interface or RDMA device that the measurements use [default: the nearest and fastest]
    #[arg(long)]
    device: Option<String>,
    #[command(flatten)]
    target: Target,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Options of `tune plan`.
#[derive(clap::Args)]
pub struct Plan {
    #[command(flatten)]
    wanted: Wanted,
}

/// Options of `tune apply`.
#[derive(clap::Args)]
pub struct Apply {
    #[command(flatten)]
    wanted: Wanted,
    /// Print every change; change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Options of `tune verify`.
#[derive(clap::Args)]
pub struct Verify {
    #[command(flatten)]
    target: Target,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Options of `tune revert`.
#[derive(clap::Args)]
pub struct Revert {
    /// Also restore settings that something else has changed since
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    target: Target,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Does it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Plan(options) => options.run(),
        Command::Apply(options) => options.run(),
        Command::Verify(options) => options.run(),
        Command::Revert(options) => options.run(),
        Command::Hold { latency } => match system::hold_wakeup_latency(latency) {
            Ok(never) => match never {},
            Err(error) => Err(Failure::run(error)),
        },
    }
}

impl Target {
    /// The node.
    pub fn system(&self) -> Result<System, Failure> {
        if !self.root.join("proc").is_dir() {
            return Err(Failure::input(format!(
                "{0} is no copy of a node: there is no folder {0}/proc",
                self.root.display()
            )));
        }
        let own = std::env::current_exe().map_err(Failure::run)?;
        Ok(System::at(&self.root, own))
    }
}

impl Wanted {
    fn asked(&self) -> Asked {
        Asked {
            profile: self.profile,
            only: self.only.clone(),
            request: Request {
                ranks: self.ranks,
                device: self.device.clone(),
            },
        }
    }
}

impl Plan {
    fn run(self) -> Result<Exit, Failure> {
        let system = self.wanted.target.system()?;
        let survey = tune::plan(&system, &self.wanted.asked()).map_err(failure)?;
        output::print(self.wanted.format, &survey, || text::survey(&survey))?;
        Ok(Exit::Done)
    }
}

/// The output of `tune apply`.
#[derive(Serialize)]
struct Applied {
    #[serde(flatten)]
    outcome: Outcome,
    /// The changes that were written, or would be; what was refused among them.
    changes: Vec<Change>,
}

impl Apply {
    fn run(self) -> Result<Exit, Failure> {
        let system = self.wanted.target.system()?;
        let mode = if self.dry_run { Mode::Dry } else { Mode::Write };
        let shows = mode == Mode::Write;
        if system.is_live() && shows {
            privilege::lower();
        }
        let mut changes = Vec::new();
        let mut observe = |change: &Change| {
            if shows {
                progress(&text::change(change));
            }
            changes.push(change.clone());
        };
        let outcome = tune::apply(&system, &self.wanted.asked(), mode, &mut observe);
        let outcome = outcome.map_err(failure)?;
        let wanting = outcome.wanting;
        let applied = Applied { outcome, changes };
        output::print(self.wanted.format, &applied, || match shows {
            true => text::applied(&applied.outcome),
            false => text::writes(&applied.changes),
        })?;
        Ok(if wanting { Exit::Finding } else { Exit::Done })
    }
}

/// Says what is being done. That nobody listens is no reason to stop half way.
fn progress(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Settings that were applied and are not in force.
pub fn wanting(survey: &Survey) -> impl Iterator<Item = &Finding> {
    let wanting = [
        State::Reboot,
        State::Change,
        State::Conflict,
        State::Drifted,
    ];
    let settings = survey.settings.iter();
    settings.filter(move |finding| wanting.contains(&finding.state))
}

/// True if everything that was applied is in force.
pub fn holds(survey: &Survey) -> bool {
    wanting(survey).next().is_none()
}

impl Verify {
    fn run(self) -> Result<Exit, Failure> {
        let survey = tune::verify(&self.target.system()?).map_err(failure)?;
        output::print(self.format, &survey, || text::survey(&survey))?;
        Ok(if holds(&survey) {
            Exit::Done
        } else {
            Exit::Finding
        })
    }
}

impl Revert {
    fn run(self) -> Result<Exit, Failure> {
        let system = self.target.system()?;
        if system.is_live() {
            privilege::lower();
        }
        let mut observe = |change: &Change, found: &Value| progress(&text::put_back(change, found));
        let reverted = tune::revert(&system, self.force, &mut observe).map_err(failure)?;
        output::print(self.format, &reverted, || text::reverted(&reverted))?;
        let whole = reverted.left.is_empty() && reverted.failed.is_empty();
        Ok(if whole { Exit::Done } else { Exit::Finding })
    }
}

/// The failure that an error is: of the input, or of the run.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Refused(_)
        | Error::UnknownSetting { .. }
        | Error::NotInProfile { .. }
        | Error::InForce { .. }
        | Error::NothingApplied => Failure::input(error),
        Error::Topology(_) | Error::Journal(_) => Failure::run(error),
    }
}
