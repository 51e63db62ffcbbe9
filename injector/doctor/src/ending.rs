//! The end of programs that are watched: by themselves, or because the one who watches is told to end.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It ended by itself.
    ExitStatus(i32),
    /// A signal ended it.
    Signal(i32),
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::ExitStatus(status) => write!(f, "exit status {status}"),
            Ending::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Ending::Signal(signal),
            None => Ending::ExitStatus(status.code().unwrap_or(0)),
        }
    }
}

/// The processes that run, for whoever wants them to end.
#[derive(Debug, Clone, Default)]
pub struct Alive(Arc<Mutex<BTreeSet<i32>>>);

impl Alive {
    /// Their numbers.
    pub fn lock(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// SIGTERM ends the processes from now on, and not this one, which has a report to give. SIGINT
    /// does so by itself: the terminal sends it to all. A second signal kills.
    ///
    /// # Errors
    /// The system refuses to block the signals.
    pub fn end_by_signals(&self) -> nix::Result<()> {
        let signals = ending_signals();
        signals.thread_block()?;
        let alive = self.clone();
        std::thread::spawn(move || {
            let mut again = false;
            while let Ok(signal) = signals.wait() {
                let signal = if again { Signal::SIGKILL } else { signal };
                for &pid in alive.lock().iter() {
                    if signal != Signal::SIGINT {
                        // One that has just ended needs no signal.
                        let _ = kill(Pid::from_raw(pid), signal);
                    }
                }
                again = true;
            }
        });
        Ok(())
    }
}

/// The signals by which people end programs. They are blocked in the watcher, and have to be let
/// through again in the program.
pub fn ending_signals() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals
}
