//! Several result folders of one experiment, merged into one: their blocks follow each other.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jitterlab_base::durable::write_atomically;
use thiserror::Error;

use crate::enough::begun;
use crate::environment::Environment;
use crate::record::Part;
use crate::store::{Recorder, ResultFolder, StoreError, TABLES, who_fills};

/// Folders that cannot be merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// One of them cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// They were made from different files.
    #[error("{a} and {b} hold different experiments: {difference}", a = a.display(), b = b.display())]
    Experiment {
        /// The first of the folders.
        a: PathBuf,
        /// One that differs.
        b: PathBuf,
        /// The line in which they differ.
        difference: String,
    },
    /// The delays that were injected into them differ.
    #[error(
        "{a} and {b} have different delays: {file} is not the same. Tables that imitate a load are fitted anew in each folder",
        a = a.display(), b = b.display()
    )]
    Delays {
        /// The first of the folders.
        a: PathBuf,
        /// One that differs.
        b: PathBuf,
        /// The table that does.
        file: String,
    },
    /// Their loads are shares of different bandwidths.
    #[error("{a} and {b} cannot be merged: their loads are shares of a bandwidth, and the two bandwidths differ by more than 5 %", a = a.display(), b = b.display())]
    Bandwidth {
        /// The first of the folders.
        a: PathBuf,
        /// One that differs.
        b: PathBuf,
    },
    /// Runs would count twice.
    #[error(
        "two of the named folders hold the same runs, those of {folder}; name only one of the two"
    )]
    Twice {
        /// The folder that they were measured into.
        folder: String,
    },
    /// There is something already.
    #[error("{path} already exists. Name a new folder for the merged results", path = path.display())]
    Exists {
        /// The place of the merged folder.
        path: PathBuf,
    },
    /// The merged folder cannot be written.
    #[error("cannot make {path}", path = path.display())]
    Make {
        /// The merged folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Merges result folders into a new one, and gives what its runs come from. A run is called after its block in the merged folder.
/// `into` appears when it is whole.
///
/// # Errors
/// A folder cannot be used or is still being filled; the experiments, the delays that were injected or the bandwidths differ; runs would
/// count
/// twice; `into` is there already or cannot be written. Then there is no `into`.
pub fn merge(folders: &[PathBuf], into: &Path) -> Result<Vec<Part>, MergeError> {
    if into.symlink_metadata().is_ok() {
        return Err(MergeError::Exists { path: into.into() });
    }
    let mut sources = Vec::new();
    for path in folders {
        sources.push(Source::open(path)?);
    }
    if let Some((first, others)) = sources.split_first() {
        for other in others {
            first.check(other)?;
        }
    }
    let parts = parts(&sources)?;
    let cannot = |source| MergeError::Make {
        path: into.into(),
        source,
    };
    let parent = match into.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // First of all: where there is no directory, the error should not name a temporary one.
    let opened = File::open(parent).map_err(cannot)?;
    let place = tempfile::Builder::new()
        .prefix(".jitterlab-")
        .tempdir_in(parent)
        .map_err(cannot)?;
    let made = place.path().join("merged");
    fill(&made, &sources, &parts)?;
    fs::rename(&made, into)
        .and_then(|()| opened.sync_all())
        .map_err(cannot)?;
    Ok(parts)
}

/// A folder that is merged.
struct Source {
    folder: ResultFolder,
    environment: Environment,
    /// The delays that were injected, by file.
    tables: BTreeMap<String, Vec<u8>>,
    parts: Vec<Part>,
}

impl Source {
    fn open(path: &Path) -> Result<Self, MergeError> {
        let folder = ResultFolder::open(path)?;
        if who_fills(path).is_some() {
            return Err(StoreError::InUse { path: path.into() }.into());
        }
        let environment = folder.environment()?;
        let mut parts = folder.parts()?;
        if parts.is_empty() {
            let name = path.canonicalize().ok();
            let name = name.as_deref().and_then(Path::file_name);
            parts.push(Part {
                folder: name.unwrap_or(path.as_os_str()).to_string_lossy().into(),
                started: environment.started.clone(),
                first_block: 1,
                last_block: begun(folder.experiment(), folder.attempts()),
            });
        }
        Ok(Source {
            tables: tables(&folder)?,
            folder,
            environment,
            parts,
        })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().into()
    }

    /// Whether the runs of another folder can be merged with those of this one.
    fn check(&self, other: &Source) -> Result<(), MergeError> {
        let (a, b) = (self.path(), other.path());
        let texts = [self, other].map(|it| it.folder.experiment_file());
        if let Some(difference) = first_difference(texts[0], texts[1]) {
            return Err(MergeError::Experiment { a, b, difference });
        }
        let names = self.tables.keys().chain(other.tables.keys());
        let mut differing = names.filter(|name| self.tables.get(*name) != other.tables.get(*name));
        if let Some(file) = differing.next().cloned() {
            return Err(MergeError::Delays { a, b, file });
        }
        match (self.environment.bandwidth, other.environment.bandwidth) {
            (Some(here), Some(there)) if !is_one_bandwidth(here, there) => {
                Err(MergeError::Bandwidth { a, b })
            }
            _ => Ok(()),
        }
    }

    /// The last block of its runs.
    fn blocks(&self) -> u32 {
        let last = self.parts.iter().map(|part| part.last_block).max();
        last.unwrap_or(0)
            .max(begun(self.folder.experiment(), self.folder.attempts()))
    }
}

fn tables(folder: &ResultFolder) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
    let mut tables = BTreeMap::new();
    let directory = folder.path().join(TABLES);
    if !directory.exists() {
        return Ok(tables);
    }
    let cannot = |path: &Path, source| StoreError::System {
        action: "read",
        path: path.into(),
        source,
    };
    for entry in fs::read_dir(&directory).map_err(|error| cannot(&directory, error))? {
        let path = entry.map_err(|error| cannot(&directory, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = fs::read(&path).map_err(|error| cannot(&path, error))?;
        tables.insert(format!("{TABLES}/{name}"), bytes);
    }
    Ok(tables)
}

/// The parts of all, with the blocks that they get.
fn parts(sources: &[Source]) -> Result<Vec<Part>, MergeError> {
    let mut parts: Vec<Part> = Vec::new();
    let mut seen = HashSet::new();
    let mut before = 0;
    for source in sources {
        for part in &source.parts {
            let attempts = source.folder.attempts().iter();
            let blocks = part.first_block..=part.last_block;
            for attempt in attempts.filter(|attempt| blocks.contains(&attempt.block)) {
                // The name of a copy is another one, and other folders may have begun at the same time.
                let begun = (
                    attempt.condition(),
                    &attempt.started,
                    attempt.seconds.to_bits(),
                );
                if !seen.insert(begun) {
                    return Err(MergeError::Twice {
                        folder: part.folder.clone(),
                    });
                }
            }
            parts.push(Part {
                first_block: part.first_block + before,
                last_block: part.last_block + before,
                ..part.clone()
            });
        }
        before += source.blocks();
    }
    Ok(parts)
}

/// Makes a result folder of all runs.
fn fill(path: &Path, sources: &[Source], parts: &[Part]) -> Result<(), StoreError> {
    let Some((first, others)) = sources.split_first() else {
        return Ok(());
    };
    let mut recorder = Recorder::create(path, first.folder.experiment_file())?;
    let mut environment = first.environment.clone();
    for other in others {
        let Environment {
            jitterlab,
            started,
            hosts,
            resumed,
            ..
        } = other.environment.clone();
        environment.resume(&jitterlab, started, hosts);
        environment.resumed.extend(resumed);
    }
    recorder.store_environment(&environment)?;
    for (name, bytes) in &first.tables {
        let file = path.join(name);
        write_atomically(&file, bytes).map_err(|source| StoreError::System {
            action: "write",
            path: file,
            source,
        })?;
    }
    recorder.store_parts(parts)?;
    let mut before = 0;
    for source in sources {
        for attempt in source.folder.attempts() {
            let mut record = attempt.clone();
            record.block += before;
            record.repetition = record.block;
            record.run = format!("{}.r{}", attempt.condition(), record.block);
            if let Some(file) = &attempt.samples {
                let from = source.folder.path().join(file);
                let bytes = fs::read(&from).map_err(|source| StoreError::System {
                    action: "read",
                    path: from,
                    source,
                })?;
                record.samples = Some(recorder.store_samples(&record.run, &bytes)?);
            }
            recorder.record(record)?;
        }
        before += source.blocks();
    }
    Ok(())
}

/// The first difference of two experiment files, for people; nothing if they are equal.
pub fn first_difference(a: &str, b: &str) -> Option<String> {
    if a == b {
        return None;
    }
    let (mut of_a, mut of_b) = (a.lines(), b.lines());
    (1..).find_map(|line| match (of_a.next(), of_b.next()) {
        (None, None) => Some("the end of the last line".into()),
        (a, b) if a == b => None,
        (a, b) => {
            let [a, b] =
                [a, b].map(|it| it.map_or("missing".into(), |it| format!("`{}`", it.trim())));
            Some(format!("line {line} is {a} in one and {b} in the other"))
        }
    })
}

/// True if loads that are shares of two bandwidths mean the same: to within 5 %.
pub fn is_one_bandwidth(a: f64, b: f64) -> bool {
    (a / b).max(b / a) <= 1.05
}
