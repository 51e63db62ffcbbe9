//! What suites and the load say of themselves.

use jitterlab_amvia_suite::loggp::schedule::{self, Costs, Schedule};
use jitterlab_amvia_suite::loggp::{self, Injected, Observed};
use jitterlab_amvia_suite::performability::{
    self, Component, Failing, Kernel, Passed, Performability, Row, Stage, Step, Throughput, Traced,
};
use jitterlab_amvia_suite::{Protocol, cases as amvia_cases};
use jitterlab_base::clock::Source;
use jitterlab_experiment::record::{AmviaResult, Produced, Transport, library, npb, rtt};
use jitterlab_injector::control::Mode;
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

/// Each case of the active-message suite over shared memory.
pub fn amvia(protocol: Protocol) -> [AmviaResult; 4] {
    let over = Transport::Shm;
    [
        amvia_rtt(over, protocol),
        amvia_bandwidth(over, protocol),
        amvia_loggp(over, protocol),
        amvia_performability(over, protocol),
    ]
}

fn amvia_setting(transport: Transport, protocol: Protocol) -> amvia_cases::Setting {
    amvia_cases::Setting {
        over: packet(transport).setting,
        protocol,
        window: 16,
        faults: None,
    }
}

/// Transactions one after the other.
fn amvia_rtt(transport: Transport, protocol: Protocol) -> AmviaResult {
    AmviaResult::Rtt(amvia_cases::rtt::Report {
        case: amvia_cases::Case::Rtt,
        setting: amvia_setting(transport, protocol),
        size: 32,
        discarded: 10,
        retransmissions: 1,
        memory_full: false,
        rtt_ns: Summary::of(&[900.0, 1_000.0, 1_200.0]).unwrap(),
    })
}

/// As many at once as the window holds.
fn amvia_bandwidth(transport: Transport, protocol: Protocol) -> AmviaResult {
    let point = |size: u64| amvia_cases::bandwidth::Point {
        size,
        transactions: 1_000,
        retransmissions: 0,
        transactions_per_second: 1e5,
        bytes_per_second: 1e5 * size as f64,
    };
    AmviaResult::Bandwidth(amvia_cases::bandwidth::Report {
        case: amvia_cases::Case::Bandwidth,
        setting: amvia_setting(transport, protocol),
        points: vec![point(32), point(8_192)],
    })
}

/// Frames with o_s 500 ns, o_r 700 ns and L 400 ns, of which the schedule makes the rest; G is 0.5 ns.
fn amvia_loggp(transport: Transport, protocol: Protocol) -> AmviaResult {
    let setting = amvia_setting(transport, protocol);
    let plain = Schedule {
        protocol,
        costs: Costs::log_p(500.0, 700.0, 400.0),
        window: setting.window.into(),
        injected: None,
    };
    let bursts = vec![1, 4, 16, 128, 512];
    let computing_ns = vec![0, 2_000, 20_000];
    let bulk = vec![512, 2_048, 8_192];
    let injected = [Mode::Spin, Mode::Pace].map(|mode| Injected {
        mode,
        delay_ns: 5_000,
    });
    let pauses_ns = vec![5_000];
    let block = |number: u32| {
        let noise = 1.0 + 1e-3 * (f64::from(number) - 2.0);
        let observe = |schedule: Schedule| Observed {
            send_ns: noise * schedule.burst(schedule.window, 0.0),
            interval_ns: noise * schedule.interval(0.0),
            round_trip_ns: noise * schedule.round_trip(),
        };
        let cost = |computing: u64, messages: u64| {
            let computing = computing as f64;
            noise * (plain.burst(messages as usize, computing) - computing) + computing
        };
        let curve = |&computing: &u64| bursts.iter().map(|&n| cost(computing, n)).collect();
        let of_size = |&size: &u64| loggp::Bulk {
            send_ns: noise * (500.0 + 0.2 * size as f64),
            interval_ns: noise * (plain.interval(0.0) + 0.5 * size as f64),
        };
        let delayed = |it: &Injected| {
            let (mode, delay) = (it.mode, it.delay_ns as f64);
            observe(Schedule {
                injected: Some(schedule::Injected { mode, delay }),
                ..plain
            })
        };
        let length = |it: &Injected| Observed {
            send_ns: it.delay_ns as f64,
            interval_ns: it.delay_ns as f64,
            round_trip_ns: it.delay_ns as f64,
        };
        let after = |&pause: &u64| loggp::Paused {
            send_ns: observe(plain).send_ns,
            round_trip_ns: noise * plain.round_trip_after(pause as f64),
        };
        loggp::Block {
            signature_ns: computing_ns.iter().map(curve).collect(),
            plain: observe(plain),
            bulk: bulk.iter().map(of_size).collect(),
            injected: injected.iter().map(delayed).collect(),
            achieved: injected.iter().map(length).collect(),
            paused: pauses_ns.iter().map(after).collect(),
        }
    };
    let blocks = (0..5).map(block).collect();
    AmviaResult::Loggp(loggp::Report {
        case: amvia_cases::Case::Loggp,
        setting,
        size: 32,
        bursts,
        computing_ns,
        bulk,
        injected: injected.to_vec(),
        pauses_ns,
        discarded_blocks: 0,
        blocks,
    })
}

