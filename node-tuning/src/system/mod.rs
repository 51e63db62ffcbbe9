//! A node as something that can be read and written: the machine that this runs on, or a copied
//! tree of its files. All that tuning does to a machine happens in here.

mod ethtool;
mod files;
mod latency;
mod place;
mod programs;
mod swaps;
mod tasks;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cpus::{Cpu, CpuSet};

pub use latency::hold as hold_wakeup_latency;
pub use place::{Form, Loader, Parameters, Place, Value};
pub use swaps::Swap;
pub use tasks::Thread;

/// A node.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
    live: bool,
    own: PathBuf,
}

/// The errors of a place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to read.
    #[error("cannot read {place}")]
    Read {
        /// The place that was to be read.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused to write.
    #[error("cannot write {place}{hint}")]
    Write {
        /// The place that was to be written.
        place: String,
        /// The advice about it, or nothing.
        hint: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The content is not what was expected.
    #[error("{place} contains `{text}`; expected a {expected}")]
    Strange {
        /// The place.
        place: String,
        /// The text that stands there.
        text: String,
        /// The kind of value that was expected.
        expected: &'static str,
    },
    /// A program that is needed failed.
    #[error("{program} {outcome}")]
    Program {
        /// The program and its arguments.
        program: String,
        /// The outcome.
        outcome: String,
    },
    /// A copied tree has files and nothing else.
    #[error("{0} exists only on a running node, not in a copy of its files")]
    Copied(String),
}

impl Error {
    fn read(place: impl ToString, source: io::Error) -> Self {
        Error::Read {
            place: place.to_string(),
            source,
        }
    }

    fn write(place: impl ToString, source: io::Error) -> Self {
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied => ": this needs root, or the file is read-only here",
            io::ErrorKind::ReadOnlyFilesystem => ": it is mounted read-only, as in a container",
            _ => "",
        };
        Error::Write {
            place: place.to_string(),
            hint,
            source,
        }
    }
}

impl System {
    /// The node with its files under `root`: `/` for the machine that this runs on, otherwise a
    /// copied tree. `own` is the program that runs this, for what has to outlive it.
    pub fn at(root: impl Into<PathBuf>, own: impl Into<PathBuf>) -> Self {
        let root: PathBuf = root.into();
        System {
            live: fs::canonicalize(&root).is_ok_and(|root| root == Path::new("/")),
            root,
            own: own.into(),
        }
    }

