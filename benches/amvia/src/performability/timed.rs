//! A transport that says how long another takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jitterlab_amvia::transport::{Address, Arrived, Landed, Peer, Sent, Transport, TransportError};
use jitterlab_base::clock::Clock;

/// The time that a transport takes.
#[derive(Debug, Default)]
pub(super) struct Taken {
    send: AtomicU64,
    receive: AtomicU64,
}

impl Taken {
    /// Nanoseconds in all sends, and in all receipts of a frame, until now.
    pub(super) fn read(&self) -> [u64; 2] {
        [self.send.load(Relaxed), self.receive.load(Relaxed)]
    }
}

/// A transport that says how long another takes.
pub(super) struct Timed<T> {
    under: T,
    taken: Arc<Taken>,
    clock: &'static Clock,
}

impl<T: Transport> Timed<T> {
    pub(super) fn new(under: T) -> (Timed<T>, Arc<Taken>) {
        let taken = Arc::<Taken>::default();
        let timed = Timed {
            under,
            taken: Arc::clone(&taken),
            clock: Clock::global(),
        };
        (timed, taken)
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

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        let begun = self.clock.now();
        let sent = self.under.send(to, head, payload);
        let took = self.clock.ticks_to_ns(self.clock.now().wrapping_sub(begun));
        self.taken.send.fetch_add(took, Relaxed);
        sent
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        let begun = self.clock.now();
        let arrived = self.under.receive();
        if matches!(arrived, Ok(Some(_))) {
            let took = self.clock.ticks_to_ns(self.clock.now().wrapping_sub(begun));
            self.taken.receive.fetch_add(took, Relaxed);
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
