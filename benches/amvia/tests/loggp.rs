//! LogGP: what is estimated of costs that are known, and that everything is measured.

mod common;
#[path = "../../packet/tests/common/mod.rs"]
mod kept;

use std::sync::LazyLock;

use common::{Server, TRANSPORTS, options};
use jitterlab_amvia_suite::loggp::schedule::{self, Costs, Schedule};
use jitterlab_amvia_suite::loggp::{
    Block, Bulk, Estimates, Injected, LogGp, Observed, Paused, Report, Verdict, related,
};
use jitterlab_amvia_suite::{Error, Protocol};
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_injector::control::Mode;
use jitterlab_packet::transport::Transport;
use kept::assert_kept;

const DELAYS: [Injected; 3] = [
    Injected {
        mode: Mode::Spin,
        delay_ns: 5_000,
    },
    Injected {
        mode: Mode::Defer,
        delay_ns: 10_000,
    },
    Injected {
        mode: Mode::Pace,
        delay_ns: 20_000,
    },
];

fn small() -> LogGp {
    LogGp {
        size: Bytes(32),
        bursts: vec![1, 8, 64, 96],
        computing: vec![Nanos(0), Nanos(5_000)],
        bulk: vec![Bytes(512), Bytes(4_096)],
        injected: DELAYS.to_vec(),
        blocks: 3,
    }
}

fn measured(protocol: Protocol, transport: Transport, name: &str) -> Report {
    let case = small();
    let options = options(transport, protocol);
    let server = Server::start(&options, name);
    let (client, switch) = case.connect(&options, &server.address).unwrap();
    case.run(&client, &switch).unwrap()
}

#[test]
fn everything_is_measured_in_every_protocol() {
    for transport in TRANSPORTS {
        for protocol in Protocol::ALL {
            let report = measured(protocol, transport, "loggp");
            assert_eq!((report.bursts.len(), report.blocks.len()), (4, 3));
            for block in &report.blocks {
                assert_eq!(block.signature_ns.len(), 2);
                assert_eq!((block.bulk.len(), block.injected.len()), (2, 3));
                // A pause is no part of what it is before.
                // A delay is never shorter than asked for, apart from the rounding of ticks.
                for (asked, achieved) in report.injected.iter().zip(&block.achieved) {
                    assert!(
                        achieved.round_trip_ns > asked.delay_ns as f64 - 1.0,
                        "{achieved:?}"
                    );
                }
                assert_eq!(block.achieved.len(), 3);
                assert_eq!(block.paused.len(), 3);
                assert!(block.paused.iter().all(|it| it.send_ns > 0.0));
                // A message takes as long as is computed after it, and a delay is never shorter than it was to be.
                assert!(block.signature_ns[1].iter().all(|&ns| ns >= 5_000.0));
                let [spin, defer, pace] = &block.injected[..] else {
                    panic!("three delays");
                };
                assert!(spin.send_ns > 4_900.0, "{spin:?}");
                assert!(defer.round_trip_ns > 9_900.0, "{defer:?}");
                // The first of eight goes at once.
                assert!(pace.send_ns > 17_000.0, "{pace:?}");
            }
            assert!(Estimates::of(&[&report]).unwrap().is_some());
            assert_kept(&report);
        }
    }
}

/// What a machine would measure whose frames have these costs, in bytes, too, with a little noise.
fn of_schedule(like: &Report, protocol: Protocol, costs: Costs, per_byte: f64) -> Report {
    let plain = Schedule {
        protocol,
        costs,
        window: like.setting.window.into(),
        injected: None,
    };
    let block = |number: usize| {
        let noise = 1.0 + 0.001 * (number as f64 - 4.5);
        let observe = |schedule: Schedule| Observed {
            send_ns: noise * schedule.burst(schedule.window, 0.0),
            interval_ns: noise * schedule.interval(0.0),
            round_trip_ns: noise * schedule.round_trip(),
        };
        let burst = |computing: u64, messages: u64| {
            noise * (plain.burst(messages as usize, computing as f64) - computing as f64)
                + computing as f64
        };
        // A tenth longer than asked for, where the initiator waits for it.
        let length = |it: &Injected| match it.mode {
            Mode::Defer => it.delay_ns as f64,
            Mode::Spin | Mode::Pace => 1.1 * it.delay_ns as f64,
        };
        let of_computing = |&computing: &u64| {
            let bursts = like.bursts.iter();
            bursts.map(|&messages| burst(computing, messages)).collect()
        };
        Block {
            signature_ns: like.computing_ns.iter().map(of_computing).collect(),
            plain: observe(plain),
            bulk: like
                .bulk
                .iter()
                .map(|&size| Bulk {
                    send_ns: noise * costs.send,
                    interval_ns: noise * (plain.interval(0.0) + per_byte * size as f64),
                })
                .collect(),
            injected: like
                .injected
                .iter()
                .map(|it| {
                    let (mode, delay) = (it.mode, length(it));
                    let injected = Some(schedule::Injected { mode, delay });
                    observe(Schedule { injected, ..plain })
                })
                .collect(),
            achieved: like
                .injected
                .iter()
                .map(|it| Observed {
                    send_ns: length(it),
                    interval_ns: length(it),
                    round_trip_ns: length(it),
                })
                .collect(),
            paused: like
                .pauses_ns
                .iter()
                .map(|&pause| Paused {
                    send_ns: observe(plain).send_ns,
                    round_trip_ns: noise * plain.round_trip_after(pause as f64),
                })
                .collect(),
        }
    };
    let mut report = like.clone();
    report.setting.protocol = protocol;
    report.blocks = (0..10).map(block).collect();
    report
}

