//! The configuration, from the environment that `jitterlab inject run` sets.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use jitterlab_base::units::Nanos;
use jitterlab_base::{seed, show};
use jitterlab_injector::control::{HookFamily, Mode, Settings};
use jitterlab_injector::environment::{
    BEGAN, CONTROL_DIR, DELAY, GENERATOR, HOOKS, LINEAGE, MODE, NO_LINEAGE, ORDER, RANK, RECORDS,
    REPLAY, REPORT, RUN, SEED, STRETCH, TABLE, UNIT,
};
use jitterlab_injector::generator::GeneratorKind;
use jitterlab_injector::recording::Recording;
use jitterlab_injector::replay::{Order, Stretch};
use jitterlab_injector::table::{DelayUnit, DistributionTable, TableSource};

/// The variables in which launchers put the rank: Open MPI, PMIx, PMI (MPICH), Slurm.
const RANKS: [&str; 4] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];

/// The configuration that the environment asks for.
pub(crate) struct Config {
    /// The first settings of the control page.
    pub(crate) settings: Settings,
    /// The first table.
    pub(crate) table: TableSource,
    /// The recording that is replayed, if one is, and how long ago the replay began, in nanoseconds.
    pub(crate) replay: Option<(Box<Recording>, u64)>,
    /// The families of hooks that are on, as a sum of [`HookFamily::bit`].
    pub(crate) hooks: u32,
    /// The rank of the process, 0 where nobody says.
    pub(crate) rank: u64,
    /// The lineage of the first thread.
    pub(crate) lineage: u64,
    /// The directory in which the page is made, if not where it belongs.
    pub(crate) control_dir: Option<PathBuf>,
    /// The file to which the counters are reported.
    pub(crate) report: Option<CString>,
    /// The `inject run` that the program belongs to, 0 where there was none.
    pub(crate) run: u64,
    /// The folder where ranks of MPI leave what they have sent.
    pub(crate) records: Option<CString>,
}

impl Config {
    /// Reads the environment, and the files that it names.
    ///
    /// # Errors
    /// Why there can be no injection, for people.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let Delays {
            table,
            unit,
            order,
            replay,
        } = Delays::from_environment()?;
        let seed = match named(SEED) {
            Some(path) => seed::load(&path).map_err(|error| show::causes(&error))?,
            None => seed::DEFAULT,
        };
        let mode = optional::<Mode>(MODE)?.unwrap_or_default();
        let hooks = families(&std::env::var(HOOKS).unwrap_or_default())?;
        if let Some(obstacle) = mode.obstacle(unit, hooks) {
            return Err(obstacle.into());
        }
        Ok(Config {
            settings: Settings {
                enabled: true,
                mode,
                generator: optional::<GeneratorKind>(GENERATOR)?.unwrap_or_default(),
                order,
                stretch: optional::<Stretch>(STRETCH)?.unwrap_or_default(),
                unit,
                seed,
                seedings: 1,
            },
            table,
            replay,
            hooks,
            rank: optional(RANK)?.unwrap_or_else(launchers_rank),
            lineage: hexadecimal(LINEAGE)?,
            control_dir: std::env::var_os(CONTROL_DIR).map(PathBuf::from),
            report: path(REPORT),
            run: hexadecimal(RUN)?,
            records: path(RECORDS),
        })
    }
}

/// The delays that are injected.
struct Delays {
    table: TableSource,
    unit: DelayUnit,
    order: Order,
    replay: Option<(Box<Recording>, u64)>,
}

impl Delays {
    /// The table that a file holds or that one delay makes, or a recording.
    fn from_environment() -> Result<Self, String> {
        if let Some(path) = named(REPLAY) {
            let recording = Recording::load(&path).map_err(|error| show::causes(&error))?;
            return Ok(Delays {
                table: recording.shown(&path),
                unit: DelayUnit::Nanoseconds,
                order: optional(ORDER)?.unwrap_or(Order::ByTime),
                replay: Some((Box::new(recording), elapsed_ns(optional(BEGAN)?))),
            });
        }
        let (table, source) = match named(TABLE) {
            Some(path) => {
                let plain = optional::<DelayUnit>(UNIT)?.unwrap_or_default();
                let table =
                    DistributionTable::load(&path, plain).map_err(|error| show::causes(&error))?;
                let source = TableSource::of(&table, &path);
                (table, source)
            }
            None => {
                let delay = optional::<Nanos>(DELAY)?.ok_or_else(|| {
                    format!(
                        "none of {TABLE}, {DELAY} and {REPLAY} is set; start the program with `jitterlab inject run`"
                    )
                })?;
                let table = DistributionTable::constant(delay)
                    .map_err(|error| format!("{DELAY}: {error}"))?;
                let source = TableSource::made(&table);
                (table, source)
            }
        };
        Ok(Delays {
            table: source,
            unit: table.unit(),
            order: Order::Drawn,
            replay: None,
        })
    }
}

/// The time since `began` nanoseconds after 1970; 0 where nobody says when that was.
fn elapsed_ns(began: Option<u64>) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    began.map_or(0, |began| now.saturating_sub(began))
}

/// The file that a variable names; none where it is empty.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn optional<T: FromStr<Err: std::fmt::Display>>(name: &str) -> Result<Option<T>, String> {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .map(Some)
            .map_err(|error| format!("{name}: {error}")),
        Err(_) => Ok(None),
    }
}

fn path(name: &str) -> Option<CString> {
    CString::new(std::env::var_os(name)?.into_vec()).ok()
}

/// A set of families from their names; from an empty list those that are on by default.
fn families(list: &str) -> Result<u32, String> {
    if list.is_empty() {
        return Ok(HookFamily::DEFAULT.iter().map(|family| family.bit()).sum());
    }
    list.split(',').try_fold(0, |set, name| {
        name.trim()
            .parse::<HookFamily>()
            .map(|family| set | family.bit())
            .map_err(|error| format!("{HOOKS}: {error}"))
    })
}

fn hexadecimal(name: &str) -> Result<u64, String> {
    let text = std::env::var(name).unwrap_or(NO_LINEAGE.into());
    u64::from_str_radix(&text, 16).map_err(|error| format!("{name}: {error}"))
}

fn launchers_rank() -> u64 {
    RANKS
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
        .unwrap_or(0)
}
