//! The times that follow from a protocol's schedule and the costs of its frames: two processors, and the time between them.
//!
//! Each end does one thing after the other: a send holds it for o_s, a receive for o_r; a frame is there L after its send is
//! over. The end that answers sends its frames at once; the end that measures takes frames when it has no credit, or nothing else
//! to do (Kaur, section 3.3.1: `AM_Request` polls if it has no credit).

use std::collections::VecDeque;

use jitterlab_injector::control::Mode;

use crate::Protocol;

/// The costs of a frame, in nanoseconds (LogP: Culler et al. 1993; Kaur, section 3.4.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// o_s: the processor is held by a send.
    pub send: f64,
    /// o_r: it is held by a receive.
    pub receive: f64,
    /// L: from the end of the send to when the frame can be received.
    pub latency: f64,
}

/// A delay at the end that measures: [`Mode::Spin`] and [`Mode::Pace`] of each frame that it sends, [`Mode::Defer`] of each that
/// it gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Injected {
    /// The mode.
    pub mode: Mode,
    /// The length of the delay, in nanoseconds.
    pub delay: f64,
}

/// A protocol, the costs of its frames, and what is injected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// The protocol.
    pub protocol: Protocol,
    /// The costs.
    pub costs: Costs,
    /// The time of a request at the target beside o_r and what is sent for it: its handler, in nanoseconds.
    pub handler: f64,
    /// Maximum number of transactions under way.
    pub window: usize,
    /// The delay that is injected, if there is one.
    pub injected: Option<Injected>,
}

/// Frames of a transaction at one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// Frames that it sends.
    pub sends: u32,
    /// Frames that it receives.
    pub receives: u32,
}

impl Frames {
    /// The time that they hold a processor, in nanoseconds.
    pub fn work(self, costs: &Costs) -> f64 {
        f64::from(self.sends) * costs.send + f64::from(self.receives) * costs.receive
    }
}

impl Protocol {
    /// The frames of a transaction at the end that requests.
    pub fn at_initiator(self) -> Frames {
        let (sends, receives) = match self {
            Protocol::Amvia => (1, 2),
            Protocol::Amudp => (2, 1),
            Protocol::AmviaRiding | Protocol::TwoWay => (1, 1),
        };
        Frames { sends, receives }
    }

    /// The frames of a transaction at the end that answers.
    pub fn at_target(self) -> Frames {
        let Frames { sends, receives } = self.at_initiator();
        Frames {
            sends: receives,
            receives: sends,
        }
    }

    /// The time from one request to the next where each waits for the reply to the one before, in terms of the costs.
    pub fn round_trip_formula(self) -> &'static str {
        match self {
            Protocol::Amvia | Protocol::Amudp => "2 o_s + 2 o_r + max(o_s, o_r) + 2 L",
            Protocol::AmviaRiding | Protocol::TwoWay => "2 o_s + 2 o_r + 2 L",
        }
    }

    /// The time from one request to the next where many are under way, in terms of the costs.
    pub fn interval_formula(self) -> &'static str {
        match self {
            Protocol::Amvia | Protocol::Amudp => "max(o_s + 2 o_r, 2 o_s + o_r)",
            Protocol::AmviaRiding | Protocol::TwoWay => "o_s + o_r",
        }
    }

    /// [`Protocol::round_trip_formula`] without its L, in nanoseconds.
    pub fn round_trip_overhead(self, costs: &Costs) -> f64 {
        let third = match self {
            Protocol::Amvia | Protocol::Amudp => costs.send.max(costs.receive),
            Protocol::AmviaRiding | Protocol::TwoWay => 0.0,
        };
        2.0 * (costs.send + costs.receive) + third
    }

    /// [`Protocol::interval_formula`] in nanoseconds: the work of the end that has more of it.
    pub fn interval(self, costs: &Costs) -> f64 {
        let [initiator, target] = [self.at_initiator(), self.at_target()];
        initiator.work(costs).max(target.work(costs))
    }
}

/// Transactions of a long run. The first half is left out: the end with more work has a window to do only then.
const LONG: usize = 8_192;

