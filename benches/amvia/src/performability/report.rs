//! All that is found of performability over one transport, in one protocol.

use jitterlab_amvia::protocol::Nanos;
use jitterlab_base::print::{Part, Text};
use jitterlab_base::show;
use jitterlab_packet::cases;
use jitterlab_packet::transport::{Link, Wait};
use serde::{Deserialize, Serialize};

use super::comparison::{Comparison, Failing, Row, fixed};
use super::error::PerformabilityError;
use super::model::Model;
use super::pair::Over;
use super::path::Failures;
use super::reward::{ASSUMED, Assumed, Performability, performability};
use super::stages::{Stage, stages};
use super::steps::{Kernel, Passed, kernel};
use super::throughput::{Throughput, throughput};
use crate::cases::{Case, Setting};
use crate::protocol::Protocol;

/// The parameters of a report.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The carrier of the frames.
    pub over: Over,
    /// The protocol.
    pub protocol: Protocol,
    /// The failures, one after the other.
    pub failing: Vec<Failing>,
    /// The failures that the one number assumes, beside [`ASSUMED`].
    pub assumed: Vec<Assumed>,
    /// Timeout before a message is sent again; it does not adapt.
    pub timeout: Nanos,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// Transactions of each simulation.
    pub simulated: u64,
    /// Most transactions with failures in each experiment.
    pub measured: u64,
    /// Seed of the faults and of the simulation.
    pub seed: u64,
}

/// The findings, as they are printed and stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`Case::Performability`].
    pub case: Case,
    /// The transport, the CPUs and the clock of the measurement.
    #[serde(flatten)]
    pub setting: Setting,
    /// Size of a request and of its reply in bytes.
    pub size: u64,
    /// The timeout, in nanoseconds.
    pub timeout_ns: Nanos,
    /// The cost of each stage.
    pub stages: Vec<Stage>,
    /// The parts of the kernel's cost.
    pub kernel: Kernel,
    /// The costs of failures: model, simulation and experiment.
    pub excess: Vec<Row>,
    /// Throughput: mean value analysis and simulation.
    pub throughput: Vec<Throughput>,
    /// Performability as one number.
    pub performability: Vec<Performability>,
}

/// Transactions at a time in the table of throughputs, without failures and with these bit errors.
const OUTSTANDING: [u32; 3] = [1, 4, 16];
const RATES: [f64; 2] = [0.0, 1e-6];
/// Transactions at a time where something else fails.
const FAILING_OUTSTANDING: u32 = 4;

impl Report {
    /// Measures, simulates and computes.
    ///
    /// # Errors
    /// Something cannot be measured, or the model has no answer.
    pub fn of(asked: &Asked) -> Result<Report, PerformabilityError> {
        let (costs, stages) = stages(&asked.over, asked.payload)?;
        let kernel = kernel(&asked.over, asked.payload)?;
        let comparison = asked.comparison();
        let excess = asked.failing.iter().map(|&failing| comparison.row(failing));
        let model = |failures: &Failures| Model {
            config: comparison.config(failures),
            stages: costs,
            failures: *failures,
            payload: asked.payload,
        };
        let throughput = asked.loaded().into_iter().map(|(failing, outstanding)| {
            let model = model(&failing.failures());
            throughput(&model, failing, outstanding, asked.simulated, asked.seed)
        });
        let assumed = ASSUMED.iter().chain(&asked.assumed);
        let yields = assumed.map(|assumed| performability(&model(&Failures::default()), assumed));
        let link = Link::of(asked.over.transport);
        Ok(Report {
            case: Case::Performability,
            setting: Setting {
                over: cases::Setting::now(&link, Wait::Poll, None),
                protocol: asked.protocol,
                window: fixed(asked.protocol, asked.timeout).window,
                // Those of its experiments are in its rows.
                faults: None,
            },
            size: asked.payload as u64,
            timeout_ns: asked.timeout,
            excess: excess.collect::<Result<_, _>>()?,
            throughput: throughput.collect::<Result<_, _>>()?,
            performability: yields.collect::<Result<_, _>>()?,
            stages,
            kernel,
        })
    }

    /// The steps of a frame in the kernel, where they can be seen.
    fn steps(&self) -> &[Passed] {
        match &self.kernel {
            Kernel::Traced(traced) => &traced.steps,
            Kernel::NotTraced(_) => &[],
        }
    }

    /// The use of tracepoints in words.
    fn traced(&self) -> String {
        let Setting { over, protocol, .. } = &self.setting;
        let what = match &self.kernel {
            Kernel::Traced(traced) => format!(
                "tracepoints, {} frames, {} left out; a round trip takes {} with them and {} without",
                show::count(traced.frames),
                show::count(traced.left_out),
                show::time(traced.traced_round_trip_ns),
                show::time(traced.round_trip_ns),
            ),
            Kernel::NotTraced(reason) => format!("no tracepoints: {reason}"),
        };
        format!("{}, {protocol}: {what}", over.transport)
    }

    /// True if all that could be measured agrees with the model.
    pub fn agrees(&self) -> bool {
        self.excess.iter().all(|row| row.agrees() != Some(false))
    }
}

impl Asked {
    /// About how long it takes, in seconds.
    pub fn seconds(&self) -> f64 {
        /// A transaction, and one that is simulated.
        const MEASURED: f64 = 20e-6;
        const SIMULATED: f64 = 10e-6;
        let comparison = self.comparison();
        let experiments = self.failing.iter().map(|failing| {
            let (needed, losses) = comparison.needed(&failing.failures());
            let seconds = needed as f64 * MEASURED + losses * self.timeout as f64 / 1e9;
            // Each is measured with failures and without.
            2.0 * seconds
        });
        let simulations = self.failing.len() + self.loaded().len();
        let simulated = simulations as f64 * self.simulated as f64 * SIMULATED;
        1.0 + experiments.sum::<f64>() + simulated
    }

