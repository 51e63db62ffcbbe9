#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rdma_sys::{
    ibv_access_flags, ibv_alloc_pd, ibv_dealloc_pd, ibv_dereg_mr, ibv_mr, ibv_pd, ibv_reg_mr,
};

use crate::{Device, Error};

/// The size of a page, and the alignment of memory.
const PAGE: usize = 4096;

/// A protection domain: what belongs to different ones cannot be used together.
#[derive(Debug)]
pub struct ProtectionDomain {
    domain: NonNull<ibv_pd>,
    device: Arc<Device>,
}

// SAFETY: a handle that is only given to calls, which libibverbs allows of any thread.
unsafe impl Send for ProtectionDomain {}
// SAFETY: as above.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// A new one.
    ///
    /// # Errors
    /// The device has none left.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>, Error> {
        // SAFETY: the context is open.
        let domain = unsafe { ibv_alloc_pd(device.context()) };
        let domain =
            NonNull::new(domain).ok_or_else(|| Error::of_errno("ibv_alloc_pd", device.name()))?;
        Ok(Arc::new(ProtectionDomain {
            domain,
            device: Arc::clone(device),
        }))
    }

    /// Its device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The domain, for calls.
    pub(crate) fn as_ptr(&self) -> *mut ibv_pd {
        self.domain.as_ptr()
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: it was not freed yet, and whatever was made in it keeps it alive: nothing is left.
        unsafe { ibv_dealloc_pd(self.as_ptr()) };
    }
}

/// Memory that the device and the other end may read and write: whole pages that were touched, zero at
/// the beginning.
#[derive(Debug)]
pub struct MemoryRegion {
    start: NonNull<u8>,
    layout: Layout,
    region: NonNull<ibv_mr>,
    /// True if a device may go on using it, so that it can never be given back.
    is_abandoned: bool,
    domain: Arc<ProtectionDomain>,
}

// SAFETY: the memory is this value's own, wherever that goes, and no thread keeps anything of it.
unsafe impl Send for MemoryRegion {}

impl MemoryRegion {
    /// Registers `length` bytes of new memory, rounded up to pages, for writes of the other end.
    ///
    /// # Errors
    /// There is no memory, or the device may not lock as much.
    pub fn new(domain: &Arc<ProtectionDomain>, length: usize) -> Result<Self, Error> {
        let access =
            ibv_access_flags::IBV_ACCESS_LOCAL_WRITE | ibv_access_flags::IBV_ACCESS_REMOTE_WRITE;
        MemoryRegion::register(domain, length, access)
    }

    /// Registers memory for this end's own sends and receives: the other end may not write to it.
    ///
    /// # Errors
    /// As those of [`MemoryRegion::new`].
    pub fn private(domain: &Arc<ProtectionDomain>, length: usize) -> Result<Self, Error> {
        MemoryRegion::register(domain, length, ibv_access_flags::IBV_ACCESS_LOCAL_WRITE)
    }

    fn register(
        domain: &Arc<ProtectionDomain>,
        length: usize,
        access: ibv_access_flags,
    ) -> Result<Self, Error> {
        let no_memory = || Error::Memory { length };
        let length = length
            .max(1)
            .checked_next_multiple_of(PAGE)
            .ok_or_else(no_memory)?;
        let layout = Layout::from_size_align(length, PAGE).map_err(|_| no_memory())?;
        // SAFETY: the layout has a length above zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?;
        for page in (0..length).step_by(PAGE) {
            // SAFETY: the byte lies within what was just allocated, and nobody else knows of it.
            unsafe { start.as_ptr().add(page).write_volatile(0) };
        }
        // SAFETY: the domain is there, and the memory is ours and stays at its place: it is given back
        // after it was deregistered, or never.
        let region = unsafe {
            ibv_reg_mr(
                domain.as_ptr(),
                start.as_ptr().cast(),
                length,
                access.0 as i32,
            )
        };
        let Some(region) = NonNull::new(region) else {
            let error = Error::of_errno("ibv_reg_mr", domain.device().name());
            // SAFETY: it was allocated with this layout, and no device has come to know of it.
            unsafe { dealloc(start.as_ptr(), layout) };
            return Err(error);
        };
        Ok(MemoryRegion {
            start,
            layout,
            region,
            is_abandoned: false,
            domain: Arc::clone(domain),
        })
    }

