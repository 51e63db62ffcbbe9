//! The transport that makes faults: what it does to frames, and that the endpoints above it get along with it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jitterlab_amvia::endpoint::{Bundle, Credit, Options};
use jitterlab_amvia::protocol::{Config, Protocol};
use jitterlab_amvia::transport::{
    Address, Arrived, FaultCounts, FaultReader, Faults, Faulty, Landed, Peer, Sent, Shm, Transport,
    TransportError, Udp,
};

/// Bytes of each frame.
const LENGTH: usize = 100;

/// Frames, in the order in which they went out.
type Frames = Arc<Mutex<Vec<Vec<u8>>>>;

/// A transport that keeps what it is to send.
struct Kept {
    udp: Udp,
    frames: Frames,
}

impl Transport for Kept {
    fn address(&self) -> Address {
        self.udp.address()
    }

    fn mtu(&self) -> usize {
        self.udp.mtu()
    }

    fn is_sound(&self) -> bool {
        self.udp.is_sound()
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        self.udp.peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        self.udp.know(place, is_known);
    }

    fn send(&mut self, _: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        self.frames.lock().unwrap().push([head, payload].concat());
        Ok(Sent::Sent)
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        self.udp.receive()
    }

    fn recycle(&mut self, frame: Landed) {
        self.udp.recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        self.udp.wait(at_most)
    }
}

fn udp() -> Udp {
    Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap()
}

fn kept(faults: &str, stream: u64) -> (Faulty<Kept>, Peer, Frames) {
    let frames = Frames::default();
    let under = Kept {
        udp: udp(),
        frames: Arc::clone(&frames),
    };
    let mut faulty = Faulty::new(under, faults.parse().unwrap(), stream);
    let own = faulty.address();
    let peer = faulty.peer(&own).unwrap();
    (faulty, peer, frames)
}

/// What becomes of frames that carry their numbers.
fn sent(faults: &str, stream: u64, count: u64) -> (Vec<Vec<u8>>, FaultCounts) {
    let (mut faulty, peer, frames) = kept(faults, stream);
    for number in 0..count {
        let payload = [0; LENGTH - 8];
        assert_eq!(
            faulty.send(peer, &number.to_le_bytes(), &payload).unwrap(),
            Sent::Sent
        );
    }
    let counts = faulty.reader().read();
    let frames = frames.lock().unwrap().clone();
    (frames, counts)
}

fn number(frame: &[u8]) -> u64 {
    u64::from_le_bytes(frame[..8].try_into().unwrap())
}

/// Whether `seen` of `n` is what a chance yields, by five standard deviations.
fn is_share(seen: u64, n: u64, chance: f64) -> bool {
    let expected = n as f64 * chance;
    (seen as f64 - expected).abs() < 5.0 * (expected * (1.0 - chance)).sqrt()
}

#[test]
fn bits_are_flipped_at_the_rate_that_was_asked_for() {
    for rate in [1e-5, 1e-3, 0.3, 1.0] {
        let count = if rate < 1e-4 { 100_000 } else { 2_000 };
        let (frames, counts) = sent(&format!("ber={rate}"), 1, count);
        let wrong = frames.iter().enumerate().map(|(number, frame)| {
            let mut whole = vec![0; LENGTH];
            whole[..8].copy_from_slice(&(number as u64).to_le_bytes());
            let pairs = frame.iter().zip(&whole);
            pairs
                .map(|(is, was)| u64::from((is ^ was).count_ones()))
                .sum()
        });
        let wrong: Vec<u64> = wrong.collect();
        assert_eq!(counts.flipped, wrong.iter().sum::<u64>());
        assert_eq!(
            counts.damaged,
            wrong.iter().filter(|&&bits| bits > 0).count() as u64
        );
        let bits = 8 * LENGTH as u64 * count;
        if rate < 1.0 {
            assert!(is_share(counts.flipped, bits, rate), "{counts:?}");
            let damaged = 1.0 - (1.0 - rate).powi(8 * LENGTH as i32);
            let is_damaged = is_share(counts.damaged, count, damaged) || rate > 0.1;
            assert!(is_damaged, "{counts:?}");
        } else {
            assert_eq!(counts.flipped, bits);
        }
    }
}

