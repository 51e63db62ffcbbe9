//! The log keeps what was committed, says what it cannot keep, and stays as large as it was made.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use jitterlab_amvia::log::{
    Durability, Found, Known, Log, LogError, Payload, Place, Pool, Record, Shape, set_aside,
};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, TransactionId};
use jitterlab_skip::{is_root, skip};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

const ENDPOINT: u64 = 0x1234_5678_9abc_def0;
const SHAPE: Shape = Shape {
    peers: 2,
    window: 4,
    payload: 100,
};
const PLACE: Place = Place {
    pool: Pool::Receive,
    peer: 1,
    slot: 2,
};

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs").join("a.log");
    (folder, path)
}

fn open(path: &Path) -> Result<Log, LogError> {
    Log::open(path, ENDPOINT, SHAPE, Durability::Process)
}

fn record(sequence: u64) -> Record {
    Record {
        peer: EndpointId(7),
        id: TransactionId {
            initiator: EndpointId(ENDPOINT),
            incarnation: Incarnation(3),
            sequence,
        },
        target: Incarnation(2),
        handler: 9,
        reply_handler: 10,
        state: 1,
    }
}

/// Writes a payload of one byte, so many times, and commits it.
fn commit(log: &mut Log, place: Place, sequence: u64, byte: u8, length: usize) {
    log.payload_mut(place)[..length].fill(byte);
    log.commit(place, &record(sequence), Payload::Written(length))
        .unwrap();
}

/// The message of an opening that has to fail, and to leave the file as it is.
fn refused(path: &Path) -> String {
    let before = fs::read(path).unwrap();
    let error = open(path).err().expect("refused").to_string();
    assert!(fs::read(path).unwrap() == before, "{error}");
    error.replace(&path.display().to_string(), "PATH")
}

#[test]
fn what_was_committed_is_there_after_the_next_opening() {
    for durability in [Durability::Process, Durability::Power] {
        let (_folder, path) = folder();
        let mut log = Log::open(&path, ENDPOINT, SHAPE, durability).unwrap();
        let first = log.incarnation();
        assert_eq!(log.since(), first);
        commit(&mut log, PLACE, 5, b'x', 100);
        let done = Record {
            state: 2,
            ..record(5)
        };
        log.commit(PLACE, &done, Payload::Kept).unwrap();
        // Written and not committed.
        log.payload_mut(PLACE).fill(b'y');
        let other = Place { slot: 0, ..PLACE };
        commit(&mut log, other, 6, b'z', 1);
        log.free(other).unwrap();
        drop(log);

        let mut log = Log::open(&path, ENDPOINT, SHAPE, durability).unwrap();
        assert_eq!((log.incarnation(), log.since()), (first + 1, first));
        assert_eq!(log.records().count(), 16);
        for (place, found) in log.records() {
            match place == PLACE {
                true => assert_eq!(found, Found::Whole(done, &[b'x'; 100])),
                false => assert_eq!(found, Found::Empty, "{place:?}"),
            }
        }
        assert_eq!(log.renew().unwrap(), first + 2);
        drop(log);
        let log = Log::open(&path, ENDPOINT, SHAPE, durability).unwrap();
        assert_eq!((log.incarnation(), log.since()), (first + 3, first + 2));
    }
}

#[test]
fn a_log_in_memory_is_used_alike_and_each_life_has_a_later_incarnation() {
    let nowhere = Path::new("/nowhere/a.log");
    let open = || Log::open(nowhere, ENDPOINT, SHAPE, Durability::None).unwrap();
    let mut log = open();
    commit(&mut log, PLACE, 5, b'x', 3);
    assert_eq!(log.record(PLACE), Found::Whole(record(5), b"xxx"));
    let next = open();
    assert!(next.incarnation() > log.incarnation());
    assert!(next.records().all(|(_, found)| found == Found::Empty));
    assert!(!nowhere.exists());
}

