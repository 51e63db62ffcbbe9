//! An endpoint and its peers: those that it has let go, those that come back, and those that lie.

#[path = "peers/breaking.rs"]
mod breaking;

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use breaking::Breaking;
use jitterlab_amvia::endpoint::{
    Bundle, Credit, Endpoint, EndpointError, Options, PeerId, Standing, Transaction,
};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::Config;
use jitterlab_amvia::transaction::{EndpointId, Incarnation, InitiatorState};
use jitterlab_amvia::transport::{Address, Transport, Udp};
use jitterlab_amvia::wire::{Body, Head, Hello, Refusal, Tag};
use jitterlab_skip::skip;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, socket,
};

/// Long enough for any machine; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);
const ECHO: u16 = 1;
/// Leases in nanoseconds: one that is soon over, and one that is not.
const SHORT: u64 = 50_000_000;
const HOUR: u64 = 3_600_000_000_000;

fn udp() -> Udp {
    Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap()
}

/// An endpoint in a bundle of its own, with a log in `folder`, and how often its echo handler has run.
struct Node {
    bundle: Bundle,
    endpoint: Endpoint,
    runs: Arc<AtomicU32>,
}

impl Node {
    fn open(name: &str, folder: &Path, lease: u64, peers: u32) -> Node {
        let options = Options {
            config: Config {
                message: 100,
                lease,
                ..Config::default()
            },
            peers,
            durability: Durability::Process,
            log: Some(folder.join(name)),
        };
        let bundle = Bundle::new().unwrap();
        let endpoint = bundle.endpoint(name, udp(), &options).unwrap();
        Node::of(bundle, endpoint)
    }

    fn of(bundle: Bundle, endpoint: Endpoint) -> Node {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let echo = endpoint.on(ECHO, move |call| {
            counted.fetch_add(1, Ordering::Relaxed);
            call.reply(call.bytes()).unwrap();
        });
        echo.unwrap();
        Node {
            bundle,
            endpoint,
            runs,
        }
    }

    fn runs(&self) -> u32 {
        self.runs.load(Ordering::Relaxed)
    }

    fn request(&self, peer: PeerId, bytes: &[u8]) -> Transaction {
        let made = self.endpoint.request(peer, ECHO, bytes, Credit::Refuse);
        made.unwrap()
    }

    /// Connects to another node, which answers.
    fn connect(&self, other: &Node) -> PeerId {
        let address = other.endpoint.address().unwrap();
        let name = other.endpoint.name();
        let peer = self.endpoint.begin_connect(name, &address).unwrap();
        poll_until([self, other], || {
            let standing = self.endpoint.standing(peer).unwrap();
            matches!(standing, Standing::Connected(_))
        });
        peer
    }

    /// Has the other node echo, and releases the transaction.
    fn echo(&self, other: &Node, peer: PeerId) {
        let sent = self.request(peer, b"echo");
        self.finish(other, sent, "<ACKED, PROCESSED>");
        self.endpoint.release(sent).unwrap();
    }

    /// Polls both until a transaction is final, which then has this status.
    fn finish(&self, other: &Node, sent: Transaction, status: &str) {
        let state = || self.endpoint.state(sent).unwrap();
        poll_until([self, other], || state().is_final() || state().is_unknown());
        let found = self.endpoint.status(sent).unwrap().to_string();
        assert_eq!(found, status);
    }

    /// Another node that has connected by itself, or before a restart.
    fn peer(&self, other: &Node) -> PeerId {
        let peers = self.endpoint.peers().unwrap();
        let is_it = |peer: &PeerId| peer.endpoint() == other.endpoint.id();
        peers.into_iter().find(is_it).unwrap()
    }

    /// A transaction of an earlier life.
    fn found(&self, sent: Transaction) -> Transaction {
        let all = self.endpoint.transactions().unwrap();
        let is_it = |(one, _): &(Transaction, _)| one.id() == sent.id();
        all.into_iter().find(is_it).unwrap().0
    }

