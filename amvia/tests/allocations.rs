//! The machines allocate nothing once they have run for a while.

use std::collections::VecDeque;

use jitterlab_amvia::protocol::{
    Action, Config, Connection, Local, Nanos, Protocol, ReplyPool, Slot,
};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState, TransactionId};
use jitterlab_amvia::wire::{Head, Tag};

/// Two ends, and frames under way, in rooms that do not grow.
struct Ends {
    connections: [Connection; 2],
    pools: [ReplyPool; 2],
    frames: VecDeque<(usize, Head)>,
    waiting: VecDeque<(usize, Slot, TransactionId)>,
    ended: VecDeque<Slot>,
    now: Nanos,
    /// Each so many-th frame is lost.
    lost: u64,
    sent: u64,
}

impl Ends {
    fn new(protocol: Protocol, lost: u64) -> Self {
        let config = Config {
            protocol,
            window: 8,
            message: 10_000,
            burst: 4,
            reply_wait: 50_000_000,
            ..Config::default()
        };
        let local = |endpoint: u64| Local {
            endpoint: EndpointId(endpoint),
            incarnation: Incarnation(1),
            since: Incarnation(1),
            tag: Tag(endpoint),
            keeps_log: true,
        };
        let connection =
            |own, peer| Connection::new(config.clone(), local(own), EndpointId(peer), 0);
        Self {
            connections: [connection(1, 2), connection(2, 1)],
            pools: [ReplyPool::shared(8, &config), ReplyPool::shared(8, &config)],
            frames: VecDeque::with_capacity(1_000),
            waiting: VecDeque::with_capacity(1_000),
            ended: VecDeque::with_capacity(1_000),
            now: 0,
            lost,
            sent: 0,
        }
    }

    fn act(&mut self, end: usize) {
        while let Some(action) = self.connections[end].next() {
            match action {
                Action::Send { head, .. } => {
                    self.sent += 1;
                    if self.lost == 0 || !self.sent.is_multiple_of(self.lost) {
                        self.frames.push_back((1 - end, head));
                    }
                }
                Action::Run { slot, id, .. } => self.waiting.push_back((end, slot, id)),
                Action::Deliver { slot } => self.ended.push_back(slot),
                Action::Log { .. }
                | Action::Connected { .. }
                | Action::Unreachable { .. }
                | Action::Forget => {}
            }
        }
    }

    /// Makes so many transactions of `length` bytes, as many at once as there are credits.
    fn transact(&mut self, count: usize, length: u32) {
        let (mut made, mut ended) = (0, 0);
        while ended < count {
            while made < count && self.connections[0].request(self.now, 1, length).is_ok() {
                made += 1;
                self.act(0);
            }
            self.now += 10_000;
            if let Some((to, head)) = self.frames.pop_front() {
                self.connections[to].frame(self.now, &head, true, &mut self.pools[to]);
                self.act(to);
            } else if let Some((end, slot, id)) = self.waiting.pop_front() {
                if self.connections[end].start(self.now, slot, id, &mut self.pools[end]) {
                    self.act(end);
                    self.connections[end]
                        .handled(self.now, slot, 1, length, &mut self.pools[end])
                        .unwrap();
                }
                self.act(end);
            } else {
                for end in [0, 1] {
                    self.now = self.now.max(self.connections[end].deadline().unwrap_or(0));
                    self.connections[end].expire(self.now, &mut self.pools[end]);
                    self.act(end);
                }
            }
            while let Some(slot) = self.ended.pop_front() {
                assert_eq!(
                    self.connections[0].state(slot),
                    Some(InitiatorState::Processed)
                );
                self.connections[0].release(slot).unwrap();
                self.act(0);
                ended += 1;
            }
        }
    }
}

#[test]
fn transactions_allocate_nothing() {
    for protocol in Protocol::ALL {
        for (length, lost) in [(32, 0), (32, 20), (10_000, 0), (10_000, 50)] {
            let mut ends = Ends::new(protocol, lost);
            let first = allocation_counter::measure(|| ends.transact(1_000, length));
            assert!(
                first.count_total > 0,
                "the bitmaps are made when the peers know each other"
            );
            let counted = allocation_counter::measure(|| ends.transact(1_000, length));
            assert_eq!(
                counted.count_total, 0,
                "{protocol}, {length} bytes, one frame of {lost} lost"
            );
        }
    }
}
