//! How two ends come to know each other, and what nobody off the path can do to them.

use jitterlab_amvia::protocol::{Action, Config, Greeting, Local, Protocol, greet, refuse};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState};
use jitterlab_amvia::wire::{Body, Head, Hello, Refusal, Tag, decode};

use super::pair::{Event, Node, Pair, body, local};

fn config() -> Config {
    Config {
        window: 4,
        message: 64,
        ..Config::default()
    }
}

/// What somebody says who pretends to be endpoint 1.
fn forged(pair: &Pair, tag: Tag) -> Hello {
    Hello {
        tag,
        incarnation: Incarnation(9),
        since: Incarnation(9),
        ..*pair.b.connection.hello().unwrap()
    }
}

#[test]
fn both_may_connect_at_once() {
    let mut pair = Pair::new(config());
    pair.a.connection.connect(0);
    pair.b.connection.connect(0);
    let Pair {
        a, b, to_a, to_b, ..
    } = &mut pair;
    a.act(to_b);
    b.act(to_a);
    pair.settle();
    for node in [&pair.a, &pair.b] {
        assert_eq!(node.events, [Event::Connected(Incarnation(1))]);
    }
    let slot = pair.request(b"abc");
    pair.settle();
    assert_eq!(
        pair.a.connection.state(slot),
        Some(InitiatorState::Processed)
    );
}

#[test]
fn a_stranger_gets_an_answer_and_leaves_no_trace() {
    let local = local(2, 1, 1);
    let mut a = Node::new(&config(), super::pair::local(1, 1, 1), 2);
    let mut frames = Vec::new();
    a.connection.connect(0);
    a.act(&mut frames);
    let (connect, _) = decode(&frames[0]).unwrap();
    let Greeting::Answer(accept) = greet(&local, &config(), &connect) else {
        panic!("it is not answered")
    };
    assert!(matches!(accept.body, Body::Accept(_)));
    a.connection.frame(0, &accept, true, &mut a.shared);
    frames.clear();
    a.act(&mut frames);
    // With the tag that only who got the answer can know.
    let (again, _) = decode(&frames[0]).unwrap();
    assert_eq!(greet(&local, &config(), &again), Greeting::Welcome);
    let other = Config {
        protocol: Protocol::TwoWay,
        ..config()
    };
    let refused = Head {
        tag: super::pair::local(1, 1, 1).tag,
        ..accept
    };
    let refused = Head {
        body: Body::Refuse {
            reason: Refusal::Protocol,
        },
        ..refused
    };
    assert_eq!(greet(&local, &other, &connect), Greeting::Answer(refused));
    assert_eq!(greet(&local, &config(), &accept), Greeting::Ignore);
    let nobody = refuse(EndpointId(2), &connect, Refusal::NoEndpoint).unwrap();
    assert_eq!(
        nobody.body,
        Body::Refuse {
            reason: Refusal::NoEndpoint
        }
    );
    assert_eq!(refuse(EndpointId(2), &accept, Refusal::NoEndpoint), None);
}

#[test]
fn a_forged_connect_changes_nothing() {
    let mut pair = Pair::connected(config());
    let hello = forged(&pair, Tag(77));
    for tag in [Tag::UNKNOWN, Tag(5)] {
        let head = Head {
            tag,
            from: EndpointId(1),
            body: Body::Connect(Hello {
                to: EndpointId(2),
                ..hello
            }),
        };
        pair.b
            .connection
            .frame(pair.now, &head, true, &mut pair.b.shared);
    }
    pair.b.act(&mut pair.to_a);
    // The answers go out under the forger's tag, to the address of endpoint 1, which drops them.
    assert_eq!(pair.to_a.len(), 2);
    pair.settle();
    assert_eq!(pair.a.connection.counters().wrong_tag, 2);
    let slot = pair.request(b"abc");
    pair.settle();
    assert_eq!(
        pair.a.connection.state(slot),
        Some(InitiatorState::Processed)
    );
}

