//! The experiment: transactions of two endpoints over a transport that makes faults.

use jitterlab_amvia::endpoint::PeerId;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::{EndpointId, InitiatorState};
use jitterlab_amvia::transport::{Faults, Faulty, Transport};
use jitterlab_base::clock::Clock;
use jitterlab_stats::Moments;

use super::error::PerformabilityError;
use super::pair::{CLIENT, Carrier, End, Ends, SERVER, served};
use crate::handlers::echo;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Of both ends.
    pub config: Config,
    /// What carries the frames.
    pub carrier: Carrier,
    /// The faults that both ends make.
    pub faults: Faults,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// Transactions, one after the other.
    pub transactions: u64,
}

/// What came of it. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Transactions that needed no frame to be sent again: from the request to its end.
    pub undisturbed: Moments,
    /// The others.
    pub disturbed: Moments,
    /// Transactions that ended without a reply.
    pub abandoned: u64,
    /// Frames that were damaged or lost on purpose.
    pub losses: u64,
    /// Frames that came damaged and were refused.
    pub refused: u64,
}

impl Measured {
    /// By how much the mean time of a transaction exceeds that of the undisturbed ones.
    ///
    /// The time of an undisturbed transaction varies with the machine, and not with the faults: it is left out of the
    /// difference, and so are its variations.
    pub fn excess(&self) -> f64 {
        let (Some(usual), Some(mean)) = (self.undisturbed.mean(), self.disturbed.mean()) else {
            return 0.0;
        };
        let all = (self.undisturbed.n() + self.disturbed.n()) as f64;
        (mean - usual) * self.disturbed.n() as f64 / all
    }
}

/// Transactions that are not counted, until caches are warm and the round trip is known.
const WARM_UP: u64 = 200;

/// Carries it out.
///
/// # Errors
/// A transport cannot be had, or an endpoint refuses.
pub fn measure(trial: &Trial) -> Result<Measured, PerformabilityError> {
    match trial.carrier.ends()? {
        Ends::Udp(ends) => measure_over(trial, ends),
        Ends::Shm(ends) => measure_over(trial, ends),
    }
}

fn measure_over<T: Transport + 'static>(
    trial: &Trial,
    [own, theirs]: [T; 2],
) -> Result<Measured, PerformabilityError> {
    let end = |name: &str, transport| {
        let faulty = Faulty::new(transport, trial.faults, EndpointId::of(name).0);
        let reader = faulty.reader();
        Ok::<_, PerformabilityError>((End::new(name, &trial.config, faulty)?, reader))
    };
    let (client, own) = end(CLIENT, own)?;
    let (server, theirs) = end(SERVER, theirs)?;
    let mut measured = served(&client, &server, echo, |peer| run(trial, &client, peer))?;
    for counts in [own.read(), theirs.read()] {
        measured.losses += counts.damaged + counts.lost;
    }
    for end in [&client, &server] {
        measured.refused += end.endpoint.undecodable()?;
    }
    Ok(measured)
}

fn run(trial: &Trial, client: &End, peer: PeerId) -> Result<Measured, PerformabilityError> {
    let clock = Clock::global();
    let data = vec![0; trial.payload];
    let mut measured = Measured {
        undisturbed: Moments::NONE,
        disturbed: Moments::NONE,
        abandoned: 0,
        losses: 0,
        refused: 0,
    };
    let repeated = || -> Result<u64, PerformabilityError> {
        let counters = client.endpoint.counters(peer)?;
        Ok(counters.retransmissions + counters.pulls)
    };
    let mut before = repeated()?;
    for number in 0..WARM_UP + trial.transactions {
        let begun = clock.now();
        let sent = client.request(peer, &data)?;
        let state = loop {
            if let Some(state) = client.ended(sent)? {
                break state;
            }
            client.bundle.poll()?;
        };
        let took = clock.ticks_to_ns(clock.now().wrapping_sub(begun)) as f64;
        client.endpoint.release(sent)?;
        let after = repeated()?;
        if number >= WARM_UP {
            let took = Moments::of(&[took]);
            let side = match after == before {
                true => &mut measured.undisturbed,
                false => &mut measured.disturbed,
            };
            *side = side.merged(took);
            measured.abandoned += u64::from(state != InitiatorState::Processed);
        }
        before = after;
    }
    Ok(measured)
}
