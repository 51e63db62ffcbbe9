//! The model by its keys, and each screen as it looks, with data that is always the same.

use std::path::PathBuf;
use std::sync::Arc;

use insta::assert_snapshot;
use jitterlab_appliance::report::{BootReport, Missing, Phase, Problem};
use jitterlab_base::clock::Source;
use jitterlab_experiment::standing::Standing;
use jitterlab_node_tuning::noise::probe::ThreadCounts;
use jitterlab_node_tuning::noise::report::{Core, Intervals, NoiseReport, Recorded};
use jitterlab_node_tuning::noise::who::Who;
use jitterlab_node_tuning::plan::Plan;
use jitterlab_node_tuning::tune::{Difference, Finding, State as Setting, Survey};
use jitterlab_stats::histogram::Histogram;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::action::{Action, Job, Key, Where};
use super::app::{App, Input, Screen};
use super::experiments::{
    ExperimentFile, Folder, Followed, RunLine, Samples, Seen, Shown, State, Wanted,
};
use super::node::Facts;
use super::noise::Listened;
use super::view::{Theme, draw};
use crate::shown::Brief;

const PLAIN: Theme = Theme {
    color: false,
    coarse: false,
};

fn drawn(app: &mut App, width: u16, height: u16, theme: Theme) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app, theme)).unwrap();
    terminal
}

fn picture(app: &mut App, width: u16, height: u16) -> String {
    drawn(app, width, height, PLAIN).backend().to_string()
}

fn press(app: &mut App, keys: &[Key]) -> Vec<Action> {
    let each = keys.iter().filter_map(|&key| app.on(Input::Key(key)));
    each.collect()
}

fn finding(name: &'static str, state: Setting, why: &'static str) -> Finding {
    Finding {
        name,
        state,
        why,
        differences: Vec::new(),
        notes: Vec::new(),
    }
}

fn facts() -> Facts {
    let boot = BootReport {
        hostname: "node01".into(),
        kernel: "6.1.0-26-amd64".into(),
        command_line: String::new(),
        node_file: Some("/run/jitterlab/volumes/JITTERLAB/node.yaml".into()),
        volume: Some("/run/jitterlab/volumes/JITTERLAB".into()),
        phases: vec![
            Phase {
                name: "kernel".into(),
                ns: 4_400_000_000,
            },
            Phase {
                name: "tuning".into(),
                ns: 2_200_000_000,
            },
        ],
        ready_ns: 19_500_000_000,
        parameters: "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3".into(),
        missing: vec![Missing {
            setting: "nohz_full".into(),
            why: "kexec is not possible here".into(),
        }],
        rdma: Vec::new(),
        fit: Some(false),
        host_key: None,
        doing: None,
        emulated: false,
        problems: vec![Problem {
            doing: "node.yaml".into(),
            said: "node.yaml:2:1: unknown key `adresses`\u{1b}[2J".into(),
        }],
    };
    let mut drifted = finding(
        "vm.stat_interval",
        Setting::Drifted,
        "Statistics are brought up to date on every CPU, once a second.",
    );
    drifted.differences.push(Difference {
        place: "/proc/sys/vm/stat_interval".into(),
        current: Some("1".into()),
        wanted: Some("120".into()),
    });
    let settings = vec![
        finding("sched_rt_runtime_us", Setting::Held, ""),
        drifted,
        finding(
            "turbo",
            Setting::Unsupported,
            "Frequencies that change make times that change.",
        ),
    ];
    let plan = Plan {
        device: Some("eth0".into()),
        package: 0,
        housekeeping: "0".parse().unwrap(),
        measuring: "1-3".parse().unwrap(),
        idle: "".parse().unwrap_or_default(),
        reasons: Vec::new(),
    };
    Facts {
        host: "node01".into(),
        kernel: "6.1.0-26-amd64".into(),
        processors: vec![
            "Ideal CPU @ 3.00GHz".into(),
            "1 package, 4 cores, 4 CPUs online (0-3)".into(),
        ],
        addresses: vec!["eth0 10.0.0.1".into()],
        boot: Some(boot),
        tuned: true,
        settings: Ok(Survey { plan, settings }),
    }
}

