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
/// Looks without a poll after which the service thread sleeps until the next one.
const QUIET: u32 = 400;

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
        let (mut was_there, mut met) = (false, Ok(()));
        match state.progress(1, || self.now()) {
            Ok(is_there) => was_there = is_there,
            Err(error) => met = Err(error),
        }
        let mut index = 0;
        while let State {
            drivers,
            running: Some(next),
            ..
        } = &mut *state
            && let Some(place) = drivers.get_mut(index)
        {
            if let Some(driver) = place {
                match driver.start(next) {
                    Ok(true) => {
                        was_there = true;
                        let place = Place {
                            index,
                            number: driver.number,
                        };
                        let ended;
                        (state, ended) = self.run(state, place)?;
                        if ended.is_err() {
                            met = met.and(ended);
                        }
                    }
                    Ok(false) => {}
                    Err(error) => met = met.and(Err(error)),
                }
            }
            index += 1;
        }
        met?;
        Ok(was_there)
    }

    /// Runs a handler without holding the state. Gives the state, and what its end has met with.
    fn run<'a>(
        &'a self,
        mut state: Turn<'a, State>,
        place: Place,
    ) -> Result<(Turn<'a, State>, Result<(), EndpointError>), Forked> {
        let Some(mut running) = state.running.take() else {
            return Ok((state, Ok(())));
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
            transaction: due.id,
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
            return Ok((self.lock()?, Ok(())));
        };
        let sent = match ended {
            Ok(()) => driver.end(&mut running, || self.now()),
            Err(panic) => {
                // The panic goes out of this poll; an error that lasts comes out of the next.
                let _ = driver.cut_off(&mut running, self.now());
                state.running = Some(running);
                drop(state);
                resume_unwind(panic);
            }
        };
        state.running = Some(running);
        Ok((state, sent))
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
    let mut last = 0;
    let mut polls = 0;
    let mut quiet = 0;
    loop {
        if quiet < QUIET {
            thread::park_timeout(STEP);
        } else {
            thread::park();
            quiet = 0;
        }
        let Some(shared) = bundle.upgrade() else {
            return;
        };
        let handlers = shared.handlers.load(Ordering::Relaxed);
        let runs_still = handlers % 2 == 1 && handlers == last;
        last = handlers;
        if runs_still {
            quiet = 0;
            // An error shows again at the next poll.
            if let Ok(mut state) = shared.lock() {
                let _ = state.progress(BACKLOG, || shared.now());
            }
            continue;
        }
        let now = shared.polls.load(Ordering::Relaxed);
        quiet = if now == polls { quiet + 1 } else { 0 };
        polls = now;
        if quiet == QUIET
            && let Ok(mut state) = shared.lock()
        {
            // Polls have the state: one that comes later sees that it sleeps.
            match shared.polls.load(Ordering::Relaxed) == polls {
                true => state.service_sleeps = true,
                false => quiet = 0,
            }
        }
    }
}
