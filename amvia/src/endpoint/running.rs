//! Handlers that run: each is taken out of its endpoint meanwhile, with the message that it runs on.

use super::driver::Driver;
use super::error::EndpointError;
use super::handlers::{Due, Handler, Reply};
use super::received::Received;
use super::records::receive_place;
use crate::protocol::{Nanos, Protocol};
use crate::transaction::{EndpointId, TransactionId};

/// A handler that runs, and the message that it runs on. Both are outside the driver meanwhile.
pub(super) struct Running {
    due: Due,
    pub(super) handler: Option<Handler>,
    pub(super) message: Received,
    pub(super) from: EndpointId,
    /// Bytes of a reply at most.
    pub(super) most: usize,
    started: Nanos,
}

impl Running {
    pub(super) fn id(&self) -> TransactionId {
        self.due.id
    }

    pub(super) fn is_request(&self) -> bool {
        self.due.is_request
    }
}

impl Driver {
    /// The next handler that is to run, which has started.
    ///
    /// # Errors
    /// The transport or the log is broken.
    pub(super) fn start(&mut self, now: Nanos) -> Result<Option<Running>, EndpointError> {
        while let Some(due) = self.due.pop_front() {
            let Some(peer) = &mut self.peers[due.peer] else {
                continue;
            };
            let from = peer.id;
            let most = peer.connection.longest() as usize;
            let message = if due.is_request {
                let starts = peer
                    .connection
                    .start(now, due.slot, due.id, &mut self.shared);
                self.carry_out(due.peer)?;
                if !starts {
                    continue;
                }
                let Some(peer) = &mut self.peers[due.peer] else {
                    continue;
                };
                match peer.received.get_mut(due.slot.index()) {
                    Some(message) => std::mem::take(message),
                    None => std::mem::take(&mut self.messages[due.slot.index()]),
                }
            } else {
                let record = peer.connection.record(due.slot);
                if record.is_none_or(|record| record.id != due.id) {
                    continue;
                }
                std::mem::take(&mut peer.sent[due.slot.index()].reply)
            };
            let handler = self.handlers.take(due.handler);
            return Ok(Some(Running {
                due,
                handler,
                message,
                from,
                most,
                started: now,
            }));
        }
        Ok(None)
    }

    /// A handler has panicked. Nothing is said of how it ended: to the initiator it takes its time.
    pub(super) fn abandon(&mut self, running: Running) {
        let Running {
            due,
            handler,
            mut message,
            ..
        } = running;
        if let Some(handler) = handler {
            self.handlers.put_back(due.handler, handler);
        }
        message.clear(&mut *self.transport);
    }

    /// A handler has ended: its reply goes out, or its transaction is released.
    ///
    /// # Errors
    /// The transport or the log is broken.
    pub(super) fn end(
        &mut self,
        running: Running,
        reply: &Reply,
        release: bool,
        clock: impl FnOnce() -> Nanos,
    ) -> Result<(), EndpointError> {
        let Running {
            due,
            handler,
            mut message,
            started,
            ..
        } = running;
        // A target that repeats its answers times them from here; no other asks when the handler ended.
        let now = match self.config.protocol {
            Protocol::Amudp => clock(),
            Protocol::Amvia | Protocol::TwoWay => started,
        };
        if let Some(handler) = handler {
            self.handlers.put_back(due.handler, handler);
        }
        let is_kept = self.keeps_log();
        let Some(peer) = &mut self.peers[due.peer] else {
            message.clear(&mut *self.transport);
            return Ok(());
        };
        if !due.is_request {
            let record = peer.connection.record(due.slot);
            if record.is_none_or(|record| record.id != due.id) {
                // Its handler has released it.
                message.clear(&mut *self.transport);
                return self.carry_out(due.peer);
            }
            peer.sent[due.slot.index()].reply = message;
            return match release {
                true => self.release(due.peer, due.slot),
                false => self.carry_out(due.peer),
            };
        }
        message.clear(&mut *self.transport);
        let place = receive_place(peer.pool_of(due.peer), due.slot);
        self.log.payload_mut(place)[..reply.bytes.len()].copy_from_slice(&reply.bytes);
        let length = reply.bytes.len() as u32;
        let connection = &mut peer.connection;
        // Refused where the peer's lease has ended meanwhile: nobody waits for the reply.
        let handled = connection.handled(now, due.slot, reply.handler, length, &mut self.shared);
        if handled.is_ok() && !is_kept {
            self.log.replace(place, reply.bytes.len())?;
        }
        match peer.received.get_mut(due.slot.index()) {
            Some(kept) => *kept = message,
            None => self.messages[due.slot.index()] = message,
        }
        self.carry_out(due.peer)
    }
}
