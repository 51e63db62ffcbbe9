//! Neither a frame nor a transaction allocates anything, once transport and endpoints have been in use.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_amvia::endpoint::{Bundle, Credit, Endpoint, Options};
use jitterlab_amvia::log::Durability;
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{Address, Sent, Shm, Transport, Udp};

/// The system's allocator, which counts what each thread asks of it.
struct Counted;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed on as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: as the caller vouches.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller vouches; it was allocated there.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// Frames go to and fro, and each fifth is kept for a while.
fn frames(one: &mut dyn Transport, other: &mut dyn Transport, rounds: u32) {
    let to = one.peer(&other.address()).unwrap();
    let mut kept = None;
    for round in 0..rounds {
        while one.send(to, &[1; 24], &[2; 100]).unwrap() != Sent::Sent {}
        let arrived = loop {
            if let Some(arrived) = other.receive().unwrap() {
                break arrived;
            }
        };
        while other.send(arrived.from, &arrived.frame, b"").unwrap() != Sent::Sent {}
        // The frame that was kept goes back when the next one is.
        let frame = match round % 5 {
            0 => kept.replace(arrived.frame),
            _ => Some(arrived.frame),
        };
        frame.into_iter().for_each(|frame| other.recycle(frame));
        let answer = loop {
            if let Some(answer) = one.receive().unwrap() {
                break answer;
            }
        };
        one.recycle(answer.frame);
    }
    kept.into_iter().for_each(|frame| other.recycle(frame));
}

fn allocates_nothing(one: &mut dyn Transport, other: &mut dyn Transport) {
    frames(one, other, 1_000);
    // What `peer` and `address` take is no frame's.
    let before = ASKED.get();
    frames(one, other, 0);
    let once = ASKED.get() - before;
    let before = ASKED.get();
    frames(one, other, 5_000);
    assert_eq!(ASKED.get() - before, once, "for 5,000 frames each way");
}

#[test]
fn udp_allocates_nothing_for_a_frame() {
    let udp = || Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
    allocates_nothing(&mut udp(), &mut udp());
}

#[test]
fn shm_allocates_nothing_for_a_frame() {
    let [mut one, mut other] = ["one", "other"].map(shm);
    allocates_nothing(&mut one, &mut other);
}

fn shm(end: &str) -> Shm {
    let name = format!("shm://steady.{}.{end}", std::process::id());
    let Ok(Address::Shm(name)) = name.parse() else {
        panic!("{name}");
    };
    Shm::open(name, Shm::MTU).unwrap()
}

const ECHO: u16 = 1;
const LONG: Duration = Duration::from_secs(60);
/// Transactions before those that are counted, and those.
const WARM: u64 = 1_000;
const STEADY: u64 = 5_000;

fn endpoint(
    bundle: &Bundle,
    name: &str,
    protocol: Protocol,
    log: Option<&Path>,
    over: &str,
) -> Endpoint {
    let options = Options {
        config: Config {
            protocol,
            ..Config::default()
        },
        peers: 2,
        durability: log.map_or(Durability::None, |_| Durability::Process),
        log: log.map(|folder| folder.join(name)),
    };
    let made = match over {
        "udp" => {
            let udp = Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap();
            bundle.endpoint(name, udp, &options)
        }
        _ => bundle.endpoint(name, shm(name), &options),
    };
    made.unwrap()
}

/// What client and server allocate for the transactions that are counted: from the request to its release, and from a poll that finds
/// nothing to the handler and its reply.
fn allocated(protocol: Protocol, log: Option<&Path>, over: &str) -> [u64; 2] {
    let served = Bundle::new().unwrap();
    let server = endpoint(&served, "server", protocol, log, over);
    let handled = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&handled);
    server
        .on(ECHO, move |call| {
            call.reply(call.bytes()).unwrap();
            counts.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    let address = server.address().unwrap();
    let end = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&end);
    let polls = thread::spawn(move || {
        let asked = [WARM, WARM + STEADY].map(|goal| {
            while handled.load(Ordering::Relaxed) < goal {
                if !served.poll().unwrap() {
                    thread::yield_now();
                }
            }
            ASKED.get()
        });
        // The last reply may be lost.
        while !has_ended.load(Ordering::Relaxed) {
            served.wait(LONG).unwrap();
        }
        asked[1] - asked[0]
    });
    let bundle = Bundle::new().unwrap();
    let client = endpoint(&bundle, "client", protocol, log, over);
    let peer = client.connect("server", &address, LONG).unwrap();
    let asked = [WARM, STEADY].map(|count| {
        for _ in 0..count {
            let sent = client
                .request(peer, ECHO, &[7; 32], Credit::Refuse)
                .unwrap();
            while !client.state(sent).unwrap().is_final() {
                if !bundle.poll().unwrap() {
                    thread::yield_now();
                }
            }
            assert!(client.reply(sent, |reply| reply == [7; 32]).unwrap());
            client.release(sent).unwrap();
        }
        ASKED.get()
    });
    end.store(true, Ordering::Relaxed);
    [asked[1] - asked[0], polls.join().unwrap()]
}

#[test]
fn a_transaction_allocates_nothing_at_either_end() {
    for over in ["udp", "shm"] {
        for protocol in Protocol::ALL {
            for durability in [Durability::None, Durability::Process] {
                if (protocol, durability) == (Protocol::Amudp, Durability::Process) {
                    // It keeps no log.
                    continue;
                }
                let folder = tempfile::tempdir_in("/dev/shm").unwrap();
                let log = (durability == Durability::Process).then(|| folder.path());
                let allocated = allocated(protocol, log, over);
                assert_eq!(allocated, [0, 0], "{protocol}, {durability}, over {over}");
            }
        }
    }
}

/// The count is one: what does allocate is seen.
#[test]
fn what_allocates_is_counted() {
    let before = ASKED.get();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(ASKED.get() - before, 1);
}
