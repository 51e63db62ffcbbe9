//! Lines of `runs.jsonl`: whatever a suite has measured is read back as it was.

#[path = "../../packet/tests/common/mod.rs"]
mod kept;
#[path = "common/results.rs"]
mod results;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::mpsc;
use std::thread;

use jitterlab_amvia_suite::Protocol;
use jitterlab_base::clock::Source;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_experiment::environment::{Environment, Interface, Node, Tuning};
use jitterlab_experiment::fit::{Fit, FittedMember, Refused};
use jitterlab_experiment::level::{Level, Member};
use jitterlab_experiment::record::{
    AmviaResult, Application, Injection, Outcome, PacketResult, Phase, RunRecord, SuiteKind,
    SuiteResult, Transport, library, npb,
};

use jitterlab_packet::cases::bandwidth::Bandwidth;
use jitterlab_packet::cases::rtt::{Length, Rtt};
use jitterlab_packet::cases::{
    bandwidth, bidirectional, buffer_reuse, completion, hot_spot, latency, overhead,
};
use jitterlab_packet::server;
use jitterlab_packet::transport::{Buffers, Link, Wait};

use jitterlab_stats::imitation::Closeness;
use jitterlab_verbs::Adapter;
use kept::assert_kept;

#[test]
fn the_chapter_tells_the_format_of_a_line() {
    let chapter = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment.md");
    let told = format!("its format (`version`, now {})", RunRecord::VERSION);
    let text = std::fs::read_to_string(chapter).unwrap();
    assert!(text.contains(&told), "not in the chapter: {told}");
}

fn record(suite: SuiteKind, result: SuiteResult) -> RunRecord {
    RunRecord {
        version: RunRecord::VERSION,
        run: "a-run".into(),
        phase: Phase::Inject,
        block: 1,
        repetition: 1,
        attempt: 2,
        suite,
        case: "a-case".into(),
        transport: Some(Transport::Udp),
        level: Level::Injected {
            percent: 60,
            shape: Member::Lognormal,
        },
        outcome: Outcome::Done,
        reason: None,
        started: "2026-01-02T03:04:05.678Z".into(),
        seconds: 0.2,
        samples: Some("samples/a-run.parquet".into()),
        n: Some(3),
        result: Some(result),
        load: Some(results::load(60)),
        injection: Some(Injection {
            delayed: 10,
            asked_mean_ns: 1_000.0,
            achieved_mean_ns: 1_012.0,
            error_max_ns: 4_321,
        }),
    }
}

/// What each case of the packet suite yields: of a few messages over the loopback.
fn packets() -> [PacketResult; 8] {
    let (ready, address) = mpsc::channel();
    thread::spawn(move || {
        let local = (Ipv4Addr::LOCALHOST, 0).into();
        server::serve(Transport::Udp, local, &Adapter::default(), |address| {
            ready.send(address).unwrap();
        })
    });
    let address = address.recv().unwrap();
    let pings = Rtt {
        link: Link::of(Transport::Udp),
        size: Bytes(64),
        wait: Wait::Block,
        warmup: Length::Messages(2),
        length: Length::Messages(40),
        timeout: Nanos(2_000_000_000),
    };
    let stream = Bandwidth {
        link: Link::of(Transport::Udp),
        size: Bytes(64),
        wait: Wait::Block,
        window: 8,
        buffers: Buffers::Fifo(1),
        both: false,
        computing: Nanos(0),
        warmup: Length::Messages(8),
        length: Length::Messages(400),
        timeout: Nanos(100_000_000),
    };
    let sizes = [Bytes(16), Bytes(64)];
    let patterns = [
        Buffers::Fifo(2),
        Buffers::Reuse {
            percent: 50,
            of: 20,
        },
    ];
    let both = bidirectional::by_size(&pings, &stream, &sizes, address);
    let cpu = overhead::by_size(&pings, &stream, &sizes, address);
    let reuse = buffer_reuse::by_pattern(&pings, &stream, &patterns, address);
    [
        PacketResult::Rtt(results::packet(Transport::Udp)),
        PacketResult::Latency(latency::by_size(&pings, &sizes, address).unwrap()),
        PacketResult::Bandwidth(bandwidth::by_size(&stream, &sizes, address).unwrap()),
        PacketResult::Bidirectional(both.unwrap()),
        PacketResult::Overhead(cpu.unwrap()),
        PacketResult::Completion(completion::by_way(&pings, &sizes, address).unwrap()),
        PacketResult::BufferReuse(reuse.unwrap()),
        PacketResult::HotSpot(hot_spot::by_slaves(&pings, &[address]).unwrap()),
    ]
}

