//! The screen by its keys, and as it looks, with data that is always the same.

mod edited;

use std::path::Path;

use jitterlab_experiment::standing::Standing;

use super::builder::Row;
use super::edit::Choices;
use super::place::Hosts;
use super::seen::{RunLine, Samples, Shown, State};
use super::*;
use crate::shown::Outline;
use crate::ui::app::App;
use crate::ui::testing::{
    app_at, fits_a_serial_line, fits_anywhere, letters, picture, pictures, press, tell,
};

fn folder(name: &str, left: usize, failed: usize, running: bool) -> Folder {
    let standing = Standing {
        runs: 8,
        left,
        failed,
        seconds_left: 12.5 * left as f64,
        next: (left > 0).then(|| "packet-rtt-udp.load-60.r2".into()),
    };
    Folder {
        path: format!("results/{name}").into(),
        state: Ok(State {
            standing,
            running,
            paused: false,
        }),
    }
}

const NEW: &str = "quick-20261122T031500Z";
const OLD: &str = "quick-20261121T180000Z";
const DONE: &str = "redis-20261120T101112Z";

fn seen() -> Seen {
    Seen {
        files: vec![
            ExperimentFile {
                path: "node.yaml".into(),
                about: Err("node.yaml:1:1: missing key `name`".into()),
                choices: Err("node.yaml:1:1: missing key `name`".into()),
            },
            ExperimentFile {
                path: "quick.yaml".into(),
                about: Ok(vec![
                    "experiment  quick".into(),
                    "runs        8, about 2:40 min".into(),
                ]),
                choices: Err("its `resolve` is not among what can be chosen here".into()),
            },
        ],
        hosts: Vec::new(),
        folders: vec![
            folder(NEW, 5, 0, true),
            folder(OLD, 3, 1, false),
            folder(DONE, 0, 0, false),
        ],
        followed: None,
    }
}

/// Samples that spread over two decades, ascending.
fn samples() -> Vec<f64> {
    (0..1000)
        .map(|i| 15e3 * 100f64.powf((f64::from(i) / 1e3).powi(4)))
        .collect()
}

fn followed() -> Followed {
    let outline = Box::new(Outline::of(&samples()).unwrap());
    let run = |run: &str, shown| RunLine {
        run: run.into(),
        done: true,
        shown,
    };
    let mut failed = run(
        "application-redis.none.r1",
        Shown::Words("attempt 1: cannot start redis-server".into()),
    );
    failed.done = false;
    Followed {
        path: format!("results/{NEW}").into(),
        runs: vec![
            run("packet-rtt-udp.none.r1", Shown::Outline(outline.clone())),
            failed,
            run("application-redis.none.r1", Shown::Words("12.1 us".into())),
            run(
                "packet-rtt-udp.injected-60-lognormal.r1",
                Shown::Outline(outline),
            ),
        ],
        samples: Some(Samples {
            at: 3,
            sorted: Ok(Arc::new(samples())),
        }),
    }
}

/// Where the newest folder is being filled.
fn at_experiments() -> App {
    let mut app = app_at("Suites");
    let seen = Seen {
        followed: Some(followed()),
        ..seen()
    };
    tell(&mut app, (seen, true));
    app
}

fn asks(app: &mut App) -> Option<&str> {
    app.question
        .as_ref()
        .map(|question| question.words.as_str())
}

fn start(job: Job) -> [String; 1] {
    let folder = "lab".into();
    [format!("{:?}", Action::work(Start { folder, job }))]
}

#[test]
fn experiments_are_shown() {
    let mut app = at_experiments();
    pictures("suites", &mut app);
    fits_anywhere(&mut app);
    press(&mut app, &[Key::Home, Key::Down]);
    let wrong = picture(&mut app, 80, 24);
    assert!(wrong.contains("missing key `name`"), "{wrong}");
}

/// A sample of 1 s among a million at 10 us moves nothing out of sight.
#[test]
fn an_outlier_flattens_no_picture() {
    let mut samples = vec![10e3; 1_000_000];
    samples.push(1e9);
    let mut followed = followed();
    followed.samples = Some(Samples {
        at: 3,
        sorted: Ok(Arc::new(samples)),
    });
    let seen = Seen {
        followed: Some(followed),
        ..seen()
    };
    let mut app = app_at("Suites");
    tell(&mut app, (seen, true));
    for (width, height) in [(80, 24), (200, 60)] {
        let shown = picture(&mut app, width, height);
        assert!(shown.contains("max 1 s"), "{shown}");
        // Counts of a million stand left of the large histogram alone.
        let large = shown
            .lines()
            .find(|line| line.contains("1000000 "))
            .unwrap();
        let (before, bars) = large.split_once("1000000 ").unwrap();
        let at = bars.chars().position(|symbol| symbol == '█').unwrap();
        let columns = usize::from(width) - before.chars().count() - "1000000 ".len();
        assert!(at >= 3 && at + 3 < columns, "{shown}");
        // The outlier is at the end, where it is seen.
        let low = shown.lines().any(|line| line.trim_end().ends_with('▁'));
        assert!(low, "{shown}");
    }
}

