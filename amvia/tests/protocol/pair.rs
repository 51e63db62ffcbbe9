//! A driver of connections as the documentation of `protocol` asks for it, with pools and log in memory and a network that
//! the test delivers by hand.

use std::collections::{BTreeMap, VecDeque};

use jitterlab_amvia::protocol::{
    Action, Config, Connection, Entry, Local, Nanos, Payload, Place, ReplyPool, Slot,
};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState, TransactionId};
use jitterlab_amvia::wire::{Head, Tag, decode};

/// A frame under way.
pub type Frame = Vec<u8>;

/// What has happened at a node, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Ran(TransactionId, Vec<u8>),
    Delivered(Slot, InitiatorState),
    Connected(Incarnation),
    Unreachable,
    Forgot,
}

/// One end of a connection, with its pools.
pub struct Node {
    pub connection: Connection,
    pub shared: ReplyPool,
    pub handlers: Vec<u16>,
    pub log: BTreeMap<(bool, Slot), Entry>,
    pub requests: Vec<Vec<u8>>,
    pub replies: Vec<Vec<u8>>,
    pub received: Vec<Vec<u8>>,
    pub answers: Vec<Vec<u8>>,
    pub waiting: VecDeque<(Slot, TransactionId, u16)>,
    pub events: Vec<Event>,
    pub actions: Vec<Action>,
}

/// The handler that echoes its request, backwards.
pub const ECHO: u16 = 3;
/// The handler of replies.
pub const DONE: u16 = 4;

pub fn local(endpoint: u64, incarnation: u32, since: u32) -> Local {
    Local {
        endpoint: EndpointId(endpoint),
        incarnation: Incarnation(incarnation),
        since: Incarnation(since),
        tag: Tag(endpoint << 32 | u64::from(incarnation)),
        keeps_log: true,
    }
}

impl Node {
    pub fn new(config: &Config, local: Local, peer: u64) -> Self {
        Self::of(
            config,
            Connection::new(config.clone(), local, EndpointId(peer), 0),
        )
    }

    fn of(config: &Config, connection: Connection) -> Self {
        let slots = usize::from(config.window);
        let pool = || vec![vec![0; config.message as usize]; slots];
        Self {
            connection,
            shared: ReplyPool::shared(config.window.into(), config),
            handlers: vec![ECHO],
            log: BTreeMap::new(),
            requests: pool(),
            replies: pool(),
            received: pool(),
            answers: pool(),
            waiting: VecDeque::new(),
            events: Vec::new(),
            actions: Vec::new(),
        }
    }

    /// The node after a kill and a restart: of the old one there is the log, and the bytes of the pools.
    pub fn restarted(self, config: &Config, local: Local, now: Nanos) -> Self {
        let peer = self.connection.peer();
        let records: Vec<_> = self
            .log
            .iter()
            .map(|(&(_, slot), &entry)| (slot, entry))
            .collect();
        let connection = Connection::recover(config.clone(), local, peer, now, records).unwrap();
        let pools = (self.requests, self.replies, self.received, self.answers);
        let (requests, replies, received, answers) = pools;
        Self {
            log: self.log,
            requests,
            replies,
            received,
            answers,
            ..Self::of(config, connection)
        }
    }

    pub fn request(
        &mut self,
        now: Nanos,
        handler: u16,
        payload: &[u8],
        net: &mut Vec<Frame>,
    ) -> Slot {
        let slot = self
            .connection
            .request(now, handler, payload.len() as u32)
            .unwrap();
        self.requests[slot.index()][..payload.len()].copy_from_slice(payload);
        self.act(net);
        slot
    }

