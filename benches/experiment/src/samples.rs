//! Files of samples: Parquet as the store keeps them, CSV as people bring them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jitterlab_injector::durable::write_atomically;
use parquet::basic::Encoding;
use parquet::column::reader::ColumnReader;
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
    #[error("{path} is not a Parquet file with an INT64 column of nanoseconds, after one of ranks if it has them", path = path.display())]
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
const RANKS_SCHEMA: &str = "message samples { required int64 rank; required int64 ns; }";

/// Reads samples, in nanoseconds: a Parquet file as [`write`] or [`ranks_to_parquet`] makes it, of
/// all ranks then, or text with one number a line, in which lines that begin with `#`, empty lines
/// and a first line of words are passed over.
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
                    text: text
                        .replace(char::is_control, "\u{fffd}")
                        .chars()
                        .take(40)
                        .collect(),
                });
            }
        }
        header_allowed = false;
    }
    Ok(samples)
}

/// Reads the samples of every rank, in nanoseconds, by rank: a file that [`ranks_to_parquet`] made.
///
/// # Errors
/// The file cannot be read, or is no such file.
pub fn read_ranks(path: &Path) -> Result<Vec<Vec<f64>>, SamplesError> {
    let mut columns = read_columns(path)?;
    let ns = columns.pop().unwrap_or_default();
    let Some(numbers) = columns.pop() else {
        let none = ParquetError::General("there is no column of ranks".into());
        return Err(broken(path)(none));
    };
    let mut ranks: Vec<Vec<f64>> = Vec::new();
    let mut last = None;
    for (rank, ns) in numbers.into_iter().zip(ns) {
        if last != Some(rank) {
            last = Some(rank);
            ranks.push(Vec::new());
        }
        if let Some(samples) = ranks.last_mut() {
            samples.push(ns as f64);
        }
    }
    Ok(ranks)
}

fn read_parquet(path: &Path) -> Result<Vec<f64>, SamplesError> {
    let ns = read_columns(path)?.pop().unwrap_or_default();
    Ok(ns.into_iter().map(|ns| ns as f64).collect())
}

fn broken(path: &Path) -> impl Fn(ParquetError) -> SamplesError + '_ {
    move |source| SamplesError::Parquet {
        path: path.into(),
        source,
    }
}

/// The columns of a Parquet file: one, or one of ranks before it. No number of them is negative.
fn read_columns(path: &Path) -> Result<Vec<Vec<i64>>, SamplesError> {
    let broken = broken(path);
    let system = |source| SamplesError::System {
        action: "read",
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(system)?;
    let length = file.metadata().map_err(system)?.len();
    let reader = SerializedFileReader::new(file).map_err(&broken)?;
    let metadata = reader.metadata();
    let mut columns = vec![Vec::new(); metadata.file_metadata().schema_descr().num_columns()];
    if !(1..=2).contains(&columns.len()) {
        let many = format!("there are {} columns", columns.len());
        return Err(broken(ParquetError::General(many)));
    }
    for (i, group) in metadata.row_groups().iter().enumerate() {
        let rows = rows(group, columns.len(), length).map_err(&broken)?;
        let group = reader.get_row_group(i).map_err(&broken)?;
        for (j, values) in columns.iter_mut().enumerate() {
            let ColumnReader::Int64ColumnReader(mut column) =
                group.get_column_reader(j).map_err(&broken)?
            else {
                return Err(broken(ParquetError::General(
                    "the column is not INT64".into(),
                )));
            };
            // Not as large as the file says that it has to be: what says so may be damaged.
            let end = values.len() + rows;
            while values.len() < end {
                let before = values.len();
                column
                    .read_records(end - before, None, None, values)
                    .map_err(&broken)?;
                if values.len() == before {
                    return Err(broken(ParquetError::EOF("the column ends early".into())));
                }
            }
            if let Some(number) = values.iter().find(|&&number| number < 0) {
                let negative = format!("{number} is less than nothing");
                return Err(broken(ParquetError::General(negative)));
            }
        }
    }
    Ok(columns)
}

/// How many samples there are in a group of a file of this length. The reader panics where the
/// footer of a damaged file says that they begin or end outside of it.
fn rows(group: &RowGroupMetaData, columns: usize, length: u64) -> Result<usize, ParquetError> {
    if group.columns().len() != columns {
        return Err(ParquetError::General("columns are missing".into()));
    }
    let ends = group.columns().iter().map(|column| {
        let start = column
            .dictionary_page_offset()
            .unwrap_or(column.data_page_offset());
        u64::try_from(start)
            .ok()
            .zip(u64::try_from(column.compressed_size()).ok())
            .and_then(|(start, size)| start.checked_add(size))
    });
    let inside = ends
        .into_iter()
        .all(|end| end.is_some_and(|end| end <= length));
    match usize::try_from(group.num_rows()) {
        Ok(rows) if inside => Ok(rows),
        _ => Err(ParquetError::General(
            "a column lies outside of the file".into(),
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
    let ns: Vec<i64> = samples.iter().map(|&ns| stored(ns)).collect();
    columns_to_parquet(SCHEMA, &[ns], notes)
}

/// The samples of every rank (nanoseconds), by rank, as a Parquet file with a column of ranks and
/// one of nanoseconds: rank after rank, each rank's in the order in which they were taken.
///
/// # Errors
/// The writer refuses.
pub fn ranks_to_parquet(ranks: &[Vec<u64>]) -> Result<Vec<u8>, ParquetError> {
    let of_ranks = || ranks.iter().zip(0i64..);
    let numbers = of_ranks().flat_map(|(samples, rank)| samples.iter().map(move |_| rank));
    let ns = ranks.iter().flatten().map(|&ns| stored(ns));
    columns_to_parquet(RANKS_SCHEMA, &[numbers.collect(), ns.collect()], &[])
}

fn stored(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn columns_to_parquet(
    schema: &str,
    columns: &[Vec<i64>],
    notes: &[(&str, String)],
) -> Result<Vec<u8>, ParquetError> {
    let notes = notes
        .iter()
        .map(|(key, value)| KeyValue::new((*key).to_string(), value.clone()))
        .collect();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_key_value_metadata(Some(notes))
        .build();
    let schema = Arc::new(parse_message_type(schema)?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for values in columns {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General("the schema has fewer columns".into()));
        };
        column
            .typed::<Int64Type>()
            .write_batch(values, None, None)?;
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// The samples of every rank that measured, as `jitterlab-mpi library --samples` writes them:
/// numbers of nanoseconds, one a line, the line `# rank K` before each rank's.
///
/// # Errors
/// A line is neither a comment nor a sample, or stands before the first rank; for people.
pub fn ranks_of_text(text: &str) -> Result<Vec<Vec<u64>>, String> {
    let mut ranks: Vec<Vec<u64>> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.starts_with("# rank ") {
            ranks.push(Vec::new());
        } else if !line.starts_with('#') {
            let sample = line.parse().ok();
            let (Some(samples), Some(sample)) = (ranks.last_mut(), sample) else {
                return Err(format!(
                    "line {} of the samples is no sample of a rank: `{line}`",
                    i + 1
                ));
            };
            samples.push(sample);
        }
    }
    Ok(ranks)
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
        assert!(source.to_string().contains("-2 is less"), "{source}");
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
