//! Files of samples: Parquet as the store keeps them and as others write it, CSV as people bring it.

mod arrow;
mod parquet;
mod text;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use ::parquet::errors::ParquetError;
use jitterlab_base::durable::write_atomically;
use jitterlab_base::input::{Source, open, shortened};
use thiserror::Error;

pub use parquet::{ranks_to_parquet, read_ranks};
pub use text::ranks_of_text;

/// A file of samples that cannot be used.
#[derive(Debug, Error)]
pub enum SamplesError {
    /// The system refused.
    #[error("cannot {action} samples {path}", path = path.display())]
    System {
        /// The action that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Something in a line of a CSV file, or a row of a Parquet file, is not a sample.
    #[error("{path}:{line}: {problem}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line or row, counted from 1.
        line: usize,
        /// The problem, and what was expected.
        problem: String,
    },
    /// There is nothing in it.
    #[error("{path} holds no samples", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Its columns are not those that are needed.
    #[error("{path}: {problem}", path = path.display())]
    Columns {
        /// The file.
        path: PathBuf,
        /// The problem, and the columns that there are.
        problem: String,
    },
    /// A Parquet file that is broken.
    #[error("{path} cannot be read as a Parquet file", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error of the reader.
        source: ParquetError,
    },
}

/// 31 years: what is longer was not measured, and squares of it would not be exact in any way.
const LONGEST_NS: f64 = 1e18;

/// Reads samples, in nanoseconds: of a Parquet file, or of text with a line for each. Of several columns, that is read
/// which stands behind a colon, `FILE:COLUMN`, by its name or its number; or else the one called `ns`, as in the files
/// that [`write`] and [`ranks_to_parquet`] make.
///
/// # Errors
/// The file cannot be read, holds no samples, or something that is not one: with its line.
pub fn read(path: &Path) -> Result<Vec<f64>, SamplesError> {
    let (path, column) = Column::of(path);
    let system = |source| SamplesError::System {
        action: "read",
        path: path.clone(),
        source,
    };
    let file = open(&path, Source::Any).map_err(system)?;
    let is_file = file.metadata().map_err(system)?.is_file();
    let mut file = BufReader::new(file);
    let is_parquet = file.fill_buf().map_err(system)?.starts_with(parquet::MAGIC);
    let samples = if is_parquet && is_file {
        parquet::read(&path, &column)?
    } else if is_parquet || path.extension().is_some_and(|name| name == "parquet") {
        return Err(SamplesError::Columns {
            path,
            problem: match is_parquet {
                true => "a Parquet file is read from a file, not from a pipe".into(),
                false => "this is not a Parquet file: it does not begin with PAR1".into(),
            },
        });
    } else {
        text::read(&path, &column, file)?
    };
    if samples.is_empty() {
        return Err(SamplesError::Empty { path });
    }
    Ok(samples)
}

/// The note of a file of round trips that says how messages followed each other: `closed` or `open`.
pub const LOOP: &str = "loop";

/// The note of the file of samples under a key, as [`write`] makes it; none where it is no file, or has no such note.
pub fn note(path: &Path, key: &str) -> Option<String> {
    let (path, _) = Column::of(path);
    let file = open(&path, Source::File).ok()?;
    let mut file = BufReader::new(file);
    match file.fill_buf().ok()?.starts_with(parquet::MAGIC) {
        true => parquet::note(&path, key),
        false => text::note(file, key),
    }
}

/// The column of a file that has the samples.
enum Column {
    /// The only one, or the one called `ns`.
    Any,
    /// The one of this name or number.
    Named(String),
}

impl Column {
    /// The file and the column that are named. Where there is a file with the colon in its name, that is meant.
    fn of(named: &Path) -> (PathBuf, Self) {
        let whole = || (named.to_path_buf(), Column::Any);
        let Some(text) = named.to_str().filter(|_| !named.exists()) else {
            return whole();
        };
        let parts = text.rmatch_indices(':').map(|(at, _)| text.split_at(at));
        let mut parts = parts.filter(|(file, _)| Path::new(file).exists());
        parts.next().map_or_else(whole, |(file, column)| {
            (file.into(), Column::Named(column[1..].into()))
        })
    }

    /// The number of that column among these, from 0; an error for people, if there is none.
    fn choose(&self, names: &[String]) -> Result<usize, String> {
        match self {
            Column::Any if names.len() == 1 => Ok(0),
            Column::Any => names.iter().position(|name| name == "ns").ok_or_else(|| {
                format!(
                    "there are several columns, {}; name one behind the file, as in FILE:{}",
                    list(names),
                    names.last().map_or("", String::as_str)
                )
            }),
            Column::Named(column) => {
                let number = || column.parse::<usize>().ok()?.checked_sub(1);
                let by_name = names.iter().position(|name| name == column);
                let chosen = by_name.or_else(|| number().filter(|&number| number < names.len()));
                chosen.ok_or_else(|| {
                    format!(
                        "there is no column `{}`; there are {}",
                        shortened(column),
                        list(names)
                    )
                })
            }
        }
    }
}

