//! Folders of experiments that measure one thing each, without a load: a program or an operation under given delays, or packets.

use std::path::{Path, PathBuf};

use super::*;

/// Makes the folder `directory/given` of an experiment that measures no load, but a program under delays for which none is
/// needed. Its runtime is 1 s without them, and with each by such a share longer.
pub fn given(directory: &Path, injected: &str, delays: &[(Level, f64)]) -> PathBuf {
    let suites =
        "application:\n    - { name: redis, client: { on: client, command: [redis-benchmark] } }\n";
    with_delays(
        directory,
        injected,
        suites,
        delays,
        |block, level, longer, network| {
            let runtime = (1.0 + longer) * (0.004 * network.normal()).exp();
            (application(block, level, runtime, 1.0, &[]), None)
        },
    )
}

/// The same of an operation of MPI, a barrier.
pub fn given_operation(directory: &Path, injected: &str, delays: &[(Level, f64)]) -> PathBuf {
    let suites =
        "library:\n    - { case: barrier, ranks: 2, duration: 100ms }\nmpi: { on: client }\n";
    with_delays(
        directory,
        injected,
        suites,
        delays,
        |block, level, longer, network| {
            let of_block = (0.004 * network.normal()).exp();
            let mut sample = || {
                let scatter = (0.1 * network.normal()).exp();
                (100_000.0 * (1.0 + longer) * of_block * scatter) as u64
            };
            let of_rank: Vec<Vec<u64>> = (0..2)
                .map(|_| (0..100).map(|_| sample()).collect())
                .collect();
            let mut run = record(block, SuiteKind::Library, "barrier", level, &[]);
            run.result = Some(SuiteResult::Library(results::library("barrier", 2)));
            (run, Some(Samples::of_ranks(&of_rank)))
        },
    )
}

fn with_delays(
    directory: &Path,
    injected: &str,
    suites: &str,
    delays: &[(Level, f64)],
    run: impl Fn(u32, Level, f64, &mut Network) -> (RunRecord, Option<Samples>),
) -> PathBuf {
    let (path, mut recorder) = begun(directory, &format!("{{ injected: {injected} }}"), suites);
    let made = delays.iter().map(|&(level, _)| {
        let (shape, mean, std) = match level {
            Level::Delay { ns } => (Shape::Constant, ns, 0),
            Level::Shape {
                shape,
                mean_ns,
                std_ns,
            } => (shape, mean_ns, std_ns),
            _ => panic!("{level}"),
        };
        let (mean, std) = (mean as f64, std as f64);
        let table = shape::with_moments(shape, mean, std, 1).unwrap().table;
        Made {
            level,
            moments: AskedAndMade::of(&table, mean, std),
            table: recorder.store_table(&level.id(), &table.to_text()).unwrap(),
        }
    });
    recorder.store_made(&made.collect::<Vec<_>>()).unwrap();
    let mut network = Network {
        random: Xoshiro256PlusPlus::seed_from_u64(5),
    };
    for block in 1..=5 {
        for &(level, longer) in std::iter::once(&(Level::None, 0.0)).chain(delays) {
            let (run, samples) = run(block, level, longer, &mut network);
            keep(&mut recorder, &World::default(), run, samples);
        }
    }
    path
}

pub(super) fn begun(directory: &Path, levels: &str, suites: &str) -> (PathBuf, Recorder) {
    let path = directory.join("given");
    let text = format!(
        "name: given\nseed: 1\nrepetitions: 5\nhosts: {{ client: {{ at: netns a, address: 10.0.0.1 }}, server: {{ at: netns b, address: 10.0.0.2 }} }}\n\
         levels: {levels}\nsuites:\n  {suites}"
    );
    let recorder = Recorder::create(&path, &text).unwrap();
    recorder.store_environment(&environment()).unwrap();
    (path, recorder)
}

