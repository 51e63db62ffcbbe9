//! A transport that breaks where a test wants it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jitterlab_amvia::transport::{
    Address, Arrived, Landed, Peer, Sent, Transport, TransportError, Udp,
};

/// UDP that is broken for one peer, once that is said, and may be deaf.
pub struct Breaking {
    pub udp: Udp,
    pub broken: Arc<OnceLock<Peer>>,
    pub is_deaf: bool,
}

impl Breaking {
    fn error(&self, action: &'static str) -> TransportError {
        TransportError::System {
            action,
            address: self.address(),
            source: std::io::Error::other("broken"),
        }
    }
}

impl Transport for Breaking {
    fn address(&self) -> Address {
        self.udp.address()
    }

    fn mtu(&self) -> usize {
        self.udp.mtu()
    }

    fn is_sound(&self) -> bool {
        self.udp.is_sound()
    }

    fn peer(&mut self, address: &Address) -> Result<Peer, TransportError> {
        self.udp.peer(address)
    }

    fn know(&mut self, place: Peer, is_known: bool) {
        self.udp.know(place, is_known);
    }

    fn send(&mut self, to: Peer, head: &[u8], payload: &[u8]) -> Result<Sent, TransportError> {
        match self.broken.get() == Some(&to) {
            true => Err(self.error("send from")),
            false => self.udp.send(to, head, payload),
        }
    }

    fn receive(&mut self) -> Result<Option<Arrived>, TransportError> {
        match self.is_deaf {
            true => Err(self.error("receive at")),
            false => self.udp.receive(),
        }
    }

    fn recycle(&mut self, frame: Landed) {
        self.udp.recycle(frame);
    }

    fn wait(&mut self, at_most: Duration) -> Result<(), TransportError> {
        self.udp.wait(at_most)
    }
}
