//! The experiment: two endpoints with faults between them, held against the model.

use jitterlab_amvia::protocol::Protocol;
use jitterlab_amvia_suite::performability::{
    ASSUMED, Asked, Carrier, Comparison, Component, Failures, LOSSES, Losses, Report, Trial, fixed,
    measure, stages,
};

const MS: u64 = 1_000_000;

fn comparison(protocol: Protocol, carrier: Carrier) -> Comparison {
    Comparison {
        config: fixed(protocol, MS),
        carrier,
        payload: 32,
        simulated: 20_000,
        measured: 8_000,
        seed: 1,
    }
}

#[test]
fn every_loss_is_counted_and_costs_a_timeout() {
    for carrier in Carrier::ALL {
        for protocol in Protocol::ALL {
            let measured = measure(&Trial {
                config: fixed(protocol, MS),
                carrier,
                faults: "ber=1e-4".parse().unwrap(),
                payload: 32,
                transactions: 5_000,
            })
            .unwrap();
            // What was sent last may not have arrived.
            let lost = measured.losses;
            assert!(
                measured.refused <= lost && measured.refused + 20 > lost,
                "{measured:?}"
            );
            // A loaded machine disturbs more, and for longer; nothing disturbs less.
            let Losses { request, reply, .. } = Losses::of(&Failures::of_bits(1e-4), 32);
            let expected = 5_000.0 * (request + reply - request * reply);
            let disturbed = measured.disturbed.n() as f64;
            assert!(disturbed > expected - 5.0 * expected.sqrt(), "{measured:?}");
            let mean = measured.disturbed.mean().unwrap();
            assert!(mean > MS as f64 && measured.excess() > 0.0, "{measured:?}");
        }
    }
}

#[test]
fn what_loses_too_few_frames_is_not_measurable() {
    let comparison = comparison(Protocol::TwoWay, Carrier::Udp);
    let rows = comparison.rows(&[1e-4, 1e-9]).unwrap();
    assert!(rows[0].losses > LOSSES && rows[0].experiment_ns.is_some());
    assert!(rows[1].losses < 10 && rows[1].experiment_ns.is_none());
    assert_eq!(rows[1].agrees(), None);
    assert!(rows[0].model_holds(), "{rows:?}");
}

#[test]
fn stages_add_up_to_the_round_trip_without_timers() {
    for carrier in Carrier::ALL {
        let (costs, list) = stages(carrier, 32).unwrap();
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
        assert_eq!(costs.send.kernel > 0.0, carrier == Carrier::Udp);
    }
}

#[test]
fn a_report_has_each_protocol_under_each_assumption() {
    let report = Report::of(&Asked {
        carriers: vec![Carrier::Shm],
        protocols: vec![Protocol::TwoWay, Protocol::Amvia],
        rates: vec![1e-4],
        timeout: MS,
        payload: 32,
        simulated: 2_000,
        measured: 8_000,
        seed: 1,
    })
    .unwrap();
    assert_eq!(report.excess.len(), 2);
    assert_eq!(report.performability.len(), 2 * ASSUMED.len());
    for over in &report.performability {
        let found = &over.of;
        assert!(found.performability <= found.throughput && found.availability < 1.0);
    }
    // A target that is gone is known sooner with an acknowledgement.
    let crashing = |protocol: &str| {
        let found = report
            .performability
            .iter()
            .filter(|over| over.of.up_s < 100.0);
        let found = found
            .map(|over| &over.of)
            .find(|of| of.protocol == protocol);
        found.unwrap().availability
    };
    assert!(crashing("amvia") > crashing("two-way"));
    for over in report
        .throughput
        .iter()
        .filter(|over| over.of.bit_error_rate == 0.0)
    {
        assert!(over.of.error().abs() < 0.5, "{over:?}");
    }
}
