//! Loads over the loopback: against the real sink, and against sinks that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use jitterlab_base::units::{Bytes, Nanos, Percent};
use jitterlab_load::sender::Load;
use jitterlab_load::transport::Network;
use jitterlab_load::{Error, sink};
use jitterlab_verbs::exchange::{Answer, Ask, Place};
use jitterlab_verbs::{Adapter, EndPoint, Mtu, Remote};

/// Those that every machine has.
const SOCKETS: [Network; 2] = [Network::Udp, Network::Tcp];
const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

fn load(transport: Network, level: f64) -> Load {
    Load {
        transport,
        adapter: Adapter::default(),
        message: Bytes(1_000),
        level: Percent::new(level).unwrap(),
        duration: Nanos(300_000_000),
        // A message takes 200 us of it.
        bandwidth: Some(5e6),
        seed: 5489,
    }
}

/// A real sink, which ends with the test.
fn serve() -> SocketAddr {
    serve_over(Adapter::default())
}

/// One whose senders over verbs write over `adapter`.
fn serve_over(adapter: Adapter) -> SocketAddr {
    let (ready, address) = mpsc::channel();
    thread::spawn(move || sink::serve(LOCAL.into(), &adapter, |a| ready.send(a).unwrap()));
    address.recv().unwrap()
}

fn go_on() -> AtomicBool {
    AtomicBool::new(false)
}

#[test]
fn what_is_reported_is_what_arrived() {
    let sink = serve();
    for transport in SOCKETS {
        let load = load(transport, 40.0);
        let produced = load.run(sink, &go_on()).unwrap();
        assert!(produced.sent_messages > 0, "{produced:?}");
        assert_eq!(produced.sent_bytes, produced.sent_messages * 1_000);
        assert_eq!(produced.received_bytes, produced.received_messages * 1_000);
        assert_eq!(
            produced.received_messages + produced.lost_messages,
            produced.sent_messages
        );
        if transport == Network::Tcp {
            assert_eq!(produced.lost_messages, 0);
        }
        assert!(produced.seconds >= 0.3);
        let share = produced.received_bytes as f64 / produced.seconds / 5e6;
        assert!(
            (produced.produced_level - 100.0 * share).abs() < 1e-9,
            "{produced:?}"
        );
        let intervals: u64 = produced.sent_bytes_each_100ms.iter().sum();
        assert_eq!(intervals, produced.sent_bytes);
        assert!(produced.longest_gap_ns > 0);
        assert!(!produced.bandwidth_measured);

        // Messages go as a Poisson process does: six standard deviations more than expected never
        // happen. Fewer do, where the machine had no time for them at the end.
        let expected = 0.4 * 5_000.0 * produced.seconds;
        let sent = produced.sent_messages as f64;
        assert!(sent < expected + 6.0 * expected.sqrt(), "{sent} {expected}");
    }
}

#[test]
fn no_level_sends_nothing() {
    let sink = serve();
    for transport in SOCKETS {
        let produced = load(transport, 0.0).run(sink, &go_on()).unwrap();
        assert_eq!((produced.sent_messages, produced.received_messages), (0, 0));
        assert_eq!(produced.produced_level, 0.0);
        assert!(produced.seconds >= 0.3);
    }
}

#[test]
fn the_bandwidth_is_measured_where_it_is_not_given() {
    let sink = serve();
    for transport in SOCKETS {
        let mut load = load(transport, 5.0);
        load.bandwidth = None;
        let produced = load.run(sink, &go_on()).unwrap();
        assert!(produced.bandwidth_measured);
        // Any loopback moves more than a megabyte a second.
        assert!(produced.bandwidth > 1e6, "{produced:?}");
        assert!(produced.received_messages > 0);
    }
}

#[test]
fn a_load_that_is_stopped_says_what_it_was() {
    let sink = serve();
    for level in [0.0, 50.0] {
        let mut load = load(Network::Udp, level);
        load.duration = Nanos(3_600_000_000_000);
        let produced = load.run(sink, &AtomicBool::new(true)).unwrap();
        assert_eq!(produced.sent_messages, 0);
    }
}

