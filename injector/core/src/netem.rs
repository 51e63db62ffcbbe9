//! Distribution tables of `tc qdisc … netem delay MEAN STD distribution NAME` (iproute2).
//!
//! Such a file holds up to 16,384 integers of 16 bits, `#` starting a comment line. A value v
//! stands for the delay MEAN + STD · v / 8192, each value as likely as the others.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::generator::TABLE_ENTRIES;
use crate::table::DelayUnit;
use crate::table::{DistributionTable, MAX_DELAY_NS, TableError, read_text};
use jitterlab_base::input::Source;
use jitterlab_base::show;

/// One standard deviation in a netem table (`NETEM_DIST_SCALE` in the kernel's pkt_sched.h).
const SCALE: f64 = 8192.0;
/// The most values that netem takes (`MAX_DIST` in iproute2's q_netem.c).
const MAX_VALUES: usize = 16_384;

/// Something converted, and how many of its values did not fit and were set to the nearest that do.
#[derive(Debug, Clone)]
pub struct Converted<T> {
    /// The result.
    pub value: T,
    /// Values that were clamped.
    pub clamped: usize,
}

/// The file of a netem table: what is named, or, where that is the bare name of none, the table of this name where tc
/// looks for it: in `TC_LIB_DIR`, in /usr/lib/tc or /usr/lib64/tc, or in Debian's folder of the architecture.
pub fn find(named: &Path) -> PathBuf {
    if named.components().count() != 1 || named.exists() {
        return named.into();
    }
    let of_architectures = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten();
    let folders = std::env::var_os("TC_LIB_DIR")
        .map(PathBuf::from)
        .into_iter()
        .chain(["/usr/lib/tc", "/usr/lib64/tc"].map(PathBuf::from))
        .chain(of_architectures.map(|folder| folder.path().join("tc")));
    folders
        .map(|folder| folder.join(named).with_extension("dist"))
        .find(|path| path.is_file())
        .unwrap_or_else(|| named.into())
}

/// Reads a netem table, for a mean and a standard deviation in nanoseconds.
///
/// A file with other than 4,096 values is taken as the quantile function that it samples.
///
/// # Errors
/// The file cannot be read, or holds something else: with its line.
pub fn import(
    path: &Path,
    mean_ns: f64,
    std_ns: f64,
) -> Result<Converted<DistributionTable>, TableError> {
    let mut values = parse(&read_text(path, Source::Any)?, path)?;
    values.sort_unstable();
    let mut clamped = 0;
    let mut entries = Box::new([0; TABLE_ENTRIES]);
    for (i, entry) in entries.iter_mut().enumerate() {
        let value = values[(2 * i + 1) * values.len() / (2 * TABLE_ENTRIES)];
        let delay = (mean_ns + std_ns * f64::from(value) / SCALE).round();
        let fitting = delay.clamp(0.0, f64::from(MAX_DELAY_NS));
        clamped += usize::from(fitting != delay);
        *entry = fitting as u32;
    }
    entries.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(1));
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let origin = format!(
        "netem {name}, mean {}, std {}",
        show::time(mean_ns),
        show::time(std_ns)
    );
    Ok(Converted {
        value: DistributionTable::new(entries, DelayUnit::Nanoseconds, &origin),
        clamped,
    })
}

fn parse(text: &str, path: &Path) -> Result<Vec<i16>, TableError> {
    let mut values = Vec::new();
    let mut last = 1;
    let problem = |line, problem| TableError::Content {
        path: path.into(),
        line,
        problem,
    };
    for (i, line) in text.lines().enumerate() {
        last = i + 1;
        if line.starts_with('#') {
            continue;
        }
        for word in line.split_ascii_whitespace() {
            let value = word.parse().map_err(|_| {
                problem(
                    last,
                    format!("`{word:.24}` is not an integer from -32768 to 32767"),
                )
            })?;
            values.push(value);
        }
        if values.len() > MAX_VALUES {
            return Err(problem(
                last,
                format!("more than {MAX_VALUES} values; netem takes no more"),
            ));
        }
    }
    if values.is_empty() {
        return Err(problem(
            last,
            "no values; a netem table holds integers".into(),
        ));
    }
    Ok(values)
}

/// Writes a table as netem's, in units of its own standard deviation about its own mean. A first
/// comment says which `delay` gives the same delays again.
///
/// netem's 16 bits end four standard deviations from the mean: what lies beyond is clamped.
pub fn export(table: &DistributionTable) -> Converted<String> {
    let (mean, std) = (table.mean(), table.std());
    let mut clamped = 0;
    let values: Vec<String> = table
        .sorted()
        .iter()
        .map(|delay| {
            let value = if std > 0.0 {
                ((delay - mean) / std * SCALE).round()
            } else {
                0.0
            };
            let fitting = value.clamp(f64::from(i16::MIN), f64::from(i16::MAX));
            clamped += usize::from(fitting != value);
            (fitting as i16).to_string()
        })
        .collect();
    let mut text = format!(
        "# {} for tc netem: delay {mean:.0}ns {std:.0}ns\n",
        table.origin()
    );
    for line in values.chunks(8) {
        text.push_str(&line.join(" "));
        text.push('\n');
    }
    Converted {
        value: text,
        clamped,
    }
}
