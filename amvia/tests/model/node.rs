//! A node of the model: the production machines, one for each peer, its pools and its log. A byte stands for each request and for its reply.

use std::collections::BTreeMap;

use jitterlab_amvia::protocol::{Config, Connection, Entry, Local, Protocol, ReplyPool, Slot};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, TransactionId};
use jitterlab_amvia::wire::Tag;

/// A record of the log: what a `Log` action wrote, and the bytes that the slot held then.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Logged {
    pub entry: Entry,
    pub request: u8,
    pub reply: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// By the numbers of its peers.
    pub connections: Vec<Connection>,
    pub pool: ReplyPool,
    pub incarnation: u32,
    /// By pool (true: send), peer and slot.
    pub log: BTreeMap<(bool, usize, Slot), Logged>,
    /// The log after its first record, where an old copy is of interest.
    pub copy: BTreeMap<(bool, usize, Slot), Logged>,
    /// The send pool: requests, and replies to them. Only initiators use it, which have one peer.
    pub requests: Vec<u8>,
    pub replies: Vec<u8>,
    /// The receive pool: requests that came, and replies to them.
    pub received: Vec<u8>,
    pub answers: Vec<u8>,
    /// Requests to be run, and handlers that run, each with the number of its peer.
    pub waiting: Vec<(usize, Slot, TransactionId)>,
    pub running: Vec<(usize, Slot)>,
}

/// The node that all others make requests of.
pub const TARGET: usize = 0;

/// The peers of a node, where there are so many initiators: 1, 2 and so on.
pub fn peers(node: usize, initiators: usize) -> std::ops::RangeInclusive<usize> {
    match node {
        TARGET => 1..=initiators,
        _ => TARGET..=TARGET,
    }
}

/// The number that a peer has at a node.
pub fn number(node: usize, peer: usize) -> usize {
    match node {
        TARGET => peer - 1,
        _ => 0,
    }
}

pub fn local(node: usize, incarnation: u32, since: u32) -> Local {
    let endpoint = endpoint(node);
    Local {
        endpoint,
        incarnation: Incarnation(incarnation),
        since: Incarnation(since),
        tag: Tag(endpoint.0 << 32 | u64::from(incarnation)),
        keeps_log: true,
    }
}

fn endpoint(node: usize) -> EndpointId {
    EndpointId(node as u64 + 1)
}

impl Node {
    pub fn new(config: &Config, node: usize, initiators: usize) -> Self {
        let connections = peers(node, initiators)
            .map(|peer| Connection::new(config.clone(), local(node, 1, 1), endpoint(peer), 0));
        let connections: Vec<_> = connections.collect();
        let slots = usize::from(config.window) * connections.len();
        Self {
            connections,
            pool: ReplyPool::shared(config.window.into(), config),
            incarnation: 1,
            log: BTreeMap::new(),
            copy: BTreeMap::new(),
            requests: vec![0; slots],
            replies: vec![0; slots],
            received: vec![0; slots],
            answers: vec![0; slots],
            waiting: Vec::new(),
            running: Vec::new(),
        }
    }

    /// Kills the process and starts it again. `keeps_log`: it has one. `change` falsifies what the log says.
    pub fn restart(
        &mut self,
        config: &Config,
        node: usize,
        initiators: usize,
        keeps_log: bool,
        change: impl Fn(Entry, u32) -> Entry,
    ) {
        let incarnation = self.incarnation + 1;
        let log = if keeps_log {
            std::mem::take(&mut self.log)
        } else {
            BTreeMap::new()
        };
        let since = if keeps_log { 1 } else { incarnation };
        *self = Self::new(config, node, initiators);
        let local = local(node, incarnation, since);
        for (peer, connection) in peers(node, initiators).zip(&mut self.connections) {
            let number = number(node, peer);
            let records = (log.iter())
                .filter(|((_, of, _), _)| *of == number)
                .map(|(&(_, _, slot), logged)| (slot, change(logged.entry, incarnation)));
            *connection = Connection::recover(config.clone(), local, endpoint(peer), 0, records)
                .expect("the log is its own");
        }
        for (&(is_send, number, slot), logged) in &log {
            let place = self.place(number, slot);
            let (requests, replies) = if is_send {
                (&mut self.requests, &mut self.replies)
            } else {
                (&mut self.received, &mut self.answers)
            };
            requests[place] = logged.request;
            replies[place] = logged.reply;
        }
        (self.incarnation, self.log) = (incarnation, log);
    }

    /// Where a slot is in the pools. Under AMUDP all peers share one receive pool.
    pub fn place(&self, number: usize, slot: Slot) -> usize {
        let config = self.connections[number].config();
        match config.protocol {
            Protocol::Amudp => slot.index(),
            _ => number * usize::from(config.window) + slot.index(),
        }
    }

    pub fn write(&mut self, number: usize, slot: Slot, entry: Entry) {
        let place = self.place(number, slot);
        let is_send = matches!(entry, Entry::Sent(_));
        let (requests, replies) = if is_send {
            (&self.requests, &self.replies)
        } else {
            (&self.received, &self.answers)
        };
        let logged = Logged {
            entry,
            request: requests[place],
            reply: replies[place],
        };
        self.log.insert((is_send, number, slot), logged);
    }
}
