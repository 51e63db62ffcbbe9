//! Functions that are reached by pointers in somebody's table: the pointer is replaced by a hook of our own,
//! one for each original, so that nothing has to be looked up when it is called.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Replaces the function pointer at `place` by our hook for that original. Does nothing to a
/// pointer that is null, is ours already, or is one original more than there are slots.
///
/// # Safety
/// `place` holds a function pointer of the type that `hooks` have, and may be written.
pub(super) unsafe fn replace<const SLOTS: usize>(
    place: *mut *mut c_void,
    originals: &[AtomicPtr<c_void>; SLOTS],
    hooks: [*mut c_void; SLOTS],
) {
    // SAFETY: by the contract of this function.
    let original = unsafe { place.read() };
    if original.is_null() || hooks.contains(&original) {
        return;
    }
    for (slot, hook) in originals.iter().zip(hooks) {
        let free = std::ptr::null_mut();
        let taken = slot.compare_exchange(free, original, Ordering::AcqRel, Ordering::Acquire);
        if taken.is_ok() || taken == Err(original) {
            // SAFETY: by the contract of this function. Another thread that opens the same device
            // writes the same value.
            unsafe { place.write(hook) };
            return;
        }
    }
}
