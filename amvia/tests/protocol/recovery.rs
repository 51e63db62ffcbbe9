//! Either side is killed and comes back from its log.

use super::pair::{Event, Node, Pair, local};
use jitterlab_amvia::protocol::{Config, Protocol, Slot};
use jitterlab_amvia::transaction::InitiatorState;

fn config() -> Config {
    Config {
        protocol: Protocol::Amvia,
        window: 4,
        message: 64,
        ..Config::default()
    }
}

fn state(pair: &Pair, slot: Slot) -> InitiatorState {
    pair.a.connection.state(slot).unwrap()
}

fn until(pair: &mut Pair, slot: Slot, wanted: InitiatorState) {
    for _ in 0..100 {
        pair.settle();
        if state(pair, slot) == wanted {
            return;
        }
        assert!(pair.pass());
    }
    panic!("{} instead of {wanted}", state(pair, slot));
}

#[test]
fn a_target_that_was_killed_before_the_handler_started_runs_it_once_when_asked_again() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    pair.restart_b(2, 1);
    pair.deliver();
    assert_eq!(pair.b.runs(), 0, "nobody has asked yet");
    until(&mut pair, slot, InitiatorState::Processed);
    assert_eq!((pair.b.runs(), pair.a.reply(slot)), (1, &b"cba"[..]));
    assert!(pair.a.connection.counters().renewals > 0);
}

#[test]
fn a_target_that_was_killed_while_the_handler_ran_leaves_it_indeterminate() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    pair.b.start(pair.now, &mut pair.to_a).unwrap();
    pair.restart_b(2, 1);
    until(&mut pair, slot, InitiatorState::Indeterminate);
    assert_eq!(pair.b.runs(), 0, "it is not run a second time");
}

#[test]
fn a_target_that_was_killed_after_the_handler_answers_from_its_log() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    pair.b.run(pair.now, &mut pair.to_a);
    pair.restart_b(2, 1);
    until(&mut pair, slot, InitiatorState::Processed);
    assert_eq!((pair.b.runs(), pair.a.reply(slot)), (0, &b"cba"[..]));
}

#[test]
fn a_target_without_a_log_makes_what_was_under_way_indeterminate() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    pair.restart_b(2, 2);
    pair.b.log.clear();
    until(&mut pair, slot, InitiatorState::Indeterminate);
    assert_eq!(pair.b.runs(), 0);
    let next = pair.request(b"def");
    until(&mut pair, next, InitiatorState::Processed);
}

#[test]
fn an_unknown_is_resolved_by_asking_once_the_target_is_back() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    pair.b.run(pair.now, &mut pair.to_a);
    pair.to_a.clear();
    while !state(&pair, slot).is_unknown() {
        pair.to_b.clear();
        assert!(pair.pass());
    }
    // The target is still away: the answer to the question is that nothing is known.
    pair.a.events.clear();
    let Pair { a, to_b, now, .. } = &mut pair;
    a.connection.ask(*now, slot).unwrap();
    a.act(to_b);
    while pair.a.events.is_empty() {
        pair.to_b.clear();
        assert!(pair.pass());
    }
    assert_eq!(
        pair.a.events,
        [Event::Delivered(slot, InitiatorState::ReplyRtxExceeded)]
    );
    pair.restart_b(2, 1);
    let Pair { a, to_b, now, .. } = &mut pair;
    a.connection.ask(*now, slot).unwrap();
    a.act(to_b);
    until(&mut pair, slot, InitiatorState::Processed);
    assert_eq!(pair.a.reply(slot), b"cba");
}

#[test]
fn a_question_about_what_never_came_is_answered_not_run_and_a_late_duplicate_does_not_run_it() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    let request = pair.to_b[0].clone();
    while !state(&pair, slot).is_unknown() {
        pair.to_b.clear();
        assert!(pair.pass());
    }
    let Pair { a, to_b, now, .. } = &mut pair;
    a.connection.ask(*now, slot).unwrap();
    a.act(to_b);
    until(&mut pair, slot, InitiatorState::NotRun);
    pair.to_b.push(request.clone());
    pair.settle();
    // The tombstone outlives the process.
    pair.restart_b(2, 1);
    pair.a.connection.connect(pair.now);
    pair.to_b.push(request);
    pair.settle();
    assert_eq!(pair.b.runs(), 0);
}