/// A report of a real run, whose lists are those of a whole measurement.
static LIKE: LazyLock<Report> = LazyLock::new(|| {
    let mut report = measured(Protocol::TwoWay, Transport::Shm, "like");
    let whole = LogGp::default();
    report.setting.window = 16;
    report.bursts = whole.bursts;
    report.computing_ns = whole.computing.iter().map(|it| it.0).collect();
    report.bulk = whole.bulk.iter().map(|it| it.0).collect();
    report.injected = whole.injected;
    report.pauses_ns = vec![5_000, 10_000, 20_000];
    report
});

fn of(all: &[Report], protocol: Protocol) -> Vec<&Report> {
    let runs = all.iter();
    runs.filter(|run| run.setting.protocol == protocol)
        .collect()
}

/// An acknowledgement that costs less than a message, and a handler, are found in the runs of the other protocols.
#[test]
fn what_an_acknowledgement_and_a_handler_cost_closes_what_log_p_leaves_open() {
    for (send, receive, ack_send, ack_receive, handler) in [
        (60.0, 80.0, 30.0, 65.0, 0.0),
        (60.0, 55.0, 60.0, 35.0, 20.0),
        (400.0, 700.0, 250.0, 500.0, 150.0),
    ] {
        let costs = Costs {
            send,
            receive,
            ack_send,
            ack_receive,
            latency: 30.0,
            handler,
        };
        let all = Protocol::ALL.map(|protocol| of_schedule(&LIKE, protocol, costs, 0.5));
        let relations = |protocol| related(protocol, |it| of(&all, it)).unwrap().unwrap();
        for protocol in Protocol::ALL {
            let found = relations(protocol);
            let close = |found: f64, known: f64| (found - known).abs() < 0.01 * (send + receive);
            assert!(
                close(found.handler.estimate, handler),
                "{protocol}: {found:?}"
            );
            let target_limits = ack_receive + handler > ack_send;
            let has_acks = matches!(protocol, Protocol::Amvia | Protocol::Amudp);
            let acks = [found.ack_send, found.ack_receive];
            assert_eq!(acks.map(|it| it.is_some()), [has_acks; 2], "{protocol}");
            if let [Some(sent), Some(received)] = acks {
                assert!(close(sent.estimate, ack_send), "{protocol}: {found:?}");
                // Of amudp it is a bound where the initiator limits.
                let is_bound = protocol == Protocol::Amudp && !target_limits;
                let is_above = is_bound && received.estimate >= ack_receive;
                let is_right = close(received.estimate, ack_receive) || is_above;
                assert!(is_right, "{protocol}: {found:?}");
            }
            // Where the target of amudp limits, a_r comes from the interval, which then shows nothing else.
            assert_eq!(
                found.interval.is_none(),
                protocol == Protocol::Amudp && target_limits,
                "{protocol}: {found:?}"
            );
            for identity in found.interval.iter().chain([&found.round_trip]) {
                assert_ne!(
                    identity.verdict(),
                    Verdict::Open,
                    "{protocol}: {identity:?}"
                );
            }
        }
        // LogP has neither, which shows where they limit.
        let amudp = Estimates::of(&of(&all, Protocol::Amudp)).unwrap().unwrap();
        let is_open = amudp.identity.verdict() == Verdict::Open;
        assert_eq!(is_open, ack_receive + handler > ack_send);
    }
    // Without the protocol that L and h are taken from there is nothing to hold it against.
    let costs = Costs::log_p(60.0, 55.0, 30.0);
    let alone = [of_schedule(&LIKE, Protocol::Amvia, costs, 0.5)];
    assert_eq!(related(Protocol::Amvia, |it| of(&alone, it)).unwrap(), None);
}

/// A network that takes a message each 300 ns shows in bursts without computing, and is no cost of a send.
#[test]
fn a_send_costs_what_it_costs_beside_computing() {
    let mut report = of_schedule(&LIKE, Protocol::TwoWay, Costs::log_p(60.0, 55.0, 30.0), 0.5);
    for block in &mut report.blocks {
        block.plain.send_ns = 300.0;
        block.plain.interval_ns = 300.0;
        for cost in &mut block.signature_ns[0] {
            *cost = cost.max(300.0);
        }
    }
    let found = Estimates::of(&[&report]).unwrap().unwrap();
    assert!((found.send.estimate - 60.0).abs() < 2.0, "{found:?}");
    assert_eq!(found.gap.seen().unwrap().estimate, 300.0);
}