#[test]
fn frames_with_a_wrong_tag_are_counted_and_dropped() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    let (head, _) = decode(&pair.to_b[0]).unwrap();
    let wrong = Head {
        tag: Tag(head.tag.0 + 1),
        ..head
    };
    let other = Head {
        from: EndpointId(3),
        ..head
    };
    for head in [wrong, other] {
        assert_eq!(
            pair.b
                .connection
                .frame(pair.now, &head, true, &mut pair.b.shared),
            None
        );
        assert_eq!(pair.b.connection.next(), None);
    }
    assert_eq!(pair.b.connection.counters().wrong_tag, 2);
    pair.settle();
    assert_eq!(
        pair.a.connection.state(slot),
        Some(InitiatorState::Processed)
    );
}

#[test]
fn a_peer_with_other_choices_is_refused() {
    let others = [
        (
            Config {
                protocol: Protocol::TwoWay,
                ..config()
            },
            Refusal::Protocol,
        ),
        (
            Config {
                window: 5,
                ..config()
            },
            Refusal::Window,
        ),
    ];
    for (other, reason) in others {
        let mut pair = Pair::new(config());
        pair.b = Node::new(&other, local(2, 1, 1), 1);
        let slot = pair.request(b"abc");
        pair.settle();
        let refusals = |action: &&Action| matches!(**action, Action::Unreachable { refusal: Some(given) } if given == reason);
        assert_eq!(
            pair.a.actions.iter().filter(refusals).count(),
            1,
            "{reason}"
        );
        assert_eq!(
            pair.a.connection.state(slot),
            Some(InitiatorState::NotRun),
            "it was never sent"
        );
    }
}

/// The peer that it knows is away, and then there again as it was: each attempt to connect ends, and the next begins anew.
#[test]
fn a_known_peer_that_could_not_be_reached_is_tried_again() {
    let mut pair = Pair::connected(config());
    let refuse = |pair: &Pair| Head {
        tag: pair.a.connection.local().tag,
        from: EndpointId(2),
        body: Body::Refuse {
            reason: Refusal::Full,
        },
    };
    let head = refuse(&pair);
    let Pair { a, to_b, now, .. } = &mut pair;
    a.connection.frame(*now, &head, true, &mut a.shared);
    a.act(to_b);
    a.connection.connect(*now);
    a.act(to_b);
    assert_eq!(pair.a.events, [Event::Unreachable]);
    while pair.a.events.len() < 2 {
        pair.to_b.clear();
        assert!(pair.pass(), "nothing is waited for");
    }
    pair.a.connection.connect(pair.now);
    pair.a.act(&mut pair.to_b);
    pair.settle();
    let reached = Event::Connected(Incarnation(1));
    assert_eq!(
        pair.a.events,
        [Event::Unreachable, Event::Unreachable, reached]
    );
    let slot = pair.request(b"abc");
    pair.settle();
    assert_eq!(
        pair.a.connection.state(slot),
        Some(InitiatorState::Processed)
    );
}

#[test]
fn an_old_life_of_an_endpoint_is_refused() {
    let mut pair = Pair::connected(config());
    pair.restart_a(2, 1);
    pair.a.connection.connect(pair.now);
    pair.a.act(&mut pair.to_b);
    pair.settle();
    pair.a = Node::new(&config(), local(1, 1, 1), 2);
    pair.a.connection.connect(pair.now);
    pair.a.act(&mut pair.to_b);
    pair.settle();
    let is_refused = |action: &Action| {
        matches!(
            action,
            Action::Unreachable {
                refusal: Some(Refusal::OldIncarnation)
            }
        )
    };
    assert!(pair.a.actions.iter().any(is_refused));
    assert_eq!(pair.a.connection.hello(), None);
}