/// Flipped bits of which the experiment says what the model says, too few of them, and a handler that fails.
fn amvia_performability(transport: Transport, protocol: Protocol) -> AmviaResult {
    let row = |component, chance: f64, measured: Option<f64>| Row {
        failing: Failing { component, chance },
        error_free_ns: 1_000.0,
        model_ns: 1.6e9 * chance,
        simulation_ns: 1.61e9 * chance,
        simulation_reach_ns: 2e7 * chance,
        experiment_ns: measured.map(|share| share * 1.6e9 * chance),
        experiment_reach_ns: 1e7 * chance,
        machine_ns: 120.0,
        transactions: 10_000,
        losses: 1_200,
        detected: 1_199,
    };
    let throughput = |component, chance, outstanding| Throughput {
        failing: Failing { component, chance },
        outstanding,
        analysis: 9e5,
        simulation: 1e6,
    };
    AmviaResult::Performability(performability::Report {
        case: amvia_cases::Case::Performability,
        setting: amvia_setting(transport, protocol),
        size: 32,
        timeout_ns: 1_000_000,
        stages: vec![Stage {
            component: Component::Library,
            send_ns: 140.0,
            receive_ns: 150.0,
            source: performability::Source::Stamps,
        }],
        kernel: Kernel::Traced(Traced {
            steps: vec![Passed {
                step: Step::Driver,
                median_ns: 210.0,
            }],
            frames: 2_000,
            left_out: 3,
            round_trip_ns: 8_000.0,
            traced_round_trip_ns: 9_100.0,
        }),
        excess: vec![
            row(None, 1e-7, None),
            row(None, 1e-5, Some(1.05)),
            row(None, 1e-4, Some(1.5)),
            row(Some(Component::Application), 1e-3, None),
            row(Some(Component::Wire), 1e-3, Some(1.0)),
        ],
        throughput: vec![
            throughput(None, 0.0, 1),
            throughput(None, 0.0, 4),
            throughput(None, 1e-6, 4),
            throughput(Some(Component::Library), 1e-3, 4),
            throughput(Some(Component::Wire), 1e-3, 4),
        ],
        performability: vec![Performability {
            assumed: "a bad cable".into(),
            bit_error_rate: 1e-6,
            up_s: 60.0,
            repair_s: 0.0,
            throughput: 1e5,
            availability: 0.999,
            abandoned: 0.0,
            performability: 0.999e5,
        }],
    })
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
        kernel: kernel.parse().unwrap(),
        class: npb::Class::S,
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
