//! Files that a person names.

use std::path::Path;

use jitterlab_injector::durable::write_atomically;
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
