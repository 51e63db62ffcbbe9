//! Endpoints over UDP: messages of every size, handlers, credits, threads, forks.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{
    Bundle, Credit, Endpoint, EndpointError, Options, PeerId, Transaction,
};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol, RequestError};
use jitterlab_amvia::transaction::InitiatorState;
use jitterlab_amvia::transport::{Transport, Udp};

/// Long enough for any machine; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);
const ECHO: u16 = 1;

fn udp() -> Udp {
    Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap()
}

fn options(protocol: Protocol) -> Options {
    Options {
        config: Config {
            protocol,
            message: 100_000,
            ..Config::default()
        },
        peers: 8,
        ..Options::default()
    }
}

fn echo(endpoint: &Endpoint) {
    endpoint
        .on(ECHO, |call| {
            let bytes = call.bytes().to_vec();
            call.reply(&bytes).unwrap();
        })
        .unwrap();
}

fn pair(bundle: &Bundle, options: &Options) -> (Endpoint, Endpoint, PeerId) {
    let server = bundle.endpoint("server", udp(), options).unwrap();
    let client = bundle.endpoint("client", udp(), options).unwrap();
    let address = server.address().unwrap();
    let peer = client.connect("server", &address, LONG).unwrap();
    (server, client, peer)
}

#[test]
fn messages_of_every_size_come_back_in_every_protocol() {
    for protocol in Protocol::ALL {
        let bundle = Bundle::new().unwrap();
        let (server, client, peer) = pair(&bundle, &options(protocol));
        echo(&server);
        for length in [0, 1, 32, 128, 1000, 1400, 1500, 100_000] {
            let message: Vec<u8> = (0..length).map(|byte: u32| (byte * 7) as u8).collect();
            let sent = client
                .request(peer, ECHO, &message, Credit::Refuse)
                .unwrap();
            let status = client.finish(sent, LONG).unwrap();
            assert_eq!(
                status.to_string(),
                "<ACKED, PROCESSED>",
                "{protocol} {length}"
            );
            let same = client.reply(sent, |reply| reply == message).unwrap();
            assert!(same, "{protocol} {length}");
            client.release(sent).unwrap();
            assert!(matches!(client.status(sent), Err(EndpointError::Released)));
        }
        let too_long = client.request(peer, ECHO, &[0; 100_001], Credit::Refuse);
        assert!(matches!(
            too_long,
            Err(EndpointError::Request(RequestError::TooLong {
                most: 100_000,
                ..
            }))
        ));
    }
}

#[test]
fn a_request_for_an_unknown_handler_is_abandoned() {
    let bundle = Bundle::new().unwrap();
    let (_server, client, peer) = pair(&bundle, &options(Protocol::Amvia));
    let sent = client.request(peer, 99, b"x", Credit::Refuse).unwrap();
    let status = client.finish(sent, LONG).unwrap();
    assert_eq!(status.to_string(), "<ACK_NOT_FOUND, REQUEST_SENT>");
}

#[test]
fn without_credit_a_request_is_refused_or_waits() {
    let bundle = Bundle::new().unwrap();
    let mut options = options(Protocol::Amvia);
    options.config.window = 2;
    let (server, client, peer) = pair(&bundle, &options);
    echo(&server);
    let first = client.request(peer, ECHO, b"1", Credit::Refuse).unwrap();
    let second = client.request(peer, ECHO, b"2", Credit::Refuse).unwrap();
    for credit in [Credit::Refuse, Credit::Within(Duration::from_millis(2))] {
        let refused = client.request(peer, ECHO, b"3", credit);
        assert!(matches!(
            refused,
            Err(EndpointError::Request(RequestError::NoCredit))
        ));
    }
    client.finish(first, LONG).unwrap();
    // One that waits is made as soon as another thread releases one.
    thread::scope(|scope| {
        let waits = scope.spawn(|| client.request(peer, ECHO, b"3", Credit::Block).unwrap());
        client.release(first).unwrap();
        let third = waits.join().unwrap();
        for sent in [second, third] {
            let status = client.finish(sent, LONG).unwrap();
            assert_eq!(status.to_string(), "<ACKED, PROCESSED>");
        }
    });
}

