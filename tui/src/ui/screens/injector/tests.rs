//! The screen by its keys, and as it looks.

use std::path::Path;

use jitterlab_injector::control::{self, Hook, HookFamily, Mode, Settings, Totals, attach};
use jitterlab_live::Total;
use jitterlab_stats::histogram::Histogram;

use super::watch::{Changed, Program, Seen};
use crate::ui::app::App;
use crate::ui::keys::Key;
use crate::ui::recorded;
use crate::ui::screens::live::watch::{self as live, Found, Heard, Source};
use crate::ui::testing::{
    app_at, fits_a_serial_line, fits_anywhere, letters, picture, pictures, press, tell,
};

fn program(pid: u32, rank: u64, hooks: &[HookFamily]) -> Program {
    let mut totals = Totals::default();
    totals.calls[Hook::MpiSend as usize] = 20_000;
    totals.delays = 20_000;
    totals.asked_ns = 20_000 * 10_000;
    totals.achieved_ns = 20_000 * 10_040;
    totals.late_max_ns = 3_100;
    Program {
        address: pid.to_string().parse().unwrap(),
        name: "/opt/lab/bin/solver".into(),
        rank,
        hooks: hooks.to_vec(),
        settings: Settings {
            enabled: true,
            ..Settings::NONE
        },
        table: "load20.dist exponential(mean=10000)".into(),
        times: 1.0,
        table_mean: 10_000.0,
        totals,
    }
}

/// A program that sends 2,000 times a second, looked at for so many seconds.
fn watched(app: &mut App, programs: &mut [Program], seconds: u64) {
    for second in 0..seconds {
        for program in &mut *programs {
            let asked = if second % 10 < 5 { 10_000 } else { 20_000 };
            program.totals.delays += 2_000;
            program.totals.asked_ns += 2_000 * asked;
            program.totals.achieved_ns += 2_000 * (asked + 40 + 100 * (second % 3));
        }
        let samples = Histogram::of(&[30_000.0, 31_000.0, 31_000.0, 90_000.0]);
        tell(app, seen(second, programs, samples));
    }
}

const MEASURED: [&str; 2] = ["4711 jitterlab packet run rtt", "4712 jitterlab noise run"];

fn source(of: usize) -> Source {
    Source::Program(format!("/dev/shm/{of}").into())
}

/// The state at a second, with all that was measured until then.
fn seen(second: u64, programs: &[Program], histogram: Histogram) -> Seen {
    let heard = Heard {
        source: source(0),
        run: MEASURED[0].into(),
        stage: jitterlab_experiment::live::Stage::UnderWay,
        total: Total {
            part: 1,
            label: "64B".into(),
            max_ns: 90_000,
            histogram,
            ..Total::default()
        },
        load: None,
        said: String::new(),
        progress: None,
    };
    let found = (0..).zip(MEASURED).map(|(of, name)| Found {
        source: source(of),
        name: name.into(),
    });
    let live = live::Seen {
        at: second as f64,
        found: found.collect(),
        heard: Some(heard),
    };
    Seen {
        programs: Ok(programs.to_vec()),
        tables: [
            "load20.dist",
            "load40.dist",
            "results/e-1/tables/load-20.dist",
        ]
        .map(|name| Path::new("lab").join(name))
        .into(),
        live,
    }
}

/// Delays were doubled in the middle of what was recorded.
#[test]
fn recorded_delays_are_shown() {
    let mut app = app_at("Injector");
    let told = recorded::lines("injector.jsonl");
    let moments = recorded::pages("injector.pages");
    let doubled = moments.len() / 2;
    let source = Source::Experiment("lab/results/delayed-20261126T125000Z".into());
    for (second, (pages, told)) in moments.iter().zip(&told).enumerate() {
        if second == doubled {
            letters(&mut app, "+");
            tell(&mut app, Changed);
        }
        let running = pages.iter().map(|(name, page)| control::Program {
            page: attach(page.path()).unwrap(),
            pid: name.parse().ok(),
        });
        let found = Found {
            source: source.clone(),
            name: "delayed-20261126T125000Z".into(),
        };
        let now = serde_json::from_str(told).unwrap();
        let live = live::Seen {
            at: second as f64,
            found: vec![found],
            heard: Some(live::of_experiment(source.clone(), now)),
        };
        let seen = Seen {
            programs: Ok(running.map(|it| Program::of(&it)).collect()),
            tables: Vec::new(),
            live,
        };
        tell(&mut app, seen);
    }
    pictures("recorded_injector", &mut app);
}