    fn knows(&self, other: &Node) -> bool {
        let peers = self.endpoint.peers().unwrap();
        peers
            .iter()
            .any(|peer| peer.endpoint() == other.endpoint.id())
    }
}

fn poll_until<const N: usize>(nodes: [&Node; N], mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "it does not come to this");
        for node in nodes {
            node.bundle.wait(Duration::from_millis(1)).unwrap();
        }
    }
}

/// A target lets a silent client go. What another client, and the target itself, had under way meanwhile is known as before,
/// whichever of them restarts.
#[test]
fn a_lease_that_ends_takes_nothing_from_other_peers() {
    for target_restarts in [true, false] {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let open = |name, lease| Node::open(name, folder.path(), lease, 4);
        let (silent, other) = (open("silent", HOUR), open("other", HOUR));
        let target = open("target", HOUR);
        let to_target = silent.connect(&target);
        silent.echo(&target, to_target);
        other.connect(&target);
        // One that is not released keeps the target from letting the other client go, too.
        let kept = target.request(target.peer(&other), b"kept");
        target.finish(&other, kept, "<ACKED, PROCESSED>");
        drop(target);
        let target = open("target", SHORT);
        poll_until([&target], || !target.knows(&silent));

        // Both have run, and neither initiator has heard of it.
        let to_target = other.connect(&target);
        other.echo(&target, to_target);
        let ran = target.runs();
        let asked = other.request(to_target, b"asked");
        poll_until([&target], || target.runs() == ran + 1);
        let told = target.request(target.peer(&other), b"told");
        let ran = other.runs();
        poll_until([&other], || other.runs() == ran + 1);

        drop(other);
        let other = open("other", HOUR);
        let target = match target_restarts {
            true => {
                drop(target);
                open("target", HOUR)
            }
            false => target,
        };
        let ran = target.runs();
        other.connect(&target);
        let asked = other.found(asked);
        other.finish(&target, asked, "<ACKED, PROCESSED>");
        let reply = other.endpoint.reply(asked, <[u8]>::to_vec).unwrap();
        assert_eq!(reply, b"asked");
        target.finish(&other, target.found(told), "<ACKED, PROCESSED>");
        assert_eq!(
            (target.runs(), other.runs()),
            (ran, 0),
            "a handler ran twice"
        );
        // The one that was let go is told so.
        let to_target = silent.connect(&target);
        let sent = silent.request(to_target, b"late");
        silent.finish(&target, sent, "<NOT_ACKED, INDETERMINATE>");
    }
}

/// A log that has no number for another life: the peer stays, in memory as in the log.
#[test]
fn a_peer_that_the_log_cannot_forget_is_served() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let open = |name, lease| Node::open(name, folder.path(), lease, 4);
    let client = open("client", HOUR);
    drop(open("server", HOUR));
    // Where the head has the incarnation, and how (docs/amvia-log.md).
    let last = u32::MAX - 1;
    let word = u64::from(last) | u64::from(!last) << 32;
    let log = fs::OpenOptions::new()
        .write(true)
        .open(folder.path().join("server"));
    log.unwrap().write_all_at(&word.to_ne_bytes(), 64).unwrap();
    let server = open("server", SHORT);
    let to_server = client.connect(&server);
    client.echo(&server, to_server);
    let begun = Instant::now();
    while server.bundle.wait(Duration::from_millis(1)).is_ok() {
        assert!(begun.elapsed() < LONG, "the log takes it");
    }
    assert!(server.knows(&client));
    let sent = client.request(to_server, b"again");
    while client.endpoint.state(sent).unwrap() != InitiatorState::Processed {
        assert!(begun.elapsed() < LONG, "it is not served");
        client.bundle.wait(Duration::from_millis(1)).unwrap();
        // Its lease may end once more.
        let _ = server.bundle.poll();
    }
    assert_eq!(server.runs(), 2);
}