    /// True if this is the machine that this runs on.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The directory that stands for `/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path at which a path of the node is found.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file, without white space around it; `None` where it cannot be read.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        Some(self.whole_text(path)?.trim().to_string())
    }

    /// The same with all its lines.
    pub fn whole_text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The kernel's name for this boot.
    pub fn this_boot(&self) -> String {
        self.text("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
    }

    /// The version of the running kernel, `(6, 1)`; the oldest where it is not said.
    pub fn kernel(&self) -> (u32, u32) {
        let release = self.text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release
            .split(|c: char| !c.is_ascii_digit())
            .map(|digits| digits.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }

    /// True if there is something at `path`.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// The names in a directory, in order, numbers as numbers; none where there is no directory.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(path))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_by_cached_key(|name| {
            let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
            let prefix = name[..name.len() - digits.len()].to_string();
            (
                prefix,
                digits.parse::<u64>().unwrap_or(u64::MAX),
                name.clone(),
            )
        });
        names
    }

    /// The value at a place.
    ///
    /// # Errors
    /// It is there and cannot be read, or is of another form.
    pub fn read(&self, place: &Place) -> Result<Value, Error> {
        match place {
            Place::Kernel { path, form } => files::read_kernel(self, path, *form),
            Place::File { path } | Place::BootFile { path, .. } => files::read(self, path),
            Place::Directory { path } => Ok(self.path(path).is_dir().then(String::new)),
            _ if !self.live => Err(Error::Copied(place.to_string())),
            Place::Affinity {
                thread, started, ..
            } => tasks::read(self, *thread, *started),
            Place::Service { unit } => programs::read_service(unit),
            Place::Ethtool {
                interface,
                parameters,
            } => ethtool::read(interface, *parameters),
            Place::Swap { path } => Ok(programs::read_swap(self, path)),
            Place::WakeupLatency => Ok(latency::read(self)),
        }
    }

    /// Puts a value at a place; on the disk, where it is for longer than until a reboot.
    ///
    /// # Errors
    /// The system refuses. What stands there then is what stood there before.
    pub fn write(&self, place: &Place, value: &Value) -> Result<(), Error> {
        match place {
            Place::Kernel { path, form } => files::write_kernel(self, path, *form, value),
            Place::File { path } => files::write(self, path, value),
            Place::BootFile {
                path,
                loader,
                instead,
            } => {
                files::write(self, path, value)?;
                programs::make_boot_configuration(self, *loader, path, value, instead)
            }
            Place::Directory { path } => files::write_directory(self, path, value),
            _ if !self.live => Err(Error::Copied(place.to_string())),
            Place::Affinity {
                thread, started, ..
            } => tasks::write(self, *thread, *started, value),
            Place::Service { unit } => programs::write_service(unit, value),
            Place::Ethtool {
                interface,
                parameters,
            } => ethtool::write(interface, *parameters, value),
            Place::Swap { path } => programs::write_swap(self, path, value),
            Place::WakeupLatency => latency::write(self, value),
        }
    }

    /// The CPUs that are online.
    pub(crate) fn online(&self) -> CpuSet {
        let list = self.text("/sys/devices/system/cpu/online");
        list.unwrap_or_default().parse().unwrap_or_default()
    }

    /// The highest CPU that this node may have.
    pub(crate) fn last_cpu(&self) -> Cpu {
        let lists = ["possible", "present"].map(|name| {
            let list = self.text(format!("/sys/devices/system/cpu/{name}"));
            list.and_then(|list| list.parse::<CpuSet>().ok()?.last())
        });
        lists.into_iter().flatten().next().unwrap_or(0)
    }

    /// True if two values of a place come to the same. CPUs that are offline make no difference to a
    /// thread: newer kernels keep them in its mask, older ones do not.
    pub fn same(&self, place: &Place, a: &Value, b: &Value) -> bool {
        match (place, a, b) {
            (Place::Affinity { .. }, Some(a), Some(b)) => {
                let online = self.online();
                let [a, b] = [a, b].map(|list| list.parse().unwrap_or_default());
                CpuSet::and(&a, &online) == b.and(&online)
            }
            (Place::Kernel { form, .. }, Some(a), Some(b)) => form.same(a, b),
            _ => a == b,
        }
    }

    /// Whether a change from one value to another, interrupted or not finished yet, accounts for what is
    /// found.
    pub fn is_between(&self, place: &Place, old: &Value, new: &Value, found: &Value) -> bool {
        // Before the file is removed it says what comes to the same, while the configuration is made.
        if let (Place::BootFile { instead, .. }, None, Some(_)) = (place, old, found) {
            return found == instead;
        }
        let (Some(old), Some(new), Some(found)) = (old, new, found) else {
            return false;
        };
        match place {
            Place::Kernel {
                form: Form::Amount, ..
            } => {
                let [old, new, found] = [old, new, found].map(|text| text.parse::<u64>().ok());
                found >= old.min(new) && found <= old.max(new)
            }
            // Some of the parameters may have been set, and some adapters need a new link for that.
            Place::Ethtool { .. } => {
                let [old, new, found] =
                    [old, new, found].map(|text| text.split_whitespace().collect::<Vec<_>>());
                let known = |(index, word): (usize, &&str)| {
                    old.get(index) == Some(word) || new.get(index) == Some(word)
                };
                found.len() == old.len() && found.iter().enumerate().all(known)
            }
            _ => false,
        }
    }

    /// True if what is found is what a value becomes that is only disturbed by other changes: the cpuset
    /// controller gives a thread all CPUs of its cpuset, and a share of the highest clock is lowered
    /// with that.
    pub fn is_disturbed(&self, place: &Place, old: &Value, found: &Value) -> bool {
        match place {
            Place::Affinity { thread, .. } => {
                let allowed = tasks::allowed(self, *thread);
                allowed.is_some() && self.same(place, found, &allowed)
            }
            _ => {
                let number = |value: &Value| value.as_ref()?.parse::<u64>().ok();
                matches!((number(old), number(found)), (Some(old), Some(found)) if found < old)
            }
        }
    }

    /// The place of a file that may be written.
    ///
    /// # Errors
    /// It has no directory, or a link of a copied tree leads out of it.
    pub(crate) fn inside(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        files::inside(self, path.as_ref())
    }

    /// Removes what a write that was killed may have left beside a place.
    pub fn sweep(&self, place: &Place) {
        if let Place::Kernel { path, .. } | Place::File { path } | Place::BootFile { path, .. } =
            place
        {
            files::sweep(self, path);
        }
    }

    /// The threads of this node, kernel threads among them.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn threads(&self) -> Result<Vec<Thread>, Error> {
        tasks::all(self)
    }
}
