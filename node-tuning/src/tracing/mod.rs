//! The kernel's own tracing, in an instance of our own, which is made for a moment and removed after it.

mod events;
mod instance;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub use events::{Event, Recording, events};
pub use instance::{Error, Instance};

/// The places where the tracing file system may be mounted, newer place first. It is not mounted here if
/// it is not: that would be a change.
const MOUNTED: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The tracing file system, and the text of a file of it. `root` is `/`, except in tests.
///
/// # Errors
/// Why it cannot be had, in words: it is not mounted, or not for this user.
pub fn find(root: &Path, file: &str) -> Result<(PathBuf, String), String> {
    let mut reason = String::from(
        "the tracing file system is not mounted: as root, mount -t tracefs tracefs /sys/kernel/tracing",
    );
    for tracing in MOUNTED.map(|place| root.join(place)) {
        let path = tracing.join(file);
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((tracing, text)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => reason = format!("cannot read {}: {error}", path.display()),
        }
    }
    Err(reason)
}
