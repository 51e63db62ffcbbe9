//! The model: initiators, a target, a network that reorders, loses and doubles, and a ledger outside of all of them.

use jitterlab_amvia::protocol::{
    Action, Config, Connection, Entry, Payload, Place, Protocol, Slot,
};
use jitterlab_amvia::transaction::{InitiatorState, TransactionId};
use jitterlab_amvia::wire::{Body, Head};
use stateright::Model;

use super::node::{Node, TARGET, number, peers};
use super::properties;

pub const HANDLER: u16 = 1;
const NO_HANDLER: u16 = 2;

/// What the driver does wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// One bit of the sequence is sent, as in GASNet's amudp.
    OneBit,
    /// The target's log entry goes when its reply has been sent.
    FreedEarly,
    /// What is sent goes out before what is logged.
    SendBeforeLog,
    /// A recovered initiator resends under its new incarnation.
    NewIncarnation,
    /// An initiator recovers from an old copy of its log.
    OldLog,
}

/// What is explored.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub config: Config,
    pub fault: Fault,
    /// Nodes that make requests of the target.
    pub initiators: usize,
    /// Requests that the application of each makes; the last one has an unknown handler if so asked.
    pub requests: u8,
    /// Bytes of each request and reply.
    pub length: u32,
    pub unknown_handler: bool,
    /// Frames under way at most: what is sent into a full network is lost.
    pub capacity: usize,
    /// Frames that may arrive twice.
    pub duplicates: u8,
    /// Kills of the target, and of each initiator.
    pub crashes: [u8; 2],
    /// The target keeps its log over a kill.
    pub target_keeps_log: bool,
    /// Questions of the application about unknowns.
    pub asks: u8,
    /// Handlers take time: other things happen while they run.
    pub slow: bool,
    /// Time-outs that may happen, of both nodes together.
    pub timeouts: u8,
    /// The one property that is looked at.
    pub only: Option<&'static str>,
    /// States that some run ends in.
    pub reaches: Vec<InitiatorState>,
}

impl Scenario {
    pub fn new(protocol: Protocol) -> Self {
        let config = Config {
            protocol,
            window: 1,
            message: 8,
            burst: 1,
            request_retransmissions: 1,
            reply_retransmissions: 1,
            min_rto: 0,
            initial_rto: 0,
            granularity: 0,
            reply_wait: 0,
            lease: u64::MAX,
            ..Config::default()
        };
        Self {
            config,
            fault: Fault::None,
            initiators: 1,
            requests: 1,
            length: 1,
            unknown_handler: false,
            capacity: 3,
            duplicates: 1,
            crashes: [0, 0],
            target_keeps_log: true,
            asks: 1,
            slow: false,
            timeouts: u8::MAX,
            only: None,
            reaches: vec![InitiatorState::Processed],
        }
    }
}

/// A frame under way, and the byte that stands for its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub from: usize,
    pub to: usize,
    pub head: Head,
    pub token: u8,
}

/// What the ledger knows of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fate {
    /// Runs of its handler.
    pub runs: u8,
    /// What the application was told.
    pub told: Option<InitiatorState>,
    /// It was told two different ends, or was given the reply to another request.
    pub is_contradicted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// The target, and the initiators.
    pub nodes: Vec<Node>,
    pub net: Vec<Frame>,
    /// Requests of each node.
    pub made: Vec<u8>,
    pub duplicates: u8,
    /// Kills that may still come, of each node.
    pub crashes: Vec<u8>,
    pub asks: u8,
    pub timeouts: u8,
    pub ledger: Vec<Fate>,
    /// With one bit of the sequence: the highest that each node believes in.
    pub believed: Vec<u64>,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Request(usize),
    Deliver(usize),
    /// A copy arrives, and the frame stays under way.
    Copy(usize),
    Timeout(usize),
    Ask(usize, Slot),
    GiveUp(usize, Slot),
    Start(usize),
    Finish(usize),
    Crash(usize),
}

/// An event, and after how many of its steps the node is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub event: Event,
    pub killed_after: Option<u8>,
}

/// Steps of one event at most.
const MOST_STEPS: u8 = 8;

