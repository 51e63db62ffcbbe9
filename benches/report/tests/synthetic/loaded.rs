//! Folders of experiments under background load in which no round trip of packets is measured in the closed loop.

use std::path::{Path, PathBuf};

use super::given::{begun, of_packets};
use super::*;

/// A load of these: what was asked for and what was produced, in percent of the bandwidth.
pub type AskedAndProduced = (u8, f64);

/// Makes the folder `directory/given` of an experiment that measures a program, an operation of MPI, one-way latency and active messages
/// without load and under each of these loads, in five blocks. Everything takes longer by the share that is produced.
pub fn loaded(directory: &Path, loads: &[AskedAndProduced]) -> PathBuf {
    loaded_beside(directory, loads, 1.0)
}

/// The same, of which beside the program only such a share is produced.
pub fn loaded_beside(directory: &Path, loads: &[AskedAndProduced], program: f64) -> PathBuf {
    let asked: Vec<String> = loads.iter().map(|(asked, _)| asked.to_string()).collect();
    let levels = format!(
        "{{ load: [{}] }}\nload: {{ transport: udp, from: client, to: server, message: 1400B }}",
        asked.join(", ")
    );
    let suites = "application:
    - { name: redis, client: { on: client, command: [redis-benchmark] } }
  library:
    - { case: barrier, ranks: 2, duration: 100ms }
  packet:
    - { case: latency, transports: [udp] }
  amvia:
    - { case: bandwidth, transports: [shm], protocols: [amvia] }
mpi: { on: client }
";
    let (path, mut recorder) = begun(directory, &levels, suites);
    let mut network = Network {
        random: Xoshiro256PlusPlus::seed_from_u64(5),
    };
    let none = (Level::None, None);
    let loads = loads
        .iter()
        .map(|&(percent, produced)| (Level::Load { percent }, Some((percent, produced))));
    let conditions: Vec<_> = std::iter::once(none).chain(loads).collect();
    for block in 1..=5 {
        for &(level, load) in &conditions {
            let longer = 1.0 + load.map_or(0.0, |(_, produced)| produced / 100.0);
            let longer = longer * (0.004 * network.normal()).exp();
            let load = load.map(|(asked, produced)| Produced {
                produced_level: produced + 0.1 * network.normal(),
                ..results::load(asked)
            });
            for (run, samples) in runs(block, level, longer) {
                let share = match run.suite {
                    SuiteKind::Application => program,
                    _ => 1.0,
                };
                let load = load.clone().map(|load| Produced {
                    produced_level: share * load.produced_level,
                    ..load
                });
                keep(
                    &mut recorder,
                    &World::default(),
                    RunRecord { load, ..run },
                    samples,
                );
            }
        }
    }
    path
}

/// A run of each case at a level.
fn runs(block: u32, level: Level, longer: f64) -> [(RunRecord, Option<Samples>); 4] {
    let of_rtt = results::packet(Transport::Udp);
    let latency = PacketResult::Latency(cases::Report {
        case: Case::Latency,
        setting: of_rtt.setting,
        common: (),
        points: vec![rtt::Point {
            one_way_median_ns: 10_000.0 * longer,
            ..of_rtt.point
        }],
    });
    let of_rank: Vec<u64> = (0..50)
        .map(|n| (longer * (100_000 + 100 * n) as f64) as u64)
        .collect();
    let [_, bandwidth, ..] = results::amvia(Protocol::Amvia);
    let of = |suite, subject: &str| record(block, suite, subject, level, &[]);
    [
        (application(block, level, longer, 1.0, &[]), None),
        (
            RunRecord {
                result: Some(SuiteResult::Library(results::library("barrier", 2))),
                ..of(SuiteKind::Library, "barrier")
            },
            Some(Samples::of_ranks(&[of_rank.clone(), of_rank])),
        ),
        (
            RunRecord {
                level,
                run: of(SuiteKind::Packet, "latency-udp").run,
                ..of_packets("latency", block, latency)
            },
            None,
        ),
        (
            RunRecord {
                case: "bandwidth".into(),
                transport: Some(Transport::Shm),
                result: Some(SuiteResult::Amvia(bandwidth)),
                ..of(SuiteKind::Amvia, "bandwidth-shm-amvia")
            },
            None,
        ),
    ]
}
