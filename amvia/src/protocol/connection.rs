//! One pair of endpoints: both roles, and how they come to know each other.

use super::initiator::Initiator;
use super::link::{Link, NEVER};
use super::pool::ReplyPool;
use super::target::{self, Target};
use super::{
    Action, Config, Counters, Entry, Local, Nanos, Place, Protocol, RecoverError, RequestError,
    Slot, SlotError, Timeout,
};
use crate::transaction::{EndpointId, InitiatorState, TargetState, TransactionId};
use crate::wire::{Body, Head, Hello, Refusal};

/// One pair of endpoints, seen from one of them. The [module](super) says what a driver does with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Connection {
    pub(super) link: Link,
    pub(super) initiator: Initiator,
    pub(super) target: Target,
    /// The receive pool, where it is not shared.
    pub(super) own: ReplyPool,
    /// When the peer was last heard.
    pub(super) heard: Nanos,
}

impl Connection {
    /// A connection to `peer`, of whom nothing is known yet. It begins to connect with the first
    /// request, or [`Connection::connect`]. `config` has passed [`Config::check`].
    pub fn new(config: Config, local: Local, peer: EndpointId, now: Nanos) -> Self {
        let own = if config.protocol == Protocol::Amudp {
            0
        } else {
            config.window.into()
        };
        let mut link = Link::new(config, local, peer);
        link.alarm(now, link.config.lease);
        Self {
            initiator: Initiator::new(&link),
            target: Target::new(),
            own: ReplyPool::own(own),
            link,
            heard: now,
        }
    }

    /// A connection to `peer` with the records that the log has of it, from the pools that their entries name.
    ///
    /// Actions follow: a record of a handler that was cut off is logged as indeterminate, and what has ended and is not
    /// released is delivered once more. What was under way goes on as soon as the peer is connected, under its old number.
    ///
    /// # Errors
    /// The records are not those of such a connection.
    pub fn recover(
        config: Config,
        local: Local,
        peer: EndpointId,
        now: Nanos,
        records: impl IntoIterator<Item = (Slot, Entry)>,
    ) -> Result<Self, RecoverError> {
        let mut connection = Self::new(config, local, peer, now);
        let window = u64::from(connection.link.config.window);
        for (slot, entry) in records {
            let (id, initiator) = match entry {
                Entry::Sent(record) => (record.id, local.endpoint),
                Entry::Received(record) => (record.id, peer),
            };
            if id.initiator != initiator || id.sequence == 0 {
                return Err(RecoverError::Foreign(id));
            }
            if id.sequence % window != u64::from(slot.0) {
                return Err(RecoverError::Slot {
                    id,
                    slot,
                    window: connection.link.config.window,
                });
            }
            match entry {
                Entry::Sent(record) => connection.initiator.restore(slot, record),
                Entry::Received(record) => {
                    target::restore(&mut connection.link, &mut connection.own, slot, record)
                }
            }
        }
        connection.initiator.restored(&mut connection.link);
        Ok(connection)
    }

    /// Begins to connect, unless that is under way. [`Action::Connected`] or [`Action::Unreachable`] follows. A peer that is
    /// connected is told once more who this end is: its answer shows where it is now.
    pub fn connect(&mut self, now: Nanos) {
        let first_incomplete = self.initiator.first_incomplete();
        match self.link.is_connected {
            true => self.link.renew(first_incomplete),
            false => self.link.dial(now, first_incomplete),
        }
    }

    /// Makes a request of `length` bytes for `handler`. The caller writes its bytes into the slot of the send pool before it
    /// takes the actions.
    ///
    /// # Errors
    /// There is no credit, or the peer takes no message of this length: nothing has changed.
    pub fn request(&mut self, now: Nanos, handler: u16, length: u32) -> Result<Slot, RequestError> {
        self.initiator.request(&mut self.link, now, handler, length)
    }

