//! What drives the connections of one endpoint: it hands frames and time to them, and carries out their actions in order.

use std::cell::LazyCell;
use std::collections::{HashMap, VecDeque};

use rand::TryRng;
use rand::rngs::SysRng;

use super::error::EndpointError;
use super::handlers::{Due, Handlers};
use super::options::Options;
use super::peer::{Peer, Standing};
use super::published::Publishing;
use super::received::Received;
use super::records::{log_received, log_sent, logged, open_log, receive_place, send_place};
use crate::log::{self, Durability, Found, Known, Log, Pool, Shape};
use crate::protocol::{
    self, Action, Config, Connection, Entry, Greeting, Local, Nanos, Payload, Place, Protocol,
    ReplyPool, Slot,
};
use crate::transaction::{EndpointId, Incarnation, InitiatorState, TargetState, TransactionId};
use crate::transport::{self, Arrived, Transport};
use crate::wire::{self, Body, Head, Refusal, Tag};

/// One endpoint: its transport, its log, its connections and its handlers.
pub(super) struct Driver {
    /// Its number in its bundle, which no other endpoint ever has.
    pub(super) number: u64,
    pub(super) id: EndpointId,
    pub(super) config: Config,
    pub(super) transport: Box<dyn Transport>,
    /// Frames go out with a checksum; frames without one are taken.
    has_checksum: bool,
    takes_bare: bool,
    pub(super) log: Log,
    pub(super) handlers: Handlers,
    /// By their numbers in the log.
    pub(super) peers: Vec<Option<Peer>>,
    numbers: HashMap<EndpointId, usize>,
    /// The same by the tags that they have been given.
    tags: HashMap<Tag, usize>,
    /// The peer of the last frame.
    latest: usize,
    /// Tags are made of it.
    secret: [u8; 32],
    /// The receive pool that all peers share, and its messages (AMUDP).
    pub(super) shared: ReplyPool,
    pub(super) messages: Vec<Received>,
    /// Slots of the send pool that all peers share and nobody uses (AMUDP).
    free: Vec<u32>,
    pub(super) due: VecDeque<Due>,
    /// No connection has anything to do before.
    deadline: Nanos,
    /// Frames that were none.
    pub(super) undecodable: u64,
    /// Where others look on, if there is a page.
    publishing: Option<Publishing>,
}

impl Driver {
    /// Opens the log, and takes up what it holds.
    ///
    /// # Errors
    /// The options contradict themselves, or the log cannot be opened, or is of another endpoint or shape.
    pub(super) fn open(
        id: EndpointId,
        transport: Box<dyn Transport>,
        options: &Options,
        now: Nanos,
    ) -> Result<Driver, EndpointError> {
        let mtu = u32::try_from(transport.mtu()).unwrap_or(u32::MAX);
        let config = Config {
            mtu: options.config.mtu.min(mtu),
            ..options.config.clone()
        };
        config.check()?;
        let is_shared = config.protocol == Protocol::Amudp;
        let window = u32::from(config.window);
        if options.peers == 0 {
            return Err(EndpointError::Full(0));
        }
        let shape = Shape {
            peers: if is_shared { 1 } else { options.peers },
            window,
            payload: config.message,
        };
        let shared = match is_shared {
            true => ReplyPool::shared(config.window.into(), &config),
            false => ReplyPool::default(),
        };
        let mut driver = Driver {
            number: 0,
            id,
            has_checksum: transport.needs_checksum(),
            takes_bare: transport.is_sound(),
            transport,
            log: open_log(id, shape, options, is_shared)?,
            handlers: Handlers::default(),
            peers: (0..options.peers).map(|_| None).collect(),
            numbers: HashMap::new(),
            tags: HashMap::new(),
            latest: 0,
            secret: secret()?,
            messages: (0..shared.slots()).map(|_| Received::default()).collect(),
            shared,
            free: (0..if is_shared { window } else { 0 }).collect(),
            due: VecDeque::with_capacity(window as usize),
            deadline: Nanos::MAX,
            undecodable: 0,
            publishing: None,
            config,
        };
        driver.recover(now)?;
        Ok(driver)
    }