    /// Carries out what is to be done; handlers wait in `waiting`.
    pub fn act(&mut self, net: &mut Vec<Frame>) {
        while let Some(action) = self.connection.next() {
            self.actions.push(action);
            match action {
                Action::Log { slot, entry } => {
                    self.log
                        .insert((matches!(entry, Entry::Sent(_)), slot), entry);
                }
                Action::Send { head, payload } => {
                    let bytes = match payload {
                        Payload::None => &[][..],
                        Payload::Request { slot, offset, size } => {
                            range(&self.requests[slot.index()], offset, size)
                        }
                        Payload::Reply { slot, offset, size } => {
                            range(&self.answers[slot.index()], offset, size)
                        }
                    };
                    let mut frame = head.encode(bytes).to_vec();
                    frame.extend(bytes);
                    net.push(frame);
                }
                Action::Run { slot, id, handler } => self.waiting.push_back((slot, id, handler)),
                Action::Deliver { slot } => {
                    let state = self.connection.state(slot).unwrap();
                    self.events.push(Event::Delivered(slot, state));
                }
                Action::Connected { incarnation } => {
                    self.events.push(Event::Connected(incarnation))
                }
                Action::Unreachable { .. } => self.events.push(Event::Unreachable),
                Action::Forget => self.events.push(Event::Forgot),
            }
        }
    }

    pub fn take(&mut self, now: Nanos, frame: &[u8], net: &mut Vec<Frame>) {
        let (head, payload) = decode(frame).unwrap();
        let known = match head.body {
            jitterlab_amvia::wire::Body::Request(part) => self.handlers.contains(&part.handler),
            _ => true,
        };
        let place = self.connection.frame(now, &head, known, &mut self.shared);
        let bytes = match place {
            None => &mut [][..],
            Some(Place::Request { slot, offset }) => {
                &mut self.received[slot.index()][offset as usize..]
            }
            Some(Place::Reply { slot, offset }) => {
                &mut self.replies[slot.index()][offset as usize..]
            }
        };
        if place.is_some() {
            bytes[..payload.len()].copy_from_slice(payload);
        }
        self.act(net);
    }

    pub fn expire(&mut self, now: Nanos, net: &mut Vec<Frame>) {
        self.connection.expire(now, &mut self.shared);
        self.act(net);
    }

    /// Starts the oldest waiting request; its slot if it may run.
    pub fn start(&mut self, now: Nanos, net: &mut Vec<Frame>) -> Option<Slot> {
        let (slot, id, _) = self.waiting.pop_front()?;
        let may = self.connection.start(now, slot, id, &mut self.shared);
        self.act(net);
        if may {
            let length = self.received_length(slot);
            self.events.push(Event::Ran(
                id,
                self.received[slot.index()][..length].to_vec(),
            ));
        }
        may.then_some(slot)
    }

    pub fn finish(&mut self, now: Nanos, slot: Slot, net: &mut Vec<Frame>) {
        let length = self.received_length(slot);
        let mut answer = self.received[slot.index()][..length].to_vec();
        answer.reverse();
        self.answers[slot.index()][..length].copy_from_slice(&answer);
        self.connection
            .handled(now, slot, DONE, length as u32, &mut self.shared)
            .unwrap();
        self.act(net);
    }

    /// Runs all that waits.
    pub fn run(&mut self, now: Nanos, net: &mut Vec<Frame>) {
        while !self.waiting.is_empty() {
            if let Some(slot) = self.start(now, net) {
                self.finish(now, slot, net);
            }
        }
    }

    fn received_length(&self, slot: Slot) -> usize {
        match self.log[&(false, slot)] {
            Entry::Received(record) => record.request as usize,
            Entry::Sent(_) => unreachable!("a send record under the key of the receive pool"),
        }
    }

    /// The reply in a slot.
    pub fn reply(&self, slot: Slot) -> &[u8] {
        let length = self.connection.record(slot).unwrap().reply;
        &self.replies[slot.index()][..length as usize]
    }

    pub fn runs(&self) -> usize {
        self.events
            .iter()
            .filter(|event| matches!(event, Event::Ran(..)))
            .count()
    }
}

fn range(bytes: &[u8], offset: u32, size: u32) -> &[u8] {
    &bytes[offset as usize..][..size as usize]
}

