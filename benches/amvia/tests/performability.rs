//! The model of a transaction against a simulation of the production machines, and against the model checker Storm.

use std::path::Path;

use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia_suite::performability::{
    self, Component, Costs, Failing, Failures, Model, Plan, Stages, simulate, throughput,
};
use serde_json::Value;

const MS: u64 = 1_000_000;
/// 99 % of a normal distribution are within so many standard deviations of its mean.
const REACH: f64 = 2.575_829;

fn stages() -> Stages {
    Stages {
        send: Costs {
            library: 400.0,
            kernel: 1_500.0,
            nic: 300.0,
        },
        receive: Costs {
            library: 600.0,
            kernel: 1_800.0,
            nic: 300.0,
        },
        wire: 700.0,
        switch: 250.0,
        handler: 900.0,
        think: 0.0,
    }
}

fn plan(config: Config, failures: Failures, transactions: u64) -> Plan {
    Plan {
        config,
        stages: stages(),
        failures,
        payload: 32,
        outstanding: 1,
        transactions,
        seed: 1,
    }
}

fn fixed(protocol: Protocol) -> Config {
    Config {
        protocol,
        min_rto: MS,
        max_rto: MS,
        reply_wait: 4 * MS,
        ..Config::default()
    }
}

/// The retransmissions are few, so that some transactions are given up; the waits double, from the floor to the ceiling.
fn given_up(protocol: Protocol) -> Config {
    Config {
        protocol,
        min_rto: MS,
        max_rto: 3 * MS,
        request_retransmissions: 2,
        reply_retransmissions: 3,
        reply_wait: 12 * MS,
        ..Config::default()
    }
}

fn forecast(plan: &Plan) -> jitterlab_amvia_suite::performability::Forecast {
    let model = Model {
        config: plan.config.clone(),
        stages: plan.stages,
        failures: plan.failures,
        payload: plan.payload,
    };
    model.forecast().unwrap()
}

/// The model is within the 99 % interval of the simulation; the chance to be given up, too.
#[track_caller]
fn holds(plan: &Plan) {
    let forecast = forecast(plan);
    let outcome = simulate(plan);
    let n = plan.transactions as f64;
    let mean = outcome.response.mean().unwrap();
    let reach = REACH * outcome.response.std().unwrap() / n.sqrt();
    let off = forecast.response.mean - mean;
    assert!(
        off.abs() <= reach.max(0.5),
        "{}, {:?}: model {} ns, simulation {mean} +- {reach} ns",
        plan.config.protocol,
        plan.failures,
        forecast.response.mean,
    );
    let expected = n * forecast.abandoned;
    let given_up = outcome.abandoned as f64;
    // A count that is hardly ever more than 0 is no normal number: three more are borne with.
    assert!(
        (given_up - expected).abs() <= REACH * expected.sqrt() + 3.0,
        "{}: the model gives {expected} up, the simulation {given_up}",
        plan.config.protocol,
    );
}

#[test]
fn without_failures_the_model_is_the_simulation_to_the_nanosecond() {
    for protocol in Protocol::ALL {
        let plan = plan(fixed(protocol), Failures::default(), 1_000);
        let outcome = simulate(&plan);
        let forecast = forecast(&plan);
        let mean = outcome.response.mean().unwrap();
        // The first request of `amudp` goes out behind no acknowledgement.
        let first = if protocol == Protocol::Amudp {
            5.0
        } else {
            1e-9
        };
        assert!(
            (forecast.response.mean - mean).abs() < first,
            "{protocol}: {forecast:?} {mean}"
        );
        assert!(forecast.response.variance < 1e-3);
    }
}

#[test]
fn the_round_trips_are_those_of_the_schedules() {
    let [send, .., receive] = stages().stations();
    let rtt = |protocol| {
        let plan = plan(fixed(protocol), Failures::default(), 1);
        forecast(&plan).response.mean - stages().handler
    };
    let two_way = 2.0 * stages().alone();
    assert_eq!(rtt(Protocol::TwoWay), two_way);
    // An acknowledgement goes out before the reply: 3 o_s + 2 o_r + 2 L, and the rest of its o_r where that is longer.
    let spaced = send + stages().handler;
    assert_eq!(
        rtt(Protocol::Amvia),
        two_way + send + (receive - spaced).max(0.0)
    );
    // The request goes out behind the acknowledgement of the last reply.
    assert_eq!(rtt(Protocol::Amudp), two_way + receive);
}

#[test]
fn the_model_holds_with_fixed_timeouts() {
    for protocol in Protocol::ALL {
        for rate in [1e-4, 1e-3] {
            holds(&plan(fixed(protocol), Failures::of_bits(rate), 100_000));
        }
    }
}

#[test]
fn the_model_holds_with_timeouts_that_double_and_transactions_that_are_given_up() {
    for protocol in Protocol::ALL {
        holds(&plan(given_up(protocol), Failures::of_bits(5e-4), 100_000));
    }
}