#[test]
fn a_sink_counts_for_each_sender_by_itself() {
    let sink = serve();
    let senders: Vec<_> = [
        (Network::Udp, 10.0),
        (Network::Tcp, 30.0),
        (Network::Tcp, 60.0),
    ]
    .into_iter()
    .map(|(transport, level)| {
        thread::spawn(move || load(transport, level).run(sink, &go_on()).unwrap())
    })
    .collect();
    for sender in senders {
        let produced = sender.join().unwrap();
        assert!(produced.received_messages <= produced.sent_messages);
        assert!(produced.received_messages > 0);
    }
}

#[test]
fn a_sink_outlives_strangers() {
    let sink = serve();
    for words in [
        "GET / HTTP/1.1\r\n",
        "{\"ask\":\"open\"}\n",
        "{\"ask\":\"dance\"}\n",
        "",
    ] {
        let mut stream = TcpStream::connect(sink).unwrap();
        stream.write_all(words.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        let _ = BufReader::new(stream).read_line(&mut answer);
        assert_eq!(answer, "", "{words}");
    }
    assert!(load(Network::Udp, 10.0).run(sink, &go_on()).is_ok());
}

#[test]
fn no_sink_is_said_with_what_to_start() {
    let address = TcpListener::bind(LOCAL).unwrap().local_addr().unwrap();
    let error = load(Network::Udp, 10.0).run(address, &go_on()).unwrap_err();
    assert!(matches!(error, Error::NoSink { .. }), "{error:?}");
    let hint = format!("start `jitterlab load serve --bind {address}` there");
    assert!(error.to_string().contains(&hint), "{error}");
}

/// A sink that has nothing to say of what has arrived for three counts, and then says that all has.
fn slow_sink(stop: Arc<AtomicBool>, transport: Network) -> SocketAddr {
    let listener = TcpListener::bind(LOCAL).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (datagrams, stream) = (UdpSocket::bind(LOCAL), TcpListener::bind(LOCAL));
        let (datagrams, stream) = (datagrams.unwrap(), stream.unwrap());
        let mut control = BufReader::new(listener.accept().unwrap().0);
        let mut line = String::new();
        control.read_line(&mut line).unwrap();
        let place = match transport {
            Network::Tcp => stream.local_addr(),
            _ => datagrams.local_addr(),
        };
        let port = place.unwrap().port();
        writeln!(control.get_mut(), "{{\"port\":{port}}}").unwrap();
        let mut piece = [0; 2_000];
        // What has been sent is kept open until the end.
        let mut taken = None;
        match transport {
            Network::Tcp => {
                let stream = taken.insert(stream.accept().unwrap().0);
                stream.read_exact(&mut piece[..1_000]).unwrap();
            }
            _ => drop(datagrams.recv(&mut piece).unwrap()),
        }
        stop.store(true, Ordering::Relaxed);
        for messages in [1, 1, 1, 1_000_000_000_000_u64] {
            control.read_line(&mut line).unwrap();
            let bytes = messages * 1_000;
            writeln!(
                control.get_mut(),
                "{{\"messages\":{messages},\"bytes\":{bytes}}}"
            )
            .unwrap();
        }
    });
    address
}

/// At any load the last messages are still under way when the first count is made.
#[test]
fn what_arrives_late_is_not_lost() {
    for transport in SOCKETS {
        let stop = Arc::new(go_on());
        let sink = slow_sink(Arc::clone(&stop), transport);
        let mut load = load(transport, 100.0);
        load.duration = Nanos(3_600_000_000_000);
        let produced = load.run(sink, &stop).unwrap();
        assert_eq!(produced.lost_messages, 0, "{produced:?}");
    }
}

#[test]
fn the_gap_to_the_end_is_one_too() {
    let mut load = load(Network::Udp, 0.0001);
    load.seed = 1;
    let produced = load.run(serve(), &go_on()).unwrap();
    assert_eq!(
        produced.sent_messages, 0,
        "with this seed the first gap takes minutes"
    );
    assert!(produced.longest_gap_ns >= 300_000_000, "{produced:?}");
}

