//! The result folder: what an experiment leaves behind, and resumes from.
//!
//! ```text
//! <name>-<UTC time>/
//!   experiment.yaml     the input, frozen
//!   environment.json    what was measured on
//!   runs.jsonl          a line for each attempt at a run, appended and synced
//!   samples/*.parquet   raw samples, nanoseconds
//!   tables/             what was injected: *.dist, *.recording, and what they were made from: fits.json, made.json
//!   merged.json         of a merged folder: where its runs come from
//!   pause               while no further run is to begin
//!   report/             made from the rest
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jitterlab_base::durable::{sweep, write_atomically};
use jitterlab_base::yaml::FileError;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::{major, minor};
use procfs::{LockKind, LockType};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::delays::{Delays, Made};
use crate::environment::Environment;
use crate::fit::Fit;
use crate::format;
use crate::pause;
use crate::record::{Outcome, Part, RunRecord};
use crate::samples::{self, SamplesError};
use crate::spec::Experiment;

const EXPERIMENT: &str = "experiment.yaml";
const ENVIRONMENT: &str = "environment.json";
const RUNS: &str = "runs.jsonl";
const SAMPLES: &str = "samples";
/// The folder of what was injected.
pub(crate) const TABLES: &str = "tables";
const FITS: &str = "tables/fits.json";
const MADE: &str = "tables/made.json";
const MERGED: &str = "merged.json";

