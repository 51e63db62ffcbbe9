//! The costs of failures: model, simulation and experiment of each way, and performability as one number (Kaur, chapter 4).

use jitterlab_amvia_suite::performability::{self, Report, Source, TOLERANCE};
use jitterlab_base::show;
use jitterlab_experiment::record::{AmviaResult, RunRecord};
use serde::Serialize;

use super::way::{OfWay, Way, result, way_columns};
use crate::analysis::repeated::Repeated;
use crate::analysis::rows::micros;
use crate::table::{Column, Estimate, Row, Value, column};
use crate::words;

/// The cost of a stage of a frame's way (Kaur, table 4.1). Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The component.
    pub component: &'static str,
    /// The cost of a frame that is sent.
    pub send_ns: Estimate,
    /// The cost of a frame that is received.
    pub receive_ns: Estimate,
    /// The source of the cost.
    #[serde(skip)]
    pub source: Source,
}

/// The cost of a failure for a transaction. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excess {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The thing that fails: bits, or a component.
    pub failing: &'static str,
    /// The chance that it does.
    pub chance: f64,
    /// Number of runs.
    pub runs: usize,
    /// Frames that were lost in the experiments.
    pub losses: u64,
    /// The mean time of a transaction without failures.
    pub error_free_ns: f64,
    /// The excess over it by the model.
    pub model_ns: f64,
    /// The excess in the simulation, with its 99 % interval.
    pub simulation_ns: Estimate,
    /// The excess in the experiment; none where too few losses were counted.
    pub experiment_ns: Option<Estimate>,
    /// The time that the machine adds to a transaction. It is subtracted.
    pub machine_ns: f64,
}

/// Transactions in a second, several at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Throughput {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The thing that fails: nothing, bits, or a component.
    pub failing: &'static str,
    /// The chance that it does.
    pub chance: f64,
    /// Transactions at a time.
    pub outstanding: u32,
    /// The throughput by mean value analysis, mean over runs.
    pub analysis: f64,
    /// The throughput in the simulation, mean over runs.
    pub simulation: f64,
}

/// Performability as one number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Performability {
    /// The case, transport and protocol.
    #[serde(flatten)]
    pub way: Way,
    /// The failures that are assumed.
    pub assumed: String,
    /// The chance that a bit is flipped.
    pub bit_error_rate: f64,
    /// Seconds that a target runs on the mean.
    pub up_s: f64,
    /// Transactions in a second while the target is there.
    pub throughput: Estimate,
    /// The share of time in which the client does not wait for a target that has crashed.
    pub availability: f64,
    /// Transactions in a second whose end is known.
    pub performability: Estimate,
}

/// All of it.
#[derive(Default)]
pub struct Found {
    /// The cost of a frame at each stage.
    pub stages: Vec<Stage>,
    /// The costs of failures.
    pub excess: Vec<Excess>,
    /// Several transactions at a time.
    pub throughput: Vec<Throughput>,
    /// One number for each assumption.
    pub performability: Vec<Performability>,
}

fn report(run: &RunRecord) -> Option<&Report> {
    match result(run) {
        Some(AmviaResult::Performability(report)) => Some(report),
        _ => None,
    }
}

/// The runs of one way.
struct Runs<'a>(Vec<(u32, &'a Report)>);

impl<'a> Runs<'a> {
    /// The rows of all runs that are alike, by the rows of the first run.
    fn alike<R>(
        &self,
        rows: impl Fn(&'a Report) -> &'a [R],
        is_alike: impl Fn(&R, &R) -> bool,
    ) -> Vec<Alike<'a, R>> {
        let Some(&(_, first)) = self.0.first() else {
            return Vec::new();
        };
        let of = |like: &'a R| {
            let each = self.0.iter().filter_map(|&(block, report)| {
                let mut rows = rows(report).iter();
                Some((block, rows.find(|row| is_alike(row, like))?))
            });
            Alike(each.collect())
        };
        rows(first).iter().map(of).collect()
    }
}

/// Rows of one kind, one a run at most, with the block of the run; the first is always there.
struct Alike<'a, R>(Vec<(u32, &'a R)>);

