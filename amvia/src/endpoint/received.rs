//! Messages that have arrived and are still to be read: each where it landed, or, where it came in segments, put together.

use crate::transport::{Landed, Transport};

/// The part of a message in a slot.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// A message that came in one frame, and where in the frame it begins.
    landed: Option<(Landed, usize)>,
    /// Memory for one that came in segments; kept from one message to the next.
    assembled: Vec<u8>,
}

impl Received {
    /// A message that is read from a log.
    pub(super) fn recovered(bytes: &[u8]) -> Self {
        Received {
            landed: None,
            assembled: bytes.to_vec(),
        }
    }

    /// Keeps a frame that holds a whole message from byte `from` on. Gives back the frame before, to be recycled.
    #[inline]
    pub(super) fn land(&mut self, frame: Landed, from: usize) -> Option<Landed> {
        if self.landed.is_none() {
            self.landed = Some((frame, from));
            return None;
        }
        self.landed.replace((frame, from)).map(|(before, _)| before)
    }

    /// Puts a segment in its place in a message of `length` bytes.
    pub(super) fn put(&mut self, segment: &[u8], offset: usize, length: usize) {
        self.assembled.resize(length, 0);
        if let Some(place) = self.assembled.get_mut(offset..offset + segment.len()) {
            place.copy_from_slice(segment);
        }
    }

    /// The message.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.landed {
            Some((frame, from)) => &frame[*from..],
            None => &self.assembled,
        }
    }

    /// Forgets the message, and gives the frame that it was in back to its transport.
    #[inline]
    pub(super) fn clear(&mut self, transport: &mut dyn Transport) {
        if let Some((frame, _)) = self.landed.take() {
            transport.recycle(frame);
        }
        self.assembled.clear();
    }
}
