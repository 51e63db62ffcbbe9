//! The directory that a worker's programs are started in.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::Flock;

use crate::folder::{self, COPY, WORKER};

/// A worker's directory, with whatever other names it was given. All are gone with the worker.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    /// The lock; none on a file system without locks.
    _in_use: Arc<Option<Flock<File>>>,
    names: Arc<Mutex<Vec<PathBuf>>>,
}

impl Directory {
    /// Makes one, for this user alone, and removes those of workers that were killed, with their copies of this program.
    pub fn make() -> io::Result<Self> {
        folder::sweep(&env::temp_dir());
        if let Some(copies) = place_of_copies() {
            folder::sweep(&copies);
        }
        let path = tempfile::Builder::new().prefix(WORKER).tempdir()?.keep();
        Ok(Directory {
            _in_use: Arc::new(folder::use_folder(&path).ok()),
            path,
            names: Arc::default(),
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it another name. Where there is a directory of that name, it is another worker's, on a file system that
    /// both see, and stays.
    pub fn name(&self, name: &Path) -> io::Result<()> {
        match symlink(&self.path, name) {
            Ok(()) => {
                self.names().push(name.into());
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && name.is_dir() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes it, with what is in it.
    pub fn remove(&self) {
        for name in self.names().drain(..) {
            let _ = fs::remove_file(name);
        }
        let _ = fs::remove_dir_all(&self.path);
    }

    fn names(&self) -> impl std::ops::DerefMut<Target = Vec<PathBuf>> + '_ {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of the folders with copies of this program, where this is one of them.
fn place_of_copies() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let folder = program.parent()?;
    let name = folder.file_name()?.to_string_lossy();
    let is_copy = name.starts_with(COPY);
    is_copy.then(|| folder.parent().map(Into::into)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_lead_to_it_and_go_with_it() {
        let place = tempfile::tempdir().unwrap();
        let (name, other) = (place.path().join("name"), place.path().join("other"));
        let directory = Directory::make().unwrap();
        for _ in 0..2 {
            directory.name(&name).unwrap();
        }
        fs::write(name.join("file"), "1").unwrap();
        assert!(directory.path().join("file").is_file());
        fs::create_dir(&other).unwrap();
        directory.name(&other).unwrap();
        assert!(directory.name(&place.path().join("no/name")).is_err());
        directory.remove();
        assert!(!directory.path().exists() && fs::symlink_metadata(&name).is_err());
        assert!(other.is_dir());
    }
}
