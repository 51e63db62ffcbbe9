//! The experiment: transactions of two endpoints over a transport that makes faults.

use jitterlab_amvia::endpoint::PeerId;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::{EndpointId, InitiatorState};
use jitterlab_amvia::transport::{FaultReader, Faults, Faulty};
use jitterlab_base::clock::Clock;
use jitterlab_live::Timing;
use jitterlab_stats::Moments;

use super::error::PerformabilityError;
use super::pair::{CLIENT, End, Over, SERVER, ends, served};
use crate::carrier::Carrier;
use crate::handlers::echo;

/// The measurement that is made.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The configuration of both ends.
    pub config: Config,
    /// The carrier of the frames.
    pub over: Over,
    /// The faults that both ends make.
    pub faults: Faults,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// The number of transactions that are made, one after the other.
    pub length: Length,
}

/// The length of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Length {
    /// So many transactions.
    Transactions(u64),
    /// The transactions that end in so many nanoseconds, and one at least.
    Time(f64),
}

/// The result. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Transactions that needed no frame to be sent again: from the request to its end.
    pub undisturbed: Moments,
    /// The others.
    pub disturbed: Moments,
    /// The time from the first request to the end of the last.
    pub lasted: f64,
    /// Transactions that ended without a reply.
    pub abandoned: u64,
    /// Frames that were damaged or lost on purpose.
    pub losses: u64,
    /// Frames that came damaged and were refused.
    pub refused: u64,
}

impl Measured {
    const NONE: Measured = Measured {
        undisturbed: Moments::NONE,
        disturbed: Moments::NONE,
        lasted: 0.0,
        abandoned: 0,
        losses: 0,
        refused: 0,
    };

    /// Transactions.
    pub fn transactions(&self) -> u64 {
        (self.undisturbed.n() + self.disturbed.n()) as u64
    }

    /// The time that all transactions together took beyond what they would have taken undisturbed, in nanoseconds.
    ///
    /// The time of an undisturbed transaction varies with the machine, and not with the faults: it is left out of the
    /// difference, and so are its variations.
    pub fn excess(&self) -> f64 {
        match (self.undisturbed.mean(), self.disturbed.mean()) {
            (Some(usual), Some(mean)) => (mean - usual) * self.disturbed.n() as f64,
            _ => 0.0,
        }
    }
}

/// Transactions that are not counted, until caches are warm and the round trip is known.
const WARM_UP: u64 = 200;

/// Carries it out.
///
/// # Errors
/// A transport cannot be had, or an endpoint refuses.
pub fn measure(trial: &Trial) -> Result<Measured, PerformabilityError> {
    let [own, theirs] = ends(&trial.over)?;
    let end = |name: &str, carrier: Carrier| -> Result<(End, FaultReader), PerformabilityError> {
        let faulty = Faulty::new(carrier, trial.faults, EndpointId::of(name).0);
        let reader = faulty.reader();
        Ok((End::new(name, &trial.config, faulty)?, reader))
    };
    let (client, own) = end(CLIENT, own)?;
    let (server, theirs) = end(SERVER, theirs)?;
    let mut measured = served(&trial.over, &client, &server, echo, |peer| {
        let clock = Clock::global();
        run(trial, &client, peer, move || clock.now())
    })?;
    for counts in [own.read(), theirs.read()] {
        measured.losses += counts.damaged + counts.lost;
    }
    for end in [&client, &server] {
        measured.refused += end.endpoint.undecodable()?;
    }
    Ok(measured)
}

/// Makes the transactions; `now` says what time it is, in ticks of the clock.
fn run(
    trial: &Trial,
    client: &End,
    peer: PeerId,
    now: impl Fn() -> u64,
) -> Result<Measured, PerformabilityError> {
    let clock = Clock::global();
    let live = jitterlab_live::publisher();
    live.begin(&format!(
        "{} {}",
        trial.config.protocol,
        said(&trial.faults)
    ));
    live.timed(Timing::ClosedLoop);
    let data = vec![0; trial.payload];
    let mut measured = Measured::NONE;
    let repeated = || -> Result<u64, PerformabilityError> {
        let counters = client.endpoint.counters(peer)?;
        Ok(counters.retransmissions + counters.pulls)
    };
    let (most, time) = match trial.length {
        Length::Transactions(count) => (count, f64::INFINITY),
        Length::Time(time) => (u64::MAX, time),
    };
    let mut before = repeated()?;
    let mut first = now();
    let mut number = 0;
    while number < WARM_UP || (number - WARM_UP < most && measured.lasted < time) {
        let begun = now();
        if number == WARM_UP {
            first = begun;
        }
        let sent = client.request(peer, &data)?;
        let state = loop {
            if let Some(state) = client.ended(sent)? {
                break state;
            }
            client.bundle.poll()?;
        };
        let ended = now();
        client.endpoint.release(sent)?;
        let after = repeated()?;
        if number >= WARM_UP {
            let took = clock.ticks_to_ns(ended.wrapping_sub(begun));
            live.sample(|| took);
            let took = Moments::of(&[took as f64]);
            let side = match after == before {
                true => &mut measured.undisturbed,
                false => &mut measured.disturbed,
            };
            *side = side.merged(took);
            measured.lasted = clock.ticks_to_ns_f64(ended.wrapping_sub(first));
            measured.abandoned += u64::from(state != InitiatorState::Processed);
        }
        before = after;
        number += 1;
    }
    Ok(measured)
}

/// The faults in a few words.
fn said(faults: &Faults) -> String {
    match (faults.bit_error_rate, faults.loss) {
        (0.0, 0.0) => "without faults".into(),
        (rate, 0.0) => format!("ber={rate:e}"),
        (_, loss) => format!("loss={loss:e}"),
    }
}
