//! A biased lock under a model checker that tries every interleaving of up to three preemptions and every weak-memory outcome:
//! no two threads are inside at once, and each sees what the one before has done.

mod atomic {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
/// Loom knows no fence of all threads. A thread that fences by itself is no stronger.
mod fence {
    use loom::sync::atomic::{Ordering, fence};

    pub(super) fn own() {
        fence(Ordering::SeqCst);
    }

    pub(super) fn of_all() {
        fence(Ordering::SeqCst);
    }
}
#[path = "../src/biased/order.rs"]
mod order;

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use order::{Bias, Places};

#[derive(Default)]
struct Lock {
    bias: Bias,
    gate: Mutex<Places>,
    value: UnsafeCell<u64>,
}

impl Lock {
    /// Adds one inside. A thread that comes by the gate gets the bias if `gives` is true.
    fn turn(&self, thread: u64, gives: bool) {
        if let Some(place) = self.bias.enter(thread) {
            self.add();
            return self.bias.leave(place);
        }
        let mut places = self.gate.lock().unwrap();
        if let Some(place) = self.bias.take_away() {
            while self.bias.is_inside(place) {
                loom::thread::yield_now();
            }
        }
        let given = gives.then(|| self.bias.give(thread, &mut places));
        match given.flatten() {
            Some(place) => {
                drop(places);
                self.add();
                self.bias.leave(place);
            }
            None => self.add(),
        }
    }

    fn add(&self) {
        self.value.with_mut(|value| {
            // SAFETY: loom fails if anybody else is at the cell.
            unsafe { *value += 1 }
        });
    }
}

/// Two threads, which take so many turns each, by the bias where it is theirs.
fn takes_turns(turns: [u64; 2], gives: [bool; 2]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let lock = Arc::new(Lock::default());
        // The first one has the bias to begin with.
        lock.turn(1, true);
        let other = {
            let lock = Arc::clone(&lock);
            loom::thread::spawn(move || (0..turns[1]).for_each(|_| lock.turn(2, gives[1])))
        };
        (0..turns[0]).for_each(|_| lock.turn(1, gives[0]));
        other.join().unwrap();
        lock.turn(1, false);
        let value = lock.value.with(|value| {
            // SAFETY: as above.
            unsafe { *value }
        });
        assert_eq!(value, turns[0] + turns[1] + 2);
    });
}

#[test]
fn one_that_has_the_bias_keeps_the_others_out() {
    takes_turns([2, 1], [false, false]);
}

#[test]
fn the_bias_goes_from_one_to_the_other() {
    takes_turns([1, 2], [false, true]);
}

#[test]
fn the_bias_goes_to_and_fro() {
    takes_turns([2, 1], [true, true]);
}
