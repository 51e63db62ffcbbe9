//! The initiator: makes requests, and knows what became of each (Kaur, section 3.2.1).

use super::link::{Link, Message, NEVER};
use super::segments::has_grown;
use super::sent::{
    Phase, Sent, accepted, acknowledge_reply, begin, change, end, given_up, hear, message, pull,
    query, rest, send_request, stamp, transmit,
};
use super::{Nanos, Place, Protocol, Record, RequestError, Slot, SlotError};
use crate::transaction::{Incarnation, InitiatorState, TransactionId};
use crate::wire::{Have, Hello, Number, Part, Reason};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Initiator {
    sent: Box<[Sent]>,
    next: u64,
    low: u64,
}

impl Initiator {
    pub(super) fn new(link: &Link) -> Self {
        let empty = Sent::empty(link.local.endpoint);
        Self {
            sent: vec![empty; link.config.window.into()].into(),
            next: 1,
            low: 1,
        }
    }

    /// Takes back a record of the log.
    pub(super) fn restore(&mut self, slot: Slot, record: Record<InitiatorState>) {
        self.next = self.next.max(record.id.sequence + 1);
        let sent = &mut self.sent[slot.index()];
        sent.record = record;
        let is_under_way = !record.state.is_final() && !record.state.is_unknown();
        sent.phase = if is_under_way {
            Phase::Held
        } else {
            Phase::Idle
        };
    }

    /// All records have been taken back: the application is told what has ended.
    pub(super) fn restored(&mut self, link: &mut Link) {
        let used = self.sent.iter().filter(|sent| sent.is_used());
        self.low = used
            .map(|sent| sent.record.id.sequence)
            .min()
            .unwrap_or(self.next);
        for (slot, sent) in slots(&mut self.sent) {
            if sent.is_used() && sent.phase == Phase::Idle {
                link.deliver(slot);
            }
        }
    }

    pub(super) fn first_incomplete(&self) -> u64 {
        self.low
    }

    pub(super) fn credits(&self) -> u64 {
        self.sent.len() as u64 - (self.next - self.low)
    }

    /// True if all transactions are released.
    pub(super) fn is_idle(&self) -> bool {
        self.next == self.low
    }

    pub(super) fn record(&self, slot: Slot) -> Option<&Record<InitiatorState>> {
        self.sent
            .get(slot.index())
            .filter(|sent| sent.is_used())
            .map(|sent| &sent.record)
    }

    pub(super) fn is_asking(&self, slot: Slot) -> bool {
        let sent = self.sent.get(slot.index());
        sent.is_some_and(|sent| sent.phase == Phase::Asking)
    }

    /// Room for replies in segments.
    pub(super) fn reserve(&mut self, segments: u32) {
        for sent in &mut self.sent {
            sent.assembly.reserve(segments);
        }
    }

    pub(super) fn request(
        &mut self,
        link: &mut Link,
        now: Nanos,
        handler: u16,
        length: u32,
    ) -> Result<Slot, RequestError> {
        if self.credits() == 0 {
            return Err(RequestError::NoCredit);
        }
        let most = link.longest();
        if length > most {
            return Err(RequestError::TooLong { length, most });
        }
        let low = self.low;
        let (slot, sent) = self.fresh(link, handler, length);
        match link.hello {
            Some(hello) => begin(link, sent, slot, low, now, &hello),
            None => {
                sent.phase = Phase::Held;
                change(link, sent, slot, InitiatorState::NotProcessed);
                link.dial(now, low);
            }
        }
        Ok(slot)
    }

    /// The slot of a new request, for which there is credit.
    #[inline(always)]
    fn fresh(&mut self, link: &mut Link, handler: u16, length: u32) -> (Slot, &mut Sent) {
        let sequence = self.next;
        self.next += 1;
        link.counters().requests += 1;
        let slot = self.slot(sequence);
        let sent = &mut self.sent[slot.index()];
        let id = TransactionId {
            initiator: link.local.endpoint,
            incarnation: link.local.incarnation,
            sequence,
        };
        sent.record = Record {
            id,
            target: Incarnation(0),
            handler,
            request: length,
            reply_handler: 0,
            reply: 0,
            state: InitiatorState::NotProcessed,
        };
        sent.assembly.begin(0);
        (sent.attempt, sent.judged, sent.tries) = (0, 0, 0);
        sent.peer_has = Have::default();
        (slot, sent)
    }

