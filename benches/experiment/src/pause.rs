//! Pausing between two runs: whoever wants it puts a file into the result folder, and takes it away again.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The file. While it is there, no further run begins.
pub const FILE: &str = "pause";

/// The time between two looks for it.
const PERIOD: Duration = Duration::from_millis(200);

/// True if no further run begins.
pub fn is_paused(folder: &Path) -> bool {
    folder.join(FILE).exists()
}

/// Pauses an experiment after the run that is under way, or lets it go on.
///
/// # Errors
/// The system refuses.
pub fn set(folder: &Path, pauses: bool) -> io::Result<()> {
    let file = folder.join(FILE);
    if pauses {
        return File::create(file).map(drop);
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits as long as it is paused; calls `begins` if it is.
pub(crate) fn wait(folder: &Path, begins: impl FnOnce()) -> bool {
    if !is_paused(folder) {
        return false;
    }
    begins();
    while is_paused(folder) {
        thread::sleep(PERIOD);
    }
    true
}
