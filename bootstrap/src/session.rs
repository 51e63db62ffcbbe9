//! The session of a node that is ready: somebody comes, or an experiment runs by itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_base::durable::write_atomically;
use jitterlab_base::yaml::as_written;
use serde::{Deserialize, Serialize};

use crate::command::{self, Error, of_file};
use crate::node_file::{Headless, NodeFile};
use crate::report::{BootReport, Problem};
use crate::source;
use crate::volume::Volume;

/// The file in which the boot leaves what is to be run, for the unit that runs it.
const TASK: &str = "/run/jitterlab/experiment.json";
/// And an experiment file that came from the network.
const FETCHED: &str = "/run/jitterlab/experiment.yaml";
const UNIT: &str = "jitterlab-experiment.service";
/// The directory of results without a volume: lost at the next boot.
const IN_MEMORY: &str = "/var/lib/jitterlab/results";
/// Beside result folders: how the last boot and its experiment went.
const LAST_BOOT: &str = "last-boot.txt";
/// The file in a result folder that says where it was sent, as a whole.
const SENT: &str = "sent";
/// The key that results are sent with, on the volume.
const KEY: &str = "ssh_key";

/// An experiment that runs by itself.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// The experiment file.
    file: PathBuf,
    /// The directory in which its result folder is made.
    results: PathBuf,
    /// True if that is on a volume.
    survives: bool,
    /// The target that this is sent to: `user@host:folder`.
    push: Option<String>,
    /// The folder of `ssh_key` and `known_hosts`.
    keys: Option<PathBuf>,
    power_off: bool,
}

/// Keeps the report, and begins what the file asks for; gives the report as it then is.
pub fn begin(mut report: BootReport, node: &NodeFile, volume: Option<&Volume>) -> BootReport {
    let mut object = |error: Error| {
        report.problems.push(Problem {
            doing: "experiment".into(),
            said: error.to_string(),
        });
    };
    if let Some(headless) = &node.experiment {
        Task::of(headless, volume)
            .and_then(|task| {
                if let Err(error) = task.check_end() {
                    object(error);
                }
                task.begin()
            })
            .unwrap_or_else(&mut object);
    }
    if let Err(error) = report.store() {
        eprintln!("jitterlab boot: the report cannot be kept: {error}");
    }
    report
}

/// Runs the experiment that the boot has left: goes on with it where a result folder of it has no report yet.
///
/// # Errors
/// Nothing was left, or a step of it failed: it was run, reported or sent in part. Where that was asked for, the node is
/// switched off all the same, if results are anywhere but in its memory.
pub fn run_experiment() -> Result<(), Error> {
    let text = fs::read(TASK).map_err(of_file(TASK))?;
    let task: Task =
        serde_json::from_slice(&text).map_err(|error| Error::Said(format!("{TASK}: {error}")))?;
    let outcome = task.run();
    let kept = task.keep(&outcome);
    if task.power_off && (task.survives && kept.is_ok() || task.push.is_some() && outcome.is_ok()) {
        // `systemctl poweroff` would look for logind first, which is not there.
        let arguments = [
            "start",
            "--no-block",
            "--job-mode=replace-irreversibly",
            "poweroff.target",
        ];
        command::run("systemctl", arguments)?;
    } else if task.power_off {
        eprintln!(
            "jitterlab boot: the node stays on: {} is not kept or sent as it should be",
            task.results.display()
        );
    }
    outcome.and(kept)
}

impl Task {
    fn of(headless: &Headless, volume: Option<&Volume>) -> Result<Self, Error> {
        let at = volume.map(|volume| volume.at.as_path());
        let file = match headless.file.to_str() {
            Some(address) if source::is_address(address) => {
                let file = source::fetched(address)?;
                write_atomically(Path::new(FETCHED), &file).map_err(of_file(FETCHED))?;
                FETCHED.into()
            }
            _ => at.unwrap_or(Path::new("/")).join(&headless.file),
        };
        if !file.exists() {
            return Err(Error::Said(format!(
                "there is no {}: put the experiment file on the volume, beside node.yaml",
                file.display()
            )));
        }
        let writable = volume.filter(|volume| volume.is_writable());
        Ok(Task {
            file,
            results: writable.map_or(IN_MEMORY.into(), |volume| volume.at.join("results")),
            survives: writable.is_some(),
            push: headless.push.clone(),
            keys: at.map(Path::to_path_buf),
            power_off: headless.power_off,
        })
    }

