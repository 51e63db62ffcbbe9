//! The order of a ring's stores, under a model checker that tries every interleaving and every weak-memory outcome: a frame
//! is seen whole or not at all, its place is not written while somebody reads it, and nothing comes twice or is left out.

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
#[path = "../src/ring/order.rs"]
#[allow(dead_code)]
mod order;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use order::{HEAD, LINE, Memory, Place, Reading, Writing, give_back, lines_of};

const LINES: usize = 4;

/// A ring of four lines. The bytes of a frame are one number a line, in cells in which loom allows no two to be at once; over
/// the heads within a frame lie words that would pass for heads.
struct Circle {
    heads: [AtomicU64; LINES],
    bytes: [UnsafeCell<u64>; LINES],
    freed: AtomicU64,
}

impl Circle {
    fn new() -> Arc<Self> {
        Arc::new(Circle {
            heads: std::array::from_fn(|_| AtomicU64::new(0)),
            bytes: std::array::from_fn(|_| UnsafeCell::new(0)),
            freed: AtomicU64::new(0),
        })
    }

    fn write(&self, writing: &mut Writing, number: u64, length: usize) -> bool {
        let Some(first) = writing.reserve(self, length) else {
            return false;
        };
        for line in first..first + lines_of(length) as usize {
            self.bytes[line].with_mut(|bytes| {
                // SAFETY: loom fails if anybody else is at the cell.
                unsafe { *bytes = number }
            });
            if line > first {
                self.heads[line].store((1 << 32) | 1, loom::sync::atomic::Ordering::Relaxed);
            }
        }
        writing.publish(self, length);
        true
    }

    /// The number that is in every line of a frame.
    fn read(&self, frame: Place) -> u64 {
        let lines = frame.line..frame.line + lines_of(frame.length) as usize;
        let numbers: Vec<u64> = lines
            // SAFETY: loom fails if anybody writes the cell meanwhile.
            .map(|line| self.bytes[line].with(|bytes| unsafe { *bytes }))
            .collect();
        assert!(numbers.iter().all(|n| *n == numbers[0]), "{numbers:?}");
        numbers[0]
    }
}

impl Memory for Circle {
    fn lines(&self) -> u64 {
        LINES as u64
    }

    fn head(&self, line: usize) -> &AtomicU64 {
        &self.heads[line]
    }

    fn freed(&self) -> &AtomicU64 {
        &self.freed
    }
}

/// Lengths of one line and of two.
const SHORT: usize = 8;
const LONG: usize = 2 * LINE - HEAD;

/// Both ends at once, over the end of the circle and with a part of it left out.
fn carries(lengths: &'static [usize], keeps: bool) {
    loom::model(move || {
        let circle = Circle::new();
        let producer = {
            let circle = Arc::clone(&circle);
            loom::thread::spawn(move || {
                let mut writing = Writing::default();
                let mut sent = 0;
                for (number, &length) in (1..).zip(lengths) {
                    // A consumer that does not come leaves it full: what does not fit is not sent.
                    if !circle.write(&mut writing, number, length) {
                        break;
                    }
                    sent = number;
                }
                sent
            })
        };
        let mut reading = Reading::default();
        let mut last = 0;
        let mut kept = None;
        let mut take = |reading: &mut Reading| {
            let frame = reading.front(&*circle).unwrap()?;
            let number = circle.read(frame);
            assert_eq!(number, last + 1, "out of order");
            last = number;
            match kept.replace(frame) {
                // The one before it is given back after it was passed.
                Some(older) if keeps => {
                    reading.keep(frame);
                    assert_eq!(circle.read(older), number - 1);
                    give_back(&*circle, older);
                    reading.free(&*circle).unwrap();
                }
                _ if keeps => reading.keep(frame),
                _ => reading.pop(&*circle, frame),
            }
            Some(number)
        };
        for _ in 0..3 {
            take(&mut reading);
        }
        let sent = producer.join().unwrap();
        while take(&mut reading).is_some() {}
        assert_eq!(last, sent, "left out");
        assert!(sent >= 1);
    });
}

#[test]
fn frames_are_seen_whole_and_in_order() {
    carries(&[SHORT, SHORT, SHORT, SHORT, SHORT], false);
}

#[test]
fn a_frame_that_does_not_fit_begins_anew() {
    carries(&[SHORT, LONG, LONG], false);
}

#[test]
fn what_is_kept_is_not_written_over() {
    carries(&[SHORT, SHORT, SHORT, SHORT], true);
}

/// A frame that another thread keeps and gives back, while its consumer and its producer go on.
#[test]
fn a_frame_may_be_given_back_by_another_thread() {
    loom::model(|| {
        let circle = Circle::new();
        let mut writing = Writing::default();
        let mut reading = Reading::default();
        for number in 1..LINES as u64 {
            assert!(circle.write(&mut writing, number, SHORT));
        }
        let frame = reading.front(&*circle).unwrap().unwrap();
        reading.keep(frame);
        let handler = {
            let circle = Arc::clone(&circle);
            loom::thread::spawn(move || {
                assert_eq!(circle.read(frame), 1);
                give_back(&*circle, frame);
            })
        };
        let producer = {
            let circle = Arc::clone(&circle);
            loom::thread::spawn(move || {
                // The second one, if there is room for it, goes to where the kept one lay.
                circle.write(&mut writing, 4, SHORT);
                circle.write(&mut writing, 5, SHORT);
            })
        };
        reading.free(&*circle).unwrap();
        let next = reading.front(&*circle).unwrap().unwrap();
        assert_eq!(circle.read(next), 2);
        reading.pop(&*circle, next);
        handler.join().unwrap();
        producer.join().unwrap();
        let next = reading.front(&*circle).unwrap().unwrap();
        assert_eq!(circle.read(next), 3);
    });
}
