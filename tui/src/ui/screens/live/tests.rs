//! The screen by its keys, and as it looks.

use jitterlab_experiment::live::Stage;
use jitterlab_live::{Count, Rank, Timing, Total};
use jitterlab_stats::histogram::Histogram;
use jitterlab_stats::special::phi_inverse;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::lens::Lens;
use super::picture::Picture;
use super::view;
use super::watch::{Found, Heard, Progress, Seen, Source, of_experiment};
use crate::ui::app::App;
use crate::ui::keys::Key;
use crate::ui::recorded;
use crate::ui::testing::{
    PLAIN, app_at, fits_a_serial_line, fits_anywhere, letters, picture, pictures, press, tell,
};

const EXPERIMENT: &str = "lab/results/rtt-20261126T041500Z";

/// A run that is watched: its samples come four times a second, evenly over a lognormal distribution whose median drifts.
struct Run {
    name: &'static str,
    median_ns: f64,
    /// Samples of a second.
    rate: u32,
    total: Total,
    quarters: u32,
}

impl Run {
    fn new(name: &'static str, median_ns: f64, rate: u32) -> Self {
        let total = Total {
            part: 1,
            label: "64B".into(),
            timing: Some(Timing::ClosedLoop),
            ..Total::default()
        };
        Run {
            name,
            median_ns,
            rate,
            total,
            quarters: 0,
        }
    }

    fn sample(&mut self, ns: f64) {
        self.total.histogram.record(ns as u64);
        self.total.max_ns = self.total.max_ns.max(ns as u64);
    }

    fn go_on(&mut self) {
        let n = self.rate / 4;
        let drift = 1.0 + 0.02 * (f64::from(self.quarters) * 0.9).sin();
        for i in 0..n {
            let z = phi_inverse((f64::from(i) + 0.5) / f64::from(n));
            self.sample(self.median_ns * drift * (0.1 * z).exp());
        }
        // Something that takes the CPU away now and then.
        if self.quarters % 7 == 3 {
            self.sample(90_000.0);
        }
        self.quarters += 1;
    }

    fn heard(&self) -> Heard {
        Heard {
            source: Source::Experiment(EXPERIMENT.into()),
            run: self.name.into(),
            stage: Stage::UnderWay,
            total: self.total.clone(),
            load: None,
            said: String::new(),
            progress: Some(Progress {
                finished: 3,
                runs: 12,
                seconds_left: 130.0,
            }),
        }
    }
}

/// Time goes on by a quarter of a second.
struct Watch {
    app: App,
    at: f64,
}

impl Watch {
    fn new() -> Self {
        Watch {
            app: app_at("Live"),
            at: 0.0,
        }
    }

    /// What there is now; then it is a quarter of a second later.
    fn seen(&mut self, heard: Option<Heard>) -> Seen {
        let source = Source::Experiment(EXPERIMENT.into());
        let experiment = Found {
            source,
            name: "rtt-20261126T041500Z".into(),
        };
        let program = Found {
            source: Source::Program("/dev/shm/x".into()),
            name: "4711 jitterlab packet run rtt --connect node02".into(),
        };
        let at = self.at;
        self.at += 0.25;
        Seen {
            at,
            found: vec![experiment, program],
            heard,
        }
    }

    fn tell(&mut self, heard: Option<Heard>) {
        let seen = self.seen(heard);
        tell(&mut self.app, seen);
    }

    fn watch(&mut self, run: &mut Run, seconds: u32) {
        for _ in 0..4 * seconds {
            run.go_on();
            self.tell(Some(run.heard()));
        }
    }

    fn shown(&mut self) -> String {
        picture(&mut self.app, 80, 24)
    }
}

