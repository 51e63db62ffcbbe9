//! When all has arrived that will, with time passed in.

use std::time::Duration;

use crate::control::Arrived;
use crate::transport::Network;
use crate::way::PATIENCE;

/// The time from one count to the next.
pub(crate) const APART: Duration = Duration::from_millis(5);

/// The messages that have arrived so far, of those that were sent.
#[derive(Debug)]
pub(crate) struct Arrival {
    sent: u64,
    /// Counts that agree after which no more comes.
    most: u128,
    agreeing: u128,
    last: Arrived,
    /// When the last of it was first seen.
    seen: u64,
}

impl Arrival {
    /// Counts the messages that have arrived by `now`, of those that were `sent`. A datagram is lost where none has come
    /// through some counts that agree; a stream and a reliable connection lose nothing, so that more is waited for as long as
    /// for any word of the sink.
    pub(crate) fn new(transport: Network, sent: u64, arrived: Arrived, now: u64) -> Self {
        Arrival {
            sent,
            most: match transport {
                Network::Udp => 20,
                Network::Tcp | Network::Verbs => PATIENCE.as_millis() / APART.as_millis(),
            },
            agreeing: 0,
            last: arrived,
            seen: now,
        }
    }

    /// True if more may come: another count is to be made, [`APART`] from this one.
    pub(crate) fn is_open(&self) -> bool {
        self.last.messages < self.sent && self.agreeing < self.most
    }

    /// The next count.
    pub(crate) fn take(&mut self, arrived: Arrived, now: u64) {
        if arrived.bytes == self.last.bytes {
            self.agreeing += 1;
        } else {
            self.agreeing = 0;
            self.seen = now;
        }
        self.last = arrived;
    }

    /// The messages that have arrived, and when the last of them was first seen.
    pub(crate) fn end(self) -> (Arrived, u64) {
        (self.last, self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(messages: u64) -> Arrived {
        let bytes = messages * 1_000;
        Arrived { messages, bytes }
    }

    /// Counts until no more may come; gives what has arrived, when the last of it came, and the counts that were made.
    fn count(transport: Network, sent: u64, of: impl Fn(u64) -> u64) -> (u64, u64, u64) {
        let mut arrival = Arrival::new(transport, sent, arrived(of(0)), 0);
        let mut counts = 0;
        while arrival.is_open() {
            counts += 1;
            arrival.take(arrived(of(counts)), counts);
        }
        let (arrived, seen) = arrival.end();
        (arrived.messages, seen, counts)
    }

    #[test]
    fn nothing_is_waited_for_once_all_is_there() {
        for transport in Network::ALL {
            assert_eq!(count(transport, 10, |_| 10), (10, 0, 0));
            assert_eq!(count(transport, 10, |n| (2 * n).min(10)), (10, 5, 5));
        }
    }

    #[test]
    fn a_datagram_is_given_up_sooner_than_what_cannot_be_lost() {
        let late = |n: u64| if n < 30 { n.min(3) } else { 10 };
        assert_eq!(count(Network::Udp, 10, late), (3, 3, 23));
        for reliable in [Network::Tcp, Network::Verbs] {
            assert_eq!(count(reliable, 10, late), (10, 30, 30));
            assert_eq!(count(reliable, 10, |n| n.min(3)), (3, 3, 1_003));
        }
    }
}
