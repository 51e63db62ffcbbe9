//! The times that follow from a protocol's schedule and the costs of its frames: two processors, and the time between them.
//!
//! Each end does one thing after the other: the send of a message holds it for o_s and a receive for o_r, those of an acknowledgement
//! for a_s and a_r, a handler for h; a frame is there L after its send is over. The end that answers sends its frames at once; the end
//! that measures takes frames when it has no credit, or nothing else to do (Kaur, section 3.3.1: `AM_Request` polls if it has no
//! credit).

use std::collections::VecDeque;

use jitterlab_injector::control::Mode;

use crate::Protocol;

/// The costs of a frame, in nanoseconds (LogP: Culler et al. 1993; Kaur, section 3.4.2). LogP has one overhead for all sends and one
/// for all receives, and no handler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// o_s: the processor is held by the send of a message.
    pub send: f64,
    /// o_r: it is held by the receive of a message.
    pub receive: f64,
    /// a_s: it is held by the send of an acknowledgement.
    pub ack_send: f64,
    /// a_r: it is held by the receive of an acknowledgement.
    pub ack_receive: f64,
    /// L: from the end of the send to when the frame can be received.
    pub latency: f64,
    /// h: the time of a request at the target beside o_r and what is sent for it, which is that of its handler.
    pub handler: f64,
}

impl Costs {
    /// The costs of LogP.
    pub fn log_p(send: f64, receive: f64, latency: f64) -> Self {
        Costs {
            send,
            receive,
            ack_send: send,
            ack_receive: receive,
            latency,
            handler: 0.0,
        }
    }
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
    /// Maximum number of transactions under way.
    pub window: usize,
    /// The delay that is injected, if there is one.
    pub injected: Option<Injected>,
}

/// Acknowledgements of a transaction at one end, beside the message that it sends and the one that it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acks {
    /// Acknowledgements that it sends.
    pub sent: u32,
    /// Acknowledgements that it receives.
    pub received: u32,
}

impl Acks {
    /// Frames that the end sends.
    pub fn sends(self) -> u32 {
        1 + self.sent
    }

    /// Frames that it receives.
    pub fn receives(self) -> u32 {
        1 + self.received
    }

    /// The time that its frames hold a processor, in nanoseconds.
    pub fn work(self, costs: &Costs) -> f64 {
        let acks =
            f64::from(self.sent) * costs.ack_send + f64::from(self.received) * costs.ack_receive;
        costs.send + costs.receive + acks
    }
}

impl Protocol {
    /// The acknowledgements of a transaction at the end that requests.
    pub fn at_initiator(self) -> Acks {
        let (sent, received) = match self {
            Protocol::Amvia => (0, 1),
            Protocol::Amudp => (1, 0),
            Protocol::AmviaRiding | Protocol::TwoWay => (0, 0),
        };
        Acks { sent, received }
    }

    /// The acknowledgements of a transaction at the end that answers.
    pub fn at_target(self) -> Acks {
        let Acks { sent, received } = self.at_initiator();
        Acks {
            sent: received,
            received: sent,
        }
    }

