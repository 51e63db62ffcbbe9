//! The straight way is the general one: what it gives is what the general way does, and it leaves the same behind. Both go through
//! random exchanges in which frames are lost, doubled and late, handlers take their time and nothing is released in order.

use jitterlab_amvia::protocol::{
    Action, Config, Connection, Local, Nanos, Payload, Place, Protocol, ReplyPool, Slot,
};
use jitterlab_amvia::transaction::{EndpointId, TransactionId};
use jitterlab_amvia::wire::{Body, Head, Part, Tag};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::pair::local;

const HANDLER: u16 = 7;
/// Lengths of messages: in one frame, at its end, in two, and more than an end takes.
const LENGTHS: [u32; 5] = [0, 32, 76, 90, 200];

/// How often each straight step gave something.
#[derive(Debug, Default, PartialEq)]
struct Given {
    requests: u32,
    starts: u32,
    replies: u32,
    ends: u32,
}

struct End {
    connection: Connection,
    shared: ReplyPool,
    waiting: Vec<(Slot, TransactionId)>,
    running: Vec<Slot>,
}

/// The actions of a connection, all of them.
fn actions(connection: &mut Connection) -> Vec<Action> {
    std::iter::from_fn(|| connection.next()).collect()
}

fn are_equal(straight: &Connection, general: &Connection) {
    assert_eq!(straight, general);
    assert_eq!(straight.counters(), general.counters());
}

/// A message in one frame.
fn sent(head: Head, payload: impl FnOnce(Slot, u32) -> Payload, slot: Slot) -> Vec<Action> {
    let (Body::Request(part) | Body::Reply(part)) = head.body else {
        panic!("{head:?} is the head of no message");
    };
    let payload = payload(slot, part.length);
    vec![Action::Send { head, payload }]
}

/// A frame without payload.
fn said(head: Head) -> Action {
    let payload = Payload::None;
    Action::Send { head, payload }
}

impl End {
    fn new(config: &Config, local: Local, peer: u64) -> Self {
        End {
            connection: Connection::new(config.clone(), local, EndpointId(peer), 0),
            shared: ReplyPool::shared(config.window.into(), config),
            waiting: Vec::new(),
            running: Vec::new(),
        }
    }

    /// Does what the general way has to have done.
    fn carry_out(&mut self, actions: Vec<Action>, net: &mut Vec<Head>) {
        for action in actions {
            match action {
                Action::Send { head, .. } => net.push(head),
                Action::Run { slot, id, .. } => self.waiting.push((slot, id)),
                _ => {}
            }
        }
    }

    fn request(&mut self, now: Nanos, length: u32, net: &mut Vec<Head>, given: &mut Given) {
        let mut straight = self.connection.clone();
        let gave = straight.request_straight(HANDLER, length);
        match gave {
            Some((slot, ..)) => straight.sent_straight(now, slot),
            None => are_equal(&straight, &self.connection),
        }
        let made = self.connection.request(now, HANDLER, length);
        let actions = actions(&mut self.connection);
        if let Some((slot, id, head)) = gave {
            given.requests += 1;
            assert_eq!(made, Ok(slot));
            let request = |slot, size| Payload::Request {
                slot,
                offset: 0,
                size,
            };
            assert_eq!(actions, sent(head, request, slot));
            assert_eq!(self.connection.record(slot).map(|it| it.id), Some(id));
            are_equal(&straight, &self.connection);
        }
        self.carry_out(actions, net);
    }

    fn frame(&mut self, now: Nanos, head: &Head, net: &mut Vec<Head>, given: &mut Given) {
        let (mut straight, mut shared) = (self.connection.clone(), self.shared.clone());
        let whole = |part: &Part| part.push && part.size == part.length;
        let gave = match &head.body {
            Body::Request(part) if whole(part) => {
                straight.start_straight(now, head.tag, part, &mut shared)
            }
            Body::Reply(part) if whole(part) => straight.reply_straight(now, head.tag, part),
            _ => None,
        };
        if gave.is_none() {
            are_equal(&straight, &self.connection);
            assert_eq!(shared, self.shared);
        }
        let place = self.connection.frame(now, head, true, &mut self.shared);
        let mut actions = actions(&mut self.connection);
        match (gave, &head.body) {
            (Some((slot, acknowledges)), Body::Request(part)) => {
                let ack = acknowledges.then(|| said(straight.ack_straight(part)));
                given.starts += 1;
                assert_eq!(place, Some(Place::Request { slot, offset: 0 }));
                let id = TransactionId {
                    initiator: self.connection.peer(),
                    incarnation: part.number.incarnation,
                    sequence: part.number.sequence,
                };
                let run = Action::Run {
                    slot,
                    id,
                    handler: HANDLER,
                };
                let expected: Vec<_> = ack.into_iter().chain([run]).collect();
                assert_eq!(actions, expected);
                actions.pop();
                assert!(self.connection.start(now, slot, id, &mut self.shared));
                assert_eq!(self.connection.next(), None);
                are_equal(&straight, &self.connection);
                assert_eq!(shared, self.shared);
                self.running.push(slot);
            }
            (Some((slot, acknowledges)), Body::Reply(part)) => {
                let ack = acknowledges.then(|| said(straight.ack_straight(part)));
                given.replies += 1;
                assert_eq!(place, Some(Place::Reply { slot, offset: 0 }));
                let deliver = Action::Deliver { slot };
                let expected: Vec<_> = [deliver].into_iter().chain(ack).collect();
                assert_eq!(actions, expected);
                are_equal(&straight, &self.connection);
            }
            _ => assert_eq!(gave, None),
        }
        self.carry_out(actions, net);
    }

