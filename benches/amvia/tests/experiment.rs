//! The experiment: two endpoints with faults between them, held against the model.

#[path = "../../packet/tests/common/mod.rs"]
mod kept;

use jitterlab_amvia_suite::Protocol;
use jitterlab_amvia_suite::performability::{
    ASSUMED, Asked, Assumed, Comparison, Component, Failing, Failures, LOSSES, Length, Losses,
    Over, Report, Row, Trial, fixed, measure, stages,
};
use jitterlab_base::input::OfInput;
use jitterlab_packet::transport::Transport;
use kept::assert_kept;

const MS: u64 = 1_000_000;
/// Transactions of a trial.
const TRANSACTIONS: u64 = 2_000;
/// The transports that every machine has.
const TRANSPORTS: [Transport; 2] = [Transport::Udp, Transport::Shm];

fn row(protocol: Protocol, transport: Transport, failing: Failing) -> Row {
    let comparison = Comparison {
        protocol,
        over: Over::of(transport),
        timeout: MS,
        payload: 32,
        simulated: 20_000,
        measured: 8_000,
        seed: 1,
    };
    comparison.row(failing).unwrap()
}

#[test]
fn every_loss_is_counted_and_costs_a_timeout() {
    for transport in TRANSPORTS {
        for protocol in Protocol::ALL {
            let config = fixed(protocol, MS);
            let attempts = 1 + u64::from(config.request_retransmissions);
            let measured = measure(&Trial {
                config,
                over: Over::of(transport),
                faults: "ber=1e-4".parse().unwrap(),
                payload: 32,
                length: Length::Transactions(TRANSACTIONS),
            })
            .unwrap();
            assert_eq!(measured.transactions(), TRANSACTIONS);
            // What was sent last may not have arrived. A machine that stops one end for long fills the queue to it: a frame
            // without room there is dropped, and its transaction abandoned.
            let lost = measured.losses;
            let unseen = 20 + attempts * measured.abandoned;
            assert!(
                measured.refused <= lost && measured.refused + unseen > lost,
                "{transport} {protocol}: {measured:?}"
            );
            // A loaded machine disturbs more, and for longer; nothing disturbs less.
            let Losses { request, reply, .. } = Losses::of(&Failures::of_bits(1e-4), 32);
            let expected = TRANSACTIONS as f64 * (request + reply - request * reply);
            let disturbed = measured.disturbed.n() as f64;
            assert!(disturbed > expected - 5.0 * expected.sqrt(), "{measured:?}");
            let mean = measured.disturbed.mean().unwrap();
            assert!(mean > MS as f64 && measured.excess() > 0.0, "{measured:?}");
            assert!(measured.lasted > measured.excess(), "{measured:?}");
        }
    }
}

#[test]
fn a_trial_ends_with_its_time() {
    let time = 20.0 * MS as f64;
    let measured = measure(&Trial {
        config: fixed(Protocol::TwoWay, MS),
        over: Over::of(Transport::Shm),
        faults: "seed=1".parse().unwrap(),
        payload: 32,
        length: Length::Time(time),
    })
    .unwrap();
    assert!(measured.lasted >= time && measured.losses == 0);
}

#[test]
fn what_loses_too_few_frames_is_not_measurable() {
    let often = row(Protocol::TwoWay, Transport::Udp, Failing::bits(1e-4));
    assert!(often.losses > LOSSES && often.experiment_ns.is_some());
    assert!(often.model_holds(), "{often:?}");
    let seldom = row(Protocol::TwoWay, Transport::Udp, Failing::bits(1e-9));
    assert!(seldom.losses < 10 && seldom.experiment_ns.is_none());
    assert_eq!(seldom.agrees(), None);
}

#[test]
fn components_that_lose_frames_are_measured_and_a_handler_that_fails_is_not() {
    let of = |component| {
        let failing = Failing {
            component: Some(component),
            chance: 0.05,
        };
        row(Protocol::Amvia, Transport::Shm, failing)
    };
    let nic = of(Component::Nic);
    assert!(nic.model_holds() && nic.experiment_ns.is_some(), "{nic:?}");
    // Nothing comes damaged: it does not come.
    assert!(nic.losses > LOSSES && nic.detected == 0, "{nic:?}");
    let application = of(Component::Application);
    assert!(application.model_holds(), "{application:?}");
    assert_eq!((application.losses, application.experiment_ns), (0, None));
    assert!(application.model_ns > 0.0);
}

#[test]
fn stages_add_up_to_the_round_trip_without_timers() {
    for transport in TRANSPORTS {
        let (costs, list) = stages(&Over::of(transport), 32).unwrap();
        assert_eq!(list.len(), Component::ALL.len());
        assert!(
            list.iter()
                .all(|stage| stage.send_ns >= 0.0 && stage.receive_ns >= 0.0)
        );
        let sum: f64 = list
            .iter()
            .map(|stage| stage.send_ns + stage.receive_ns)
            .sum();
        assert!(
            (sum - costs.alone() - costs.handler).abs() < 1e-6,
            "{list:?}"
        );
        assert_eq!(costs.send.kernel > 0.0, transport == Transport::Udp);
    }
}

#[test]
fn a_report_has_a_number_for_each_assumption() {
    let told = |repair_s| Assumed {
        name: "as told",
        failures: Failures::of_bits(1e-6),
        up_s: 60.0,
        repair_s,
    };
    let report = |protocol| {
        let asked = Asked {
            over: Over::of(Transport::Shm),
            protocol,
            failing: vec![Failing::bits(1e-4)],
            assumed: vec![told(0.0), told(3.0)],
            timeout: MS,
            payload: 32,
            simulated: 2_000,
            measured: 1_000,
            seed: 1,
        };
        assert!(asked.seconds() > 1.0);
        Report::of(&asked).unwrap()
    };
    let two_way = report(Protocol::TwoWay);
    assert_kept(&two_way);
    assert_eq!((two_way.excess.len(), two_way.stages.len()), (1, 6));
    assert_eq!(two_way.performability.len(), ASSUMED.len() + 2);
    for found in &two_way.performability {
        assert!(found.performability <= found.throughput && found.availability < 1.0);
    }
    // A target that is gone is known sooner with an acknowledgement; what is repaired takes longer than what is replaced.
    let amvia = report(Protocol::Amvia);
    let [.., spare, repaired] = &amvia.performability[..] else {
        panic!("{amvia:?}");
    };
    let [.., other, _] = &two_way.performability[..] else {
        panic!("{two_way:?}");
    };
    assert!(spare.availability > other.availability);
    assert!(
        (repaired.availability - 60.0 / 63.0).abs() < 1e-4,
        "{repaired:?}"
    );
    // One at a time waits for nobody else.
    let alone = two_way.throughput[0];
    assert_eq!((alone.failing, alone.outstanding), (Failing::bits(0.0), 1));
    assert!(alone.error().abs() < 0.05, "{alone:?}");
}

#[test]
fn active_messages_do_not_go_over_tcp() {
    let refused = stages(&Over::of(Transport::Tcp), 32).unwrap_err();
    assert!(refused.is_of_input(), "{refused}");
}