#[test]
fn a_run_is_watched_and_the_next_one_laid_over_it() {
    let mut watch = Watch::new();
    assert!(watch.shown().contains("looking"));
    let mut none = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut none, 40);
    let shown = watch.shown();
    assert!(
        shown.contains("packet-rtt-udp.none.r1, 64B  closed loop"),
        "{shown}"
    );
    assert!(shown.contains("run 4 of 12  2:10 min left"), "{shown}");
    assert!(shown.contains("99.99 %"), "{shown}");
    pictures("live", &mut watch.app);
    letters(&mut watch.app, "p");
    assert!(watch.shown().contains("known in 16 s"), "{}", watch.shown());
    let mut next = Run::new("packet-rtt-udp.injected-20-lognormal.r1", 10_500.0, 1_000);
    // It stays in sight until the next run has samples.
    watch.tell(Some(next.heard()));
    let shown = watch.shown();
    assert!(
        shown.contains("0 samples") && shown.contains('━'),
        "{shown}"
    );
    watch.watch(&mut next, 60);
    let shown = watch.shown();
    assert!(
        shown.contains("over packet-rtt-udp.none.r1, 64B"),
        "{shown}"
    );
    assert!(shown.contains("slower: median +"), "{shown}");
    assert!(shown.contains("ns (95 % at all times)"), "{shown}");
    pictures("live_pinned", &mut watch.app);
    letters(&mut watch.app, "u");
    assert!(!watch.shown().contains("shift"));
    fits_anywhere(&mut watch.app);
}

/// The screen after what was told of a run.
fn recorded(file: &str) -> Watch {
    let mut watch = Watch::new();
    for line in recorded::lines(file) {
        let now = serde_json::from_str(&line).unwrap();
        let source = Source::Experiment(EXPERIMENT.into());
        watch.tell(Some(of_experiment(source, now)));
        // It was recorded every other time.
        watch.at += 0.25;
    }
    watch
}

#[test]
fn recorded_runs_are_watched() {
    let mut packets = recorded("live.jsonl");
    pictures("recorded_live", &mut packets.app);
    let mut library = recorded("library.jsonl");
    letters(&mut library.app, "r");
    assert!(library.shown().contains("slowest first"));
    pictures("recorded_live_library", &mut library.app);
    let mut npb = recorded("npb.jsonl");
    assert!(npb.shown().contains("of its iterations: "));
    pictures("recorded_live_npb", &mut npb.app);
}

/// What runs on after it was pinned is another sample: the same is never compared with itself.
#[test]
fn what_is_pinned_is_not_part_of_what_runs() {
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut run, 10);
    letters(&mut watch.app, "p");
    watch.watch(&mut run, 1);
    let shown = watch.shown();
    assert!(
        shown.contains("what is pinned ran for less than 16 s"),
        "{shown}"
    );
    assert!(
        shown.contains("1,001 samples") || shown.contains("1,000 samples"),
        "{shown}"
    );
    watch.watch(&mut run, 60);
    letters(&mut watch.app, "p");
    watch.watch(&mut run, 60);
    let shown = watch.shown();
    assert!(shown.contains("not told apart: median "), "{shown}");
}

#[test]
fn what_is_frozen_stays_and_the_rest_goes_on() {
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut run, 5);
    letters(&mut watch.app, "f");
    let frozen = watch.shown();
    assert!(frozen.contains("frozen"));
    watch.watch(&mut run, 5);
    assert_eq!(watch.shown(), frozen);
    letters(&mut watch.app, "f");
    let shown = watch.shown();
    assert!(
        shown.contains("10,0") && !shown.contains("frozen"),
        "{shown}"
    );
    // What is seen is what is pinned, and not what went on behind it.
    letters(&mut watch.app, "f");
    watch.watch(&mut run, 5);
    let mut next = Run::new("packet-rtt-tcp.none.r1", 20_000.0, 1_000);
    watch.watch(&mut next, 5);
    letters(&mut watch.app, "p");
    watch.watch(&mut next, 1);
    let shown = watch.shown();
    assert!(
        shown.contains("packet-rtt-tcp.none.r1, 64B  closed loop")
            && shown.contains("over packet-rtt-udp.none.r1, 64B"),
        "{shown}"
    );
    letters(&mut watch.app, "u");
    let zoomed = ["10 to 90 %", "99 to 100 %", "all", "0.1 to 99.9 %"];
    for zoom in zoomed {
        letters(&mut watch.app, "z");
        let shown = watch.shown();
        assert!(shown.contains(&format!("zoom {zoom}")), "{shown}");
    }
}

