//! The straight way of a message in one frame, where nothing else is to be done and nothing is logged: each step gives at once
//! what the general way puts behind what is to be done. It changes the same, and none of it where it gives nothing: then the
//! driver takes the general way.
//!
//! The compiler makes code of its own for [`Protocol::TwoWay`], which asks for no acknowledgement and shares no pool.

use super::answer::{conclude, reply};
use super::connection::pool_of;
use super::link::{Link, Message};
use super::pool::Found;
use super::sent::acknowledgement;
use super::target::{Target, begin, end, wait_for_rest};
use super::{Connection, Nanos, Protocol, ReplyPool, Slot};
use crate::transaction::{TargetState, TransactionId};
use crate::wire::{Body, Head, Part, Tag};

impl Connection {
    /// [`Connection::request`] and the one action after it: the slot, the transaction, and the head of the frame that goes out. Once it
    /// has, [`Connection::sent_straight`] is to follow.
    #[inline(always)]
    pub fn request_straight(
        &mut self,
        handler: u16,
        length: u32,
    ) -> Option<(Slot, TransactionId, Head)> {
        let Self {
            link, initiator, ..
        } = self;
        if !link.is_straight() {
            return None;
        }
        let message = initiator.request_straight(link, handler, length)?;
        let id = TransactionId {
            initiator: link.local.endpoint,
            incarnation: message.number.incarnation,
            sequence: message.number.sequence,
        };
        Some((message.slot, id, link.whole(&message).0))
    }

    /// The frame of a request has gone out.
    #[inline(always)]
    pub fn sent_straight(&mut self, now: Nanos, slot: Slot) {
        self.initiator.sent_straight(&mut self.link, slot, now);
    }

    /// [`Connection::frame`] of a request for a handler that is known, [`Connection::start`] and the actions after both: the slot of
    /// the request, whose handler runs now, and whether an [acknowledgement](Connection::ack_straight) goes out before.
    #[inline(always)]
    pub fn start_straight(
        &mut self,
        now: Nanos,
        tag: Tag,
        part: &Part,
        shared: &mut ReplyPool,
    ) -> Option<(Slot, bool)> {
        if !self.link.is_straight() || tag != self.link.local.tag {
            return None;
        }
        let Self {
            link, target, own, ..
        } = self;
        let started = match link.config.protocol {
            Protocol::TwoWay => target.request_straight(link, own, now, part, Protocol::TwoWay),
            _ => {
                let pool = pool_of(link, own, shared);
                target.request_acknowledged(link, pool, now, *part)
            }
        };
        if started.is_some() {
            self.heard = now;
        }
        started
    }

    /// [`Connection::handled`] and the one action after it: the head of the frame that goes out.
    #[inline(always)]
    pub fn handled_straight(
        &mut self,
        now: Nanos,
        slot: Slot,
        handler: u16,
        length: u32,
        shared: &mut ReplyPool,
    ) -> Option<Head> {
        let Self {
            link, target, own, ..
        } = self;
        if !link.is_straight() {
            return None;
        }
        let protocol = link.config.protocol;
        let message = match protocol {
            Protocol::TwoWay => {
                target.handled_straight(link, own, slot, handler, length, Protocol::TwoWay)
            }
            _ => {
                let pool = pool_of(link, own, shared);
                target.handled_acknowledged(link, pool, now, slot, handler, length)
            }
        };
        message.map(|message| link.whole(&message).0)
    }

    /// [`Connection::frame`] of a reply and the actions after it: the slot whose transaction has ended, and whether an
    /// [acknowledgement](Connection::ack_straight) goes out.
    #[inline(always)]
    pub fn reply_straight(&mut self, now: Nanos, tag: Tag, part: &Part) -> Option<(Slot, bool)> {
        let Self {
            link,
            initiator,
            heard,
            ..
        } = self;
        if !link.is_straight() || tag != link.local.tag || link.hello.is_none() {
            return None;
        }
        let ended = match link.config.protocol {
            Protocol::TwoWay => initiator.reply_straight(link, now, part, Protocol::TwoWay),
            _ => initiator.reply_acknowledged(link, now, *part),
        }?;
        *heard = now;
        Some(ended)
    }