impl Schedule {
    /// The mean cost of a message in a burst of `messages` requests, each with so much computing after it, in nanoseconds:
    /// what the signature is made of (Kaur, figure 3.9).
    pub fn burst(&self, messages: usize, computing: f64) -> f64 {
        Ends::new(self).burst(messages, computing) / messages as f64
    }

    /// The time from one request to the next in a long burst, in nanoseconds.
    pub fn interval(&self, computing: f64) -> f64 {
        let until = |messages| Ends::new(self).burst(messages, computing);
        (until(LONG) - until(LONG / 2)) / (LONG / 2) as f64
    }

    /// The time from one request to the next where each waits for the reply to the one before, in nanoseconds.
    pub fn round_trip(&self) -> f64 {
        self.round_trip_after(0.0)
    }

    /// The same with a pause of the initiator before each request, which is no part of it, in nanoseconds.
    pub fn round_trip_after(&self, pause: f64) -> f64 {
        let until = |transactions| Ends::new(self).one_by_one(transactions, pause);
        (until(LONG) - until(LONG / 2)) / (LONG / 2) as f64 - pause
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Frame {
    Request,
    Ack,
    Reply,
    ReplyAck,
}

/// Two processors: until when each is busy.
struct Ends<'a> {
    schedule: &'a Schedule,
    initiator: f64,
    target: f64,
    /// When the last frame went that was paced.
    last: f64,
    /// Frames on their way to the initiator, and when each is there.
    arrivals: VecDeque<(f64, Frame)>,
}

impl<'a> Ends<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        Ends {
            schedule,
            initiator: 0.0,
            target: 0.0,
            last: f64::NEG_INFINITY,
            arrivals: VecDeque::new(),
        }
    }

    fn burst(mut self, messages: usize, computing: f64) -> f64 {
        let mut under_way = 0;
        for _ in 0..messages {
            if under_way == self.schedule.window {
                self.wait_for_reply();
                under_way -= 1;
            }
            self.send(Frame::Request);
            under_way += 1;
            self.initiator += computing;
        }
        self.initiator
    }

    fn one_by_one(mut self, transactions: usize, pause: f64) -> f64 {
        for _ in 0..transactions {
            self.initiator += pause;
            self.send(Frame::Request);
            self.wait_for_reply();
        }
        self.initiator
    }

    /// The initiator sends.
    fn send(&mut self, frame: Frame) {
        match self.schedule.injected {
            Some(Injected {
                mode: Mode::Spin,
                delay,
            }) => self.initiator += delay,
            Some(Injected {
                mode: Mode::Pace,
                delay,
            }) => {
                self.initiator = self.initiator.max(self.last + delay);
                self.last = self.initiator;
            }
            _ => {}
        }
        let costs = &self.schedule.costs;
        self.initiator += costs.send;
        self.answer(self.initiator + costs.latency, frame);
    }

    /// The target takes a frame that is there `at` a time, and sends what is due for it.
    fn answer(&mut self, at: f64, frame: Frame) {
        let Schedule {
            protocol,
            costs,
            handler,
            injected,
            ..
        } = self.schedule;
        self.target = self.target.max(at) + costs.receive;
        if frame == Frame::Request {
            self.target += handler;
        }
        let deferred = match injected {
            Some(Injected {
                mode: Mode::Defer,
                delay,
            }) => *delay,
            _ => 0.0,
        };
        let answers: &[Frame] = match (frame, protocol) {
            (Frame::Request, Protocol::Amvia) => &[Frame::Ack, Frame::Reply],
            (Frame::Request, _) => &[Frame::Reply],
            _ => &[],
        };
        for &answer in answers {
            self.target += costs.send;
            let there = self.target + costs.latency + deferred;
            self.arrivals.push_back((there, answer));
        }
    }

    /// The initiator takes frames until one is a reply.
    fn wait_for_reply(&mut self) {
        while let Some((there, frame)) = self.arrivals.pop_front() {
            self.initiator = self.initiator.max(there) + self.schedule.costs.receive;
            if frame == Frame::Reply {
                if self.schedule.protocol == Protocol::Amudp {
                    self.send(Frame::ReplyAck);
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn costs() -> impl Strategy<Value = Costs> {
        let cost = || 50.0..5_000.0;
        (cost(), cost(), 0.0..10_000.0).prop_map(|(send, receive, latency)| Costs {
            send,
            receive,
            latency,
        })
    }

    fn schedule(protocol: Protocol, costs: Costs) -> Schedule {
        Schedule {
            protocol,
            costs,
            handler: 0.0,
            window: 64,
            injected: None,
        }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs().max(1.0)
    }

    proptest! {
        /// The formulas of docs/amvia-loggp.md are what the schedule does.
        #[test]
        fn round_trips_are_those_of_the_formulas(costs in costs()) {
            for protocol in Protocol::ALL {
                let formula = protocol.round_trip_overhead(&costs) + 2.0 * costs.latency;
                let runs = schedule(protocol, costs).round_trip();
                prop_assert!(close(runs, formula), "{protocol}: {runs}, {formula}");
            }
        }

        /// A pause hides the target's work behind its reply.
        #[test]
        fn a_pause_hides_what_the_target_does_beside_it(costs in costs()) {
            for protocol in Protocol::ALL {
                let hidden = match protocol {
                    Protocol::Amudp => (costs.receive - costs.send).max(0.0),
                    _ => 0.0,
                };
                let schedule = schedule(protocol, costs);
                let paused = schedule.round_trip_after(20_000.0);
                prop_assert!(close(paused + hidden, schedule.round_trip()), "{protocol}: {paused}");
            }
        }

        /// A window that holds all that a round trip takes: the processor is what limits.
        #[test]
        fn intervals_are_those_of_the_formulas(costs in costs()) {
            for protocol in Protocol::ALL {
                let formula = protocol.interval(&costs);
                let schedule = schedule(protocol, costs);
                prop_assume!(schedule.round_trip() < 32.0 * formula);
                let runs = schedule.interval(0.0);
                prop_assert!((runs - formula).abs() < 0.01 * formula, "{protocol}: {runs}, {formula}");
            }
        }

        /// The end that measures is the one that limits if it computes beside that.
        #[test]
        fn the_receive_overhead_shows_beside_computing(costs in costs()) {
            for protocol in Protocol::ALL {
                let interval = schedule(protocol, costs).interval(50_000.0);
                let work = protocol.at_initiator().work(&costs);
                prop_assert!(close(interval - 50_000.0, work), "{protocol}: {interval}, {work}");
            }
        }

        #[test]
        fn a_spin_holds_the_sender_and_a_deferred_frame_nobody(costs in costs(), delay in 1_000.0..20_000.0) {
            for protocol in Protocol::ALL {
                let plain = schedule(protocol, costs);
                let with = |mode| Schedule { injected: Some(Injected { mode, delay }), ..plain };
                let shift = |mode, of: fn(&Schedule) -> f64| of(&with(mode)) - of(&plain);
                let sends = f64::from(protocol.at_initiator().sends);
                prop_assert!(close(shift(Mode::Spin, |it| it.burst(8, 0.0)), delay));
                prop_assert!(close(shift(Mode::Defer, |it| it.burst(8, 0.0)), 0.0));
                prop_assert!(close(shift(Mode::Defer, Schedule::round_trip), delay));
                // One that holds the sender hides what the other end does beside it.
                let round_trip = shift(Mode::Spin, Schedule::round_trip);
                prop_assert!(round_trip <= sends * delay + 1e-6 && round_trip >= delay - 1e-6);
            }
        }

        #[test]
        fn a_pace_shows_above_what_is_there_without_it(costs in costs(), delay in 10.0..20_000.0) {
            for protocol in Protocol::ALL {
                let plain = schedule(protocol, costs);
                let paced = Schedule { injected: Some(Injected { mode: Mode::Pace, delay }), ..plain };
                let least = f64::from(protocol.at_initiator().sends) * delay;
                let (interval, without) = (paced.interval(0.0), plain.interval(0.0));
                prop_assert!(interval >= 0.99 * without);
                prop_assert!(interval >= 0.99 * least);
            }
        }
    }
}
