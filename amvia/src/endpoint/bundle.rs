//! Bundles: endpoints that are polled together.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use jitterlab_base::biased::{Biased, Turn, this_thread};
use jitterlab_base::clock::Clock;
use jitterlab_base::fork::Parent;

use super::arrival::Step;
use super::driver::Driver;
use super::error::{EndpointError, Forked};
use super::handlers::{Answer, Call};
use super::running::Running;
use crate::protocol::Nanos;

/// The time between two looks of the service thread whether a handler takes its time. An initiator waits a millisecond at
/// least, so two looks and an acknowledgement come before it sends again.
const STEP: Duration = Duration::from_micros(250);
/// Frames that the service thread takes at once.
const BACKLOG: usize = 64;
/// Looks at such intervals, 100 ms of them, after a handler has taken its time.
const QUIET: u32 = 400;
/// The time between two looks otherwise, unless the last one has found a handler: each look may take the processor from the thread that
/// polls. So the initiator of the first request whose handler takes its time sends it again before it is acknowledged.
const CALM: Duration = Duration::from_millis(4);
/// Such looks without a poll after which the service thread sleeps until the next one.
const IDLE: u32 = 25;

/// Endpoints that are polled together. Clones are handles of one bundle, for any thread.
///
/// Nothing happens but in [`Bundle::poll`] and in calls that say that they poll: frames are taken, what is due is done, and
/// handlers run, on the thread that polls, one at a time. While a handler runs, the bundle's service thread acknowledges
/// what arrives, and sends again what is due; it runs no handler.
///
/// A child of fork has no endpoint: each call there says so. It may make a bundle of its own.
#[derive(Clone)]
pub struct Bundle(Arc<Shared>);

pub(super) struct Shared {
    parent: Parent,
    clock: &'static Clock,
    origin: u64,
    state: Biased<State>,
    /// Counts handlers; odd while one runs. Written by the thread that runs one.
    handlers: AtomicU64,
    /// Counts polls. Written by the thread that has the state.
    polls: AtomicU64,
    service: Mutex<Option<Thread>>,
}

/// The state that threads take turns at.
pub(super) struct State {
    drivers: Vec<Option<Driver>>,
    /// Endpoints that were made.
    made: u64,
    /// The service thread sleeps until it is woken.
    service_sleeps: bool,
    /// The thread that runs a handler.
    in_handler: Option<u64>,
    /// The handler that runs next, and the memory of its reply; none while it runs.
    running: Option<Box<Running>>,
}

impl Bundle {
    /// A bundle without endpoints.
    ///
    /// # Errors
    /// The system gives no memory, or no thread.
    pub fn new() -> Result<Bundle, EndpointError> {
        let failed = |action| move |source| EndpointError::System { action, source };
        let clock = Clock::global();
        let shared = Arc::new(Shared {
            parent: Parent::mark().map_err(failed("get memory that a child finds wiped"))?,
            clock,
            origin: clock.now(),
            state: Biased::new(State {
                drivers: Vec::new(),
                made: 0,
                service_sleeps: false,
                in_handler: None,
                running: Some(Box::new(Running::none())),
            }),
            handlers: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            service: Mutex::new(None),
        });
        let weak = Arc::downgrade(&shared);
        let service: JoinHandle<()> = thread::Builder::new()
            .name("amvia-service".into())
            .spawn(move || serve(&weak))
            .map_err(failed("start the service thread"))?;
        *shared
            .service
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(service.thread().clone());
        Ok(Bundle(shared))
    }

    /// The state that its endpoints share.
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// Takes what has arrived, does what is due, and runs a handler that is due. Does not wait. Says whether there was
    /// anything.
    ///
    /// In a handler it runs no other. An error of one endpoint comes back after the others have been polled.
    ///
    /// # Errors
    /// A transport or a log is broken.
    #[inline]
    pub fn poll(&self) -> Result<bool, EndpointError> {
        self.0.poll()
    }

    /// Polls; where nothing was there, waits for something at most so long, and polls again. It returns after a millisecond
    /// at the latest: what another thread has done meanwhile is to be looked for.
    ///
    /// # Errors
    /// A transport or a log is broken.
    pub fn wait(&self, at_most: Duration) -> Result<bool, EndpointError> {
        self.0.wait(at_most)
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bundle")
    }
}

