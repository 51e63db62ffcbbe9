//! The machines of both ends against each other, step by step.

use super::pair::{ECHO, Event, Pair, body};
use jitterlab_amvia::protocol::{Action, Config, Entry, Protocol, RequestError, Slot, SlotError};
use jitterlab_amvia::transaction::{InitiatorState, TargetState};
use jitterlab_amvia::wire::{Body, Reason};

fn config(protocol: Protocol) -> Config {
    Config {
        protocol,
        window: 4,
        message: 64,
        ..Config::default()
    }
}

fn state(pair: &Pair, slot: Slot) -> InitiatorState {
    pair.a.connection.state(slot).unwrap()
}

#[test]
fn a_request_is_acknowledged_run_and_answered() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let slot = pair.request(b"abc");
    assert_eq!(state(&pair, slot), InitiatorState::RequestSent);
    pair.deliver();
    assert_eq!(state(&pair, slot), InitiatorState::RequestProcessing);
    pair.settle();
    assert_eq!(state(&pair, slot), InitiatorState::Processed);
    assert_eq!(pair.a.reply(slot), b"cba");
    assert_eq!(
        pair.a.events,
        [Event::Delivered(slot, InitiatorState::Processed)]
    );
    assert_eq!(pair.a.connection.credits(), 3);
    pair.a.connection.release(slot).unwrap();
    assert_eq!(pair.a.connection.credits(), 4);
    assert_eq!(pair.a.connection.state(slot), None);
    assert_eq!(pair.b.connection.counters().acks_alone, 1);
}

#[test]
fn the_log_is_written_before_what_depends_on_it() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    pair.request(b"abc");
    pair.settle();
    let steps = |actions: &[Action]| -> Vec<String> {
        let step = |action: &Action| match *action {
            Action::Log {
                entry: Entry::Sent(record),
                ..
            } => format!("log {}", record.state),
            Action::Log {
                entry: Entry::Received(record),
                ..
            } => format!("log {}", record.state),
            Action::Send { head, .. } => match head.body {
                Body::Request(_) => "request".into(),
                Body::Ack { .. } => "ack".into(),
                Body::Reply(_) => "reply".into(),
                other => format!("{other:?}"),
            },
            Action::Run { .. } => "run".into(),
            Action::Deliver { .. } => "deliver".into(),
            other => format!("{other:?}"),
        };
        actions.iter().map(step).collect()
    };
    assert_eq!(
        steps(&pair.a.actions),
        [
            "log <NOT_ACKED, REQUEST_SENT>",
            "request",
            "log <ACKED, REQUEST_PROCESSING>",
            "log <ACKED, PROCESSED>",
            "deliver"
        ]
    );
    assert_eq!(
        steps(&pair.b.actions),
        [
            "log <NOT_ACKED, REQUEST_RECVD>",
            "ack",
            "run",
            "log <ACKED, HANDLER_STARTED>",
            "log <ACKED, REPLY_SENT>",
            "reply"
        ]
    );
}

#[test]
fn a_lost_frame_of_any_kind_is_mended_and_the_handler_runs_once() {
    for protocol in Protocol::ALL {
        for lost in 0..3 {
            let mut pair = Pair::connected(config(protocol));
            let slot = pair.request(b"abc");
            let mut seen = 0;
            while state(&pair, slot) != InitiatorState::Processed {
                let mut keep = |_: &Vec<u8>| {
                    seen += 1;
                    seen - 1 != lost
                };
                pair.to_b.retain(&mut keep);
                pair.to_a.retain(&mut keep);
                pair.settle_once();
                if pair.to_a.is_empty()
                    && pair.to_b.is_empty()
                    && state(&pair, slot) != InitiatorState::Processed
                {
                    assert!(
                        pair.pass(),
                        "{protocol}, frame {lost}: nothing is waited for"
                    );
                }
            }
            pair.settle();
            assert_eq!(pair.a.reply(slot), b"cba", "{protocol}, frame {lost}");
            assert_eq!(pair.b.runs(), 1, "{protocol}, frame {lost}");
        }
    }
}

#[test]
fn without_a_credit_a_request_is_refused() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let slots: Vec<_> = (0..4).map(|_| pair.request(b"")).collect();
    assert_eq!(
        pair.a.connection.request(0, ECHO, 0),
        Err(RequestError::NoCredit)
    );
    assert_eq!(
        pair.a.connection.request(0, ECHO, 65),
        Err(RequestError::NoCredit)
    );
    pair.settle();
    assert_eq!(pair.a.connection.release(slots[0]), Ok(()));
    assert_eq!(
        pair.a.connection.release(slots[0]),
        Err(SlotError::Empty(slots[0]))
    );
    let too_long = RequestError::TooLong {
        length: 65,
        most: 64,
    };
    assert_eq!(pair.a.connection.request(0, ECHO, 65), Err(too_long));
    assert_eq!(pair.a.connection.request(0, ECHO, 64), Ok(slots[0]));
}