    /// The head of the acknowledgement of a message that was taken straight.
    #[inline(never)]
    pub fn ack_straight(&self, part: &Part) -> Head {
        let (link, low) = (&self.link, self.initiator.first_incomplete());
        let Part {
            number, attempt, ..
        } = *part;
        let reply = acknowledgement(link, low, number, attempt);
        link.head(reply.unwrap_or(Body::Ack { number, attempt }))
    }
}

impl Target {
    /// The straight way of [`Target::request`] and [`Target::start`]: the slot of a request that is there as a whole and whose handler
    /// runs now, and whether it is acknowledged before. None: nothing has changed.
    #[inline(always)]
    pub(super) fn request_straight(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        part: &Part,
        protocol: Protocol,
    ) -> Option<(Slot, bool)> {
        let Part {
            number,
            first_incomplete,
            attempt,
            ..
        } = *part;
        let (sequence, incarnation) = (number.sequence, number.incarnation);
        let hello = link.hello.as_ref()?;
        let is_admitted = incarnation == hello.incarnation
            && first_incomplete > 0
            && sequence >= first_incomplete.max(self.low)
            && sequence - first_incomplete < u64::from(link.config.window);
        if !is_admitted
            || part.length > link.longest_straight_here()
            || part.offset != 0
            || part.size != part.length
        {
            return None;
        }
        if protocol == Protocol::Amudp && self.has_freed_or_frees(link, pool, part) {
            return None;
        }
        let id = TransactionId {
            initiator: link.peer,
            incarnation,
            sequence,
        };
        let Found::Room(slot) = pool.find(id, hello.since) else {
            return None;
        };
        self.raise(link, pool, first_incomplete);
        let record = pool.get_mut(slot)?;
        record.claim(id);
        record.assembly.take_whole(part);
        (record.request, record.handler) = (part.length, part.handler);
        (record.attempt, record.is_out) = (attempt, true);
        let acknowledges = protocol == Protocol::Amvia && link.config.ack_delay == 0;
        if acknowledges {
            link.counters().acks_alone += 1;
            record.is_acked = true;
        } else if protocol == Protocol::Amvia {
            record.ack_due = link.alarm(now, link.config.ack_delay);
        } else if protocol == Protocol::Amudp {
            wait_for_rest(link, now);
        }
        begin(link, record, slot, now);
        Some((slot, acknowledges))
    }

    /// [`Target::request_straight`] for the protocols with acknowledgements. It takes a part of its own, so that the caller's need not lie in memory.
    #[inline(never)]
    pub(super) fn request_acknowledged(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        part: Part,
    ) -> Option<(Slot, bool)> {
        self.request_straight(link, pool, now, &part, link.config.protocol)
    }

    /// True if the record of this request is freed, or if it frees others: which slot it gets may depend on that (AMUDP).
    fn has_freed_or_frees(&self, link: &Link, pool: &ReplyPool, part: &Part) -> bool {
        let freed = self.done | self.not_run | self.cut_off;
        let place = part.number.sequence - self.low;
        let is_freed =
            u32::try_from(place).is_ok_and(|place| freed.checked_shr(place).unwrap_or(0) & 1 == 1);
        let mut records = pool.records_of(link.peer);
        is_freed || records.any(|record| record.id.sequence < part.first_incomplete)
    }

    /// The straight way of [`Target::handled`]: the reply, which goes out before all else. None: nothing has changed.
    #[inline(always)]
    pub(super) fn handled_straight(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        slot: Slot,
        handler: u16,
        length: u32,
        protocol: Protocol,
    ) -> Option<Message> {
        let record = pool.get_mut(slot)?;
        let is_running = record.is_out && record.state == TargetState::Started;
        if !is_running
            || length > link.longest_straight().min(link.config.message)
            || self.is_given_up(link, record.id)
        {
            return None;
        }
        end(link, record, slot, handler, length, protocol);
        Some(reply(record, slot, record.attempt))
    }

    /// [`Target::handled_straight`] for the protocols with acknowledgements.
    #[inline(never)]
    pub(super) fn handled_acknowledged(
        &mut self,
        link: &mut Link,
        pool: &mut ReplyPool,
        now: Nanos,
        slot: Slot,
        handler: u16,
        length: u32,
    ) -> Option<Message> {
        let protocol = link.config.protocol;
        let message = self.handled_straight(link, pool, slot, handler, length, protocol)?;
        conclude(link, pool.get_mut(slot)?, now);
        Some(message)
    }
}
