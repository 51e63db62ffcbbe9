//! Records between the protocol and the log.

use super::error::EndpointError;
use super::options::Options;
use super::peer::Peer;
use crate::log::{self, Durability, Log, Pool, Shape};
use crate::protocol::{self, Entry, Slot};
use crate::transaction::{EndpointId, InitiatorState, TargetState};

/// The log that the options ask for.
pub(super) fn open_log(
    id: EndpointId,
    shape: Shape,
    options: &Options,
    is_shared: bool,
) -> Result<Log, EndpointError> {
    match (&options.log, options.durability) {
        (None, Durability::None) => Ok(Log::in_memory(id.0, shape, log::incarnation_by_clock())?),
        (Some(_), Durability::None) => Err(EndpointError::Durability(
            "a log in a file needs durability process or power",
        )),
        (_, _) if is_shared => Err(EndpointError::Durability(
            "amudp keeps no log: its target frees a reply once the initiator has it; choose durability none, or another protocol",
        )),
        (Some(path), durability) => Ok(Log::open(path, id.0, shape, durability)?),
        (None, _) => Err(EndpointError::Durability(
            "a log that survives its process needs a file: name one as the log, or choose durability none",
        )),
    }
}

/// The place of a slot of the send pool in the log.
pub(super) fn send_place(number: usize, slot: Slot) -> log::Place {
    log::Place {
        pool: Pool::Send,
        peer: number as u32,
        slot: slot.0.into(),
    }
}

/// The place of a slot of the receive pool in the log.
pub(super) fn receive_place(number: usize, slot: Slot) -> log::Place {
    log::Place {
        pool: Pool::Receive,
        peer: number as u32,
        slot: slot.0.into(),
    }
}

/// Logs a record of the send pool, and the bytes that its slot has.
#[inline]
pub(super) fn log_sent(
    peer: &mut Peer,
    slot: Slot,
    record: &protocol::Record<InitiatorState>,
    log: &mut Log,
) -> Result<(), EndpointError> {
    let sent = &mut peer.sent[slot.index()];
    let Some(place) = sent.place else {
        return Ok(());
    };
    let payload = match (sent.unlogged, record.state) {
        (Some(length), _) => log::Payload::Written(length),
        (None, InitiatorState::Processed) => {
            let reply = sent.reply.bytes();
            log.payload_mut(place)[..reply.len()].copy_from_slice(reply);
            log::Payload::Written(reply.len())
        }
        (None, InitiatorState::Released) => log::Payload::Written(0),
        _ => log::Payload::Kept,
    };
    // A released record stays: the next life goes on behind its number.
    let record = as_logged(peer.id, record, record.state.code());
    log.commit(place, &record, payload)?;
    sent.unlogged = None;
    Ok(())
}

/// Logs a record of the receive pool, and the bytes that its slot has.
#[inline]
pub(super) fn log_received(
    peer: &mut Peer,
    number: usize,
    slot: Slot,
    record: &protocol::Record<TargetState>,
    log: &mut Log,
) -> Result<(), EndpointError> {
    let place = receive_place(peer.pool_of(number), slot);
    let payload = match record.state {
        TargetState::ReplySent => log::Payload::Written(record.reply as usize),
        TargetState::RequestReceived => {
            let request = peer.received[slot.index()].bytes();
            log.payload_mut(place)[..request.len()].copy_from_slice(request);
            log::Payload::Written(request.len())
        }
        TargetState::Started => log::Payload::Kept,
        _ => log::Payload::Written(0),
    };
    let record = as_logged(peer.id, record, record.state.code());
    Ok(log.commit(place, &record, payload)?)
}

/// A record as the log has it.
fn as_logged<S>(peer: EndpointId, record: &protocol::Record<S>, state: u8) -> log::Record {
    log::Record {
        peer,
        id: record.id,
        target: record.target,
        handler: record.handler,
        reply_handler: record.reply_handler,
        state,
    }
}

/// A record of the log as the protocol has it; none if no such state is known. `length`: of the payload, which is the reply
/// once there is one.
pub(super) fn logged(pool: Pool, record: &log::Record, length: usize) -> Option<Entry> {
    let length = length as u32;
    match pool {
        Pool::Send => {
            let state = InitiatorState::from_code(record.state)?;
            let is_reply = state == InitiatorState::Processed;
            Some(Entry::Sent(with_lengths(record, state, is_reply, length)))
        }
        Pool::Receive => {
            let state = TargetState::from_code(record.state)?;
            let is_reply = state == TargetState::ReplySent;
            Some(Entry::Received(with_lengths(
                record, state, is_reply, length,
            )))
        }
    }
}

fn with_lengths<S>(
    record: &log::Record,
    state: S,
    is_reply: bool,
    length: u32,
) -> protocol::Record<S> {
    protocol::Record {
        id: record.id,
        target: record.target,
        handler: record.handler,
        request: if is_reply { 0 } else { length },
        reply_handler: record.reply_handler,
        reply: if is_reply { length } else { 0 },
        state,
    }
}
