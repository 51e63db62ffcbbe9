//! A seeded simulation of transactions: the production machines of both ends, stations that serve in the order of arrival, and a heap
//! of events. It shares costs and chances with the model, and nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jitterlab_amvia::protocol::{
    Action, Config, Connection, Local, Nanos, Protocol, ReplyPool, Slot,
};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState, TransactionId};
use jitterlab_amvia::wire::{Head, Tag};
use jitterlab_stats::Moments;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::path::{Failures, LOST_AFTER, Losses, STATIONS, Stages};

/// The simulation that is run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The configuration of both ends.
    pub config: Config,
    /// The cost of each stage, rounded to whole nanoseconds.
    pub stages: Stages,
    /// The failures.
    pub failures: Failures,
    /// Bytes of a request, and of a reply.
    pub payload: usize,
    /// Transactions at a time; one that waits for a timeout holds back others once the window is full.
    pub outstanding: u32,
    /// Transactions in all.
    pub transactions: u64,
    /// Draws what fails.
    pub seed: u64,
}

/// The result. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The time from each request to its end.
    pub response: Moments,
    /// Transactions that ended without a reply.
    pub abandoned: u64,
    /// Frames that were lost.
    pub lost: u64,
    /// Transactions in a second of simulated time.
    pub throughput: f64,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;
const HANDLER: u16 = 1;
/// The time that a handler that has failed goes on after its time: its slot is not free before.
const HANG: Nanos = 1;

/// Stations: those of the way out, and those of the way back; the processor of an end is one for both ways.
const PLACES: usize = 2 * STATIONS;

#[derive(Debug, Clone, Copy)]
enum Event {
    /// A frame of `from` comes to a station of its way.
    Come {
        from: usize,
        station: usize,
        head: Head,
    },
    Wake {
        end: usize,
    },
    /// The application has thought.
    Request,
    /// A handler has been served.
    Handled {
        slot: Slot,
        id: TransactionId,
    },
    /// A handler that failed is gone at last.
    Gone {
        slot: Slot,
    },
}

struct Due(Nanos, u64, Event);

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

struct End {
    connection: Connection,
    pool: ReplyPool,
    wakes: Nanos,
}

struct World<'a> {
    plan: &'a Plan,
    losses: Losses,
    stations: [Nanos; STATIONS],
    now: Nanos,
    random: Xoshiro256PlusPlus,
    heap: BinaryHeap<Reverse<Due>>,
    numbered: u64,
    /// When each station has served what has come to it.
    free: [Nanos; PLACES],
    ends: [End; 2],
    /// Both ends are connected: frames are lost from now on.
    is_on: bool,
    made: u64,
    ended: u64,
    /// Requests that had no credit.
    waiting: u32,
    begun: Vec<Nanos>,
    first: Nanos,
    response: Moments,
    abandoned: u64,
    lost: u64,
}

/// Simulates transactions until all have ended.
///
/// # Panics
/// If nothing happens any more before that: the machines would be wrong.
pub fn simulate(plan: &Plan) -> Outcome {
    let config = &plan.config;
    let end = |own: usize| End {
        connection: Connection::new(config.clone(), local(own), id(1 - own), 0),
        pool: match config.protocol {
            Protocol::Amudp => ReplyPool::shared(64, config),
            _ => ReplyPool::default(),
        },
        wakes: Nanos::MAX,
    };
    let mut world = World {
        plan,
        losses: Losses::of(&plan.failures, plan.payload),
        stations: plan.stages.stations().map(|time| time.round() as Nanos),
        now: 0,
        random: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
        heap: BinaryHeap::new(),
        numbered: 0,
        free: [0; PLACES],
        ends: [end(CLIENT), end(SERVER)],
        is_on: false,
        made: 0,
        ended: 0,
        waiting: 0,
        begun: vec![0; config.window.into()],
        first: 0,
        response: Moments::NONE,
        abandoned: 0,
        lost: 0,
    };
    world.ends[CLIENT].connection.connect(0);
    world.act(CLIENT);
    while world.ended < plan.transactions {
        let Some(Reverse(Due(time, _, event))) = world.heap.pop() else {
            panic!("nothing happens any more, and {} have ended", world.ended);
        };
        world.now = time;
        world.happen(event);
    }
    Outcome {
        throughput: world.ended as f64 / ((world.now - world.first) as f64 / 1e9),
        response: world.response,
        abandoned: world.abandoned,
        lost: world.lost,
    }
}

fn id(end: usize) -> EndpointId {
    EndpointId(end as u64 + 1)
}

fn local(end: usize) -> Local {
    Local {
        endpoint: id(end),
        incarnation: Incarnation(1),
        since: Incarnation(1),
        tag: Tag(end as u64 + 1),
        keeps_log: false,
    }
}

/// The place of a station on the way of a frame of `from`: the processors are those of both ways.
fn place(from: usize, station: usize) -> usize {
    match station {
        0 => from,
        _ if station == STATIONS - 1 => 1 - from,
        _ => 2 + from * (STATIONS - 2) + station - 1,
    }
}

