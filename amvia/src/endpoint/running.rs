//! Handlers that run: each is taken out of its endpoint meanwhile, with the message that it runs on.

use super::driver::Driver;
use super::error::EndpointError;
use super::handlers::{Due, Handler, Handlers, Reply};
use super::outgoing::send;
use super::peer::Peer;
use super::received::Received;
use super::records::receive_place;
use crate::protocol::{Nanos, Protocol, Slot};
use crate::transaction::{EndpointId, Incarnation, TransactionId};

/// A handler that runs, and the message that it runs on. Both are outside the driver meanwhile. A bundle has one, since one
/// handler runs at a time: its memory is kept from one to the next.
pub(super) struct Running {
    pub(super) due: Due,
    pub(super) handler: Option<Handler>,
    pub(super) message: Received,
    pub(super) from: EndpointId,
    /// Bytes of a reply at most.
    pub(super) most: usize,
    /// The reply to a request.
    pub(super) reply: Reply,
    started: Nanos,
    /// The transaction of a reply is to be released.
    pub(super) release: bool,
}

impl Running {
    /// No handler has run yet.
    pub(super) fn none() -> Self {
        let nobody = EndpointId(0);
        Running {
            due: Due {
                peer: 0,
                slot: Slot(0),
                id: TransactionId {
                    initiator: nobody,
                    incarnation: Incarnation(0),
                    sequence: 0,
                },
                handler: 0,
                is_request: false,
            },
            handler: None,
            message: Received::default(),
            from: nobody,
            most: 0,
            reply: Reply::default(),
            started: 0,
            release: false,
        }
    }

    /// A handler is about to run on the message.
    #[inline(always)]
    pub(super) fn begin(&mut self, due: Due, peer: &Peer, handlers: &mut Handlers, now: Nanos) {
        self.handler = handlers.take(due.handler);
        self.reply.clear();
        self.due = due;
        self.from = peer.id;
        self.most = peer.connection.longest() as usize;
        self.started = now;
        self.release = false;
    }
}

impl Driver {
    /// Starts the next handler that is to run, if there is one.
    ///
    /// # Errors
    /// The transport or the log is broken.
    #[inline]
    pub(super) fn start(&mut self, running: &mut Running) -> Result<bool, EndpointError> {
        while let Some(due) = self.due.pop_front() {
            if self.starts(due, running)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn starts(&mut self, due: Due, running: &mut Running) -> Result<bool, EndpointError> {
        if due.is_request {
            let Some(peer) = &mut self.peers[due.peer] else {
                return Ok(false);
            };
            let connection = &mut peer.connection;
            let starts = connection.start(self.now, due.slot, due.id, &mut self.shared);
            if let Err(error) = self.carry_out(due.peer) {
                if starts {
                    // The log does not say yet that it runs: its turn comes again.
                    self.due.push_back(due);
                }
                return Err(error);
            }
            if !starts {
                return Ok(false);
            }
        }
        let Some(peer) = &mut self.peers[due.peer] else {
            return Ok(false);
        };
        let message = match due.is_request {
            true => match peer.received.get_mut(due.slot.index()) {
                Some(message) => message,
                None => &mut self.messages[due.slot.index()],
            },
            false => {
                let record = peer.connection.record(due.slot);
                if record.is_none_or(|record| record.id != due.id) {
                    return Ok(false);
                }
                &mut peer.sent[due.slot.index()].reply
            }
        };
        std::mem::swap(message, &mut running.message);
        running.begin(due, peer, &mut self.handlers, self.now);
        Ok(true)
    }

    /// A handler has panicked: the initiator of a request is told that nobody can know what it did.
    ///
    /// # Errors
    /// The transport or the log is broken.
    pub(super) fn cut_off(
        &mut self,
        running: &mut Running,
        now: Nanos,
    ) -> Result<(), EndpointError> {
        let due = running.due;
        if !due.is_request {
            // The reply is here all the same.
            return self.end(running, || now);
        }
        if let Some(handler) = running.handler.take() {
            self.handlers.put_back(due.handler, handler);
        }
        running.message.clear(&mut *self.transport);
        let Some(peer) = &mut self.peers[due.peer] else {
            return Ok(());
        };
        peer.connection.cut_off(now, due.slot, &mut self.shared);
        self.carry_out(due.peer)
    }

    /// A handler has ended: its reply goes out, or its transaction is released.
    ///
    /// # Errors
    /// The transport or the log is broken.
    pub(super) fn end(
        &mut self,
        running: &mut Running,
        clock: impl FnOnce() -> Nanos,
    ) -> Result<(), EndpointError> {
        let due = running.due;
        // A target that repeats its answers times them from here; no other asks when the handler ended.
        let now = match self.config.protocol {
            Protocol::Amudp => clock(),
            Protocol::Amvia | Protocol::TwoWay => running.started,
        };
        if due.is_request && self.reply_straight(running, now)? {
            return Ok(());
        }
        if let Some(handler) = running.handler.take() {
            self.handlers.put_back(due.handler, handler);
        }
        let is_kept = self.keeps_log;
        let Some(peer) = &mut self.peers[due.peer] else {
            running.message.clear(&mut *self.transport);
            return Ok(());
        };
        if !due.is_request {
            let record = peer.connection.record(due.slot);
            if record.is_none_or(|record| record.id != due.id) {
                // Its handler has released it.
                running.message.clear(&mut *self.transport);
                return self.carry_out(due.peer);
            }
            std::mem::swap(&mut peer.sent[due.slot.index()].reply, &mut running.message);
            return match running.release {
                true => self.release(due.peer, due.slot),
                false => self.carry_out(due.peer),
            };
        }
        running.message.clear(&mut *self.transport);
        let bytes = &*running.reply.bytes;
        let (handler, length) = (running.reply.handler, bytes.len() as u32);
        let connection = &mut peer.connection;
        let handled = connection.handled(now, due.slot, handler, length, &mut self.shared);
        // Refused where the peer's lease has ended meanwhile: nobody waits for the reply.
        if handled.is_ok() {
            let place = receive_place(peer.pool_of(due.peer), due.slot);
            let kept = match is_kept {
                true => &mut self.log.payload_mut(place)[..bytes.len()],
                false => self.log.replace(place, bytes.len())?,
            };
            kept.copy_from_slice(bytes);
        }
        self.carry_out(due.peer)
    }

    /// Sends the reply at once, where it can go straight. All else that the end of a handler takes comes after that.
    #[inline(always)]
    fn reply_straight(&mut self, running: &mut Running, now: Nanos) -> Result<bool, EndpointError> {
        let Due {
            peer,
            slot,
            handler,
            ..
        } = running.due;
        let bytes = &*running.reply.bytes;
        let (reply, length) = (running.reply.handler, bytes.len());
        let Some(Some(to)) = self.peers.get_mut(peer) else {
            return Ok(false);
        };
        let place = receive_place(to.pool_of(peer), slot);
        let connection = &mut to.connection;
        let head = connection.handled_straight(now, slot, reply, length as u32, &mut self.shared);
        let Some(head) = head else {
            return Ok(false);
        };
        let sent = match to.to {
            Some(to) => send(&mut *self.transport, to, &head, bytes, self.has_checksum),
            None => Ok(()),
        };
        self.deadline = self.deadline.min(to.deadline());
        if let Some(taken) = running.handler.take() {
            self.handlers.put_back(handler, taken);
        }
        running.message.clear(&mut *self.transport);
        self.log.replace(place, length)?.copy_from_slice(bytes);
        sent.map(|()| true)
    }
}
