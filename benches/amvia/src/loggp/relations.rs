//! What has to hold between the parameters of one protocol and those of the others over the same transport.
//!
//! L, the time of a handler and the cost of an acknowledgement belong to the transport and the library, not to a protocol. So they
//! are taken from other protocols, and the times of this one follow from them and from its own o_s and o_r.

use jitterlab_stats::Error;
use jitterlab_stats::bootstrap::Interval;

use super::estimate::{BOOTSTRAP, Blocks, Figures};
use super::schedule::Costs;
use super::{Identity, Report};
use crate::Protocol;

/// The costs that other protocols give, and the times that follow from them. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// o_a. None: it is taken as o_s, since nothing of `amudp` was measured.
    pub ack: Option<Interval>,
    /// h.
    pub handler: Interval,
    /// The time from one message to the next in a long burst.
    pub interval: Identity,
    /// The time from one request to the next, each after the reply to the one before.
    pub round_trip: Identity,
}

/// The protocol that L and h are taken from: `two-way`, and for that the one with the same schedule.
fn reference(protocol: Protocol) -> Protocol {
    match protocol {
        Protocol::TwoWay => Protocol::AmviaRiding,
        _ => Protocol::TwoWay,
    }
}

/// The relations of a protocol, where `runs` are those of each protocol over one transport. None: it, or the one that L is taken
/// from, was not measured.
///
/// # Errors
/// There are fewer than two blocks.
pub fn related<'a>(
    protocol: Protocol,
    runs: impl Fn(Protocol) -> Vec<&'a Report>,
) -> Result<Option<Related>, Error> {
    let blocks = |protocol| Blocks::of(&runs(protocol));
    let (Some(own), Some(other)) = (blocks(protocol), blocks(reference(protocol))) else {
        return Ok(None);
    };
    let acks = blocks(Protocol::Amudp);
    let mut places = vec![own.places(), other.places()];
    // A resample draws the blocks of each protocol once, also where one counts twice.
    let of_acks = match protocol {
        Protocol::Amudp => 0,
        _ => places.len(),
    };
    if of_acks > 0 {
        places.extend(acks.as_ref().map(Blocks::places));
    }
    let samples: Vec<&[f64]> = places.iter().map(Vec::as_slice).collect();
    let of = |drawn: &[Vec<f64>]| {
        let (own, other) = (own.figures(&drawn[0]), other.figures(&drawn[1]));
        let acks = acks.as_ref().map(|acks| acks.figures(&drawn[of_acks]));
        let costs = costs(protocol, &own, &other, acks.as_ref());
        (own, costs)
    };
    let bootstrap = |of: &dyn Fn(&[Vec<f64>]) -> f64| BOOTSTRAP.percentile_of_each(&samples, of);
    let (all, expected) = of(&places);
    Ok(Some(Related {
        ack: match acks {
            Some(_) => Some(bootstrap(&|drawn| of(drawn).1.ack)?),
            None => None,
        },
        handler: bootstrap(&|drawn| of(drawn).1.handler)?,
        interval: Identity {
            formula: protocol.interval_formula(),
            measured: all.interval,
            expected: protocol.interval(&expected),
            difference: bootstrap(&|drawn| {
                let (own, costs) = of(drawn);
                own.interval - protocol.interval(&costs)
            })?,
        },
        round_trip: Identity {
            formula: protocol.round_trip_formula(),
            measured: all.round_trip,
            expected: protocol.round_trip(&expected),
            difference: bootstrap(&|drawn| {
                let (own, costs) = of(drawn);
                own.round_trip - protocol.round_trip(&costs)
            })?,
        },
    }))
}

/// The costs of a protocol: its own o_s and o_r; L and h of `other`, whose transactions have two frames; and o_a of `amudp`, whose
/// initiator acknowledges beside sending a request and receiving a reply.
fn costs(protocol: Protocol, own: &Figures, other: &Figures, amudp: Option<&Figures>) -> Costs {
    let Costs { send, receive, .. } = other.costs;
    let handler = (other.interval - send - receive).max(0.0);
    let ack = amudp.map(|amudp| (amudp.work - amudp.costs.send - receive).max(0.0));
    Costs {
        send: own.costs.send,
        ack: ack.unwrap_or(own.costs.send),
        receive: match protocol {
            // Its own has the difference between o_s and o_a in it.
            Protocol::Amudp => receive,
            _ => own.costs.receive,
        },
        // A round trip has one handler in it.
        latency: other.costs.latency - handler / 2.0,
        handler,
    }
}
