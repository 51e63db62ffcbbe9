//! A transport that says when another was called.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jitterlab_amvia::transport::{Address, Arrived, Landed, Peer, Sent, Transport, TransportError};
use jitterlab_base::clock::Clock;

/// A call, by the readings of the clock before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begun: u64,
    pub(super) ended: u64,
}

impl Span {
    /// The time in nanoseconds.
    pub(super) fn ns(self) -> f64 {
        Clock::global().ticks_to_ns_f64(self.ended.wrapping_sub(self.begun))
    }
}

/// Calls of a transport, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Those that sent a frame.
    pub(super) sends: Vec<Span>,
    /// Those that brought a frame.
    pub(super) receipts: Vec<Span>,
}

/// The calls of a transport that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Log(Mutex<Calls>);

impl Log {
    pub(super) fn take(&self) -> Calls {
        mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transport that says when another was called.
pub(super) struct Timed<T> {
    under: T,
    log: Arc<Log>,
    clock: &'static Clock,
}

impl<T: Transport> Timed<T> {
    pub(super) fn new(under: T) -> (Timed<T>, Arc<Log>) {
        let log = Arc::<Log>::default();
        let timed = Timed {
            under,
            log: Arc::clone(&log),
            clock: Clock::global(),
        };
        (timed, log)
    }
}

impl<T: Transport> Transport for Timed<T> {
    fn address(&self) -> Address {
        self.under.address()
    }

    fn mtu(&self) -> usize {
        self.under.mtu()
    }

    fn is_sound(&self) -> bool {
        self.under.is_sound()
    }

    fn needs_checksum(&self) -> bool {
        self.under.needs_checksum()
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        self.under.peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        self.under.know(place, is_known);
    }

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        let begun = self.clock.now();
        let sent = self.under.send(to, head, payload);
        let ended = self.clock.now();
        self.log.lock().sends.push(Span { begun, ended });
        sent
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        let begun = self.clock.now();
        let arrived = self.under.receive();
        if matches!(arrived, Ok(Some(_))) {
            let ended = self.clock.now();
            self.log.lock().receipts.push(Span { begun, ended });
        }
        arrived
    }

    fn recycle(&mut self, frame: Landed) {
        self.under.recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        self.under.wait(at_most)
    }
}