/// The folder `directory/given` of an experiment that measures one-way latency over UDP, and nothing else: one size, a run of each of these
/// times in nanoseconds.
pub fn latencies(directory: &Path, one_way_ns: &[f64]) -> PathBuf {
    let (path, mut recorder) = begun(
        directory,
        "{}",
        "packet: [ { case: latency, transports: [udp] } ]\n",
    );
    for (block, &ns) in (1..).zip(one_way_ns) {
        let of_rtt = results::packet(Transport::Udp);
        let result = PacketResult::Latency(cases::Report {
            case: Case::Latency,
            setting: of_rtt.setting,
            common: (),
            points: vec![rtt::Point {
                one_way_median_ns: ns,
                ..of_rtt.point
            }],
        });
        let run = of_packets("latency", block, result);
        keep(&mut recorder, &World::default(), run, None);
    }
    path
}

/// The same of a stream: a case for each window, of messages of two sizes, three runs. As many messages as may be under way come in a
/// millisecond.
pub fn streams(directory: &Path, windows: &[u32]) -> PathBuf {
    let cases: Vec<String> = windows
        .iter()
        .map(|window| {
            format!(
                "{{ case: bandwidth, name: window-{window}, window: {window}, transports: [udp] }}"
            )
        })
        .collect();
    let suites = format!("packet: [ {} ]\n", cases.join(", "));
    let (path, mut recorder) = begun(directory, "{}", &suites);
    for block in 1..=3 {
        for &window in windows {
            let of_rtt = results::packet(Transport::Udp);
            let point = |size: u64| bandwidth::Point {
                size,
                messages: 1_000,
                missing: 0,
                time_ns: 1_000_000,
                bytes_per_second: 1e3 * (size * u64::from(window)) as f64,
                messages_per_second: 1e3 * f64::from(window),
                half_window_ns: of_rtt.point.rtt_ns,
                memory_full: false,
            };
            let result = PacketResult::Bandwidth(cases::Report {
                case: Case::Bandwidth,
                setting: of_rtt.setting.clone(),
                common: bandwidth::Common { window },
                points: vec![point(64), point(1_024)],
            });
            let run = of_packets(&format!("window-{window}"), block, result);
            keep(&mut recorder, &World::default(), run, None);
        }
    }
    path
}

/// The same of round trips over UDP, in the closed loop (`rtt`) and in an open one (`open-loop`), three runs of each.
pub fn both_loops(directory: &Path) -> PathBuf {
    let suites = "packet:\n    - { case: rtt, transports: [udp] }\n    \
                  - { case: rtt, name: open-loop, transports: [udp], rate: 20k }\n";
    let (path, mut recorder) = begun(directory, "{}", suites);
    let open = Open {
        rate_asked: 20e3,
        rate_achieved: 20e3,
        gaps: Spacing::Fixed,
        seed: 1,
        window: 1024,
        most_under_way: 2,
        unsent: 0,
        latest_ns: 900,
    };
    for block in 1..=3 {
        for (case, pacing) in [
            ("rtt", Loop::Closed),
            ("open-loop", Loop::Open(open.clone())),
        ] {
            let result = PacketResult::Rtt(rtt::Report {
                pacing,
                ..results::packet(Transport::Udp)
            });
            let run = of_packets(case, block, result);
            let samples: Vec<u64> = (0..100)
                .map(|n| 10_000 + 10 * n + u64::from(block))
                .collect();
            let samples = Samples::of_one(&samples);
            keep(&mut recorder, &World::default(), run, Some(samples));
        }
    }
    path
}

pub(super) fn of_packets(case: &str, block: u32, result: PacketResult) -> RunRecord {
    RunRecord {
        case: case.into(),
        transport: Some(Transport::Udp),
        result: Some(SuiteResult::Packet(result)),
        ..record(
            block,
            SuiteKind::Packet,
            &format!("{case}-udp"),
            Level::None,
            &[],
        )
    }
}