    /// Whether the results will be anywhere at the end.
    fn check_end(&self) -> Result<(), Error> {
        let has_key = self
            .keys
            .as_ref()
            .is_some_and(|keys| keys.join(KEY).exists());
        if self.push.is_some() && !has_key {
            return Err(Error::Said(format!(
                "results cannot be sent: that takes a key, as {KEY} on the volume"
            )));
        }
        if self.survives || self.push.is_some() {
            return Ok(());
        }
        Err(Error::Said(format!(
            "results will be in memory alone, in {}, and the node stays on: fetch them from there, or give it a volume",
            self.results.display()
        )))
    }

    fn begin(&self) -> Result<(), Error> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        write_atomically(Path::new(TASK), &text).map_err(of_file(TASK))?;
        command::run("systemctl", ["start", "--no-block", UNIT]).map(drop)
    }

    fn run(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.results).map_err(of_file(&self.results))?;
        let mut arguments: Vec<OsString> = vec!["run".into()];
        match self.unfinished() {
            Some(folder) => {
                clear(&folder).map_err(of_file(&folder))?;
                arguments.extend(["--resume".into(), folder.into()]);
                report_of(&arguments)?;
            }
            // A result that could not be sent is not done with: another run is not asked for.
            None if self.unsent().is_empty() => {
                arguments.extend([
                    "--results".into(),
                    self.results.clone().into(),
                    self.file.clone().into(),
                ]);
                report_of(&arguments)?;
            }
            None => {}
        }
        self.unsent()
            .iter()
            .try_for_each(|(folder, target)| self.push(folder, target))
    }

    /// Keeps how it went beside the results, for whoever looks at them when the node is off.
    fn keep(&self, outcome: &Result<(), Error>) -> Result<(), Error> {
        let how = match outcome {
            Ok(()) => "done".into(),
            Err(error) => error.to_string(),
        };
        let boot =
            BootReport::load().map_or_else(|error| error.to_string(), |report| report.text());
        let path = self.results.join(LAST_BOOT);
        let text = format!("{boot}  experiment {how}\n");
        write_atomically(&path, text.as_bytes()).map_err(of_file(path))
    }

    /// The result folders of this experiment, the oldest first.
    fn folders(&self) -> Vec<PathBuf> {
        let Ok(wanted) = fs::read_to_string(&self.file) else {
            return Vec::new();
        };
        let entries = fs::read_dir(&self.results).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|folder| {
                fs::read_to_string(folder.join("experiment.yaml"))
                    .is_ok_and(|frozen| as_written(&frozen) == wanted)
            })
            .collect();
        folders.sort();
        folders
    }

    /// The latest result folder of this experiment that has no report.
    fn unfinished(&self) -> Option<PathBuf> {
        self.folders()
            .into_iter()
            .rfind(|folder| !is_reported(folder))
    }

    /// Those that are done, and still have to be sent; and where.
    fn unsent(&self) -> Vec<(PathBuf, &str)> {
        let Some(target) = &self.push else {
            return Vec::new();
        };
        let done = self.folders().into_iter();
        done.filter(|folder| is_reported(folder) && !folder.join(SENT).exists())
            .map(|folder| (folder, target.as_str()))
            .collect()
    }

    fn push(&self, folder: &Path, target: &str) -> Result<(), Error> {
        let mut arguments: Vec<OsString> = vec!["-B".into(), "-q".into(), "-r".into()];
        if let Some(keys) = &self.keys {
            // ssh takes no key that others could read, and a FAT volume has no owners.
            let own = Path::new("/run/jitterlab/ssh_key");
            let key = keys.join(KEY);
            let copy = || {
                command::run(
                    "install",
                    [
                        "-m".as_ref(),
                        "600".as_ref(),
                        key.as_os_str(),
                        own.as_os_str(),
                    ],
                )
            };
            copy()?;
            arguments.extend(["-i".into(), own.into()]);
            let mut known: OsString = "UserKnownHostsFile=".into();
            known.push(keys.join("known_hosts"));
            arguments.extend(["-o".into(), known]);
        }
        // A host that does not answer is not waited for without end.
        for option in [
            "StrictHostKeyChecking=accept-new",
            "ConnectTimeout=15",
            "ServerAliveInterval=15",
        ] {
            arguments.extend(["-o".into(), option.into()]);
        }
        // Into the folder, which has to be there: scp would make the first result folder of one that is not, and put the next
        // ones into that.
        let into = format!("{target}/.");
        arguments.extend(["--".into(), folder.into(), into.into()]);
        command::run("scp", arguments).map_err(|error| {
            Error::Said(format!(
                "{} cannot be sent to {target}: {}; see that it answers, lets {KEY} in, and has that folder",
                folder.display(),
                error.why()
            ))
        })?;
        let sent = folder.join(SENT);
        write_atomically(&sent, format!("{target}\n").as_bytes()).map_err(of_file(sent))
    }
}

