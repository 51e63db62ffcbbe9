//! Active messages in an experiment file: what may stand there, and what becomes of it.

use std::path::Path;

use jitterlab_experiment::schedule::schedule;
use jitterlab_experiment::spec::{Experiment, frozen};

fn file(cases: &str) -> String {
    format!(
        "name: messages\nseed: 1\nrepetitions: 2\nhosts: {{ a: {{ at: local }}, b: {{ at: local }} }}\n\
         levels: {{ load: [20] }}\nsuites: {{ amvia: [ {cases} ] }}\n"
    )
}

fn parse(cases: &str) -> Result<Experiment, String> {
    let parsed = Experiment::parse(&file(cases), Path::new("e.yaml"));
    parsed.map_err(|error| error.to_string())
}

#[test]
fn each_protocol_over_each_transport_is_a_run_of_its_own() {
    let experiment = parse(
        "{ case: rtt, transports: [udp, shm], protocols: [amvia, two-way] }, { case: loggp, levels: [none] }",
    )
    .unwrap();
    let runs = schedule(&experiment, 1);
    let mut ids: Vec<String> = runs.iter().map(|run| run.id()).collect();
    ids.sort();
    assert_eq!(ids.len(), 2 * 2 * 2 + 4, "{ids:?}");
    ids.dedup();
    assert_eq!(ids.len(), 12);
    for id in [
        "amvia-rtt-shm-two-way.load-20.r1",
        "amvia-rtt-udp-amvia.none.r1",
        "amvia-loggp-udp-amvia-riding.none.r1",
    ] {
        assert!(ids.iter().any(|known| known == id), "{id}: {ids:?}");
    }
}

#[test]
fn what_is_left_out_is_said_in_the_frozen_copy() {
    let text = file("{ case: bandwidth }");
    let experiment = Experiment::parse(&text, Path::new("e.yaml")).unwrap();
    let frozen = frozen(&text, &experiment);
    for said in [
        "transports: [udp]",
        "protocols: [amvia, amvia-riding, amudp, two-way]",
        "window: 16",
        "sizes: [32B, 128B, 512B, 2KiB, 8KiB]",
        "duration: 500ms",
    ] {
        assert!(frozen.contains(said), "{said}: {frozen}");
    }
    assert!(
        Experiment::parse(&frozen, Path::new("e.yaml")).is_ok(),
        "{frozen}"
    );
}

#[test]
fn both_ends_of_performability_are_on_one_host() {
    let case = "{ case: performability, ber: [1e-5, 1e-4], components: [kernel], levels: [none] }";
    let text = file(case);
    let experiment = Experiment::parse(&text, Path::new("e.yaml")).unwrap();
    let frozen = frozen(&text, &experiment);
    for said in [
        "from: a",
        "to: a",
        "timeout: 1ms",
        "transactions: 1200000",
        "size: 32B",
    ] {
        assert!(frozen.contains(said), "{said}: {frozen}");
    }
    assert!(!frozen.contains("window"), "{frozen}");
    // Each protocol once in a block.
    assert_eq!(schedule(&experiment, 1).len(), 4);
}

#[test]
fn what_cannot_be_measured_is_refused_where_it_stands() {
    for (case, says) in [
        (
            "{ case: rtt, transports: [tcp] }",
            "active messages go over udp, shm or verbs",
        ),
        ("{ case: rtt, transports: [] }", "there is no transport"),
        ("{ case: rtt, protocols: [] }", "there is no protocol"),
        (
            "{ case: rtt, protocols: [amvia, amvia] }",
            "this protocol is given twice",
        ),
        ("{ case: rtt, protocols: [tcp] }", "amvia-riding"),
        ("{ case: rtt, sizes: [32B] }", "the case rtt has no `sizes`"),
        (
            "{ case: bandwidth, size: 32B }",
            "the case bandwidth has no `size`",
        ),
        (
            "{ case: loggp, duration: 1s }",
            "the case loggp has no `duration`",
        ),
        ("{ case: rtt, blocks: 3 }", "the case rtt has no `blocks`"),
        ("{ case: loggp, blocks: 1 }", "2 to 10000 blocks"),
        ("{ case: rtt, window: 65 }", "1 to 64 transactions"),
        ("{ case: rtt, size: 2MiB }", "at most 1MiB"),
        ("{ case: rtt, duration: 1us }", "at least 1ms"),
        (
            "{ case: rtt, faults: 'lose=1%' }",
            "`lose=1%` is not one of ber=RATE",
        ),
        (
            "{ case: performability, faults: 'loss=1%' }",
            "the case performability has no `faults`",
        ),
        ("{ case: rtt, ber: [1e-5] }", "the case rtt has no `ber`"),
        (
            "{ case: performability, duration: 1s }",
            "the case performability has no `duration`",
        ),
        ("{ case: performability, ber: [2] }", "between 0 and 1"),
        (
            "{ case: performability, components: [disk] }",
            "application",
        ),
        (
            "{ case: performability, transactions: 0 }",
            "1 to 1073741824",
        ),
        ("{ case: performability, size: 9KiB }", "at most 8KiB"),
        (
            "{ case: performability, from: a, to: b }",
            "both ends of performability are in one program",
        ),
        (
            "{ case: rtt, levels: [injected] }",
            "has no level of this kind",
        ),
        ("{ case: rtt, from: c }", "there is no host `c`"),
    ] {
        let refused = parse(case).unwrap_err();
        assert!(refused.contains(says), "{case}: {refused}");
        assert!(refused.starts_with("e.yaml:6:"), "{case}: {refused}");
    }
}

#[test]
fn ends_that_poll_do_not_share_a_cpu() {
    let with = |hosts: &str, case: &str| {
        let text = file(case).replace("a: { at: local }, b: { at: local }", hosts);
        let parsed = Experiment::parse(&text, Path::new("e.yaml"));
        parsed.map(drop).map_err(|error| error.to_string())
    };
    let loggp = "{ case: loggp, levels: [none] }";
    for shared in [
        "here: { at: local, cpu: 1 }",
        "a: { at: local, cpu: 1 }, b: { at: local, cpu: 1 }",
        "a: { at: ssh n1, cpu: 1, address: 10.0.0.1 }, b: { at: ssh n1, cpu: 1, address: 10.0.0.1 }",
    ] {
        let refused = with(shared, loggp).unwrap_err();
        assert!(
            refused.contains("would share CPU 1: name two hosts"),
            "{shared}: {refused}"
        );
    }
    for apart in [
        "here: { at: local }",
        "a: { at: local, cpu: 1 }, b: { at: local, cpu: 0 }",
        "a: { at: ssh n1, cpu: 1, address: 10.0.0.1 }, b: { at: ssh n2, cpu: 1, address: 10.0.0.2 }",
    ] {
        assert_eq!(with(apart, loggp), Ok(()), "{apart}");
    }
    // Both ends of performability are in one program, which takes a CPU for each.
    let here = "here: { at: local, cpu: 1 }";
    assert_eq!(
        with(here, "{ case: performability, levels: [none] }"),
        Ok(())
    );
}
