//! A power cut while a log that survives one is written: whatever sectors have come to the disk, each record is the old one
//! or the new one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use jitterlab_amvia::log::{Durability, Found, Log, Payload, Place, Pool, Record, Shape};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, TransactionId};

const SHAPE: Shape = Shape {
    peers: 1,
    window: 1,
    payload: 1024,
};
const PLACE: Place = Place {
    pool: Pool::Send,
    peer: 0,
    slot: 0,
};
/// What a disk writes whole, or not at all.
const SECTOR: usize = 512;
/// Stores of a commit beside the payload.
const STORES: usize = 8;

fn record(sequence: u64) -> Record {
    Record {
        peer: EndpointId(1),
        id: TransactionId {
            initiator: EndpointId(2),
            incarnation: Incarnation(3),
            sequence,
        },
        target: Incarnation(4),
        handler: 5,
        reply_handler: 6,
        state: 7,
    }
}

type Content = Option<(Record, Vec<u8>)>;

fn content(log: &Log) -> Content {
    match log.record(PLACE) {
        Found::Empty => None,
        Found::Whole(record, payload) => Some((record, payload.to_vec())),
        Found::Torn => panic!("torn"),
    }
}

/// The images of a disk that held `durable` and was to hold `now`: each sector may have come there, or not.
fn images(durable: &[u8], now: &[u8]) -> Vec<Vec<u8>> {
    let sectors = durable.chunks(SECTOR).zip(now.chunks(SECTOR)).enumerate();
    let differ = sectors.filter(|(_, (old, new))| old != new);
    let differ: Vec<usize> = differ.map(|(sector, _)| sector * SECTOR).collect();
    let image = |written: usize| {
        let mut image = durable.to_vec();
        for (bit, &at) in differ.iter().enumerate() {
            if written >> bit & 1 == 1 {
                image[at..at + SECTOR].copy_from_slice(&now[at..at + SECTOR]);
            }
        }
        image
    };
    (0..1 << differ.len()).map(image).collect()
}

/// What a log holds that begins with this image.
fn after_the_cut(folder: &Path, image: &[u8]) -> Content {
    let path = folder.join("cut.log");
    fs::write(&path, image).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    content(&Log::open(&path, 2, SHAPE, Durability::Process).unwrap())
}

#[test]
fn each_record_is_the_old_one_or_the_new_one() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("a.log");
    let mut log = Log::open(&path, 2, SHAPE, Durability::Power).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (look_at, into) = (path.clone(), Arc::clone(&seen));
    let look = move || into.lock().unwrap().push(fs::read(&look_at).unwrap());
    log.watch(look.clone());

    let (mut tried, mut old, mut new) = (0, 0, 0);
    for sequence in 1..=9_u64 {
        // A request, its acknowledgement, and its reply, after which the slot is freed.
        let length = match sequence % 3 {
            1 => Some(1024),
            2 => None,
            _ => Some(300),
        };
        let before = content(&log);
        let mut durable = fs::read(&path).unwrap();
        seen.lock().unwrap().clear();
        if let Some(length) = length {
            for piece in log.payload_mut(PLACE)[..length].chunks_mut(400) {
                piece.fill(sequence as u8);
                look();
            }
        }
        let pieces = seen.lock().unwrap().len();
        let written = length.map_or(Payload::Kept, Payload::Written);
        log.commit(PLACE, &record(sequence), written).unwrap();
        let after = content(&log);

        // Looked at after each store, and before each wait for the disk: the payload's, and the record's.
        let moments = std::mem::take(&mut *seen.lock().unwrap());
        let waits = match length {
            Some(_) => vec![pieces, pieces + 1 + STORES],
            None => vec![STORES],
        };
        assert_eq!(moments.len(), waits.last().unwrap() + 1);
        for (moment, now) in moments.iter().enumerate() {
            for image in images(&durable, now) {
                let found = after_the_cut(folder.path(), &image);
                tried += 1;
                if found == before {
                    old += 1;
                } else {
                    assert_eq!(found, after, "change {sequence}, moment {moment}");
                    new += 1;
                }
            }
            if waits.contains(&moment) {
                durable = now.clone();
            }
        }
        assert_eq!(after_the_cut(folder.path(), &durable), after);
        if sequence % 3 == 0 {
            log.free(PLACE).unwrap();
        }
    }
    println!("{tried} power cuts: {old} times the old record, {new} times the new one");
    assert!(old > 0 && new > 0);
}
