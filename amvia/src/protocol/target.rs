//! The target: receives requests, has them run once, and answers for what became of them (Kaur, section 3.2.2).

use super::answer::{abandon, acknowledge, change, conclude, has_ended, receive, respond};
use super::link::{Link, NEVER};
use super::pool::{Found, Received, ReplyPool};
use super::{Nanos, Place, Protocol, Record, Slot, SlotError};
use crate::transaction::{Incarnation, TargetState, TransactionId};
use crate::wire::{Body, Have, Hello, Number, Part, Reason, UNASKED};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    /// The initiator needs no answer to what is below.
    pub(super) low: u64,
    /// Bit `i`: `low + i` has run and its record is freed (AMUDP).
    pub(super) done: u64,
    /// Bit `i`: `low + i` will never run and its record is freed (AMUDP).
    pub(super) not_run: u64,
    /// Bit `i`: the handler of `low + i` was cut off and its record is freed (AMUDP).
    pub(super) cut_off: u64,
}

impl Target {
    pub(super) fn new() -> Self {
        Self {
            low: 1,
            done: 0,
            not_run: 0,
            cut_off: 0,
        }
    }

    /// The peer is connected: records of lives that it does not remember are freed.
    pub(super) fn adopt(
        &mut self,
        link: &Link,
        pool: &mut ReplyPool,
        hello: &Hello,
        known: Option<Hello>,
    ) {
        let has_forgotten = known.is_some_and(|known| known.incarnation < hello.since);
        for (_, record) in pool.of(link.peer) {
            if record.id.incarnation < hello.since && !record.is_out {
                record.clear();
            }
        }
        if has_forgotten {
            *self = Self::new();
        }
        self.raise(link, pool, hello.first_incomplete);
    }

    /// The initiator needs no answer to what is below `first_incomplete`.
    #[inline]
    pub(super) fn raise(&mut self, link: &Link, pool: &mut ReplyPool, first_incomplete: u64) {
        if first_incomplete <= self.low {
            return;
        }
        if link.config.protocol != Protocol::Amudp {
            return self.low = first_incomplete;
        }
        let by = (first_incomplete - self.low).min(64) as u32;
        self.done = self.done.checked_shr(by).unwrap_or(0);
        self.not_run = self.not_run.checked_shr(by).unwrap_or(0);
        self.cut_off = self.cut_off.checked_shr(by).unwrap_or(0);
        self.low = first_incomplete;
        for (_, record) in pool.of(link.peer) {
            if record.id.sequence < first_incomplete && !record.is_out {
                record.clear();
            }
        }
    }

    /// True if a frame about `number` can come from the peer as it is known. Frees what is below `first_incomplete`.
    #[inline]
    fn admit(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        number: Number,
        first_incomplete: u64,
    ) -> bool {
        let Some(hello) = link.hello else {
            return false;
        };
        if number.incarnation > hello.incarnation {
            link.counters().unconnected += 1;
            return false;
        }
        if number.incarnation < hello.since {
            link.counters().duplicates += 1;
            return false;
        }
        let window = u64::from(link.config.window);
        if first_incomplete == 0
            || number.sequence < first_incomplete
            || number.sequence - first_incomplete >= window
        {
            link.counters().malformed += 1;
            return false;
        }
        self.raise(link, pool, first_incomplete);
        true
    }

    /// The record of a transaction, or a slot claimed for it. Answers where there can be none.
    #[inline]
    fn record(
        &self,
        link: &mut Link,
        pool: &mut ReplyPool,
        number: Number,
        attempt: u16,
    ) -> Option<Slot> {
        let id = TransactionId {
            initiator: link.peer,
            incarnation: number.incarnation,
            sequence: number.sequence,
        };
        let nack = |link: &mut Link, reason| {
            link.say(Body::Nack {
                number,
                attempt,
                reason,
            })
        };
        if number.sequence < self.low {
            nack(link, Reason::Stale);
            return None;
        }
        for (freed, reason) in [
            (self.done, Reason::ReplyGone),
            (self.not_run, Reason::NotRun),
            (self.cut_off, Reason::Indeterminate),
        ] {
            if freed >> (number.sequence - self.low) & 1 == 1 {
                nack(link, reason);
                return None;
            }
        }
        match pool.find(id, since(link)) {
            Found::Record(slot) => Some(slot),
            Found::Room(slot) => {
                pool.get_mut(slot)?.claim(id);
                Some(slot)
            }
            Found::Full => {
                link.counters().no_room += 1;
                None
            }
            Found::Later => {
                nack(link, Reason::Stale);
                None
            }
        }
    }

