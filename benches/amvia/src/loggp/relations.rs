//! What has to hold between the parameters of one protocol and those of the others over the same transport.
//!
//! L, the time of a handler and the costs of a message belong to the transport and the library, not to a protocol. So they are taken
//! from a protocol without acknowledgements, and what acknowledgements cost is seen beside them.

use jitterlab_stats::Error;
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::repeated;

use super::estimate::{BOOTSTRAP, Blocks, Figures, TOLERANCE};
use super::schedule::Costs;
use super::{Identity, Report};
use crate::Protocol;

/// The costs that other protocols give, and the times that follow from them. Times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// a_s, if the protocol has acknowledgements. Of `amvia` it is that of `amudp`; it is taken as o_s if nothing of that was measured.
    pub ack_send: Option<Interval>,
    /// a_r, if the protocol has acknowledgements. Of `amudp` it is what its interval leaves for it: a bound where the initiator limits.
    pub ack_receive: Option<Interval>,
    /// h.
    pub handler: Interval,
    /// The time from one message to the next in a long burst. None: a_r comes from it.
    pub interval: Option<Identity>,
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
    let amudp = match protocol {
        Protocol::Amvia => blocks(Protocol::Amudp),
        _ => None,
    };
    let mut samples = vec![own.places(), other.places()];
    samples.extend(amudp.as_ref().map(Blocks::places));
    let of = |drawn: &[Vec<f64>]| {
        let (own, other) = (own.figures(&drawn[0]), other.figures(&drawn[1]));
        let amudp = amudp.as_ref().map(|amudp| amudp.figures(&drawn[2]));
        let costs = costs(protocol, &own, &other, amudp.as_ref());
        (own, costs)
    };
    let bootstrap = |of: &dyn Fn(&[Vec<f64>]) -> f64| repeated::of_each(&samples, &BOOTSTRAP, of);
    let acks = |part: &dyn Fn(&Costs) -> f64| match protocol {
        Protocol::Amvia | Protocol::Amudp => bootstrap(&|drawn| part(&of(drawn).1)).map(Some),
        Protocol::AmviaRiding | Protocol::TwoWay => Ok(None),
    };
    let places = samples.iter().map(|runs| runs.concat());
    let (all, expected) = of(&places.collect::<Vec<_>>());
    // a_r of amudp comes from the interval, so that its target cannot be held against it.
    let interval = |costs: &Costs| match protocol {
        Protocol::Amudp => protocol.at_initiator().work(costs),
        _ => protocol.interval(costs),
    };
    let gives_ack_receive =
        protocol == Protocol::Amudp && all.interval > (1.0 + TOLERANCE) * interval(&expected);
    Ok(Some(Related {
        ack_send: acks(&|costs| costs.ack_send)?,
        ack_receive: acks(&|costs| costs.ack_receive)?,
        handler: bootstrap(&|drawn| of(drawn).1.handler)?,
        interval: match gives_ack_receive {
            true => None,
            false => Some(Identity {
                formula: protocol.interval_formula(),
                measured: all.interval,
                expected: interval(&expected),
                difference: bootstrap(&|drawn| {
                    let (own, costs) = of(drawn);
                    own.interval - interval(&costs)
                })?,
            }),
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

/// The costs of a protocol: its own o_s; L, h and, for its messages, o_r of `other`, which has no acknowledgements; and what is left
/// for acknowledgements.
fn costs(protocol: Protocol, own: &Figures, other: &Figures, amudp: Option<&Figures>) -> Costs {
    let Costs { send, receive, .. } = other.costs;
    let handler = (other.interval - send - receive).max(0.0);
    let left = |time: f64, of: &Figures| (time - of.costs.send - receive).max(0.0);
    let plain = Costs {
        // A round trip has one handler in it.
        latency: other.costs.latency - handler / 2.0,
        handler,
        ..Costs::log_p(own.costs.send, receive, 0.0)
    };
    match protocol {
        Protocol::Amvia => Costs {
            ack_send: amudp.map_or(plain.send, |amudp| left(amudp.work, amudp)),
            ack_receive: left(own.work, own),
            ..plain
        },
        Protocol::Amudp => Costs {
            ack_send: left(own.work, own),
            ack_receive: left(own.interval - handler, own),
            ..plain
        },
        Protocol::AmviaRiding | Protocol::TwoWay => Costs {
            receive: own.costs.receive,
            ..plain
        },
    }
}
