//! A biased lock between threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use jitterlab_base::biased::{self, Biased};

/// More turns in a row than get a thread the bias, however often it was taken away before.
const MANY: u64 = 200_000;

#[test]
fn every_turn_counts() {
    let lock = Arc::new(Biased::new(0_u64));
    let threads = [1, 1, 1, 7].map(|others| {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            for turn in 0..MANY {
                // One that comes seldom takes the bias from those that come often.
                if turn % others == 0 {
                    *lock.lock() += 1;
                }
                if others > 1 && turn % 1_000 == 0 {
                    thread::yield_now();
                }
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*lock.lock(), 3 * MANY + MANY.div_ceil(7));
}

/// One after the other, so that each gets the bias, or finds no place for it.
#[test]
fn many_threads_have_it_in_turn() {
    let lock = Arc::new(Biased::new(0_u64));
    for number in 1..=8 {
        let own = Arc::clone(&lock);
        let turns = thread::spawn(move || (0..MANY).for_each(|_| *own.lock() += 1));
        turns.join().unwrap();
        assert_eq!(*lock.lock(), number * MANY);
    }
}

#[test]
fn a_panic_lets_go_of_it() {
    let lock = Biased::new(0);
    for _ in 0..100 {
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let mut value = lock.lock();
            *value += 1;
            panic!("inside");
        }));
        assert!(panics.is_err());
    }
    assert_eq!(*lock.lock(), 100);
}

#[test]
fn a_thread_has_a_number_of_its_own() {
    let own = biased::this_thread();
    assert_eq!(own, biased::this_thread());
    assert_ne!(own, thread::spawn(biased::this_thread).join().unwrap());
}