#[test]
fn a_reply_runs_a_handler_of_the_initiator() {
    const DONE: u16 = 7;
    let bundle = Bundle::new().unwrap();
    let (server, client, peer) = pair(&bundle, &options(Protocol::TwoWay));
    server
        .on(ECHO, |call| {
            let bytes = call.bytes().to_vec();
            call.reply_to(DONE, &bytes).unwrap();
        })
        .unwrap();
    let (told, hears) = mpsc::channel();
    client
        .on(DONE, move |call| {
            told.send((call.transaction(), call.bytes().to_vec()))
                .unwrap();
            call.release();
        })
        .unwrap();
    let sent = client
        .request(peer, ECHO, b"reply", Credit::Refuse)
        .unwrap();
    while client.status(sent).is_ok() {
        bundle.wait(LONG).unwrap();
    }
    assert_eq!(hears.recv().unwrap(), (sent.id(), b"reply".to_vec()));
    assert_eq!(client.credits(peer).unwrap(), 16);
}

#[test]
fn while_a_handler_runs_for_a_second_its_endpoint_acknowledges_eight_senders() {
    const SENDERS: u32 = 8;
    const SECOND: Duration = Duration::from_secs(1);
    let mut options = options(Protocol::Amvia);
    // A machine that is busy may not let the service thread run for so long as six timeouts of a millisecond take together.
    options.config.min_rto = 10_000_000;
    let target = Bundle::new().unwrap();
    let server = target.endpoint("server", udp(), &options).unwrap();
    let address = server.address().unwrap();
    let (end_it, ends) = mpsc::channel::<()>();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    server
        .on(ECHO, move |call| {
            // The first handler takes its time.
            if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                ends.recv().unwrap();
            }
            call.reply(b"done").unwrap();
        })
        .unwrap();
    let stop = Arc::new(AtomicU32::new(0));
    let ended = Arc::clone(&stop);
    let poller = thread::spawn(move || {
        while ended.load(Ordering::Relaxed) == 0 {
            target.wait(Duration::from_millis(10)).unwrap();
        }
    });
    let senders: Vec<_> = (0..SENDERS)
        .map(|number| {
            let bundle = Bundle::new().unwrap();
            let name = format!("sender-{number}");
            let sender = bundle.endpoint(&name, udp(), &options).unwrap();
            let peer = sender.connect("server", &address, LONG).unwrap();
            let sent = sender.request(peer, ECHO, b"x", Credit::Refuse).unwrap();
            (bundle, sender, sent)
        })
        .collect();
    for (bundle, sender, sent) in &senders {
        while sender.state(*sent).unwrap() == InitiatorState::RequestSent {
            bundle.wait(LONG).unwrap();
        }
    }
    // Each asks for its reply again and again, and hears that the target works on it.
    let counters = |sender: &Endpoint, sent: Transaction| sender.counters(sent.peer()).unwrap();
    let begun = Instant::now();
    let mut have_asked = false;
    while begun.elapsed() < SECOND || !have_asked {
        have_asked = true;
        for (bundle, sender, sent) in &senders {
            bundle.poll().unwrap();
            let state = sender.state(*sent).unwrap();
            assert_eq!(state, InitiatorState::RequestProcessing);
            have_asked &= counters(sender, *sent).pulls > 1;
        }
        thread::yield_now();
    }
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    end_it.send(()).unwrap();
    for (_, sender, sent) in &senders {
        let status = sender.finish(*sent, LONG).unwrap();
        assert_eq!(status.to_string(), "<ACKED, PROCESSED>");
        let counted = counters(sender, *sent);
        assert_eq!((counted.requests, counted.abandoned), (1, 0));
    }
    assert_eq!(runs.load(Ordering::Relaxed), SENDERS);
    stop.store(1, Ordering::Relaxed);
    poller.join().unwrap();
}

