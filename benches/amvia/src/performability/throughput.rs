//! Throughput with several transactions at a time: mean value analysis against the simulation.

use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::wire::MAX_WINDOW;
use serde::Serialize;

use super::error::PerformabilityError;
use super::model::Model;
use super::simulation::{Plan, simulate};

/// Transactions in a second, by both.
#[derive(Debug, Clone, Serialize)]
pub struct Throughput {
    /// The protocol.
    pub protocol: String,
    /// The chance that a bit is flipped.
    pub bit_error_rate: f64,
    /// Transactions at a time.
    pub outstanding: u32,
    /// By mean value analysis.
    pub analysis: f64,
    /// In the simulation.
    pub simulation: f64,
}

impl Throughput {
    /// By what share of the simulation the analysis is off.
    pub fn error(&self) -> f64 {
        self.analysis / self.simulation - 1.0
    }
}

/// The throughput of `outstanding` transactions at a time, of which so many are simulated, with the largest window.
///
/// # Errors
/// The model has no answer.
pub fn throughput(
    model: &Model,
    outstanding: u32,
    transactions: u64,
    seed: u64,
) -> Result<Throughput, PerformabilityError> {
    let plan = Plan {
        config: Config {
            window: MAX_WINDOW,
            ..model.config.clone()
        },
        stages: model.stages,
        failures: model.failures,
        payload: model.payload,
        outstanding,
        transactions,
        seed,
    };
    Ok(Throughput {
        protocol: model.config.protocol.to_string(),
        bit_error_rate: model.failures.bit_error_rate,
        outstanding,
        analysis: 1e9 * model.network(outstanding)?.throughput,
        simulation: simulate(&plan).throughput,
    })
}
