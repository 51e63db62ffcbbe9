//! The analysis: from the records and samples of an experiment to its tables. Pure functions; a
//! module a table.

pub mod accuracy;
pub mod answer;
pub mod applications;
pub mod communication;
pub mod condition;
pub mod correlation;
pub mod delays;
pub mod emulation;
pub mod failures;
pub mod fits;
pub mod groups;
pub mod latency;
pub mod library;
pub mod load;
pub mod made;
pub mod normality;
pub mod packet;
pub mod paper;
pub mod pictures;
pub mod repeated;
pub mod route;
pub mod slowdown;

use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::{Outcome, RunRecord, SuiteKind};
use jitterlab_experiment::spec::Experiment;
use jitterlab_experiment::standing::Standing;
use serde::Serialize;

use crate::Error;
use crate::table::{Column, Estimate, Table, Value, column};
use accuracy::Accuracy;
use answer::{Answer, Effect};
use applications::{FixedMean, Runtime};
use communication::Communication;
use condition::{Condition, Link, RankReader, Reader};
use correlation::Correlation;
use emulation::Emulation;
use failures::{Failure, Schedule};
use fits::{Alternative, Injected};
use groups::Group;
use latency::Latency;
use library::Operation;
use made::MadeTable;
use normality::Normality;
use paper::Finding;
use pictures::{ExcessPicture, RankPicture, RttPicture};

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
    /// The findings in words, the most important first.
    pub summary: Summary,
    /// Round trips by condition.
    pub latency: Vec<Latency>,
    /// Tests for normality.
    pub normality: Vec<Normality>,
    /// Cases of the packet suite beside round trips.
    pub packet: Vec<packet::Place>,
    /// Distributions fitted to the excess under load.
    pub fits: Vec<Alternative>,
    /// The tables injected.
    pub tables: Vec<Injected>,
    /// Those that were made for a mean and a standard deviation.
    pub made: Vec<MadeTable>,
    /// Injected against background.
    pub emulation: Vec<Emulation>,
    /// Asked against achieved.
    pub injector: Vec<Accuracy>,
    /// Operations of MPI.
    pub library: Vec<Operation>,
    /// What benchmarks said of themselves.
    pub communication: Vec<Communication>,
    /// Runtimes of applications.
    pub runtimes: Vec<Runtime>,
    /// Varied against constant delays of the same mean.
    pub fixed_mean: Vec<FixedMean>,
    /// Correlations of runtimes.
    pub correlations: Vec<Correlation>,
    /// What became of the paper's findings.
    pub paper: Vec<Finding>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
    /// How far the schedule was done.
    pub schedule: Schedule,
    /// For the figures: round trips by condition.
    #[serde(skip)]
    pub rtt_pictures: Vec<RttPicture>,
    /// For the figures: the excess under load.
    #[serde(skip)]
    pub excess_pictures: Vec<ExcessPicture>,
    /// For the figures: operations of MPI, rank by rank.
    #[serde(skip)]
    pub rank_pictures: Vec<RankPicture>,
    /// For the figures: runtimes by level.
    #[serde(skip)]
    pub groups: Vec<Group>,
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
    /// Of latency under load.
    pub latency: Vec<String>,
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
    /// Samples are read a condition at a time, and of one load at most three conditions are held:
    /// memory is bounded by the largest condition, not by the experiment.
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
        let groups = groups::groups(&done, &input.tables, &input.made, input.experiment);
        let mut analysis = Analysis {
            answer: Answer::default(),
            effects: Vec::new(),
            summary: Summary::default(),
            latency: Vec::new(),
            normality: Vec::new(),
            packet: packet::places(&done),
            fits: Vec::new(),
            tables: input.tables,
            made: input.made,
            emulation: Vec::new(),
            injector: injector(&done),
            library: Vec::new(),
            communication: communication::communication(&done),
            runtimes: applications::runtimes(&groups),
            fixed_mean: applications::fixed_mean(&groups),
            correlations: correlation::correlations(&groups),
            paper: Vec::new(),
            failures: failures::failures(input.records, input.experiment.retries),
            schedule: Schedule {
                runs: input.standing.runs,
                left: input.standing.left,
            },
            rtt_pictures: Vec::new(),
            excess_pictures: Vec::new(),
            rank_pictures: Vec::new(),
            groups: Vec::new(),
        };
        for link in Link::all(&done) {
            analysis.packets(&link, &done, input.samples)?;
        }
        emulation::correct(&mut analysis.emulation);
        let operations = library::operations(&done, input.samples, input.rank_samples)?;
        analysis.library = operations.rows;
        analysis.rank_pictures = operations.ranks;
        analysis.normality.extend(operations.normality);
        analysis.normality.extend(applications::normality(&groups));
        analysis.groups = groups;
        analysis.paper = paper::findings(&analysis, input.experiment);
        analysis.effects = answer::effects(&analysis);
        analysis.summary = analysis.in_words(&done);
        analysis.answer = answer::answer(&analysis);
        Ok(analysis)
    }

    /// The round trips over one link.
    fn packets(&mut self, link: &Link, done: &[&RunRecord], read: &Reader) -> Result<(), Error> {
        let runs: Vec<&RunRecord> = done
            .iter()
            .filter(|run| Link::of(run).as_ref() == Some(link))
            .copied()
            .collect();
        let condition = |level: Level| {
            let at: Vec<&RunRecord> = runs
                .iter()
                .filter(|run| run.level == level)
                .copied()
                .collect();
            Condition::of(link, level, &at, read)
        };
        let none = condition(Level::None)?;
        self.describe(none.as_ref());
        let percents = percents(&runs);
        let loads = load::merged(&runs);
        let mut injected_rows = Vec::new();
        for &percent in &percents {
            let background = condition(Level::Load { percent })?;
            match loads.iter().find(|asked| asked.contains(&percent)) {
                Some(asked) if asked.len() == 1 => self.describe(background.as_ref()),
                // Loads that came to the same are one condition, described with the last of them.
                Some(asked) if asked.last() == Some(&percent) => {
                    let of_any = |run: &&RunRecord| {
                        let mut asked = asked.iter();
                        asked.any(|&percent| run.level == Level::Load { percent })
                    };
                    let of_any: Vec<&RunRecord> = runs.iter().copied().filter(of_any).collect();
                    let one = Condition::of(link, Level::Load { percent }, &of_any, read)?;
                    self.describe(one.as_ref());
                }
                _ => {}
            }
            if let (Some(none), Some(background)) = (&none, &background) {
                self.fit(percent, none, background);
            }
            for shape in Member::ALL {
                let injected = condition(Level::Injected { percent, shape })?;
                let Some(injected) = injected else { continue };
                if let Some(background) = &background {
                    self.emulation.push(Emulation::of(
                        percent,
                        shape,
                        background,
                        &injected,
                        none.as_ref(),
                        self.fitted_over(percent),
                    ));
                }
                injected_rows.push(Latency::of(&injected));
                self.normality.extend(Normality::of_condition(&injected));
                self.rtt_pictures.push(RttPicture::of(&injected));
            }
        }
        self.latency.extend(injected_rows);
        Ok(())
    }

    fn describe(&mut self, condition: Option<&Condition>) {
        if let Some(condition) = condition {
            self.latency.push(Latency::of(condition));
            self.normality.extend(Normality::of_condition(condition));
            self.rtt_pictures.push(RttPicture::of(condition));
        }
    }

    fn fit(&mut self, percent: u8, none: &Condition, background: &Condition) {
        let link = &background.link;
        let excess = fits::excess(background, none);
        self.fits.extend(fits::alternatives(link, percent, &excess));
        let mut tables = self.tables.iter();
        if !tables.any(|table| table.link == *link && table.percent == percent) {
            return;
        }
        let injectable = fits::injectable(&excess);
        self.excess_pictures
            .push(ExcessPicture::of(link, percent, &injectable));
    }

    /// The shape that stands for the load: of those that were injected and claim to imitate it, the one made from the fewest assumptions.
    pub fn imitation(&self) -> Member {
        let injected = |shape: &Member| self.tables.iter().any(|table| table.shape == *shape);
        let imitations = [Member::Empirical, Member::Closest, Member::Lognormal];
        imitations
            .into_iter()
            .find(injected)
            .unwrap_or(Member::Empirical)
    }

    /// The link that the tables of a load were fitted over.
    fn fitted_over(&self, percent: u8) -> Option<Link> {
        let table = self.tables.iter().find(|table| table.percent == percent)?;
        Some(table.link.clone())
    }

    /// The load that an injected level imitates, in percent of the bandwidth: what was produced, or, where that is not
    /// known, what was asked for.
    pub fn imitated(&self, percent: u8) -> f64 {
        let link = self.fitted_over(percent);
        let mut rows = self
            .latency
            .iter()
            .filter(|row| link.as_ref().is_none_or(|link| row.link == *link));
        let produced = rows.find_map(|row| {
            let load = row.load.as_ref()?;
            load.asked.contains(&percent).then_some(load.produced.value)
        });
        produced.unwrap_or(percent.into())
    }

    /// A load that delays imitate, in words: by what was produced, and what was asked for where that is something else.
    pub fn load_called(&self, percent: u8) -> String {
        let (produced, asked) = (
            format!("{:.0}", self.imitated(percent)),
            percent.to_string(),
        );
        if produced == asked {
            format!("load {asked} %")
        } else {
            format!("load {produced} % (asked {asked} %)")
        }
    }

    /// A level in words, the load that it imitates as [`Analysis::load_called`].
    pub fn level_called(&self, level: Level) -> String {
        match level {
            Level::Injected { percent, shape } => {
                format!("injected {} of {}", shape.name(), self.load_called(percent))
            }
            Level::Scaled { percent, multiple } => format!(
                "injected {} of {multiple} times its variation",
                self.load_called(percent)
            ),
            Level::Load { percent } => self.load_called(percent),
            other => other.to_string(),
        }
    }

    fn in_words(&self, done: &[&RunRecord]) -> Summary {
        let load_called = |percent: u8| self.load_called(percent);
        Summary {
            paper: paper::in_words(&self.paper),
            applications: applications::in_words(
                &self.runtimes,
                &self.fixed_mean,
                self.effects.iter().map(|effect| &effect.by_variation),
                &load_called,
            ),
            library: library::in_words(&self.library, self.imitation(), &load_called),
            correlations: correlation::in_words(&self.correlations),
            latency: latency::in_words(&self.latency),
            fits: fits::in_words(&self.fits, &self.latency, &self.tables, &load_called),
            emulation: emulation::in_words(&self.emulation, self.imitation()),
            injector: accuracy::in_words(&self.injector),
            normality: normality::in_words(&self.normality),
            gaps: failures::gaps(self, done),
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
        let tables = vec![
            Table::of(&self.effects),
            Table::of(&self.paper),
            Table::of(&self.latency),
            Table::of(&self.packet),
            Table::of(&self.fits),
            Table::of(&self.tables),
            Table::of(&self.made),
            Table::of(&self.emulation),
            Table::of(&self.injector),
            Table::of(&self.library),
            Table::of(&self.communication),
            Table::of(&self.runtimes),
            Table::of(&self.fixed_mean),
            Table::of(&self.correlations),
            Table::of(&self.normality),
            Table::of(&self.failures),
        ];
        let called = tables
            .into_iter()
            .map(|table| table.calling(|level| self.level_called(level)));
        called.collect()
    }
}

/// The loads that runs were measured under or imitate, in ascending order.
fn percents(runs: &[&RunRecord]) -> Vec<u8> {
    let mut percents: Vec<u8> = runs.iter().filter_map(|run| run.level.percent()).collect();
    percents.sort_unstable();
    percents.dedup();
    percents
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
    match (Link::of(run), run.suite) {
        (Some(link), _) => link.to_string(),
        (None, SuiteKind::Library) => format!("MPI {}", run.case),
        (None, _) => run.case.clone(),
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
                _ => Value::Missing,
            },
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
