//! The cases in a time that exists only here: a frame takes 1 us to be sent and 2 us to be received, a reading of the clock 10 ns,
//! and nothing else takes any.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::{Server, TRANSPORTS, options};
use jitterlab_amvia::transport::{Address, Arrived, Landed, Peer, Sent, Transport, TransportError};
use jitterlab_amvia_suite::cases::bandwidth::Bandwidth;
use jitterlab_amvia_suite::cases::rtt::{Length, Rtt};
use jitterlab_amvia_suite::delayed::Switch;
use jitterlab_amvia_suite::loggp::LogGp;
use jitterlab_amvia_suite::{Client, Options, Protocol};
use jitterlab_base::clock::Clock;
use jitterlab_base::units::{Bytes, Nanos};

const SEND: u64 = 1_000;
const RECEIPT: u64 = 2_000;
const READING: u64 = 10;
/// The time that a slow frame takes beside.
const SLOW: u64 = 50_000;

/// Simulated time in nanoseconds.
#[derive(Clone, Default)]
struct Time(Arc<AtomicU64>);

impl Time {
    /// Lets some time pass: what time it is then.
    fn pass(&self, ns: u64) -> u64 {
        self.0.fetch_add(ns, Ordering::Relaxed) + ns
    }

    /// A reading, in ticks of the clock.
    fn ticks(&self) -> u64 {
        Clock::global().ns_to_ticks(self.pass(READING))
    }
}

/// A transport whose frames let time pass.
struct Simulated<T> {
    under: T,
    time: Time,
    /// Frames to come until one is slow.
    until_slow: Arc<AtomicU64>,
}

impl<T: Transport> Transport for Simulated<T> {
    fn address(&self) -> Address {
        self.under.address()
    }

    fn mtu(&self) -> usize {
        self.under.mtu()
    }

    fn is_sound(&self) -> bool {
        self.under.is_sound()
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        self.under.peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        self.under.know(place, is_known);
    }

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        self.time.pass(SEND);
        self.under.send(to, head, payload)
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        let arrived = self.under.receive();
        if matches!(arrived, Ok(Some(_))) {
            let is_slow = self.until_slow.fetch_sub(1, Ordering::Relaxed) == 1;
            self.time.pass(RECEIPT + if is_slow { SLOW } else { 0 });
        }
        arrived
    }

    fn recycle(&mut self, frame: Landed) {
        self.under.recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        self.under.wait(at_most)
    }
}

/// An end in simulated time.
struct End {
    client: Client,
    time: Time,
    until_slow: Arc<AtomicU64>,
    _server: Server,
}

impl End {
    fn new(options: &Options, name: &str) -> End {
        let server = Server::start(options, name);
        let time = Time::default();
        let until_slow = Arc::new(AtomicU64::new(u64::MAX));
        let client = Client::connect_through(options, &server.address, |under| {
            Ok(Simulated {
                under,
                time: time.clone(),
                until_slow: Arc::clone(&until_slow),
            })
        });
        let client = client.unwrap();
        // What the two still had to say to each other of their connection has come before the reply.
        let first = Rtt {
            size: Bytes(32),
            warmup: Length::Messages(0),
            length: Length::Messages(1),
        };
        first.run(&client).unwrap();
        End {
            client,
            time,
            until_slow,
            _server: server,
        }
    }
}

/// The frames of a transaction at the end that measures, in nanoseconds.
fn frames(protocol: Protocol) -> u64 {
    let frames = protocol.at_initiator();
    SEND * u64::from(frames.sends()) + RECEIPT * u64::from(frames.receives())
}

/// Times are counted in ticks of the clock, which are not whole nanoseconds.
fn is_about(ns: f64, expected: u64) -> bool {
    (ns - expected as f64).abs() <= 2.0
}

