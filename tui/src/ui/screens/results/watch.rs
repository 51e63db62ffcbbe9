//! Looks for results, analyses them as `jitterlab analyze` does, and writes what is asked for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jitterlab_base::show::printable;
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_experiment::standing::Standing;
use jitterlab_experiment::store::who_fills;
use jitterlab_report::Analysed;
use jitterlab_report::analysis::levels::CaseAtLevel;
use jitterlab_stats::histogram::Histogram;

use super::table::TextTable;
use crate::outcome::Failure;
use crate::ui::action::{News, Said, Task};
use crate::ui::files::{Stamp, stamp};

/// The findings in a result folder.
#[derive(Debug, PartialEq)]
pub struct Opened {
    /// Cases at their levels, by case.
    pub cases: Vec<CaseAtLevel>,
    /// All samples of each that has any, by its name.
    pub samples: BTreeMap<String, Buckets>,
    /// The answer to the experiment's question.
    pub answer: String,
    /// The tables of the report.
    pub tables: Vec<TextTable>,
    /// The report, where it is written.
    pub report: Option<PathBuf>,
    /// The runs that were not measured yet, in words; none where all were.
    pub missing: Option<String>,
}

/// A histogram of samples in nanoseconds, in little memory: the lowest value of each bucket that is not empty, and its count.
#[derive(Debug, PartialEq)]
pub struct Buckets(Vec<(u64, u64)>);

impl Buckets {
    /// The buckets of a histogram.
    pub fn of(histogram: &Histogram) -> Self {
        let buckets = histogram.buckets();
        Buckets(buckets.map(|(lowest, _, count)| (lowest, count)).collect())
    }

    /// The histogram.
    pub fn histogram(&self) -> Histogram {
        let mut histogram = Histogram::new();
        for &(lowest, count) in &self.0 {
            histogram.record_n(lowest, count);
        }
        histogram
    }
}

/// A folder, as it was analysed; not yet, or why it cannot be.
pub type Analysis = Option<Result<Arc<Opened>, String>>;

/// The result folders that there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Result folders, the newest first.
    pub folders: Vec<PathBuf>,
    /// The one that was asked for.
    pub opened: Option<(PathBuf, Analysis)>,
}

/// Folders that were analysed, and the state of their runs at that time.
pub type Cache = Arc<Mutex<HashMap<PathBuf, (Stamp, Result<Arc<Opened>, String>)>>>;

/// A look, for whoever asks for one.
pub struct Look {
    /// The folder with experiment files and `results`.
    pub base: PathBuf,
    /// The folder that is looked into; the newest one where none is said.
    pub folder: Option<PathBuf>,
    /// The analyses that are known.
    pub cache: Cache,
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Look").field(&self.folder).finish()
    }
}

impl Task for Look {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let folders = folders(&self.base);
        let wanted = self.folder.or_else(|| folders.first().cloned());
        let mut seen = Seen {
            folders,
            opened: None,
        };
        let Some(folder) = wanted else {
            return tell(Box::new(seen));
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&folder.join("runs.jsonl"));
        // A folder that is being filled is not analysed again after each of its runs.
        let stays = |then: Stamp| then == now || who_fills(&folder).is_some();
        if !cache.get(&folder).is_some_and(|(then, _)| stays(*then)) {
            // It takes its time, and the list is there before.
            seen.opened = Some((folder.clone(), None));
            tell(Box::new(seen.clone()));
            let opened = open(&folder).map(Arc::new);
            let opened = opened.map_err(|it| printable(&it.to_string()));
            cache.insert(folder.clone(), (now, opened));
        }
        let opened = cache.get(&folder).map(|(_, opened)| opened.clone());
        seen.opened = Some((folder, opened));
        tell(Box::new(seen));
    }
}

fn folders(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base.join("results"))
        .into_iter()
        .flatten()
        .flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|path| path.join("runs.jsonl").is_file());
    // They end with the time at which they were made.
    let time = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.rsplit('-').next().unwrap_or_default().to_string()
    };
    folders.sort_by_cached_key(|path| std::cmp::Reverse((time(path), path.clone())));
    folders
}

/// Analyses a folder.
pub fn open(path: &Path) -> Result<Opened, Failure> {
    let analysed = Analysed::open(path).map_err(Failure::run)?;
    let histograms: RefCell<BTreeMap<String, Histogram>> = RefCell::default();
    let cases = analysed.cases_by(&|record| {
        let samples = analysed.folder.samples(record)?;
        let mut histograms = histograms.borrow_mut();
        let all = histograms.entry(record.condition().into()).or_default();
        all.add(&Histogram::of(&samples));
        Ok(samples)
    });
    let cases = cases.map_err(Failure::run)?;
    let samples = histograms.into_inner().into_iter();
    let samples = samples.map(|(name, histogram)| (name, Buckets::of(&histogram)));
    let answer = &analysed.analysis.answer;
    let tables = analysed.analysis.tables();
    let tables = tables.iter().map(TextTable::of);
    let report = path.join("report").join("index.html");
    Ok(Opened {
        cases,
        samples: samples.collect(),
        answer: printable(&format!("{} {}", answer.question, answer.sentence)),
        tables: tables.collect(),
        report: report.is_file().then_some(report),
        missing: missing(
            Standing::of(analysed.folder.experiment(), analysed.folder.attempts()).runs,
            analysed.folder.attempts(),
        ),
    })
}

/// The runs that were not measured, of so many, after these attempts.
pub fn missing(runs: usize, attempts: &[RunRecord]) -> Option<String> {
    let (done, failed): (Vec<_>, Vec<_>) =
        attempts.iter().partition(|it| it.outcome == Outcome::Done);
    let done: BTreeSet<&str> = done.iter().map(|it| it.run.as_str()).collect();
    let failed = match failed.len() {
        0 => String::new(),
        1 => ", 1 attempt failed".into(),
        n => format!(", {n} attempts failed"),
    };
    let done = done.len();
    (done < runs).then(|| format!("{done} of {runs} runs done{failed}"))
}

/// Writes the report of a folder.
pub struct Report {
    /// The folder.
    pub folder: PathBuf,
    /// The analyses that are to be made anew.
    pub cache: Cache,
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Report").field(&self.folder).finish()
    }
}

impl Task for Report {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let written = Analysed::open(&self.folder).and_then(|analysed| analysed.write_report());
        let said = written.map(|report| printable(&format!("the report is {}", report.display())));
        let said = said.map_err(|error| printable(&Failure::run(error).to_string()));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.remove(&self.folder);
        tell(Box::new(Said::outcome(said)));
    }
}

/// Writes a picture of the screen beside the report.
#[derive(Debug)]
pub struct Export {
    /// The result folder.
    pub folder: PathBuf,
    /// The end of the file's name.
    pub ending: &'static str,
    /// The picture that is written.
    pub picture: String,
}

impl Task for Export {
    fn run(self: Box<Self>, tell: &mut dyn FnMut(News)) {
        let said = self.write();
        let said = said.map(|path| printable(&format!("this screen is in {}", path.display())));
        tell(Box::new(Said::outcome(
            said.map_err(|error| printable(&error.to_string())),
        )));
    }
}

impl Export {
    fn write(&self) -> Result<PathBuf, Failure> {
        let folder = self.folder.join("report");
        fs::create_dir_all(&folder).map_err(Failure::run)?;
        let path = |n: u32| folder.join(format!("screen-{n}.{}", self.ending));
        let free = (1..).map(path).find(|path| !path.exists());
        let path = free.unwrap_or_else(|| path(0));
        crate::files::write(&path, self.picture.as_bytes())?;
        Ok(path)
    }
}
