//! Killed at any store to its log, a process leaves each record as it was, or as it was to be.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jitterlab_amvia::log::{Durability, Found, Log, Payload, Place, Record, Shape};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, TransactionId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const SHAPE: Shape = Shape {
    peers: 1,
    window: 2,
    payload: 200,
};

/// The place; sequence and state of the record, none where it is freed; byte and length of a new payload, if there is one.
type Change = (Place, Option<(u64, u8)>, Option<(u8, usize)>);

/// The lives of some transactions: a request, an acknowledgement, a reply that is longer or shorter, free or not.
fn changes() -> Vec<Change> {
    let mut changes = Vec::new();
    for round in 1..=3_u64 {
        for place in SHAPE.places() {
            let sequence = round * 10 + u64::from(place.slot);
            let byte = sequence as u8;
            let reply = 60 * round as usize;
            changes.push((place, Some((sequence, 1)), Some((byte, 150))));
            changes.push((place, Some((sequence, 2)), None));
            changes.push((place, Some((sequence, 3)), Some((byte + 100, reply))));
            if round != 2 {
                changes.push((place, None, None));
            }
        }
    }
    changes
}

fn record(sequence: u64, state: u8) -> Record {
    Record {
        peer: EndpointId(1),
        id: TransactionId {
            initiator: EndpointId(2),
            incarnation: Incarnation(3),
            sequence,
        },
        target: Incarnation(0),
        handler: 4,
        reply_handler: 5,
        state,
    }
}

/// Makes the changes; calls `store` after each store, and `ended` after each change.
fn work(log: &mut Log, store: impl Fn() + Clone + Send + 'static, mut ended: impl FnMut()) {
    log.watch(store.clone());
    for (place, state, payload) in changes() {
        if let Some((byte, length)) = payload {
            for piece in log.payload_mut(place)[..length].chunks_mut(48) {
                piece.fill(byte);
                store();
            }
        }
        let written = payload.map_or(Payload::Kept, |(_, length)| Payload::Written(length));
        match state {
            Some((sequence, state)) => log.commit(place, &record(sequence, state), written),
            None => log.free(place),
        }
        .unwrap();
        ended();
    }
}

/// What is at each place: a record and its payload, or nothing.
type Content = Vec<Option<(Record, Vec<u8>)>>;

fn content(log: &Log) -> Content {
    let records = log.records().map(|(place, found)| match found {
        Found::Empty => None,
        Found::Whole(record, payload) => Some((record, payload.to_vec())),
        Found::Torn => panic!("{place:?} is torn"),
    });
    records.collect()
}

/// What a log has to hold after so many changes, worked out without one.
fn expected(done: usize) -> Content {
    let places: Vec<Place> = SHAPE.places().collect();
    let mut content = vec![None; places.len()];
    for (place, state, payload) in changes().into_iter().take(done) {
        let at = places.iter().position(|&other| other == place).unwrap();
        let before = content[at].take();
        content[at] = state.map(|(sequence, state)| {
            let payload = match payload {
                Some((byte, length)) => vec![byte; length],
                None => before.map_or(Vec::new(), |(_, payload)| payload),
            };
            (record(sequence, state), payload)
        });
    }
    content
}

fn killed_at_every_store(test: &str, durability: Durability) {
    const AT: &str = "AMVIA_TEST_KILL_AT";
    const LOG: &str = "AMVIA_TEST_LOG";
    let stores = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&stores);
    // How many stores there have been, with this one.
    let count = move || counted.fetch_add(1, Ordering::Relaxed) + 1;
    if let (Ok(at), Some(path)) = (std::env::var(AT), std::env::var_os(LOG)) {
        let at: u64 = at.parse().unwrap();
        let mut log = Log::open(Path::new(&path), 2, SHAPE, durability).unwrap();
        let store = move || {
            if count() == at {
                kill(Pid::this(), Signal::SIGKILL).unwrap();
            }
        };
        return work(&mut log, store, || {});
    }

    // Memory outlives a process as a disk does, and is quicker.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("whole.log");
    let mut log = Log::open(&path, 2, SHAPE, durability).unwrap();
    // The stores there have been at the end of each change.
    let mut ends = Vec::new();
    let store = move || _ = count();
    work(&mut log, store, || {
        ends.push(stores.load(Ordering::Relaxed))
    });
    assert_eq!(content(&log), expected(ends.len()));

    let all = *ends.last().unwrap();
    let (mut old, mut new) = (0, 0);
    for at in 1..=all {
        let path = folder.path().join(format!("{at}.log"));
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(AT, at.to_string())
            .env(LOG, &path)
            .output()
            .unwrap();
        let signal = child.status.signal();
        assert_eq!(signal, Some(Signal::SIGKILL as i32), "{child:?}");

        let log = Log::open(&path, 2, SHAPE, durability).unwrap();
        assert_eq!(log.incarnation(), log.since() + 1);
        // The change within whose stores it was killed.
        let change = ends.partition_point(|&end| end < at);
        let found = content(&log);
        if found == expected(change) {
            old += 1;
        } else {
            assert_eq!(found, expected(change + 1), "store {at} of {all}");
            new += 1;
        }
        drop(log);
        std::fs::remove_file(path).unwrap();
    }
    println!(
        "{durability}: killed at each of {all} stores: {old} times the old record, {new} times the new one"
    );
    // Each change is seen from its commit word on.
    assert!(new >= ends.len() && old > new, "{old} and {new}");
}

#[test]
fn of_a_log_that_survives_the_process() {
    killed_at_every_store("of_a_log_that_survives_the_process", Durability::Process);
}

#[test]
fn of_a_log_that_survives_a_power_cut() {
    killed_at_every_store("of_a_log_that_survives_a_power_cut", Durability::Power);
}
