//! The screen by its keys, and as it looks, with data that is always the same.

use jitterlab_base::clock::Source;
use jitterlab_node_tuning::noise::probe::ThreadCounts;
use jitterlab_node_tuning::noise::report::{Intervals, Recorded};
use jitterlab_node_tuning::noise::who::Who;

use super::*;
use crate::ui::app::App;
use crate::ui::recorded;
use crate::ui::testing::{
    app_at, fits_a_serial_line, fits_anywhere, picture, pictures, press, tell,
};

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

fn second(place: Where) -> Second {
    of_cores(place, vec![core(1, 4, 9_000), core(2, 250, 70_000)])
}

fn of_cores(place: Where, cores: Vec<Core>) -> Second {
    let report = NoiseReport {
        host: "node01".into(),
        kernel: "6.1.0".into(),
        clock: Source::Tsc,
        iteration_ns: 20.0,
        threshold_ns: 300,
        duration_ns: 1_000_000_000,
        interval_ns: 50_000_000,
        cores,
        not_counted: Vec::new(),
        tracers: None,
    };
    Ok(Listened { place, report })
}

fn listen(place: Option<Where>) -> [String; 1] {
    [format!("{:?}", Action::work(Listen(place)))]
}

#[test]
fn noise_is_measured_second_by_second_until_it_is_ended() {
    let mut app = app_at("Noise");
    assert!(picture(&mut app, 80, 24).contains("Enter begins"));
    assert_eq!(press(&mut app, &[Key::Enter]), listen(None));
    let next = listen(Some(place()));
    assert_eq!(tell(&mut app, second(place())), next);
    assert_eq!(tell(&mut app, second(place())), next);
    press(&mut app, &[Key::Down]);
    pictures("noise", &mut app);
    fits_anywhere(&mut app);
    // A second that is being measured is not ended, and no other is begun beside it.
    assert!(press(&mut app, &[Key::Enter, Key::Enter]).is_empty());
    assert_eq!(tell(&mut app, second(place())), next);
    press(&mut app, &[Key::Enter]);
    assert!(tell(&mut app, second(place())).is_empty());
    let ended = picture(&mut app, 80, 24);
    assert!(ended.contains("ended: 4 s"), "{ended}");
    assert!(
        ended.contains("CPU 2: 1000 gaps since the beginning"),
        "{ended}"
    );
    // And anew, from nothing.
    assert_eq!(press(&mut app, &[Key::Enter]), listen(None));
    let refused: Second = Err("cannot stay on CPU 2".into());
    assert!(tell(&mut app, refused).is_empty());
    assert!(picture(&mut app, 80, 24).contains("cannot stay on CPU 2"));
}

#[test]
fn recorded_noise_is_shown() {
    let mut app = app_at("Noise");
    press(&mut app, &[Key::Enter]);
    for line in recorded::lines("noise.jsonl") {
        let report = serde_json::from_str(&line).unwrap();
        let place = Where {
            cpus: None,
            emulated: false,
        };
        let second: Second = Ok(Listened { place, report });
        tell(&mut app, second);
    }
    pictures("recorded_noise", &mut app);
}

#[test]
fn the_noise_of_an_emulator_is_not_judged() {
    let shown = |emulated| {
        let mut app = app_at("Noise");
        press(&mut app, &[Key::Enter]);
        let place = Where {
            emulated,
            ..place()
        };
        tell(&mut app, second(place));
        picture(&mut app, 80, 24)
    };
    assert!(shown(false).contains("too much: CPU 2"));
    let emulated = shown(true);
    assert!(
        emulated.contains("not judged") && !emulated.contains("too much"),
        "{emulated}"
    );
}

#[test]
fn a_second_is_small_enough_for_a_serial_line() {
    let mut app = app_at("Noise");
    press(&mut app, &[Key::Enter]);
    let mut n = 0u64;
    let next = |app: &mut App| {
        // More CPUs than there is room for, each with a noise of its own.
        let core = |cpu: u32| {
            let k = n * 7919 + u64::from(cpu) * 104_729;
            core(cpu, 2 + k % 240, 6_000 + k * k % 400_000)
        };
        let cores: Vec<Core> = (0..8).map(core).collect();
        n += 1;
        tell(app, of_cores(place(), cores));
    };
    fits_a_serial_line(120, 1, next, &mut app);
}