impl Shared {
    /// Nanoseconds since the bundle was made.
    pub(super) fn now(&self) -> Nanos {
        self.clock
            .ticks_to_ns(self.clock.now().wrapping_sub(self.origin))
    }

    #[inline]
    pub(super) fn lock(&self) -> Result<Turn<'_, State>, Forked> {
        match self.parent.is_caller() {
            true => Ok(self.state.lock()),
            false => Err(Forked),
        }
    }

    pub(super) fn poll(&self) -> Result<bool, EndpointError> {
        let mut state = self.lock()?;
        count(&self.polls);
        if state.service_sleeps {
            state.service_sleeps = false;
            self.wake();
        }
        // One frame: its handler runs before the next is looked for, which is a call of the system.
        let (mut was_there, mut met) = (false, Met(None));
        let mut index = 0;
        while let State {
            drivers, running, ..
        } = &mut *state
            && let Some(place) = drivers.get_mut(index)
        {
            if let Some(driver) = place {
                let step = driver.take_frame(running.as_deref_mut(), || self.now());
                let step = met.or(step, Step::Idle);
                met.or(driver.expire(), ());
                let starts = match (step, running) {
                    (Step::Starts, _) => true,
                    (_, Some(next)) => met.or(driver.start(next), false),
                    (_, None) => false,
                };
                was_there |= starts || step == Step::Took;
                if starts {
                    let place = Place {
                        index,
                        number: driver.number,
                    };
                    state = self.run(state, place, &mut met)?;
                }
            }
            index += 1;
        }
        met.first()?;
        Ok(was_there)
    }

    /// Runs a handler without holding the state, and gives the state.
    #[inline(always)]
    fn run<'a>(
        &'a self,
        mut state: Turn<'a, State>,
        place: Place,
        met: &mut Met,
    ) -> Result<Turn<'a, State>, Forked> {
        let Some(mut running) = state.running.take() else {
            return Ok(state);
        };
        state.in_handler = Some(this_thread());
        drop(state);
        let Running {
            due,
            handler,
            message,
            from,
            most,
            reply,
            release,
            ..
        } = &mut *running;
        let answer = match due.is_request {
            true => Answer::Reply(reply, *most),
            false => Answer::Release(release),
        };
        let mut call = Call {
            from: *from,
            transaction: &due.id,
            bytes: message.bytes(),
            answer,
        };
        count(&self.handlers);
        let ended = match handler {
            Some(handler) => catch_unwind(AssertUnwindSafe(|| handler(&mut call))),
            None => Ok(()),
        };
        count(&self.handlers);
        let mut state = self.lock()?;
        state.in_handler = None;
        let Some(driver) = state.driver(place) else {
            state.running = Some(Box::new(Running::none()));
            drop(state);
            // Outside the state: a handler may hold handles of this bundle.
            drop(running);
            return self.lock();
        };
        match ended {
            Ok(()) => met.or(driver.end(&mut running, || self.now()), ()),
            Err(panic) => {
                // The panic goes out of this poll; an error that lasts comes out of the next.
                let _ = driver.cut_off(&mut running, self.now());
                state.running = Some(running);
                drop(state);
                resume_unwind(panic);
            }
        }
        state.running = Some(running);
        Ok(state)
    }

    pub(super) fn wait(&self, at_most: Duration) -> Result<bool, EndpointError> {
        if self.poll()? {
            return Ok(true);
        }
        let mut state = self.lock()?;
        let idle = state.idle(self.now());
        let at_most = at_most.min(TURN).min(Duration::from_nanos(idle));
        match state.sole() {
            Some(driver) => driver.transport.wait(at_most)?,
            // None of several transports can be waited for alone.
            None => {
                drop(state);
                thread::sleep(at_most.min(NAP));
                return self.poll();
            }
        }
        drop(state);
        if self.state.is_wanted() {
            thread::yield_now();
        }
        self.poll()
    }

    /// The calling thread runs a handler of this bundle.
    pub(super) fn is_in_handler(&self) -> Result<bool, EndpointError> {
        Ok(self.lock()?.in_handler == Some(this_thread()))
    }

    #[cold]
    fn wake(&self) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = &*service {
            service.unpark();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.wake();
    }
}

/// The first error that a poll has met with. One of an endpoint takes nothing from the others.
struct Met(Option<Box<EndpointError>>);

impl Met {
    /// What was met with, or this where it is an error.
    #[inline(always)]
    fn or<T>(&mut self, result: Result<T, EndpointError>, otherwise: T) -> T {
        result.unwrap_or_else(|error| {
            self.note(error);
            otherwise
        })
    }