/// A result folder that cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {action} {path}", path = path.display())]
    System {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A directory that is none.
    #[error("{path} is not a result folder: it has no experiment.yaml", path = path.display())]
    NotOne {
        /// The directory.
        path: PathBuf,
    },
    /// Somebody else has it.
    #[error("{path} is in use: another `jitterlab run` is writing it", path = path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file of it is not what it should be.
    #[error("{path}:{line}: this line was not written by this version of jitterlab", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The error of the reader.
        source: serde_json::Error,
    },
    /// Another version of jitterlab has made it.
    #[error(
        "{path} holds results of format {found}, and this jitterlab reads format {}: read them with the jitterlab that made \
         them, or measure anew",
        RunRecord::VERSION,
        path = path.display()
    )]
    Format {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The experiment that it was made from cannot be read any more.
    #[error(transparent)]
    Experiment(#[from] FileError),
    /// Samples of it cannot be read or written.
    #[error(transparent)]
    Samples(#[from] SamplesError),
}

fn system<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> StoreError + 'a {
    move |source| StoreError::System {
        action,
        path: path.into(),
        source,
    }
}

/// A result folder, to be read.
#[derive(Debug)]
pub struct ResultFolder {
    path: PathBuf,
    experiment: Experiment,
    experiment_file: String,
    attempts: Vec<RunRecord>,
}

impl ResultFolder {
    /// Reads a result folder: all but samples. A last line of `runs.jsonl` that was cut off while
    /// it was written is passed over.
    ///
    /// # Errors
    /// The directory is no result folder, or a file of it is missing or broken.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let frozen = path.join(EXPERIMENT);
        if !path.is_dir() {
            return Err(system("read result folder", path)(
                fs::read_dir(path)
                    .map(drop)
                    .err()
                    .unwrap_or_else(|| io::ErrorKind::NotADirectory.into()),
            ));
        }
        if !frozen.is_file() {
            return Err(StoreError::NotOne { path: path.into() });
        }
        let (experiment, experiment_file) = Experiment::load(&frozen)?;
        let runs = path.join(RUNS);
        let bytes = match fs::read(&runs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            other => other.map_err(system("read", &runs))?,
        };
        let lines = whole_lines(&bytes).split_inclusive(|&byte| byte == b'\n');
        let attempts = lines
            .enumerate()
            .map(|(i, line)| attempt(path, i + 1, line))
            .collect::<Result<_, _>>()?;
        Ok(ResultFolder {
            path: path.into(),
            experiment,
            experiment_file,
            attempts,
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The experiment.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The experiment file as it was frozen.
    pub fn experiment_file(&self) -> &str {
        &self.experiment_file
    }

    /// Every attempt at a run, in the order in which they ended.
    pub fn attempts(&self) -> &[RunRecord] {
        &self.attempts
    }

    /// The last attempt at each run that was tried, in the order of their names.
    pub fn records(&self) -> Vec<&RunRecord> {
        let mut last = BTreeMap::new();
        for record in &self.attempts {
            last.insert(&record.run, record);
        }
        last.into_values().collect()
    }

    /// The environment of the measurement.
    ///
    /// # Errors
    /// The file is missing or broken.
    pub fn environment(&self) -> Result<Environment, StoreError> {
        read_json(&self.path.join(ENVIRONMENT))
    }

    /// The delays that were injected, with their origin; none before they were made, or where
    /// nothing is injected.
    ///
    /// # Errors
    /// The file is broken.
    pub fn fits(&self) -> Result<Vec<Fit>, StoreError> {
        self.list(FITS)
    }

    /// The delays that were made for a mean and a standard deviation; none if there are none.
    ///
    /// # Errors
    /// The file is broken.
    pub fn made(&self) -> Result<Vec<Made>, StoreError> {
        self.list(MADE)
    }

    /// The folders that the runs of a merged folder come from; empty if the folder is not merged.
    ///
    /// # Errors
    /// The file is broken.
    pub fn parts(&self) -> Result<Vec<Part>, StoreError> {
        self.list(MERGED)
    }

    fn list<T: DeserializeOwned>(&self, file: &str) -> Result<Vec<T>, StoreError> {
        let path = self.path.join(file);
        match path.exists() {
            true => read_json(&path),
            false => Ok(Vec::new()),
        }
    }

    /// The table or the recording that was injected, by its file.
    ///
    /// # Errors
    /// The file is missing.
    pub fn delays(&self, file: &str) -> Result<Delays, StoreError> {
        let path = self.path.join(file);
        let bytes = fs::read(&path).map_err(system("read", &path))?;
        Ok(match path.extension() == Some("recording".as_ref()) {
            true => Delays::Recording(bytes),
            false => Delays::Table(bytes),
        })
    }

    /// The samples of a run in nanoseconds, in the order in which they were taken; none if it has
    /// none.
    ///
    /// # Errors
    /// The file is missing or broken.
    pub fn samples(&self, record: &RunRecord) -> Result<Vec<f64>, StoreError> {
        match &record.samples {
            Some(file) => Ok(samples::read(&self.path.join(file))?),
            None => Ok(Vec::new()),
        }
    }

    /// The samples of a run over MPI in nanoseconds, rank by rank, each rank's in the order in which they were taken;
    /// none if it has none.
    ///
    /// # Errors
    /// The file is missing or broken, or says nothing of ranks.
    pub fn rank_samples(&self, record: &RunRecord) -> Result<Vec<Vec<f64>>, StoreError> {
        match &record.samples {
            Some(file) => Ok(samples::read_ranks(&self.path.join(file))?),
            None => Ok(Vec::new()),
        }
    }
}

/// Reads a line of `runs.jsonl`, counted from 1.
fn attempt(folder: &Path, number: usize, line: &[u8]) -> Result<RunRecord, StoreError> {
    let broken = |source| StoreError::Broken {
        path: folder.join(RUNS),
        line: number,
        source,
    };
    let version = format::version(line).map_err(broken)?;
    if version != RunRecord::VERSION {
        return Err(StoreError::Format {
            path: folder.into(),
            found: version,
        });
    }
    serde_json::from_slice(line).map_err(broken)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let text = fs::read_to_string(path).map_err(system("read", path))?;
    serde_json::from_str(&text).map_err(|source| StoreError::Broken {
        path: path.into(),
        line: source.line(),
        source,
    })
}

/// The part that ends with a line's end: the rest was cut off, perhaps in the middle of a character.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte == b'\n');
    &bytes[..end.map_or(0, |end| end + 1)]
}

/// Syncs the entry of a directory in the one that it is in: without it, a cut of the power takes away what is in it.
fn sync_entry(path: &Path) -> Result<(), StoreError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let synced = File::open(parent).and_then(|parent| parent.sync_all());
    synced.map_err(system("sync", parent))
}

/// A result folder, to be filled; nobody else fills it meanwhile.
#[derive(Debug)]
pub struct Recorder {
    folder: ResultFolder,
    runs: Flock<File>,
}

impl Recorder {
    /// Makes a new result folder at `path`, which must not exist, for an experiment and the text
    /// that it was read from.
    ///
    /// # Errors
    /// The system refuses. What was made of it by then is left: it resumes as soon as it holds its experiment.
    pub fn create(path: &Path, text: &str) -> Result<Self, StoreError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(system("make directory", parent))?;
            sync_entry(parent)?;
        }
        fs::create_dir(path).map_err(system("make directory", path))?;
        sync_entry(path)?;
        let frozen = path.join(EXPERIMENT);
        write_atomically(&frozen, text.as_bytes()).map_err(system("write", &frozen))?;
        Recorder::resume(path)
    }

    /// Goes on with a folder. A line that was cut off is removed, and so are files that were.
    ///
    /// # Errors
    /// The folder is in use, is none, or is broken.
    pub fn resume(path: &Path) -> Result<Self, StoreError> {
        // A folder that is no result folder, or has another format, is not changed.
        ResultFolder::open(path)?;
        for directory in [SAMPLES, TABLES] {
            let directory = path.join(directory);
            fs::create_dir_all(&directory).map_err(system("make directory", &directory))?;
        }
        let file = path.join(RUNS);
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .map_err(system("open", &file))?;
        let mut runs = Flock::lock(opened, FlockArg::LockExclusiveNonblock).map_err(
            |(_, errno)| match errno {
                nix::errno::Errno::EWOULDBLOCK => StoreError::InUse { path: path.into() },
                errno => system("lock", &file)(errno.into()),
            },
        )?;
        for directory in [path.to_path_buf(), path.join(SAMPLES), path.join(TABLES)] {
            sweep(&directory).map_err(system("remove cut off files of", &directory))?;
        }
        // A user who goes on with a folder wants it to go on.
        pause::set(path, false).map_err(system("remove the pause of", path))?;
        let bytes = fs::read(&file).map_err(system("read", &file))?;
        let whole = whole_lines(&bytes).len() as u64;
        runs.set_len(whole)
            .and_then(|()| runs.seek(SeekFrom::End(0)))
            .map_err(system("repair", &file))?;
        Ok(Recorder {
            folder: ResultFolder::open(path)?,
            runs,
        })
    }

    /// The folder as it is now.
    pub fn folder(&self) -> &ResultFolder {
        &self.folder
    }

    /// Adds an attempt. Its samples, if it has any, are stored before it: a line that is there
    /// speaks of a file that is there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn record(&mut self, record: RunRecord) -> Result<(), StoreError> {
        let path = self.folder.path.join(RUNS);
        let mut line = to_json(&path, &record, false)?;
        line.push(b'\n');
        self.runs
            .write_all(&line)
            .and_then(|()| self.runs.sync_data())
            .map_err(system("write", &path))?;
        self.folder.attempts.push(record);
        Ok(())
    }

    /// Stores the samples of a run, a Parquet file as it came from the worker; gives its name
    /// relative to the folder.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_samples(&self, run: &str, parquet: &[u8]) -> Result<String, StoreError> {
        let name = format!("{SAMPLES}/{run}.parquet");
        let path = self.folder.path.join(&name);
        write_atomically(&path, parquet).map_err(system("write", &path))?;
        Ok(name)
    }

    /// Stores a distribution table; gives its name relative to the folder.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_table(&self, name: &str, text: &str) -> Result<String, StoreError> {
        self.store_delays(format!("{TABLES}/{name}.dist"), text.as_bytes())
    }

    /// Stores a recording; gives its path in the folder.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_recording(&self, name: &str, bytes: &[u8]) -> Result<String, StoreError> {
        self.store_delays(format!("{TABLES}/{name}.recording"), bytes)
    }

    fn store_delays(&self, name: String, bytes: &[u8]) -> Result<String, StoreError> {
        let path = self.folder.path.join(&name);
        write_atomically(&path, bytes).map_err(system("write", &path))?;
        Ok(name)
    }

    /// Stores what was made for a mean and a standard deviation. Tables are stored before it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_made(&self, made: &[Made]) -> Result<(), StoreError> {
        self.store_json(MADE, &made)
    }

    /// Stores what the tables were made from. Tables are stored before it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_fits(&self, fits: &[Fit]) -> Result<(), StoreError> {
        self.store_json(FITS, &fits)
    }

    /// Stores where the runs come from.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_parts(&self, parts: &[Part]) -> Result<(), StoreError> {
        self.store_json(MERGED, &parts)
    }

    /// Stores what is measured on.
    ///
    /// # Errors
    /// The system refuses.
    pub fn store_environment(&self, environment: &Environment) -> Result<(), StoreError> {
        self.store_json(ENVIRONMENT, environment)
    }

    fn store_json(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let path = self.folder.path.join(name);
        let bytes = to_json(&path, value, true)?;
        write_atomically(&path, &bytes).map_err(system("write", &path))
    }

    /// The number of times that a run was tried, and whether it is done.
    pub fn tried(&self, run: &str) -> (u32, bool) {
        let of_run = self.folder.attempts.iter().filter(|a| a.run == run);
        of_run.fold((0, false), |(tried, done), attempt| {
            (tried + 1, done || attempt.outcome == Outcome::Done)
        })
    }
}