impl Model for Scenario {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let nodes = 1 + self.initiators;
        let mut crashes = vec![self.crashes[1]; nodes];
        crashes[TARGET] = self.crashes[0];
        let mut world = World {
            nodes: (0..nodes)
                .map(|node| Node::new(&self.config, node, self.initiators))
                .collect(),
            net: Vec::new(),
            made: vec![0; nodes],
            duplicates: self.duplicates,
            crashes,
            asks: self.asks,
            timeouts: self.timeouts,
            ledger: vec![Fate::default(); usize::from(self.requests) * self.initiators],
            believed: vec![0; nodes],
        };
        for node in self.initiators() {
            world.nodes[node].connections[0].connect(0);
            self.act(&mut world, node, None);
        }
        while !world.net.is_empty() {
            let frame = world.net.remove(0);
            self.arrive(&mut world, frame, None);
        }
        vec![world]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        let mut events = Vec::new();
        for node in self.initiators() {
            if world.made[node] < self.requests && initiator(world, node).credits() > 0 {
                events.push((Event::Request(node), node));
            }
        }
        for (index, frame) in world.net.iter().enumerate() {
            if index > 0 && world.net[index - 1] == *frame {
                continue;
            }
            events.push((Event::Deliver(index), frame.to));
            if world.duplicates > 0 {
                events.push((Event::Copy(index), frame.to));
            }
        }
        for (node, at) in world.nodes.iter().enumerate() {
            let mut connections = at.connections.iter();
            if world.timeouts > 0 && connections.any(|one| one.deadline() == Some(0)) {
                events.push((Event::Timeout(node), node));
            }
        }
        for (node, slot) in self.transactions() {
            if properties::is_unknown_and_idle(initiator(world, node), slot) {
                if world.asks > 0 {
                    events.push((Event::Ask(node, slot), node));
                }
                events.push((Event::GiveUp(node, slot), node));
            }
        }
        let target = &world.nodes[TARGET];
        if self.slow {
            events.extend((0..target.waiting.len()).map(|index| (Event::Start(index), TARGET)));
            events.extend((0..target.running.len()).map(|index| (Event::Finish(index), TARGET)));
        }
        for (event, node) in events {
            steps.push(Step {
                event,
                killed_after: None,
            });
            if world.crashes[node] > 0 {
                steps.extend((1..MOST_STEPS).map(|after| Step {
                    event,
                    killed_after: Some(after),
                }));
            }
        }
        for node in 0..world.nodes.len() {
            if world.crashes[node] > 0 {
                steps.push(Step {
                    event: Event::Crash(node),
                    killed_after: None,
                });
            }
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut world = world.clone();
        let was_cut = self.happen(&mut world, step);
        if step.killed_after.is_some() && !was_cut {
            return None;
        }
        world
            .net
            .sort_by_key(|frame| (frame.from, frame.to, frame.head.encode(&[frame.token])));
        Some(world)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        properties::all(self)
    }
}

impl Scenario {
    pub fn initiators(&self) -> std::ops::RangeInclusive<usize> {
        peers(TARGET, self.initiators)
    }

    /// Each initiator with each slot of its send pool.
    pub fn transactions(&self) -> impl Iterator<Item = (usize, Slot)> {
        let window = u16::from(self.config.window);
        self.initiators()
            .flat_map(move |node| (0..window).map(move |slot| (node, Slot(slot))))
    }

