//! Model, simulation and experiment of the same transactions, side by side.

use jitterlab_amvia::protocol::{Config, Nanos};
use jitterlab_amvia::transport::Faults;
use jitterlab_base::seed;
use jitterlab_stats::special::two_sided_inverse;
use jitterlab_stats::{Moments, repeated};
use serde::{Deserialize, Serialize};

use super::error::PerformabilityError;
use super::experiment::{Length, Measured, Trial, measure};
use super::model::Model;
use super::pair::Over;
use super::path::{Component, Failures, Losses, Stages};
use super::simulation::{Plan, simulate};
use crate::protocol::Protocol;

/// Losses that have to be counted before an excess is called measured.
pub const LOSSES: u64 = 1_000;
/// The share of the model by which a measured excess may miss it, where its interval is narrower.
pub const TOLERANCE: f64 = 0.15;

/// The comparison that is made.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The protocol of both ends.
    pub protocol: Protocol,
    /// The carrier of the frames.
    pub over: Over,
    /// Timeout before a message is sent again; it does not adapt.
    pub timeout: Nanos,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// Transactions of each simulation.
    pub simulated: u64,
    /// Most transactions with faults in each experiment.
    pub measured: u64,
    /// Seed of the faults and of the simulation.
    pub seed: u64,
}

/// The thing that fails, and its rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Failing {
    /// The component; none: bits are flipped.
    #[serde(deserialize_with = "Option::deserialize")]
    pub component: Option<Component>,
    /// The chance that it fails for a message that passes, or that a bit is flipped.
    pub chance: f64,
}

/// Chances that a component fails, if nothing is said.
pub const CHANCES: [f64; 3] = [1e-4, 1e-3, 1e-2];

impl Failing {
    /// Bits are flipped, each with this chance.
    pub fn bits(chance: f64) -> Failing {
        Failing {
            component: None,
            chance,
        }
    }

    /// Bits flipped at each of `rates`; and each of `components` failing with each of `chances`, or, where there is none, with three
    /// usual ones.
    pub fn each(rates: &[f64], components: &[Component], chances: &[f64]) -> Vec<Failing> {
        let chances = match chances {
            [] => &CHANCES,
            chances => chances,
        };
        let bits = rates.iter().map(|&chance| Failing::bits(chance));
        let of = |&component| {
            let each = chances.iter();
            each.map(move |&chance| Failing {
                component: Some(component),
                chance,
            })
        };
        bits.chain(components.iter().flat_map(of)).collect()
    }

    pub(super) fn failures(&self) -> Failures {
        match self.component {
            Some(component) => Failures::of(component, self.chance),
            None => Failures::of_bits(self.chance),
        }
    }

    /// The name of what fails: a component, bits, or nothing.
    pub fn name(&self) -> &'static str {
        match self.component {
            _ if self.chance == 0.0 => "nothing",
            Some(component) => component.name(),
            None => "bits",
        }
    }

    /// In words for people.
    pub(super) fn what(&self) -> String {
        match self.chance {
            0.0 => self.name().into(),
            chance => format!("{} {chance:e}", self.name()),
        }
    }
}

/// The findings about failures. Times are in nanoseconds; each excess is over the mean time without failures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What fails.
    #[serde(flatten)]
    pub failing: Failing,
    /// The mean time of a transaction without failures, as it was measured.
    pub error_free_ns: f64,
    /// The excess by the model.
    pub model_ns: f64,
    /// The excess in the simulation.
    pub simulation_ns: f64,
    /// The reach of its 99 % interval.
    pub simulation_reach_ns: f64,
    /// The excess in the experiment; none where too few losses were counted.
    #[serde(deserialize_with = "Option::deserialize")]
    pub experiment_ns: Option<f64>,
    /// The reach of its 95 % interval.
    pub experiment_reach_ns: f64,
    /// The time that the machine adds to a transaction without failures. It is subtracted.
    pub machine_ns: f64,
    /// Transactions of the experiment in which frames were lost on purpose.
    pub transactions: u64,
    /// Frames that were lost in it.
    pub losses: u64,
    /// Damaged frames that were detected.
    pub detected: u64,
}

impl Row {
    /// True if the simulation holds the model.
    pub fn model_holds(&self) -> bool {
        (self.model_ns - self.simulation_ns).abs() <= self.simulation_reach_ns
    }

    /// Whether the experiment agrees with the model, within 15 % or its interval; none: not measurable.
    pub fn agrees(&self) -> Option<bool> {
        let allowed = self.experiment_reach_ns.max(TOLERANCE * self.model_ns);
        self.experiment_ns
            .map(|measured| (measured - self.model_ns).abs() <= allowed)
    }

    /// The share of the model's excess by which the experiment's is above it. `None`: it cannot be measured.
    pub fn off(&self) -> Option<f64> {
        self.experiment_ns
            .map(|measured| measured / self.model_ns - 1.0)
    }
}