#[test]
fn an_unknown_handler_is_refused_and_never_run() {
    for protocol in Protocol::ALL {
        let mut pair = Pair::connected(config(protocol));
        let slot = pair.a.request(pair.now, ECHO + 1, b"abc", &mut pair.to_b);
        pair.settle();
        assert_eq!(
            state(&pair, slot),
            InitiatorState::AckNotFound,
            "{protocol}"
        );
        assert_eq!(pair.b.runs(), 0);
    }
}

#[test]
fn a_silent_target_leaves_an_unknown_after_k_retransmissions() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let start = pair.now;
    let slot = pair.request(b"abc");
    while state(&pair, slot) == InitiatorState::RequestSent {
        pair.to_b.clear();
        assert!(pair.pass());
    }
    assert_eq!(state(&pair, slot), InitiatorState::RequestRtxExceeded);
    assert_eq!(pair.a.connection.counters().retransmissions, 6);
    // The floor of 1 ms, doubled six times.
    assert_eq!(pair.now - start, 127_000_000);
    assert_eq!(
        pair.a.events,
        [Event::Delivered(slot, InitiatorState::RequestRtxExceeded)]
    );
}

#[test]
fn an_acknowledged_request_whose_target_falls_silent_is_another_unknown() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let slot = pair.request(b"abc");
    pair.deliver();
    while state(&pair, slot) == InitiatorState::RequestProcessing {
        pair.to_b.clear();
        assert!(pair.pass());
    }
    assert_eq!(state(&pair, slot), InitiatorState::ReplyRtxExceeded);
}

#[test]
fn a_slow_handler_is_waited_for_while_its_target_answers() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let slot = pair.request(b"abc");
    pair.deliver();
    let running = pair.b.start(pair.now, &mut pair.to_a).unwrap();
    while pair.now < 3_000_000_000 {
        assert!(pair.pass());
        pair.deliver();
        assert_eq!(state(&pair, slot), InitiatorState::RequestProcessing);
    }
    // The questions double their distance: 12 of them cover 4 s.
    assert!(
        pair.a.connection.counters().pulls <= 12,
        "{:?}",
        pair.a.connection.counters()
    );
    pair.b.finish(pair.now, running, &mut pair.to_a);
    pair.settle();
    assert_eq!(pair.a.reply(slot), b"cba");
}

#[test]
fn a_duplicate_of_an_executed_request_is_answered_from_the_logged_reply() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let slot = pair.request(b"abc");
    let request = pair.to_b[0].clone();
    pair.settle();
    pair.to_b.push(request);
    let Pair {
        b, to_a, to_b, now, ..
    } = &mut pair;
    b.take(*now, &to_b.pop().unwrap(), to_a);
    assert!(matches!(body(&to_a[0]), Body::Reply(_)));
    assert_eq!((b.runs(), b.connection.counters().duplicates), (1, 1));
    pair.a.connection.release(slot).unwrap();
}

#[test]
fn what_the_initiator_has_released_is_stale() {
    let mut pair = Pair::connected(config(Protocol::Amvia));
    let slot = pair.request(b"abc");
    let request = pair.to_b[0].clone();
    pair.settle();
    pair.a.connection.release(slot).unwrap();
    pair.request(b"def");
    pair.settle();
    let Pair { b, to_a, now, .. } = &mut pair;
    b.take(*now, &request, to_a);
    assert!(matches!(
        body(&to_a[0]),
        Body::Nack {
            reason: Reason::Stale,
            ..
        }
    ));
    assert_eq!(b.runs(), 2);
}

#[test]
fn an_acknowledgement_may_ride_on_its_reply() {
    let mut pair = Pair::connected(Config {
        ack_delay: 200_000,
        ..config(Protocol::Amvia)
    });
    let slot = pair.request(b"abc");
    pair.settle();
    assert_eq!(state(&pair, slot), InitiatorState::Processed);
    pair.request(b"abc");
    pair.deliver();
    while pair.to_a.is_empty() {
        assert!(pair.pass());
    }
    assert!(matches!(body(&pair.to_a[0]), Body::Ack { .. }));
    pair.settle();
    let counters = pair.b.connection.counters();
    assert_eq!((counters.acks_riding, counters.acks_alone), (1, 1));
}

#[test]
fn a_handler_over_its_time_is_abandoned_by_both_sides() {
    let mut pair = Pair::connected(Config {
        handler_time: Some(50_000_000),
        ..config(Protocol::Amvia)
    });
    let slot = pair.request(b"abc");
    pair.deliver();
    let running = pair.b.start(pair.now, &mut pair.to_a).unwrap();
    while state(&pair, slot) == InitiatorState::RequestProcessing {
        assert!(pair.pass());
        pair.deliver();
    }
    assert_eq!(state(&pair, slot), InitiatorState::HandlerTimeExceeded);
    let Some(Entry::Received(record)) = pair.b.log.get(&(false, running)) else {
        panic!()
    };
    assert_eq!(record.state, TargetState::HandlerTimeout);
    pair.b.finish(pair.now, running, &mut pair.to_a);
    assert!(pair.to_a.is_empty(), "the late reply is not sent");
}
