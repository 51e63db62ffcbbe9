//! Reading a node's /sys and /proc, or a copy of them. Paths are relative to the root: `sys/class/net`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::Error;
use crate::cpus::CpuSet;

/// The directory of the CPUs.
pub(super) const CPU: &str = "sys/devices/system/cpu";

pub(super) struct Tree {
    /// Without links, so that what lies below can be told from what does not.
    root: PathBuf,
}

impl Tree {
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        match root.canonicalize() {
            Ok(root) => Ok(Tree { root }),
            Err(source) => Err(unreadable(root.into(), source)),
        }
    }

    /// The path as a person would look for it.
    pub(super) fn shown(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The content of a file, without the white space around; none if the kernel does not say. An
    /// empty file is what a copy has of one that could not be read.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, Error> {
        let Some(file) = self.located(path)? else {
            return Ok(None);
        };
        match fs::read_to_string(&file) {
            Ok(text) => Ok(Some(text.trim().into()).filter(|text: &String| !text.is_empty())),
            Err(error) if says_nothing(&error) => Ok(None),
            Err(source) => Err(unreadable(file, source)),
        }
    }

    /// A file's content as `parse` understands it; what it does not understand is an error.
    pub(super) fn value<T>(
        &self,
        path: &str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.text(path)? else {
            return Ok(None);
        };
        match parse(&text) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::Nonsense {
                path: self.shown(path),
                text,
                expected,
            }),
        }
    }

    pub(super) fn number(&self, path: &str) -> Result<Option<u64>, Error> {
        self.value(path, "a number", |text| text.parse().ok())
    }

    /// The number of a thing; the kernel says -1 for one that it does not know.
    pub(super) fn id(&self, path: &str) -> Result<Option<u32>, Error> {
        let id = self.value(path, "a number, or -1", |text| match text {
            "-1" => Some(None),
            text => text.parse().ok().map(Some),
        })?;
        Ok(id.flatten())
    }

    pub(super) fn cpus(&self, path: &str) -> Result<Option<CpuSet>, Error> {
        self.value(path, "a list of CPUs", |text| match text {
            // Kernels before 6.9 print the pointer that is not there.
            "(null)" => Some(CpuSet::new()),
            text => text.parse().ok(),
        })
    }

    /// The names in a folder, sorted; none if there is no such folder.
    pub(super) fn names(&self, path: &str) -> Result<Vec<String>, Error> {
        let Some(folder) = self.located(path)? else {
            return Ok(Vec::new());
        };
        let names = || -> io::Result<Vec<String>> {
            let entries = fs::read_dir(&folder)?;
            let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            names.collect()
        };
        match names() {
            Ok(mut names) => {
                names.sort();
                Ok(names)
            }
            Err(error) if says_nothing(&error) => Ok(Vec::new()),
            Err(source) => Err(unreadable(folder, source)),
        }
    }

    /// The target of a path when all its links are followed; none if it leads nowhere.
    pub(super) fn resolved(&self, path: &str) -> Result<Option<String>, Error> {
        let located = self.located(path)?;
        let below = located
            .as_deref()
            .and_then(|path| path.strip_prefix(&self.root).ok());
        Ok(below.map(|path| path.to_string_lossy().into_owned()))
    }

    /// The last part of what a link points to, whether or not that is there.
    pub(super) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.root.join(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// The path without links. A link of a copy that leads out of the copy leads nowhere: what is
    /// there belongs to another node.
    fn located(&self, path: &str) -> Result<Option<PathBuf>, Error> {
        let path = self.root.join(path);
        match path.canonicalize() {
            Ok(path) => Ok(Some(path).filter(|path| path.starts_with(&self.root))),
            Err(error) if says_nothing(&error) => Ok(None),
            Err(source) => Err(unreadable(path, source)),
        }
    }
}

/// True if this is how a kernel, a driver or a container says that it has nothing to say: the speed of
/// an interface that is down, for one, is `EINVAL`.
fn says_nothing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(
        errno,
        Some(
            Errno::ENOENT
                | Errno::ENOTDIR
                | Errno::EINVAL
                | Errno::EOPNOTSUPP
                | Errno::ENODEV
                | Errno::ENXIO
                | Errno::EIO
                | Errno::EACCES
                | Errno::EPERM
        )
    )
}

fn unreadable(path: PathBuf, source: io::Error) -> Error {
    Error::Unreadable { path, source }
}
