//! The driver of the connections of one endpoint: it hands frames and time to them, and carries out their actions in order.

use std::collections::{HashMap, VecDeque};

use rand::TryRng;
use rand::rngs::SysRng;

use super::error::EndpointError;
use super::handlers::{Due, Handlers};
use super::options::Options;
use super::outgoing::send;
use super::peer::{Peer, Standing};
use super::published::Publishing;
use super::received::Received;
use super::records::{log_received, log_sent, logged, open_log, receive_place, send_place};
use crate::log::{self, Durability, Found, Known, Log, Pool, Shape};
use crate::protocol::{
    self, Action, Config, Connection, Entry, Local, Nanos, Payload, Protocol, ReplyPool, Slot,
};
use crate::transaction::{EndpointId, Incarnation, InitiatorState, TargetState, TransactionId};
use crate::transport::{self, Transport};
use crate::wire::Tag;

/// A request that was made: its slot, and the transaction.
pub(super) type Made = (Slot, TransactionId);

/// One endpoint: its transport, its log, its connections and its handlers.
pub(super) struct Driver {
    /// Its number in its bundle, which no other endpoint ever has.
    pub(super) number: u64,
    pub(super) id: EndpointId,
    pub(super) config: Config,
    pub(super) transport: Box<dyn Transport>,
    /// Frames go out with a checksum; frames without one are taken.
    pub(super) has_checksum: bool,
    pub(super) takes_bare: bool,
    pub(super) log: Log,
    /// Its records outlive the process, so they are written.
    pub(super) keeps_log: bool,
    pub(super) handlers: Handlers,
    /// The peers, at their numbers in the log.
    pub(super) peers: Vec<Option<Peer>>,
    pub(super) numbers: HashMap<EndpointId, usize>,
    /// The peers by the tags that they have been given.
    pub(super) tags: HashMap<Tag, usize>,
    /// The peer of the last frame.
    pub(super) latest: usize,
    /// Tags are made of it.
    secret: [u8; 32],
    /// The receive pool that all peers share, and its messages (AMUDP).
    pub(super) shared: ReplyPool,
    pub(super) messages: Vec<Received>,
    /// Slots of the send pool that all peers share and nobody uses (AMUDP).
    free: Vec<u32>,
    pub(super) due: VecDeque<Due>,
    /// The time of the last look for frames.
    pub(super) now: Nanos,
    /// No connection has anything to do before.
    pub(super) deadline: Nanos,
    /// Frames that were none.
    pub(super) undecodable: u64,
    /// The page where others look on, if there is one.
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
            keeps_log: options.durability != Durability::None,
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
            now,
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

    /// This end, as it introduces itself to a peer that it has remembered since then.
    pub(super) fn local(&self, peer: EndpointId, since: Incarnation) -> Local {
        Local {
            endpoint: self.id,
            incarnation: Incarnation(self.log.incarnation()),
            since,
            tag: Tag::of(&self.secret, peer),
            keeps_log: self.keeps_log,
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
        if self.keeps_log {
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

    /// Says where a peer is reached from now on. The transport keeps a place as long as a peer is there.
    pub(super) fn reach(&mut self, number: usize, to: Option<transport::Peer>) {
        let Some(peer) = &mut self.peers[number] else {
            return;
        };
        let before = std::mem::replace(&mut peer.to, to);
        if let Some(to) = to {
            self.transport.know(to, true);
        }
        let left = before.filter(|_| before != to);
        let is_empty = |place| !self.peers.iter().flatten().any(|it| it.to == Some(place));
        if let Some(left) = left.filter(|&left| is_empty(left)) {
            self.transport.know(left, false);
        }
    }

    /// Does what is due.
    ///
    /// # Errors
    /// The transport or the log is broken.
    #[inline]
    pub(super) fn expire(&mut self) -> Result<(), EndpointError> {
        match self.deadline > self.now {
            true => Ok(()),
            false => self.expire_all(self.now),
        }
    }

    #[inline(never)]
    fn expire_all(&mut self, now: Nanos) -> Result<(), EndpointError> {
        self.deadline = self.publish(now);
        // An error of one peer takes nothing from the others.
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
                    let incarnation = self.log.incarnation();
                    publishing.publish(incarnation, &self.peers, &self.shared, now);
                }
                publishing.next
            }
            None => Nanos::MAX,
        }
    }

    /// The time until something is due, if nothing arrives.
    pub(super) fn idle(&self, now: Nanos) -> Nanos {
        self.deadline.saturating_sub(now)
    }

    /// Carries out all that a connection has to have done. After an error the rest of it is due at the next look.
    #[inline]
    pub(super) fn carry_out(&mut self, number: usize) -> Result<(), EndpointError> {
        let Some(peer) = &self.peers[number] else {
            return Ok(());
        };
        self.deadline = self.deadline.min(peer.deadline());
        if !peer.connection.has_actions() {
            return Ok(());
        }
        let carried = self.act(number);
        if carried.is_err() {
            self.deadline = 0;
        }
        carried
    }