    /// Lets an event happen; true if the node was killed in the middle of it.
    fn happen(&self, world: &mut World, step: Step) -> bool {
        let cut = step.killed_after;
        match step.event {
            Event::Request(at) => {
                world.made[at] += 1;
                let is_unknown = self.unknown_handler && world.made[at] == self.requests;
                let handler = if is_unknown { NO_HANDLER } else { HANDLER };
                let node = &mut world.nodes[at];
                let slot = node.connections[0]
                    .request(0, handler, self.length)
                    .expect("there is a credit");
                node.requests[slot.index()] = world.made.iter().sum();
                self.act(world, at, cut)
            }
            Event::Deliver(index) => {
                let frame = world.net.remove(index);
                self.arrive(world, frame, cut)
            }
            Event::Copy(index) => {
                world.duplicates -= 1;
                self.arrive(world, world.net[index], cut)
            }
            Event::Timeout(node) => {
                world.timeouts = if world.timeouts == u8::MAX {
                    u8::MAX
                } else {
                    world.timeouts - 1
                };
                let Node {
                    connections, pool, ..
                } = &mut world.nodes[node];
                for connection in connections {
                    connection.expire(0, pool);
                }
                self.act(world, node, cut)
            }
            Event::Ask(node, slot) => {
                world.asks -= 1;
                let asked = world.nodes[node].connections[0].ask(0, slot);
                asked.expect("it is unknown");
                self.act(world, node, cut)
            }
            Event::GiveUp(node, slot) => {
                let released = world.nodes[node].connections[0].release(slot);
                released.expect("it is unknown");
                self.act(world, node, cut)
            }
            Event::Start(index) => {
                let (number, slot, id) = world.nodes[TARGET].waiting.remove(index);
                let mut budget = Budget(cut);
                self.start(world, number, slot, id, &mut budget);
                self.kill_if_spent(world, TARGET, &budget)
            }
            Event::Finish(index) => {
                let (number, slot) = world.nodes[TARGET].running.remove(index);
                let mut budget = Budget(cut);
                self.finish(world, number, slot, &mut budget);
                self.kill_if_spent(world, TARGET, &budget)
            }
            Event::Crash(node) => {
                self.kill(world, node);
                false
            }
        }
    }

    fn arrive(&self, world: &mut World, frame: Frame, cut: Option<u8>) -> bool {
        let Frame {
            from,
            to,
            mut head,
            token,
        } = frame;
        if self.fault == Fault::OneBit {
            head = widen(head, &mut world.believed[to]);
        }
        let node = &mut world.nodes[to];
        let known = !matches!(head.body, Body::Request(part) if part.handler == NO_HANDLER);
        let number = number(to, from);
        match node.connections[number].frame(0, &head, known, &mut node.pool) {
            None => {}
            Some(Place::Request { slot, .. }) => {
                let place = node.place(number, slot);
                node.received[place] = token;
            }
            Some(Place::Reply { slot, .. }) => node.replies[slot.index()] = token,
        }
        self.act(world, to, cut)
    }

    /// Carries out what a node has to do.
    fn act(&self, world: &mut World, node: usize, cut: Option<u8>) -> bool {
        let mut budget = Budget(cut);
        self.carry_out(world, node, &mut budget);
        self.kill_if_spent(world, node, &budget)
    }

    fn kill_if_spent(&self, world: &mut World, node: usize, budget: &Budget) -> bool {
        if budget.0 == Some(0) {
            self.kill(world, node);
            return true;
        }
        false
    }

    fn carry_out(&self, world: &mut World, node: usize, budget: &mut Budget) {
        for number in 0..world.nodes[node].connections.len() {
            if self.fault == Fault::SendBeforeLog {
                let mut actions = Vec::new();
                while let Some(action) = world.nodes[node].connections[number].next() {
                    actions.push(action);
                }
                actions.sort_by_key(|action| !matches!(action, Action::Send { .. }));
                for action in actions {
                    self.one(world, node, number, action, budget);
                }
            }
            while let Some(action) = world.nodes[node].connections[number].next() {
                self.one(world, node, number, action, budget);
            }
        }
    }

    fn one(
        &self,
        world: &mut World,
        at: usize,
        number: usize,
        action: Action,
        budget: &mut Budget,
    ) {
        let node = &mut world.nodes[at];
        match action {
            Action::Log { slot, entry } => {
                if budget.step() {
                    node.write(number, slot, entry);
                    if self.fault == Fault::OldLog && node.copy.is_empty() {
                        node.copy = node.log.clone();
                    }
                }
            }
            Action::Send { head, payload } => {
                let token = match payload {
                    Payload::None => 0,
                    Payload::Request { slot, .. } => node.requests[slot.index()],
                    Payload::Reply { slot, .. } => node.answers[node.place(number, slot)],
                };
                if !budget.step() {
                    return;
                }
                if let (Fault::FreedEarly, Payload::Reply { slot, .. }) = (self.fault, payload) {
                    node.log.remove(&(false, number, slot));
                }
                if world.net.len() < self.capacity {
                    let peers = peers(at, self.initiators);
                    world.net.push(Frame {
                        from: at,
                        to: peers.start() + number,
                        head,
                        token,
                    });
                }
            }
            Action::Run { slot, id, .. } => {
                if self.slow {
                    node.waiting.push((number, slot, id));
                } else {
                    self.start(world, number, slot, id, budget);
                    if let Some(index) = world.nodes[at]
                        .running
                        .iter()
                        .position(|&running| running == (number, slot))
                    {
                        world.nodes[at].running.remove(index);
                        self.finish(world, number, slot, budget);
                    }
                }
            }
            Action::Deliver { slot } => {
                if budget.step() {
                    self.deliver(world, at, slot, budget);
                }
            }
            Action::Connected { .. } | Action::Unreachable { .. } | Action::Forget => {}
        }
    }

