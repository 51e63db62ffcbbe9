//! The cases of the suite over real sockets on the loopback, against the real server.

mod common;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::thread;

use jitterlab_base::units::{Bytes, Nanos, Rate};
use jitterlab_packet::cases::bandwidth::{Bandwidth, Outcome};
use jitterlab_packet::cases::open_loop::{Loop, OpenLoop, Spacing, Timetable};
use jitterlab_packet::cases::rtt::{self, Length, Rtt};
use jitterlab_packet::cases::{
    bandwidth, bidirectional, buffer_reuse, completion, hot_spot, latency, overhead,
};
use jitterlab_packet::transport::{Buffers, Link, Operation, Path, Transport, Wait};
use jitterlab_packet::{Error, server};
use jitterlab_verbs::{Adapter, Service};

use common::assert_kept;

const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Long enough that no answer is late because the machine is busy.
const PATIENT: Nanos = Nanos(2_000_000_000);

#[test]
fn an_open_loop_sends_all_and_takes_all() {
    for transport in Transport::SOCKETS {
        for (wait, gaps) in [
            (Wait::Block, Spacing::Fixed),
            (Wait::Poll, Spacing::Exponential),
        ] {
            let options = OpenLoop {
                rtt: Rtt {
                    length: Length::Messages(300),
                    ..pings(transport, wait)
                },
                timetable: Timetable {
                    rate: Rate(20_000),
                    gaps,
                    seed: 7,
                    // A window that a socket buffer holds whatever its size: nothing is lost.
                    window: 64,
                },
            };
            let outcome = options.run(serve(transport)).unwrap();
            assert_eq!(
                (outcome.samples.len(), outcome.discarded),
                (300, 2),
                "{transport}"
            );
            assert_eq!(
                (outcome.lost, outcome.reordered, outcome.duplicates),
                (0, 0, 0)
            );
            let report = rtt::Report::of(&options.rtt, &outcome).unwrap();
            assert_kept(&report);
            let Loop::Open(open) = report.pacing else {
                panic!("{report:?}");
            };
            assert_eq!(
                (open.rate_asked, open.gaps, open.unsent),
                (20_000.0, gaps, 0)
            );
            assert!((1..=64).contains(&open.most_under_way), "{open:?}");
            // Never before they are due.
            let sum = match gaps {
                Spacing::Fixed => 1.0,
                Spacing::Exponential => 1.3,
            };
            assert!(open.rate_achieved > 0.0 && open.rate_achieved <= 20_000.0 * sum + 1.0);
        }
    }
}

/// A real server, which ends with the test.
fn serve(transport: Transport) -> SocketAddr {
    let (ready, address) = mpsc::channel();
    thread::spawn(move || {
        server::serve(transport, LOCAL.into(), &Adapter::default(), |a| {
            ready.send(a).unwrap();
        })
    });
    address.recv().unwrap()
}

fn pings(transport: Transport, wait: Wait) -> Rtt {
    Rtt {
        link: Link::of(transport),
        size: Bytes(64),
        wait,
        warmup: Length::Messages(2),
        length: Length::Messages(40),
        timeout: PATIENT,
    }
}

fn stream(transport: Transport, wait: Wait) -> Bandwidth {
    Bandwidth {
        link: Link::of(transport),
        size: Bytes(64),
        wait,
        window: 8,
        buffers: Buffers::Fifo(1),
        both: false,
        computing: Nanos(0),
        warmup: Length::Messages(8),
        length: Length::Messages(400),
        timeout: Nanos(100_000_000),
    }
}

const WAYS: [(Transport, Wait); 5] = [
    (Transport::Udp, Wait::Block),
    (Transport::Udp, Wait::Poll),
    (Transport::Tcp, Wait::Block),
    (Transport::Tcp, Wait::Poll),
    (Transport::Shm, Wait::Poll),
];

/// What was asked for and no more than a half window beyond, each half window with its time.
fn check(outcome: &Outcome, options: &Bandwidth, asked: u64) {
    let half = u64::from(options.window / 2).max(1);
    // Half a window, or all of one that was finished at once.
    let most = asked + u64::from(options.window);
    assert!((asked..=most).contains(&outcome.messages), "{outcome:?}");
    let halves = outcome.halves.len() as u64;
    assert!(
        halves * half <= outcome.messages && halves > 0,
        "{outcome:?}"
    );
    let sum: u64 = outcome.halves.iter().sum();
    assert!(sum.abs_diff(outcome.time_ns) <= halves + 1, "{outcome:?}");
    assert!(!outcome.memory_full);
    if options.link.is_reliable() {
        assert_eq!(outcome.missing, 0);
    }
}

