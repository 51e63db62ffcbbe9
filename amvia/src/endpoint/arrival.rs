//! Frames that arrive: who has sent each, and what it leaves in its slot.

use super::driver::Driver;
use super::error::EndpointError;
use super::handlers::Due;
use super::outgoing::send;
use super::peer::Peer;
use super::running::Running;
use crate::protocol::{self, Greeting, Nanos, Place};
use crate::transaction::{EndpointId, Incarnation};
use crate::transport::{self, Arrived, Transport};
use crate::wire::{self, Body, Head, Part, Refusal, Tag};

/// The outcome of a look for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// There was none.
    Idle,
    /// It was taken.
    Took,
    /// It was taken, and its handler is to run now.
    Starts,
}

impl Driver {
    /// Takes `most` frames that have arrived at most, and does what is due, also where a frame meets with an error. Says
    /// whether there was a frame.
    ///
    /// # Errors
    /// The transport or the log is broken.
    #[inline]
    pub(super) fn progress(
        &mut self,
        most: usize,
        clock: impl Fn() -> Nanos,
    ) -> Result<bool, EndpointError> {
        let (mut was_there, mut met) = (false, Ok(()));
        for _ in 0..most {
            match self.take_frame(None, &clock) {
                Ok(Step::Idle) => break,
                Ok(Step::Took | Step::Starts) => was_there = true,
                Err(error) => {
                    met = Err(error);
                    break;
                }
            }
        }
        let expired = self.expire();
        met?;
        expired?;
        Ok(was_there)
    }

    /// Takes a frame, if there is one. A request may be started at once, where `running` is free for its handler. The clock is read
    /// behind the look for a frame, which so waits for no clock.
    ///
    /// # Errors
    /// The transport or the log is broken.
    #[inline(always)]
    pub(super) fn take_frame(
        &mut self,
        running: Option<&mut Running>,
        clock: impl Fn() -> Nanos,
    ) -> Result<Step, EndpointError> {
        let mut arrived = self.transport.receive();
        self.now = clock();
        match &mut arrived {
            Ok(place) => self.arrived(place, running),
            Err(_) => arrived.map(|_| Step::Idle).map_err(EndpointError::from),
        }
    }

    /// Takes a frame, if there is one. One with a short head, whose tag tells who has sent it, goes straight to its connection. Where
    /// `running` is free for a handler and none is to run before, a request may be started at once. The frame is taken out of
    /// its place at the end, so that it is moved in memory once.
    #[inline(always)]
    fn arrived(
        &mut self,
        place: &mut Option<Arrived>,
        running: Option<&mut Running>,
    ) -> Result<Step, EndpointError> {
        let Some(Arrived { frame, .. }) = place else {
            return Ok(Step::Idle);
        };
        if self.keeps_log {
            return self.arrived_in_order(place);
        }
        let size = frame.len();
        if self.takes_bare
            && let Some(Ok((tag, body, payload))) = wire::decode_short(frame)
        {
            let begins = size - payload.len();
            return self.arrived_short(tag, body, begins, place, running);
        }
        self.arrived_sealed(place, running)
    }

    /// Takes a frame that has a checksum, or no short head.
    #[inline(never)]
    fn arrived_sealed(
        &mut self,
        place: &mut Option<Arrived>,
        running: Option<&mut Running>,
    ) -> Result<Step, EndpointError> {
        let Some(Arrived { frame, .. }) = place else {
            return Ok(Step::Idle);
        };
        let size = frame.len();
        match wire::decode_sealed(frame) {
            Some(Ok((tag, body, payload))) => {
                let begins = size - payload.len();
                self.arrived_short(tag, body, begins, place, running)
            }
            Some(Err(_)) => self.refuse(place.take()),
            None => self.arrived_in_full(place),
        }
    }

    /// Takes a frame with a short head.
    #[inline(always)]
    fn arrived_short(
        &mut self,
        tag: Tag,
        body: Body,
        begins: usize,
        place: &mut Option<Arrived>,
        running: Option<&mut Running>,
    ) -> Result<Step, EndpointError> {
        let Some(number) = self.tagged(tag) else {
            // The connect before it was lost, or it comes from an earlier life: no damage.
            return self.pass_over(place.take());
        };
        let peer = self.peers[number].as_mut();
        let (Some(peer), Some(Arrived { from, .. })) = (peer, &*place) else {
            return Ok(Step::Idle);
        };
        if !peer.is_heard_at(from) {
            return self.arrived_in_turn(number, begins, place);
        }
        let (now, connection) = (self.now, &mut peer.connection);
        let (message, step) = match &body {
            Body::Request(part)
                if let Some(running) = running
                    && self.due.is_empty()
                    && self.handlers.is_set(part.handler)
                    && let Some((slot, acknowledges)) =
                        connection.start_straight(now, tag, part, &mut self.shared) =>
            {
                if acknowledges {
                    acknowledge(&mut *self.transport, peer, *part, self.has_checksum);
                }
                self.deadline = self.deadline.min(peer.deadline());
                let due = Due::new(number, slot, peer.id, part, true);
                running.begin(due, peer, &mut self.handlers, now);
                (&mut running.message, Step::Starts)
            }
            Body::Reply(part)
                if let Some((slot, acknowledges)) = connection.reply_straight(now, tag, part) =>
            {
                if acknowledges {
                    acknowledge(&mut *self.transport, peer, *part, self.has_checksum);
                }
                if self.handlers.knows(part.handler) {
                    let due = Due::new(number, slot, self.id, part, false);
                    self.due.push_back(due);
                }
                (&mut peer.sent[slot.index()].reply, Step::Took)
            }
            _ => return self.arrived_in_turn(number, begins, place),
        };
        if let Some(Arrived { frame, .. }) = place.take()
            && let Some(before) = message.land(frame, begins)
        {
            self.transport.recycle(before);
        }
        Ok(step)
    }

