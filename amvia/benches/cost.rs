//! The cost of active messages: round trips beside those of the bare transport and of UCX, in interleaved pairs.
//!
//!     cargo bench -p jitterlab-amvia --bench cost [-- PAIRS]
//!
//! `tests/instructions.rs` counts instructions.

use std::hint::black_box;
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, Options};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{Shm, Transport, Udp};
use jitterlab_base::clock::Clock;
use jitterlab_stats::bootstrap::Bootstrap;

const ECHO: u16 = 1;
/// A short message.
const BYTES: usize = 32;
/// Round trips of one side of a pair.
const ROUND_TRIPS: usize = 2_000;
/// Polls that find nothing before the state of a transaction is looked at.
const LOOKS: u32 = 64;
const LONG: Duration = Duration::from_secs(10);

/// One side of a pair: gives the median round trip in nanoseconds.
type Side = Box<dyn FnMut() -> f64>;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let pairs: usize = words
        .first()
        .map_or(60, |word| word.parse().expect("a number of pairs"));
    println!("{:56} {:>20}: ratio (95 %), +ns", "", "medians");
    for (socket, is_connected) in [("a raw UDP socket", true), ("one not connected", false)] {
        compare(
            &format!("two-way over UDP / {socket}"),
            pairs,
            raw_udp(is_connected),
            amvia(Protocol::TwoWay, Durability::None, "udp"),
        );
    }
    compare(
        "two-way over shm / raw shm",
        pairs,
        raw_shm(),
        amvia(Protocol::TwoWay, Durability::None, "shm"),
    );
    // What bounds a ratio to the ring from below.
    compare("the least layer / raw shm", pairs, raw_shm(), least());
    for (over, transports, device) in [("udp", "tcp", "lo"), ("shm", "posix,self", "all")] {
        let name = format!("two-way over {over} / UCX's active messages over {transports}");
        let ours = amvia(Protocol::TwoWay, Durability::None, over);
        compare_with(&name, pairs, ucx(transports, device), ours);
    }
    // What another library takes above the ring.
    let name = "raw shm / UCX's active messages over posix,self";
    compare_with(name, pairs, ucx("posix,self", "all"), raw_shm());
    for over in ["udp", "shm"] {
        let base = || amvia(Protocol::TwoWay, Durability::None, over);
        for (protocol, durability) in [
            (Protocol::Amvia, Durability::None),
            (Protocol::Amudp, Durability::None),
            (Protocol::TwoWay, Durability::Process),
            (Protocol::Amvia, Durability::Process),
        ] {
            let name = format!("{protocol}, {durability} / two-way, none, over {over}");
            compare(&name, pairs, base(), amvia(protocol, durability, over));
        }
    }
}

fn compare_with(name: &str, pairs: usize, ucx: Option<Side>, ours: Side) {
    match ucx {
        Some(theirs) => compare(name, pairs, theirs, ours),
        None => println!("{name}: skipped, there is no ucx_perftest (package ucx-utils)"),
    }
}

fn compare(name: &str, pairs: usize, mut base: Side, mut other: Side) {
    let (mut ratios, mut bases, mut others) = (Vec::new(), Vec::new(), Vec::new());
    // The first of each warms up.
    base();
    other();
    for pair in 0..pairs {
        // The order alternates, so that a drift of the machine favours nobody.
        let (a, b) = if pair % 2 == 0 {
            let a = base();
            (a, other())
        } else {
            let b = other();
            (base(), b)
        };
        ratios.push(b / a);
        bases.push(a);
        others.push(b);
    }
    let ratio = Bootstrap::default()
        .percentile(&ratios, median)
        .expect("ratios");
    println!(
        "{name:56} {:7.0} / {:7.0} ns: {:.3} ({:.3} to {:.3}), {:+.0} ns, {pairs} pairs",
        median(&others),
        median(&bases),
        ratio.estimate,
        ratio.low,
        ratio.high,
        median(&others) - median(&bases),
    );
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn median_of(mut round_trip: impl FnMut()) -> f64 {
    let clock = Clock::global();
    let mut last = clock.now();
    // One reading for each, as `ucx_perftest` does it.
    let mut times: Vec<u64> = (0..ROUND_TRIPS)
        .map(|_| {
            round_trip();
            let begun = std::mem::replace(&mut last, clock.now());
            last - begun
        })
        .collect();
    times.sort_unstable();
    clock.ticks_to_ns_f64(times[times.len() / 2])
}

/// A thread that answers until it is dropped.
struct Answers(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Answers {
    fn new(mut answer: impl FnMut() + Send + 'static) -> Answers {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let answers = thread::spawn(move || {
            while !stops.load(Ordering::Relaxed) {
                answer();
            }
        });
        Answers(stop, Some(answers))
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(thread::JoinHandle::join);
    }
}

