//! The request for short wake-ups: `/dev/cpu_dma_latency`, which stands as long as the file is open.

use std::convert::Infallible;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jitterlab_base::durable;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid, pause, setsid};

use super::{Error, System, Value, tasks};

const DEVICE: &str = "/dev/cpu_dma_latency";
/// The file in which the process that holds the file open says who it is.
const HOLDER: &str = "/run/jitterlab/cpu-dma-latency";
/// The line of a holder when it holds.
const READY: &[u8] = b"held\n";

/// Asks the kernel for idle states that are left within `microseconds`, until it is killed. A
/// process of its own does this, started with `tune hold`.
///
/// # Errors
/// The device cannot be opened; or a word of it written.
pub fn hold(microseconds: i32) -> Result<Infallible, Error> {
    // Away from the terminal, whose end would otherwise be its own. It fails where it is at the
    // head of a group, which no terminal ends either.
    let _ = setsid();
    let failed = |error| Error::write(DEVICE, error);
    let holder = Path::new(HOLDER);
    let (started, _) = tasks::identity(getpid().as_raw())
        .ok_or_else(|| Error::read("/proc/self/stat", io::ErrorKind::NotFound.into()))?;
    if let Some(directory) = holder.parent() {
        fs::create_dir_all(directory).map_err(|error| Error::write(HOLDER, error))?;
    }
    let line = format!("{} {started} {microseconds}\n", getpid());
    durable::write_atomically(holder, line.as_bytes())
        .map_err(|error| Error::write(HOLDER, error))?;
    let mut device = OpenOptions::new()
        .write(true)
        .open(DEVICE)
        .map_err(failed)?;
    device
        .write_all(&microseconds.to_ne_bytes())
        .map_err(failed)?;
    let mut stdout = io::stdout();
    // The process that started it is gone: nobody would know of it.
    if let Err(error) = stdout.write_all(READY).and_then(|()| stdout.flush()) {
        // Another one may hold by now.
        if fs::read_to_string(holder).is_ok_and(|found| found == line) {
            let _ = fs::remove_file(holder);
        }
        return Err(failed(error));
    }
    loop {
        pause();
    }
}

/// The process that holds the request, when it started, and what it asks for.
fn holder(system: &System) -> Option<(i32, u64, String)> {
    let line = system.text(HOLDER)?;
    let mut words = line.split_whitespace();
    let (process, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    tasks::lives(system, process, started).then_some((process, started, words.next()?.into()))
}

pub(super) fn read(system: &System) -> Value {
    holder(system).map(|(_, _, microseconds)| microseconds)
}

pub(super) fn write(system: &System, value: &Value) -> Result<(), Error> {
    if let Some((process, started, _)) = holder(system) {
        end(system, process, started)?;
    }
    if let Some(microseconds) = value {
        return start(system, microseconds);
    }
    // The file that is left in /run says nothing any more, and is gone with the next boot.
    let _ = fs::remove_file(HOLDER);
    if let Some(directory) = Path::new(HOLDER).parent() {
        let _ = fs::remove_dir(directory);
    }
    Ok(())
}

fn start(system: &System, microseconds: &str) -> Result<(), Error> {
    let mut command = Command::new(&system.own);
    command
        .args(["tune", "hold", microseconds])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let program = || format!("{} tune hold {microseconds}", system.own.display());
    let failed = |outcome: String| Error::Program {
        program: program(),
        outcome,
    };
    let mut child = command
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // A holder that fails closes its stdout by ending.
        let _ = stdout.take(READY.len() as u64).read_to_end(&mut answer);
    }
    match answer == READY {
        true => Ok(()),
        false => Err(failed(format!("could not open {DEVICE}"))),
    }
}

/// Ends a holder and waits until it has gone.
fn end(system: &System, process: i32, started: u64) -> Result<(), Error> {
    const PATIENCE: Duration = Duration::from_secs(5);
    match kill(Pid::from_raw(process), Signal::SIGTERM) {
        // It has ended by itself: who started it was killed.
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => return Err(Error::write(DEVICE, errno.into())),
    }
    let since = Instant::now();
    while tasks::lives(system, process, started) {
        if since.elapsed() > PATIENCE {
            return Err(Error::write(DEVICE, io::ErrorKind::TimedOut.into()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
