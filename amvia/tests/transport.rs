//! What every transport is held to, over loopback.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::Duration;

use jitterlab_amvia::transport::{
    Address, Arrived, Peer, Sent, Shm, Transport, TransportError, Udp,
};
use jitterlab_skip::skip;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, socket,
};

/// Long enough for any machine, short enough for a test that has to fail.
const PATIENCE: Duration = Duration::from_secs(20);

/// The next frame that comes.
fn next(at: &mut dyn Transport) -> Arrived {
    for _ in 0..200 {
        if let Some(arrived) = at.receive().unwrap() {
            return arrived;
        }
        at.wait(PATIENCE / 200).unwrap();
    }
    panic!("nothing came to {} in {PATIENCE:?}", at.address());
}

/// Sends a frame, as soon as there is room for it.
fn send(from: &mut dyn Transport, to: Peer, head: &[u8], payload: &[u8]) {
    while from.send(to, head, payload).unwrap() != Sent::Sent {
        std::thread::yield_now();
    }
}

fn udp() -> Udp {
    Udp::bind("127.0.0.1:0".parse().unwrap(), Udp::MTU).unwrap()
}

/// Two endpoints under names that no other test has.
fn shm(test: &str) -> [Shm; 2] {
    ["one", "other"].map(|end| {
        let name = format!("test.{}.{test}.{end}", std::process::id());
        Shm::open(name.parse().unwrap(), Shm::MTU).unwrap()
    })
}

/// Frames of every kind of length arrive whole, and their answers go back to where they came from.
fn carries_frames_both_ways(one: &mut dyn Transport, other: &mut dyn Transport) {
    let to = one.peer(&other.address()).unwrap();
    for round in 0..200_usize {
        let payload = vec![round as u8; (round * 37) % (one.mtu() - 3)];
        send(one, to, b"ask", &payload);
        let arrived = next(other);
        assert_eq!(&arrived.frame[..3], b"ask");
        assert_eq!(arrived.frame[3..], payload);
        send(other, arrived.from, &arrived.frame, b"");
        other.recycle(arrived.frame);
        let answer = next(one);
        assert_eq!(answer.frame.len(), 3 + payload.len());
        assert_eq!(answer.from, to);
        one.recycle(answer.frame);
    }
}

/// A frame that a handler keeps stays as it is, whatever comes after it, and is given back in any order.
fn keeps_what_is_kept(one: &mut dyn Transport, other: &mut dyn Transport) {
    let to = one.peer(&other.address()).unwrap();
    let mut kept = Vec::new();
    for round in 0..100_u8 {
        send(one, to, &[round], &[round; 40]);
        let arrived = next(other);
        match round % 3 {
            0 => kept.push((round, arrived.frame)),
            _ => other.recycle(arrived.frame),
        }
        if round % 20 == 19 {
            // The oldest last.
            while kept.len() > 3 {
                let (round, frame) = kept.swap_remove(1);
                assert_eq!(*frame, [round; 41]);
                other.recycle(frame);
            }
        }
    }
    for (round, frame) in kept {
        assert_eq!(*frame, [round; 41]);
        other.recycle(frame);
    }
}

/// A frame is at most as long as the MTU says, and nothing is sent of a longer one.
fn refuses_what_is_too_long(one: &mut dyn Transport, other: &mut dyn Transport) {
    let to = one.peer(&other.address()).unwrap();
    let payload = vec![7; one.mtu()];
    let error = one.send(to, b"x", &payload).unwrap_err();
    assert!(matches!(error, TransportError::TooLong { .. }), "{error}");
    send(one, to, b"", &payload);
    let arrived = next(other);
    assert_eq!(*arrived.frame, payload);
    other.recycle(arrived.frame);
    assert!(other.receive().unwrap().is_none());
}

#[test]
fn udp_carries_frames_both_ways() {
    carries_frames_both_ways(&mut udp(), &mut udp());
}

#[test]
fn udp_keeps_what_is_kept() {
    keeps_what_is_kept(&mut udp(), &mut udp());
}

#[test]
fn udp_refuses_what_is_too_long() {
    refuses_what_is_too_long(&mut udp(), &mut udp());
}

#[test]
fn shm_carries_frames_both_ways() {
    let [mut one, mut other] = shm("both");
    carries_frames_both_ways(&mut one, &mut other);
}

#[test]
fn shm_keeps_what_is_kept() {
    let [mut one, mut other] = shm("kept");
    keeps_what_is_kept(&mut one, &mut other);
}

#[test]
fn shm_refuses_what_is_too_long() {
    let [mut one, mut other] = shm("long");
    refuses_what_is_too_long(&mut one, &mut other);
}

#[test]
fn udp_drops_a_datagram_that_is_longer_than_a_frame() {
    let mut wide = Udp::bind("127.0.0.1:0".parse().unwrap(), 2 * Udp::MTU).unwrap();
    let mut narrow = udp();
    let to = wide.peer(&narrow.address()).unwrap();
    send(&mut wide, to, &[1; Udp::MTU], b"more");
    send(&mut wide, to, b"whole", b"");
    assert_eq!(*next(&mut narrow).frame, *b"whole");
}

