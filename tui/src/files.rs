//! Files that a person names.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use jitterlab_base::durable::write_atomically;
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

/// What cannot be written is said before it is measured. `what` is what will be in the file, with a
/// space behind it, or nothing.
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
