//! The case over real sockets on the loopback: against the real server, through a relay that
//! loses datagrams, and against peers that misbehave.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread;

use jitterlab_base::input::OfInput;
use jitterlab_base::units::{Bytes, Nanos};
use jitterlab_packet::cases::hot_spot;
use jitterlab_packet::cases::rtt::{Length, Rtt};
use jitterlab_packet::transport::{Link, Transport, Wait};
use jitterlab_packet::{Error, server};
use jitterlab_verbs::Adapter;
use nix::ifaddrs::getifaddrs;

const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Long enough that no answer is late because the machine is busy.
const PATIENT: Nanos = Nanos(2_000_000_000);

fn case(transport: Transport, wait: Wait, size: u64, messages: u64) -> Rtt {
    Rtt {
        link: Link::of(transport),
        size: Bytes(size),
        wait,
        warmup: Length::Messages(2),
        length: Length::Messages(messages),
        timeout: PATIENT,
    }
}

/// A real server, which ends with the test.
fn serve(transport: Transport) -> SocketAddr {
    serve_at(transport, LOCAL.into())
}

fn serve_at(transport: Transport, address: SocketAddr) -> SocketAddr {
    let (ready, served) = mpsc::channel();
    thread::spawn(move || {
        let adapter = Adapter::default();
        server::serve(transport, address, &adapter, |a| {
            ready.send(a).unwrap();
        })
    });
    served.recv().unwrap()
}

#[test]
fn messages_of_every_size_come_back() {
    let sockets = Transport::SOCKETS.map(|over| [(over, Wait::Block), (over, Wait::Poll)]);
    for (transport, wait) in [&sockets.concat()[..], &[(Transport::Shm, Wait::Poll)]].concat() {
        let address = serve(transport);
        let sizes = transport.sizes();
        for size in [*sizes.start(), 16, 1_400, *sizes.end()] {
            let outcome = case(transport, wait, size, 5).run(address).unwrap();
            assert_eq!(outcome.samples.len(), 5, "{transport} {wait:?} {size}");
            assert_eq!(outcome.discarded, 2);
            assert!(outcome.samples.iter().all(|&ns| ns > 0));
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for transport in [Transport::Udp, Transport::Tcp, Transport::Shm] {
        let sizes = transport.sizes();
        for size in [*sizes.start() - 1, *sizes.end() + 1] {
            // Port 9: nobody is asked before the size is looked at.
            let error = case(transport, transport.usual_wait(), size, 1)
                .run(([127, 0, 0, 1], 9).into())
                .unwrap_err();
            assert!(matches!(error, Error::Size { .. }), "{error:?}");
        }
    }
}

#[test]
fn nobody_there_is_said() {
    for transport in [Transport::Udp, Transport::Tcp, Transport::Shm] {
        // A port that was free a moment ago.
        let address = match transport {
            Transport::Udp => UdpSocket::bind(LOCAL).unwrap().local_addr().unwrap(),
            _ => TcpListener::bind(LOCAL).unwrap().local_addr().unwrap(),
        };
        let error = case(transport, transport.usual_wait(), 64, 1)
            .run(address)
            .unwrap_err();
        assert!(matches!(error, Error::NoPeer { .. }), "{error:?}");
        let hint = format!("jitterlab packet serve --transport {transport} --bind {address}");
        assert!(error.to_string().contains(&hint), "{error}");
    }
}

/// Stands between one client and a server: to a message it gives the answers to those that `answers` names
/// by their numbers. Who names none has it lost on its way. It ends when `answers` gives `None`.
fn relay(
    server: SocketAddr,
    answers: impl Fn(u64) -> Option<Vec<u64>> + Send + 'static,
) -> SocketAddr {
    let near = UdpSocket::bind(LOCAL).unwrap();
    let far = UdpSocket::bind(LOCAL).unwrap();
    far.connect(server).unwrap();
    let address = near.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        let mut number = 0;
        loop {
            let (length, client) = near.recv_from(&mut buffer).unwrap();
            let mut numbers = Vec::new();
            let is_message = !buffer.starts_with(b"jlplan");
            if is_message {
                number += 1;
                match answers(number) {
                    None => return,
                    Some(none) if none.is_empty() => continue,
                    Some(named) => numbers = named,
                }
            }
            far.send(&buffer[..length]).unwrap();
            let length = far.recv(&mut buffer).unwrap();
            if !is_message {
                near.send_to(&buffer[..length], client).unwrap();
            }
            for number in numbers {
                buffer[..8].copy_from_slice(&number.to_le_bytes());
                near.send_to(&buffer[..length], client).unwrap();
            }
        }
    });
    address
}

/// The answer to the message itself, if it is not to be lost.
fn unless(is_lost: bool, number: u64) -> Vec<u64> {
    (!is_lost).then_some(number).into_iter().collect()
}

