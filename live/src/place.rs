//! The folder of the live pages of one program, however many processes it becomes.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jitterlab_base::page::{directory, make_directory};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

use crate::page::Live;

const PREFIX: &str = "live-";
/// After the prefix: made by a program for itself.
const OWN: &str = "own";
/// The file in a place whose maker was killed; it says since when that is known.
const LEFT: &str = "left";
/// The time for which what was published there can still be read.
const KEPT: Duration = Duration::from_secs(60);

/// A place for live pages: `/dev/shm/jitterlab-<uid>/live-<random>`, this user's alone, locked as long as its maker lives. It
/// goes with this value, and with all that is in it.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Place {
    /// A name that no place has.
    pub fn new_name() -> String {
        // Hashed with keys that the system draws.
        let number = RandomState::new().hash_one(std::process::id());
        format!("{PREFIX}{number:016x}")
    }

    /// Makes a place for the pages of this process, which others find by [`Place::of_programs`].
    ///
    /// # Errors
    /// There is no /dev/shm, or it cannot be used.
    pub(crate) fn of_own() -> io::Result<Self> {
        let random = Place::new_name();
        let random = random.strip_prefix(PREFIX).unwrap_or_default();
        Place::make(&format!("{PREFIX}{OWN}{random}"))
    }

    /// The places of this user's programs that were started by hand and follow themselves ([`follow_own`](crate::follow_own)), as long
    /// as they run.
    pub fn of_programs() -> Vec<PathBuf> {
        let own = directory(geteuid().as_raw());
        let entries = fs::read_dir(own).into_iter().flatten().flatten();
        let mut places: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        places.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let rest = name.strip_prefix(PREFIX);
            // A place that can be locked was left.
            rest.is_some_and(|rest| rest.starts_with(OWN)) && lock(path).is_none()
        });
        places.sort();
        places
    }

    /// Makes the place of a name. Places whose makers were killed more than a minute ago are removed first.
    ///
    /// # Errors
    /// It is no name of a place; there is one of this name; or there is no /dev/shm, or it cannot be used.
    pub fn make(name: &str) -> io::Result<Self> {
        check(name).map_err(io::Error::other)?;
        let own = directory(geteuid().as_raw());
        make_directory::<Live>(&own).map_err(io::Error::other)?;
        sweep(&own, SystemTime::now());
        let path = own.join(name);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::open(&path)?;
        // Somebody who sweeps may have it for a moment.
        let lock = Flock::lock(lock, FlockArg::LockExclusive)
            .map_err(|(_, errno)| io::Error::from(errno))?;
        Ok(Place { path, _lock: lock })
    }

    /// Takes over the place of a name whose maker was killed; nothing where there is none, or its maker lives.
    ///
    /// # Errors
    /// It is no name of a place, or the place is not this user's alone; for people.
    pub fn take_over(name: &str) -> Result<Option<Self>, String> {
        let Some(path) = path(name)? else {
            return Ok(None);
        };
        let lock = lock(&path);
        Ok(lock.map(|lock| Place { path, _lock: lock }))
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The path of the place of this name; none where it is on another machine, as for a rank that was started from there.
///
/// # Errors
/// It is no name of a place, or the place is not this user's alone; for people.
pub(crate) fn path(name: &str) -> Result<Option<PathBuf>, String> {
    check(name)?;
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

fn check(name: &str) -> Result<(), String> {
    let is_plain = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric());
    match name.strip_prefix(PREFIX).is_some_and(is_plain) {
        true => Ok(()),
        false => Err("it is not the name of a place for live data".into()),
    }
}

/// Removes places that nobody has locked for a while.
fn sweep(own: &Path, now: SystemTime) {
    let entries = fs::read_dir(own).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(PREFIX) {
            continue;
        }
        let Some(_lock) = lock(&path) else {
            continue;
        };
        let mark = path.join(LEFT);
        match fs::metadata(&mark).and_then(|mark| mark.modified()) {
            Ok(since) if now.duration_since(since).is_ok_and(|left| left > KEPT) => {
                let _ = fs::remove_dir_all(&path);
            }
            Ok(_) => {}
            Err(_) => drop(File::create(mark)),
        }
    }
}

fn lock(path: &Path) -> Option<Flock<File>> {
    let directory = File::open(path).ok()?;
    Flock::lock(directory, FlockArg::LockExclusiveNonblock).ok()
}
