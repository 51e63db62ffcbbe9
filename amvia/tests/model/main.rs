//! A model checker drives the production machines of both ends through all that a network and kills can do to them.
//!
//! Each test tries every order of everything that its scenario allows: each frame arrives at any time, twice, or never; each
//! time-out comes at any time; a node is killed between any two steps that it makes. No run is without an end: each
//! retransmission counts, and the exploration comes to its end.

mod node;
mod properties;
mod world;

use jitterlab_amvia::protocol::Protocol;
use jitterlab_amvia::transaction::InitiatorState::{self, *};
use stateright::{Checker, Model};
use world::{Fault, Scenario};

/// Tries all runs of a scenario: each property must hold in each state, and each state of `reaches` must be found.
fn check(name: &str, mut scenario: Scenario, reaches: &[InitiatorState]) {
    scenario.reaches.extend(reaches);
    let checker = scenario.checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} states, at most {} steps",
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
}

/// Finds out that something is wrong.
fn convict(mut scenario: Scenario, property: &'static str) {
    scenario.only = Some(property);
    let checker = scenario.checker().threads(2).spawn_bfs().join();
    println!(
        "{property}: not so, seen after {} states",
        checker.unique_state_count()
    );
    checker.assert_any_discovery(property);
}

fn retries(k: u16, mut scenario: Scenario) -> Scenario {
    scenario.config.request_retransmissions = k;
    scenario.config.reply_retransmissions = k;
    scenario
}

fn target_killed(protocol: Protocol) -> Scenario {
    let target_keeps_log = protocol != Protocol::Amudp;
    retries(
        2,
        Scenario {
            crashes: [1, 0],
            duplicates: 0,
            asks: 0,
            target_keeps_log,
            ..Scenario::new(protocol)
        },
    )
}

fn initiator_killed(protocol: Protocol) -> Scenario {
    Scenario {
        crashes: [0, 1],
        capacity: 2,
        duplicates: 0,
        asks: 0,
        ..Scenario::new(protocol)
    }
}

#[test]
fn one_request_and_the_question_what_became_of_it() {
    for protocol in Protocol::ALL {
        check(
            &format!("{protocol}, one request"),
            Scenario::new(protocol),
            &[RequestRtxExceeded, NotRun],
        );
    }
}

#[test]
fn two_requests_one_after_the_other_and_at_once() {
    for protocol in Protocol::ALL {
        let mut scenario = Scenario {
            requests: 2,
            capacity: 2,
            asks: 0,
            ..Scenario::new(protocol)
        };
        check(
            &format!("{protocol}, two requests"),
            scenario.clone(),
            &[RequestRtxExceeded],
        );
        (scenario.config.window, scenario.duplicates) = (2, 0);
        check(
            &format!("{protocol}, two requests at once"),
            scenario,
            &[RequestRtxExceeded],
        );
    }
}

#[test]
fn a_message_in_two_segments() {
    for protocol in Protocol::ALL {
        let mut scenario = Scenario {
            length: 100,
            asks: 0,
            capacity: 2,
            duplicates: 0,
            ..Scenario::new(protocol)
        };
        (scenario.config.mtu, scenario.config.message) = (128, 100);
        check(
            &format!("{protocol}, two segments"),
            scenario,
            &[RequestRtxExceeded, ReplyRtxExceeded],
        );
    }
}

#[test]
fn a_reply_that_amudp_has_freed() {
    let scenario = Scenario {
        asks: 0,
        ..retries(2, Scenario::new(Protocol::Amudp))
    };
    check(
        "amudp, reply freed",
        scenario,
        &[RequestRtxExceeded, ReplyGone],
    );
}

#[test]
fn a_request_without_a_handler() {
    for protocol in Protocol::ALL {
        let scenario = Scenario {
            unknown_handler: true,
            reaches: vec![],
            ..Scenario::new(protocol)
        };
        check(
            &format!("{protocol}, no handler"),
            scenario,
            &[AckNotFound, RequestRtxExceeded],
        );
    }
}

