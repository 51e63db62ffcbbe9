//! Frames that arrive: who has sent each, and what it leaves in its slot.

use super::driver::{Driver, send};
use super::error::EndpointError;
use crate::protocol::{self, Greeting, Place};
use crate::transaction::{EndpointId, Incarnation};
use crate::transport::{self, Arrived};
use crate::wire::{self, Body, Head, Refusal, Tag};

impl Driver {
    /// Takes a frame. One with a short head, whose tag tells who has sent it, goes straight to its connection.
    pub(super) fn arrived(&mut self, arrived: Arrived) -> Result<(), EndpointError> {
        let frame = &*arrived.frame;
        if self.takes_bare
            && let Some(short) = wire::decode_short(frame)
        {
            let size = frame.len();
            return match short {
                Ok((tag, body, payload)) => {
                    let begins = size - payload.len();
                    self.arrived_short(tag, body, arrived, begins)
                }
                Err(_) => self.refuse(arrived),
            };
        }
        self.arrived_sealed(arrived)
    }

    #[inline(always)]
    fn arrived_short(
        &mut self,
        tag: Tag,
        body: Body,
        arrived: Arrived,
        begins: usize,
    ) -> Result<(), EndpointError> {
        match self.tagged(tag) {
            Some((number, from)) => self.take(number, &Head { tag, from, body }, arrived, begins),
            // The connect before it was lost, or it comes from an earlier life: no damage.
            None => {
                self.transport.recycle(arrived.frame);
                Ok(())
            }
        }
    }

    /// Takes a frame that has a checksum, or no short head.
    fn arrived_sealed(&mut self, arrived: Arrived) -> Result<(), EndpointError> {
        let frame = &*arrived.frame;
        let Some(short) = wire::decode_sealed(frame) else {
            return self.arrived_in_full(arrived);
        };
        let size = frame.len();
        match short {
            Ok((tag, body, payload)) => {
                let begins = size - payload.len();
                self.arrived_short(tag, body, arrived, begins)
            }
            Err(_) => self.refuse(arrived),
        }
    }

    /// Takes a frame whose head names its sender.
    fn arrived_in_full(&mut self, arrived: Arrived) -> Result<(), EndpointError> {
        let read = match self.takes_bare {
            true => wire::decode_bare(&arrived.frame),
            false => wire::decode(&arrived.frame),
        };
        let Ok((head, payload)) = read else {
            return self.refuse(arrived);
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
            None => {
                self.transport.recycle(arrived.frame);
                Ok(())
            }
        }
    }

    /// The arrival is no frame, or somebody else's.
    #[cold]
    fn refuse(&mut self, arrived: Arrived) -> Result<(), EndpointError> {
        self.undecodable += 1;
        self.transport.recycle(arrived.frame);
        Ok(())
    }

    /// Gives a frame to the connection of the peer that has sent it. Its payload begins at byte `begins`.
    #[inline(always)]
    fn take(
        &mut self,
        number: usize,
        head: &Head,
        arrived: Arrived,
        begins: usize,
    ) -> Result<(), EndpointError> {
        let knows = match &head.body {
            Body::Request(part) => self.handlers.knows(part.handler),
            _ => true,
        };
        let peer = self.peers[number].as_ref();
        if peer.is_some_and(|peer| peer.to != Some(arrived.from))
            && !self.is_heard(number, head, arrived.from)
        {
            return self.refuse(arrived);
        }
        let Some(peer) = &mut self.peers[number] else {
            self.transport.recycle(arrived.frame);
            return Ok(());
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
                return self.carry_out(number);
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
        self.carry_out(number)
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

    /// The peer that has been given a tag: its number, and its name. Frames of one peer often follow one another.
    #[inline(always)]
    fn tagged(&mut self, tag: Tag) -> Option<(usize, EndpointId)> {
        match &self.peers[self.latest] {
            Some(latest) if latest.tag == tag => Some((self.latest, latest.id)),
            _ => self.look_up(tag),
        }
    }

    #[inline(never)]
    fn look_up(&mut self, tag: Tag) -> Option<(usize, EndpointId)> {
        self.latest = *self.tags.get(&tag)?;
        Some((self.latest, self.peers[self.latest].as_ref()?.id))
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
