#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use rdma_sys::{
    ibv_ack_cq_events, ibv_comp_channel, ibv_cq, ibv_create_comp_channel, ibv_create_cq,
    ibv_destroy_comp_channel, ibv_destroy_cq, ibv_get_cq_event, ibv_poll_cq, ibv_req_notify_cq,
    ibv_wc, ibv_wc_status, ibv_wc_status_str,
};

use crate::{Device, Error};

/// A completion queue: what became of work requests.
#[derive(Debug)]
pub struct CompletionQueue {
    queue: NonNull<ibv_cq>,
    channel: Option<NonNull<ibv_comp_channel>>,
    device: Arc<Device>,
}

/// A work request that was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The number that it was given.
    pub id: u64,
    /// Bytes that were received, with the 40 of a datagram's header.
    pub length: u32,
    /// The immediate data of a receive that has some, otherwise without meaning.
    pub immediate: u32,
    /// The queue pair that a datagram came from.
    pub source: u32,
}

// SAFETY: libibverbs allows calls of any thread; what is taken from the queue is copied.
unsafe impl Send for CompletionQueue {}

impl CompletionQueue {
    /// One with room for `entries` completions; one that wakes who sleeps, if it `has_events`.
    ///
    /// # Errors
    /// The device does not make it.
    pub fn new(device: &Arc<Device>, entries: u32, has_events: bool) -> Result<Self, Error> {
        let channel = match has_events {
            true => Some(channel(device)?),
            false => None,
        };
        let events = channel.map_or(null_mut(), NonNull::as_ptr);
        let entries = i32::try_from(entries).unwrap_or(i32::MAX);
        // SAFETY: the context is open; the channel, if there is one, is of this device and is destroyed
        // after the queue.
        let queue = unsafe { ibv_create_cq(device.context(), entries, null_mut(), events, 0) };
        let Some(queue) = NonNull::new(queue) else {
            let error = Error::of_errno("ibv_create_cq", device.name());
            if let Some(channel) = channel {
                // SAFETY: no queue has come to use it.
                unsafe { ibv_destroy_comp_channel(channel.as_ptr()) };
            }
            return Err(error);
        };
        Ok(CompletionQueue {
            queue,
            channel,
            device: Arc::clone(device),
        })
    }

    /// The next completion, if there is one.
    ///
    /// # Errors
    /// The work request was not completed, but ended by an error; or the queue is broken.
    #[inline]
    pub fn poll(&self) -> Result<Option<Completion>, Error> {
        // SAFETY: it holds numbers only, and zeros are values of these.
        let mut done: ibv_wc = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is there, and there is room for one completion.
        let count = unsafe { ibv_poll_cq(self.queue.as_ptr(), 1, &mut done) };
        if count == 0 {
            return Ok(None);
        }
        if count < 0 {
            return Err(Error::of_code("ibv_poll_cq", self.device.name(), count));
        }
        if done.status != ibv_wc_status::IBV_WC_SUCCESS {
            return Err(failed(&done));
        }
        Ok(Some(Completion {
            id: done.wr_id,
            length: done.byte_len,
            // SAFETY: either reading of the union is a number of 32 bits.
            immediate: u32::from_be(unsafe { done.imm_data_invalidated_rkey_union.imm_data }),
            source: done.src_qp,
        }))
    }

    /// Its events, if it was made with them.
    pub fn events(&self) -> Option<Events<'_>> {
        self.channel.map(|channel| Events {
            queue: self,
            channel,
        })
    }

    /// The queue, for calls.
    pub(crate) fn as_ptr(&self) -> *mut ibv_cq {
        self.queue.as_ptr()
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: neither was destroyed yet, every event that was taken has been acknowledged, and the queue is the
        // only one of its channel. A queue pair that could not be destroyed before still holds the queue, and the
        // queue its channel: then both calls fail (EBUSY), and leave what the device may go on using.
        unsafe {
            ibv_destroy_cq(self.queue.as_ptr());
            if let Some(channel) = self.channel {
                ibv_destroy_comp_channel(channel.as_ptr());
            }
        }
    }
}

/// A channel whose descriptor does not block.
fn channel(device: &Arc<Device>) -> Result<NonNull<ibv_comp_channel>, Error> {
    // SAFETY: the context is open.
    let channel = unsafe { ibv_create_comp_channel(device.context()) };
    let channel = NonNull::new(channel)
        .ok_or_else(|| Error::of_errno("ibv_create_comp_channel", device.name()))?;
    // SAFETY: the channel is there, and its descriptor is open while it is.
    let descriptor = unsafe { BorrowedFd::borrow_raw(channel.as_ref().fd) };
    if let Err(errno) = fcntl(descriptor, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)) {
        // SAFETY: nobody uses it yet.
        unsafe { ibv_destroy_comp_channel(channel.as_ptr()) };
        return Err(Error::of_code("fcntl", device.name(), errno as i32));
    }
    Ok(channel)
}

#[cold]
fn failed(done: &ibv_wc) -> Error {
    // SAFETY: takes a number.
    let meaning = NonNull::new(unsafe { ibv_wc_status_str(done.status) }.cast_mut());
    // SAFETY: libibverbs gives a text that is never freed.
    let meaning = meaning.map(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy());
    Error::Completion {
        meaning: meaning.map_or("a work request failed".into(), Cow::into_owned),
        status: done.status,
        vendor: done.vendor_err,
    }
}

/// The events of a completion queue: how to sleep until something is completed.
///
/// Arm it, poll the queue once more, wait until the descriptor can be read, poll again. The event has to
/// be taken before the queue is armed anew.
#[derive(Debug, Clone, Copy)]
pub struct Events<'a> {
    queue: &'a CompletionQueue,
    channel: NonNull<ibv_comp_channel>,
}

impl Events<'_> {
    /// Asks for an event at the next completion.
    ///
    /// # Errors
    /// The device does not do it.
    pub fn arm(&self) -> Result<(), Error> {
        // SAFETY: the queue is there.
        match unsafe { ibv_req_notify_cq(self.queue.as_ptr(), 0) } {
            0 => Ok(()),
            code => Err(Error::of_code(
                "ibv_req_notify_cq",
                self.queue.device.name(),
                code,
            )),
        }
    }

    /// Takes an event away, if there is one.
    ///
    /// # Errors
    /// The channel is broken.
    pub fn take(&self) -> Result<bool, Error> {
        let (mut queue, mut own) = (null_mut(), null_mut());
        // SAFETY: the channel is there, and both pointers may be written.
        if unsafe { ibv_get_cq_event(self.channel.as_ptr(), &mut queue, &mut own) } != 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
                _ => Err(Error::of_call(
                    "ibv_get_cq_event",
                    self.queue.device.name(),
                    error,
                )),
            };
        }
        // SAFETY: the event is of a queue of this channel, which has one, and that one is there.
        unsafe { ibv_ack_cq_events(queue, 1) };
        Ok(true)
    }
}

impl AsFd for Events<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open while the channel is there, which the queue keeps.
        unsafe { BorrowedFd::borrow_raw(self.channel.as_ref().fd) }
    }
}
