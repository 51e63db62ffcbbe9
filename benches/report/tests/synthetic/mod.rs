//! Small result folders with known effects, made through the store as an experiment makes them.
#![allow(dead_code, reason = "each test program uses its own part")]

#[path = "../../../experiment/tests/common/results.rs"]
mod results;

pub mod given;
pub mod loaded;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jitterlab_amvia_suite::Protocol;
use jitterlab_experiment::delays::Made;
use jitterlab_experiment::environment::{Environment, Node};
use jitterlab_experiment::fit::{self, Fit, FittedMember};
use jitterlab_experiment::level::{Level, Member, Shape};
use jitterlab_experiment::record::{
    AmviaResult, Application, Injection, Outcome, PacketResult, Phase, Produced, RunRecord,
    SuiteKind, SuiteResult, Transport,
};
use jitterlab_experiment::samples;
use jitterlab_experiment::store::Recorder;
use jitterlab_injector::check::AskedAndMade;
use jitterlab_injector::shape;
use jitterlab_packet::cases::open_loop::{Loop, Open, Spacing};
use jitterlab_packet::cases::{self, Case, bandwidth, rtt};
use jitterlab_report::Analysed;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;
use tempfile::TempDir;

/// The folder of a world, and what the report finds in it.
pub fn analysed(world: &World) -> (TempDir, Analysed) {
    let directory = tempfile::tempdir().unwrap();
    let analysed = Analysed::open(&folder(directory.path(), world)).unwrap();
    (directory, analysed)
}

/// The rows of a CSV file by their headings.
pub fn rows(report: &Path, table: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(report.join(format!("{table}.csv"))).unwrap();
    let headings = reader.headers().unwrap().clone();
    reader
        .records()
        .map(|row| {
            let row = row.unwrap();
            let fields = headings.iter().zip(row.iter());
            fields
                .map(|(a, b)| (a.to_string(), b.to_string()))
                .collect()
        })
        .collect()
}