    /// The time from one request to the next where each waits for the reply to the one before, in terms of the costs.
    pub fn round_trip_formula(self) -> &'static str {
        match self {
            Protocol::Amvia => "o_s + a_s + 2 o_r + max(o_s + h, a_r) + 2 L",
            Protocol::Amudp => "o_s + a_s + 2 o_r + max(o_s, a_r) + h + 2 L",
            Protocol::AmviaRiding | Protocol::TwoWay => "2 o_s + 2 o_r + h + 2 L",
        }
    }

    /// The time from one request to the next where many are under way, in terms of the costs.
    pub fn interval_formula(self) -> &'static str {
        match self {
            Protocol::Amvia => "o_s + o_r + max(a_r, a_s + h)",
            Protocol::Amudp => "o_s + o_r + max(a_s, a_r + h)",
            Protocol::AmviaRiding | Protocol::TwoWay => "o_s + o_r + h",
        }
    }

    /// [`Protocol::round_trip_formula`], in nanoseconds.
    pub fn round_trip(self, costs: &Costs) -> f64 {
        let third = match self {
            Protocol::Amvia => {
                costs.ack_send + (costs.ack_receive - costs.send - costs.handler).max(0.0)
            }
            Protocol::Amudp => costs.ack_send + (costs.ack_receive - costs.send).max(0.0),
            Protocol::AmviaRiding | Protocol::TwoWay => 0.0,
        };
        2.0 * (costs.send + costs.receive + costs.latency) + costs.handler + third
    }

    /// [`Protocol::interval_formula`], in nanoseconds: the work of the end that has more of it.
    pub fn interval(self, costs: &Costs) -> f64 {
        let [initiator, target] = [self.at_initiator(), self.at_target()].map(|it| it.work(costs));
        initiator.max(target + costs.handler)
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

impl Costs {
    fn of_send(&self, frame: Frame) -> f64 {
        match frame {
            Frame::Request | Frame::Reply => self.send,
            Frame::Ack | Frame::ReplyAck => self.ack_send,
        }
    }

    fn of_receive(&self, frame: Frame) -> f64 {
        match frame {
            Frame::Request | Frame::Reply => self.receive,
            Frame::Ack | Frame::ReplyAck => self.ack_receive,
        }
    }
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
    /// Frames that the initiator has taken and defers, and when each is due.
    held: VecDeque<(f64, Frame)>,
    /// The last frame was handed on, and none was looked for since.
    has_handed_on: bool,
}

impl<'a> Ends<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        Ends {
            schedule,
            initiator: 0.0,
            target: 0.0,
            last: f64::NEG_INFINITY,
            arrivals: VecDeque::new(),
            held: VecDeque::new(),
            has_handed_on: false,
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
        self.initiator += costs.of_send(frame);
        self.answer(self.initiator + costs.latency, frame);
    }

    /// The target takes a frame that is there `at` a time, and sends what is due for it.
    fn answer(&mut self, at: f64, frame: Frame) {
        let Schedule {
            protocol, costs, ..
        } = self.schedule;
        self.target = self.target.max(at) + costs.of_receive(frame);
        let answers: &[Frame] = match (frame, protocol) {
            (Frame::Request, Protocol::Amvia) => &[Frame::Ack, Frame::Reply],
            (Frame::Request, _) => &[Frame::Reply],
            _ => &[],
        };
        for &answer in answers {
            // The acknowledgement goes before the handler begins.
            if answer == Frame::Reply {
                self.target += costs.handler;
            }
            self.target += costs.of_send(answer);
            let there = self.target + costs.latency;
            self.arrivals.push_back((there, answer));
        }
    }

    /// The initiator waits for the next frame. One that is deferred counts its time from when it is taken, which is between two that are
    /// handed on: one is looked for after each of those, and whenever none is due.
    fn next(&mut self) -> Option<Frame> {
        let Some(Injected {
            mode: Mode::Defer,
            delay,
        }) = self.schedule.injected
        else {
            let (there, frame) = self.arrivals.pop_front()?;
            self.initiator = self.initiator.max(there);
            return Some(frame);
        };
        loop {
            let due = self.held.front().map(|&(due, _)| due);
            let is_due = due.is_some_and(|due| due <= self.initiator);
            let there = self.arrivals.front().map(|&(there, _)| there);
            if (std::mem::take(&mut self.has_handed_on) || !is_due)
                && there.is_some_and(|there| there <= self.initiator)
                && let Some((_, frame)) = self.arrivals.pop_front()
            {
                self.held.push_back((self.initiator + delay, frame));
                continue;
            }
            if is_due {
                self.has_handed_on = true;
                return self.held.pop_front().map(|(_, frame)| frame);
            }
            // Nothing until the next frame is there or due.
            let next = due.into_iter().chain(there);
            self.initiator = next.min_by(f64::total_cmp)?.max(self.initiator);
        }
    }

    /// The initiator takes frames until one is a reply.
    fn wait_for_reply(&mut self) {
        while let Some(frame) = self.next() {
            self.initiator += self.schedule.costs.of_receive(frame);
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
        let overheads = (cost(), cost(), cost(), cost());
        (overheads, 0.0..10_000.0, 0.0..5_000.0).prop_map(|(overheads, latency, handler)| {
            let (send, receive, ack_send, ack_receive) = overheads;
            Costs {
                send,
                receive,
                ack_send,
                ack_receive,
                latency,
                handler,
            }
        })
    }

    fn schedule(protocol: Protocol, costs: Costs) -> Schedule {
        Schedule {
            protocol,
            costs,
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
                let formula = protocol.round_trip(&costs);
                let runs = schedule(protocol, costs).round_trip();
                prop_assert!(close(runs, formula), "{protocol}: {runs}, {formula}");
            }
        }

        /// With the costs of LogP they are those of Kaur, section 3.4.2, and of the docs.
        #[test]
        fn without_handlers_and_with_one_overhead_they_are_those_of_log_p(send in 50.0..5_000.0, receive in 50.0..5_000.0, latency in 0.0..10_000.0) {
            let costs = Costs::log_p(send, receive, latency);
            let two = 2.0 * (send + receive + latency);
            for protocol in Protocol::ALL {
                let (round_trip, interval) = match protocol {
                    Protocol::Amvia | Protocol::Amudp => {
                        (two + send.max(receive), (send + 2.0 * receive).max(2.0 * send + receive))
                    }
                    Protocol::AmviaRiding | Protocol::TwoWay => (two, send + receive),
                };
                prop_assert!(close(protocol.round_trip(&costs), round_trip), "{protocol}");
                prop_assert!(close(protocol.interval(&costs), interval), "{protocol}");
            }
        }

        /// A pause hides the target's work behind its reply.
        #[test]
        fn a_pause_hides_what_the_target_does_beside_it(costs in costs()) {
            for protocol in Protocol::ALL {
                let hidden = match protocol {
                    Protocol::Amudp => (costs.ack_receive - costs.send).max(0.0),
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
                let sends = f64::from(protocol.at_initiator().sends());
                prop_assert!(close(shift(Mode::Spin, |it| it.burst(8, 0.0)), delay));
                prop_assert!(close(shift(Mode::Defer, |it| it.burst(8, 0.0)), 0.0));
                // A reply that comes while the acknowledgement before it is handed on is taken after that.
                let (reply, ack) = (costs.handler + costs.send, costs.ack_receive);
                let collides = protocol == Protocol::Amvia && delay < reply && reply < delay + ack;
                let deferred = match collides {
                    true => 2.0 * delay + ack - reply.max(ack),
                    false => delay,
                };
                prop_assert!(close(shift(Mode::Defer, Schedule::round_trip), deferred), "{protocol}");
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
                let least = f64::from(protocol.at_initiator().sends()) * delay;
                let (interval, without) = (paced.interval(0.0), plain.interval(0.0));
                prop_assert!(interval >= 0.99 * without);
                prop_assert!(interval >= 0.99 * least);
            }
        }
    }
}
