//! Memory for what is deferred. A signal handler may send in the middle of `malloc`, so it comes
//! straight from the system, in blocks of powers of two that are used again.

use std::ptr::NonNull;

/// The smallest block is 2^9 bytes, the largest 2^17.
const SMALLEST: u32 = 9;
const SIZES: usize = 9;
/// The largest block.
pub(super) const LARGEST: usize = 1 << (SMALLEST as usize + SIZES - 1);
/// The bytes that are asked from the system at a time.
const CHUNK: usize = 1 << 20;
/// The bytes that there may be in all.
const LIMIT: usize = 256 << 20;

/// Free blocks, and the rest of the last chunk.
pub(super) struct Memory {
    free: [*mut Free; SIZES],
    rest: *mut u8,
    left: usize,
    taken: usize,
}

struct Free {
    next: *mut Free,
}

// SAFETY: what the pointers lead to belongs to whoever has the `Memory`.
unsafe impl Send for Memory {}

fn size_of_block(bytes: usize) -> Option<usize> {
    let size = (bytes.max(1).next_power_of_two().trailing_zeros()).max(SMALLEST) - SMALLEST;
    (bytes <= LARGEST).then_some(size as usize)
}

impl Memory {
    pub(super) const fn new() -> Self {
        Memory {
            free: [std::ptr::null_mut(); SIZES],
            rest: std::ptr::null_mut(),
            left: 0,
            taken: 0,
        }
    }

    /// A block of at least `bytes`, aligned to 512; `None` where there is no memory.
    pub(super) fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        let size = size_of_block(bytes)?;
        let first = self.free[size];
        if let Some(block) = NonNull::new(first) {
            // SAFETY: a free block begins with the link that `give` wrote.
            self.free[size] = unsafe { (*first).next };
            return Some(block.cast());
        }
        let bytes = 1 << (SMALLEST as usize + size);
        if self.left < bytes {
            self.refill()?;
        }
        let block = NonNull::new(self.rest)?;
        // SAFETY: the chunk has `left` bytes from `rest` on, which are enough.
        self.rest = unsafe { self.rest.add(bytes) };
        self.left -= bytes;
        Some(block)
    }

    /// A new chunk; the rest of the old one is lost, at most a largest block.
    fn refill(&mut self) -> Option<()> {
        if self.taken + CHUNK > LIMIT {
            return None;
        }
        // SAFETY: new memory at an address of the system's choice.
        let chunk = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CHUNK,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if chunk == libc::MAP_FAILED {
            return None;
        }
        (self.rest, self.left) = (chunk.cast(), CHUNK);
        self.taken += CHUNK;
        Some(())
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from [`Memory::take`] with the same `bytes`, and is no longer used.
    pub(super) unsafe fn give(&mut self, block: NonNull<u8>, bytes: usize) {
        if let Some(size) = size_of_block(bytes) {
            let block: *mut Free = block.as_ptr().cast();
            // SAFETY: the block is ours, large enough and aligned.
            unsafe { (*block).next = self.free[size] };
            self.free[size] = block;
        }
    }
}