#[test]
fn the_result_of_every_suite_is_read_back() {
    for packet in packets() {
        assert_kept(&record(SuiteKind::Packet, SuiteResult::Packet(packet)));
    }

    let mut report = results::library("barrier", 4);
    let clock = library::Alignment {
        offset_before_ns: -3.0,
        offset_after_ns: 2.5,
        error_ns: 40.0,
    };
    let figures = report.points[0].figures;
    report.points[0].per_rank.push(library::RankFigures {
        rank: 0,
        figures,
        late: Some(figures),
        operation: None,
        clock,
    });
    report.points[0].heat_map = Some(library::HeatMap {
        bin_starts_s: vec![0.0],
        mean_ns: vec![vec![1.0]],
        max_ns: vec![vec![2.0]],
        late_mean_ns: None,
        late_max_ns: Some(vec![vec![3.0]]),
    });
    assert_kept(&record(SuiteKind::Library, SuiteResult::Library(report)));

    let mut report = results::npb("cg", 1.5);
    report.checks.push(npb::Check {
        what: "zeta".into(),
        // Such a result is wrong, and JSON has no word for it.
        value: f64::NAN,
        expected: 8.6,
        error: f64::NAN,
        tolerance: 1e-10,
        passed: false,
    });
    report.phases[0].push(npb::Phase {
        name: "setup".into(),
        wall_s: 0.1,
        mpi_s: 0.05,
        messages: 1,
        bytes: 2,
        collectives: 3,
        collective_bytes: 4,
    });
    let figure = Application {
        runtime_s: 1.5,
        program_s: 1.5,
        npb: Some(report),
    };
    let result = SuiteResult::Application(figure);
    assert_kept(&record(SuiteKind::Application, result));

    let failed = RunRecord {
        outcome: Outcome::Failed,
        reason: Some("the server did not answer".into()),
        samples: None,
        n: None,
        result: None,
        load: None,
        injection: None,
        ..record(
            SuiteKind::Packet,
            SuiteResult::Packet(PacketResult::Rtt(results::packet(Transport::Tcp))),
        )
    };
    assert_kept(&failed);
}

#[test]
fn active_messages_are_read_back() {
    for result in results::amvia(Protocol::Amvia) {
        assert!(!result.memory_full());
        assert_kept(&record(SuiteKind::Amvia, SuiteResult::Amvia(result)));
    }
    let unknown = serde_json::from_str::<AmviaResult>(r#"{"case":"latency"}"#);
    assert!(unknown.is_err());
}

#[test]
fn no_field_of_an_environment_can_go_missing() {
    let node = Node {
        jitterlab: "0.1.0".into(),
        hostname: "lab-1".into(),
        kernel: "6.1.0".into(),
        system: "Debian 12".into(),
        cpu: "a CPU".into(),
        cpus: 2,
        virtual_machine: true,
        memory: 8,
        clock: Source::Tsc,
        clock_read_ns: 14.5,
        clock_resolution_ns: 0.5,
        interfaces: vec![Interface {
            name: "lo".into(),
            mtu: 65536,
            speed: None,
            driver: None,
        }],
        settings: BTreeMap::new(),
        tuning: Some(Tuning {
            applied: true,
            measuring: "1".into(),
            settings: BTreeMap::new(),
        }),
    };
    assert_kept(&node);
    let mut environment = Environment {
        jitterlab: "0.1.0".into(),
        started: "then".into(),
        bandwidth: None,
        hosts: BTreeMap::new(),
        resumed: Vec::new(),
    };
    environment.resume("0.1.1", "later".into(), BTreeMap::new());
    assert_kept(&environment);
}

#[test]
fn no_field_of_a_fit_can_go_missing() {
    let excess: Vec<f64> = (1..=100).map(f64::from).collect();
    let closeness = Closeness::between(&excess, &excess).unwrap();
    assert_kept(&Fit {
        transport: Transport::Udp,
        percent: 60,
        n: 100,
        baseline_median_ns: 20e3,
        excess_mean_ns: 50.0,
        excess_std_ns: 30.0,
        members: vec![FittedMember {
            shape: Member::Replay,
            distribution: None,
            mean_ns: 50.0,
            std_ns: 30.0,
            closeness,
            table: "tables/load-60.recording".into(),
        }],
        refused: vec![Refused {
            shape: Member::Lognormal,
            reason: "there is nothing to fit".into(),
        }],
    });
}