fn core(cpu: u32, gaps: u64, longest_ns: u64) -> Core {
    let mut histogram = Histogram::new();
    histogram.record_n(5_000, gaps - 1);
    histogram.record(longest_ns);
    Core {
        cpu,
        observed_ns: 1_000_000_000,
        iterations: 50_000_000,
        iteration_ns: 20.0,
        gaps,
        gaps_per_s: gaps as f64,
        lost_ns: gaps * 5_000,
        lost_share: gaps as f64 * 5e-6,
        longest_ns,
        lengths_ns: None,
        histogram,
        intervals: Intervals::default(),
        recorded: Recorded::default(),
        who: Who {
            interrupts: 0,
            explained_at_most: 0,
            unexplained_at_least: 0,
            switched_at_most_ns: None,
            thread: ThreadCounts::default(),
            counts: Vec::new(),
        },
    }
}

fn place() -> Where {
    Where {
        cpus: Some("1-2".parse().unwrap()),
        emulated: false,
    }
}

fn second(place: Where) -> Input {
    let report = NoiseReport {
        host: "node01".into(),
        kernel: "6.1.0".into(),
        clock: Source::Tsc,
        iteration_ns: 20.0,
        threshold_ns: 300,
        duration_ns: 1_000_000_000,
        interval_ns: 50_000_000,
        cores: vec![core(1, 4, 9_000), core(2, 250, 70_000)],
        not_counted: Vec::new(),
        tracers: None,
    };
    Input::Noise(Box::new(Ok(Listened { place, report })))
}

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
        state: Ok(State { standing, running }),
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
            },
            ExperimentFile {
                path: "quick.yaml".into(),
                about: Ok(vec![
                    "experiment  quick".into(),
                    "runs        8, about 2:40 min".into(),
                ]),
            },
        ],
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
    let brief = Box::new(Brief::of(&samples()).unwrap());
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
            run("packet-rtt-udp.none.r1", Shown::Brief(brief.clone())),
            failed,
            run("application-redis.none.r1", Shown::Words("12.1 us".into())),
            run(
                "packet-rtt-udp.injected-60-lognormal.r1",
                Shown::Brief(brief),
            ),
        ],
        samples: Some(Samples {
            at: 3,
            sorted: Ok(Arc::new(samples())),
        }),
    }
}

/// At the third screen, where the newest folder is being filled.
fn at_experiments() -> App {
    let mut app = App::new();
    press(&mut app, &[Key::Char('3')]);
    app.on(Input::Seen(Box::new(Seen {
        followed: Some(followed()),
        ..seen()
    })));
    app
}

fn pictures(name: &str, app: &mut App) {
    for (width, height) in [(80, 24), (160, 48)] {
        let name = format!("{name}_{width}x{height}");
        assert_snapshot!(name, picture(app, width, height));
    }
}

#[test]
fn the_node_is_shown() {
    let mut app = App::new();
    assert!(picture(&mut app, 80, 24).contains("is being read"));
    app.on(Input::Node(Box::new(Ok(facts()))));
    pictures("node", &mut app);
    // Further than to the end it does not go.
    press(&mut app, &[Key::End, Key::Down]);
    let end = picture(&mut app, 80, 24);
    assert!(end.contains("turbo") && !end.contains("Ideal CPU"), "{end}");
    press(&mut app, &[Key::Up, Key::Home]);
    assert!(picture(&mut app, 80, 24).contains("Ideal CPU"));
    // It is read once at a time.
    let again = [Key::Char('r'), Key::Char('r')];
    assert_eq!(press(&mut app, &again), [Action::ReadNode]);
    app.on(Input::Node(Box::new(Err("cannot read /sys".into()))));
    assert!(picture(&mut app, 80, 24).contains("cannot read /sys"));
    assert_eq!(press(&mut app, &again), [Action::ReadNode]);
}

