//! The changes, and the values before: on the disk before a change is made.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::profile::Profile;
use crate::system::{Place, System, Value};

/// The directory in which it is kept on a node.
const DIRECTORY: &str = "/var/lib/jitterlab";
const FILE: &str = "/var/lib/jitterlab/tuning.journal";

/// The errors of a journal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refuses.
    #[error("cannot {what} {path}{hint}")]
    Io {
        /// The action that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The advice about it, or nothing.
        hint: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has it.
    #[error("another `jitterlab tune` is at work on this node: {0} is locked")]
    Busy(PathBuf),
    /// A line is not one of ours.
    #[error("{path}, line {line}, is not what `tune apply` writes; nothing was changed")]
    Strange {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The fault of it.
        source: serde_json::Error,
    },
}

/// The request of an `apply`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// The version of jitterlab.
    pub version: String,
    /// The division of the CPUs.
    pub plan: Plan,
    /// The settings that were asked for, by this or an earlier `apply`, and in which set.
    pub settings: BTreeMap<String, Profile>,
}

/// A value that was changed, or was about to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The setting that wanted it.
    pub setting: String,
    /// The place.
    pub place: Place,
    /// The value before.
    pub old: Value,
    /// The value that was to be written.
    pub new: Value,
    /// The boot in which this was.
    pub boot: String,
    /// True if the value was to stay, and only disturbed by what else the setting changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// A value that the system did not take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The setting that wanted it.
    pub setting: String,
    /// The place.
    pub place: Place,
    /// The answer of the system.
    pub reason: String,
    /// The boot in which this was.
    pub boot: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum Record {
    Applied(Applied),
    Change(Change),
    Refused(Refusal),
}

/// The journal of a node.
#[derive(Debug, Default)]
pub struct Journal {
    /// The request of the last `apply`.
    pub applied: Option<Applied>,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
    /// The changes that were refused.
    pub refused: Vec<Refusal>,
}

/// A journal that is being written, by nobody else.
#[derive(Debug)]
pub struct Writer<'a> {
    system: &'a System,
    file: Flock<File>,
    /// The journal in the file.
    pub journal: Journal,
}

impl Journal {
    /// Reads the journal of a node; empty where there is none.
    ///
    /// # Errors
    /// It cannot be read, or is not one.
    pub fn read(system: &System) -> Result<Self, Error> {
        match fs::read(system.path(FILE)) {
            Ok(bytes) => Journal::parse(&bytes, FILE.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Journal::default()),
            Err(error) => Err(failed("read", error)),
        }
    }

    /// The refusals of a setting in this boot, the last first.
    pub fn refusals(&self, setting: &str, boot: &str) -> impl Iterator<Item = &Refusal> {
        let is_meant = move |refusal: &&Refusal| refusal.setting == setting && refusal.boot == boot;
        self.refused.iter().rev().filter(is_meant)
    }

    /// True if a value stands that was changed for a setting: in this boot, or where it outlives one.
    pub fn stands(&self, setting: &str, boot: &str) -> bool {
        let taken = |change: &Change| {
            let mut refusals = self.refusals(setting, boot);
            refusals.all(|refusal| refusal.place != change.place)
        };
        self.changes.iter().any(|change| {
            change.setting == setting
                && (change.boot == boot || change.place.survives_reboot())
                && taken(change)
        })
    }

    /// The number of bytes in whole lines. A last line that is cut off, or that a power cut has
    /// left as zeros, is none: its change was never begun.
    fn whole(bytes: &[u8]) -> usize {
        let written = bytes
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(bytes.len());
        bytes[..written]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |end| end + 1)
    }

    fn parse(bytes: &[u8], path: PathBuf) -> Result<Self, Error> {
        let mut journal = Journal::default();
        let whole = Journal::whole(bytes);
        for (index, line) in bytes[..whole].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(Record::Applied(applied)) => journal.applied = Some(applied),
                Ok(Record::Change(change)) => journal.changes.push(change),
                Ok(Record::Refused(refusal)) => journal.refused.push(refusal),
                Err(source) => {
                    return Err(Error::Strange {
                        path,
                        line: index + 1,
                        source,
                    });
                }
            }
        }
        Ok(journal)
    }

    fn text(&self) -> Result<String, Error> {
        let applied = self.applied.iter().cloned().map(Record::Applied);
        let changes = self.changes.iter().cloned().map(Record::Change);
        let changes = changes.chain(self.refused.iter().cloned().map(Record::Refused));
        applied.chain(changes).map(|record| line(&record)).collect()
    }
}