    /// Takes a frame of the peer. `known`: whether the endpoint has the handler that it names (of interest in a
    /// [`Body::Request`]). Says where its payload belongs.
    #[inline]
    pub fn frame(
        &mut self,
        now: Nanos,
        head: &Head,
        known: bool,
        shared: &mut ReplyPool,
    ) -> Option<Place> {
        if head.from != self.link.peer {
            self.link.counters().wrong_tag += 1;
            return None;
        }
        if head.tag != self.link.local.tag {
            match head.body {
                // Somebody off the path may have sent this: it is answered, and nothing is believed.
                Body::Connect(hello) => {
                    self.answer(&hello);
                }
                _ => self.link.counters().wrong_tag += 1,
            }
            return None;
        }
        match head.body {
            Body::Connect(hello) => {
                self.heard = now;
                if self.answer(&hello) {
                    self.adopt(now, hello, false, shared);
                }
                return None;
            }
            Body::Accept(hello) => {
                self.heard = now;
                match self.link.refusal(&hello) {
                    None => self.adopt(now, hello, true, shared),
                    Some(Refusal::OldIncarnation | Refusal::NameInUse) => {}
                    Some(reason) => self.hang_up(Some(reason)),
                }
                return None;
            }
            Body::Refuse { reason } => {
                self.hang_up(Some(reason));
                return None;
            }
            _ if self.link.hello.is_none() => {
                self.link.counters().unconnected += 1;
                return None;
            }
            _ => {}
        }
        self.heard = now;
        let Self {
            link,
            initiator,
            target,
            own,
            ..
        } = self;
        let pool = pool_of(link, own, shared);
        match head.body {
            Body::Request(part) => return target.request(link, pool, now, &part, known),
            Body::Reply(part) => return initiator.reply(link, now, &part),
            Body::Pull {
                number,
                first_incomplete,
                attempt,
                have,
            } => {
                target.pull(link, pool, number, first_incomplete, attempt, have);
            }
            Body::Query {
                number,
                first_incomplete,
                attempt,
            } => {
                target.query(link, pool, now, number, first_incomplete, attempt);
            }
            Body::ReplyAck {
                number,
                first_incomplete,
                ..
            } => {
                target.reply_ack(link, pool, number, first_incomplete);
            }
            Body::Ack { number, attempt } => initiator.ack(link, now, number, attempt),
            Body::Missing {
                number,
                attempt,
                have,
            } => initiator.missing(link, now, number, attempt, have),
            Body::Nack {
                number,
                attempt,
                reason,
            } => initiator.nack(link, now, number, attempt, reason),
            Body::Connect(_) | Body::Accept(_) | Body::Refuse { .. } => {}
        }
        None
    }

    /// Answers a Connect; false if it is refused.
    fn answer(&mut self, hello: &Hello) -> bool {
        if hello.to != self.link.local.endpoint {
            self.link.counters().malformed += 1;
            return false;
        }
        let refusal = self.link.refusal(hello);
        let body = match refusal {
            Some(reason) => Body::Refuse { reason },
            None => Body::Accept(
                self.link
                    .hello(self.initiator.first_incomplete(), hello.attempt),
            ),
        };
        self.link.say_to(hello.tag, body);
        refusal.is_none()
    }

    /// The peer has shown that it gets what is sent to it, and is what it says.
    fn adopt(&mut self, now: Nanos, hello: Hello, accepts: bool, shared: &mut ReplyPool) {
        let known = self.link.hello;
        let new = self.link.adopt(now, hello, accepts);
        let pool = pool_of(&self.link, &mut self.own, shared);
        let Some(incarnation) = new else {
            self.link.confirmed = true;
            self.target.adopt(&self.link, pool, &hello, known);
            self.link.be_connected(hello.incarnation);
            return;
        };
        let segments = self.link.segments(self.link.longest());
        pool.reserve(segments);
        self.initiator.reserve(segments);
        self.target.adopt(&self.link, pool, &hello, known);
        if accepts {
            // The peer believes this hello, since it has the tag that the peer has just given.
            self.link.renew(self.initiator.first_incomplete());
        } else {
            self.link.confirmed = true;
        }
        self.link.be_connected(incarnation);
        self.initiator.connected(&mut self.link, now, &hello);
    }

    fn hang_up(&mut self, refusal: Option<Refusal>) {
        self.link.hang_up(refusal);
        self.initiator.unreachable(&mut self.link);
    }

    /// The driver is about to run the handler of an [`Action::Run`]. False: it must not (the request was cancelled, or its
    /// initiator needs no answer any more). A driver whose log has refused the record calls it again once the log has it.
    pub fn start(
        &mut self,
        now: Nanos,
        slot: Slot,
        id: TransactionId,
        shared: &mut ReplyPool,
    ) -> bool {
        let Self {
            link, target, own, ..
        } = self;
        let pool = pool_of(link, own, shared);
        target.start(link, pool, now, slot, id)
    }

    /// A handler that was started has ended, and its reply of `length` bytes for the initiator's `handler` is in the slot of
    /// the receive pool. An initiator that takes no message of this length any more is told that the handler has run, and that
    /// its reply is gone.
    ///
    /// # Errors
    /// No handler runs in this slot, or the reply has no room in it: nothing has changed.
    pub fn handled(
        &mut self,
        now: Nanos,
        slot: Slot,
        handler: u16,
        length: u32,
        shared: &mut ReplyPool,
    ) -> Result<(), SlotError> {
        let Self {
            link, target, own, ..
        } = self;
        let pool = pool_of(link, own, shared);
        target.handled(link, pool, now, slot, handler, length)
    }

    /// A handler that was started was cut off before its end: whether it had effects nobody can know, and the initiator is told so.
    pub fn cut_off(&mut self, now: Nanos, slot: Slot, shared: &mut ReplyPool) {
        let pool = pool_of(&self.link, &mut self.own, shared);
        Target::cut_off(&mut self.link, pool, now, slot);
    }

