//! A seeded simulation: endpoints that all make requests of each other, over a network that loses, doubles and reorders, while
//! they are killed and restarted. A heap of events, the production machines, and a ledger outside of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jitterlab_amvia::protocol::{Config, Nanos};
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::wire::Head;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::host::Host;

/// How frames fare.
#[derive(Debug, Clone)]
pub enum Latency {
    /// Uniform between two times; in one of a hundred a time up to the third more, so that frames overtake each other.
    Uniform(Nanos, Nanos, Nanos),
    /// The round trips that were recorded, in their order: each is the way of a frame that begins an exchange; the answer
    /// takes no time.
    Recorded(Vec<Nanos>),
}

/// What is simulated.
#[derive(Debug, Clone)]
pub struct Plan {
    pub config: Config,
    pub seed: u64,
    pub endpoints: usize,
    pub transactions: u64,
    /// Requests that each endpoint has under way.
    pub outstanding: usize,
    pub latency: Latency,
    /// Shares of frames.
    pub lost: f64,
    pub doubled: f64,
    /// Kills in each second of simulated time, of all endpoints together.
    pub kills_per_second: f64,
    /// How long an endpoint stays away, at most.
    pub away: Nanos,
    /// One of so many handlers takes up to `slow_time`; the others end at once.
    pub slow_one_in: u32,
    pub slow_time: Nanos,
}

/// What has become of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fate {
    pub runs: u8,
    /// The code of the state that its application was told last, and one more.
    told: u8,
}

impl Fate {
    pub fn told(self) -> Option<InitiatorState> {
        InitiatorState::from_code(self.told.checked_sub(1)?)
    }

    pub fn tell(&mut self, state: InitiatorState) {
        self.told = state.code() + 1;
    }
}

/// A frame under way. The token stands for its payload.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub from: usize,
    pub head: Head,
    pub token: u64,
}

#[derive(Debug, Clone, Copy)]
pub enum Event {
    Arrive {
        to: usize,
        frame: Frame,
    },
    Wake {
        host: usize,
        peer: usize,
    },
    HandlerEnds {
        host: usize,
        life: u32,
        peer: usize,
        slot: u16,
    },
    Ask {
        host: usize,
        life: u32,
        peer: usize,
        slot: u16,
        token: u64,
    },
    Kill,
    Return {
        host: usize,
    },
}

/// An event at its time; the number settles ties.
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

/// All that hosts share: time, chance, the network and the ledger.
pub struct Ground {
    pub plan: Plan,
    pub now: Nanos,
    pub random: Xoshiro256PlusPlus,
    pub ledger: Vec<Fate>,
    pub outcome: Outcome,
    heap: BinaryHeap<Reverse<Due>>,
    numbered: u64,
    recorded: usize,
}

/// What a simulation comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Hash of the history: the time and the kind of each event, and each state that was told.
    pub history: u64,
    pub events: u64,
    pub made: u64,
    pub ended: u64,
    pub kills: u64,
    /// Handlers that ran when their host was killed.
    pub killed_handlers: u64,
    pub told: [u64; InitiatorState::ALL.len()],
    pub doubled_runs: u64,
    /// Tokens that were told something that the ledger contradicts.
    pub untrue: u64,
    pub requests: u64,
    pub retransmissions: u64,
    pub needless: u64,
    pub pulls: u64,
    pub acks_alone: u64,
    pub time: Nanos,
}

impl Ground {
    pub fn at(&mut self, time: Nanos, event: Event) {
        self.numbered += 1;
        self.heap.push(Reverse(Due(time, self.numbered, event)));
    }

