//! A window for one-sided communication (MPI-3.1, chapter 11), which the bindings have no safe form of.
//!
//! It is made for load: what the messages hold is of no interest, and nobody sees it.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

use mpi::ffi;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::traits::{AsRaw as _, CommunicatorCollectives as _};

/// Memory of rank 0 that all others put into and get from, in messages of one size, without rank 0 taking part.
///
/// [`Window::allocate`] and the end of its life are collective: every rank comes to them. Errors of MPI end the program, as
/// those of messages do: that is the error handler of a window unless it is given another.
pub struct Window<'a> {
    handle: ffi::MPI_Win,
    /// The memory that is put from and got into: MPI touches it between a put or get and the flush after it, behind the compiler's back.
    own: Vec<UnsafeCell<u8>>,
    message: usize,
    /// The place where this rank's slots begin in rank 0's memory.
    begin: usize,
    /// The communicator outlives its window.
    comm: PhantomData<&'a SimpleCommunicator>,
}

/// The owners of the slots in rank 0's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slots {
    /// Each rank but rank 0 has its own.
    OfEach,
    /// All have the same.
    OfAll,
}

impl Slots {
    /// The number of shares, each with the slots of a rank, with so many ranks.
    pub fn shares(self, ranks: usize) -> usize {
        match self {
            Slots::OfEach => ranks - 1,
            Slots::OfAll => 1,
        }
    }

    /// The number of these before those of a rank.
    fn before(self, rank: usize) -> usize {
        match self {
            Slots::OfEach => rank.saturating_sub(1),
            Slots::OfAll => 0,
        }
    }
}

/// The byte that all memory is filled with.
const FILL: u8 = 0x6c;

impl<'a> Window<'a> {
    /// A window in which a rank has so many slots, each of them for a message of so many bytes. Rank 0 itself has none.
    pub fn allocate(
        comm: &'a SimpleCommunicator,
        slots: Slots,
        count: usize,
        message: usize,
    ) -> Window<'a> {
        let (rank, share) = (comm.rank() as usize, count * message);
        let (exposed, own) = match rank {
            0 => (share * slots.shares(comm.size() as usize), 0),
            _ => (0, share),
        };
        let mut memory: *mut c_void = ptr::null_mut();
        // SAFETY: the null handle is a constant of the MPI library.
        let mut handle = unsafe { ffi::RSMPI_WIN_NULL };
        // SAFETY: the communicator is valid, every rank calls this, and both results are written to live variables:
        // the address of the memory, through a pointer that is typed as the memory itself, and the window.
        unsafe {
            ffi::MPI_Win_allocate(
                exposed as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                comm.as_raw(),
                (&raw mut memory).cast(),
                &raw mut handle,
            );
        }
        if exposed > 0 {
            // Memory that nobody has written to may be a single page of zeros, which is read from the cache.
            // SAFETY: MPI gave this rank so many bytes at this address, and no rank puts or gets before all have met
            // at the barrier below.
            unsafe { ptr::write_bytes(memory.cast::<u8>(), FILL, exposed) };
        }
        comm.barrier();
        // SAFETY: the window is valid, and nobody has locked it.
        unsafe { ffi::MPI_Win_lock_all(0, handle) };
        Window {
            handle,
            own: (0..own).map(|_| UnsafeCell::new(FILL)).collect(),
            message,
            begin: share * slots.before(rank),
            comm: PhantomData,
        }
    }

    /// Begins to put a message into one of this rank's slots at rank 0; see [`Window::flush`].
    ///
    /// # Panics
    /// There is no such slot.
    pub fn put(&mut self, slot: usize) {
        let (own, length, place) = self.slot(slot);
        // SAFETY: `own` is memory of this window for `length` bytes, which lives until the window is freed. No reference points
        // into its cells. Rank 0 exposes as many bytes at `place`: a rank with slots here has as many there. All ranks are
        // locked.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Put(
                own.cast_const(),
                length,
                byte,
                0,
                place,
                length,
                byte,
                self.handle,
            );
        }
    }

    /// Begins to get a message from one of this rank's slots at rank 0; see [`Window::flush`].
    ///
    /// # Panics
    /// There is no such slot.
    pub fn get(&mut self, slot: usize) {
        let (own, length, place) = self.slot(slot);
        // SAFETY: as in `put`.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            ffi::MPI_Get(own, length, byte, 0, place, length, byte, self.handle);
        }
    }

    /// Until all that was begun is done, here and at rank 0.
    pub fn flush(&mut self) {
        // SAFETY: the window is valid and all ranks are locked.
        unsafe { ffi::MPI_Win_flush(0, self.handle) };
    }

    /// A slot here, how many bytes it has, and where it is at rank 0.
    fn slot(&self, slot: usize) -> (*mut c_void, i32, ffi::MPI_Aint) {
        let cells = &self.own[slot * self.message..][..self.message];
        // Cells may be written to through a pointer that comes from a shared reference to all of them.
        let bytes = UnsafeCell::raw_get(cells.as_ptr());
        let place = self.begin + slot * self.message;
        (bytes.cast(), self.message as i32, place as ffi::MPI_Aint)
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        // SAFETY: the window is valid and locked, every rank comes here, and the communicator is still there. What
        // was begun is done when the locks are given back, so that nothing touches `own` when it is freed.
        unsafe {
            ffi::MPI_Win_unlock_all(self.handle);
            ffi::MPI_Win_free(&raw mut self.handle);
        }
    }
}
