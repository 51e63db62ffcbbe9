//! What happens when the node is ready: somebody comes, or an experiment runs by itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_injector::durable::write_atomically;
use serde::{Deserialize, Serialize};

use crate::command::{self, Error, of_file};
use crate::node_file::{Headless, NodeFile};
use crate::report::{BootReport, Problem};
use crate::volume::Volume;

/// Where the boot leaves what is to be run, for the unit that runs it.
const TASK: &str = "/run/jitterlab/experiment.json";
const UNIT: &str = "jitterlab-experiment.service";
/// Where results go without a volume: lost at the next boot.
const IN_MEMORY: &str = "/var/lib/jitterlab/results";

/// An experiment that runs by itself.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// The experiment file.
    file: PathBuf,
    /// Where its result folder is made.
    results: PathBuf,
    /// Where that is sent: `user@host:folder`.
    push: Option<String>,
    /// The folder of `ssh_key` and `known_hosts`.
    keys: Option<PathBuf>,
    power_off: bool,
}

/// Keeps the report, and begins what the file asks for; gives the report as it then is.
pub fn begin(mut report: BootReport, node: &NodeFile, volume: Option<&Volume>) -> BootReport {
    let started = match &node.experiment {
        Some(headless) => begin_experiment(headless, volume),
        None => Ok(()),
    };
    if let Err(error) = started {
        report.problems.push(Problem {
            doing: "experiment".into(),
            said: error.to_string(),
        });
    }
    if let Err(error) = report.store() {
        eprintln!("jitterlab boot: the report cannot be kept: {error}");
    }
    report
}

fn begin_experiment(headless: &Headless, volume: Option<&Volume>) -> Result<(), Error> {
    let at = volume.map(|volume| volume.at.as_path());
    let task = Task {
        file: at.unwrap_or(Path::new("/")).join(&headless.file),
        results: at.map_or(IN_MEMORY.into(), |at| at.join("results")),
        push: headless.push.clone(),
        keys: at.map(Path::to_path_buf),
        power_off: headless.power_off,
    };
    if !task.file.exists() {
        return Err(Error::Said(format!(
            "there is no {}: put the experiment file on the volume, beside node.yaml",
            task.file.display()
        )));
    }
    let text = serde_json::to_vec(&task).unwrap_or_default();
    write_atomically(Path::new(TASK), &text).map_err(of_file(TASK))?;
    command::run("systemctl", ["start", "--no-block", UNIT]).map(drop)
}

/// Runs the experiment that the boot has left: goes on with it where a result folder of it has no report yet.
///
/// # Errors
/// Nothing was left, or a step of it failed: it was run, reported or sent in part. The node is switched off
/// all the same where that was asked for.
pub fn run_experiment() -> Result<(), Error> {
    let text = fs::read(TASK).map_err(of_file(TASK))?;
    let task: Task =
        serde_json::from_slice(&text).map_err(|error| Error::Said(format!("{TASK}: {error}")))?;
    let outcome = task.run();
    if task.power_off {
        // `systemctl poweroff` would look for logind first, which is not there.
        let arguments = [
            "start",
            "--no-block",
            "--job-mode=replace-irreversibly",
            "poweroff.target",
        ];
        command::run("systemctl", arguments)?;
    }
    outcome
}

impl Task {
    fn run(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.results).map_err(of_file(&self.results))?;
        let mut arguments: Vec<OsString> = vec!["run".into()];
        match self.unfinished() {
            Some(folder) => {
                clear(&folder).map_err(of_file(&folder))?;
                arguments.extend(["--resume".into(), folder.into()]);
            }
            None => arguments.extend([
                "--results".into(),
                self.results.clone().into(),
                self.file.clone().into(),
            ]),
        }
        let printed = seen(&arguments)?;
        let folder = PathBuf::from(printed.lines().last().unwrap_or_default());
        seen(&["report".into(), folder.clone().into()])?;
        match &self.push {
            Some(target) => self.push(&folder, target),
            None => Ok(()),
        }
    }

    /// The latest result folder of this experiment that has no report.
    fn unfinished(&self) -> Option<PathBuf> {
        let wanted = fs::read(&self.file).ok()?;
        let entries = fs::read_dir(&self.results).ok()?.flatten();
        let mut folders: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|folder| {
                fs::read(folder.join("experiment.yaml")).is_ok_and(|text| text == wanted)
            })
            .filter(|folder| !folder.join("report/index.html").exists())
            .collect();
        folders.sort();
        folders.pop()
    }

    fn push(&self, folder: &Path, target: &str) -> Result<(), Error> {
        let mut arguments: Vec<OsString> = vec!["-B".into(), "-q".into(), "-r".into()];
        if let Some(keys) = &self.keys {
            // ssh takes no key that others could read, and a FAT volume has no owners.
            let own = Path::new("/run/jitterlab/ssh_key");
            let key = keys.join("ssh_key");
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
        arguments.extend([
            "-o".into(),
            "StrictHostKeyChecking=accept-new".into(),
            "--".into(),
        ]);
        arguments.extend([folder.into(), target.into()]);
        command::run("scp", arguments).map(drop)
    }
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

    #[test]
    fn what_has_no_report_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let (file, results) = (folder.path().join("e.yaml"), folder.path().join("results"));
        fs::write(&file, "name: e\n").unwrap();
        let task = Task {
            file,
            results: results.clone(),
            push: None,
            keys: None,
            power_off: false,
        };
        assert_eq!(task.unfinished(), None);
        for (name, text) in [
            ("e-1", "name: e\n"),
            ("e-2", "name: e\n"),
            ("o-3", "name: o\n"),
        ] {
            fs::create_dir_all(results.join(name)).unwrap();
            fs::write(results.join(name).join("experiment.yaml"), text).unwrap();
        }
        assert_eq!(task.unfinished(), Some(results.join("e-2")));
        for name in ["e-2", "e-1"] {
            assert_eq!(task.unfinished(), Some(results.join(name)));
            fs::create_dir(results.join(name).join("report")).unwrap();
            fs::write(results.join(name).join("report/index.html"), "").unwrap();
        }
        assert_eq!(task.unfinished(), None);
    }
}
