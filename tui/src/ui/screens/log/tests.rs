//! The screen by its keys, and as it looks, with data that is always the same.

use std::time::SystemTime;

use jitterlab_experiment::validate::Validation;

use super::*;
use crate::ui::action::Task;
use crate::ui::app::App;
use crate::ui::testing::{app_at, fits_anywhere, letters, picture, pictures, press, tell};

fn entry(when: &str, weight: Weight, source: &str, text: &str) -> Entry {
    Entry {
        when: when.into(),
        weight,
        source: source.into(),
        text: text.into(),
    }
}

fn at_log() -> App {
    let mut app = app_at("Log");
    let quick = "quick-20261122T031500Z";
    let entries = vec![
        entry(
            "",
            Weight::Warning,
            "boot",
            "nohz_full: kexec is not possible here",
        ),
        entry(
            "2026-11-22T03:15:07.120Z",
            Weight::Warning,
            quick,
            "packet-rtt-udp.none.r1, attempt 1: the worker of host server is gone",
        ),
        entry(
            "2026-11-22T03:16:30.000Z",
            Weight::Error,
            quick,
            "application-redis.none.r1, attempt 3: cannot start redis-server on host server: there is no such program; it is \
             looked for in /usr/local/bin, /usr/bin and /bin",
        ),
        entry(
            "2026-11-22T03:16:31.000Z",
            Weight::Note,
            "quick.log",
            "stopped; to go on: jitterlab run --resume x",
        ),
    ];
    tell(&mut app, entries);
    app
}

#[test]
fn the_log_is_shown_the_latest_first() {
    let mut app = at_log();
    press(&mut app, &[Key::Down]);
    pictures("log", &mut app);
    fits_anywhere(&mut app);
    // The line that is chosen is seen as a whole.
    assert!(picture(&mut app, 80, 24).contains("and /bin"));
    let said = Said {
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_320_000),
        text: "quick.yaml: done".into(),
        is_failure: false,
    };
    tell(&mut app, said.clone());
    let shown = picture(&mut app, 80, 24);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[2].contains("04:00:00"), "{shown}");
    assert!(lines[2].contains("quick.yaml: done"), "{shown}");
    // What this UI could not do is an error, and said on every screen.
    let failed = Said {
        at: said.at + Duration::from_secs(1),
        text: "cannot write packet.yaml".into(),
        is_failure: true,
    };
    tell(&mut app, failed);
    assert_eq!(app.notice.as_deref(), Some("cannot write packet.yaml"));
    letters(&mut app, "e");
    let shown = picture(&mut app, 80, 24);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[2].contains("error   this UI"), "{shown}");
    assert!(lines[2].contains("cannot write packet.yaml"), "{shown}");
}

#[test]
fn it_is_filtered_by_weight_and_text() {
    let mut app = at_log();
    let lines = |app: &mut App| picture(app, 100, 24).lines().nth(1).unwrap().to_string();
    assert_eq!(lines(&mut app), "all: 4 lines");
    letters(&mut app, "e");
    assert_eq!(lines(&mut app), "errors: 1 line");
    letters(&mut app, "e");
    assert_eq!(lines(&mut app), "warnings and errors: 3 lines");
    // What is typed is a text, whatever else the keys mean.
    letters(&mut app, "/Quick1");
    let shown = picture(&mut app, 100, 24);
    let footer = shown.lines().last();
    assert_eq!(footer, Some("Enter done   Esc all lines"));
    press(&mut app, &[Key::Backspace]);
    assert_eq!(
        lines(&mut app),
        "warnings and errors, with: Quick_: 2 lines"
    );
    press(&mut app, &[Key::Enter]);
    assert_eq!(lines(&mut app), "warnings and errors, with: Quick: 2 lines");
    press(&mut app, &[Key::Escape]);
    assert_eq!(lines(&mut app), "warnings and errors: 3 lines");
}

#[test]
fn what_a_validation_could_not_measure_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    std::fs::create_dir(&results).unwrap();
    let version = Validation::VERSION;
    let begins = format!(
        r#"{{"event":"begins","version":{version},"pid":7,"hosts":["a","b"],"measurements":3}}"#
    );
    let lost = r#"{"event":"lost","lost":{"host":"b","reason":"gone"}}"#;
    let events = format!("{begins}\n{lost}\n");
    std::fs::write(results.join("validate-hosts.jsonl"), events).unwrap();
    let read = ReadLog {
        folder: folder.path().into(),
        reader: Arc::default(),
    };
    let mut all = Vec::<Entry>::new();
    Box::new(read).run(&mut |news| all = *news.downcast().unwrap());
    let all = all.iter().filter(|it| it.source != "boot");
    let told = all.map(|it| (it.weight, it.source.as_str(), it.text.as_str()));
    let told: Vec<_> = told.collect();
    let expected = (
        Weight::Warning,
        "validate-hosts.jsonl",
        "b is left out: gone",
    );
    assert_eq!(told, [expected]);
}

#[test]
fn files_are_read_once_in_a_while_and_one_at_a_time() {
    let mut screen = screen(&Base {
        folder: "lab".into(),
        cpu: 1,
    });
    assert!(screen.look(true).is_some());
    assert!(screen.look(true).is_none());
    screen.take(&Vec::<Entry>::new());
    assert!(screen.look(false).is_none());
    assert!(screen.look(true).is_some());
}
