//! The screen by its keys, and as it looks, with data that is always the same.

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
    assert!(shown.contains("24 runs, 6 times each"), "{shown}");
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

/// The same files, of which the second one can be edited.
fn with_choices() -> (Seen, Choices) {
    let mut seen = seen();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quick.yaml");
    std::fs::write(&file, &Builder::new(1).plan.text).unwrap();
    let choices = Choices::of(&file).unwrap();
    seen.files[1].choices = Ok(choices.clone());
    (seen, choices)
}

#[test]
fn a_file_is_edited_and_saved_under_its_name() {
    let mut app = at_experiments();
    press(&mut app, &[Key::Home, Key::Down, Key::Down]);
    // What the tree cannot express is said.
    assert!(letters(&mut app, "e").is_empty());
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("quick.yaml: its `resolve` is not among"),
        "{shown}"
    );
    let (seen, choices) = with_choices();
    tell(&mut app, (seen, true));
    letters(&mut app, "e");
    pictures("suites_edit", &mut app);
    fits_anywhere(&mut app);
    press(&mut app, &[Key::Down]);
    letters(&mut app, " +");
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("24 runs, 6 times each"), "{shown}");
    let saves = press(&mut app, &[Key::Enter]).join("");
    for text in [
        "SaveAgain { path: \"quick.yaml\"",
        &format!("before: {:?}", choices.text),
        "repetitions: 6",
        "case: latency",
    ] {
        assert!(saves.contains(text), "{text} in {saves}");
    }
    // What is not saved is forgotten, after a question.
    press(&mut app, &[Key::Left]);
    let question = "choices of quick.yaml are not saved: forget them?";
    assert_eq!(asks(&mut app), Some(question));
    letters(&mut app, "n");
    assert!(picture(&mut app, 80, 24).contains("24 runs, 6 times each"));
    press(&mut app, &[Key::Left]);
    assert_eq!(letters(&mut app, "y"), ["Do(Forget)"]);
    tell(&mut app, Forgotten);
    letters(&mut app, "e");
    assert!(picture(&mut app, 80, 24).contains("10 runs, 5 times each"));
    // Nothing is asked where nothing goes.
    press(&mut app, &[Key::Left, Key::Home, Key::Enter]);
    assert!(!picture(&mut app, 80, 24).contains("edits"));
}

#[test]
fn whoever_leaves_is_asked_where_choices_are_not_saved() {
    let mut app = at_experiments();
    let (seen, _) = with_choices();
    tell(&mut app, (seen.clone(), true));
    press(&mut app, &[Key::Home, Key::Down, Key::Down]);
    letters(&mut app, "e+");
    // From whichever screen, by either key.
    letters(&mut app, "1");
    assert!(letters(&mut app, "q").is_empty());
    let question = "choices of quick.yaml are not saved: leave all the same?";
    assert_eq!(asks(&mut app), Some(question));
    letters(&mut app, "n");
    assert!(press(&mut app, &[Key::Break]).is_empty());
    assert_eq!(press(&mut app, &[Key::Break]), ["Leave"]);
    assert_eq!(letters(&mut app, "qy"), ["Leave"]);
    // The new experiment keeps its choices while another file is edited, and until it is saved.
    letters(&mut app, "3-");
    press(&mut app, &[Key::Left, Key::Home, Key::Enter]);
    letters(&mut app, "+");
    press(&mut app, &[Key::Left]);
    assert_eq!(asks(&mut app), None);
    press(&mut app, &[Key::Down, Key::Down]);
    letters(&mut app, "e");
    press(&mut app, &[Key::Left]);
    letters(&mut app, "q");
    let question = "choices of the new experiment are not saved: leave all the same?";
    assert_eq!(asks(&mut app), Some(question));
    press(&mut app, &[Key::Char('n'), Key::Home, Key::Enter]);
    let shown = picture(&mut app, 200, 60);
    assert!(shown.contains("12 runs, 6 times each"), "{shown}");
    let mut builder = Builder::new(1);
    builder.key(builder::Does::Repeat, Key::Char('+'), Path::new("lab"), &[]);
    let (path, text) = ("packet.yaml".into(), builder.plan.text);
    tell(&mut app, Saved { path, text });
    assert_eq!(letters(&mut app, "q"), ["Leave"]);
}

