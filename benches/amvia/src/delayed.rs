//! Delays inside the layer, between the protocol and its transport: where no call of a library is there to be caught, as over
//! shared memory, and where one delay after the other is to be tried.
//!
//! A spin and a pace hold each frame that this end sends; a deferred frame is one that arrives, and is handed on when it is due.
//! So the processor does what it does without the delay, and at the same places.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jitterlab_amvia::transport::{Address, Arrived, Landed, Peer, Sent, Transport, TransportError};
use jitterlab_base::clock::Clock;
use jitterlab_base::page::{self, Namespaces};
use jitterlab_base::seed;
use jitterlab_base::units::Nanos;
use jitterlab_injector::control::{self, Attached, Hook, Identity, Mode, Page, Settings, Slot};
use jitterlab_injector::delay::{Delay, Injection, Passage, Stream};
use jitterlab_injector::environment;
use jitterlab_injector::table::{DistributionTable, TableSource};
use nix::unistd::geteuid;

use crate::carrier::Carrier;
use crate::error::Error;

/// Says which of some delays is injected, and how long they have been.
#[derive(Clone, Default)]
pub struct Switch(Arc<Switched>);

#[derive(Default)]
struct Switched {
    /// One more than the place of the delay that is injected; 0: none.
    on: AtomicUsize,
    /// The counters of each delay.
    pages: OnceLock<Vec<&'static Page>>,
}

/// The delays of one place in the list so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Achieved {
    /// Delays that are over.
    pub delays: u64,
    /// Their sum as the injector achieved it, in nanoseconds.
    pub sum_ns: u64,
}

impl Achieved {
    /// The mean length of the delays since an earlier time, in nanoseconds. None: there was none.
    pub fn mean_since(self, earlier: Achieved) -> Option<f64> {
        let delays = self.delays - earlier.delays;
        (delays > 0).then(|| (self.sum_ns - earlier.sum_ns) as f64 / delays as f64)
    }
}

impl Switch {
    /// Injects the delay at this place in the list from now on, or none.
    pub fn set(&self, place: Option<usize>) {
        self.0
            .on
            .store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
    }

    fn place(&self) -> Option<usize> {
        self.0.on.load(Ordering::Relaxed).checked_sub(1)
    }

    /// The delays so far of the place that is injected. None: nothing is, or the delays are not counted.
    pub fn achieved(&self) -> Option<Achieved> {
        let totals = self.0.pages.get()?.get(self.place()?)?.totals();
        Some(Achieved {
            delays: totals.delays,
            sum_ns: totals.achieved_ns,
        })
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Switch({:?})", self.place())
    }
}

/// A transport with delays. One of them, or none, is injected.
pub struct Delayed {
    inner: Carrier,
    delays: Vec<One>,
    switch: Switch,
    /// The frames that have arrived and are not due.
    held: VecDeque<(Delay, Arrived)>,
    /// The last call handed a frame on: what has come meanwhile is taken before the next one, and not when none is due any more, since
    /// its time is counted from then.
    has_handed_on: bool,
    clock: &'static Clock,
    /// [`LOOK`] in ticks.
    look: u64,
}

struct One {
    page: &'static Page,
    injection: Injection,
    stream: Stream,
    /// The counters of deferred frames.
    slot: Slot,
    defers: bool,
}

/// Frames count as what they would be over UDP.
const HOOK: Hook = Hook::SendMsg;
/// For so long before a frame is due, nothing else is looked for if a look is a call of the system and would make it late.
const LOOK: Nanos = Nanos(500);

/// [`LOOK`] over a transport, in ticks.
fn look(inner: &Carrier) -> u64 {
    match inner.address() {
        Address::Shm(_) => 0,
        Address::Udp(_) | Address::Verbs(_) => Clock::global().ns_to_ticks(LOOK.0),
    }
}
/// Frames that are held without new memory.
const HELD: usize = 256;

impl Delayed {
    /// A transport with one delay for each mode and time. `switch` says which of them is injected.
    ///
    /// # Errors
    /// A delay is out of range, or there is no memory.
    pub fn new(inner: Carrier, each: &[(Mode, Nanos)], switch: &Switch) -> Result<Delayed, Error> {
        let delays = each.iter().map(|&(mode, delay)| One::constant(mode, delay));
        let delays = delays.collect::<Result<Vec<_>, _>>()?;
        let pages = delays.iter().map(|one| one.page);
        switch.0.pages.get_or_init(|| pages.collect());
        Ok(Delayed {
            look: look(&inner),
            inner,
            delays,
            switch: switch.clone(),
            held: VecDeque::with_capacity(HELD),
            has_handed_on: false,
            clock: Clock::global(),
        })
    }

