//! The analysis: from the records and samples of an experiment to its tables. Pure functions; a
//! module a table.

pub mod accuracy;
pub mod answer;
pub mod brief;
pub mod condition;
pub mod failures;
pub mod gate;
pub mod injected;
pub mod levels;
pub mod load;
pub mod normality;
pub mod paper;
pub mod pictures;
pub mod repeated;
pub mod route;
pub mod slowdown;
pub mod suite;

use jitterlab_experiment::level::Level;
use jitterlab_experiment::record::{Outcome, RunRecord, SuiteKind};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::standing::Standing;
use serde::Serialize;

use crate::Error;
use crate::table::{Column, Estimate, Table, Value, column};
use accuracy::Accuracy;
use amvia::way::Way;
use amvia::{loggp, performability, transactions};
use answer::{Answer, Effect};
use application::{correlation, runtimes};
use brief::Brief;
use condition::{Link, RankReader, Reader};
use failures::{Failure, Schedule};
use library::operations;
use normality::Normality;
use packet::fits::{self, Injected};
use packet::made::MadeTable;
use packet::{emulation, latency, places};
use paper::Finding;
use suite::{Measured, Suite};

/// The suites: a folder each.
macro_rules! suites {
    ($($suite:ident),+ $(,)?) => {
        $(pub mod $suite;)+

        /// What was found by suite.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct Suites {
            $(
                /// Of this one.
                #[serde(flatten)]
                pub $suite: $suite::Found,
            )+
        }

        impl Suites {
            fn of(measured: &Measured) -> Result<Self, Error> {
                Ok(Suites {
                    $($suite: Suite::of(measured)?,)+
                })
            }

            fn tables(&self) -> Vec<Table> {
                [$(self.$suite.tables(),)+].concat()
            }

            fn normality(&self) -> Vec<Normality> {
                [$(self.$suite.normality(),)+].concat()
            }
        }
    };
}

// The list, in the order of their tables.
suites!(packet, amvia, library, application);

/// What the analysis is made from.
pub struct Input<'a> {
    /// The last attempt at each run that was tried, measured or failed.
    pub records: &'a [RunRecord],
    /// The experiment.
    pub experiment: &'a Experiment,
    /// How far it has come.
    pub standing: Standing,
    /// The distribution tables that were injected.
    pub tables: Vec<Injected>,
    /// Those that were made for a mean and a standard deviation.
    pub made: Vec<MadeTable>,
    /// Gives a run's samples.
    pub samples: &'a Reader<'a>,
    /// Gives those of a run over MPI by rank.
    pub rank_samples: &'a RankReader<'a>,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// The question of the experiment and its answer.
    pub answer: Answer,
    /// What the answer is made from: variation and mean, a row a program.
    pub effects: Vec<Effect>,
    /// A short table of the measurements, if there is no such program.
    pub brief: Vec<Brief>,
    /// The findings in words, the most important first.
    pub summary: Summary,
    /// What was found by suite.
    #[serde(flatten)]
    pub suites: Suites,
    /// Tests for normality.
    pub normality: Vec<Normality>,
    /// Asked against achieved.
    pub injector: Vec<Accuracy>,
    /// What became of the paper's findings.
    pub paper: Vec<Finding>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
    /// How far the schedule was done.
    pub schedule: Schedule,
}

/// The findings in words, each a sentence or two.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Which of the paper's findings hold here.
    pub paper: Vec<String>,
    /// Of applications: what variation and mean did.
    pub applications: Vec<String>,
    /// Of operations of MPI.
    pub library: Vec<String>,
    /// Of the paper's claim on correlations.
    pub correlations: Vec<String>,
    /// Of active messages.
    pub amvia: Vec<String>,
    /// Of latency under load.
    pub latency: Vec<String>,
    /// Of packet cases beside round trips.
    pub packet: Vec<String>,
    /// Of the fits.
    pub fits: Vec<String>,
    /// Of the emulation.
    pub emulation: Vec<String>,
    /// Of the injector.
    pub injector: Vec<String>,
    /// Of normality.
    pub normality: Vec<String>,
    /// What is missing, and what follows from that.
    pub gaps: Vec<String>,
}

impl Analysis {
    /// Analyses an experiment.
    ///
    /// # Errors
    /// No run was measured, or the samples of one cannot be read.
    pub fn of(input: Input) -> Result<Self, Error> {
        let done: Vec<&RunRecord> = input
            .records
            .iter()
            .filter(|record| record.outcome == Outcome::Done)
            .collect();
        if done.is_empty() {
            return Err(Error::NothingMeasured {
                failed: input.records.len(),
            });
        }
        let suites = Suites::of(&Measured {
            done: &done,
            experiment: input.experiment,
            tables: &input.tables,
            made: &input.made,
            samples: input.samples,
            rank_samples: input.rank_samples,
        })?;
        let mut analysis = Analysis {
            answer: Answer::default(),
            effects: Vec::new(),
            brief: Vec::new(),
            summary: Summary::default(),
            normality: suites.normality(),
            suites,
            injector: injector(&done),
            paper: Vec::new(),
            failures: failures::failures(input.records, input.experiment.retries),
            schedule: Schedule {
                runs: input.standing.runs,
                left: input.standing.left,
            },
        };
        analysis.paper = paper::findings(&analysis, input.experiment);
        analysis.effects = answer::effects(&analysis, input.experiment);
        if analysis.effects.is_empty() {
            analysis.brief = brief::brief(&analysis);
        }
        analysis.summary = analysis.in_words(&done, input.experiment);
        analysis.answer = answer::answer(&analysis);
        Ok(analysis)
    }

