//! `jitterlab run`.

mod plan;
mod progress;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jitterlab_base::yaml::text_of;
use jitterlab_cluster::Unfit;
use jitterlab_experiment::conduct::{ConductError, Event, Tally, conduct};
use jitterlab_experiment::hosts::Hosts;
use jitterlab_experiment::samples::SamplesError;
use jitterlab_experiment::spec::{Experiment, filled_in, frozen};
use jitterlab_experiment::store::{Recorder, StoreError};
use jitterlab_experiment::tables::{self, GivenError};

use crate::allocated::{self, Names};
use crate::outcome::{Exit, Failure};
use crate::output::Format;
use crate::status::Status;
use crate::stopped::when_stopped;
use progress::Progress;

/// Options of `jitterlab run`.
#[derive(clap::Args)]
pub struct Command {
    /// The experiment file; not needed with --resume
    #[arg(required_unless_present = "resume")]
    experiment: Option<PathBuf>,
    /// Print one JSON object per line for each event, and no text for people
    #[arg(long)]
    headless: bool,
    /// Continue the stopped experiment in this result folder
    #[arg(long, value_name = "RESULT FOLDER")]
    resume: Option<PathBuf>,
    /// The folder in which the result folder is made
    #[arg(long, default_value = "results", conflicts_with = "resume")]
    results: PathBuf,
    /// Print the schedule and how long it would take; run nothing
    #[arg(long, conflicts_with_all = ["headless", "resume"])]
    dry_run: bool,
    /// How --dry-run prints the schedule
    #[arg(long, value_enum, default_value_t, requires = "dry_run")]
    format: Format,
}

/// Runs it.
pub fn run(command: Command) -> Result<Exit, Failure> {
    let mut progress = if command.headless {
        Progress::Headless
    } else {
        Progress::People(Status::new())
    };
    let mut folder = None;
    let result = experiment(command, &mut progress, &mut folder);
    if let Err(failure) = &result {
        progress.fail(folder.as_deref(), failure);
    }
    result
}

/// Does what the command says; `made` is the result folder as soon as there is one.
fn experiment(
    command: Command,
    progress: &mut Progress,
    made: &mut Option<PathBuf>,
) -> Result<Exit, Failure> {
    let given = match &command.experiment {
        Some(path) => Some(given(path)?),
        None => None,
    };
    if let (true, Some((experiment, _))) = (command.dry_run, &given) {
        return plan::print(experiment, command.format);
    }
    let own = std::env::current_exe().map_err(Failure::run)?;
    let (experiment, mut recorder, mut hosts);
    match (&command.resume, given) {
        (Some(folder), given) => {
            recorder = resume(folder, given.map(|(experiment, _)| experiment))?;
            experiment = recorder.folder().experiment().clone();
            hosts = Hosts::new(experiment.scene(), own);
        }
        (None, Some((given, text))) => {
            experiment = given;
            hosts = Hosts::new(experiment.scene(), own);
            // Before there is a folder, so that what cannot begin leaves none.
            hosts
                .survey(&experiment.ranks().collect::<Vec<_>>())
                .map_err(|unfit| failure(unfit.into()))?;
            let injected = experiment.levels.injected.as_ref();
            if let Some(table) = injected.and_then(|injected| injected.table.as_ref()) {
                tables::brought(table).map_err(Failure::input)?;
            }
            let folder = command.results.join(folder_name(&experiment.name));
            recorder =
                Recorder::create(&folder, &frozen(&text, &experiment)).map_err(input_or_run)?;
        }
        (None, None) => return Err(Failure::input("no experiment file is given")),
    }
    let folder = made.insert(recorder.folder().path().to_path_buf());
    say_how_to_resume_when_stopped(folder)?;
    let status = progress.status();
    let mut watch = |event: Event| progress.show(folder, &event);
    let board = hosts.board();
    let conducted = std::thread::scope(|scope| {
        if let Some(status) = status {
            scope.spawn(move || board.follow(|now| status.show(&progress::status_line(now))));
        }
        conduct(&experiment, &mut recorder, hosts, &mut watch)
    });
    let tally = match conducted {
        Err(error @ ConductError::PoorFit { .. }) => {
            eprintln!("jitterlab: {error}");
            progress.fail(Some(folder.as_path()), &Failure::run(error));
            return Ok(Exit::Finding);
        }
        Err(error @ ConductError::Lost { .. }) => {
            let folder = folder.display();
            return Err(Failure::run(format!(
                "{error}; to go on: jitterlab run --resume {folder}"
            )));
        }
        ended => ended.map_err(failure)?,
    };
    progress.end(folder, tally);
    match tally {
        Tally { failed: 0, .. } => Ok(Exit::Done),
        _ => Ok(Exit::Finding),
    }
}