#[test]
fn noise_is_measured_second_by_second_until_it_is_ended() {
    let mut app = App::new();
    press(&mut app, &[Key::Tab]);
    assert!(picture(&mut app, 80, 24).contains("Enter begins"));
    assert_eq!(press(&mut app, &[Key::Enter]), [Action::Listen(None)]);
    let next = Action::Listen(Some(place()));
    assert_eq!(app.on(second(place())), Some(next.clone()));
    assert_eq!(app.on(second(place())), Some(next.clone()));
    press(&mut app, &[Key::Down]);
    pictures("noise", &mut app);
    // A second that is being measured is not ended, and no other is begun beside it.
    assert_eq!(press(&mut app, &[Key::Enter, Key::Enter]), []);
    assert_eq!(app.on(second(place())), Some(next));
    press(&mut app, &[Key::Enter]);
    assert_eq!(app.on(second(place())), None);
    let ended = picture(&mut app, 80, 24);
    assert!(ended.contains("ended: 4 s"), "{ended}");
    assert!(
        ended.contains("CPU 2: 1000 gaps since the beginning"),
        "{ended}"
    );
    // And anew, from nothing.
    assert_eq!(press(&mut app, &[Key::Enter]), [Action::Listen(None)]);
    let refused = Err("cannot stay on CPU 2".to_string());
    assert_eq!(app.on(Input::Noise(Box::new(refused))), None);
    assert!(picture(&mut app, 80, 24).contains("cannot stay on CPU 2"));
}

#[test]
fn the_noise_of_an_emulator_is_not_judged() {
    let mut app = App::new();
    press(&mut app, &[Key::Char('2'), Key::Enter]);
    app.on(second(place()));
    assert!(picture(&mut app, 80, 24).contains("too much: CPU 2"));
    let mut app = App::new();
    press(&mut app, &[Key::Char('2'), Key::Enter]);
    app.on(second(Where {
        emulated: true,
        ..place()
    }));
    let shown = picture(&mut app, 80, 24);
    assert!(
        shown.contains("not judged") && !shown.contains("too much"),
        "{shown}"
    );
}

#[test]
fn experiments_are_shown() {
    let mut app = at_experiments();
    pictures("experiments", &mut app);
    press(&mut app, &[Key::Home]);
    let wrong = picture(&mut app, 80, 24);
    assert!(wrong.contains("missing key `name`"), "{wrong}");
}

#[test]
fn what_is_watched_is_what_is_seen() {
    let mut app = at_experiments();
    let wants = |run| {
        Some(Wanted {
            folder: Some(format!("results/{NEW}").into()),
            run,
        })
    };
    assert_eq!(app.wanted(), wants(None));
    press(&mut app, &[Key::Right, Key::Up]);
    assert_eq!(app.wanted(), wants(Some(2)));
    // At the last run, it follows those that come.
    press(&mut app, &[Key::Down]);
    assert_eq!(app.wanted(), wants(None));
    press(&mut app, &[Key::Left, Key::Home]);
    assert_eq!(
        app.wanted(),
        Some(Wanted {
            folder: None,
            run: None
        })
    );
    press(&mut app, &[Key::Char('1')]);
    assert_eq!(app.wanted(), None);
}

#[test]
fn nothing_is_run_before_it_was_asked_for() {
    let mut app = at_experiments();
    let asks = |app: &mut App| picture(app, 80, 24).lines().last().unwrap().to_string();
    press(&mut app, &[Key::Home, Key::Enter]);
    let no = picture(&mut app, 80, 24);
    assert!(no.contains("this is no experiment file"), "{no}");
    press(&mut app, &[Key::Down, Key::Enter]);
    assert!(asks(&mut app).contains("run quick.yaml beside the one that runs? y/n"));
    // Whatever is no answer is no answer.
    assert_eq!(
        press(&mut app, &[Key::Enter, Key::Char('q'), Key::Char('1')]),
        []
    );
    assert_eq!(app.screen, Screen::Experiments);
    assert_eq!(press(&mut app, &[Key::Char('n'), Key::Char('y')]), []);
    assert!(!asks(&mut app).contains("y/n"));
    let start = |path: &str| Action::Start(Job::Run(PathBuf::from(path)));
    let yes = [Key::Enter, Key::Char('y')];
    assert_eq!(press(&mut app, &yes), [start("quick.yaml")]);
    // What comes of it is looked into as soon as it is there.
    let mut next = seen();
    let new = "quick-20261122T040000Z";
    next.folders.insert(0, folder(new, 8, 0, true));
    app.on(Input::Seen(Box::new(next)));
    assert_eq!(
        app.wanted().unwrap().folder,
        Some(format!("results/{new}").into())
    );
    app.on(Input::Said("quick.yaml: done".into()));
    assert!(picture(&mut app, 80, 24).contains("quick.yaml: done"));
}