    /// Does what is due.
    pub fn expire(&mut self, now: Nanos, shared: &mut ReplyPool) {
        if now < self.link.wake {
            return;
        }
        if self
            .link
            .expire_dial(now, self.initiator.first_incomplete())
        {
            self.hang_up(None);
        }
        let Self {
            link,
            initiator,
            target,
            own,
            heard,
        } = self;
        let pool = pool_of(link, own, shared);
        initiator.expire(link, now);
        target.expire(link, pool, now);
        if heard.saturating_add(link.config.lease) <= now {
            if initiator.is_idle() && Target::is_idle(link, pool) {
                link.forget();
                *heard = NEVER;
            } else {
                *heard = now;
            }
        }
        let lease = heard.saturating_add(link.config.lease);
        link.wake = lease
            .min(link.dial_due)
            .min(initiator.deadline())
            .min(Target::deadline(link, pool));
    }

    /// When [`Connection::expire`] is to be called, or somewhat earlier; none: nothing is waited for.
    #[inline]
    pub fn deadline(&self) -> Option<Nanos> {
        (self.link.wake != NEVER).then_some(self.link.wake)
    }

    /// True while an intent waits to be carried out.
    #[inline]
    pub fn has_actions(&self) -> bool {
        self.link.has_intents()
    }

    /// The next thing to be done.
    #[expect(
        clippy::should_implement_trait,
        reason = "more may follow after there was none"
    )]
    #[inline(always)]
    pub fn next(&mut self) -> Option<Action> {
        self.link.next()
    }

    /// The peer of an [`Action::Forget`] could not be forgotten: its lease begins anew.
    #[cold]
    pub fn keep(&mut self, now: Nanos) {
        self.heard = now;
        self.link.alarm(now, self.link.config.lease);
    }

    /// The entry of an [`Action::Log`] could not be logged: that is the next thing to be done again.
    #[cold]
    pub fn log_again(&mut self, slot: Slot, entry: Entry) {
        self.link.log_again(slot, entry);
    }

    /// The application has read what became of a transaction, or has given it up: its credit comes back.
    ///
    /// # Errors
    /// There is no such transaction, or it is under way.
    #[inline]
    pub fn release(&mut self, slot: Slot) -> Result<(), SlotError> {
        self.initiator.release(&mut self.link, slot)
    }

    /// Asks the target what became of a transaction that is unknown. [`Action::Deliver`] follows, with the truth, or with
    /// the same state if the target still does not answer.
    ///
    /// # Errors
    /// There is no such transaction, it is under way, or its state is known.
    pub fn ask(&mut self, now: Nanos, slot: Slot) -> Result<(), SlotError> {
        self.initiator.ask(&mut self.link, now, slot)
    }

    /// The state of a transaction that is not released.
    pub fn state(&self, slot: Slot) -> Option<InitiatorState> {
        self.record(slot).map(|record| record.state)
    }

    /// The record of a transaction that is not released.
    pub fn record(&self, slot: Slot) -> Option<&super::Record<InitiatorState>> {
        self.initiator.record(slot)
    }

    /// True if the question what became of a transaction is on its way.
    pub fn is_asking(&self, slot: Slot) -> bool {
        self.initiator.is_asking(slot)
    }

    /// The states of the peer's transactions, as their target has them: of those that it may still ask for, or whose handler
    /// runs. `shared`: the receive pool that all peers share, if they do.
    pub fn received<'a>(&'a self, shared: &'a ReplyPool) -> impl Iterator<Item = TargetState> + 'a {
        let pool = match self.link.config.protocol {
            Protocol::Amudp => shared,
            Protocol::Amvia | Protocol::TwoWay => &self.own,
        };
        self.target.states(&self.link, pool)
    }

    /// Requests that can be made before one is released.
    pub fn credits(&self) -> u64 {
        self.initiator.credits()
    }

    /// Why who says this is not connected to; none: it is the peer as it is known, or in a later life.
    pub fn refusal(&self, hello: &Hello) -> Option<Refusal> {
        self.link.refusal(hello)
    }

    /// This end, as it introduces itself.
    pub fn local(&self) -> &Local {
        &self.link.local
    }

    /// The peer.
    pub fn peer(&self) -> EndpointId {
        self.link.peer
    }

    /// The peer's hello; none: it is not connected.
    pub fn hello(&self) -> Option<&Hello> {
        self.link.hello.as_ref()
    }

    /// Bytes of a message at most, in either direction.
    pub fn longest(&self) -> u32 {
        self.link.longest()
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.link.config
    }

    /// The estimator of the timeout.
    pub fn timeout(&self) -> &Timeout {
        &self.link.timeout
    }

    /// Counts of what has happened.
    pub fn counters(&self) -> &Counters {
        &self.link.counted.0
    }
}

/// The pool of a peer's requests: its own, or under AMUDP that of all peers.
#[inline]
pub(super) fn pool_of<'a>(
    link: &Link,
    own: &'a mut ReplyPool,
    shared: &'a mut ReplyPool,
) -> &'a mut ReplyPool {
    match link.config.protocol {
        Protocol::Amudp => shared,
        Protocol::Amvia | Protocol::TwoWay => own,
    }
}
