//! Files of samples: Parquet as the store keeps them, CSV as people bring them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_injector::durable::write_atomically;
use parquet::basic::Encoding;
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use thiserror::Error;

/// A file of samples that cannot be used.
#[derive(Debug, Error)]
pub enum SamplesError {
    /// The system refused.
    #[error("cannot {action} samples {path}", path = path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line of a CSV file is not a sample.
    #[error("{path}:{line}: `{text}` is not a sample: one number of nanoseconds a line, from 0 to 1e18", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What it holds, shortened.
        text: String,
    },
    /// There is nothing in it.
    #[error("{path} holds no samples", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A Parquet file that is broken, or not of ours.
    #[error("{path} is not a Parquet file with one INT64 column of nanoseconds", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the reader found.
        source: ParquetError,
    },
}

/// The four bytes that a Parquet file begins and ends with.
const PARQUET_MAGIC: &[u8] = b"PAR1";
/// 31 years: what is longer was not measured, and squares of it would not be exact in any way.
const LONGEST_NS: f64 = 1e18;
/// Bytes. What goes on for longer is no text.
const LONGEST_LINE: u64 = 64 << 10;
const SCHEMA: &str = "message samples { required int64 ns; }";

/// Reads samples, in nanoseconds: a Parquet file as [`write`] writes it, or text with one number a
/// line, in which lines that begin with `#`, empty lines and a first line of words are passed over.
///
/// # Errors
/// The file cannot be read, holds no samples, or something that is not one: with its line.
pub fn read(path: &Path) -> Result<Vec<f64>, SamplesError> {
    let system = |source| SamplesError::System {
        action: "read",
        path: path.into(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(system)?);
    let samples = if file.fill_buf().map_err(system)?.starts_with(PARQUET_MAGIC) {
        read_parquet(path)?
    } else {
        read_text(path, file)?
    };
    if samples.is_empty() {
        return Err(SamplesError::Empty { path: path.into() });
    }
    Ok(samples)
}

fn read_text(path: &Path, mut file: impl BufRead) -> Result<Vec<f64>, SamplesError> {
    let mut samples = Vec::new();
    let mut header_allowed = true;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let mut rest = file.by_ref().take(LONGEST_LINE);
        let length = rest
            .read_until(b'\n', &mut line)
            .map_err(|source| SamplesError::System {
                action: "read",
                path: path.into(),
                source,
            })?;
        if length == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        match text.parse::<f64>() {
            Ok(value) if (0.0..=LONGEST_NS).contains(&value) => samples.push(value),
            _ if header_allowed && text.starts_with(|c: char| c.is_alphabetic()) => {}
            _ => {
                return Err(SamplesError::Line {
                    path: path.into(),
                    line: number,
                    text: text.escape_default().take(40).collect(),
                });
            }
        }
        header_allowed = false;
    }
    Ok(samples)
}

