//! Reading small files that a person names, whatever is behind the name.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What may be behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A regular file alone: whoever reads must not be kept waiting, as a program is in which
    /// something is injected.
    File,
    /// A pipe too: it is waited for.
    Any,
}

/// What is in a file, if that is no more than `most` bytes; of what is longer, one byte more.
///
/// # Errors
/// It cannot be read, or is not of `source`.
pub(crate) fn read_limited(path: &Path, source: Source, most: u64) -> io::Result<Vec<u8>> {
    let mut options = File::options();
    options.read(true);
    if source == Source::File {
        // Nor is the opening of a pipe waited for.
        options.custom_flags(libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    // Of a folder the system says so itself.
    if source == Source::File && !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
