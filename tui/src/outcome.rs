//! The end of a command: what it returns, what the person is told, and the exit status.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use jitterlab_base::input::OfInput;
use jitterlab_base::show;
use jitterlab_stats::gate::Slower;

/// A command that did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Exit status 0.
    Done,
    /// Exit status 1: done, and something was found (a check failed, an outlier was there).
    Finding,
    /// Exit status 4: done, and what was measured does not decide.
    Undecided,
}

/// Slower is a finding, not slower is none, and the third is undecided.
impl From<Slower> for Exit {
    fn from(slower: Slower) -> Self {
        match slower {
            Slower::Yes => Exit::Finding,
            Slower::No => Exit::Done,
            Slower::Undecided => Exit::Undecided,
        }
    }
}

/// A command that did not.
#[derive(Debug)]
pub enum Failure {
    /// Exit status 2: wrong usage or input.
    Input(Box<dyn Error>),
    /// Exit status 3: could not run.
    Run(Box<dyn Error>),
}

impl Failure {
    /// Wrong usage or input.
    pub fn input(error: impl Into<Box<dyn Error>>) -> Self {
        Failure::Input(error.into())
    }

    /// By the error, whichever it is.
    pub fn of(error: impl OfInput + Into<Box<dyn Error>>) -> Self {
        match error.is_of_input() {
            true => Failure::input(error),
            false => Failure::run(error),
        }
    }

    /// Could not run.
    pub fn run(error: impl Into<Box<dyn Error>>) -> Self {
        Failure::Run(error.into())
    }
}

/// The failure is shown with its chain of causes.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Input(error) | Failure::Run(error)) = self;
        f.write_str(&show::causes(&**error))
    }
}

/// Prints the failure, if there is one, with its chain of causes on stderr; gives the exit status.
pub fn report(result: Result<Exit, Failure>) -> ExitCode {
    let failure = match result {
        Ok(Exit::Done) => return ExitCode::SUCCESS,
        Ok(Exit::Finding) => return ExitCode::from(1),
        Ok(Exit::Undecided) => return ExitCode::from(4),
        Err(failure) => failure,
    };
    // Nobody is left to tell when stderr is closed; the exit status still speaks.
    let _ = writeln!(std::io::stderr(), "jitterlab: {failure}");
    let status = match failure {
        Failure::Input(_) => 2,
        Failure::Run(_) => 3,
    };
    ExitCode::from(status)
}