    /// Takes up the peers of the log with their transactions. They are connected to once their addresses are known.
    fn recover(&mut self, now: Nanos) -> Result<(), EndpointError> {
        let mut entries: Vec<(log::Place, EndpointId, Slot, Entry)> = Vec::new();
        for (place, found) in self.log.records() {
            let Found::Whole(record, payload) = found else {
                match found {
                    Found::Torn => return Err(EndpointError::Torn(place)),
                    _ => continue,
                }
            };
            let entry = logged(place.pool, &record, payload.len());
            let entry = entry.ok_or(EndpointError::Torn(place))?;
            entries.push((place, record.peer, Slot(place.slot as u16), entry));
        }
        for number in 0..self.log.shape().peers {
            let mine = || entries.iter().filter(|entry| entry.0.peer == number);
            let Some(Known { peer, since }) = self.log.peer(number)? else {
                if mine().next().is_some() {
                    // It was killed while it forgot the peer.
                    self.log.clear(number)?;
                }
                continue;
            };
            if let Some(&(place, ..)) = mine().find(|entry| entry.1 != peer) {
                return Err(EndpointError::Torn(place));
            }
            let number = number as usize;
            let local = self.local(peer, since);
            let records = mine().map(|&(_, _, slot, entry)| (slot, entry));
            let connection = Connection::recover(self.config.clone(), local, peer, now, records)?;
            let mut taken = Peer::new(peer, local.tag, connection);
            for &(_, _, slot, entry) in mine() {
                match entry {
                    Entry::Sent(record) => {
                        let place = send_place(number, slot);
                        let sent = &mut taken.sent[slot.index()];
                        if record.state != InitiatorState::Released {
                            sent.place = Some(place);
                        }
                        if record.state == InitiatorState::Processed {
                            sent.reply = Received::recovered(self.log.payload(place));
                        }
                    }
                    Entry::Received(record) if record.state == TargetState::RequestReceived => {
                        let bytes = self.log.payload(receive_place(number, slot));
                        taken.received[slot.index()] = Received::recovered(bytes);
                    }
                    Entry::Received(_) => {}
                }
            }
            self.add(number, taken);
            self.carry_out(number)?;
        }
        Ok(())
    }

    fn is_shared(&self) -> bool {
        self.config.protocol == Protocol::Amudp
    }

    /// Its records outlive the process, so they are written.
    #[inline]
    pub(super) fn keeps_log(&self) -> bool {
        self.log.durability() != Durability::None
    }

    /// What this end says of itself to a peer that it remembers since then.
    fn local(&self, peer: EndpointId, since: Incarnation) -> Local {
        Local {
            endpoint: self.id,
            incarnation: Incarnation(self.log.incarnation()),
            since,
            tag: Tag::of(&self.secret, peer),
            keeps_log: self.keeps_log(),
        }
    }

    /// The number of a peer, which is made where it is new.
    ///
    /// # Errors
    /// There is no room for another.
    pub(super) fn peer(&mut self, peer: EndpointId, now: Nanos) -> Result<usize, EndpointError> {
        if let Some(&number) = self.numbers.get(&peer) {
            return Ok(number);
        }
        let free = self.peers.iter().position(Option::is_none);
        let number = free.ok_or(EndpointError::Full(self.peers.len()))?;
        let local = self.local(peer, Incarnation(self.log.since()));
        if self.keeps_log() {
            self.log.take_in(number as u32, peer)?;
        }
        let connection = Connection::new(self.config.clone(), local, peer, now);
        self.add(number, Peer::new(peer, local.tag, connection));
        Ok(number)
    }

    fn add(&mut self, number: usize, peer: Peer) {
        self.numbers.insert(peer.id, number);
        self.tags.insert(peer.tag, number);
        self.peers[number] = Some(peer);
    }

