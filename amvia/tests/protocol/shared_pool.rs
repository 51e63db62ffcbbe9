//! AMUDP: one pool of replies for all peers, freed by the acknowledgement of the reply.

use jitterlab_amvia::protocol::{Config, Protocol, ReplyPool};
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::wire::{Body, Reason};

use super::pair::{Pair, body};

fn config() -> Config {
    Config {
        protocol: Protocol::Amudp,
        window: 4,
        message: 64,
        ..Config::default()
    }
}

#[test]
fn the_acknowledgement_of_the_reply_frees_its_buffer() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    assert_eq!(pair.b.shared.used(), 1);
    pair.settle();
    assert_eq!(
        pair.a.connection.state(slot),
        Some(InitiatorState::Processed)
    );
    assert_eq!(pair.b.shared.used(), 0);
}

#[test]
fn a_duplicate_of_what_is_freed_does_not_run_again() {
    let mut pair = Pair::connected(config());
    pair.request(b"abc");
    let request = pair.to_b[0].clone();
    pair.settle();
    let Pair { b, to_a, now, .. } = &mut pair;
    b.take(*now, &request, to_a);
    assert!(matches!(
        body(&to_a[0]),
        Body::Nack {
            reason: Reason::ReplyGone,
            ..
        }
    ));
    assert_eq!((b.runs(), b.shared.used()), (1, 0));
}

#[test]
fn a_lost_acknowledgement_is_asked_for_by_the_reply_itself() {
    let mut pair = Pair::connected(config());
    pair.request(b"abc");
    pair.deliver();
    pair.b.run(pair.now, &mut pair.to_a);
    let reply = pair.to_a.pop().unwrap();
    pair.a.take(pair.now, &reply, &mut pair.to_b);
    pair.to_b.clear();
    while pair.b.shared.used() > 0 {
        assert!(pair.pass());
        pair.settle();
    }
    assert_eq!(pair.b.runs(), 1);
}

#[test]
fn an_initiator_that_is_gone_does_not_keep_a_buffer() {
    let mut pair = Pair::connected(config());
    pair.request(b"abc");
    pair.deliver();
    pair.b.run(pair.now, &mut pair.to_a);
    while pair.b.shared.used() > 0 {
        pair.to_a.clear();
        pair.to_b.clear();
        assert!(pair.pass());
    }
}

#[test]
fn a_full_pool_makes_a_request_wait_for_a_buffer() {
    let mut pair = Pair::connected(config());
    pair.b.shared = ReplyPool::shared(1, &pair.config);
    let slots = [pair.request(b"abc"), pair.request(b"def")];
    pair.deliver();
    assert_eq!(pair.b.connection.counters().no_room, 1);
    for _ in 0..20 {
        pair.settle();
        pair.pass();
    }
    for slot in slots {
        assert_eq!(
            pair.a.connection.state(slot),
            Some(InitiatorState::Processed)
        );
    }
    assert_eq!(pair.b.runs(), 2);
}
