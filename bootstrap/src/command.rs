//! Programs that are run at boot.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// The error of a step of the boot.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is not there, or could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("{command} failed ({status}): {said}")]
    Failed {
        /// The command line.
        command: String,
        /// The status it ended with.
        status: ExitStatus,
        /// The output.
        said: String,
    },
    /// A file.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Anything else, in its own words.
    #[error("{0}")]
    Said(String),
}

impl Error {
    /// The words of a program whose command line is nothing to a reader; else all of it.
    pub fn why(self) -> String {
        match self {
            Error::Failed { said, .. } => said,
            other => other.to_string(),
        }
    }
}

/// Runs a program to its end; gives what it printed.
///
/// # Errors
/// It could not be started, or ended with another status than 0.
pub fn run(
    program: &str,
    arguments: impl IntoIterator<Item: AsRef<OsStr>>,
) -> Result<String, Error> {
    bytes(program, arguments).map(lossy)
}

/// The same, where what it prints is somebody else's.
///
/// # Errors
/// As those of [`run`].
pub fn bytes(
    program: &str,
    arguments: impl IntoIterator<Item: AsRef<OsStr>>,
) -> Result<Vec<u8>, Error> {
    // The lines after the first explain it.
    finished(Command::new(program).args(arguments), &[0], |said| {
        said.lines().next().unwrap_or_default()
    })
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a program; `main` finds in what it says on stderr what is worth repeating.
fn finished(
    command: &mut Command,
    good: &[i32],
    main: impl FnOnce(&str) -> &str,
) -> Result<Vec<u8>, Error> {
    command.stdin(Stdio::null());
    let output = command.output().map_err(|source| Error::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    if output
        .status
        .code()
        .is_some_and(|code| good.contains(&code))
    {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::Failed {
        command: line(command),
        status: output.status,
        said: main(&said).into(),
    })
}

/// Runs this program with other arguments; gives what it printed. That it found something (exit status 1) is no error.
///
/// # Errors
/// It could not run, or was asked for something wrong.
pub fn jitterlab(arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Result<String, Error> {
    let own = std::env::current_exe().map_err(of_file("jitterlab"))?;
    let mut command = Command::new(own);
    // Its error comes after its progress.
    finished(command.args(arguments), &[0, 1], |said| {
        said.lines().last().unwrap_or_default()
    })
    .map(lossy)
}

/// A command as a person would type it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

/// The error of a file.
pub fn of_file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::File {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_is_kept() {
        assert_eq!(run("echo", ["a", "b"]).unwrap(), "a b\n");
        let error = run("sh", ["-c", "echo first >&2; echo last >&2; exit 3"]);
        let said = error.unwrap_err().to_string();
        assert!(
            said.starts_with("sh -c") && said.ends_with("(exit status: 3): first"),
            "{said}"
        );
        let error = run("jitterlab-has-no-such-program", [""])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot start jitterlab-has-no-such-program: No such file"),
            "{error}"
        );
    }
}
