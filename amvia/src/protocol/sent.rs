//! A request that was made, and the steps of it (Kaur, figure 3.2).

use super::link::{Link, Message, NEVER, Role};
use super::segments::Assembly;
use super::{Entry, Nanos, Protocol, Record, Slot};
use crate::transaction::{EndpointId, Incarnation, InitiatorState, TransactionId};
use crate::wire::{Body, Have, Hello, Number, UNASKED};

/// Attempts whose time of sending is kept. An answer to an earlier one is no sample.
const STAMPS: usize = 8;

/// The phase of a transaction for its initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Nothing: it has ended, or is unknown and not asked for.
    Idle,
    /// It waits for the connection.
    Held,
    /// It sends the request until that is acknowledged.
    Requesting,
    /// It waits for the reply.
    Waiting,
    /// It asks what became of it.
    Asking,
}

/// A request that was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) record: Record<InitiatorState>,
    pub(super) phase: Phase,
    /// Counts what was sent for it; each answer echoes the attempt that it answers.
    pub(super) attempt: u16,
    /// Attempts below have been judged needless or not.
    pub(super) judged: u16,
    /// Retransmissions since the last word of the target.
    pub(super) tries: u16,
    pub(super) due: Nanos,
    /// The wait before the next question for the reply, while the target says that it works.
    pub(super) patience: Nanos,
    pub(super) began: Nanos,
    pub(super) stamps: [Nanos; STAMPS],
    /// The part of the request that the target has.
    pub(super) peer_has: Have,
    /// The part of the reply that has come.
    pub(super) assembly: Assembly,
}

impl Sent {
    /// A slot that nothing is in.
    pub(super) fn empty(endpoint: EndpointId) -> Self {
        let id = TransactionId {
            initiator: endpoint,
            incarnation: Incarnation(0),
            sequence: 0,
        };
        Self {
            record: Record {
                id,
                target: Incarnation(0),
                handler: 0,
                request: 0,
                reply_handler: 0,
                reply: 0,
                state: InitiatorState::Released,
            },
            phase: Phase::Idle,
            attempt: 0,
            judged: 0,
            tries: 0,
            due: NEVER,
            patience: 0,
            began: 0,
            stamps: [0; STAMPS],
            peer_has: Have::default(),
            assembly: Assembly::default(),
        }
    }

    pub(super) fn number(&self) -> Number {
        Number {
            sequence: self.record.id.sequence,
            incarnation: self.record.id.incarnation,
        }
    }

    pub(super) fn is_used(&self) -> bool {
        self.record.id.sequence > 0 && self.record.state != InitiatorState::Released
    }
}

/// The state of a transaction that gets no answer any more.
pub(super) fn given_up(state: InitiatorState) -> InitiatorState {
    match state {
        InitiatorState::RequestSent => InitiatorState::RequestRtxExceeded,
        InitiatorState::RequestProcessing => InitiatorState::ReplyRtxExceeded,
        other => other,
    }
}

/// Sends a request for the first time.
pub(super) fn begin(
    link: &mut Link,
    sent: &mut Sent,
    slot: Slot,
    low: u64,
    now: Nanos,
    hello: &Hello,
) {
    sent.record.target = hello.incarnation;
    change(link, sent, slot, InitiatorState::RequestSent);
    (sent.phase, sent.began, sent.attempt) = (Phase::Requesting, now, 1);
    send_request(link, sent, slot, low, now, sent.peer_has, link.config.burst);
}

/// Sends the first segment that the target may lack, once more: the answer says what is missing.
pub(super) fn transmit(link: &mut Link, sent: &mut Sent, slot: Slot, low: u64, now: Nanos) {
    sent.phase = Phase::Requesting;
    sent.attempt = sent.attempt.wrapping_add(1);
    send_request(link, sent, slot, low, now, sent.peer_has, 1);
}

/// Sends what the target, which has `have` of a request, still lacks: among `burst` segments from the first missing one.
pub(super) fn send_request(
    link: &mut Link,
    sent: &mut Sent,
    slot: Slot,
    low: u64,
    now: Nanos,
    have: Have,
    burst: u8,
) {
    stamp(link, sent, now);
    link.send(message(sent, slot, low), have, burst);
}