/// Whatever store a process is killed at that takes peers in and lets one go: each is remembered as it was told, or its number
/// is free and the log begins anew for it.
#[test]
fn a_peer_is_remembered_as_it_was_told_or_not_at_all() {
    let one = |number| Known {
        peer: EndpointId(u64::from(number) + 7),
        since: Incarnation(0),
    };
    for durability in [Durability::Process, Durability::Power] {
        let (folder, path) = folder();
        let mut log = Log::open(&path, ENDPOINT, SHAPE, durability).unwrap();
        let first = Incarnation(log.since());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (from, into) = (path.clone(), Arc::clone(&seen));
        log.watch(move || into.lock().unwrap().push(fs::read(&from).unwrap()));
        for number in 0..2 {
            log.take_in(number, one(number).peer).unwrap();
        }
        for number in 0..2 {
            for slot in 0..4 {
                let place = Place {
                    pool: Pool::Send,
                    peer: number,
                    slot,
                };
                commit(&mut log, place, 4 + u64::from(slot), b'x', 100);
            }
        }
        let begun = seen.lock().unwrap().len();
        log.forget(1).unwrap();
        let last = log.since();
        log.take_in(1, one(2).peer).unwrap();

        let copy = folder.path().join("copy.log");
        drop(Log::open(&copy, ENDPOINT, SHAPE, durability).unwrap());
        let mut free = 0;
        for (store, bytes) in seen.lock().unwrap().iter().enumerate() {
            fs::write(&copy, bytes).unwrap();
            let log = open(&copy).unwrap();
            let known = |number| log.peer(number).unwrap();
            let since = |since| move |known: Known| Known { since, ..known };
            let records = |number| {
                let places = log.records().filter(|(place, _)| place.peer == number);
                places.filter(|(_, found)| *found != Found::Empty).count()
            };
            if store < begun {
                continue;
            }
            assert_eq!(known(0), Some(since(first)(one(0))));
            assert_eq!(records(0), 4);
            match known(1) {
                Some(known) if known.peer == one(1).peer => {
                    assert_eq!((known.since, records(1)), (first, 4));
                }
                Some(known) => {
                    assert_eq!(known, since(Incarnation(last))(one(2)));
                    assert_eq!(records(1), 0);
                }
                None => {
                    free += 1;
                    assert!(Incarnation(log.since()) > first);
                }
            }
        }
        assert!(free > 4, "{free}");
    }
}

#[test]
fn a_bit_that_has_flipped_in_the_table_of_peers_is_an_error() {
    let (_folder, path) = folder();
    let mut log = open(&path).unwrap();
    log.take_in(1, EndpointId(7)).unwrap();
    drop(log);
    let whole = fs::read(&path).unwrap();
    for bit in (whole.len() - 16) * 8..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        let log = open(&path).unwrap();
        assert_eq!(log.peer(0).unwrap(), None);
        let error = log.peer(1).unwrap_err().to_string();
        assert!(error.contains("is damaged where it has peer 1"), "{error}");
    }
}

#[test]
fn only_its_user_can_read_it() {
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let message = refused(&path);
    assert!(message.starts_with("log PATH has mode 640"), "{message}");
}

#[test]
fn two_never_share_one() {
    let (_folder, path) = folder();
    let first = open(&path).unwrap();
    let error = open(&path).err().unwrap();
    assert!(matches!(error, LogError::Busy { .. }), "{error}");
    let error = set_aside(&path).unwrap_err();
    assert!(matches!(error, LogError::Busy { .. }), "{error}");
    drop(first);
    open(&path).unwrap();
}

#[test]
fn what_is_no_log_of_ours_is_refused_and_left_as_it_is() {
    let (_folder, path) = folder();
    let mut log = open(&path).unwrap();
    commit(&mut log, PLACE, 5, b'x', 100);
    drop(log);
    let whole = fs::read(&path).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        refused(&path)
    };
    let damaged = "the head of log PATH is damaged; set it aside to begin a new one";
    let foreign = "PATH is not a log of active messages; name another file";
    let cut = with(&|bytes| bytes.truncate(5_000));
    assert!(
        cut.starts_with("log PATH has 5000 bytes, but its head says "),
        "{cut}"
    );
    for version in [1, 9] {
        let other = with(&|bytes| bytes[8] = version);
        let means = format!("log PATH has format {version}, and this jitterlab reads format 2");
        assert!(other.starts_with(&means), "{other}");
    }
    assert_eq!(with(&|bytes| bytes.truncate(10)), damaged);
    assert_eq!(with(&|bytes| bytes[12] ^= 1), damaged);
    assert_eq!(
        with(&|bytes| bytes[..9].copy_from_slice(b"#!/bin/sh")),
        foreign
    );
    assert_eq!(with(&Vec::clear), foreign);

    fs::write(&path, &whole).unwrap();
    let open_as = |endpoint, shape| {
        let opened = Log::open(&path, endpoint, shape, Durability::Process);
        opened.err().unwrap()
    };
    let error = open_as(1, SHAPE);
    assert!(matches!(error, LogError::OtherEndpoint { .. }), "{error}");
    let error = open_as(ENDPOINT, Shape { peers: 3, ..SHAPE });
    assert!(matches!(error, LogError::OtherShape { .. }), "{error}");
    let error = open_as(
        ENDPOINT,
        Shape {
            window: 65,
            ..SHAPE
        },
    );
    assert!(matches!(error, LogError::Shape { .. }), "{error}");
    open(&path).unwrap();
}