    /// The straight way of [`Initiator::request`]: the message, which goes out before all else, and is [said to be
    /// sent](Initiator::sent_straight) then. None: nothing has changed.
    #[inline(always)]
    pub(super) fn request_straight(
        &mut self,
        link: &mut Link,
        handler: u16,
        length: u32,
    ) -> Option<Message> {
        let target = link.hello.as_ref()?.incarnation;
        if self.credits() == 0 || length > link.longest_straight() {
            return None;
        }
        let low = self.low;
        let (slot, sent) = self.fresh(link, handler, length);
        (sent.record.target, sent.record.state) = (target, InitiatorState::RequestSent);
        (sent.phase, sent.attempt) = (Phase::Requesting, 1);
        Some(message(sent, slot, low))
    }

    /// The request in a slot was sent straight.
    #[inline(always)]
    pub(super) fn sent_straight(&mut self, link: &mut Link, slot: Slot, now: Nanos) {
        let sent = &mut self.sent[slot.index()];
        sent.began = now;
        stamp(link, sent, now);
    }

    /// The straight way of [`Initiator::reply`]: the slot, whose transaction has ended with this reply, and whether it is
    /// acknowledged. None: nothing has changed.
    #[inline(always)]
    pub(super) fn reply_straight(
        &mut self,
        link: &mut Link,
        now: Nanos,
        part: &Part,
        protocol: Protocol,
    ) -> Option<(Slot, bool)> {
        let longest = link.longest_straight_here();
        let (slot, sent) = self.find(part.number)?;
        let waits = matches!(sent.phase, Phase::Requesting | Phase::Waiting);
        if !waits || part.length > longest || !sent.assembly.take_whole(part) {
            return None;
        }
        (sent.record.reply, sent.record.reply_handler) = (part.length, part.handler);
        let answers = is_answer(link, sent, protocol);
        hear(link, sent, now, part.attempt, answers);
        rest(link, sent, slot, InitiatorState::Processed);
        Some((slot, protocol == Protocol::Amudp))
    }

    /// [`Initiator::reply_straight`] for the protocols with acknowledgements. It takes a part of its own, so that the caller's need not lie in memory.
    #[inline(never)]
    pub(super) fn reply_acknowledged(
        &mut self,
        link: &mut Link,
        now: Nanos,
        part: Part,
    ) -> Option<(Slot, bool)> {
        self.reply_straight(link, now, &part, link.config.protocol)
    }

    fn slot(&self, sequence: u64) -> Slot {
        Slot::of(sequence, self.sent.len())
    }

    /// The transaction that a frame of the peer is about.
    #[inline(always)]
    fn find(&mut self, number: Number) -> Option<(Slot, &mut Sent)> {
        let slot = self.slot(number.sequence);
        let sent = &mut self.sent[slot.index()];
        (sent.number() == number && sent.is_used()).then_some((slot, sent))
    }

    /// The peer is connected, in an incarnation that is new here.
    pub(super) fn connected(&mut self, link: &mut Link, now: Nanos, hello: &Hello) {
        let low = self.low;
        for (slot, sent) in slots(&mut self.sent) {
            if !sent.is_used() || sent.record.state.is_final() {
                continue;
            }
            sent.assembly.begin(0);
            sent.peer_has = Have::default();
            sent.tries = 0;
            let was_sent = sent.record.state != InitiatorState::NotProcessed;
            if was_sent && sent.record.target < hello.since {
                // The target has no log of that time.
                end(link, sent, slot, InitiatorState::Indeterminate);
                continue;
            }
            match sent.phase {
                Phase::Held | Phase::Requesting | Phase::Waiting
                    if !was_sent && sent.record.request > link.longest() =>
                {
                    end(link, sent, slot, InitiatorState::NotRun);
                }
                Phase::Held if !was_sent => begin(link, sent, slot, low, now, hello),
                Phase::Held | Phase::Requesting | Phase::Waiting => {
                    sent.began = now;
                    transmit(link, sent, slot, low, now);
                }
                Phase::Asking => query(link, sent, low, now),
                Phase::Idle => {}
            }
        }
    }