#[test]
fn frames_are_lost_doubled_and_overtaken_at_the_shares_that_were_asked_for() {
    let count = 20_000;
    let (frames, counts) = sent("loss=10%", 1, count);
    assert_eq!(frames.len() as u64, count - counts.lost);
    assert!(is_share(counts.lost, count, 0.1), "{counts:?}");

    let (frames, counts) = sent("duplicate=5%", 1, count);
    assert_eq!(frames.len() as u64, count + counts.duplicated);
    assert!(is_share(counts.duplicated, count, 0.05), "{counts:?}");

    let (frames, counts) = sent("reorder=10%", 1, count);
    let numbers: Vec<u64> = frames.iter().map(|frame| number(frame)).collect();
    let overtaken = numbers.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
    // The last may still be held back, and a frame that waited for a millisecond has gone in its turn.
    assert!(overtaken <= counts.reordered && overtaken + 50 > counts.reordered);
    // A frame cannot be put behind another while one is held back.
    assert!(is_share(counts.reordered, count, 0.1 / 1.1), "{counts:?}");
}

#[test]
fn a_seed_gives_each_endpoint_the_same_faults_again() {
    let run = |faults, stream| sent(faults, stream, 3_000);
    let faults = "ber=1e-4,loss=2%,duplicate=2%,reorder=2%,seed=7";
    assert_eq!(run(faults, 1).0, run(faults, 1).0);
    assert_ne!(run(faults, 1).0, run(faults, 2).0);
    let other = "ber=1e-4,loss=2%,duplicate=2%,reorder=2%,seed=8";
    assert_ne!(run(faults, 1).0, run(other, 1).0);
}

#[test]
fn a_frame_is_held_back_for_the_delay() {
    let (mut faulty, peer, frames) = kept("delay=20ms", 1);
    let begun = Instant::now();
    faulty.send(peer, b"head", b"payload").unwrap();
    while frames.lock().unwrap().is_empty() {
        assert!(faulty.receive().unwrap().is_none());
    }
    assert!(begun.elapsed() >= Duration::from_millis(20));
    assert_eq!(frames.lock().unwrap()[0], b"headpayload");
}

#[test]
fn a_frame_that_nothing_overtakes_goes_out_all_the_same() {
    let (mut faulty, peer, frames) = kept("reorder=100%", 1);
    faulty.send(peer, b"alone", b"").unwrap();
    while frames.lock().unwrap().is_empty() {
        faulty.wait(Duration::from_millis(1)).unwrap();
    }
    assert_eq!(frames.lock().unwrap()[0], b"alone");
}

#[test]
fn a_frame_that_is_too_long_is_refused_as_without_faults() {
    let (mut faulty, peer, _) = kept("loss=100%", 1);
    let mut faulty_over_udp = Faulty::new(udp(), Faults::default(), 1);
    let payload = vec![0; Udp::MTU + 1];
    let error = faulty_over_udp.send(peer, b"", &payload).unwrap_err();
    assert!(matches!(error, TransportError::TooLong { .. }));
    assert_eq!(faulty.send(peer, b"", b"x").unwrap(), Sent::Sent);
}

