//! Files that screens look at again and again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jitterlab_experiment::live;
use jitterlab_experiment::store::who_fills;

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

/// The folders of experiments that are under way, of those in `results`, by their names.
pub fn under_way(results: &Path) -> Vec<PathBuf> {
    // One that nobody fills was left by a controller that was killed.
    let is_filled =
        |folder: &PathBuf| folder.join(live::FILE).is_file() && who_fills(folder).is_some();
    let mut folders: Vec<PathBuf> = entries(results).into_iter().filter(is_filled).collect();
    folders.sort();
    folders
}
