//! The errors of an analysis.

use std::path::PathBuf;

use jitterlab_experiment::store::StoreError;
use jitterlab_injector::recording::RecordingError;
use jitterlab_injector::table::TableError;
use thiserror::Error as ThisError;

/// A result folder that cannot be analysed, or a report that cannot be written.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The folder, or a file of it, cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table that was injected cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A recording that was injected cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// No run was measured.
    #[error(
        "no run was measured{}",
        match failed {
            0 => "; `jitterlab run --resume` finishes an experiment".to_string(),
            n => format!(", {n} failed; `runs.jsonl` has the reasons"),
        }
    )]
    NothingMeasured {
        /// Runs that failed.
        failed: usize,
    },
    /// Figures that are no figures.
    #[error("cannot analyse the {what}")]
    Statistics {
        /// The samples or figures that are analysed.
        what: String,
        /// The fault of them.
        source: jitterlab_stats::Error,
    },
    /// A table cannot be put into CSV.
    #[error("cannot write table {id} as CSV")]
    Csv {
        /// Name of the table.
        id: &'static str,
        /// The error of the writer.
        source: csv::Error,
    },
    /// A file that an earlier report has left cannot be removed.
    #[error("cannot remove {path}, a file of an earlier report", path = path.display())]
    Remove {
        /// The file, or the directory of the report.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of the report cannot be written.
    #[error("cannot write {path}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
