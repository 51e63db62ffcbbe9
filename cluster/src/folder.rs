//! Folders of this program for temporary files. Whoever was to remove one may be killed: the next one who makes a folder in the same
//! place removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

/// The beginning of the name of a worker's directory.
pub const WORKER: &str = "jitterlab-agent-";
/// The beginning of the name of a folder that holds a copy of this program.
pub const COPY: &str = "jitterlab-copy-";
/// A file in such a folder, locked as long as the folder is used. It gets this name when it is locked: a folder without it is not removed.
pub const IN_USE: &str = "in-use";
/// Its name before that.
pub const NOT_YET: &str = "in-use.new";

/// Says that a folder is used as long as this value lives.
///
/// # Errors
/// The file system has no locks, or takes no file.
pub fn use_folder(folder: &Path) -> io::Result<Flock<File>> {
    let unnamed = folder.join(NOT_YET);
    let locked = lock(File::create_new(&unnamed)?)?;
    fs::rename(unnamed, folder.join(IN_USE))?;
    Ok(locked)
}

/// Removes the folders of this user in this place that nobody uses any more.
pub fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if ![WORKER, COPY].iter().any(|ours| name.starts_with(ours)) {
            continue;
        }
        let is_own = entry.metadata().is_ok_and(|found| {
            // The entry itself counts here, and not the target of a link.
            found.is_dir() && found.uid() == geteuid().as_raw()
        });
        let mark = File::options()
            .read(true)
            .write(true)
            .open(entry.path().join(IN_USE));
        if is_own
            && let Ok(mark) = mark
            && let Ok(_held) = lock(mark)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_when_nobody_uses_it() {
        let place = tempfile::tempdir().unwrap();
        let folders = [
            "jitterlab-copy-1",
            "jitterlab-agent-2",
            "jitterlab-copy-3",
            "other-4",
        ]
        .map(|name| place.path().join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
        }
        let [copy, worker, without, other] = &folders;
        let [used_copy, used_worker, _used_other] =
            [copy, worker, other].map(|folder| use_folder(folder).unwrap());
        let there = || folders.each_ref().map(|folder| folder.exists());
        sweep(place.path());
        assert_eq!(there(), [true; 4]);
        drop(used_copy);
        sweep(place.path());
        assert_eq!(there(), [false, true, true, true]);
        drop((used_worker, _used_other));
        sweep(place.path());
        assert_eq!(there(), [false, false, true, true]);
        assert!(without.exists());
    }
}