    /// Takes a frame where records are kept: nothing goes straight.
    #[inline(never)]
    fn arrived_in_order(&mut self, place: &mut Option<Arrived>) -> Result<Step, EndpointError> {
        let Some(Arrived { frame, .. }) = place else {
            return Ok(Step::Idle);
        };
        let size = frame.len();
        let mut short = None;
        if self.takes_bare {
            short = wire::decode_short(frame);
        }
        let (tag, body, payload) = match short.or_else(|| wire::decode_sealed(frame)) {
            Some(Ok(short)) => short,
            Some(Err(_)) => return self.refuse(place.take()),
            None => return self.arrived_in_full(place),
        };
        let begins = size - payload.len();
        let known = self.tagged(tag);
        let from = known.and_then(|number| Some((number, self.peers[number].as_ref()?.id)));
        match (from, place.take()) {
            (Some((number, from)), Some(arrived)) => {
                self.take(number, &Head { tag, from, body }, arrived, begins)
            }
            // The connect before it was lost, or it comes from an earlier life: no damage.
            (_, arrived) => self.pass_over(arrived),
        }
    }

    /// Takes a frame with a short head the general way. It reads the frame anew, so that the straight way need not have in memory what it has
    /// read.
    #[inline(never)]
    fn arrived_in_turn(
        &mut self,
        number: usize,
        begins: usize,
        place: &mut Option<Arrived>,
    ) -> Result<Step, EndpointError> {
        let Some(arrived) = place.take() else {
            return Ok(Step::Idle);
        };
        let short = wire::decode_short(&arrived.frame[begins - wire::SHORT_HEAD..]);
        match (&self.peers[number], short) {
            (Some(Peer { id: from, .. }), Some(Ok((tag, body, _)))) => {
                let head = Head {
                    tag,
                    from: *from,
                    body,
                };
                self.take(number, &head, arrived, begins)
            }
            _ => self.refuse(Some(arrived)),
        }
    }

    /// Takes a frame whose head names its sender.
    fn arrived_in_full(&mut self, place: &mut Option<Arrived>) -> Result<Step, EndpointError> {
        let Some(arrived) = place.take() else {
            return Ok(Step::Idle);
        };
        let read = match self.takes_bare {
            true => wire::decode_bare(&arrived.frame),
            false => wire::decode(&arrived.frame),
        };
        let Ok((head, payload)) = read else {
            return self.refuse(Some(arrived));
        };
        let begins = arrived.frame.len() - payload.len();
        // One that connects and has not shown that it gets what is sent to it is answered where it says it is, known or not:
        // a peer that has restarted is elsewhere, and one that only says so changes nothing.
        let known = match self.number(head.from) {
            Some(number) if !self.is_new(number, &head) => Some(number),
            _ => self.greet(&head, arrived.from)?,
        };
        match known {
            Some(number) => self.take(number, &head, arrived, begins),
            None => self.pass_over(Some(arrived)),
        }
    }

    /// The arrival is no frame, or somebody else's.
    #[cold]
    fn refuse(&mut self, arrived: Option<Arrived>) -> Result<Step, EndpointError> {
        self.undecodable += 1;
        self.pass_over(arrived)
    }

    /// Nothing comes of the arrival.
    #[cold]
    fn pass_over(&mut self, arrived: Option<Arrived>) -> Result<Step, EndpointError> {
        if let Some(arrived) = arrived {
            self.transport.recycle(arrived.frame);
        }
        Ok(Step::Took)
    }

