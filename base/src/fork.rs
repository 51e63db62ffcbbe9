//! A mark that tells a process from the children it forks, without a system call.
//!
//! A child of fork shares its parent's sockets, mapped files and memory, and would speak with its parent's voice. Linux
//! wipes the mark's page in the child (`MADV_WIPEONFORK`, Linux 4.14), so that one load tells.

#![allow(unsafe_code)]

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};

/// The page of one mark; its first word is 1 in the process that made it, and 0 in its children.
#[derive(Debug)]
pub struct Parent(NonNull<AtomicU32>);

/// Every system that jitterlab runs on has pages of at least this many bytes; the kernel maps whole ones.
const PAGE: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

// SAFETY: it is an atomic in memory that lives as long as the mark.
unsafe impl Send for Parent {}
// SAFETY: as above.
unsafe impl Sync for Parent {}

impl Parent {
    /// Marks the calling process.
    ///
    /// # Errors
    /// The system's: no memory is left, or Linux is older than 4.14.
    pub fn mark() -> io::Result<Parent> {
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no other.
        let page = unsafe {
            mmap_anonymous(
                None,
                PAGE,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE,
            )
        }?;
        let mark = Parent(page.cast());
        // SAFETY: the range is the mapping above, and nothing has been written to it.
        unsafe { madvise(page, PAGE.get(), MmapAdvise::MADV_WIPEONFORK) }?;
        mark.word().store(1, Ordering::Relaxed);
        Ok(mark)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the page is mapped, zeroed or written as this atomic alone, aligned as a page is, until `self` is dropped.
        unsafe { self.0.as_ref() }
    }

    /// The caller is the process that made the mark, and no child of it.
    #[inline]
    pub fn is_caller(&self) -> bool {
        self.word().load(Ordering::Relaxed) == 1
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `mark`, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.0.cast(), PAGE.get()) };
    }
}