    fn end(&mut self, now: Nanos, slot: Slot, length: u32, net: &mut Vec<Head>, given: &mut Given) {
        let (mut straight, mut pool) = (self.connection.clone(), self.shared.clone());
        let gave = straight.handled_straight(now, slot, HANDLER, length, &mut pool);
        if gave.is_none() {
            are_equal(&straight, &self.connection);
            assert_eq!(pool, self.shared);
        }
        let shared = &mut self.shared;
        let handled = self.connection.handled(now, slot, HANDLER, length, shared);
        let actions = actions(&mut self.connection);
        if let Some(head) = gave {
            given.ends += 1;
            assert_eq!(handled, Ok(()));
            let reply = |slot, size| Payload::Reply {
                slot,
                offset: 0,
                size,
            };
            assert_eq!(actions, sent(head, reply, slot));
            are_equal(&straight, &self.connection);
            assert_eq!(pool, self.shared);
        }
        self.carry_out(actions, net);
    }

    /// Releases one of the transactions that can be.
    fn release(&mut self, random: &mut impl Rng, net: &mut Vec<Head>) {
        let slots = u16::from(self.connection.config().window);
        let _ = self.connection.release(Slot(random.random_range(0..slots)));
        let actions = actions(&mut self.connection);
        self.carry_out(actions, net);
    }
}

/// One exchange at random between two ends.
fn exchange(protocol: Protocol, keeps_log: bool, seed: u64, given: &mut Given) {
    let random = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let config = Config {
        protocol,
        window: 4,
        message: 128,
        mtu: 160,
        ack_delay: [0, 5_000][random.random_range(0..2)],
        handler_time: [None, Some(2_000_000)][random.random_range(0..2)],
        ..Config::default()
    };
    config.check().unwrap();
    let ends = [(1, 2), (2, 1)].map(|(own, peer)| {
        let local = Local {
            keeps_log,
            ..local(own, 1, 1)
        };
        End::new(&config, local, peer)
    });
    let [mut a, mut b] = ends;
    let (mut to_a, mut to_b) = (Vec::new(), Vec::new());
    let mut now = 0;
    a.connection.connect(now);
    for _ in 0..200 {
        now += random.random_range(0..1_000);
        let (end, from, to) = match random.random() {
            true => (&mut a, &mut to_a, &mut to_b),
            false => (&mut b, &mut to_b, &mut to_a),
        };
        let length = LENGTHS[random.random_range(0..LENGTHS.len())];
        match random.random_range(0..20) {
            0..4 => end.request(now, length, to, given),
            4..11 if !from.is_empty() => {
                let at = random.random_range(0..from.len().min(3));
                let mut head: Head = match random.random_range(0..10) {
                    0 => from[at],
                    _ => from.remove(at),
                };
                match random.random_range(0..20) {
                    0 => continue,
                    1 => head.tag = Tag(random.random_range(0..3)),
                    _ => {}
                }
                end.frame(now, &head, to, given);
            }
            11..13 if !end.waiting.is_empty() => {
                let (slot, id) = end.waiting.remove(0);
                if end.connection.start(now, slot, id, &mut end.shared) {
                    end.running.push(slot);
                }
                let actions = actions(&mut end.connection);
                end.carry_out(actions, to);
            }
            13..16 if !end.running.is_empty() => {
                let at = random.random_range(0..end.running.len());
                let slot = end.running.remove(at);
                end.end(now, slot, length, to, given);
            }
            16..19 => end.release(random, to),
            19 => {
                if let Some(deadline) = end.connection.deadline() {
                    now = now.max(deadline.min(now + 3_000_000));
                }
                end.connection.expire(now, &mut end.shared);
                let actions = actions(&mut end.connection);
                end.carry_out(actions, to);
            }
            _ => {}
        }
    }
}

#[test]
fn the_straight_way_is_the_general_one() {
    for protocol in Protocol::ALL {
        let mut given = Given::default();
        (0..3_000).for_each(|seed| exchange(protocol, false, seed, &mut given));
        let Given {
            requests,
            starts,
            replies,
            ends,
        } = given;
        let least = requests.min(starts).min(replies).min(ends);
        assert!(least > 1_000, "{protocol}: {given:?}");
    }
}

/// A log has to have each record before anything goes out.
#[test]
fn nothing_goes_straight_with_a_log() {
    for protocol in Protocol::ALL {
        let mut given = Given::default();
        (0..300).for_each(|seed| exchange(protocol, true, seed, &mut given));
        assert_eq!(given, Given::default(), "{protocol}");
    }
}