/// Two sockets: connected, as those of a peer that is sent to again and again are, or such as name an address for each datagram.
fn raw_udp(is_connected: bool) -> Side {
    Box::new(move || {
        let sockets = [(); 2].map(|()| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        });
        let [at, to] = sockets.each_ref().map(|one| one.local_addr().unwrap());
        let [client, server] = sockets;
        let mut buffer = [0; 2048];
        if is_connected {
            client.connect(to).unwrap();
            server.connect(at).unwrap();
            let _answers = Answers::new(move || {
                if let Ok(length) = server.recv(&mut buffer) {
                    server.send(&buffer[..length]).unwrap();
                }
            });
            return median_of(|| {
                client.send(&[0; BYTES]).unwrap();
                while client.recv(&mut buffer).is_err() {}
            });
        }
        let _answers = Answers::new(move || {
            if let Ok((length, from)) = server.recv_from(&mut buffer) {
                server.send_to(&buffer[..length], from).unwrap();
            }
        });
        median_of(|| {
            client.send_to(&[0; BYTES], to).unwrap();
            while client.recv_from(&mut buffer).is_err() {}
        })
    })
}

/// The active messages of UCX, by `ucx_perftest`: its server and its client poll, as ours do. It gives half round trips.
fn ucx(transports: &'static str, device: &'static str) -> Option<Side> {
    let perftest = move || {
        let mut perftest = Command::new("ucx_perftest");
        perftest
            .env("UCX_TLS", transports)
            .env("UCX_NET_DEVICES", device)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        perftest
    };
    perftest().arg("-h").output().ok()?;
    Some(Box::new(move || {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        let mut server = perftest();
        let mut server = server
            .args(["-p", &port])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (bytes, count) = (BYTES.to_string(), ROUND_TRIPS.to_string());
        // It listens soon.
        let measured = (0..100).find_map(|_| {
            thread::sleep(Duration::from_millis(20));
            let mut client = perftest();
            client.args(["127.0.0.1", "-p", &port, "-t", "ucp_am_lat", "-f", "-v"]);
            client.args(["-s", &bytes, "-n", &count, "-w", &count, "-R", "50"]);
            let output = client.output().unwrap();
            half_round_trip(&String::from_utf8_lossy(&output.stdout))
        });
        let _ = server.kill();
        let _ = server.wait();
        2_000.0 * measured.expect("ucx_perftest gives a latency")
    }))
}

/// The percentile that `ucx_perftest -f -v` prints, in microseconds.
fn half_round_trip(said: &str) -> Option<f64> {
    let line = said.lines().last()?;
    line.split(',').nth(1)?.trim().parse().ok()
}

fn shm(name: &str) -> Shm {
    Shm::open(
        format!("cost-{}-{name}", std::process::id())
            .parse()
            .unwrap(),
        Shm::MTU,
    )
    .unwrap()
}

fn raw_shm() -> Side {
    Box::new(|| {
        let (mut server, mut client) = (shm("raw-server"), shm("raw-client"));
        let to = client.peer(&server.address()).unwrap();
        let _answers = Answers::new(move || {
            if let Some(arrived) = server.receive().unwrap() {
                server.send(arrived.from, &arrived.frame, &[]).unwrap();
                server.recycle(arrived.frame);
            }
        });
        median_of(|| {
            client.send(to, &[0; BYTES], &[]).unwrap();
            loop {
                if let Some(arrived) = client.receive().unwrap() {
                    client.recycle(arrived.frame);
                    break;
                }
            }
        })
    })
}

