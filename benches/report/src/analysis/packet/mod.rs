//! The packet suite: round trips by condition, what imitates a load, and cases beside round trips.

pub mod curves;
mod described;
pub mod emulation;
pub mod fits;
pub mod latency;
pub mod made;
pub mod places;

use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::RunRecord;
use jitterlab_experiment::spec::Experiment;
use serde::Serialize;

use crate::Error;
use crate::analysis::brief::Brief;
use crate::analysis::condition::{Condition, Link, Reader};
use crate::analysis::load::{self, Load, Loads};
use crate::analysis::normality::Normality;
use crate::analysis::pictures::{ExcessPicture, RttPicture};
use crate::analysis::suite::{Measured, Suite};
use crate::table::Table;
use emulation::Emulation;
use fits::{Alternative, Injected};
use latency::Latency;
use made::MadeTable;
use places::Place;

/// The findings of the suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The background loads, of all suites.
    pub loads: Loads,
    /// Round trips by condition.
    pub latency: Vec<Latency>,
    /// Cases beside round trips.
    #[serde(rename = "packet")]
    pub places: Vec<Place>,
    /// Distributions fitted to the excess under load.
    pub fits: Vec<Alternative>,
    /// The tables injected.
    pub tables: Vec<Injected>,
    /// Those that were made for a mean and a standard deviation.
    pub made: Vec<MadeTable>,
    /// Injected against background.
    pub emulation: Vec<Emulation>,
    /// Tests for normality.
    #[serde(skip)]
    pub normality: Vec<Normality>,
    /// The round trips by condition, for the figures.
    #[serde(skip)]
    pub rtt_pictures: Vec<RttPicture>,
    /// The excess under load, for the figures.
    #[serde(skip)]
    pub excess_pictures: Vec<ExcessPicture>,
}

impl Suite for Found {
    const DISTANCE: u8 = 2;

    /// Samples are read a condition at a time, and of one load at most three conditions are held: memory is bounded by the
    /// largest condition, not by the experiment.
    fn of(measured: &Measured) -> Result<Self, Error> {
        let mut found = Found {
            loads: measured.loads.clone(),
            latency: Vec::new(),
            places: places::places(measured.done, &measured.experiment.suites.packet),
            fits: Vec::new(),
            tables: measured.tables.to_vec(),
            made: measured.made.to_vec(),
            emulation: Vec::new(),
            normality: Vec::new(),
            rtt_pictures: Vec::new(),
            excess_pictures: Vec::new(),
        };
        for link in Link::all(measured.done) {
            found.packets(&link, measured.done, measured.samples)?;
        }
        emulation::correct(&mut found.emulation);
        Ok(found)
    }

    fn tables(&self) -> Vec<Table> {
        // Fits, and what is made from them, are of a load as it was asked for.
        let as_asked = |level: Level| match level {
            Level::Load { percent } => self.load_called(percent),
            other => self.level_called(other),
        };
        vec![
            Table::of(&self.latency),
            Table::of(&self.places),
            Table::of(&self.fits).calling(as_asked),
            Table::of(&self.tables).calling(as_asked),
            Table::of(&self.made),
            Table::of(&self.emulation).calling(as_asked),
        ]
    }

    fn normality(&self) -> &[Normality] {
        &self.normality
    }

    fn brief(&self) -> Vec<Brief> {
        let round_trips = self.latency.iter();
        let round_trips = round_trips
            .map(|row| Brief::time(row.link.to_string(), row.level, "mean", row.mean_ns));
        let others = self.places.iter();
        let others = others.filter(|row| row.is_first_curve_at_its_end(&self.places));
        let others = others.map(|row| Brief {
            of: row.of(),
            level: row.level,
            figure: row.curve.name,
            unit: row.curve.unit,
            mean: row.value,
        });
        Brief::first([round_trips.collect(), others.collect()])
    }

    fn described(experiment: &Experiment) -> Vec<String> {
        let cases = &experiment.suites.packet;
        cases.iter().map(described::described).collect()
    }

    fn subject(run: &RunRecord) -> Option<String> {
        Link::of(run).map(|link| link.to_string())
    }
}

impl Found {
    /// The round trips over one link.
    fn packets(&mut self, link: &Link, done: &[&RunRecord], read: &Reader) -> Result<(), Error> {
        let runs: Vec<&RunRecord> = done
            .iter()
            .filter(|run| Link::of(run).as_ref() == Some(link))
            .copied()
            .collect();
        let condition_of = |level: Level, is_of: &dyn Fn(&RunRecord) -> bool| {
            let at = runs.iter().copied().filter(|run| is_of(run));
            Condition::of(link, level, &at.collect::<Vec<_>>(), read)
        };
        let condition = |level: Level| condition_of(level, &|run| run.level == level);
        let none = condition(Level::None)?;
        self.describe(none.as_ref());
        let mut injected_rows = Vec::new();
        for percent in percents(&runs) {
            let level = Level::Load { percent };
            // Fits, and what is made from them, are of a load as it was asked for.
            let background = condition_of(level, &|run| load::asked_of(run) == Some(percent))?;
            match self.loads.asked(percent) {
                Some(load) if load.is_joined() => self.describe(condition(level)?.as_ref()),
                _ => self.describe(background.as_ref()),
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
        for level in made(&runs) {
            self.describe(condition(level)?.as_ref());
        }
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
        let imitations = [
            Member::Empirical,
            Member::Closest,
            Member::Lognormal,
            Member::Replay,
        ];
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
        let load = self.loads.asked(percent);
        load.map_or(percent.into(), |load| load.produced.value)
    }

    /// A level as [`Found::level_called`]; a load also with the interval of what was produced.
    pub fn level_with_interval(&self, level: Level) -> String {
        let load = self.load_at(level);
        load.map_or_else(|| self.level_called(level), Load::with_interval)
    }

    /// The load of a condition.
    fn load_at(&self, level: Level) -> Option<&Load> {
        match level {
            Level::Load { percent } => self.loads.asked(percent),
            _ => None,
        }
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

    /// A condition in words: a load by all that was asked for and came to it, the load that delays imitate as [`Found::load_called`].
    pub fn level_called(&self, level: Level) -> String {
        match level {
            Level::Injected { percent, shape } => {
                format!("injected {} of {}", shape.name(), self.load_called(percent))
            }
            Level::Scaled { percent, multiple } => format!(
                "injected {} of {multiple} times its variation",
                self.load_called(percent)
            ),
            other => self
                .load_at(other)
                .map_or_else(|| other.to_string(), Load::to_string),
        }
    }
}

/// The levels with delays that were made for a mean and a standard deviation, or brought, in their order.
fn made(runs: &[&RunRecord]) -> Vec<Level> {
    let is_made = |level: &Level| {
        matches!(
            level,
            Level::Scaled { .. } | Level::Delay { .. } | Level::Shape { .. } | Level::Table
        )
    };
    let mut levels: Vec<Level> = runs.iter().map(|run| run.level).filter(is_made).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// The loads of these runs in ascending order: those that were asked for, those of their conditions, and those that are imitated.
fn percents(runs: &[&RunRecord]) -> Vec<u8> {
    let of = |run: &&RunRecord| [load::asked_of(run), run.level.percent()];
    let mut percents: Vec<u8> = runs.iter().flat_map(of).flatten().collect();
    percents.sort_unstable();
    percents.dedup();
    percents
}
