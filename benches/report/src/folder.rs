//! Reads a result folder into what the analysis is made from. No other place knows the store.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_experiment::environment::Environment;
use jitterlab_experiment::level::Member;
use jitterlab_experiment::record::{Outcome, RunRecord};
use jitterlab_experiment::spec::characterised;
use jitterlab_experiment::standing::Standing;
use jitterlab_experiment::store::ResultFolder;
use jitterlab_experiment::suites::Case;
use jitterlab_injector::recording::Recording;
use jitterlab_injector::table::DelayUnit;
use jitterlab_injector::table::DistributionTable;

use crate::Error;
use crate::analysis::condition::{Link, Reader};
use crate::analysis::gate::{Attempts, Side};
use crate::analysis::levels::CaseAtLevel;
use crate::analysis::normality::Normality;
use crate::analysis::other_delays::Delays;
use crate::analysis::other_loads;
use crate::analysis::packet::fits::Injected;
use crate::analysis::packet::made::MadeTable;
use crate::analysis::{Analysis, Input};
use crate::table::Row;
use crate::words;

/// A result folder and what was found in it.
pub struct Analysed {
    /// The folder.
    pub folder: ResultFolder,
    /// The environment of the measurement.
    pub environment: Environment,
    /// The experiment file as it was frozen.
    pub experiment_file: String,
    /// The findings.
    pub analysis: Analysis,
}

impl Analysed {
    /// Opens a result folder and analyses it. Nothing is written.
    ///
    /// # Errors
    /// The folder is none, a file of it is missing or broken, or no run of it was measured.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let folder = tried(path)?;
        let environment = folder.environment()?;
        let experiment_file = folder.experiment_file().into();
        let records: Vec<RunRecord> = folder.records().into_iter().cloned().collect();
        let analysis = Analysis::of(Input {
            records: &records,
            experiment: folder.experiment(),
            standing: Standing::of(folder.experiment(), folder.attempts()),
            tables: tables(&folder)?,
            made: folder.made()?.into_iter().map(MadeTable::from).collect(),
            samples: &|record| Ok(folder.samples(record)?),
            rank_samples: &|record| Ok(folder.rank_samples(record)?),
        })?;
        Ok(Analysed {
            folder,
            environment,
            experiment_file,
            analysis,
        })
    }

    /// The measurements, as cases at their levels: any two of them can be compared.
    ///
    /// # Errors
    /// The samples of a run cannot be read.
    pub fn cases(&self) -> Result<Vec<CaseAtLevel>, Error> {
        self.cases_by(&|record| Ok(self.folder.samples(record)?))
    }

    /// The same, with samples from whoever reads them.
    ///
    /// # Errors
    /// The samples of a run cannot be read.
    pub fn cases_by(&self, read: &Reader) -> Result<Vec<CaseAtLevel>, Error> {
        CaseAtLevel::all(&done(&self.folder), read)
    }

    /// The findings in words, and the tables that answer the questions of the experiment, for a
    /// terminal.
    pub fn to_text(&self) -> String {
        let summary = &self.analysis.summary;
        let parts = [
            &summary.paper,
            &summary.applications,
            &summary.correlations,
            &summary.library,
            &summary.latency,
            &summary.packet,
            &summary.fits,
            &summary.emulation,
            &summary.injector,
            &summary.normality,
            &summary.gaps,
        ];
        let answer = &self.analysis.answer;
        let mut text = format!("{}\n", answer.question);
        text.push_str(&words::wrapped(&answer.sentence));
        text.push('\n');
        let sentences = parts.into_iter().flatten();
        for sentence in sentences.filter(|it| **it != answer.sentence) {
            text.push_str(&words::wrapped(sentence));
        }
        for table in self.analysis.tables() {
            // Long, and of interest only to who asks why a test was chosen: it is in the CSV.
            if table.id != Normality::ID {
                text.push('\n');
                text.push_str(&table.to_text());
            }
        }
        text
    }
}

impl Side {
    /// Reads of a result folder what is compared with another one. It may be one in which every run has failed.
    ///
    /// # Errors
    /// The folder is none, a file of it is missing or broken, or no run of it was tried.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let folder = tried(path)?;
        let done = done(&folder);
        let cases = CaseAtLevel::all(&done, &|record| Ok(folder.samples(record)?))?;
        let names = done.iter().map(|run| run.condition());
        let mut without_figures: Vec<String> = names
            .filter(|name| cases.iter().all(|case| case.name != *name))
            .map(String::from)
            .collect();
        without_figures.sort();
        without_figures.dedup();
        let mut attempts: BTreeMap<String, Attempts> = BTreeMap::new();
        for attempt in folder.attempts() {
            let counted = attempts.entry(attempt.condition().into()).or_default();
            counted.all += 1;
            counted.failed += usize::from(attempt.outcome == Outcome::Failed);
        }
        Ok(Side {
            cases,
            without_figures,
            attempts,
            delays: Delays::by_level(&folder.fits()?, &folder.made()?),
            loads: other_loads::produced(&done),
            environment: folder.environment()?,
            experiment_file: folder.experiment_file().into(),
        })
    }
}

/// A folder in which a run was tried.
fn tried(path: &Path) -> Result<ResultFolder, Error> {
    let folder = ResultFolder::open(path)?;
    if folder.attempts().is_empty() {
        return Err(Error::NothingMeasured { failed: 0 });
    }
    Ok(folder)
}

/// The runs that were measured.
fn done(folder: &ResultFolder) -> Vec<&RunRecord> {
    let records = folder.records().into_iter();
    records.filter(|it| it.outcome == Outcome::Done).collect()
}

/// The tables that were injected, as they stand in the folder.
fn tables(folder: &ResultFolder) -> Result<Vec<Injected>, Error> {
    // Without a case to fit to, nothing is injected.
    let Some((_, case)) = characterised(folder.experiment()) else {
        return Ok(Vec::new());
    };
    let mut tables = Vec::new();
    for fit in folder.fits()? {
        for member in fit.members {
            let path = folder.path().join(&member.table);
            let delays = match member.shape {
                Member::Replay => {
                    let recording = Recording::load(&path)?;
                    let delays = recording.delays().iter();
                    let mut delays: Vec<f64> = delays.map(|&ns| f64::from(ns)).collect();
                    delays.sort_unstable_by(f64::total_cmp);
                    delays
                }
                _ => DistributionTable::load(&path, DelayUnit::Nanoseconds)?.sorted(),
            };
            tables.push(Injected {
                link: Link {
                    case: case.name().into(),
                    transport: fit.transport,
                },
                percent: fit.percent,
                fault: member.fault(),
                closeness: member.closeness,
                shape: member.shape,
                distribution: member.distribution,
                mean_ns: member.mean_ns,
                std_ns: member.std_ns,
                delays,
            });
        }
    }
    Ok(tables)
}