#[test]
fn streams_of_every_size_and_window_arrive() {
    for (transport, wait) in WAYS {
        let address = serve(transport);
        for (size, window) in [(1, 8), (8, 1), (64, 2), (100, 3), (1_400, 100), (30_000, 4)] {
            let options = Bandwidth {
                size: Bytes(size.max(*transport.sizes().start())),
                window,
                ..stream(transport, wait)
            };
            let outcome = options.run(address).unwrap();
            check(&outcome, &options, 400);
            assert_eq!(outcome.back, 0);
        }
    }
}

#[test]
fn both_ends_stream_at_once() {
    for (transport, wait) in WAYS {
        let address = serve(transport);
        for size in [16, 17, 1_400, 30_000] {
            let options = Bandwidth {
                size: Bytes(size),
                both: true,
                ..stream(transport, wait)
            };
            let outcome = options.run(address).unwrap();
            check(&outcome, &options, 400);
            // The other end streams as fast as it can, but nothing keeps the two in step.
            assert!(outcome.back > 0, "{transport} {wait:?} {size}: {outcome:?}");
        }
    }
}

/// Less than half a window fits into what the system holds for a connection.
#[test]
fn a_window_that_is_never_full_ends_in_time() {
    let address = serve(Transport::Tcp);
    for wait in [Wait::Block, Wait::Poll] {
        let options = Bandwidth {
            size: Bytes(4 << 20),
            window: 100,
            warmup: Length::Messages(0),
            length: Length::Messages(50),
            ..stream(Transport::Tcp, wait)
        };
        check(&options.run(address).unwrap(), &options, 50);
    }
}

/// Messages that are larger than what the system holds for a connection: neither end may wait for the
/// other to read.
#[test]
fn large_messages_in_both_directions_do_not_block_each_other() {
    let address = serve(Transport::Tcp);
    let pings = Rtt {
        length: Length::Messages(4),
        ..pings(Transport::Tcp, Wait::Block)
    };
    let both = Bandwidth {
        window: 2,
        warmup: Length::Messages(0),
        length: Length::Messages(4),
        timeout: PATIENT,
        ..stream(Transport::Tcp, Wait::Block)
    };
    bidirectional::by_size(&pings, &both, &[Bytes(16 << 20)], address).unwrap();
    for wait in [Wait::Block, Wait::Poll] {
        let options = Bandwidth {
            size: Bytes(16 << 20),
            both: true,
            window: 2,
            warmup: Length::Messages(0),
            length: Length::Messages(4),
            timeout: PATIENT,
            ..stream(Transport::Tcp, wait)
        };
        assert!(options.run(address).unwrap().messages >= 4);
    }
}