/// Every file of a report.
pub fn files(report: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(report).unwrap().flatten();
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// The experiment that the folder claims to hold.
pub const EXPERIMENT: &str = "\
name: synthetic
seed: 7
repetitions: 3
hosts:
  client: { at: netns a, address: 10.0.0.1, cpu: 0 }
  server: { at: netns b, address: 10.0.0.2, cpu: 1 }
load: { transport: udp, from: client, to: server, message: 1400B }
levels:
  load: [20, 60]
  injected: { percent: [20, 60], transport: udp, shapes: [lognormal, uniform, scale25, scale50, scale75] }
suites:
  packet:
    - { case: rtt, transports: [udp, tcp], from: client, to: server, size: 64B, warmup: 10ms, duration: 100ms, wait: block }
  application:
    - name: redis
      client: { on: client, command: [redis-benchmark] }
      levels: [none, injected]
";

/// What stands in it as well if there is a second packet case.
pub const SECOND: &str = "    - { case: rtt, name: big, transports: [udp], from: client, to: server, size: 1KiB, \
                          warmup: 10ms, duration: 100ms, wait: block }\n";

/// What stands in it as well if there are active messages.
pub const MESSAGES: &str = "  amvia:
    - { case: rtt, transports: [shm], protocols: [amvia, two-way], levels: [none] }
    - { case: bandwidth, transports: [shm], protocols: [amvia, two-way], levels: [none] }
    - { case: loggp, transports: [shm], protocols: [amvia, two-way], levels: [none] }
    - { case: performability, transports: [shm], protocols: [amvia, two-way], from: client, levels: [none] }
";

/// What stands in it as well if there are ranks.
pub const RANKS: &str =
    "    - { name: ep, npb: { kernel: ep, class: S, ranks: 4 }, levels: [none, injected] }
    - { name: lu, npb: { kernel: lu, class: S, ranks: 4 }, levels: [none, injected] }
  library:
    - { case: ping-pong, ranks: 2, size: 64B, duration: 100ms, levels: [none, injected] }
    - { case: barrier, ranks: 4, duration: 100ms, levels: [none, injected] }
mpi: { on: client, hosts: { client: 1, server: 3 }, arguments: [--mca, pml, ob1, --mca, btl, 'self,tcp'] }
";

/// What the synthetic network and application do.
pub struct World {
    /// Samples a run.
    pub samples: usize,
    /// Runs a condition.
    pub repetitions: u32,
    /// Seconds of runtime for each microsecond of mean delay.
    pub by_mean: f64,
    /// Seconds of runtime for each microsecond of the delays' standard deviation.
    pub by_std: f64,
    /// Units of work that the application says its runtime of: 1, or as many as it does one after the other.
    pub units: f64,
    /// Whether the application prints a rate.
    pub rate: bool,
    /// Whether there is an application.
    pub application: bool,
    /// What samples are whole multiples of, in nanoseconds.
    pub resolution: u64,
    /// Whether there is a second packet case over the transport that was fitted, on which load weighs five times as much.
    pub second: bool,
    /// Whether there are active messages.
    pub messages: bool,
    /// Whether there are ranks: two benchmarks and two operations of MPI.
    pub ranks: bool,
    /// The runs that fail, by name, and how often they were tried. After three times they are given up.
    pub failing: Vec<(String, u32)>,
    /// The levels that are left out.
    pub without: Vec<Level>,
    /// Standard deviation of runtimes over blocks, in proportion to them.
    pub noise: f64,
    /// The load that is produced at most, in percent.
    pub reached: f64,
    /// What processors that sleep add to a round trip while there is no load, in nanoseconds.
    pub waking: f64,
    /// Whether a hundredth of the injected delays are much longer than any under load.
    pub tail: bool,
}

impl Default for World {
    fn default() -> Self {
        World {
            samples: 400,
            repetitions: 3,
            by_mean: 0.01,
            by_std: 0.02,
            units: 1.0,
            rate: false,
            application: true,
            resolution: 1,
            second: false,
            messages: false,
            ranks: false,
            failing: Vec::new(),
            without: Vec::new(),
            noise: 0.004,
            reached: 100.0,
            waking: 0.0,
            tail: false,
        }
    }
}

const PERCENTS: [u8; 2] = [20, 60];

/// Round trips of a synthetic network.
struct Network {
    random: Xoshiro256PlusPlus,
}

impl Network {
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// An RTT without load: around 20 us.
    fn base(&mut self, transport: Transport) -> f64 {
        let median = if transport == Transport::Udp {
            20e3
        } else {
            25e3
        };
        median * (0.06 * self.normal()).exp()
    }

    /// One delay of an injected level.
    fn delay(&mut self, level: Level, fits: &[Fit]) -> f64 {
        let share = self.random.random::<f64>();
        let member = member(level, fits);
        member.map_or(0.0, |member| {
            member.distribution.unwrap().quantile(share).clamp(0.0, 1e6)
        })
    }

    /// What load adds.
    fn excess(&mut self, percent: u8) -> f64 {
        let percent = f64::from(percent);
        100.0 * percent * (0.6 * self.normal()).exp()
    }
}

/// Makes the folder `directory/synthetic`.
pub fn folder(directory: &Path, world: &World) -> PathBuf {
    let path = directory.join("synthetic");
    let repetitions = format!("repetitions: {}", world.repetitions);
    let mut text = EXPERIMENT.replace("repetitions: 3", &repetitions);
    if world.second {
        text = text.replace("  application:\n", &format!("{SECOND}  application:\n"));
    }
    if world.messages {
        text = text.replace("  application:\n", &format!("{MESSAGES}  application:\n"));
    }
    if world.rate {
        let client = "client: { on: client, command: [redis-benchmark] }\n";
        let rate = "      runtime: { pattern: '([0-9.]+) requests', unit: per_second }\n";
        text = text.replace(client, &format!("{client}{rate}"));
    }
    if world.ranks {
        text.push_str(RANKS);
    }
    let mut recorder = Recorder::create(&path, &text).unwrap();
    recorder.store_environment(&environment()).unwrap();
    let mut network = Network {
        random: Xoshiro256PlusPlus::seed_from_u64(5),
    };
    let fits = fits(&recorder, &mut network);
    recorder.store_fits(&fits).unwrap();
    for block in 1..=world.repetitions {
        for transport in Transport::SOCKETS {
            for level in levels() {
                let samples = round_trips(&mut network, world, transport, level, 1.0, &fits);
                let record = packet(world, "rtt", block, transport, level, &fits);
                keep(
                    &mut recorder,
                    world,
                    record,
                    Some(Samples::of_one(&samples)),
                );
            }
        }
        for level in levels().filter(|_| world.second) {
            let samples = round_trips(&mut network, world, Transport::Udp, level, 5.0, &fits);
            let record = packet(world, "big", block, Transport::Udp, level, &fits);
            keep(
                &mut recorder,
                world,
                record,
                Some(Samples::of_one(&samples)),
            );
        }
        for level in
            levels().filter(|level| world.application && !matches!(level, Level::Load { .. }))
        {
            let (mean, std) = member(level, &fits).map_or((0.0, 0.0), |m| (m.mean_ns, m.std_ns));
            let runtime = 1.0 + world.by_mean * mean / 1e3 + world.by_std * std / 1e3;
            let noise = (world.noise * network.normal()).exp();
            let record = application(block, level, runtime * noise, world.units, &fits);
            keep(&mut recorder, world, record, None);
        }
        if world.messages {
            messages(&mut recorder, &mut network, world, block);
        }
        if world.ranks {
            ranks(&mut recorder, &mut network, world, block, &fits);
        }
    }
    path
}

/// A block of runs of the active-message suite.
fn messages(recorder: &mut Recorder, network: &mut Network, world: &World, block: u32) {
    for protocol in [Protocol::Amvia, Protocol::TwoWay] {
        for result in results::amvia(protocol) {
            let (case, takes_samples) = match &result {
                AmviaResult::Rtt(_) => ("rtt", true),
                AmviaResult::Bandwidth(_) => ("bandwidth", false),
                AmviaResult::Loggp(_) => ("loggp", false),
                AmviaResult::Performability(_) => ("performability", false),
            };
            let subject = format!("{case}-shm-{protocol}");
            let samples = takes_samples.then(|| {
                let base = || network.base(Transport::Udp) as u64;
                let taken: Vec<u64> = std::iter::repeat_with(base).take(world.samples).collect();
                Samples::of_one(&taken)
            });
            let run = RunRecord {
                case: case.into(),
                transport: Some(Transport::Shm),
                result: Some(SuiteResult::Amvia(result)),
                ..record(block, SuiteKind::Amvia, &subject, Level::None, &[])
            };
            keep(recorder, world, run, samples);
        }
    }
}

/// A block of runs over MPI: a ping-pong has one delay in it, a barrier of four ranks the longest of
/// four; a benchmark is slowed as the application is, LU by all of it and EP by a hundredth.
fn ranks(recorder: &mut Recorder, network: &mut Network, world: &World, block: u32, fits: &[Fit]) {
    for level in levels().filter(|level| !matches!(level, Level::Load { .. })) {
        for (case, delays) in [("ping-pong", 1), ("barrier", 4)] {
            let samples: Vec<u64> = (0..world.samples)
                .map(|_| {
                    // MPI adds something to what is below it.
                    let own = 1.2 * network.base(Transport::Tcp);
                    let delay = (0..delays).map(|_| network.delay(level, fits));
                    (own + delay.fold(0.0, f64::max)) as u64
                })
                .collect();
            let of_rank = samples.chunks(world.samples.div_ceil(delays));
            let samples = Samples::of_ranks(&of_rank.map(<[u64]>::to_vec).collect::<Vec<_>>());
            let mut run = record(block, SuiteKind::Library, case, level, fits);
            run.result = Some(SuiteResult::Library(results::library(case, 2.max(delays))));
            keep(recorder, world, run, Some(samples));
        }
        let (mean, std) = member(level, fits).map_or((0.0, 0.0), |m| (m.mean_ns, m.std_ns));
        let slowdown = world.by_mean * mean / 1e3 + world.by_std * std / 1e3;
        for (kernel, part) in [("lu", 1.0), ("ep", 0.01)] {
            let runtime_s = (1.0 + part * slowdown) * (world.noise * network.normal()).exp();
            let mut run = record(block, SuiteKind::Application, kernel, level, fits);
            run.result = Some(SuiteResult::Application(Application {
                runtime_s,
                program_s: runtime_s,
                npb: Some(results::npb(kernel, runtime_s)),
            }));
            keep(recorder, world, run, None);
        }
    }
}

/// Every level of the experiment.
pub fn levels() -> impl Iterator<Item = Level> {
    let load = PERCENTS.into_iter().map(|percent| Level::Load { percent });
    let injected = PERCENTS.into_iter().flat_map(|percent| {
        let shapes = Member::PAPER.into_iter();
        shapes.map(move |shape| Level::Injected { percent, shape })
    });
    std::iter::once(Level::None).chain(load).chain(injected)
}

fn member(level: Level, fits: &[Fit]) -> Option<&FittedMember> {
    let Level::Injected { percent, shape } = level else {
        return None;
    };
    let fit = fits.iter().find(|fit| fit.percent == percent)?;
    fit.members.iter().find(|member| member.shape == shape)
}

fn round_trips(
    network: &mut Network,
    world: &World,
    transport: Transport,
    level: Level,
    weight: f64,
    fits: &[Fit],
) -> Vec<u64> {
    (0..world.samples)
        .map(|i| {
            let added = match level {
                Level::None => world.waking,
                Level::Load { percent } => weight * network.excess(percent),
                _ => {
                    let share = network.random.random::<f64>();
                    let distribution = member(level, fits).unwrap().distribution.unwrap();
                    let longer = if world.tail && i % 100 == 0 {
                        100e3
                    } else {
                        0.0
                    };
                    distribution.quantile(share).clamp(0.0, 1e6) + longer
                }
            };
            let ns = (network.base(transport) + added) as u64;
            ns - ns % world.resolution
        })
        .collect()
}

fn fits(recorder: &Recorder, network: &mut Network) -> Vec<Fit> {
    PERCENTS
        .into_iter()
        .map(|percent| {
            let excess: Vec<f64> = (0..2_000).map(|_| network.excess(percent)).collect();
            let (excess_mean_ns, excess_std_ns) = fit::injectable_moments(&excess).unwrap();
            let members = fit::tables(&excess, &Member::PAPER, 1).unwrap().into_iter();
            let members = members.map(|(shape, imitation)| {
                let imitation = imitation.unwrap();
                let table = &imitation.fitted.made.table;
                FittedMember {
                    shape,
                    distribution: imitation.fitted.distribution,
                    mean_ns: table.mean(),
                    std_ns: table.std(),
                    closeness: imitation.closeness,
                    table: recorder
                        .store_table(&format!("udp-{percent}-{shape}"), &table.to_text())
                        .unwrap(),
                }
            });
            Fit {
                transport: Transport::Udp,
                percent,
                n: 2_000,
                baseline_median_ns: 20e3,
                excess_mean_ns,
                excess_std_ns,
                members: members.collect(),
                refused: Vec::new(),
            }
        })
        .collect()
}

/// A file of samples.
struct Samples {
    parquet: Vec<u8>,
    n: u64,
}

impl Samples {
    fn of_one(samples: &[u64]) -> Self {
        let file = tempfile::Builder::new()
            .suffix(".parquet")
            .tempfile()
            .unwrap();
        samples::write(file.path(), samples, &[]).unwrap();
        Samples {
            parquet: std::fs::read(file.path()).unwrap(),
            n: samples.len() as u64,
        }
    }

    fn of_ranks(ranks: &[Vec<u64>]) -> Self {
        Samples {
            parquet: samples::ranks_to_parquet(ranks).unwrap(),
            n: ranks.iter().map(Vec::len).sum::<usize>() as u64,
        }
    }
}

/// Stores a run, or its failure.
fn keep(recorder: &mut Recorder, world: &World, mut record: RunRecord, samples: Option<Samples>) {
    if world.without.contains(&record.level) {
        return;
    }
    if let Some((_, attempts)) = world.failing.iter().find(|(run, _)| *run == record.run) {
        record.outcome = Outcome::Failed;
        record.reason = Some("the server <did> not answer & went away".into());
        record.result = None;
        for attempt in 1..=*attempts {
            record.attempt = attempt;
            recorder.record(record.clone()).unwrap();
        }
        return;
    }
    if let Some(samples) = samples {
        record.samples = Some(
            recorder
                .store_samples(&record.run, &samples.parquet)
                .unwrap(),
        );
        record.n = Some(samples.n);
    }
    recorder.record(record).unwrap();
}

fn record(block: u32, suite: SuiteKind, subject: &str, level: Level, fits: &[Fit]) -> RunRecord {
    let injected = member(level, fits);
    RunRecord {
        version: RunRecord::VERSION,
        run: format!("{}-{subject}.{}.r{block}", suite.name(), level.id()),
        phase: if injected.is_some() {
            Phase::Inject
        } else {
            Phase::Characterise
        },
        block,
        repetition: block,
        attempt: 1,
        suite,
        case: subject.into(),
        transport: None,
        level,
        outcome: Outcome::Done,
        reason: None,
        started: "2026-01-02T03:04:05.678Z".into(),
        seconds: 0.2,
        samples: None,
        n: None,
        result: None,
        load: None,
        injection: injected.map(|member| Injection {
            delayed: 10_000,
            asked_mean_ns: member.mean_ns,
            achieved_mean_ns: member.mean_ns + 12.0,
            error_max_ns: 4_321,
        }),
    }
}

fn packet(
    world: &World,
    case: &str,
    block: u32,
    transport: Transport,
    level: Level,
    fits: &[Fit],
) -> RunRecord {
    let subject = format!("{case}-{}", transport.name());
    let load = match level {
        Level::Load { percent } => {
            let produced_level = world.reached.min(percent.into());
            Some(Produced {
                produced_level,
                ..results::load(percent)
            })
        }
        _ => None,
    };
    RunRecord {
        case: case.into(),
        transport: Some(transport),
        result: Some(SuiteResult::Packet(PacketResult::Rtt(results::packet(
            transport,
        )))),
        load,
        ..record(block, SuiteKind::Packet, &subject, level, fits)
    }
}

fn application(block: u32, level: Level, program_s: f64, units: f64, fits: &[Fit]) -> RunRecord {
    RunRecord {
        result: Some(SuiteResult::Application(Application {
            runtime_s: program_s / units,
            program_s,
            npb: None,
        })),
        ..record(block, SuiteKind::Application, "redis", level, fits)
    }
}

/// A fixed machine: where the test runs must not matter.
fn environment() -> Environment {
    let node: Node = serde_json::from_value(json!({
        "jitterlab": "0.1.0", "hostname": "lab-1", "kernel": "6.1.0 #1 SMP", "system": "Debian 12",
        "cpu": "A CPU <fast>", "cpus": 2, "virtual_machine": true, "memory": 8_589_934_592_u64,
        "clock": "tsc", "clock_read_ns": 14.5, "clock_resolution_ns": 0.5,
        "interfaces": [{ "name": "lo", "mtu": 65536, "speed": null, "driver": null }],
        "settings": { "frequency governor": "performance" }, "tuning": null
    }))
    .unwrap();
    Environment {
        jitterlab: "0.1.0".into(),
        started: "2026-01-02T03:04:05Z".into(),
        bandwidth: Some(1.25e9),
        hosts: [
            ("client".to_string(), node.clone()),
            ("server".to_string(), node),
        ]
        .into(),
        resumed: Vec::new(),
    }
}