/// A run ends every second.
#[test]
fn a_second_is_small_enough_for_a_serial_line() {
    let mut app = at_experiments();
    let mut seen = Seen {
        followed: Some(followed()),
        ..seen()
    };
    let mut second = 0;
    let next = |app: &mut App| {
        second += 1;
        let followed = seen.followed.as_mut().unwrap();
        let mut run = followed.runs[0].clone();
        run.run = format!("packet-rtt-udp.none.r{second}");
        followed.runs.push(run);
        followed.samples = Some(Samples {
            at: followed.runs.len() - 1,
            sorted: Ok(Arc::new(samples())),
        });
        tell(app, (seen.clone(), true));
    };
    fits_a_serial_line(60, 1, next, &mut app);
}

/// On a small terminal, the runs of a folder get all of it.
#[test]
fn names_of_runs_are_whole_where_one_looks_at_runs() {
    const NAME: &str = "packet-rtt-udp.injected-60-lognormal.r1";
    let mut app = at_experiments();
    let whole = |app: &mut App| {
        let shown = picture(app, 80, 24);
        let mut lines = shown.lines();
        lines.any(|line| line.contains(NAME) && line.contains("10ms"))
    };
    assert!(!whole(&mut app));
    press(&mut app, &[Key::Right]);
    assert!(whole(&mut app), "{}", picture(&mut app, 80, 24));
    fits_anywhere(&mut app);
    press(&mut app, &[Key::Left]);
    assert!(picture(&mut app, 80, 24).contains("new experiment"));
}

#[test]
fn what_is_looked_for_is_what_is_seen() {
    let mut screen = Suites::new(&Base {
        folder: "lab".into(),
        cpu: 1,
    });
    let take = |screen: &mut Suites| {
        let seen = Seen {
            followed: Some(followed()),
            ..seen()
        };
        screen.take(&(seen, true));
    };
    assert!(screen.look(true).is_some());
    // One look at a time.
    assert!(screen.look(true).is_none());
    take(&mut screen);
    let wants = |run| Wanted {
        folder: Some(format!("results/{NEW}").into()),
        run,
        hosts: false,
    };
    assert_eq!(screen.wanted(), wants(None));
    assert!(screen.look(false).is_some());
    take(&mut screen);
    assert!(screen.look(false).is_none());
    screen.key(Key::Right, false);
    screen.key(Key::Up, false);
    assert_eq!(screen.wanted(), wants(Some(2)));
    assert!(screen.look(false).is_some());
    // At the last run, it follows those that come.
    screen.key(Key::Down, false);
    assert_eq!(screen.wanted(), wants(None));
    screen.key(Key::Left, false);
    screen.key(Key::Home, false);
    assert_eq!(screen.wanted().folder, None);
}

#[test]
fn the_first_experiment_is_chosen_where_there_are_no_results() {
    let mut app = app_at("Suites");
    let seen = Seen {
        folders: Vec::new(),
        ..seen()
    };
    tell(&mut app, (seen, true));
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("experiment  quick"), "{shown}");
}

#[test]
fn nothing_is_run_before_it_was_asked_for() {
    let mut app = at_experiments();
    press(&mut app, &[Key::Home, Key::Down, Key::Enter]);
    let no = picture(&mut app, 80, 24);
    assert!(no.contains("this is no experiment file"), "{no}");
    press(&mut app, &[Key::Down, Key::Enter]);
    let question = "run quick.yaml beside the one that runs?";
    assert_eq!(asks(&mut app), Some(question));
    assert!(picture(&mut app, 80, 24).contains(question));
    // Whatever is no answer is no answer.
    let none = [Key::Enter, Key::Char('q'), Key::Char('1')];
    assert!(press(&mut app, &none).is_empty());
    assert_eq!(app.screen().name(), "Suites");
    assert!(letters(&mut app, "ny").is_empty());
    assert_eq!(asks(&mut app), None);
    let yes = [Key::Enter, Key::Char('y')];
    let job = Job::Run("quick.yaml".into());
    assert_eq!(press(&mut app, &yes), start(job.clone()));
    // What comes of it is looked into as soon as it is there.
    tell(&mut app, Starting(job));
    let mut next = seen();
    next.folders
        .insert(0, folder("quick-20261122T040000Z", 8, 0, true));
    tell(&mut app, (next, true));
    letters(&mut app, "s");
    assert_eq!(asks(&mut app), Some("stop quick-20261122T040000Z?"));
}