#[test]
fn a_freeze_ends_with_the_next_experiment() {
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut run, 5);
    letters(&mut watch.app, "f");
    watch.tell(None);
    assert!(watch.shown().contains("frozen"));
    let mut next = Run::new("packet-rtt-tcp.none.r1", 20_000.0, 1_000);
    next.go_on();
    watch.tell(Some(Heard {
        source: Source::Experiment("lab/results/next".into()),
        ..next.heard()
    }));
    let shown = watch.shown();
    assert!(
        shown.contains("packet-rtt-tcp.none.r1") && !shown.contains("frozen"),
        "{shown}"
    );
}

/// One in a hundred takes 40 us or more: among all samples they are a low line, and of the tail they are all that is seen.
#[test]
fn the_tail_is_looked_at_by_itself() {
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 0);
    run.total.histogram.record_n(10_000, 99_000);
    for us in 0..100 {
        run.total.histogram.record_n((40 + us % 10) * 1_000, 10);
    }
    run.total.max_ns = 49_000;
    watch.tell(Some(run.heard()));
    let count_of_top = |shown: &str| {
        let row = shown.lines().find(|line| line.contains('█')).unwrap();
        row.split_whitespace().next().unwrap().to_string()
    };
    assert_eq!(count_of_top(&watch.shown()), "99000");
    letters(&mut watch.app, "zz");
    let tail = watch.shown();
    assert!(tail.contains("zoom 99 to 100 %"), "{tail}");
    assert!(
        count_of_top(&tail).parse::<u64>().unwrap() <= 1_000,
        "{tail}"
    );
    // By a cursor, the part that one likes.
    letters(&mut watch.app, "z");
    press(&mut watch.app, &[Key::Right; 20]);
    let shown = watch.shown();
    assert!(shown.contains("1 % beyond"), "{shown}");
    letters(&mut watch.app, " ");
    press(&mut watch.app, &[Key::Right; 44]);
    letters(&mut watch.app, " ");
    let part = watch.shown();
    assert!(
        part.contains("left  38.76 us to 55.11 us (99 % below)"),
        "{part}"
    );
    assert!(
        count_of_top(&part).parse::<u64>().unwrap() <= 1_000,
        "{part}"
    );
    pictures("live_part", &mut watch.app);
    press(&mut watch.app, &[Key::Escape]);
    assert!(watch.shown().contains("zoom all"));
    assert_eq!(count_of_top(&watch.shown()), "99000");
}

/// A sample of 1 s among a million at 10 us moves nothing out of sight.
#[test]
fn an_outlier_flattens_no_picture() {
    for (width, height) in [(80, 24), (200, 60)] {
        let mut watch = Watch::new();
        let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 0);
        run.total.histogram.record_n(10_000, 1_000_000);
        run.sample(1e9);
        watch.tell(Some(run.heard()));
        for _ in 0..4 {
            let shown = picture(&mut watch.app, width, height);
            letters(&mut watch.app, "z");
            if shown.contains("zoom 99 to 100 %") {
                // The median is no part of the tail.
                continue;
            }
            let bars = shown.lines().find(|line| line.contains('█')).unwrap();
            let bars: Vec<char> = bars.chars().collect();
            let at = bars.iter().position(|&symbol| symbol == '█').unwrap();
            // The axis begins behind the column of counts.
            println!("{width} x {height}: the median's bar is in column {at}");
            assert!(at >= 9 + 3, "{shown}");
            assert!(at + 3 < usize::from(width), "{shown}");
            assert!(shown.contains("max        1 s"), "{shown}");
        }
    }
}

