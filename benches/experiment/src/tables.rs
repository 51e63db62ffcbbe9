//! The delays that are injected at each level: tables and recordings, which are made once and kept in the result folder.

use std::collections::BTreeMap;
use std::path::Path;

use jitterlab_base::seed;
use jitterlab_injector::check::{AskedAndMade, Scaled};
use jitterlab_injector::recording::Recording;
use jitterlab_injector::shape;
use jitterlab_injector::table::{DelayUnit, DistributionTable, TableError};
use jitterlab_stats::imitation::{self, Closeness};
use jitterlab_stats::{sorted, summary};

use crate::delays::{Delays, Made};
use crate::fit::{self, Fit, FittedMember, Imitation, Refused};
use crate::level::{Level, Member, Multiple, Shape};
use crate::record::SuiteKind;
use crate::scene::InjectedLevels;
use crate::spec::{Experiment, characterised};
use crate::store::{Recorder, StoreError};
use crate::suites::Case;

/// The delays of each level, or why there are none.
pub type ByLevel = BTreeMap<Level, Result<Delays, String>>;

/// The table that an experiment brings.
///
/// # Errors
/// The file cannot be read, or is no table of times.
pub fn brought(path: &Path) -> Result<DistributionTable, TableError> {
    let table = DistributionTable::load(path, DelayUnit::Nanoseconds)?;
    match table.unit() {
        DelayUnit::Nanoseconds => Ok(table),
        DelayUnit::Spins => Err(TableError::Content {
            path: path.into(),
            line: 1,
            problem: "a table of spins; an experiment needs times".into(),
        }),
    }
}

/// Makes the tables that need no measured load. Those that were made before the experiment was stopped stay as they are.
///
/// # Errors
/// The file of a table is no table any more, or the folder cannot be written.
pub fn given(
    experiment: &Experiment,
    recorder: &Recorder,
    delays: &mut ByLevel,
) -> Result<(), GivenError> {
    let Some(injected) = &experiment.levels.injected else {
        return Ok(());
    };
    let mut made = recorder.folder().made()?;
    for level in injected.given() {
        if made.iter().any(|made| made.level == level) {
            continue;
        }
        let (table, asked) = match (level, &injected.table) {
            (Level::Delay { ns }, _) => of_shape(Shape::Constant, ns, 0, experiment.seed),
            (
                Level::Shape {
                    shape,
                    mean_ns,
                    std_ns,
                },
                _,
            ) => of_shape(shape, mean_ns, std_ns, experiment.seed),
            (Level::Table, Some(path)) => {
                let table = brought(path)?;
                let asked = (table.mean(), table.std());
                Ok((table, asked))
            }
            _ => continue,
        }
        .map_err(GivenError::Shape)?;
        made.push(store(recorder, level, &table, asked)?);
    }
    recorder.store_made(&made)?;
    for made in made {
        let content = recorder.folder().delays(&made.table)?;
        delays.insert(made.level, Ok(content));
    }
    Ok(())
}

/// Tables that an experiment asks for, and that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// The error of a file.
    #[error(transparent)]
    File(#[from] TableError),
    /// The error of a shape.
    #[error("{0}")]
    Shape(String),
    /// They cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn of_shape(
    shape: Shape,
    mean_ns: u64,
    std_ns: u64,
    seed: u64,
) -> Result<(DistributionTable, (f64, f64)), String> {
    let asked = (mean_ns as f64, std_ns as f64);
    let made = shape::with_moments(shape, asked.0, asked.1, seed)?;
    Ok((made.table, asked))
}

fn store(
    recorder: &Recorder,
    level: Level,
    table: &DistributionTable,
    (mean, std): (f64, f64),
) -> Result<Made, StoreError> {
    Ok(Made {
        level,
        moments: AskedAndMade::of(table, mean, std),
        table: recorder.store_table(&level.id(), &table.to_text())?,
    })
}

