//! A host of the simulation: an endpoint with a connection to each other, its log, and an application that makes requests.

use jitterlab_amvia::protocol::{
    Action, Config, Connection, Entry, Local, Nanos, Payload, Place, Protocol, ReplyPool, Slot,
};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState, TargetState};
use jitterlab_amvia::wire::Tag;
use rand::RngExt;

use super::world::{Event, Frame, Ground, Outcome};

const HANDLER: u16 = 1;
/// Slots of the receive pool that all connections of a host share (AMUDP).
const SHARED: usize = 64;
/// How long the application waits before it asks what became of an unknown.
const PATIENCE: Nanos = 50_000_000;

/// A record of the log, and the tokens of its request and its reply.
type Logged = Option<(Entry, [u64; 2])>;

/// One connection with its pools and its part of the log.
struct Pair {
    connection: Connection,
    /// Tokens of requests and replies of the send pool, and of the receive pool.
    send: Vec<[u64; 2]>,
    receive: Vec<[u64; 2]>,
    send_log: Vec<Logged>,
    receive_log: Vec<Logged>,
    running: Vec<bool>,
    /// When it is woken.
    wakes: Nanos,
}

pub struct Host {
    index: usize,
    incarnation: u32,
    is_away: bool,
    /// Actions after which it is killed.
    doom: Option<u32>,
    pairs: Vec<Option<Pair>>,
    pool: ReplyPool,
    under_way: usize,
}

fn local(index: usize, incarnation: u32) -> Local {
    Local {
        endpoint: EndpointId(index as u64 + 1),
        incarnation: Incarnation(incarnation),
        since: Incarnation(1),
        tag: Tag((index as u64 + 1) << 32 | u64::from(incarnation)),
        keeps_log: true,
    }
}

impl Pair {
    fn new(config: &Config, connection: Connection) -> Self {
        let window = usize::from(config.window);
        let receive = if config.protocol == Protocol::Amudp {
            SHARED
        } else {
            window
        };
        Self {
            connection,
            send: vec![[0; 2]; window],
            receive: vec![[0; 2]; receive],
            send_log: vec![None; window],
            receive_log: vec![None; receive],
            running: vec![false; receive],
            wakes: Nanos::MAX,
        }
    }

    /// What comes back from the log after a kill.
    fn recovered(self, config: &Config, local: Local, now: Nanos) -> Self {
        let peer = self.connection.peer();
        let records = self
            .send_log
            .iter()
            .chain(&self.receive_log)
            .enumerate()
            .filter_map(|(index, logged)| {
                let slot = Slot((index % usize::from(config.window)) as u16);
                logged.map(|(entry, _)| (slot, entry))
            });
        let connection =
            Connection::recover(config.clone(), local, peer, now, records).expect("its own log");
        let tokens = |log: &[Logged]| {
            log.iter()
                .map(|logged| logged.map_or([0; 2], |(_, tokens)| tokens))
                .collect()
        };
        Self {
            send: tokens(&self.send_log),
            receive: tokens(&self.receive_log),
            send_log: self.send_log,
            receive_log: self.receive_log,
            ..Self::new(config, connection)
        }
    }
}

impl Host {
    pub fn new(ground: &Ground, index: usize) -> Self {
        let plan = &ground.plan;
        let pair = |peer: usize| {
            let connection = Connection::new(
                plan.config.clone(),
                local(index, 1),
                EndpointId(peer as u64 + 1),
                0,
            );
            (peer != index).then(|| Pair::new(&plan.config, connection))
        };
        Self {
            index,
            incarnation: 1,
            is_away: false,
            doom: None,
            pairs: (0..plan.endpoints).map(pair).collect(),
            pool: ReplyPool::shared(SHARED as u16, &plan.config),
            under_way: 0,
        }
    }

    fn pair(&mut self, peer: usize) -> &mut Pair {
        self.pairs[peer].as_mut().expect("no host talks to itself")
    }

    /// The application keeps as many requests under way as the plan says.
    pub fn make_requests(&mut self, ground: &mut Ground) {
        while !self.is_away && self.under_way < ground.plan.outstanding {
            let others = ground.plan.endpoints - 1;
            let peer =
                (self.index + 1 + ground.random.random_range(0..others)) % ground.plan.endpoints;
            if self.pair(peer).connection.credits() == 0 {
                return;
            }
            let Some(token) = ground.make() else {
                return;
            };
            let pair = self.pair(peer);
            let slot = pair
                .connection
                .request(ground.now, HANDLER, 8)
                .expect("there is a credit");
            pair.send[slot.index()] = [token, 0];
            self.under_way += 1;
            self.act(ground, peer);
        }
    }