    /// Gives a frame to the connection of the peer that has sent it. Its payload begins at byte `begins`.
    #[inline(always)]
    fn take(
        &mut self,
        number: usize,
        head: &Head,
        arrived: Arrived,
        begins: usize,
    ) -> Result<Step, EndpointError> {
        let knows = match &head.body {
            Body::Request(part) => self.handlers.knows(part.handler),
            _ => true,
        };
        let peer = self.peers[number].as_ref();
        if peer.is_some_and(|peer| !peer.is_heard_at(&arrived.from))
            && !self.is_heard(number, head, arrived.from)
        {
            return self.refuse(Some(arrived));
        }
        let Some(peer) = &mut self.peers[number] else {
            return self.pass_over(Some(arrived));
        };
        let place = peer
            .connection
            .frame(self.now, head, knows, &mut self.shared);
        let (message, offset) = match place {
            Some(Place::Request { slot, offset }) => match peer.received.get_mut(slot.index()) {
                Some(message) => (message, offset),
                None => (&mut self.messages[slot.index()], offset),
            },
            Some(Place::Reply { slot, offset }) => (&mut peer.sent[slot.index()].reply, offset),
            None => {
                self.transport.recycle(arrived.frame);
                self.carry_out(number)?;
                return Ok(Step::Took);
            }
        };
        let used = match &head.body {
            Body::Request(part) | Body::Reply(part) if part.size < part.length => {
                message.put(
                    &arrived.frame[begins..],
                    offset as usize,
                    part.length as usize,
                );
                Some(arrived.frame)
            }
            _ => message.land(arrived.frame, begins),
        };
        if let Some(frame) = used {
            self.transport.recycle(frame);
        }
        self.carry_out(number)?;
        Ok(Step::Took)
    }

    /// True for a frame that is taken although it came from elsewhere than the peer's did. A tag shows that the peer gets what is
    /// sent to it: here it is now. One that is off the path cannot redirect it, nor can another endpoint of its name.
    #[cold]
    fn is_heard(&mut self, number: usize, head: &Head, from: transport::Peer) -> bool {
        let peer = self.peers[number].as_ref();
        match &head.body {
            Body::Connect(hello) | Body::Accept(hello)
                if peer.is_some_and(|peer| {
                    head.tag == peer.tag && peer.connection.refusal(hello).is_none()
                }) =>
            {
                self.reach(number, Some(from));
                true
            }
            Body::Connect(_) | Body::Accept(_) | Body::Refuse { .. } => true,
            _ => false,
        }
    }

    /// The number of the peer that has been given a tag. Frames of one peer often follow one another.
    #[inline(always)]
    fn tagged(&mut self, tag: Tag) -> Option<usize> {
        match &self.peers[self.latest] {
            Some(latest) if latest.tag == tag => Some(self.latest),
            _ => self.look_up(tag),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, tag: Tag) -> Option<usize> {
        self.latest = *self.tags.get(&tag)?;
        Some(self.latest)
    }

    /// The number of a peer that is known. Frames of one peer often follow one another.
    #[inline]
    fn number(&mut self, peer: EndpointId) -> Option<usize> {
        let latest = self.peers[self.latest].as_ref();
        if latest.is_none_or(|latest| latest.id != peer) {
            self.latest = *self.numbers.get(&peer)?;
        }
        Some(self.latest)
    }

    /// A peer that is known connects, and does not know the tag that it has here, or is refused.
    fn is_new(&self, number: usize, head: &Head) -> bool {
        match (&self.peers[number], &head.body) {
            (Some(peer), Body::Connect(hello)) => {
                peer.tag != head.tag || peer.connection.refusal(hello).is_some()
            }
            _ => false,
        }
    }

    /// Judges a frame of a peer that is not known, or not as it is now. Gives its number where it is welcome.
    fn greet(
        &mut self,
        head: &Head,
        from: transport::Peer,
    ) -> Result<Option<usize>, EndpointError> {
        let meant = match &head.body {
            Body::Connect(hello) if hello.to != self.id => Some(hello.to),
            _ => None,
        };
        if let Some(other) = meant {
            if let Some(answer) = protocol::refuse(other, head, Refusal::NoEndpoint) {
                self.answer(from, &answer)?;
            }
            return Ok(None);
        }
        let known = self.numbers.get(&head.from);
        let known = known.and_then(|&number| self.peers[number].as_ref());
        let refusal = match (known, &head.body) {
            (Some(known), Body::Connect(hello)) => known.connection.refusal(hello),
            _ => None,
        };
        if let Some(reason) = refusal {
            if let Some(answer) = protocol::refuse(self.id, head, reason) {
                self.answer(from, &answer)?;
            }
            return Ok(None);
        }
        let local = match known {
            Some(known) => *known.connection.local(),
            None => self.local(head.from, Incarnation(self.log.since())),
        };
        let answer = match protocol::greet(&local, &self.config, head) {
            Greeting::Welcome => match self.peer(head.from, self.now) {
                Ok(number) => return Ok(Some(number)),
                Err(EndpointError::Full(_)) => protocol::refuse(self.id, head, Refusal::Full),
                Err(error) => return Err(error),
            },
            Greeting::Answer(answer) => Some(answer),
            Greeting::Ignore => None,
        };
        if let Some(head) = answer {
            self.answer(from, &head)?;
        }
        Ok(None)
    }

    /// Sends a frame without payload to a peer that is not known.
    fn answer(&mut self, to: transport::Peer, head: &Head) -> Result<(), EndpointError> {
        send(&mut *self.transport, to, head, &[], self.has_checksum)
    }
}

/// Acknowledges a message that was taken straight. It goes on also where a transport is broken, which says so again.
#[inline(never)]
fn acknowledge(transport: &mut dyn Transport, peer: &Peer, part: Part, has_checksum: bool) {
    if let Some(to) = peer.to {
        let head = peer.connection.ack_straight(&part);
        let _ = send(transport, to, &head, &[], has_checksum);
    }
}
