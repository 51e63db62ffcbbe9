//! What may be injected: read, refused with its place, scheduled, and said in the frozen copy.

use std::path::Path;

use jitterlab_experiment::level::{Level, Phase};
use jitterlab_experiment::schedule::schedule;
use jitterlab_experiment::spec::{Experiment, frozen};

fn text(injected: &str) -> String {
    format!(
        "name: small\nseed: 1\nrepetitions: 2\nretries: 2\nhosts: {{ a: {{ at: local }} }}\n\
         levels:\n  load: [60]\n  injected: {injected}\n\
         load: {{ transport: udp, from: a, to: a, message: 1400B }}\n\
         suites:\n  packet:\n    - {{ case: rtt, transports: [udp], from: a, to: a }}\n"
    )
}

fn parse(injected: &str) -> Result<Experiment, String> {
    Experiment::parse(&text(injected), Path::new("e.yaml")).map_err(|error| error.to_string())
}

fn levels(injected: &str) -> Vec<String> {
    let experiment = parse(injected).unwrap();
    let runs = schedule(&experiment, experiment.repetitions.first());
    let mut ids: Vec<String> = runs.iter().map(|run| run.level.id()).collect();
    ids.sort();
    ids.dedup();
    ids
}

#[test]
fn delays_for_which_no_load_is_measured_have_levels_of_their_own() {
    assert_eq!(
        levels("{ delays: [1us, 1.5ms], table: t.dist }"),
        ["delay-1.5ms", "delay-1us", "load-60", "none", "table"]
    );
    assert_eq!(
        levels("{ shape: lognormal, mean: [10us, 50us], std: [5us, 20us] }"),
        [
            "load-60",
            "lognormal-10us-20us",
            "lognormal-10us-5us",
            "lognormal-50us-20us",
            "lognormal-50us-5us",
            "none"
        ]
    );
    assert_eq!(
        levels("{ percent: [60], shapes: [replay], scaled: [0, 0.5, 2] }"),
        [
            "injected-60-replay",
            "load-60",
            "none",
            "scaled-60-0",
            "scaled-60-0.5",
            "scaled-60-2"
        ]
    );
}

#[test]
fn what_needs_no_load_waits_for_none() {
    let experiment = parse("{ delays: [1us] }").unwrap();
    let phases = |experiment: &Experiment| -> Vec<(Level, Phase)> {
        let runs = schedule(experiment, experiment.repetitions.first());
        runs.iter().map(|run| (run.level, run.phase)).collect()
    };
    for (level, phase) in phases(&experiment) {
        assert_eq!(phase, Phase::Inject, "{level}");
    }
    let experiment = parse("{ percent: [60], scaled: [2], delays: [1us] }").unwrap();
    for (level, phase) in phases(&experiment) {
        let is_first = matches!(level, Level::None | Level::Load { .. });
        assert_eq!(phase == Phase::Characterise, is_first, "{level}");
    }
}

#[test]
fn what_cannot_be_injected_is_refused_with_its_place() {
    for (injected, message) in [
        (
            "{ }",
            "8:13: `injected` needs at least one load and one shape, or `delays`, `shape` or `table`",
        ),
        (
            "{ percent: [60] }",
            "8:13: `injected` needs at least one load and one shape",
        ),
        (
            "{ scaled: [2] }",
            "8:13: `injected` needs at least one load and one shape",
        ),
        ("{ delays: [1us, 1us] }", "this delay is given twice"),
        ("{ delays: [2s] }", "a delay is at most 1s"),
        (
            "{ percent: [60], scaled: [2, 2.0] }",
            "this multiple is given twice",
        ),
        ("{ percent: [60], scaled: [-1] }", "-1 is not a multiple"),
        (
            "{ delays: [1us], mean: [1us] }",
            "`mean` is of a `shape`, and there is none",
        ),
        (
            "{ shape: lognormal, std: [1us] }",
            "a `shape` needs `mean`, a list of times",
        ),
        (
            "{ shape: uniform, mean: [10us], std: [8us] }",
            "no table has uniform delays of mean 10 us and standard deviation 8 us: at most 5.774 us is possible",
        ),
        (
            "{ shape: constant, mean: [10us], std: [8us] }",
            "have a standard deviation of 0",
        ),
        (
            "{ percent: [60], shapes: [replay], replay: { order: drawn } }",
            "a replay is `by-time` or `by-message`",
        ),
        (
            "{ percent: [60], shapes: [replay], replay: { by: time } }",
            "by",
        ),
    ] {
        let refused = parse(injected).unwrap_err();
        assert!(refused.contains(message), "{injected}: {refused}");
    }
}

#[test]
fn the_frozen_copy_says_what_is_taken() {
    let said = |injected: &str| {
        let text = text(injected);
        let experiment = Experiment::parse(&text, Path::new("e.yaml")).unwrap();
        frozen(&text, &experiment)
    };
    let replay = said("{ percent: [60], shapes: [replay] }");
    assert!(
        replay.contains(
            "levels, injected: { transport: udp, replay: { order: by-time, stretch: all }, mode: spin }"
        ),
        "{replay}"
    );
    let shape = said("{ shape: constant, mean: [1us], mode: defer }");
    assert!(
        shape.contains("order: by-time, stretch: all }, std: [0ns] }"),
        "{shape}"
    );
}