/// Two nodes and what is under way between them.
pub struct Pair {
    pub config: Config,
    pub a: Node,
    pub b: Node,
    pub to_a: Vec<Frame>,
    pub to_b: Vec<Frame>,
    pub now: Nanos,
}

impl Pair {
    pub fn new(config: Config) -> Self {
        config.check().unwrap();
        let a = Node::new(&config, local(1, 1, 1), 2);
        let b = Node::new(&config, local(2, 1, 1), 1);
        Self {
            config,
            a,
            b,
            to_a: Vec::new(),
            to_b: Vec::new(),
            now: 0,
        }
    }

    pub fn connected(config: Config) -> Self {
        let mut pair = Self::new(config);
        pair.a.connection.connect(0);
        pair.a.act(&mut pair.to_b);
        pair.settle();
        pair.a.events.clear();
        pair.b.events.clear();
        pair.a.actions.clear();
        pair.b.actions.clear();
        pair
    }

    pub fn request(&mut self, payload: &[u8]) -> Slot {
        self.a.request(self.now, ECHO, payload, &mut self.to_b)
    }

    /// Delivers all that is under way, each frame after 1 us, without running handlers.
    pub fn deliver(&mut self) {
        while !(self.to_a.is_empty() && self.to_b.is_empty()) {
            self.now += 1_000;
            for frame in std::mem::take(&mut self.to_b) {
                self.b.take(self.now, &frame, &mut self.to_a);
            }
            for frame in std::mem::take(&mut self.to_a) {
                self.a.take(self.now, &frame, &mut self.to_b);
            }
        }
    }

    /// Delivers what is under way now, and runs what waits.
    pub fn settle_once(&mut self) {
        self.now += 1_000;
        for frame in std::mem::take(&mut self.to_b) {
            self.b.take(self.now, &frame, &mut self.to_a);
        }
        for frame in std::mem::take(&mut self.to_a) {
            self.a.take(self.now, &frame, &mut self.to_b);
        }
        self.a.run(self.now, &mut self.to_b);
        self.b.run(self.now, &mut self.to_a);
    }

    /// Delivers and runs until nothing is left to do but wait.
    pub fn settle(&mut self) {
        loop {
            self.deliver();
            self.a.run(self.now, &mut self.to_b);
            self.b.run(self.now, &mut self.to_a);
            if self.to_a.is_empty() && self.to_b.is_empty() {
                return;
            }
        }
    }

    /// Lets time pass to the next deadline of either end; false if there is none before the lease's.
    pub fn pass(&mut self) -> bool {
        let deadlines = [self.a.connection.deadline(), self.b.connection.deadline()];
        let Some(next) = deadlines.into_iter().flatten().min() else {
            return false;
        };
        if next >= self.config.lease {
            return false;
        }
        self.now = self.now.max(next);
        self.a.expire(self.now, &mut self.to_b);
        self.b.expire(self.now, &mut self.to_a);
        true
    }

    /// Kills `b` and starts it again from its log.
    pub fn restart_b(&mut self, incarnation: u32, since: u32) {
        let fresh = Node::new(&self.config, local(2, incarnation, since), 1);
        let old = std::mem::replace(&mut self.b, fresh);
        self.b = old.restarted(&self.config, local(2, incarnation, since), self.now);
        self.to_a.clear();
        self.b.act(&mut self.to_a);
    }

    /// Kills `a` and starts it again from its log.
    pub fn restart_a(&mut self, incarnation: u32, since: u32) {
        let fresh = Node::new(&self.config, local(1, incarnation, since), 2);
        let old = std::mem::replace(&mut self.a, fresh);
        self.a = old.restarted(&self.config, local(1, incarnation, since), self.now);
        self.to_b.clear();
        self.a.act(&mut self.to_b);
    }
}

pub fn body(frame: &[u8]) -> jitterlab_amvia::wire::Body {
    let (head, _): (Head, _) = decode(frame).unwrap();
    head.body
}