#[test]
fn an_initiator_that_was_killed_goes_on_under_its_old_number() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    let id = pair.a.connection.record(slot).unwrap().id;
    pair.deliver();
    pair.b.run(pair.now, &mut pair.to_a);
    pair.to_a.clear();
    pair.restart_a(2, 1);
    pair.a.connection.connect(pair.now);
    pair.a.act(&mut pair.to_b);
    until(&mut pair, slot, InitiatorState::Processed);
    assert_eq!(pair.a.connection.record(slot).unwrap().id, id);
    assert_eq!(pair.b.runs(), 1);
    let next = pair.request(b"def");
    until(&mut pair, next, InitiatorState::Processed);
    let next = pair.a.connection.record(next).unwrap().id;
    assert_eq!((next.incarnation.0, next.sequence), (2, id.sequence + 1));
}

#[test]
fn an_initiator_without_a_log_begins_anew() {
    let mut pair = Pair::connected(config());
    for _ in 0..3 {
        pair.request(b"abc");
    }
    pair.settle();
    let late = pair.request(b"late");
    let late = (late, pair.to_b.pop().unwrap());
    pair.a.log.clear();
    pair.restart_a(2, 2);
    pair.a.connection.connect(pair.now);
    pair.a.act(&mut pair.to_b);
    pair.settle();
    let slots: Vec<_> = (0..4).map(|_| pair.request(b"def")).collect();
    pair.to_b.push(late.1);
    for slot in slots {
        until(&mut pair, slot, InitiatorState::Processed);
    }
    assert_eq!(
        pair.b.runs(),
        7,
        "the request of the forgotten life does not run"
    );
}

#[test]
fn what_ended_before_the_kill_is_delivered_once_more() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.settle();
    pair.restart_a(2, 1);
    assert_eq!(
        pair.a.events,
        [Event::Delivered(slot, InitiatorState::Processed)]
    );
    assert_eq!(pair.a.reply(slot), b"cba");
    pair.a.connection.release(slot).unwrap();
    pair.a.act(&mut pair.to_b);
    pair.restart_a(3, 1);
    assert_eq!(pair.a.events, []);
    let next = pair.request(b"def");
    until(&mut pair, next, InitiatorState::Processed);
    assert_eq!(pair.a.connection.record(next).unwrap().id.sequence, 2);
}

/// The initiator comes back while its handler runs, and takes shorter messages than before.
#[test]
fn a_reply_that_has_grown_too_long_frees_its_slot_and_says_that_the_handler_has_run() {
    let shorter = Config {
        message: 4,
        ..config()
    };
    // It remembers its request, as none with a log does, or it does not.
    for since in [1, 2] {
        let mut pair = Pair::connected(config());
        let slot = pair.request(b"longer than that");
        pair.deliver();
        let running = pair.b.start(pair.now, &mut pair.to_a).unwrap();
        let old = std::mem::replace(&mut pair.a, Node::new(&shorter, local(1, 2, since), 2));
        if since == 1 {
            pair.a = old.restarted(&shorter, local(1, 2, since), pair.now);
        }
        pair.a.connection.connect(pair.now);
        pair.a.act(&mut pair.to_b);
        pair.deliver();
        pair.b.finish(pair.now, running, &mut pair.to_a);
        if since == 1 {
            until(&mut pair, slot, InitiatorState::ReplyGone);
            pair.a.connection.release(slot).unwrap();
        }
        for _ in 0..2 * pair.config.window {
            let next = pair.request(b"abc");
            until(&mut pair, next, InitiatorState::Processed);
            pair.a.connection.release(next).unwrap();
        }
    }
}
