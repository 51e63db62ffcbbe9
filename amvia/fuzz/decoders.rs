//! The duties of each decoder with any bytes. A fuzzer finds the bytes, and a test replays those that it has found
//! (`amvia/tests/corpus.rs`).
//!
//! Bytes that nobody made with the right checksum or proof end at that. So the bytes are mended first: their checksums
//! and proofs are made right, and what is behind them is reached.

// Each program uses one of these.
#![allow(dead_code)]

use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use jitterlab_amvia::log::{Durability, Found, Log, Payload, Record, Shape};
use jitterlab_amvia::names::{Datagram, Exchange, Key, MESSAGE, Request, Server};
use jitterlab_amvia::transaction::{EndpointId, Incarnation, TransactionId};
use jitterlab_amvia::wire::{
    Head, Room, SEALED_HEAD, SHORT_HEAD, decode, decode_bare, decode_sealed, decode_short,
};

/// A frame is read as what it is written from, or refused.
pub fn wire(bytes: &[u8]) {
    frame(bytes);
    if bytes.len() >= SEALED_HEAD {
        let mut mended = bytes.to_vec();
        mended[4..8].fill(0);
        frame(&mended);
        // That before a short head is of what follows.
        let from = if mended[3] == 12 { 8 } else { 0 };
        let checksum = crc32c::crc32c(&mended[from..]);
        mended[4..8].copy_from_slice(&checksum.to_le_bytes());
        frame(&mended);
    }
}

fn frame(bytes: &[u8]) {
    if let Ok((head, payload)) = decode(bytes) {
        let written = [head.encode(payload).as_slice(), payload].concat();
        assert_eq!(written, bytes);
    }
    if let Ok((head, payload)) = decode_bare(bytes) {
        let [bare, whole] = [head.encode_bare(), head.encode(payload)];
        let head = if bytes[4..8] == [0; 4] { bare } else { whole };
        assert_eq!([head.as_slice(), payload].concat(), bytes);
    }
    if let Some(Ok((tag, body, payload))) = decode_short(bytes) {
        let from = EndpointId(1);
        let written = Head { tag, from, body }.encode_short();
        assert_eq!(
            written.as_ref().map(|head| &head[..]),
            Some(&bytes[..SHORT_HEAD])
        );
        assert_eq!(payload, &bytes[SHORT_HEAD..]);
    }
    if let Some(Ok((tag, body, payload))) = decode_sealed(bytes) {
        let from = EndpointId(1);
        let mut room = Room::default();
        let written = Head { tag, from, body }.encode_sealed(payload, &mut room);
        assert_eq!(written.map(|parts| parts.concat()), Some(bytes.to_vec()));
        assert_eq!(payload, &bytes[SEALED_HEAD..]);
    }
}

const SHAPE: Shape = Shape {
    peers: 1,
    window: 1,
    payload: 64,
};
const HEAD_OF_LOG: usize = 4096;
const SLOT: usize = 4 * 64;

/// A log is opened or refused; each of its slots can be read, and used again, whatever is in it. The first byte says what
/// of the rest is mended.
pub fn log(bytes: &[u8]) {
    let Some((&mend, bytes)) = bytes.split_first() else {
        return;
    };
    // A new log waits for the clock, so there is one, which is copied. Memory is the quickest disk.
    static NEW: OnceLock<Vec<u8>> = OnceLock::new();
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let path = folder.path().join("log");
    let open = || Log::open(&path, 1, SHAPE, Durability::Process);
    let new = NEW.get_or_init(|| {
        drop(open().expect("a new log"));
        std::fs::read(&path).expect("the new log")
    });
    let mut file = new.clone();
    let (head, slots) = bytes.split_at(bytes.len().min(96));
    if mend & 1 == 0 {
        file[..head.len()].copy_from_slice(head);
    }
    // The table of peers lies behind the slots.
    let length = slots.len().min(file.len() - HEAD_OF_LOG);
    file[HEAD_OF_LOG..][..length].copy_from_slice(&slots[..length]);
    if mend & 2 != 0 {
        for slot in file[HEAD_OF_LOG..].chunks_exact_mut(SLOT) {
            mend_slot(slot);
        }
    }
    let mut writable = OpenOptions::new();
    let writable = writable.create(true).write(true).mode(0o600).open(&path);
    let written = writable.and_then(|mut log| log.write_all(&file));
    written.expect("the log can be written");

    let Ok(mut log) = open() else {
        return;
    };
    let record = Record {
        peer: EndpointId(1),
        id: TransactionId {
            initiator: EndpointId(2),
            incarnation: Incarnation(3),
            sequence: 4,
        },
        target: Incarnation(5),
        handler: 6,
        reply_handler: 7,
        state: 8,
    };
    for place in SHAPE.places() {
        let before = owned(log.record(place));
        log.payload_mut(place).fill(b'x');
        assert_eq!(
            owned(log.record(place)),
            before,
            "written and not committed"
        );
        log.commit(place, &record, Payload::Written(64))
            .expect("room");
        assert_eq!(log.record(place), Found::Whole(record, &[b'x'; 64]));
        log.free(place).expect("memory");
        assert_eq!(log.record(place), Found::Empty);
    }
    let _ = log.peer(0);
    if log.forget(0).is_err() {
        // The number of its last life has been reached.
        return;
    }
    assert_eq!(log.peer(0).expect("an entry"), None);
    log.take_in(0, EndpointId(1)).expect("memory");
    let known = log.peer(0).expect("an entry").expect("a peer");
    assert_eq!(known.peer, EndpointId(1));
}

