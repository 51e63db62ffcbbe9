//! The messages of a rank, and its time in MPI, by phase.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use jitterlab_mpi_results::npb::Phase;

fn named(name: &str) -> Phase {
    Phase {
        name: name.to_owned(),
        wall_s: 0.0,
        mpi_s: 0.0,
        messages: 0,
        bytes: 0,
        collectives: 0,
        collective_bytes: 0,
    }
}

/// The phases of a rank. One of them is under way.
#[derive(Debug)]
pub struct Account {
    phases: RefCell<Vec<Phase>>,
    current: Cell<usize>,
    entered: Cell<Instant>,
    held: Cell<bool>,
}

impl Account {
    /// An account that begins with the phase `setup`.
    pub fn new() -> Account {
        Account {
            phases: RefCell::new(vec![named("setup")]),
            current: Cell::new(0),
            entered: Cell::new(Instant::now()),
            held: Cell::new(false),
        }
    }

    /// Leaves the phase under way for another, unless it is held.
    pub fn enter(&self, name: &str) {
        if self.held.get() {
            return;
        }
        self.close();
        let mut phases = self.phases.borrow_mut();
        let known = phases.iter().position(|phase| phase.name == name);
        self.current.set(known.unwrap_or_else(|| {
            phases.push(named(name));
            phases.len() - 1
        }));
    }

    /// True if the phase under way goes on whatever is entered.
    pub fn is_held(&self) -> bool {
        self.held.get()
    }

    /// The phase under way goes on until `body` ends.
    pub fn hold<R>(&self, body: impl FnOnce() -> R) -> R {
        let held = self.held.replace(true);
        let result = body();
        self.held.set(held);
        result
    }

    /// When `body` ends, the phase that is under way now goes on.
    pub fn within<R>(&self, body: impl FnOnce() -> R) -> R {
        let before = self.current.get();
        let result = body();
        self.close();
        self.current.set(before);
        result
    }

    /// All phases up to now.
    pub fn phases(&self) -> Vec<Phase> {
        self.close();
        self.phases.borrow().clone()
    }

    /// A message of so many bytes is sent by `call`.
    pub fn message<R>(&self, bytes: usize, call: impl FnOnce() -> R) -> R {
        self.timed(call, |phase| {
            phase.messages += 1;
            phase.bytes += bytes as u64;
        })
    }

    /// Makes a collective by `call`, which is given so many bytes.
    pub fn collective<R>(&self, bytes: usize, call: impl FnOnce() -> R) -> R {
        self.timed(call, |phase| {
            phase.collectives += 1;
            phase.collective_bytes += bytes as u64;
        })
    }

    /// `call` waits for others.
    pub fn wait<R>(&self, call: impl FnOnce() -> R) -> R {
        self.timed(call, |_| ())
    }

    fn timed<R>(&self, call: impl FnOnce() -> R, count: impl FnOnce(&mut Phase)) -> R {
        let start = Instant::now();
        let result = call();
        let phase = &mut self.phases.borrow_mut()[self.current.get()];
        phase.mpi_s += start.elapsed().as_secs_f64();
        count(phase);
        result
    }

    /// Adds the time since the phase was entered to it.
    fn close(&self) {
        let now = Instant::now();
        let since = self.entered.replace(now);
        self.phases.borrow_mut()[self.current.get()].wall_s += (now - since).as_secs_f64();
    }
}

impl Default for Account {
    fn default() -> Account {
        Account::new()
    }
}
