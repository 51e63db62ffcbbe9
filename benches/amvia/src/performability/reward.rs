//! Performability as one number: transactions in a second whose end is known, in the long run, under stated failures.

use jitterlab_stats::Error;
use serde::{Deserialize, Serialize};

use super::model::Model;
use super::path::Failures;

/// The rates at which things fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumed {
    /// A word for it.
    pub name: &'static str,
    /// The failures that befall messages.
    pub failures: Failures,
    /// Seconds that a target runs on the mean before it crashes.
    pub up_s: f64,
    /// Seconds until it is repaired, on the mean; 0: a spare takes its place at once.
    pub repair_s: f64,
}

/// The failures that the table of the three protocols assumes.
pub const ASSUMED: [Assumed; 3] = [
    Assumed {
        name: "a sound cluster",
        failures: failures(1e-12),
        up_s: 30.0 * 86_400.0,
        repair_s: 0.0,
    },
    Assumed {
        name: "a bad cable",
        failures: failures(1e-6),
        up_s: 30.0 * 86_400.0,
        repair_s: 0.0,
    },
    Assumed {
        name: "a bad cable, and a target that crashes each minute",
        failures: failures(1e-6),
        up_s: 60.0,
        repair_s: 0.0,
    },
];

const fn failures(bit_error_rate: f64) -> Failures {
    Failures {
        bit_error_rate,
        chances: [0.0; 6],
    }
}

/// The performability of a protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Performability {
    /// The failures that are assumed, by their word.
    pub assumed: String,
    /// The chance that a bit is flipped.
    pub bit_error_rate: f64,
    /// Seconds that a target runs on the mean.
    pub up_s: f64,
    /// Seconds until it is repaired, on the mean; 0: a spare takes its place at once.
    pub repair_s: f64,
    /// Transactions in a second while the target is there.
    pub throughput: f64,
    /// The share of time in which the client does not wait for a target that has crashed.
    pub availability: f64,
    /// The chance that a transaction ends without a reply.
    pub abandoned: f64,
    /// Transactions in a second whose end is known.
    pub performability: f64,
}

/// Performability of `model` with its failures replaced by those that are assumed, and one transaction at a time.
///
/// A target runs for an exponential time with the mean `up_s` and crashes. The client learns of it when its retransmissions are over.
/// Then it connects (two round trips) to a spare, or to the target once that is repaired, which takes an exponential time with the mean
/// `repair_s`, and goes on. Each transaction with a reply is a reward of 1, all other time yields nothing. By the renewal-reward
/// theorem (Ross, *Stochastic Processes*, 1996, theorem 3.6.1)
///
/// ```text
/// Y = X (1 - abandoned) up / (up + down)
/// down = known after + repair exp(-known after / repair) + two round trips
/// ```
///
/// since the later of a fixed time K and an exponential one with the mean r comes after K + r exp(-K / r) on the mean.
///
/// # Errors
/// The model has no answer.
pub fn performability(model: &Model, assumed: &Assumed) -> Result<Performability, Error> {
    let model = Model {
        failures: assumed.failures,
        ..model.clone()
    };
    let forecast = model.forecast()?;
    let throughput = 1e9 / (forecast.response.mean + model.stages.think);
    let known_s = model.known_after() / 1e9;
    let repaired_s = match assumed.repair_s > 0.0 {
        true => assumed.repair_s * (-known_s / assumed.repair_s).exp(),
        false => 0.0,
    };
    let down_s = known_s + repaired_s + 4.0 * model.stages.alone() / 1e9;
    let availability = assumed.up_s / (assumed.up_s + down_s);
    Ok(Performability {
        assumed: assumed.name.into(),
        bit_error_rate: assumed.failures.bit_error_rate,
        up_s: assumed.up_s,
        repair_s: assumed.repair_s,
        throughput,
        availability,
        abandoned: forecast.abandoned,
        performability: throughput * (1.0 - forecast.abandoned) * availability,
    })
}