#[test]
fn what_is_asked_and_what_is_achieved_is_shown() {
    let mut app = app_at("Injector");
    assert!(picture(&mut app, 80, 24).contains("looking"));
    let mpi = [HookFamily::Mpi];
    let mut programs = [program(4_801, 0, &mpi), program(4_802, 1, &mpi)];
    watched(&mut app, &mut programs, 40);
    let shown = picture(&mut app, 80, 24);
    for text in [
        "2 programs under injection",
        "4801",
        "worst late by 3.1 us",
        "mpi_send 20,000",
        "achieved",
    ] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    pictures("injector", &mut app);
    fits_anywhere(&mut app);
}

#[test]
fn what_is_in_force_is_shown_of_each_program() {
    let mut app = app_at("Injector");
    let mut programs = [
        program(7, 0, &[HookFamily::Socket]),
        program(8, 1, &[HookFamily::Socket]),
    ];
    programs[1].settings.enabled = false;
    programs[1].times = 2.5;
    programs[1].table = "load40.dist".into();
    let look = |app: &mut App| {
        for second in 0..5 {
            tell(app, seen(second, &programs, Histogram::new()));
        }
        picture(app, 80, 24)
    };
    let shown = look(&mut app);
    let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap();
    assert!(row("rank 0").contains("on   spin   ×1 "), "{shown}");
    assert!(
        row("rank 1").contains("off  spin   ×2.5 ") && row("rank 1").contains("load40.dist"),
        "{shown}"
    );
    // Neither sends. What is on asks for the mean of its table, and what is off for nothing; one point is that of the name.
    let points = |shown: &str| shown.matches('○').count() - 1;
    assert_eq!(points(&shown), 4, "{shown}");
    press(&mut app, &[Key::Down]);
    let shown = look(&mut app);
    assert!(
        shown.contains("load40.dist, times 2.5, mean 10 us"),
        "{shown}"
    );
    assert_eq!(points(&shown), 0, "{shown}");
}

#[test]
fn a_second_is_small_enough_for_a_serial_line() {
    let mut app = app_at("Injector");
    let mut programs = [program(7, 0, &[HookFamily::Socket])];
    let mut samples = Histogram::new();
    let mut second = 0;
    let next = |app: &mut App| {
        second += 1;
        let program = &mut programs[0];
        program.totals.calls[Hook::MpiSend as usize] += 2_000;
        program.totals.delays += 2_000;
        program.totals.asked_ns += 2_000 * 10_000;
        program.totals.achieved_ns += 2_000 * (10_040 + 100 * (second % 3));
        samples.record_n(30_000 + second % 3 * 100, 500);
        tell(app, seen(second, &programs, samples.clone()));
    };
    fits_a_serial_line(60, 1, next, &mut app);
}