/// A life draws its tag once: another tag is another endpoint of the same name.
#[test]
fn another_endpoint_of_one_name_and_incarnation_is_refused() {
    let mut pair = Pair::connected(config());
    let twin = Local {
        tag: Tag(77),
        ..local(1, 1, 1)
    };
    pair.a = Node::new(&config(), twin, 2);
    pair.a.connection.connect(pair.now);
    pair.a.act(&mut pair.to_b);
    pair.settle();
    let is_refused = |action: &Action| {
        matches!(
            action,
            Action::Unreachable {
                refusal: Some(Refusal::NameInUse)
            }
        )
    };
    assert!(pair.a.actions.iter().any(is_refused));
    assert_eq!(pair.a.connection.hello(), None);
}

#[test]
fn nobody_there_is_noticed_and_what_was_never_sent_is_not_run() {
    let mut pair = Pair::new(config());
    let slot = pair.request(b"abc");
    while pair.a.events.is_empty() {
        pair.to_b.clear();
        assert!(pair.pass());
    }
    assert_eq!(
        pair.a.events,
        [
            Event::Unreachable,
            Event::Delivered(slot, InitiatorState::NotRun)
        ]
    );
    // The first timeout of 100 ms, doubled up to the ceiling of 1 s.
    assert_eq!(pair.now, 100_000_000 * (1 + 2 + 4 + 8) + 3 * 1_000_000_000);
    pair.a.connection.release(slot).unwrap();
    let next = pair.request(b"def");
    pair.settle();
    assert_eq!(
        pair.a.connection.state(next),
        Some(InitiatorState::Processed)
    );
}

#[test]
fn the_smaller_frame_of_both_ends_counts() {
    let mut pair = Pair::new(Config {
        message: 4_000,
        ..config()
    });
    pair.b = Node::new(
        &Config {
            message: 4_000,
            mtu: 500,
            ..config()
        },
        local(2, 1, 1),
        1,
    );
    let slot = pair.request(&[7; 4_000]);
    pair.settle();
    assert_eq!(pair.a.reply(slot), [7; 4_000]);
    let parts = pair.a.actions.iter().filter(|action| matches!(action, Action::Send { head, .. } if matches!(head.body, Body::Request(_))));
    assert_eq!(parts.count(), 4_000_usize.div_ceil(500 - 72));
}

#[test]
fn a_lease_that_ends_is_told_once_and_not_while_something_is_under_way() {
    let mut pair = Pair::connected(Config {
        lease: 10_000_000_000,
        ..config()
    });
    let slot = pair.request(b"abc");
    pair.settle();
    let forgotten = |node: &Node| {
        node.events
            .iter()
            .filter(|event| **event == Event::Forgot)
            .count()
    };
    for second in 1..60 {
        let now = pair.now + second * 1_000_000_000;
        pair.a.expire(now, &mut pair.to_b);
        pair.b.expire(now, &mut pair.to_a);
    }
    assert_eq!(
        (forgotten(&pair.a), forgotten(&pair.b)),
        (0, 1),
        "a transaction of a's is not released"
    );
    pair.a.connection.release(slot).unwrap();
    pair.a.expire(pair.now + 80_000_000_000, &mut pair.to_b);
    assert_eq!(forgotten(&pair.a), 1);
}

#[test]
fn who_comes_back_after_its_lease_is_not_run_again() {
    let mut pair = Pair::connected(config());
    let slot = pair.request(b"abc");
    pair.deliver();
    pair.b.run(pair.now, &mut pair.to_a);
    pair.to_a.clear();
    // b has let a go, and has taken a new incarnation for that.
    pair.b = Node::new(&config(), local(2, 2, 2), 1);
    while pair.a.connection.state(slot) != Some(InitiatorState::Indeterminate) {
        pair.settle();
        assert!(
            pair.pass() || pair.a.connection.state(slot) == Some(InitiatorState::Indeterminate)
        );
    }
    assert_eq!(pair.b.runs(), 0);
    assert!(
        pair.to_a
            .iter()
            .all(|frame| !matches!(body(frame), Body::Reply(_)))
    );
}
