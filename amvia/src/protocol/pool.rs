//! The receive pool: what is known of each request that came.

use super::segments::Assembly;
use super::{Config, Nanos, Record, Slot, link::NEVER};
use crate::transaction::{EndpointId, Incarnation, TargetState, TransactionId};
use crate::wire::Number;

/// No transaction.
const NOBODY: TransactionId = TransactionId {
    initiator: EndpointId(0),
    incarnation: Incarnation(0),
    sequence: 0,
};

/// A request that came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Received {
    pub(super) id: TransactionId,
    pub(super) state: TargetState,
    pub(super) handler: u16,
    pub(super) request: u32,
    pub(super) reply_handler: u16,
    pub(super) reply: u32,
    /// The attempt with which the request became whole.
    pub(super) attempt: u16,
    pub(super) assembly: Assembly,
    /// The driver has been told to run it, and has not said yet that it ended or will not run.
    pub(super) is_out: bool,
    pub(super) is_acked: bool,
    pub(super) ack_due: Nanos,
    /// When the handler is over its time.
    pub(super) ends: Nanos,
    /// When the answer goes out again, or the rest of the request is not waited for any more (AMUDP).
    pub(super) resend_due: Nanos,
    pub(super) tries: u16,
}

impl Received {
    fn empty() -> Self {
        Self {
            id: NOBODY,
            state: TargetState::NotProcessed,
            handler: 0,
            request: 0,
            reply_handler: 0,
            reply: 0,
            attempt: 0,
            assembly: Assembly::default(),
            is_out: false,
            is_acked: false,
            ack_due: NEVER,
            ends: NEVER,
            resend_due: NEVER,
            tries: 0,
        }
    }

    /// The slot is free again.
    pub(super) fn clear(&mut self) {
        let Self {
            id,
            state,
            assembly,
            is_out,
            is_acked,
            handler,
            request,
            reply_handler,
            reply,
            attempt,
            ack_due,
            ends,
            resend_due,
            tries,
        } = self;
        assembly.begin(0);
        *id = NOBODY;
        *state = TargetState::NotProcessed;
        (*is_out, *is_acked) = (false, false);
        (*handler, *request, *reply_handler, *reply) = (0, 0, 0, 0);
        (*attempt, *tries) = (0, 0);
        (*ack_due, *ends, *resend_due) = (NEVER, NEVER, NEVER);
    }

    /// Gives the slot to a transaction before anything of it has come.
    pub(super) fn claim(&mut self, id: TransactionId) {
        self.clear();
        self.id = id;
    }

    pub(super) fn is_free(&self) -> bool {
        self.id.sequence == 0
    }

    pub(super) fn number(&self) -> Number {
        Number {
            sequence: self.id.sequence,
            incarnation: self.id.incarnation,
        }
    }

    pub(super) fn record(&self) -> Record<TargetState> {
        Record {
            id: self.id,
            target: Incarnation(0),
            handler: self.handler,
            request: self.request,
            reply_handler: self.reply_handler,
            reply: self.reply,
            state: self.state,
        }
    }
}

/// The state of a transaction in the pool.
pub(super) enum Found {
    /// Its record.
    Record(Slot),
    /// No record; this slot may be its.
    Room(Slot),
    /// No record and no room.
    Full,
    /// The slot has a later transaction: the record is freed.
    Later,
}

/// The receive pool that all connections of an endpoint share under [`Protocol::Amudp`](super::Protocol::Amudp). Connections of
/// the other protocols have receive pools of their own, and are given [`ReplyPool::default`], which has no slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ReplyPool {
    records: Box<[Received]>,
    is_shared: bool,
}

impl ReplyPool {
    /// A shared pool of so many slots, for messages as long as `config` says.
    pub fn shared(slots: u16, config: &Config) -> Self {
        let mut pool = Self {
            is_shared: true,
            ..Self::own(slots)
        };
        pool.reserve(super::segments::segments(
            config.message,
            Config::chunk(config.mtu),
        ));
        pool
    }

    pub(super) fn own(slots: u16) -> Self {
        Self {
            records: vec![Received::empty(); slots.into()].into(),
            is_shared: false,
        }
    }

    /// Slots in use.
    pub fn used(&self) -> usize {
        self.records
            .iter()
            .filter(|record| !record.is_free())
            .count()
    }

    /// Slots.
    pub fn slots(&self) -> usize {
        self.records.len()
    }

    /// Room for messages of so many segments.
    pub(super) fn reserve(&mut self, segments: u32) {
        for record in &mut self.records {
            record.assembly.reserve(segments);
        }
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Received> {
        self.records.get_mut(slot.index())
    }

    /// The records of a peer, to be looked at.
    pub(super) fn records_of(&self, peer: EndpointId) -> impl Iterator<Item = &Received> {
        let records = self.records.iter();
        records.filter(move |record| record.id.initiator == peer && !record.is_free())
    }

    /// The records of a peer.
    pub(super) fn of(&mut self, peer: EndpointId) -> impl Iterator<Item = (Slot, &mut Received)> {
        let slots = self
            .records
            .iter_mut()
            .enumerate()
            .map(|(slot, record)| (Slot(slot as u16), record));
        slots.filter(move |(_, record)| record.id.initiator == peer && !record.is_free())
    }

    /// Looks up a transaction of an initiator that remembers its lives from `since` on.
    #[inline(always)]
    pub(super) fn find(&self, id: TransactionId, since: Incarnation) -> Found {
        let number = Number {
            sequence: id.sequence,
            incarnation: id.incarnation,
        };
        let slot = if self.is_shared {
            let is_its = |record: &Received| {
                record.id.initiator == id.initiator && record.id.sequence == id.sequence
            };
            let its = self.records.iter().position(is_its);
            its.or_else(|| self.records.iter().position(Received::is_free))
        } else {
            let slots = self.records.len();
            (slots > 0).then(|| Slot::of(id.sequence, slots).index())
        };
        let Some(slot) = slot else {
            return Found::Full;
        };
        let record = &self.records[slot];
        let slot = Slot(slot as u16);
        match record.number().cmp(&number) {
            _ if record.is_free() => Found::Room(slot),
            _ if record.id.incarnation < since => Found::Full,
            std::cmp::Ordering::Equal => Found::Record(slot),
            std::cmp::Ordering::Greater => Found::Later,
            std::cmp::Ordering::Less if record.is_out => Found::Full,
            std::cmp::Ordering::Less => Found::Room(slot),
        }
    }
}