    fn start(
        &self,
        world: &mut World,
        number: usize,
        slot: Slot,
        id: TransactionId,
        budget: &mut Budget,
    ) {
        let Node {
            connections, pool, ..
        } = &mut world.nodes[TARGET];
        if !connections[number].start(0, slot, id, pool) {
            return;
        }
        self.carry_out(world, TARGET, budget);
        if budget.step() {
            let target = &mut world.nodes[TARGET];
            let token = target.received[target.place(number, slot)];
            target.running.push((number, slot));
            world.ledger[usize::from(token) - 1].runs += 1;
        }
    }

    fn finish(&self, world: &mut World, number: usize, slot: Slot, budget: &mut Budget) {
        let node = &mut world.nodes[TARGET];
        let place = node.place(number, slot);
        node.answers[place] = node.received[place];
        node.connections[number]
            .handled(0, slot, HANDLER, self.length, &mut node.pool)
            .expect("it runs");
        self.carry_out(world, TARGET, budget);
    }

    /// The application is told, and releases what has ended.
    fn deliver(&self, world: &mut World, at: usize, slot: Slot, budget: &mut Budget) {
        let node = &mut world.nodes[at];
        let state = node.connections[0].state(slot).expect("it is not released");
        let token = node.requests[slot.index()];
        let fate = &mut world.ledger[usize::from(token) - 1];
        let is_other_end = fate
            .told
            .is_some_and(|told| told.is_final() && told != state);
        let is_others_reply =
            state == InitiatorState::Processed && node.replies[slot.index()] != token;
        fate.is_contradicted |= is_other_end || is_others_reply;
        fate.told = Some(state);
        if state.is_final() {
            node.connections[0].release(slot).expect("it has ended");
            self.carry_out(world, at, budget);
        }
    }

    fn kill(&self, world: &mut World, at: usize) {
        world.crashes[at] -= 1;
        if self.fault == Fault::OldLog {
            let node = &mut world.nodes[at];
            node.log = std::mem::take(&mut node.copy);
        }
        let keeps_log = at != TARGET || self.target_keeps_log;
        let change = |entry, incarnation| match (self.fault, entry) {
            (Fault::NewIncarnation, Entry::Sent(mut record)) => {
                record.id.incarnation.0 = incarnation;
                Entry::Sent(record)
            }
            _ => entry,
        };
        world.nodes[at].restart(&self.config, at, self.initiators, keeps_log, change);
        if at != TARGET {
            world.nodes[at].connections[0].connect(0);
        }
        self.act(world, at, None);
    }
}

/// Steps that a node still makes before it is killed.
struct Budget(Option<u8>);

impl Budget {
    /// Whether the next step is made.
    fn step(&mut self) -> bool {
        match &mut self.0 {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }
}

/// The sequence that a receiver believes in which is told its last bit alone.
fn widen(mut head: Head, believed: &mut u64) -> Head {
    let mut believe = |sequence: u64| {
        if sequence % 2 != *believed % 2 {
            *believed += 1;
        }
        *believed
    };
    match &mut head.body {
        Body::Request(part) => {
            part.number.sequence = believe(part.number.sequence);
            part.first_incomplete = part.number.sequence;
        }
        Body::Ack { number, .. } | Body::Nack { number, .. } => {
            number.sequence = believe(number.sequence)
        }
        Body::Reply(part) => part.number.sequence = believe(part.number.sequence),
        _ => {}
    }
    head
}

/// The connection of an initiator.
pub fn initiator(world: &World, node: usize) -> &Connection {
    &world.nodes[node].connections[0]
}
