//! Looks for programs under injection, by their control pages, and changes them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jitterlab_base::show::printable;
use jitterlab_injector::control::{self, Hook, HookFamily, Settings, Totals};
use jitterlab_injector::table::{DelayUnit, DistributionTable, TableSource};
use jitterlab_stats::summary;

use crate::commands::inject::change::Change;
use crate::commands::inject::pages::{self, Address};
use crate::outcome::Failure;
use crate::ui::action::{News, Said, Task};
use crate::ui::screens::live::watch as live;

/// A program under injection.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The address that names it.
    pub address: Address,
    /// Its name.
    pub name: String,
    /// The rank in its parallel program.
    pub rank: u64,
    /// The families of hooks that are on.
    pub hooks: Vec<HookFamily>,
    /// Its settings.
    pub settings: Settings,
    /// The origin of its table, the factor that its delays are multiplied by, and their mean then, in its unit.
    pub table: String,
    pub times: f64,
    pub table_mean: f64,
    /// The counts of its threads.
    pub totals: Totals,
}

impl Program {
    /// The content of its control page.
    pub fn of(running: &control::Program) -> Self {
        let page = &running.page;
        let identity = page.identity();
        let (settings, table) = page.settings();
        let entries: Vec<f64> = table.entries.iter().map(|&it| f64::from(it)).collect();
        let is_on = |family: &HookFamily| identity.hooks & family.bit() != 0;
        Program {
            address: Address::of(running),
            name: printable(&identity.program),
            rank: identity.rank,
            hooks: HookFamily::ALL.into_iter().filter(is_on).collect(),
            settings,
            table: printable(&table.origin),
            times: table.times,
            table_mean: summary::mean(&entries).unwrap_or(0.0),
            totals: page.totals(),
        }
    }

    /// Calls by hook, of those that were called.
    pub fn calls(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = Hook::ALL.into_iter().zip(self.totals.calls);
        let called = all.filter(|(_, calls)| *calls > 0);
        called.map(|(hook, calls)| (hook.name(), calls))
    }
}

/// The things that there are at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// All programs, or why they cannot be looked for.
    pub programs: Result<Vec<Program>, String>,
    /// Tables that a program can be given.
    pub tables: Vec<PathBuf>,
    /// The measurements meanwhile.
    pub live: live::Seen,
}

/// A look, for whoever asks for one.
pub struct Look {
    /// The folder with the tables.
    pub folder: PathBuf,
    /// The one who looks for what is being measured.
    pub live: Arc<Mutex<live::Watcher>>,
    /// The source that is shown.
    pub source: Option<live::Source>,
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Look").field(&self.source).finish()
    }
}

impl Task for Look {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Seen {
            programs: programs().map_err(|failure| printable(&failure.to_string())),
            tables: tables(&self.folder),
            live: live.look(self.source.as_ref(), Instant::now()),
        };
        tell(Box::new(seen));
    }
}

fn programs() -> Result<Vec<Program>, Failure> {
    let running = pages::running()?;
    Ok(running.iter().map(Program::of).collect())
}

/// Files that end as tables do: those of the folder, then those that its experiments have made, the last ones first.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let is_table =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "dist") && path.is_file();
    let mut results = entries(&folder.join("results"));
    results.reverse();
    let folders = results.iter().map(|folder| folder.join("tables"));
    let all = [folder.into()].into_iter().chain(folders);
    all.flat_map(|folder: PathBuf| entries(&folder))
        .filter(is_table)
        .collect()
}

/// The change that is wanted of a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// A change that is known.
    Change(Change),
    /// The table of this file.
    Table(PathBuf),
}

/// News: programs have been changed.
#[derive(Debug)]
pub struct Changed;

/// Changes programs.
#[derive(Debug)]
pub struct Set {
    /// The programs that are changed.
    pub programs: Vec<Address>,
    /// The change.
    pub wanted: Wanted,
}

impl Task for Set {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        match self.make() {
            Ok(()) => tell(Box::new(Changed)),
            Err(failure) => tell(Box::new(Said::failed(printable(&failure.to_string())))),
        }
    }
}

impl Set {
    fn make(&self) -> Result<(), Failure> {
        let change = match &self.wanted {
            Wanted::Change(change) => change.clone(),
            Wanted::Table(path) => {
                let table = DistributionTable::load(path, DelayUnit::Nanoseconds);
                let table = table.map_err(Failure::input)?;
                Change {
                    table: Some((TableSource::of(&table, path), table.unit())),
                    ..Change::default()
                }
            }
        };
        for &program in &self.programs {
            change.make(&pages::of(program)?.page)?;
        }
        Ok(())
    }
}
