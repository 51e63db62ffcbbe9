//! What a validation stores: read back as it was, and refused where something of it is missing.

#[path = "../../packet/tests/common/mod.rs"]
mod kept;

use std::borrow::Cow;

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_experiment::validate::{
    Attempt, Baseline, Event, Failure, HostDrift, LeftOut, Lost, NodeRow, PairDrift, PairRow,
    Reason, Run, Setup, Validation,
};
use jitterlab_node_tuning::validation::judge::{NodeVerdict, PairVerdict, Slowdown, Unit};
use jitterlab_packet::transport::{Transport, Verbs, Wait};
use jitterlab_stats::bootstrap::Interval;
use jitterlab_stats::gate::{Decision, Slower};
use jitterlab_stats::histogram::Compact;
use jitterlab_stats::summary::Summary;

use kept::assert_kept;

fn pair() -> [String; 2] {
    ["a".into(), "b".into()]
}

fn validation() -> Validation {
    let interval = Interval {
        estimate: 0.2,
        low: 0.1,
        high: 0.3,
    };
    let slowdown = Slowdown {
        effect: interval,
        p: 0.01,
        p_corrected: 0.02,
        resolution: 0.001,
    };
    let decision = Decision {
        ratio: Some(interval),
        slower: Slower::Yes,
        more: None,
    };
    let out = |host: &str, reason| LeftOut {
        host: host.into(),
        reason,
    };
    Validation {
        version: Validation::VERSION,
        setup: Setup {
            transport: Transport::Verbs,
            verbs: Some(Verbs::default()),
            size: Bytes(64),
            wait: Wait::Poll,
            warmup: Nanos(5),
            duration: Nanos(10),
            repetitions: 6,
            at_once: Some(1),
            seed: 1,
            alpha: 0.05,
            minimum_effect: 0.1,
        },
        attempts: vec![Attempt {
            hosts: pair().into(),
            typical_ns: 20e3,
            unit: Unit::Repetition,
            pairs_testable: true,
            nodes: vec![NodeRow {
                host: "a".into(),
                verdict: NodeVerdict {
                    node: 0,
                    pairs: 1,
                    adds: 0.1,
                    slowdown: Some(slowdown),
                    outlier: true,
                },
            }],
            pairs: vec![PairRow {
                hosts: pair(),
                verdict: PairVerdict {
                    pair: (0, 0),
                    n: 6,
                    rtt_ns: 20e3,
                    relative: 0.1,
                    beyond: 0.05,
                    slowdown: Some(slowdown),
                    outlier: false,
                },
                histogram_ns: histogram(),
            }],
            lost: vec![lost()],
            failures: vec![failure()],
            left_out: vec![
                out("a", Reason::Outlier),
                out("b", Reason::Pair { with: "a".into() }),
            ],
            runs: vec![run()],
        }],
        remaining: vec!["a".into()],
        spares_left: vec!["c".into()],
        baseline: Some(Baseline {
            slower: Slower::Yes,
            typical: Some(decision),
            hosts: vec![HostDrift {
                host: "a".into(),
                decision,
            }],
            pairs: vec![PairDrift {
                hosts: pair(),
                decision,
            }],
            not_compared: vec!["d".into()],
        }),
    }
}

fn lost() -> Lost {
    Lost {
        host: "b".into(),
        reason: "gone".into(),
    }
}

fn failure() -> Failure {
    Failure {
        client: "a".into(),
        server: "b".into(),
        repetition: 1,
        reason: "late".into(),
    }
}

fn run() -> Run {
    Run {
        client: "b".into(),
        server: "a".into(),
        repetition: 0,
        lost: 0,
        rtt_ns: Summary::of(&[2.0; 4]).unwrap(),
    }
}

fn histogram() -> Compact {
    Compact::of([2, 2, 5_000, 2])
}

fn events() -> Vec<Event<'static>> {
    vec![
        Event::Begins {
            version: Validation::VERSION,
            pid: 7,
            hosts: pair().into(),
            measurements: 6,
        },
        Event::Run {
            run: Cow::Owned(run()),
            histogram_ns: Cow::Owned(histogram()),
        },
        Event::Measured { done: 1, of: 6 },
        Event::Lost {
            lost: Cow::Owned(lost()),
        },
        Event::Failed {
            failed: Cow::Owned(failure()),
        },
        Event::Ends {
            validation: Cow::Owned(validation()),
        },
    ]
}

fn lines(events: &[Event]) -> String {
    let lines = events.iter().map(serde_json::to_string);
    lines.map(|line| line.unwrap() + "\n").collect()
}

#[test]
fn no_field_of_a_validation_can_go_missing() {
    assert_kept(&validation());
    events().iter().for_each(assert_kept);
}

/// The last line may be cut off anywhere, also where it would be whole JSON.
#[test]
fn events_are_read_back_and_one_that_is_being_written_is_left_out() {
    let events = events();
    let text = lines(&events);
    let read = Event::read(text.as_bytes(), 0).unwrap();
    assert_eq!(read, (events.clone(), text.len()));
    let last = text.trim_end().rfind('\n').unwrap() + 1;
    for cut in last..text.len() {
        let (read, bytes) = Event::read(&text.as_bytes()[..cut], 0).unwrap();
        assert_eq!((&read[..], bytes), (&events[..events.len() - 1], last));
        // It is read when it is whole.
        let rest = Event::read(&text.as_bytes()[bytes..], read.len()).unwrap();
        assert_eq!(rest, (events[read.len()..].to_vec(), text.len() - last));
    }
    assert_eq!(Event::read(b"", 0).unwrap(), (Vec::new(), 0));
}

#[test]
fn events_of_another_version_and_lines_that_are_none_are_refused() {
    let text = lines(&events());
    for (wrong, message) in [
        (
            text.replacen("\"version\":3,", "", 1),
            "its format is 1, and this jitterlab reads format 3: validate again",
        ),
        (
            text.replacen("\"version\":3,", "\"version\":4,", 1),
            "its format is 4, and this jitterlab reads format 3: validate again",
        ),
        (
            text.replacen("\"done\"", "\"made\"", 1),
            "line 3 was not written by this version of jitterlab",
        ),
    ] {
        let error = Event::read(wrong.as_bytes(), 0).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}