    pub fn arrive(&mut self, ground: &mut Ground, frame: Frame) {
        if self.is_away {
            return;
        }
        let Self { pairs, pool, .. } = self;
        let pair = pairs[frame.from].as_mut().expect("no host talks to itself");
        match pair.connection.frame(ground.now, &frame.head, true, pool) {
            None => {}
            Some(Place::Request { slot, .. }) => pair.receive[slot.index()] = [frame.token, 0],
            Some(Place::Reply { slot, .. }) => pair.send[slot.index()][1] = frame.token,
        }
        self.act(ground, frame.from);
        self.make_requests(ground);
    }

    pub fn wake(&mut self, ground: &mut Ground, peer: usize) {
        if self.is_away {
            return;
        }
        let now = ground.now;
        let Self { pairs, pool, .. } = self;
        let pair = pairs[peer].as_mut().expect("no host talks to itself");
        if pair.wakes > now {
            return;
        }
        pair.wakes = Nanos::MAX;
        pair.connection.expire(now, pool);
        self.act(ground, peer);
        self.make_requests(ground);
    }

    pub fn handler_ends(&mut self, ground: &mut Ground, life: u32, peer: usize, slot: u16) {
        if life == self.incarnation && !self.is_away {
            self.finish(ground, peer, Slot(slot));
            self.act(ground, peer);
        }
    }

    /// The application asks what became of an unknown, unless that is known by now.
    pub fn ask(&mut self, ground: &mut Ground, life: u32, peer: usize, slot: u16, token: u64) {
        if life != self.incarnation || self.is_away {
            return;
        }
        let now = ground.now;
        let pair = self.pair(peer);
        let slot = Slot(slot);
        let is_same = pair.send[slot.index()][0] == token;
        if is_same
            && pair
                .connection
                .state(slot)
                .is_some_and(InitiatorState::is_unknown)
            && pair.connection.ask(now, slot).is_ok()
        {
            self.act(ground, peer);
        }
    }

    /// The host is to be killed in the middle of what it does next.
    pub fn doom(&mut self, ground: &mut Ground) {
        if !self.is_away {
            self.doom = Some(ground.random.random_range(0..6));
        }
    }

    fn kill(&mut self, ground: &mut Ground) {
        self.doom = None;
        self.is_away = true;
        ground.outcome.kills += 1;
        let running = self
            .pairs
            .iter()
            .flatten()
            .flat_map(|pair| &pair.running)
            .filter(|&&runs| runs)
            .count();
        ground.outcome.killed_handlers += running as u64;
        self.count(&mut ground.outcome);
        self.forget_unlogged(ground);
        let away = ground.random.random_range(0..=ground.plan.away);
        ground.at(ground.now + away, Event::Return { host: self.index });
    }

    /// A request that is not in the log yet was never made: the call has not returned.
    fn forget_unlogged(&mut self, ground: &mut Ground) {
        for pair in self.pairs.iter().flatten() {
            for (slot, logged) in pair.send_log.iter().enumerate() {
                let made = pair
                    .connection
                    .record(Slot(slot as u16))
                    .map(|record| record.id);
                let kept = logged.and_then(|(entry, _)| match entry {
                    Entry::Sent(record) => Some(record.id),
                    Entry::Received(_) => None,
                });
                if made.is_some() && made != kept {
                    ground.fate(pair.send[slot][0]).tell(InitiatorState::NotRun);
                    ground.outcome.ended += 1;
                    self.under_way -= 1;
                }
            }
        }
    }

    pub fn come_back(&mut self, ground: &mut Ground) {
        self.is_away = false;
        self.incarnation += 1;
        let local = local(self.index, self.incarnation);
        self.pool = ReplyPool::shared(SHARED as u16, &ground.plan.config);
        for pair in self.pairs.iter_mut().flatten() {
            let old = std::mem::replace(
                pair,
                Pair::new(&ground.plan.config, pair.connection.clone()),
            );
            *pair = old.recovered(&ground.plan.config, local, ground.now);
            pair.connection.connect(ground.now);
        }
        for peer in 0..self.pairs.len() {
            if peer != self.index {
                self.act(ground, peer);
            }
        }
        self.make_requests(ground);
    }