#[test]
fn an_application_is_watched_by_its_progress() {
    let mut watch = Watch::new();
    let mut run = Run::new("application-lu.none.r2", 0.0, 0);
    // As benchmarks publish: without a size, and without a loop.
    run.total.label = String::new();
    run.total.timing = None;
    run.total.counts = [(Count::Iterations, 0), (Count::Planned, 240)].into();
    for second in 0..6 {
        run.total.counts.insert(Count::Iterations, 20 * second);
        for _ in 0..4 {
            watch.tell(Some(run.heard()));
        }
    }
    let shown = watch.shown();
    assert!(
        shown.contains("41.67 % of its iterations: 100 of 240"),
        "{shown}"
    );
    let large = picture(&mut watch.app, 200, 60);
    assert!(large.contains("4711 jitterlab packet run rtt"), "{large}");
    assert!(
        shown.contains("20 iterations in the last second"),
        "{shown}"
    );
    assert!(shown.contains("iterations a second"), "{shown}");
    pictures("live_application", &mut watch.app);
    // One that publishes nothing is known by what it prints.
    run.name = "application-solver.none.r1";
    run.total = Total::default();
    let mut heard = run.heard();
    heard.said = "step 17 of 40".into();
    watch.tell(Some(heard));
    assert!(watch.shown().contains("it says  step 17 of 40"));
    watch.tell(None);
    assert!(watch.shown().contains("ended"));
}

#[test]
fn what_takes_no_samples_is_watched_by_its_messages() {
    let mut watch = Watch::new();
    let mut run = Run::new("amvia-bandwidth-udp.none.r1", 0.0, 0);
    run.total.label = "amvia 32B".into();
    let mut messages = 0;
    for second in 0..8 {
        // Counts go on where another size begins.
        if second == 4 {
            run.total.part = 2;
        }
        for _ in 0..4 {
            messages += 250;
            run.total.counts = [(Count::Messages, messages), (Count::Bytes, 32 * messages)].into();
            watch.tell(Some(run.heard()));
        }
        let shown = watch.shown();
        let rate = "1,000 messages in the last second, 32 kB/s";
        assert!(second < 2 || shown.contains(rate), "{second}: {shown}");
    }
    let shown = watch.shown();
    assert!(shown.contains("8,000 messages, 256,000 bytes"), "{shown}");
    assert!(shown.contains("messages a second"), "{shown}");
}

#[test]
fn a_library_operation_is_watched_by_its_ranks() {
    let mut watch = Watch::new();
    let mut run = Run::new("library-allreduce.none.r1", 10_000.0, 1_000);
    let rank = |slower: u64| Rank {
        samples: 250,
        median_ns: 10_000 + 1_000 * slower,
        p99_ns: 12_000 + 1_000 * slower,
        max_ns: 90_000,
        iterations: 0,
    };
    run.total.ranks = [
        (0, rank(0)),
        (1, rank(2)),
        (2, rank(1)),
        (3, Rank::default()),
    ]
    .into();
    watch.watch(&mut run, 20);
    assert!(!watch.shown().contains("slowest first"));
    letters(&mut watch.app, "r");
    let shown = watch.shown();
    let rows: Vec<&str> = shown
        .lines()
        .skip_while(|line| !line.contains("slowest first"))
        .collect();
    let numbers: Vec<&str> = rows[1..5]
        .iter()
        .map(|row| row.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(numbers, ["1", "2", "0", "3"], "{shown}");
    assert!(rows[1].contains("12 us"), "{shown}");
    pictures("live_ranks", &mut watch.app);
    // An application has iterations by rank.
    let mut run = Run::new("application-lu.none.r2", 0.0, 0);
    run.total.counts = [(Count::Iterations, 70), (Count::Planned, 240)].into();
    let done = |iterations| Rank {
        iterations,
        ..Rank::default()
    };
    run.total.ranks = [(0, done(40)), (1, done(30))].into();
    watch.tell(Some(run.heard()));
    let shown = watch.shown();
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("no {text} in {shown}"))
    };
    assert!(at("     1           30") < at("     0           40"));
}

