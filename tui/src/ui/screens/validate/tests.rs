//! The screen by its keys, and as it looks, with data that is always the same.

use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_experiment::validate::{
    Attempt, Event, LeftOut, NodeRow, PairRow, Reason, Run, Setup, Validation,
};
use jitterlab_node_tuning::validation::judge::{NodeVerdict, PairVerdict, Unit};
use jitterlab_packet::transport::Wait;
use jitterlab_stats::histogram::Compact;
use jitterlab_stats::summary::Summary;

use super::read::{Look, Seen, pair};
use super::*;
use crate::ui::action::Task;
use crate::ui::app::App;
use crate::ui::testing::{
    app_at, fits_a_serial_line, fits_anywhere, letters, picture, pictures, press, tell,
};

const HOSTS: [&str; 6] = ["n1", "n2", "n3", "n4", "n5", "n6"];

/// A measurement whose median is so many microseconds: its round trips, too.
fn run(us: f64) -> (Summary, Compact) {
    let samples: Vec<f64> = (0..100)
        .map(|n| (us + f64::from(n - 50) * 0.01) * 1e3)
        .collect();
    let summary = Summary::of(&samples).unwrap();
    (summary, Compact::of(samples.iter().map(|&ns| ns as u64)))
}

/// Half of it measured: n3 is slow, and so is the pair of n1 and n5.
fn validated(running: bool) -> Validated {
    let mut validated = Validated {
        pid: 4711,
        running,
        hosts: HOSTS.map(String::from).into(),
        done: 40,
        of: 75,
        ..Validated::default()
    };
    for (i, a) in HOSTS.iter().enumerate() {
        for (j, b) in HOSTS.iter().enumerate().take(i) {
            if (i, j) == (5, 0) {
                continue;
            }
            let slow = [i, j].contains(&2) || (i, j) == (4, 0);
            let us = if slow { 24.0 } else { 20.0 };
            let measured = validated.pairs.entry(pair(a, b)).or_default();
            for n in 0..5 {
                let (summary, samples) = run(us + f64::from(n) * 0.1);
                measured.add(summary, &samples);
                Arc::make_mut(&mut validated.all).add(&samples);
            }
        }
    }
    validated
}

fn found() -> Validation {
    let node = |host: &str| NodeRow {
        host: host.into(),
        verdict: NodeVerdict {
            node: 0,
            pairs: 5,
            adds: 0.0,
            slowdown: None,
            outlier: host == "n3",
        },
    };
    let pair = PairRow {
        hosts: pair("n1", "n5"),
        verdict: PairVerdict {
            pair: (0, 4),
            n: 5,
            rtt_ns: 24e3,
            relative: 0.2,
            beyond: 0.2,
            slowdown: None,
            outlier: true,
        },
        histogram_ns: Compact::default(),
    };
    Validation {
        version: Validation::VERSION,
        setup: Setup {
            transport: Transport::Udp,
            verbs: None,
            size: Bytes(64),
            wait: Wait::Block,
            warmup: Nanos(0),
            duration: Nanos(1_000_000),
            repetitions: 5,
            at_once: None,
            seed: 1,
            alpha: 0.05,
            minimum_effect: 0.05,
        },
        attempts: vec![Attempt {
            hosts: HOSTS.map(String::from).into(),
            typical_ns: 20.2e3,
            unit: Unit::Pair,
            pairs_testable: true,
            nodes: HOSTS.map(node).into(),
            pairs: vec![pair],
            lost: Vec::new(),
            failures: Vec::new(),
            left_out: vec![LeftOut {
                host: "n3".into(),
                reason: Reason::Outlier,
            }],
            runs: Vec::new(),
        }],
        remaining: vec!["n1".into(), "n2".into(), "n4".into()],
        spares_left: vec!["n9".into()],
        baseline: None,
    }
}

fn with(validated: Option<Validated>) -> App {
    let mut app = app_at("Validate");
    tell(&mut app, of(validated));
    app
}

/// The news of hosts files and this validation.
fn of(validated: Option<Validated>) -> Seen {
    let file = |name: &str, spares: &[&str]| HostsFile {
        path: format!("lab/{name}").into(),
        hosts: HOSTS.map(String::from).into(),
        spares: spares.iter().map(ToString::to_string).collect(),
        wrong: None,
    };
    Seen {
        files: vec![file("hosts.yaml", &["n9"]), file("others.yaml", &[])],
        validated: validated.map(|it| ("lab/hosts.yaml".into(), Ok(it))),
    }
}

#[test]
fn pairs_are_shown_as_they_are_measured_and_what_was_found() {
    let mut app = with(Some(validated(true)));
    press(&mut app, &[Key::Right]);
    pictures("validate", &mut app);
    fits_anywhere(&mut app);
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("measured 40 of 75"), "{shown}");
    assert!(shown.contains("n1 - n3"), "{shown}");
    let mut app = with(Some(Validated {
        found: Some(found()),
        ..validated(false)
    }));
    press(&mut app, &[Key::Right]);
    pictures("validate_found", &mut app);
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("an outlier"), "{shown}");
    assert!(shown.contains("n3 is left out: outlier"), "{shown}");
    assert!(shown.contains("spares left: n9"), "{shown}");
}

