//! A node of the model: the production machine, its pools and its log. A byte stands for each request and for its reply.

use std::collections::BTreeMap;

use jitterlab_amvia::protocol::{Config, Connection, Entry, Local, ReplyPool, Slot};
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
    pub connection: Connection,
    pub pool: ReplyPool,
    pub incarnation: u32,
    /// By pool (true: send) and slot.
    pub log: BTreeMap<(bool, Slot), Logged>,
    /// The send pool: requests, and replies to them.
    pub requests: Vec<u8>,
    pub replies: Vec<u8>,
    /// The receive pool: requests that came, and replies to them.
    pub received: Vec<u8>,
    pub answers: Vec<u8>,
    /// Requests to be run, and handlers that run.
    pub waiting: Vec<(Slot, TransactionId)>,
    pub running: Vec<Slot>,
}

pub fn local(node: usize, incarnation: u32, since: u32) -> Local {
    let endpoint = node as u64 + 1;
    Local {
        endpoint: EndpointId(endpoint),
        incarnation: Incarnation(incarnation),
        since: Incarnation(since),
        tag: Tag(endpoint << 32 | u64::from(incarnation)),
    }
}

fn peer(node: usize) -> EndpointId {
    EndpointId(2 - node as u64)
}

impl Node {
    pub fn new(config: &Config, node: usize) -> Self {
        let slots = usize::from(config.window);
        Self {
            connection: Connection::new(config.clone(), local(node, 1, 1), peer(node), 0),
            pool: ReplyPool::shared(config.window.into(), config),
            incarnation: 1,
            log: BTreeMap::new(),
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
        *self = Self::new(config, node);
        let records = log
            .iter()
            .map(|(&(_, slot), logged)| (slot, change(logged.entry, incarnation)));
        let local = local(node, incarnation, since);
        self.connection = Connection::recover(config.clone(), local, peer(node), 0, records)
            .expect("the log is its own");
        for (&(is_send, slot), logged) in &log {
            let (requests, replies) = if is_send {
                (&mut self.requests, &mut self.replies)
            } else {
                (&mut self.received, &mut self.answers)
            };
            requests[slot.index()] = logged.request;
            replies[slot.index()] = logged.reply;
        }
        (self.incarnation, self.log) = (incarnation, log);
    }

    pub fn write(&mut self, slot: Slot, entry: Entry) {
        let is_send = matches!(entry, Entry::Sent(_));
        let (requests, replies) = if is_send {
            (&self.requests, &self.replies)
        } else {
            (&self.received, &self.answers)
        };
        let logged = Logged {
            entry,
            request: requests[slot.index()],
            reply: replies[slot.index()],
        };
        self.log.insert((is_send, slot), logged);
    }
}