#[test]
fn what_was_stopped_is_resumed_and_what_runs_is_stopped() {
    let mut app = at_experiments();
    let yes = [Key::Enter, Key::Char('y')];
    // The one that runs is chosen at first.
    assert_eq!(press(&mut app, &yes), []);
    let stop = Action::Stop(format!("results/{NEW}").into());
    let stops = [Key::Char('s'), Key::Char('y')];
    assert_eq!(press(&mut app, &stops), std::slice::from_ref(&stop));
    press(&mut app, &[Key::Down]);
    let resume = Action::Start(Job::Resume(format!("results/{OLD}").into()));
    assert_eq!(press(&mut app, &yes), [resume]);
    // Whichever is chosen.
    assert_eq!(press(&mut app, &stops), [stop]);
    press(&mut app, &[Key::Down, Key::Enter]);
    assert!(picture(&mut app, 80, 24).contains("it is done"));
    let mut idle = seen();
    idle.folders.remove(0);
    app.on(Input::Seen(Box::new(idle)));
    assert_eq!(press(&mut app, &stops), []);
    assert!(app.experiments.question.is_none());
}

#[test]
fn no_experiment_is_started_into_noise_that_is_being_measured() {
    let mut app = at_experiments();
    press(
        &mut app,
        &[Key::Char('2'), Key::Enter, Key::Char('3'), Key::Down],
    );
    assert_eq!(press(&mut app, &[Key::Enter, Key::Char('y')]), []);
    // Also while the last second of it is.
    press(&mut app, &[Key::Char('2'), Key::Enter, Key::Char('3')]);
    assert_eq!(press(&mut app, &[Key::Enter, Key::Char('y')]), []);
    app.on(second(place()));
    press(&mut app, &[Key::Enter]);
    assert!(app.experiments.question.is_some());
}

#[test]
fn whoever_leaves_leaves() {
    for keys in [
        &[Key::Char('q')][..],
        &[Key::Break],
        &[Key::Char('2'), Key::Enter, Key::Char('q')],
    ] {
        let mut app = App::new();
        assert_eq!(press(&mut app, keys).last(), Some(&Action::Leave));
    }
    let mut app = at_experiments();
    let keys = [Key::Char('s'), Key::Break];
    assert_eq!(press(&mut app, &keys), [Action::Leave]);
    assert_eq!(app.on(Input::Gone), Some(Action::Leave));
}

#[test]
fn a_terminal_of_any_size_shows_something() {
    let mut apps = [App::new(), App::new(), at_experiments()];
    apps[0].on(Input::Node(Box::new(Ok(facts()))));
    press(&mut apps[1], &[Key::Char('2'), Key::Enter]);
    apps[1].on(second(place()));
    for app in &mut apps {
        for width in [1, 2, 7, 20, 40, 79] {
            for height in [1, 2, 3, 5, 9, 23] {
                let shown = picture(app, width, height);
                let is_tiny = width < 20 || height < 3;
                assert!(is_tiny || shown.contains("jitterlab"), "{shown}");
            }
        }
    }
    assert_snapshot!("experiments_40x12", picture(&mut apps[2], 40, 12));
}

#[test]
fn no_color_and_no_fine_blocks_where_there_are_none() {
    let mut app = at_experiments();
    let colored = |theme, app: &mut App| {
        let terminal = drawn(app, 80, 24, theme);
        let cells = &terminal.backend().buffer().content;
        cells
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(!colored(PLAIN, &mut app));
    assert!(colored(
        Theme {
            color: true,
            ..PLAIN
        },
        &mut app
    ));
    // Without colours, too, what is chosen stands out.
    let terminal = drawn(&mut app, 80, 24, PLAIN);
    let cells = &terminal.backend().buffer().content;
    assert!(
        cells
            .iter()
            .any(|cell| cell.modifier.contains(Modifier::REVERSED))
    );
    let coarse = Theme {
        coarse: true,
        ..PLAIN
    };
    let shown = drawn(&mut app, 80, 24, coarse).backend().to_string();
    let of_a_pc = |c: char| c.is_ascii() || "▄█─┴".contains(c);
    assert!(shown.chars().all(of_a_pc), "{shown}");
}
