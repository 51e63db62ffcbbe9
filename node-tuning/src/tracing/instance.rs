//! A tracing instance of our own, which is removed whatever happens to this process.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use thiserror::Error as ThisError;

/// An error that keeps an instance from being used.
#[derive(Debug, ThisError)]
pub enum Error {
    /// A file or folder of it.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    File {
        /// The action that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The process that removes it.
    #[error("cannot start /bin/sh, which has to remove the tracing instance later: {0}")]
    Remover(io::Error),
    /// It is still there.
    #[error("the tracing instance {path} could not be removed: rmdir it", path = path.display())]
    Left {
        /// The path.
        path: PathBuf,
    },
}

/// It exists, and with it a process that removes it when this one lets go of it, or dies: even a
/// `kill -9` must not leave a tracer running on a production node.
pub struct Instance {
    path: PathBuf,
    remover: Child,
}

/// Waits for the end of its input. Signals from the terminal are for us, not for it. Removing an instance stops
/// its tracer; it is refused while somebody has a file of it open, so it is tried for a while.
const REMOVE: &str = r#"trap '' INT HUP TERM; read -r _
for again in 1 2 3 4 5; do [ -d "$1" ] || exit 0; rmdir "$1" && exit 0; sleep 1; done; exit 1"#;

impl Instance {
    /// Makes one below the tracing file system.
    ///
    /// # Errors
    /// The system refuses, or nobody could remove it.
    pub fn new(tracing: &Path) -> Result<Self, Error> {
        let path = tracing
            .join("instances")
            .join(format!("jitterlab-{}", std::process::id()));
        // First, so that there is no moment at which the instance is there and it is not.
        let remover = Command::new("/bin/sh")
            .args(["-c", REMOVE, "sh"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::Remover)?;
        let instance = Instance { path, remover };
        match std::fs::create_dir(&instance.path) {
            Ok(()) => Ok(instance),
            Err(source) => Err(instance.wrong("make", "", source)),
        }
    }

    /// Runs a tracer for `time` and gives what it has written.
    ///
    /// # Errors
    /// The system refuses.
    pub fn trace(&self, tracer: &str, time: Duration) -> Result<String, Error> {
        self.write("current_tracer", tracer)?;
        std::thread::sleep(time);
        self.stop()
    }

    /// Ends what is traced, and gives what was written.
    pub(super) fn stop(&self) -> Result<String, Error> {
        self.write("tracing_on", "0")?;
        std::fs::read_to_string(self.path.join("trace"))
            .map_err(|source| self.wrong("read", "trace", source))
    }

    pub(super) fn write(&self, name: &str, value: &str) -> Result<(), Error> {
        std::fs::write(self.path.join(name), value)
            .map_err(|source| self.wrong("write", name, source))
    }

    fn wrong(&self, what: &'static str, name: &str, source: io::Error) -> Error {
        Error::File {
            what,
            path: self.path.join(name),
            source,
        }
    }

    /// Removes it, and says whether it has gone. Dropping it removes it as well.
    ///
    /// # Errors
    /// It has not.
    pub fn remove(mut self) -> Result<(), Error> {
        self.let_go();
        match self.path.exists() {
            false => Ok(()),
            true => Err(Error::Left {
                path: self.path.clone(),
            }),
        }
    }

    fn let_go(&mut self) {
        drop(self.remover.stdin.take());
        let _ = self.remover.wait();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_it() {
        let tracing = tempfile::tempdir().unwrap();
        let instances = tracing.path().join("instances");
        std::fs::create_dir(&instances).unwrap();
        let left = || std::fs::read_dir(&instances).unwrap().count();
        let instance = Instance::new(tracing.path()).unwrap();
        assert_eq!(left(), 1);
        instance.remove().unwrap();
        assert_eq!(left(), 0);
        drop(Instance::new(tracing.path()).unwrap());
        assert_eq!(left(), 0);
    }

    #[test]
    fn where_none_can_be_made_it_is_said() {
        let tracing = tempfile::tempdir().unwrap();
        let error = Instance::new(tracing.path()).err().unwrap().to_string();
        assert!(error.starts_with("cannot make /"), "{error}");
    }
}