#[test]
fn a_second_is_small_enough_for_a_serial_line() {
    let mut app = with(None);
    let all = validated(true);
    let mut left = all.pairs.clone().into_iter();
    let mut seen = Validated {
        pairs: Default::default(),
        done: 0,
        ..all
    };
    // All pairs, one a second, each measured five times.
    let next = |app: &mut App| {
        seen.pairs.extend(left.next());
        seen.done += 5;
        tell(app, of(Some(seen.clone())));
    };
    fits_a_serial_line(14, 1, next, &mut app);
}

#[test]
fn it_is_started_and_stopped_after_a_question() {
    let mut app = with(None);
    assert!(picture(&mut app, 80, 24).contains("not validated yet"));
    letters(&mut app, "t");
    let start = Action::work(Start {
        folder: "lab".into(),
        hosts: "lab/hosts.yaml".into(),
        transport: Transport::Tcp,
    });
    let started = press(&mut app, &[Key::Enter, Key::Char('y')]);
    assert_eq!(started, [format!("{start:?}")]);
    assert!(letters(&mut app, "sy").is_empty());
    letters(&mut app, "f");
    assert!(picture(&mut app, 80, 24).contains("others.yaml"));
    let mut app = with(Some(validated(true)));
    assert!(press(&mut app, &[Key::Enter, Key::Char('y')]).is_empty());
    assert_eq!(letters(&mut app, "sy"), ["Do(Stop(4711))"]);
}

#[test]
fn what_happens_makes_a_validation() {
    let event = |json: &str| serde_json::from_str(json).unwrap();
    let (rtt_ns, samples) = run(20.0);
    let run = Event::Run {
        run: std::borrow::Cow::Owned(Run {
            client: "b".into(),
            server: "a".into(),
            repetition: 0,
            lost: 0,
            rtt_ns,
        }),
        histogram_ns: std::borrow::Cow::Borrowed(&samples),
    };
    let validated = Validated::of(vec![
        event(r#"{"event":"begins","version":3,"pid":7,"hosts":["a","b"],"measurements":3}"#),
        run,
        event(r#"{"event":"measured","done":1,"of":3}"#),
        event(r#"{"event":"lost","lost":{"host":"b","reason":"gone"}}"#),
        event(
            r#"{"event":"failed","failed":{"client":"a","server":"b","repetition":1,"reason":"late"}}"#,
        ),
    ]);
    assert_eq!((validated.pid, validated.done, validated.of), (7, 1, 3));
    assert_eq!(validated.pairs[&pair("a", "b")].runs.len(), 1);
    assert_eq!(*validated.all, samples);
    assert_eq!(validated.problems, ["b is left out: gone", "a - b: late"]);
}

/// The file is looked at where it is, and one of another version is told of on the screen.
#[test]
fn a_validation_of_another_version_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let hosts =
        "hosts:\n  n1: { at: local, address: 10.0.0.1 }\n  n2: { at: ssh n2, address: 10.0.0.2 }\n";
    std::fs::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    std::fs::create_dir(folder.path().join("results")).unwrap();
    let older = r#"{"event":"begins","pid":7,"hosts":["n1","n2"],"measurements":3}"#;
    let events = folder.path().join("results/validate-hosts.jsonl");
    std::fs::write(events, format!("{older}\n")).unwrap();
    let mut seen = Seen::default();
    let look = Look {
        follower: Arc::default(),
        folder: folder.path().into(),
        chosen: None,
    };
    Box::new(look).run(&mut |news| seen = *news.downcast().unwrap());
    let (_, read) = seen.validated.clone().unwrap();
    let wrong = read.unwrap_err();
    let said = "its format is 1, and this jitterlab reads format 3: validate again";
    assert!(wrong.ends_with(said), "{wrong}");
    let mut app = app_at("Validate");
    tell(&mut app, seen);
    let shown = picture(&mut app, 200, 24);
    assert!(shown.contains(said), "{shown}");
}

/// An inventory of Ansible is a hosts file, too; a playbook and an experiment are none.
#[test]
fn hosts_files_of_a_folder_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "a.yaml",
            "hosts:\n  n1: { at: local, address: 10.0.0.1 }\n  n2: { at: ssh n2, address: 10.0.0.2 }\n",
        ),
        ("b.ini", "n[1:2]\n[spares]\nn3\n"),
        ("c.yml", "all:\n  hosts: { n4: }\n"),
        ("d.ini", "n1 ansible_password=x\n"),
        ("e.yaml", "suites: {}\nhosts: {}\n"),
        ("f.yml", "- hosts: all\n"),
        ("g.txt", "n1\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let look = Look {
        follower: Arc::default(),
        folder: folder.path().into(),
        chosen: None,
    };
    let mut seen = Seen::default();
    Box::new(look).run(&mut |news| seen = *news.downcast().unwrap());
    let found = seen.files.iter().map(|file| {
        let name = file.path.file_name().unwrap().to_string_lossy();
        let wrong = if file.wrong.is_some() { " wrong" } else { "" };
        let (hosts, spares) = (file.hosts.join(" "), file.spares.join(" "));
        format!("{name}: {hosts}; {spares}{wrong}")
    });
    let found: Vec<String> = found.collect();
    assert_eq!(
        found,
        [
            "a.yaml: n1 n2; ",
            "b.ini: n1 n2; n3",
            "c.yml: n4; ",
            "d.ini: ;  wrong"
        ]
    );
}