/// Whether a place is torn, and its record and payload.
fn owned(found: Found<'_>) -> (bool, Option<(Record, Vec<u8>)>) {
    match found {
        Found::Empty => (false, None),
        Found::Torn => (true, None),
        Found::Whole(record, payload) => (false, Some((record, payload.to_vec()))),
    }
}

/// Makes the commit words those of versions 2 and 1, and the checksums of both halves and their payloads right.
fn mend_slot(slot: &mut [u8]) {
    let (halves, areas) = slot.split_at_mut(2 * 64);
    for (half, version) in halves.chunks_mut(64).zip([2_u32, 1]) {
        half[..4].copy_from_slice(&version.to_ne_bytes());
        half[4..8].copy_from_slice(&(!version).to_ne_bytes());
        let length = u32::from_ne_bytes([half[40], half[41], half[42], half[43]]) as usize;
        let area = &areas[usize::from(half[53] & 1) * 64..][..64];
        if let Some(payload) = area.get(..length) {
            half[44..48].copy_from_slice(&crc32c::crc32c(payload).to_ne_bytes());
        }
        half[48..52].fill(0);
        let checksum = crc32c::crc32c(half);
        half[48..52].copy_from_slice(&checksum.to_ne_bytes());
    }
}

const KEY: [u8; 32] = [7; 32];
const PROVED: usize = MESSAGE - 32;

/// A server and a client take any messages. Each 225 bytes are a message, by whom, and when.
pub fn names(bytes: &[u8]) {
    let key = Key::new(&KEY);
    let mut server = Server::new(key.clone(), &[1; 32], 4);
    let from: SocketAddr = ([10, 0, 0, 1], 1).into();
    let mut now = Duration::ZERO;
    for piece in bytes.chunks(PROVED + 1) {
        let (&how, content) = piece.split_last().expect("no piece is empty");
        now += Duration::from_secs(u64::from(how >> 2));
        let mut message = [0; MESSAGE];
        message[..content.len()].copy_from_slice(content);
        // The message is as it came: with no proof.
        assert_eq!(server.answer(now, from, content), None);
        assert_eq!(server.answer(now, from, &message), None);
        if how & 1 == 0 {
            challenge(&mut server, now, from, &mut message);
        }
        prove(&mut message);
        let answer = server.answer(now, from, &message);

        let nonce = message[8..24].try_into().expect("16 bytes");
        let request = Request::Next(None);
        let mut exchange = Exchange::new(&key, &request, nonce);
        if how & 2 == 0 {
            let hello = server.answer(now, from, &exchange.message());
            exchange.receive(&hello.expect("a challenge"));
        }
        exchange.receive(&message);
        if let Some(answer) = answer {
            exchange.receive(&answer);
        }
    }
}

/// Gives a message a challenge for its nonce.
fn challenge(server: &mut Server, now: Duration, from: SocketAddr, message: &mut Datagram) {
    let nonce = message[8..24].try_into().expect("16 bytes");
    let key = Key::new(&KEY);
    let hello = Exchange::new(&key, &Request::Next(None), nonce).message();
    let answer = server.answer(now, from, &hello).expect("a challenge");
    message[24..44].copy_from_slice(&answer[24..44]);
}

fn prove(message: &mut Datagram) {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&KEY).expect("any length is a key");
    mac.update(&message[..PROVED]);
    message[PROVED..].copy_from_slice(&mac.finalize().into_bytes());
}