fn to_json(path: &Path, value: &impl Serialize, pretty: bool) -> Result<Vec<u8>, StoreError> {
    let bytes = if pretty {
        serde_json::to_vec_pretty(value)
    } else {
        serde_json::to_vec(value)
    };
    bytes.map_err(|source| StoreError::Broken {
        path: path.into(),
        line: 0,
        source,
    })
}

/// The process that fills a result folder. It has its list of runs locked; the lock itself is not tried, for who comes to
/// fill the folder at that moment would find it taken.
pub fn who_fills(folder: &Path) -> Option<i32> {
    let list = folder.join(RUNS).canonicalize().ok()?;
    let file = fs::metadata(&list).ok()?;
    let device = (major(file.dev()), minor(file.dev()));
    let locks = procfs::locks().ok()?;
    let writers = locks.iter().filter(|lock| {
        lock.lock_type == LockType::FLock
            && matches!(lock.kind, LockKind::Write)
            && lock.inode == file.ino()
    });
    let is_it = |pid: &i32, lock_device: (u32, u32)| {
        let same = (device.0, device.1) == (u64::from(lock_device.0), u64::from(lock_device.1));
        // An overlay's device has another number for its files than for its locks.
        same || has_open(*pid, &list)
    };
    let mut pids = writers.filter_map(|lock| {
        let pid = lock.pid.filter(|&pid| pid > 0)?;
        is_it(&pid, (lock.devmaj, lock.devmin)).then_some(pid)
    });
    pids.next()
}

fn has_open(pid: i32, path: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| fs::read_link(file.path()).is_ok_and(|target| target == path))
}