/// The message of a request.
#[inline]
pub(super) fn message(sent: &Sent, slot: Slot, low: u64) -> Message {
    Message {
        role: Role::Request,
        slot,
        number: sent.number(),
        first_incomplete: low,
        attempt: sent.attempt,
        handler: sent.record.handler,
        length: sent.record.request,
    }
}

pub(super) fn pull(link: &mut Link, sent: &mut Sent, low: u64, now: Nanos) {
    sent.attempt = sent.attempt.wrapping_add(1);
    sent.judged = sent.attempt;
    link.counters().pulls += 1;
    stamp(link, sent, now);
    let have = sent.assembly.have();
    link.say(Body::Pull {
        number: sent.number(),
        first_incomplete: low,
        attempt: sent.attempt,
        have,
    });
}

pub(super) fn query(link: &mut Link, sent: &mut Sent, low: u64, now: Nanos) {
    sent.attempt = sent.attempt.wrapping_add(1);
    sent.judged = sent.attempt;
    stamp(link, sent, now);
    if link.hello.is_some() {
        link.say(Body::Query {
            number: sent.number(),
            first_incomplete: low,
            attempt: sent.attempt,
        });
    }
}

/// Notes when an attempt is made, and when to give up waiting for its answer.
#[inline(always)]
pub(super) fn stamp(link: &mut Link, sent: &mut Sent, now: Nanos) {
    sent.stamps[usize::from(sent.attempt) % STAMPS] = now;
    let mut wait = link.timeout.after(sent.tries);
    let is_last =
        sent.phase == Phase::Requesting && sent.tries == link.config.request_retransmissions;
    if is_last && link.config.protocol != Protocol::Amvia {
        let given = sent.began.saturating_add(link.config.reply_wait);
        wait = wait.max(given.saturating_sub(now));
    }
    sent.due = link.alarm(now, wait);
}

/// Takes in that the target has answered this attempt. `is_sample` says whether it answered at once. A message that the target
/// repeats by itself answers no attempt, and is no sample of a round trip (Karn's rule).
#[inline(always)]
pub(super) fn hear(link: &mut Link, sent: &mut Sent, now: Nanos, attempt: u16, is_sample: bool) {
    link.confirmed = true;
    if attempt == UNASKED {
        return;
    }
    let age = sent.attempt.wrapping_sub(attempt);
    if usize::from(age) >= STAMPS {
        return;
    }
    if is_sample {
        link.timeout
            .sample(now.saturating_sub(sent.stamps[usize::from(attempt) % STAMPS]));
    }
    if sent.phase == Phase::Requesting {
        let unjudged = sent.attempt.wrapping_sub(sent.judged);
        link.counters().needless += u64::from(age.min(unjudged));
        sent.judged = sent.attempt;
    }
}

/// The target has the request, and knows its handler.
pub(super) fn accepted(link: &mut Link, sent: &mut Sent, slot: Slot) {
    sent.phase = Phase::Waiting;
    if sent.record.state != InitiatorState::RequestProcessing {
        change(link, sent, slot, InitiatorState::RequestProcessing);
    }
}

pub(super) fn acknowledge_reply(link: &mut Link, low: u64, number: Number, attempt: u16) {
    if let Some(body) = acknowledgement(link, low, number, attempt) {
        link.say(body);
    }
}

/// The acknowledgement of a reply, where the protocol has one (AMUDP).
pub(super) fn acknowledgement(link: &Link, low: u64, number: Number, attempt: u16) -> Option<Body> {
    (link.config.protocol == Protocol::Amudp).then(|| Body::ReplyAck {
        number,
        first_incomplete: low.min(number.sequence),
        attempt,
    })
}

/// The transaction has come to an end, or to an unknown, and the application is told.
pub(super) fn end(link: &mut Link, sent: &mut Sent, slot: Slot, state: InitiatorState) {
    rest(link, sent, slot, state);
    link.deliver(slot);
}

/// The transaction has come to an end, or to an unknown.
#[inline]
pub(super) fn rest(link: &mut Link, sent: &mut Sent, slot: Slot, state: InitiatorState) {
    (sent.phase, sent.due) = (Phase::Idle, NEVER);
    if sent.record.state != state {
        change(link, sent, slot, state);
    }
}

#[inline]
pub(super) fn change(link: &mut Link, sent: &mut Sent, slot: Slot, state: InitiatorState) {
    sent.record.state = state;
    link.log(slot, || Entry::Sent(sent.record));
}