/// Whoever connects and says nothing keeps nobody else out, and what he had opened is closed with him.
#[test]
fn a_sink_has_room_again_when_strangers_have_gone() {
    let sink = serve();
    let mut opened = Vec::new();
    for _ in 0..100 {
        let mut control = BufReader::new(TcpStream::connect(sink).unwrap());
        let ask = "{\"ask\":\"open\",\"transport\":\"tcp\",\"message\":1}\n";
        // Those beyond the limit are sent away, before or after they have asked.
        let _ = control.get_mut().write_all(ask.as_bytes());
        let mut line = String::new();
        let _ = control.read_line(&mut line);
        if !line.is_empty() {
            let port = line
                .trim_end()
                .trim_start_matches("{\"port\":")
                .trim_end_matches('}');
            opened.push((control, port.parse::<u16>().unwrap()));
        }
    }
    assert_eq!(opened.len(), 64);
    let (control, port) = opened.pop().unwrap();
    let mut sends_nothing = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    drop((control, opened));
    // Its place is given up with its control connection, though it is still open itself.
    assert!(!matches!(sends_nothing.read(&mut [0]), Ok(1)));
    while load(Network::Tcp, 10.0).run(sink, &go_on()).is_err() {
        thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// A sink that opens a place for datagrams and says `answer` instead of what has arrived. It sets
/// `stop` when the first datagram is there.
fn false_sink(answer: &'static str, stop: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind(LOCAL).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let place = UdpSocket::bind(LOCAL).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let port = place.local_addr().unwrap().port();
        writeln!(stream.get_mut(), "{{\"port\":{port}}}").unwrap();
        place.recv(&mut [0; 2_000]).unwrap();
        stop.store(true, Ordering::Relaxed);
        stream.read_line(&mut line).unwrap();
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
    });
    address
}

#[test]
fn a_sink_that_goes_away_or_talks_nonsense_is_an_error() {
    for answer in ["", "{}\n", "what?\n", "{\"messages\":-1,\"bytes\":0}\n"] {
        let stop = Arc::new(go_on());
        let sink = false_sink(answer, Arc::clone(&stop));
        let mut load = load(Network::Udp, 40.0);
        load.duration = Nanos(3_600_000_000_000);
        let error = load.run(sink, &stop).unwrap_err();
        assert!(
            matches!(error, Error::SinkGone { .. }),
            "{answer}: {error:?}"
        );
    }
}

#[test]
fn a_stream_that_its_sink_closes_ends_the_load() {
    let listener = TcpListener::bind(LOCAL).unwrap();
    let sink = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let place = TcpListener::bind(LOCAL).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let port = place.local_addr().unwrap().port();
        writeln!(stream, "{{\"port\":{port}}}").unwrap();
        drop(place.accept().unwrap());
        stream
    });
    let mut load = load(Network::Tcp, 100.0);
    load.duration = Nanos(3_600_000_000_000);
    let error = load.run(sink, &go_on()).unwrap_err();
    assert!(matches!(error, Error::SinkGone { .. }), "{error:?}");
    drop(server.join().unwrap());
}

/// Whoever asks for a place for messages over verbs learns in words why there is none. (What goes over a device is tested in
/// `tui/tests/verbs.rs`.)
#[test]
fn a_sink_without_a_device_says_so() {
    let sink = serve_over(Adapter {
        device: Some("none0".into()),
        ..Adapter::default()
    });
    let mut control = BufReader::new(TcpStream::connect(sink).unwrap());
    let ask = "{\"ask\":\"open\",\"transport\":\"verbs\",\"message\":64}\n";
    control.get_mut().write_all(ask.as_bytes()).unwrap();
    let mut line = String::new();
    control.read_line(&mut line).unwrap();
    let opened: serde_json::Value = serde_json::from_str(&line).unwrap();
    let port = opened["port"].as_u64().unwrap() as u16;
    let place = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let ask = Ask {
        wish: 64_u64.to_le_bytes(),
        mtu: Mtu::MOST,
        place: Place {
            end: EndPoint {
                number: 1,
                first_packet: 1,
                lid: 1,
                gid: [0; 16],
            },
            memory: Remote { address: 0, key: 0 },
        },
    };
    ask.write(&place).unwrap();
    let Answer::Refused(reason) = Answer::read(&place).unwrap() else {
        panic!("it has taken a device that is not there");
    };
    let expected = jitterlab_verbs::ports(Some("none0")).unwrap_err();
    assert_eq!(reason, expected.to_string());
    // With that it hangs up.
    line.clear();
    assert_eq!(control.read_line(&mut line).unwrap(), 0);
}

/// A sender that has no device says so before it sends anything.
#[test]
fn a_sender_without_a_device_says_so() {
    let mut load = load(Network::Verbs, 40.0);
    load.adapter.device = Some("none0".into());
    let error = load.run(serve(), &go_on()).unwrap_err();
    assert!(matches!(error, Error::Verbs(_)), "{error:?}");
}
