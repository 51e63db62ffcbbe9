//! The answers of a target about one record, and the changes of its state.

use super::link::{Link, Message, NEVER, Role};
use super::pool::Received;
use super::{Entry, Nanos, Protocol, Slot};
use crate::transaction::TargetState;
use crate::wire::{Body, Have, Reason};

/// The request is whole.
pub(super) fn receive(link: &mut Link, record: &mut Received, slot: Slot, now: Nanos, known: bool) {
    if !known {
        change(link, record, slot, TargetState::ErrAck);
        conclude(link, record, now);
        let (number, attempt) = (record.number(), record.attempt);
        link.say(Body::Nack {
            number,
            attempt,
            reason: Reason::NoHandler,
        });
        return;
    }
    change(link, record, slot, TargetState::RequestReceived);
    if link.config.protocol == Protocol::Amvia {
        if link.config.ack_delay == 0 {
            acknowledge(link, record, record.attempt);
        } else {
            record.ack_due = link.alarm(now, link.config.ack_delay);
        }
    }
    run(link, record, slot);
}

fn run(link: &mut Link, record: &mut Received, slot: Slot) {
    record.is_out = true;
    link.run(slot, record.id, record.handler);
}

pub(super) fn acknowledge(link: &mut Link, record: &mut Received, attempt: u16) {
    link.counters().acks_alone += 1;
    (record.is_acked, record.ack_due) = (true, NEVER);
    if record.state == TargetState::RequestReceived {
        record.state = TargetState::ReplyNotSent;
    }
    link.say(Body::Ack {
        number: record.number(),
        attempt,
    });
}

/// True if nothing more happens to it: no handler runs, or waits to be run.
pub(super) fn has_ended(record: &Received) -> bool {
    let runs_yet = matches!(
        record.state,
        TargetState::NotProcessed
            | TargetState::RequestReceived
            | TargetState::ReplyNotSent
            | TargetState::Started
    );
    !runs_yet && !record.is_out
}

/// The answer goes out until the initiator has acknowledged it, so that the record can go (AMUDP).
pub(super) fn conclude(link: &mut Link, record: &mut Received, now: Nanos) {
    if link.config.protocol == Protocol::Amudp {
        record.tries = 0;
        record.resend_due = link.alarm(now, link.timeout.after(0));
    }
}

#[inline]
pub(super) fn change(link: &mut Link, record: &mut Received, slot: Slot, state: TargetState) {
    record.state = state;
    link.log(slot, || Entry::Received(record.record()));
}

/// The handler ends no more, or nobody waits for its end: the initiator is told so.
pub(super) fn abandon(
    link: &mut Link,
    record: &mut Received,
    slot: Slot,
    now: Nanos,
    state: TargetState,
) {
    record.ends = NEVER;
    change(link, record, slot, state);
    conclude(link, record, now);
    let attempt = record.attempt;
    respond(link, record, slot, attempt, Have::default(), 1);
}

/// Says how a transaction stands; where its reply is there, sends what the initiator lacks of it, which has `have`: among
/// `burst` segments from the first missing one.
pub(super) fn respond(
    link: &mut Link,
    record: &mut Received,
    slot: Slot,
    attempt: u16,
    have: Have,
    burst: u8,
) {
    let number = record.number();
    let reason = match record.state {
        TargetState::NotProcessed => return,
        TargetState::RequestReceived | TargetState::ReplyNotSent | TargetState::Started => {
            if link.config.protocol == Protocol::Amvia {
                acknowledge(link, record, attempt);
            }
            if !record.is_out {
                // Left by an earlier life: it is run because the initiator asks for it again.
                run(link, record, slot);
            }
            return;
        }
        TargetState::ReplySent if record.reply <= link.longest() => {
            link.send(reply(record, slot, attempt), have, burst);
            return;
        }
        // The initiator takes less than it did when the handler was started.
        TargetState::ReplySent => Reason::ReplyGone,
        TargetState::ErrAck => Reason::NoHandler,
        TargetState::HandlerTimeout => Reason::HandlerTime,
        TargetState::Cancelled => Reason::NotRun,
        TargetState::Indeterminate => Reason::Indeterminate,
    };
    link.say(Body::Nack {
        number,
        attempt,
        reason,
    });
}

/// The message of a reply.
#[inline]
pub(super) fn reply(record: &Received, slot: Slot, attempt: u16) -> Message {
    Message {
        role: Role::Reply,
        slot,
        number: record.number(),
        first_incomplete: 0,
        attempt,
        handler: record.reply_handler,
        length: record.reply,
    }
}