#[test]
fn a_log_is_set_aside_where_that_is_asked() {
    let (_folder, path) = folder();
    for number in 1..=2 {
        let mut log = open(&path).unwrap();
        commit(&mut log, PLACE, number, b'x', 100);
        drop(log);
        let aside = set_aside(&path).unwrap();
        let name = format!("{}.aside-{number}", path.display());
        assert_eq!(aside, PathBuf::from(name));
        assert!(!path.exists());
        let log = open(&aside).unwrap();
        assert_eq!(
            log.record(PLACE),
            Found::Whole(record(number), &[b'x'; 100])
        );
    }
    let error = set_aside(&path).unwrap_err().to_string();
    assert!(error.starts_with("cannot set aside log "), "{error}");
}

#[test]
fn a_payload_that_is_too_long_is_refused_and_changes_nothing() {
    let mut log = Log::in_memory(ENDPOINT, SHAPE, 1).unwrap();
    commit(&mut log, PLACE, 5, b'x', 3);
    let error = log.commit(PLACE, &record(6), Payload::Written(101));
    assert!(matches!(error, Err(LogError::TooLong { .. })));
    assert_eq!(log.record(PLACE), Found::Whole(record(5), b"xxx"));
}

#[test]
fn a_million_commits_leave_it_as_large_as_it_was() {
    let (_folder, path) = folder();
    let mut log = open(&path).unwrap();
    let room = || {
        let found = fs::metadata(&path).unwrap();
        (found.len(), found.blocks())
    };
    let before = room();
    assert_eq!(before.0, SHAPE.bytes() as u64);
    for sequence in 0..1_000_000_u64 {
        let slot = (sequence % 4) as u32;
        let place = Place { slot, ..PLACE };
        commit(&mut log, place, sequence, sequence as u8, 100);
    }
    assert_eq!(room(), before);
    drop(log);
    let log = open(&path).unwrap();
    let last = Place { slot: 3, ..PLACE };
    assert_eq!(log.record(last), Found::Whole(record(999_999), &[63; 100]));
}

/// The thesis, section 3.4.1: AMVIA's pools grow with the peers. AMUDP's is the shape of one. A peer takes an entry of 16 bytes
/// besides.
#[test]
fn a_peer_takes_two_slots_for_each_of_its_window() {
    let slot = 2 * 64 + 2 * 1024;
    for peers in [1, 2, 1_000] {
        let shape = Shape {
            peers,
            window: 8,
            payload: 1024,
        };
        assert_eq!(shape.bytes(), 4096 + peers as usize * (2 * 8 * slot + 16));
    }
}

