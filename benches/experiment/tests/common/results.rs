//! What suites and the load say of themselves.

use jitterlab_base::clock::Source;
use jitterlab_experiment::record::{Produced, Transport, library, npb, rtt};
use jitterlab_packet::cases::open_loop::Loop;
use jitterlab_packet::cases::{Case, Setting};
use jitterlab_stats::summary::Summary;

/// A ping-pong; over UDP a message is lost and two are late.
pub fn packet(transport: Transport) -> rtt::Report {
    let (lost, reordered) = match transport {
        Transport::Udp => (1, 2),
        _ => (0, 0),
    };
    let rtt_ns = Summary::of(&[900.0, 1_000.0, 1_200.0]).unwrap();
    rtt::Report {
        case: Case::Rtt,
        setting: Setting {
            transport,
            path: None,
            wait: None,
            cpus: vec![0],
            clock: Source::Tsc,
            clock_read_ns: 14.5,
            clock_resolution_ns: 0.5,
        },
        pacing: Loop::Closed,
        discarded: 10,
        point: rtt::Point {
            size: 64,
            lost,
            reordered,
            duplicates: 0,
            memory_full: false,
            one_way_median_ns: rtt_ns.median / 2.0,
            rtt_ns,
        },
    }
}

/// A load of which 1.5 % of the bandwidth less was produced.
pub fn load(percent: u8) -> Produced {
    let level = f64::from(percent);
    Produced {
        transport: jitterlab_load::transport::Transport::Udp,
        message: 1_400,
        level,
        produced_level: level - 1.5,
        bandwidth: 1.25e9,
        bandwidth_measured: true,
        seconds: 0.2,
        sent_messages: 1_000,
        sent_bytes: 1_400_000,
        received_messages: 990,
        received_bytes: 1_386_000,
        lost_messages: 10,
        refused_messages: 0,
        longest_gap_ns: 5_000,
        sent_bytes_each_100ms: vec![700_000, 700_000],
    }
}

/// An operation of MPI.
pub fn library(case: &str, ranks: usize) -> library::Report {
    let around = |mean: f64| library::Figures::of(vec![mean - 100.0, mean, mean + 100.0]);
    library::Report {
        suite: library::Suite::Library,
        case: case.into(),
        ranks,
        non_blocking: false,
        sample: library::Sample::Call,
        clock: Source::Tsc,
        clock_read_ns: 14.5,
        points: vec![library::Point {
            size_bytes: 64,
            figures: around(1_400.0),
            clock_error_ns: 300.0,
            skew: Some(around(500.0)),
            operation: Some(around(900.0)),
            per_rank: Vec::new(),
            heat_map: None,
        }],
    }
}

/// A benchmark.
pub fn npb(kernel: &str, time_s: f64) -> npb::Report {
    npb::Report {
        kernel: kernel.into(),
        class: "S".into(),
        ranks: 4,
        time_s,
        mops: 100.0 / time_s,
        verified: true,
        checks: Vec::new(),
        messages: 1_000,
        bytes: 64_000,
        collectives: 12,
        collective_bytes: 416,
        mpi_share: 0.25,
        memory_bytes: vec![None; 4],
        phases: vec![Vec::new(); 4],
    }
}