#[test]
fn answers_that_are_all_late_are_not_called_silence() {
    for wait in [Wait::Block, Wait::Poll] {
        // Each comes with the message after the next.
        let address = relay(serve(Transport::Udp), |number| {
            Some(
                number
                    .checked_sub(2)
                    .into_iter()
                    .filter(|&n| n > 0)
                    .collect(),
            )
        });
        let mut case = case(Transport::Udp, wait, 64, 1_000);
        case.warmup = Length::Messages(0);
        case.timeout = Nanos(10_000_000);
        let error = case.run(address).unwrap_err();
        let Error::Silence {
            answered: 0, late, ..
        } = error
        else {
            panic!("{error:?}");
        };
        // The last of them may be on its way.
        assert!((1..=18).contains(&late), "{late}");
        let remedy = match late {
            1 => "1 answer came too late: a longer --timeout would count it".to_string(),
            _ => format!("{late} answers came too late: a longer --timeout would count them"),
        };
        let said = format!(
            "no answer came in time for 200ms. Before that, the peer answered 0 messages. {remedy}"
        );
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn late_answers_to_the_warm_up_cancel_no_loss() {
    // The answer to 5 comes before that to 40. The one to 20 never comes.
    let address = relay(serve(Transport::Udp), |number| {
        Some(match number {
            5 | 20 => vec![],
            40 => vec![5, 40],
            _ => vec![number],
        })
    });
    let mut case = case(Transport::Udp, Wait::Block, 64, 40);
    case.warmup = Length::Messages(10);
    case.timeout = Nanos(200_000_000);
    let outcome = case.run(address).unwrap();
    // Where this machine stands still, others are late as well, or lost at the end.
    assert!(outcome.lost >= 1, "{outcome:?}");
    let accounted = outcome.samples.len() as u64 + outcome.lost + outcome.reordered;
    assert_eq!((accounted, outcome.duplicates), (40, 0), "{outcome:?}");
}

#[test]
fn lost_datagrams_are_counted_and_waited_for_no_longer_than_asked() {
    for wait in [Wait::Block, Wait::Poll] {
        let server = serve(Transport::Udp);
        // The two messages of the warm-up are numbers 1 and 2.
        let address = relay(server, |number| {
            Some(unless(number > 2 && number.is_multiple_of(10), number))
        });
        let mut case = case(Transport::Udp, wait, 64, 50);
        case.timeout = Nanos(100_000_000);
        let outcome = case.run(address).unwrap();
        // On a machine that stood still for a moment an answer may have come late as well, or not
        // before the end; but every message is something, and what was lost is not a sample.
        let (answered, lost) = (outcome.samples.len() as u64, outcome.lost);
        assert_eq!(answered + lost + outcome.reordered, 50, "{outcome:?}");
        assert!(lost >= 5, "{outcome:?}");
        assert_eq!(outcome.duplicates, 0);
    }
}

#[test]
fn a_server_that_falls_silent_ends_the_run() {
    for wait in [Wait::Block, Wait::Poll] {
        let server = serve(Transport::Udp);
        let address = relay(server, |number| Some(unless(number > 12, number)));
        let mut case = case(Transport::Udp, wait, 64, 1_000);
        case.timeout = Nanos(5_000_000);
        let error = case.run(address).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Silence {
                    time: Nanos(100_000_000),
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

/// Answers every message but the 13th: then it says `words` until the next message comes, however many that
/// takes; but not for ever.
fn babbler(server: SocketAddr, words: &'static [u8]) -> SocketAddr {
    const MOST: u64 = 1_000_000;
    let near = UdpSocket::bind(LOCAL).unwrap();
    let far = UdpSocket::bind(LOCAL).unwrap();
    far.connect(server).unwrap();
    let address = near.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        let (mut number, mut said) = (0, 0);
        let (_, mut client) = near.peek_from(&mut buffer).unwrap();
        loop {
            let length = match near.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    client = from;
                    length
                }
                Err(_) if said < MOST => {
                    said += 1;
                    let _ = near.send_to(words, client);
                    continue;
                }
                Err(_) => return,
            };
            if !buffer.starts_with(b"jlplan") {
                number += 1;
                near.set_nonblocking(number == 13).unwrap();
                if number != 13 {
                    near.send_to(&buffer[..length], client).unwrap();
                }
            } else if length > 8 {
                // First words; the last ones are shorter.
                far.send(&buffer[..length]).unwrap();
                let length = far.recv(&mut buffer).unwrap();
                near.send_to(&buffer[..length], client).unwrap();
            }
        }
    });
    address
}

#[test]
fn what_is_no_answer_does_not_make_the_wait_longer() {
    let patience = Nanos(300_000_000);
    for wait in [Wait::Block, Wait::Poll] {
        let mut case = case(Transport::Udp, wait, 8, 20);
        case.timeout = patience;
        // The answer to the first message, and something of another length.
        for words in [&[1, 0, 0, 0, 0, 0, 0, 0][..], b"what?"] {
            let outcome = case.run(babbler(serve(Transport::Udp), words)).unwrap();
            assert!(outcome.lost >= 1, "{outcome:?}");
        }
    }
    let mut case = case(Transport::Udp, Wait::Block, 8, 20);
    case.timeout = patience;
    let slave = babbler(serve(Transport::Udp), &[1, 0, 0, 0, 0, 0, 0, 0]);
    let report = hot_spot::by_slaves(&case, &[slave]).unwrap();
    assert!(report.points[0].lost >= 1, "{report:?}");
}

#[test]
fn a_server_whose_port_closes_ends_the_run() {
    for wait in [Wait::Block, Wait::Poll] {
        let server = serve(Transport::Udp);
        let address = relay(server, |number| (number <= 12).then_some(vec![number]));
        let error = case(Transport::Udp, wait, 64, 1_000)
            .run(address)
            .unwrap_err();
        // The port may close after the message was taken: then the next one is refused.
        assert!(
            matches!(error, Error::PeerGone { answered: 12, .. }),
            "{error:?}"
        );
    }
}

/// A TCP server that answers the first words with `words`, or as they were, and then does what
/// `then` says.
fn tcp_server(
    words: Option<&'static [u8]>,
    then: impl FnOnce(TcpStream) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(LOCAL).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = [0; 40];
        stream.read_exact(&mut heard).unwrap();
        stream.write_all(words.unwrap_or(&heard)).unwrap();
        then(stream);
    });
    address
}