impl Comparison {
    /// Compares what comes of a failure.
    ///
    /// # Errors
    /// An experiment cannot be carried out, or the model has no answer.
    pub fn row(&self, failing: Failing) -> Result<Row, PerformabilityError> {
        let failures = failing.failures();
        let found = self.measured(&failures)?;
        let error_free = found.undisturbed.mean().unwrap_or(0.0);
        let model = |failures| Model {
            config: self.config(&failures),
            stages: stages_of(error_free),
            failures,
            payload: self.payload,
        };
        let with = model(failures);
        let base = model(Failures::default()).forecast()?.response.mean;
        let plan = Plan {
            config: with.config.clone(),
            stages: with.stages,
            failures,
            payload: self.payload,
            outstanding: 1,
            transactions: self.simulated,
            seed: self.seed,
        };
        let simulated = simulate(&plan).response;
        let spread = simulated.std().unwrap_or(0.0);
        Ok(Row {
            failing,
            error_free_ns: error_free,
            model_ns: with.forecast()?.response.mean - base,
            simulation_ns: simulated.mean().unwrap_or(0.0) - base,
            simulation_reach_ns: two_sided_inverse(0.01) * spread / (self.simulated as f64).sqrt(),
            experiment_ns: (found.losses >= LOSSES).then_some(found.excess),
            experiment_reach_ns: found.reach,
            machine_ns: found.machine,
            transactions: found.transactions,
            losses: found.losses,
            detected: found.refused,
        })
    }

    /// The configuration of both ends. A handler that may fail has a limit of its time: else nobody ever knew under `amvia`.
    pub(super) fn config(&self, failures: &Failures) -> Config {
        Config {
            handler_time: (failures.application() > 0.0).then_some(HANDLER * self.timeout),
            ..fixed(self.protocol, self.timeout)
        }
    }

    /// Measures with failures and without, in turns, each time for as long. The machine disturbs transactions, too: as many in the
    /// same time without failures, which are taken away, block by block.
    fn measured(&self, failures: &Failures) -> Result<Found, PerformabilityError> {
        let transactions = self.needed(failures).0.div_ceil(BLOCKS);
        let mut found = Found {
            undisturbed: Moments::NONE,
            excess: 0.0,
            reach: 0.0,
            machine: 0.0,
            transactions: 0,
            losses: 0,
            refused: 0,
        };
        let faults = Faults {
            bit_error_rate: failures.bit_error_rate,
            // The loss of a frame without a bit that could be flipped.
            loss: failures.loss(0),
            ..Faults::default()
        };
        let mut excesses = Vec::new();
        for block in 0..BLOCKS {
            let bad = self.trial(faults, Length::Transactions(transactions), block)?;
            let quiet = self.trial(Faults::default(), Length::Time(bad.lasted), block)?;
            let each = bad.transactions() as f64;
            excesses.push((bad.excess() - quiet.excess()) / each);
            found.machine += quiet.excess() / each / BLOCKS as f64;
            found.undisturbed = found.undisturbed.merged(quiet.undisturbed);
            found.transactions += bad.transactions();
            found.losses += bad.losses;
            found.refused += bad.refused;
        }
        let interval = repeated::mean(&excesses, 0.95)?;
        found.excess = interval.estimate;
        found.reach = (interval.high - interval.low) / 2.0;
        Ok(found)
    }

    fn trial(
        &self,
        faults: Faults,
        length: Length,
        block: u64,
    ) -> Result<Measured, PerformabilityError> {
        measure(&Trial {
            config: fixed(self.protocol, self.timeout),
            over: self.over.clone(),
            faults: Faults {
                seed: seed::stream(self.seed, block, 0),
                ..faults
            },
            payload: self.payload,
            length,
        })
    }

    /// Transactions that yield enough losses, at least, and the losses that they yield.
    pub(super) fn needed(&self, failures: &Failures) -> (u64, f64) {
        let Losses {
            request,
            reply,
            ack,
            ..
        } = Losses::of(failures, self.payload);
        let ack = match self.protocol {
            Protocol::TwoWay | Protocol::AmviaRiding => 0.0,
            Protocol::Amvia | Protocol::Amudp => ack,
        };
        let losses = request + reply + ack;
        let needed = match losses > 0.0 {
            true => (1.2 * LOSSES as f64 / losses).ceil() as u64,
            // A handler cannot be made to fail here.
            false => 0,
        };
        let transactions = needed.max(LEAST).min(self.measured);
        (transactions, transactions as f64 * losses)
    }
}

/// The result of the blocks of an experiment. Times are in nanoseconds.
struct Found {
    undisturbed: Moments,
    excess: f64,
    reach: f64,
    machine: f64,
    transactions: u64,
    losses: u64,
    refused: u64,
}

/// Blocks of an experiment, with errors and without.
const BLOCKS: u64 = 10;
/// Transactions of an experiment at least, if so many are allowed.
const LEAST: u64 = 5_000;
/// The time of a handler that may fail, in timeouts.
const HANDLER: u64 = 4;

/// The stages of a path, from its round trip alone.
fn stages_of(round_trip: f64) -> Stages {
    Stages {
        wire: round_trip / 2.0,
        ..Stages::default()
    }
}

/// A configuration with one timeout, which is always the same.
pub fn fixed(protocol: Protocol, timeout: Nanos) -> Config {
    Config {
        protocol: protocol.of_library(),
        ack_delay: protocol.ack_delay(),
        min_rto: timeout,
        max_rto: timeout,
        ..Config::default()
    }
}