#[test]
fn a_handler_may_make_requests_and_not_wait_for_them() {
    let bundle = Bundle::new().unwrap();
    let (server, client, peer) = pair(&bundle, &options(Protocol::Amvia));
    echo(&client);
    let back = server
        .begin_connect("client", &client.address().unwrap())
        .unwrap();
    let (told, hears) = mpsc::channel();
    let forwarder = server.clone();
    server
        .on(ECHO, move |call| {
            let made = forwarder
                .request(back, ECHO, call.bytes(), Credit::Refuse)
                .unwrap();
            let waited = forwarder.finish(made, LONG);
            told.send((made, matches!(waited, Err(EndpointError::InHandler))))
                .unwrap();
        })
        .unwrap();
    let sent = client.request(peer, ECHO, b"on", Credit::Refuse).unwrap();
    client.finish(sent, LONG).unwrap();
    let (made, refused) = hears.recv().unwrap();
    assert!(refused);
    assert_eq!(
        server.finish(made, LONG).unwrap().to_string(),
        "<ACKED, PROCESSED>"
    );
    server.close().unwrap();
}

#[test]
fn a_panic_of_a_handler_comes_out_of_the_poll_and_the_endpoint_goes_on() {
    let bundle = Bundle::new().unwrap();
    let (server, client, peer) = pair(&bundle, &options(Protocol::Amvia));
    server
        .on(ECHO, |call| match call.bytes() {
            b"bad" => panic!("a handler's fault"),
            _ => call.reply(b"good").unwrap(),
        })
        .unwrap();
    let bad = client.request(peer, ECHO, b"bad", Credit::Refuse).unwrap();
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        client.finish(bad, LONG).unwrap();
    }));
    assert!(polled.is_err());
    assert_eq!(
        client.finish(bad, LONG).unwrap().to_string(),
        "<NOT_ACKED, INDETERMINATE>"
    );
    let good = client.request(peer, ECHO, b"good", Credit::Refuse).unwrap();
    assert_eq!(
        client.finish(good, LONG).unwrap().to_string(),
        "<ACKED, PROCESSED>"
    );
}

#[test]
fn handlers_that_panic_keep_no_slot() {
    for protocol in [Protocol::Amvia, Protocol::Amudp, Protocol::TwoWay] {
        let bundle = Bundle::new().unwrap();
        let (server, client, peer) = pair(&bundle, &options(protocol));
        server.on(ECHO, |_| panic!("a handler's fault")).unwrap();
        let window = u64::from(Config::default().window);
        for made in 0..2 * window {
            let bad = client.request(peer, ECHO, b"", Credit::Refuse).unwrap();
            let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                client.finish(bad, LONG).unwrap();
            }));
            assert!(polled.is_err(), "{protocol}: {made}");
            let state = client.finish(bad, LONG).unwrap().to_string();
            assert_eq!(state, "<NOT_ACKED, INDETERMINATE>", "{protocol}: {made}");
            client.release(bad).unwrap();
        }
    }
}

#[test]
fn a_panic_at_a_reply_leaves_the_reply() {
    let bundle = Bundle::new().unwrap();
    let (server, client, peer) = pair(&bundle, &options(Protocol::Amvia));
    const HERE: u16 = 7;
    server
        .on(ECHO, |call| call.reply_to(HERE, call.bytes()).unwrap())
        .unwrap();
    client.on(HERE, |_| panic!("a handler's fault")).unwrap();
    let sent = client.request(peer, ECHO, b"kept", Credit::Refuse).unwrap();
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        client.finish(sent, LONG).unwrap();
        while bundle.wait(LONG).unwrap() {}
    }));
    assert!(polled.is_err());
    let kept = client.reply(sent, |reply| reply.to_vec()).unwrap();
    assert_eq!(kept, b"kept");
    client.release(sent).unwrap();
}

#[test]
fn a_handle_of_a_closed_endpoint_does_not_reach_the_next() {
    let bundle = Bundle::new().unwrap();
    let first = bundle
        .endpoint("first", udp(), &Options::default())
        .unwrap();
    let old = first.clone();
    first.close().unwrap();
    let second = bundle
        .endpoint("second", udp(), &Options::default())
        .unwrap();
    assert!(matches!(old.address(), Err(EndpointError::Closed)));
    assert!(matches!(old.close(), Err(EndpointError::Closed)));
    second.close().unwrap();
}