fn read_parquet(path: &Path) -> Result<Vec<f64>, SamplesError> {
    let broken = |source| SamplesError::Parquet {
        path: path.into(),
        source,
    };
    let system = |source| SamplesError::System {
        action: "read",
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(system)?;
    let length = file.metadata().map_err(system)?.len();
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let mut samples = Vec::new();
    for (i, group) in reader.metadata().row_groups().iter().enumerate() {
        let rows = rows(group, length).map_err(broken)?;
        let group = reader.get_row_group(i).map_err(broken)?;
        let parquet::column::reader::ColumnReader::Int64ColumnReader(mut column) =
            group.get_column_reader(0).map_err(broken)?
        else {
            return Err(broken(ParquetError::General(
                "the column is not INT64".into(),
            )));
        };
        // Not as large as the file says that it has to be: what says so may be damaged.
        let mut values: Vec<i64> = Vec::new();
        while values.len() < rows {
            let before = values.len();
            column
                .read_records(rows - before, None, None, &mut values)
                .map_err(broken)?;
            if values.len() == before {
                return Err(broken(ParquetError::EOF("the column ends early".into())));
            }
        }
        if let Some(ns) = values.iter().find(|&&ns| ns < 0) {
            let negative = format!("{ns} ns is less than no time");
            return Err(broken(ParquetError::General(negative)));
        }
        samples.extend(values.iter().map(|&ns| ns as f64));
    }
    Ok(samples)
}

/// How many samples there are in a group of a file of this length. The reader panics where the
/// footer of a damaged file says that they begin or end outside of it.
fn rows(group: &RowGroupMetaData, length: u64) -> Result<usize, ParquetError> {
    let [column] = group.columns() else {
        return Err(ParquetError::General("there is not one column".into()));
    };
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    let end = u64::try_from(start)
        .ok()
        .zip(u64::try_from(column.compressed_size()).ok())
        .and_then(|(start, size)| start.checked_add(size));
    match (end, usize::try_from(group.num_rows())) {
        (Some(end), Ok(rows)) if end <= length => Ok(rows),
        _ => Err(ParquetError::General(
            "the column lies outside of the file".into(),
        )),
    }
}

/// Writes samples (nanoseconds), all or nothing: as Parquet with the `notes` as its key-value
/// metadata, or as text if the name ends in `.csv`, the notes as comments.
///
/// # Errors
/// The system refuses; the file is then as it was.
pub fn write(path: &Path, samples: &[u64], notes: &[(&str, String)]) -> Result<(), SamplesError> {
    let bytes = if path.extension().is_some_and(|extension| extension == "csv") {
        to_text(samples, notes)
    } else {
        to_parquet(samples, notes).map_err(|source| SamplesError::Parquet {
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

fn to_text(samples: &[u64], notes: &[(&str, String)]) -> Vec<u8> {
    let mut text = String::new();
    for (key, value) in notes {
        text.push_str(&format!("# {key}: {value}\n"));
    }
    for ns in samples {
        text.push_str(&format!("{ns}\n"));
    }
    text.into_bytes()
}

/// Successive latencies differ little: stored as packed differences they take about two bytes each.
fn to_parquet(samples: &[u64], notes: &[(&str, String)]) -> Result<Vec<u8>, ParquetError> {
    let notes = notes
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_string(), value.clone()))
        .collect();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_key_value_metadata(Some(notes))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let values: Vec<i64> = samples
        .iter()
        .map(|&ns| i64::try_from(ns).unwrap_or(i64::MAX))
        .collect();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    while let Some(mut column) = group.next_column()? {
        column
            .typed::<Int64Type>()
            .write_batch(&values, None, None)?;
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
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
            let read: Vec<u64> = read(&path).unwrap().into_iter().map(|x| x as u64).collect();
            prop_assert_eq!(read, samples);
        }
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
            // Of some bits nobody can tell: those of a name, of a sample.
            match read(&path) {
                Ok(samples) => assert!(samples.iter().all(|&ns| ns >= 0.0)),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > whole.len());
    }

    #[test]
    fn negative_samples_are_refused_in_parquet_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.parquet");
        let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
        let file = File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<Int64Type>();
        typed.write_batch(&[1, -2], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let SamplesError::Parquet { source, .. } = read(&path).unwrap_err() else {
            panic!("another error");
        };
        assert!(source.to_string().contains("-2 ns"), "{source}");
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
        assert!(refused(b"nan\n1\ninf\n").contains(":3: `inf`"));
        assert!(refused(b"1\n2\n3\n1e306\n").contains(":4: `1e306`"));
        let endless = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(endless.starts_with("/dev/zero:1: `"), "{endless}");
        assert!(refused(b"PAR1 and no more").contains("is not a Parquet file"));
        let mut parquet = to_parquet(&[1, 2, 3], &[]).unwrap();
        parquet.truncate(parquet.len() - 5);
        assert!(refused(&parquet).contains("is not a Parquet file"));
        std::fs::write(&path, "rtt_ns\n1\n\n2.5\n").unwrap();
        assert_eq!(read(&path).unwrap(), [1.0, 2.5]);
    }
}
