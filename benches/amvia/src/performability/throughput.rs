//! Throughput with several transactions at a time: mean value analysis against the simulation.

use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::wire::MAX_WINDOW;
use jitterlab_stats::Error;
use jitterlab_stats::mva::{self, Demand};
use serde::{Deserialize, Serialize};

use super::comparison::Failing;
use super::error::PerformabilityError;
use super::model::{Frames, Model};
use super::path::{Failures, LOST_AFTER, STATIONS};
use super::simulation::{Plan, simulate};

/// Transactions in a second, by both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// What fails.
    #[serde(flatten)]
    pub failing: Failing,
    /// Transactions at a time.
    pub outstanding: u32,
    /// The throughput by mean value analysis.
    pub analysis: f64,
    /// The throughput in the simulation.
    pub simulation: f64,
}

impl Throughput {
    /// The share of the simulation's throughput by which the analysis is off.
    pub fn error(&self) -> f64 {
        self.analysis / self.simulation - 1.0
    }
}

/// The throughput of `outstanding` transactions at a time, with the largest window, where something fails. The simulation makes so
/// many transactions.
///
/// # Errors
/// The model has no answer.
pub fn throughput(
    model: &Model,
    failing: Failing,
    outstanding: u32,
    transactions: u64,
    seed: u64,
) -> Result<Throughput, PerformabilityError> {
    let model = Model {
        config: Config {
            window: MAX_WINDOW,
            ..model.config.clone()
        },
        failures: failing.failures(),
        ..model.clone()
    };
    let analysis = 1e9 * analysed(&model, outstanding)?;
    let plan = Plan {
        config: model.config,
        stages: model.stages,
        failures: model.failures,
        payload: model.payload,
        outstanding,
        transactions,
        seed,
    };
    Ok(Throughput {
        failing,
        outstanding,
        analysis,
        simulation: simulate(&plan).throughput,
    })
}

/// Transactions in a nanosecond, `outstanding` at a time, by mean value analysis over the stages: the processors, the NICs and the wires
/// of both directions are servers; what the application does in between is time to think.
///
/// Transactions that wait for a timer hold back others. Numbers are released in their order, so that beside one that waits at most
/// `window` - 1 others begin; or fewer, if all `outstanding` - 1 others come to wait before, w being the chance that one waits.
/// The mean of the lesser is M, X the rate of transactions that do not wait, V the mean wait of those that do. M transactions take M/X of the
/// wait; for the rest of it nothing goes on. Those of the M that wait, too, end in the same distance behind it: they hold back nothing
/// more. The next to do so is the first beyond them that waits, after 1/w more on the mean. So in
///
/// ```text
/// (M + 1/w)/X + max(0, V - M/X)
/// ```
///
/// M + 1/w transactions end.
///
/// # Errors
/// The model has no answer.
fn analysed(model: &Model, outstanding: u32) -> Result<f64, Error> {
    let at_once = outstanding.min(model.config.window.into());
    let forecast = model.forecast()?;
    let free = Model {
        failures: Failures::default(),
        ..model.clone()
    };
    // A reply waits for the acknowledgement before it longer than that is sent for, if it is taken for longer.
    let alone = free.forecast()?;
    let awaited = demands(model, &alone.frames).into_iter();
    let apart = (alone.response.mean - awaited.map(|it| it.awaited).sum::<f64>()).max(0.0);
    let demands = demands(model, &forecast.frames);
    let network = mva::analyse_constant(&demands, apart + model.stages.think, at_once)?;
    let (rate, waits) = (network.throughput, forecast.waits);
    if waits == 0.0 {
        return Ok(rate);
    }
    let wait = forecast.waiting / waits;
    let beside = begun_beside(waits, at_once - 1, u32::from(model.config.window) - 1);
    let ended = beside + 1.0 / waits;
    Ok(ended / (ended / rate + (wait - beside / rate).max(0.0)))
}

/// The mean number of transactions that begin until `most` have begun, or `others` of them wait; each waits with the chance `waits`.
fn begun_beside(waits: f64, others: u32, most: u32) -> f64 {
    // The chances that 0, 1, … of those that have begun wait; together that not all `others` do.
    let mut chances = vec![0.0; others as usize];
    if let Some(none) = chances.first_mut() {
        *none = 1.0;
    }
    let mut mean = 0.0;
    for _ in 0..most {
        mean += chances.iter().sum::<f64>();
        for number in (1..chances.len()).rev() {
            chances[number] = (1.0 - waits) * chances[number] + waits * chances[number - 1];
        }
        if let Some(none) = chances.first_mut() {
            *none *= 1.0 - waits;
        }
    }
    mean
}

/// The work of each station for a transaction of these frames: both processors, and NICs, wire and switch in each direction.
fn demands(model: &Model, frames: &Frames) -> Vec<Demand> {
    let stations = model.stages.stations();
    let (send, receive) = (stations[0], stations[STATIONS - 1]);
    let none = [0.0; 2];
    let acknowledgements = [frames.beside, frames.beside_arrived];
    // The acknowledgements come from the initiator, or from the target.
    let (out, back) = match model.config.protocol {
        Protocol::Amudp => (acknowledgements, none),
        Protocol::Amvia | Protocol::TwoWay => (none, acknowledgements),
    };
    // The next frame waits until an acknowledgement has been sent. The transaction does not wait for its arrival.
    let mut demands = vec![
        Demand {
            awaited: frames.out * send + (frames.back_arrived - back[1]) * receive,
            beside: back[1] * receive,
        },
        Demand {
            awaited: frames.back * send
                + (frames.out_arrived - out[1]) * receive
                + model.stages.handler,
            beside: out[1] * receive,
        },
    ];
    for (station, time) in stations.iter().enumerate().take(STATIONS - 1).skip(1) {
        let is_lossless = station <= LOST_AFTER;
        let of = |all: f64, arrived: f64, beside: [f64; 2]| {
            let (all, beside) = match is_lossless {
                true => (all, beside[0]),
                false => (arrived, beside[1]),
            };
            Demand {
                awaited: (all - beside) * time,
                beside: beside * time,
            }
        };
        demands.extend([
            of(frames.out, frames.out_arrived, out),
            of(frames.back, frames.back_arrived, back),
        ]);
    }
    demands
}