    /// Its length in bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)] // There is a page at least.
    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// The address at which it begins, as the device knows it.
    #[inline]
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// The domain that it belongs to.
    pub fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    /// The key that work requests of this end name it by.
    #[inline]
    pub fn local_key(&self) -> u32 {
        // SAFETY: the region is registered as long as `self` is there; the key does not change.
        unsafe { self.region.as_ref().lkey }
    }

    /// The key that the other end names it by.
    pub fn remote_key(&self) -> u32 {
        // SAFETY: as for the local one.
        unsafe { self.region.as_ref().rkey }
    }

    /// The byte at a place. What the device wrote before it is there, too.
    ///
    /// # Panics
    /// The place lies outside.
    #[inline]
    pub fn byte(&self, at: usize) -> u8 {
        assert!(at < self.len());
        // SAFETY: the byte lies within memory that lives as long as `self`; whoever else in this process
        // touches it does so here, volatile or atomic, on this thread.
        unsafe { AtomicU8::from_ptr(self.start.as_ptr().add(at)) }.load(Ordering::Acquire)
    }

    /// Copies what is at a place into `into`.
    ///
    /// # Panics
    /// Part of it lies outside.
    #[inline]
    pub fn read(&self, at: usize, into: &mut [u8]) {
        self.check(at, into.len());
        for (i, byte) in into.iter_mut().enumerate() {
            // SAFETY: the byte lies within, as was just checked; volatile, because the device may write it.
            *byte = unsafe { self.start.as_ptr().add(at + i).read_volatile() };
        }
    }

    /// Copies `from` to a place.
    ///
    /// # Panics
    /// Part of it lies outside.
    #[inline]
    pub fn write(&self, at: usize, from: &[u8]) {
        self.check(at, from.len());
        // SAFETY: the place lies within, as was just checked.
        let to = unsafe { self.start.as_ptr().add(at) };
        let (words, rest) = match to.cast::<u64>().is_aligned() {
            true => from.as_chunks(),
            false => (&[][..], from),
        };
        for (i, &word) in words.iter().enumerate() {
            // SAFETY: the word is aligned and lies within; volatile, because the device may read it; no reference to it exists
            // anywhere.
            unsafe {
                to.cast::<u64>()
                    .add(i)
                    .write_volatile(u64::from_ne_bytes(word))
            };
        }
        let written = 8 * words.len();
        for (i, &byte) in rest.iter().enumerate() {
            // SAFETY: as of a word.
            unsafe { to.add(written + i).write_volatile(byte) };
        }
    }

    /// The bytes of a part.
    ///
    /// # Safety
    /// Neither the device nor anybody in this process writes to the part as long as the bytes are used.
    ///
    /// # Panics
    /// Part of it lies outside.
    #[inline]
    pub(crate) unsafe fn slice(&self, at: usize, length: usize) -> &[u8] {
        self.check(at, length);
        // SAFETY: the part lies within, as was just checked, and was touched; the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), length) }
    }

    /// The address of a part, for a work request.
    #[inline]
    pub(crate) fn part(&self, at: usize, length: usize) -> u64 {
        self.check(at, length);
        self.address() + at as u64
    }

    #[inline]
    fn check(&self, at: usize, length: usize) {
        let inside = at.checked_add(length).is_some_and(|end| end <= self.len());
        assert!(inside, "{length} bytes at {at} of {}", self.len());
    }

    /// Keeps the memory, the domain and the device for good: a queue pair that works on it could not be ended.
    pub(crate) fn abandon(&mut self) {
        self.is_abandoned = true;
        std::mem::forget(Arc::clone(&self.domain));
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        if self.is_abandoned {
            return;
        }
        // SAFETY: it is registered, and the queue pair that used it has been destroyed before, or has
        // abandoned it.
        if unsafe { ibv_dereg_mr(self.region.as_ptr()) } == 0 {
            // SAFETY: it was allocated with this layout, and the device has let go of it.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}
