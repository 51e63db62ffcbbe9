//! The memory that messages lie in.

use super::plan::Buffers;

/// The memory of messages of one direction.
pub(super) struct Slots {
    bytes: Vec<u8>,
    /// The place where the first buffer begins: at a page.
    first: usize,
    pub(super) size: usize,
    stride: usize,
    buffers: Buffers,
}

/// A page of memory.
const PAGE: usize = 4096;

impl Slots {
    pub(super) fn new(size: u64, buffers: Buffers) -> Self {
        let size = size as usize;
        let stride = stride(size, buffers);
        let bytes = vec![0x6a; PAGE + stride * (buffers.count() - 1) + size];
        Slots {
            first: bytes.as_ptr().align_offset(PAGE).min(PAGE),
            bytes,
            size,
            stride,
            buffers,
        }
    }

    /// The buffer of a message.
    #[inline]
    pub(super) fn of(&mut self, number: u64) -> &mut [u8] {
        let start = self.first + self.buffers.of(number) * self.stride;
        &mut self.bytes[start..start + self.size]
    }
}

/// The distance from one buffer to the next: where there are several, none shares a page with another one.
pub(super) fn stride(size: usize, buffers: Buffers) -> usize {
    match buffers {
        Buffers::Fifo(1) => size,
        _ => size.next_multiple_of(PAGE),
    }
}