impl World<'_> {
    fn at(&mut self, time: Nanos, event: Event) {
        self.numbered += 1;
        self.heap.push(Reverse(Due(time, self.numbered, event)));
    }

    /// When a station has served what comes to it now.
    fn serve(&mut self, place: usize, time: Nanos) -> Nanos {
        let done = self.free[place].max(self.now) + time;
        self.free[place] = done;
        done
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Come {
                from,
                station,
                head,
            } => self.come(from, station, head),
            Event::Wake { end } => {
                let waked = &mut self.ends[end];
                if waked.wakes <= self.now {
                    waked.wakes = Nanos::MAX;
                    waked.connection.expire(self.now, &mut waked.pool);
                    self.act(end);
                }
            }
            Event::Request => self.request(),
            Event::Handled { slot, id } => self.handle(slot, id),
            Event::Gone { slot } => self.reply(slot),
        }
    }

    /// A frame comes to a station, or, behind the last, to its end.
    fn come(&mut self, from: usize, station: usize, head: Head) {
        if station == STATIONS {
            let end = &mut self.ends[1 - from];
            end.connection.frame(self.now, &head, true, &mut end.pool);
            self.act(1 - from);
            return;
        }
        if station == LOST_AFTER + 1 && self.is_on {
            let loss = self.losses.loss(&head.body);
            if loss > 0.0 && self.random.random_bool(loss) {
                self.lost += 1;
                return;
            }
        }
        let done = self.serve(place(from, station), self.stations[station]);
        let station = station + 1;
        self.at(
            done,
            Event::Come {
                from,
                station,
                head,
            },
        );
    }

    fn request(&mut self) {
        if self.made == self.plan.transactions {
            return;
        }
        let length = self.plan.payload as u32;
        let client = &mut self.ends[CLIENT].connection;
        match client.request(self.now, HANDLER, length) {
            Ok(slot) => {
                self.made += 1;
                self.begun[slot.index()] = self.now;
                self.act(CLIENT);
            }
            // One that is not released holds back those after it once the window is full.
            Err(_) => self.waiting += 1,
        }
    }

    fn handle(&mut self, slot: Slot, id: TransactionId) {
        let server = &mut self.ends[SERVER];
        if !server
            .connection
            .start(self.now, slot, id, &mut server.pool)
        {
            return;
        }
        self.act(SERVER);
        let fails = self.plan.failures.application();
        if fails > 0.0 && self.random.random_bool(fails) {
            // It hangs until nobody waits for it any more.
            let config = &self.plan.config;
            let rest = u64::from(config.request_retransmissions + 1) * config.max_rto;
            let limit = config.handler_time.unwrap_or(config.reply_wait.max(rest));
            self.at(self.now + limit + HANG, Event::Gone { slot });
        } else {
            self.reply(slot);
        }
    }

    /// A handler that was started ends.
    fn reply(&mut self, slot: Slot) {
        let server = &mut self.ends[SERVER];
        let length = self.plan.payload as u32;
        // Its initiator may have given it up.
        let _ = server
            .connection
            .handled(self.now, slot, HANDLER, length, &mut server.pool);
        self.act(SERVER);
    }

    /// Carries out what is to be done at an end.
    fn act(&mut self, end: usize) {
        while let Some(action) = self.ends[end].connection.next() {
            match action {
                Action::Send { head, .. } => self.come(end, 0, head),
                Action::Run { slot, id, .. } => {
                    let handler = self.plan.stages.handler.round() as Nanos;
                    let done = self.serve(SERVER, handler);
                    self.at(done, Event::Handled { slot, id });
                }
                Action::Deliver { slot } => self.deliver(slot),
                Action::Connected { .. } if end == SERVER => self.begin(),
                _ => {}
            }
        }
        let ended = &mut self.ends[end];
        if let Some(deadline) = ended.connection.deadline()
            && deadline < ended.wakes
        {
            ended.wakes = deadline.max(self.now);
            let time = ended.wakes;
            self.at(time, Event::Wake { end });
        }
    }

    /// The ends know each other.
    fn begin(&mut self) {
        self.is_on = true;
        self.first = self.now;
        for _ in 0..self.plan.outstanding {
            self.at(self.now, Event::Request);
        }
    }

    fn deliver(&mut self, slot: Slot) {
        let client = &mut self.ends[CLIENT].connection;
        let state = client.state(slot);
        let took = (self.now - self.begun[slot.index()]) as f64;
        self.response = self.response.merged(Moments::of(&[took]));
        self.abandoned += u64::from(state != Some(InitiatorState::Processed));
        self.ended += 1;
        // It has ended, or is unknown.
        let _ = client.release(slot);
        let think = self.plan.stages.think.round() as Nanos;
        for _ in 0..=std::mem::take(&mut self.waiting) {
            self.at(self.now + think, Event::Request);
        }
    }
}