/// What no layer above the ring can do without, and nothing else: a head that says whose message it is and for which handler, a table of
/// handlers, a record of the request that its reply ends, and the reply in memory of the client. It knows no loss, time, credit or thread.
fn least() -> Side {
    type Handler = Box<dyn Fn(&[u8], &mut [u8; BYTES]) + Send>;
    #[derive(Default)]
    struct Record {
        sequence: u64,
        is_done: bool,
        reply: [u8; BYTES],
    }
    const TAG: u64 = 0x6a69_7474_6572;
    const HEAD: usize = 24;
    fn head(sequence: u64, handler: u64) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        for (to, word) in head.chunks_exact_mut(8).zip([sequence, handler, TAG]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        head
    }
    /// The sequence and the handler.
    fn decode(frame: &[u8]) -> Option<(u64, u64)> {
        let (words, _) = frame.as_chunks::<8>();
        let [sequence, handler, tag] = *words.first_chunk()?;
        (u64::from_le_bytes(tag) == TAG)
            .then(|| (u64::from_le_bytes(sequence), u64::from_le_bytes(handler)))
    }
    Box::new(|| {
        let (mut server, mut client) = (shm("least-server"), shm("least-client"));
        let to = client.peer(&server.address()).unwrap();
        let mut handlers: Vec<Option<Handler>> = (0..=ECHO).map(|_| None).collect();
        handlers[usize::from(ECHO)] = Some(Box::new(|bytes, reply| reply.copy_from_slice(bytes)));
        let mut expected = 0;
        let _answers = Answers::new(move || {
            let Some(arrived) = server.receive().unwrap() else {
                return;
            };
            let frame = &arrived.frame[..];
            if let Some((sequence, handler)) = decode(frame)
                && let Some(Some(handler)) = handlers.get(handler as usize)
                && sequence == expected
            {
                expected += 1;
                let mut reply = [0; BYTES];
                handler(&frame[HEAD..], &mut reply);
                let head = head(sequence, 0);
                server.send(arrived.from, &head, &reply).unwrap();
            }
            server.recycle(arrived.frame);
        });
        let mut records: [Record; 16] = Default::default();
        let mut sequence = 0;
        median_of(|| {
            let place = sequence as usize % records.len();
            (records[place].sequence, records[place].is_done) = (sequence, false);
            let head = head(sequence, ECHO.into());
            client.send(to, &head, &[0; BYTES]).unwrap();
            while !records[place].is_done {
                let Some(arrived) = client.receive().unwrap() else {
                    continue;
                };
                let frame = &arrived.frame[..];
                if let Some((sequence, _)) = decode(frame) {
                    let record = &mut records[sequence as usize % 16];
                    if record.sequence == sequence {
                        record.reply.copy_from_slice(&frame[HEAD..]);
                        record.is_done = true;
                    }
                }
                client.recycle(arrived.frame);
            }
            black_box(&records[place].reply);
            sequence += 1;
        })
    })
}

fn amvia(protocol: Protocol, durability: Durability, over: &'static str) -> Side {
    Box::new(move || {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let bundle = Bundle::new().unwrap();
        let server = endpoint(&bundle, folder.path(), "server", protocol, durability, over);
        let address = server.address().unwrap();
        let polled = bundle.clone();
        let _answers = Answers::new(move || _ = polled.poll().unwrap());
        let own = Bundle::new().unwrap();
        let client = endpoint(&own, folder.path(), "client", protocol, durability, over);
        let peer = client.connect("server", &address, LONG).unwrap();
        median_of(|| {
            let sent = client
                .request(peer, ECHO, &[0; BYTES], Credit::Refuse)
                .unwrap();
            while !client.state(sent).unwrap().is_final() {
                // A time-out is no frame.
                let _ = (0..LOOKS).any(|_| own.poll().unwrap());
            }
            client.release(sent).unwrap();
        })
    })
}

fn endpoint(
    bundle: &Bundle,
    folder: &std::path::Path,
    name: &str,
    protocol: Protocol,
    durability: Durability,
    over: &str,
) -> Endpoint {
    let options = Options {
        config: Config {
            protocol,
            ..Config::default()
        },
        peers: 2,
        durability,
        log: (durability != Durability::None).then(|| folder.join(name)),
    };
    let made = match over {
        "udp" => {
            let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
            bundle.endpoint(name, udp, &options)
        }
        _ => bundle.endpoint(name, shm(name), &options),
    };
    let endpoint = made.unwrap();
    endpoint
        .on(ECHO, |call| {
            let mut bytes = [0; BYTES];
            bytes.copy_from_slice(call.bytes());
            call.reply(&bytes).unwrap();
        })
        .unwrap();
    endpoint
}
