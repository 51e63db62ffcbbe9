//! Rings between ends of one process, through their public door.

use std::path::Path;

use jitterlab_base::page::PageError;
use jitterlab_base::ring::{Consumer, Frame, Producer, Put, Ring};
use proptest::prelude::*;

const LINES: usize = 16;
const LONGEST: usize = Ring::<LINES>::LONGEST;

fn pair(directory: &Path) -> (Producer<LINES>, Consumer<LINES>) {
    let path = directory.join("ring");
    let producer = Producer::make(&path, 5, 7).unwrap();
    (producer, Consumer::attach(&path).unwrap())
}

#[derive(Debug, Clone)]
enum Step {
    Put(usize),
    Pop,
    Take,
    /// Drops the kept frame at this place among those that are kept.
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..=LONGEST).prop_map(Step::Put),
        3 => (0..60usize).prop_map(Step::Put),
        2 => Just(Step::Pop),
        3 => Just(Step::Take),
        3 => (0..8usize).prop_map(Step::Drop),
    ]
}

fn content(number: u8, length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| number.wrapping_add(at as u8))
        .collect()
}

proptest! {
    /// Whatever is put, taken, kept and dropped in whatever order: what comes out is what went in, and what is kept stays.
    #[test]
    fn a_ring_is_a_queue(steps in proptest::collection::vec(steps(), 1..200)) {
        let directory = tempfile::tempdir().unwrap();
        let (mut producer, mut consumer) = pair(directory.path());
        let mut expected = std::collections::VecDeque::new();
        let mut kept: Vec<(Frame<LINES>, Vec<u8>)> = Vec::new();
        let mut number = 0;
        for step in steps {
            match step {
                Step::Put(length) => {
                    number += 1;
                    let frame = content(number, length);
                    let (head, payload) = frame.split_at(length / 3);
                    match producer.put(head, payload) {
                        Put::Done => expected.push_back(frame),
                        Put::Full => prop_assert!(!(expected.is_empty() && kept.is_empty())),
                        Put::Closed => prop_assert!(false, "nobody closed it"),
                    }
                }
                Step::Pop => {
                    prop_assert_eq!(consumer.front().unwrap(), expected.front().map(|f| &f[..]));
                    expected.pop_front();
                    consumer.pop().unwrap();
                }
                Step::Take => {
                    let frame = consumer.take().unwrap();
                    prop_assert_eq!(frame.as_deref(), expected.front().map(|f| &f[..]));
                    kept.extend(frame.zip(expected.pop_front()));
                }
                Step::Drop(at) if at < kept.len() => drop(kept.swap_remove(at)),
                Step::Drop(_) => {}
            }
            consumer.free().unwrap();
            for (frame, content) in &kept {
                prop_assert_eq!(&**frame, &content[..]);
            }
        }
    }
}

#[test]
fn the_longest_frame_fits_wherever_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    let (mut producer, mut consumer) = pair(directory.path());
    for round in 0..100_u8 {
        assert_eq!(producer.put(&[round], &[]), Put::Done);
        assert_eq!(consumer.front().unwrap(), Some(&[round][..]));
        consumer.pop().unwrap();
        let long = vec![round; LONGEST];
        assert_eq!(producer.put(&[], &long), Put::Done, "round {round}");
        assert_eq!(consumer.front().unwrap(), Some(&long[..]));
        consumer.pop().unwrap();
    }
}

#[test]
fn a_full_ring_takes_nothing_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (mut producer, mut consumer) = pair(directory.path());
    let mut sent = 0_u8;
    while producer.put(&[sent], &[]) == Put::Done {
        sent += 1;
    }
    assert_eq!(usize::from(sent), LINES - 1);
    for number in 0..sent {
        assert_eq!(consumer.front().unwrap(), Some(&[number][..]));
        consumer.pop().unwrap();
    }
    assert_eq!(consumer.front().unwrap(), None);
    assert_eq!(producer.put(b"again", &[]), Put::Done);
}

#[test]
fn a_closed_ring_is_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let (mut producer, mut consumer) = pair(directory.path());
    assert_eq!(producer.put(b"last", b" words"), Put::Done);
    consumer.ring().close();
    assert_eq!(producer.put(b"more", b""), Put::Closed);
    assert_eq!(consumer.front().unwrap(), Some(&b"last words"[..]));
    consumer.pop().unwrap();
    assert_eq!(consumer.front().unwrap(), None);
}

#[test]
fn a_ring_says_whose_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ring");
    let producer: Producer<LINES> = Producer::make(&path, 5, 7).unwrap();
    assert_eq!(
        (producer.ring().producer(), producer.ring().meant_for()),
        (5, 7)
    );
    assert_eq!(producer.ring().consumer().pid, 0);
    let consumer: Consumer<LINES> = Consumer::attach(&path).unwrap();
    assert_eq!(producer.ring().consumer().pid, std::process::id());
    assert_eq!(
        consumer.ring().uid().unwrap(),
        nix::unistd::geteuid().as_raw()
    );
}

#[test]
fn another_file_is_no_ring() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ring");
    let not_a_ring = |path: &Path| {
        let error = Consumer::<LINES>::attach(path).err().unwrap();
        assert!(matches!(error, PageError::NotAPage { .. }), "{error}");
    };
    std::fs::write(&path, vec![0; size_of::<Ring<LINES>>()]).unwrap();
    not_a_ring(&path);
    std::fs::write(&path, b"something else").unwrap();
    not_a_ring(&path);
    // One of another size.
    std::fs::remove_file(&path).unwrap();
    let _other: Producer<32> = Producer::make(&path, 1, 1).unwrap();
    not_a_ring(&path);
    // A name that is taken is not taken over.
    let error = Producer::<LINES>::make(&path, 1, 1).err().unwrap();
    assert!(
        matches!(error, PageError::System { action: "name", .. }),
        "{error}"
    );
    assert!(Consumer::<32>::attach(&path).is_ok());
}

/// What a producer of ours never writes is found, and no byte outside the ring is read for it.
#[test]
fn nonsense_is_found() {
    use std::os::unix::fs::FileExt;
    let directory = tempfile::tempdir().unwrap();
    let (mut producer, mut consumer) = pair(directory.path());
    assert_eq!(producer.put(b"x", b""), Put::Done);
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(directory.path().join("ring"))
        .unwrap();
    let first = (size_of::<Ring<LINES>>() - LINES * 64) as u64;
    for head in [
        1,
        u64::MAX,
        (1 << 32) | 5_000,
        (1 << 32) | 0xffff_ffff,
        (1 << 33) | 3,
    ] {
        file.write_all_at(&head.to_ne_bytes(), first).unwrap();
        assert!(consumer.front().is_err(), "{head:#x}");
        assert!(consumer.take().is_err() && consumer.pop().is_err());
    }
}