#[test]
fn what_was_stopped_is_resumed_and_what_runs_is_stopped() {
    let mut app = at_experiments();
    let yes = [Key::Enter, Key::Char('y')];
    // The one that runs is chosen at first.
    assert!(press(&mut app, &yes).is_empty());
    let stop = format!("Do(Stop(\"results/{NEW}\"))");
    assert_eq!(letters(&mut app, "sy"), std::slice::from_ref(&stop));
    press(&mut app, &[Key::Down]);
    let resume = Job::Resume(format!("results/{OLD}").into());
    assert_eq!(press(&mut app, &yes), start(resume));
    // Whichever is chosen.
    assert_eq!(letters(&mut app, "sy"), [stop]);
    press(&mut app, &[Key::Down, Key::Enter]);
    assert!(picture(&mut app, 80, 24).contains("it is done"));
    let mut idle = seen();
    idle.folders.remove(0);
    tell(&mut app, (idle, true));
    assert!(letters(&mut app, "syp").is_empty());
    assert_eq!(asks(&mut app), None);
}

#[test]
fn of_durations_one_is_chosen() {
    let mut builder = Builder::new(1);
    for name in ["1s", "30s"] {
        let is_it = |row: Row| matches!(row, Row::Choice(choice) if choice.name == name);
        let at = builder.rows().position(is_it);
        builder.at = at.unwrap();
        builder.key(builder::Does::Toggle, Key::Char(' '), Path::new("lab"), &[]);
    }
    assert!(builder.plan.text.contains("duration: 30s"));
    builder.key(builder::Does::Toggle, Key::Char(' '), Path::new("lab"), &[]);
    assert!(builder.plan.text.contains("duration: 300ms"));
}

#[test]
fn no_experiment_is_started_into_noise_that_is_being_measured() {
    let mut screen = Suites::new(&Base {
        folder: "lab".into(),
        cpu: 1,
    });
    screen.take(&(seen(), true));
    screen.key(Key::Down, false);
    let refused = screen.key(Key::Enter, true);
    assert!(matches!(refused, Some(Action::Say(_))), "{refused:?}");
    let asked = screen.key(Key::Enter, false);
    assert!(matches!(asked, Some(Action::Ask(_))), "{asked:?}");
}

#[test]
fn what_runs_is_paused_and_goes_on() {
    let mut app = at_experiments();
    let folder = format!("results/{NEW}");
    let pause = |pauses| {
        let folder = folder.clone().into();
        [format!("{:?}", Action::work(Pause { folder, pauses }))]
    };
    assert_eq!(letters(&mut app, "p"), pause(true));
    let mut paused = seen();
    if let Ok(state) = &mut paused.folders[0].state {
        state.paused = true;
    }
    tell(&mut app, (paused, true));
    assert!(picture(&mut app, 80, 24).contains("paused, 3 of 8"));
    assert_eq!(letters(&mut app, "p"), pause(false));
}

#[test]
fn an_experiment_is_made_from_what_is_chosen() {
    let mut app = at_experiments();
    press(&mut app, &[Key::Home]);
    let shown = picture(&mut app, 80, 24);
    let footer = shown.lines().last().unwrap();
    assert!(
        footer.contains("Enter → choose what it measures"),
        "{footer}"
    );
    press(&mut app, &[Key::Enter]);
    pictures("suites_new", &mut app);
    fits_anywhere(&mut app);
    // Round trips are chosen; the next case, and one repetition more.
    press(&mut app, &[Key::Down]);
    letters(&mut app, " +");
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("4 different runs, 6 times each: 24 in all"),
        "{shown}"
    );
    let saves = press(&mut app, &[Key::Enter]);
    assert!(saves[0].contains("name: \"packet\""), "{saves:?}");
    // It is chosen as soon as it is there.
    let saved = |text: &str| Saved {
        path: "packet.yaml".into(),
        text: text.into(),
    };
    tell(&mut app, saved(""));
    let mut next = seen();
    let about = Ok(vec!["experiment  packet".into()]);
    let path = "packet.yaml".into();
    let choices = Err("another file".into());
    next.files.push(ExperimentFile {
        path,
        about,
        choices,
    });
    tell(&mut app, (next, true));
    press(&mut app, &[Key::Enter]);
    let question = "run packet.yaml beside the one that runs?";
    assert_eq!(asks(&mut app), Some(question));
    // Nothing chosen is no experiment.
    press(
        &mut app,
        &[Key::Char('n'), Key::Home, Key::Enter, Key::Home],
    );
    letters(&mut app, "  ");
    assert!(press(&mut app, &[Key::Enter]).is_empty());
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("there is nothing to measure"), "{shown}");
}