    pub(super) fn request(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        part: &Part,
        known: bool,
    ) -> Option<Place> {
        if !self.admit(link, pool, part.number, part.first_incomplete) {
            return None;
        }
        let slot = self.record(link, pool, part.number, part.attempt)?;
        let record = pool.get_mut(slot)?;
        if record.state != TargetState::NotProcessed {
            link.counters().duplicates += 1;
            if part.push {
                respond(link, record, slot, part.attempt, Have::default(), 1);
            }
            return None;
        }
        let is_first = !record.assembly.has_begun();
        let begun = (record.request, record.handler);
        let (chunk, most) = (link.chunk(), link.config.message);
        let Some(is_new) = record.assembly.take(part, chunk, most, begun) else {
            link.counters().malformed += 1;
            if is_first {
                record.clear();
            }
            return None;
        };
        (record.request, record.handler) = (part.length, part.handler);
        if link.config.protocol == Protocol::Amudp {
            record.resend_due = wait_for_rest(link, now);
        }
        if record.assembly.is_whole() {
            (record.attempt, record.resend_due) = (part.attempt, NEVER);
            receive(link, record, slot, now, known);
        } else if part.push {
            let have = record.assembly.have();
            link.say(Body::Missing {
                number: part.number,
                attempt: part.attempt,
                have,
            });
        }
        is_new.then_some(Place::Request {
            slot,
            offset: part.offset,
        })
    }

    pub(super) fn pull(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        number: Number,
        first_incomplete: u64,
        attempt: u16,
        have: Have,
    ) {
        if !self.admit(link, pool, number, first_incomplete) {
            return;
        }
        let Some(slot) = self.record(link, pool, number, attempt) else {
            return;
        };
        let Some(record) = pool.get_mut(slot) else {
            return;
        };
        if record.state == TargetState::NotProcessed {
            link.say(Body::Missing {
                number,
                attempt,
                have: record.assembly.have(),
            });
            if !record.assembly.has_begun() {
                record.clear();
            }
            return;
        }
        respond(link, record, slot, attempt, have, link.config.burst);
    }

    pub(super) fn query(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        number: Number,
        first_incomplete: u64,
        attempt: u16,
    ) {
        if !self.admit(link, pool, number, first_incomplete) {
            return;
        }
        let Some(slot) = self.record(link, pool, number, attempt) else {
            return;
        };
        let Some(record) = pool.get_mut(slot) else {
            return;
        };
        let has_not_started = matches!(
            record.state,
            TargetState::NotProcessed | TargetState::RequestReceived | TargetState::ReplyNotSent
        );
        if has_not_started {
            // The tombstone is in the log before "not run" is said: a late duplicate can never run it.
            record.ack_due = NEVER;
            change(link, record, slot, TargetState::Cancelled);
            conclude(link, record, now);
        }
        respond(
            link,
            record,
            slot,
            attempt,
            Have::default(),
            link.config.burst,
        );
    }

    /// The initiator has the reply (AMUDP).
    pub(super) fn reply_ack(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        number: Number,
        first_incomplete: u64,
    ) {
        if link.config.protocol != Protocol::Amudp
            || !self.admit(link, pool, number, first_incomplete)
        {
            return;
        }
        let id = TransactionId {
            initiator: link.peer,
            incarnation: number.incarnation,
            sequence: number.sequence,
        };
        if let Found::Record(slot) = pool.find(id, since(link))
            && let Some(record) = pool.get_mut(slot)
            && has_ended(record)
        {
            self.free(record);
        }
    }

    /// The record goes; whether its request has run is remembered (AMUDP).
    fn free(&mut self, record: &mut Received) {
        let freed = match record.state {
            TargetState::ReplySent | TargetState::HandlerTimeout => &mut self.done,
            TargetState::Indeterminate => &mut self.cut_off,
            _ => &mut self.not_run,
        };
        if let Some(place) = record.id.sequence.checked_sub(self.low) {
            *freed |= 1_u64.checked_shl(place as u32).unwrap_or(0);
        }
        record.clear();
    }

    /// True if the initiator needs no answer any more.
    pub(super) fn is_given_up(&self, link: &Link, id: TransactionId) -> bool {
        id.sequence < self.low || id.incarnation < since(link)
    }

    pub(super) fn start(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        slot: Slot,
        id: TransactionId,
    ) -> bool {
        let Some(record) = pool
            .get_mut(slot)
            .filter(|record| record.id == id && record.is_out)
        else {
            return false;
        };
        let is_waiting = matches!(
            record.state,
            TargetState::RequestReceived | TargetState::ReplyNotSent
        );
        let has_started = record.state == TargetState::Started;
        if !(is_waiting || has_started) || self.is_given_up(link, id) {
            record.is_out = false;
            return false;
        }
        if has_started {
            return true;
        }
        begin(link, record, slot, now);
        true
    }