impl<R> Alike<'_, R> {
    fn first(&self) -> &R {
        self.0[0].1
    }

    fn mean(&self, of: impl Fn(&R) -> f64) -> Estimate {
        let mut figures = Repeated::default();
        for &(block, row) in &self.0 {
            figures.add(block, of(row));
        }
        figures.mean()
    }
}

/// The findings of the runs of the case.
pub fn performability(done: &[&RunRecord]) -> Found {
    let mut found = Found::default();
    for way in Way::all(done, |run| report(run).is_some()) {
        let runs = way.runs(done).into_iter();
        let runs = Runs(
            runs.filter_map(|run| Some((run.block, report(run)?)))
                .collect(),
        );
        let stages = runs.alike(|it| &it.stages, |a, b| a.component == b.component);
        found.stages.extend(stages.iter().map(|rows| Stage {
            way: way.clone(),
            component: rows.first().component.name(),
            send_ns: rows.mean(|row| row.send_ns),
            receive_ns: rows.mean(|row| row.receive_ns),
            source: rows.first().source,
        }));
        let excess = runs.alike(|it| &it.excess, |a, b| a.failing == b.failing);
        found
            .excess
            .extend(excess.iter().map(|rows| Excess::of(&way, rows)));
        let throughput = runs.alike(
            |it| &it.throughput,
            |a, b| (a.failing, a.outstanding) == (b.failing, b.outstanding),
        );
        found
            .throughput
            .extend(throughput.iter().map(|rows| Throughput {
                way: way.clone(),
                failing: rows.first().failing.name(),
                chance: rows.first().failing.chance,
                outstanding: rows.first().outstanding,
                analysis: rows.mean(|row| row.analysis).value,
                simulation: rows.mean(|row| row.simulation).value,
            }));
        let yields = runs.alike(|it| &it.performability, |a, b| a.assumed == b.assumed);
        found
            .performability
            .extend(yields.iter().map(|rows| Performability {
                way: way.clone(),
                assumed: rows.first().assumed.clone(),
                bit_error_rate: rows.first().bit_error_rate,
                up_s: rows.first().up_s,
                throughput: rows.mean(|row| row.throughput),
                availability: rows.mean(|row| row.availability).value,
                performability: rows.mean(|row| row.performability),
            }));
    }
    found
}

impl Excess {
    fn of(way: &Way, rows: &Alike<performability::Row>) -> Excess {
        let first = rows.first();
        let measured: Vec<(u32, &performability::Row)> = rows
            .0
            .iter()
            .filter(|(_, row)| row.experiment_ns.is_some())
            .copied()
            .collect();
        let experiment_ns = match measured.as_slice() {
            [] => None,
            // The blocks inside a run have made its interval.
            [(_, only)] => only
                .experiment_ns
                .map(|value| reaching(value, only.experiment_reach_ns)),
            _ => {
                let measured = Alike(measured);
                Some(measured.mean(|row| row.experiment_ns.unwrap_or_default()))
            }
        };
        Excess {
            way: way.clone(),
            failing: first.failing.name(),
            chance: first.failing.chance,
            runs: rows.0.len(),
            losses: rows.0.iter().map(|(_, row)| row.losses).sum(),
            error_free_ns: rows.mean(|row| row.error_free_ns).value,
            model_ns: rows.mean(|row| row.model_ns).value,
            simulation_ns: reaching(
                rows.mean(|row| row.simulation_ns).value,
                first.simulation_reach_ns,
            ),
            experiment_ns,
            machine_ns: rows.mean(|row| row.machine_ns).value,
        }
    }

    /// Whether the experiment agrees with the model, within 15 % or its interval; none: not measurable.
    pub fn agrees(&self) -> Option<bool> {
        self.experiment_ns.map(|measured| {
            let off = (measured.value - self.model_ns).abs();
            let is_within = |(low, high)| low <= self.model_ns && self.model_ns <= high;
            off <= TOLERANCE * self.model_ns || measured.interval().is_some_and(is_within)
        })
    }

    /// The figure that is asked for: a time in place of its excess.
    pub fn in_all(&self, excess: Estimate) -> Estimate {
        let of = |ns: f64| ns + self.error_free_ns;
        let value = of(excess.value);
        excess
            .interval()
            .map_or(Estimate::alone(value), |(low, high)| {
                Estimate::within(value, (of(low), of(high)))
            })
    }
}