    /// What fails where several transactions are under way at a time, and how many.
    fn loaded(&self) -> Vec<(Failing, u32)> {
        let rates = RATES.into_iter().map(Failing::bits);
        let mut all: Vec<(Failing, u32)> = rates
            .flat_map(|failing| OUTSTANDING.map(|at| (failing, at)))
            .collect();
        let others = self.failing.iter().map(|&it| (it, FAILING_OUTSTANDING));
        for other in others {
            if !all.contains(&other) {
                all.push(other);
            }
        }
        all
    }

    fn comparison(&self) -> Comparison {
        Comparison {
            protocol: self.protocol,
            over: self.over.clone(),
            timeout: self.timeout,
            payload: self.payload,
            simulated: self.simulated,
            measured: self.measured,
            seed: self.seed,
        }
    }
}

/// The findings for the given transports and protocols.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Reports(pub Vec<Report>);

impl Reports {
    /// True if all that could be measured agrees with the model.
    pub fn agree(&self) -> bool {
        self.0.iter().all(Report::agrees)
    }

    /// A table of the rows of all reports, behind the names of transport and protocol.
    fn table<R, const N: usize>(
        &self,
        head: [&str; N],
        rows: impl Fn(&Report) -> &[R],
        cells: impl Fn(&R) -> [String; N],
    ) -> Part {
        let named = |over: &str, protocol: &str, cells: [String; N]| -> Vec<String> {
            let names = [over, protocol].map(String::from);
            names.into_iter().chain(cells).collect()
        };
        let mut table = vec![named("transport", "protocol", head.map(String::from))];
        for report in &self.0 {
            let Setting { over, protocol, .. } = &report.setting;
            let (over, protocol) = (over.transport.name(), protocol.name());
            let rows = rows(report).iter().map(&cells);
            table.extend(rows.map(|cells| named(over, protocol, cells)));
        }
        Part::Table(table)
    }
}

fn with_reach(value: f64, reach: f64) -> String {
    format!("{} ± {}", show::time(value), show::time(reach))
}

impl Row {
    fn cells(&self) -> [String; 9] {
        let measured = match self.experiment_ns {
            Some(excess) => with_reach(excess, self.experiment_reach_ns),
            None => "not measurable".into(),
        };
        let verdict = match self.agrees() {
            Some(true) => "agrees",
            Some(false) => "differs",
            None => "",
        };
        [
            self.failing.what(),
            show::count(self.losses),
            show::time(self.error_free_ns),
            show::time(self.model_ns),
            with_reach(self.simulation_ns, self.simulation_reach_ns),
            measured,
            show::time(self.machine_ns),
            self.off().map_or(String::new(), show::percent),
            verdict.into(),
        ]
    }
}

impl Text for Reports {
    fn parts(&self) -> Vec<Part> {
        let about = self.0.first().map_or(String::new(), |report| {
            let timeout = show::time(report.timeout_ns as f64);
            format!(", messages of {} B, timeout {timeout}", report.size)
        });
        let stages = self.table(
            ["stage", "sent", "received", "found by"],
            |report| &report.stages,
            |stage| {
                [
                    stage.component.to_string(),
                    show::time(stage.send_ns),
                    show::time(stage.receive_ns),
                    stage.source.to_string(),
                ]
            },
        );
        let steps = self.table(["step", "component", "median"], Report::steps, |passed| {
            [
                passed.step.to_string(),
                passed.step.component().to_string(),
                show::time(passed.median_ns),
            ]
        });
        let excess = self.table(
            [
                "failing",
                "losses",
                "error-free",
                "model",
                "simulation (99 %)",
                "experiment (95 %)",
                "machine",
                "off the model",
                "",
            ],
            |report| &report.excess,
            Row::cells,
        );
        let throughput = self.table(
            [
                "failing",
                "at a time",
                "mean value analysis",
                "simulation",
                "error",
            ],
            |report| &report.throughput,
            |found| {
                [
                    found.failing.what(),
                    found.outstanding.to_string(),
                    show::count(found.analysis as u64),
                    show::count(found.simulation as u64),
                    show::percent(found.error()),
                ]
            },
        );
        let performability = self.table(
            [
                "assumed",
                "errors a bit",
                "up",
                "repair",
                "throughput",
                "availability",
                "performability",
            ],
            |report| &report.performability,
            |found| {
                [
                    found.assumed.clone(),
                    format!("{:e}", found.bit_error_rate),
                    show::time(1e9 * found.up_s),
                    show::time(1e9 * found.repair_s),
                    show::count(found.throughput as u64),
                    format!("{:.7}", found.availability),
                    show::count(found.performability as u64),
                ]
            },
        );
        let mut parts = vec![
            Part::Line(format!("what a frame costs at each stage{about}")),
            stages,
        ];
        parts.extend(self.0.iter().map(|report| Part::Line(report.traced())));
        if self.0.iter().any(|report| !report.steps().is_empty()) {
            parts.push(steps);
        }
        parts.extend([
            Part::Line("mean excess of a transaction over its time without failures".into()),
            excess,
            Part::Line("transactions in a second, several at a time".into()),
            throughput,
            Part::Line("performability: transactions in a second whose end is known".into()),
            performability,
        ]);
        parts
    }
}
