//! Samples as Parquet: as the store keeps them, and as other programs write numbers.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, Once};

use jitterlab_base::input::shortened;
use parquet::basic::{ConvertedType, Encoding, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescriptor;

use super::{Column, LONGEST_NS, SamplesError, arrow, list};

/// The four bytes that a Parquet file begins and ends with.
pub(super) const MAGIC: &[u8] = b"PAR1";
const SCHEMA: &str = "message samples { required int64 ns; }";
const RANKS_SCHEMA: &str = "message samples { required int64 rank; required int64 ns; }";

/// Reads the samples of a column, in nanoseconds.
pub(super) fn read(path: &Path, column: &Column) -> Result<Vec<f64>, SamplesError> {
    guarded(path, || {
        let file = Table::open(path)?;
        let chosen = file.choose(column)?;
        file.values(chosen)
    })
}

/// A note about a file.
pub(super) fn note(path: &Path, key: &str) -> Option<String> {
    let note = || Ok(Table::open(path)?.note(key).map(String::from));
    guarded(path, note).ok()?
}

/// Reads the samples of every rank, in nanoseconds, by rank: a file that [`ranks_to_parquet`] made.
///
/// # Errors
/// The file cannot be read, or is no such file.
pub fn read_ranks(path: &Path) -> Result<Vec<Vec<f64>>, SamplesError> {
    let (numbers, ns) = guarded(path, || {
        let file = Table::open(path)?;
        let column = |name: &str| file.values(file.choose(&Column::Named(name.into()))?);
        Ok((column("rank")?, column("ns")?))
    })?;
    let mut ranks: Vec<Vec<f64>> = Vec::new();
    let mut last = None;
    for (rank, ns) in numbers.into_iter().zip(ns) {
        if last != Some(rank) {
            last = Some(rank);
            ranks.push(Vec::new());
        }
        if let Some(samples) = ranks.last_mut() {
            samples.push(ns);
        }
    }
    Ok(ranks)
}

thread_local! {
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// The content of a file. The library panics where some parts of a file are damaged, and that is an error like others;
/// nothing outlives it that could be left in a wrong state.
fn guarded<T>(
    path: &Path,
    read: impl FnOnce() -> Result<T, SamplesError>,
) -> Result<T, SamplesError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !READS.get() {
                before(info);
            }
        }));
    });
    READS.set(true);
    let found = panic::catch_unwind(AssertUnwindSafe(read));
    READS.set(false);
    found.unwrap_or_else(|_| {
        let damaged = "its pages are not as its footer says; it is damaged";
        Err(broken(path)(ParquetError::General(damaged.into())))
    })
}

fn broken(path: &Path) -> impl Fn(ParquetError) -> SamplesError + Copy + '_ {
    move |source| SamplesError::Parquet {
        path: path.into(),
        source,
    }
}

/// An open file.
struct Table<'a> {
    path: &'a Path,
    length: u64,
    reader: SerializedFileReader<File>,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path) -> Result<Self, SamplesError> {
        let system = |source| SamplesError::System {
            action: "read",
            path: path.into(),
            source,
        };
        let file = File::open(path).map_err(system)?;
        let length = file.metadata().map_err(system)?.len();
        let reader = SerializedFileReader::new(file).map_err(broken(path))?;
        Ok(Table {
            path,
            length,
            reader,
        })
    }

    fn wrong(&self, problem: String) -> SamplesError {
        SamplesError::Columns {
            path: self.path.into(),
            problem,
        }
    }

    fn columns(&self) -> &[Arc<ColumnDescriptor>] {
        let file = self.reader.metadata().file_metadata();
        file.schema_descr().columns()
    }

    /// The note that somebody has made about the file.
    fn note(&self, key: &str) -> Option<&str> {
        let notes = self.reader.metadata().file_metadata().key_value_metadata();
        let note = notes?.iter().find(|note| note.key == key)?;
        note.value.as_deref()
    }

    /// The column that has the samples: the index that pandas adds has none.
    fn choose(&self, column: &Column) -> Result<usize, SamplesError> {
        let names: Vec<String> = self.columns().iter().map(|c| c.path().string()).collect();
        let chosen = match column {
            Column::Named(_) => column.choose(&names),
            Column::Any => {
                let index = self.note("pandas").map(index_of_pandas).unwrap_or_default();
                let numbers: Vec<usize> = (0..names.len())
                    .filter(|&i| no_numbers(&self.columns()[i]).is_none())
                    .filter(|&i| !index.contains(&names[i]))
                    .collect();
                if numbers.is_empty() {
                    Err(format!(
                        "no column holds numbers; there are {}",
                        list(&names)
                    ))
                } else {
                    let of_numbers: Vec<String> =
                        numbers.iter().map(|&i| names[i].clone()).collect();
                    column.choose(&of_numbers).map(|chosen| numbers[chosen])
                }
            }
        };
        let chosen = chosen.map_err(|problem| self.wrong(problem))?;
        match no_numbers(&self.columns()[chosen]) {
            None => Ok(chosen),
            Some(kind) => Err(self.wrong(format!(
                "column `{}` holds {kind}; a sample is a number of nanoseconds",
                shortened(&names[chosen])
            ))),
        }
    }

    fn values(&self, chosen: usize) -> Result<Vec<f64>, SamplesError> {
        let broken = broken(self.path);
        let column = &self.columns()[chosen];
        let name = column.path().string();
        let durations = self
            .note(arrow::KEY)
            .map(arrow::durations)
            .unwrap_or_default();
        let unit = durations
            .into_iter()
            .find(|(duration, _)| *duration == name);
        let is_unsigned = is_unsigned(column);
        let mut found = Found {
            unit: unit.map_or(1.0, |(_, ns)| ns),
            defined: column.max_def_level(),
            ..Found::default()
        };
        let metadata = self.reader.metadata();
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let rows = rows(group, self.columns().len(), self.length).map_err(broken)?;
            let group = self.reader.get_row_group(i).map_err(broken)?;
            match group.get_column_reader(chosen).map_err(broken)? {
                ColumnReader::Int32ColumnReader(column) if is_unsigned => {
                    found.read(column, rows, |&value| f64::from(value.cast_unsigned()))
                }
                ColumnReader::Int32ColumnReader(column) => {
                    found.read(column, rows, |&value| f64::from(value))
                }
                ColumnReader::Int64ColumnReader(column) if is_unsigned => {
                    found.read(column, rows, |&value| value.cast_unsigned() as f64)
                }
                ColumnReader::Int64ColumnReader(column) => {
                    found.read(column, rows, |&value| value as f64)
                }
                ColumnReader::FloatColumnReader(column) => {
                    found.read(column, rows, |&value| f64::from(value))
                }
                ColumnReader::DoubleColumnReader(column) => {
                    found.read(column, rows, |&value| value)
                }
                _ => Err(ParquetError::General("the column holds no numbers".into())),
            }
            .map_err(broken)?;
        }
        let name = shortened(&name);
        if let Some((row, value)) = found.wrong {
            return Err(self.wrong(format!(
                "row {row} of column `{name}` is {value}, which is not a sample: a number of nanoseconds from 0 to 1e18"
            )));
        }
        match found.empty {
            (0, _) => Ok(found.samples),
            (rows, first) => Err(self.wrong(format!(
                "{rows} rows of column `{name}` have no value, the first of them is row {first}; leave them out"
            ))),
        }
    }
}