/// Takes what was made of loads before the experiment was stopped, and makes what is missing.
///
/// # Errors
/// The folder cannot be read or written.
pub fn of_loads(
    experiment: &Experiment,
    recorder: &Recorder,
    delays: &mut ByLevel,
) -> Result<Vec<Fit>, StoreError> {
    let Some(injected) = experiment.levels.injected.as_ref() else {
        return Ok(Vec::new());
    };
    let before = recorder.folder().fits()?;
    let mut made = recorder.folder().made()?;
    let mut fits = Vec::new();
    for &percent in &injected.percent {
        let kept = before.iter().find(|fit| fit.percent == percent).cloned();
        let fit = match kept {
            Some(fit) => Ok(fit),
            None => match Excess::measured(experiment, injected, recorder, percent)? {
                Err(reason) => Err(reason),
                Ok(excess) => {
                    excess.scale(recorder, &mut made, delays)?;
                    excess.fit(recorder)?
                }
            },
        };
        for &shape in &injected.shapes {
            let content = match &fit {
                Err(reason) => Err(reason.clone()),
                Ok(fit) => match fit.of(shape) {
                    Some(Ok(member)) => Ok(recorder.folder().delays(&member.table)?),
                    Some(Err(refused)) => Err(refused.reason.clone()),
                    None => continue,
                },
            };
            delays.insert(Level::Injected { percent, shape }, content);
        }
        for &multiple in &injected.scaled {
            let level = Level::Scaled { percent, multiple };
            if let Some(made) = made.iter().find(|made| made.level == level) {
                delays.insert(level, Ok(recorder.folder().delays(&made.table)?));
            } else if let Err(reason) = &fit {
                delays.insert(level, Err(reason.clone()));
            }
        }
        fits.extend(fit);
    }
    recorder.store_made(&made)?;
    if fits.len() != before.len() {
        recorder.store_fits(&fits)?;
    }
    Ok(fits)
}

/// The tables that claim to imitate a load and do not, for people; none where the experiment takes them.
pub fn poor(experiment: &Experiment, fits: &[Fit]) -> Vec<String> {
    let injected = experiment.levels.injected.as_ref();
    if injected.is_none_or(|injected| injected.accept_poor_fit) {
        return Vec::new();
    }
    let of_fit = |fit: &Fit| {
        let members = fit.members.iter();
        members
            .filter_map(|member| member.poor(fit.percent))
            .collect::<Vec<_>>()
    };
    fits.iter().flat_map(of_fit).collect()
}

/// The time that a load adds to round trips.
struct Excess<'a> {
    injected: &'a InjectedLevels,
    percent: u8,
    /// Round trips under the load, run after run in the order in which they were measured, in nanoseconds.
    under_load: Vec<f64>,
    /// Median without load.
    baseline: f64,
    /// Ascending.
    excess: Vec<f64>,
    /// Its mean and standard deviation, as it can be injected.
    moments: (f64, f64),
    seed: u64,
}

impl<'a> Excess<'a> {
    /// The excess of the runs under a load, or the reason why there is none.
    fn measured(
        experiment: &Experiment,
        injected: &'a InjectedLevels,
        recorder: &Recorder,
        percent: u8,
    ) -> Result<Result<Self, String>, StoreError> {
        let Some((_, case)) = characterised(experiment) else {
            return Ok(Err("no packet case measures what is imitated".into()));
        };
        let samples_at = |level: Level| -> Result<Vec<f64>, StoreError> {
            let mut all = Vec::new();
            for record in recorder.folder().records() {
                if record.suite == SuiteKind::Packet
                    && record.case == case.name()
                    && record.transport == Some(injected.transport)
                    && record.level == level
                {
                    all.extend(recorder.folder().samples(record)?);
                }
            }
            Ok(all)
        };
        let under = Level::Load { percent };
        let (without, under_load) = (samples_at(Level::None)?, samples_at(under)?);
        for (level, samples) in [(Level::None, &without), (under, &under_load)] {
            if samples.is_empty() {
                let (case, over, level) = (case.name(), injected.transport, level.id());
                return Ok(Err(format!(
                    "no run of {case} over {over} at level {level} was measured"
                )));
            }
        }
        let prepared = sorted(&without).and_then(|without| {
            let baseline = summary::quantile(&without, 0.5);
            let excess = fit::excess(&sorted(&under_load)?, baseline);
            let moments = fit::injectable_moments(&excess)?;
            Ok((baseline, excess, moments))
        });
        Ok(match prepared {
            Err(error) => Err(format!("nothing can be fitted to {under}: {error}")),
            Ok((baseline, excess, moments)) => Ok(Excess {
                injected,
                percent,
                under_load,
                baseline,
                excess,
                moments,
                seed: seed::stream(experiment.seed, 0, u64::from(percent)),
            }),
        })
    }