    #[cold]
    fn note(&mut self, error: EndpointError) {
        self.0.get_or_insert_with(|| Box::new(error));
    }

    #[inline]
    fn first(self) -> Result<(), EndpointError> {
        match self.0 {
            None => Ok(()),
            Some(error) => Err(*error),
        }
    }
}

/// The place of an endpoint in its bundle, and its identity: another may take its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    index: usize,
    number: u64,
}

impl State {
    pub(super) fn add(&mut self, mut driver: Driver) -> Place {
        self.made += 1;
        driver.number = self.made;
        let free = self.drivers.iter().position(Option::is_none);
        let index = free.unwrap_or(self.drivers.len());
        match free {
            Some(index) => self.drivers[index] = Some(driver),
            None => self.drivers.push(Some(driver)),
        }
        Place {
            index,
            number: self.made,
        }
    }

    /// The endpoint, unless it was closed.
    pub(super) fn driver(&mut self, place: Place) -> Option<&mut Driver> {
        let driver = self.drivers.get_mut(place.index)?.as_mut();
        driver.filter(|driver| driver.number == place.number)
    }

    /// Takes the endpoint out.
    pub(super) fn take(&mut self, place: Place) -> Option<Driver> {
        self.driver(place)?;
        self.drivers[place.index].take()
    }

    fn progress(&mut self, most: usize, clock: impl Fn() -> Nanos) -> Result<bool, EndpointError> {
        let (mut was_there, mut met) = (false, Ok(()));
        for driver in self.drivers.iter_mut().flatten() {
            // An error of one endpoint takes nothing from the others.
            match driver.progress(most, &clock) {
                Ok(is_there) => was_there |= is_there,
                Err(error) => met = met.and(Err(error)),
            }
        }
        met?;
        Ok(was_there)
    }

    fn idle(&self, now: Nanos) -> Nanos {
        let drivers = self.drivers.iter().flatten();
        drivers
            .map(|driver| driver.idle(now))
            .min()
            .unwrap_or(Nanos::MAX)
    }

    /// The endpoint, where there is one alone.
    fn sole(&mut self) -> Option<&mut Driver> {
        let mut drivers = self.drivers.iter_mut().flatten();
        let first = drivers.next()?;
        drivers.next().is_none().then_some(first)
    }
}

/// Adds one to what no other thread writes meanwhile.
#[inline]
fn count(counter: &AtomicU64) {
    let counted = counter.load(Ordering::Relaxed) + 1;
    counter.store(counted, Ordering::Relaxed);
}

/// The time that a wait for several transports sleeps between two polls.
const NAP: Duration = Duration::from_micros(50);
/// The time that a wait holds the state: other threads want it now and then.
const TURN: Duration = Duration::from_millis(1);

/// The service thread: takes the bundle's work while a handler takes its time.
fn serve(bundle: &Weak<Shared>) {
    let (mut handlers, mut polls) = (0, 0);
    // Looks since a handler took its time, and since the last poll.
    let (mut quiet, mut idle) = (QUIET, 0);
    let mut sleeps = false;
    loop {
        match sleeps {
            true => thread::park(),
            false if quiet < QUIET || handlers % 2 == 1 => thread::park_timeout(STEP),
            false => thread::park_timeout(CALM),
        }
        sleeps = false;
        let Some(shared) = bundle.upgrade() else {
            return;
        };
        let before = std::mem::replace(&mut handlers, shared.handlers.load(Ordering::Relaxed));
        if handlers % 2 == 1 && handlers == before {
            (quiet, idle) = (0, 0);
            // An error shows again at the next poll.
            if let Ok(mut state) = shared.lock() {
                let _ = state.progress(BACKLOG, || shared.now());
            }
            continue;
        }
        quiet = QUIET.min(quiet + 1);
        let before = std::mem::replace(&mut polls, shared.polls.load(Ordering::Relaxed));
        idle = match polls == before && quiet == QUIET {
            true => idle + 1,
            false => 0,
        };
        if idle >= IDLE
            && let Ok(mut state) = shared.lock()
        {
            // Polls have the state: one that comes later sees that it sleeps.
            sleeps = shared.polls.load(Ordering::Relaxed) == polls;
            state.service_sleeps = sleeps;
            idle = 0;
        }
    }
}