#[test]
fn a_child_of_fork_has_no_endpoint() {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    let bundle = Bundle::new().unwrap();
    let (server, client, peer) = pair(&bundle, &options(Protocol::Amvia));
    echo(&server);
    // SAFETY: the child makes one call, which takes no lock, and ends.
    let child = match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let refused = matches!(bundle.poll(), Err(EndpointError::Forked))
                && matches!(client.credits(peer), Err(EndpointError::Forked));
            // SAFETY: ends the child at once.
            unsafe { nix::libc::_exit(if refused { 0 } else { 1 }) }
        }
        ForkResult::Parent { child } => child,
    };
    assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
    let sent = client
        .request(peer, ECHO, b"parent", Credit::Refuse)
        .unwrap();
    assert_eq!(
        client.finish(sent, LONG).unwrap().to_string(),
        "<ACKED, PROCESSED>"
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let bundle = Bundle::new().unwrap();
    let log = |durability, protocol| {
        let options = Options {
            durability,
            log: Some("/nowhere/a.log".into()),
            ..options(protocol)
        };
        let refused = bundle.endpoint("server", udp(), &options).unwrap_err();
        refused.to_string()
    };
    assert!(
        log(Durability::None, Protocol::Amvia)
            .starts_with("a log in a file needs durability process or power")
    );
    assert!(log(Durability::Process, Protocol::Amudp).starts_with("amudp keeps no log"));
    let nameless = Options {
        durability: Durability::Power,
        ..Options::default()
    };
    let refused = bundle.endpoint("server", udp(), &nameless).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a log that survives its process needs a file: name one as the log, or choose durability none"
    );

    let client = bundle
        .endpoint("client", udp(), &Options::default())
        .unwrap();
    let foreign = client.begin_connect("server", &"shm://server".parse().unwrap());
    assert!(matches!(foreign, Err(EndpointError::Transport(_))));
    // A socket that nobody answers at.
    let silent = udp();
    let unanswered = client.connect("server", &silent.address(), Duration::from_millis(5));
    assert!(matches!(unanswered, Err(EndpointError::NoAnswer { .. })));
}

#[test]
fn a_peer_that_is_begun_anew_elsewhere_is_connected() {
    let bundle = Bundle::new().unwrap();
    let server = bundle
        .endpoint("server", udp(), &options(Protocol::Amvia))
        .unwrap();
    echo(&server);
    for _ in 0..3 {
        // Without a log, and at another port.
        let client = bundle
            .endpoint("client", udp(), &options(Protocol::Amvia))
            .unwrap();
        let peer = client
            .connect("server", &server.address().unwrap(), LONG)
            .unwrap();
        let sent = client.request(peer, ECHO, b"x", Credit::Refuse).unwrap();
        let status = client.finish(sent, LONG).unwrap();
        assert_eq!(status.to_string(), "<ACKED, PROCESSED>");
        client.close().unwrap();
    }
}

#[test]
fn the_pools_grow_with_the_peers_of_amvia_and_not_with_those_of_amudp() {
    let bundle = Bundle::new().unwrap();
    let bytes = |protocol, peers| {
        let options = Options {
            peers,
            config: Config {
                message: 128,
                ..options(protocol).config
            },
            ..options(protocol)
        };
        let endpoint = bundle.endpoint("node", udp(), &options).unwrap();
        let bytes = endpoint.pool_bytes().unwrap();
        endpoint.close().unwrap();
        bytes
    };
    assert_eq!(bytes(Protocol::Amudp, 2), bytes(Protocol::Amudp, 1_000));
    let [few, more, many] = [2, 502, 1_002].map(|peers| bytes(Protocol::Amvia, peers));
    assert_eq!(many - more, more - few);
    // 2 pools, 16 slots, two areas of a message and two heads of 64 bytes each; an entry in the table of peers.
    assert_eq!(more - few, 500 * (2 * 16 * (2 * 128 + 2 * 64) + 16));
}

#[test]
fn ends_of_two_protocols_do_not_connect() {
    let bundle = Bundle::new().unwrap();
    let server = bundle
        .endpoint("server", udp(), &options(Protocol::Amvia))
        .unwrap();
    let client = bundle
        .endpoint("client", udp(), &options(Protocol::TwoWay))
        .unwrap();
    let address = server.address().unwrap();
    let refused = client.connect("server", &address, LONG).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("{address} refuses: the peer speaks another protocol")
    );
    let nobody = client.connect("nobody", &address, LONG).unwrap_err();
    assert_eq!(
        nobody.to_string(),
        format!("{address} refuses: the peer has no such endpoint")
    );
}
