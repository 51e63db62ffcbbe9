//! Files that screens look at again and again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The state of a file when it was read: its length, and when it was changed.
pub type Stamp = Option<(u64, SystemTime)>;

/// The state of a file now; none where there is no file.
pub fn stamp(path: &Path) -> Stamp {
    let file = fs::metadata(path).ok()?;
    Some((file.len(), file.modified().ok()?))
}

/// The content of a folder; nothing where there is none.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