#[test]
fn whoever_edits_is_not_led_away() {
    let mut app = at_experiments();
    let (mut seen, _) = with_choices();
    tell(&mut app, (seen.clone(), true));
    press(&mut app, &[Key::Home, Key::Down, Key::Down]);
    tell(&mut app, Starting(Job::Run("quick.yaml".into())));
    letters(&mut app, "e+");
    // What was started is there; the file is gone.
    let new = folder("quick-20261122T040000Z", 8, 0, true);
    seen.folders.insert(0, new);
    seen.files.remove(1);
    tell(&mut app, (seen, true));
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("edits quick.yaml"), "{shown}");
    assert!(shown.contains("12 runs, 6 times each"), "{shown}");
}

#[test]
fn hosts_are_those_of_a_hosts_file() {
    let mut app = at_experiments();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nodes.yaml");
    let nodes =
        "hosts: { a: { at: ssh a, address: 10.0.0.1 }, b: { at: ssh b, address: 10.0.0.2 } }\n";
    std::fs::write(&file, nodes).unwrap();
    let mut seen = seen();
    seen.hosts.extend(Hosts::of_file(&file));
    tell(&mut app, (seen, true));
    press(&mut app, &[Key::Home, Key::Enter]);
    assert!(picture(&mut app, 80, 24).contains("on this machine, both ends on CPU 1"));
    letters(&mut app, "h");
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("hosts of nodes.yaml: from a to b"),
        "{shown}"
    );
    let saves = press(&mut app, &[Key::Enter]).join("");
    assert!(
        saves.contains("hosts_file: nodes.yaml") && saves.contains("from: a, to: b"),
        "{saves}"
    );
    letters(&mut app, "h");
    assert!(picture(&mut app, 80, 24).contains("on this machine"));
}

#[test]
fn of_more_hosts_two_are_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nodes.yaml");
    let nodes = ["a", "b", "c"].map(|it| format!("{it}: {{ at: ssh {it}, address: 10.0.0.1 }}"));
    std::fs::write(&file, format!("hosts: {{ {} }}\n", nodes.join(", "))).unwrap();
    let mut seen = seen();
    seen.hosts.extend(Hosts::of_file(&file));
    let mut app = at_experiments();
    tell(&mut app, (seen, true));
    press(&mut app, &[Key::Home, Key::Enter]);
    letters(&mut app, "f");
    let shown = picture(&mut app, 80, 24);
    assert!(shown.contains("both ends are on this machine"), "{shown}");
    // No host is both ends.
    for (keys, ends) in [
        ("h", "from a to b"),
        ("f", "from c to b"),
        ("t", "from c to a"),
        ("f", "from b to a"),
        ("t", "from b to c"),
        // All the hosts files, round and round.
        ("hh", "from a to b"),
        ("t", "from a to c"),
    ] {
        letters(&mut app, keys);
        let shown = picture(&mut app, 80, 24);
        let line = format!("{ends}, of 3 hosts of nodes.yaml (f t choose)");
        assert!(shown.contains(&line), "{keys}: {shown}");
    }
    let saves = press(&mut app, &[Key::Enter]).join("");
    assert!(saves.contains("from: a, to: c"), "{saves}");
}

#[test]
fn a_file_that_somebody_else_has_changed_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("e.yaml");
    std::fs::write(&path, &Builder::new(1).plan.text).unwrap();
    let choices = Choices::of(&path).unwrap();
    let save = || {
        let mut builder = Builder::of(path.clone(), choices.clone(), 1);
        builder.key(builder::Does::Repeat, Key::Char('+'), folder.path(), &[]);
        let Some(Action::Do(task)) =
            builder.key(builder::Does::Save, Key::Enter, folder.path(), &[])
        else {
            panic!("nothing is saved");
        };
        let mut told = Vec::new();
        task.run(&mut |news| told.push(news));
        told.iter().any(|news| news.is::<Saved>())
    };
    assert!(save());
    let saved = std::fs::read_to_string(&path).unwrap();
    assert!(saved.contains("repetitions: 6"), "{saved}");
    assert_eq!(Choices::of(&path).unwrap().repetitions, 6);
    // It is no more what was opened.
    assert!(!save());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), saved);
}