/// Every bit of a slot that has seen some commits: what is read with it turned is what was there, or torn.
#[test]
fn a_bit_that_has_flipped_is_never_read_as_another_record() {
    let small = Shape {
        peers: 1,
        window: 1,
        payload: 64,
    };
    let place = Place {
        pool: Pool::Send,
        peer: 0,
        slot: 0,
    };
    let open = |path: &Path| Log::open(path, ENDPOINT, small, Durability::Process).unwrap();
    for commits in 0..5_u64 {
        let (_folder, path) = folder();
        let mut log = open(&path);
        for sequence in 1..=commits {
            commit(&mut log, place, sequence, sequence as u8, 40);
        }
        drop(log);
        let payload = [commits as u8; 40];
        let was = match commits {
            0 => Found::Empty,
            _ => Found::Whole(record(commits), &payload),
        };
        let whole = fs::read(&path).unwrap();
        let mut torn = 0;
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        for bit in 4096 * 8..(4096 + 4 * 64) * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            file.write_all_at(&bytes, 0).unwrap();
            let mut log = open(&path);
            match log.record(place) {
                Found::Torn => {
                    torn += 1;
                    // It can be used again.
                    commit(&mut log, place, 77, b'n', 64);
                    assert_eq!(log.record(place), Found::Whole(record(77), &[b'n'; 64]));
                }
                found => assert_eq!(found, was, "{commits} commits, bit {bit}"),
            }
        }
        // Both commit words; and the half that holds with its payload.
        let covered = match commits {
            0 => 8 + 8,
            _ => 8 + 64 + 40,
        };
        assert_eq!(torn, covered * 8, "{commits} commits");
    }
}

#[test]
fn a_bit_that_has_flipped_in_the_head_is_an_error() {
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    for bit in (0..36 * 8).chain(64 * 8..80 * 8) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        refused(&path);
    }
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    // A new log waits for the clock: there is one, which is written over.
    let (_folder, path) = folder();
    drop(open(&path).unwrap());
    let new = fs::read(&path).unwrap();
    let slots = proptest::collection::vec(any::<u8>(), SHAPE.bytes() - 4096);
    let any_log = (0..81_usize, any::<[u8; 80]>(), slots);
    let read = |(keep, head, slots): (usize, [u8; 80], Vec<u8>)| {
        let mut bytes = new.clone();
        bytes[keep..80].copy_from_slice(&head[keep..]);
        bytes[4096..].copy_from_slice(&slots);
        fs::write(&path, &bytes).unwrap();
        let opened = open(&path);
        prop_assert_eq!(opened.is_ok(), keep == 80);
        if let Ok(mut log) = opened {
            prop_assert!(log.records().all(|(_, found)| found == Found::Torn));
            for place in SHAPE.places() {
                commit(&mut log, place, 1, b'x', 100);
                prop_assert_eq!(log.record(place), Found::Whole(record(1), &[b'x'; 100]));
            }
        }
        Ok(())
    };
    TestRunner::default().run(&any_log, read).unwrap();
}

/// In a process of its own, in a namespace of its own, where a disk of 64 KiB is mounted.
#[test]
fn a_full_disk_is_an_error() {
    const DISK: &str = "AMVIA_TEST_DISK";
    if let Some(disk) = std::env::var_os(DISK) {
        return on_a_small_disk(Path::new(&disk));
    }
    if !is_root("mount a small disk") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(
            "mount -t tmpfs -o size=64k none \"$AMVIA_TEST_DISK\" || exit 77
            exec \"$0\" --exact a_full_disk_is_an_error --nocapture",
        )
        .arg(std::env::current_exe().unwrap())
        .env(DISK, folder.path())
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        return skip("no disk can be mounted here");
    }
    assert!(output.status.success(), "{output:?}");
}

fn on_a_small_disk(disk: &Path) {
    let large = Shape {
        peers: 8,
        window: 32,
        payload: 1024,
    };
    let open_large = |path: &Path| Log::open(path, ENDPOINT, large, Durability::Process);
    let path = disk.join("a.log");
    let error = open_large(&path).err().unwrap();
    assert!(matches!(error, LogError::NoRoom { .. }), "{error}");
    assert_eq!(fs::read_dir(disk).unwrap().count(), 0, "something is left");

    // A copy with holes fits until it is written to.
    let (_folder, elsewhere) = folder();
    drop(open_large(&elsewhere).unwrap());
    let mut copy = Command::new("cp");
    copy.arg("--sparse=always").arg(&elsewhere).arg(&path);
    assert!(copy.status().unwrap().success());
    let error = open_large(&path).err().unwrap();
    assert!(matches!(error, LogError::NoRoom { .. }), "{error}");

    fs::remove_file(&path).unwrap();
    let mut log = open(&path).unwrap();
    commit(&mut log, PLACE, 5, b'x', 100);
    assert_eq!(log.record(PLACE), Found::Whole(record(5), &[b'x'; 100]));
}