    /// Makes and stores what imitates it.
    fn fit(&self, recorder: &Recorder) -> Result<Result<Fit, String>, StoreError> {
        let under = Level::Load {
            percent: self.percent,
        };
        let (recorded, drawn): (Vec<Member>, Vec<Member>) = self
            .injected
            .shapes
            .iter()
            .partition(|&&shape| shape == Member::Replay);
        let fitted = match fit::tables(&self.excess, &drawn, self.seed) {
            Ok(fitted) => fitted,
            Err(error) => return Ok(Err(format!("nothing can be fitted to {under}: {error}"))),
        };
        let (mut members, mut refused) = (Vec::new(), Vec::new());
        for (shape, imitation) in fitted {
            let Imitation { fitted, closeness } = match imitation {
                Ok(imitation) => imitation,
                Err(error) => {
                    let reason = format!("{shape} cannot be fitted to {under}: {error}");
                    refused.push(Refused { shape, reason });
                    continue;
                }
            };
            let table = fitted.made.table;
            members.push(FittedMember {
                shape,
                distribution: fitted.distribution,
                mean_ns: table.mean(),
                std_ns: table.std(),
                closeness,
                table: recorder.store_table(&self.name(shape), &table.to_text())?,
            });
        }
        for shape in recorded {
            match self.record() {
                Ok((recording, closeness)) => members.push(FittedMember {
                    shape,
                    distribution: None,
                    mean_ns: self.moments.0,
                    std_ns: closeness.std,
                    closeness,
                    table: recorder.store_recording(&self.name(shape), &recording.to_bytes())?,
                }),
                Err(problem) => {
                    let reason = format!("{under} cannot be recorded: {problem}");
                    refused.push(Refused { shape, reason });
                }
            }
        }
        Ok(Ok(Fit {
            transport: self.injected.transport,
            percent: self.percent,
            n: self.excess.len() as u64,
            baseline_median_ns: self.baseline,
            excess_mean_ns: self.moments.0,
            excess_std_ns: self.moments.1,
            members,
            refused,
        }))
    }

    fn name(&self, shape: Member) -> String {
        format!("{}-{}-{shape}", self.injected.transport, self.percent)
    }

    fn record(&self) -> Result<(Recording, Closeness), String> {
        let origin = format!("load {} % over {}", self.percent, self.injected.transport);
        let recording = Recording::of_samples(&self.under_load, None, self.baseline, &origin)?;
        let delays: Vec<f64> = recording.delays().iter().map(|&ns| f64::from(ns)).collect();
        let closeness = Closeness::between(&self.excess, &delays);
        Ok((recording, closeness.map_err(|error| error.to_string())?))
    }

    /// Makes and stores the delays of its mean that vary as often as much; or says why they cannot be had.
    fn scale(
        &self,
        recorder: &Recorder,
        made: &mut Vec<Made>,
        delays: &mut ByLevel,
    ) -> Result<(), StoreError> {
        for &multiple in &self.injected.scaled {
            let level = Level::Scaled {
                percent: self.percent,
                multiple,
            };
            match self.scaled(multiple) {
                Ok((table, asked)) => made.push(store(recorder, level, &table, asked)?),
                Err(reason) => {
                    delays.insert(level, Err(reason));
                }
            }
        }
        Ok(())
    }

    fn scaled(&self, multiple: Multiple) -> Result<(DistributionTable, (f64, f64)), String> {
        let slices = imitation::slices(&self.excess, jitterlab_injector::generator::TABLE_ENTRIES)
            .map_err(|error| error.to_string())?;
        let (mean_ns, std) = self.moments;
        let asked = Scaled {
            multiple: multiple.value(),
            mean_ns,
            std_ns: multiple.value() * std,
        };
        let values = imitation::scaled(&slices, asked.multiple).map_err(|reach| {
            format!(
                "a table made from the excess of load {} % cannot have {multiple} times its standard deviation: 0, or {:.3} to {:.1} times, are possible",
                self.percent, reach.least, reach.most
            )
        })?;
        let made = shape::table_of(&values, &asked.to_string(), self.seed);
        match made.lowered == 0 && asked.moments(&made.table).are_met() {
            true => Ok((made.table, (asked.mean_ns, asked.std_ns))),
            false => Err(format!(
                "no table holds {multiple} times the standard deviation of load {} %: delays would be beyond 1 s",
                self.percent
            )),
        }
    }
}