#[test]
fn warm_up_and_measurement_end_by_the_time_that_is_given() {
    for transport in TRANSPORTS {
        for protocol in Protocol::ALL {
            let end = End::new(&options(transport, protocol), "simulated-rtt");
            let each = READING + frames(protocol) + READING;
            // Half a transaction less, so that the last one is over after its time.
            let time = |transactions: u64| Length::Time(Nanos(transactions * each - each / 2));
            let case = Rtt {
                size: Bytes(32),
                warmup: time(10),
                length: time(100),
            };
            let outcome = case.run_by(&end.client, || end.time.ticks()).unwrap();
            let counted = (outcome.discarded, outcome.samples.len());
            assert_eq!(counted, (10, 100), "{transport}, {protocol}");
            let expected = frames(protocol) + READING;
            let all_are = outcome.samples.iter();
            assert!(
                all_are.clone().all(|&ns| is_about(ns as f64, expected)),
                "{transport}, {protocol}: {expected}, {:?}",
                outcome.samples
            );
        }
    }
}

#[test]
fn a_slow_frame_is_in_the_sample_of_its_transaction_alone() {
    for transport in TRANSPORTS {
        let end = End::new(&options(transport, Protocol::TwoWay), "simulated-slow");
        let case = Rtt {
            size: Bytes(32),
            warmup: Length::Messages(5),
            length: Length::Messages(20),
        };
        // The replies of the warm-up, and those of 7 more transactions, are as usual.
        end.until_slow.store(5 + 8, Ordering::Relaxed);
        let outcome = case.run_by(&end.client, || end.time.ticks()).unwrap();
        let usual = frames(Protocol::TwoWay) + READING;
        for (number, &ns) in outcome.samples.iter().enumerate() {
            let expected = usual + if number == 7 { SLOW } else { 0 };
            assert!(is_about(ns as f64, expected), "{number}: {ns}");
        }
    }
}

#[test]
fn bandwidth_is_the_transactions_of_the_time_that_is_given() {
    for protocol in Protocol::ALL {
        let over = options(TRANSPORTS[1], protocol);
        let end = End::new(&over, "simulated-bandwidth");
        let each = frames(protocol) + READING;
        let case = Bandwidth {
            sizes: vec![Bytes(32), Bytes(512)],
            warmup: Nanos(50 * each),
            duration: Nanos(100 * each - each / 2),
        };
        let report = case.run_by(&end.client, || end.time.ticks()).unwrap();
        for point in &report.points {
            assert_eq!(point.transactions, 100, "{protocol}");
            let each_ns = 1e9 / point.transactions_per_second;
            assert!(is_about(each_ns, each), "{protocol}: {each}, {each_ns}");
        }
    }
}

#[test]
fn what_a_frame_costs_is_found_again() {
    let over = options(TRANSPORTS[1], Protocol::TwoWay);
    let end = End::new(&over, "simulated-loggp");
    let case = LogGp {
        bursts: vec![1, 8, 64, 128],
        computing: vec![Nanos(0), Nanos(2_000)],
        bulk: vec![Bytes(512)],
        injected: Vec::new(),
        blocks: 2,
        ..LogGp::default()
    };
    let now = || end.time.ticks();
    let report = case.run_by(&end.client, &Switch::default(), now).unwrap();
    assert_eq!(report.blocks.len(), 2);
    for block in &report.blocks {
        // The reading at the end of a burst belongs to all its messages, that of a mean to all its round trips.
        assert!(is_about(block.plain.send_ns, SEND + READING / 8));
        assert!(is_about(block.plain.interval_ns, SEND + RECEIPT));
        assert!(is_about(block.plain.round_trip_ns, SEND + RECEIPT));
        assert!(is_about(block.bulk[0].interval_ns, SEND + RECEIPT));
        let [alone, computed] = &block.signature_ns[..] else {
            panic!("{:?}", block.signature_ns);
        };
        for (alone, computed) in alone.iter().zip(computed) {
            let computing = computed - alone;
            // A wait is over with the reading that finds it over.
            assert!(
                (2_000.0..=2_000.0 + 3.0 * READING as f64).contains(&computing),
                "{computing}"
            );
        }
    }
}