#[test]
fn an_acknowledgement_that_rides_on_its_reply() {
    let mut scenario = Scenario::new(Protocol::Amvia);
    scenario.config.ack_delay = 1;
    check("amvia, riding", scenario, &[RequestRtxExceeded]);
}

#[test]
fn a_slow_handler_and_its_time_limit() {
    let mut scenario = Scenario {
        slow: true,
        timeouts: 4,
        duplicates: 0,
        ..Scenario::new(Protocol::Amvia)
    };
    check(
        "amvia, slow handler",
        scenario.clone(),
        &[RequestRtxExceeded, ReplyRtxExceeded],
    );
    scenario.config.handler_time = Some(0);
    check("amvia, handler time", scenario, &[HandlerTimeExceeded]);
}

#[test]
fn a_target_that_is_killed() {
    for protocol in Protocol::ALL {
        check(
            &format!("{protocol}, target killed"),
            target_killed(protocol),
            &[Indeterminate],
        );
    }
    let scenario = Scenario {
        target_keeps_log: false,
        ..target_killed(Protocol::Amvia)
    };
    check(
        "amvia, target killed without a log",
        scenario,
        &[Indeterminate],
    );
}

#[test]
fn a_target_that_is_killed_while_its_handler_runs() {
    let mut scenario = Scenario {
        slow: true,
        timeouts: 5,
        capacity: 2,
        asks: 1,
        ..target_killed(Protocol::Amvia)
    };
    scenario = retries(1, scenario);
    check(
        "amvia, target killed in a slow handler",
        scenario,
        &[RequestRtxExceeded, ReplyRtxExceeded, NotRun],
    );
}

#[test]
fn both_are_killed() {
    let scenario = Scenario {
        crashes: [1, 1],
        ..initiator_killed(Protocol::Amvia)
    };
    check("amvia, both killed", scenario, &[RequestRtxExceeded]);
}

#[test]
fn an_initiator_that_is_killed() {
    for protocol in Protocol::ALL {
        check(
            &format!("{protocol}, initiator killed"),
            initiator_killed(protocol),
            &[RequestRtxExceeded],
        );
    }
}

#[test]
fn two_initiators_of_one_target() {
    for protocol in Protocol::ALL {
        let scenario = Scenario {
            initiators: 2,
            capacity: 2,
            duplicates: 0,
            asks: 0,
            ..Scenario::new(protocol)
        };
        check(
            &format!("{protocol}, two initiators"),
            scenario,
            &[RequestRtxExceeded],
        );
    }
}

/// An honest initiator is never told that the target has freed its record: that is part of `TRUE`, in all other scenarios.
#[test]
fn an_initiator_that_recovers_from_an_old_copy_of_its_log_is_told_so() {
    let scenario = Scenario {
        requests: 2,
        fault: Fault::OldLog,
        only: Some("Stale"),
        ..initiator_killed(Protocol::Amvia)
    };
    check("amvia, old copy of the log", scenario, &[Stale]);
}

#[test]
fn one_bit_of_the_sequence_is_not_enough() {
    let scenario = Scenario {
        requests: 3,
        asks: 0,
        fault: Fault::OneBit,
        ..Scenario::new(Protocol::Amvia)
    };
    convict(scenario, properties::ONCE);
}

#[test]
fn a_log_entry_must_not_go_when_the_reply_has_been_sent() {
    convict(
        Scenario {
            fault: Fault::FreedEarly,
            ..target_killed(Protocol::Amvia)
        },
        properties::ONCE,
    );
}

#[test]
fn an_acknowledgement_must_not_go_before_the_log() {
    convict(
        Scenario {
            fault: Fault::SendBeforeLog,
            ..target_killed(Protocol::Amvia)
        },
        properties::LOGGED,
    );
}

#[test]
fn a_recovered_request_must_not_go_under_the_new_incarnation() {
    convict(
        Scenario {
            fault: Fault::NewIncarnation,
            ..initiator_killed(Protocol::Amvia)
        },
        properties::ONCE,
    );
}