#[test]
fn another_source_is_chosen_by_the_arrows() {
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut run, 2);
    assert!(watch.shown().contains("1 of 2 sources"));
    let pressed = press(&mut watch.app, &[Key::Down]);
    assert!(pressed.is_empty(), "it is for the next look");
    let looks = watch.app.on(crate::ui::app::Input::Due);
    assert_eq!(
        format!("{looks:?}"),
        r#"[Do(Look(Some(Program("/dev/shm/x"))))]"#
    );
}

/// A picture takes as much work of a fast program as of a slow one whose samples are distributed in the same way. Where its parts
/// are is left out: ratatui finds that out by a table that is in another order each time.
#[test]
fn the_work_of_a_picture_does_not_depend_on_the_rate() {
    let area = Rect::new(0, 0, 80, 24);
    let allocations = |times: u64| {
        let mut picture = Picture::default();
        let mut buffer = Buffer::empty(area);
        let mut slow = Run::new("packet-rtt-udp.none.r1", 10_000.0, 10_000);
        let mut next = |quarter: u32| {
            slow.go_on();
            let mut heard = slow.heard();
            let mut samples = Histogram::new();
            for (lowest, _, count) in slow.total.histogram.buckets() {
                samples.record_n(lowest, count * times);
            }
            heard.total.histogram = samples;
            let mut draw = || {
                picture.take(f64::from(quarter) / 4.0, Some(heard.clone()));
                view::draw_histogram(&mut buffer, area, &picture, &Lens::default(), PLAIN);
                view::draw_ladder(&mut buffer, area, &picture, PLAIN);
                view::draw_strip(&mut buffer, area, &picture, PLAIN);
                view::draw_heat(&mut buffer, area, &picture, &Lens::default(), PLAIN);
            };
            allocation_counter::measure(&mut draw).count_total
        };
        // Memory that is kept is taken by the first seconds.
        (0..12).map(&mut next).last().unwrap()
    };
    let [slow, fast] = [1, 100].map(allocations);
    println!("allocations: {slow} at 1e4 samples/s, {fast} at 1e6");
    assert_eq!(slow, fast);
    assert!(slow < 500, "{slow}");
}

#[test]
fn histograms_of_other_parts_start_over() {
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut run, 3);
    run.total.part = 2;
    run.total.label = "1KiB".into();
    run.total.before = run.total.histogram.count();
    run.total.histogram = Histogram::new();
    run.total.max_ns = 0;
    run.median_ns = 12_000.0;
    run.quarters = 4;
    watch.watch(&mut run, 1);
    let shown = watch.shown();
    assert!(shown.contains("packet-rtt-udp.none.r1, 1KiB"), "{shown}");
    assert!(shown.contains("1,000 samples"), "{shown}");
}

#[test]
fn a_second_is_small_enough_for_a_serial_line() {
    const SECONDS: usize = 60;
    let mut watch = Watch::new();
    let mut run = Run::new("packet-rtt-udp.none.r1", 10_000.0, 1_000);
    watch.watch(&mut run, 20);
    let mut app = std::mem::replace(&mut watch.app, app_at("Live"));
    let mut turn = 0;
    let next = |app: &mut App| {
        turn += 1;
        // In the second half another run is laid over the first one.
        if turn == 2 * SECONDS {
            letters(app, "p");
            run = Run::new("packet-rtt-udp.load-20.r1", 10_500.0, 1_000);
        }
        run.go_on();
        tell(app, watch.seen(Some(run.heard())));
    };
    fits_a_serial_line(SECONDS, 4, next, &mut app);
}