/// A peer that was let go has left its number to another one: after a restart its requests go where they belong.
#[test]
fn a_number_that_is_given_to_another_peer_keeps_nothing_of_the_first() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let open = |name, lease, peers| Node::open(name, folder.path(), lease, peers);
    let (first, second) = (open("first", HOUR, 4), open("second", HOUR, 4));
    let window = Config::default().window;
    let client = open("client", HOUR, 1);
    let peer = client.connect(&first);
    for _ in 0..window {
        client.echo(&first, peer);
    }
    drop(client);
    let client = open("client", SHORT, 1);
    poll_until([&client], || !client.knows(&first));
    drop(client);

    let client = open("client", HOUR, 1);
    let peer = client.connect(&second);
    let requests = (1..window).map(|byte| client.request(peer, &[byte]));
    let requests: Vec<Transaction> = requests.collect();
    drop(client);
    let client = open("client", HOUR, 1);
    assert!(client.knows(&second));
    client.connect(&second);
    for sent in requests {
        client.finish(&second, client.found(sent), "<ACKED, PROCESSED>");
    }
    while first.bundle.poll().unwrap() {}
    assert_eq!(
        (first.runs(), second.runs()),
        (window.into(), u32::from(window) - 1)
    );
}

/// An endpoint without a log, in a bundle of its own, that answers with what it is sent.
fn plain(name: &str, transport: impl Transport + 'static) -> Node {
    let bundle = Bundle::new().unwrap();
    let endpoint = bundle.endpoint(name, transport, &Options::default());
    Node::of(bundle, endpoint.unwrap())
}

/// A stranger's Connect from port 0, where nobody can be answered, and one whose answer can go nowhere.
#[test]
fn a_datagram_that_cannot_be_answered_ends_no_server() {
    let (server, client) = (plain("server", udp()), plain("client", udp()));
    let Address::Udp(to) = server.endpoint.address().unwrap() else {
        panic!("over UDP");
    };
    let hello = Hello {
        to: server.endpoint.id(),
        tag: Tag(1),
        incarnation: Incarnation(1),
        since: Incarnation(1),
        first_incomplete: 1,
        mtu: 1_000,
        message: 1_000,
        window: Config::default().window,
        protocol: Config::default().protocol,
        attempt: 0,
    };
    let connect = Head {
        tag: Tag::UNKNOWN,
        from: EndpointId::of("stranger"),
        body: Body::Connect(hello),
    };
    let frame = connect.encode(&[]);
    let mut datagram = Vec::new();
    for word in [0, to.port(), 8 + frame.len() as u16, 0] {
        datagram.extend(word.to_be_bytes());
    }
    datagram.extend(frame);
    let raw = socket(
        AddressFamily::Inet,
        SockType::Raw,
        SockFlag::empty(),
        SockProtocol::Udp,
    );
    let raw = match raw {
        Err(Errno::EPERM) => return skip("only root may make a raw socket"),
        raw => raw.unwrap(),
    };
    let to = SockaddrStorage::from(to);
    sendto(raw.as_raw_fd(), &datagram, &to, MsgFlags::empty()).unwrap();
    let to_server = client.connect(&server);
    client.echo(&server, to_server);
    assert_eq!(server.endpoint.undecodable().unwrap(), 0);
}

/// A server answers from one address, whichever of its addresses it is asked at. Nothing is sent twice.
#[test]
fn a_peer_that_is_connected_is_reached_at_another_address_of_it() {
    let everywhere = Udp::bind("0.0.0.0:0".parse().unwrap(), Udp::MTU).unwrap();
    let server = plain("server", everywhere);
    let options = Options {
        config: Config {
            min_rto: HOUR,
            initial_rto: HOUR,
            max_rto: HOUR,
            lease: HOUR,
            ..Config::default()
        },
        ..Options::default()
    };
    let bundle = Bundle::new().unwrap();
    let client = bundle.endpoint("client", udp(), &options).unwrap();
    let client = Node::of(bundle, client);
    let Address::Udp(bound) = server.endpoint.address().unwrap() else {
        panic!("over UDP");
    };
    for host in ["127.0.0.1", "127.0.0.2"] {
        let address = format!("udp://{host}:{}", bound.port()).parse().unwrap();
        let peer = client.endpoint.begin_connect("server", &address).unwrap();
        while server.bundle.poll().unwrap() | client.bundle.poll().unwrap() {}
        client.echo(&server, peer);
    }
    assert_eq!(server.runs(), 2);
}