impl<'a> Writer<'a> {
    /// Opens the journal of a node, which is made where there is none.
    ///
    /// # Errors
    /// It cannot be, it is not one, or another process has it.
    pub fn open(system: &'a System) -> Result<Self, Error> {
        let made = fs::create_dir_all(system.path(DIRECTORY));
        let path = made
            .and_then(|()| system.inside(FILE))
            .map_err(|error| failed("make the directory of", error))?;
        let file = lock(&path)?;
        system.sweep(&place());
        let bytes = fs::read(&path).map_err(|error| failed("read", error))?;
        let journal = Journal::parse(&bytes, FILE.into())?;
        // The next line must not become part of one that was cut off.
        file.set_len(Journal::whole(&bytes) as u64)
            .map_err(|error| failed("write", error))?;
        sync_directory(system)?;
        Ok(Writer {
            system,
            file,
            journal,
        })
    }

    /// Says what is applied from here on.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn applied(&mut self, applied: Applied) -> Result<(), Error> {
        if self.journal.applied.as_ref() == Some(&applied) {
            return Ok(());
        }
        self.append(&line(&Record::Applied(applied.clone()))?)?;
        self.journal.applied = Some(applied);
        Ok(())
    }

    /// Keeps what is about to be changed. When this returns, it is on the disk.
    ///
    /// # Errors
    /// It cannot be written. Nothing may be changed then.
    pub fn keep(&mut self, changes: &[Change]) -> Result<(), Error> {
        let lines: Result<String, Error> = changes
            .iter()
            .cloned()
            .map(|change| line(&Record::Change(change)))
            .collect();
        self.append(&lines?)?;
        self.journal.changes.extend_from_slice(changes);
        Ok(())
    }

    /// Keeps what the system did not take, so that it is known later.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn refused(&mut self, refusal: Refusal) -> Result<(), Error> {
        if !self.journal.refused.contains(&refusal) {
            self.append(&line(&Record::Refused(refusal.clone()))?)?;
            self.journal.refused.push(refusal);
        }
        Ok(())
    }

    fn append(&mut self, lines: &str) -> Result<(), Error> {
        self.file
            .write_all(lines.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| failed("write", error))
    }

    /// Ends a revert: `left` is what could not be put back. Without any the journal goes away.
    ///
    /// # Errors
    /// It cannot be written or removed.
    pub fn finish(mut self, left: Vec<Change>) -> Result<(), Error> {
        if let Some(applied) = &mut self.journal.applied {
            // All that want a kernel parameter share a file.
            let of = |change: &Change, name: &str| {
                change.setting == name || matches!(change.place, Place::BootFile { .. })
            };
            applied
                .settings
                .retain(|name, _| left.iter().any(|change| of(change, name)));
        }
        self.journal.changes = left;
        let content = match self.journal.changes.is_empty() {
            true => None,
            false => Some(self.journal.text()?),
        };
        let written = self.system.write(&place(), &content);
        written.map_err(|error| failed("write", io::Error::other(error)))?;
        if content.is_none() {
            // Other things may be kept there.
            let _ = fs::remove_dir(self.system.path(DIRECTORY));
        }
        Ok(())
    }
}

/// Opens the journal for this process alone.
fn lock(path: &Path) -> Result<Flock<File>, Error> {
    loop {
        let opened = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path);
        let file = opened.map_err(|error| failed("open", error))?;
        let file =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(
                |(_, errno)| match errno {
                    Errno::EWOULDBLOCK => Error::Busy(FILE.into()),
                    errno => failed("lock", errno.into()),
                },
            )?;
        // The process that had it before may have put another file in its place.
        let inode =
            |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
        if inode(file.metadata()) == inode(fs::metadata(path)) {
            return Ok(file);
        }
    }
}

fn place() -> Place {
    Place::File { path: FILE.into() }
}

fn line(record: &Record) -> Result<String, Error> {
    let mut line = serde_json::to_string(record).map_err(|error| failed("write", error.into()))?;
    line.push('\n');
    Ok(line)
}

fn failed(what: &'static str, source: io::Error) -> Error {
    let hint = match source.kind() {
        io::ErrorKind::PermissionDenied => "; this needs root",
        _ => "",
    };
    Error::Io {
        what,
        path: FILE.into(),
        hint,
        source,
    }
}

fn sync_directory(system: &System) -> Result<(), Error> {
    // The directory's own name has to be on the disk as well.
    for directory in [DIRECTORY, "/var/lib"] {
        File::open(system.path(directory))
            .and_then(|directory| directory.sync_all())
            .map_err(|error| failed("write", error))?;
    }
    Ok(())
}
