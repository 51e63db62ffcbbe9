//! Frames over an RDMA device: the one of this machine, or one that is not there
//! (`injector/preload/tests/fixtures/mock_rdma.c`), which a library in the place of libibverbs plays.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use jitterlab_amvia::transport::{Arrived, Sent, Transport, TransportError, Verbs};
use jitterlab_skip::skip;
use jitterlab_verbs::{Adapter, Error};

/// Long enough for any machine, short enough for a test that has to fail.
const PATIENCE: Duration = Duration::from_secs(20);
/// Set for a process that has the device that is not there.
const PLAYS: &str = "TEST_PLAYS";

fn bind(address: &str) -> Result<Verbs, TransportError> {
    Verbs::bind(address.parse().unwrap(), Adapter::default(), Verbs::MTU)
}

fn next(at: &mut Verbs) -> Arrived {
    for _ in 0..200 {
        if let Some(arrived) = at.receive().unwrap() {
            return arrived;
        }
        at.wait(PATIENCE / 200).unwrap();
    }
    panic!("nothing came to {} in {PATIENCE:?}", at.address());
}

/// Sends a frame to an address as soon as somebody is there, and has room for it.
fn send(from: &mut Verbs, to: &Verbs, head: &[u8], payload: &[u8]) {
    let to = from.peer(&to.address()).unwrap();
    for _ in 0..PATIENCE.as_millis() {
        if from.send(to, head, payload).unwrap() == Sent::Sent {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nobody is reached at {to:?}");
}

/// What is tried over a device.
fn frames_are_carried() {
    let (mut one, mut other) = (bind("127.0.0.1:0").unwrap(), bind("127.0.0.1:0").unwrap());
    send(&mut one, &other, b"first", b"");
    let first = next(&mut other);
    assert_eq!(*first.frame, *b"first");
    for round in 0..300_usize {
        let payload = vec![round as u8; (round * 37) % (one.mtu() - 3)];
        send(&mut one, &other, b"ask", &payload);
        let arrived = next(&mut other);
        assert_eq!(*arrived.frame, [&b"ask"[..], &payload].concat());
        assert_eq!(
            other.send(arrived.from, &arrived.frame, b"").unwrap(),
            Sent::Sent
        );
        other.recycle(arrived.frame);
        let answer = next(&mut one);
        assert_eq!(answer.frame.len(), 3 + payload.len());
        one.recycle(answer.frame);
    }
    // It was kept all the time.
    assert_eq!(*first.frame, *b"first");

    // An end that goes and comes back at its address is found again.
    let address = other.address();
    drop((first, other));
    let mut other = bind(&address.to_string()["verbs://".len()..]).unwrap();
    let to = one.peer(&address).unwrap();
    let came = (0..PATIENCE.as_millis()).find_map(|_| {
        let _ = one.send(to, b"again", b"").unwrap();
        let _ = one.receive().unwrap();
        other.wait(Duration::from_millis(1)).unwrap();
        other.receive().unwrap()
    });
    assert_eq!(*came.unwrap().frame, *b"again");

    let error = one.send(to, &vec![0; Verbs::MTU + 1], b"").unwrap_err();
    assert!(matches!(error, TransportError::TooLong { .. }), "{error}");
    let error = one.peer(&"udp://127.0.0.1:7".parse().unwrap()).unwrap_err();
    assert!(matches!(error, TransportError::Foreign { .. }), "{error}");
}

/// Each stranger gets a connection. Those of a peer and of the last strangers are kept.
fn strangers_take_bounded_memory() {
    let (mut server, mut peer) = (bind("127.0.0.1:0").unwrap(), bind("127.0.0.1:0").unwrap());
    send(&mut peer, &server, b"peer", b"");
    let known = next(&mut server).from;
    server.know(known, true);
    // The device that is not there has one for each connection.
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let mut comes = |address: &str| {
        let mut stranger = bind(address).unwrap();
        send(&mut stranger, &server, b"stranger", b"");
        assert_eq!(*next(&mut server).frame, *b"stranger");
        stranger.address().to_string()["verbs://".len()..].to_owned()
    };
    let all = (0..3 * Verbs::STRANGERS).map(|_| comes("127.0.0.1:0"));
    let last = all.last().unwrap();
    // It comes back at its address, and has two connections there.
    comes(&last);
    let begun = Instant::now();
    while descriptors() > before + Verbs::STRANGERS {
        assert!(begun.elapsed() < PATIENCE, "{} descriptors", descriptors());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(server.send(known, b"still here", b"").unwrap(), Sent::Sent);
    assert_eq!(*next(&mut peer).frame, *b"still here");
}

#[test]
fn frames_are_carried_by_the_device_of_this_machine() {
    match bind("127.0.0.1:0") {
        Err(TransportError::Verbs(error)) => skip(error),
        Err(error) => panic!("{error}"),
        Ok(_) => frames_are_carried(),
    }
}

/// This test is also the program that has the device.
#[test]
fn frames_are_carried_by_a_device_that_is_not_there() {
    if std::env::var_os(PLAYS).is_some() {
        frames_are_carried();
        return strangers_take_bounded_memory();
    }
    let directory = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../injector/preload/tests/fixtures/mock_rdma.c");
    let compiled = Command::new("cc")
        .args(["-D_GNU_SOURCE", "-shared", "-fPIC", "-o"])
        .arg(directory.path().join("libibverbs.so.1"))
        .arg(source)
        .output();
    if !compiled.is_ok_and(|compiled| compiled.status.success()) {
        return skip("a C compiler and libibverbs-dev are needed");
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "frames_are_carried_by_a_device_that_is_not_there",
            "--nocapture",
        ])
        .env("LD_LIBRARY_PATH", directory.path())
        .env(PLAYS, "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn what_verbs_cannot_do_is_said() {
    let address = "127.0.0.1:0".parse().unwrap();
    let error = Verbs::bind(address, Adapter::default(), 1 << 20)
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "a frame over verbs has 548 to 65536 bytes, and cannot have 1048576"
    );
    let adapter = Adapter {
        device: Some("nothing0".into()),
        ..Adapter::default()
    };
    let error = Verbs::bind(address, adapter, Verbs::MTU).err().unwrap();
    let TransportError::Verbs(error) = error else {
        panic!("{error}");
    };
    assert!(
        matches!(
            error,
            Error::NoLibrary | Error::NoDevice | Error::NoSuchDevice { .. }
        ),
        "{error}"
    );
}