/// Transactions of two endpoints over bad transports. Gives what each end has made, and what each has refused.
fn transact(
    protocol: Protocol,
    ends: [impl Transport + 'static; 2],
    faults: &str,
) -> [(FaultCounts, u64); 2] {
    let faults: Faults = faults.parse().unwrap();
    let options = Options {
        config: Config {
            protocol,
            request_retransmissions: 100,
            reply_retransmissions: 100,
            max_rto: 1_000_000,
            ..Config::default()
        },
        ..Options::default()
    };
    let bundle = Bundle::new().unwrap();
    let mut stream = 0;
    let [(client, own), (server, theirs)] = ends.map(|transport| {
        stream += 1;
        let faulty = Faulty::new(transport, faults, stream);
        let reader: FaultReader = faulty.reader();
        let name = format!("end{stream}");
        (bundle.endpoint(&name, faulty, &options).unwrap(), reader)
    });
    server
        .on(1, |call| {
            let backwards: Vec<u8> = call.bytes().iter().rev().copied().collect();
            call.reply(&backwards).unwrap();
        })
        .unwrap();
    let patience = Duration::from_secs(60);
    let to = client
        .connect("end2", &server.address().unwrap(), patience)
        .unwrap();
    for round in 0..500_u32 {
        let request = [round.to_le_bytes(), [7; 4]].concat();
        let asked = client.request(to, 1, &request, Credit::Refuse).unwrap();
        let status = client.finish(asked, patience).unwrap();
        assert_eq!(status.to_string(), "<ACKED, PROCESSED>");
        let reply = client.reply(asked, |reply| reply.to_vec()).unwrap();
        assert!(reply.iter().rev().eq(&request));
        client.release(asked).unwrap();
    }
    // What is still under way is taken, too, until nobody sends any more.
    loop {
        let before = [own.read(), theirs.read()];
        let is_quiet = (0..4).all(|_| !bundle.poll().unwrap());
        if is_quiet && before == [own.read(), theirs.read()] {
            break;
        }
    }
    let refused = [&client, &server].map(|end| end.undecodable().unwrap());
    [(own.read(), refused[0]), (theirs.read(), refused[1])]
}

/// Two endpoints in shared memory under names that no other test has.
fn shm(test: &str) -> [Shm; 2] {
    ["one", "other"].map(|end| {
        let name = format!("faults.{}.{test}.{end}", std::process::id());
        Shm::open(name.parse().unwrap(), Shm::MTU).unwrap()
    })
}

/// Frames that were damaged are those that the other end has refused.
fn all_damage_is_detected(ends: [(FaultCounts, u64); 2]) {
    let [(own, refused), (theirs, theirs_refused)] = ends;
    assert!(
        own.damaged > 10 && theirs.damaged > 10,
        "{own:?} {theirs:?}"
    );
    assert_eq!((own.damaged, theirs.damaged), (theirs_refused, refused));
}

#[test]
fn every_damaged_frame_is_refused_over_udp() {
    for protocol in Protocol::ALL {
        all_damage_is_detected(transact(protocol, [udp(), udp()], "ber=1e-4"));
    }
}

#[test]
fn every_damaged_frame_is_refused_in_shared_memory() {
    for protocol in Protocol::ALL {
        let ends = shm(&format!("damage-{protocol}"));
        all_damage_is_detected(transact(protocol, ends, "ber=1e-4"));
    }
}

#[test]
fn a_network_with_all_faults_at_once_loses_no_transaction() {
    let faults = "ber=1e-5,loss=5%,duplicate=5%,reorder=5%,delay=30us";
    for protocol in Protocol::ALL {
        let [(own, _), (theirs, _)] = transact(protocol, [udp(), udp()], faults);
        for counts in [own, theirs] {
            assert!(counts.lost > 0 && counts.duplicated > 0 && counts.reordered > 0);
            // One frame may wait to be overtaken.
            let gone = counts.delayed + counts.lost;
            assert!(gone + 1 >= counts.frames + counts.duplicated);
        }
    }
}

#[test]
fn an_end_with_faults_and_one_without_understand_each_other() {
    let [one, other] = shm("mixed");
    let options = Options::default();
    let faulty = Faulty::new(one, "ber=1e-4".parse().unwrap(), 1);
    let reader = faulty.reader();
    let bundle = Bundle::new().unwrap();
    let client = bundle.endpoint("end1", faulty, &options).unwrap();
    let server = bundle.endpoint("end2", other, &options).unwrap();
    server
        .on(1, |call| call.reply(call.bytes()).unwrap())
        .unwrap();
    let patience = Duration::from_secs(60);
    let address = server.address().unwrap();
    let to = client.connect("end2", &address, patience).unwrap();
    for round in 0..500_u32 {
        let request = round.to_le_bytes();
        let asked = client.request(to, 1, &request, Credit::Refuse).unwrap();
        client.finish(asked, patience).unwrap();
        assert!(client.reply(asked, |reply| reply == request).unwrap());
        client.release(asked).unwrap();
    }
    while bundle.poll().unwrap() {}
    let damaged = reader.read().damaged;
    assert!(damaged > 10);
    assert_eq!(server.undecodable().unwrap(), damaged);
    assert_eq!(client.undecodable().unwrap(), 0);
}