    /// A transport with the delays that are injected into this process: those of its control page, which the preloaded library
    /// has made. They are counted there, too.
    ///
    /// # Errors
    /// The process has no control page.
    pub fn of_process(inner: Carrier) -> Result<Delayed, Error> {
        let directory = std::env::var_os(environment::CONTROL_DIR).map(PathBuf::from);
        let directory = directory.unwrap_or_else(|| page::directory(geteuid().as_raw()));
        let path = directory.join(Namespaces::own().file_name(std::process::id()));
        // It is there as long as the process.
        let page: &'static Attached = Box::leak(Box::new(control::attach(&path)?));
        let delayed = Delayed {
            look: look(&inner),
            inner,
            delays: vec![One::of(page)],
            switch: Switch::default(),
            held: VecDeque::with_capacity(HELD),
            has_handed_on: false,
            clock: Clock::global(),
        };
        delayed.switch.set(Some(0));
        Ok(delayed)
    }

    fn current(&self) -> Option<&One> {
        self.delays.get(self.switch.place()?)
    }
}

impl One {
    fn constant(mode: Mode, delay: Nanos) -> Result<Self, Error> {
        let failed = |source| Error::Memory { source };
        let table = DistributionTable::constant(delay)?;
        let settings = Settings {
            enabled: true,
            mode,
            unit: table.unit(),
            seed: seed::DEFAULT,
            seedings: 1,
            ..Settings::NONE
        };
        let identity = Identity {
            pid: std::process::id(),
            start_time: 0,
            namespaces: Namespaces::own(),
            run: 0,
            rank: 0,
            hooks: HOOK.family().bit(),
            program: String::new(),
            report: Default::default(),
        };
        let page =
            Page::private(&identity, &settings, &TableSource::made(&table)).map_err(failed)?;
        Ok(One::of(page))
    }

    fn of(page: &'static Page) -> Self {
        let injection = Injection::new(page, Clock::global(), 0);
        One {
            defers: injection.defers(),
            slot: injection.claim_slot(),
            stream: Stream::new(),
            page,
            injection,
        }
    }

    fn pass(&self) -> Passage {
        self.stream.enter(Clock::counter());
        self.injection.before_send(&self.stream, HOOK)
    }
}

impl Transport for Delayed {
    fn address(&self) -> Address {
        self.inner.address()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    fn is_sound(&self) -> bool {
        self.inner.is_sound()
    }

    fn needs_checksum(&self) -> bool {
        self.inner.needs_checksum()
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        self.inner.peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        self.inner.know(place, is_known);
    }

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        if let Some(one) = self.current().filter(|one| !one.defers) {
            one.pass();
        }
        self.inner.send(to, head, payload)
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        let holds = self.current().is_some_and(|one| one.defers);
        if !holds {
            // The frame was held when the delay was switched off.
            return match self.held.pop_front() {
                Some((_, arrived)) => Ok(Some(arrived)),
                None => self.inner.receive(),
            };
        }
        let now = self.clock.now();
        let is_near = |(delay, _): &(Delay, Arrived)| delay.due <= now + self.look;
        if (mem::take(&mut self.has_handed_on) || !self.held.front().is_some_and(is_near))
            && let Some(arrived) = self.inner.receive()?
        {
            let delay = match self.current().map(One::pass) {
                Some(Passage::Defer(delay)) => delay,
                _ => Delay::none(self.clock.now()),
            };
            self.held.push_back((delay, arrived));
        }
        let now = self.clock.now();
        if self.held.front().is_none_or(|(delay, _)| delay.due > now) {
            return Ok(None);
        }
        self.has_handed_on = true;
        Ok(self.held.pop_front().map(|(mut delay, arrived)| {
            if let Some(one) = self.current() {
                one.injection.is_over(one.slot, &mut delay);
            }
            arrived
        }))
    }

    fn recycle(&mut self, frame: Landed) {
        self.inner.recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        match self.held.front() {
            // It is soon due.
            Some(_) => Ok(()),
            None => self.inner.wait(at_most),
        }
    }
}

impl fmt::Debug for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delayed({})", self.inner.address())
    }
}