/// Passes datagrams on between one client and a server, in both directions, but those that `lose` picks by
/// their number; the first words are not counted.
fn relay(server: SocketAddr, lose: impl Fn(u64) -> bool + Send + Copy + 'static) -> SocketAddr {
    let near = UdpSocket::bind(LOCAL).unwrap();
    let far = UdpSocket::bind(LOCAL).unwrap();
    far.connect(server).unwrap();
    let address = near.local_addr().unwrap();
    let mut buffer = [0; 2048];
    thread::spawn(move || {
        // The first words are from the client.
        let (length, client) = near.recv_from(&mut buffer).unwrap();
        near.connect(client).unwrap();
        far.send(&buffer[..length]).unwrap();
        let pass = move |from: UdpSocket, to: UdpSocket| {
            let mut buffer = [0; 2048];
            let mut number = 0;
            while let Ok(length) = from.recv(&mut buffer) {
                if !buffer.starts_with(b"jlplan") {
                    number += 1;
                    if lose(number) {
                        continue;
                    }
                }
                if to.send(&buffer[..length]).is_err() {
                    return;
                }
            }
        };
        let (from, to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        thread::spawn(move || pass(from, to));
        pass(near, far);
    });
    address
}

#[test]
fn what_a_stream_loses_is_counted_and_does_not_stop_it() {
    for wait in [Wait::Block, Wait::Poll] {
        let address = relay(serve(Transport::Udp), |number| number.is_multiple_of(7));
        let options = stream(Transport::Udp, wait);
        let outcome = options.run(address).unwrap();
        check(&outcome, &options, 400);
        // One in seven messages, and a system that is busy may lose more.
        assert!(outcome.missing >= 400 / 7 - 8, "{outcome:?}");
        assert!(outcome.missing < outcome.messages, "{outcome:?}");
    }
}

#[test]
fn a_stream_to_a_server_that_falls_silent_ends() {
    let address = relay(serve(Transport::Udp), |number| number > 100);
    let options = Bandwidth {
        timeout: Nanos(2_000_000),
        ..stream(Transport::Udp, Wait::Block)
    };
    let error = options.run(address).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Silence {
                time: Nanos(40_000_000),
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn latency_and_bandwidth_are_measured_by_size() {
    for (transport, wait) in WAYS {
        let address = serve(transport);
        let sizes = [Bytes(16), Bytes(1_000)];
        let report = latency::by_size(&pings(transport, wait), &sizes, address).unwrap();
        let by_size = report.points.iter().map(|p| (p.size, p.rtt_ns.n));
        assert_eq!(by_size.collect::<Vec<_>>(), [(16, 40), (1_000, 40)]);

        let report = bandwidth::by_size(&stream(transport, wait), &sizes, address).unwrap();
        for (point, size) in report.points.iter().zip(sizes) {
            assert_eq!(point.size, size.0);
            let came = (point.messages - point.missing) as f64;
            let expected = came * size.0 as f64 * 1e9 / point.time_ns as f64;
            assert!((point.bytes_per_second / expected - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn both_directions_are_measured() {
    for (transport, wait) in WAYS {
        let address = serve(transport);
        let (pings, stream) = (pings(transport, wait), stream(transport, wait));
        let report = bidirectional::by_size(&pings, &stream, &[Bytes(64)], address).unwrap();
        let point = &report.points[0];
        let fewest = 20 - (point.lost as usize).min(19);
        assert!((fewest..=20).contains(&point.latency_ns.n), "{point:?}");
        assert_eq!(point.size, 64);
        assert!(point.bytes_per_second > point.out.bytes_per_second);
    }
}

/// What is lost is made up for, in whichever direction: the two ends come into step again.
#[test]
fn an_exchange_outlives_losses() {
    let address = relay(serve(Transport::Udp), |number| {
        number % 11 == 0 || number % 13 == 2
    });
    let pings = Rtt {
        timeout: Nanos(100_000_000),
        ..pings(Transport::Udp, Wait::Block)
    };
    let stream = stream(Transport::Udp, Wait::Block);
    let report = bidirectional::by_size(&pings, &stream, &[Bytes(64)], address);
    // Through the relay, which knows one client only, the latency is measured, and then nobody is there.
    assert!(matches!(report, Err(Error::NoPeer { .. })), "{report:?}");
}

#[test]
fn overhead_is_a_part_of_the_round_trip() {
    for (transport, wait) in WAYS {
        let address = serve(transport);
        let (pings, stream) = (pings(transport, wait), stream(transport, wait));
        let report = overhead::by_size(&pings, &stream, &[Bytes(64)], address).unwrap();
        let point = &report.points[0];
        assert_eq!((point.send_ns.n, point.receive_ns.n), (40, 40));
        assert!(
            point.send_ns.min > 0.0 && point.receive_ns.min > 0.0,
            "{transport} {wait} {point:?}"
        );
        assert!(point.cpu_ns_per_round_trip > 0.0);
        let beside = &report.common.beside;
        assert!(!beside.is_empty());
        for beside in beside {
            assert!((0.0..=1.0).contains(&beside.share), "{beside:?}");
        }
        let last = beside.last().unwrap();
        assert!(last.left < 0.95 || beside.len() == 12, "{last:?}");
    }
}

#[test]
fn every_way_to_see_an_arrival_is_measured() {
    for transport in Transport::SOCKETS {
        let options = pings(transport, Wait::Block);
        let report = completion::by_way(&options, &[Bytes(64)], serve(transport)).unwrap();
        let ways: Vec<&str> = report.points.iter().map(|p| p.way.words()).collect();
        assert_eq!(ways, ["polling the socket", "sleeping on the socket"]);
        let waits: Vec<Wait> = report.points.iter().map(|p| p.wait).collect();
        assert_eq!(waits, [Wait::Poll, Wait::Block]);
        assert_eq!(report.setting.wait, None, "of no way alone");
        assert!(report.points.iter().all(|p| p.rtt_ns.n == 40));
        assert_eq!(report.points[0].added_ns, 0.0);
    }
    let options = pings(Transport::Shm, Wait::Poll);
    let report = completion::by_way(&options, &[Bytes(64)], serve(Transport::Shm)).unwrap();
    let ways: Vec<&str> = report.points.iter().map(|p| p.way.words()).collect();
    assert_eq!(ways, ["polling memory"]);
}

#[test]
fn patterns_of_buffers_are_used_by_both_ends() {
    let patterns = [
        Buffers::Fifo(1),
        Buffers::Fifo(300),
        Buffers::Reuse {
            percent: 50,
            of: 20,
        },
        Buffers::Reuse { percent: 0, of: 20 },
    ];
    for (transport, wait) in WAYS {
        let address = serve(transport);
        let (pings, stream) = (pings(transport, wait), stream(transport, wait));
        let report = buffer_reuse::by_pattern(&pings, &stream, &patterns, address).unwrap();
        let buffers: Vec<usize> = report.points.iter().map(|p| p.buffers).collect();
        assert_eq!(buffers, [1, 300, 11, 21]);
        assert!(report.points.iter().all(|p| p.latency.rtt_ns.n == 40));
    }
    let too_many = Bandwidth {
        size: Bytes(1 << 20),
        ..stream(Transport::Tcp, Wait::Block)
    };
    let pings = pings(Transport::Tcp, Wait::Block);
    let error = buffer_reuse::by_pattern(
        &pings,
        &too_many,
        &[Buffers::Fifo(1025)],
        // Nobody is asked.
        ([127, 0, 0, 1], 9).into(),
    );
    assert!(matches!(error, Err(Error::Buffers { .. })), "{error:?}");
}

#[test]
fn one_against_many() {
    for (transport, wait) in WAYS {
        let slaves = [serve(transport), serve(transport), serve(transport)];
        let report = hot_spot::by_slaves(&pings(transport, wait), &slaves).unwrap();
        let counts: Vec<usize> = report.points.iter().map(|p| p.slaves).collect();
        assert_eq!(counts, [1, 2, 3]);
        for point in &report.points {
            let samples = point.send_ns.n + point.receive_ns.n;
            assert!(samples as u64 + point.lost >= 80, "{point:?}");
        }
    }
}

/// The report of every case, with the path that only verbs know and without.
#[test]
fn a_report_is_read_back_as_it_was_stored() {
    let (pings, stream) = (
        pings(Transport::Udp, Wait::Block),
        stream(Transport::Udp, Wait::Block),
    );
    let address = serve(Transport::Udp);
    let sizes = [Bytes(16), Bytes(64)];
    let outcome = pings.run(address).unwrap();
    assert_kept(&rtt::Report::of(&pings, &outcome).unwrap());
    assert_kept(&latency::by_size(&pings, &sizes, address).unwrap());
    assert_kept(&bandwidth::by_size(&stream, &sizes, address).unwrap());
    assert_kept(&bidirectional::by_size(&pings, &stream, &sizes, address).unwrap());
    assert_kept(&overhead::by_size(&pings, &stream, &sizes, address).unwrap());
    let patterns = [
        Buffers::Fifo(2),
        Buffers::Reuse {
            percent: 50,
            of: 20,
        },
    ];
    assert_kept(&buffer_reuse::by_pattern(&pings, &stream, &patterns, address).unwrap());
    assert_kept(&hot_spot::by_slaves(&pings, &[address]).unwrap());
    let mut report = completion::by_way(&pings, &[Bytes(64)], address).unwrap();
    let path = Path {
        device: "rxe0".into(),
        port: 1,
        gid_index: Some(1),
        operation: Operation::WriteImm,
        service: Service::Rc,
        inline: true,
        mtu: 1024,
    };
    report.points[0].path = Some(path.clone());
    report.points[0].operation = Some(Operation::WriteImm);
    report.setting.path = Some(path);
    assert_kept(&report);
}
