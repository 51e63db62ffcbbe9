//! Two connections and what comes between them, as any bytes say it: frames that come in any order, twice or never, frames of a
//! peer that lies, handlers that take their time, and the clock.

use std::collections::HashMap;

use jitterlab_amvia::protocol::{Action, Config, Connection, Local, Protocol, ReplyPool, Slot};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState, TransactionId};
use jitterlab_amvia::wire::{Body, HEAD, Head, MAGIC, Tag, VERSION, decode};

const KNOWN: u16 = 1;

/// One end, and what its application has seen.
struct End {
    connection: Connection,
    pool: ReplyPool,
    waiting: Vec<(Slot, TransactionId)>,
    running: Vec<Slot>,
    runs: HashMap<TransactionId, u32>,
    ends: HashMap<TransactionId, InitiatorState>,
}

struct World {
    ends: [End; 2],
    /// Frames under way, each with the end that it goes to.
    net: Vec<(usize, Head)>,
    now: u64,
    /// Nobody has lied.
    is_honest: bool,
}

/// Whatever happens, nothing panics, no deadline has passed once it was looked to, and credits are conserved. Where nobody
/// lies, a handler runs once at most, no transaction has two ends, and what is said to have run has.
pub fn machines(bytes: &[u8]) {
    let Some((&how, mut script)) = bytes.split_first() else {
        return;
    };
    let mut world = World::new(how);
    while let Some((&[what, which], rest)) = script.split_first_chunk() {
        script = rest;
        if what % 16 == 15 {
            let Some((forged, rest)) = script.split_first_chunk::<HEAD>() else {
                break;
            };
            script = rest;
            world.lie(usize::from(which & 1), *forged);
        } else {
            world.step(what % 16, which);
        }
        world.is_sound();
    }
}

impl World {
    fn new(how: u8) -> World {
        let config = Config {
            protocol: Protocol::ALL[usize::from(how % 3)],
            window: 1 + how / 3 % 4,
            mtu: 128,
            message: 300,
            burst: 2,
            ack_delay: if how & 64 == 0 { 0 } else { 1_000 },
            handler_time: (how & 128 != 0).then_some(1_000_000),
            ..Config::default()
        };
        let end = |own: u64| {
            let local = Local {
                endpoint: EndpointId(own),
                incarnation: Incarnation(2),
                since: Incarnation(2),
                tag: Tag(own),
                keeps_log: true,
            };
            End {
                connection: Connection::new(config.clone(), local, EndpointId(3 - own), 0),
                pool: ReplyPool::shared(config.window.into(), &config),
                waiting: Vec::new(),
                running: Vec::new(),
                runs: HashMap::new(),
                ends: HashMap::new(),
            }
        };
        World {
            ends: [end(1), end(2)],
            net: Vec::new(),
            now: 0,
            is_honest: true,
        }
    }

    fn step(&mut self, what: u8, which: u8) {
        let (at, rest) = (usize::from(which & 1), which >> 1);
        let slot = Slot((rest % 4).into());
        let end = &mut self.ends[at];
        match what {
            0 | 1 => {
                let handler = KNOWN + u16::from(rest % 8 == 7);
                let _ = end
                    .connection
                    .request(self.now, handler, u32::from(rest) * 4);
            }
            2..=6 if !self.net.is_empty() => {
                let index = usize::from(which) % self.net.len();
                let (to, head) = match what {
                    5 => self.net[index],
                    _ => self.net.remove(index),
                };
                if what < 6 {
                    self.arrive(to, &head);
                }
            }
            7 => {
                self.now += 1 << (rest % 40);
                for end in &mut self.ends {
                    end.connection.expire(self.now, &mut end.pool);
                }
                self.act(1 - at);
            }
            8 | 9 if !end.waiting.is_empty() => {
                let (slot, id) = end.waiting.remove(0);
                if end.connection.start(self.now, slot, id, &mut end.pool) {
                    *end.runs.entry(id).or_default() += 1;
                    end.running.push(slot);
                }
            }
            10 | 11 if !end.running.is_empty() => {
                let slot = end.running.remove(0);
                let length = u32::from(rest) * 4;
                let End {
                    connection, pool, ..
                } = end;
                // Refused where it is longer than the peer takes, or the peer was let go.
                let _ =
                    connection.handled(self.now, slot, 0, length.min(connection.longest()), pool);
            }
            12 => _ = end.connection.ask(self.now, slot),
            13 => _ = end.connection.release(slot),
            14 => end.connection.connect(self.now),
            _ => {}
        }
        self.act(at);
    }

    /// A frame with the right tag and anything else.
    fn lie(&mut self, to: usize, mut forged: [u8; HEAD]) {
        forged[..2].copy_from_slice(&MAGIC);
        forged[2] = VERSION;
        forged[4..8].fill(0);
        let checksum = crc32c::crc32c(&forged);
        forged[4..8].copy_from_slice(&checksum.to_le_bytes());
        let Ok((head, _)) = decode(&forged) else {
            return;
        };
        self.is_honest = false;
        let own = to as u64 + 1;
        let head = Head {
            tag: Tag(own),
            from: EndpointId(3 - own),
            body: head.body,
        };
        self.arrive(to, &head);
    }

    fn arrive(&mut self, to: usize, head: &Head) {
        let known = !matches!(head.body, Body::Request(part) if part.handler != KNOWN);
        let end = &mut self.ends[to];
        end.connection.frame(self.now, head, known, &mut end.pool);
        self.act(to);
    }

    fn act(&mut self, at: usize) {
        while let Some(action) = self.ends[at].connection.next() {
            let end = &mut self.ends[at];
            match action {
                Action::Send { head, .. } if self.net.len() < 64 => self.net.push((1 - at, head)),
                Action::Run { slot, id, .. } => end.waiting.push((slot, id)),
                Action::Deliver { slot } => {
                    let record = end.connection.record(slot).expect("it is not released");
                    let (id, state) = (record.id, record.state);
                    let before = end.ends.insert(id, state);
                    let runs = self.ends[1 - at].runs.get(&id).copied().unwrap_or_default();
                    if self.is_honest {
                        let is_other =
                            before.is_some_and(|before| before.is_final() && before != state);
                        assert!(!is_other, "{id}: {before:?}, and then {state}");
                        let says = match state {
                            InitiatorState::Processed | InitiatorState::ReplyGone => runs == 1,
                            InitiatorState::NotRun | InitiatorState::AckNotFound => runs == 0,
                            InitiatorState::Stale => false,
                            _ => true,
                        };
                        assert!(says, "{id}: {state} after {runs} runs");
                    }
                }
                _ => {}
            }
        }
    }

    fn is_sound(&self) {
        for end in &self.ends {
            let window = u64::from(end.connection.config().window);
            let slots = (0..end.connection.config().window.into()).map(Slot);
            let used = slots.filter(|&slot| end.connection.state(slot).is_some());
            assert!(end.connection.credits() + used.count() as u64 <= window);
            if self.is_honest {
                assert!(end.runs.values().all(|&runs| runs == 1), "{:?}", end.runs);
            }
        }
    }
}
