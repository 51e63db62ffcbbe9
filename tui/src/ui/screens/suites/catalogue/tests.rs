//! What is chosen becomes an experiment file.

use super::*;

fn plan(groups: &[Group]) -> Plan {
    Chosen {
        groups,
        name: None,
        seed: 1,
        repetitions: 3,
        place: &Place::Here(1),
    }
    .plan()
}

fn with(on: impl Fn(&Group, &Choice) -> bool) -> Plan {
    let mut groups = all();
    for group in &mut groups {
        let chosen: Vec<bool> = group.options.iter().map(|it| on(group, it)).collect();
        for (option, is_on) in group.options.iter_mut().zip(chosen) {
            option.is_on = is_on;
        }
    }
    plan(&groups)
}

#[test]
fn what_is_chosen_at_first_is_an_experiment() {
    let plan = plan(&all());
    let (runs, seconds) = plan.cost.unwrap();
    // Round trips over two transports.
    assert_eq!((plan.name.as_str(), runs), ("packet", 2 * 3));
    assert!(seconds > 0.0);
}

#[test]
fn every_case_is_one_that_experiments_have() {
    let is_socket = |name: &str| name == "udp" || name == "tcp";
    for suite in all() {
        let Kind::Suite { .. } = suite.kind else {
            continue;
        };
        for case in &suite.options {
            let plan = with(|group, option| match group.kind {
                Kind::Suite { .. } => (group.name, option.name) == (suite.name, case.name),
                Kind::Transports => is_socket(option.name),
                _ => false,
            });
            assert!(plan.cost.is_ok(), "{plan:?}");
        }
    }
    let all = with(|group, option| match group.kind {
        Kind::Transports => is_socket(option.name),
        Kind::AmviaTransports => option.name != "verbs",
        _ => true,
    });
    let (runs, _) = all.cost.unwrap();
    assert!(runs > 300, "{runs}");
}

#[test]
fn what_is_chosen_of_active_messages_is_in_the_file() {
    let of = |names: &[&str]| {
        let plan = with(|group, option| match group.kind {
            Kind::Suite { .. } => group.name == "amvia" && option.name == "rtt",
            Kind::AmviaTransports | Kind::Protocols | Kind::Durations => {
                names.contains(&option.name)
            }
            _ => false,
        });
        let (runs, seconds) = plan.cost.clone().unwrap();
        (runs, seconds, plan.text)
    };
    let (runs, shortly, text) = of(&[]);
    // All protocols over two transports, three times.
    assert_eq!(runs, Protocol::ALL.len() * 2 * 3, "{text}");
    let (runs, longer, text) = of(&["shm", "two-way", "5s"]);
    assert_eq!(runs, 3, "{text}");
    assert!(
        text.contains("transports: [shm], protocols: [two-way]") && text.contains("duration: 5s"),
        "{text}"
    );
    assert!(longer > shortly, "{longer} {shortly}");
}

#[test]
fn it_is_said_which_suites_are_measured_at_a_level() {
    let of = |cases: &[(&str, &str)]| {
        let plan = with(|group, option| match group.kind {
            Kind::Suite { .. } => cases.contains(&(group.name, option.name)),
            Kind::Transports => option.name == "udp",
            Kind::Loads => option.name == "40",
            _ => false,
        });
        assert!(plan.cost.is_ok(), "{plan:?}");
        plan.partial
    };
    assert!(of(&[("packet", "rtt")]).is_empty());
    let partial = of(&[("packet", "rtt"), ("amvia", "loggp")]);
    assert_eq!(partial, ["load: for cases of packet alone"]);
    let partial = of(&[("amvia", "loggp")]);
    assert_eq!(partial, ["load: for no case that is chosen"]);
}

#[test]
fn what_cannot_be_says_why() {
    assert_eq!(
        with(|_, _| false).cost,
        Err("there is nothing to measure".into())
    );
    // Delays as under loads, and no load.
    let plan = with(|group, option| {
        option.name == "rtt" || option.name == "udp" || group.kind == Kind::Imitations
    });
    assert!(plan.cost.is_err(), "{plan:?}");
}
