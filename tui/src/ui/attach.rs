//! `jitterlab ui ssh://HOST/FOLDER`: the UI of another machine, in this terminal.
//!
//! It runs there, where files and pages are, and sends what changes on the screen. When the connection is cut, it ends; what it
//! has started does not.

use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jitterlab_cluster::{Host, Place, Trust, ssh};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
use nix::unistd::Pid;

use crate::outcome::{Exit, Failure};
use crate::shown::shell_word;
use crate::stopped::when_stopped;
use crate::ui::terminal::restore;

/// The variables that a terminal is told by, beside TERM, which ssh passes on itself.
const PASSED_ON: [&str; 5] = ["COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE"];

/// Another machine, and a folder there.
#[derive(Debug, PartialEq, Eq)]
pub struct Elsewhere {
    host: String,
    /// The folder as the shell there takes it; the usual one where it is not said.
    folder: Option<String>,
}

impl Elsewhere {
    /// Reads the address of another machine; `None` if it is no such address.
    ///
    /// # Errors
    /// It begins as one, and is none.
    pub fn of(address: &str) -> Option<Result<Self, Failure>> {
        let rest = address.strip_prefix("ssh://")?;
        let (host, folder) = match rest.split_once('/') {
            Some((host, folder)) => (host, Some(folder)),
            None => (rest, None),
        };
        if !matches!(Place::from_str(&format!("ssh {host}")), Ok(Place::Ssh(_))) {
            return Some(Err(Failure::input(format!(
                "{address} is no folder elsewhere: that is ssh://HOST/FOLDER or ssh://USER@HOST/FOLDER"
            ))));
        }
        // The folder starts from the root, or from the home directory, as in other addresses of ssh.
        let folder = folder.filter(|folder| !folder.is_empty());
        let folder = folder.map(|folder| match folder.strip_prefix("~/") {
            Some(in_home) => in_home.to_string(),
            None => format!("/{folder}"),
        });
        Some(Ok(Elsewhere {
            host: host.into(),
            folder,
        }))
    }

    /// Shows it until somebody leaves it, or the connection ends.
    ///
    /// # Errors
    /// There is no ssh, or it has not come to the end.
    pub fn show(&self) -> Result<Exit, Failure> {
        /// The exit status of ssh where it is ssh that has failed.
        const SSH: i32 = 255;
        // A client that is killed leaves the terminal as it has set it.
        let before = tcgetattr(std::io::stdin()).ok();
        let had_terminal = before.is_some();
        let restore = move || {
            if let Some(before) = &before {
                let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, before);
            }
            restore();
        };
        let mut child = self.command().spawn().map_err(Failure::run)?;
        let pid = Pid::from_raw(child.id().cast_signed());
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (stopped, give_back) = (Arc::clone(&is_stopped), restore.clone());
        when_stopped(move || {
            stopped.store(true, Ordering::SeqCst);
            let _ = kill(pid, Signal::SIGTERM);
            give_back();
        })?;
        let status = child.wait().map_err(Failure::run)?;
        // A signal to this process ends the client, too. The signal is told then, and not the end of the connection.
        while is_stopped.load(Ordering::SeqCst) {
            std::thread::park();
        }
        if had_terminal && tcgetattr(std::io::stdin()).is_err() {
            std::process::exit(128 + Signal::SIGHUP as i32);
        }
        match status.code() {
            Some(0) => Ok(Exit::Done),
            Some(SSH) | None => {
                restore();
                Err(Failure::run(format!(
                    "the connection to {} has ended; what runs there goes on",
                    self.host
                )))
            }
            // It has said why.
            Some(code) => std::process::exit(code),
        }
    }

    fn command(&self) -> Command {
        let host = Host::at(Place::Ssh(self.host.clone()));
        let options = ssh::options(&self.host, &host, Trust::default(), Path::new(""));
        // There is a terminal, and somebody who types a password.
        let people = options.iter().map(|option| match option.as_str() {
            "-T" => "-t",
            "BatchMode=yes" => "BatchMode=no",
            other => other,
        });
        let mut command = Command::new("ssh");
        command.args(people).args(["--", &self.host, "env"]);
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.arg(shell_word(&format!("{name}={}", value.to_string_lossy())));
            }
        }
        command.args(["jitterlab", "ui"]);
        if let Some(folder) = &self.folder {
            command.arg("--").arg(shell_word(folder));
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(address: &str) -> Vec<String> {
        let elsewhere = Elsewhere::of(address).unwrap().unwrap();
        let command = elsewhere.command();
        let words = command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned());
        words.skip_while(|word| word != "--").collect()
    }

    #[test]
    fn a_folder_is_one_word_there() {
        assert!(Elsewhere::of("results").is_none());
        let ends = |address: &str, folder: &[&str]| {
            let words = words(address);
            assert!(
                words.ends_with(&folder.iter().map(ToString::to_string).collect::<Vec<_>>()),
                "{words:?}"
            );
        };
        ends("ssh://node1", &["jitterlab", "ui"]);
        ends(
            "ssh://me@node1/srv/a b",
            &["jitterlab", "ui", "--", "'/srv/a b'"],
        );
        ends(
            "ssh://node1/~/lab's",
            &["jitterlab", "ui", "--", r"'lab'\''s'"],
        );
        assert_eq!(words("ssh://me@node1/x")[..3], ["--", "me@node1", "env"]);
        for wrong in [
            "ssh://",
            "ssh:///x",
            "ssh://-oProxyCommand=x/y",
            "ssh://a b/c",
        ] {
            assert!(matches!(Elsewhere::of(wrong), Some(Err(_))), "{wrong}");
        }
    }
}