fn is_reported(folder: &Path) -> bool {
    folder.join("report/index.html").exists()
}

/// Runs an experiment, and makes the report of its result folder.
fn report_of(arguments: &[OsString]) -> Result<(), Error> {
    let printed = seen(arguments)?;
    let folder = printed.lines().last().unwrap_or_default();
    seen(&["report".into(), folder.into()]).map(drop)
}

/// Removes from a result folder what was being written when the power was cut: durable files have a name of their own
/// until they are whole.
fn clear(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            clear(&path)?;
        } else if name.to_string_lossy().starts_with(".jitterlab-") {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Runs this program, with its progress where the unit's goes; gives what it printed.
fn seen(arguments: &[OsString]) -> Result<String, Error> {
    let own = std::env::current_exe().map_err(of_file("jitterlab"))?;
    let mut program = Command::new(own);
    program
        .args(arguments)
        .stderr(std::process::Stdio::inherit());
    let output = program.output().map_err(of_file("jitterlab"))?;
    // Runs that failed are in the report.
    if output.status.code().is_some_and(|code| code <= 1) {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Said(format!(
        "jitterlab {} failed: {}",
        arguments[0].to_string_lossy(),
        output.status
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_half_written_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        for name in [
            ".jitterlab-1aB",
            "samples/.jitterlab-x",
            "samples/a.parquet",
            "runs.jsonl",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        clear(folder.path()).unwrap();
        let left = |at: &Path| {
            let names = fs::read_dir(at)
                .unwrap()
                .map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        assert_eq!(left(folder.path()), ["runs.jsonl", "samples"]);
        assert_eq!(left(&folder.path().join("samples")), ["a.parquet"]);
    }

    fn task(folder: &Path) -> Task {
        let file = folder.join("e.yaml");
        fs::write(&file, "name: e\n").unwrap();
        Task {
            file,
            results: folder.join("results"),
            survives: true,
            push: None,
            keys: None,
            power_off: false,
        }
    }

    fn report(folder: &Path) {
        fs::create_dir(folder.join("report")).unwrap();
        fs::write(folder.join("report/index.html"), "").unwrap();
    }

    #[test]
    fn what_has_no_report_is_gone_on_with_and_what_was_not_sent_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path());
        let results = task.results.clone();
        assert_eq!(task.unfinished(), None);
        for (name, text) in [
            ("e-1", "name: e\n"),
            // The parts that the file left out were added when the folder was made.
            (
                "e-2",
                "name: e\n\n# Left out of this file, and taken as:\n#   retries: 2\n",
            ),
            ("o-3", "name: o\n"),
        ] {
            fs::create_dir_all(results.join(name)).unwrap();
            fs::write(results.join(name).join("experiment.yaml"), text).unwrap();
        }
        for name in ["e-2", "e-1"] {
            assert_eq!(task.unfinished(), Some(results.join(name)));
            report(&results.join(name));
        }
        assert_eq!(task.unfinished(), None);
        assert!(task.unsent().is_empty(), "nobody asked for it");
        task.push = Some("lab@store:here".into());
        fs::write(results.join("e-1").join(SENT), "").unwrap();
        assert_eq!(task.unsent(), [(results.join("e-2"), "lab@store:here")]);
    }

    #[test]
    fn results_that_will_be_nowhere_are_told_before() {
        let folder = tempfile::tempdir().unwrap();
        let mut task = task(folder.path());
        assert!(task.check_end().is_ok());
        task.survives = false;
        let said = task.check_end().unwrap_err().to_string();
        assert!(said.contains("in memory alone"), "{said}");
        task.push = Some("lab@store:here".into());
        let said = task.check_end().unwrap_err().to_string();
        assert!(said.contains("takes a key"), "{said}");
        task.keys = Some(folder.path().into());
        fs::write(folder.path().join(KEY), "").unwrap();
        assert!(task.check_end().is_ok());
    }

    #[test]
    fn how_it_went_is_kept_beside_the_results() {
        let folder = tempfile::tempdir().unwrap();
        let task = task(folder.path());
        fs::create_dir(&task.results).unwrap();
        let failed = Err(Error::Said("the server does not answer".into()));
        task.keep(&failed).unwrap();
        let kept = fs::read_to_string(task.results.join(LAST_BOOT)).unwrap();
        assert!(
            kept.ends_with("  experiment the server does not answer\n"),
            "{kept}"
        );
    }
}