#[test]
fn an_address_that_cannot_be_sent_to_does_not_answer_and_disturbs_nobody() {
    let (server, client) = (plain("server", udp()), plain("client", udp()));
    // From the loopback nothing goes to another network.
    let elsewhere = "udp://192.0.2.1:9".parse().unwrap();
    let refused = client
        .endpoint
        .connect("nobody", &elsewhere, Duration::from_millis(5));
    assert!(
        matches!(refused, Err(EndpointError::NoAnswer { .. })),
        "{refused:?}"
    );
    let to_server = client.connect(&server);
    client.echo(&server, to_server);
}

#[test]
fn an_error_at_one_peer_takes_no_timer_from_another() {
    let broken = Arc::new(OnceLock::new());
    let transport = Breaking {
        udp: udp(),
        broken: Arc::clone(&broken),
        is_deaf: false,
    };
    let client = plain("client", transport);
    let servers = ["first", "second"].map(|name| plain(name, udp()));
    let [first, second] = servers.each_ref().map(|server| {
        let peer = client.connect(server);
        client.request(peer, b"x")
    });
    let address = servers[0].endpoint.address().unwrap();
    assert!(broken.set(udp().peer(&address).unwrap()).is_ok());
    let repeated = |sent: Transaction| {
        let counters = client.endpoint.counters(sent.peer()).unwrap();
        counters.retransmissions
    };
    let (begun, mut errors) = (Instant::now(), 0);
    while repeated(first) < 2 || repeated(second) < 2 {
        assert!(begun.elapsed() < LONG, "{errors} errors");
        errors += u32::from(client.bundle.wait(Duration::from_millis(1)).is_err());
    }
    assert!(errors > 0);
    // The frames of the second one have gone out.
    poll_until([&servers[1]], || servers[1].runs() == 1);
}

/// One that cannot receive any more: what is due there is done, and the others of its bundle go on.
#[test]
fn an_error_at_one_endpoint_takes_nothing_from_another_of_its_bundle() {
    let bundle = Bundle::new().unwrap();
    let transport = Breaking {
        udp: udp(),
        broken: Arc::default(),
        is_deaf: true,
    };
    // It gives up soon.
    let options = Options {
        config: Config {
            min_rto: 1_000_000,
            initial_rto: 1_000_000,
            max_rto: 10_000_000,
            ..Config::default()
        },
        ..Options::default()
    };
    let deaf = bundle.endpoint("deaf", transport, &options).unwrap();
    let server = bundle.endpoint("server", udp(), &Options::default());
    let server = Node::of(bundle, server.unwrap());
    let client = plain("client", udp());

    let to_client = deaf.begin_connect("client", &client.endpoint.address().unwrap());
    let to_client = to_client.unwrap();
    let to_server = client
        .endpoint
        .begin_connect("server", &server.endpoint.address().unwrap());
    let sent = client.request(to_server.unwrap(), b"x");
    let is_over = || client.endpoint.state(sent).unwrap().is_final();
    let gives_up = || deaf.standing(to_client).unwrap() == Standing::Unreachable(None);
    let (begun, mut errors) = (Instant::now(), 0);
    while !is_over() || !gives_up() {
        assert!(begun.elapsed() < LONG, "{errors} errors");
        client.bundle.wait(Duration::from_millis(1)).unwrap();
        errors += u32::from(server.bundle.wait(Duration::from_millis(1)).is_err());
    }
    assert_eq!((server.runs(), errors > 0), (1, true));
}