#[test]
fn the_model_holds_where_the_acknowledgement_rides_on_the_reply() {
    let riding = |config| Config {
        ack_delay: MS,
        ..config
    };
    let quiet = plan(riding(fixed(Protocol::Amvia)), Failures::default(), 1_000);
    let mean = simulate(&quiet).response.mean().unwrap();
    assert!((forecast(&quiet).response.mean - mean).abs() < 1e-9);
    holds(&plan(
        riding(fixed(Protocol::Amvia)),
        Failures::of_bits(1e-3),
        100_000,
    ));
    holds(&plan(
        riding(given_up(Protocol::Amvia)),
        Failures::of_bits(5e-4),
        100_000,
    ));
}

#[test]
fn the_model_holds_for_each_component() {
    for protocol in Protocol::ALL {
        for component in Component::ALL {
            let config = Config {
                handler_time: Some(2 * MS),
                ..fixed(protocol)
            };
            holds(&plan(config, Failures::of(component, 0.05), 30_000));
        }
    }
}

/// One that waits for a timer holds back those after it: without that the analysis would be off by more than the throughput itself.
#[test]
fn throughput_is_near_that_of_the_simulation_also_where_transactions_hold_back_others() {
    for protocol in Protocol::ALL {
        for (rate, most) in [(0.0, 16), (1e-6, 16), (1e-5, 16), (1e-4, 4)] {
            for outstanding in [1, 4, 16].into_iter().filter(|&at| at <= most) {
                let model = sound(fixed(protocol));
                let found =
                    throughput(&model, Failing::bits(rate), outstanding, 100_000, 1).unwrap();
                assert!(found.error().abs() < 0.1, "{protocol}: {found:?}");
            }
        }
    }
}

#[test]
fn throughput_is_near_that_of_the_simulation_where_components_fail() {
    for protocol in Protocol::ALL {
        for component in Component::ALL {
            for chance in [1e-4, 1e-3, 1e-2] {
                let failing = Failing {
                    component: Some(component),
                    chance,
                };
                let config = Config {
                    handler_time: (component == Component::Application).then_some(4 * MS),
                    ..fixed(protocol)
                };
                let found = throughput(&sound(config), failing, 4, 100_000, 1).unwrap();
                let most = if chance < 1e-2 { 0.03 } else { 0.12 };
                assert!(found.error().abs() < most, "{protocol}: {found:?}");
            }
        }
    }
}

/// A model without failures.
fn sound(config: Config) -> Model {
    let plan = plan(config, Failures::default(), 1);
    Model {
        config: plan.config,
        stages: plan.stages,
        failures: plan.failures,
        payload: plan.payload,
    }
}

#[test]
fn more_failures_take_longer() {
    for protocol in Protocol::ALL {
        let mean = |rate| {
            let plan = plan(fixed(protocol), Failures::of_bits(rate), 1);
            forecast(&plan).response.mean
        };
        let rates = [0.0, 1e-9, 1e-6, 1e-4, 1e-3];
        assert!(rates.windows(2).all(|pair| mean(pair[0]) < mean(pair[1])));
    }
}

#[test]
fn a_handler_that_fails_without_a_limit_of_its_time_has_no_mean_under_amvia() {
    let plan = plan(
        fixed(Protocol::Amvia),
        Failures::of(Component::Application, 0.1),
        1,
    );
    let model = Model {
        config: plan.config,
        stages: plan.stages,
        failures: plan.failures,
        payload: 32,
    };
    assert!(model.forecast().is_err());
}

/// The chains of `reference/storm.py` are written down from the documentation, and solved in rational arithmetic.
#[test]
fn mean_times_are_those_of_storm() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/storm.json");
    let reference: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let cases = reference["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 16);
    for case in cases {
        let number = |name: &str| case[name].as_f64().unwrap();
        let protocol = case["protocol"].as_str().unwrap().parse().unwrap();
        let mut failures = Failures::of_bits(number("bit_error_rate"));
        failures.chances[Component::Wire as usize] = number("wire");
        failures.chances[Component::Application as usize] = number("application");
        let model = Model {
            config: Config {
                handler_time: Some(4 * MS),
                ..performability::fixed(protocol, MS)
            },
            stages: Stages {
                wire: 10_000.0,
                handler: 30_000.0,
                ..Stages::default()
            },
            failures,
            payload: 32,
        };
        let forecast = model.forecast().unwrap();
        let close = |own: f64, theirs: f64| (own - theirs).abs() <= 1e-6 * theirs + 1e-12;
        let mean = forecast.response.mean / 1e3;
        assert!(close(mean, number("mean_us")), "{case}: {mean}");
        let given_up = forecast.abandoned;
        assert!(close(given_up, number("given_up")), "{case}: {given_up}");
    }
}