/// An experiment file, and its text; hosts that it does not name are those of the allocation that this runs in.
fn given(path: &Path) -> Result<(Experiment, String), Failure> {
    let text = text_of("experiment file", path).map_err(Failure::input)?;
    let text = filled_in(text, path).map_err(Failure::input)?;
    let text = allocated::filled(text, path, Names::Numbered)?;
    let experiment = Experiment::parse(&text, path).map_err(Failure::input)?;
    Ok((experiment, text))
}

fn failure(error: ConductError) -> Failure {
    match error {
        ConductError::Store(error) => input_or_run(error),
        ConductError::Host(Unfit::Cpu(_) | Unfit::Mpi(_))
        | ConductError::Given(GivenError::File(_) | GivenError::Shape(_)) => Failure::input(error),
        other => Failure::run(other),
    }
}

/// Goes on with a folder. An experiment file that is given as well has to be the folder's.
fn resume(folder: &Path, given: Option<Experiment>) -> Result<Recorder, Failure> {
    let recorder = Recorder::resume(folder).map_err(input_or_run)?;
    if given.is_some_and(|given| given != *recorder.folder().experiment()) {
        return Err(Failure::input(format!(
            "{} is the result folder of another experiment: resume it without the file, or run the file without --resume",
            folder.display()
        )));
    }
    Ok(recorder)
}

/// A folder that is no good was named by a person; a system that refuses was not.
fn input_or_run(error: StoreError) -> Failure {
    use ErrorKind::{AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let refused = match &error {
        StoreError::System {
            action: "write", ..
        } => true,
        StoreError::System { source, .. }
        | StoreError::Samples(SamplesError::System { source, .. }) => !matches!(
            source.kind(),
            AlreadyExists | IsADirectory | NotADirectory | NotFound | PermissionDenied
        ),
        _ => false,
    };
    if refused {
        Failure::run(error)
    } else {
        Failure::input(error)
    }
}

/// `<name>-<UTC time>`.
fn folder_name(experiment: &str) -> String {
    let now = std::time::SystemTime::now();
    let time = humantime::format_rfc3339_seconds(now).to_string();
    format!("{experiment}-{}", time.replace(['-', ':'], ""))
}

/// Stopping is always safe: what is recorded is whole. The workers end by themselves.
fn say_how_to_resume_when_stopped(folder: &Path) -> Result<(), Failure> {
    let folder = folder.display().to_string();
    when_stopped(move || {
        // The terminal may be what is gone.
        let _ = writeln!(
            std::io::stderr(),
            "\nstopped; to go on: jitterlab run --resume {folder}"
        );
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn what_the_system_refuses_is_no_wrong_input() {
        let refuses = |action, errno| StoreError::System {
            action,
            path: "r".into(),
            source: io::Error::from_raw_os_error(errno),
        };
        use nix::libc::{EIO, ENOENT, ENOLCK, ENOSPC};
        for (action, errno) in [
            ("sync", EIO),
            ("lock", ENOLCK),
            ("read", EIO),
            ("make directory", ENOSPC),
            // The folder is removed while it is filled.
            ("write", ENOENT),
        ] {
            let failure = input_or_run(refuses(action, errno));
            assert!(matches!(failure, Failure::Run(_)), "{failure}");
        }
        let failure = input_or_run(refuses("read result folder", ENOENT));
        assert!(matches!(failure, Failure::Input(_)), "{failure}");
    }
}