/// The values of a column.
#[derive(Default)]
struct Found {
    /// Nanoseconds that 1 stands for.
    unit: f64,
    /// The level of definition of a value that is there.
    defined: i16,
    samples: Vec<f64>,
    /// Rows so far.
    rows: usize,
    /// The number of rows without a value, and the first of them.
    empty: (usize, usize),
    /// The first row with something that is not a sample.
    wrong: Option<(usize, f64)>,
}

impl Found {
    /// Reads what a group of rows has of the column.
    fn read<T: DataType>(
        &mut self,
        mut column: ColumnReaderImpl<T>,
        rows: usize,
        number: impl Fn(&T::T) -> f64,
    ) -> Result<(), ParquetError> {
        /// Rows that are read at once: the number of all may be damaged.
        const ROWS: usize = 1 << 16;
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let end = self.rows.saturating_add(rows);
        while self.rows < end {
            values.clear();
            levels.clear();
            let most = ROWS.min(end - self.rows);
            let (read, _, _) = column.read_records(most, Some(&mut levels), None, &mut values)?;
            if read == 0 {
                return Err(ParquetError::EOF("the column ends early".into()));
            }
            let mut values = values.iter().map(&number);
            for row in 0..read {
                self.rows += 1;
                let is_there = levels.get(row).is_none_or(|&level| level == self.defined);
                let value = if is_there { values.next() } else { None };
                match value {
                    Some(value) => self.take(value * self.unit),
                    None if self.empty.0 > 0 => self.empty.0 += 1,
                    None => self.empty = (1, self.rows),
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, value: f64) {
        if !(0.0..=LONGEST_NS).contains(&value) {
            self.wrong.get_or_insert((self.rows, value));
        }
        self.samples.push(value);
    }
}

/// The kind of a column without numbers; nothing for one that has numbers.
fn no_numbers(column: &ColumnDescriptor) -> Option<&'static str> {
    if column.max_rep_level() > 0 {
        return Some("lists");
    }
    let by_kind = match column.logical_type_ref() {
        Some(LogicalType::Timestamp(_) | LogicalType::Date) => Some("points in time"),
        Some(LogicalType::Time(_)) => Some("times of day"),
        Some(LogicalType::Decimal(_)) => Some("decimal numbers"),
        _ => None,
    };
    // Older programs say it in this way.
    let by_older_kind = match column.converted_type() {
        ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS | ConvertedType::DATE => {
            Some("points in time")
        }
        ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS => Some("times of day"),
        ConvertedType::DECIMAL => Some("decimal numbers"),
        _ => None,
    };
    by_kind.or(by_older_kind).or(match column.physical_type() {
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => None,
        Type::INT96 => Some("points in time"),
        Type::BOOLEAN => Some("truth values"),
        Type::BYTE_ARRAY => Some("texts"),
        Type::FIXED_LEN_BYTE_ARRAY => Some("bytes"),
    })
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            column.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    }
}

/// The columns that pandas has put its index into, as its note says.
fn index_of_pandas(note: &str) -> Vec<String> {
    let note: serde_json::Value = serde_json::from_str(note).unwrap_or_default();
    let index = note["index_columns"].as_array();
    let names = index.into_iter().flatten().filter_map(|name| name.as_str());
    names.map(String::from).collect()
}

/// The number of samples in a group of a file of this length. The reader panics where the footer of
/// a damaged file says that they begin or end outside of it.
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

/// Successive latencies differ little: stored as packed differences they take about two bytes each.
pub(super) fn to_parquet(
    samples: &[u64],
    notes: &[(&str, String)],
) -> Result<Vec<u8>, ParquetError> {
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
