//! Model, simulation and experiment of the same transactions, side by side.

use jitterlab_amvia::protocol::{Config, Nanos, Protocol};
use jitterlab_amvia::transport::Faults;
use jitterlab_base::seed;
use jitterlab_stats::special::two_sided_inverse;
use jitterlab_stats::{Moments, repeated};
use serde::Serialize;

use super::error::PerformabilityError;
use super::experiment::{Measured, Trial, measure};
use super::model::Model;
use super::pair::Carrier;
use super::path::{Failures, Losses, Stages};
use super::simulation::{Plan, simulate};

/// Losses that have to be counted before an excess is called measured.
pub const LOSSES: u64 = 1_000;
/// By what share of the model a measured excess may miss it, where its interval is narrower.
pub const TOLERANCE: f64 = 0.15;

/// What is compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Of both ends; its timeouts are fixed.
    pub config: Config,
    /// What carries the frames.
    pub carrier: Carrier,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// Transactions of each simulation.
    pub simulated: u64,
    /// Transactions of each experiment at most.
    pub measured: u64,
    /// Draws faults and simulations.
    pub seed: u64,
}

/// What is found at a bit error rate. Times are in nanoseconds; each excess is over the mean time without errors.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The protocol.
    pub protocol: String,
    /// The transport.
    pub transport: Carrier,
    /// The chance that a bit is flipped.
    pub bit_error_rate: f64,
    /// The mean time of a transaction without errors, as it was measured.
    pub error_free_ns: f64,
    /// The excess by the model.
    pub model_ns: f64,
    /// The excess in the simulation.
    pub simulation_ns: f64,
    /// The reach of its 99 % interval.
    pub simulation_reach_ns: f64,
    /// The excess in the experiment; none where too few losses were counted.
    pub experiment_ns: Option<f64>,
    /// The reach of its 95 % interval.
    pub experiment_reach_ns: f64,
    /// Transactions of the experiment.
    pub transactions: u64,
    /// Frames that were lost in it.
    pub losses: u64,
    /// Damaged frames that were detected.
    pub detected: u64,
}

impl Row {
    /// Whether the simulation holds the model.
    pub fn model_holds(&self) -> bool {
        (self.model_ns - self.simulation_ns).abs() <= self.simulation_reach_ns
    }

    /// Whether the experiment agrees with the model, within 15 % or its interval; none: not measurable.
    pub fn agrees(&self) -> Option<bool> {
        let allowed = self.experiment_reach_ns.max(TOLERANCE * self.model_ns);
        self.experiment_ns
            .map(|measured| (measured - self.model_ns).abs() <= allowed)
    }
}

impl Comparison {
    /// Compares at each of `rates`.
    ///
    /// # Errors
    /// An experiment cannot be carried out, or the model has no answer.
    pub fn rows(&self, rates: &[f64]) -> Result<Vec<Row>, PerformabilityError> {
        rates.iter().map(|&rate| self.row(rate)).collect()
    }

    fn row(&self, rate: f64) -> Result<Row, PerformabilityError> {
        let found = self.measured(rate)?;
        let error_free = found.undisturbed.mean().unwrap_or(0.0);
        let model = |rate| Model {
            config: self.config.clone(),
            stages: stages_of(error_free),
            failures: Failures::of_bits(rate),
            payload: self.payload,
        };
        let [with, without] = [model(rate), model(0.0)];
        let base = without.forecast()?.response.mean;
        let plan = Plan {
            config: with.config.clone(),
            stages: with.stages,
            failures: with.failures,
            payload: self.payload,
            outstanding: 1,
            transactions: self.simulated,
            seed: self.seed,
        };
        let simulated = simulate(&plan).response;
        let spread = simulated.std().unwrap_or(0.0);
        Ok(Row {
            protocol: self.config.protocol.to_string(),
            transport: self.carrier,
            bit_error_rate: rate,
            error_free_ns: error_free,
            model_ns: with.forecast()?.response.mean - base,
            simulation_ns: simulated.mean().unwrap_or(0.0) - base,
            simulation_reach_ns: two_sided_inverse(0.01) * spread / (self.simulated as f64).sqrt(),
            experiment_ns: (found.losses >= LOSSES).then_some(found.excess),
            experiment_reach_ns: found.reach,
            transactions: found.transactions,
            losses: found.losses,
            detected: found.refused,
        })
    }

    /// Measures with errors and without, in turns. The machine disturbs transactions, too: that is in both, and is taken away,
    /// block by block.
    fn measured(&self, rate: f64) -> Result<Found, PerformabilityError> {
        let transactions = self.needed(rate).div_ceil(BLOCKS);
        let mut found = Found {
            undisturbed: Moments::NONE,
            excess: 0.0,
            reach: 0.0,
            transactions: 0,
            losses: 0,
            refused: 0,
        };
        let mut excesses = Vec::new();
        for block in 0..BLOCKS {
            let quiet = self.trial(0.0, transactions, block)?;
            let bad = self.trial(rate, transactions, block)?;
            excesses.push(bad.excess() - quiet.excess());
            found.undisturbed = found.undisturbed.merged(quiet.undisturbed);
            found.transactions += transactions;
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
        rate: f64,
        transactions: u64,
        block: u64,
    ) -> Result<Measured, PerformabilityError> {
        measure(&Trial {
            config: self.config.clone(),
            carrier: self.carrier,
            faults: Faults {
                bit_error_rate: rate,
                seed: seed::stream(self.seed, block, 0),
                ..Faults::default()
            },
            payload: self.payload,
            transactions,
        })
    }

    /// Transactions that yield enough losses, at least.
    fn needed(&self, rate: f64) -> u64 {
        let Losses {
            request,
            reply,
            bare,
        } = Losses::of(&Failures::of_bits(rate), self.payload);
        let bare = match self.config.protocol {
            Protocol::TwoWay => 0.0,
            _ => bare,
        };
        let losses = request + reply + bare;
        let needed = (1.2 * LOSSES as f64 / losses).ceil() as u64;
        needed.max(LEAST).min(self.measured)
    }
}

/// What the blocks of an experiment come to. Times are in nanoseconds.
struct Found {
    undisturbed: Moments,
    excess: f64,
    reach: f64,
    transactions: u64,
    losses: u64,
    refused: u64,
}

/// Blocks of an experiment, with errors and without.
const BLOCKS: u64 = 10;
/// Transactions of an experiment at least, if so many are allowed.
const LEAST: u64 = 20_000;

/// Stages of a path of which only the round trip is known.
fn stages_of(round_trip: f64) -> Stages {
    Stages {
        wire: round_trip / 2.0,
        ..Stages::default()
    }
}

/// A configuration with one timeout, which is always the same.
pub fn fixed(protocol: Protocol, timeout: Nanos) -> Config {
    Config {
        protocol,
        min_rto: timeout,
        max_rto: timeout,
        ..Config::default()
    }
}