/// Answers so many messages of 64 bytes, in pieces of so many bytes.
fn answer(stream: &mut TcpStream, messages: usize, piece: usize) {
    stream.set_nodelay(true).unwrap();
    let mut message = [0; 64];
    for _ in 0..messages {
        stream.read_exact(&mut message).unwrap();
        for piece in message.chunks(piece) {
            stream.write_all(piece).unwrap();
        }
    }
}

#[test]
fn a_stream_that_comes_in_pieces_is_put_together() {
    for wait in [Wait::Block, Wait::Poll] {
        let address = tcp_server(None, |mut stream| answer(&mut stream, 22, 7));
        let outcome = case(Transport::Tcp, wait, 64, 20).run(address).unwrap();
        assert_eq!(outcome.samples.len(), 20);
    }
}

#[test]
fn a_peer_that_closes_the_stream_ends_the_run() {
    for wait in [Wait::Block, Wait::Poll] {
        let address = tcp_server(None, |mut stream| answer(&mut stream, 9, 64));
        let error = case(Transport::Tcp, wait, 64, 20).run(address).unwrap_err();
        assert!(
            matches!(error, Error::PeerGone { answered: 9, .. }),
            "{error:?}"
        );
    }
}

#[test]
fn a_stream_that_stops_within_a_message_ends_the_run() {
    for wait in [Wait::Block, Wait::Poll] {
        let address = tcp_server(None, |mut stream| {
            answer(&mut stream, 9, 64);
            stream.write_all(&[0; 30]).unwrap();
            // Until the client has gone.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let mut case = case(Transport::Tcp, wait, 64, 20);
        case.timeout = Nanos(10_000_000);
        let error = case.run(address).unwrap_err();
        assert!(matches!(error, Error::Silence { .. }), "{error:?}");
    }
}

#[test]
fn strangers_are_known_by_their_first_words() {
    let other = tcp_server(Some(b"SSH-2.0-nothing!"), |_| ());
    let short = tcp_server(Some(b"jl"), |_| ());
    for address in [other, short] {
        let error = case(Transport::Tcp, Wait::Block, 64, 1)
            .run(address)
            .unwrap_err();
        assert!(matches!(error, Error::StrangePeer { .. }), "{error:?}");
    }

    let socket = UdpSocket::bind(LOCAL).unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let (_, client) = socket.recv_from(&mut [0; 64]).unwrap();
        socket.send_to(b"what?", client).unwrap();
    });
    let error = case(Transport::Udp, Wait::Block, 64, 1)
        .run(address)
        .unwrap_err();
    assert!(matches!(error, Error::StrangePeer { .. }), "{error:?}");
}

#[test]
fn a_server_of_another_transport_is_a_stranger() {
    for (one, other) in [
        (Transport::Tcp, Transport::Shm),
        (Transport::Shm, Transport::Tcp),
    ] {
        let error = case(one, one.usual_wait(), 64, 1)
            .run(serve(other))
            .unwrap_err();
        assert!(matches!(error, Error::StrangePeer { .. }), "{error:?}");
    }
}