fn reaching(value: f64, reach: f64) -> Estimate {
    Estimate::within(value, (value - reach, value + reach))
}

impl OfWay for Stage {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl OfWay for Excess {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl OfWay for Throughput {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl OfWay for Performability {
    fn way(&self) -> &Way {
        &self.way
    }
}

impl Row for Stage {
    const ID: &'static str = "performability_stages";
    const TITLE: &'static str = "What a frame costs at each stage (Kaur, table 4.1)";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column("component", "Stage", "the component", |row: &Stage| {
                Value::Text(row.component.into())
            }),
            column(
                "send_us",
                "Sent, µs",
                "for a frame that is sent, in microseconds, mean over runs",
                |row: &Stage| micros(row.send_ns),
            )
            .of_estimates(),
            column(
                "receive_us",
                "Received, µs",
                "for a frame that is received, in microseconds, mean over runs",
                |row: &Stage| micros(row.receive_ns),
            )
            .of_estimates(),
            column("source", "Found by", "how it was found", |row: &Stage| {
                Value::Text(row.source.name().into())
            }),
        ]);
        columns
    }
}

impl Row for Excess {
    const ID: &'static str = "performability_excess";
    const TITLE: &'static str =
        "What failures cost a transaction: model, simulation, experiment (Kaur, table 4.2)";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column(
                "failing",
                "Failing",
                "bits that are flipped, or a component",
                |row: &Excess| Value::Text(row.failing.into()),
            ),
            column(
                "chance",
                "Chance",
                "that a bit is flipped, or that the component fails for a message that passes",
                |row: &Excess| Value::Text(format!("{:e}", row.chance)),
            ),
            column("runs", "Runs", "number of runs", |row: &Excess| {
                Value::Count(row.runs as u64)
            }),
            column(
                "losses",
                "Losses",
                "frames that were lost in the experiments",
                |row: &Excess| Value::Count(row.losses),
            ),
            column(
                "error_free_us",
                "Error-free, µs",
                "mean time of a transaction without failures, in microseconds",
                |row: &Excess| Value::Number(row.error_free_ns / 1e3),
            ),
            column(
                "model_us",
                "Model, µs",
                "mean excess over that by the model, in microseconds",
                |row: &Excess| Value::Number(row.model_ns / 1e3),
            ),
            column(
                "simulation_us",
                "Simulation, µs",
                "mean excess in the simulation in microseconds, with its 99 % interval",
                |row: &Excess| micros(row.simulation_ns),
            )
            .of_estimates(),
            column(
                "experiment_us",
                "Experiment, µs",
                "mean excess in the experiment in microseconds, with its 95 % interval; it is not measurable with fewer than 1,000 \
                 losses a run",
                |row: &Excess| {
                    let measured = row.experiment_ns.map(micros);
                    measured.unwrap_or(Value::Text("not measurable".into()))
                },
            )
            .of_estimates(),
            column(
                "machine_us",
                "Machine, µs",
                "what the machine added to a transaction in as much time without failures, which was taken away, in microseconds",
                |row: &Excess| Value::Number(row.machine_ns / 1e3),
            ),
            column(
                "off",
                "Off the model",
                "the experiment's excess as a share of the model's",
                |row: &Excess| match row.experiment_ns {
                    Some(measured) => Value::Change(measured.scaled(1.0 / row.model_ns)),
                    None => Value::Missing,
                },
            )
            .of_estimates(),
            column(
                "verdict",
                "Verdict",
                "whether the experiment agrees with the model, within 15 % or its interval",
                |row: &Excess| match row.agrees() {
                    Some(true) => Value::Text("agrees".into()),
                    Some(false) => Value::Text("differs".into()),
                    None => Value::Missing,
                },
            ),
        ]);
        columns
    }
}

