//! All that is found of performability on a machine, in one report.

use jitterlab_amvia::protocol::{Nanos, Protocol};
use jitterlab_base::show;
use jitterlab_packet::cases::{Part, Text};
use serde::Serialize;

use super::comparison::{Comparison, Row, fixed};
use super::error::PerformabilityError;
use super::model::Model;
use super::pair::Carrier;
use super::path::{Failures, Stages};
use super::reward::{Performability, compared};
use super::stages::{Stage, stages};
use super::throughput::{Throughput, throughput};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The transports.
    pub carriers: Vec<Carrier>,
    /// The protocols.
    pub protocols: Vec<Protocol>,
    /// The bit error rates.
    pub rates: Vec<f64>,
    /// The timeout, which is fixed.
    pub timeout: Nanos,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// Transactions of each simulation.
    pub simulated: u64,
    /// Transactions of each experiment at most.
    pub measured: u64,
    /// Draws faults and simulations.
    pub seed: u64,
}

/// What a transport yields under an assumption.
#[derive(Debug, Clone, Serialize)]
pub struct Over<T> {
    /// The transport.
    pub transport: Carrier,
    /// What it yields.
    #[serde(flatten)]
    pub of: T,
}

/// What is found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The timeout, in nanoseconds.
    pub timeout_ns: Nanos,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// What each stage costs.
    pub stages: Vec<Stage>,
    /// What bit errors cost: model, simulation and experiment.
    pub excess: Vec<Row>,
    /// Throughput: mean value analysis and simulation.
    pub throughput: Vec<Over<Throughput>>,
    /// Performability as one number.
    pub performability: Vec<Over<Performability>>,
}

/// Transactions at a time in the table of throughputs.
const OUTSTANDING: [u32; 3] = [1, 4, 16];
/// The bit error rates of that table.
const RATES: [f64; 2] = [0.0, 1e-6];

impl Report {
    /// Measures, simulates and computes.
    ///
    /// # Errors
    /// Something cannot be measured, or the model has no answer.
    pub fn of(asked: &Asked) -> Result<Report, PerformabilityError> {
        let mut report = Report {
            timeout_ns: asked.timeout,
            payload: asked.payload,
            stages: Vec::new(),
            excess: Vec::new(),
            throughput: Vec::new(),
            performability: Vec::new(),
        };
        for &carrier in &asked.carriers {
            report.add(asked, carrier)?;
        }
        Ok(report)
    }

    fn add(&mut self, asked: &Asked, carrier: Carrier) -> Result<(), PerformabilityError> {
        let (costs, stages) = stages(carrier, asked.payload)?;
        self.stages.extend(stages);
        let over = |of| Over {
            transport: carrier,
            of,
        };
        for &protocol in &asked.protocols {
            let comparison = Comparison {
                config: fixed(protocol, asked.timeout),
                carrier,
                payload: asked.payload,
                simulated: asked.simulated,
                measured: asked.measured,
                seed: asked.seed,
            };
            self.excess.extend(comparison.rows(&asked.rates)?);
            for (rate, outstanding) in RATES
                .iter()
                .flat_map(|&rate| OUTSTANDING.map(|at| (rate, at)))
            {
                let model = asked.model(protocol, costs, Failures::of_bits(rate));
                let found = throughput(&model, outstanding, asked.simulated, asked.seed)?;
                self.throughput.push(over(found));
            }
        }
        let yields = compared(&asked.protocols, |protocol| {
            asked.model(protocol, costs, Failures::default())
        })?;
        let yields = yields.into_iter().map(|of| Over {
            transport: carrier,
            of,
        });
        self.performability.extend(yields);
        Ok(())
    }

    /// Whether all that could be measured agrees with the model.
    pub fn agrees(&self) -> bool {
        self.excess.iter().all(|row| row.agrees() != Some(false))
    }
}

impl Asked {
    fn model(&self, protocol: Protocol, stages: Stages, failures: Failures) -> Model {
        Model {
            config: fixed(protocol, self.timeout),
            stages,
            failures,
            payload: self.payload,
        }
    }
}

fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Part {
    let head = head.map(String::from).to_vec();
    Part::Table(std::iter::once(head).chain(rows.map(Vec::from)).collect())
}

impl Text for Report {
    fn parts(&self) -> Vec<Part> {
        let about = format!(
            "messages of {} B, timeout {}",
            self.payload,
            show::time(self.timeout_ns as f64)
        );
        let stages = self.stages.iter().map(|stage| {
            [
                stage.transport.to_string(),
                stage.component.to_string(),
                show::time(stage.send_ns),
                show::time(stage.receive_ns),
                stage.source.to_string(),
            ]
        });
        let excess = self.excess.iter().map(|row| {
            let measured = match row.experiment_ns {
                Some(excess) => format!(
                    "{} ± {}",
                    show::time(excess),
                    show::time(row.experiment_reach_ns)
                ),
                None => "not measurable".into(),
            };
            [
                row.transport.to_string(),
                row.protocol.clone(),
                format!("{:e}", row.bit_error_rate),
                show::count(row.losses),
                show::time(row.error_free_ns),
                show::time(row.model_ns),
                format!(
                    "{} ± {}",
                    show::time(row.simulation_ns),
                    show::time(row.simulation_reach_ns)
                ),
                measured,
                match row.agrees() {
                    Some(true) => "agrees".into(),
                    Some(false) => "differs".into(),
                    None => String::new(),
                },
            ]
        });
        let throughput = self.throughput.iter().map(|over| {
            [
                over.transport.to_string(),
                over.of.protocol.clone(),
                format!("{:e}", over.of.bit_error_rate),
                over.of.outstanding.to_string(),
                show::count(over.of.analysis as u64),
                show::count(over.of.simulation as u64),
                show::percent(over.of.error()),
            ]
        });
        let performability = self.performability.iter().map(|over| {
            [
                over.transport.to_string(),
                over.of.assumed.to_string(),
                over.of.protocol.clone(),
                show::count(over.of.throughput as u64),
                format!("{:.7}", over.of.availability),
                show::count(over.of.performability as u64),
            ]
        });
        vec![
            Part::Line(format!("what a frame costs at each stage, {about}")),
            table(
                ["transport", "stage", "sent", "received", "found by"],
                stages,
            ),
            Part::Line("mean excess of a transaction over its time without bit errors".into()),
            table(
                [
                    "transport",
                    "protocol",
                    "errors a bit",
                    "losses",
                    "error-free",
                    "model",
                    "simulation (99 %)",
                    "experiment (95 %)",
                    "",
                ],
                excess,
            ),
            Part::Line("transactions in a second, several at a time".into()),
            table(
                [
                    "transport",
                    "protocol",
                    "errors a bit",
                    "at a time",
                    "mean value analysis",
                    "simulation",
                    "error",
                ],
                throughput,
            ),
            Part::Line("performability: transactions in a second whose end is known".into()),
            table(
                [
                    "transport",
                    "assumed",
                    "protocol",
                    "throughput",
                    "availability",
                    "performability",
                ],
                performability,
            ),
        ]
    }
}
