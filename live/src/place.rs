//! The folder of the live pages of one program, however many processes it becomes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jitterlab_base::page::{directory, make_directory};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

use crate::page::Live;

const PREFIX: &str = "live-";

/// A place for live pages: `/dev/shm/jitterlab-<uid>/live-<random>`, this user's alone, locked as long as its maker lives. It
/// goes with this value, and with all that is in it.
#[derive(Debug)]
pub struct Place {
    name: String,
    path: PathBuf,
    _lock: Flock<File>,
}

impl Place {
    /// Makes one. Places whose makers were killed are removed first.
    ///
    /// # Errors
    /// There is no /dev/shm, or it cannot be used.
    pub fn make() -> io::Result<Self> {
        let own = directory(geteuid().as_raw());
        make_directory::<Live>(&own).map_err(io::Error::other)?;
        sweep(&own);
        loop {
            let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&own)?;
            fs::set_permissions(made.path(), fs::Permissions::from_mode(0o700))?;
            let Some(lock) = lock(made.path()) else {
                continue;
            };
            // Somebody who sweeps may have come between.
            if is_same(&lock, made.path()) {
                let path = made.keep();
                let name = path.file_name().unwrap_or_default();
                return Ok(Place {
                    name: name.to_string_lossy().into_owned(),
                    path,
                    _lock: lock,
                });
            }
        }
    }

    /// The value of [`PLACE`](crate::PLACE) for a program that is to publish here.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Where the place of this name is; nothing where it is on another machine, as for a rank that was started from there.
///
/// # Errors
/// It is no name of a place, or the place is not this user's alone; for people.
pub(crate) fn path(name: &str) -> Result<Option<PathBuf>, String> {
    let is_plain = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric());
    if !name.strip_prefix(PREFIX).is_some_and(is_plain) {
        return Err("it is not the name of a place for live data".into());
    }
    let own = directory(geteuid().as_raw());
    let path = own.join(name);
    for directory in [&own, &path] {
        let there = match fs::symlink_metadata(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            there => there.map_err(|error| format!("{}: {error}", directory.display()))?,
        };
        let is_own = there.uid() == geteuid().as_raw() && there.permissions().mode() & 0o022 == 0;
        if !there.is_dir() || !is_own {
            return Err(format!("{} is not this user's alone", directory.display()));
        }
    }
    Ok(Some(path))
}

/// Removes places that nobody has locked any more.
fn sweep(own: &Path) {
    let entries = fs::read_dir(own).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(PREFIX) && lock(&path).is_some() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn lock(path: &Path) -> Option<Flock<File>> {
    let directory = File::open(path).ok()?;
    Flock::lock(directory, FlockArg::LockExclusiveNonblock).ok()
}

fn is_same(lock: &Flock<File>, path: &Path) -> bool {
    let there = fs::metadata(path).map(|there| there.ino());
    there.is_ok_and(|inode| lock.metadata().is_ok_and(|own| own.ino() == inode))
}
