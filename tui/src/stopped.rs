//! Signals that stop a program.

use procfs::process::Process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::outcome::Failure;

/// Says something when this process is stopped, and ends it. A signal that was ignored when it
/// started (by nohup, or in the background of a shell) stays ignored.
///
/// # Errors
/// The system refuses.
pub fn when_stopped(say: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let status = Process::myself().and_then(|own| own.status());
    let ignored = status.map_err(Failure::run)?.sigign;
    let stop = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let stop = stop.filter(|signal| ignored & 1 << (signal - 1) == 0);
    let mut signals = Signals::new(stop).map_err(Failure::run)?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            say();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
