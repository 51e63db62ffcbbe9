//! The handlers of an endpoint, and what a handler sees of the message that it runs for.

use std::fmt;

use crate::protocol::Slot;
use crate::transaction::{EndpointId, TransactionId};
use crate::wire::Part;

/// A function that runs when a message arrives: on the thread that polls, and one at a time in a bundle.
pub type Handler = Box<dyn FnMut(&mut Call<'_>) + Send>;

/// The handlers of an endpoint, each at the place of its number.
#[derive(Default)]
pub(super) struct Handlers(Vec<Entry>);

enum Entry {
    Unset,
    Set(Handler),
    Runs,
}

impl Handlers {
    /// Sets the handler of a number, in place of the one before.
    pub(super) fn set(&mut self, number: u16, handler: Handler) {
        let place = usize::from(number);
        if place >= self.0.len() {
            self.0.resize_with(place + 1, || Entry::Unset);
        }
        self.0[place] = Entry::Set(handler);
    }

    #[inline]
    pub(super) fn knows(&self, number: u16) -> bool {
        let entry = self.0.get(usize::from(number));
        entry.is_some_and(|entry| !matches!(entry, Entry::Unset))
    }

    /// True if the handler of a number can be [taken](Handlers::take).
    #[inline]
    pub(super) fn is_set(&self, number: u16) -> bool {
        matches!(self.0.get(usize::from(number)), Some(Entry::Set(_)))
    }

    /// Takes a handler out while it runs.
    #[inline]
    pub(super) fn take(&mut self, number: u16) -> Option<Handler> {
        let entry = self.0.get_mut(usize::from(number))?;
        match std::mem::replace(entry, Entry::Runs) {
            Entry::Set(handler) => Some(handler),
            other => {
                *entry = other;
                None
            }
        }
    }

    /// Puts back what was taken out, unless it was set anew meanwhile.
    #[inline]
    pub(super) fn put_back(&mut self, number: u16, handler: Handler) {
        if let Some(entry @ Entry::Runs) = self.0.get_mut(usize::from(number)) {
            *entry = Entry::Set(handler);
        }
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = 0..self.0.len() as u16;
        f.debug_set()
            .entries(numbers.filter(|&number| self.knows(number)))
            .finish()
    }
}

/// A message whose handler is to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) peer: usize,
    pub(super) slot: Slot,
    pub(super) id: TransactionId,
    pub(super) handler: u16,
    /// A request, in a slot of the receive pool; otherwise a reply, in a slot of the send pool.
    pub(super) is_request: bool,
}

impl Due {
    /// A message that has come in one frame, to a slot of peer `peer`.
    #[inline(always)]
    pub(super) fn new(
        peer: usize,
        slot: Slot,
        initiator: EndpointId,
        part: &Part,
        is_request: bool,
    ) -> Self {
        Due {
            peer,
            slot,
            id: TransactionId {
                initiator,
                incarnation: part.number.incarnation,
                sequence: part.number.sequence,
            },
            handler: part.handler,
            is_request,
        }
    }
}

/// The message that a handler runs for.
pub struct Call<'a> {
    pub(super) from: EndpointId,
    pub(super) transaction: &'a TransactionId,
    pub(super) bytes: &'a [u8],
    pub(super) answer: Answer<'a>,
}

/// The answers that a handler can give to the message that it runs for.
pub(super) enum Answer<'a> {
    /// It is a request. Its reply has so many bytes at most.
    Reply(&'a mut Reply, usize),
    /// It is a reply, whose transaction can be released.
    Release(&'a mut bool),
}

/// A reply in the making. Its memory is kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) handler: u16,
    pub(super) bytes: Vec<u8>,
}

/// A reply that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reply has {length} bytes, but the initiator accepts at most {most}")]
pub struct ReplyError {
    /// Its bytes.
    pub length: usize,
    /// Bytes that the initiator takes.
    pub most: usize,
}

impl Reply {
    pub(super) fn clear(&mut self) {
        self.handler = 0;
        self.bytes.clear();
    }
}

impl<'a> Call<'a> {
    /// The endpoint that has sent the message.
    pub fn from(&self) -> EndpointId {
        self.from
    }

    /// The transaction that the message belongs to.
    pub fn transaction(&self) -> TransactionId {
        *self.transaction
    }

    /// The payload of the message, where it landed. Its memory is used again after the handler.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Replies with `bytes` when the handler has ended. A second reply takes the place of the first; without one, an empty
    /// reply goes out. In the handler of a reply it does nothing.
    ///
    /// # Errors
    /// The initiator takes no message of this length: no reply is set.
    #[inline]
    pub fn reply(&mut self, bytes: &[u8]) -> Result<(), ReplyError> {
        self.reply_to(0, bytes)
    }

    /// Replies like [`Call::reply`], to a handler of the initiator, which runs there on the reply.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn reply_to(&mut self, handler: u16, bytes: &[u8]) -> Result<(), ReplyError> {
        self.reply_in_place(handler, |reply| reply.extend_from_slice(bytes))
    }

    /// Replies like [`Call::reply_to`] with what `fill` appends to an empty vector.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn reply_in_place(
        &mut self,
        handler: u16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), ReplyError> {
        let Answer::Reply(reply, most) = &mut self.answer else {
            return Ok(());
        };
        reply.clear();
        fill(&mut reply.bytes);
        let (length, most) = (reply.bytes.len(), *most);
        if length > most {
            reply.clear();
            return Err(ReplyError { length, most });
        }
        reply.handler = handler;
        Ok(())
    }

    /// Releases the transaction when the handler has ended: the application needs it no more. In the handler of a request
    /// it does nothing.
    pub fn release(&mut self) {
        if let Answer::Release(release) = &mut self.answer {
            **release = true;
        }
    }
}
