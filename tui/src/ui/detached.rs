//! Programs that outlive the UI: each in a session of its own, with a log for what it says.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jitterlab_base::show::printable;

/// A command of `jitterlab` that was started here.
pub struct Detached {
    child: Child,
    log: PathBuf,
}

impl Detached {
    /// Starts a command of this program, whose arguments are added by `add`: what happens to this terminal is nothing to it.
    ///
    /// # Errors
    /// There can be no log, or no process; in words.
    pub fn start(log: &Path, add: impl FnOnce(&mut Command)) -> Result<Self, String> {
        let cannot = |what: &Path| {
            let what = what.display().to_string();
            move |error: std::io::Error| printable(&format!("cannot start it: {what}: {error}"))
        };
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).map_err(cannot(folder))?;
        }
        let file = OpenOptions::new().create(true).append(true).open(log);
        let file = file.map_err(cannot(log))?;
        let copy = file.try_clone().map_err(cannot(log))?;
        let own = std::env::current_exe().map_err(cannot(Path::new("jitterlab")))?;
        let mut program = Command::new("setsid");
        program.arg(own);
        add(&mut program);
        program.stdin(Stdio::null()).stdout(file).stderr(copy);
        let child = program.spawn().map_err(cannot(Path::new("setsid")))?;
        Ok(Detached {
            child,
            log: log.into(),
        })
    }

    /// Waits for its end; says how it was. `finding` is what an exit status of 1 means.
    ///
    /// # Errors
    /// It could not do what it was started for; in its own words.
    pub fn wait(mut self, finding: &str) -> Result<String, String> {
        let status = self.child.wait().map_err(|error| error.to_string())?;
        // The log says why, or how to go on.
        let last = || last_line(&self.log).unwrap_or_else(|| status.to_string());
        match status.code() {
            Some(0) => Ok("done".into()),
            Some(1) => Ok(finding.into()),
            Some(2 | 3) => Err(last()),
            _ => Ok(last()),
        }
    }
}

fn last_line(log: &Path) -> Option<String> {
    let lines = BufReader::new(File::open(log).ok()?).split(b'\n');
    let last = lines
        .map_while(Result::ok)
        .filter(|line| !line.is_empty())
        .last()?;
    Some(printable(&String::from_utf8_lossy(&last)))
}

#[cfg(test)]
mod tests {
    use nix::unistd::{getpid, getsid};

    use super::*;

    /// Named by the test below, which starts this program.
    const SAYS: &str = "JITTERLAB_TEST_SAYS_ITS_SESSION";

    #[test]
    fn says_its_session_if_it_is_told_to() {
        if std::env::var_os(SAYS).is_some() {
            eprintln!("\nprocess {} session {}", getpid(), getsid(None).unwrap());
            std::process::exit(2);
        }
    }

    #[test]
    fn what_is_started_is_in_a_session_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("results").join("x.log");
        let started = Detached::start(&log, |program| {
            program.args([
                "--exact",
                "--nocapture",
                "ui::detached::tests::says_its_session_if_it_is_told_to",
            ]);
            program.env(SAYS, "1");
        });
        let end = started.unwrap().wait("");
        assert!(end.is_err(), "{end:?}");
        let said = fs::read_to_string(&log).unwrap();
        let line = said.lines().find(|line| line.starts_with("process "));
        let words: Vec<&str> = line.unwrap_or(&said).split(' ').collect();
        let ["process", process, "session", session] = words[..] else {
            panic!("{said}");
        };
        assert_eq!(process, session);
        assert_ne!(session, getsid(None).unwrap().to_string());
    }
}