/// A peer that is sent to again and again has a socket of its own; others are served beside it, and the port is nobody else's.
#[test]
fn udp_serves_strangers_beside_the_peer_of_the_moment() {
    let (mut one, mut other, mut stranger) = (udp(), udp(), udp());
    carries_frames_both_ways(&mut one, &mut other);
    for round in 0..300_u16 {
        let to = stranger.peer(&other.address()).unwrap();
        send(&mut stranger, to, b"stranger", &round.to_le_bytes());
        let arrived = next(&mut other);
        assert_eq!(
            *arrived.frame,
            [&b"stranger"[..], &round.to_le_bytes()].concat()
        );
        let from = other.peer(&stranger.address()).unwrap();
        assert_eq!(arrived.from, from);
        let to = one.peer(&other.address()).unwrap();
        send(&mut one, to, b"friend", b"");
        let friend = next(&mut other);
        assert_eq!(*friend.frame, *b"friend");
        send(&mut other, friend.from, b"answer", b"");
        assert_eq!(*next(&mut one).frame, *b"answer");
        if round % 100 == 99 {
            carries_frames_both_ways(&mut one, &mut other);
        }
    }
    let taken = other.address().to_string()["udp://".len()..]
        .parse()
        .unwrap();
    assert!(Udp::bind(taken, Udp::MTU).is_err());
    // A peer that ends and comes back at its address is reached as before.
    let address = one.address();
    drop(one);
    let to = other.peer(&address).unwrap();
    for _ in 0..100 {
        assert_ne!(other.send(to, b"away", b"").unwrap(), Sent::Full);
        assert!(other.receive().unwrap().is_none());
    }
    let again = address.to_string()["udp://".len()..].parse().unwrap();
    let mut one = Udp::bind(again, Udp::MTU).unwrap();
    carries_frames_both_ways(&mut other, &mut one);
}

#[test]
fn udp_goes_on_where_nobody_listens() {
    let mut one = udp();
    let nobody = udp().address();
    let to = one.peer(&nobody).unwrap();
    for _ in 0..10 {
        // The kernel may know by then that nobody is there.
        assert_ne!(one.send(to, b"hello", b"").unwrap(), Sent::Full);
        assert!(one.receive().unwrap().is_none());
    }
    let mut other = udp();
    let to = one.peer(&other.address()).unwrap();
    send(&mut one, to, b"hello", b"");
    assert_eq!(*next(&mut other).frame, *b"hello");
}

/// The message of ICMP that frames from one address to the other do not arrive, for this reason (RFC 792; RFC 1812, 5.2.7.1).
fn unreachable(code: u8, from: SocketAddrV4, to: SocketAddrV4) -> Vec<u8> {
    let mut icmp = vec![3, code, 0, 0, 0, 0, 0, 0];
    // The head of the datagram that it is about: IP and UDP.
    icmp.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
    icmp.extend(from.ip().octets());
    icmp.extend(to.ip().octets());
    for word in [from.port(), to.port(), 8, 0] {
        icmp.extend(word.to_be_bytes());
    }
    let words = icmp.chunks(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let checksum = !((sum >> 16) + (sum & 0xffff)) as u16;
    icmp[2..4].copy_from_slice(&checksum.to_be_bytes());
    icmp
}

/// A firewall that cuts a peer off says so by ICMP.
#[test]
fn udp_goes_on_where_a_firewall_rejects() {
    let flags = SockFlag::empty();
    let raw = match socket(
        AddressFamily::Inet,
        SockType::Raw,
        flags,
        SockProtocol::Icmp,
    ) {
        Err(Errno::EPERM) => return skip("only root may make a raw socket"),
        raw => raw.unwrap(),
    };
    let [mut one, mut other] = [udp(), udp()];
    let [from, to] = [&one, &other].map(|end| match end.address() {
        Address::Udp(SocketAddr::V4(address)) => address,
        other => panic!("{other}"),
    });
    let peer = one.peer(&other.address()).unwrap();
    // So many in a row that the peer has a socket of its own, to which errors come.
    for _ in 0..100 {
        send(&mut one, peer, b"hello", b"");
        let arrived = next(&mut other);
        other.recycle(arrived.frame);
    }
    let here = SockaddrStorage::from(SocketAddr::from(([127, 0, 0, 1], 0)));
    // No such protocol; net and host prohibited; prohibited by a filter.
    for code in [2, 9, 10, 13] {
        let reject = || {
            let message = unreachable(code, from, to);
            sendto(raw.as_raw_fd(), &message, &here, MsgFlags::empty()).unwrap();
        };
        reject();
        for _ in 0..10 {
            assert!(one.receive().unwrap().is_none());
        }
        reject();
        assert_eq!(one.send(peer, b"hello", b"").unwrap(), Sent::Away, "{code}");
    }
    carries_frames_both_ways(&mut one, &mut other);
}

#[test]
fn what_udp_cannot_do_is_said() {
    let error = Udp::bind("127.0.0.1:0".parse().unwrap(), 70_000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a frame over UDP has 548 to 65507 bytes, and cannot have 70000"
    );
    let mut one = udp();
    let error = Udp::bind(one.address().to_string()[6..].parse().unwrap(), Udp::MTU);
    assert!(matches!(error, Err(TransportError::System { .. })));
    for foreign in ["shm://name", "udp://[::1]:7000"] {
        let error = one.peer(&foreign.parse().unwrap()).unwrap_err();
        assert!(matches!(error, TransportError::Foreign { .. }), "{error}");
    }
}