    fn in_words(&self, done: &[&RunRecord], experiment: &Experiment) -> Summary {
        let Suites {
            packet,
            amvia,
            library,
            application,
        } = &self.suites;
        let load_called = |percent: u8| packet.load_called(percent);
        let level_called = |level: Level| packet.level_called(level);
        Summary {
            paper: paper::in_words(&self.paper),
            applications: runtimes::in_words(
                &application.runtimes,
                &application.fixed_mean,
                self.effects.iter().map(|effect| &effect.by_variation),
                &load_called,
            ),
            library: operations::in_words(&library.operations, packet.imitation(), &load_called),
            correlations: correlation::in_words(&application.correlations),
            amvia: [
                transactions::in_words(&amvia.transactions),
                loggp::in_words(&amvia.identities, &amvia.moved),
                performability::in_words(&amvia.excess, &amvia.performability),
            ]
            .concat(),
            latency: latency::in_words(&packet.latency),
            packet: places::in_words(&packet.places, &level_called),
            fits: fits::in_words(&packet.fits, &packet.latency, &packet.tables, &load_called),
            emulation: emulation::in_words(&packet.emulation, packet.imitation(), &load_called),
            injector: accuracy::in_words(&self.injector, &level_called),
            normality: normality::in_words(&self.normality),
            gaps: failures::gaps(self, done, experiment),
        }
    }

    /// Every table that is not empty.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.every_table();
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// Every table that a report can have, of which those without a row are not written.
    pub fn every_table(&self) -> Vec<Table> {
        let level_called = |level: Level| self.suites.packet.level_called(level);
        let with_interval = |level: Level| self.suites.packet.level_with_interval(level);
        let mut tables = vec![
            Table::of(&self.effects).noted(answer::note(&self.effects, &with_interval)),
            Table::of(&self.brief).calling(with_interval),
            Table::of(&self.paper),
        ];
        tables.extend(self.suites.tables());
        tables.extend([
            Table::of(&self.injector),
            Table::of(&self.normality),
            Table::of(&self.failures),
        ]);
        let called = tables.into_iter().map(|table| table.calling(level_called));
        called.collect()
    }
}

/// Asked against achieved, for every program and level.
fn injector(done: &[&RunRecord]) -> Vec<Accuracy> {
    let mut keys: Vec<(String, Level)> = done.iter().map(|run| (subject(run), run.level)).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .filter_map(|(name, level)| {
            let runs: Vec<&RunRecord> = done
                .iter()
                .filter(|run| run.level == level && subject(run) == name)
                .copied()
                .collect();
            Accuracy::of(&name, level, &runs)
        })
        .collect()
}

/// The program that a run measures, for people.
pub fn subject(run: &RunRecord) -> String {
    match (Link::of(run), Way::of(run), run.suite) {
        (Some(link), ..) => link.to_string(),
        (None, Some(way), _) => way.to_string(),
        (None, None, SuiteKind::Library) => format!("MPI {}", run.case),
        (None, None, _) => run.case.clone(),
    }
}

/// Rows that belong to one level.
pub trait AtLevel {
    /// The level.
    fn level(&self) -> Level;

    /// What it is called, where its rows know that themselves.
    fn name(&self) -> Option<String> {
        None
    }
}

/// The columns that say the level: one for people, and its parts for programs.
pub fn level_columns<R: AtLevel>() -> [Column<R>; 4] {
    [
        column("level", "Level", "condition of the runs", |row: &R| {
            row.name().map_or(Value::Level(row.level()), Value::Text)
        }),
        column("level_kind", "Kind", "none, load or injected", |row: &R| {
            Value::Text(row.level().kind().name().into())
        })
        .in_csv_only(),
        column(
            "load_percent",
            "Load, %",
            "background load asked for, or imitated by injection",
            |row: &R| {
                let percent = row.level().percent();
                percent.map_or(Value::Missing, |percent| Value::Count(percent.into()))
            },
        )
        .in_csv_only(),
        column(
            "shape",
            "Shape",
            "distribution injected",
            |row: &R| match row.level() {
                Level::Injected { shape, .. } => Value::Text(shape.name().into()),
                Level::Shape { shape, .. } => Value::Text(shape.name().into()),
                _ => Value::Missing,
            },
        )
        .in_csv_only(),
    ]
}

/// Rows that belong to one load, or to delays that imitate it.
pub trait OfLoad {
    /// What was asked for, in percent.
    fn percent(&self) -> u8;
}

/// The columns that say the load: what it is called, and what was asked for.
pub fn load_columns<R: OfLoad>() -> [Column<R>; 2] {
    [
        column(
            "level",
            "Load",
            "background load, by what was produced; what was asked for in brackets where that is something else",
            |row: &R| {
                Value::Level(Level::Load {
                    percent: row.percent(),
                })
            },
        ),
        column(
            "load_percent",
            "Load asked for, %",
            "background load asked for",
            |row: &R| Value::Count(row.percent().into()),
        )
        .in_csv_only(),
    ]
}

/// Rows that belong to one link.
pub trait OverLink {
    /// The link.
    fn link(&self) -> &Link;
}

/// The columns that say the link.
pub fn link_columns<R: OverLink>() -> [Column<R>; 3] {
    [
        column("case", "Case", "case of the packet suite", |row: &R| {
            Value::Text(row.link().case.clone())
        })
        .in_csv_only(),
        column(
            "transport",
            "Transport",
            "what carried the messages",
            |row: &R| Value::Text(row.link().transport.name().into()),
        )
        .in_csv_only(),
        column("link", "Of", "both in words", |row: &R| {
            Value::Text(row.link().to_string())
        }),
    ]
}

/// An estimate in nanoseconds, in microseconds.
pub fn micros(estimate: Estimate) -> Value {
    Value::Estimate(estimate.scaled(1e-3))
}

/// A part in proportion to a whole that may be 0.
pub fn share_of(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { f64::NAN } else { part / whole }
}