    /// Takes `most` frames that have arrived at most, and does what is due. Says whether there was a frame. The clock is read
    /// behind the look for a frame, which so waits for no clock.
    ///
    /// # Errors
    /// The transport or the log is broken.
    pub(super) fn progress<F: FnOnce() -> Nanos>(
        &mut self,
        most: usize,
        now: &LazyCell<Nanos, F>,
    ) -> Result<bool, EndpointError> {
        let mut has_come = false;
        for _ in 0..most {
            let Some(arrived) = self.transport.receive()? else {
                break;
            };
            has_come = true;
            self.arrived(arrived, **now)?;
        }
        if self.deadline <= **now {
            self.expire(**now)?;
        }
        Ok(has_come)
    }

    fn expire(&mut self, now: Nanos) -> Result<(), EndpointError> {
        self.deadline = self.publish(now);
        // What one peer meets with takes nothing from the others.
        let mut carried = Ok(());
        for number in 0..self.peers.len() {
            let Some(peer) = &mut self.peers[number] else {
                continue;
            };
            peer.connection.expire(now, &mut self.shared);
            carried = carried.and(self.carry_out(number));
        }
        carried
    }

    /// Makes a page on which others look on; without one nobody does.
    pub(super) fn publish_as(&mut self, name: &str) {
        self.publishing = Publishing::new(name, self.config.window).ok();
        if self.publishing.is_some() {
            self.deadline = 0;
        }
    }

    /// Publishes what is known of the peers, if that is due; when it is due next.
    fn publish(&mut self, now: Nanos) -> Nanos {
        match &mut self.publishing {
            Some(publishing) => {
                if publishing.next <= now {
                    publishing.publish(&self.peers, now);
                }
                publishing.next
            }
            None => Nanos::MAX,
        }
    }

    /// How long nothing is due, if nothing arrives.
    pub(super) fn idle(&self, now: Nanos) -> Nanos {
        self.deadline.saturating_sub(now)
    }

    fn arrived(&mut self, arrived: Arrived, now: Nanos) -> Result<(), EndpointError> {
        let Some((head, size)) = self.read(&arrived.frame) else {
            self.undecodable += 1;
            self.transport.recycle(arrived.frame);
            return Ok(());
        };
        let from = arrived.frame.len() - size;
        // One that connects and has not shown that it gets what is sent to it is answered where it says it is, known or not:
        // a peer that has restarted is elsewhere, and one that only says so changes nothing.
        let known = match self.number(head.from) {
            Some(number) if !self.is_new(number, &head) => Some(number),
            _ => self.greet(&head, arrived.from, now)?,
        };
        let Some(number) = known else {
            self.transport.recycle(arrived.frame);
            return Ok(());
        };
        let knows = match &head.body {
            Body::Request(part) => self.handlers.knows(part.handler),
            _ => true,
        };
        let Some(peer) = &mut self.peers[number] else {
            self.transport.recycle(arrived.frame);
            return Ok(());
        };
        if peer.to != Some(arrived.from) {
            match &head.body {
                // Its tag shows that the peer gets what is sent to it: here it is now. One that is off the path cannot
                // redirect it, nor can another endpoint of its name.
                Body::Connect(hello) | Body::Accept(hello)
                    if head.tag == peer.tag && peer.connection.refusal(hello).is_none() =>
                {
                    peer.to = Some(arrived.from);
                }
                Body::Connect(_) | Body::Accept(_) | Body::Refuse { .. } => {}
                _ => {
                    self.undecodable += 1;
                    self.transport.recycle(arrived.frame);
                    return Ok(());
                }
            }
        }
        let place = peer.connection.frame(now, &head, knows, &mut self.shared);
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
        let length = match &head.body {
            Body::Request(part) | Body::Reply(part) => part.length as usize,
            _ => size,
        };
        let used = if size == length {
            message.land(arrived.frame, from)
        } else {
            message.put(&arrived.frame[from..], offset as usize, length);
            Some(arrived.frame)
        };
        if let Some(frame) = used {
            self.transport.recycle(frame);
        }
        self.carry_out(number)
    }