    /// The peer cannot be connected to.
    pub(super) fn unreachable(&mut self, link: &mut Link) {
        for (slot, sent) in slots(&mut self.sent) {
            if sent.phase != Phase::Held {
                continue;
            }
            let state = match sent.record.state {
                InitiatorState::NotProcessed => InitiatorState::NotRun,
                other => given_up(other),
            };
            end(link, sent, slot, state);
        }
    }

    pub(super) fn ack(&mut self, link: &mut Link, now: Nanos, number: Number, attempt: u16) {
        let Some((slot, sent)) = self.find(number) else {
            return;
        };
        match sent.phase {
            Phase::Requesting | Phase::Asking => {
                hear(link, sent, now, attempt, true);
                accepted(link, sent, slot);
                sent.patience = link.timeout.after(0);
            }
            Phase::Waiting => {
                hear(link, sent, now, attempt, true);
                sent.patience = sent.patience.saturating_mul(2).min(link.config.max_rto);
            }
            Phase::Idle | Phase::Held => return,
        }
        sent.tries = 0;
        sent.due = link.alarm(now, sent.patience);
    }

    pub(super) fn missing(
        &mut self,
        link: &mut Link,
        now: Nanos,
        number: Number,
        attempt: u16,
        have: Have,
    ) {
        let low = self.low;
        let Some((slot, sent)) = self.find(number) else {
            return;
        };
        if !matches!(sent.phase, Phase::Requesting | Phase::Waiting) {
            return;
        }
        hear(link, sent, now, attempt, true);
        if has_grown(sent.peer_has, have) {
            sent.peer_has = have;
            sent.tries = 0;
        } else if attempt != sent.attempt || sent.tries >= link.config.request_retransmissions {
            // It is overtaken, or nothing comes of what is sent: the time-out decides.
            return;
        } else {
            sent.tries += 1;
        }
        sent.phase = Phase::Requesting;
        sent.attempt = sent.attempt.wrapping_add(1);
        send_request(link, sent, slot, low, now, have, link.config.burst);
    }

    pub(super) fn reply(&mut self, link: &mut Link, now: Nanos, part: &Part) -> Option<Place> {
        let low = self.low;
        let Some((slot, sent)) = self.find(part.number) else {
            acknowledge_reply(link, low, part.number, part.attempt);
            return None;
        };
        if sent.phase == Phase::Held || sent.record.state.is_final() {
            if sent.record.state == InitiatorState::Processed {
                acknowledge_reply(link, low, part.number, part.attempt);
            }
            return None;
        }
        let begun = (sent.record.reply, sent.record.reply_handler);
        let (chunk, most) = (link.chunk(), link.config.message);
        let Some(is_new) = sent.assembly.take(part, chunk, most, begun) else {
            link.counters().malformed += 1;
            return None;
        };
        (sent.record.reply, sent.record.reply_handler) = (part.length, part.handler);
        let answers = is_answer(link, sent, link.config.protocol);
        hear(link, sent, now, part.attempt, answers);
        if sent.assembly.is_whole() {
            end(link, sent, slot, InitiatorState::Processed);
            acknowledge_reply(link, low, part.number, part.attempt);
        } else if sent.phase != Phase::Idle {
            if sent.phase != Phase::Waiting {
                accepted(link, sent, slot);
            }
            if is_new {
                sent.tries = 0;
            }
            if part.push {
                pull(link, sent, low, now);
            } else {
                sent.due = link.alarm(now, link.timeout.after(sent.tries));
            }
        }
        is_new.then_some(Place::Reply {
            slot,
            offset: part.offset,
        })
    }