#[test]
fn what_is_pressed_changes_the_program_that_is_chosen_or_all() {
    let mut app = app_at("Injector");
    let mut programs = [
        program(7, 0, &[HookFamily::Socket]),
        program(8, 1, &[HookFamily::Mpi]),
    ];
    watched(&mut app, &mut programs, 1);
    let pressed = |app: &mut App, keys: &str| letters(app, keys).join("");
    let off = pressed(&mut app, "o");
    assert!(off.contains("pid: 7") && !off.contains("pid: 8"), "{off}");
    assert!(off.contains("enabled: Some(false)"), "{off}");
    assert!(pressed(&mut app, "+").contains("scale: Some(2.0)"));
    assert!(pressed(&mut app, "-").contains("scale: Some(0.5)"));
    assert!(pressed(&mut app, "m").contains("mode: Some(Defer)"));
    // What MPI is given cannot be deferred.
    press(&mut app, &[Key::Down]);
    let mode = pressed(&mut app, "m");
    assert!(
        mode.contains("pid: 8") && mode.contains("mode: Some(Pace)"),
        "{mode}"
    );
    let all = pressed(&mut app, "ao");
    assert!(all.contains("pid: 7") && all.contains("pid: 8"), "{all}");
    programs[1].settings.mode = Mode::Pace;
    watched(&mut app, &mut programs, 1);
    assert!(pressed(&mut app, "m").contains("mode: Some(Spin)"));
}

#[test]
fn a_table_is_chosen_from_those_of_the_folder() {
    let mut app = app_at("Injector");
    watched(&mut app, &mut [program(7, 0, &[HookFamily::Socket])], 1);
    letters(&mut app, "t");
    let shown = picture(&mut app, 80, 24);
    for name in ["load40.dist", "results/e-1/tables/load-20.dist"] {
        assert!(shown.contains(name) && !shown.contains("lab/"), "{shown}");
    }
    let taken = press(&mut app, &[Key::Down, Key::Enter]).join("");
    assert!(taken.contains(r#"Table("lab/load40.dist")"#), "{taken}");
    letters(&mut app, "t");
    assert!(press(&mut app, &[Key::Escape]).is_empty());
    assert!(!picture(&mut app, 80, 24).contains("load40.dist"));
}

#[test]
fn where_there_is_nothing_it_says_how_to_begin() {
    let mut app = app_at("Injector");
    watched(&mut app, &mut [], 1);
    assert!(picture(&mut app, 80, 24).contains("No program is under injection"));
    assert!(letters(&mut app, "o+-mtas").is_empty());
}

#[test]
fn what_a_change_does_is_laid_over_what_was_before() {
    let mut app = app_at("Injector");
    let mut programs = [program(7, 0, &[HookFamily::Socket])];
    let mut samples = Histogram::new();
    let mut seconds = 0..;
    let mut watch = |app: &mut App, programs: &[Program], ns: u64, n: usize| {
        for second in seconds.by_ref().take(n) {
            samples.record_n(ns + second % 3 * 100, 500);
            tell(app, seen(second, programs, samples.clone()));
        }
    };
    watch(&mut app, &programs, 30_000, 40);
    let before = picture(&mut app, 80, 24);
    assert!(
        before.contains("what is measured (one of 2): 4711 jitterlab"),
        "{before}"
    );
    assert!(
        !before.contains("━") && !before.contains("shift"),
        "{before}"
    );
    letters(&mut app, "+");
    // What is not changed yet has no effect.
    assert_eq!(picture(&mut app, 80, 24), before);
    tell(&mut app, Changed);
    programs[0].table_mean *= 2.0;
    // Nothing was measured yet, and what was before is there.
    let outline = picture(&mut app, 80, 24);
    assert!(
        outline.contains("━") && outline.contains("known in 16 s"),
        "{outline}"
    );
    // A second press compares with what was before the first.
    watch(&mut app, &programs, 90_000, 1);
    tell(&mut app, Changed);
    watch(&mut app, &programs, 40_000, 60);
    let after = picture(&mut app, 80, 24);
    assert!(
        after.contains("━") && after.contains("slower: median +"),
        "{after}"
    );
    pictures("injector_effect", &mut app);
    // Another source is listened to, and compared with nothing.
    assert!(letters(&mut app, "s").is_empty());
    let looks = app.on(crate::ui::app::Input::Due);
    assert_eq!(
        format!("{looks:?}"),
        r#"[Do(Look(Some(Program("/dev/shm/1"))))]"#
    );
    assert!(!picture(&mut app, 80, 24).contains("━"));
}