    pub(super) fn handled(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        slot: Slot,
        handler: u16,
        length: u32,
    ) -> Result<(), SlotError> {
        let most = link.config.message;
        if length > most {
            return Err(SlotError::TooLong { length, most });
        }
        let record = pool
            .get_mut(slot)
            .filter(|record| record.is_out)
            .ok_or(SlotError::NotRunning(slot))?;
        match record.state {
            TargetState::Started => {}
            TargetState::HandlerTimeout => {
                record.is_out = false;
                return Ok(());
            }
            _ => return Err(SlotError::NotRunning(slot)),
        }
        let protocol = link.config.protocol;
        end(link, record, slot, handler, length, protocol);
        if self.is_given_up(link, record.id) {
            record.clear();
            return Ok(());
        }
        conclude(link, record, now);
        let attempt = record.attempt;
        respond(
            link,
            record,
            slot,
            attempt,
            Have::default(),
            link.config.burst,
        );
        Ok(())
    }

    /// The handler in a slot was cut off.
    pub(super) fn cut_off(link: &mut Link, pool: &mut ReplyPool, now: Nanos, slot: Slot) {
        let Some(record) = pool.get_mut(slot).filter(|record| record.is_out) else {
            return;
        };
        record.is_out = false;
        if record.state == TargetState::Started {
            abandon(link, record, slot, now, TargetState::Indeterminate);
        }
    }

    pub(super) fn expire(&mut self, link: &mut Link, pool: &mut ReplyPool, now: Nanos) {
        for (slot, record) in pool.of(link.peer) {
            if record.ack_due <= now {
                acknowledge(link, record, record.attempt);
            }
            if record.ends <= now && record.state == TargetState::Started {
                abandon(link, record, slot, now, TargetState::HandlerTimeout);
            }
            if record.resend_due <= now && record.state == TargetState::NotProcessed {
                record.clear();
            } else if record.resend_due <= now {
                if record.tries == link.config.reply_retransmissions && has_ended(record) {
                    self.free(record);
                    continue;
                }
                record.tries = record.tries.saturating_add(1);
                record.resend_due = link.alarm(now, link.timeout.after(record.tries));
                respond(link, record, slot, UNASKED, Have::default(), 1);
            }
        }
    }

    /// True if no handler of the peer's requests runs or waits to be run.
    pub(super) fn is_idle(link: &Link, pool: &mut ReplyPool) -> bool {
        pool.of(link.peer).all(|(_, record)| !record.is_out)
    }

    /// The states of requests that the peer may still ask for, or whose handler runs.
    pub(super) fn states<'a>(
        &'a self,
        link: &'a Link,
        pool: &'a ReplyPool,
    ) -> impl Iterator<Item = TargetState> + 'a {
        let kept = |record: &&Received| record.is_out || !self.is_given_up(link, record.id);
        let records = pool.records_of(link.peer).filter(kept);
        records.map(|record| record.state)
    }

    pub(super) fn deadline(link: &Link, pool: &mut ReplyPool) -> Nanos {
        let due = |record: &mut Received| record.ack_due.min(record.ends).min(record.resend_due);
        pool.of(link.peer)
            .map(|(_, record)| due(record))
            .min()
            .unwrap_or(NEVER)
    }
}

/// The handler runs from now on.
#[inline(always)]
pub(super) fn begin(link: &mut Link, record: &mut Received, slot: Slot, now: Nanos) {
    record.ends = link
        .config
        .handler_time
        .map_or(NEVER, |time| link.alarm(now, time));
    link.counters().started += 1;
    change(link, record, slot, TargetState::Started);
}

/// The handler has ended, with a reply.
#[inline(always)]
pub(super) fn end(
    link: &mut Link,
    record: &mut Received,
    slot: Slot,
    handler: u16,
    length: u32,
    protocol: Protocol,
) {
    (record.reply_handler, record.reply, record.ends) = (handler, length, NEVER);
    record.is_out = false;
    change(link, record, slot, TargetState::ReplySent);
    if protocol == Protocol::Amvia && !record.is_acked {
        link.counters().acks_riding += 1;
        (record.is_acked, record.ack_due) = (true, NEVER);
    }
}

/// When the rest of a request is not waited for any more: a buffer that all peers share does not wait longer than the initiator does
/// (AMUDP).
pub(super) fn wait_for_rest(link: &mut Link, now: Nanos) -> Nanos {
    let longest = link.timeout.after(link.config.request_retransmissions);
    link.alarm(now, longest)
}

/// Takes back a record of the log. A handler that was cut off stays indeterminate for good.
pub(super) fn restore(
    link: &mut Link,
    pool: &mut ReplyPool,
    slot: Slot,
    record: Record<TargetState>,
) {
    let Some(received) = pool.get_mut(slot) else {
        return;
    };
    received.claim(record.id);
    (received.handler, received.request) = (record.handler, record.request);
    (received.reply_handler, received.reply) = (record.reply_handler, record.reply);
    received.state = record.state;
    if record.state == TargetState::Started {
        change(link, received, slot, TargetState::Indeterminate);
    }
}

/// The incarnation since which the peer remembers what it has sent.
fn since(link: &Link) -> Incarnation {
    link.hello.map_or(Incarnation(0), |hello| hello.since)
}