    pub(super) fn nack(
        &mut self,
        link: &mut Link,
        now: Nanos,
        number: Number,
        attempt: u16,
        reason: Reason,
    ) {
        let low = self.low;
        let Some((slot, sent)) = self.find(number) else {
            acknowledge_reply(link, low, number, attempt);
            return;
        };
        if sent.record.state.is_final() {
            acknowledge_reply(link, low, number, attempt);
            return;
        }
        if sent.phase == Phase::Held {
            return;
        }
        hear(link, sent, now, attempt, false);
        let state = match reason {
            Reason::NoHandler => InitiatorState::AckNotFound,
            Reason::HandlerTime => InitiatorState::HandlerTimeExceeded,
            Reason::Stale => InitiatorState::Stale,
            Reason::NotRun => InitiatorState::NotRun,
            Reason::Indeterminate => InitiatorState::Indeterminate,
            Reason::ReplyGone => InitiatorState::ReplyGone,
        };
        end(link, sent, slot, state);
        acknowledge_reply(link, low, number, attempt);
    }

    #[inline]
    pub(super) fn release(&mut self, link: &mut Link, slot: Slot) -> Result<(), SlotError> {
        let sent = self.used(slot)?;
        if sent.phase != Phase::Idle {
            return Err(SlotError::UnderWay(slot));
        }
        change(link, sent, slot, InitiatorState::Released);
        while self.low < self.next && !self.sent[self.slot(self.low).index()].is_used() {
            self.low += 1;
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, link: &mut Link, now: Nanos, slot: Slot) -> Result<(), SlotError> {
        let low = self.low;
        let sent = self.used(slot)?;
        if sent.phase != Phase::Idle {
            return Err(SlotError::UnderWay(slot));
        }
        if !sent.record.state.is_unknown() {
            return Err(SlotError::Known(slot));
        }
        (sent.phase, sent.tries) = (Phase::Asking, 0);
        if link.hello.is_some() {
            link.renew(low);
        } else {
            link.dial(now, low);
        }
        query(link, sent, low, now);
        Ok(())
    }

    fn used(&mut self, slot: Slot) -> Result<&mut Sent, SlotError> {
        let sent = self
            .sent
            .get_mut(slot.index())
            .filter(|sent| sent.is_used());
        sent.ok_or(SlotError::Empty(slot))
    }

    pub(super) fn expire(&mut self, link: &mut Link, now: Nanos) {
        let low = self.low;
        for (slot, sent) in slots(&mut self.sent) {
            if sent.due > now {
                continue;
            }
            let most = match sent.phase {
                Phase::Waiting => link.config.reply_retransmissions,
                _ => link.config.request_retransmissions,
            };
            if sent.tries >= most {
                let state = given_up(sent.record.state);
                link.counters().abandoned += 1;
                end(link, sent, slot, state);
                continue;
            }
            sent.tries += 1;
            if link.needs_renewal(sent.tries) {
                link.renew(low);
            }
            match sent.phase {
                Phase::Requesting => {
                    link.counters().retransmissions += 1;
                    transmit(link, sent, slot, low, now);
                }
                Phase::Waiting => pull(link, sent, low, now),
                Phase::Asking => query(link, sent, low, now),
                Phase::Idle | Phase::Held => sent.due = NEVER,
            }
        }
    }

    pub(super) fn deadline(&self) -> Nanos {
        self.sent.iter().map(|sent| sent.due).min().unwrap_or(NEVER)
    }
}

fn slots(sent: &mut [Sent]) -> impl Iterator<Item = (Slot, &mut Sent)> {
    sent.iter_mut()
        .enumerate()
        .map(|(slot, sent)| (Slot(slot as u16), sent))
}

/// True if a reply is what the timeout is about: it comes without an acknowledgement of its own.
#[inline(always)]
fn is_answer(link: &Link, sent: &Sent, protocol: Protocol) -> bool {
    let is_alone = protocol != Protocol::Amvia || link.config.ack_delay > 0;
    is_alone && sent.phase == Phase::Requesting
}
