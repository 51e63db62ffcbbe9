//! Files that a person names.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use jitterlab_base::durable::write_atomically;
use jitterlab_experiment::samples::{self, SamplesError};
use thiserror::Error;

use crate::outcome::Failure;

#[derive(Debug, Error)]
#[error("cannot write {path}", path = path.display())]
struct CannotWrite {
    path: std::path::PathBuf,
    source: std::io::Error,
}

/// Writes a result, all or nothing.
///
/// # Errors
/// The file cannot be written: the person named it, so that is wrong input.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes).map_err(|source| {
        Failure::input(CannotWrite {
            path: path.into(),
            source,
        })
    })
}

/// Writes samples in nanoseconds, with notes on what they are.
///
/// # Errors
/// The file cannot be written.
pub fn write_samples(path: &Path, taken: &[u64], notes: &[(&str, String)]) -> Result<(), Failure> {
    samples::write(path, taken, notes).map_err(|error| match &error {
        SamplesError::System { source, .. } if is_unusable(source.kind()) => Failure::input(error),
        _ => Failure::run(error),
    })
}

/// True if what is wrong is the name of a file that is to be written.
fn is_unusable(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidFilename
    )
}

/// Tells that a file cannot be written before it is measured. `what` is what will be in the file,
/// with a space behind it, or nothing.
///
/// # Errors
/// There is no such folder, or it is there and nothing that results are written to.
pub fn check_place(what: &str, path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let fits = match path.metadata().map(|found| found.file_type()) {
        Ok(kind) => kind.is_file() || kind.is_char_device() || kind.is_fifo(),
        Err(_) => folder.is_dir(),
    };
    if fits {
        return Ok(());
    }
    Err(Failure::input(format!(
        "cannot write {what}{}: it has to be a file in a folder that is there",
        path.display()
    )))
}