    /// The head of a frame, and the bytes behind it. None: it is no frame, or one with a short head and the tag of nobody.
    #[inline(always)]
    fn read(&mut self, frame: &[u8]) -> Option<(Head, usize)> {
        if !self.takes_bare {
            let (head, payload) = wire::decode(frame).ok()?;
            return Some((head, payload.len()));
        }
        let Some(short) = wire::decode_short(frame) else {
            let (head, payload) = wire::decode_bare(frame).ok()?;
            return Some((head, payload.len()));
        };
        let (tag, body, payload) = short.ok()?;
        let latest = self.peers[self.latest].as_ref();
        if latest.is_none_or(|latest| latest.tag != tag) {
            self.latest = *self.tags.get(&tag)?;
        }
        let from = self.peers[self.latest].as_ref()?.id;
        Some((Head { tag, from, body }, payload.len()))
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
        now: Nanos,
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
            Greeting::Welcome => match self.peer(head.from, now) {
                Ok(number) => return Ok(Some(number)),
                Err(_) => protocol::refuse(self.id, head, Refusal::Full),
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

    /// Carries out all that a connection has to have done. After an error the rest of it is due at the next look.
    pub(super) fn carry_out(&mut self, number: usize) -> Result<(), EndpointError> {
        let carried = self.carry_out_all(number);
        if carried.is_err() {
            self.deadline = 0;
        }
        carried
    }

    #[inline(always)]
    fn carry_out_all(&mut self, number: usize) -> Result<(), EndpointError> {
        let Driver {
            peers,
            transport,
            log,
            handlers,
            due,
            ..
        } = self;
        let Some(peer) = &mut peers[number] else {
            return Ok(());
        };
        loop {
            match peer.connection.next() {
                None => {
                    let deadline = peer.connection.deadline().unwrap_or(Nanos::MAX);
                    self.deadline = self.deadline.min(deadline);
                    return Ok(());
                }
                Some(Action::Send { head, payload }) => {
                    let bytes = match payload {
                        Payload::None => &[],
                        Payload::Request { slot, offset, size } => {
                            let place = peer.sent[slot.index()].place;
                            part(place.map_or(&[], |place| log.payload(place)), offset, size)
                        }
                        Payload::Reply { slot, offset, size } => {
                            let place = receive_place(peer.pool_of(number), slot);
                            part(log.payload(place), offset, size)
                        }
                    };
                    if let Some(to) = peer.to {
                        send(&mut **transport, to, &head, bytes, self.has_checksum)?;
                    }
                }
                Some(Action::Log { slot, entry }) => match &entry {
                    Entry::Sent(record) => log_sent(peer, slot, record, log)?,
                    Entry::Received(record) => log_received(peer, number, slot, record, log)?,
                },
                Some(Action::Run { slot, id, handler }) => due.push_back(Due {
                    peer: number,
                    slot,
                    id,
                    handler,
                    is_request: true,
                }),
                Some(Action::Deliver { slot }) => {
                    let record = peer.connection.record(slot);
                    let replied = record.filter(|record| record.state == InitiatorState::Processed);
                    if let Some(record) = replied
                        && handlers.knows(record.reply_handler)
                    {
                        due.push_back(Due {
                            peer: number,
                            slot,
                            id: record.id,
                            handler: record.reply_handler,
                            is_request: false,
                        });
                    }
                }
                Some(Action::Connected { incarnation }) => {
                    peer.standing = Standing::Connected(incarnation);
                }
                Some(Action::Unreachable { refusal }) => {
                    peer.standing = Standing::Unreachable(refusal);
                }
                Some(Action::Forget) => return self.forget(number),
            }
        }
    }

    /// The lease of a peer has ended. What it may still ask for is gone, and the new incarnation says so.
    fn forget(&mut self, number: usize) -> Result<(), EndpointError> {
        let Some(mut peer) = self.peers[number].take() else {
            return Ok(());
        };
        self.numbers.remove(&peer.id);
        self.tags.remove(&peer.tag);
        for message in &mut peer.received {
            message.clear(&mut *self.transport);
        }
        match self.keeps_log() {
            true => self.log.forget(number as u32)?,
            false => _ = self.log.renew()?,
        }
        Ok(())
    }

    /// A request can be made of a peer now.
    pub(super) fn has_credit(&self, number: usize) -> bool {
        let peer = self.peers[number].as_ref();
        let has_slot = !self.is_shared() || !self.free.is_empty();
        has_slot && peer.is_some_and(|peer| peer.connection.credits() > 0)
    }

    /// Makes a request. `fill` writes its bytes where they stay.
    ///
    /// # Errors
    /// There is no credit, the peer takes no message of this length, or the log is broken.
    pub(super) fn request(
        &mut self,
        number: usize,
        handler: u16,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
        now: Nanos,
    ) -> Result<(Slot, TransactionId), EndpointError> {
        let (is_shared, is_kept) = (self.is_shared(), self.keeps_log());
        let Some(peer) = &mut self.peers[number] else {
            return Err(EndpointError::Closed);
        };
        if is_shared && self.free.is_empty() {
            return Err(protocol::RequestError::NoCredit.into());
        }
        let size = u32::try_from(length).unwrap_or(u32::MAX);
        let slot = peer.connection.request(now, handler, size)?;
        let place = match is_shared.then(|| self.free.pop()).flatten() {
            Some(shared) => log::Place {
                pool: Pool::Send,
                peer: 0,
                slot: shared,
            },
            None => send_place(number, slot),
        };
        let sent = &mut peer.sent[slot.index()];
        (sent.place, sent.unlogged) = (Some(place), Some(length));
        fill(&mut self.log.payload_mut(place)[..length]);
        if !is_kept {
            self.log.replace(place, length)?;
        }
        let Some(&protocol::Record { id, .. }) = peer.connection.record(slot) else {
            return Err(EndpointError::Released);
        };
        self.carry_out(number)?;
        Ok((slot, id))
    }

    /// Releases a transaction. What its slot holds is given back.
    ///
    /// # Errors
    /// There is none, it is under way, or the log is broken.
    pub(super) fn release(&mut self, number: usize, slot: Slot) -> Result<(), EndpointError> {
        let Some(peer) = &mut self.peers[number] else {
            return Err(EndpointError::Released);
        };
        peer.connection.release(slot)?;
        self.carry_out(number)?;
        if let Some(peer) = &mut self.peers[number] {
            let sent = &mut peer.sent[slot.index()];
            sent.reply.clear(&mut *self.transport);
            let place = sent.place.take();
            if self.config.protocol == Protocol::Amudp {
                self.free.extend(place.map(|place| place.slot));
            }
        }
        Ok(())
    }
}

/// Random bytes that nobody off this machine knows.
fn secret() -> Result<[u8; 32], EndpointError> {
    let mut secret = [0; 32];
    SysRng
        .try_fill_bytes(&mut secret)
        .map_err(|source| EndpointError::System {
            action: "draw a random number",
            source: std::io::Error::other(source),
        })?;
    Ok(secret)
}

/// Sends a frame. One that is not taken is lost; the protocol sees to it.
#[inline(always)]
fn send(
    transport: &mut dyn Transport,
    to: transport::Peer,
    head: &Head,
    payload: &[u8],
    has_checksum: bool,
) -> Result<(), EndpointError> {
    let sent = match (has_checksum, head.encode_short()) {
        (true, _) => transport.send(to, &head.encode(payload), payload),
        (false, Some(short)) => transport.send(to, &short, payload),
        (false, None) => transport.send(to, &head.encode_bare(), payload),
    };
    sent?;
    Ok(())
}

/// The bytes of a part of a message.
fn part(message: &[u8], offset: u32, size: u32) -> &[u8] {
    &message[offset as usize..][..size as usize]
}