    #[inline(never)]
    fn act(&mut self, number: usize) -> Result<(), EndpointError> {
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
                None => return Ok(()),
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
                Some(Action::Log { slot, entry }) => {
                    let logged = match &entry {
                        Entry::Sent(record) => log_sent(peer, slot, record, log),
                        Entry::Received(record) => log_received(peer, number, slot, record, log),
                    };
                    if logged.is_err() {
                        // The record has to hold before anything behind it is done.
                        peer.connection.log_again(slot, entry);
                        return logged;
                    }
                }
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

    /// The lease of a peer has ended. Its requests are forgotten, and the new incarnation tells it so. Where the log refuses
    /// that, the peer stays for another lease.
    fn forget(&mut self, number: usize) -> Result<(), EndpointError> {
        let forgotten = match self.keeps_log {
            true => self.log.forget(number as u32),
            false => self.log.renew().map(drop),
        };
        let Some(peer) = &mut self.peers[number] else {
            return Ok(());
        };
        if let Err(error) = forgotten {
            peer.connection.keep(self.now);
            return Err(error.into());
        }
        self.numbers.remove(&peer.id);
        self.tags.remove(&peer.tag);
        for message in &mut peer.received {
            message.clear(&mut *self.transport);
        }
        self.reach(number, None);
        self.peers[number] = None;
        Ok(())
    }

    /// A request can be made of a peer now.
    pub(super) fn has_credit(&self, number: usize) -> bool {
        let peer = self.peers[number].as_ref();
        let has_slot = !self.is_shared() || !self.free.is_empty();
        has_slot && peer.is_some_and(|peer| peer.connection.credits() > 0)
    }

    /// Makes a request, and sends it at once, where it can go straight. `fill` writes its bytes where they stay, or comes back.
    ///
    /// # Errors
    /// The transport is broken.
    #[inline(always)]
    pub(super) fn request_straight<F: FnOnce(&mut [u8])>(
        &mut self,
        number: usize,
        handler: u16,
        length: usize,
        fill: F,
        clock: impl FnOnce() -> Nanos,
    ) -> Result<Result<Made, EndpointError>, F> {
        let Some(peer) = &mut self.peers[number] else {
            return Err(fill);
        };
        let size = u32::try_from(length).unwrap_or(u32::MAX);
        let is_shared = self.config.protocol == Protocol::Amudp;
        if is_shared && self.free.is_empty() {
            return Err(fill);
        }
        let Some((slot, id, head)) = peer.connection.request_straight(handler, size) else {
            return Err(fill);
        };
        let place = match is_shared.then(|| self.free.pop()).flatten() {
            Some(shared) => shared_place(shared),
            None => send_place(number, slot),
        };
        let bytes = match self.log.replace(place, length) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error.into())),
        };
        fill(bytes);
        let sent = match peer.to {
            Some(to) => send(&mut *self.transport, to, &head, bytes, self.has_checksum),
            None => Ok(()),
        };
        peer.connection.sent_straight(clock(), slot);
        self.deadline = self.deadline.min(peer.deadline());
        let kept = &mut peer.sent[slot.index()];
        (kept.place, kept.unlogged) = (Some(place), Some(length));
        Ok(sent.map(|()| (slot, id)))
    }

    /// Makes a request behind all that is to be done before it. `fill` writes its bytes where they stay.
    ///
    /// # Errors
    /// There is no credit, the peer takes no message of this length, or the log is broken.
    #[inline(never)]
    pub(super) fn request(
        &mut self,
        number: usize,
        handler: u16,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
        now: Nanos,
    ) -> Result<Made, EndpointError> {
        let (is_shared, is_kept) = (self.is_shared(), self.keeps_log);
        let size = u32::try_from(length).unwrap_or(u32::MAX);
        let Some(peer) = &self.peers[number] else {
            return Err(EndpointError::Closed);
        };
        if peer.connection.has_actions() {
            // The log has refused a record, whose bytes may lie where those of this request will.
            self.carry_out(number)?;
        }
        let Some(peer) = &mut self.peers[number] else {
            return Err(EndpointError::Closed);
        };
        if is_shared && self.free.is_empty() {
            return Err(protocol::RequestError::NoCredit.into());
        }
        let slot = peer.connection.request(now, handler, size)?;
        let place = match is_shared.then(|| self.free.pop()).flatten() {
            Some(shared) => shared_place(shared),
            None => send_place(number, slot),
        };
        let sent = &mut peer.sent[slot.index()];
        (sent.place, sent.unlogged) = (Some(place), Some(length));
        match is_kept {
            true => fill(&mut self.log.payload_mut(place)[..length]),
            false => fill(self.log.replace(place, length)?),
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
    #[inline(always)]
    pub(super) fn release(&mut self, number: usize, slot: Slot) -> Result<(), EndpointError> {
        let Some(peer) = &mut self.peers[number] else {
            return Err(EndpointError::Released);
        };
        peer.connection.release(slot)?;
        if peer.connection.has_actions() {
            self.carry_out(number)?;
        }
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

/// The place of a slot of the send pool that all peers share (AMUDP).
fn shared_place(slot: u32) -> log::Place {
    log::Place {
        pool: Pool::Send,
        peer: 0,
        slot,
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

/// The bytes of a part of a message.
fn part(message: &[u8], offset: u32, size: u32) -> &[u8] {
    &message[offset as usize..][..size as usize]
}