    /// Carries out what is to be done for a connection.
    fn act(&mut self, ground: &mut Ground, peer: usize) {
        while !self.is_away {
            let Some(action) = self.pair(peer).connection.next() else {
                break;
            };
            if let Some(left) = &mut self.doom {
                if *left == 0 {
                    self.kill(ground);
                    return;
                }
                *left -= 1;
            }
            self.carry_out(ground, peer, action);
        }
        if let Some(deadline) = self.pair(peer).connection.deadline() {
            let index = self.index;
            let pair = self.pair(peer);
            if deadline < pair.wakes {
                pair.wakes = deadline.max(ground.now);
                let time = pair.wakes;
                ground.at(time, Event::Wake { host: index, peer });
            }
        }
    }

    fn carry_out(&mut self, ground: &mut Ground, peer: usize, action: Action) {
        let index = self.index;
        let life = self.incarnation;
        let pair = self.pairs[peer].as_mut().expect("no host talks to itself");
        match action {
            Action::Log { slot, entry } => {
                let (log, tokens) = match entry {
                    Entry::Sent(_) => (&mut pair.send_log, &pair.send),
                    Entry::Received(_) => (&mut pair.receive_log, &pair.receive),
                };
                log[slot.index()] = Some((entry, tokens[slot.index()]));
                if let Entry::Received(record) = entry {
                    pair.running[slot.index()] = record.state == TargetState::Started;
                }
            }
            Action::Send { head, payload } => {
                let token = match payload {
                    Payload::None => 0,
                    Payload::Request { slot, .. } => pair.send[slot.index()][0],
                    Payload::Reply { slot, .. } => pair.receive[slot.index()][1],
                };
                ground.send(
                    peer,
                    Frame {
                        from: index,
                        head,
                        token,
                    },
                );
            }
            Action::Run { slot, id, .. } => {
                if !pair.connection.start(ground.now, slot, id, &mut self.pool) {
                    return;
                }
                let Some(Action::Log { entry, .. }) = pair.connection.next() else {
                    panic!("the start of a handler is logged");
                };
                pair.receive_log[slot.index()] = Some((entry, pair.receive[slot.index()]));
                pair.running[slot.index()] = true;
                ground.fate(pair.receive[slot.index()][0]).runs += 1;
                let is_slow = ground.plan.slow_time > 0
                    && ground.random.random_ratio(1, ground.plan.slow_one_in);
                if is_slow {
                    let ends = ground.now + ground.random.random_range(0..=ground.plan.slow_time);
                    ground.at(
                        ends,
                        Event::HandlerEnds {
                            host: index,
                            life,
                            peer,
                            slot: slot.0,
                        },
                    );
                } else {
                    self.finish(ground, peer, slot);
                }
            }
            Action::Deliver { slot } => self.deliver(ground, peer, slot),
            Action::Connected { .. } | Action::Unreachable { .. } => {}
            Action::Forget => panic!("no lease ends in the time of a simulation"),
        }
    }

    /// A handler ends: its reply carries the token of its request.
    fn finish(&mut self, ground: &mut Ground, peer: usize, slot: Slot) {
        let Self { pairs, pool, .. } = self;
        let pair = pairs[peer].as_mut().expect("no host talks to itself");
        pair.receive[slot.index()][1] = pair.receive[slot.index()][0];
        pair.connection
            .handled(ground.now, slot, HANDLER, 8, pool)
            .expect("it runs");
    }

    fn deliver(&mut self, ground: &mut Ground, peer: usize, slot: Slot) {
        let (index, life) = (self.index, self.incarnation);
        let pair = self.pair(peer);
        let state = pair.connection.state(slot).expect("it is not released");
        let [request, reply] = pair.send[slot.index()];
        let time = ground.now;
        ground.note([time, 200 + u64::from(state.code()), request]);
        let is_others = state == InitiatorState::Processed && reply != request;
        let told = ground.fate(request).told();
        let is_other_end = told.is_some_and(|told| told.is_final() && told != state);
        ground.outcome.untrue += u64::from(is_others || is_other_end);
        ground.fate(request).tell(state);
        if state.is_final() {
            pair.connection.release(slot).expect("it has ended");
            if !told.is_some_and(InitiatorState::is_final) {
                self.under_way -= 1;
                ground.outcome.ended += 1;
            }
        } else {
            let ask = Event::Ask {
                host: index,
                life,
                peer,
                slot: slot.0,
                token: request,
            };
            ground.at(time + PATIENCE, ask);
        }
    }

    pub fn count(&self, outcome: &mut Outcome) {
        for pair in self.pairs.iter().flatten() {
            let counters = pair.connection.counters();
            outcome.requests += counters.requests;
            outcome.retransmissions += counters.retransmissions;
            outcome.needless += counters.needless;
            outcome.pulls += counters.pulls;
            outcome.acks_alone += counters.acks_alone;
        }
    }
}