impl Row for Throughput {
    const ID: &'static str = "performability_throughput";
    const TITLE: &'static str = "Transactions a second, several at a time: analysis and simulation";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column(
                "failing",
                "Failing",
                "nothing, bits that are flipped, or a component",
                |row: &Throughput| Value::Text(row.failing.into()),
            ),
            column(
                "chance",
                "Chance",
                "that a bit is flipped, or that the component fails for a message that passes",
                |row: &Throughput| Value::Text(format!("{:e}", row.chance)),
            ),
            column(
                "outstanding",
                "At a time",
                "transactions at a time",
                |row: &Throughput| Value::Count(row.outstanding.into()),
            ),
            column(
                "analysis",
                "Analysis, 1/s",
                "transactions a second by mean value analysis",
                |row: &Throughput| Value::Number(row.analysis),
            ),
            column(
                "simulation",
                "Simulation, 1/s",
                "transactions a second in the simulation",
                |row: &Throughput| Value::Number(row.simulation),
            ),
            column(
                "error",
                "Error",
                "by how much the analysis is off the simulation",
                |row: &Throughput| Value::Change(Estimate::alone(row.analysis / row.simulation)),
            )
            .of_estimates(),
        ]);
        columns
    }
}

impl Row for Performability {
    const ID: &'static str = "performability";
    const TITLE: &'static str = "Performability: transactions a second whose end is known";

    fn columns() -> Vec<Column<Self>> {
        let mut columns = way_columns();
        columns.extend([
            column(
                "assumed",
                "Assumed",
                "the failures that are assumed",
                |row: &Performability| Value::Text(row.assumed.clone()),
            ),
            column(
                "bit_error_rate",
                "Errors a bit",
                "the chance that a bit is flipped",
                |row: &Performability| Value::Text(format!("{:e}", row.bit_error_rate)),
            ),
            column(
                "up_s",
                "Up, s",
                "seconds that a target runs on the mean before it crashes",
                |row: &Performability| Value::Number(row.up_s),
            ),
            column(
                "throughput",
                "Throughput, 1/s",
                "transactions a second while the target is there, mean over runs",
                |row: &Performability| Value::Estimate(row.throughput),
            )
            .of_estimates(),
            column(
                "availability",
                "Availability",
                "share of time in which the client does not wait for a target that has crashed",
                |row: &Performability| Value::Text(format!("{:.7}", row.availability)),
            ),
            column(
                "performability",
                "Performability, 1/s",
                "transactions a second whose end is known, mean over runs",
                |row: &Performability| Value::Estimate(row.performability),
            )
            .of_estimates(),
        ]);
        columns
    }
}

/// Whether experiments agree with the model, and which protocol yields most under each assumption.
pub fn in_words(excess: &[Excess], yields: &[Performability]) -> Vec<String> {
    let verdicts: Vec<bool> = excess.iter().filter_map(Excess::agrees).collect();
    let mut sentences = Vec::new();
    if !excess.is_empty() {
        let agreed = verdicts.iter().filter(|&&agrees| agrees).count();
        sentences.push(format!(
            "Of {} of a transaction by failures, {} could be measured; {agreed} of these agree with the model within 15 % or their \
             interval.",
            show::counted(excess.len(), "excess time"),
            verdicts.len(),
        ));
    }
    let mut told: Vec<(&Way, &str)> = Vec::new();
    for row in yields {
        let is_known = |&(way, assumed): &(&Way, &str)| {
            (&way.case, way.transport, way.level)
                == (&row.way.case, row.way.transport, row.way.level)
                && assumed == row.assumed
        };
        if !told.iter().any(is_known) {
            told.push((&row.way, &row.assumed));
            sentences.extend(best(yields, row));
        }
    }
    sentences
}

/// The protocol that yields most over the transport and under the assumption of a row, if there is a choice.
fn best(yields: &[Performability], like: &Performability) -> Option<String> {
    let mut same: Vec<&Performability> = yields
        .iter()
        .filter(|row| {
            row.assumed == like.assumed
                && row.way.case == like.way.case
                && row.way.transport == like.way.transport
                && row.way.level == like.way.level
        })
        .collect();
    same.sort_by(|a, b| b.performability.value.total_cmp(&a.performability.value));
    let [first, others @ ..] = same.as_slice() else {
        return None;
    };
    let others: Vec<String> = others
        .iter()
        .map(|row| {
            let ratio = row.performability.value / first.performability.value;
            format!("{} {}", row.way.protocol, words::signed_percent(ratio))
        })
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "Over {}, with {}, {} yields most: {} transactions a second; against it {}.",
            words::transport(like.way.transport.name()),
            like.assumed,
            first.way.protocol,
            words::short(first.performability.value),
            words::list(&others),
        )
    })
}
