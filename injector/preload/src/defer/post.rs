//! Posts on RDMA queue pairs, by `ibv_post_send`.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use jitterlab_injector::delay::Delay;

use super::{
    DEFERRED, LANE_BYTES, Outcome, PATIENCE_NS, Work, give_up, is_full, memory, release, settle,
    wait_for_progress,
};
use crate::abi::{OPCODE_TSO, SEND_INLINE, SendRequest, Sge};
use crate::state;

/// `post_send` of a provider.
pub(crate) type PostSend =
    unsafe extern "C" fn(*mut c_void, *mut SendRequest, *mut *mut SendRequest) -> c_int;

/// A chain of work requests that was copied, with its scatter lists and inline data.
#[derive(Clone, Copy)]
pub(super) struct Post {
    real: PostSend,
    qp: *mut c_void,
    first: *mut SendRequest,
}

/// The number of work requests that a chain may have.
const LONGEST: usize = 512;

/// The room that a copy of a chain needs: requests, parts and bytes of inline data.
struct Size {
    requests: usize,
    parts: usize,
    inlined: usize,
}

impl Size {
    /// `None` for a chain that cannot be deferred: too long, or with segments that are cut by the
    /// adapter, whose header is elsewhere.
    ///
    /// # Safety
    /// `wr` is a chain of work requests.
    unsafe fn of(mut wr: *const SendRequest) -> Option<Self> {
        let mut size = Size {
            requests: 0,
            parts: 0,
            inlined: 0,
        };
        // SAFETY: by the contract of this function.
        while let Some(request) = unsafe { wr.as_ref() } {
            if request.opcode == OPCODE_TSO || size.requests == LONGEST {
                return None;
            }
            size.requests += 1;
            // SAFETY: as above.
            let parts = unsafe { parts_of(request) };
            size.parts += parts.len();
            if request.flags & SEND_INLINE != 0 {
                size.inlined += parts.iter().map(|part| part.length as usize).sum::<usize>();
            }
            wr = request.next;
        }
        (size.bytes() <= memory::LARGEST / 2).then_some(size)
    }

    fn bytes(&self) -> usize {
        self.requests * size_of::<SendRequest>() + self.parts * size_of::<Sge>() + self.inlined
    }
}

/// # Safety
/// The request is one that a program posts.
unsafe fn parts_of(request: &SendRequest) -> &[Sge] {
    match request.count {
        // SAFETY: by the contract of this function.
        1.. => unsafe { std::slice::from_raw_parts(request.parts, request.count as usize) },
        _ => &[],
    }
}

/// Defers a post by a delay; with `None`, only if it has to wait for what is deferred on the
/// queue pair already. Gives what the program is told, or `None` for a post that is to be
/// performed here and now.
///
/// # Safety
/// The arguments are those of a program's call of `post_send`, and `real` is the provider's.
pub(crate) unsafe fn post(
    real: PostSend,
    qp: *mut c_void,
    wr: *mut SendRequest,
    bad_wr: *mut *mut SendRequest,
    asked: Option<Delay>,
) -> Option<c_int> {
    let injection = state::injection()?;
    let delay = asked.unwrap_or_else(|| Delay::none(injection.clock().now()));
    let key = qp.expose_provenance() as u64;
    let refuse = |error| {
        // SAFETY: by the contract of this function.
        unsafe { bad_wr.write(wr) };
        Some(error)
    };
    // SAFETY: by the contract of this function.
    let Some(size) = (unsafe { Size::of(wr) }) else {
        if !settle(|lane| lane.key == key, PATIENCE_NS) {
            return refuse(libc::ENOMEM);
        }
        state::wait_out(injection, delay);
        return None;
    };
    let mut held = DEFERRED.lock();
    if asked.is_none() && !held.is_pending(key) {
        return None;
    }
    if let Some(error) = held.take_error(key) {
        return refuse(error);
    }
    loop {
        let Some(place) = held.lanes.find_or_make(key) else {
            drop(held);
            state::wait_out(injection, delay);
            return None;
        };
        let lane = held.lanes.get(place)?;
        let full = lane.pending > 0 && lane.bytes + size.bytes() > LANE_BYTES;
        let (stuck, pending) = (lane.stuck_since.is_some(), lane.pending);
        let taken = if full { None } else { held.take(size.bytes()) };
        if let Some((entry, copy, bytes)) = taken {
            // SAFETY: the copy has room for what was counted.
            let first = unsafe { copy_chain(wr, &size, copy) };
            let work = Work::Post(Post { real, qp, first });
            // SAFETY: the entry was taken for this; the chain is all in the copy.
            unsafe { held.put((entry, bytes), place, delay, work) };
            release(held, injection);
            return Some(0);
        }
        // Nothing more goes into the send queue: the program has to poll for completions first.
        if stuck || pending == 0 {
            return refuse(libc::ENOMEM);
        }
        (held, _) = wait_for_progress(held, Some(1_000_000));
    }
}

/// Copies a chain: requests, then their parts, then inline data. Gives the first request.
///
/// # Safety
/// `wr` is the chain that `size` was taken from, and `copy` has room for that.
unsafe fn copy_chain(
    mut wr: *const SendRequest,
    size: &Size,
    copy: NonNull<u8>,
) -> *mut SendRequest {
    let first = copy.cast::<SendRequest>().as_ptr();
    // SAFETY: all within the room that was counted by `Size::of`; the parts of inline data are
    // memory of the program, which is its word.
    unsafe {
        let mut request = first;
        let mut part = first.add(size.requests).cast::<Sge>();
        let mut data = part.add(size.parts).cast::<u8>();
        while let Some(original) = wr.as_ref() {
            let parts = parts_of(original);
            *request = *original;
            (*request).parts = part;
            for original_part in parts {
                *part = *original_part;
                if original.flags & SEND_INLINE != 0 {
                    let from = std::ptr::with_exposed_provenance(original_part.address as usize);
                    let length = original_part.length as usize;
                    std::ptr::copy_nonoverlapping::<u8>(from, data, length);
                    (*part).address = data.expose_provenance() as u64;
                    data = data.add(length);
                }
                part = part.add(1);
            }
            let last = original.next.is_null();
            (*request).next = if last {
                std::ptr::null_mut()
            } else {
                request.add(1)
            };
            request = request.add(1);
            wr = original.next;
        }
    }
    first
}

impl Post {
    /// Posts the chain, or what is left of it.
    pub(super) fn perform(&mut self) -> Outcome {
        let mut bad = self.first;
        // SAFETY: the provider's own function, with a queue pair that the program has not
        // destroyed (`before_destroy` waits for us) and a chain of our own.
        match unsafe { (self.real)(self.qp, self.first, &raw mut bad) } {
            0 => Outcome::Done,
            error if is_full(error) && !bad.is_null() => {
                self.first = bad;
                Outcome::Later
            }
            error => Outcome::Failed(error),
        }
    }
}

/// The queue pair is about to be stopped: what is deferred on it goes first.
pub(crate) fn before_stop(qp: *mut c_void) {
    let key = qp.expose_provenance() as u64;
    settle(|lane| lane.key == key, PATIENCE_NS);
}

/// The queue pair is about to be destroyed: after this nothing is posted on it any more. What the
/// provider did not take is given up, and its error is not for a later one at the same address.
pub(crate) fn before_destroy(qp: *mut c_void) {
    before_stop(qp);
    let key = qp.expose_provenance() as u64;
    give_up(|lane| lane.key == key);
    DEFERRED.lock().take_error(key);
}