fn list(names: &[String]) -> String {
    /// A user with more of them knows them from the file.
    const MOST: usize = 20;
    let mut quoted: Vec<String> = names
        .iter()
        .take(MOST + 1)
        .map(|name| format!("`{}`", shortened(name)))
        .collect();
    if quoted.len() > MOST {
        quoted[MOST] = "others".into();
    }
    quoted.join(", ")
}

/// Writes samples (nanoseconds), all or nothing: as Parquet with the `notes` as its key-value
/// metadata, or as text if the name ends in `.csv`, the notes as comments.
///
/// # Errors
/// The system refuses; the file is then as it was.
pub fn write(path: &Path, samples: &[u64], notes: &[(&str, String)]) -> Result<(), SamplesError> {
    let bytes = if path.extension().is_some_and(|extension| extension == "csv") {
        text::to_text(samples, notes)
    } else {
        parquet::to_parquet(samples, notes).map_err(|source| SamplesError::Parquet {
            path: path.into(),
            source,
        })?
    };
    write_atomically(path, &bytes).map_err(|source| SamplesError::System {
        action: "write",
        path: path.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::parquet::to_parquet;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            samples in proptest::collection::vec(0u64..1 << 50, 1..400), csv in any::<bool>()
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(if csv { "s.csv" } else { "s.parquet" });
            write(&path, &samples, &[("meaning", "RTT".into())]).unwrap();
            prop_assert_eq!(note(&path, "meaning"), Some("RTT".to_string()));
            prop_assert_eq!(note(&path, LOOP), None);
            let read: Vec<u64> = read(&path).unwrap().into_iter().map(|x| x as u64).collect();
            prop_assert_eq!(read, samples);
        }
    }

    #[test]
    fn every_rank_has_its_samples_and_together_they_are_read_as_any() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.parquet");
        let text = "# barrier\n# rank 0\n5\n7\n# rank 1\n6\n";
        let ranks = ranks_of_text(text).unwrap();
        assert_eq!(ranks, [vec![5, 7], vec![6]]);
        std::fs::write(&path, ranks_to_parquet(&ranks).unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), [5.0, 7.0, 6.0]);
        assert_eq!(read_ranks(&path).unwrap(), [vec![5.0, 7.0], vec![6.0]]);
        for wrong in ["5\n", "# rank 0\n-1\n", "# rank 0\n\n"] {
            assert!(ranks_of_text(wrong).is_err(), "{wrong}");
        }
        write(&path, &[5], &[]).unwrap();
        assert!(read_ranks(&path).is_err());
    }

    #[test]
    fn a_damaged_footer_is_an_error_whichever_bit_of_it_is_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.parquet");
        let whole = to_parquet(&[5, 7, 6], &[("meaning", "RTT".into())]).unwrap();
        let mut refused = 0;
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, damaged).unwrap();
            // Nobody can tell that some bits have changed: those of a name, of a sample.
            match read(&path) {
                Ok(samples) => assert!(samples.iter().all(|&ns| ns >= 0.0)),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > whole.len());
    }

    #[test]
    fn what_is_not_samples_is_refused_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.csv");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(refused(b"").ends_with("holds no samples"));
        assert!(refused(b"rtt_ns\n# nothing\n").ends_with("holds no samples"));
        assert!(refused(b"1\n2\nx\n").contains(":3: `x` is not a sample"));
        assert!(refused(b"1\n-2\n").contains(":2: `-2`"));
        assert!(refused(b"nan\n1\ninf\n").contains(":1: `nan`"));
        assert!(refused(b"1\ninf\n").contains(":2: `inf`"));
        assert!(refused(b"1\n2\n3\n1e306\n").contains(":4: `1e306`"));
        let endless = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(endless.starts_with("/dev/zero:1: `"), "{endless}");
        assert!(refused(b"PAR1 and no more").contains("cannot be read as a Parquet file"));
        let mut parquet = to_parquet(&[1, 2, 3], &[]).unwrap();
        parquet.truncate(parquet.len() - 5);
        assert!(refused(&parquet).contains("cannot be read as a Parquet file"));
        std::fs::write(&path, "rtt_ns\n1\n\n2.5\n").unwrap();
        assert_eq!(read(&path).unwrap(), [1.0, 2.5]);
    }
}