#[test]
fn costs_that_are_known_are_found_and_everything_closes() {
    let close = |a: f64, b: f64| (a - b).abs() < 0.02 * b;
    for (send, receive) in [(400.0, 700.0), (900.0, 300.0)] {
        let costs = Costs::log_p(send, receive, 800.0);
        let all = Protocol::ALL.map(|protocol| of_schedule(&LIKE, protocol, costs, 0.5));
        for (protocol, report) in Protocol::ALL.into_iter().zip(&all) {
            let found = Estimates::of(&[report]).unwrap().unwrap();
            assert!(close(found.send.estimate, send), "{protocol}: {found:?}");
            assert!(
                close(found.receive.seen().unwrap().estimate, receive),
                "{protocol}: {found:?}"
            );
            assert!(
                close(found.latency.seen().unwrap().estimate, 800.0),
                "{found:?}"
            );
            assert!(
                close(found.gap_per_byte.seen().unwrap().estimate, 0.5),
                "{found:?}"
            );
            assert_ne!(found.identity.verdict(), Verdict::Open, "{protocol}");
            let related = related(protocol, |protocol| of(&all, protocol))
                .unwrap()
                .unwrap();
            let trip = related.round_trip;
            assert_eq!(trip.verdict(), Verdict::Closes, "{protocol}: {trip:?}");
            let wrong: Vec<_> = found
                .shifts
                .iter()
                .filter(|it| !it.is_as_expected())
                .collect();
            assert!(wrong.is_empty(), "{protocol}: {wrong:?}");
        }
    }
}

#[test]
fn what_cannot_be_seen_is_not_told_and_what_is_wrong_is_not_called_right() {
    // A frame is there before its send is over, and bytes cost nothing.
    let costs = Costs::log_p(500.0, 600.0, -50.0);
    let hidden = of_schedule(&LIKE, Protocol::Amvia, costs, -1e-3);
    let found = Estimates::of(&[&hidden]).unwrap().unwrap();
    assert_eq!(found.latency.seen(), None);
    assert_eq!(found.gap.seen(), None);
    assert_eq!(found.gap_per_byte.seen(), None);

    // A network that takes a message each 5 us shows its gap, and closes nothing.
    let mut slow = hidden.clone();
    for block in &mut slow.blocks {
        block.plain.interval_ns = 5_000.0;
    }
    // A target that takes a message each 5 us is no network: it holds up no burst that the window holds.
    let found = Estimates::of(&[&slow]).unwrap().unwrap();
    assert_eq!(found.gap.seen(), None);
    assert_eq!(found.identity.verdict(), Verdict::Open);
    for block in &mut slow.blocks {
        block.plain.send_ns = 5_000.0;
    }
    let found = Estimates::of(&[&slow]).unwrap().unwrap();
    assert_eq!(found.gap.seen().unwrap().estimate, 5_000.0);

    // A protocol that is taken for another one does not close.
    let mut other = of_schedule(&LIKE, Protocol::Amvia, costs, 0.0);
    other.setting.protocol = Protocol::TwoWay;
    let riding = of_schedule(&LIKE, Protocol::AmviaRiding, costs, 0.0);
    let all = [other.clone(), riding];
    let related = related(Protocol::TwoWay, |protocol| of(&all, protocol));
    let trip = related.unwrap().unwrap().round_trip;
    assert_eq!(trip.verdict(), Verdict::Open, "{trip:?}");

    // A delay that moves half of what it had to is noticed.
    for block in &mut other.blocks {
        for (delayed, injected) in block.injected.iter_mut().zip(&other.injected) {
            if injected.mode == Mode::Spin {
                delayed.send_ns = block.plain.send_ns + 0.5 * injected.delay_ns as f64;
            }
        }
    }
    let found = Estimates::of(&[&other]).unwrap().unwrap();
    let spin = found
        .shifts
        .iter()
        .find(|it| it.injected.mode == Mode::Spin);
    assert!(!spin.unwrap().is_as_expected());
}

#[test]
fn bursts_that_show_nothing_are_refused() {
    let options = options(Transport::Shm, Protocol::TwoWay);
    let server = Server::start(&options, "bursts");
    let (client, switch) = small().connect(&options, &server.address).unwrap();
    for bursts in [vec![64, 96], vec![1, 4, 64], vec![]] {
        let case = LogGp { bursts, ..small() };
        let refused = case.run(&client, &switch).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Bursts {
                    window: 8,
                    long: 64
                }
            ),
            "{refused}"
        );
    }
}