    /// Puts a frame on the network.
    pub fn send(&mut self, to: usize, frame: Frame) {
        if self.plan.lost > 0.0 && self.random.random_bool(self.plan.lost) {
            return;
        }
        let copies = if self.plan.doubled > 0.0 && self.random.random_bool(self.plan.doubled) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let time = self.now + self.latency(&frame);
            self.at(time, Event::Arrive { to, frame });
        }
    }

    fn latency(&mut self, frame: &Frame) -> Nanos {
        use jitterlab_amvia::wire::Body;
        match &self.plan.latency {
            &Latency::Uniform(least, most, late) => {
                let late = if self.random.random_ratio(1, 100) {
                    self.random.random_range(0..=late)
                } else {
                    0
                };
                self.random.random_range(least..=most) + late
            }
            Latency::Recorded(round_trips) => {
                let begins = matches!(
                    frame.head.body,
                    Body::Connect(_) | Body::Request(_) | Body::Pull { .. } | Body::Query { .. }
                );
                if !begins {
                    return 0;
                }
                self.recorded = (self.recorded + 1) % round_trips.len();
                round_trips[self.recorded]
            }
        }
    }

    /// FNV-1a of what happens.
    pub fn note(&mut self, words: [u64; 3]) {
        for word in words {
            self.outcome.history = (self.outcome.history ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The next request of an application: its token.
    pub fn make(&mut self) -> Option<u64> {
        if self.outcome.made == self.plan.transactions {
            return None;
        }
        self.outcome.made += 1;
        self.ledger.push(Fate::default());
        Some(self.outcome.made)
    }

    pub fn fate(&mut self, token: u64) -> &mut Fate {
        &mut self.ledger[token as usize - 1]
    }
}

/// Simulates a plan until all its transactions have ended.
pub fn simulate(plan: Plan) -> Outcome {
    let mut ground = Ground {
        random: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
        ledger: Vec::with_capacity(plan.transactions as usize),
        outcome: Outcome {
            history: 0xcbf2_9ce4_8422_2325,
            ..Outcome::default()
        },
        plan,
        now: 0,
        heap: BinaryHeap::new(),
        numbered: 0,
        recorded: 0,
    };
    let endpoints = ground.plan.endpoints;
    let mut hosts: Vec<_> = (0..endpoints)
        .map(|index| Host::new(&ground, index))
        .collect();
    schedule_kill(&mut ground);
    for host in &mut hosts {
        host.make_requests(&mut ground);
    }
    while ground.outcome.ended < ground.plan.transactions {
        let Some(Reverse(Due(time, _, event))) = ground.heap.pop() else {
            panic!(
                "nothing happens any more, and {} transactions have not ended",
                ground.plan.transactions - ground.outcome.ended
            );
        };
        ground.now = time;
        ground.outcome.events += 1;
        match event {
            Event::Arrive { to, frame } => {
                ground.note([time, 1 + to as u64, frame.token]);
                hosts[to].arrive(&mut ground, frame);
            }
            Event::Wake { host, peer } => hosts[host].wake(&mut ground, peer),
            Event::HandlerEnds {
                host,
                life,
                peer,
                slot,
            } => hosts[host].handler_ends(&mut ground, life, peer, slot),
            Event::Ask {
                host,
                life,
                peer,
                slot,
                token,
            } => hosts[host].ask(&mut ground, life, peer, slot, token),
            Event::Kill => {
                schedule_kill(&mut ground);
                let host = ground.random.random_range(0..endpoints);
                hosts[host].doom(&mut ground);
            }
            Event::Return { host } => {
                ground.note([time, 100 + host as u64, 0]);
                hosts[host].come_back(&mut ground);
            }
        }
    }
    for host in &hosts {
        host.count(&mut ground.outcome);
    }
    ground.outcome.time = ground.now;
    judge(&mut ground);
    ground.outcome
}

fn schedule_kill(ground: &mut Ground) {
    if ground.plan.kills_per_second > 0.0 {
        let mean = 1e9 / ground.plan.kills_per_second;
        let wait = -mean * (1.0 - ground.random.random::<f64>()).ln();
        ground.at(ground.now + wait as Nanos, Event::Kill);
    }
}

/// Holds what was told against what happened.
fn judge(ground: &mut Ground) {
    let Ground {
        ledger, outcome, ..
    } = ground;
    for fate in ledger.iter() {
        let Some(told) = fate.told() else {
            outcome.untrue += 1;
            continue;
        };
        outcome.told[usize::from(told.code())] += 1;
        outcome.doubled_runs += u64::from(fate.runs > 1);
        let is_true = match told {
            InitiatorState::Processed => fate.runs == 1,
            InitiatorState::ReplyGone | InitiatorState::HandlerTimeExceeded => fate.runs == 1,
            InitiatorState::NotRun | InitiatorState::AckNotFound => fate.runs == 0,
            InitiatorState::Stale => false,
            _ => true,
        };
        outcome.untrue += u64::from(!is_true);
    }
}