/// Two that begin in the same tick of the clock have one incarnation. The one that comes first is connected, and no reply goes
/// to the other.
#[test]
fn of_two_endpoints_of_one_name_and_incarnation_one_is_refused() {
    let server = plain("server", udp());
    let address = server.endpoint.address().unwrap();
    let of_one_tick = || {
        let begin = Barrier::new(3);
        let open = || {
            begin.wait();
            plain("client", udp())
        };
        thread::scope(|scope| {
            [(); 3]
                .map(|()| scope.spawn(open))
                .map(|opens| opens.join().unwrap())
        })
    };
    // They may begin on two sides of a tick, hardly ever so often.
    let [first, second, late] = (0..20)
        .map(|_| of_one_tick())
        .find(|nodes| {
            let lives = nodes
                .each_ref()
                .map(|node| node.endpoint.incarnation().unwrap());
            lives.iter().all(|life| *life == lives[0])
        })
        .unwrap();
    // Both are answered before either has come back: both believe to be connected, and go on at once.
    let sent = [(&first, b"first"), (&second, b"other")].map(|(node, text)| {
        let peer = node.endpoint.begin_connect("server", &address).unwrap();
        let sent = node.request(peer, text);
        poll_until([&server], || server.bundle.poll().unwrap());
        sent
    });
    for (node, sent) in [&first, &second].into_iter().zip(sent) {
        while node.endpoint.state(sent).unwrap() == InitiatorState::NotProcessed {
            node.bundle.wait(LONG).unwrap();
        }
    }
    let over = |node: &Node, sent| {
        let state = node.endpoint.state(sent).unwrap();
        state.is_final() || state.is_unknown()
    };
    poll_until([&first, &second, &server], || {
        over(&first, sent[0]) && over(&second, sent[1])
    });
    let reply = first.endpoint.reply(sent[0], <[u8]>::to_vec).unwrap();
    assert_eq!(reply, b"first");
    assert!(second.endpoint.state(sent[1]).unwrap().is_unknown());
    assert_eq!(server.runs(), 1);

    // One that comes later is refused at once.
    let peer = late.endpoint.begin_connect("server", &address).unwrap();
    let standing = || late.endpoint.standing(peer).unwrap();
    poll_until([&late, &server], || standing() != Standing::Connecting);
    assert_eq!(standing(), Standing::Unreachable(Some(Refusal::NameInUse)));
}

/// A server comes back with another window, and then as it was: who knew it is refused each time that it connects, and is connected
/// then.
#[test]
fn a_known_peer_that_refuses_is_tried_again_at_each_connect() {
    let open = |address: &str, window| {
        let bundle = Bundle::new().unwrap();
        let options = Options {
            config: Config {
                window,
                ..Config::default()
            },
            ..Options::default()
        };
        let at = Udp::bind(address.parse().unwrap(), Udp::MTU).unwrap();
        let endpoint = bundle.endpoint("server", at, &options).unwrap();
        Node::of(bundle, endpoint)
    };
    let window = Config::default().window;
    let (client, server) = (plain("client", udp()), open("127.0.0.1:0", window));
    let peer = client.connect(&server);
    let Address::Udp(at) = server.endpoint.address().unwrap() else {
        panic!("over UDP");
    };
    drop(server);
    let other = open(&at.to_string(), window - 1);
    let standing = || client.endpoint.standing(peer).unwrap();
    let refused = Standing::Unreachable(Some(Refusal::Window));
    // A request finds out that it is another one, and ends.
    let sent = client.request(peer, b"x");
    let state = || client.endpoint.state(sent).unwrap();
    poll_until([&client, &other], || state().is_unknown());
    assert_eq!(standing(), refused);
    for _ in 0..2 {
        let address = other.endpoint.address().unwrap();
        client.endpoint.begin_connect("server", &address).unwrap();
        assert_eq!(standing(), Standing::Connecting);
        poll_until([&client, &other], || standing() == refused);
    }
    drop(other);
    let server = open(&at.to_string(), window);
    client.connect(&server);
    client.echo(&server, peer);
}