#[test]
fn messages_in_shared_memory_are_polled_for() {
    let error = case(Transport::Shm, Wait::Block, 64, 1)
        .run(([127, 0, 0, 1], 9).into())
        .unwrap_err();
    assert!(error.is_of_input());
    assert_eq!(
        error.to_string(),
        "shared memory needs `--wait poll`, because nothing wakes a receiver that sleeps"
    );
}

/// A ping-pong of 64 bytes: every message is answered, one buffer is used at each end.
fn plan() -> [u8; 40] {
    let mut words = [0; 40];
    words[..8].copy_from_slice(b"jlplan 1");
    for (place, value) in [(10, 255), (12, 1), (20, 1), (24, 64), (32, 64)] {
        words[place] = value;
    }
    words
}

#[test]
fn a_tcp_server_outlives_its_clients_and_serves_one_at_a_time() {
    let address = serve(Transport::Tcp);
    // Somebody else's words, and a client that goes in the middle of them.
    for words in [&b"GET / HTTP/1.1\r\n"[..], b"jlplan"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(words).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Sent away without an answer.
        match stream.read_to_end(&mut Vec::new()) {
            Ok(length) => assert_eq!(length, 0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    let mut first = TcpStream::connect(address).unwrap();
    first.write_all(&plan()).unwrap();
    first.read_exact(&mut [0; 40]).unwrap();
    let second = case(Transport::Tcp, Wait::Block, 64, 3);
    let error = second.run(address).unwrap_err();
    assert!(matches!(error, Error::BusyPeer { .. }), "{error:?}");
    drop(first);
    assert_eq!(second.run(address).unwrap().samples.len(), 3);
}

#[test]
fn a_udp_server_answers_clients_that_come_and_go_and_loses_nothing() {
    for wait in [Wait::Block, Wait::Poll] {
        let address = serve(Transport::Udp);
        let run = |messages| {
            let outcome = case(Transport::Udp, wait, 64, messages)
                .run(address)
                .unwrap();
            let counted = (outcome.lost, outcome.reordered, outcome.duplicates);
            let answered = outcome.samples.len() as u64;
            assert_eq!((answered, counted), (messages, (0, 0, 0)), "{wait:?}");
        };
        for _ in 0..50 {
            thread::scope(|scope| {
                // One is alone until another joins it.
                let first = scope.spawn(|| run(1_000));
                while !first.is_finished() {
                    run(20);
                }
            });
        }
    }
}

#[test]
fn a_udp_server_outlives_clients_that_vanish() {
    let address = serve(Transport::Udp);
    for _ in 0..3 {
        let client = UdpSocket::bind(LOCAL).unwrap();
        client.connect(address).unwrap();
        let mut words = [0; 48];
        words[..40].copy_from_slice(&plan());
        // It says its plan, and then with the word that it is told.
        for _ in 0..2 {
            client.send(&words).unwrap();
            assert_eq!(client.recv(&mut words).unwrap(), 48);
        }
        // Nobody is there to take the answers.
        for number in 1_u8..4 {
            client.send(&[number; 64]).unwrap();
        }
        drop(client);
        for wait in [Wait::Block, Wait::Poll] {
            let next = case(Transport::Udp, wait, 64, 100);
            assert_eq!(next.run(address).unwrap().samples.len(), 100);
        }
    }
}

#[test]
fn no_two_udp_servers_are_at_one_address() {
    let address = serve(Transport::Udp);
    // One that has a client has a second socket there.
    let plan = case(Transport::Udp, Wait::Block, 64, 5);
    assert_eq!(plan.run(address).unwrap().samples.len(), 5);
    let adapter = Adapter::default();
    let error = server::serve(Transport::Udp, address, &adapter, |_| ()).unwrap_err();
    assert!(matches!(error, Error::Listen { .. }), "{error:?}");
}

/// The addresses of this machine, but those that are good on one link only.
fn own_addresses() -> impl Iterator<Item = IpAddr> {
    getifaddrs().unwrap().filter_map(|interface| {
        let address = interface.address?;
        match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => Some(v4.ip().into()),
            (_, Some(v6)) => Some(v6.ip().into()).filter(|_| !v6.ip().is_unicast_link_local()),
            _ => None,
        }
    })
}

#[test]
fn a_udp_server_on_all_addresses_is_found_at_each() {
    let all: IpAddr = match own_addresses().any(|ip| ip.is_ipv6()) {
        true => Ipv6Addr::UNSPECIFIED.into(),
        false => Ipv4Addr::UNSPECIFIED.into(),
    };
    let port = serve_at(Transport::Udp, (all, 0).into()).port();
    for wait in [Wait::Block, Wait::Poll] {
        for ip in own_addresses() {
            let address = (ip, port).into();
            let outcome = case(Transport::Udp, wait, 64, 100).run(address).unwrap();
            assert_eq!(outcome.samples.len(), 100, "{address}");
        }
    }
}
